//! The character classes in the patterns of the vocabularies, as a table that is read in place.
//!
//! The test `generated_tables` generates it, `classes.table`, from the tables of the `regex` crate.

/// A set of character classes, as the patterns of the vocabularies use them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Classes(pub(super) u8);

impl Classes {
    /// No class: that of the end of a text.
    pub(super) const NONE: Classes = Classes(0);
    /// Punctuation, symbols, controls: neither letter, number nor space.
    pub(super) const OTHER: Classes = Classes(1);
    /// Letters in upper or title case.
    pub(super) const UPPER: Classes = Classes(1 << 1);
    /// Letters in lower case.
    pub(super) const LOWER: Classes = Classes(1 << 2);
    /// Letters without case, and modifiers.
    pub(super) const CASELESS: Classes = Classes(1 << 3);
    /// Combining marks.
    pub(super) const MARK: Classes = Classes(1 << 4);
    /// Numbers of any kind.
    pub(super) const NUMBER: Classes = Classes(1 << 5);
    /// White space that does not end a line.
    pub(super) const SPACE: Classes = Classes(1 << 6);
    /// Carriage return and line feed.
    pub(super) const NEWLINE: Classes = Classes(1 << 7);

    pub(super) const fn or(self, other: Classes) -> Classes {
        Classes(self.0 | other.0)
    }

    /// Whether the sets share a class.
    pub(super) fn meet(self, other: Classes) -> bool {
        self.0 & other.0 != 0
    }
}

/// 4,352 numbers of blocks, then blocks of 256 sets of one class each.
static CLASSES: &[u8; 40_192] = include_bytes!("classes.table");
pub(super) const BLOCKS: usize = 0x11_0000 / 256;

/// The class of the character at `at` in `text`, and its length in bytes.
#[inline(always)]
pub(super) fn class(text: &[u8], at: usize) -> (Classes, usize) {
    match text.get(at) {
        None => (Classes::NONE, 0),
        // The first block has the first characters.
        Some(&byte) if byte < 0x80 => (Classes(CLASSES[BLOCKS + byte as usize]), 1),
        Some(&byte) => class_beyond_ascii(byte, &text[at..]),
    }
}

/// The class and the length of a character of several bytes, of which the first is given.
fn class_beyond_ascii(first: u8, text: &[u8]) -> (Classes, usize) {
    let first = first as usize;
    let (code, length) = match first {
        ..0xE0 => ((first & 0x1F) << 6 | six_bits(text, 1), 2),
        0xE0..0xF0 => ((first & 0xF) << 12 | six_bits(text, 1) << 6 | six_bits(text, 2), 3),
        _ => ((first & 7) << 18 | six_bits(text, 1) << 12 | six_bits(text, 2) << 6 | six_bits(text, 3), 4),
    };
    let block = CLASSES[code >> 8] as usize;
    (Classes(CLASSES[BLOCKS + block * 256 + (code & 0xFF)]), length)
}

/// The bits of the code point in a byte that continues a character.
#[inline]
fn six_bits(text: &[u8], at: usize) -> usize {
    (text[at] & 0x3F) as usize
}
