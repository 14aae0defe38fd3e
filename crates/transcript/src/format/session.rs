//! What only the session files of agents need: files that an agent writes and reads itself, with entries beside the messages,
//! parents, branches and compactions of its own.

use std::collections::BTreeMap;
use std::fmt::Debug;

use serde_json::Value;

use crate::compaction::Reset;
use crate::edit::Edit;
use crate::entries::{Age, CompactionEntry, EntryKind, InnerList};
use crate::format::insertion::InsertionPoint;
use crate::format::transcript::Transcript;
use crate::formats::shared::links::LooseEntry;
use crate::json::{Items, Json};
use crate::line_replay::LineStep;
use crate::message::Message;
use crate::usage::SizeNote;

/// What an agent does with its session files. The defaults are those of a format without sessions.
pub trait Session: Sync + Debug {
    /// Which values of a list are messages, and when to remove the others. An empty list means that all are messages.
    fn entries(&self, _values: Items<'_>) -> Vec<EntryKind> {
        Vec::new()
    }

    /// The list inside one of the values that the conversation begins with: the agent set all messages at once. Its elements
    /// are entries, and stand among the values of [`Session::entries`] in the place of that value.
    fn inner_list<'a>(&self, _values: Items<'a>) -> Option<InnerList<'a>> {
        None
    }

    /// Reads the content of a message from the entry that holds what is sent of it ([`EntryKind::Edited`]).
    fn read_edit<'a>(&self, _message: &mut Message<'a>, _edit: Json<'a>) {}

    /// What a line does to the conversation, where that can be told of the line alone; none in formats whose files are
    /// not read line by line. A line that is a message here may be on a branch that nobody sends.
    fn line_step(&self, _line: Json<'_>) -> Option<LineStep> {
        None
    }

    /// The entries that were sent and no longer are, which the agent loads a session without: branches that the last entry
    /// does not lead to, and what a compaction replaced.
    fn no_longer_loaded<'a>(&self, _transcript: &Transcript<'a>) -> Vec<Json<'a>> {
        Vec::new()
    }

    /// The edits of entries that stay beside a summary which the agent makes after a compaction of its own. `summary`
    /// is what was written at `at`, and `tokens` counts what the agent sends from now on.
    fn resets(&self, _summary: &[Value], _at: &InsertionPoint<'_, '_>, _tokens: &dyn Fn() -> u64) -> Vec<Reset> {
        Vec::new()
    }

    /// Links new results, by the message with their calls, into a session whose entries name their parents: gives them ids
    /// and parents, and returns the edits of the entries that follow them.
    fn link_results(&self, _transcript: &Transcript<'_>, _results: &mut BTreeMap<usize, Vec<Value>>) -> Vec<Edit> {
        Vec::new()
    }

    /// The edits of entries that stand for their copies ([`crate::entries::Retention::Copy`]) once these are removed.
    fn edits_without_copies(&self, _transcript: &Transcript<'_>) -> Vec<Edit> {
        Vec::new()
    }

    /// An entry without content to replace a removed one, if later entries refer to it as their parent.
    fn placeholder(&self, _entry: Json<'_>) -> Option<Value> {
        None
    }

    /// The compactions that stand for all entries before them, in order. Those that a later one replaced are among them.
    fn compaction_entries<'a>(&self, _transcript: &Transcript<'a>) -> Vec<CompactionEntry<'a>> {
        Vec::new()
    }

    /// The entries at which an agent that walks up from the last entry stops before it should, and messages that it does
    /// not come by although nobody took them back. The repairs tie them to those before them.
    fn broken_links<'a>(&self, _transcript: &Transcript<'a>) -> Faults<LooseEntry<'a>> {
        Faults::NONE
    }

    /// Entries that stand between a call and its result. The repairs move them behind the results.
    fn misplaced_entries<'a>(&self, _transcript: &Transcript<'a>) -> Faults<MisplacedEntry<'a>> {
        Faults::NONE
    }

    /// What an entry beside the messages says of the size of the context.
    fn size_note<'a>(&self, _note: Json<'a>) -> Option<SizeNote<'a>> {
        None
    }

    /// Whether an entry that stands behind a summary is older than that; `None` where nothing tells. Kept messages stand
    /// behind the summary of what was before them, and are older.
    fn age(&self, _entry: Json<'_>, _summary: &Message<'_>) -> Option<Age> {
        None
    }
}

/// Conversations that no agent keeps as a session.
#[derive(Debug)]
pub(super) struct NoSession;

impl Session for NoSession {}

/// Faults in the entries of a session.
#[derive(Debug)]
pub struct Faults<T> {
    /// The faults, in order.
    pub found: Vec<T>,
    /// The edits that repair those of them that can be repaired at once. Others are found again behind these.
    pub repairs: Vec<Edit>,
}

impl<T> Faults<T> {
    pub(crate) const NONE: Self = Faults { found: Vec::new(), repairs: Vec::new() };
}

/// An entry between a call and its result.
#[derive(Debug)]
pub struct MisplacedEntry<'a> {
    /// The index of the message with the call.
    pub message: usize,
    pub entry: Json<'a>,
    /// The entry with the last result.
    pub result: Json<'a>,
}
