//! What comes of an input, or of lines of one, before anything is written.

use crate::compact::Archived;
use crate::events::{ReportRow, Status, Totals};
use crate::rewrite::{self, Edit};

/// What comes of an input, or of lines of one, before anything is written.
#[derive(Debug, Default)]
pub(crate) struct TaskResult {
    /// The bytes to write.
    pub(crate) content: ResultContent,
    /// What the edits of the content apply to; empty where there are none.
    pub(crate) input: Vec<u8>,
    /// How it ended: compacted where any conversation was, or would be.
    pub(crate) status: Status,
    /// Whether the content differs from the input.
    pub(crate) changed: bool,
    /// Whether `--check` found a violation of a provider's rules.
    pub(crate) breaches: bool,
    /// The messages to append to the archive, and files to write beside it.
    pub(crate) archived: Archived,
    /// The report rows of the conversations.
    pub(crate) rows: Vec<ReportRow>,
    /// What was counted, and which conversations stay unchanged. The costs and savings are those of the rows.
    pub(crate) totals: Totals,
    /// Why there is no result.
    pub(crate) error: Option<anyhow::Error>,
}

impl TaskResult {
    /// Returns what comes of an input that fails.
    pub(super) fn failed(error: impl Into<anyhow::Error>) -> Self {
        TaskResult { error: Some(error.into()), ..TaskResult::default() }
    }

    /// Notes that a conversation was compacted, or would be, where `is_compacted` says so.
    pub(super) fn note_compacted(&mut self, is_compacted: bool) {
        if is_compacted {
            self.status = Status::Compacted;
        }
    }

    /// Returns the bytes that it holds in memory, or nothing if it holds more than what is written to the output.
    fn length(&self) -> Option<usize> {
        let Archived { sections, files } = &self.archived;
        let has_more = !sections.is_empty() || !files.is_empty() || self.rows.iter().any(|row| row.page.is_some());
        if has_more { None } else { Some(self.input.len() + self.content.length()) }
    }
}

/// The results of a piece of an input, in order.
pub(super) struct ResultPiece {
    /// One of a document, or those of some lines.
    pub(super) results: Vec<TaskResult>,
    /// Whether no piece of the input follows.
    pub(super) is_last: bool,
}

impl ResultPiece {
    /// Whether it takes so little memory that it can wait for its turn.
    pub(super) fn is_small(&self) -> bool {
        const SMALL: usize = 1 << 16;
        self.results.iter().map(TaskResult::length).sum::<Option<usize>>().is_some_and(|length| length <= SMALL)
    }
}

/// The bytes to write.
#[derive(Debug)]
pub(crate) enum ResultContent {
    /// The input with these edits, in order.
    Edited(Vec<Edit>),
    /// A text of its own: cutoffs, a diff, an update, a complete result.
    Text(String),
    /// Bytes that need not be UTF-8.
    Bytes(Vec<u8>),
}

impl Default for ResultContent {
    fn default() -> Self {
        ResultContent::Text(String::new())
    }
}

impl ResultContent {
    /// Returns all bytes, piece by piece. `input` is what the edits apply to.
    pub(crate) fn pieces<'m>(&'m self, input: &'m [u8]) -> impl Iterator<Item = &'m [u8]> {
        let (edited, whole) = match self {
            ResultContent::Edited(edits) => (Some(rewrite::pieces(input, edits)), None),
            ResultContent::Text(text) => (None, Some(text.as_bytes())),
            ResultContent::Bytes(bytes) => (None, Some(bytes.as_slice())),
        };
        edited.into_iter().flatten().chain(whole)
    }

    /// Whether the result differs from `input`, which is what the edits apply to.
    pub(crate) fn changes(&self, input: &[u8]) -> bool {
        match self {
            ResultContent::Edited(edits) => rewrite::changes(input, edits),
            ResultContent::Text(text) => text.as_bytes() != input,
            ResultContent::Bytes(bytes) => bytes != input,
        }
    }

    /// Returns the bytes that this holds in memory.
    pub(crate) fn length(&self) -> usize {
        match self {
            ResultContent::Edited(edits) => edits.iter().map(|edit| edit.text.len()).sum(),
            ResultContent::Text(text) => text.len(),
            ResultContent::Bytes(bytes) => bytes.len(),
        }
    }

    /// Returns the result as a whole. `input` is what the edits apply to.
    #[must_use]
    pub(crate) fn applied(self, input: &[u8]) -> Self {
        match self {
            ResultContent::Edited(edits) => {
                let bytes = rewrite::pieces(input, &edits).collect::<Vec<_>>().concat();
                String::from_utf8(bytes)
                    .map_or_else(|error| ResultContent::Bytes(error.into_bytes()), ResultContent::Text)
            }
            whole => whole,
        }
    }
}
