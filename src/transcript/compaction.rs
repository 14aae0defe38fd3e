//! A provider's own compaction of a history, as it stands in a message.
//!
//! Anthropic's are blocks with a text, `OpenAI`'s are items that only `OpenAI` can read. The provider reads the last one
//! in place of all that stands before it, and refuses one that was edited.

use crate::transcript::json::{Json, Kind};
use crate::transcript::text::Text;
use crate::transcript::{Content, Message, PartKind, Transcript};

/// What a provider made of the history before it.
#[derive(Debug, Clone, Copy)]
pub enum Compaction<'a> {
    /// Nothing: it failed, and what stands before it is sent as before.
    Failed,
    /// A summary that anybody can read.
    Readable(Text<'a>),
    /// A summary that only the provider can read.
    Opaque,
}

impl<'a> Compaction<'a> {
    /// What a block or an item of the type `compaction` holds.
    pub(super) fn of(block: Json<'a>) -> Self {
        let content = block.get("content").filter(|content| content.kind() != Kind::Null);
        let text = content.and_then(|content| content.text());
        if let Some(text) = text.filter(|text| !text.decode().trim().is_empty()) {
            return Compaction::Readable(text);
        }
        let has = |key: &str| block.get(key).is_some_and(|value| !value.is_falsy());
        let unread = content.is_some() && text.is_none();
        match unread || ["encrypted_content", "provider_details", "id"].into_iter().any(has) {
            true => Compaction::Opaque,
            false => Compaction::Failed,
        }
    }

    /// Which of several in one message decides what becomes of it: the one that asks for more.
    fn rank(self) -> u8 {
        match self {
            Compaction::Failed => 0,
            Compaction::Readable(_) => 1,
            Compaction::Opaque => 2,
        }
    }
}

impl Transcript<'_> {
    /// Whether the message of that index holds a compaction.
    pub fn has_compaction(&self, index: usize) -> bool {
        self.compactions.binary_search(&index).is_ok()
    }
}

impl<'a> Message<'a> {
    /// The compaction that the message holds, if it holds one.
    pub fn compaction(&self) -> Option<Compaction<'a>> {
        let Content::Parts(parts) = &self.content else { return None };
        let compactions = parts.iter().filter_map(|part| match part.kind {
            PartKind::Compaction(compaction) => Some(compaction),
            _ => None,
        });
        compactions.max_by_key(|compaction| compaction.rank())
    }

    /// Whether the message is nothing but a compaction that anybody can read.
    pub fn is_readable_compaction(&self) -> bool {
        let Content::Parts(parts) = &self.content else { return false };
        let is_readable = |kind: &PartKind<'_>| matches!(kind, PartKind::Compaction(Compaction::Readable(_)));
        self.calls.is_empty() && self.answers.is_empty() && parts.iter().all(|part| is_readable(&part.kind))
    }
}
