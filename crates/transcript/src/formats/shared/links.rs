//! Session files whose entries name their parent: an agent finds the conversation by walking up from the last entry. A
//! summary replaces entries there without changing the kept ones.
//!
//! The summary takes an id that an entry which stays already names as its parent. If several lose their parents, an empty
//! entry replaces each of the other parents, or the entry gets another parent.

use std::borrow::Cow;
use std::collections::{HashMap, HashSet};

use serde_json::Value;

use crate::edit::Edit;
use crate::formats::shared::fields::digest;
use crate::json::Json;

/// The keys of an entry's id and of its parent's id.
#[derive(Debug, Clone, Copy)]
pub struct LinkKeys {
    pub id: &'static str,
    pub parent: &'static str,
}

/// The edits with which entries that follow an entry of these ids follow another one, whose id is given with it.
pub(crate) fn followers<'a>(
    entries: impl Iterator<Item = Json<'a>>,
    keys: LinkKeys,
    new: &HashMap<Cow<'_, str>, String>,
) -> Vec<Edit> {
    let mut edits = Vec::new();
    for entry in entries {
        if let Some(parent) = entry.get(keys.parent)
            && let Some(id) = parent.text()
            && let Some(new) = new.get(&id.decode())
        {
            edits.push(Edit { range: parent.span(), text: Value::from(new.as_str()).to_string() });
        }
    }
    edits
}

/// An entry on the way that an agent goes through a session.
#[derive(Debug, Clone, Copy)]
pub struct WalkStep<'a> {
    pub entry: Json<'a>,
    /// Whether it does not name the entry before it: its parent is not there.
    pub is_torn: bool,
}

/// The links that remain after a summary replaces entries.
#[derive(Debug)]
pub struct Links<'a> {
    keys: LinkKeys,
    /// The kept entries with links, in order.
    pub kept: Vec<Json<'a>>,
    /// The removed ones by their ids, each with the id of its parent.
    removed: HashMap<Cow<'a, str>, Option<Cow<'a, str>>>,
}

impl<'a> Links<'a> {
    /// Finds the links among the entries of a session, which are in order. `removed` are the bytes at which the removed
    /// entries begin, in order.
    pub fn of(mut entries: Vec<Json<'a>>, removed: &[usize], keys: LinkKeys) -> Self {
        entries.retain(|entry| entry.get(keys.parent).is_some());
        let is_removed = |entry: &Json<'_>| removed.binary_search(&entry.span().start).is_ok();
        let (removed, kept): (Vec<Json<'a>>, Vec<Json<'a>>) = entries.into_iter().partition(is_removed);
        let mut links = Links { keys, kept, removed: HashMap::new() };
        for entry in removed {
            if let Some(id) = links.id(entry) {
                links.removed.insert(id, links.parent(entry));
            }
        }
        links
    }

    pub fn id(&self, entry: Json<'a>) -> Option<Cow<'a, str>> {
        entry.get_text(self.keys.id).map(|id| id.decode())
    }

    pub fn parent(&self, entry: Json<'a>) -> Option<Cow<'a, str>> {
        entry.get_text(self.keys.parent).map(|id| id.decode())
    }

    /// The id of an entry's parent, if the parent is removed.
    pub fn removed_parent(&self, entry: Json<'a>) -> Option<Cow<'a, str>> {
        self.parent(entry).filter(|parent| self.removed.contains_key(parent))
    }

    /// The id of the nearest entry on the way up from a removed one that is not removed.
    pub fn kept_ancestor(&self, removed: &str) -> Option<Cow<'a, str>> {
        let mut id = self.removed.get(removed)?.clone()?;
        // No way is longer, unless it is a circle.
        for _ in 0..self.removed.len() {
            match self.removed.get(&id) {
                Some(parent) => id = parent.clone()?,
                None => return Some(id),
            }
        }
        None
    }
}

/// An entry at which the walk up ends before it should.
#[derive(Debug)]
pub struct LooseEntry<'a> {
    pub entry: Json<'a>,
    pub fault: LinkFault,
    /// The parent that it names.
    pub named: Option<String>,
    /// The id of the entry that it should follow: the one before it, if there is one.
    pub parent: Option<String>,
}

/// Why a walk ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LinkFault {
    /// The parent is not there.
    Missing,
    /// The entry is its own ancestor.
    Cycle,
    /// The entry names no parent.
    Root,
    /// The last entry does not lead to the entry.
    Beside,
}

