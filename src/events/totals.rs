//! The totals of a run.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use crate::tokens::Categories;
use crate::wording::{counted, readable_source, self_recorded};

use crate::events::{ConversationOutcome, Ending, Saving, Status, UnchangedReasons};

/// The most conversations in the table of savings.
const MOST: usize = 10;

/// The totals of a run.
#[derive(Debug, Default, Clone, PartialEq)]
pub(crate) struct Totals {
    /// Files with a compacted conversation.
    pub(crate) compacted: u64,
    /// Summaries written.
    pub(crate) summaries: u64,
    /// Unchanged files.
    pub(crate) unchanged: u64,
    /// Files without a result.
    pub(crate) failed: u64,
    /// Files that an earlier run finished.
    pub(crate) finished: u64,
    /// Files unchanged because their summarizer failed.
    pub(crate) passed_through: u64,
    /// Files that are not transcripts, links and copies.
    pub(crate) left_out: u64,
    /// Tokens saved.
    pub(crate) saved: u64,
    /// Requests sent.
    pub(crate) requests: u64,
    /// Answers from the cache.
    pub(crate) cached: u64,
    /// US dollars, as far as prices are known.
    pub(crate) cost: f64,
    /// What became of the conversations, if a person is told.
    pub(crate) ending: Option<Ending>,
    /// What a person is told of the originals.
    pub(crate) rest: String,
    /// The conversations that lose most, for `--explain`.
    pub(crate) largest: Largest,
    /// The conversations that stayed unchanged, and why.
    pub(crate) unchanged_reasons: UnchangedReasons,
    /// What `count` counted.
    pub(crate) counted: Counted,
    /// What a dry run would prune where nothing is summarized.
    pub(crate) pruned_only: PrunedOnly,
    /// Files that are left out, by what they are, where that is known.
    pub(crate) other_files: OtherFiles,
}

/// Files that tcompact recognizes and does not read.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub(crate) struct OtherFiles(BTreeMap<String, FilesOfKind>);

/// The files of one kind.
#[derive(Debug, Clone, PartialEq, Eq)]
struct FilesOfKind {
    count: u64,
    /// The first by its name.
    first: String,
}

impl OtherFiles {
    /// Adds a file of a kind.
    pub(crate) fn add(&mut self, kind: &str, name: String) {
        match self.0.get_mut(kind) {
            Some(files) => {
                files.count += 1;
                if name < files.first {
                    files.first = name;
                }
            }
            None => _ = self.0.insert(kind.to_owned(), FilesOfKind { count: 1, first: name }),
        }
    }

    /// Adds the files of other totals.
    fn join(&mut self, other: &OtherFiles) {
        for (kind, files) in &other.0 {
            self.add(kind, files.first.clone());
            if let Some(all) = self.0.get_mut(kind) {
                all.count += files.count - 1;
            }
        }
    }

    /// A sentence for each kind.
    pub(crate) fn sentences(&self) -> Vec<String> {
        let mut sentences = Vec::new();
        for (kind, FilesOfKind { count, first }) in &self.0 {
            let first = readable_source(first);
            sentences.push(if *count == 1 {
                format!("{first} is left out: it {kind}")
            } else {
                format!("{} are left out, as {first}: each {kind}", counted(*count, "file"))
            });
        }
        sentences
    }
}

/// What a dry run would prune in conversations of which nothing is summarized: their cutoff is 0.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub(crate) struct PrunedOnly {
    /// The name of a single one.
    pub(crate) only: Option<String>,
    /// The number of such conversations.
    pub(crate) conversations: u64,
    /// The tokens that they would lose.
    pub(crate) tokens: u64,
    /// The bytes of what is not sent that they would lose.
    pub(crate) unsent: u64,
}

impl PrunedOnly {
    /// One conversation that would lose so many tokens, and so many bytes of what is not sent.
    pub(crate) fn one(source: &str, tokens: u64, unsent: u64) -> Self {
        PrunedOnly { only: Some(source.to_owned()), conversations: 1, tokens, unsent }
    }

