//! Decodes Base64: the beginning of a medium, whatever stands behind it, or a whole one as Python reads it.

use base64::Engine;
use base64::alphabet::STANDARD;
use base64::engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig};

const ANY_BITS: GeneralPurposeConfig = GeneralPurposeConfig::new().with_decode_allow_trailing_bits(true);
const LIKE_PYTHON: GeneralPurpose = GeneralPurpose::new(&STANDARD, ANY_BITS);
const ANY_PADDING: GeneralPurpose =
    GeneralPurpose::new(&STANDARD, ANY_BITS.with_decode_padding_mode(DecodePaddingMode::Indifferent));

/// Decodes Base64 as Python does by default: unknown characters are skipped, and the padding must be right.
pub fn decode_like_python(text: &str) -> Option<Vec<u8>> {
    let known: String = text.chars().filter(|c| c.is_ascii_alphanumeric() || matches!(c, '+' | '/' | '=')).collect();
    LIKE_PYTHON.decode(known).ok()
}

/// Decodes so many characters of the beginning of Base64 of either alphabet, as far as they are Base64. JSON may spell
/// them.
pub(super) fn decode_beginning(text: &str, most: usize) -> Vec<u8> {
    let mut bytes = text.bytes().take(most);
    let mut digits = Vec::new();
    while let Some(byte) = bytes.next() {
        match byte {
            b'-' => digits.push(b'+'),
            b'_' => digits.push(b'/'),
            b'+' | b'/' => digits.push(byte),
            _ if byte.is_ascii_alphanumeric() => digits.push(byte),
            b'\\' => match bytes.next() {
                Some(b'/') => digits.push(b'/'),
                Some(b'n' | b'r') => {}
                _ => break,
            },
            _ if byte.is_ascii_whitespace() || byte == b'=' => {}
            _ => break,
        }
    }
    // One digit more is no byte.
    if digits.len() % 4 == 1 {
        digits.pop();
    }
    ANY_PADDING.decode(&digits).unwrap_or_default()
}

/// Whether a text, as JSON spells it, is Base64, also with line ends in it.
pub(super) fn is_base64(raw: &str) -> bool {
    let mut bytes = raw.bytes();
    while let Some(byte) = bytes.next() {
        let is_known = byte.is_ascii_alphanumeric() || b"+/=-_\r\n".contains(&byte);
        let mut is_escape = || byte == b'\\' && matches!(bytes.next(), Some(b'/' | b'n' | b'r'));
        if !(is_known || is_escape()) {
            return false;
        }
    }
    true
}
