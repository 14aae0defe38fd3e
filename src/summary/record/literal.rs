//! The classes of literals, and the boundaries of words.

use std::ops::Range;

/// The class of a literal.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(in crate::summary) enum LiteralClass {
    Url,
    Email,
    Path,
    Error,
    Version,
    Number,
    Identifier,
}

/// A literal and its byte range in a text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::summary) struct Literal {
    pub(in crate::summary) class: LiteralClass,
    pub(in crate::summary) span: Range<usize>,
}

/// Whether a byte is part of a word; all others, including everything beyond ASCII, separate words.
pub(super) fn is_word_byte(byte: u8) -> bool {
    const IN_WORD: [bool; 256] = {
        let mut table = [false; 256];
        let mut byte = 0;
        while byte < 128 {
            table[byte] = (byte as u8).is_ascii_alphanumeric()
                || matches!(byte as u8, b'_' | b'.' | b'/' | b':' | b'@' | b'$' | b'%' | b'+' | b'#' | b'~' | b'-');
            byte += 1;
        }
        table
    };
    IN_WORD[usize::from(byte)]
}

/// Returns the end of the word that starts at a place.
pub(super) fn word_end(bytes: &[u8], start: usize) -> usize {
    let mut end = start;
    while end < bytes.len() {
        let is_thousands_separator = || {
            bytes[end] == b','
                && end > start
                && bytes[end - 1].is_ascii_digit()
                && bytes.len() > end + 3
                && bytes[end + 1..end + 4].iter().all(u8::is_ascii_digit)
                && !bytes.get(end + 4).is_some_and(u8::is_ascii_digit)
        };
        if !is_word_byte(bytes[end]) && !is_thousands_separator() {
            break;
        }
        end += 1;
    }
    end
}

/// Returns the end of a word without the punctuation after it.
pub(super) fn trimmed_end(bytes: &[u8], start: usize, end: usize) -> usize {
    let behind = bytes[start..end]
        .iter()
        .rev()
        .take_while(|byte| matches!(byte, b'.' | b':' | b',' | b';' | b'!' | b'?' | b'-'));
    end - behind.count()
}
