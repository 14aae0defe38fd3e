//! Names that cannot be guessed, and which of them are used again: passed to a later call, or written by a person.

use std::collections::HashMap;
use std::hash::BuildHasher;

use foldhash::fast::RandomState;

/// Length of a name, in bytes.
const LENGTHS: std::ops::RangeInclusive<usize> = 4..=80;

/// For each name, the index of the last message that uses it. The keys are hashes.
#[derive(Clone, Default)]
pub(super) struct NameUsage {
    last: HashMap<u64, u32, RandomState>,
}

impl NameUsage {
    /// Records that the message at `index` uses the names in a text.
    pub(super) fn record_uses(&mut self, text: &str, index: usize) {
        for name in names(text) {
            let key = self.last.hasher().hash_one(name);
            self.last.insert(key, u32::try_from(index).unwrap_or(u32::MAX));
        }
    }

    /// Whether a message after `index` uses a name.
    pub(super) fn is_used_after(&self, name: &str, index: usize) -> bool {
        !self.last.is_empty()
            && self.last.get(&self.last.hasher().hash_one(name)).is_some_and(|last| *last as usize > index)
    }
}

/// Returns the names in a text: words that contain digits, capitals or punctuation. Amounts, addresses and paths are
/// not names.
pub(super) fn names(text: &str) -> impl Iterator<Item = &str> {
    let is_name_byte =
        |byte: &u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-' | b'.' | b'/' | b':' | b'#' | b'@');
    let bytes = text.as_bytes();
    let mut at = 0;
    // Splitting bytes takes half as long as splitting characters.
    let words = std::iter::from_fn(move || {
        let start = at + bytes[at..].iter().position(is_name_byte)?;
        at = bytes[start..].iter().position(|byte| !is_name_byte(byte)).map_or(bytes.len(), |length| start + length);
        Some(&text[start..at])
    });
    words.map(|word| word.trim_matches(['.', ':', '-', '#', '/'])).filter(|word| is_name(word))
}

fn is_name(word: &str) -> bool {
    if !LENGTHS.contains(&word.len()) || word.bytes().all(|byte| byte.is_ascii_lowercase()) {
        return false;
    }
    let (mut digits, mut letters, mut punctuation, mut camel) = (0, 0, 0, false);
    let mut before = b' ';
    for byte in word.bytes() {
        match byte {
            b'0'..=b'9' => digits += 1,
            b'a'..=b'z' | b'A'..=b'Z' => {
                letters += 1;
                camel |= before.is_ascii_lowercase() && byte.is_ascii_uppercase();
            }
            b'/' => return false,
            _ => punctuation += 1,
        }
        before = byte;
    }
    letters > 0 && (digits > 0 || word.contains('_') || camel || punctuation > 0 && word.contains([':', '@']))
        || digits > 4
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_told_from_words() {
        let text = "See cart-db-45 and OPS-1234, get_total() or getTotal; not this well-known one, 42 or src/a_b.rs. a1b2c3d4 x@y";
        assert_eq!(names(text).collect::<Vec<_>>(), ["cart-db-45", "OPS-1234", "get_total", "getTotal", "a1b2c3d4"]);
    }

    #[test]
    fn what_was_used_later() {
        let mut used = NameUsage::default();
        used.record_uses("tracker show OPS-1234", 7);
        assert!(
            used.is_used_after("OPS-1234", 3) && !used.is_used_after("OPS-1234", 7) && !used.is_used_after("OPS-1", 3)
        );
    }
}
