//! Masks secrets in a conversation with placeholders that name their kind: `[github-token-1]`.
//!
//! The same secret gets the same placeholder everywhere, so a summarizer can still tell that it is the same. A secret
//! is recognized by its spelling or by the name before it, and nothing else is found. Masking cannot fail. Other
//! modules decide when to mask, and what is then sent or written.

mod assignments;
mod headers;
mod kinds;
mod masked;
mod names;
mod shapes;
mod values;

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::ops::Range;
use std::sync::LazyLock;

use regex::Regex;
use serde_json::Value;

use crate::pattern::pattern;
use crate::transcript::Transcript;
use crate::transcript::edit::Edit;
use crate::transcript::json::{Json, Kind, Token};
use crate::transcript::text::Text;

pub(crate) use masked::Masked;

/// Placeholders with a higher number are ordinary text: no conversation has so many secrets.
const HIGHEST_NUMBER: u64 = 1_000_000;
/// How often a text is searched again; no known text needs more than two rounds.
const MOST_ROUNDS: usize = 8;

/// Matches candidates for placeholders.
static PLACEHOLDERS: LazyLock<Regex> = LazyLock::new(|| pattern(r"\[([a-z0-9]+(?:-[a-z]+)+|[a-z]+)-([0-9]+)\]"));

/// Masks secrets, and remembers the placeholder of each.
#[derive(Default, Clone)]
pub(crate) struct Redactor {
    /// The placeholder of each secret.
    placeholders: BTreeMap<String, (&'static str, u64)>,
    /// The highest number of each kind, assigned here or found in a text.
    highest: BTreeMap<&'static str, u64>,
    counts: BTreeMap<&'static str, u64>,
}

/// Formats only the counts and never the secrets.
impl fmt::Debug for Redactor {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_struct("Redactor").field("counts", &self.counts).finish_non_exhaustive()
    }
}

/// Returns each kind of secret, as its placeholders name it, and how it is recognized.
pub(crate) fn secrets() -> Vec<(&'static str, String)> {
    kinds::table()
}

/// A secret in a text.
#[derive(Debug, Clone, PartialEq, Eq)]
struct SecretSpan {
    /// Its span, in bytes.
    range: Range<usize>,
    /// Its kind.
    kind: &'static str,
}

/// Whether a byte ends an unquoted value.
fn is_delimiter(byte: u8) -> bool {
    byte.is_ascii_whitespace() || byte.is_ascii_control() || matches!(byte, b'"' | b'\'' | b'`')
}

impl Redactor {
    /// Creates one that knows no secret.
    pub(crate) fn new() -> Self {
        Redactor::default()
    }

    /// Reserves the placeholders in a text, so that no other secret gets one of them. [`Redactor::mask`] does so
    /// itself; this is for texts that come later, such as an earlier summary.
    pub(crate) fn reserve_placeholders(&mut self, text: &str) {
        self.placeholders_in(text);
    }

