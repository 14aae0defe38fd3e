//! What an agent resets after a compaction of its own, and what is reset for it.

use std::cell::OnceCell;

use serde_json::Value;

use crate::plan::Plan;
use crate::rewrite::thinking::message_at;
use crate::rewrite::{self, Placed};
use crate::transcript::reset::Reset;

use crate::compact::decide::Planned;

/// Returns the resets beside a summary, or where messages were only pruned, in order. `tokens` counts the result.
pub(super) fn resets(
    planned: &Planned<'_>,
    plan: &Plan,
    placed: Option<&Placed>,
    tokens: &dyn Fn() -> u64,
) -> Vec<Reset> {
    let summary: &[Value] = match placed {
        Some(Placed::Messages(summary)) => summary,
        Some(Placed::Beside(_)) => return Vec::new(),
        None => &[],
    };
    let transcript = planned.transcript;
    let counted = OnceCell::new();
    let tokens = || *counted.get_or_init(tokens);
    let mut resets = transcript.format.resets(summary, &rewrite::summary_place(transcript, plan), &tokens);
    // A message of which nothing is left is replaced as a whole.
    let is_emptied = |reset: &Reset| {
        let index = message_at(transcript, &reset.edit);
        plan.emptied.binary_search(&index).is_ok() && transcript.messages[index].span().start == reset.entry
    };
    resets.retain(|reset| !is_emptied(reset));
    resets.sort_by_key(|reset| reset.edit.range.start);
    resets
}
