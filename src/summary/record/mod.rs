//! The record of a history: the facts that whoever continues from here must know, found without a model.
//!
//! The record holds the user's words and the state of the work, and is no log: each message of the user, the last plan,
//! files and commands with their last outcome, open questions, the model's last report, decisions and values. `KINDS`
//! has one row per kind. A [`RecordEntry`] is a whole statement with the index of its message. Of statements about the
//! same thing, the last is kept. A record becomes a summary of its own ([`summarize`]) or lines beside a model's
//! summary ([`HistoryRecord::write_ledger`]). Both can be parsed and carried over as data. The code does not understand
//! meaning.
//!
//! Other modules use only [`collect`], [`summarize`], [`HistoryRecord::missing_from`], [`HistoryRecord::write_ledger`],
//! [`without_ledger`] and [`demote_ledger_heading`].

mod call_values;
mod change;
mod command_steps;
mod cues;
mod earlier_summary;
mod failed_calls;
mod failures;
mod fallback;
mod file_actions;
mod gather;
mod history_turns;
mod json_fields;
mod ledger;
mod literal;
mod literals;
mod model;
mod name_sources;
mod names;
mod notes;
mod numbers;
mod outcome;
mod phrases;
mod plan;
mod replies;
mod root_folder;
mod script_writes;
mod segmentation;
mod selection;
mod sentence;
mod small_talk;
mod statement_index;
mod summary;
mod tool_kind;
mod touched_files;
mod unchecked;
mod user;
mod work_state;
mod wrappers;

use std::collections::HashSet;

use crate::tokens::Counter;
use crate::transcript::Message;

use json_fields::JsonField;
use literals::literals;

pub(crate) use ledger::{demote_ledger_heading, without_ledger};
pub(super) use segmentation::words_of;
#[cfg(any(test, feature = "laws"))]
pub(crate) use summary::summarize;
pub(crate) use summary::summarize_within;

/// The kind of an entry.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum FactKind {
    /// The user's words.
    User,
    /// An item of the plan that is not done.
    Todo,
    /// A question or a call that is not answered.
    Open,
    /// A next step that the model announced.
    Next,
    /// The model's last report.
    Report,
    /// A decision or a rejected option, with the reason.
    Decision,
    /// A failed command, or an error and whether it is fixed.
    Error,
    /// A command and its outcome.
    Command,
    /// A file and what was done to it.
    File,
    /// An item of the plan that is done.
    Done,
    /// A finding of the model or a tool.
    Finding,
    /// A value from a call.
    Value,
}

/// The sections of a summary, in order.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
enum SummarySection {
    Intent,
    Summary,
    Artifacts,
    NextSteps,
}

/// A kind with its name in a ledger, its section in a summary and its weight; larger weights matter more.
struct KindRow {
    kind: FactKind,
    name: &'static str,
    section: SummarySection,
    weight: f64,
}

const fn row(kind: FactKind, name: &'static str, section: SummarySection, weight: f64) -> KindRow {
    KindRow { kind, name, section, weight }
}

/// The kinds in the order of a ledger.
const KINDS: [KindRow; 12] = [
    row(FactKind::User, "User", SummarySection::Intent, 12.0),
    row(FactKind::Todo, "To do", SummarySection::NextSteps, 11.0),
    row(FactKind::Open, "Open", SummarySection::NextSteps, 11.0),
    row(FactKind::Next, "Next", SummarySection::NextSteps, 9.0),
    row(FactKind::Report, "Last report", SummarySection::Summary, 8.0),
    row(FactKind::Decision, "Decisions", SummarySection::Summary, 5.0),
    row(FactKind::Error, "Errors", SummarySection::Summary, 5.0),
    row(FactKind::Command, "Commands", SummarySection::Summary, 4.0),
    row(FactKind::File, "Files", SummarySection::Artifacts, 5.0),
    row(FactKind::Done, "Done", SummarySection::Summary, 2.0),
    row(FactKind::Finding, "Findings", SummarySection::Summary, 2.5),
    row(FactKind::Value, "Values", SummarySection::Artifacts, 2.0),
];

impl FactKind {
    fn row(self) -> &'static KindRow {
        KINDS.iter().find(|row| row.kind == self).unwrap_or(&KINDS[KINDS.len() - 1])
    }

    /// Returns the heading of the kind in a ledger.
    pub(crate) fn name(self) -> &'static str {
        self.row().name
    }
}

/// A statement of a record.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct RecordEntry {
    /// The kind of the statement.
    pub(crate) kind: FactKind,
    /// The subject: the question that the user answered, the command, the action on a file, or the call that a value is
    /// from. Empty if the text names it.
    pub(crate) about: String,
    /// The statement, on one line.
    pub(crate) text: String,
    /// The index of its message in the source, or in the source of the summary that carried it over.
    pub(crate) index: usize,
    /// Whether it is from an earlier summary.
    pub(crate) earlier: bool,
    /// The importance; larger is more.
    pub(crate) weight: f64,
}

