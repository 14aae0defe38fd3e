//! How an agent notes that a provider refused what it had encrypted itself: it has lost the key.

use crate::json::Json;
use crate::unsent_forms::{Conditions, meets};

/// How an agent notes that a provider refused what it had encrypted itself.
#[derive(Debug)]
pub struct RefusedEncryption {
    /// What tells the entries that can say it.
    pub is: Conditions,
    /// The path to their text.
    pub text: &'static [&'static str],
    /// Groups of words; the text has all words of one group.
    pub words: &'static [&'static [&'static str]],
}

impl RefusedEncryption {
    pub fn is_in(&self, note: Json<'_>) -> bool {
        let Some(text) = note.at(self.text).and_then(|text| text.text()) else { return false };
        if !meets(note, self.is) {
            return false;
        }
        let text = text.decode();
        for group in self.words {
            if group.iter().all(|word| text.contains(word)) {
                return true;
            }
        }
        false
    }
}
