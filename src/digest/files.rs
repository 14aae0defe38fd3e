//! What calls did to files: changed, created, deleted, renamed or restored, and edits that failed.

use std::collections::{HashMap, HashSet};

use serde_json::Value;

use crate::digest::clip::clipped;
use crate::digest::cues;
use crate::digest::edits::EditsInForce;
use crate::digest::grammar::{FAILED_EDIT, Place, SourcePlace, TRIED_EDIT, joined};
use crate::digest::outcome::reads_as_error;
use crate::transcript::tools::ToolUse;
use crate::transcript::tools::actions::{EVERYTHING, FileAction, FileChange, KnownPaths, RENAMED_TO, file_actions};
use crate::transcript::tools::commands::ScriptWrites;
use crate::transcript::tools::edits::{TextEdit, Undoable, edits_of_call};
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

    /// The path with its places.
    pub(super) fn shown(&self) -> String {
        const MOST_RANGES: usize = 3;
        format!("{} {}", self.path, joined(self.places.clone(), MOST_RANGES))
    }
}

/// An edit that did not succeed, and why.
#[derive(Debug, Clone)]
pub(super) struct FailedEdit {
    pub(super) path: String,
    pub(super) place: Place,
    pub(super) text: String,
    /// Whether an error of the edit is recorded.
    pub(super) has_failed: bool,
}

impl FailedEdit {
    pub(super) fn label(&self) -> &'static str {
        if self.has_failed { FAILED_EDIT } else { TRIED_EDIT }
    }
}

/// The files of a history.
#[derive(Debug, Default)]
pub(super) struct Files {
    /// By their paths.
    uses: HashMap<String, FileHistory>,
    /// Edits that failed and were not repeated, in order.
    pub(super) failed: Vec<FailedEdit>,
    pub(super) edits: EditsInForce,
    scripts: ScriptWrites,
    known: KnownPaths,
    undoable: Undoable,
    /// How many files of each action earlier digests had left out.
    pub(super) left_out: [usize; FileAction::ALL.len()],
}

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
    /// Whether it succeeded, and whether its exit code, which can be that of another step, is 0.
    pub(super) succeeded: bool,
    pub(super) exited_well: bool,
}

impl Files {
    /// Notes what a call did to files, by its arguments and the beginning of its result: as tried, unless it succeeded. A
    /// change is told with the place of its call, what was read with that of the result.
    pub(super) fn add_call(&mut self, call: CallText<'_>, tool: &ToolUse, places: (Place, Place)) {
        /// How a program says that it could not do something with a file, or that it is a folder.
        const DENIALS: &str = "no such file|cannot|can't|denied|not permitted|is a directory|not a directory|does not exist|doesn't exist|eisdir|enoent|not found|not under version control|did not match|does not apply|hunk #|files and directories up to";
        let CallText { name, given, arguments, result, succeeded, exited_well } = call;
        let (place, of_result) = places;
        let command = tool.command.as_deref().unwrap_or("");
        let denies = |line: &str| cues::has(&line.to_lowercase(), DENIALS);
        let edits = edits_of_call(name, given, arguments, tool);
        let with_text: HashSet<String> = edits.iter().map(|edit| edit.path.clone()).collect();
        let mut changed: HashSet<String> = HashSet::new();
        let undoes = given.get("command").and_then(Value::as_str) == Some("undo_edit");
        let changes = self.known.settled(tool, result, file_actions(name, given, tool, result));
        for FileChange { action, path, program, is_sure, .. } in changes {
            let (action, place) = match action {
                FileAction::Read => (action, of_result),
                action if succeeded || exited_well && is_sure => (action, place),
                _ => (FileAction::Tried, place),
            };
            let name = path.rsplit('/').next().unwrap_or(&path);
            let is_about =
                |line: &str| line.contains(name) || !program.is_empty() && line.starts_with(&format!("{program}: "));
            let is_read = action == FileAction::Read;
            // Over a recorded success, such words are text of a file.
            let may_fail = is_read || !(exited_well && is_sure);
            let is_denied = may_fail
                && (result.lines().any(|line| is_about(line) && denies(line)) || is_read && reads_as_error(result));
            if is_denied {
                continue;
            }
            changed.extend(path.split(RENAMED_TO).map(str::to_owned));
            if undoes {
                match self.undoable.undo(&path) {
                    Some(edit) => self.edits.add(place, TextEdit { path: clean(&path), ..edit }),
                    None => self.edits.note_other_change(&clean(&path)),
                }
            } else if !is_read && !with_text.contains(&path) {
                self.edits.note_other_change(&clean(&path));
            }
            self.add(FileHistory::new(path, action, place));
        }
        for edit in edits.into_iter().filter(|edit| changed.contains(&edit.path)) {
            self.scripts.add_script(edit.path.trim_start_matches("./"), &edit.new);
            if succeeded {
                self.undoable.note(&edit);
                self.edits.add(place, TextEdit { path: clean(&edit.path), ..edit });
            }
        }
        for (path, action) in self.scripts.of_command(command) {
            self.edits.note_other_change(&clean(&path));
            self.add(FileHistory::new(path, if succeeded { action } else { FileAction::Tried }, place));
        }
    }