impl RecordEntry {
    fn new(kind: FactKind, index: usize, about: String, text: String) -> Self {
        RecordEntry {
            kind,
            about: one_line(about),
            text: one_line(text),
            index,
            earlier: false,
            weight: kind.row().weight,
        }
    }
}

/// A value as found: a field of a JSON document, or a name.
#[derive(Debug, Clone)]
struct FoundValue {
    entry: RecordEntry,
    /// The field, if it is one of a JSON document.
    field: Option<Box<JsonField>>,
    /// Whether it is written only if there is room left.
    is_spare: bool,
}

impl FoundValue {
    fn new(entry: RecordEntry) -> Self {
        FoundValue { entry, field: None, is_spare: false }
    }
}

/// The entries of a history.
#[derive(Debug, Clone, Default)]
pub(crate) struct HistoryRecord {
    /// The entries.
    pub(crate) entries: Vec<RecordEntry>,
}

/// Collects the record of `messages`, whose indices in the source are `indices`. `prefix` is the opening of an earlier
/// summary, whose contents are carried over.
pub(crate) fn collect(messages: &[&Message<'_>], indices: &[usize], prefix: &str) -> HistoryRecord {
    let turns = history_turns::read(messages, indices, prefix);
    gather::gather(&turns).into_record()
}

impl HistoryRecord {
    /// Returns the entries that a summary lacks, the most important first.
    pub(crate) fn missing_from(&self, summary: &str) -> Vec<&RecordEntry> {
        let contents = SummaryContents::new(summary);
        let mut missing_from: Vec<&RecordEntry> =
            self.entries.iter().filter(|entry| !contents.contains_entry(entry)).collect();
        missing_from.sort_by(|a, b| b.weight.total_cmp(&a.weight).then(b.index.cmp(&a.index)));
        missing_from
    }

    /// Writes entries as a section for the end of any summary: the most important that fit in `limit` tokens; empty if
    /// none does.
    pub(crate) fn write_ledger(entries: &[&RecordEntry], counter: Counter, limit: u64) -> String {
        ledger::write(entries, counter, limit)
    }

    /// Parses the ledger of an earlier summary; empty if it has none.
    #[cfg(any(test, feature = "laws"))]
    pub(crate) fn parse_ledger(summary: &str) -> Vec<RecordEntry> {
        ledger::parse(summary)
    }
}

/// The contents of a summary, to check which entries it has.
struct SummaryContents {
    text: String,
    lines: Vec<HashSet<String>>,
    words: HashSet<String>,
}

impl SummaryContents {
    fn new(summary: &str) -> Self {
        let text = summary.to_lowercase();
        let lines: Vec<HashSet<String>> = text.lines().map(|line| words_of(line).collect()).collect();
        let words = lines.iter().flatten().cloned().collect();
        SummaryContents { text, lines, words }
    }

    /// Whether the summary has an entry: its text as it is, or all its literals and most of its words on one line. Of
    /// the user's words nearly all must be there, since a paraphrase may change them.
    fn contains_entry(&self, entry: &RecordEntry) -> bool {
        // Whether a word is a literal can depend on the words around it, so the whole text is searched first.
        if self.contains_literal(&entry.text.to_lowercase()) {
            return true;
        }
        let mut literals = literals(&entry.text).into_iter();
        if !literals.all(|literal| self.contains_literal(&entry.text[literal.span].to_lowercase())) {
            return false;
        }
        if matches!(entry.kind, FactKind::Value | FactKind::File) {
            return true;
        }
        let least_share = if entry.kind == FactKind::User { 0.8 } else { 0.6 };
        let words: HashSet<String> = words_of(&entry.text.to_lowercase()).collect();
        let has_enough = |line: &HashSet<String>| {
            words.iter().filter(|word| line.contains(*word)).count() as f64 >= least_share * words.len() as f64
        };
        has_enough(&self.words) && self.lines.iter().any(has_enough)
    }

    /// Whether the summary contains a literal that is not part of a longer one.
    fn contains_literal(&self, literal: &str) -> bool {
        let is_word_char = |c: Option<char>| c.is_some_and(|c| c.is_ascii_alphanumeric());
        self.text.match_indices(literal).any(|(at, _)| {
            let starts = !is_word_char(self.text[..at].chars().next_back()) || !is_word_char(literal.chars().next());
            starts
                && (!is_word_char(self.text[at + literal.len()..].chars().next())
                    || !is_word_char(literal.chars().next_back()))
        })
    }
}

/// Returns a text on one line. A text that needs no change is not copied.
fn one_line(text: String) -> String {
    if text.bytes().any(|byte| matches!(byte, b'\n' | b'\r' | b'\t')) || text.contains("  ") {
        crate::wording::one_line(&text)
    } else if text.trim().len() == text.len() {
        text
    } else {
        text.trim().to_owned()
    }
}

#[cfg(test)]
mod tests;
