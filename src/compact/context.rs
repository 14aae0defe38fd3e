//! What the steps of a compaction share.

use crate::summary::exchange::SummaryBackend;

use crate::compact::happening::Happening;
use crate::compact::policy::CompactionPolicy;

/// What it takes to compact conversations.
#[derive(Clone, Copy)]
pub(crate) struct CompactionContext<'c> {
    /// What is to become of them.
    pub(crate) policy: &'c CompactionPolicy,
    /// Who writes summaries, unless the policy names the embedded summarizer.
    pub(crate) backend: &'c dyn SummaryBackend,
    /// Who is told what happens, with the name of the conversation.
    pub(crate) listen: &'c dyn Fn(&str, Happening<'_>),
    /// Whether it is counted what a compaction saves.
    pub(crate) counts: bool,
    /// Whether the facts are kept that the embedded summarizer writes from.
    pub(crate) keeps_facts: bool,
}

impl CompactionContext<'_> {
    /// Tells what happens.
    pub(super) fn tell(&self, source: &str, what: Happening<'_>) {
        (self.listen)(source, what);
    }
}
