//! A key: it goes into a header, and is masked in every text that comes from whoever was sent it.

use std::fmt;

use reqwest::header::HeaderValue;

use crate::llm::encodings;

/// What stands in the place of a key.
const MASK: &str = "[key]";

/// A key. It prints as nothing.
#[derive(Clone)]
pub(crate) struct Secret(String);

impl Secret {
    /// Takes a key, without the white space around it that a file or a copy may have brought along; nothing if it has
    /// characters that no header can carry.
    pub(crate) fn new(key: &str) -> Option<Self> {
        let key = key.trim();
        key.bytes().all(|byte| byte.is_ascii_graphic()).then(|| Secret(key.to_owned()))
    }

    /// A text without the key, as it is or in any disguise that a terminal or a reader would see through. Everything else
    /// stays to the byte.
    ///
    /// This is the last step before a text leaves, but for what makes it shorter: a part of a key is not known again.
    pub(crate) fn mask(&self, text: &str) -> String {
        // What is shorter is for a server that wants any key, and would be found in the middle of words; so would a word.
        const SHORTEST: usize = 4;
        const SHORTEST_WORD: usize = 12;
        const SHORTEST_DISGUISED: usize = 8;
        let is_word = self.0.bytes().all(|byte| byte.is_ascii_alphabetic());
        if self.0.len() < if is_word { SHORTEST_WORD } else { SHORTEST } {
            return text.to_owned();
        }
        let text = text.replace(&self.0, MASK);
        if self.0.len() < SHORTEST_DISGUISED {
            return text;
        }
        let mut masked = String::new();
        let mut end = 0;
        for found in encodings::find(&text, &self.0) {
            masked.push_str(&text[end..found.start]);
            masked.push_str(MASK);
            end = found.end;
        }
        masked + &text[end..]
    }

    /// The value of a header that carries the key behind `prefix`.
    pub(super) fn header(&self, prefix: &str) -> Option<HeaderValue> {
        let mut value = HeaderValue::from_str(&format!("{prefix}{}", self.0)).ok()?;
        value.set_sensitive(true);
        Some(value)
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(MASK)
    }
}

#[cfg(test)]
mod tests;
