//! What was done to a conversation: all that is known of it.

use std::collections::BTreeMap;

use crate::plan::Plan;
use crate::plan::economy::Economy;
use crate::rewrite::redaction::Redactor;
use crate::rewrite::{self, Edit};
use crate::summary::exchange::Bill;
use crate::summary::record::Record;
use crate::transcript::Transcript;

use crate::compact::archive::{Archived, ChangedConversation};
use crate::compact::fit::FittedPlan;
use crate::compact::summarize::Summary;

/// What was done to a conversation, or would be.
pub(crate) struct Compaction<'t> {
    /// What was to be done.
    pub(crate) fitted: FittedPlan<'t>,
    /// Where it was cut, with the messages of which nothing is left.
    pub(crate) plan: Plan,
    /// What took the place of its history, where that went.
    pub(crate) summary: Option<Summary>,
    /// What else is changed, in what stays; in order.
    pub(crate) edits: Vec<Edit>,
    /// What is to be kept elsewhere.
    pub(crate) archived: Archived,
    /// What it took, and what it saves.
    pub(crate) account: Account,
    /// What masked the secrets of its history, by the same placeholders for whatever is still to be shown.
    pub(crate) redactor: Option<Redactor>,
    /// The facts in what went, as it was summarized, where they were collected.
    pub(crate) facts: Option<Record>,
    /// Why there is no result.
    pub(crate) failure: Option<anyhow::Error>,
}

/// What a compaction took, and what it saves.
#[derive(Debug, Default)]
pub(crate) struct Account {
    /// What was asked for.
    pub(crate) bill: Bill,
    /// Tokens of the whole, where they are counted.
    pub(crate) tokens_before: Option<u64>,
    /// Tokens of what is left, where they are counted and anything was changed.
    pub(crate) tokens_after: Option<u64>,
    /// What is saved, and what it cost.
    pub(crate) economy: Option<Economy>,
    /// Places where secrets were masked, where they are to be.
    pub(crate) redacted: Option<BTreeMap<&'static str, u64>>,
    /// What went wrong, whatever was done about it.
    pub(crate) error: Option<String>,
}

impl Account {
    /// Tokens that the whole conversation has less.
    pub(crate) fn lost(&self) -> u64 {
        self.tokens_before.zip(self.tokens_after).map_or(0, |(before, after)| before.saturating_sub(after))
    }
}

impl Compaction<'_> {
    /// Whether messages that stay were pruned.
    pub(crate) fn is_pruned(&self) -> bool {
        let stays = self.failure.is_none() && (self.summary.is_some() || self.plan.cutoff == 0);
        stays && !self.fitted.pruned.accounts(self.plan.cutoff).is_empty()
    }

    /// Tokens that messages which stay have less.
    pub(crate) fn pruned_tokens(&self) -> u64 {
        let accounts = self.fitted.pruned.accounts(self.plan.cutoff);
        accounts.iter().filter(|_| self.is_pruned()).map(|account| account.tokens).sum()
    }

    /// Whether anything is another than before.
    pub(crate) fn is_change(&self) -> bool {
        self.summary.is_some() || !self.edits.is_empty()
    }
}

impl<'t, 'a> ChangedConversation<'t, 'a> {
    /// A conversation of this name that was changed by a compaction.
    pub(crate) fn new(transcript: &'t Transcript<'a>, source: String, done: Compaction<'_>) -> Self {
        let Compaction { plan, summary, edits, archived, .. } = done;
        let placed = summary.map(|summary| rewrite::placed(transcript, &plan, &summary.placed));
        let edits = placed.into_iter().flatten().chain(edits).collect();
        ChangedConversation { transcript, source, edits, removed: plan.removed(), archived }
    }
}
