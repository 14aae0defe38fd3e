//! The record of a history: what somebody must know who goes on from here, found without a model.
//!
//! It is the user's words and the state, not a log: each message of the user's, the plan as it last was, files and
//! commands with how they ended, what is open, the model's last report, its decisions, and values. `KINDS` has one row
//! for each kind. An [`Entry`] is a whole statement with the index of its message. Of what is about the same thing the last
//! stands. A record is written as a summary of its own ([`summarize`]), or as lines beside a model's summary
//! ([`Record::section`]); both are read again and carried on as data. It understands nothing.
//!
//! A door with a handful of functions: [`collect`], [`summarize`], [`Record::lacking`] and [`Record::section`], [`without`]
//! and [`beside_another`].

mod brought;
mod change;
mod cues;
mod earlier;
mod files;
mod gather;
mod homes;
mod last_resort;
mod literal;
mod literals;
mod model;
mod names;
mod numbers;
mod outcome;
mod phrases;
mod reading;
mod section;
mod selection;
mod statements;
mod summary;
mod user;
mod values;
mod work;
mod wrappers;

use std::collections::HashSet;

use crate::tokens::Counter;
use crate::transcript::Message;

use literals::literals;
use values::Cell;

pub(crate) use section::{beside_another, without};
pub(super) use statements::spoken;
#[cfg(any(test, feature = "laws"))]
pub(crate) use summary::summarize;
pub(crate) use summary::summarize_within;

/// What an entry is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum Kind {
    /// The user's words.
    User,
    /// An item of the plan that is not done.
    Todo,
    /// A question or a call that nobody has answered.
    Open,
    /// What the model said comes next.
    Next,
    /// The model's last words.
    Report,
    /// What was decided or rejected, and why.
    Decision,
    /// A command that failed, or an error and whether it is gone.
    Error,
    /// A command and how it ended.
    Command,
    /// A file and what was done to it.
    File,
    /// An item of the plan that is done.
    Done,
    /// What the model or a tool found.
    Finding,
    /// A value that a call brought.
    Value,
}

/// The sections of a summary, in order.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
enum Section {
    Intent,
    Summary,
    Artifacts,
    NextSteps,
}

/// A kind: its name in a ledger, its section in a summary, and how much it matters; larger is more.
struct Row {
    kind: Kind,
    name: &'static str,
    section: Section,
    weight: f64,
}

const fn row(kind: Kind, name: &'static str, section: Section, weight: f64) -> Row {
    Row { kind, name, section, weight }
}

/// The kinds in the order in which a ledger has them.
const KINDS: [Row; 12] = [
    row(Kind::User, "User", Section::Intent, 12.0),
    row(Kind::Todo, "To do", Section::NextSteps, 11.0),
    row(Kind::Open, "Open", Section::NextSteps, 11.0),
    row(Kind::Next, "Next", Section::NextSteps, 9.0),
    row(Kind::Report, "Last report", Section::Summary, 8.0),
    row(Kind::Decision, "Decisions", Section::Summary, 5.0),
    row(Kind::Error, "Errors", Section::Summary, 5.0),
    row(Kind::Command, "Commands", Section::Summary, 4.0),
    row(Kind::File, "Files", Section::Artifacts, 5.0),
    row(Kind::Done, "Done", Section::Summary, 2.0),
    row(Kind::Finding, "Findings", Section::Summary, 2.5),
    row(Kind::Value, "Values", Section::Artifacts, 2.0),
];

impl Kind {
    fn row(self) -> &'static Row {
        KINDS.iter().find(|row| row.kind == self).unwrap_or(&KINDS[KINDS.len() - 1])
    }

    /// What entries of the kind are called.
    pub(crate) fn name(self) -> &'static str {
        self.row().name
    }
}

/// A statement of a record.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Entry {
    /// What it is.
    pub(crate) kind: Kind,
    /// What it is about: the question that the user answered, the command that ended so, what was done to a file, the
    /// call that a value comes from. Empty where the text says it.
    pub(crate) about: String,
    /// The statement, on one line.
    pub(crate) text: String,
    /// The index of its message in the source, or in the source of the summary that it was carried on from.
    pub(crate) index: usize,
    /// Whether an earlier summary carried it on.
    pub(crate) earlier: bool,
    /// How much it matters; larger is more.
    pub(crate) weight: f64,
}

