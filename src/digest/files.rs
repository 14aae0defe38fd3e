//! What calls did to files: changed, created, deleted, renamed or restored, with the last edit, and edits that failed.

use std::collections::HashMap;

use serde_json::Value;

use crate::digest::clip::cut;
use crate::digest::scripts::{self, ScriptWrites};
use crate::transcript::tools::shell::steps;
use crate::transcript::tools::{Access, ToolUse, argument, words_of_name};
use crate::wording::one_line;

/// What a call did to a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum FileAction {
    Changed,
    Created,
    Deleted,
    Renamed,
    /// Reset to its committed state.
    Restored,
    Read,
}

impl FileAction {
    pub(super) const ALL: [FileAction; 6] = [
        FileAction::Changed,
        FileAction::Created,
        FileAction::Deleted,
        FileAction::Renamed,
        FileAction::Restored,
        FileAction::Read,
    ];

    /// Returns the word in front of the paths.
    pub(super) fn word(self) -> &'static str {
        match self {
            FileAction::Changed => "Changed",
            FileAction::Created => "Created",
            FileAction::Deleted => "Deleted",
            FileAction::Renamed => "Renamed",
            FileAction::Restored => "Restored",
            FileAction::Read => "Read",
        }
    }
}

/// The index of a message, and whether it is one of the source of an earlier digest.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Place {
    /// Messages of an earlier digest come before all others.
    pub(super) is_new: bool,
    /// The index of the message.
    pub(super) index: usize,
}

impl Place {
    pub(super) fn new(index: usize) -> Self {
        Place { is_new: true, index }
    }
}

impl std::fmt::Display for Place {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(out, "[{}{}]", if self.is_new { "" } else { "~" }, self.index)
    }
}

/// The last use of a file.
#[derive(Debug, Clone)]
pub(super) struct FileUse {
    pub(super) path: String,
    pub(super) action: FileAction,
    pub(super) place: Place,
}

/// An edit that failed and was not repeated.
#[derive(Debug, Clone)]
pub(super) struct FailedEdit {
    pub(super) path: String,
    pub(super) place: Place,
    /// The opening of the result.
    pub(super) line: String,
}

/// The text of the last edit.
#[derive(Debug, Clone)]
pub(super) struct LastEdit {
    pub(super) path: String,
    pub(super) place: Place,
    pub(super) text: String,
}

/// The files of a history.
#[derive(Debug, Default)]
pub(super) struct Files {
    uses: Vec<FileUse>,
    by_path: HashMap<String, usize>,
    failed: Vec<FailedEdit>,
    pub(super) last_edit: Option<LastEdit>,
    scripts: ScriptWrites,
}

/// Most bytes of a path, and of the text of an edit.
const LONGEST_PATH: usize = 240;
const LONGEST_EDIT: usize = 420;
/// Most bytes of the line that says why an edit failed.
const LONGEST_REASON: usize = 160;

impl Files {
    /// Notes what a call that did not fail did to files.
    pub(super) fn add_call(&mut self, name: &str, given: &Value, arguments: &str, tool: &ToolUse, place: Place) {
        for (path, action) in actions(name, given, arguments, tool) {
            self.add(path, action, place);
        }
        let command = tool.command.as_deref().unwrap_or("");
        for (path, action) in self.scripts.of_command(command) {
            self.add(path, action, place);
        }
        let changed = tool.files.iter().find(|file| file.access == Access::Changed);
        if let Some((file, text)) = changed.zip(new_text(given, arguments)) {
            let path = clean(&file.path);
            self.scripts.add_script(&path, &text);
            if tool.command.is_none() {
                self.last_edit = Some(LastEdit { path, place, text: cut(&text, LONGEST_EDIT) });
            }
        }
        if let Some((path, code)) = scripts::here_document(command) {
            self.scripts.add_script(&clean(path), code);
        }
    }

