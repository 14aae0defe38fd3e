//! What `slim` says at its end.

use std::path::PathBuf;

use crate::diagnostic::{PROGRAM, quoted};
use crate::engine::slim::place::{ARCHIVE_END, Outcome, SessionFile};
use crate::settings::SlimSettings;
use crate::wording::{counted, in_bytes};

/// The labels that the last line names.
const NAMED: usize = 3;

/// What came of all files.
#[derive(Default)]
pub(super) struct SlimTotals {
    /// The number of sessions that were read.
    pub(super) sessions: u64,
    /// The files that became smaller, or would, each with the bytes that it saves.
    pub(super) saved: Vec<(PathBuf, u64)>,
    /// Files that are not sessions, and why.
    pub(super) others: Vec<(PathBuf, String)>,
    /// Files that are left alone, and why.
    pub(super) left: Vec<(PathBuf, String)>,
    /// What else is to be said of files.
    pub(super) notices: Vec<String>,
    /// Files that changed too lately to be read.
    pub(super) young: u64,
    before: u64,
    after: u64,
    by_label: Vec<(&'static str, u64)>,
}

impl SlimTotals {
    pub(super) fn add(&mut self, file: &SessionFile, outcome: Outcome) {
        match outcome {
            Outcome::Slimmed(saving) => {
                self.sessions += 1;
                self.before += saving.before;
                self.after += saving.after;
                self.saved.push((file.path.clone(), saving.before.saturating_sub(saving.after)));
                for (label, bytes) in saving.by_label {
                    self.add_label(label, bytes);
                }
                self.notices.extend(saving.warning);
                if saving.other_names > 0 {
                    let others = counted(saving.other_names, "other name");
                    self.notices.push(format!("{} has {others}, which lead to the old file", file.name()));
                }
            }
            Outcome::Nothing(bytes) => {
                self.sessions += 1;
                self.before += bytes;
                self.after += bytes;
            }
            Outcome::Other(why) => self.others.push((file.path.clone(), why)),
            Outcome::Left(why) => self.left.push((file.path.clone(), why)),
            Outcome::Young => self.young += 1,
            Outcome::Failed(_) => {}
        }
    }

    fn add_label(&mut self, label: &'static str, bytes: u64) {
        match self.by_label.iter_mut().find(|(other, _)| *other == label) {
            Some((_, sum)) => *sum += bytes,
            None => self.by_label.push((label, bytes)),
        }
    }

    /// The last line: files, bytes before and after, what gave most, and how to undo it.
    pub(super) fn sentence(&self, settings: &SlimSettings) -> String {
        let young = match self.young {
            0 => String::new(),
            young => format!("; {} younger than --older", counted(young, "file")),
        };
        let sessions = counted(self.sessions, "session");
        if self.saved.is_empty() {
            return format!("{sessions}: nothing more to remove{young}");
        }
        let mut largest = self.by_label.clone();
        largest.sort_by(|one, other| other.1.cmp(&one.1).then(one.0.cmp(other.0)));
        let named: Vec<String> =
            largest.iter().take(NAMED).map(|(label, bytes)| format!("{label} {}", in_bytes(*bytes))).collect();
        let verb = if settings.dry_run { "would become smaller" } else { "became smaller" };
        let files = self.saved.len();
        format!(
            "{files} of {sessions} {verb}: {} before, {} after; most by {}{young}{}",
            in_bytes(self.before),
            in_bytes(self.after),
            named.join(", "),
            self.undo(settings)
        )
    }

    /// How what was done is undone.
    fn undo(&self, settings: &SlimSettings) -> String {
        if settings.dry_run {
            return String::new();
        }
        if !settings.archives {
            return "; nothing keeps what went".to_owned();
        }
        match self.saved.as_slice() {
            [(path, _)] => {
                let path = path.display().to_string();
                let path = if path.starts_with('-') { format!("./{path}") } else { path };
                let archive = quoted(&format!("{path}{ARCHIVE_END}"));
                format!("; to undo: {PROGRAM} restore -i {archive} {}", quoted(&path))
            }
            _ => format!("; to undo, for each FILE: {PROGRAM} restore -i FILE{ARCHIVE_END} FILE"),
        }
    }
}
