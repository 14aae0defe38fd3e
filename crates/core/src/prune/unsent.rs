//! What a session file holds and no model is sent: copies of results, lines about progress, what the last entry does not
//! lead to. It counts nothing, so only the file shrinks, and what is sent stays the same.
//!
//! A format says in a table what that is ([`UnsentForms`](crate::transcript::unsent_forms::UnsentForms)). This file makes
//! the changes of all entries; how a member becomes shorter and which entries go, its modules say.

mod entries;
mod lines;
mod media;
mod members;
mod spared;

use std::ops::Range;

use crate::prune::rule::{Amount, IsReplaced, ProposedChange, RuleKind};
use crate::prune::scene::Scene;
use crate::prune::{Rule, media as media_rule};
use crate::rewrite::media::OffloadedFile;
use crate::transcript::edit::{Edit, sort};
use crate::transcript::entries::{Retention, no_longer_sent};
use crate::transcript::format::Format;
use crate::transcript::json::Json;
use crate::transcript::pieces::Piece;
use crate::transcript::{Message, Transcript};

use entries::{EntryFate, fates};
use members::{TakenValues, UnsentValue};
use spared::SparedMessages;

pub use lines::{SessionEnd, UnsentLines, reads_by_line};

pub(super) const KIND: RuleKind = RuleKind {
    name: "unsent",
    takes: "",
    about: "what the file holds and no model is sent: copies of results, progress, old snapshots; in kept messages too",
    default: Amount::None,
    find: nothing_in_messages,
};

/// The rule takes nothing that is sent. What it takes is found by [`find_unsent`].
fn nothing_in_messages(_: &Scene<'_, '_>, _: Amount, _: &IsReplaced<'_>) -> Vec<ProposedChange> {
    Vec::new()
}

/// What becomes of one entry, or of what it holds beside its message.
#[derive(Debug, Clone)]
pub struct UnsentChange {
    /// Where the entry is in the source.
    entry: Range<usize>,
    /// The name of the rule that takes it.
    rule: &'static str,
    edits: Vec<Edit>,
    /// What its edits take, each with the bytes that it saves.
    saved: Vec<(&'static str, u64)>,
    /// Removed bytes that the archive keeps.
    files: Vec<OffloadedFile>,
}

/// The text that entries stand in, and the format that they have.
#[derive(Debug, Clone, Copy)]
struct FormattedText<'a> {
    text: &'a str,
    format: &'static Format,
}

impl<'a> FormattedText<'a> {
    fn of(transcript: &Transcript<'a>) -> Self {
        FormattedText { text: transcript.source, format: transcript.format }
    }
}

/// What is pruned of a session that no model is sent.
#[derive(Debug, Default, Clone)]
pub struct PrunedUnsent {
    /// The edits within entries, in order.
    pub edits: Vec<Edit>,
    /// The number of entries that each rule changed, with the bytes that it saves.
    pub(super) by_rule: Vec<(&'static str, usize, u64)>,
    /// What was taken, each with the bytes that it saves, in the order of the file.
    pub by_label: Vec<(&'static str, u64)>,
    /// Removed bytes that the archive keeps.
    pub files: Vec<OffloadedFile>,
}

/// What decides about unsent content beside the transcript.
#[derive(Debug, Clone, Copy)]
pub struct UnsentRules<'r> {
    pub rules: &'r [Rule],
    /// Tools whose calls and results stay as they are.
    pub except: &'r [String],
    /// Whether an archive keeps what goes. Entries that were sent once go only then.
    pub has_archive: bool,
    /// Whether files beside the archive keep the bytes of media.
    pub offloads_media: bool,
}

impl UnsentRules<'_> {
    fn has(&self, name: &str) -> bool {
        self.rules.iter().any(|rule| rule.name() == name)
    }
}

/// The rule alone, for runs that change nothing else.
pub fn unsent_rule() -> Rule {
    Rule::of(&KIND)
}

