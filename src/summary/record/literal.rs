//! What a literal is, and where its word ends.

use std::ops::Range;

/// What a literal is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(in crate::summary) enum Class {
    Url,
    Email,
    Path,
    Error,
    Version,
    Number,
    Identifier,
}

/// A literal at its place in a text, in bytes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::summary) struct Literal {
    pub(in crate::summary) class: Class,
    pub(in crate::summary) span: Range<usize>,
}

/// Characters that words are made of; the rest, everything beyond ASCII included, stands between them.
pub(super) fn in_word(byte: u8) -> bool {
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

/// Where the word ends that begins at a place.
pub(super) fn word_end(bytes: &[u8], start: usize) -> usize {
    let mut end = start;
    while end < bytes.len() {
        let groups = || {
            bytes[end] == b','
                && end > start
                && bytes[end - 1].is_ascii_digit()
                && bytes.len() > end + 3
                && bytes[end + 1..end + 4].iter().all(u8::is_ascii_digit)
                && !bytes.get(end + 4).is_some_and(u8::is_ascii_digit)
        };
        if !in_word(bytes[end]) && !groups() {
            break;
        }
        end += 1;
    }
    end
}

/// Where a word ends without the punctuation behind it.
pub(super) fn trimmed(bytes: &[u8], start: usize, end: usize) -> usize {
    let behind = bytes[start..end]
        .iter()
        .rev()
        .take_while(|byte| matches!(byte, b'.' | b':' | b',' | b';' | b'!' | b'?' | b'-'));
    end - behind.count()
}
