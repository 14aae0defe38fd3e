//! Finds the values that a rule found elsewhere in the conversation, wherever they stand as whole tokens: a password of a
//! `.env` file in the command that uses it, before or behind.
//!
//! All values are searched for at once, so the time does not grow with their number.

use std::ops::Range;

use aho_corasick::AhoCorasick;

use crate::SecretSpan;
use crate::extents::{Class, LONGEST_VALUE, can_begin};
use crate::values::is_dense;

/// From so many characters on, a value is its own proof.
const LONG: usize = 16;
/// A shorter value has a letter and a digit, and so many characters.
const SHORT: usize = 6;

/// The values that were found.
pub(super) struct KnownValues {
    search: AhoCorasick,
    values: Vec<KnownValue>,
}

struct KnownValue {
    kind: &'static str,
    /// Whether the value is too random to be a part of a name with `_` or `-`.
    is_random: bool,
}

impl KnownValues {
    /// Nothing where no value can be told from a word.
    pub(super) fn new<'v>(found: impl Iterator<Item = (&'v str, &'static str)>) -> Option<Self> {
        let (mut texts, mut values) = (Vec::new(), Vec::new());
        for (text, kind) in found {
            if is_unmistakable(text) {
                texts.push(text);
                values.push(KnownValue { kind, is_random: is_dense(text, LONG) });
            }
        }
        if texts.is_empty() {
            return None;
        }
        let search = AhoCorasick::new(texts).ok()?;
        Some(KnownValues { search, values })
    }

    /// Finds all of them in a text, in no particular order; those that overlap too, for the longer one can be a part of a
    /// word where the shorter one is not.
    pub(super) fn find(&self, text: &str, found: &mut Vec<SecretSpan>) {
        for place in self.search.find_overlapping_iter(text) {
            let value = &self.values[place.pattern().as_usize()];
            if is_whole(text, &place.range(), value.is_random) {
                found.push(SecretSpan { range: place.range(), kind: value.kind });
            }
        }
    }
}

/// Whether a value is no word that texts have for other reasons.
fn is_unmistakable(value: &str) -> bool {
    let length = value.chars().count();
    let is_mixed = value.contains(char::is_alphabetic) && value.contains(|c: char| c.is_ascii_digit());
    value.len() <= LONGEST_VALUE && (length >= LONG || length >= SHORT && is_mixed)
}

/// Whether a part of a text is not a part of a longer word.
fn is_whole(text: &str, range: &Range<usize>, is_random: bool) -> bool {
    let value = &text[range.clone()];
    let (before, behind) = (&text[..range.start], &text[range.end..]);
    let (Some(first), Some(last)) = (value.chars().next(), value.chars().next_back()) else { return false };
    if before.chars().next_back().is_some_and(|c| is_one_word(c, first)) && !can_begin(text, range.start) {
        return false;
    }
    if behind.chars().next().is_some_and(|c| is_one_word(last, c)) {
        return false;
    }
    is_random || !(joins(before.chars().rev()) || joins(behind.chars()))
}

/// Whether two characters beside each other belong to one word. Chinese has no spaces beside letters of other scripts.
fn is_one_word(one: char, other: char) -> bool {
    one.is_alphanumeric() && other.is_alphanumeric() && one.is_ascii() == other.is_ascii()
}

/// Whether the characters beside a value make it a part of a name, as in `hunter2-service` or `hunter2.txt`.
fn joins(mut beside: impl Iterator<Item = char>) -> bool {
    beside.next().is_some_and(|c| matches!(c, '_' | '-' | '.')) && beside.next().is_some_and(char::is_alphanumeric)
}

/// The tokens of a value that are secret by themselves. What a rule found can have more around them: the name of a user, of
/// a scheme or of a cookie. Of hexadecimal digits, which ids of commits and folders have too, only what stands behind `=` counts.
pub(super) fn tokens(value: &str) -> Vec<&str> {
    let mut tokens = Vec::new();
    let mut start = 0;
    for part in value.split_inclusive(|c: char| !Class::Word.has_char(c)) {
        let before = &value.as_bytes()[..start];
        start += part.len();
        let token = part.trim_end_matches(|c: char| !Class::Word.has_char(c));
        let is_encoded = before.ends_with(b"%") && Class::Hex.run(token.as_bytes()) >= 2;
        // Two digits of a percent-encoded character stand before the token.
        let token = if is_encoded { &token[2..] } else { token };
        let may_be_id = Class::Hex.run(token.as_bytes()) == token.len() && !before.ends_with(b"=");
        let is_mixed =
            token.contains(|c: char| c.is_ascii_digit()) && token.contains(|c: char| c.is_ascii_alphabetic());
        if token.len() < value.len() && is_mixed && !may_be_id && is_dense(token, LONG) {
            tokens.push(token);
        }
    }
    tokens
}

/// The other spellings of a value: as a string of JSON has it, once and twice, and without the escapes of one.
pub(super) fn spellings(value: &str) -> Vec<String> {
    let mut spellings = Vec::new();
    if value.contains('\\')
        && let Ok(read) = serde_json::from_str::<String>(&format!("\"{value}\""))
    {
        spellings.push(read);
    }
    let mut text = value.to_owned();
    for _ in 0..2 {
        let quoted = serde_json::Value::from(text.as_str()).to_string();
        let escaped = &quoted[1..quoted.len() - 1];
        if escaped == text {
            break;
        }
        spellings.push(escaped.to_owned());
        text = escaped.to_owned();
    }
    spellings
}
