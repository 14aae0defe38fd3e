//! Determines what a call does with files: not only that it changes them, but how.
//!
//! Also: what a call is for: to act outside, to check the work, to look something up.

use std::collections::BTreeSet;

use serde_json::Value;

use crate::transcript::tools::shell::{SimpleCommand, commands, pipelines};
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

    /// The same action, with the folder in its paths.
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

/// The files that a call names, with what it does to them. `result` is the beginning of its result.
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

/// What a patch in Codex' form does.
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
    /// The changes of a call with what the calls before it tell of their paths, and notes these.
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

/// The path of a change, of a move the new one.
fn last_path(path: &str) -> &str {
    path.rsplit(RENAMED_TO).next().unwrap_or(path)
}

/// What a call is for. What matters more to whoever goes on comes first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Purpose {
    /// It acts outside: it books, sends, installs, commits.
    Acts,
    /// It checks the work: tests, builds, linters.
    Checks,
    /// It runs a script.
    Scripts,
    /// It looks up values.
    LooksUp,
    /// It shows, searches or moves files.
    Reads,
}

/// The purpose of a call by its name, or that of its command by the steps.
pub(crate) fn purpose_of(name: &str, tool: &ToolUse, result: &str) -> Purpose {
    const WEB: &str = "web|websearch|webfetch|browser|fetch";
    const LOOKS: &str =
        "get|list|ls|find|search|read|view|show|query|lookup|grep|glob|calculate|open|check|describe|scroll|screenshot";
    /// Bytes of a result that is a value, and not a text.
    const VALUE: usize = 200;
    if let Some(command) = &tool.command {
        let least = pipelines(&commands(command, None)).map(purpose_of_pipeline).min();
        return least.filter(|_| !tool.only_reads).unwrap_or(Purpose::Reads);
    }
    let words = words_of_name(name);
    let has = |list: &str| words.iter().any(|word| is_in(word, list));
    if has(WEB) {
        Purpose::Reads
    } else if !has(LOOKS) {
        Purpose::Acts
    } else if result.trim_start().starts_with(['{', '[']) || result.len() < VALUE {
        Purpose::LooksUp
    } else {
        Purpose::Reads
    }
}

fn purpose_of_pipeline(pipeline: &[SimpleCommand<'_>]) -> Purpose {
    const SHOWS: &str = "cat|sed|head|tail|less|nl|ls|find|rg|grep|pwd|which|wc|tree|awk|cd|echo|file|stat|du|sort|uniq|cut|diff|true|env|type|cp|mv|rm|mkdir|touch|chmod|tee|ln|open|goto|scroll_down|scroll_up|search_file|search_dir|find_file|view";
    const GIT_SHOWS: &str = "show|diff|blame";
    const LISTS: &str = "log|logs|status|branch|info|list|ls|get|show|view|describe|ps|version";
    const CHECKS: &str = "test|tests|pytest|unittest|build|check|lint|clippy|make|tsc|eslint|ruff|mypy|tox|jest|vitest|mvn|gradle|ctest|rspec|compile|typecheck|flake8";
    const SCRIPTS: [&str; 6] = ["python", "node", "ruby", "perl", "php", "./"];
    let first = &pipeline[0];
    let program = first.words.first().map_or("cd", |program| &**program);
    let verb = first.operands().find(|word| !word.contains('=')).unwrap_or("");
    // What was installed is seen by what runs.
    let shows = is_in(program, SHOWS) || verb == "install" || program == "git" && is_in(verb, GIT_SHOWS);
    let words = pipeline.iter().flat_map(|command| &command.words);
    let words = words.flat_map(|word| word.split(|c: char| !c.is_alphanumeric()));
    let mut words = words.filter(|word| !word.is_empty()).take(12);
    if shows {
        Purpose::Reads
    } else if is_in(verb, LISTS) {
        Purpose::LooksUp
    } else if words.any(|word| is_in(word, CHECKS)) {
        Purpose::Checks
    } else if SCRIPTS.iter().any(|script| program.starts_with(script)) {
        Purpose::Scripts
    } else {
        Purpose::Acts
    }
}

/// Whether a word is one of a list, which has `|` between the words.
pub(crate) fn is_in(word: &str, list: &str) -> bool {
    list.split('|').any(|known| known == word)
}
