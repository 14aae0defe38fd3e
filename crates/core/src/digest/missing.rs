//! What a model's summary lacks of what code surely knows: the user's last message and short standing ones, failures,
//! background tasks that ended, and changed files. Nothing of what the assistant said, and nothing where nothing lacks.

use std::collections::HashSet;

use crate::digest::Digest;
use crate::digest::cues::has_cue;
use crate::digest::focus::words_of;
use crate::digest::grammar::{FOLDER, MISSING, THE_USER};
use crate::digest::item::{Body, Item};
use crate::digest::kinds::Kind;
use crate::digest::pieces::indented;
use crate::digest::tasks::Task;
use crate::tokens::Counter;

impl Digest<'_> {
    /// Writes what a summary lacks, as a section of at most `limit` tokens; nothing where it lacks nothing.
    pub fn missing_from(&self, summary: &str, counter: Counter, limit: u64) -> String {
        let known = Known::new(summary);
        let mut candidates = self.candidates(&known);
        // What yields last comes first: the user's words, then failures, tasks and files; of each the newest.
        candidates.reverse();
        candidates.sort_by_key(|candidate| (candidate.part, !candidate.is_last));
        let mut used = counter.count_text(&format!("{MISSING}\n"));
        let mut taken: Vec<&Candidate> = Vec::new();
        for candidate in &candidates {
            let tokens = counter.count_text(&format!("{}\n", candidate.line));
            if used + tokens <= limit {
                used += tokens;
                taken.push(candidate);
            }
        }
        // There, the older come first.
        taken.sort_by_key(|candidate| (candidate.part, candidate.at));
        if taken.is_empty() {
            return String::new();
        }
        let mut out = MISSING.to_owned();
        for candidate in taken {
            out.push('\n');
            out.push_str(&candidate.line);
        }
        if counter.count_text(&out) <= limit { out } else { String::new() }
    }

    /// The lines that the summary lacks, in the order of the history.
    fn candidates(&self, known: &Known<'_>) -> Vec<Candidate> {
        /// Failures, tasks and files that are named at most.
        const MOST: [usize; 4] = [usize::MAX, 8, 8, 40];
        let mut found: Vec<Candidate> = Vec::new();
        let mut left = MOST;
        for (at, item) in self.items.iter().enumerate().rev() {
            let Some((part, line)) = self.missing_line(item, known) else { continue };
            let is_last = item.kind == Kind::LastMessage;
            let left = &mut left[part as usize];
            if *left > 0 {
                *left -= 1;
                found.push(Candidate { part, is_last, at, line });
            }
        }
        found.reverse();
        let has_files = found.iter().any(|candidate| candidate.part == MissingPart::Files);
        if has_files && let Some(folder) = &self.folder {
            let line = format!("- {FOLDER}{folder}");
            found.push(Candidate { part: MissingPart::Folder, is_last: false, at: 0, line });
        }
        found
    }

    /// The line of an item, if the summary lacks it.
    fn missing_line(&self, item: &Item<'_>, known: &Known<'_>) -> Option<(MissingPart, String)> {
        /// Bytes of a message that stands short, and of the result of a failed call.
        const SHORT: usize = 280;
        const RESULT: usize = 200;
        /// Words of a message that says more than "go on".
        const LEAST_WORDS: usize = 3;
        let folder = self.folder.as_deref();
        match &item.body {
            Body::User { .. } => {
                let is_wanted = item.kind == Kind::LastMessage || matches!(item.kind, Kind::Rule | Kind::FirstMessage);
                let words = if is_wanted { item.words() } else { String::new() };
                let is_short = words.len() <= SHORT && has_cue(&words);
                let says_much = words_of(&words.to_lowercase()).nth(LEAST_WORDS - 1).is_some();
                if !says_much || !(is_short || item.kind == Kind::LastMessage) || known.has(&words) {
                    return None;
                }
                Some((MissingPart::User, format!("- {} {THE_USER}{}", item.place, indented(&words))))
            }
            Body::Call(call) if call.ended.is_failure() => {
                if known.has(&call.label(folder)) {
                    return None;
                }
                let text = item.ranked();
                Some((MissingPart::Calls, item.lines(&text, &text.within(RESULT), folder)))
            }
            // That one runs is what a summary says by itself.
            Body::Task(task) if task.has_ended() && !known.names_task(task) => {
                Some((MissingPart::Tasks, format!("- {}", task.line())))
            }
            Body::File(file) if !known.names(&file.path) => {
                let text = item.ranked();
                Some((MissingPart::Files, item.lines(&text, &text.within(item.longest()), folder)))
            }
            _ => None,
        }
    }
}

/// A line that a summary lacks.
struct Candidate {
    part: MissingPart,
    /// Whether it is the last message of the user, which is taken first.
    is_last: bool,
    /// The place of its item in the history.
    at: usize,
    line: String,
}

/// The parts of the section, in order.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum MissingPart {
    User,
    Calls,
    Tasks,
    Files,
    Folder,
}

/// The words of a summary.
struct Known<'s> {
    summary: &'s str,
    /// The same in lower case.
    text: String,
    words: HashSet<String>,
}

impl<'s> Known<'s> {
    fn new(summary: &'s str) -> Self {
        let text = summary.to_lowercase();
        Known { summary, words: words_of(&text).collect(), text }
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

    fn names_task(&self, task: &Task) -> bool {
        task.is_named_in(self.summary)
    }
}
