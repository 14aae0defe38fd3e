//! What is said of a plan: where it cuts and why, what becomes of thinking, and the picture of the conversation.

use crate::compact::{Decided, EarlierSummary, Fitted, masked, redactor};
use crate::events::PlanRow;
use crate::plan::cutoff::Pairs;
use crate::plan::economy::Economy;
use crate::plan::{Parted, Plan};
use crate::report::explain::Picture;
use crate::report::terminal;
use crate::rewrite::thinking::Removal;
use crate::sanitize::{sanitize, sanitize_line};
use crate::transcript::view::Arena;
use crate::wording::{counted, counted_and, readable_source};

/// Describes a plan.
pub(super) fn planned(source: &str, planned: &Fitted<'_>) -> String {
    let plan = &planned.plan;
    let row = PlanRow::new(planned, &[], &[]);
    let size = format!(
        "{}: {}, {}, {} ({})",
        readable_source(source),
        row.format,
        counted(row.messages as u64, "message"),
        counted(row.tokens, "token"),
        row.counter
    );
    let by = planned.decided.recorded().map(|tokens| format!(" by the {} that it recorded", counted(tokens, "token")));
    let fired = row.fired.map(|fired| format!("; {fired} was reached{}", by.unwrap_or_default())).unwrap_or_default();
    let decision = match &plan.reason {
        Some(reason) => format!("unchanged: {reason}"),
        None if plan.cutoff == 0 => {
            let (kept, middle, keep) = (planned.kept_from, row.middle.tokens, row.keep.tokens);
            let middle = counted_and(middle, "token", ["is", "are"]);
            format!("no cut; pruned before {kept}, {middle} left there and {keep} stay")
        }
        None => {
            let moved = plan.moved_because.as_ref().map(|why| format!(" instead of {}, since {why}", plan.wanted));
            let pinned = if plan.pinned.is_empty() { String::new() } else { format!(", {} pinned", plan.pinned.len()) };
            format!(
                "cut at {}{}: {} replaced, {} kept{pinned}",
                plan.cutoff,
                moved.unwrap_or_default(),
                counted_and(row.summarize.tokens, "token", ["is", "are"]),
                row.keep.tokens
            )
        }
    };
    format!("{size}{fired}; {decision}")
}

/// Describes a cut that splits a call from its result.
pub(super) fn split(plan: &Plan, pairs: Pairs) -> Option<String> {
    let cut = plan.cutoff;
    let what = match plan.parted? {
        Parted::Pair(call, result) => {
            format!("the cut at {cut} splits the call in message {call} from its result in message {result}")
        }
        Parted::Orphan => format!("the kept part begins with a result without a call, message {cut}"),
    };
    Some(format!("{what}, as --pairs {pairs} allows; --pairs strict does not"))
}

/// Describes what happens to thinking that was signed for another history.
pub(super) fn thinking(removal: &Removal) -> Vec<String> {
    let mut lines = Vec::new();
    if !removal.is_empty() {
        let blocks = counted(removal.blocks as u64, "block");
        let messages = counted(removal.messages.len() as u64, "kept message");
        let why = match &removal.model {
            Some(model) => {
                format!("{model} refuses it once the history before it has changed; --thinking keep keeps it")
            }
            None => "as --thinking drop says".to_owned(),
        };
        lines.push(format!("thinking removed, {blocks} in {messages}: {why}"));
    }
    if removal.unknown > 0 {
        let line = "signed thinking stays, since no model is named: the newest Claude models refuse it once the history \
                    before it has changed; --for names the model, --thinking drop removes it";
        lines.push(line.to_owned());
    }
    lines
}

/// Draws a conversation and its plan. The user asked for it, so it is shown at any volume.
pub(super) fn picture(source: &str, planned: &Fitted<'_>, earlier: &[EarlierSummary], economy: Option<&Economy>) {
    let Fitted { plan, decided, .. } = planned;
    let Decided { policy, view, tally, .. } = &**decided;
    let economy = economy.map(|economy| economy.sentence(true, policy.reader_name()));
    let arena = Arena::default();
    let mut masks = policy.redact.is_on().then(|| redactor(view));
    // A conversation that cannot be read with its secrets masked is not shown.
    let Ok(transcript) = masked(view, &[], masks.as_mut(), &arena) else { return };
    let fit = policy.fit.filter(|_| planned.fit.is_some());
    let (policy, archive) = (&policy.cut, policy.archive.as_deref());
    let pruned = planned.pruned_sizes();
    let picture = Picture { source, transcript, tally, plan, pruned, policy, fit, archive, earlier, economy };
    terminal::draw(&picture.draw(terminal::columns()));
}

/// Prints the summary that a real run with the same flags would use.
pub(super) fn previewed(source: &str, summary: &str) {
    let head = format!("tcompact: {}: the summary that a real run with these flags uses:", readable_source(source));
    terminal::draw(&format!("{}\n\n{}\n\n", sanitize_line(&head), sanitize(summary.trim_end())));
}
