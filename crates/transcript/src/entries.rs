//! The entries of a list of messages: messages, and lines of a session file about something else, with how long those stay.

use crate::json::Json;
use crate::message::Message;

/// The kind of an entry in a list.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EntryKind {
    /// A message.
    Message,
    /// A message that is sent with other content, which the entry with this index among the values holds.
    Edited { by: usize },
    /// Something else. Its [`Retention::With`] names a message by its index among the values.
    Note(Retention),
}

/// How long an entry that is not a message stays while the messages around it are replaced.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Retention {
    /// Always: it concerns the whole session.
    Always,
    /// As long as the message before it.
    WithPrevious,
    /// As long as the message of this index. Formats give the index of the entry, transcripts that of the message.
    With(usize),
    /// As long as the message of this index, which stands for it. It was sent before.
    Replaced(usize),
    /// As long as it is in force: of all entries with this name, the last one before the cut stays.
    Latest(&'static str),
    /// Until anything after it is removed: it was revoked or summarized before.
    Obsolete,
    /// Always, and nothing is cut: it was sent and no longer is, but nobody took it back. The link that led to it is torn,
    /// perhaps because a line could not be read.
    Lost,
    /// Until anything is changed: another entry has its id and stands for it, and an edit of that one would leave this one
    /// as it was.
    Copy,
}

/// An entry that no model is sent: a line of a session file about something else.
#[derive(Debug, Clone, Copy)]
pub struct Note<'a> {
    /// The entry in the source.
    pub json: Json<'a>,
    /// The index of the next message.
    pub before: usize,
    /// How long it stays.
    pub retention: Retention,
}

/// The age of an entry behind a summary.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Age {
    /// It was written before the summary.
    Older,
    /// It was written after the summary.
    Newer,
    /// It was written after the summary if it records a size: those that are older are reset.
    NewerIfSized,
}

impl Age {
    /// Compares when an entry and a summary were written.
    pub(crate) fn of_times<T: Ord>(entry: T, summary: T) -> Self {
        if entry > summary { Age::Newer } else { Age::Older }
    }
}

/// A list inside one of the entries of a file. Its elements are entries of the conversation in the place of that one.
#[derive(Debug, Clone, Copy)]
pub struct InnerList<'a> {
    /// The entry around it.
    pub entry: Json<'a>,
    pub list: Json<'a>,
}

/// For each of some entries, in order, whether it was sent and no longer is, or belongs to one that no longer is.
pub fn no_longer_sent(notes: &[Note<'_>]) -> Vec<bool> {
    // The index of the message behind the last entry that is no longer sent.
    let mut last = None;
    let is_unsent = |note: &Note<'_>| match note.retention {
        Retention::Obsolete | Retention::Replaced(_) | Retention::Lost => {
            last = Some(note.before);
            true
        }
        Retention::WithPrevious => last == Some(note.before),
        Retention::Always | Retention::With(_) | Retention::Latest(_) | Retention::Copy => false,
    };
    notes.iter().map(is_unsent).collect()
}

/// A compaction that stands for all entries before it.
#[derive(Debug)]
pub struct CompactionEntry<'a> {
    pub message: Message<'a>,
    /// Whether these entries are still there, with as many of the user's messages as it repeats.
    pub is_restorable: bool,
}
