//! The cuts that a provider's own compactions allow.
//!
//! The provider reads its last compaction in the place of all messages before it. A readable one is an earlier summary,
//! and the cut is behind it. An opaque one stays as it is, and the summary follows it: before it, the provider would
//! not read the summary.

use crate::transcript::Transcript;
use crate::transcript::compaction::ProviderCompaction;
use crate::transcript::formats::SummaryPosition;

use crate::plan::{CutPolicy, Plan};

/// The compactions of a conversation that are in force.
pub(super) struct Compactions {
    /// The message with the last readable compaction; the first message where there is none.
    pub(super) start: usize,
    /// The message with the last compaction in force, readable or opaque.
    pub(super) last: Option<usize>,
    /// The messages from `start` on with a compaction that only the provider can read.
    opaque: Vec<usize>,
}

impl Compactions {
    /// Finds the compactions of a conversation.
    pub(super) fn of(transcript: &Transcript<'_>, policy: &CutPolicy) -> Self {
        let are_in_force = policy.rules.compactions;
        let mut found = Compactions { start: 0, last: None, opaque: Vec::new() };
        for &index in transcript.compactions.as_slice() {
            match transcript.messages[index].compaction() {
                // The provider reads nothing before it.
                Some(ProviderCompaction::Readable(_)) if are_in_force => {
                    found = Compactions { start: index, last: Some(index), opaque: Vec::new() };
                }
                Some(ProviderCompaction::Readable(_)) => {}
                Some(ProviderCompaction::Opaque) if are_in_force => {
                    found.last = Some(index);
                    found.opaque.push(index);
                }
                _ => found.opaque.push(index),
            }
        }
        found
    }

    /// The messages before a cut that must stay.
    pub(super) fn that_stay(&self, cut: usize) -> &[usize] {
        &self.opaque[..self.opaque.partition_point(|&index| index < cut)]
    }

    /// Describes the part that can be summarized, where that is not the whole conversation.
    pub(super) fn summarizable_part(&self) -> Option<String> {
        let last = self.last?;
        Some(format!("the part behind the provider's own compaction, message {last},"))
    }

    /// Why a compaction that must stay before the kept part cannot.
    pub(super) fn refusal(&self, transcript: &Transcript<'_>, plan: &Plan) -> Option<String> {
        const UNREADABLE: &str = "holds a compaction that only its provider can read";
        for gone in self.that_stay(plan.cutoff) {
            if plan.pinned.binary_search(gone).is_err() {
                return Some(format!("message {gone} {UNREADABLE}, and cannot stay by itself beside a summary"));
            }
        }
        if transcript.format.summary_position_in(transcript) == SummaryPosition::AfterPinned {
            return None;
        }
        let last = self.last?;
        let behind = &plan.pinned[plan.before_summary.min(plan.pinned.len())..];
        if behind.binary_search(&last).is_err() {
            return None;
        }
        let format = transcript.format.name;
        Some(format!(
            "message {last} {UNREADABLE}; {format} puts a summary before it, where the provider would not read it"
        ))
    }
}
