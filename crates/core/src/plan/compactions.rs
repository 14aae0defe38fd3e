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
        let all = transcript.compactions.as_slice();
        let kind = |index: usize| transcript.messages[index].compaction();
        let is_readable = |index: usize| matches!(kind(index), Some(ProviderCompaction::Readable(_)));
        let readable = all.iter().copied().rfind(|&index| policy.rules.compactions && is_readable(index));
        let start = readable.unwrap_or(0);
        let opaque: Vec<usize> = all.iter().copied().filter(|&index| index >= start && !is_readable(index)).collect();
        let is_in_force =
            |index: &usize| policy.rules.compactions && matches!(kind(*index), Some(ProviderCompaction::Opaque));
        let last = opaque.iter().copied().rfind(is_in_force).or(readable);
        Compactions { start, last, opaque }
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
        let of = |index: usize| format!("message {index} holds a compaction that only its provider can read");
        let staying = self.that_stay(plan.cutoff);
        if let Some(gone) = staying.iter().find(|index| plan.pinned.binary_search(index).is_err()) {
            return Some(format!("{}, and cannot stay by itself beside a summary", of(*gone)));
        }
        let comes_first = transcript.format.summary_position_in(transcript) != SummaryPosition::AfterPinned;
        let behind = &plan.pinned[plan.before_summary.min(plan.pinned.len())..];
        let last = self.last.filter(|last| comes_first && behind.binary_search(last).is_ok())?;
        let format = transcript.format.name;
        Some(format!("{}; {format} puts a summary before it, where the provider would not read it", of(last)))
    }
}