    /// Notes an edit that failed.
    pub(super) fn add_failure(&mut self, path: &str, place: Place, result: &str) {
        let (path, line) = (clean(path), cut(&one_line(result), LONGEST_REASON));
        self.failed.retain(|failed| failed.path != path);
        self.failed.push(FailedEdit { path, place, line });
    }

    /// Notes a failure that an earlier digest told.
    pub(super) fn restore_failure(&mut self, failed: FailedEdit) {
        self.failed.push(failed);
    }

    /// Notes the use of a file. A file that was created and is changed later stays a created one.
    pub(super) fn add(&mut self, path: String, action: FileAction, place: Place) {
        let path = clean(&path);
        // These would not be read again as they are.
        if path.is_empty() || path.contains([',', '[', '\n']) {
            return;
        }
        if action != FileAction::Read {
            self.failed.retain(|failed| failed.path != path);
        }
        match self.by_path.get(&path) {
            Some(&at) => {
                let known = &mut self.uses[at];
                if action == FileAction::Read && known.action != FileAction::Read {
                    return;
                }
                let stays_created = known.action == FileAction::Created && action == FileAction::Changed;
                (known.action, known.place) = (if stays_created { known.action } else { action }, place);
            }
            None => {
                self.by_path.insert(path.clone(), self.uses.len());
                self.uses.push(FileUse { path, action, place });
            }
        }
    }

    /// Returns the folder that all absolute paths are in, where there are some.
    pub(super) fn common_folder(&self) -> Option<String> {
        const LEAST_FILES: usize = 3;
        const SHORTEST: usize = 12;
        let mut paths = self
            .uses
            .iter()
            .map(|file| file.path.as_str())
            .filter(|path| path.starts_with('/') && !path.contains(" → "));
        let mut common = paths.next()?;
        let mut count = 1;
        for path in paths {
            let same = common.bytes().zip(path.bytes()).take_while(|(a, b)| a == b).count();
            common = &common[..common.floor_char_boundary(same)];
            count += 1;
        }
        let folder = &common[..common.rfind('/')?];
        (count >= LEAST_FILES && folder.len() >= SHORTEST).then(|| folder.to_owned())
    }

    /// Tells paths without a folder that they are in.
    pub(super) fn shorten(&mut self, folder: &str) {
        let short = |path: &str| without_folder(path, folder);
        let uses = std::mem::take(&mut self.uses);
        self.by_path.clear();
        for FileUse { path, action, place } in uses {
            self.add(short(&path), action, place);
        }
        self.failed.iter_mut().for_each(|failed| failed.path = short(&failed.path));
        self.last_edit.iter_mut().for_each(|edit| edit.path = short(&edit.path));
    }

    /// Returns the files, those used last first.
    pub(super) fn newest_first(&self) -> Vec<&FileUse> {
        let mut uses: Vec<&FileUse> = self.uses.iter().collect();
        uses.sort_by(|a, b| b.place.cmp(&a.place));
        uses
    }

    /// Returns the edits that failed and were not repeated, the last ones first.
    pub(super) fn failed(&self) -> impl Iterator<Item = &FailedEdit> {
        self.failed.iter().rev()
    }

    /// Returns the place of the last change of a file.
    pub(super) fn last_change(&self) -> Option<Place> {
        self.uses.iter().filter(|file| file.action != FileAction::Read).map(|file| file.place).max()
    }
}

/// Returns a text without a folder in front of the paths in it.
pub(super) fn without_folder(text: &str, folder: &str) -> String {
    text.replace(&format!("{folder}/"), "")
}

fn clean(path: &str) -> String {
    let path = one_line(path.trim().trim_start_matches("./"));
    if path.len() > LONGEST_PATH { String::new() } else { path }
}

/// Returns the new text of an edit.
fn new_text(given: &Value, arguments: &str) -> Option<String> {
    const TEXTS: [&str; 12] = [
        "new_string",
        "newString",
        "new_str",
        "newText",
        "content",
        "contents",
        "file_text",
        "code_edit",
        "patch",
        "diff",
        "input",
        "new_source",
    ];
    argument(given, &TEXTS)
        .or_else(|| (given.is_null() && arguments.contains("*** Begin Patch")).then(|| arguments.to_owned()))
}

