//! What a compaction of a conversation is worth: estimated before there is a summary, and by what it took afterwards.

use crate::llm::Summarizer;
use crate::plan::economy::{Economy, Prices};
use crate::plan::{Plan, total};
use crate::settings::Settings;
use crate::summary::exchange::Bill;
use crate::tokens::Tally;
use crate::tokens::models::PRICES_OF;
use crate::transcript::Transcript;

/// What it would be worth, if anything would be summarized. The summary is taken to be as large as `--summary-tokens`
/// asks for, but no larger than what it replaces; and to be asked for once, in a prompt with all of the history.
pub(super) fn estimated(
    settings: &Settings,
    transcript: &Transcript<'_>,
    plan: &Plan,
    tally: &Tally<'_, '_>,
) -> Option<Economy> {
    if plan.cutoff == 0 {
        return None;
    }
    let replaced = tally.sum(&plan.superseded());
    let summary = settings.writer.asked_tokens.min(replaced);
    let prompt = || {
        let history = tally.sum(&plan.summarized()).min(settings.trim_tokens.unwrap_or(u64::MAX));
        let around = settings.template.fill("").unwrap_or_default();
        let system = settings.recipe.system.unwrap_or_default();
        let around = settings.writer.counter.count_text(&around) + settings.writer.counter.count_text(system);
        history.saturating_add(around)
    };
    let cost = match *settings.summarizer {
        Summarizer::Extractive => Some(0.0),
        Summarizer::Command(..) => None,
        Summarizer::Endpoint(..) => {
            prices(settings).writer.and_then(|_| prices(settings).of_summary(prompt(), summary))
        }
    };
    let before = total(transcript, tally, &settings.policy);
    Some(of(settings, before, before.saturating_sub(replaced).saturating_add(summary), cost))
}

/// What it was worth: of `before` tokens `after` are left, whatever made them fewer, and the summary was billed.
pub(super) fn actual(settings: &Settings, before: u64, after: u64, bill: &Bill) -> Economy {
    let asked = bill.requests > 0;
    let cost = match *settings.summarizer {
        // What a command does is not known, nor what it costs.
        Summarizer::Command(..) if asked => None,
        Summarizer::Endpoint(..) if asked => bill.usage.and_then(|usage| settings.writer.billed(usage).cost_usd),
        _ => Some(0.0),
    };
    of(settings, before, after, cost)
}

fn of(settings: &Settings, before: u64, after: u64, cost: Option<f64>) -> Economy {
    let prices = prices(settings);
    let economy = Economy::new(before, after, cost, prices);
    let uses = prices.reader.is_some() || prices.writer.is_some() && cost.is_some_and(|cost| cost > 0.0);
    if uses { economy.with_prices_of(PRICES_OF) } else { economy }
}

fn prices(settings: &Settings) -> Prices {
    let reader = settings.reader.as_ref().map(Prices::of_reader).unwrap_or_default();
    Prices { writer: settings.writer.prices, ..reader }
}
