//! Files that were read again, or changed, later: only the last read stays that nothing has changed since.

use std::collections::HashMap;

use crate::transcript::tools::{Access, Extent, FileUse, ToolUse, is_absolute};

use crate::prune::note::{in_tokens, instead, is_pruned, note};
use crate::prune::rule::{Amount, Change, Kind};
use crate::prune::scene::Scene;

pub(super) const KIND: Kind = Kind {
    name: "reads",
    takes: "",
    about: "what was read of a file goes where the same was read again later, or the file was changed",
    default: Amount::None,
    find,
};

/// Characters of a path that is named.
const LONGEST_PATH: usize = 80;

/// What comes of a file later on.
#[derive(Default)]
struct Later {
    changed: bool,
    /// How much of it is read, and how many bytes that was.
    read: Vec<(Extent, usize)>,
}

fn find(scene: &Scene<'_, '_>, _amount: Amount) -> Vec<Change> {
    let results = scene.results();
    let uses: Vec<ToolUse> = results.iter().map(|result| result.call_use()).collect();
    let places = places(&uses);
    let mut later: HashMap<String, Later> = HashMap::new();
    let mut changes = Vec::new();
    for ((result, of_tool), place) in results.iter().zip(&uses).zip(places).rev() {
        if of_tool.files.is_empty() {
            continue;
        }
        let text = result.text();
        if is_pruned(&text) || result.has_failed(&text) {
            continue;
        }
        let keys: Vec<String> = of_tool.files.iter().map(|file| key(file, of_tool, place)).collect();
        if !of_tool.only_reads {
            let changed = of_tool.files.iter().zip(keys).filter(|(file, _)| file.access == Access::Changed);
            changed.for_each(|(_, key)| later.entry(key).or_default().changed = true);
            continue;
        }
        let fate =
            |(file, key): (&FileUse, &String)| later.get(key)?.of(&file.extent, text.len() / of_tool.files.len());
        let fates: Option<Vec<&str>> = of_tool.files.iter().zip(&keys).map(fate).collect();
        if let Some(fates) = fates.filter(|_| scene.may_touch(result)) {
            let tokens = scene.tokens(result, &text);
            let told = in_tokens(tokens);
            let path: String = of_tool.files[0].path.chars().take(LONGEST_PATH).collect();
            let what = note(&format!("{} result removed, {told}; {path} {}", result.tool(), fates[0]));
            changes.extend(instead(scene, result, tokens, &what));
        }
        for (file, key) in of_tool.files.iter().zip(keys) {
            later.entry(key).or_default().read.push((file.extent.clone(), text.len() / of_tool.files.len()));
        }
    }
    changes
}

impl Later {
    /// Why a read of so many bytes is of no use any more, if it is of none.
    fn of(&self, extent: &Extent, bytes: usize) -> Option<&'static str> {
        // An agent may say no more than that the file is as it was.
        let is_shown = |(later, shown): &(Extent, usize)| later.covers(extent) && *shown >= bytes / 2;
        match () {
            () if self.read.iter().any(is_shown) => Some("was read again later"),
            () if self.changed => Some("was changed later"),
            () => None,
        }
    }
}

/// For each call, a number for the directory that its shell may be in.
fn places(uses: &[ToolUse]) -> Vec<usize> {
    let mut place = 0;
    let of_one = |of_tool: &ToolUse| {
        let here = place;
        place += usize::from(of_tool.changes_directory);
        here
    };
    uses.iter().map(of_one).collect()
}

/// What tells a file from all others.
fn key(file: &FileUse, of_tool: &ToolUse, place: usize) -> String {
    let path = file.full_path();
    // Tools that are no shell know one directory.
    let place = if is_absolute(&path) || of_tool.command.is_none() { 0 } else { place };
    format!("{place} {path}")
}
