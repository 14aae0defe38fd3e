//! Session files whose entries name the one they follow, so that the conversation is found by walking from the last entry
//! up: how a summary takes the place of what goes, with nothing that stays changed.
//!
//! The summary is given an id that a kept entry already names. Where more entries follow what goes, an entry that says
//! nothing bridges each of the other gaps.

use std::borrow::Cow;
use std::collections::{HashMap, HashSet};

use crate::transcript::format::InsertionPoint;
use crate::transcript::formats::shared::fields::digest;
use crate::transcript::json::Json;

/// What the entries of a format call themselves and the one they follow.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Keys {
    pub(crate) id: &'static str,
    pub(crate) parent: &'static str,
}

/// What is left of the links once everything is gone that a place says.
#[derive(Debug)]
pub(crate) struct Links<'a> {
    keys: Keys,
    /// The entries with links that stay, in order.
    pub(crate) stays: Vec<Json<'a>>,
    /// How many of them stand before the cut.
    before: usize,
    gone: HashSet<Cow<'a, str>>,
    /// Where the last entry begins that goes, in bytes; 0 where none does.
    pub(crate) last_gone: usize,
}

impl<'a> Links<'a> {
    /// Finds them.
    pub(crate) fn of(at: &InsertionPoint<'_, 'a>, keys: Keys) -> Self {
        let transcript = at.transcript;
        let mut entries: Vec<Json<'a>> = transcript.messages.iter().map(|message| message.json).collect();
        entries.extend(transcript.notes.iter().map(|note| note.json));
        entries.retain(|entry| entry.get(keys.parent).is_some());
        entries.sort_by_key(|entry| entry.span().start);
        let gone = (at.removed)();
        let is_gone = |entry: &Json<'_>| gone.binary_search(&entry.span().start).is_ok();
        let last_gone = gone.last().copied().unwrap_or_default();
        let (gone, stays): (Vec<Json<'a>>, Vec<Json<'a>>) = entries.into_iter().partition(is_gone);
        let gone = gone.iter().filter_map(|entry| entry.get_text(keys.id)).map(|id| id.decode()).collect();
        let cut = transcript.messages.get(at.cutoff).map_or(usize::MAX, |first| first.span().start);
        Links { keys, before: stays.partition_point(|entry| entry.span().start < cut), stays, gone, last_gone }
    }

    /// What an entry calls itself.
    pub(crate) fn id(&self, entry: Json<'a>) -> Option<Cow<'a, str>> {
        entry.get_text(self.keys.id).map(|id| id.decode())
    }

    fn parent(&self, entry: Json<'a>) -> Option<Cow<'a, str>> {
        entry.get_text(self.keys.parent).map(|id| id.decode())
    }

    /// The entry before this one, where that goes.
    pub(crate) fn missing(&self, entry: Json<'a>) -> Option<Cow<'a, str>> {
        self.parent(entry).filter(|parent| self.gone.contains(parent))
    }

    /// The gap at which the walk ends that begins with the first kept entry; where it ends at none, the first gap behind
    /// the cut.
    pub(crate) fn end_of_the_walk(&self) -> Option<Cow<'a, str>> {
        let by_id: HashMap<Cow<'a, str>, Json<'a>> =
            self.stays.iter().filter_map(|entry| Some((self.id(*entry)?, *entry))).collect();
        let kept = &self.stays[self.before..];
        let mut walked = HashSet::new();
        let mut at = kept.first().copied();
        while let Some(entry) = at.filter(|entry| walked.insert(entry.span().start)) {
            if let Some(id) = self.missing(entry) {
                return Some(id);
            }
            at = self.parent(entry).and_then(|parent| by_id.get(&parent).copied());
        }
        kept.iter().find_map(|entry| self.missing(*entry))
    }
}

/// An id as random ones look, which is the same for the same `what`.
pub(crate) fn uuid(what: &[&str]) -> String {
    let hex = digest(&[&what.join("\n")]);
    // The digits that say "random" stand where the standard wants them.
    format!("{}-{}-4{}-8{}-{}", &hex[..8], &hex[8..12], &hex[13..16], &hex[17..20], &hex[20..32])
}
