//! Determines what a call does with files: not only that it changes them, but how.

use std::collections::BTreeSet;
use std::ops::Bound;

use serde_json::Value;

use crate::transcript::tools::{Access, FileUse, ToolUse, argument, patch_in, words_of_name};

/// What a call does with a file. The name of an action is the word that users read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum FileAction {
    Changed,
    Created,
    Deleted,
    Renamed,
    /// Reset to its committed state.
    Restored,
    /// Perhaps changed: nothing is recorded of how it went.
    Tried,
    Read,
}

impl FileAction {
    pub(crate) const ALL: [FileAction; 7] = {
        use FileAction::{Changed, Created, Deleted, Read, Renamed, Restored, Tried};
        [Changed, Created, Deleted, Renamed, Restored, Tried, Read]
    };
}

/// What a program does to a file, or to the two of a move with [`RENAMED_TO`] between them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct FileChange {
    pub(crate) action: FileAction,
    pub(crate) path: String,
    /// The program, or nothing where it is a tool.
    pub(crate) program: String,
    /// Whether an exit code of 0 says that it did so, however the rest of its command hides how that went.
    pub(crate) is_sure: bool,
}

/// The path that stands for all files that git knows.
pub(crate) const EVERYTHING: &str = ".";

/// The sign between the two paths of a move.
pub(crate) const RENAMED_TO: &str = " → ";

/// Returns the files that a call names, with what it does to them. `result` is the beginning of its result.
pub(crate) fn file_actions(
    name: &str,
    given: &Value,
    arguments: &str,
    tool: &ToolUse,
    result: &str,
) -> Vec<FileChange> {
    /// The names of the two paths of a move.
    const MOVES: [(&str, &str); 4] =
        [("source", "destination"), ("old_path", "new_path"), ("from", "to"), ("src", "dst")];
    let change = |path, action| FileChange { path, action, program: String::new(), is_sure: false };
    let words = words_of_name(name);
    let has_verb = |verbs: &[&str]| verbs.iter().any(|verb| words.iter().any(|word| word == verb));
    let paths = |(from, to): &(&str, &str)| argument(given, &[from]).zip(argument(given, &[to]));
    if let Some((from, to)) = MOVES.iter().find_map(paths).filter(|_| has_verb(&["rename", "move"])) {
        return vec![change(format!("{from}{RENAMED_TO}{to}"), FileAction::Renamed)];
    }
    let (deleted, added) = (named_in_patch(arguments, "Delete"), named_in_patch(arguments, "Add"));
    let is_in = |named: &BTreeSet<&str>, path: &str| {
        named
            .range::<str, _>((Bound::Included(path), Bound::Unbounded))
            .next()
            .is_some_and(|rest| rest.starts_with(path))
    };
    // A tool that writes a file may write one that was there before.
    let creates = has_verb(&["create"])
        || given.get("command").and_then(Value::as_str) == Some("create")
        || has_verb(&["write"]) && result.to_lowercase().contains("created");
    let is_of_tool = |file: &&FileUse| match file.access {
        Access::Read => true,
        Access::Changed => tool.changes.is_empty(),
        Access::Named => false,
    };
    let action = |file: &FileUse| match file.path.as_str() {
        _ if file.access != Access::Changed => FileAction::Read,
        // One patch can take a file away and make it anew.
        path if is_in(&added, path) && is_in(&deleted, path) => FileAction::Changed,
        path if is_in(&deleted, path) || has_verb(&["delete", "remove"]) => FileAction::Deleted,
        path if is_in(&added, path) || creates => FileAction::Created,
        _ => FileAction::Changed,
    };
    // A patch names a file that it moves in front of its new path.
    let patch = patch_in(given, arguments).unwrap_or_default();
    let moved: BTreeSet<&str> =
        patch.lines().filter_map(|line| line.strip_prefix("*** Move to: ")).map(str::trim).collect();
    let files: Vec<&FileUse> = tool.files.iter().filter(is_of_tool).collect();
    let is_moved = |file: &FileUse| moved.contains(file.path.as_str());
    let stays = files.iter().enumerate().filter(|(at, _)| !files.get(at + 1).is_some_and(|next| is_moved(next)));
    let named = stays.map(|(at, file)| match at.checked_sub(1).map(|before| files[before].full_path()) {
        Some(from) if is_moved(file) => change(format!("{from}{RENAMED_TO}{}", file.full_path()), FileAction::Renamed),
        _ => change(file.full_path(), action(file)),
    });
    // A patch that the command reads from elsewhere is named by what it did.
    let patches = tool.command.as_deref().is_some_and(|command| command.contains("patch "));
    let patched = result.lines().filter(|_| patches).filter_map(|line| line.strip_prefix("patching file "));
    let patched = patched.map(|path| change(path.trim_matches(['\'', ' ']).to_owned(), FileAction::Changed));
    // An editor that has a file open says which.
    let is_edit =
        tool.files.is_empty() && tool.command.as_deref().unwrap_or(name).split_whitespace().next() == Some("edit");
    let open = result.lines().filter(|_| is_edit).find_map(|line| line.strip_prefix("[File: ")?.split_once(" ("));
    let edited = open.map(|(path, _)| change(path.to_owned(), FileAction::Changed));
    named.chain(tool.changes.iter().cloned()).chain(patched).chain(edited).collect()
}

/// Returns what follows each mark that a patch does this to a file. It begins with the path.
fn named_in_patch<'p>(patch: &'p str, verb: &str) -> BTreeSet<&'p str> {
    let mark = format!("*** {verb} File: ");
    patch.match_indices(&mark).map(|(at, mark)| &patch[at + mark.len()..]).collect()
}
