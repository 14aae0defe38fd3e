//! A provider's own compaction of the history in a message.
//!
//! Anthropic writes blocks with a text, `OpenAI` writes items that only `OpenAI` can read. The provider reads the last
//! compaction instead of all messages before it, and rejects an edited one.
//!
//! Also: a summary beside the messages that stands for the first of them, as `DeepAgents` keeps it in its state: it sends the
//! summary and the messages behind those.
//!
//! Also: edits that an agent makes in its own session after a compaction of its own, and that are made for it: without them, it
//! would compact again at once, or not find the summary.

use crate::edit::Edit;
use crate::json::{Json, JsonKind};
use crate::text::Text;
use crate::wording::counted;

/// The compaction of the history before it.
#[derive(Debug, Clone, Copy)]
pub enum ProviderCompaction<'a> {
    /// A failed compaction: the provider reads the messages before it.
    Failed,
    /// A summary as readable text.
    Readable(Text<'a>),
    /// A summary that only the provider can read.
    Opaque,
}

impl<'a> ProviderCompaction<'a> {
    /// Reads a block or an item of the type `compaction`.
    pub(super) fn of(block: Json<'a>) -> Self {
        let content = block.get("content").filter(|content| !content.is_falsy());
        let text = content.and_then(|content| content.text());
        if let Some(text) = text
            && !text.decode().trim().is_empty()
        {
            return ProviderCompaction::Readable(text);
        }
        let is_unread = content.is_some() && text.is_none();
        if is_unread || has_data(block, "encrypted_content") || has_data(block, "provider_details") {
            ProviderCompaction::Opaque
        } else {
            ProviderCompaction::Failed
        }
    }
}

fn has_data(block: Json<'_>, key: &str) -> bool {
    block.get(key).is_some_and(|value| !value.is_falsy())
}

/// The key in the state.
pub const EVENT_KEY: &str = "_summarization_event";

/// What the state says.
#[derive(Debug, Clone, Copy)]
pub struct SummarizationEvent<'a> {
    /// The summary as a message.
    pub summary: Json<'a>,
    /// How many messages it stands for. No model is sent these.
    pub messages: usize,
}

impl<'a> SummarizationEvent<'a> {
    /// Reads the event of a state; `DeepAgents` skips one that lacks a part.
    pub fn of(state: Json<'a>) -> Option<Self> {
        let event = event_place(state)?;
        let messages = event.get("cutoff_index")?.raw().parse().ok()?;
        Some(SummarizationEvent { summary: event.get("summary_message")?, messages })
    }
}

/// The place of an event in a state.
pub fn event_place(state: Json<'_>) -> Option<Json<'_>> {
    state.get(EVENT_KEY).filter(|event| event.kind() == JsonKind::Object)
}

/// An edit of an entry that stays beside a summary.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Reset {
    /// What is reset.
    pub kind: ResetKind,
    /// Where the entry begins, in bytes.
    pub entry: usize,
    pub edit: Edit,
}

/// What a reset is of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ResetKind {
    /// A size of the context, recorded before the compaction.
    Size,
    /// The parent of an entry, which does not lead to the summary.
    Parent,
}

/// How an agent resets recorded sizes after a compaction of its own.
#[derive(Debug, Clone, Copy)]
pub struct SizeReset {
    /// What a size is set to.
    pub to: &'static str,
    /// Why, as the end of a sentence.
    pub why: &'static str,
}

/// The numbers of resets, by their kind.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct ResetCounts {
    /// Entries whose recorded sizes are reset.
    pub sizes: usize,
    /// Entries that get another parent.
    pub parents: usize,
}

/// The number of entries with resets of a kind. The resets are in order.
fn count_entries(resets: &[Reset], kind: ResetKind) -> usize {
    let of_kind = resets.iter().filter(|reset| reset.kind == kind);
    let mut entries: Vec<usize> = of_kind.map(|reset| reset.entry).collect();
    entries.dedup();
    entries.len()
}

impl ResetCounts {
    /// Counts the entries of resets, which are in order.
    pub fn of(resets: &[Reset]) -> Self {
        ResetCounts { sizes: count_entries(resets, ResetKind::Size), parents: count_entries(resets, ResetKind::Parent) }
    }

    /// What was done, as a sentence.
    pub fn sentence(self, reset: SizeReset) -> String {
        let size = reset.to;
        let mut done = Vec::new();
        if self.sizes > 0 {
            done.push(format!("set {} to {size}", counted(self.sizes as u64, "recorded size")));
        }
        match self.parents {
            0 => {}
            1 => done.push("tied 1 line to the one before it".to_owned()),
            parents => done.push(format!("tied {} to those before them", counted(parents as u64, "line"))),
        }
        format!("tcompact {}, {}", done.join(" and "), reset.why)
    }

    pub fn is_none(self) -> bool {
        self == ResetCounts::default()
    }
}