    /// Masks the secrets in a text, such as a summary or an answer.
    pub(crate) fn mask<'t>(&mut self, text: &'t str) -> Cow<'t, str> {
        self.masked(text, Member::Unnamed)
    }

    /// Returns the edits that mask the secrets in the strings of some messages, in order. Strings without secrets are
    /// not edited. The placeholders in all messages and in the envelope are reserved first.
    pub(crate) fn edits(&mut self, transcript: &Transcript<'_>, indices: &[usize]) -> Vec<Edit> {
        transcript.envelope.iter().for_each(|envelope| self.reserve_placeholders(envelope.raw()));
        transcript.messages.iter().for_each(|message| self.reserve_placeholders(message.json.raw()));
        let mut indices = indices.to_vec();
        indices.sort_unstable();
        indices.dedup();
        let messages = indices.into_iter().filter_map(|index| transcript.messages.get(index));
        messages.flat_map(|message| self.edits_in(message.json)).collect()
    }

    /// Counts the masks of secrets that this one knows in a text that was masked without being counted.
    pub(crate) fn count_masks(&mut self, text: &str) {
        let own: BTreeSet<(&'static str, u64)> = self.placeholders.values().copied().collect();
        for captures in PLACEHOLDERS.captures_iter(text) {
            let mask = kinds::named(&captures[1]).zip(captures[2].parse().ok());
            if let Some((kind, _)) = mask.filter(|mask| own.contains(mask)) {
                *self.counts.entry(kind).or_default() += 1;
            }
        }
    }

    /// Returns how many places of each kind were masked so far.
    pub(crate) fn counts(&self) -> &BTreeMap<&'static str, u64> {
        &self.counts
    }

    /// Returns the edits of the strings in one value.
    fn edits_in(&mut self, json: Json<'_>) -> Vec<Edit> {
        let mut edits = Vec::new();
        let mut open: Vec<Open> = Vec::new();
        for token in json.tokens() {
            match token {
                Token::Open(kind) => {
                    let inherited = open.last_mut().map(|outer| outer.value_key(kind)).unwrap_or_default();
                    open.push(Open { is_object: kind == Kind::Object, key: inherited, ..Open::default() });
                }
                Token::Close => drop(open.pop()),
                Token::Scalar(scalar) => {
                    let Some(text) = scalar.text() else {
                        open.last_mut().into_iter().for_each(Open::pass_value);
                        continue;
                    };
                    match open.last_mut() {
                        Some(object) if object.is_object && !object.has_key => object.read_key(text),
                        mut container => {
                            let member = container.as_deref().map_or(Member::Unnamed, Open::member);
                            let value = text.decode();
                            if let Cow::Owned(masked) = self.masked(&value, member) {
                                edits.push(Edit { range: scalar.span(), text: Value::from(masked).to_string() });
                            }
                            container.iter_mut().for_each(|container| container.pass_text(&value));
                        }
                    }
                }
            }
        }
        edits
    }

    /// Masks the secrets in a text that is the value of `member`. Masking may expose the rest of a text as a secret, so
    /// a changed text is searched again.
    fn masked<'t>(&mut self, text: &'t str, member: Member<'_>) -> Cow<'t, str> {
        let mut masked = self.mask_once(text, member);
        for _ in 0..MOST_ROUNDS {
            match &masked {
                Cow::Owned(text) => match self.mask_once(text, member) {
                    Cow::Owned(again) => masked = Cow::Owned(again),
                    Cow::Borrowed(_) => break,
                },
                Cow::Borrowed(_) => break,
            }
        }
        masked
    }

    fn mask_once<'t>(&mut self, text: &'t str, member: Member<'_>) -> Cow<'t, str> {
        if member == Member::Sealed {
            return Cow::Borrowed(text);
        }
        let placeholders = self.placeholders_in(text);
        let mut found = Vec::new();
        shapes::find(text, &mut found);
        if member != Member::Structural {
            if let Member::Named(name) = member {
                found.extend(assignments::in_member(name, text));
            }
            assignments::find(text, &placeholders, &mut found);
            headers::commands(text, &mut found);
        }
        let found = merge(text, found, &placeholders);
        if found.is_empty() {
            return Cow::Borrowed(text);
        }
        let mut out = String::with_capacity(text.len());
        let mut done = 0;
        for SecretSpan { range, kind } in found {
            out.push_str(&text[done..range.start]);
            done = range.end;
            let (kind, number) = self.placeholder(&text[range], kind);
            *self.counts.entry(kind).or_default() += 1;
            out.push_str(&format!("[{kind}-{number}]"));
        }
        out.push_str(&text[done..]);
        Cow::Owned(out)
    }

    /// Returns the placeholder of a secret: its own, or the next one of its kind.
    fn placeholder(&mut self, secret: &str, kind: &'static str) -> (&'static str, u64) {
        if let Some(known) = self.placeholders.get(secret) {
            return *known;
        }
        let number = self.highest.entry(kind).or_default();
        *number += 1;
        self.placeholders.insert(secret.to_owned(), (kind, *number));
        (kind, *number)
    }

    /// Returns the spans of placeholders in a text, and reserves their numbers.
    fn placeholders_in(&mut self, text: &str) -> Vec<Range<usize>> {
        let mut ranges = Vec::new();
        for captures in PLACEHOLDERS.captures_iter(text) {
            let Some(kind) = kinds::named(&captures[1]) else { continue };
            ranges.extend(captures.get(0).map(|whole| whole.range()));
            if let Some(number) = captures[2].parse::<u64>().ok().filter(|number| *number <= HIGHEST_NUMBER) {
                let highest = self.highest.entry(kind).or_default();
                *highest = number.max(*highest);
            }
        }
        ranges
    }
}

