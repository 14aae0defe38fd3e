//! Names that cannot be guessed, and which of them were used again: given to a later call, or said by a person.

use std::collections::HashMap;
use std::hash::BuildHasher;

use foldhash::fast::RandomState;

/// Bytes of a name.
const LENGTHS: std::ops::RangeInclusive<usize> = 4..=80;

/// When names were last used.
#[derive(Clone, Default)]
pub(super) struct Names {
    last: HashMap<u64, u32, RandomState>,
}

impl Names {
    /// Notes that a text uses names.
    pub(super) fn uses(&mut self, text: &str, index: usize) {
        for name in names(text) {
            let key = self.last.hasher().hash_one(name);
            self.last.insert(key, u32::try_from(index).unwrap_or(u32::MAX));
        }
    }

    /// Whether a name is used after a message.
    pub(super) fn is_used_after(&self, name: &str, index: usize) -> bool {
        !self.last.is_empty()
            && self.last.get(&self.last.hasher().hash_one(name)).is_some_and(|last| *last as usize > index)
    }
}

/// The names of a text: words with digits, capitals or marks inside of them. Amounts, addresses and paths are none.
pub(super) fn names(text: &str) -> impl Iterator<Item = &str> {
    let inside =
        |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-' | b'.' | b'/' | b':' | b'#' | b'@');
    let words = text.split(move |c: char| !c.is_ascii() || !inside(c as u8));
    words.map(|word| word.trim_matches(['.', ':', '-', '#', '/'])).filter(|word| is_name(word))
}

fn is_name(word: &str) -> bool {
    if !LENGTHS.contains(&word.len()) || word.bytes().all(|byte| byte.is_ascii_lowercase()) || word.contains("//") {
        return false;
    }
    let (mut digits, mut letters, mut marks, mut camel) = (0, 0, 0, false);
    let mut before = b' ';
    for byte in word.bytes() {
        match byte {
            b'0'..=b'9' => digits += 1,
            b'a'..=b'z' | b'A'..=b'Z' => {
                letters += 1;
                camel |= before.is_ascii_lowercase() && byte.is_ascii_uppercase();
            }
            b'/' => return false,
            _ => marks += 1,
        }
        before = byte;
    }
    letters > 0 && (digits > 0 || word.contains('_') || camel || marks > 0 && word.contains([':', '@'])) || digits > 4
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
        let mut used = Names::default();
        used.uses("tracker show OPS-1234", 7);
        assert!(
            used.is_used_after("OPS-1234", 3) && !used.is_used_after("OPS-1234", 7) && !used.is_used_after("OPS-1", 3)
        );
    }
}
