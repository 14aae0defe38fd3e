//! The result of a compaction, with all that is known of it.

use std::collections::BTreeMap;

use crate::plan::Plan;
use crate::plan::economy::Economy;
use crate::presets::buffer::Buffer;
use crate::redact::Redactor;
use crate::rewrite::{self, Edit};
use crate::summary::exchange::Bill;
use crate::transcript::Transcript;

use crate::compact::archive::{Archived, ChangedConversation, Files, Section};
use crate::compact::decide::Planned;
use crate::compact::earlier::EarlierSummary;
use crate::compact::masks::FileMasks;
use crate::compact::policy::{CompactionPolicy, is_lines};
use crate::compact::summarize::Summary;

/// The compaction of a conversation, done or planned.
pub(crate) struct Compaction<'t> {
    /// The plan that was carried out.
    pub(crate) planned: Planned<'t>,
    /// Where the conversation was cut, with the messages that were emptied.
    pub(crate) plan: Plan,
    /// The summary in the place of the history; none where that stays.
    pub(crate) summary: Option<Summary>,
    /// The edits of messages that stay, in order.
    pub(crate) edits: Vec<Edit>,
    /// The earlier summaries that the summary replaces.
    pub(crate) earlier: Vec<EarlierSummary>,
    /// The removed content, for the archive.
    pub(crate) archived: Archived,
    /// The requests, and what they cost.
    pub(crate) bill: Bill,
    /// Tokens of the conversation before, where they are counted.
    pub(crate) tokens_before: Option<u64>,
    /// Tokens of the result, where they are counted and anything was changed.
    pub(crate) tokens_after: Option<u64>,
    /// What the compaction is worth.
    pub(crate) economy: Option<Economy>,
    /// The number of masked secrets of each kind, with `--redact`.
    pub(crate) redacted: Option<BTreeMap<&'static str, u64>>,
    /// How many places were masked before all else, with `--redact=all`.
    pub(crate) masked: u64,
    /// Why the history stays although the plan cuts it, where nothing went wrong.
    pub(crate) left: Option<String>,
    /// What went wrong, whether or not `--on-error` helped.
    pub(crate) error: Option<String>,
    /// Masked the secrets of the history; texts that are shown later get the same placeholders.
    pub(crate) redactor: Option<Redactor>,
    /// Why there is no result.
    pub(crate) failure: Option<anyhow::Error>,
}

/// The changes of a conversation beside its summary.
#[derive(Default)]
pub(super) struct Edits {
    /// Where the conversation was cut, with the messages that the edits empty.
    pub(super) plan: Plan,
    /// The edits of messages that stay, in order.
    pub(super) edits: Vec<Edit>,
    /// What they remove, for an archive that is for reading.
    pub(super) sections: Vec<Section>,
    /// The files to which they move content.
    pub(super) files: Files,
}

impl Compaction<'_> {
    /// Returns the tokens that the conversation lost.
    pub(crate) fn lost(&self) -> u64 {
        self.tokens_before.zip(self.tokens_after).map_or(0, |(before, after)| before.saturating_sub(after))
    }

    /// Whether messages that stay were pruned.
    pub(crate) fn is_pruned(&self) -> bool {
        let stays = self.failure.is_none() && (self.summary.is_some() || self.plan.cutoff == 0);
        stays && !self.planned.pruned.savings(self.plan.cutoff).is_empty()
    }

    /// Returns the tokens that the messages that stay lost.
    pub(crate) fn pruned_tokens(&self) -> u64 {
        let savings = self.planned.pruned.savings(self.plan.cutoff);
        savings.iter().filter(|_| self.is_pruned()).map(|one| one.tokens).sum()
    }

    /// Adds what was masked before all else.
    pub(crate) fn note_masked(&mut self, places: Option<&BTreeMap<&'static str, u64>>) {
        for (kind, count) in places.into_iter().flatten() {
            *self.redacted.get_or_insert_default().entry(kind).or_default() += count;
            self.masked += count;
        }
    }

    /// Whether anything was changed, beside what was masked before.
    pub(crate) fn is_change(&self) -> bool {
        self.summary.is_some() || !self.edits.is_empty()
    }
}

impl<'t, 'a> ChangedConversation<'t, 'a> {
    /// Returns a conversation of this name as a compaction changed it.
    pub(crate) fn new(transcript: &'t Transcript<'a>, source: String, done: Compaction<'_>) -> Self {
        let Compaction { plan, summary, edits, archived, .. } = done;
        let removed = if summary.is_some() { plan.removed() } else { Vec::new() };
        let placed = summary.map(|summary| rewrite::placed(transcript, &plan, &summary.placed));
        let mut edits: Vec<Edit> = placed.into_iter().flatten().chain(edits).collect();
        rewrite::sort(&mut edits);
        ChangedConversation { transcript, source, edits, removed, archived }
    }

    /// Returns the change of the conversation as it was before all of its secrets were masked: number `at` of its file,
    /// which masked is `text`.
    pub(crate) fn before_masks<'o>(
        self,
        original: &'o Transcript<'o>,
        masks: &FileMasks,
        at: usize,
        text: &str,
        policy: &CompactionPolicy,
    ) -> ChangedConversation<'o, 'o> {
        let edits = masks.with_edits(at, text, &self.edits);
        let mut archived = self.archived;
        if policy.archive.as_deref().is_some_and(|file| !is_lines(file)) {
            let stays = |index: &usize| self.removed.binary_search(index).is_err();
            let mut masked = masks.messages(at).filter(stays).map(|index| &original.messages[index]).peekable();
            if masked.peek().is_some() {
                let text = Buffer::Own.write(masked);
                archived
                    .sections
                    .push(Section::Text(format!("From {}, before its secrets were masked:\n\n{text}", self.source)));
            }
        }
        ChangedConversation { transcript: original, source: self.source, edits, removed: self.removed, archived }
    }
}
