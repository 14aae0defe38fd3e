//! Session files whose entries name the one they follow, so that the conversation is found by walking from the last entry
//! up: how a summary takes the place of what goes, with nothing that stays changed.
//!
//! The summary is given the id that the first kept entry already names. Where more entries follow what goes, an entry that
//! says nothing bridges each of the other gaps.

use std::borrow::Cow;
use std::collections::{HashMap, HashSet};

use super::super::json::Json;
use super::Place;

/// What the entries of a format call themselves and the one they follow.
#[derive(Debug, Clone, Copy)]
pub(super) struct Keys {
    pub(super) id: &'static str,
    pub(super) parent: &'static str,
}

/// How a summary is linked in.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct Links {
    /// The summary's id, where an entry that stays names it.
    pub(super) id: Option<String>,
    /// Whether nothing that has an id stays before the summary.
    pub(super) alone: bool,
    /// The entry that the summary follows: the last that stays before it.
    pub(super) parent: Option<String>,
    /// Ids of bridges before the summary, and the entries that these follow.
    pub(super) before: Vec<(String, String)>,
    /// Ids of bridges from the summary to what is kept.
    pub(super) behind: Vec<String>,
}

impl Links {
    /// Finds what is missing once everything is gone that `place` says.
    pub(super) fn of(place: &Place<'_, '_>, keys: Keys) -> Self {
        let transcript = place.transcript;
        let text = |json: Json<'_>, key: &str| json.get_text(key).map(|text| text.decode().into_owned());
        let mut entries: Vec<Json<'_>> = transcript.messages.iter().map(|message| message.json).collect();
        entries.extend(transcript.notes.iter().map(|note| note.json));
        entries.retain(|entry| entry.get(keys.parent).is_some());
        entries.sort_by_key(|entry| entry.span().start);
        let is_gone = |entry: &Json<'_>| place.gone.binary_search(&entry.span().start).is_ok();
        let (gone, stays): (Vec<Json<'_>>, Vec<Json<'_>>) = entries.into_iter().partition(is_gone);
        let gone: HashSet<Cow<'_, str>> =
            gone.iter().filter_map(|entry| entry.get_text(keys.id)).map(|id| id.decode()).collect();
        let first = transcript.messages.get(place.cutoff).map(|message| message.json);
        let cut = first.map_or(usize::MAX, |first| first.span().start);
        let behind = stays.partition_point(|entry| entry.span().start < cut);
        let (before, kept) = stays.split_at(behind);
        let missing = |entry: Json<'_>| text(entry, keys.parent).filter(|parent| gone.contains(parent.as_str()));
        let parents: HashMap<String, Option<String>> =
            stays.iter().filter_map(|entry| Some((text(*entry, keys.id)?, text(*entry, keys.parent)))).collect();
        // Up from what is kept to the first that is not there, be it of another file.
        let mut below = HashSet::new();
        let mut top = first.and_then(|first| text(first, keys.parent));
        while let Some((id, parent)) = top.as_ref().and_then(|id| parents.get_key_value(id)) {
            top = if below.insert(id.clone()) { parent.clone() } else { None };
        }
        let id = top.or_else(|| kept.iter().find_map(|entry| missing(*entry)));
        let mut bridged: HashSet<String> = id.iter().cloned().collect();
        let mut links = Links { id, alone: true, ..Links::default() };
        let mut follows_summary = false;
        for entry in before {
            let Some(own) = text(*entry, keys.id) else { continue };
            links.alone = false;
            if below.contains(&own) {
                continue;
            }
            let named = missing(*entry);
            follows_summary |= named.is_some() && named == links.id;
            if let (Some(id), Some(parent)) = (named, &links.parent)
                && bridged.insert(id.clone())
            {
                links.before.push((id, parent.clone()));
            }
            links.parent = Some(own);
        }
        // What follows the summary cannot be what it follows, and a line with two behind it was gone back to.
        let is_forked = |parent: &String| kept.iter().any(|entry| text(*entry, keys.parent).as_ref() == Some(parent));
        links.parent = links.parent.filter(|parent| !follows_summary && !is_forked(parent));
        links.behind =
            kept.iter().filter_map(|entry| missing(*entry)).filter(|id| bridged.insert(id.clone())).collect();
        links
    }
}

/// An id as random ones look, which is the same for the same `what`.
pub(super) fn uuid(what: &[&str]) -> String {
    let hex = super::digest(&[&what.join("\n")]);
    // The digits that say "random" stand where the standard wants them.
    format!("{}-{}-4{}-8{}-{}", &hex[..8], &hex[8..12], &hex[13..16], &hex[17..20], &hex[20..32])
}
