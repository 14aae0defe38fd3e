//! Cuts that do not split a mask: half of `[github-token-1]` names nothing, and looks like text of the source.

use std::ops::Range;

use crate::redact::{PLACEHOLDERS, kinds};

/// The most bytes of a mask.
const LONGEST_MASK: usize = 48;

/// Returns the place of the mask around an offset, if it is inside one.
fn mask_around(text: &str, at: usize) -> Option<Range<usize>> {
    let first = text.ceil_char_boundary(at.saturating_sub(LONGEST_MASK));
    let start = first + text.get(first..at)?.rfind('[')?;
    let rest = &text[start..text.floor_char_boundary(start + LONGEST_MASK)];
    let captures = PLACEHOLDERS.captures(rest)?;
    let mask = captures.get(0).filter(|mask| mask.start() == 0 && start + mask.end() > at)?;
    kinds::named(&captures[1]).map(|_| start..start + mask.end())
}

/// Returns the last place at or before an offset where a text can be cut: between two characters, outside of a mask.
pub(crate) fn cut_before(text: &str, at: usize) -> usize {
    let at = text.floor_char_boundary(at);
    mask_around(text, at).map_or(at, |mask| mask.start)
}

/// Returns the first place at or behind an offset where a text can be cut.
pub(crate) fn cut_behind(text: &str, at: usize) -> usize {
    let at = text.ceil_char_boundary(at);
    mask_around(text, at).map_or(at, |mask| mask.end)
}

/// Returns the beginning of a text of at most so many characters.
pub(crate) fn beginning(text: &str, chars: usize) -> &str {
    text.char_indices().nth(chars).map_or(text, |(at, _)| &text[..cut_before(text, at)])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_cut_is_inside_a_mask() {
        let text = "é [env-secret-12][jwt-1] [no-kind-1] [";
        let masks = [3..18, 18..25];
        for at in 0..=text.len() + 3 {
            let (before, behind) = (cut_before(text, at), cut_behind(text, at));
            assert!(before <= at.min(text.len()) && behind >= at.min(text.len()));
            for cut in [before, behind] {
                assert!(text.is_char_boundary(cut));
                assert!(!masks.iter().any(|mask| mask.start < cut && cut < mask.end), "{at}: {cut}");
            }
        }
        assert_eq!((cut_before(text, 9), cut_behind(text, 9)), (3, 18));
        assert_eq!((cut_before(text, 30), beginning(text, 9), beginning(text, 99)), (30, "é ", text));
    }
}
