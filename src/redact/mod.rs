//! Masks secrets in a conversation with placeholders that name their kind: `[github-token-1]`.
//!
//! The same secret gets the same placeholder everywhere, so a summarizer can still tell that it is the same. A secret
//! is recognized by its spelling or by the name before it, and nothing else is found. Masking cannot fail. Other
//! modules decide when to mask, and what is then sent or written.

mod assignments;
mod classes;
mod headers;
mod jwt;
mod kinds;
mod masked;
mod names;
mod operators;
mod private_keys;
mod several;
mod shapes;
mod urls;
mod values;
mod whole;

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::ops::Range;
use std::sync::LazyLock;

use regex::Regex;
use serde_json::Value;

use crate::pattern::pattern;
use crate::redact::names::NameClass;
use crate::transcript::edit::{Edit, apply, sort};
use crate::transcript::json::{Json, Kind, Token};
use crate::transcript::source::Source;
use crate::transcript::text::Text;
use crate::transcript::{Arguments, Message, Transcript};

pub(crate) use masked::Masked;
pub(crate) use whole::{beginning, cut_before, cut_behind};

/// Placeholders with a higher number are ordinary text: no conversation has so many secrets.
const HIGHEST_NUMBER: u64 = 1_000_000;
/// How often a text is searched again; no known text needs more than two rounds.
const MOST_ROUNDS: usize = 8;
/// How many texts inside texts are read as JSON.
const DEEPEST: usize = 4;

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
        self.masked(text, Member::Unnamed, 0)
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
        messages.flat_map(|message| self.edits_in(message.json, &tool_data(transcript, message), 0)).collect()
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

    /// Returns the edits of the strings in one value, in order. `tool_data` are the parts that a tool has written.
    fn edits_in(&mut self, json: Json<'_>, tool_data: &[Range<usize>], depth: usize) -> Vec<Edit> {
        let mut edits: Vec<Edit> = Vec::new();
        let mut open: Vec<Open> = Vec::new();
        for token in json.tokens() {
            match token {
                Token::Open(kind) => {
                    let key = open.last_mut().map(Open::container_key).unwrap_or_default();
                    open.push(match kind {
                        Kind::Object => {
                            let secret_name = names::classify(&key).map(|_| key);
                            Open { is_object: true, secret_name, ..Open::default() }
                        }
                        _ => Open { key, ..Open::default() },
                    });
                }
                Token::Close => {
                    let named = open.pop().and_then(|object| object.unnamed.zip(object.label));
                    if let Some(((range, value), label)) = named {
                        edits.retain(|edit| edit.range != range);
                        edits.extend(self.edit(&value, Member::Named(&label), range, depth));
                    }
                }
                Token::Scalar(scalar) => {
                    let Some(text) = scalar.text() else {
                        open.last_mut().into_iter().for_each(Open::pass_value);
                        continue;
                    };
                    match open.last_mut() {
                        Some(object) if object.is_object && !object.has_key => object.read_key(text),
                        mut container => {
                            let range = scalar.span();
                            let member = container.as_deref().map_or(Member::Unnamed, Open::member);
                            let is_data =
                                tool_data.iter().any(|data| data.start <= range.start && range.end <= data.end);
                            let value = text.decode();
                            edits.extend(self.edit(&value, member.in_data(is_data), range.clone(), depth));
                            container.iter_mut().for_each(|container| container.pass_text(&value, &range));
                        }
                    }
                }
            }
        }
        sort(&mut edits);
        edits
    }

    /// Returns the edit that masks the secrets in a string.
    fn edit(&mut self, value: &str, member: Member<'_>, range: Range<usize>, depth: usize) -> Option<Edit> {
        match self.masked(value, member, depth) {
            Cow::Owned(masked) => Some(Edit { range, text: Value::from(masked).to_string() }),
            Cow::Borrowed(_) => None,
        }
    }

    /// Masks the secrets in a text that is the value of `member`. Masking may expose the rest of a text as a secret, so
    /// a changed text is searched again.
    fn masked<'t>(&mut self, text: &'t str, member: Member<'_>, depth: usize) -> Cow<'t, str> {
        let mut masked = match member {
            Member::Sealed => return Cow::Borrowed(text),
            Member::Structural => Cow::Borrowed(text),
            Member::Unnamed | Member::Named(_) => self.mask_json(text, depth).map_or(Cow::Borrowed(text), Cow::Owned),
        };
        for _ in 0..=MOST_ROUNDS {
            match self.mask_once(&masked, member) {
                Cow::Owned(again) => masked = Cow::Owned(again),
                Cow::Borrowed(_) => break,
            }
        }
        masked
    }

    /// Masks the secrets in the strings of a text that is JSON itself; nothing where it is none, or has none.
    fn mask_json(&mut self, text: &str, depth: usize) -> Option<String> {
        if depth > DEEPEST || !text.trim_start().starts_with(['{', '[']) {
            return None;
        }
        let source = Source::of_arguments(text)?;
        let all = Range { start: 0, end: text.len() };
        let edits = self.edits_in(source.first()?, &[all], depth + 1);
        (!edits.is_empty()).then(|| apply(text, &edits))
    }

    fn mask_once<'t>(&mut self, text: &'t str, member: Member<'_>) -> Cow<'t, str> {
        let placeholders = self.placeholders_in(text);
        let mut found = Vec::new();
        shapes::find(text, &mut found);
        urls::find(text, &mut found);
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

impl Member<'_> {
    /// Returns what the member is inside a tool's arguments or results, where no format has members of its own.
    fn in_data(self, is_data: bool) -> Self {
        if is_data && matches!(self, Member::Structural | Member::Sealed) { Member::Unnamed } else { self }
    }
}

