//! What a model's summary lacks of what code surely knows: the user's last message and short standing ones, failures,
//! background tasks that ended, and changed files. Nothing of what the assistant said, and nothing where nothing lacks.

use std::collections::{BTreeMap, HashSet};

use crate::digest::Digest;
use crate::digest::clip::indented;
use crate::digest::cues::words_of;
use crate::digest::grammar::{ARROW, FOLDER, MISSING, THE_USER};
use crate::digest::runs::{CallRun, outdated_check};
use crate::tokens::Counter;
use crate::transcript::tools::actions::{FileAction, Purpose};

impl Digest<'_> {
    /// Writes what a summary lacks, as a section of at most `limit` tokens; nothing where it lacks nothing.
    pub(crate) fn missing_from(&self, summary: &str, counter: Counter, limit: u64) -> String {
        /// Bytes of the result of a failed call, and failures, files and background tasks that are named at most.
        const RESULT: usize = 200;
        const MOST_FAILURES: usize = 8;
        const MOST_FILES: usize = 40;
        const MOST_TASKS: usize = 8;
        /// Words of a message that says more than "go on".
        const LEAST_WORDS: usize = 3;
        let known = Known::new(summary);
        // The most important first, each with its place in the section: there, the older come first.
        let mut lines: Vec<((MissingPart, usize), String)> = Vec::new();
        let last = self.user.len().checked_sub(1);
        for (at, message) in self.user.iter().enumerate().rev() {
            if Some(at) == last || message.is_short_command() {
                let words = message.words();
                let says_much = words_of(&words.to_lowercase()).nth(LEAST_WORDS - 1).is_some();
                if says_much && !known.has(&words) {
                    lines.push(((MissingPart::User, at), format!("{} {THE_USER}{}", message.place, indented(&words))));
                }
            }
        }
        let unnamed: Vec<_> = self.files.changes().filter(|file| !known.names(&file.path)).take(MOST_FILES).collect();
        let mut folder = self.folder.as_ref().map(|folder| format!("{FOLDER}{folder}\n- ")).unwrap_or_default();
        for (at, action) in FileAction::ALL.into_iter().enumerate() {
            let paths = unnamed.iter().filter(|file| file.action == action).map(|file| file.shown());
            let paths = paths.collect::<Vec<_>>().join(", ");
            if !paths.is_empty() {
                lines.push(((MissingPart::Files, at), format!("{}{action:?}: {paths}", std::mem::take(&mut folder))));
            }
        }
        let is_failure = |run: &&(usize, &CallRun<'_>)| run.1.ended.is_failure() && run.1.purpose <= Purpose::Scripts;
        let outdated = outdated_check(self.runs.iter(), &self.files);
        for (at, run) in self.runs.iter().enumerate().rev().filter(|run| is_failure(&run)).take(MOST_FAILURES) {
            let label = run.label(None);
            if !known.has(&label) {
                let outcome = run.outcome(&label, RESULT);
                // A later change may have mended it. Whether it did, the reader judges.
                let after = outdated.as_ref().filter(|(check, _)| *check == run.place).map_or("", |(_, after)| after);
                lines.push((
                    (MissingPart::Calls, at),
                    format!("{} {label}{ARROW}{outcome}{after}", run.place_of(&label)),
                ));
            }
        }
        // That one runs is what a summary says by itself.
        let ended = self.tasks.in_order().into_iter().filter(|task| task.has_ended() && !task.is_named_in(summary));
        for (at, task) in ended.take(MOST_TASKS).enumerate() {
            lines.push(((MissingPart::Tasks, at), task.line()));
        }
        let failed = self.files.failed.iter().enumerate().rev().filter(|(_, edit)| !known.names(&edit.path));
        for (at, edit) in failed.take(MOST_FAILURES) {
            lines.push((
                (MissingPart::Edits, at),
                format!("{} {}{}: {}", edit.place, edit.label(), edit.path, edit.text),
            ));
        }
        let mut out = MISSING.to_owned();
        let mut shown: BTreeMap<(MissingPart, usize), &str> = BTreeMap::new();
        for (place, line) in &lines {
            shown.insert(*place, line);
            let items: String = shown.values().map(|line| format!("\n- {line}")).collect();
            let longer = format!("{MISSING}{items}");
            if counter.count_text(&longer) <= limit {
                out = longer;
            } else {
                shown.remove(place);
            }
        }
        if out == MISSING { String::new() } else { out }
    }
}

/// The parts of the section, in order.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum MissingPart {
    User,
    Calls,
    Tasks,
    Edits,
    Files,
}

/// The words of a summary.
struct Known {
    text: String,
    words: HashSet<String>,
}

impl Known {
    fn new(summary: &str) -> Self {
        let text = summary.to_lowercase();
        Known { words: words_of(&text).collect(), text }
    }

    /// Whether the summary has a statement, in most of its words: a model writes in words of its own.
    fn has(&self, statement: &str) -> bool {
        const ENOUGH: f64 = 0.75;
        let words: HashSet<String> = words_of(&statement.to_lowercase()).collect();
        let known = words.iter().filter(|word| self.words.contains(*word)).count();
        known as f64 >= ENOUGH * words.len() as f64
    }

    fn names(&self, path: &str) -> bool {
        let path = path.to_lowercase();
        self.text.contains(path.rsplit('/').next().unwrap_or(&path))
    }
}
