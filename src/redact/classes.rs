//! The characters that secrets consist of.

/// The set of characters in a secret.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Class {
    Digits,
    Hex,
    /// Capital letters and digits.
    Capitals,
    Alphanumeric,
    /// Letters, digits, `_` and `-`.
    Word,
    /// `Word`, dots and `~`.
    Dotted,
    /// `Dotted` and `=`.
    Padded,
    /// Base64 of either alphabet, percent encoded or not; also the path of a URL.
    Encoded,
}

impl Class {
    /// Whether the class contains a byte.
    pub(super) fn has(self, byte: u8) -> bool {
        match self {
            Class::Digits => byte.is_ascii_digit(),
            Class::Hex => byte.is_ascii_hexdigit(),
            Class::Capitals => byte.is_ascii_uppercase() || byte.is_ascii_digit(),
            Class::Alphanumeric => byte.is_ascii_alphanumeric(),
            Class::Word => byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-'),
            Class::Dotted => Class::Word.has(byte) || matches!(byte, b'.' | b'~'),
            Class::Padded => Class::Dotted.has(byte) || byte == b'=',
            Class::Encoded => Class::Word.has(byte) || matches!(byte, b'+' | b'/' | b'=' | b'%'),
        }
    }

    /// Counts the leading bytes that the class contains.
    pub(super) fn run(self, bytes: &[u8]) -> usize {
        bytes.iter().take_while(|byte| self.has(**byte)).count()
    }
}

/// A run of characters of a class.
#[derive(Debug, Clone, Copy)]
pub(super) struct CharRun {
    pub(super) class: Class,
    /// The fewest characters.
    pub(super) least: usize,
    /// The most characters; a longer run is something else.
    pub(super) most: usize,
}
