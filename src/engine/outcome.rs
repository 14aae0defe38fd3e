//! The outcome of an input, or of lines of one, before anything is written.

use anyhow::Result;

use crate::compact::Archived;
use crate::engine::file_status::FileStatus;
use crate::events::{Conversation, Counted, Idle, PrunedOnly};
use crate::rewrite::{self, Edit};

/// The outcome of an input, before anything is written.
#[derive(Debug, Default)]
pub(crate) struct Outcome {
    /// The bytes to write.
    pub(crate) content: Content,
    /// Whether any conversation was compacted, or would be.
    pub(crate) compacted: bool,
    /// Whether the content differs from the input.
    pub(crate) changed: bool,
    /// Whether `--check` found a violation of a provider's rules.
    pub(crate) breaches: bool,
    /// The messages to append to the archive, and files to write beside it.
    pub(crate) archived: Archived,
    /// What `--count` counted.
    pub(crate) counted: Counted,
    /// What a dry run would prune where nothing is summarized.
    pub(crate) pruned_only: PrunedOnly,
    /// The conversations that stay unchanged, and why.
    pub(crate) idle: Idle,
    /// The report rows of the conversations.
    pub(crate) conversations: Vec<Conversation>,
}

/// The bytes to write.
#[derive(Debug)]
pub(crate) enum Content {
    /// The input with these edits, in order.
    Edited(Vec<Edit>),
    /// A text of its own: cutoffs, a diff, an update, a complete result.
    Text(String),
    /// Bytes that need not be UTF-8.
    Bytes(Vec<u8>),
}

impl Default for Content {
    fn default() -> Self {
        Content::Text(String::new())
    }
}

impl Content {
    /// Returns all bytes, piece by piece. `input` is what the edits apply to.
    pub(crate) fn pieces<'m>(&'m self, input: &'m [u8]) -> impl Iterator<Item = &'m [u8]> {
        let (edited, whole) = match self {
            Content::Edited(edits) => (Some(rewrite::pieces(input, edits)), None),
            Content::Text(text) => (None, Some(text.as_bytes())),
            Content::Bytes(bytes) => (None, Some(bytes.as_slice())),
        };
        edited.into_iter().flatten().chain(whole)
    }

    /// Whether the result differs from `input`, which is what the edits apply to.
    pub(crate) fn changes(&self, input: &[u8]) -> bool {
        match self {
            Content::Edited(edits) => rewrite::changes(input, edits),
            Content::Text(text) => text.as_bytes() != input,
            Content::Bytes(bytes) => bytes != input,
        }
    }

    /// Returns the bytes that this holds in memory.
    pub(crate) fn length(&self) -> usize {
        match self {
            Content::Edited(edits) => edits.iter().map(|edit| edit.text.len()).sum(),
            Content::Text(text) => text.len(),
            Content::Bytes(bytes) => bytes.len(),
        }
    }

    /// Returns the result as a whole. `input` is what the edits apply to.
    #[must_use]
    pub(crate) fn applied(self, input: &[u8]) -> Self {
        match self {
            Content::Edited(edits) => {
                let bytes = rewrite::pieces(input, &edits).collect::<Vec<_>>().concat();
                String::from_utf8(bytes).map_or_else(|error| Content::Bytes(error.into_bytes()), Content::Text)
            }
            whole => whole,
        }
    }
}

/// The outcome of one piece of an input.
pub(super) enum WorkOutcome {
    /// The outcome of an input that is one document, and its content if the outcome is edits of it.
    Whole(Box<Result<Outcome>>, Vec<u8>),
    /// The outcomes of some lines, none of which need the text, and whether these lines are the last.
    Lines(Vec<Result<Outcome>>, bool),
    /// The input ended without an outcome.
    Ended(FileStatus),
}

impl WorkOutcome {
    /// Whether it takes so little memory that it can wait for its turn.
    pub(super) fn is_small(&self) -> bool {
        const SMALL: usize = 1 << 16;
        let (outcomes, input) = match self {
            WorkOutcome::Whole(outcome, input) => (std::slice::from_ref(&**outcome), input.len()),
            WorkOutcome::Lines(outcomes, _) => (outcomes.as_slice(), 0),
            WorkOutcome::Ended(_) => return true,
        };
        let outcomes = || outcomes.iter().flatten();
        let length = |one: &Outcome| one.content.length();
        let has_more = |one: &Outcome| {
            let Archived { sections, files } = &one.archived;
            !sections.is_empty() || !files.is_empty() || one.conversations.iter().any(|one| one.page.is_some())
        };
        input + outcomes().map(length).sum::<usize>() <= SMALL && !outcomes().any(has_more)
    }
}
