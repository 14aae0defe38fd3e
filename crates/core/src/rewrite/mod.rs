//! Turns a plan and a summary into the new text: edits and their application.
//!
//! Every change is an [`Edit`] of the source, so all bytes outside the edits stay unchanged: spacing, key order, the
//! spelling of numbers, unknown fields, line ends.

pub mod arguments;
pub mod elements;
pub mod growth;
pub mod lists;
mod masked;
pub mod media;
pub mod ranges;
pub mod repair;
pub mod restoring;
pub mod state_updates;
mod style;
pub mod thinking;
pub mod value_hash;
pub mod way_back;

use std::ops::Range;

use serde_json::Value;

use crate::plan::{Plan, carried};
use crate::transcript::entries::InnerList;
use crate::transcript::formats::{InsertionPoint, SummaryPosition};
use crate::transcript::{Retention, Transcript, compaction};

pub use crate::transcript::edit::{Edit, Replaces, apply, changes, pieces, sort};
pub use crate::transcript::view::edited;
pub use masked::Masked;
pub use style::Style;

/// A summary and its place.
#[derive(Debug, Clone, PartialEq)]
pub enum Placed {
    /// Among the messages. In session files it takes more than one entry.
    Messages(Vec<Value>),
    /// Beside the messages, as the text under [`carried::KEY`].
    Beside(String),
}

/// The edits that insert a summary in its place and remove what it replaces.
pub fn placed(transcript: &Transcript<'_>, plan: &Plan, summary: &Placed) -> Vec<Edit> {
    let mut edits;
    match summary {
        Placed::Messages(entries) => edits = splice(transcript, plan, entries),
        Placed::Beside(text) => {
            edits = splice(transcript, plan, &[]);
            if let Some(place) = carried::place(transcript) {
                edits.push(Edit { range: place.span(), text: Value::from(text.as_str()).to_string() });
            }
        }
    }
    // An event that stands for the first messages goes: they are gone, and others stand in their place.
    if !edits.is_empty()
        && let Some(event) = transcript.state.and_then(compaction::event_place)
    {
        edits.push(Edit { range: event.span(), text: "null".to_owned() });
    }
    sort(&mut edits);
    edits
}

/// All messages after the compaction as text: pinned messages and the summary, then the kept messages, with `edits`
/// applied.
pub fn remaining(transcript: &Transcript<'_>, plan: &Plan, summary: Option<&Placed>, edits: &[Edit]) -> Vec<String> {
    let (before, behind) = plan.pinned.split_at(plan.before_summary.min(plan.pinned.len()));
    let mut texts = Vec::new();
    for &index in before {
        if !is_emptied(plan, index) {
            texts.push(edited(transcript, index, edits));
        }
    }
    if let Some(Placed::Messages(entries)) = summary {
        texts.extend(entries.iter().map(|entry| Style::spaced().write(entry)));
    }
    let kept = plan.cutoff..transcript.messages.len();
    for index in behind.iter().copied().chain(kept) {
        if !is_emptied(plan, index) {
            texts.push(edited(transcript, index, edits));
        }
    }
    texts
}

/// Whether nothing of a message is left.
fn is_emptied(plan: &Plan, index: usize) -> bool {
    plan.emptied.binary_search(&index).is_ok()
}

pub fn summary_place<'p, 'a>(transcript: &'p Transcript<'a>, plan: &'p Plan) -> InsertionPoint<'p, 'a> {
    InsertionPoint::in_place_of(transcript, plan.cutoff, || {
        ListEntries::of(transcript, plan, plan.replaced()).starts_of_removed()
    })
}

/// The edits that replace messages by `summary` as `plan` says. The summary comes after the pinned messages that
/// precede it and before the other pinned and the kept messages. Without a summary the messages are only removed. There
/// are no edits if the plan replaces nothing.
pub fn splice(transcript: &Transcript<'_>, plan: &Plan, summary: &[Value]) -> Vec<Edit> {
    let replaced = plan.replaced();
    if replaced.is_empty() {
        return Vec::new();
    }
    let mut entries = ListEntries::of(transcript, plan, replaced);
    let mut edits = Vec::new();
    for &index in &plan.emptied {
        match thinking::bridge(transcript, index, &[]) {
            Some(bridged) => edits.push(bridged),
            None => entries.remove(transcript, index),
        }
    }
    // The escapes of the source matter only if the summary needs escapes.
    let is_ascii = summary.iter().all(|value| value.to_string().is_ascii());
    let style = Style::beside(transcript, plan.cutoff, !is_ascii && transcript.is_ascii());
    let written: Vec<String> = summary.iter().map(|value| style.write(value)).collect();
    // The message after the summary.
    let next = plan.pinned.get(plan.before_summary).copied().unwrap_or(plan.cutoff);
    let (inner, outer) = entries.split(transcript);
    let place = transcript.messages.get(next).map_or(usize::MAX, |message| message.span().start);
    if let Some(inner) = &inner
        && inner.spans.last().is_some_and(|last| place <= last.start)
    {
        edits.extend(inner.splice(transcript, next, &written));
        edits.extend(outer.splice(transcript, next, &[]));
    } else {
        if let Some(inner) = &inner {
            edits.extend(inner.splice(transcript, next, &[]));
        }
        edits.extend(outer.splice(transcript, next, &written));
    }
    sort(&mut edits);
    edits
}