impl Entry {
    fn new(kind: Kind, index: usize, about: String, text: String) -> Self {
        Entry { kind, about: one_line(about), text: one_line(text), index, earlier: false, weight: kind.row().weight }
    }
}

/// A value as it is found: one of a JSON document, or a name that is told only where there is room left.
#[derive(Debug, Clone)]
struct Found {
    entry: Entry,
    /// The value that it is, where it is one of a JSON document.
    cell: Option<Box<Cell>>,
    /// Whether it is told only where there is room left.
    spare: bool,
}

impl Found {
    fn of(entry: Entry) -> Self {
        Found { entry, cell: None, spare: false }
    }
}

/// The entries of a history.
#[derive(Debug, Clone, Default)]
pub(crate) struct Record {
    /// The entries.
    pub(crate) entries: Vec<Entry>,
}

/// Collects the record of `messages`, whose indices in the source are `indices`. `prefix` is what an earlier summary
/// begins with: what it holds is carried on.
pub(crate) fn collect(messages: &[&Message<'_>], indices: &[usize], prefix: &str) -> Record {
    let turns = reading::read(messages, indices, prefix);
    gather::gather(&turns).into_record()
}

impl Record {
    /// The entries that a summary does not hold, the most important first.
    pub(crate) fn lacking(&self, summary: &str) -> Vec<&Entry> {
        let held = Held::of(summary);
        let mut lacking: Vec<&Entry> = self.entries.iter().filter(|entry| !held.holds(entry)).collect();
        lacking.sort_by(|a, b| b.weight.total_cmp(&a.weight).then(b.index.cmp(&a.index)));
        lacking
    }

    /// Writes entries as a section that can stand at the end of any summary, the most important that fit in `limit`
    /// tokens; empty where none does.
    pub(crate) fn section(entries: &[&Entry], counter: Counter, limit: u64) -> String {
        section::write(entries, counter, limit)
    }

    /// Reads the entries of a section that an earlier summary holds; none where it has no such section.
    #[cfg(any(test, feature = "laws"))]
    pub(crate) fn parse(summary: &str) -> Vec<Entry> {
        section::parse(summary)
    }
}

/// What a summary says, to ask of entries whether it holds them.
struct Held {
    text: String,
    lines: Vec<HashSet<String>>,
    words: HashSet<String>,
}

impl Held {
    fn of(summary: &str) -> Self {
        let text = summary.to_lowercase();
        let lines: Vec<HashSet<String>> = text.lines().map(|line| spoken(line).collect()).collect();
        let words = lines.iter().flatten().cloned().collect();
        Held { text, lines, words }
    }

    /// An entry is held where it stands as it is; or where all its literals are there, and one line has most of its
    /// words. Of the user's words nearly all must be there, since a model that says them otherwise says something else.
    fn holds(&self, entry: &Entry) -> bool {
        // What is a literal may be told by what stands around it, and not be one by itself.
        if self.has(&entry.text.to_lowercase()) {
            return true;
        }
        let mut literals = literals(&entry.text).into_iter();
        if !literals.all(|literal| self.has(&entry.text[literal.span].to_lowercase())) {
            return false;
        }
        if matches!(entry.kind, Kind::Value | Kind::File) {
            return true;
        }
        let most = if entry.kind == Kind::User { 0.8 } else { 0.6 };
        let words: HashSet<String> = spoken(&entry.text.to_lowercase()).collect();
        let enough = |line: &HashSet<String>| {
            words.iter().filter(|word| line.contains(*word)).count() as f64 >= most * words.len() as f64
        };
        enough(&self.words) && self.lines.iter().any(enough)
    }

    /// Whether the summary has a literal that is not part of a longer one.
    fn has(&self, literal: &str) -> bool {
        let part = |c: Option<char>| c.is_some_and(|c| c.is_ascii_alphanumeric());
        self.text.match_indices(literal).any(|(at, _)| {
            let starts = !part(self.text[..at].chars().next_back()) || !part(literal.chars().next());
            starts && (!part(self.text[at + literal.len()..].chars().next()) || !part(literal.chars().next_back()))
        })
    }
}

/// A text on one line.
fn one_line(text: String) -> String {
    if text.bytes().any(|byte| matches!(byte, b'\n' | b'\r' | b'\t')) || text.contains("  ") {
        text.split_whitespace().collect::<Vec<_>>().join(" ")
    } else if text.trim().len() == text.len() {
        text
    } else {
        text.trim().to_owned()
    }
}

#[cfg(test)]
mod tests;
