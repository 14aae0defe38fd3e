//! Removes the middle of a history that exceeds the model's window.

use crate::redact::{cut_before, cut_behind};
use crate::tokens::Counter;

const OMITTED: &str = "\n\n[... middle of conversation omitted ...]\n\n";

/// Returns the beginning and the end of a history: half of its tokens, or two fifths of the window if that is less. A
/// quarter of that comes from the beginning, as in `LangChain`. `None` if no character would be left.
pub(crate) fn remove_middle(history: &str, counter: Counter, window: Option<u64>) -> Option<String> {
    let chars: Vec<usize> = history.char_indices().map(|(at, _)| at).collect();
    let tokens = counter.count_text_message(history);
    let half = tokens / 2;
    let budget = window.map_or(half, |window| half.min(window.saturating_mul(2) / 5));
    let keep = (chars.len() as u128 * u128::from(budget) / u128::from(tokens.max(1))) as usize;
    if keep == 0 {
        return None;
    }
    let (head, tail) = (keep / 4, keep - keep / 4);
    let (head, tail) = (cut_before(history, chars[head]), cut_behind(history, chars[chars.len() - tail]));
    Some([&history[..head], OMITTED, &history[tail..]].concat())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_middle_goes() {
        let history = "0123456789".repeat(10);
        let cut = remove_middle(&history, Counter::APPROX, None).expect("half of it");
        assert_eq!(cut, format!("{}{OMITTED}{}", &history[..12], &history[100 - 36..]));
        let small = remove_middle(&history, Counter::APPROX, Some(10)).expect("two fifths of ten tokens");
        assert_eq!(small.len() - OMITTED.len(), 100 * 4 / 29);
        assert_eq!(remove_middle(&history, Counter::APPROX, Some(1)), None);
        assert_eq!(remove_middle("", Counter::APPROX, None), None);
    }
}
