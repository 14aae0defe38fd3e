//! The files changed since the last run of a command. Nobody else says what is not tested yet.

use crate::summary::record::command_steps::{is_read_only, may_check};
use crate::summary::record::phrases::CHANGED_SINCE;
use crate::summary::record::{FactKind, RecordEntry};

/// The changes since the last run of a command.
#[derive(Default)]
pub(super) struct UncheckedChanges {
    /// The last command that may have shown whether the work is good.
    last_run: Option<String>,
    /// The files changed since, each with its folder only.
    files: Vec<String>,
    /// The index of the last change.
    last_change: usize,
}

impl UncheckedChanges {
    /// Notes that steps of a command ran.
    pub(super) fn record_run(&mut self, steps: &[String]) {
        if let Some(run) = steps.iter().rfind(|step| may_check(step) && !is_read_only(step)) {
            self.last_run = Some(run.clone());
            self.files.clear();
        }
    }

    /// Notes a change in the message at `index`.
    pub(super) fn record_change(&mut self, path: &str, index: usize) {
        self.last_change = index;
        let file = with_folder(path.trim());
        if !self.files.iter().any(|known| known == file) {
            self.files.push(file.to_owned());
        }
    }

    /// Notes that a file is gone.
    pub(super) fn forget(&mut self, path: &str) {
        self.files.retain(|known| known != with_folder(path.trim()));
    }

    /// Notes that all changes were undone or set aside.
    pub(super) fn forget_all(&mut self) {
        self.files.clear();
    }

    /// Restores the entry of an earlier summary.
    pub(super) fn restore(&mut self, entry: &RecordEntry) {
        self.last_run = entry.about.strip_prefix(CHANGED_SINCE).map(|run| run.trim_end_matches('`').to_owned());
        let files = entry.text.rsplit_once(" and ").map_or(entry.text.as_str(), |(files, _)| files);
        self.files = files.split(", ").map(str::to_owned).collect();
        self.last_change = entry.index;
    }

    /// Returns the entry; `None` if nothing ran, or nothing changed since.
    pub(super) fn into_entry(self) -> Option<RecordEntry> {
        /// Most files that are named.
        const MOST: usize = 5;
        let run = self.last_run.filter(|_| !self.files.is_empty())?;
        let mut text = self.files[..self.files.len().min(MOST)].join(", ");
        if let Some(more) = self.files.len().checked_sub(MOST).filter(|more| *more > 0) {
            text.push_str(&format!(" and {more} more"));
        }
        Some(RecordEntry::new(FactKind::Open, self.last_change, format!("{CHANGED_SINCE}{run}`"), text))
    }
}

/// Returns a file with its folder, without the folders above.
fn with_folder(path: &str) -> &str {
    path.rmatch_indices('/').nth(1).map_or(path, |(at, _)| &path[at + 1..])
}
