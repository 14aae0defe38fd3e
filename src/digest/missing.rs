//! What a model's summary lacks of what code surely knows: the user's last message and short standing ones, failures, and
//! changed files. Nothing of what the assistant said, and nothing where nothing lacks.

use std::collections::HashSet;

use crate::digest::clip::indented;
use crate::digest::files::FileAction;
use crate::digest::outcome::Ended;
use crate::digest::runs::{ARROW, RunClass};
use crate::digest::{Digest, MISSING, THE_USER};
use crate::tokens::Counter;

/// The part of a statement's words with which a summary has it. A model writes in words of its own.
const ENOUGH: f64 = 0.75;
/// Bytes of the result of a failed call, and failures and files that are named at most.
const RESULT: usize = 200;
const MOST_FAILURES: usize = 8;
const MOST_FILES: usize = 40;
/// Words of a message that says more than "go on".
const LEAST_WORDS: usize = 3;

impl Digest<'_> {
    /// Writes what a summary lacks, as a section of at most `limit` tokens; nothing where it lacks nothing.
    pub(crate) fn missing_from(&self, summary: &str, counter: Counter, limit: u64) -> String {
        let known = Known::new(summary);
        let mut lines: Vec<String> = Vec::new();
        let last = self.user.len().checked_sub(1);
        for (at, message) in self.user.iter().enumerate().rev() {
            if Some(at) != last && !message.is_short_command() {
                continue;
            }
            let words = message.words();
            if words_of(&words).count() >= LEAST_WORDS && !known.has(&words) {
                lines.push(format!("{} {THE_USER}{}", message.place, indented(&words)));
            }
        }
        let failed =
            self.runs.iter().rev().filter(|run| matches!(run.ended, Ended::Failed(_)) && run.class <= RunClass::Checks);
        for run in failed.take(MOST_FAILURES) {
            let label = run.label(None);
            if !known.has(&label) {
                lines.push(format!(
                    "{} {label}{ARROW}{}",
                    run.place,
                    crate::wording::one_line(&run.outcome(&label, RESULT))
                ));
            }
        }
        for edit in self.files.failed().filter(|edit| !known.names(&edit.path)).take(MOST_FAILURES) {
            lines.push(format!("{} Failed edit of {}: {}", edit.place, edit.path, edit.line));
        }
        let unnamed: Vec<_> = self
            .files
            .newest_first()
            .into_iter()
            .filter(|file| file.action != FileAction::Read && !known.names(&file.path))
            .collect();
        for action in FileAction::ALL {
            let paths: Vec<String> = unnamed
                .iter()
                .take(MOST_FILES)
                .filter(|file| file.action == action)
                .map(|file| format!("{} {}", file.path, file.place))
                .collect();
            if !paths.is_empty() {
                lines.push(format!("{}: {}", action.word(), paths.join(", ")));
            }
        }
        let mut out = MISSING.to_owned();
        for line in lines {
            let longer = format!("{out}\n- {line}");
            if counter.count_text(&longer) <= limit {
                out = longer;
            }
        }
        if out == MISSING { String::new() } else { out }
    }
}

/// The words of a summary.
struct Known {
    text: String,
    words: HashSet<String>,
}

impl Known {
    fn new(summary: &str) -> Self {
        Known { text: summary.to_lowercase(), words: words_of(summary).collect() }
    }

    /// Whether the summary has a statement, in these words or most of them.
    fn has(&self, statement: &str) -> bool {
        let words: HashSet<String> = words_of(statement).collect();
        let known = words.iter().filter(|word| self.words.contains(*word)).count();
        known as f64 >= ENOUGH * words.len() as f64
    }

    fn names(&self, path: &str) -> bool {
        let path = path.to_lowercase();
        let name = path.rsplit('/').next().unwrap_or(&path);
        path.split(" → ").any(|path| self.text.contains(path)) || self.text.contains(name)
    }
}

/// Returns the words of a text; of a script without blanks every pair of characters.
fn words_of(text: &str) -> impl Iterator<Item = String> {
    let is_ideograph = |c: char| matches!(c, '\u{3040}'..='\u{9fff}' | '\u{ac00}'..='\u{d7af}');
    let lower = text.to_lowercase();
    let words: Vec<String> = lower
        .split(|c: char| !c.is_alphanumeric())
        .filter(|word| !word.is_empty())
        .flat_map(|word| {
            let chars: Vec<char> = word.chars().collect();
            if chars.iter().any(|c| is_ideograph(*c)) && chars.len() > 2 {
                chars.windows(2).map(|pair| pair.iter().collect()).collect()
            } else {
                vec![word.to_owned()]
            }
        })
        .collect();
    words.into_iter()
}
