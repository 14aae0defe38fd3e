//! The compaction of one conversation in four steps: decide, fit, summarize, rewrite. Each step is a function of the
//! result of the one before. The last returns a [`Compaction`], from which all output is derived.
//!
//! Several steps read the conversation with some of its messages shortened. Those edits are made on a view. The result
//! is always made from the source, with the edits in messages that stay.
//!
//! What is not here: where conversations come from and results go, who answers a summarizer's requests, and who listens
//! to events.

mod advice;
mod archive;
mod ask;
mod compaction;
mod compactor;
mod context;
mod decide;
mod earlier;
pub(crate) mod economy;
mod event;
mod fit;
mod handoff;
mod limit;
mod masking;
mod masks;
mod message;
mod no_summary;
mod offload;
mod policy;
mod pruned;
mod reading;
mod resetting;
mod rewriting;
mod summarize;

use anyhow::Result;

use crate::plan::economy::Economy;
use crate::plan::size::Size;
use crate::redact::Redactor;
use crate::rewrite::Masked;
use crate::transcript::Transcript;
use crate::transcript::reset::ResetCounts;
use crate::transcript::view::Arena;
use crate::wording::counted;

pub(crate) use archive::{Archived, ChangedConversation, Section, archive_contents};
pub(crate) use compaction::Compaction;
pub use compactor::{CompactedText, Compactor, restore};
pub(crate) use context::CompactionContext;
pub(crate) use decide::{Planned, decide};
pub(crate) use earlier::EarlierSummary;
pub(crate) use event::CompactionEvent;
pub(crate) use fit::fit;
pub(crate) use masking::{masked, redactor};
pub(crate) use masks::FileMasks;
pub(crate) use offload::certain_files;
pub use policy::{Accept, CompactionPolicy, OnError, Pruning, Redaction, SummaryPolicy};
pub(crate) use policy::{
    ArchiveNote, EXTRACTIVE, Emit, NOBODY, SummarizerKind, SummarizerModel, is_lines, is_no_model, ledger_room,
};
pub(crate) use reading::read;
pub(crate) use summarize::{Summary, SummarySource};

use compaction::Edits;
use earlier::earlier_summaries;
use limit::bytes_failure;
use summarize::{SummaryAttempt, summarize};

