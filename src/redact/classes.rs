//! The characters that secrets consist of.

use crate::redact::extents::LONGEST_VALUE;

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

/// Whether a value has letters of both cases and two digits or more.
pub(super) fn varied(value: &str) -> bool {
    let count = |test: fn(&u8) -> bool| value.as_bytes().iter().filter(|byte| test(byte)).count();
    count(u8::is_ascii_digit) > 1 && count(u8::is_ascii_uppercase) > 0 && count(u8::is_ascii_lowercase) > 0
}

/// Whether a text is a picture or another file in Base64, and not a secret in it.
pub(super) fn is_file(text: &str) -> bool {
    let in_url = text.split_once(";base64,").filter(|(kind, _)| kind.starts_with("data:") && kind.len() < 100);
    let data = in_url.map_or(text, |(_, data)| data);
    // A private key in Base64 begins with its first line.
    text.len() > LONGEST_VALUE && !data.starts_with("LS0tLS1") && Class::Encoded.run(data.as_bytes()) == data.len()
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::redact::Redactor;

    #[test]
    fn a_picture_stays_as_it_is() {
        let key = format!("/AI{}{}", "za", "x9Y8z7W6v5U4t3S2r1Q0x9Y8z7W6v5U4t3S");
        let picture = format!("iVBORw0KGgo{}{key}{}", "AAAA".repeat(700), "/9/+".repeat(700));
        for text in [picture.clone(), format!("data:image/png;base64,{picture}")] {
            assert!(is_file(&text));
            assert_eq!(Redactor::default().mask(&text), text);
        }
        for text in [key.clone(), format!("{key};base64,{picture}"), format!("{picture} {key}")] {
            assert!(!is_file(&text) && Redactor::default().mask(&text).contains("[google-key-1]"));
        }
    }
}
