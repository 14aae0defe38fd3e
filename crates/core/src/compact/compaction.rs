//! The result of a compaction, with all that is known of it.

use std::collections::BTreeMap;

use anyhow::Result;

use crate::compact::archive::{Archived, ChangedConversation, Files, Section};
use crate::compact::earlier::EarlierSummary;
use crate::compact::fit::Fitted;
use crate::compact::masks::FileMasks;
use crate::compact::message::{message_bytes, whole_text};
use crate::compact::policy::{CompactionPolicy, is_lines};
use crate::compact::summarize::Summary;
use crate::compact::views::redactor;
use crate::plan::Plan;
use crate::plan::economy::Economy;
use crate::prune::unsent_beside;
use crate::redact::Redactor;
use crate::rewrite::{self, Edit, Placed, thinking};
use crate::summary::exchange::Bill;
use crate::transcript::Transcript;
use crate::transcript::compaction::Reset;
use crate::transcript::formats::read_entry;

/// The compaction of a conversation, done or fitted.
pub struct Compaction<'t> {
    /// The plan that was carried out.
    pub fitted: Fitted<'t>,
    /// Where the conversation was cut, with the messages that were emptied.
    pub plan: Plan,
    /// The summary in the place of the history; none where that stays.
    pub summary: Option<Summary>,
    /// The edits of messages that stay, in order.
    pub edits: Vec<Edit>,
    /// What is reset beside the summary, as the agent resets it after a compaction of its own; in order.
    pub resets: Vec<Reset>,
    /// The earlier summaries that the summary replaces.
    pub earlier: Vec<EarlierSummary>,
    /// The removed content, for the archive.
    pub archived: Archived,
    /// The requests, and what they cost.
    pub bill: Bill,
    /// Tokens of the conversation before, where they are counted.
    pub tokens_before: Option<u64>,
    /// Tokens of the result, where they are counted and anything was changed.
    pub tokens_after: Option<u64>,
    /// What the compaction is worth.
    pub economy: Option<Economy>,
    /// The number of masked secrets of each kind, with `--redact`. Those that `--redact=all` masked before are not counted.
    pub redacted: Option<BTreeMap<&'static str, u64>>,
    /// Why the history stays although the plan cuts it, where nothing went wrong.
    pub left: Option<String>,
    /// What went wrong, whether or not `--on-error` helped.
    pub error: Option<String>,
    /// Masked the secrets of the history; texts that are shown later get the same placeholders.
    pub redactor: Option<Redactor>,
    /// Why there is no result.
    pub failure: Option<anyhow::Error>,
    /// The result as plain text, with `--emit handoff`.
    pub handoff: Option<String>,
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
    /// The compaction, if it has a result.
    ///
    /// # Errors
    /// Why there is no result.
    pub fn into_result(self) -> Result<Self> {
        match self.failure {
            Some(failure) => Err(failure),
            None => Ok(self),
        }
    }

    /// The same without a result.
    pub(super) fn without_result(self, failure: anyhow::Error) -> Self {
        Compaction { error: Some(failure.to_string()), failure: Some(failure), ..self }
    }

    /// Masks the secrets in texts that are shown, with `--redact`, by the placeholders that the history got.
    pub fn redactor_of_shown(&self, policy: &CompactionPolicy) -> Option<Redactor> {
        if self.redactor.is_some() {
            return self.redactor.clone();
        }
        if policy.redact.is_on() { Some(redactor(self.fitted.decided.transcript)) } else { None }
    }

    /// In tokens; 0 where they were not counted.
    pub fn lost(&self) -> u64 {
        match (self.tokens_before, self.tokens_after) {
            (Some(before), Some(after)) => before.saturating_sub(after),
            _ => 0,
        }
    }

    pub fn messages_after(&self) -> usize {
        let transcript = self.fitted.decided.transcript;
        let mut count = 0;
        if let Some(Summary { placed: Placed::Messages(entries), .. }) = &self.summary {
            for entry in entries {
                let is_message = read_entry(transcript.format, &entry.to_string(), |_| ()).is_some();
                count += usize::from(is_message);
            }
        }
        let replaced = if self.summary.is_some() { self.plan.replaced() } else { Vec::new() };
        for index in 0..transcript.messages.len() {
            let is_removed = replaced.binary_search(&index).is_ok() || self.plan.emptied.binary_search(&index).is_ok();
            count += usize::from(!is_removed);
        }
        count
    }

    /// Whether messages that stay were pruned.
    pub fn is_pruned(&self) -> bool {
        let stays = self.failure.is_none() && (self.summary.is_some() || self.plan.cutoff == 0);
        stays && !self.fitted.pruned.savings(self.plan.cutoff).is_empty()
    }

    /// The tokens that pruning took from the messages that stay.
    pub fn pruned_tokens(&self) -> u64 {
        if !self.is_pruned() {
            return 0;
        }
        self.fitted.pruned.savings(self.plan.cutoff).iter().map(|one| one.tokens).sum()
    }

    /// The edits inside messages that are left, in order. Those that empty a message leave nothing to be read.
    pub fn edits_of_left(&self) -> Vec<Edit> {
        let transcript = self.fitted.decided.transcript;
        let mut left = Vec::new();
        for edit in &self.edits {
            if self.plan.emptied.binary_search(&thinking::message_at(transcript, edit)).is_err() {
                left.push(edit.clone());
            }
        }
        left
    }

    /// The bytes of the messages as they are written, with what stands between a summary's entries.
    pub(super) fn written_bytes(&self) -> u64 {
        let transcript = self.fitted.decided.transcript;
        let placed = self.summary.as_ref().map(|summary| rewrite::placed(transcript, &self.plan, &summary.placed));
        let edits = placed.into_iter().flatten().chain(self.edits.iter().cloned());
        let edits = all_edits(edits, &self.resets, self.unsent());
        let (mut added, mut removed) = (0, 0);
        for edit in &edits {
            added += edit.text.len() as u64;
            for message in &transcript.messages[thinking::message_at(transcript, edit)..] {
                let span = message.span();
                if span.start >= edit.range.end {
                    break;
                }
                let (start, end) = (span.start.max(edit.range.start), span.end.min(edit.range.end));
                removed += end.saturating_sub(start) as u64;
            }
        }
        (message_bytes(transcript) + added).saturating_sub(removed)
    }

    /// Whether anything was changed, beside what was masked before.
    pub fn is_change(&self) -> bool {
        self.summary.is_some() || !self.edits.is_empty() || !self.unsent().is_empty()
    }

    /// The edits of what is not sent, where they are made.
    fn unsent(&self) -> &[Edit] {
        let is_made = self.failure.is_none() && (self.summary.is_some() || self.plan.cutoff == 0);
        if is_made { &self.fitted.pruned.unsent.edits } else { &[] }
    }
}

