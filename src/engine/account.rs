//! The report row of a conversation.

use std::time::Duration;

use serde_json::Value;

use crate::compact::{Compaction, CompactionPolicy, EXTRACTIVE, SummarySource};
use crate::events::{Conversation, Status};
use crate::report::json::DryRun;
use crate::settings::Settings;

/// Returns the report row of a compaction that took `elapsed`.
pub(super) fn report_row(
    settings: &Settings,
    policy: &CompactionPolicy,
    source: &str,
    compaction: &Compaction<'_>,
    elapsed: Duration,
) -> Conversation {
    let Compaction { account, summary, failure, .. } = compaction;
    let (bill, has_failed) = (&account.bill, failure.is_some());
    let asked = bill.requests > 0 || bill.cached > 0;
    let name = policy.summary.name.as_str();
    let by = summary.as_ref().map(|summary| summary.by);
    let provider = match by {
        Some(SummarySource::Embedded) => Some(EXTRACTIVE),
        Some(SummarySource::Summarizer) => Some(name),
        Some(SummarySource::ErrorText | SummarySource::Note) | None => Some(name).filter(|_| asked),
    };
    let status = match (has_failed, by) {
        (true, _) => Status::Failed,
        (false, Some(_)) => Status::Compacted,
        (false, None) if compaction.is_pruned() => Status::Compacted,
        (false, None) => Status::Unchanged,
    };
    let plan = match settings.output.keeps_rows() {
        true => DryRun::new(source, &compaction.fitted, policy).to_value(),
        false => Value::Null,
    };
    Conversation {
        status,
        skipped_lines: 0,
        summary_tokens: summary.as_ref().map(|summary| summary.tokens),
        tokens_after: account.tokens_after.or(account.tokens_before).filter(|_| !has_failed),
        provider: provider.map(str::to_owned),
        usage: bill.usage.map(|usage| policy.summary.model.billed(usage)),
        requests: bill.requests,
        retries: bill.retries,
        cached: bill.cached,
        economy: account.economy.filter(|_| !has_failed),
        redacted: account.redacted.clone(),
        repaired: None,
        elapsed_ms: u64::try_from(elapsed.as_millis()).unwrap_or(u64::MAX),
        error: account.error.clone(),
        saved: summary.as_ref().map_or(0, |summary| summary.saved) + compaction.pruned_tokens(),
        ending: None,
        saving: None,
        page: None,
        plan,
    }
}