/// Returns the parts of a message that a tool has written, or that are written for one.
fn tool_data(transcript: &Transcript<'_>, message: &Message<'_>) -> Vec<Range<usize>> {
    let arguments = message.calls.iter().filter_map(|call| match call.arguments {
        Arguments::Value(value) => Some(value.span()),
        Arguments::Text(_) | Arguments::Absent => None,
    });
    let outputs = message.results.iter().filter_map(|result| transcript.format.output(message, result));
    let values = outputs.flat_map(|output| [output.value].into_iter().chain(output.duplicates).chain(output.copies));
    arguments.chain(values.map(|value| value.span())).collect()
}

/// An open object or list around a string.
#[derive(Default)]
struct Open {
    is_object: bool,
    /// The key of the next value; a list has its own key.
    key: String,
    /// The key of an object, or of the list that it is in, if it is that of a secret.
    secret_name: Option<String>,
    /// Whether a key was read.
    has_key: bool,
    /// The text of the member `name` or `key`, which may name the member called `value`.
    label: Option<String>,
    /// The place and the text of the member called `value`, where no name came before it.
    unnamed: Option<(Range<usize>, String)>,
}

impl Open {
    /// Reads the key of a member. In an object with a secret's name, `value` and the like are secret too.
    fn read_key(&mut self, key: Text<'_>) {
        self.key = key.decode().into_owned();
        self.has_key = true;
        if let Some(outer) = self.secret_name.as_deref().filter(|_| names::classify(&self.key).is_none()) {
            let both = format!("{outer}.{}", self.key);
            if matches!(names::classify(&both), Some(NameClass::Password | NameClass::Key)) {
                self.key = both;
            }
        }
    }

    fn pass_value(&mut self) {
        self.has_key = false;
    }

    /// Skips a value that is a list or an object, and returns its key.
    fn container_key(&mut self) -> String {
        self.has_key = false;
        self.key.clone()
    }

    fn pass_text(&mut self, value: &str, range: &Range<usize>) {
        let is = |name: &&str| self.key.eq_ignore_ascii_case(name);
        if self.is_object && ["name", "key", "variable"].iter().any(is) && value.len() <= 64 {
            self.label = Some(value.to_owned());
        } else if self.is_object && is(&"value") && self.label.is_none() {
            self.unnamed = Some((range.clone(), value.to_owned()));
        }
        self.has_key = false;
    }

    fn member(&self) -> Member<'_> {
        match (self.key.as_str(), &self.label) {
            ("", _) => Member::Unnamed,
            (key, Some(label)) if key.eq_ignore_ascii_case("value") => Member::Named(label),
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

/// The number of patterns of this room that are not statics of their own: one of all prefixes, and those of rows with
/// parts.
#[cfg(test)]
pub(crate) fn patterns_of_rows() -> usize {
    1 + kinds::SHAPES.iter().filter(|shape| matches!(shape.body, kinds::Body::Parts(_))).count()
}

/// Builds the patterns of this room.
#[cfg(test)]
pub(crate) fn patterns() -> Vec<&'static Regex> {
    let rest = [
        assignments::patterns(),
        headers::patterns(),
        names::patterns(),
        private_keys::patterns(),
        shapes::patterns(),
        values::patterns(),
    ];
    rest.into_iter().flatten().chain([&*PLACEHOLDERS]).collect()
}

#[cfg(test)]
mod name_tests;
#[cfg(test)]
mod property_tests;
#[cfg(test)]
pub(crate) mod tests;
#[cfg(test)]
mod token_tests;
