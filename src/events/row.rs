//! What came of a conversation, as plain data, and its report row, which is made once it is known whether the result could
//! be written.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::events::{Ending, PlanRow};
use crate::plan::economy::{Billed, Economy};

/// How a conversation or an input ended. A report has one word for several of them.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Status {
    /// A summary or pruning changed its history.
    Compacted,
    /// Its history stays as it was.
    #[default]
    Unchanged,
    /// An input that stays as it was because its summarizer failed.
    #[serde(rename = "unchanged")]
    PassedThrough,
    /// It was not read: an earlier run finished it.
    #[serde(rename = "skipped")]
    Finished,
    /// It was not read: it is not a transcript, and the user did not name it.
    #[serde(rename = "skipped")]
    LeftOut,
    /// It has no result.
    Failed,
}

impl Status {
    /// Whether it was not read.
    pub(crate) fn is_skipped(self) -> bool {
        matches!(self, Status::Finished | Status::LeftOut)
    }

    pub(crate) fn sentence(self) -> &'static str {
        match self {
            Status::Compacted => "compacted",
            Status::Unchanged => "unchanged",
            Status::PassedThrough => "unchanged, since its summarizer failed",
            Status::Finished => "finished by an earlier run",
            Status::LeftOut => "left out",
            Status::Failed => "failed",
        }
    }
}

/// What came of a conversation or an input, before its result is written. It is made while the conversation is in memory.
#[derive(Debug, Clone, Default)]
pub struct ConversationOutcome {
    /// The name of the conversation.
    pub(crate) source: String,
    /// The plan, if there is one.
    pub plan: Option<PlanRow>,
    /// Why nothing was changed, or why it was skipped.
    pub reason: Option<String>,
    /// How it ended.
    pub status: Status,
    /// The number of lines that are not JSON, which are not read.
    pub(crate) skipped_lines: usize,
    /// Tokens of the summary message.
    pub(crate) summary_tokens: Option<u64>,
    /// Tokens of the result, counted as `tokens` are.
    pub(crate) tokens_after: Option<u64>,
    /// The summarizer that wrote the summary, or that failed to.
    pub(crate) provider: Option<String>,
    /// The tokens that the provider counted, and their cost.
    pub(crate) usage: Option<Billed>,
    /// The number of requests.
    pub(crate) requests: u64,
    /// The number of requests that repeated one that failed.
    pub(crate) retries: u64,
    /// The number of answers from the cache.
    pub(crate) cached: u64,
    /// The savings and costs; only if a summary replaced the history.
    pub(crate) economy: Option<Economy>,
    /// The number of masked secrets, by their kind; only with `--redact`.
    pub(crate) redacted: Option<BTreeMap<&'static str, u64>>,
    /// What `--repair` found before all else; only where it found something.
    pub(crate) repaired: Option<RepairedBy>,
    /// What the `RemoveMessage` entries of the list did before all else; only where it has some.
    pub(crate) updated: Option<UpdatedBy>,
    /// Milliseconds from reading the conversation to the end.
    pub(crate) elapsed_ms: u64,
    /// The error.
    pub error: Option<String>,
    /// Tokens saved.
    pub(crate) saved: u64,
    /// What became of it, if a person is told.
    pub(crate) ending: Option<Ending>,
    /// The row in the table of savings.
    pub(crate) saving: Option<Saving>,
    /// The drawing for the page.
    pub(crate) page: Option<Arc<Drawn>>,
}

impl ConversationOutcome {
    /// That of an input, or of a conversation without a plan, and why it has the status.
    pub(crate) fn without_plan(source: &str, status: Status, why: Option<String>) -> Self {
        let (reason, error) = if status == Status::Failed { (None, why) } else { (why, None) };
        ConversationOutcome { source: source.to_owned(), status, reason, error, ..ConversationOutcome::default() }
    }

    /// The tokens before and after; none without a result, and where one of them is not known.
    fn sizes(&self) -> Option<(u64, u64)> {
        let after = self.tokens_after.filter(|_| self.status != Status::Failed);
        self.plan.as_ref().map(|plan| plan.tokens).zip(after)
    }

    /// In tokens; 0 where the sizes are not known.
    pub(crate) fn lost(&self) -> u64 {
        lost(self.sizes())
    }

    /// What the journal keeps, for a later run.
    pub(crate) fn finished(&self) -> FinishedRow {
        FinishedRow {
            source: self.source.clone(),
            plan: self.plan.clone(),
            reason: self.reason.clone(),
            summary_tokens: self.summary_tokens,
            tokens_after: self.tokens_after,
            provider: self.provider.clone(),
        }
    }
}

