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
    match summary {
        Placed::Messages(entries) => without_event(transcript, splice(transcript, plan, entries)),
        Placed::Beside(text) => {
            let place = carried::place(transcript).map(|place| place.span());
            let beside = place.map(|range| Edit { range, text: Value::from(text.as_str()).to_string() });
            without_event(transcript, splice(transcript, plan, &[]).into_iter().chain(beside).collect())
        }
    }
}

/// Removes an event that stands for the first messages: they are gone, and others stand in their place.
fn without_event(transcript: &Transcript<'_>, mut edits: Vec<Edit>) -> Vec<Edit> {
    let event = transcript.state.and_then(compaction::event_place).filter(|_| !edits.is_empty());
    edits.extend(event.map(|event| Edit { range: event.span(), text: "null".to_owned() }));
    sort(&mut edits);
    edits
}

/// All messages after the compaction as text: pinned messages and the summary, then the kept messages, with `edits`
/// applied.
pub fn remaining(transcript: &Transcript<'_>, plan: &Plan, summary: Option<&Placed>, edits: &[Edit]) -> Vec<String> {
    let message: Vec<String> = match summary {
        Some(Placed::Messages(entries)) => entries.iter().map(|entry| Style::spaced().write(entry)).collect(),
        _ => Vec::new(),
    };
    let (before, after) = plan.pinned.split_at(plan.before_summary.min(plan.pinned.len()));
    let left = |index: &usize| plan.emptied.binary_search(index).is_err();
    let written = |index: usize| edited(transcript, index, edits);
    let before = before.iter().copied().filter(left).map(written);
    let kept = plan.cutoff..transcript.messages.len();
    let behind = after.iter().copied().chain(kept).filter(left).map(written);
    before.chain(message).chain(behind).collect()
}

pub fn summary_place<'p, 'a>(transcript: &'p Transcript<'a>, plan: &'p Plan) -> InsertionPoint<'p, 'a> {
    InsertionPoint::in_place_of(transcript, plan.cutoff, || {
        let entries = ListEntries::of(transcript, plan, plan.replaced());
        entries.runs().into_iter().flatten().map(|index| entries.spans[index].start).collect()
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
        edits.extend(inner.iter().flat_map(|inner| inner.splice(transcript, next, &[])));
        edits.extend(outer.splice(transcript, next, &written));
    }
    sort(&mut edits);
    edits
}

/// The edits that remove entries which were written again. A cut removes them with the rest.
pub fn without_copies(transcript: &Transcript<'_>) -> Vec<Edit> {
    let copies = transcript.notes.iter().filter(|note| note.retention == Retention::Copy);
    let spans: Vec<Range<usize>> = copies.map(|note| note.json.span()).collect();
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
        notes.for_each(|(note, gone)| entries.push(note.json.span(), gone, true));
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
        while let Some((span, rest)) = self.aside.split_first().filter(|(span, _)| span.start < before) {
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
        let part = |range: Range<usize>| ListEntries {
            spans: self.spans[range.clone()].to_vec(),
            gone: self.gone[range.clone()].to_vec(),
            notes: self.notes[range].to_vec(),
            aside: &[],
        };
        let mut outer = part(0..first);
        outer.push(entry.span(), false, false);
        let behind = part(last..self.spans.len());
        outer.spans.extend(behind.spans);
        outer.gone.extend(behind.gone);
        outer.notes.extend(behind.notes);
        (Some(part(first..last)), outer)
    }

    /// The edits that remove what is gone, with what was written before the message at `next`.
    fn splice(&self, transcript: &Transcript<'_>, next: usize, written: &[String]) -> Vec<Edit> {
        let mut edits = Vec::new();
        let text = (!written.is_empty()).then(|| written.join(&self.separator(transcript.source, None)));
        let runs = self.runs();
        let next = self.place_before(transcript, next);
        let next = next + self.gone[next..].iter().take_while(|gone| **gone).count();
        let mut summary_run = runs.iter().find(|run| run.end == next).cloned();
        if transcript.format.summary_position_in(transcript) == SummaryPosition::First {
            // The agent skips what stands before the summary: what stays in the file and is not sent keeps its place behind it.
            summary_run = runs.first().filter(|run| run.end <= next).cloned();
        }
        if let Some(text) = text.as_ref().filter(|_| summary_run.is_none()) {
            edits.push(self.insertion(transcript.source, next, text));
        }
        for run in runs {
            edits.push(match &text {
                Some(text) if Some(&run) == summary_run.as_ref() => self.replacement(transcript.source, run, text),
                _ => removal(&self.spans, run.start, run.end),
            });
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
        let notes = (0..message).rev().take_while(|&entry| self.notes[entry] && !self.gone[entry]).count();
        let first = message - notes;
        if first > 0 && self.gone[first - 1] { first } else { message }
    }

    /// The separator for two entries: the one in front of the entry at `index`, if it separates there too.
    fn separator(&self, source: &str, index: Option<usize>) -> String {
        let gap = |index: usize| match (self.spans.get(index.wrapping_sub(1)), self.spans.get(index)) {
            (Some(one), Some(other)) => Some(&source[one.end..other.start]),
            _ => None,
        };
        let mut gaps = (1..self.spans.len()).filter_map(gap);
        // tcompact reads two objects on one line, but does not write them so.
        let separates = |gap: &&str| gap.contains([',', '\n']);
        let own = index.and_then(|index| gap(index).or_else(|| gap(index + 1)).or_else(|| gap(index.wrapping_sub(1))));
        let neighbouring = own.filter(separates).or_else(|| gaps.find(separates));
        neighbouring.unwrap_or_else(|| default_separator(source, self.spans.first())).to_owned()
    }

    /// Replaces a run of entries with `text`.
    fn replacement(&self, source: &str, run: Range<usize>, text: &str) -> Edit {
        let missing = |index: usize| {
            let between = index > 0 && index < self.spans.len();
            let gap = || &source[self.spans[index - 1].end..self.spans[index].start];
            if between && !gap().contains([',', '\n']) { self.separator(source, None) } else { String::new() }
        };
        let (before, behind) = (missing(run.start), missing(run.end));
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
