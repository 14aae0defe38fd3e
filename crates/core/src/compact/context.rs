//! The context that all steps of a compaction share.

use crate::compact::event::CompactionEvent;
use crate::compact::policy::CompactionPolicy;
use crate::summary::exchange::SummaryBackend;

/// The context of compactions.
#[derive(Clone, Copy)]
pub struct CompactionContext<'c> {
    /// The policy.
    pub policy: &'c CompactionPolicy,
    /// Writes summaries, unless the policy names the embedded summarizer.
    pub backend: &'c dyn SummaryBackend,
    /// Listens to what happens, with the name of the conversation.
    pub listen: &'c dyn Fn(&str, CompactionEvent<'_>),
    /// Whether to count the tokens before and after a compaction.
    pub counts: bool,
    /// Whether to count what a summary saves.
    pub counts_savings: bool,
}

impl CompactionContext<'_> {
    /// Reports an event to the listener.
    pub(super) fn report(&self, source: &str, what: CompactionEvent<'_>) {
        (self.listen)(source, what);
    }
}
