//! Determines what a call does with files: not only that it changes them, but how.

use std::collections::BTreeSet;

use serde_json::Value;

use crate::transcript::tools::{Access, FileUse, ToolUse, argument, full_path, words_of_name};

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

/// What a command or a patch does to a file, with the paths as they stand there.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Change {
    pub(super) action: FileAction,
    pub(super) path: String,
    /// The new path of what is renamed.
    pub(super) to: Option<String>,
    pub(super) unknown: Option<Unknown>,
}

/// What only the calls before tell of a path.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Unknown {
    /// Whether it is a folder, in which the file has this name.
    IsFolder(String),
    /// Whether it is a file at all, and not a branch.
    IsBranch,
}

impl Change {
    pub(super) fn new(action: FileAction, path: &str) -> Self {
        Change { action, path: path.to_owned(), to: None, unknown: None }
    }

    /// Returns it with the folder in its paths.
    pub(super) fn within(self, folder: Option<&str>) -> FileChange {
        let Change { action, path, to, unknown } = self;
        let path = if path == EVERYTHING { path } else { full_path(folder, &path) };
        let path = to.map_or(path.clone(), |to| format!("{path}{RENAMED_TO}{}", full_path(folder, &to)));
        FileChange { action, path, program: String::new(), is_sure: false, unknown }
    }
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
    pub(crate) unknown: Option<Unknown>,
}

/// The path that stands for all files that git knows.
pub(crate) const EVERYTHING: &str = ".";

/// The sign between the two paths of a move.
pub(crate) const RENAMED_TO: &str = " → ";

/// Returns the files that a call names, with what it does to them. `result` is the beginning of its result.
pub(crate) fn file_actions(name: &str, given: &Value, tool: &ToolUse, result: &str) -> Vec<FileChange> {
    /// The names of the two paths of a move.
    const MOVES: [(&str, &str); 4] =
        [("source", "destination"), ("old_path", "new_path"), ("from", "to"), ("src", "dst")];
    let change = |path: &str, action| Change::new(action, path).within(None);
    let words = words_of_name(name);
    let has_verb = |verbs: &[&str]| verbs.iter().any(|verb| words.iter().any(|word| word == verb));
    let paths = |(from, to): &(&str, &str)| argument(given, &[from]).zip(argument(given, &[to]));
    if let Some((from, to)) = MOVES.iter().find_map(paths).filter(|_| has_verb(&["rename", "move"])) {
        let renamed = Change { to: Some(to), ..Change::new(FileAction::Renamed, &from) };
        return vec![renamed.within(None)];
    }
    // A tool that writes a file may write one that was there before.
    let creates = has_verb(&["create"])
        || given.get("command").and_then(Value::as_str) == Some("create")
        || has_verb(&["write"]) && result.to_lowercase().contains("created");
    let of_tool = |file: &FileUse| {
        let action = match file.access {
            Access::Read => FileAction::Read,
            Access::Changed if !tool.changes.is_empty() => return None,
            Access::Changed if has_verb(&["delete", "remove"]) => FileAction::Deleted,
            Access::Changed if creates => FileAction::Created,
            Access::Changed => FileAction::Changed,
            Access::Named => return None,
        };
        Some(change(&file.full_path(), action))
    };
    let named = tool.files.iter().filter_map(of_tool);
    // A patch that the command reads from elsewhere is named by what it did.
    let patches = tool.command.as_deref().is_some_and(|command| command.contains("patch "));
    let patched = result.lines().filter(|_| patches).filter_map(|line| line.strip_prefix("patching file "));
    let patched = patched.map(|path| change(path.trim_matches(['\'', ' ']), FileAction::Changed));
    // An editor that has a file open says which.
    let is_edit =
        tool.files.is_empty() && tool.command.as_deref().unwrap_or(name).split_whitespace().next() == Some("edit");
    let open = result.lines().filter(|_| is_edit).find_map(|line| line.strip_prefix("[File: ")?.split_once(" ("));
    let edited = open.map(|(path, _)| change(path, FileAction::Changed));
    named.chain(tool.changes.iter().cloned()).chain(patched).chain(edited).collect()
}

/// Returns what a patch in Codex' form does.
pub(super) fn changes_of_patch(patch: &str) -> Vec<Change> {
    use FileAction::{Changed, Created, Deleted, Renamed};
    let mut found: Vec<Change> = Vec::new();
    for line in patch.lines() {
        let Some((verb, path)) = line.strip_prefix("*** ").and_then(|line| line.split_once(": ")) else { continue };
        let action = match verb {
            "Update File" => Changed,
            "Add File" => Created,
            "Delete File" => Deleted,
            "Move to" => {
                if let Some(last) = found.last_mut() {
                    (last.action, last.to) = (Renamed, Some(path.trim().to_owned()));
                }
                continue;
            }
            _ => continue,
        };
        found.push(Change::new(action, path.trim()));
    }
    // One patch can take a file away and make it anew.
    let paths = |action| {
        let changes = found.iter().filter(move |change| change.action == action);
        changes.map(|change| change.path.clone()).collect::<BTreeSet<String>>()
    };
    let both: BTreeSet<String> = paths(Deleted).intersection(&paths(Created)).cloned().collect();
    found.iter_mut().filter(|change| both.contains(&change.path)).for_each(|change| change.action = Changed);
    found
}

/// The paths that the calls so far have named: files, and folders with a `/` behind them.
#[derive(Debug, Default)]
pub(crate) struct KnownPaths(BTreeSet<String>);

impl KnownPaths {
    /// Returns the changes of a call with what the calls before it tell of their paths, and notes these.
    pub(crate) fn settled(&mut self, tool: &ToolUse, result: &str, changes: Vec<FileChange>) -> Vec<FileChange> {
        self.0.extend(tool.new_folders.iter().map(|folder| format!("{folder}/")));
        // git says so of files, and other things of branches.
        let are_files = result.contains("Updated ") && result.contains(" path");
        let mut settled = Vec::new();
        for mut change in changes {
            match change.unknown.take() {
                Some(Unknown::IsFolder(name)) if self.is_folder(last_path(&change.path)) => {
                    change.path = format!("{}/{name}", change.path);
                }
                Some(Unknown::IsBranch) if !are_files && !self.0.contains(&change.path) => continue,
                _ => {}
            }
            let path = last_path(&change.path).to_owned();
            if change.action == FileAction::Deleted {
                self.0.remove(&format!("{path}/"));
            }
            self.0.insert(path);
            settled.push(change);
        }
        settled
    }

    fn is_folder(&self, path: &str) -> bool {
        let folder = format!("{path}/");
        self.0.range(folder.clone()..).next().is_some_and(|next| next.starts_with(&folder))
    }
}

/// Returns the path of a change, of a move the new one.
fn last_path(path: &str) -> &str {
    path.rsplit(RENAMED_TO).next().unwrap_or(path)
}
