//! Masks secrets in a conversation with placeholders that name their kind: `[github-token-1]`.
//!
//! The same secret gets the same placeholder everywhere, so a summarizer can still tell that it is the same. A secret
//! is recognized by its spelling or by the name before it, and nothing else is found. Masking cannot fail. Other
//! modules decide when to mask, and what is then sent or written.
//!
//! Spellings are rows of the table in `kinds.rs`, which `shapes.rs` walks; `whole_keys.rs` finds what is more than a prefix
//! and a run of characters. Names are read by `assignments.rs`, and in JSON by `members.rs`: `names.rs` says which are those
//! of secrets, `operators.rs` and `loose.rs` what stands between name and value, `extents.rs` and `bare.rs` where the value
//! ends, `several.rs` how headers, lists and blocks are read, `values.rs` and `phrases.rs` whether a value is secret, and
//! `stand_ins.rs` what stands in the place of one.
//! `tables.rs` reads columns, `manifests.rs` Kubernetes Secrets, `escapes.rs` the source of pages, `places.rs` has the places
//! where a secret has no name. In the lines that `lines.rs` finds, `sentences.rs` reads sentences, and below them
//! `headings.rs` what a heading names. `elements.rs` finds entities and tags, `letters.rs` tells what is random from words.
//! `known.rs` finds what one of these found elsewhere, and `spans.rs` makes one list of all.
//!
//! No cut of a text splits a mask: half of `[github-token-1]` names nothing, and looks like text of the source.

mod assignments;
mod bare;
mod elements;
mod escapes;
mod extents;
mod headings;
mod kinds;
mod known;
mod letters;
mod lines;
mod loose;
mod manifests;
mod members;
mod names;
mod operators;
mod phrases;
mod places;
mod sentences;
mod several;
mod shapes;
mod spans;
mod stand_ins;
mod tables;
mod values;
mod whole_keys;

use tcompact_base::{pattern, sanitize};
use tcompact_transcript as transcript;

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::ops::Range;
use std::sync::{Arc, LazyLock};

use regex::Regex;
use serde_json::Value;

use crate::escapes::Unescaped;
use crate::extents::{Class, escape_letters, is_file};
use crate::known::KnownValues;
use crate::members::Member;
use crate::pattern::pattern;
use crate::sanitize::Shown;
use crate::spans::{merge, without_brackets};
use crate::transcript::Transcript;
use crate::transcript::edit::{Edit, apply, sort};
use crate::transcript::json::Json;
use crate::transcript::pieces::{all_tool_data, tool_data};
use crate::transcript::source::Source;

pub use kinds::secrets;
pub use names::is_secret_name;
pub use spans::{beginning, cut_before, cut_behind};

/// Placeholders with a higher number are ordinary text: no conversation has so many secrets.
const HIGHEST_NUMBER: u64 = 1_000_000;
/// How often a text is searched again; no known text needs more than two rounds.
const MOST_ROUNDS: usize = 8;
/// How many texts inside texts are read as JSON.
const DEEPEST: usize = 4;
/// The most bytes of an envelope that is looked through whatever its conversation is.
const SHARED_ENVELOPE: usize = 1 << 16;
/// Matches candidates for placeholders.
static PLACEHOLDERS: LazyLock<Regex> = LazyLock::new(|| pattern(r"\[([a-z0-9]+(?:-[a-z]+)+|[a-z]+)-([0-9]+)\]"));

/// Matches candidates for masks, in ids too, where they have no brackets.
static MASKS: LazyLock<Regex> = LazyLock::new(|| pattern(r"([a-z0-9]+(?:-[a-z]+)+|[a-z]+)-([0-9]+)"));

/// Masks secrets, and remembers the placeholder of each.
#[derive(Default, Clone)]
pub struct Redactor {
    /// The placeholder of each secret.
    placeholders: BTreeMap<String, (&'static str, u64)>,
    /// These placeholders.
    own: BTreeSet<(&'static str, u64)>,
    /// The highest number of each kind, assigned here or found in a text.
    highest: BTreeMap<&'static str, u64>,
    counts: BTreeMap<&'static str, u64>,
    /// The secrets of the conversation so far.
    found: BTreeSet<String>,
    /// Those that are masked wherever they stand.
    known: Option<Arc<KnownValues>>,
    /// Whether the conversation was looked through for them.
    is_looked_through: bool,
}

/// Formats only the counts and never the secrets.
impl fmt::Debug for Redactor {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_struct("Redactor").field("counts", &self.counts).finish_non_exhaustive()
    }
}

/// A secret in a text.
#[derive(Debug, Clone, PartialEq, Eq)]
struct SecretSpan {
    /// Its span, in bytes.
    range: Range<usize>,
    /// Its kind.
    kind: &'static str,
}

impl Redactor {
    /// Reserves the placeholders in a text, so that no other secret gets one of them. [`Redactor::mask`] does so
    /// itself; this is for texts that come later, such as an earlier summary.
    pub fn reserve_placeholders(&mut self, text: &str) {
        self.placeholders_in(text);
    }

