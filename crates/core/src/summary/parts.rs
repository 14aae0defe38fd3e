//! Splits a history that exceeds the summarizer's window, and shortens pieces that are too large on their own.

use std::borrow::Cow;

use crate::tokens::Counter;
use crate::transcript::Message;

use crate::summary::history;
use crate::summary::trim::truncate_middle;

/// The fewest characters that are left of a text, whatever the limit.
const MIN_CHARS: usize = 16;

/// Measures texts for the window of a summarizer.
#[derive(Debug, Clone, Copy)]
pub struct Measure {
    /// The best known counter of its tokens.
    pub counter: Counter,
    /// Whether the window is so small that a margin does not cover texts with many digits and signs.
    pub is_small: bool,
}

impl Measure {
    /// Counts the tokens of a text. Estimates are rather too high than too low. Scripts with few letters a word have
    /// several bytes a letter.
    pub fn tokens(self, text: &str) -> u64 {
        const BYTES_PER_TOKEN: usize = 4;
        let counted = self.counter.count_text(text);
        if self.is_exact() {
            return counted;
        }
        let estimated = counted.max(text.len().div_ceil(BYTES_PER_TOKEN) as u64);
        if self.is_small { estimated.max(estimate_pieces(text)) } else { estimated }
    }

    /// The tokens left for a history in a window, besides the answer and the text around the history.
    pub fn room(self, window: u64, answer: u64, around: &str) -> u64 {
        let margin = if self.is_exact() { window / 50 } else { window / 10 };
        window.saturating_sub(answer).saturating_sub(self.tokens(around)).saturating_sub(margin)
    }

    fn is_exact(self) -> bool {
        matches!(self.counter, Counter::Exact(_))
    }
}

/// Estimates tokens by the pieces of common tokenizers: words, single digits, pairs of signs. In JSON results these are
/// up to twice as many as a fourth of the characters.
fn estimate_pieces(text: &str) -> u64 {
    let mut tokens = 0;
    for run in text.as_bytes().chunk_by(|one, next| ByteClass::of(*one) == ByteClass::of(*next)) {
        tokens += match (ByteClass::of(run[0]), run.len()) {
            (ByteClass::Lower, letters) => letters.div_ceil(6),
            // A single one belongs to the next word.
            (ByteClass::Space, _) | (ByteClass::Upper, 1) => 0,
            (ByteClass::Upper | ByteClass::Sign, signs) => signs.div_ceil(2),
            (ByteClass::Digit | ByteClass::Line, signs) => signs,
            (ByteClass::Foreign, bytes) => bytes.div_ceil(3),
        };
    }
    tokens as u64
}

/// What a byte of a text is to a tokenizer.
#[derive(PartialEq)]
enum ByteClass {
    Lower,
    Upper,
    Digit,
    Line,
    Space,
    Sign,
    Foreign,
}

impl ByteClass {
    fn of(byte: u8) -> Self {
        match byte {
            b'a'..=b'z' => ByteClass::Lower,
            b'A'..=b'Z' => ByteClass::Upper,
            b'0'..=b'9' => ByteClass::Digit,
            b'\n' => ByteClass::Line,
            b' ' | b'\t' | b'\r' => ByteClass::Space,
            0x80.. => ByteClass::Foreign,
            _ => ByteClass::Sign,
        }
    }
}

/// Splits `indices` into runs that keep each call with its results. `connected` has the indices of calls and of their
/// results, ordered by call.
pub fn indivisible_runs<'i>(indices: &'i [usize], connected: &[(usize, usize)]) -> Vec<&'i [usize]> {
    // The change in the number of connections that cross the seam before each index.
    let mut open_before = vec![0i64; indices.len() + 1];
    for (call, result) in connected {
        if let (Ok(call), Ok(result)) = (indices.binary_search(call), indices.binary_search(result)) {
            open_before[call + 1] += 1;
            open_before[result + 1] -= 1;
        }
    }
    let mut open = 0;
    let mut runs = Vec::new();
    let mut start = 0;
    for seam in 1..=indices.len() {
        open += open_before[seam];
        if open == 0 {
            runs.push(&indices[start..seam]);
            start = seam;
        }
    }
    runs
}

