//! What was done to files, and which changes no command has checked since.

use std::collections::HashMap;

use crate::summary::record::command_steps::sets_changes_aside;
use crate::summary::record::file_actions::FileAction;
use crate::summary::record::json_fields::LONGEST_VALUE;
use crate::summary::record::segmentation::clip_to;
use crate::summary::record::unchecked::UncheckedChanges;
use crate::summary::record::{FactKind, RecordEntry};

/// The action of an edit that failed.
pub(super) const FAILED_EDIT: &str = "edit failed";

/// The files that calls read or changed.
#[derive(Default)]
pub(super) struct TouchedFiles {
    by_path: HashMap<String, FileState>,
    order: usize,
    pub(super) unchecked: UncheckedChanges,
}

/// What was done to a file.
#[derive(Default)]
struct FileState {
    /// The last action other than reading, and the index of its message.
    last_action: Option<(FileAction, usize)>,
    failed: Option<(String, usize)>,
    last_read: Option<usize>,
    read_count: u32,
    from_summary: bool,
    order: usize,
}

impl TouchedFiles {
    fn state(&mut self, path: String) -> &mut FileState {
        self.order += 1;
        let order = self.order;
        let path = clip_to(path.trim().trim_start_matches("./"), LONGEST_VALUE * 2);
        self.by_path.entry(path).or_insert_with(|| FileState { order, ..FileState::default() })
    }

    /// Records what was done to a file. `is_work` is whether that can need another run: a command also writes files that
    /// are results.
    pub(super) fn record(&mut self, path: String, used: FileAction, index: usize, is_work: bool) {
        let order = self.order + 1;
        match used {
            FileAction::Read => {
                let file = self.state(path);
                file.last_read = Some(index);
                file.read_count += 1;
            }
            used => {
                match used {
                    FileAction::Deleted | FileAction::Restored => self.unchecked.forget(&path),
                    _ if is_work => self.unchecked.record_change(&path, index),
                    _ => {}
                }
                let file = self.state(path);
                // A file that is created and then changed counts as created.
                let was_created =
                    matches!((&file.last_action, &used), (Some((FileAction::Created, _)), FileAction::Changed));
                // What was read before is overwritten.
                let is_new = used != FileAction::Created || file.last_read.is_none() || file.last_action.is_some();
                let action = if was_created { FileAction::Created } else { used };
                file.last_action = Some((if is_new { action } else { FileAction::Changed }, index));
                file.failed = None;
                file.order = order;
            }
        }
    }

    pub(super) fn record_failed_edit(&mut self, path: String, why: &str, index: usize) {
        let why = why.trim_end_matches('.').to_owned();
        self.state(path).failed = Some((why, index));
    }

    /// Whether a call read or changed a file.
    pub(super) fn is_known(&self, path: &str) -> bool {
        self.by_path.contains_key(path)
    }

    /// Removes a file that has another name now.
    pub(super) fn forget(&mut self, path: &str) {
        self.by_path.remove(path);
        self.unchecked.forget(path);
    }

    /// Whether a file was read.
    pub(super) fn was_read(&self, path: &str) -> bool {
        self.by_path.get(path).is_some_and(|file| file.last_read.is_some())
    }

    /// Records that a command sets all changes aside or throws them away.
    pub(super) fn record_version_control(&mut self, command: &str) {
        if sets_changes_aside(command) {
            self.unchecked.forget_all();
        }
    }

    /// Returns the known name of a file with its whole path: other calls name it from the working directory.
    pub(super) fn name_by_end(&self, path: &str) -> String {
        let is_same = |known: &&String| path.strip_suffix(known.as_str()).is_some_and(|rest| rest.ends_with('/'));
        self.by_path.keys().find(is_same).map_or_else(|| path.to_owned(), String::clone)
    }

    /// Returns the known name of a path that a command names from the folder it goes to: `cd /srv && cat a.py`.
    pub(super) fn name_from_folder(&self, command: &str, path: String) -> String {
        let folder = command.trim_start().strip_prefix("cd /").and_then(|rest| rest.split([' ', ';', '\n']).next());
        let from_folder = folder.map(|folder| format!("/{}/{path}", folder.trim_end_matches('/')));
        from_folder.filter(|full| !path.starts_with('/') && self.by_path.contains_key(full)).unwrap_or(path)
    }

    /// Restores an entry of an earlier summary.
    pub(super) fn restore(&mut self, entry: RecordEntry) {
        let order = self.order + 1;
        let index = entry.index;
        let (path, why) = match entry.text.split_once(" (") {
            Some((path, why)) => (path.to_owned(), Some(why.trim_end_matches(')').to_owned())),
            None => (entry.text, None),
        };
        let file = self.state(path);
        (file.from_summary, file.order) = (true, order);
        match FileAction::named(&entry.about) {
            Some(FileAction::Read) => file.last_read = Some(index),
            Some(used) => file.last_action = Some((used, index)),
            None => file.failed = Some((why.unwrap_or_default(), index)),
        }
    }

    /// Returns the entries, without the unchecked changes. `position` maps the index of a message to its place in the history, from 0 to 1.
    pub(super) fn take_entries(&mut self, position: impl Fn(usize) -> f64) -> Vec<RecordEntry> {
        let mut all = Vec::new();
        let mut files: Vec<(String, FileState)> = std::mem::take(&mut self.by_path).into_iter().collect();
        files.sort_by(|a, b| (a.1.order, &a.0).cmp(&(b.1.order, &b.0)));
        for (path, file) in files {
            let mut add = |about: &str, text: String, index: usize, weight: f64| {
                let mut entry = RecordEntry::new(FactKind::File, index, about.to_owned(), text);
                entry.weight = weight * (0.7 + 0.6 * position(index));
                entry.earlier = file.from_summary;
                all.push(entry);
            };
            if let Some((action, index)) = file.last_action {
                add(action.word(), path.clone(), index, 5.0);
            }
            match (&file.failed, file.last_read) {
                (Some((why, index)), _) => add(FAILED_EDIT, format!("{path} ({why})"), *index, 5.5),
                (None, Some(index)) if file.last_action.is_none() => {
                    add(FileAction::Read.word(), path, index, 1.5 + 0.5 * f64::from(file.read_count.max(1)).log2());
                }
                _ => {}
            }
        }
        all
    }
}