impl CompactionContext<'_> {
    /// Plans the compaction of a conversation.
    ///
    /// # Errors
    /// The conversation cannot be read with the early edits; or it has no place for the cut that the policy names.
    pub(crate) fn plan<'t>(&self, transcript: &'t Transcript<'t>, arena: &'t Arena<'t>) -> Result<Planned<'t>> {
        if let Some(Size::Bytes(limit)) = self.policy.fit {
            return self.plan_within_bytes(transcript, arena, limit);
        }
        let decided = decide(transcript, self.policy, arena)?;
        decided.check_rules(self.policy)?;
        let mut planned = fit(decided, self.policy);
        // The embedded summarizer can need less room than planned. Only its text shows how much, and the room that it
        // leaves is for the messages behind it. A summary of fewer messages is shorter again.
        const DRAFTS: usize = 3;
        for _ in 0..DRAFTS {
            let is_drafted = self.policy.summary.is_embedded() && planned.fit.is_some() && planned.plan.cutoff > 0;
            let silent = CompactionContext { listen: &|_, _| (), ..*self };
            let draft = if is_drafted { summarize(&silent, "", &planned).summary } else { None };
            let Some(summary) = draft else { break };
            let is_changed;
            (planned, is_changed) = planned.with_draft(self.policy, summary.text, summary.tokens);
            if !is_changed {
                break;
            }
        }
        Ok(planned)
    }

    /// Carries a plan out: asks for the summary, and makes the edits.
    pub(crate) fn carry_out<'t>(&self, source: &str, planned: Planned<'t>) -> Compaction<'t> {
        let attempt = match planned.check(source, self.policy) {
            Err(failure) => SummaryAttempt { failure: Some(failure), ..SummaryAttempt::default() },
            Ok(()) if planned.plan.cutoff > 0 => summarize(self, source, &planned),
            Ok(()) => SummaryAttempt::default(),
        };
        let has_none = self.policy.summary.is_embedded() && attempt.summary.is_none() && attempt.failure.is_none();
        self.finish(source, if has_none { planned.pruned_alone(self.policy) } else { planned }, attempt)
    }

    /// Tells what will become of the earlier summaries that a plan replaces, without asking a model.
    pub(crate) fn earlier_of_plan<'t>(
        &self,
        transcript: &'t Transcript<'t>,
        planned: &Planned<'_>,
    ) -> Vec<EarlierSummary> {
        if planned.plan.cutoff == 0 || earlier_summaries(self.policy, planned, None).is_empty() {
            return Vec::new();
        }
        match self.policy.summary.summarizer {
            SummarizerKind::Model | SummarizerKind::Command => earlier_summaries(self.policy, planned, None),
            SummarizerKind::Off => earlier_summaries(self.policy, planned, Some("")),
            SummarizerKind::Embedded => {
                let silent = CompactionContext { listen: &|_, _| (), ..*self };
                let arena = Arena::default();
                let again = silent.plan(transcript, &arena);
                again.map(|planned| silent.carry_out("", planned).earlier).unwrap_or_default()
            }
        }
    }

    /// Returns the compaction of a plan that is not carried out, because of a failure.
    pub(crate) fn refused<'t>(&self, planned: Planned<'t>, failure: anyhow::Error) -> Compaction<'t> {
        self.finish("", planned, SummaryAttempt { failure: Some(failure), ..SummaryAttempt::default() })
    }

    /// The last step: makes the edits, and counts what they cost and save.
    fn finish<'t>(&self, source: &str, planned: Planned<'t>, attempt: SummaryAttempt) -> Compaction<'t> {
        let SummaryAttempt { summary, mut archived, session, left, error, failure } = attempt;
        let rewritten = failure.map_or_else(|| self.rewrite(source, &planned, summary.as_ref()), Err);
        let (edits, failure) = match rewritten {
            Ok(edits) => (edits, None),
            Err(failure) => (Edits { plan: planned.plan.clone(), ..Edits::default() }, Some(failure)),
        };
        let mut masks = self.count_masks(source, &planned, session.redactor, &edits);
        let redacted = masks.as_ref().map(|masks| masks.counts().clone());
        let mut error = failure.as_ref().map(ToString::to_string).or(error);
        if self.policy.redact.is_on() {
            // An error message of a server or a command can quote the conversation.
            error = error.map(|error| {
                let masks = masks.get_or_insert_with(|| redactor(planned.transcript));
                masks.mask(&error).into_owned()
            });
        }
        let placed = summary.as_ref().map(|summary| &summary.placed);
        let is_change = failure.is_none() && (summary.is_some() || !edits.edits.is_empty());
        let result_tokens = || offload::result_tokens(self.policy, planned.transcript, &edits, placed);
        let tokens_after = (self.counts && is_change).then(result_tokens);
        if failure.is_none() {
            self.check_window(source, &planned, tokens_after, result_tokens);
        }
        let resets = if is_change && self.policy.emit == Emit::Messages {
            resetting::resets(&planned, &edits.plan, placed, &result_tokens)
        } else {
            Vec::new()
        };
        self.report(source, CompactionEvent::Reset(ResetCounts::of(&resets), planned.transcript.format.name()));
        let earlier = summary.as_ref().map_or(Vec::new(), |summary| {
            let is_by_model = summary.by == SummarySource::Summarizer && !self.policy.summary.is_embedded();
            earlier_summaries(self.policy, &planned, (!is_by_model).then_some(&summary.text))
        });
        self.report(source, CompactionEvent::Earlier(&earlier));
        archived.files.extend(edits.files);
        archived.sections.extend(edits.sections);
        let done = Compaction {
            plan: edits.plan,
            summary,
            edits: edits.edits,
            resets,
            earlier,
            archived,
            bill: session.bill,
            tokens_before: self.counts.then(|| planned.tokens(self.policy)),
            tokens_after,
            economy: None,
            redacted,
            masked: 0,
            left,
            error,
            redactor: masks,
            failure,
            handoff: None,
            planned,
        };
        let mut done = Compaction { economy: self.economy(source, &done), ..done };
        self.check_bytes(source, &mut done);
        if self.policy.emit == Emit::Handoff && done.failure.is_none() {
            match handoff::handoff(self.policy, source, &mut done) {
                Ok(text) => done.handoff = Some(text),
                Err(failure) => (done.error, done.failure) = (Some(failure.to_string()), Some(failure)),
            }
        }
        done
    }

    /// Checks that the messages have no more bytes than `--fit bytes:N` says: a model's summary can be long.
    fn check_bytes(&self, source: &str, done: &mut Compaction<'_>) {
        let Some(Size::Bytes(limit)) = self.policy.fit else { return };
        if done.failure.is_none()
            && done.is_change()
            && self.policy.emit != Emit::Handoff
            && done.written_bytes() > limit
        {
            let bytes = done.written_bytes();
            let what = format!("the result would have {}, more than --fit bytes:{limit}", counted(bytes, "byte"));
            let failure = bytes_failure(source, &what, bytes);
            (done.error, done.failure) = (Some(failure.to_string()), Some(failure.into()));
        }
    }

    /// Counts the secrets that were masked: in the history, and in texts of the result that were cut.
    fn count_masks(
        &self,
        source: &str,
        planned: &Planned<'_>,
        of_history: Option<Redactor>,
        edits: &Edits,
    ) -> Option<Redactor> {
        let mut redactor = of_history.or_else(|| planned.masked.as_ref().map(Masked::redactor))?;
        redactor.count_masks(edits.edits.iter().map(|edit| &*edit.text));
        self.report(source, CompactionEvent::Redacted(redactor.counts()));
        Some(redactor)
    }

    /// Reports a result that does not fit the window.
    fn check_window(
        &self,
        source: &str,
        planned: &Planned<'_>,
        tokens_after: Option<u64>,
        result_tokens: impl FnOnce() -> u64,
    ) {
        let Some(window) = self.policy.cut.context_window else { return };
        if planned.tokens(self.policy) > window {
            let tokens = tokens_after.unwrap_or_else(result_tokens);
            if tokens > window {
                self.report(source, CompactionEvent::TooLarge { tokens, window });
            }
        }
    }

    /// Returns what a compaction is worth, and reports it.
    fn economy(&self, source: &str, done: &Compaction<'_>) -> Option<Economy> {
        let (before, after) = done.tokens_before.zip(done.tokens_after)?;
        let has_saved = done.summary.is_some() || done.is_pruned();
        let economy = has_saved.then(|| economy::actual(self.policy, before, after, &done.bill))?;
        self.report(source, CompactionEvent::Economy(&economy));
        Some(economy)
    }
}

#[cfg(test)]
mod cut_tests;
