//! What is made of an input, before it is written.

use crate::compact::Archived;
use crate::events::{Conversation, Idle};
use crate::rewrite::{self, Edit};

/// What is made of an input.
#[derive(Debug, Default)]
pub(crate) struct Outcome {
    /// What is to be written.
    pub(crate) made: Rewritten,
    /// Whether any conversation was compacted, or would be.
    pub(crate) compacted: bool,
    /// Whether it is another text than the input.
    pub(crate) changed: bool,
    /// Whether a breach of a provider's rules was found, where that is looked for.
    pub(crate) breaches: bool,
    /// What is to be kept elsewhere.
    pub(crate) archived: Archived,
    /// Conversations that stay as they are, and why.
    pub(crate) idle: Idle,
    /// What became of each conversation.
    pub(crate) conversations: Vec<Conversation>,
}

/// What is to be written.
#[derive(Debug)]
pub(crate) enum Rewritten {
    /// The input with these edits made, in order.
    Edited(Vec<Edit>),
    /// A text of its own: where the cuts would fall, a diff, an update, a result that stands alone.
    Text(String),
    /// What was read, as it is, since nothing could be made of it.
    Bytes(Vec<u8>),
}

impl Default for Rewritten {
    fn default() -> Self {
        Rewritten::Text(String::new())
    }
}

impl Rewritten {
    /// All of it, piece by piece. `input` is the text that is edited.
    pub(crate) fn pieces<'m>(&'m self, input: &'m str) -> impl Iterator<Item = &'m [u8]> {
        let (edited, whole) = match self {
            Rewritten::Edited(edits) => (Some(rewrite::pieces(input, edits).map(str::as_bytes)), None),
            Rewritten::Text(text) => (None, Some(text.as_bytes())),
            Rewritten::Bytes(bytes) => (None, Some(bytes.as_slice())),
        };
        edited.into_iter().flatten().chain(whole)
    }

    /// Whether it is another text than `input`, which is the one that is edited.
    pub(crate) fn changes(&self, input: &str) -> bool {
        match self {
            Rewritten::Edited(edits) => rewrite::changes(input, edits),
            Rewritten::Text(text) => text != input,
            Rewritten::Bytes(bytes) => bytes != input.as_bytes(),
        }
    }

    /// Bytes that it holds.
    pub(crate) fn length(&self) -> usize {
        match self {
            Rewritten::Edited(edits) => edits.iter().map(|edit| edit.text.len()).sum(),
            Rewritten::Text(text) => text.len(),
            Rewritten::Bytes(bytes) => bytes.len(),
        }
    }

    /// All of it as a text. `input` is the text that is edited.
    pub(crate) fn text(self, input: &str) -> String {
        match self {
            Rewritten::Edited(edits) => rewrite::apply(input, &edits),
            Rewritten::Text(text) => text,
            Rewritten::Bytes(bytes) => String::from_utf8_lossy(&bytes).into_owned(),
        }
    }
}
