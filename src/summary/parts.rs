//! A history that is more than the summarizer can read at once: where it can be cut, and how a piece that is too large
//! by itself is shortened.

use std::borrow::Cow;

use crate::tokens::Counter;
use crate::transcript::Message;

use crate::summary::history;

/// Characters of a text that are left of it, whatever the limit.
const SHORTEST: usize = 16;

/// How much a summarizer can read.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Measure {
    /// How its tokens are counted, as well as is known.
    pub(crate) counter: Counter,
    /// Whether the window is so small that a margin does not make up for texts of many numbers and signs.
    pub(crate) is_small: bool,
}

impl Measure {
    /// Tokens of a text: rather too many than too few where they are only estimated. Scripts with few letters a word have
    /// several bytes a letter.
    pub(crate) fn tokens(self, text: &str) -> u64 {
        const BYTES_PER_TOKEN: usize = 4;
        let counted = self.counter.count_text(text);
        if self.exact() {
            return counted;
        }
        let estimated = counted.max(text.len().div_ceil(BYTES_PER_TOKEN) as u64);
        if self.is_small { estimated.max(pieces(text)) } else { estimated }
    }

    /// Tokens that are left for a history in a window, beside the answer and what stands around the history.
    pub(crate) fn room(self, window: u64, answer: u64, around: &str) -> u64 {
        let margin = if self.exact() { window / 50 } else { window / 10 };
        window.saturating_sub(answer).saturating_sub(self.tokens(around)).saturating_sub(margin)
    }

    fn exact(self) -> bool {
        matches!(self.counter, Counter::Exact(_))
    }
}

/// Tokens of a text by the pieces that tokenizers make of it: words, digits one by one, signs in pairs. Of results in JSON
/// these are up to twice as many as a fourth of the characters.
fn pieces(text: &str) -> u64 {
    #[derive(PartialEq)]
    enum Class {
        Lower,
        Upper,
        Digit,
        Line,
        Space,
        Sign,
        Foreign,
    }
    let class = |byte: &u8| match byte {
        b'a'..=b'z' => Class::Lower,
        b'A'..=b'Z' => Class::Upper,
        b'0'..=b'9' => Class::Digit,
        b'\n' => Class::Line,
        b' ' | b'\t' | b'\r' => Class::Space,
        0x80.. => Class::Foreign,
        _ => Class::Sign,
    };
    let runs = text.as_bytes().chunk_by(|one, next| class(one) == class(next));
    let tokens = runs.map(|run| match (class(&run[0]), run.len()) {
        (Class::Lower, letters) => letters.div_ceil(6),
        // One alone begins a word.
        (Class::Space, _) | (Class::Upper, 1) => 0,
        (Class::Upper | Class::Sign, signs) => signs.div_ceil(2),
        (Class::Digit | Class::Line, signs) => signs,
        (Class::Foreign, bytes) => bytes.div_ceil(3),
    });
    tokens.sum::<usize>() as u64
}

/// The runs of `indices` that are not parted: each call is in one with its results. `connected` are the indices of calls and of
/// their results, the first before the second.
pub(crate) fn together<'i>(indices: &'i [usize], connected: &[(usize, usize)]) -> Vec<&'i [usize]> {
    // How many connections reach over the seam before each index.
    let mut over = vec![0i64; indices.len() + 1];
    for (call, result) in connected {
        let place = |index: &usize| indices.binary_search(index).ok();
        if let (Some(call), Some(result)) = (place(call), place(result)) {
            over[call + 1] += 1;
            over[result + 1] -= 1;
        }
    }
    let mut open = 0;
    let mut runs = Vec::new();
    let mut start = 0;
    for seam in 1..=indices.len() {
        open += over[seam];
        if open == 0 {
            runs.push(&indices[start..seam]);
            start = seam;
        }
    }
    runs
}

/// Messages written down in at most `limit` tokens: the middle of their texts goes, half of what is left of the longest at
/// a time.
pub(crate) fn shortened(messages: &[&Message<'_>], measure: Measure, limit: u64) -> String {
    let mut text = history::write(messages.iter().copied());
    let mut longest = text.chars().count();
    while measure.tokens(&text) > limit && longest > SHORTEST {
        longest /= 2;
        text = history::write_shortened(messages.iter().copied(), longest);
    }
    // A great many messages, none of them long.
    within(&text, measure, limit).into_owned()
}

/// The whole lines of a text that was cut off; all of it where it has but one.
pub(crate) fn whole_lines(text: &str) -> &str {
    text.rfind('\n').map_or(text, |end| text[..end].trim_end())
}

/// A text without its middle, as far as it must go for the rest to have at most `limit` tokens.
pub(crate) fn within(text: &str, measure: Measure, limit: u64) -> Cow<'_, str> {
    let mut characters = text.chars().count();
    let mut shown = Cow::Borrowed(text);
    // No text has more tokens than bytes.
    while shown.len() as u64 > limit && measure.tokens(&shown) > limit && characters > SHORTEST {
        characters /= 2;
        shown = history::without_middle(text, characters);
    }
    shown
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::transcript::framing::tests::read;

    const MEASURE: Measure = Measure { counter: Counter::DEFAULT, is_small: false };

    #[test]
    fn calls_stay_with_their_results() {
        let indices = [1, 2, 3, 4, 5, 7];
        let none: Vec<&[usize]> = vec![&[1], &[2], &[3], &[4], &[5], &[7]];
        assert_eq!(together(&indices, &[]), none);
        let pairs: Vec<&[usize]> = vec![&[1], &[2, 3, 4], &[5], &[7]];
        assert_eq!(together(&indices, &[(2, 3), (2, 4), (3, 4)]), pairs);
        assert_eq!(together(&indices, &[(0, 3), (5, 6)]), none, "what is not sent holds nothing together");
        let nested: Vec<&[usize]> = vec![&[1, 2, 3, 4, 5], &[7]];
        assert_eq!(together(&indices, &[(1, 5), (2, 3)]), nested);
        assert!(together(&[], &[(1, 2)]).is_empty());
    }

    #[test]
    fn what_is_too_large_loses_its_middle() {
        let long = format!("BEGIN{}END", " word".repeat(2_000));
        let source = format!(r#"[{{"role":"user","content":"short"}},{{"role":"user","content":"{long}"}}]"#);
        let document = read(&source, None, None).expect("a transcript");
        let messages: Vec<&Message<'_>> = document.transcripts[0].messages.iter().collect();
        for limit in [60, 100, 1000, 3000] {
            let text = shortened(&messages, MEASURE, limit);
            assert!(MEASURE.tokens(&text) <= limit, "{limit}: {text}");
            assert!(
                text.contains("\nshort\n") && text.contains("\nBEGIN") && text.contains("END\n"),
                "{limit}: {text}"
            );
        }
        assert!(MEASURE.tokens(&shortened(&messages, MEASURE, 9)) <= 9);
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

    /// Tokens as the tokenizer of Qwen 2.5 counts them.
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