    /// Adds what was found elsewhere.
    pub(crate) fn join(&mut self, other: &PrunedOnly) {
        if other.conversations > 0 {
            self.only = other.only.clone().filter(|_| self.conversations == 0);
        }
        self.conversations += other.conversations;
        self.tokens += other.tokens;
        self.unsent += other.unsent;
    }
}

/// What `count` counted.
#[derive(Debug, Default, Clone, PartialEq)]
pub(crate) struct Counted {
    /// The number of conversations.
    pub(crate) conversations: u64,
    /// Their tokens.
    pub(crate) tokens: u64,
    /// Those of them that are sent beside the messages.
    pub(crate) overhead: u64,
    /// What the session itself recorded, where only one conversation was counted: the tokens, and how many of them are
    /// those of no message.
    pub(crate) recorded: Option<(u64, u64)>,
    /// What the tokens are spent on, for `--explain`.
    pub(crate) categories: Categories,
    /// The bytes of session files, and how many of them no model is sent.
    pub(crate) session_bytes: u64,
    pub(crate) unsent_bytes: u64,
    /// The tokens and the line of each, where `--sort` decides about their order.
    pub(crate) lines: Vec<(u64, String)>,
}

impl Counted {
    /// Adds what was counted elsewhere.
    pub(crate) fn join(&mut self, other: &Counted) {
        self.recorded = match (self.conversations, other.conversations) {
            (0, _) => other.recorded,
            (_, 0) => self.recorded,
            _ => None,
        };
        self.conversations += other.conversations;
        self.tokens += other.tokens;
        self.overhead += other.overhead;
        self.session_bytes += other.session_bytes;
        self.unsent_bytes += other.unsent_bytes;
        self.categories.join(&other.categories);
        self.lines.extend_from_slice(&other.lines);
    }

    /// Says what was counted.
    pub(crate) fn sentence(&self) -> String {
        let all = format!("{} in {}", counted(self.tokens, "token"), counted(self.conversations, "conversation"));
        let beside = match self.overhead {
            0 => String::new(),
            overhead => format!(", {overhead} of the tokens beside the messages"),
        };
        let recorded = self.recorded.map(|(tokens, beside)| format!("; {}", self_recorded(tokens, beside)));
        all + &beside + &recorded.unwrap_or_default()
    }

    /// The lines, the largest conversation first; equal ones stay in their order.
    pub(crate) fn sorted_lines(&self) -> String {
        let mut lines: Vec<&(u64, String)> = self.lines.iter().collect();
        lines.sort_by_key(|(tokens, _)| Reverse(*tokens));
        lines.into_iter().map(|(_, line)| line.as_str()).collect()
    }
}

impl Totals {
    /// Adds the costs of conversations, and their savings where their results can still be written.
    pub(crate) fn add(&mut self, conversations: &[ConversationOutcome], can_be_written: bool) {
        for conversation in conversations {
            self.summaries += u64::from(conversation.summary_tokens.is_some());
            self.requests += conversation.requests;
            self.cached += conversation.cached;
            self.cost += conversation.usage.and_then(|usage| usage.cost_usd).unwrap_or(0.0);
            if can_be_written && conversation.status == Status::Compacted {
                self.saved += conversation.saved;
            }
            self.add_ending(conversation.ending.as_ref());
            if let Some(saving) = &conversation.saving
                && can_be_written
                && conversation.status != Status::Failed
            {
                self.largest.add(saving);
            }
        }
    }

    fn add_ending(&mut self, other: Option<&Ending>) {
        match (&mut self.ending, other) {
            (Some(ending), Some(other)) => ending.join(other),
            (None, Some(other)) => self.ending = Some(other.clone()),
            (_, None) => {}
        }
    }

