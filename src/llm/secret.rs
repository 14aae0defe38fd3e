//! An API key. It is sent in a header, and masked in every text that comes back.

use std::fmt;

use reqwest::header::HeaderValue;

use crate::llm::encodings;

/// The text in the place of a key.
const MASK: &str = "[key]";

/// A key. Its `Debug` output does not show it.
#[derive(Clone)]
pub(crate) struct Secret(String);

impl Secret {
    /// Returns a key without white space around it, which comes from files and from copying; nothing if it has
    /// characters that no header can contain.
    pub(crate) fn new(key: &str) -> Option<Self> {
        let key = key.trim();
        key.bytes().all(|byte| byte.is_ascii_graphic()).then(|| Secret(key.to_owned()))
    }

    /// Masks the key in a text, and every part of it of eight characters or more, in plain form and in every encoding
    /// that a terminal or another program would decode. All other text stays the same, byte for byte.
    ///
    /// This must be the last step before a text is shown, except for clipping: a shorter part is not recognized.
    pub(crate) fn mask(&self, text: &str) -> String {
        // A shorter key is a dummy for a server that needs some key, and would be found inside words. So would a word.
        const SHORTEST: usize = 4;
        const SHORTEST_WORD: usize = 12;
        let is_word = self.0.bytes().all(|byte| byte.is_ascii_alphabetic());
        if self.0.len() < if is_word { SHORTEST_WORD } else { SHORTEST } {
            return text.to_owned();
        }
        let text = text.replace(&self.0, MASK);
        if self.0.len() < encodings::PART {
            return text;
        }
        let mut masked = String::new();
        let mut end = 0;
        for found in encodings::find(&text, &self.0) {
            if masked.is_empty() || found.start > end {
                masked.push_str(&text[end..found.start]);
                masked.push_str(MASK);
            }
            end = end.max(found.end);
        }
        masked + &text[end..]
    }

    /// Returns the value of a header with the key behind `prefix`.
    pub(super) fn header(&self, prefix: &str) -> Option<HeaderValue> {
        let mut value = HeaderValue::from_str(&format!("{prefix}{}", self.0)).ok()?;
        value.set_sensitive(true);
        Some(value)
    }
}

/// Returns a text in which the key, where there is one, is masked.
pub(super) fn masked(key: Option<&Secret>, text: &str) -> String {
    key.map_or_else(|| text.to_owned(), |key| key.mask(text))
}

impl fmt::Debug for Secret {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(MASK)
    }
}

#[cfg(test)]
mod tests;
