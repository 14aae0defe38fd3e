//! Sessions whose entries name their parent, where branches that the user left stay in the file.

use std::collections::HashSet;

use crate::edit::Edit;
use crate::entries::Retention;
use crate::format::Transcript;
use crate::formats::shared::links::{Chain, LinkFault, LinkKeys, LooseEntry};
use crate::json::Object;

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