/// All edits of a conversation, in order. What an edit writes anew as a whole, a reset of the same range writes with its
/// new parent. What is not sent is edited only where nothing else is.
fn all_edits(edits: impl Iterator<Item = Edit>, resets: &[Reset], unsent: &[Edit]) -> Vec<Edit> {
    let mut all: Vec<Edit> = edits.collect();
    all.retain(|edit| {
        let same = resets.partition_point(|reset| reset.edit.range.start < edit.range.start);
        resets.get(same).is_none_or(|reset| reset.edit.range != edit.range)
    });
    all.extend(resets.iter().map(|reset| reset.edit.clone()));
    rewrite::sort(&mut all);
    if !unsent.is_empty() {
        let beside = unsent_beside(unsent, &all);
        all.extend(beside);
        rewrite::sort(&mut all);
    }
    all
}

impl<'t, 'a> ChangedConversation<'t, 'a> {
    pub fn new(transcript: &'t Transcript<'a>, source: String, done: Compaction<'_>) -> Self {
        let unsent = done.unsent().to_vec();
        let Compaction { plan, summary, edits, resets, archived, .. } = done;
        let placed = summary.as_ref().map(|summary| rewrite::placed(transcript, &plan, &summary.placed));
        // What a plan would have replaced stays where there is no summary.
        let replaced = if summary.is_some() || plan.cutoff == 0 { plan.replaced() } else { Vec::new() };
        let changed = changed_messages(transcript, replaced, &edits);
        let edits = all_edits(placed.into_iter().flatten().chain(edits), &resets, &unsent);
        let summary = summary.and_then(|summary| whole_text(transcript, &summary.placed));
        ChangedConversation { transcript, source, edits, changed, summary, archived }
    }

    pub fn repaired(transcript: &'t Transcript<'a>, source: String, edits: Vec<Edit>) -> Self {
        let (changed, archived) = (changed_messages(transcript, Vec::new(), &edits), Archived::default());
        ChangedConversation { transcript, source, edits, changed, summary: None, archived }
    }

    /// The change of the conversation as it was before all of its secrets were masked: number `at` of its file, which
    /// masked is `text`.
    pub fn before_masks<'o>(
        self,
        original: &'o Transcript<'o>,
        masks: &FileMasks,
        at: usize,
        text: &str,
        policy: &CompactionPolicy,
    ) -> ChangedConversation<'o, 'o> {
        let ChangedConversation { source, edits, mut changed, summary, mut archived, .. } = self;
        let edits = masks.with_edits(at, text, &edits);
        let mut masked: Vec<usize> = masks.messages(at).collect();
        masked.retain(|index| changed.binary_search(index).is_err());
        if policy.archive.as_deref().is_some_and(|file| !is_lines(file)) && !masked.is_empty() {
            let messages = masked.iter().map(|&index| &original.messages[index]);
            archived.sections.push(Section::readable(&format!("{source}, before its secrets were masked"), messages));
        }
        changed.extend(masked);
        changed.sort_unstable();
        ChangedConversation { transcript: original, source, edits, changed, summary, archived }
    }
}

/// The indices of messages that are replaced or edited, in order.
fn changed_messages(transcript: &Transcript<'_>, mut replaced: Vec<usize>, edits: &[Edit]) -> Vec<usize> {
    for edit in edits {
        let index = thinking::message_at(transcript, edit);
        let Some(message) = transcript.messages.get(index) else { continue };
        let (span, range) = (message.span(), &edit.range);
        if span.start <= range.start && range.end <= span.end && !range.is_empty() {
            replaced.push(index);
        }
    }
    replaced.sort_unstable();
    replaced.dedup();
    replaced
}