/// The report row of a conversation or an input: what came of it, and of writing its result.
#[derive(Debug, Clone)]
pub(crate) struct ReportRow {
    pub(crate) outcome: ConversationOutcome,
    /// Why its result was not written.
    unwritten: Option<String>,
}

impl ReportRow {
    /// The row of an outcome whose result is written, or that has none to write.
    pub(crate) fn written(outcome: ConversationOutcome) -> Self {
        ReportRow { outcome, unwritten: None }
    }

    /// The row of an outcome whose result could not be written. One that failed keeps its own error.
    pub(crate) fn unwritten(outcome: ConversationOutcome, why: &str) -> Self {
        let has_result = outcome.status != Status::Failed;
        let unwritten = has_result.then(|| format!("nothing was written: {why}"));
        ReportRow { outcome, unwritten }
    }

    /// The status at the end.
    pub(crate) fn status(&self) -> Status {
        if self.unwritten.is_some() { Status::Failed } else { self.outcome.status }
    }

    pub(crate) fn error(&self) -> Option<&str> {
        self.unwritten.as_deref().or(self.outcome.error.as_deref())
    }

    /// The savings and costs; nothing is saved where nothing was written.
    pub(crate) fn economy(&self) -> Option<Economy> {
        self.outcome.economy.filter(|_| self.unwritten.is_none())
    }

    /// The tokens before and after; none without a result, and where one of them is not known.
    pub(crate) fn sizes(&self) -> Option<(u64, u64)> {
        self.outcome.sizes().filter(|_| self.unwritten.is_none())
    }

    /// In tokens; 0 where the sizes are not known.
    pub(crate) fn lost(&self) -> u64 {
        lost(self.sizes())
    }

    /// Why it has no result of this run: the error, or why it was skipped.
    pub(crate) fn why(&self) -> Option<&str> {
        if let Some(error) = self.error() {
            return Some(error);
        }
        if self.status().is_skipped() { self.outcome.reason.as_deref() } else { None }
    }
}

fn lost(sizes: Option<(u64, u64)>) -> u64 {
    sizes.map_or(0, |(before, after)| before.saturating_sub(after))
}

/// What the journal keeps of a row, for a later run that skips the input. What the conversation cost is not among it: a
/// run that skips it pays nothing.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct FinishedRow {
    source: String,
    #[serde(flatten)]
    plan: Option<PlanRow>,
    #[serde(skip_serializing_if = "Option::is_none")]
    reason: Option<String>,
    summary_tokens: Option<u64>,
    tokens_after: Option<u64>,
    provider: Option<String>,
}

impl FinishedRow {
    /// What comes of the conversation in the run that skips it.
    pub(crate) fn skipped(self) -> ConversationOutcome {
        let FinishedRow { source, plan, summary_tokens, tokens_after, provider, .. } = self;
        let status = Status::Finished;
        let reason = Some(status.sentence().to_owned());
        ConversationOutcome {
            source,
            plan,
            status,
            reason,
            summary_tokens,
            tokens_after,
            provider,
            ..ConversationOutcome::default()
        }
    }
}

/// What `--repair` found in a conversation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub(crate) struct RepairedBy {
    /// The violations of the provider's rules in the input.
    pub(crate) violations: usize,
    /// The messages of the input; the other numbers are those of the repaired conversation.
    pub(crate) messages: usize,
}

/// What the updates in a list of messages did to it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub(crate) struct UpdatedBy {
    /// The messages that were removed.
    pub(crate) removed: usize,
    /// The messages that others with their ids replaced.
    pub(crate) replaced: usize,
}

/// The savings of a conversation: a row of a table.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Saving {
    /// Its name.
    pub(crate) source: String,
    /// Its number of messages.
    pub(crate) messages: usize,
    /// Its tokens.
    pub(crate) tokens: u64,
    /// Tokens saved, or those that would be summarized.
    pub(crate) saved: u64,
}

/// The drawing of a conversation for the page, made while the conversation is in memory.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Drawn {
    /// The number of messages of the result.
    pub(crate) messages: usize,
    /// The decision, and why.
    pub(crate) decision: String,
    /// The tokens of each category, with its name.
    pub(crate) spent: Vec<(String, u64)>,
    /// The picture, as markup.
    pub(crate) picture: String,
    /// The messages of the summary: the role, and the text. Empty if there is none.
    pub(crate) summary: Vec<(String, String)>,
    /// Whether anything of it was removed.
    pub(crate) is_cut: bool,
    /// The archive that has what was removed.
    pub(crate) archive: Option<String>,
    /// The number of files that were written beside the archive.
    pub(crate) files: usize,
}