/// Writes messages in at most `limit` tokens. It removes the middle of their texts and halves the longest until they
/// fit.
pub fn write_within(messages: &[&Message<'_>], measure: Measure, limit: u64) -> String {
    let mut text = history::write(messages.iter().copied());
    let mut max_chars = text.chars().count();
    while measure.tokens(&text) > limit && max_chars > MIN_CHARS {
        max_chars /= 2;
        text = history::write_truncated(messages.iter().copied(), max_chars);
    }
    // For very many messages, none of them long.
    truncate_to_fit(&text, measure, limit).into_owned()
}

/// The complete lines of a text that was cut off; all of it if it has only one.
pub fn whole_lines(text: &str) -> &str {
    match text.rfind('\n') {
        Some(end) => text[..end].trim_end(),
        None => text,
    }
}

/// Removes the middle of a text until at most `limit` tokens are left.
pub fn truncate_to_fit(text: &str, measure: Measure, limit: u64) -> Cow<'_, str> {
    let mut characters = text.chars().count();
    let mut shown = Cow::Borrowed(text);
    // No text has more tokens than bytes.
    while shown.len() as u64 > limit && measure.tokens(&shown) > limit && characters > MIN_CHARS {
        characters /= 2;
        shown = truncate_middle(text, characters);
    }
    shown
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::transcript::framing::read_for_test as read;

    const MEASURE: Measure = Measure { counter: Counter::APPROX, is_small: false };

    #[test]
    fn calls_stay_with_their_results() {
        let indices = [1, 2, 3, 4, 5, 7];
        let none: Vec<&[usize]> = vec![&[1], &[2], &[3], &[4], &[5], &[7]];
        assert_eq!(indivisible_runs(&indices, &[]), none);
        let pairs: Vec<&[usize]> = vec![&[1], &[2, 3, 4], &[5], &[7]];
        assert_eq!(indivisible_runs(&indices, &[(2, 3), (2, 4), (3, 4)]), pairs);
        assert_eq!(indivisible_runs(&indices, &[(0, 3), (5, 6)]), none, "what is not sent holds nothing together");
        let nested: Vec<&[usize]> = vec![&[1, 2, 3, 4, 5], &[7]];
        assert_eq!(indivisible_runs(&indices, &[(1, 5), (2, 3)]), nested);
        assert!(indivisible_runs(&[], &[(1, 2)]).is_empty());
    }

    #[test]
    fn a_message_too_large_loses_its_middle() {
        let long = format!("BEGIN{}END", " word".repeat(2_000));
        let source = format!(r#"[{{"role":"user","content":"short"}},{{"role":"user","content":"{long}"}}]"#);
        let document = read(&source, None, None).expect("a transcript");
        let messages: Vec<&Message<'_>> = document.transcripts[0].messages.iter().collect();
        for limit in [60, 100, 1000, 3000] {
            let text = write_within(&messages, MEASURE, limit);
            assert!(MEASURE.tokens(&text) <= limit, "{limit}: {text}");
            assert!(
                text.contains("\nshort\n") && text.contains("\nBEGIN") && text.contains("END\n"),
                "{limit}: {text}"
            );
        }
        assert!(MEASURE.tokens(&write_within(&messages, MEASURE, 9)) <= 9);
    }

    #[test]
    fn a_line_that_was_cut_off_goes() {
        assert_eq!(whole_lines("- one\n- two\n\n- thr"), "- one\n- two");
        assert_eq!(whole_lines("- on"), "- on");
    }

    #[test]
    fn estimates_are_cautious() {
        assert_eq!(MEASURE.tokens("abcdefgh"), 2);
        assert_eq!(MEASURE.tokens("令牌比较写反了。"), 6);
        assert_eq!(MEASURE.room(1000, 100, "abcdefgh"), 798);
        assert_eq!(MEASURE.room(100, 200, ""), 0);
    }

    /// The expected counts are those of the Qwen 2.5 tokenizer.
    #[test]
    fn in_a_small_window_numbers_and_signs_count_as_what_they_are() {
        let small = Measure { is_small: true, ..MEASURE };
        for (text, tokens) in [
            (r#"{"origin": "LGA", "flight_number": "HAT172", "date": "2024-05-24", "price": 102, "seats": 17}"#, 49),
            ("please look at the file and say what changed in it, and why.\n", 15),
            ("src/engine/asking.rs:233:    fn measure(&self) -> Measure {", 19),
            ("令牌比较写反了。", 6),
        ] {
            let estimated = small.tokens(text);
            assert!(estimated * 10 >= tokens * 9 && estimated <= tokens * 2, "{text}: {estimated}");
        }
        assert!(MEASURE.tokens(r#"{"a": 1}"#) < small.tokens(r#"{"a": 1}"#));
        let exact = Measure { counter: Counter::Exact(crate::tokens::bpe::Encoding::O200kBase), is_small: true };
        assert_eq!(exact.tokens("1 2 3"), exact.counter.count_text("1 2 3"));
    }
}
