//! The form of a digest: its headings and labels, and the places of messages. Every line is a heading, an item that begins
//! with `- `, or the continuation of an item, which begins with two spaces.

use crate::transcript::speaker::is_interruption;

/// The headings, in order.
pub(super) const EARLIER: &str = "## Earlier summary; what follows is later and holds where the two differ";
pub(super) const USER: &str = "## The user, in order; later words hold where two disagree";
pub(super) const STATE: &str = "## State";
pub(super) const RUNS: &str = "## Commands and calls, the last run of each";
pub(super) const SAID: &str = "## What the assistant said, in order";
/// The heading of what stands beside a model's summary, and the label of the user's words there.
pub(super) const MISSING: &str = "## Not in the summary above";
pub(super) const THE_USER: &str = "The user: ";
/// The label of the assistant's words where nothing else has room.
pub(super) const THE_ASSISTANT: &str = "The assistant: ";
/// The heading where nothing else has room than the beginning of what was said last.
pub(super) const LAST: &str = "## Last words";
pub(super) const HEADINGS: [&str; 6] = [LAST, EARLIER, USER, STATE, RUNS, SAID];

/// The label of what a short answer answers, and the openings of lines that count what is left out.
pub(super) const ASKED: &str = "The assistant asked: ";
pub(super) const LEFT_OUT: &str = "Left out: ";
/// The opening of the line that names the folder of commands and paths.
pub(super) const FOLDER: &str = "Paths and commands are in ";
/// The opening of the line with the tools that results have loaded.
pub(super) const LOADED: &str = "Tools loaded: ";
/// The mark of a thought.
pub(super) const THOUGHT: &str = "(thought) ";

/// The openings of lines about edits.
pub(super) const FAILED_EDIT: &str = "Failed edit of ";
pub(super) const LAST_EDIT: &str = "Last edit of ";

/// The sign between the label of a call and how it ended.
pub(super) const ARROW: &str = " → ";
/// The words between how a run ended and what happened before or after it.
pub(super) const FAILED_BEFORE: &str = "; failed before, at ";
pub(super) const UNCHECKED: &str = "; nothing was run since the change of ";
pub(super) const CHANGED_AFTER: &str = "; files were changed after it";

/// The place of a message, by which messages are in order: those of earlier digests come before all others.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Place {
    is_new: bool,
    /// Its place among messages that are new, or that are carried on. Indices of several earlier sources are in no order.
    order: usize,
    /// The index in its own source.
    index: usize,
}

impl Place {
    /// Returns the place of a message of the history.
    pub(super) fn new(index: usize) -> Self {
        Place { is_new: true, order: index, index }
    }

    /// Returns the place of a message that an earlier digest tells, the `order`-th that is read back.
    pub(super) fn carried(order: usize, index: usize) -> Self {
        Place { is_new: false, order, index }
    }

    pub(super) fn is_carried(self) -> bool {
        !self.is_new
    }
}

impl std::fmt::Display for Place {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(out, "[{}{}]", if self.is_new { "" } else { "~" }, self.index)
    }
}

/// Lines with the places of their messages, in order.
pub(super) type Lines = Vec<(Place, String)>;

/// Keeps text of others from looking like a label of the digest: it begins on the next line then.
pub(super) fn unlabelled(text: &str) -> String {
    // A program's line says nothing of its own.
    if is_interruption(text) {
        return text.to_owned();
    }
    let is_label = [ASKED, LEFT_OUT, THOUGHT, THE_USER, THE_ASSISTANT, "["].iter().any(|label| text.starts_with(label));
    if is_label { format!("\n  {text}") } else { text.to_owned() }
}

/// Prepares a summary that somebody else wrote: none of its lines is a heading of a digest.
pub(crate) fn without_own_headings(summary: &str) -> String {
    let lines = summary.split('\n').map(|line| if is_heading(line) { format!("#{line}") } else { line.to_owned() });
    lines.collect::<Vec<_>>().join("\n")
}

pub(super) fn is_heading(line: &str) -> bool {
    line == MISSING || HEADINGS.contains(&line)
}
