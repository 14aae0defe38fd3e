//! The patterns that split text into pieces before merging, written by hand.
//!
//! OpenAI publishes them as regular expressions with look-ahead. Written by hand they need no engine, no compilation
//! and no stack, and find each piece in one or two passes. The tests compare them with the expressions.
//!
//! All functions take valid UTF-8 from the start of a character on.

use crate::bpe::classes::{Classes, class};

const LETTER: Classes = Classes::UPPER.or(Classes::LOWER).or(Classes::CASELESS);
/// The classes of the upper part of a word, and of the lower one.
const UPPER: Classes = Classes::UPPER.or(Classes::CASELESS).or(Classes::MARK);
const LOWER: Classes = Classes::LOWER.or(Classes::CASELESS).or(Classes::MARK);
const SYMBOL: Classes = Classes::OTHER.or(Classes::MARK);
const SPACE: Classes = Classes::SPACE.or(Classes::NEWLINE);

/// The length in bytes of the first piece of `text` (not empty) in `cl100k_base`:
/// `'(?i:[sdmt]|ll|ve|re)|[^\r\n\p{L}\p{N}]?+\p{L}++|\p{N}{1,3}+| ?[^\s\p{L}\p{N}]++[\r\n]*+|\s++$|\s*[\r\n]|\s+(?!\S)|\s`
pub(super) fn cl100k(text: &[u8]) -> usize {
    let contraction = contraction(text, 0);
    if contraction > 0 {
        return contraction;
    }
    let letters_from = word_prefix(text);
    let letters_to = run(text, letters_from, LETTER);
    if letters_to > letters_from {
        return letters_to;
    }
    if let Some(end) = number_or_symbols(text, b"\r\n") {
        return end;
    }
    let space = run(text, 0, SPACE);
    if space == text.len() {
        return space;
    }
    match through_last_newline(text, space) {
        Some(end) => end,
        None => all_but_last(text, space),
    }
}

/// The length in bytes of the first piece of `text` (not empty) in `o200k_base`: words by their case with their
/// contraction, numbers of up to three digits, symbols, white space. (tiktoken publishes the seven alternatives.)
pub(super) fn o200k(text: &[u8]) -> usize {
    let word = word(text);
    if word > 0 {
        return word + contraction(text, word);
    }
    if let Some(end) = number_or_symbols(text, b"\r\n/") {
        return end;
    }
    let space = run(text, 0, SPACE);
    match through_last_newline(text, space) {
        Some(end) => end,
        None if space == text.len() => space,
        None => all_but_last(text, space),
    }
}

/// Matches the alternatives of both patterns: `\p{N}{1,3}`, ` ?[^\s\p{L}\p{N}]+` with its trailing characters. Nothing
/// matches where the text begins with other white space.
#[inline]
fn number_or_symbols(text: &[u8], trailing: &[u8]) -> Option<usize> {
    if class(text, 0).0 == Classes::NUMBER {
        return Some(number(text));
    }
    let from = usize::from(text[0] == b' ');
    let mut end = run(text, from, SYMBOL);
    if end == from {
        return None;
    }
    while text.get(end).is_some_and(|byte| trailing.contains(byte)) {
        end += 1;
    }
    Some(end)
}

/// Matches the first two alternatives of `o200k_base`: a word with one sign before it, without its contraction. Returns
/// 0 if there is none.
#[inline]
fn word(text: &[u8]) -> usize {
    let start = word_prefix(text);
    let (end, ends_lower) = word_from(text, start);
    if start > 0 && !ends_lower && class(text, 0).0 == Classes::MARK {
        // A mark can be the sign before a word. Where no word with a lower part follows, it is a word itself.
        return word_from(text, 0).0;
    }
    if end > start { end } else { 0 }
}

/// The end of the word that begins at `start`, and whether it has a lower part:
/// `[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+`, upper letters before lower ones, or else
/// `[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+`. `start` if there is none.
#[inline]
fn word_from(text: &[u8], start: usize) -> (usize, bool) {
    // The end of the last letter of the upper part that is also a lower one. Where no lower letter follows, the word
    // ends there.
    let mut low = start;
    let mut upper = start;
    loop {
        let (class, length) = class(text, upper);
        if !class.meet(UPPER) {
            break;
        }
        upper += length;
        if class.meet(LOWER) {
            low = upper;
        }
    }
    let lower = run(text, upper, LOWER);
    if lower > upper {
        (lower, true)
    } else if low > start {
        (low, true)
    } else {
        (upper, false)
    }
}

/// `[^\r\n\p{L}\p{N}]?`: one sign, space or mark before a word.
#[inline]
fn word_prefix(text: &[u8]) -> usize {
    let (first, length) = class(text, 0);
    if first.meet(SYMBOL.or(Classes::SPACE)) { length } else { 0 }
}

/// `\p{N}{1,3}`
fn number(text: &[u8]) -> usize {
    let mut end = 0;
    for _ in 0..3 {
        let (class, length) = class(text, end);
        if class != Classes::NUMBER {
            break;
        }
        end += length;
    }
    end
}

/// `\s*[\r\n]+`: the white space up to and with its last line end.
fn through_last_newline(text: &[u8], space: usize) -> Option<usize> {
    let last = text[..space].iter().rposition(|byte| matches!(byte, b'\r' | b'\n'))?;
    Some(last + 1)
}

/// `\s+(?!\S)|\s`: white space without its last character where other text follows, but at least one character.
fn all_but_last(text: &[u8], space: usize) -> usize {
    let last = text[..space].iter().rposition(|byte| !is_continuation(*byte)).unwrap_or(0);
    if last > 0 { last } else { space }
}

/// Whether a byte of UTF-8 continues a character.
fn is_continuation(byte: u8) -> bool {
    byte & 0xC0 == 0x80
}

/// The length of `'s`, `'t`, `'re`, `'ve`, `'m`, `'ll`, `'d` at `at`, in any case; 0 if there is none.
#[inline]
fn contraction(text: &[u8], at: usize) -> usize {
    if text.get(at) != Some(&b'\'') {
        return 0;
    }
    match (lower_letter(text, at + 1), lower_letter(text, at + 2)) {
        (b's' | b't' | b'm' | b'd', _) => 2,
        // The long s folds to s.
        (0xC5, 0xBF) => 3,
        (b'r' | b'v', b'e') | (b'l', b'l') => 3,
        _ => 0,
    }
}

/// The byte at a place in lower case; 0 behind the end.
#[inline]
fn lower_letter(text: &[u8], at: usize) -> u8 {
    text.get(at).map_or(0, u8::to_ascii_lowercase)
}

/// The end of the characters of `classes` from `from` on.
#[inline]
fn run(text: &[u8], from: usize, classes: Classes) -> usize {
    let mut end = from;
    loop {
        let (class, length) = class(text, end);
        if !class.meet(classes) {
            return end;
        }
        end += length;
    }
}
