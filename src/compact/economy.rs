//! What the compaction of a conversation is worth: estimated before it, and computed after it.

use crate::plan::economy::{Economy, Prices};
use crate::summary::exchange::Bill;
use crate::tokens::models::PRICES_OF;

use crate::compact::fit::Fitted;
use crate::compact::policy::{CompactionPolicy, SummarizerKind};

/// Estimates what a plan is worth; nothing for a plan without a change. The estimate assumes a summary as large as
/// `--summary-tokens`, but no larger than the messages that it replaces, and one request with the whole history.
pub(crate) fn estimated(fitted: &Fitted<'_>) -> Option<Economy> {
    let Fitted { plan, pruned, decided, .. } = fitted;
    let (tally, policy) = (&decided.tally, decided.policy);
    let before = fitted.tokens();
    let pruned: u64 = pruned.savings(plan.cutoff).iter().map(|one| one.tokens).sum();
    let shortened = pruned + fitted.thinking_tokens();
    if plan.cutoff == 0 {
        return fitted.is_change().then(|| of(policy, before, before.saturating_sub(shortened), Some(0.0)));
    }
    let summary_policy = &policy.summary;
    let model = &summary_policy.model;
    let replaced = tally.sum(&plan.superseded());
    let most = fitted.fit.map_or(u64::MAX, |fit| fit.room).min(replaced);
    let summary = model.asked_tokens.min(most);
    let prompt = || {
        let history = tally.sum(&plan.summarized()).min(summary_policy.trim_tokens.unwrap_or(u64::MAX));
        let around = summary_policy.template.fill("").unwrap_or_default();
        let system = summary_policy.recipe.system.unwrap_or_default();
        history.saturating_add(model.counter.count_text(&around) + model.counter.count_text(system))
    };
    let cost = match summary_policy.summarizer {
        SummarizerKind::Embedded | SummarizerKind::Off => Some(0.0),
        SummarizerKind::Command => None,
        SummarizerKind::Model => prices(policy).writer.and_then(|_| prices(policy).of_summary(prompt(), summary)),
    };
    let after = before.saturating_sub(replaced + shortened).saturating_add(summary);
    Some(of(policy, before, after, cost))
}

/// Returns what a compaction from `before` to `after` tokens was worth, with the bill for its summary.
pub(crate) fn actual(policy: &CompactionPolicy, before: u64, after: u64, bill: &Bill) -> Economy {
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
