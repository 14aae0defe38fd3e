//! What came of the inputs of a run together.

use crate::wording::counted;

use crate::events::{Conversation, Idle, Saving, Status};

/// Conversations that are told of by themselves.
const MOST: usize = 10;

/// What came of the inputs of a run.
#[derive(Debug, Default, Clone, PartialEq)]
pub(crate) struct Totals {
    /// Files in which something was compacted.
    pub(crate) compacted: u64,
    /// Summaries that were written.
    pub(crate) summaries: u64,
    /// Files that are as they were.
    pub(crate) unchanged: u64,
    /// Files without a result.
    pub(crate) failed: u64,
    /// Files that an earlier run has finished.
    pub(crate) finished: u64,
    /// Files that are as they were since their summarizer failed.
    pub(crate) passed_through: u64,
    /// What was found and is no transcript.
    pub(crate) left_out: u64,
    /// Tokens that are no longer there.
    pub(crate) saved: u64,
    /// Requests that were sent.
    pub(crate) requests: u64,
    /// Answers from the cache.
    pub(crate) cached: u64,
    /// US dollars, as far as they are known.
    pub(crate) cost: f64,
    /// The conversations that lose most, where that is to be told.
    pub(crate) largest: Largest,
    /// Conversations that stayed as they were, and why.
    pub(crate) idle: Idle,
}

impl Totals {
    /// Adds what conversations took and saved.
    pub(crate) fn add(&mut self, conversations: &[Conversation]) {
        for conversation in conversations {
            self.summaries += u64::from(conversation.summary_tokens.is_some());
            self.requests += conversation.requests;
            self.cached += conversation.cached;
            self.cost += conversation.usage.and_then(|usage| usage.cost_usd).unwrap_or(0.0);
            if conversation.status == Status::Compacted {
                self.saved += conversation.saved;
            }
            if let Some(saving) = conversation.saving.as_ref().filter(|_| conversation.status != Status::Failed) {
                self.largest.add(saving);
            }
        }
    }

    /// Adds what another has.
    pub(crate) fn join(&mut self, other: &Totals) {
        self.summaries += other.summaries;
        self.saved += other.saved;
        self.requests += other.requests;
        self.cached += other.cached;
        self.cost += other.cost;
        self.largest.join(&other.largest);
        self.idle.join(&other.idle);
    }

    /// What was saved and what it cost.
    pub(crate) fn gain(&self) -> String {
        let mut gain = format!("{} tokens saved", self.saved);
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

    /// All of it in a sentence.
    pub(crate) fn sentence(&self) -> String {
        let counts = [
            (self.compacted, "compacted"),
            (self.unchanged, "unchanged"),
            (self.passed_through, "unchanged, since their summarizer failed"),
            (self.finished, "finished by an earlier run"),
            (self.failed, "failed"),
            (self.left_out, "left out (no transcripts, links or copies)"),
        ];
        let told: Vec<String> =
            counts.iter().filter(|(count, _)| *count > 0).map(|(count, what)| format!("{count} {what}")).collect();
        let files = self.compacted + self.unchanged + self.passed_through + self.finished + self.failed;
        let files = counted(files, "file");
        let told = if told.is_empty() { String::new() } else { format!(": {}", told.join(", ")) };
        let why = if self.compacted == 0 { self.idle.sentence() } else { None };
        let why = why.map(|why| format!("; {why}")).unwrap_or_default();
        format!("{files}{told}; {}{why}", self.gain())
    }
}

/// The conversations of a batch that lose most, the most first.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Largest {
    /// Of these, a few.
    pub(crate) rows: Vec<Saving>,
    /// How many there are.
    pub(crate) conversations: u64,
    /// How many lose anything.
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

    /// Adds the conversations of another batch.
    pub(crate) fn join(&mut self, other: &Largest) {
        self.conversations += other.conversations;
        self.smaller += other.smaller;
        self.saved += other.saved;
        other.rows.iter().for_each(|row| self.put(row));
    }

    fn put(&mut self, saving: &Saving) {
        // Which comes first among equals must not depend on which was done first.
        let before = |row: &Saving| (saving.saved, &row.source) < (row.saved, &saving.source);
        let place = self.rows.partition_point(before);
        self.rows.insert(place, saving.clone());
        self.rows.truncate(MOST);
    }
}