    /// Notes an edit that failed, or of which nothing says that it did not.
    pub(super) fn add_failure(&mut self, path: &str, place: Place, result: &str, has_failed: bool) {
        const LONGEST: usize = 240;
        const MOST: usize = 64;
        let path = clean(path);
        self.failed.retain(|failed| failed.path != path);
        self.failed.push(FailedEdit { path, place, text: one_line(&clipped(result, LONGEST)), has_failed });
        if self.failed.len() > MOST {
            self.failed.remove(0);
        }
    }

    /// Notes the use of a file, and what it does to edits before it.
    pub(super) fn add(&mut self, file: FileHistory) {
        use FileAction::{Changed, Deleted, Read, Renamed, Restored, Tried};
        let file = FileHistory { path: clean(&file.path), ..file };
        if file.action == Restored && file.path == EVERYTHING {
            // New files stay as they are.
            let is_back = |known: &&mut FileHistory| matches!(known.action, Changed | Deleted | Restored);
            for known in self.uses.values_mut().filter(is_back) {
                (known.action, known.place) = (Restored, file.place);
                self.edits.remove(&known.path);
            }
            return;
        }
        // An earlier digest tells edits under the path of now, and failures behind these.
        if !file.place.is_carried() {
            if let (Renamed, Some((from, to))) = (file.action, file.path.split_once(RENAMED_TO)) {
                self.edits.rename(from, to.to_owned());
            }
            if !matches!(file.action, Read | Tried) {
                self.failed.retain(|failed| failed.path != file.path);
            }
        }
        if matches!(file.action, Deleted | Restored) {
            self.edits.remove(&file.path);
        }
        self.merge(file);
    }

    /// Notes what the uses of a file come to: what was made and removed again is gone, and what was made anew is changed.
    fn merge(&mut self, file: FileHistory) {
        use FileAction::{Changed, Created, Deleted, Read, Renamed, Restored, Tried};
        let FileHistory { mut path, mut action, place, mut places } = file;
        // These would not be read again as they are.
        if path.is_empty() || path.contains([',', '\n']) || path.contains(" [") {
            return;
        }
        let moved = path.split_once(RENAMED_TO).map(|(from, to)| (from.to_owned(), to.to_owned()));
        if let (Renamed, Some((from, to))) = (action, moved) {
            self.uses.remove(&to);
            let before = self.uses.remove(&from).filter(|before| !matches!(before.action, Read | Tried));
            if let Some(before) = before {
                places = [before.places, places].concat();
                if before.action == Created {
                    (path, action) = (to, Created);
                }
            }
        }
        let known = self.uses.get(&path).map(|known| known.action);
        let action = match (known, action) {
            (Some(Created), Deleted) => {
                self.uses.remove(&path);
                return;
            }
            (Some(Changed | Created | Renamed | Restored), Tried) => return,
            (Some(known), Read) if known != Read => return,
            (Some(Created), Changed) => Created,
            (Some(Deleted | Read | Changed | Restored), Created) => Changed,
            (_, action) => action,
        };
        let known = self.uses.entry(path.clone()).or_insert(FileHistory { path, action, place, places: Vec::new() });
        // Of reads the last counts, and what was only tried before a success is not a change.
        if known.action == Read || known.action == Tried && action != Tried {
            known.places.clear();
        }
        (known.action, known.place) = (action, place);
        known.places.extend(places);
    }

    /// The files, those used last first; not what was read as one and is the folder of others.
    pub(super) fn newest_first(&self) -> Vec<&FileHistory> {
        let folders: HashSet<&str> =
            self.uses.keys().flat_map(|path| path.match_indices('/').map(|(at, _)| &path[..at])).collect();
        let is_folder = |file: &FileHistory| file.path.ends_with('/') || folders.contains(file.path.as_str());
        let mut uses: Vec<&FileHistory> =
            self.uses.values().filter(|file| file.action != FileAction::Read || !is_folder(file)).collect();
        uses.sort_by(|a, b| b.place.cmp(&a.place).then_with(|| a.path.cmp(&b.path)));
        uses
    }

    /// The changes of files, not what was only read or tried, those used last first.
    pub(super) fn changes(&self) -> impl Iterator<Item = &FileHistory> {
        self.newest_first().into_iter().filter(|file| !matches!(file.action, FileAction::Read | FileAction::Tried))
    }

    /// Tells paths without a folder that they are in.
    pub(super) fn shorten(&mut self, folder: &str) {
        // A path with the folder and one without it can be the same.
        let mut uses: Vec<FileHistory> = std::mem::take(&mut self.uses).into_values().collect();
        uses.sort_by(|a, b| a.place.cmp(&b.place).then_with(|| a.path.cmp(&b.path)));
        for edit in &mut self.failed {
            edit.path = without_folder(&edit.path, folder);
        }
        self.edits.rename_all(|path| without_folder(path, folder));
        for file in uses {
            let file = FileHistory { path: without_folder(&file.path, folder), ..file };
            // What was told of one spelling holds for the other.
            match (file.action, file.path.split_once(RENAMED_TO)) {
                (FileAction::Deleted | FileAction::Restored, _) => self.edits.remove_before(&file.path, file.place),
                (FileAction::Renamed, Some((from, to))) => self.edits.rename_before(from, to, file.place),
                _ => {}
            }
            let is_known = self.uses.contains_key(&file.path);
            let path = file.path.clone();
            self.merge(file);
            if is_known && !self.uses.contains_key(&path) {
                self.edits.remove(&path);
            }
        }
    }
}

/// A text without a folder in front of the paths in it. Where the folder is a part of a longer path, it stays: a search
/// for what is left finds the text.
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
