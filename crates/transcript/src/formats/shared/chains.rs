//! Sessions whose entries name their parent, where branches that the user left stay in the file.

use std::collections::HashSet;

use crate::edit::Edit;
use crate::entries::Retention;
use crate::format::Transcript;
use crate::formats::shared::links::{Chain, LinkFault, LinkKeys, LooseEntry};
use crate::json::{Json, Object};
use crate::wording::counted;

/// The entries at which the way up from the last entry ends before it should. Branches that were left end as they like, and
/// so do entries that the agent does not read: `is_read` says which it does.
pub(crate) fn broken_links<'a>(
    transcript: &Transcript<'a>,
    keys: LinkKeys,
    is_read: fn(&Object<'_>) -> bool,
) -> Vec<LooseEntry<'a>> {
    let mut entries = transcript.entries_in_order();
    entries.retain(|entry| {
        let entry = Object::of(*entry);
        entry.get(keys.parent).is_some() && is_read(&entry)
    });
    let mut obsolete = HashSet::new();
    for note in &transcript.notes {
        if note.retention == Retention::Obsolete {
            obsolete.insert(note.json.span().start);
        }
    }
    let mut loose = Chain { entries: &entries, keys }.loose();
    loose.retain(|one| one.fault != LinkFault::Root && !obsolete.contains(&one.entry.span().start));
    loose
}

/// The edits that tie such entries to those before them.
pub(crate) fn repaired_links(
    transcript: &Transcript<'_>,
    keys: LinkKeys,
    is_read: fn(&Object<'_>) -> bool,
) -> Vec<Edit> {
    broken_links(transcript, keys, is_read).iter().filter_map(|loose| loose.tie(keys)).collect()
}

/// The entry at which the way up from the last entry ends before it should, although entries of these stand before it that
/// were sent once. Nobody took them back: perhaps a line between could not be read.
fn tear<'a>(transcript: &Transcript<'a>, chain: &LinkedEntries, sent_once: &[Json<'a>]) -> Option<LooseEntry<'a>> {
    let first = sent_once.first()?.span().start;
    let loose = broken_links(transcript, chain.keys, chain.is_read);
    loose.into_iter().rfind(|one| first < one.entry.span().start)
}

/// The entries of a session that name their parents.
pub(crate) struct LinkedEntries {
    pub(crate) keys: LinkKeys,
    /// Whether the agent reads an entry.
    pub(crate) is_read: fn(&Object<'_>) -> bool,
    /// The agent, as people call it.
    pub(crate) agent: &'static str,
}

impl LinkedEntries {
    /// Leaves of the entries that were sent once, which are in order, those that the agent loads a session without. What is
    /// before a torn link is the history of what is behind it, and no branch that the user left.
    pub(crate) fn without_lost<'a>(&self, transcript: &Transcript<'a>, mut sent_once: Vec<Json<'a>>) -> Vec<Json<'a>> {
        if let Some(tear) = tear(transcript, self, &sent_once) {
            let from = tear.entry.span().start;
            sent_once.retain(|entry| entry.span().start > from);
        }
        sent_once
    }

    /// Why a session with a torn link is left unchanged: a cut would remove its history unread.
    pub(crate) fn refusal<'a>(&self, transcript: &Transcript<'a>, sent_once: &[Json<'a>]) -> Option<String> {
        let tear = tear(transcript, self, sent_once)?;
        let from = tear.entry.span().start;
        let count = sent_once.iter().filter(|entry| entry.span().start < from).count();
        let (agent, named) = (self.agent, tear.named.unwrap_or_default());
        let why = if tear.fault == LinkFault::Cycle { "leads back to the line" } else { "is not there" };
        let lost = counted(count as u64, "line");
        Some(format!(
            "{agent} no longer sends {lost} before a line whose parent {named} {why}; --repair drop ties it to the line before it"
        ))
    }
}
