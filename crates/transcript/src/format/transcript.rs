//! A conversation as a format reads it.

use std::ops::Range;
use std::sync::OnceLock;

use crate::entries::{InnerList, Note};
use crate::format::Format;
use crate::json::Json;
use crate::message::Message;
use crate::order::MessageOrder;
use crate::pairing::Pairing;
use crate::record_id::RecordId;

/// One conversation in a source.
#[derive(Debug, Clone)]
pub struct Transcript<'a> {
    /// The whole source of the conversation; all spans are bytes of it.
    pub source: &'a str,
    /// The format of its messages.
    pub format: &'static Format,
    pub messages: Vec<Message<'a>>,
    /// The entries among the messages that are none, in order.
    pub notes: Vec<Note<'a>>,
    /// The list inside an entry that holds some of the messages, if there is one.
    pub inner: Option<InnerList<'a>>,
    /// The spans among them that no reader understands, in order. Each stays as long as the entry before it.
    pub aside: &'a [Range<usize>],
    /// Which calls and results belong together.
    pub pairing: Pairing,
    /// The first and the last index of each run of messages that must not be split, for a reason other than a call and
    /// its result.
    pub groups: Vec<(usize, usize)>,
    /// The indices of the messages with a provider's own compaction, in order.
    pub compactions: Vec<usize>,
    /// The order of messages that its provider demands.
    pub order: MessageOrder,
    /// The whole value around the list of messages, if there is one.
    pub envelope: Option<Json<'a>>,
    /// The object with the list of messages as one of its members, if there is one.
    pub state: Option<Json<'a>>,
    /// The line on which the conversation begins, counted from 1, if the source holds one conversation a line.
    pub line: Option<usize>,
    /// Its place among the conversations that begin on that line, counted from 1.
    pub nth_of_line: usize,
    /// How often tcompact has compacted it before, as far as its summaries tell.
    pub earlier_rounds: u32,
    /// The id of its record, where an archive will have one.
    pub record_id: Option<RecordId>,
    /// What [`Transcript::is_ascii`] found: it reads all messages.
    pub ascii: OnceLock<bool>,
}

impl<'a> Transcript<'a> {
    /// The number of the round of compaction that is about to happen, counted from 1.
    pub fn this_round(&self) -> u32 {
        self.earlier_rounds.saturating_add(1)
    }

    /// The entries of the conversation: its messages, then its notes.
    pub fn entries(&self) -> impl Iterator<Item = Json<'a>> {
        let messages = self.messages.iter().map(|message| message.json);
        messages.chain(self.notes.iter().map(|note| note.json))
    }

    /// The entries of the conversation as they stand in the source.
    pub fn entries_in_order(&self) -> Vec<Json<'a>> {
        let mut entries: Vec<Json<'a>> = self.entries().collect();
        entries.sort_by_key(|entry| entry.span().start);
        entries
    }

    /// Whether the messages have only ASCII characters, so that a new one should too.
    pub fn is_ascii(&self) -> bool {
        *self.ascii.get_or_init(|| match (self.messages.first(), self.messages.last()) {
            (Some(first), Some(last)) => self.source[first.span().start..last.span().end].is_ascii(),
            _ => false,
        })
    }

    /// The agent's summary that stands behind messages which the agent sends behind it.
    pub fn summary_of_kept(&self) -> Option<usize> {
        for &(first, last) in &self.groups {
            if first == 0 && last > 0 && self.messages[last].earlier {
                return Some(last);
            }
        }
        None
    }

    /// Whether the message at an index holds a provider's compaction.
    pub fn has_compaction(&self, index: usize) -> bool {
        self.compactions.binary_search(&index).is_ok()
    }
}
