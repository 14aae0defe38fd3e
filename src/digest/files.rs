//! What calls did to files: changed, created, deleted, renamed or restored, the last edit of each, and edits that failed.

use std::collections::HashMap;

use serde_json::Value;

use crate::digest::clip::cut;
use crate::digest::grammar::{Place, SourcePlace, joined};
use crate::transcript::tools::actions::{FileAction, file_actions};
use crate::transcript::tools::scripts::{ScriptWrites, here_document};
use crate::transcript::tools::{Access, ToolUse, argument};
use crate::wording::one_line;

/// The last use of a file, or its creation.
#[derive(Debug, Clone)]
pub(super) struct FileHistory {
    pub(super) path: String,
    pub(super) action: FileAction,
    pub(super) place: Place,
    /// The places of all changes, or of the last time that it was read.
    pub(super) places: Vec<SourcePlace>,
}

impl FileHistory {
    /// Creates that of one call.
    pub(super) fn new(path: String, action: FileAction, place: Place) -> Self {
        FileHistory { path, action, place, places: vec![place.source] }
    }

    /// Returns the path with its places.
    pub(super) fn shown(&self) -> String {
        const MOST_RANGES: usize = 3;
        format!("{} {}", self.path, joined(self.places.clone(), MOST_RANGES))
    }
}

/// A text about a file: the last edit of it, or why an edit failed.
#[derive(Debug, Clone)]
pub(super) struct FileNote {
    pub(super) path: String,
    pub(super) place: Place,
    pub(super) text: String,
}

/// The files of a history.
#[derive(Debug, Default)]
pub(super) struct Files {
    /// In the order in which they were first used.
    uses: Vec<FileHistory>,
    by_path: HashMap<(String, bool), usize>,
    /// Edits that failed and were not repeated, in order.
    pub(super) failed: Vec<FileNote>,
    /// The last edit of each file, in order.
    pub(super) edits: Vec<FileNote>,
    scripts: ScriptWrites,
    /// How many files of each action earlier digests had left out.
    pub(super) left_out: [usize; FileAction::ALL.len()],
}

/// Edits whose text is kept, and failures.
const MOST_EDITS: usize = 6;
const MOST_FAILURES: usize = 64;

/// A call as it stands in a history.
#[derive(Clone, Copy)]
pub(super) struct CallText<'a> {
    pub(super) name: &'a str,
    /// The arguments, where they are JSON.
    pub(super) given: &'a Value,
    /// The arguments as text.
    pub(super) arguments: &'a str,
    /// The beginning of the result.
    pub(super) result: &'a str,
}

impl Files {
    /// Notes what a call that did not fail did to files, by its arguments and the beginning of its result. A change is told
    /// with the place of its call, what was read with that of the result.
    pub(super) fn add_call(&mut self, call: CallText<'_>, tool: &ToolUse, place: Place, of_result: Place) {
        let CallText { name, given, arguments, result } = call;
        let command = tool.command.as_deref().unwrap_or("");
        for (path, action) in file_actions(name, given, arguments, tool, result) {
            let place = if action == FileAction::Read { of_result } else { place };
            self.add(FileHistory::new(path, action, place));
        }
        let changed = tool.files.iter().find(|file| file.access == Access::Changed && tool.command.is_none());
        let written = changed.zip(new_text(given, arguments)).map(|(file, text)| (file.path.clone(), text));
        let written = written.or_else(|| here_document(command).map(|(path, code)| (path.to_owned(), code.to_owned())));
        if let Some((path, text)) = written {
            self.scripts.add_script(path.trim_start_matches("./"), &text);
            self.add_edit(FileNote { path, place, text: edit_text(given, &text) });
        }
        for (path, action) in self.scripts.of_command(command) {
            self.add(FileHistory::new(path, action, place));
        }
    }

    /// Notes the last edit of a file.
    pub(super) fn add_edit(&mut self, edit: FileNote) {
        let edit = FileNote { path: clean(&edit.path), ..edit };
        self.edits.retain(|known| known.path != edit.path);
        self.edits.push(edit);
        if self.edits.len() > MOST_EDITS {
            self.edits.remove(0);
        }
    }

    /// Notes an edit that failed.
    pub(super) fn add_failure(&mut self, path: &str, place: Place, result: &str) {
        const LONGEST: usize = 160;
        let path = clean(path);
        self.failed.retain(|failed| failed.path != path);
        self.failed.push(FileNote { path, place, text: cut(&one_line(result), LONGEST) });
        if self.failed.len() > MOST_FAILURES {
            self.failed.remove(0);
        }
    }

