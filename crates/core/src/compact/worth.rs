//! What the compaction of a conversation is worth: estimated before it, and computed after it.

use crate::compact::fit::Fitted;
use crate::compact::policy::{CompactionPolicy, SummarizerKind};
use crate::plan::Plan;
use crate::plan::economy::{Economy, Prices};
use crate::summary::exchange::Bill;
use crate::tokens::Tally;
use crate::tokens::models::PRICES_OF;

/// Estimates what a plan is worth; nothing for a plan without a change. The estimate assumes a summary as large as
/// `--summary-tokens`, but no larger than the messages that it replaces, and one request with the whole history.
pub fn estimated_economy(fitted: &Fitted<'_>) -> Option<Economy> {
    let Fitted { plan, pruned, decided, .. } = fitted;
    let (tally, policy) = (&decided.tally, decided.policy);
    let before = fitted.tokens();
    let pruned: u64 = pruned.savings(plan.cutoff).iter().map(|one| one.tokens).sum();
    let shortened = pruned + fitted.thinking_tokens();
    if plan.cutoff == 0 {
        let after = before.saturating_sub(shortened);
        return if fitted.is_change() { Some(of(policy, before, after, Some(0.0))) } else { None };
    }
    let summary_policy = &policy.summary;
    let model = &summary_policy.model;
    let replaced = tally.sum(&plan.superseded());
    let most = fitted.fit.map_or(u64::MAX, |fit| fit.room).min(replaced);
    let asked = match summary_policy.summarizer {
        SummarizerKind::Embedded => summary_policy.embedded_tokens(replaced, 0, fitted.fit.map(|fit| fit.limit)),
        _ => model.asked_tokens,
    };
    let summary = asked.min(most);
    let cost = match summary_policy.summarizer {
        SummarizerKind::Embedded | SummarizerKind::Off => Some(0.0),
        SummarizerKind::Command => None,
        SummarizerKind::Model if model.prices.is_none() => None,
        SummarizerKind::Model => prices(policy).of_summary(prompt_tokens(policy, tally, plan), summary),
    };
    let after = before.saturating_sub(replaced + shortened).saturating_add(summary);
    Some(of(policy, before, after, cost))
}

/// The tokens of a prompt with the whole history.
fn prompt_tokens(policy: &CompactionPolicy, tally: &Tally<'_, '_>, plan: &Plan) -> u64 {
    let summary = &policy.summary;
    let history = tally.sum(&plan.summarized()).min(summary.trim_tokens.unwrap_or(u64::MAX));
    let around = summary.template.fill("").unwrap_or_default();
    let system = summary.recipe.system.unwrap_or_default();
    history.saturating_add(summary.model.counter.count_text(&around) + summary.model.counter.count_text(system))
}

/// What a compaction from `before` to `after` tokens was worth, with the bill for its summary.
pub(super) fn actual_economy(policy: &CompactionPolicy, before: u64, after: u64, bill: &Bill) -> Economy {
    let has_asked = bill.requests > 0;
    let cost = match policy.summary.summarizer {
        // The cost of a command is unknown.
        SummarizerKind::Command if has_asked => None,
        SummarizerKind::Model if has_asked => bill.usage.and_then(|usage| policy.summary.model.billed(usage).cost_usd),
        _ => Some(0.0),
    };
    of(policy, before, after, cost)
}

fn of(policy: &CompactionPolicy, before: u64, after: u64, cost: Option<f64>) -> Economy {
    let prices = prices(policy);
    let economy = Economy::new(before, after, cost, prices);
    let uses = prices.reader.is_some() || prices.writer.is_some() && cost.is_some_and(|cost| cost > 0.0);
    if uses { economy.with_prices_of(PRICES_OF) } else { economy }
}

fn prices(policy: &CompactionPolicy) -> Prices {
    let reader = policy.reader.as_ref().map(Prices::of_reader).unwrap_or_default();
    Prices { writer: policy.summary.model.prices, ..reader }
}
