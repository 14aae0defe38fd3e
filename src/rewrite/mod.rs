//! From a plan and a summary to the new text: edits and their application.
//!
//! Every change is an [`Edit`] of the source, so whatever no edit touches stays byte for byte as it was: spacing, key
//! order, the spelling of numbers, unknown fields, line ends.

pub mod arguments;
pub mod media;
pub mod reasoning;
pub mod results;
mod style;
mod update;

use std::ops::Range;

use serde_json::Value;

use crate::plan::{Plan, carried};
use crate::transcript::Transcript;
use crate::transcript::format::SummaryMessage;

pub use style::Style;
pub use update::{no_update, remaining, update};

/// A range of the source, in bytes, and what stands there instead.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Edit {
    /// What goes.
    pub range: Range<usize>,
    /// What comes.
    pub text: String,
}

/// A summary and where it is put.
#[derive(Debug, Clone, PartialEq)]
pub enum Placed {
    /// Among the messages.
    Message(Value),
    /// Beside them, as the text under [`carried::KEY`].
    Beside(String),
}

/// The edits that put a summary where it belongs and take away what it replaces.
pub fn placed(transcript: &Transcript<'_>, plan: &Plan, summary: &Placed) -> Vec<Edit> {
    match summary {
        Placed::Message(message) => splice(transcript, plan, Some(message)),
        Placed::Beside(text) => {
            let place = carried::place(transcript).map(|place| place.span());
            let beside = place.map(|range| Edit { range, text: Value::from(text.as_str()).to_string() });
            let mut edits: Vec<Edit> = splice(transcript, plan, None).into_iter().chain(beside).collect();
            edits.sort_by_key(|edit| edit.range.start);
            edits
        }
    }
}

/// The source with all `edits` made; they are in order and do not overlap.
pub fn apply(source: &str, edits: &[Edit]) -> String {
    let grown: usize = edits.iter().map(|edit| edit.text.len()).sum();
    let mut out = String::with_capacity(source.len() + grown);
    let mut done = 0;
    for edit in edits {
        debug_assert!(done <= edit.range.start, "edits are in order");
        out.push_str(&source[done..edit.range.start]);
        out.push_str(&edit.text);
        done = edit.range.end;
    }
    out.push_str(&source[done..]);
    out
}

/// The summary message of a compaction as a value: in the format of the transcript, and written as its neighbours are.
pub fn summary_message(transcript: &Transcript<'_>, plan: &Plan, summary: &SummaryMessage<'_>) -> Value {
    let neighbour = transcript.messages.get(plan.cutoff).or(transcript.messages.last());
    transcript.format.summary(summary, neighbour.map(|message| message.json))
}

/// The edits that put `summary` in the place of the messages that `plan` replaces: after the pinned ones that stand
/// before it, before the others and what is kept. Without a summary they only go. Nothing is edited where the plan
/// replaces nothing.
pub fn splice(transcript: &Transcript<'_>, plan: &Plan, summary: Option<&Value>) -> Vec<Edit> {
    let spans: Vec<Range<usize>> = transcript.messages.iter().map(|message| message.span()).collect();
    let replaced = plan.replaced();
    if replaced.is_empty() {
        return Vec::new();
    }
    let text = summary.map(|summary| Style::of_neighbour(transcript, plan.cutoff).write(summary));
    // The message that the summary stands before.
    let next = plan.pinned.get(plan.before_summary).copied().unwrap_or(plan.cutoff);
    let mut edits = Vec::new();
    if let Some(text) = text.as_ref().filter(|_| next == 0 || !replaced.contains(&(next - 1))) {
        edits.push(insertion(transcript.source, &spans, next, text));
    }
    for run in replaced.chunk_by(|a, b| a + 1 == *b) {
        let (first, after) = (run[0], run[run.len() - 1] + 1);
        edits.push(match &text {
            Some(text) if after == next => Edit { range: spans[first].start..spans[after - 1].end, text: text.clone() },
            _ => removal(&spans, first, after),
        });
    }
    edits.sort_by_key(|edit| edit.range.start);
    edits
}

/// Takes messages away with the separator behind them; at the end of the list, with the one before them.
fn removal(spans: &[Range<usize>], first: usize, after: usize) -> Edit {
    let range = match (spans.get(after), first.checked_sub(1)) {
        (Some(next), _) => spans[first].start..next.start,
        (None, Some(before)) => spans[before].end..spans[after - 1].end,
        (None, None) => spans[first].start..spans[after - 1].end,
    };
    Edit { range, text: String::new() }
}

/// Puts `text` before a message, with the separator that stands there; before the first with the one behind that, and
/// after the last with the one before that.
fn insertion(source: &str, spans: &[Range<usize>], at: usize, text: &str) -> Edit {
    let separator = |after: usize| match (spans.get(after.wrapping_sub(1)), spans.get(after)) {
        (Some(one), Some(other)) => &source[one.end..other.start],
        _ => ",",
    };
    match spans.get(at) {
        Some(next) => Edit { range: next.start..next.start, text: format!("{text}{}", separator(at.max(1))) },
        None => Edit { range: spans[at - 1].end..spans[at - 1].end, text: format!("{}{text}", separator(at - 1)) },
    }
}

/// A message of the source with those of some edits made that fall into it; the edits are in order.
pub fn edited(transcript: &Transcript<'_>, index: usize, edits: &[Edit]) -> String {
    let span = transcript.messages[index].span();
    let first = edits.partition_point(|edit| edit.range.start < span.start);
    let own: Vec<Edit> = edits[first..]
        .iter()
        .take_while(|edit| edit.range.end <= span.end)
        .map(|edit| Edit { range: edit.range.start - span.start..edit.range.end - span.start, text: edit.text.clone() })
        .collect();
    apply(&transcript.source[span], &own)
}

#[cfg(test)]
mod tests;
