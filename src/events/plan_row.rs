//! The plan for a conversation as plain data: what `--dry-run --json`, `--report` and the page say of it.

use std::borrow::Cow;
use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::compact::{Decided, EarlierSummary, Fitted};
use crate::plan::Plan;
use crate::plan::recorded::RecordedSize;
use crate::transcript::Transcript;
use crate::transcript::compaction::{ProviderCompaction, Reset, ResetCounts};

/// The plan for one conversation. `counter` counts the tokens; indices are those of the input's messages.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PlanRow {
    pub(crate) format: Cow<'static, str>,
    pub(crate) counter: String,
    pub(crate) messages: usize,
    pub(crate) tokens: u64,
    /// Those of them that are sent beside the messages.
    overhead: u64,
    /// The size that the session itself recorded, with the estimate of what follows that.
    recorded: Option<u64>,
    pub(crate) context_window: Option<u64>,
    triggered: bool,
    pub(crate) fired: Option<String>,
    wanted_cutoff: usize,
    pub cutoff: usize,
    moved_because: Option<String>,
    pinned: Vec<usize>,
    /// What happens to the provider's own compactions.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    compactions: Vec<Compacted>,
    /// The earlier summaries that the new one replaces, and what it has of them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    earlier: Vec<EarlierSummary>,
    /// The effect of each rule of `--prune`.
    prune: BTreeMap<Cow<'static, str>, PrunedBy>,
    pub(crate) summarize: RangeSize,
    /// The pruned messages between the summary and the kept part.
    pub(crate) middle: RangeSize,
    pub(crate) keep: RangeSize,
    /// Thinking that is removed from messages that stay, where there is any.
    #[serde(skip_serializing_if = "Option::is_none")]
    thinking: Option<Removed>,
    /// What is reset in entries that stay, where there is any.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reset: Option<ResetCounts>,
}

/// A provider's own compaction among the messages.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct Compacted {
    message: usize,
    /// Whether others than the provider can read it.
    readable: bool,
    /// What happens to its message.
    status: Cow<'static, str>,
}

/// A range of messages, `to` excluded, with its tokens except those of pinned messages.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct RangeSize {
    from: usize,
    to: usize,
    pub(crate) tokens: u64,
}

/// The effect of a rule: the messages that it shortens, and the tokens that it saves.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
struct PrunedBy {
    messages: usize,
    tokens: u64,
    /// The bytes that it saves of what is not sent.
    #[serde(default, skip_serializing_if = "is_zero")]
    bytes: u64,
}

/// Removed thinking: its messages, blocks and tokens.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
struct Removed {
    messages: usize,
    blocks: usize,
    tokens: u64,
}

/// Whether a number is left out of a report.
fn is_zero(number: &u64) -> bool {
    *number == 0
}

impl PlanRow {
    /// Describes a plan, with what becomes of earlier summaries and what is reset.
    pub(crate) fn new(fitted: &Fitted<'_>, earlier: &[EarlierSummary], resets: &[Reset]) -> Self {
        let Fitted { plan, decided, .. } = fitted;
        let Decided { policy, view, tally, .. } = &**decided;
        let messages = view.messages.len();
        let kept: Vec<usize> = (fitted.kept_from..messages).collect();
        let summarized = plan.summarized();
        let mut prune: BTreeMap<Cow<'static, str>, PrunedBy> = BTreeMap::new();
        for saving in fitted.savings() {
            let effect = PrunedBy { messages: saving.messages, tokens: saving.tokens, bytes: saving.bytes };
            prune.insert(saving.rule.into(), effect);
        }
        PlanRow {
            format: view.format.name.into(),
            counter: tally.counter().to_string(),
            messages,
            tokens: fitted.tokens(),
            overhead: tally.overhead(),
            recorded: RecordedSize::of(view, tally).map(RecordedSize::tokens),
            context_window: policy.cut.context_window,
            triggered: plan.triggered,
            fired: plan.fired.as_ref().map(|sizes| sizes.iter().map(ToString::to_string).collect::<Vec<_>>().join(",")),
            wanted_cutoff: plan.wanted,
            cutoff: plan.cutoff,
            moved_because: plan.moved_because.clone(),
            pinned: plan.pinned.clone(),
            compactions: compactions(view, plan),
            earlier: earlier.to_vec(),
            summarize: RangeSize {
                from: summarized.first().copied().unwrap_or(plan.cutoff),
                to: plan.cutoff,
                tokens: tally.sum(&summarized),
            },
            prune,
            middle: RangeSize {
                from: plan.cutoff,
                to: fitted.kept_from,
                tokens: fitted_tokens(fitted, &fitted.middle()),
            },
            keep: RangeSize {
                from: kept.first().copied().unwrap_or(messages),
                to: messages,
                tokens: fitted_tokens(fitted, &kept),
            },
            thinking: removed_thinking(fitted),
            reset: Some(ResetCounts::of(resets)).filter(|counts| !counts.is_none()),
        }
    }
}

/// The tokens of some messages as pruning leaves them.
fn fitted_tokens(fitted: &Fitted<'_>, indices: &[usize]) -> u64 {
    indices.iter().map(|&index| fitted.size(index)).sum()
}

fn removed_thinking(fitted: &Fitted<'_>) -> Option<Removed> {
    if fitted.thinking.is_empty() {
        return None;
    }
    Some(Removed {
        messages: fitted.thinking.messages.len(),
        blocks: fitted.thinking.blocks,
        tokens: fitted.thinking_tokens(),
    })
}

/// The provider's own compactions in a conversation, in order.
fn compactions(transcript: &Transcript<'_>, plan: &Plan) -> Vec<Compacted> {
    let mut compactions = Vec::new();
    for &message in &transcript.compactions {
        let status = if message >= plan.cutoff {
            "kept"
        } else if plan.pinned.binary_search(&message).is_ok() {
            "pinned"
        } else if message < plan.start {
            "removed"
        } else {
            "summarized"
        };
        let compaction = transcript.messages[message].compaction();
        let readable = matches!(compaction, Some(ProviderCompaction::Readable(_)));
        compactions.push(Compacted { message, readable, status: status.into() });
    }
    compactions
}

#[cfg(test)]
impl PlanRow {
    /// A plan that changes nothing, for a conversation of this size.
    pub(crate) fn sample(messages: usize, tokens: u64) -> Self {
        let part = RangeSize { from: 0, to: 0, tokens: 0 };
        PlanRow {
            format: "openai-chat".into(),
            counter: "approx".to_owned(),
            messages,
            tokens,
            overhead: 0,
            recorded: None,
            context_window: None,
            triggered: true,
            fired: None,
            wanted_cutoff: 0,
            cutoff: 0,
            moved_because: None,
            pinned: Vec::new(),
            compactions: Vec::new(),
            earlier: Vec::new(),
            prune: BTreeMap::new(),
            summarize: part,
            middle: part,
            keep: part,
            thinking: None,
            reset: None,
        }
    }
}
