//! What comes of a piece, a document or lines of a file, before anything is written.

use crate::compact::Archived;
use crate::events::{ConversationOutcome, Status, Totals};
use crate::rewrite::{self, Edit};

/// What comes of a piece.
#[derive(Debug, Default)]
pub struct TaskResult {
    /// The bytes to write.
    pub content: ResultContent,
    /// What the edits of the content apply to; empty where there are none.
    pub(crate) input: Vec<u8>,
    /// How it ended: compacted where any conversation was, or would be.
    pub status: Status,
    /// Whether the content differs from the input.
    pub(crate) changed: bool,
    /// Whether `check` found a violation of a provider's rules.
    pub(crate) breaches: bool,
    /// The messages to append to the archive, and files to write beside it.
    pub archived: Archived,
    /// What came of the conversations.
    pub(crate) outcomes: Vec<ConversationOutcome>,
    /// What was counted, and which conversations stay unchanged. The costs and savings are those of the outcomes.
    pub(crate) totals: Totals,
    /// Why there is no result.
    pub(crate) error: Option<anyhow::Error>,
}

impl TaskResult {
    pub(super) fn failed(error: impl Into<anyhow::Error>) -> Self {
        TaskResult { error: Some(error.into()), ..TaskResult::default() }
    }

    /// Notes that a conversation was compacted, or would be, where `is_compacted` says so.
    pub(super) fn note_compacted(&mut self, is_compacted: bool) {
        if is_compacted {
            self.status = Status::Compacted;
        }
    }

    /// Whether it takes so little memory that it can wait for its turn: it has no more than what is written to the output.
    pub(super) fn is_small(&self) -> bool {
        const SMALL: usize = 1 << 16;
        let Archived { sections, files } = &self.archived;
        let has_more = !sections.is_empty() || !files.is_empty() || self.outcomes.iter().any(|one| one.page.is_some());
        let content = match &self.content {
            ResultContent::Edited(edits) => edits.iter().map(|edit| edit.text.len()).sum(),
            ResultContent::Whole(bytes) => bytes.len(),
        };
        !has_more && self.input.len() + content <= SMALL
    }
}

/// The bytes to write.
#[derive(Debug)]
pub enum ResultContent {
    /// The input with these edits, in order.
    Edited(Vec<Edit>),
    /// Bytes of its own: cutoffs, a diff, an update, a complete result.
    Whole(Vec<u8>),
}

impl Default for ResultContent {
    fn default() -> Self {
        ResultContent::Whole(Vec::new())
    }
}

impl From<String> for ResultContent {
    fn from(text: String) -> Self {
        ResultContent::Whole(text.into_bytes())
    }
}

impl ResultContent {
    /// All bytes, piece by piece. `input` is what the edits apply to.
    pub fn pieces<'m>(&'m self, input: &'m [u8]) -> impl Iterator<Item = &'m [u8]> {
        let (edited, whole) = match self {
            ResultContent::Edited(edits) => (Some(rewrite::pieces(input, edits)), None),
            ResultContent::Whole(bytes) => (None, Some(bytes.as_slice())),
        };
        edited.into_iter().flatten().chain(whole)
    }

    /// Whether the result differs from `input`, which is what the edits apply to.
    pub(super) fn changes(&self, input: &[u8]) -> bool {
        match self {
            ResultContent::Edited(edits) => rewrite::changes(input, edits),
            ResultContent::Whole(bytes) => bytes != input,
        }
    }
}
