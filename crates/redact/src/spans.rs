//! Makes one list of masks of what several rules found, and says where a text can be cut so that no mask is.

use std::ops::Range;

use crate::{PLACEHOLDERS, SecretSpan, kinds};

/// The most bytes of a mask.
const LONGEST_MASK: usize = 48;

/// The range of a secret without the brackets that a sentence puts around it: `the token (…)`.
pub(super) fn without_brackets(text: &str, range: Range<usize>) -> Range<usize> {
    let value = &text[range.clone()];
    for (open, close) in [('(', ')'), ('[', ']'), ('<', '>')] {
        let Some(inside) = value.strip_prefix(open) else { continue };
        let closed = inside.strip_suffix(close);
        let is_closed = closed.is_some() || text[range.end..].starts_with(close);
        let inside = closed.unwrap_or(inside);
        let is_in_quotes = text[..range.start].ends_with(['"', '\'', '`']);
        if is_closed && !is_in_quotes && !inside.is_empty() && !inside.contains([open, close]) {
            return range.start + 1..range.start + 1 + inside.len();
        }
    }
    range
}

/// Sorts and merges secrets. Overlapping ones become one, of the kind of the larger. Placeholders stay unchanged.
pub(super) fn merge(text: &str, mut found: Vec<SecretSpan>, placeholders: &[Range<usize>]) -> Vec<SecretSpan> {
    found.sort_by_key(|secret| (secret.range.start, std::cmp::Reverse(secret.range.end)));
    let mut joined: Vec<SecretSpan> = Vec::new();
    for next in found {
        match joined.last_mut() {
            Some(last) if next.range.start < last.range.end => {
                if next.range.len() > last.range.len() {
                    last.kind = next.kind;
                }
                last.range.end = last.range.end.max(next.range.end);
            }
            _ => joined.push(next),
        }
    }
    joined.into_iter().flat_map(|secret| around_placeholders(text, secret, placeholders)).collect()
}

/// The pieces of a secret between the placeholders inside it, if they have something to mask.
fn around_placeholders(text: &str, secret: SecretSpan, placeholders: &[Range<usize>]) -> Vec<SecretSpan> {
    let first = placeholders.partition_point(|range| range.end <= secret.range.start);
    let inside = placeholders[first..].iter().take_while(|range| range.start < secret.range.end);
    let mut pieces = Vec::new();
    let mut start = secret.range.start;
    for placeholder in inside {
        pieces.push(start..placeholder.start.max(start));
        start = placeholder.end;
    }
    pieces.push(start..secret.range.end.max(start));
    let mut secrets = Vec::with_capacity(pieces.len());
    for range in pieces {
        if text[range.clone()].contains(char::is_alphanumeric) {
            secrets.push(SecretSpan { range, kind: secret.kind });
        }
    }
    secrets
}

/// The place of the mask around an offset, if it is inside one.
fn mask_around(text: &str, at: usize) -> Option<Range<usize>> {
    let first = text.ceil_char_boundary(at.saturating_sub(LONGEST_MASK));
    let start = first + text.get(first..at)?.rfind('[')?;
    let rest = &text[start..text.floor_char_boundary(start + LONGEST_MASK)];
    let captures = PLACEHOLDERS.captures(rest)?;
    let mask = captures.get(0)?;
    let is_around = mask.start() == 0 && start + mask.end() > at;
    if !is_around || kinds::named(&captures[1]).is_none() {
        return None;
    }
    Some(start..start + mask.end())
}

/// The last place at or before an offset where a text can be cut: between two characters, outside of a mask.
pub fn cut_before(text: &str, at: usize) -> usize {
    let at = text.floor_char_boundary(at);
    match mask_around(text, at) {
        Some(mask) => mask.start,
        None => at,
    }
}

/// The first place at or behind an offset where a text can be cut.
pub fn cut_behind(text: &str, at: usize) -> usize {
    let at = text.ceil_char_boundary(at);
    match mask_around(text, at) {
        Some(mask) => mask.end,
        None => at,
    }
}

/// The beginning of a text of at most so many characters.
pub fn beginning(text: &str, chars: usize) -> &str {
    match text.char_indices().nth(chars) {
        Some((at, _)) => &text[..cut_before(text, at)],
        None => text,
    }
}
