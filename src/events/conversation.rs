//! What became of a conversation, as plain data: it is known where the conversation is at hand, and told in its turn.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde::Serialize;
use serde_json::{Value, json};

use crate::plan::economy::{Billed, Economy};
use crate::summary::record::Kind;

/// What became of a conversation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Status {
    /// A summary took the place of its history.
    Compacted,
    /// Its history is there as it was.
    Unchanged,
    /// There is no result.
    Failed,
    /// It was not looked at: it is finished already, or no transcript.
    Skipped,
}

/// A conversation as `--report` tells it: the keys of the dry run, and what came of it.
#[derive(Debug, Clone, Serialize)]
pub(crate) struct Conversation {
    /// The object of the dry run.
    #[serde(flatten)]
    pub(crate) plan: Value,
    /// What became of it.
    pub(crate) status: Status,
    /// Tokens of the summary message.
    pub(crate) summary_tokens: Option<u64>,
    /// Tokens of the conversation afterwards, counted as `tokens` are.
    pub(crate) tokens_after: Option<u64>,
    /// Who wrote the summary, or was asked to.
    pub(crate) provider: Option<String>,
    /// What the provider counts.
    pub(crate) usage: Option<Billed>,
    /// Requests that were sent.
    pub(crate) requests: u64,
    /// How many of them repeated one that failed.
    pub(crate) retries: u64,
    /// Answers from the cache.
    pub(crate) cached: u64,
    /// What is saved and what it cost, where a summary took the place of the history.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) economy: Option<Economy>,
    /// Places where secrets were masked, by what stood there; only with `--redact`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) redacted: Option<BTreeMap<&'static str, u64>>,
    /// What `--repair` repaired before all else; only where it did.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) repaired: Option<RepairedBy>,
    /// Milliseconds from the reading of it to the end.
    pub(crate) elapsed_ms: u64,
    /// What went wrong.
    pub(crate) error: Option<String>,
    /// Tokens that it has less now.
    #[serde(skip)]
    pub(crate) saved: u64,
    /// What it loses, where a table is to tell.
    #[serde(skip)]
    pub(crate) saving: Option<Saving>,
    /// What a page shows of it, where one is to.
    #[serde(skip)]
    pub(crate) page: Option<Arc<Drawn>>,
}

impl Conversation {
    /// Tokens before and after, where there is a result and both are known.
    pub(crate) fn sizes(&self) -> Option<(u64, u64)> {
        let after = self.tokens_after.filter(|_| self.status != Status::Failed);
        self.plan.get("tokens").and_then(Value::as_u64).zip(after)
    }

    /// How many tokens less that is.
    pub(crate) fn lost(&self) -> u64 {
        self.sizes().map_or(0, |(before, after)| before.saturating_sub(after))
    }

    /// An input that no conversation of became anything.
    pub(crate) fn without_plan(source: &str, status: Status, error: Option<String>) -> Self {
        Conversation {
            plan: json!({"source": source}),
            status,
            summary_tokens: None,
            tokens_after: None,
            provider: None,
            usage: None,
            requests: 0,
            retries: 0,
            cached: 0,
            economy: None,
            redacted: None,
            repaired: None,
            elapsed_ms: 0,
            error,
            saved: 0,
            saving: None,
            page: None,
        }
    }

    /// The same, if its file could not be written.
    #[must_use]
    pub(crate) fn not_written(self, why: &str) -> Self {
        match self.status {
            Status::Failed => self,
            _ => {
                let error = Some(format!("nothing was written: {why}"));
                Conversation { status: Status::Failed, error, economy: None, ..self }
            }
        }
    }
}

/// What `--repair` found in a conversation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub(crate) struct RepairedBy {
    /// Violations of its provider's rules, as the input has them.
    pub(crate) violations: usize,
    /// Messages of the input; the other numbers are of what was repaired.
    pub(crate) messages: usize,
}

/// What a conversation loses.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Saving {
    /// Its name.
    pub(crate) source: String,
    /// Its messages.
    pub(crate) messages: usize,
    /// Its tokens.
    pub(crate) tokens: u64,
    /// Tokens that it has less, or those that would be summarized.
    pub(crate) saved: u64,
}

/// What a page shows of a conversation beside its row. It is made while the conversation is there, and goes with its report.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Drawn {
    /// Messages afterwards.
    pub(crate) messages: usize,
    /// What was decided, and why.
    pub(crate) decision: String,
    /// What its tokens were spent on: the name of each category and its tokens.
    pub(crate) spent: Vec<(String, u64)>,
    /// The picture, as markup.
    pub(crate) picture: String,
    /// What was put in: who speaks, and what is said. Empty where nothing was.
    pub(crate) summary: Vec<(String, String)>,
    /// The facts in what went, the most important first.
    pub(crate) facts: Vec<Fact>,
    /// Where what was cut away went.
    pub(crate) archive: Option<String>,
    /// Files that were written beside an archive.
    pub(crate) files: usize,
}

/// A fact of the ledger, and whether it was kept.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Fact {
    /// What it is.
    pub(crate) kind: Kind,
    /// What it is about, and the fact itself.
    pub(crate) text: String,
    /// The index of its message, unless an earlier summary carried it on.
    pub(crate) message: Option<usize>,
    /// Where it is now.
    pub(crate) place: FactPlace,
}

/// Where a fact is now.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum FactPlace {
    /// In the words of the summary.
    Summary,
    /// Appended to the summary, which lacked it.
    Appended,
    /// Nowhere.
    Gone,
}
