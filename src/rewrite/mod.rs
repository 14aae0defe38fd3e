//! From a plan and a summary to the new text: edits and their application.
//!
//! Every change is an [`Edit`] of the source, so whatever no edit touches stays byte for byte as it was: spacing, key
//! order, the spelling of numbers, unknown fields, line ends.

mod style;
mod update;

use std::ops::Range;

use serde_json::Value;

use crate::plan::Plan;
use crate::transcript::Transcript;
use crate::transcript::format::SummaryRole;

pub use style::Style;
pub use update::{no_update, update};

/// A range of the source, in bytes, and what stands there instead.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Edit {
    /// What goes.
    pub range: Range<usize>,
    /// What comes.
    pub text: String,
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
pub fn summary_message(transcript: &Transcript<'_>, plan: &Plan, text: &str, role: SummaryRole) -> Value {
    let neighbour = transcript.messages.get(plan.cutoff).or(transcript.messages.last());
    transcript.format.summary(text, role, neighbour.map(|message| message.json))
}

/// The edits that put `summary` in the place of the messages that `plan` summarizes: after the pinned ones, before what
/// is kept. Nothing is edited where the plan replaces nothing.
pub fn splice(transcript: &Transcript<'_>, plan: &Plan, summary: &Value) -> Vec<Edit> {
    let spans: Vec<Range<usize>> = transcript.messages.iter().map(|message| message.span()).collect();
    let summarized = plan.summarized();
    if summarized.is_empty() {
        return Vec::new();
    }
    let text = Style::of_neighbour(transcript, plan.cutoff).write(summary);
    let mut edits = Vec::new();
    for run in summarized.chunk_by(|a, b| a + 1 == *b) {
        let (first, after) = (run[0], run[run.len() - 1] + 1);
        if after == plan.cutoff {
            edits.push(Edit { range: spans[first].start..spans[after - 1].end, text: text.clone() });
        } else {
            // A pinned message follows, and takes the place with the separator that stands before the run.
            edits.push(Edit { range: spans[first].start..spans[after].start, text: String::new() });
        }
    }
    if plan.pinned.last().is_some_and(|&last| last + 1 == plan.cutoff) {
        edits.push(insertion(transcript.source, &spans, plan.cutoff, &text));
    }
    edits
}

/// Puts `text` before a message, with the separator that stands there; after the last, with the one before that.
fn insertion(source: &str, spans: &[Range<usize>], at: usize, text: &str) -> Edit {
    let separator = |after: usize| &source[spans[after - 1].end..spans[after].start];
    match spans.get(at) {
        Some(next) => Edit { range: next.start..next.start, text: format!("{text}{}", separator(at)) },
        None => Edit { range: spans[at - 1].end..spans[at - 1].end, text: format!("{}{text}", separator(at - 1)) },
    }
}

#[cfg(test)]
mod tests;