    /// Notes the use of a file. Its creation is told beside a later change.
    pub(super) fn add(&mut self, file: FileHistory) {
        let FileHistory { action, place, .. } = file;
        let path = clean(&file.path);
        // These would not be read again as they are.
        if path.is_empty() || path.contains([',', '[', '\n']) {
            return;
        }
        if action != FileAction::Read {
            self.failed.retain(|failed| failed.path != path);
        }
        let key = (path.clone(), action == FileAction::Created);
        match self.by_path.get(&key) {
            Some(&at) if action == FileAction::Read && self.uses[at].action != FileAction::Read => {}
            Some(&at) => {
                let known = &mut self.uses[at];
                if known.action == FileAction::Read {
                    known.places.clear();
                }
                (known.action, known.place) = (action, place);
                known.places.extend(file.places);
            }
            None => {
                self.by_path.insert(key, self.uses.len());
                self.uses.push(FileHistory { path, ..file });
            }
        }
    }

    /// Returns the files, those used last first. A file that was read after its creation is a created one.
    pub(super) fn newest_first(&self) -> Vec<&FileHistory> {
        let is_known = |file: &FileHistory| file.action == FileAction::Read && self.is_created(&file.path);
        let mut uses: Vec<&FileHistory> = self.uses.iter().filter(|file| !is_known(file)).collect();
        uses.sort_by_key(|file| std::cmp::Reverse(file.place));
        uses
    }

    /// Whether a call created a file.
    pub(super) fn is_created(&self, path: &str) -> bool {
        self.by_path.contains_key(&(path.to_owned(), true))
    }

    /// Returns the changes of files, not what was only read.
    pub(super) fn changes(&self) -> impl Iterator<Item = &FileHistory> {
        self.uses.iter().filter(|file| file.action != FileAction::Read)
    }

    /// Returns the folder that all absolute paths are in, where there are some.
    pub(super) fn common_folder(&self) -> Option<String> {
        const LEAST_FILES: usize = 3;
        const SHORTEST: usize = 12;
        let is_path = |path: &&str| path.starts_with('/') && !path.contains(" → ");
        let paths: Vec<&str> = self.uses.iter().map(|file| file.path.as_str()).filter(is_path).collect();
        let common = paths.iter().copied().reduce(|common, path| {
            let same = common.bytes().zip(path.bytes()).take_while(|(a, b)| a == b).count();
            &common[..common.floor_char_boundary(same)]
        })?;
        let folder = &common[..common.rfind('/')?];
        (paths.len() >= LEAST_FILES && folder.len() >= SHORTEST).then(|| folder.to_owned())
    }

    /// Tells paths without a folder that they are in.
    pub(super) fn shorten(&mut self, folder: &str) {
        self.by_path.clear();
        for file in std::mem::take(&mut self.uses) {
            self.add(FileHistory { path: without_folder(&file.path, folder), ..file });
        }
        for note in self.failed.iter_mut().chain(&mut self.edits) {
            note.path = without_folder(&note.path, folder);
        }
    }
}

/// Returns a text without a folder in front of the paths in it. Where the folder is a part of a longer path, it stays: a
/// search for what is left finds the text.
pub(super) fn without_folder(text: &str, folder: &str) -> String {
    let folder = format!("{folder}/");
    let mut shown = String::with_capacity(text.len());
    for (at, part) in text.split(&folder).enumerate() {
        let is_inside = shown.ends_with(|c: char| c.is_alphanumeric() || "/._-~}".contains(c));
        shown.push_str(if at > 0 && is_inside { &folder } else { "" });
        shown.push_str(part);
    }
    shown
}

fn clean(path: &str) -> String {
    const LONGEST: usize = 240;
    let path = one_line(path.trim().trim_start_matches("./"));
    if path.len() > LONGEST { String::new() } else { path }
}

/// Returns the new text of an edit.
fn new_text(given: &Value, arguments: &str) -> Option<String> {
    const TEXTS: &str =
        "new_string|newString|new_str|newText|content|contents|file_text|code_edit|patch|diff|input|new_source";
    let patch = || (given.is_null() && arguments.contains("*** Begin Patch")).then(|| arguments.to_owned());
    TEXTS.split('|').find_map(|name| argument(given, &[name])).or_else(patch)
}

/// Returns the text that tells an edit: the lines that went and those that came, or the beginning of a new text.
fn edit_text(given: &Value, new: &str) -> String {
    const LONGEST: usize = 1_200;
    let Some(old) = argument(given, &["old_string", "oldString", "old_str", "oldText"]) else {
        return cut(new, LONGEST);
    };
    let lines = |text: &str, other: &str, sign: &str| -> Vec<String> {
        let others: std::collections::HashSet<&str> = other.lines().map(str::trim).collect();
        let lines = text.lines().filter(|line| !line.trim().is_empty() && !others.contains(line.trim()));
        lines.map(|line| format!("{sign} {}", line.trim_end())).collect()
    };
    let (went, came) = (lines(&old, new, "-").join("\n"), lines(new, &old, "+").join("\n"));
    format!("{}\n{}", cut(&went, LONGEST / 3), cut(&came, LONGEST * 2 / 3)).trim().to_owned()
}
