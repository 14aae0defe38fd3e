//! The tokens of texts that were counted before. What is pruned and cut is counted several times.

use std::collections::HashMap;
use std::hash::{DefaultHasher, Hasher};

/// The texts that are remembered, at most.
const MOST: usize = 4_096;

/// The tokens of texts, by their hash and length.
#[derive(Debug, Default)]
pub(super) struct Memo(HashMap<TextKey, u64>);

/// A text's hash and its length in bytes.
pub(super) type TextKey = (u64, usize);

pub(super) fn key(text: &str) -> TextKey {
    let mut hasher = DefaultHasher::new();
    hasher.write(text.as_bytes());
    (hasher.finish(), text.len())
}

impl Memo {
    /// The tokens of a text, if they are known.
    pub(super) fn get(&self, key: TextKey) -> Option<u64> {
        self.0.get(&key).copied()
    }

    /// Remembers the tokens of a text.
    pub(super) fn insert(&mut self, key: TextKey, tokens: u64) {
        if self.0.len() == MOST {
            self.0.clear();
        }
        self.0.insert(key, tokens);
    }
}