/// Returns the files that a call names, with what it does to them.
fn actions(name: &str, given: &Value, arguments: &str, tool: &ToolUse) -> Vec<(String, FileAction)> {
    /// The names of the two paths of a move.
    const MOVES: [(&str, &str); 5] = [
        ("source", "destination"),
        ("old_path", "new_path"),
        ("from", "to"),
        ("src", "dst"),
        ("source_path", "destination_path"),
    ];
    let verb = given.get("command").and_then(Value::as_str).filter(|verb| !verb.contains(' ')).unwrap_or("");
    let words = words_of_name(name);
    let has_verb = |verbs: &[&str]| verbs.iter().any(|verb| words.iter().any(|word| word == verb));
    if has_verb(&["rename", "move"])
        && let Some((from, to)) =
            MOVES.iter().find_map(|(from, to)| argument(given, &[from]).zip(argument(given, &[to])))
    {
        return vec![(format!("{from} → {to}"), FileAction::Renamed)];
    }
    let in_patch = |verb: &str, path: &str| arguments.contains(&format!("*** {verb} File: {path}"));
    let steps: Vec<Step<'_>> = tool.command.iter().flat_map(|command| steps(command)).map(Step::parse).collect();
    let changed = |path: &str| {
        if in_patch("Delete", path) || has_verb(&["delete", "remove"]) || steps.iter().any(|step| step.removes(path)) {
            FileAction::Deleted
        } else if in_patch("Add", path)
            || has_verb(&["create", "write"])
            || verb == "create"
            || arguments.contains("\"write\"")
        {
            FileAction::Created
        } else {
            FileAction::Changed
        }
    };
    let moves: Vec<(&str, &str)> = steps.iter().filter_map(Step::moves).collect();
    let mut found: Vec<(String, FileAction)> = Vec::new();
    for file in tool.files.iter().filter(|file| !moves.iter().any(|(from, to)| *from == file.path || *to == file.path))
    {
        let action = if file.access == Access::Changed { changed(&file.path) } else { FileAction::Read };
        found.push((file.path.clone(), action));
    }
    for step in &steps {
        found.extend(step.restores().map(|path| (path.to_owned(), FileAction::Restored)));
    }
    found.extend(moves.iter().map(|(from, to)| (format!("{from} → {to}"), FileAction::Renamed)));
    found
}

/// A step of a command, by its words without quotes.
struct Step<'s> {
    words: Vec<&'s str>,
}

impl<'s> Step<'s> {
    fn parse(step: &'s str) -> Self {
        Step { words: step.split_whitespace().map(|word| word.trim_matches(['\'', '"'])).collect() }
    }

    fn removes(&self, path: &str) -> bool {
        matches!(self.words[..], ["rm", ..] | ["git", "rm", ..]) && self.words.contains(&path)
    }

    /// Returns the two paths of a move of one file.
    fn moves(&self) -> Option<(&'s str, &'s str)> {
        let words: Vec<&str> = self.words.iter().copied().filter(|word| !word.starts_with('-')).collect();
        let (["mv", from, to] | ["git", "mv", from, to]) = words[..] else { return None };
        // A folder as the target keeps the name.
        let is_file = |path: &str| !path.ends_with('/') && path != "." && !path.contains(['*', '$']);
        (is_file(from) && is_file(to)).then_some((from, to))
    }

    /// Returns the files that the step resets to their committed state.
    fn restores(&self) -> impl Iterator<Item = &'s str> {
        let paths: &[&str] = match &self.words[..] {
            ["git", "checkout", rest @ ..] => match rest.iter().position(|word| *word == "--") {
                Some(at) => &rest[at + 1..],
                None => &[],
            },
            ["git", "restore", rest @ ..] if !rest.contains(&"--staged") => rest,
            _ => &[],
        };
        paths.to_vec().into_iter().filter(|word| !word.starts_with('-') && !matches!(*word, "." | ".."))
    }
}