/// Finds all that may go of a transcript, in the order of its entries.
pub fn find_unsent(transcript: &Transcript<'_>, rules: UnsentRules<'_>) -> Vec<UnsentChange> {
    let takes_all = rules.has(KIND.name);
    if !takes_all && !rules.has(media_rule::KIND.name) {
        return Vec::new();
    }
    let fates = if takes_all { fates(transcript, rules.has_archive) } else { Vec::new() };
    let mut changes = Vec::new();
    if takes_all {
        let spared = SparedMessages::of(transcript, rules.except);
        for message in &transcript.messages {
            if !spared.has(transcript, message) {
                changes.extend(change_of_message(FormattedText::of(transcript), message));
            }
        }
    }
    let is_old = no_longer_sent(&transcript.notes);
    for (index, note) in transcript.notes.iter().enumerate() {
        if note.retention == Retention::Lost {
            continue;
        }
        if note.retention == Retention::Copy {
            // The agent reads it in the place of the message.
            if takes_all {
                changes.extend(change_of_copy(FormattedText::of(transcript), note.json));
            }
            continue;
        }
        let fate = fates.get(index).unwrap_or(&EntryFate::Stays);
        let by_media = is_old[index] && rules.has(media_rule::KIND.name);
        changes.extend(change_of_note(FormattedText::of(transcript), note.json, fate, by_media, rules));
    }
    changes.sort_by_key(|change| change.entry.start);
    changes
}

/// What a message holds beside what is sent.
fn change_of_message(text: FormattedText<'_>, message: &Message<'_>) -> Option<UnsentChange> {
    let values = members::unsent_values(&text.format.unsent, message.json);
    if values.is_empty() {
        return None;
    }
    change_beside(message.json, values, &sent_spans(text, message))
}

/// What a copy of a message holds beside what is sent.
fn change_of_copy(text: FormattedText<'_>, copy: Json<'_>) -> Option<UnsentChange> {
    change_beside(copy, members::unsent_values(&text.format.unsent, copy), &[])
}

/// Shortens the values of an entry, but for those that touch the places that are sent.
fn change_beside(entry: Json<'_>, values: Vec<UnsentValue<'_>>, sent: &[Range<usize>]) -> Option<UnsentChange> {
    let mut change = UnsentChange::new(entry, KIND.name);
    let mut taken = TakenValues::default();
    for value in values {
        if !sent.iter().any(|span| overlaps(span, &value.json.span())) {
            media::empty(value.json, &mut change);
            taken.shorten(&value, &mut change);
        }
    }
    change.if_any()
}

/// The places of a message that are sent. A table that named one of them would be wrong, and nothing must be lost by it.
fn sent_spans(source: FormattedText<'_>, message: &Message<'_>) -> Vec<Range<usize>> {
    let mut spans = Vec::new();
    message.pieces(&mut |_, piece| {
        if let Some(text) = piece.text() {
            spans.extend(text.span_in(source.text));
        } else if let Piece::Media(_, json) = piece {
            spans.push(json.span());
        }
    });
    spans
}

fn change_of_note(
    text: FormattedText<'_>,
    entry: Json<'_>,
    fate: &EntryFate,
    by_media: bool,
    rules: UnsentRules<'_>,
) -> Option<UnsentChange> {
    let takes_all = rules.has(KIND.name);
    if !takes_all && !by_media {
        return None;
    }
    let mut change = UnsentChange::new(entry, KIND.name);
    if let EntryFate::Changes(label, edit) = fate {
        change.add(label, edit.clone());
        return Some(change);
    }
    media::add_notes(text, entry, rules.offloads_media, &mut change);
    let with_media = change.edits.len();
    if takes_all {
        let mut taken = TakenValues::default();
        for value in members::unsent_values(&text.format.unsent, entry) {
            taken.shorten(&value, &mut change);
        }
    }
    if by_media && change.edits.len() == with_media {
        change.rule = media_rule::KIND.name;
    }
    change.if_any()
}

