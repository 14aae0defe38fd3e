//! Sessions whose entries name their parent, where branches that the user left stay in the file.

use std::collections::HashSet;

use crate::entries::Retention;
use crate::format::{Faults, Transcript};
use crate::formats::shared::links::{Chain, LinkFault, LinkKeys, LooseEntry};
use crate::json::Json;

/// The entries at which the way up from the last entry ends before it should, among those whose parents the agent reads, in
/// order. Branches that were left end as they like.
pub(crate) fn broken_links<'a>(
    transcript: &Transcript<'a>,
    keys: LinkKeys,
    mut entries: Vec<Json<'a>>,
) -> Vec<LooseEntry<'a>> {
    entries.retain(|entry| entry.get(keys.parent).is_some());
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

/// Such entries with the edits that tie them to those before them.
pub(crate) fn with_repairs(found: Vec<LooseEntry<'_>>, keys: LinkKeys) -> Faults<LooseEntry<'_>> {
    let repairs = found.iter().filter_map(|loose| loose.tie(keys)).collect();
    Faults { found, repairs }
}