/// The member whose value a string is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Member<'n> {
    /// None with a name.
    Unnamed,
    /// A member of this name.
    Named(&'n str),
    /// A member that describes the structure of a message.
    Structural,
    /// A member that its provider verifies.
    Sealed,
}

/// An open object or list around a string.
#[derive(Default)]
struct Open {
    is_object: bool,
    /// The key of the next value; a list has its own key.
    key: String,
    /// Whether a key was read.
    has_key: bool,
    /// The text of the member `name` or `key`, which may name the member called `value`.
    label: Option<String>,
}

impl Open {
    fn read_key(&mut self, key: Text<'_>) {
        self.key = key.decode().into_owned();
        self.has_key = true;
    }

    fn pass_value(&mut self) {
        self.has_key = false;
    }

    /// Skips a value that is a list or an object. Returns the key that its elements inherit: a list has the key itself.
    fn value_key(&mut self, kind: Kind) -> String {
        self.has_key = false;
        if kind == Kind::Array { self.key.clone() } else { String::new() }
    }

    fn pass_text(&mut self, value: &str) {
        if self.is_object && matches!(self.key.as_str(), "name" | "key") && value.len() <= 64 {
            self.label = Some(value.to_owned());
        }
        self.has_key = false;
    }

    fn member(&self) -> Member<'_> {
        match (self.key.as_str(), &self.label) {
            ("", _) => Member::Unnamed,
            ("value", Some(label)) => Member::Named(label),
            (key, _) if names::is_sealed(key) => Member::Sealed,
            (key, _) if names::is_structural(key) => Member::Structural,
            (key, _) => Member::Named(key),
        }
    }
}

/// Sorts and merges secrets. Overlapping ones become one, of the kind of the larger. Placeholders stay unchanged.
fn merge(text: &str, mut found: Vec<SecretSpan>, placeholders: &[Range<usize>]) -> Vec<SecretSpan> {
    found.sort_by_key(|secret| (secret.range.start, std::cmp::Reverse(secret.range.end)));
    let mut joined: Vec<SecretSpan> = Vec::new();
    for next in found {
        match joined.last_mut() {
            Some(last) if next.range.start < last.range.end => {
                if next.range.len() > last.range.len() {
                    last.kind = next.kind;
                }
                last.range.end = last.range.end.max(next.range.end);
            }
            _ => joined.push(next),
        }
    }
    joined.into_iter().flat_map(|secret| around_placeholders(text, secret, placeholders)).collect()
}

/// Returns the pieces of a secret between the placeholders inside it, if they have something to mask.
fn around_placeholders(text: &str, secret: SecretSpan, placeholders: &[Range<usize>]) -> Vec<SecretSpan> {
    let first = placeholders.partition_point(|range| range.end <= secret.range.start);
    let inside = placeholders[first..].iter().take_while(|range| range.start < secret.range.end);
    let mut pieces = Vec::new();
    let mut start = secret.range.start;
    for placeholder in inside {
        pieces.push(start..placeholder.start.max(start));
        start = placeholder.end;
    }
    pieces.push(start..secret.range.end.max(start));
    let has_something = |range: &Range<usize>| text[range.clone()].chars().any(char::is_alphanumeric);
    pieces.into_iter().filter(has_something).map(|range| SecretSpan { range, kind: secret.kind }).collect()
}

#[cfg(test)]
mod tests;
#[cfg(test)]
mod token_tests;