/// The edits that remove entries which were written again. A cut removes them with the rest.
pub fn without_copies(transcript: &Transcript<'_>) -> Vec<Edit> {
    let mut spans = Vec::new();
    for note in &transcript.notes {
        if note.retention == Retention::Copy {
            spans.push(note.json.span());
        }
    }
    if spans.is_empty() {
        return Vec::new();
    }
    let mut edits = elements::removal_edits(transcript.source, &spans);
    edits.extend(transcript.format.session.edits_without_copies(transcript));
    edits
}

/// The messages of a list with what is between them, in order.
struct ListEntries<'a> {
    spans: Vec<Range<usize>>,
    gone: Vec<bool>,
    /// Whether each entry is a note and not a message.
    notes: Vec<bool>,
    /// What is kept aside behind them.
    aside: &'a [Range<usize>],
}

impl<'a> ListEntries<'a> {
    fn of(transcript: &Transcript<'a>, plan: &Plan, replaced: Vec<usize>) -> Self {
        let mut gone_messages = vec![false; transcript.messages.len()];
        for index in replaced {
            gone_messages[index] = true;
        }
        let gone_notes = plan.notes_gone(&transcript.notes, &gone_messages);
        let mut notes = transcript.notes.iter().zip(gone_notes).peekable();
        let count = transcript.messages.len() + transcript.notes.len() + transcript.aside.len();
        let spans = Vec::with_capacity(count);
        let mut entries = ListEntries { spans, gone: Vec::new(), notes: Vec::new(), aside: transcript.aside };
        for (index, message) in transcript.messages.iter().enumerate() {
            while let Some((note, gone)) = notes.next_if(|(note, _)| note.before <= index) {
                entries.push(note.json.span(), gone, true);
            }
            entries.push(message.span(), gone_messages[index], false);
        }
        for (note, gone) in notes {
            entries.push(note.json.span(), gone, true);
        }
        entries.push_aside(usize::MAX);
        entries
    }

    fn push(&mut self, span: Range<usize>, gone: bool, note: bool) {
        self.push_aside(span.start);
        self.spans.push(span);
        self.gone.push(gone);
        self.notes.push(note);
    }

    /// Adds what is kept aside before an offset. It goes with the entry before it.
    fn push_aside(&mut self, before: usize) {
        while let Some((span, rest)) = self.aside.split_first() {
            if span.start >= before {
                return;
            }
            self.spans.push(span.clone());
            self.gone.push(self.gone.last().copied().unwrap_or_default());
            self.notes.push(true);
            self.aside = rest;
        }
    }

    /// The entries of the list inside an entry, and the others with that entry among them.
    fn split(self, transcript: &Transcript<'_>) -> (Option<ListEntries<'a>>, ListEntries<'a>) {
        let Some(InnerList { entry, list }) = transcript.inner else { return (None, self) };
        let list = list.span();
        let first = self.spans.partition_point(|span| span.start < list.start);
        let last = self.spans.partition_point(|span| span.start < list.end);
        let mut outer = self.part(0..first);
        outer.push(entry.span(), false, false);
        outer.spans.extend_from_slice(&self.spans[last..]);
        outer.gone.extend_from_slice(&self.gone[last..]);
        outer.notes.extend_from_slice(&self.notes[last..]);
        (Some(self.part(first..last)), outer)
    }