    /// Masks the secrets in a text, such as a summary or an answer.
    pub fn mask<'t>(&mut self, text: &'t str) -> Cow<'t, str> {
        self.masked(text, Member::Unnamed, 0)
    }

    /// Masks the secrets in the strings of a text that is JSON, which stays so.
    pub fn mask_strings<'t>(&mut self, json: &'t str) -> Cow<'t, str> {
        self.mask_json(json, 0).unwrap_or(Cow::Borrowed(json))
    }

    /// Looks a conversation through, so that a secret that one place tells is masked in all places. The placeholders in
    /// the conversation are reserved first.
    pub fn look_through(&mut self, transcript: &Transcript<'_>) {
        if let Some(envelope) = transcript.envelope {
            self.reserve_placeholders(envelope.raw());
        }
        for message in &transcript.messages {
            self.reserve_placeholders(message.json.raw());
        }
        let data = all_tool_data(std::slice::from_ref(transcript));
        let entries: Vec<Json<'_>> = transcript.entries().collect();
        let bytes: usize = entries.iter().map(|entry| entry.span().len()).sum();
        let counts = self.counts.clone();
        for json in entries {
            self.edits_in(json, &data, &[], 0);
        }
        // The envelope of many conversations is not looked through for each of them.
        if let Some(envelope) = transcript.envelope
            && envelope.span().len() <= bytes.saturating_mul(8).max(SHARED_ENVELOPE)
        {
            self.edits_in(envelope, &data, &[], 0);
        }
        self.counts = counts;
        self.know_all();
    }

    /// Looks texts through in the same way.
    pub fn look_through_texts<'x>(&mut self, texts: impl Iterator<Item = &'x str> + Clone) {
        for text in texts.clone() {
            self.reserve_placeholders(text);
        }
        let counts = self.counts.clone();
        for text in texts {
            self.mask(text);
        }
        self.counts = counts;
        self.know_all();
    }

    /// From here on, masks all secrets that were found so far wherever they stand. Returns whether a text can be searched
    /// for any of them.
    pub fn know_all(&mut self) -> bool {
        let mut spellings = Vec::new();
        for value in &self.found {
            let Some(placeholder) = self.placeholders.get(value) else { continue };
            for spelling in known::spellings(value) {
                spellings.push((spelling, *placeholder));
            }
            for token in known::tokens(value) {
                spellings.push((token.to_owned(), *placeholder));
            }
        }
        for (spelling, placeholder) in spellings {
            self.placeholders.entry(spelling.clone()).or_insert(placeholder);
            self.found.insert(spelling);
        }
        let mut values = Vec::with_capacity(self.found.len());
        for value in &self.found {
            if let Some((kind, _)) = self.placeholders.get(value) {
                values.push((value.as_str(), *kind));
            }
        }
        self.known = KnownValues::new(values.into_iter()).map(Arc::new);
        self.is_looked_through = true;
        self.known.is_some()
    }

    /// Begins another conversation: the secrets of those before it keep their placeholders, and are not searched for.
    pub fn begin_another(&mut self) {
        self.found.clear();
        self.known = None;
        self.is_looked_through = false;
    }

    /// Whether the conversation was looked through for its secrets.
    pub fn is_looked_through(&self) -> bool {
        self.is_looked_through
    }

    /// The edits that mask the secrets in the strings of some messages, in order. Strings without secrets are not
    /// edited. The conversation is looked through first, unless one was before.
    pub fn edits(&mut self, transcript: &Transcript<'_>, indices: &[usize]) -> Vec<Edit> {
        if self.is_looked_through {
            for message in &transcript.messages {
                self.reserve_placeholders(message.json.raw());
            }
        } else {
            self.look_through(transcript);
        }
        let indices: BTreeSet<usize> = indices.iter().copied().collect();
        let mut edits = Vec::new();
        for index in indices {
            let Some(message) = transcript.messages.get(index) else { continue };
            let data = tool_data(transcript, message);
            edits.extend(self.edits_in(message.json, &data, &[], 0));
            if let Some(edit) = message.content_edit() {
                edits.extend(self.edits_in(edit.sent, &data, &[], 0));
            }
        }
        sort(&mut edits);
        edits
    }

    /// Counts the masks of secrets that this one knows in texts that were masked without being counted.
    pub fn count_masks<'x>(&mut self, texts: impl Iterator<Item = &'x str>) {
        for (kind, _) in self.masks_in(texts) {
            *self.counts.entry(kind).or_default() += 1;
        }
    }

    /// The masks in some texts of secrets that this one knows, in order.
    pub fn masks_in<'x>(&self, texts: impl Iterator<Item = &'x str>) -> Vec<(&'static str, u64)> {
        let mut masks = Vec::new();
        for captures in texts.flat_map(|text| MASKS.captures_iter(text)) {
            if let Some(kind) = kinds::named(&captures[1])
                && let Ok(number) = captures[2].parse()
                && self.own.contains(&(kind, number))
            {
                masks.push((kind, number));
            }
        }
        masks
    }

    /// Forgets the counts, and keeps the placeholders.
    pub fn forget_counts(&mut self) {
        self.counts.clear();
    }

    /// How many places of each kind were masked so far.
    pub fn counts(&self) -> &BTreeMap<&'static str, u64> {
        &self.counts
    }

    /// The edit that masks the secrets in a string.
    fn edit(&mut self, value: &str, member: Member<'_>, range: Range<usize>, depth: usize) -> Option<Edit> {
        let Cow::Owned(mut masked) = self.masked(value, member, depth) else { return None };
        if member == Member::Structural && Class::Word.run(value.as_bytes()) == value.len() {
            // Providers refuse an id or the name of a tool with brackets.
            masked.retain(|c| !matches!(c, '[' | ']'));
        }
        Some(Edit { range, text: Value::from(masked).to_string() })
    }

    /// Masks the secrets in a text that is the value of `member`. Masking may expose the rest of a text as a secret, so
    /// a changed text is searched again.
    fn masked<'t>(&mut self, text: &'t str, member: Member<'_>, depth: usize) -> Cow<'t, str> {
        if member == Member::Sealed || is_file(text) {
            return Cow::Borrowed(text);
        }
        let mut masked = Cow::Borrowed(text);
        for _ in 0..=MOST_ROUNDS {
            let json = if member == Member::Structural { None } else { self.mask_json(&masked, depth) };
            // Known values are searched for in its strings, and not in the names of its members.
            let is_json = json.is_some();
            let mut is_changed = false;
            if let Some(Cow::Owned(changed)) = json {
                masked = Cow::Owned(changed);
                is_changed = true;
            }
            // The members of an object have names of their own, and one of them told the secret.
            let is_object = is_json && masked.trim_start().starts_with('{');
            let member = if is_object && PLACEHOLDERS.is_match(&masked) { Member::Unnamed } else { member };
            match self.mask_once(&masked, member, !is_json) {
                Cow::Owned(again) => masked = Cow::Owned(again),
                Cow::Borrowed(_) if is_changed => {}
                Cow::Borrowed(_) => break,
            }
        }
        masked
    }

    /// Masks the secrets in the strings of a text that is JSON itself; nothing where it is not.
    fn mask_json<'t>(&mut self, text: &'t str, depth: usize) -> Option<Cow<'t, str>> {
        if depth > DEEPEST || !text.trim_start().starts_with(['{', '[']) {
            return None;
        }
        let source = Source::of_arguments(text)?;
        let edits = self.edits_in(source.first()?, std::slice::from_ref(&(0..text.len())), &[], depth + 1);
        Some(if edits.is_empty() { Cow::Borrowed(text) } else { Cow::Owned(apply(text, &edits)) })
    }

    /// Masks the secrets in a text, those that were found elsewhere only where `has_values`.
    fn mask_once<'t>(&mut self, text: &'t str, member: Member<'_>, has_values: bool) -> Cow<'t, str> {
        let placeholders = self.placeholders_in(text);
        let searches_known = has_values && !matches!(member, Member::Structural | Member::Name);
        let known = if searches_known { self.known.clone() } else { None };
        let mut found = secrets_in(text, member, &placeholders);
        if let Some(known) = &known {
            known.find(text, &mut found);
        }
        // Colours part a secret, or its name from it.
        if let Some(shown) = Shown::new(text) {
            let mut secrets = secrets_in(&shown.text, member, &self.placeholders_in(&shown.text));
            if let Some(known) = &known {
                known.find(&shown.text, &mut secrets);
            }
            for SecretSpan { range, kind } in secrets {
                found.push(SecretSpan { range: shown.in_source(&range), kind });
            }
        }
        for secret in &mut found {
            // A mask that began with the letters of an escape would leave its backslash.
            let escape = escape_letters(text.as_bytes(), secret.range.start);
            secret.range.start = secret.range.end.min(secret.range.start + escape);
        }
        for secret in &mut found {
            secret.range = without_brackets(text, secret.range.clone());
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

    /// The placeholder of a secret: its own, or the next one of its kind.
    fn placeholder(&mut self, secret: &str, kind: &'static str) -> (&'static str, u64) {
        if !self.found.contains(secret) {
            self.found.insert(secret.to_owned());
        }
        if let Some(known) = self.placeholders.get(secret) {
            return *known;
        }
        let number = self.highest.entry(kind).or_default();
        *number += 1;
        self.own.insert((kind, *number));
        self.placeholders.insert(secret.to_owned(), (kind, *number));
        (kind, *number)
    }

    /// The spans of placeholders in a text. Reserves their numbers.
    fn placeholders_in(&mut self, text: &str) -> Vec<Range<usize>> {
        let mut ranges = Vec::new();
        for captures in PLACEHOLDERS.captures_iter(text) {
            let Some(kind) = kinds::named(&captures[1]) else { continue };
            ranges.extend(captures.get(0).map(|whole| whole.range()));
            if let Ok(number) = captures[2].parse::<u64>()
                && number <= HIGHEST_NUMBER
            {
                let highest = self.highest.entry(kind).or_default();
                *highest = number.max(*highest);
            }
        }
        ranges
    }
}

/// Finds the secrets in a text that is the value of `member`, in no particular order.
fn secrets_in(text: &str, member: Member<'_>, placeholders: &[Range<usize>]) -> Vec<SecretSpan> {
    let mut found = Vec::new();
    shapes::find(text, &mut found);
    places::find_urls(text, &mut found);
    if member != Member::Structural {
        if let Member::Named(name) = member {
            found.extend(assignments::in_member(name, text));
        }
        assignments::find(text, placeholders, &mut found);
        places::find(text, &mut found);
        places::find_logins(text, &mut found);
        let lines = lines::naming(text);
        sentences::find(text, &lines, &mut found);
        headings::find(text, &lines, &mut found);
        if let Some(read) = Unescaped::new(text, &lines) {
            let masks: Vec<Range<usize>> = PLACEHOLDERS.find_iter(&read.text).map(|mask| mask.range()).collect();
            let mut secrets = Vec::new();
            assignments::find(&read.text, &masks, &mut secrets);
            for SecretSpan { range, kind } in secrets {
                found.push(SecretSpan { range: read.in_source(&range), kind });
            }
        }
        tables::find_inserted(text, &mut found);
        manifests::find(text, &mut found);
    }
    found
}

/// The number of patterns that are not statics of their own: one of all prefixes, and those of rows with parts.
#[cfg(any(test, feature = "tests"))]
pub fn patterns_of_rows() -> usize {
    1 + kinds::SHAPES.iter().filter(|shape| matches!(shape.body, kinds::Body::Parts(_))).count()
}

/// Builds the patterns of this room.
#[cfg(any(test, feature = "tests"))]
pub fn patterns() -> Vec<&'static Regex> {
    let rest = [
        assignments::patterns(),
        bare::patterns(),
        elements::patterns(),
        loose::patterns(),
        manifests::patterns(),
        places::patterns(),
        names::patterns(),
        operators::patterns(),
        several::patterns(),
        shapes::patterns(),
        stand_ins::patterns(),
        tables::patterns(),
        values::patterns(),
        whole_keys::patterns(),
    ];
    rest.into_iter().flatten().chain([&*PLACEHOLDERS, &*MASKS]).collect()
}

#[cfg(test)]
mod generated_tests;
#[cfg(test)]
mod name_tests;
#[cfg(any(test, feature = "tests"))]
pub mod samples;
#[cfg(test)]
mod tests;
#[cfg(test)]
mod token_tests;
