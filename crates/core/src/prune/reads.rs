//! Reads of files that were read again or changed later. Only the last read stays, and only if the file did not change
//! since.

use std::collections::HashMap;

use crate::transcript::tools::{Access, Extent, FileUse, ToolUse, is_absolute};

use crate::prune::note::{in_tokens, is_pruned, note};
use crate::prune::rule::{Amount, IsReplaced, ProposedChange, RuleKind, replace_result};
use crate::prune::scene::Scene;
use crate::redact::beginning;

pub(super) const KIND: RuleKind = RuleKind {
    name: "reads",
    takes: "",
    about: "results of reads, where a later read repeats them or the file was changed later",
    default: Amount::None,
    find,
};

/// The longest path that a note names, in characters.
const LONGEST_PATH: usize = 80;

/// What happens to a file later in the conversation.
#[derive(Default)]
struct Later {
    changed: bool,
    /// The extents that are read later, with the bytes of each read.
    read: Vec<(Extent, usize)>,
}

fn find(scene: &Scene<'_, '_>, _amount: Amount, _is_replaced: &IsReplaced<'_>) -> Vec<ProposedChange> {
    let results = scene.results();
    let uses: Vec<&ToolUse> = results.iter().map(|result| result.call_use()).collect();
    let directories = directories(&uses);
    let mut later: HashMap<String, Later> = HashMap::new();
    let mut changes = Vec::new();
    for ((result, of_tool), directory) in results.iter().zip(uses).zip(directories).rev() {
        if of_tool.files.is_empty() {
            continue;
        }
        let text = result.text();
        if is_pruned(text) || result.has_failed() {
            continue;
        }
        let keys: Vec<String> = of_tool.files.iter().map(|file| key(file, of_tool, directory)).collect();
        if !of_tool.only_reads {
            for (file, key) in of_tool.files.iter().zip(keys) {
                if file.access == Access::Changed {
                    later.entry(key).or_default().changed = true;
                }
            }
            continue;
        }
        // Of several files the output is taken to have equal parts.
        let bytes = text.len() / of_tool.files.len();
        if let Some(reason) = reason_to_remove(&of_tool.files, &keys, &later, bytes)
            && scene.may_touch(result)
        {
            let tokens = scene.tokens(result);
            let size = in_tokens(tokens);
            let path = beginning(&of_tool.files[0].path, LONGEST_PATH);
            let kept = scene.archive.map(|archive| archive.place_of(result.message)).unwrap_or_default();
            let text = note(&format!("{} result removed, {size}; {path} {reason}{kept}", result.tool()));
            changes.extend(replace_result(scene, result, tokens, &text));
        }
        for (file, key) in of_tool.files.iter().zip(keys) {
            later.entry(key).or_default().read.push((file.extent.clone(), bytes));
        }
    }
    changes
}

/// Why a read of some files, of so many bytes each, is useless now: the reason for the first one. `None` where one of them
/// is of use.
fn reason_to_remove(
    files: &[FileUse],
    keys: &[String],
    later: &HashMap<String, Later>,
    bytes: usize,
) -> Option<&'static str> {
    let mut first = None;
    for (file, key) in files.iter().zip(keys) {
        let reason = later.get(key)?.makes_useless(&file.extent, bytes)?;
        first = first.or(Some(reason));
    }
    first
}

impl Later {
    /// Why an earlier read of so many bytes is useless now, where it is.
    fn makes_useless(&self, extent: &Extent, bytes: usize) -> Option<&'static str> {
        for (later, shown) in &self.read {
            // A later read can consist of a note that the file is unchanged, which shows nothing.
            if later.covers(extent) && *shown >= bytes / 2 {
                return Some("was read again later");
            }
        }
        if self.changed { Some("was changed later") } else { None }
    }
}

/// For each call a number for the working directory of its shell.
fn directories(uses: &[&ToolUse]) -> Vec<usize> {
    let mut directory = 0;
    let mut found = Vec::with_capacity(uses.len());
    for of_tool in uses {
        found.push(directory);
        directory += usize::from(of_tool.changes_directory);
    }
    found
}

/// A key for a file, the same for all uses of it.
fn key(file: &FileUse, of_tool: &ToolUse, directory: usize) -> String {
    let path = file.full_path();
    // All tools but shells have one working directory.
    let directory = if is_absolute(&path) || of_tool.command.is_none() { 0 } else { directory };
    format!("{directory} {path}")
}