fn overlaps(one: &Range<usize>, other: &Range<usize>) -> bool {
    one.start < other.end && other.start < one.end
}

impl UnsentChange {
    fn new(entry: Json<'_>, rule: &'static str) -> Self {
        UnsentChange { entry: entry.span(), rule, edits: Vec::new(), saved: Vec::new(), files: Vec::new() }
    }

    /// Adds an edit that takes what people call by a label. No two edits of an entry touch each other: the first counts.
    fn add(&mut self, label: &'static str, edit: Edit) {
        if self.edits.iter().any(|other| overlaps(&other.range, &edit.range)) {
            return;
        }
        let saved = edit.range.len().saturating_sub(edit.text.len()) as u64;
        add_to(&mut self.saved, label, saved);
        self.edits.push(edit);
    }

    fn if_any(mut self) -> Option<Self> {
        sort(&mut self.edits);
        if self.edits.is_empty() { None } else { Some(self) }
    }
}

/// Adds a number to that of a label.
fn add_to(numbers: &mut Vec<(&'static str, u64)>, label: &'static str, number: u64) {
    match numbers.iter_mut().find(|(other, _)| *other == label) {
        Some((_, sum)) => *sum += number,
        None => numbers.push((label, number)),
    }
}

impl PrunedUnsent {
    /// The changes of entries that stay. `gone` are the places of those that do not, in order.
    pub fn of(changes: &[UnsentChange], gone: &[Range<usize>]) -> Self {
        let mut pruned = PrunedUnsent::default();
        for change in changes {
            let at = gone.partition_point(|span| span.end <= change.entry.start);
            if gone.get(at).is_some_and(|span| span.start <= change.entry.start) {
                continue;
            }
            pruned.add(change);
        }
        sort(&mut pruned.edits);
        pruned
    }

    fn add(&mut self, change: &UnsentChange) {
        let at = match self.by_rule.iter().position(|(rule, ..)| *rule == change.rule) {
            Some(at) => at,
            None => {
                self.by_rule.push((change.rule, 0, 0));
                self.by_rule.len() - 1
            }
        };
        self.by_rule[at].1 += 1;
        for (label, saved) in &change.saved {
            self.by_rule[at].2 += saved;
            add_to(&mut self.by_label, label, *saved);
        }
        self.edits.extend(change.edits.iter().cloned());
        self.files.extend(change.files.iter().cloned());
    }

    pub fn is_empty(&self) -> bool {
        self.edits.is_empty()
    }

    /// The bytes that it saves.
    pub fn saved(&self) -> u64 {
        self.by_rule.iter().map(|(_, _, bytes)| bytes).sum()
    }

    /// The number of entries that it changes.
    pub fn entries(&self) -> usize {
        self.by_rule.iter().map(|(_, entries, _)| entries).sum()
    }
}

/// The edits that no other edit of the source touches; removals that follow each other become one. `others` are in order.
pub fn unsent_beside(unsent: &[Edit], others: &[Edit]) -> Vec<Edit> {
    let mut left: Vec<Edit> = Vec::with_capacity(unsent.len());
    for edit in unsent {
        let at = others.partition_point(|other| other.range.end <= edit.range.start);
        if others.get(at).is_some_and(|other| other.range.start < edit.range.end) {
            continue;
        }
        match left.last_mut() {
            Some(last) if last.range.end == edit.range.start && last.text.is_empty() && edit.text.is_empty() => {
                last.range.end = edit.range.end;
            }
            _ => left.push(edit.clone()),
        }
    }
    left
}

/// The same for a transcript in which nothing else is done.
#[cfg(any(test, feature = "tests"))]
pub fn prune_unsent(transcript: &Transcript<'_>, rules: &[Rule], has_archive: bool) -> PrunedUnsent {
    let rules = UnsentRules { rules, except: &[], has_archive, offloads_media: false };
    PrunedUnsent::of(&find_unsent(transcript, rules), &[])
}