    /// A copy of some entries, with nothing that is kept aside.
    fn part(&self, range: Range<usize>) -> ListEntries<'a> {
        ListEntries {
            spans: self.spans[range.clone()].to_vec(),
            gone: self.gone[range.clone()].to_vec(),
            notes: self.notes[range].to_vec(),
            aside: &[],
        }
    }

    /// The edits that remove what is gone, with what was written before the message at `next`.
    fn splice(&self, transcript: &Transcript<'_>, next: usize, written: &[String]) -> Vec<Edit> {
        let mut edits = Vec::new();
        let runs = self.runs();
        if written.is_empty() {
            for run in runs {
                edits.push(removal(&self.spans, run.start, run.end));
            }
            return edits;
        }
        let text = written.join(&self.separator(transcript.source, None));
        let next = self.place_before(transcript, next);
        let next = next + self.gone[next..].iter().take_while(|gone| **gone).count();
        let summary_run = if transcript.format.summary_position_in(transcript) == SummaryPosition::First {
            // The agent skips what stands before the summary: what stays in the file and is not sent keeps its place behind it.
            runs.first().filter(|run| run.end <= next).cloned()
        } else {
            runs.iter().find(|run| run.end == next).cloned()
        };
        if summary_run.is_none() {
            edits.push(self.insertion(transcript.source, next, &text));
        }
        for run in runs {
            if Some(&run) == summary_run.as_ref() {
                edits.push(self.replacement(transcript.source, run, &text));
            } else {
                edits.push(removal(&self.spans, run.start, run.end));
            }
        }
        edits
    }

    /// Marks another message as removed.
    fn remove(&mut self, transcript: &Transcript<'_>, index: usize) {
        let start = transcript.messages[index].span().start;
        let entry = self.spans.partition_point(|span| span.start < start);
        self.gone[entry] = true;
    }

    /// The entry before which a summary goes that precedes a message: that message, or the first of the notes between
    /// it and the removed entries.
    fn place_before(&self, transcript: &Transcript<'_>, index: usize) -> usize {
        let start = transcript.messages.get(index).map_or(usize::MAX, |message| message.span().start);
        let message = self.spans.partition_point(|span| span.start < start);
        let mut first = message;
        while first > 0 && self.notes[first - 1] && !self.gone[first - 1] {
            first -= 1;
        }
        if first > 0 && self.gone[first - 1] { first } else { message }
    }

    /// The text between an entry and the one before it.
    fn gap_before<'s>(&self, source: &'s str, index: usize) -> Option<&'s str> {
        let before = self.spans.get(index.checked_sub(1)?)?;
        Some(&source[before.end..self.spans.get(index)?.start])
    }

    /// The separator for two entries: the one in front of the entry at `index`, or beside it, if it separates there too;
    /// otherwise the first of the list.
    fn separator(&self, source: &str, index: Option<usize>) -> String {
        if let Some(index) = index {
            let beside = [Some(index), Some(index + 1), index.checked_sub(1)];
            let gap = beside.into_iter().flatten().find_map(|index| self.gap_before(source, index));
            if let Some(gap) = gap
                && separates(gap)
            {
                return gap.to_owned();
            }
        }
        for index in 1..self.spans.len() {
            if let Some(gap) = self.gap_before(source, index)
                && separates(gap)
            {
                return gap.to_owned();
            }
        }
        default_separator(source, self.spans.first()).to_owned()
    }

    /// The separator that is missing between an entry and the one before it; empty where one stands there, and at the ends of
    /// the list.
    fn missing_separator(&self, source: &str, index: usize) -> String {
        match self.gap_before(source, index) {
            Some(gap) if !separates(gap) => self.separator(source, None),
            _ => String::new(),
        }
    }

    /// Replaces a run of entries with `text`.
    fn replacement(&self, source: &str, run: Range<usize>, text: &str) -> Edit {
        let before = self.missing_separator(source, run.start);
        let behind = self.missing_separator(source, run.end);
        let range = self.spans[run.start].start..self.spans[run.end - 1].end;
        Edit { range, text: format!("{before}{text}{behind}") }
    }

    /// Inserts `text` before an entry. Before the first entry it copies the separator after that one, and after the
    /// last entry the separator before that one.
    fn insertion(&self, source: &str, at: usize, text: &str) -> Edit {
        match self.spans.get(at) {
            Some(next) => {
                let separator = self.separator(source, Some(at.max(1)));
                Edit { range: next.start..next.start, text: format!("{text}{separator}") }
            }
            None => {
                let end = self.spans[at - 1].end;
                Edit { range: end..end, text: format!("{}{text}", self.separator(source, Some(at - 1))) }
            }
        }
    }

    /// The runs of adjacent removed entries.
    fn runs(&self) -> Vec<Range<usize>> {
        let mut runs: Vec<Range<usize>> = Vec::new();
        for (index, gone) in self.gone.iter().enumerate() {
            match runs.last_mut() {
                _ if !gone => {}
                Some(run) if run.end == index => run.end += 1,
                _ => runs.push(index..index + 1),
            }
        }
        runs
    }

    /// Where each of the removed entries starts.
    fn starts_of_removed(&self) -> Vec<usize> {
        let mut starts = Vec::new();
        for (span, gone) in self.spans.iter().zip(&self.gone) {
            if *gone {
                starts.push(span.start);
            }
        }
        starts
    }
}

/// Whether a text between two entries separates them. tcompact reads two objects on one line, but does not write them so.
fn separates(gap: &str) -> bool {
    gap.contains([',', '\n'])
}

/// The separator where no two entries show one: a comma in a list, a line end elsewhere.
fn default_separator(source: &str, first: Option<&Range<usize>>) -> &'static str {
    let before = first.map_or("", |first| source[..first.start].trim_end());
    if before.ends_with(['[', ',']) { ", " } else { "\n" }
}

/// Removes entries with the separator after them; at the end of the list, with the one before them.
pub fn removal(spans: &[Range<usize>], first: usize, after: usize) -> Edit {
    let range = match (spans.get(after), first.checked_sub(1)) {
        (Some(next), _) => spans[first].start..next.start,
        (None, Some(before)) => spans[before].end..spans[after - 1].end,
        (None, None) => spans[first].start..spans[after - 1].end,
    };
    Edit { range, text: String::new() }
}

#[cfg(test)]
mod tests;
