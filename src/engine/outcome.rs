//! What is made of an input, before it is written.

use crate::report::json::Conversation;
use crate::rewrite::{self, Edit};

use crate::engine::archive::Archived;

/// What is made of an input.
#[derive(Debug, Default)]
pub struct Outcome {
    /// What is to be written.
    pub made: Made,
    /// Whether any conversation was compacted, or would be.
    pub compacted: bool,
    /// Whether it is another text than the input.
    pub changed: bool,
    /// Whether a breach of a provider's rules was found, where that is looked for.
    pub breaches: bool,
    /// What is to be kept elsewhere.
    pub archived: Archived,
    /// What became of each conversation.
    pub conversations: Vec<Conversation>,
}

/// What is to be written.
#[derive(Debug)]
pub enum Made {
    /// The input with these edits made, in order.
    Edited(Vec<Edit>),
    /// A text of its own: where the cuts would fall, a diff, an update, a result that stands alone.
    Text(String),
    /// What was read, as it is, since nothing could be made of it.
    Bytes(Vec<u8>),
}

impl Default for Made {
    fn default() -> Self {
        Made::Text(String::new())
    }
}

impl Made {
    /// All of it, piece by piece. `input` is the text that is edited.
    pub fn pieces<'m>(&'m self, input: &'m str) -> impl Iterator<Item = &'m [u8]> {
        let (edited, whole) = match self {
            Made::Edited(edits) => (Some(rewrite::pieces(input, edits).map(str::as_bytes)), None),
            Made::Text(text) => (None, Some(text.as_bytes())),
            Made::Bytes(bytes) => (None, Some(bytes.as_slice())),
        };
        edited.into_iter().flatten().chain(whole)
    }

    /// Whether it is another text than `input`, which is the one that is edited.
    pub fn changes(&self, input: &str) -> bool {
        match self {
            Made::Edited(edits) => rewrite::changes(input, edits),
            Made::Text(text) => text != input,
            Made::Bytes(bytes) => bytes != input.as_bytes(),
        }
    }

    /// Bytes that it holds.
    pub fn length(&self) -> usize {
        match self {
            Made::Edited(edits) => edits.iter().map(|edit| edit.text.len()).sum(),
            Made::Text(text) => text.len(),
            Made::Bytes(bytes) => bytes.len(),
        }
    }

    /// All of it as a text. `input` is the text that is edited.
    pub fn text(self, input: &str) -> String {
        match self {
            Made::Edited(edits) => rewrite::apply(input, &edits),
            Made::Text(text) => text,
            Made::Bytes(bytes) => String::from_utf8_lossy(&bytes).into_owned(),
        }
    }
}