    /// Counts an input that ended.
    pub(crate) fn count(&mut self, status: Status) {
        let files = match status {
            Status::Compacted => &mut self.compacted,
            Status::Unchanged => &mut self.unchanged,
            Status::PassedThrough => &mut self.passed_through,
            Status::Finished => &mut self.finished,
            Status::LeftOut => &mut self.left_out,
            Status::Failed => &mut self.failed,
        };
        *files += 1;
    }

    /// Adds the costs and savings of other totals. The counts of files stay.
    pub(crate) fn join(&mut self, other: &Totals) {
        self.summaries += other.summaries;
        self.saved += other.saved;
        self.requests += other.requests;
        self.cached += other.cached;
        self.cost += other.cost;
        self.add_ending(other.ending.as_ref());
        self.largest.join(&other.largest);
        self.unchanged_reasons.join(&other.unchanged_reasons);
        self.counted.join(&other.counted);
        self.pruned_only.join(&other.pruned_only);
        self.other_files.join(&other.other_files);
    }

    /// The number of files that are done.
    pub(crate) fn files(&self) -> u64 {
        self.compacted + self.unchanged + self.passed_through + self.finished + self.failed
    }

    /// The savings and costs for a sentence.
    pub(crate) fn gain(&self) -> String {
        let mut gain = format!("{} saved", counted(self.saved, "token"));
        if self.requests > 0 || self.cached > 0 {
            gain.push_str(&format!(", {}", counted(self.requests, "request")));
        }
        if self.cached > 0 {
            gain.push_str(&format!(", {} from the cache", counted(self.cached, "answer")));
        }
        if self.cost > 0.0 {
            gain.push_str(&format!(", ${:.4}", self.cost));
        }
        gain
    }

    /// Whether the run did what it was asked for. A script that reads no report learns of anything else.
    pub(crate) fn is_success(&self) -> bool {
        self.failed + self.passed_through + self.left_out == 0 && self.compacted + self.finished > 0
    }

    pub(crate) fn sentence(&self) -> String {
        let counts = [
            (self.compacted, "compacted"),
            (self.unchanged, "unchanged"),
            (self.passed_through, "unchanged, since their summarizer failed"),
            (self.finished, "finished by an earlier run"),
            (self.failed, "failed"),
            (self.left_out, "left out (no transcripts, links or copies)"),
        ];
        let counts: Vec<String> =
            counts.iter().filter(|(count, _)| *count > 0).map(|(count, what)| format!("{count} {what}")).collect();
        let files = counted(self.files(), "file");
        let counts = if counts.is_empty() { String::new() } else { format!(": {}", counts.join(", ")) };
        let why = if self.compacted == 0 { self.unchanged_reasons.sentence() } else { None };
        let why = why.map(|why| format!("; {why}")).unwrap_or_default();
        format!("{files}{counts}; {}{why}{}", self.gain(), self.rest)
    }
}

/// The conversations that lose most, the largest first.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Largest {
    /// The first rows.
    pub(crate) rows: Vec<Saving>,
    /// The number of conversations.
    pub(crate) conversations: u64,
    /// The number of those that lose anything.
    pub(crate) smaller: u64,
    /// Tokens that all of them lose.
    pub(crate) saved: u64,
}

impl Largest {
    /// Adds a conversation.
    pub(crate) fn add(&mut self, saving: &Saving) {
        self.conversations += 1;
        if saving.saved == 0 {
            return;
        }
        self.smaller += 1;
        self.saved += saving.saved;
        self.put(saving);
    }

    /// Adds the conversations of other totals.
    pub(crate) fn join(&mut self, other: &Largest) {
        self.conversations += other.conversations;
        self.smaller += other.smaller;
        self.saved += other.saved;
        other.rows.iter().for_each(|row| self.put(row));
    }

    fn put(&mut self, saving: &Saving) {
        // The order among equals must not depend on the order in which they were done.
        let before = |row: &Saving| (saving.saved, &row.source) < (row.saved, &saving.source);
        let place = self.rows.partition_point(before);
        self.rows.insert(place, saving.clone());
        self.rows.truncate(MOST);
    }
}