impl LooseEntry<'_> {
    /// The edit that ties the entry to the one before it.
    pub fn tie(&self, keys: LinkKeys) -> Option<Edit> {
        let range = self.entry.get(keys.parent)?.span();
        Some(Edit { range, text: Value::from(self.parent.as_deref()).to_string() })
    }
}

/// Entries that should be one chain.
pub(crate) struct Chain<'c, 'a> {
    /// The entries with links, in order.
    pub entries: &'c [Json<'a>],
    pub keys: LinkKeys,
}

/// The end of the walk up from an entry.
#[derive(Clone, Copy)]
enum End {
    /// The walk goes on.
    Walking,
    /// At the entry with this index.
    Early(usize, LinkFault),
}

impl<'a> Chain<'_, 'a> {
    /// The entries at which walks end early, with the entries before them, which lead on once the earlier ones are
    /// tied.
    pub(crate) fn loose(&self) -> Vec<LooseEntry<'a>> {
        let by_id = self.by_id();
        let mut last: Option<Cow<'a, str>> = None;
        let mut tied = HashSet::new();
        let mut loose = Vec::new();
        for ((index, entry), end) in self.entries.iter().enumerate().zip(self.ends(&by_id)) {
            if let End::Early(at, fault) = end
                && tied.insert(at)
                && (last.is_some() || fault == LinkFault::Cycle)
            {
                let entry = self.entries[at];
                let named = entry.get_text(self.keys.parent).map(|named| named.decode().into_owned());
                loose.push(LooseEntry { entry, fault, named, parent: last.clone().map(Cow::into_owned) });
            }
            // Of several entries with one id, the last is found.
            if let Some(id) = entry.get_text(self.keys.id) {
                let id = id.decode();
                if by_id.get(&id) == Some(&index) {
                    last = Some(id);
                }
            }
        }
        loose
    }

    fn by_id(&self) -> HashMap<Cow<'a, str>, usize> {
        let mut by_id = HashMap::new();
        for (index, entry) in self.entries.iter().enumerate() {
            if let Some(id) = entry.get_text(self.keys.id) {
                by_id.insert(id.decode(), index);
            }
        }
        by_id
    }

    /// Where the walk up from each entry ends.
    fn ends(&self, by_id: &HashMap<Cow<'a, str>, usize>) -> Vec<End> {
        let mut ends: Vec<Option<End>> = vec![None; self.entries.len()];
        for first in 0..ends.len() {
            let (mut path, mut at) = (Vec::new(), first);
            let end = loop {
                match ends[at] {
                    Some(End::Walking) => {
                        let begun = path.iter().position(|index| *index == at).unwrap_or_default();
                        let top = path[begun..].iter().copied().min().unwrap_or(at);
                        break End::Early(top, LinkFault::Cycle);
                    }
                    Some(end) => break end,
                    None => {}
                }
                path.push(at);
                ends[at] = Some(End::Walking);
                match self.entries[at].get_text(self.keys.parent).map(|parent| parent.decode()) {
                    None => break End::Early(at, LinkFault::Root),
                    Some(parent) => match by_id.get(&parent) {
                        Some(next) => at = *next,
                        None => break End::Early(at, LinkFault::Missing),
                    },
                }
            };
            for index in path {
                ends[index] = Some(end);
            }
        }
        ends.into_iter().flatten().collect()
    }
}

/// An id that looks random but depends only on the texts.
pub(crate) fn uuid(what: &[&str]) -> String {
    let hex = digest(&[&what.join("\n")]);
    // The standard requires these digits in a random id.
    format!("{}-{}-4{}-8{}-{}", &hex[..8], &hex[8..12], &hex[13..16], &hex[17..20], &hex[20..32])
}
