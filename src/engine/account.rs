//! What a conversation took and what came of it, for the report.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::plan::economy::Economy;
use crate::report::explain::Saving;
use crate::report::html::Drawn;
use crate::report::json::{Conversation, Status};
use crate::rewrite::redaction::Redactor;
use crate::settings::Settings;
use crate::summary::exchange::Bill;
use crate::summary::ledger::Ledger;

use crate::engine::work::SummarySource;

/// What is known of a conversation's way so far.
#[derive(Debug)]
pub(super) struct Account {
    started: Instant,
    /// The plan, as a dry run prints it.
    pub(super) plan: Value,
    /// What was asked for.
    pub(super) bill: Bill,
    /// Tokens of the summary message.
    pub(super) summary_tokens: Option<u64>,
    /// What the summary says, where that is to be shown.
    pub(super) summary: Option<String>,
    /// Tokens of the whole, where they are told.
    pub(super) tokens_before: Option<u64>,
    /// Tokens of what is left.
    pub(super) tokens_after: Option<u64>,
    /// What is saved, and what it cost.
    pub(super) economy: Option<Economy>,
    /// Who wrote the summary.
    pub(super) by: Option<SummarySource>,
    /// Places where secrets were masked, where they are to be.
    pub(super) redacted: Option<BTreeMap<&'static str, u64>>,
    /// What masked them, by the same placeholders for whatever is still to be shown.
    pub(super) redactor: Option<Redactor>,
    /// The facts in what went, where they were collected of the history as it is.
    pub(super) ledger: Option<Ledger>,
    /// What went wrong.
    pub(super) error: Option<String>,
    /// Tokens that the summary has less than what it replaced.
    pub(super) saved: u64,
    /// What is told of it in a table; what it loses is `saved`.
    pub(super) saving: Option<Saving>,
    /// What a page shows of it.
    pub(super) page: Option<Box<Drawn>>,
}

impl Account {
    pub(super) fn new() -> Self {
        Account {
            started: Instant::now(),
            plan: Value::Null,
            bill: Bill::default(),
            summary_tokens: None,
            summary: None,
            tokens_before: None,
            tokens_after: None,
            economy: None,
            by: None,
            redacted: None,
            redactor: None,
            ledger: None,
            error: None,
            saved: 0,
            saving: None,
            page: None,
        }
    }

    /// Tokens that the whole conversation has less, as far as that is known by now.
    pub(super) fn lost(&self) -> u64 {
        self.tokens_before.zip(self.tokens_after).map_or(0, |(before, after)| before.saturating_sub(after))
    }

    /// The account as it is reported; `failed` says that there is no result.
    pub(super) fn closed(self, settings: &Settings, failed: bool) -> Conversation {
        let asked = self.bill.requests > 0 || self.bill.cached > 0;
        let provider = match self.by {
            Some(SummarySource::Embedded) => Some("extractive"),
            Some(SummarySource::Summarizer) => Some(settings.summarizer_name.as_str()),
            Some(SummarySource::Nobody) | None => Some(settings.summarizer_name.as_str()).filter(|_| asked),
        };
        let status = match (failed, self.by) {
            (true, _) => Status::Failed,
            (false, Some(_)) => Status::Compacted,
            (false, None) => Status::Unchanged,
        };
        Conversation {
            status,
            summary_tokens: self.summary_tokens,
            tokens_after: self.tokens_after.or(self.tokens_before).filter(|_| !failed),
            provider: provider.map(str::to_owned),
            usage: self.bill.usage.map(|usage| settings.writer.billed(usage)),
            requests: self.bill.requests,
            retries: self.bill.retries,
            cached: self.bill.cached,
            economy: self.economy.filter(|_| !failed),
            redacted: self.redacted,
            elapsed_ms: whole_milliseconds(self.started.elapsed()),
            error: self.error,
            saved: self.saved,
            saving: self.saving.map(|saving| Saving { saved: self.saved, ..saving }),
            page: self.page,
            plan: self.plan,
        }
    }
}

fn whole_milliseconds(elapsed: Duration) -> u64 {
    u64::try_from(elapsed.as_millis()).unwrap_or(u64::MAX)
}
