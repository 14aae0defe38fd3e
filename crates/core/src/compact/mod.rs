//! The compaction of a conversation in four steps, each a function of the value of the one before:
//!
//! | step | value | decides |
//! |---|---|---|
//! | [`decide()`] | [`Decided`] | whether to compact, and where `--keep` cuts |
//! | `fit` | [`Fitted`] | what is pruned, and where the cut is so that the result fits |
//! | `summarize` | [`Summarized`] | what takes the place of the history |
//! | `rewrite` | [`Compaction`] | the edits, the archive, what it saved |
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
mod driver;
mod earlier;
mod event;
mod fit;
mod handoff;
mod large_results;
mod limit;
mod masks;
mod message;
mod policy;
mod record_ids;
mod result_size;
mod rewriting;
mod slim;
mod slim_lines;
mod summarize;
mod views;
mod worth;

use std::rc::Rc;

use anyhow::Result;

use crate::plan::economy::Economy;
use crate::plan::size::Size;
use crate::redact::Redactor;
use crate::rewrite::Masked;
use crate::transcript::Transcript;
use crate::transcript::compaction::ResetCounts;
use crate::transcript::view::Arena;
use crate::wording::counted;

pub use archive::{Archived, ChangedConversation, Record, Section, archive_contents, archive_line};
pub use compaction::Compaction;
pub use compactor::{CompactedText, Compactor, restore};

pub use context::CompactionContext;
pub use decide::{Decided, decide};
pub use driver::{Changes, Conversation, Original, Planned, conversations, read};
pub use earlier::EarlierSummary;
pub use event::CompactionEvent;
pub use fit::Fitted;
pub use large_results::certain_files;
pub use masks::FileMasks;
pub use policy::{Accept, CompactionPolicy, OnError, Pruning, Redaction, SummaryPolicy};
pub use policy::{
    ArchiveNote, EXTRACTIVE, Emit, NOBODY, SUMMARY_TOKENS, SummarizerKind, SummarizerModel, archive_extension,
    is_lines, is_no_model, ledger_room,
};
pub use record_ids::assign_record_ids;
pub use slim::{Slimmed, context_difference, slim, unsent_bytes};
pub use slim_lines::{LineSlimmer, UnsentFinder};
pub use summarize::{Summary, SummarySource};
pub use views::{masked, redactor};
pub use worth::estimated_economy;

use compaction::Edits;
use earlier::earlier_summaries;
use limit::bytes_failure;
use message::message_bytes;
use summarize::{SummaryAttempt, attempt};

/// The result of the third step: a plan, and what came of asking for its summary.
pub struct Summarized<'t> {
    fitted: Fitted<'t>,
    attempt: SummaryAttempt,
}

impl<'c> CompactionContext<'c> {
    /// The first two steps: makes a plan for a conversation. `unmasked` is the same before all of its secrets were masked.
    ///
    /// # Errors
    /// As [`CompactionContext::plan`].
    fn fit<'t>(
        &self,
        transcript: &'t Transcript<'t>,
        unmasked: &'t Transcript<'t>,
        arena: &'t Arena<'t>,
    ) -> Result<Fitted<'t>>
    where
        'c: 't,
    {
        let decided = Rc::new(decide(transcript, unmasked, self.policy, arena)?);
        decided.check_rules()?;
        let silent = CompactionContext { listen: &|_, _| (), counts: false, counts_savings: false, ..*self };
        let draft = |fitted: &Fitted<'t>| {
            attempt(&silent, "", fitted).summary.map(|Summary { text, tokens, .. }| fit::Draft { text, tokens })
        };
        let fit_tokens = |tokens| fit::fit(decided.clone(), Some(tokens), draft);
        let is_asked = matches!(self.policy.summary.summarizer, SummarizerKind::Model | SummarizerKind::Command);
        let is_handoff = self.policy.emit == Emit::Handoff && !is_asked;
        Ok(match self.policy.fit {
            Some(Size::Bytes(limit)) => fit::fit_bytes(decided.clone(), limit, fit_tokens, |fitted| {
                if is_handoff { silent.handoff_size(fitted).1 } else { silent.written_bytes(fitted) }
            }),
            _ => match fit::limit_of(self.policy) {
                Some(limit) if is_handoff => silent.fit_handoff(limit, fit_tokens),
                limit => fit::fit(decided, limit, draft),
            },
        })
    }

    /// The last two steps: asks for the summary of a plan, and makes the edits.
    fn carry_out<'t>(&self, source: &str, fitted: Fitted<'t>) -> Compaction<'t> {
        let is_handoff = self.policy.emit == Emit::Handoff;
        let fitted = if is_handoff { self.with_room_for_headings(fitted) } else { fitted };
        let done = self.rewrite(source, self.summarize(source, fitted));
        if done.failure.is_some() {
            return done;
        }
        if is_handoff {
            return self.with_handoff(source, done);
        }
        match self.check_bytes(source, &done) {
            Ok(()) => done,
            Err(failure) => done.without_result(failure),
        }
    }

    /// The compaction with its result as plain text.
    fn with_handoff<'t>(&self, source: &str, done: Compaction<'t>) -> Compaction<'t> {
        let mut redactor = done.redactor_of_shown(self.policy);
        match handoff::handoff(self.policy, source, &done, redactor.as_mut()) {
            Ok(text) => Compaction { handoff: Some(text), redactor, ..done },
            Err(failure) => done.without_result(failure),
        }
    }

    /// The third step: asks for the summary of a plan that needs one.
    fn summarize<'t>(&self, source: &str, fitted: Fitted<'t>) -> Summarized<'t> {
        let attempt = match fitted.check(source) {
            Err(failure) => SummaryAttempt { failure: Some(failure.into()), ..SummaryAttempt::default() },
            Ok(()) if fitted.plan.cutoff > 0 => attempt(self, source, &fitted),
            Ok(()) => SummaryAttempt::default(),
        };
        let has_none = self.policy.summary.is_embedded() && attempt.summary.is_none() && attempt.failure.is_none();
        Summarized { fitted: if has_none { fitted.or_pruned_alone() } else { fitted }, attempt }
    }

    /// Tells what will become of the earlier summaries that a plan replaces, without asking a model.
    pub fn earlier_of_plan(&self, fitted: &Fitted<'_>) -> Vec<EarlierSummary> {
        if fitted.plan.cutoff == 0 || earlier_summaries(fitted, None).is_empty() {
            return Vec::new();
        }
        match self.policy.summary.summarizer {
            SummarizerKind::Model | SummarizerKind::Command => earlier_summaries(fitted, None),
            SummarizerKind::Off => earlier_summaries(fitted, Some("")),
            SummarizerKind::Embedded => {
                let silent = CompactionContext { listen: &|_, _| (), ..*self };
                match attempt(&silent, "", fitted).summary {
                    Some(summary) => earlier_summaries(fitted, Some(&summary.text)),
                    None => Vec::new(),
                }
            }
        }
    }

    /// The compaction of a plan that is not carried out, because of a failure.
    fn refuse<'t>(&self, fitted: Fitted<'t>, failure: anyhow::Error) -> Compaction<'t> {
        let attempt = SummaryAttempt { failure: Some(failure), ..SummaryAttempt::default() };
        self.rewrite("", Summarized { fitted, attempt })
    }

    /// The last step: makes the edits, and counts what they cost and save.
    fn rewrite<'t>(&self, source: &str, summarized: Summarized<'t>) -> Compaction<'t> {
        let Summarized { fitted, attempt: SummaryAttempt { summary, mut archived, session, left, error, failure } } =
            summarized;
        let rewritten = match failure {
            Some(failure) => Err(failure),
            None => self.edits(source, &fitted, summary.as_ref()),
        };
        let (edits, failure) = match rewritten {
            Ok(edits) => (edits, None),
            Err(failure) => (Edits { plan: fitted.plan.clone(), ..Edits::default() }, Some(failure)),
        };
        let transcript = fitted.decided.transcript;
        let mut masks = self.count_masks(source, &fitted, session.redactor, &edits);
        let redacted = masks.as_ref().map(|masks| masks.counts().clone());
        let mut error = failure.as_ref().map(ToString::to_string).or(error);
        if let Some(error) = &mut error
            && self.policy.redact.is_on()
        {
            // An error message of a server or a command can quote the conversation.
            let masks = masks.get_or_insert_with(|| redactor(transcript));
            *error = masks.mask(error).into_owned();
        }
        let placed = summary.as_ref().map(|summary| &summary.placed);
        // What is not sent has no size that the session recorded.
        let is_change = failure.is_none() && (summary.is_some() || !edits.edits.is_empty());
        let result_tokens = || result_size::result_tokens(self.policy, transcript, &edits, placed);
        let tokens_after = if self.counts && is_change { Some(result_tokens()) } else { None };
        if failure.is_none() {
            self.check_window(source, &fitted, tokens_after, result_tokens);
        }
        let resets = if is_change && self.policy.emit == Emit::Messages {
            rewriting::resets(transcript, &edits.plan, placed, &result_tokens)
        } else {
            Vec::new()
        };
        if let Some(as_agent) = transcript.format.size_reset {
            self.report(source, CompactionEvent::Reset(ResetCounts::of(&resets), as_agent));
        }
        let earlier = match &summary {
            Some(summary) => {
                let is_by_model = summary.by == SummarySource::Summarizer && !self.policy.summary.is_embedded();
                earlier_summaries(&fitted, if is_by_model { None } else { Some(&summary.text) })
            }
            None => Vec::new(),
        };
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
            tokens_before: if self.counts { Some(fitted.tokens()) } else { None },
            tokens_after,
            economy: None,
            redacted,
            left,
            error,
            redactor: masks,
            failure,
            handoff: None,
            fitted,
        };
        Compaction { economy: self.economy(source, &done), ..done }
    }

    /// Checks that the messages have no more bytes than `--fit bytes:N` says: a model's summary can be long.
    fn check_bytes(&self, source: &str, done: &Compaction<'_>) -> Result<()> {
        let Some(Size::Bytes(limit)) = self.policy.fit else { return Ok(()) };
        if !done.is_change() {
            return Ok(());
        }
        let bytes = done.written_bytes();
        if bytes > limit {
            let what = format!("the result would have {}, more than --fit bytes:{limit}", counted(bytes, "byte"));
            let present = message_bytes(done.fitted.decided.transcript);
            return Err(bytes_failure(source, &what, bytes, present).into());
        }
        Ok(())
    }

    /// Counts the secrets that were masked: in the history, and in texts of the result that were cut.
    fn count_masks(
        &self,
        source: &str,
        fitted: &Fitted<'_>,
        of_history: Option<Redactor>,
        edits: &Edits,
    ) -> Option<Redactor> {
        let mut redactor = of_history.or_else(|| fitted.decided.masked.as_ref().map(Masked::redactor))?;
        redactor.count_masks(edits.edits.iter().map(|edit| &*edit.text));
        self.report(source, CompactionEvent::Redacted(redactor.counts()));
        Some(redactor)
    }

    /// Reports a result that does not fit the window.
    fn check_window(
        &self,
        source: &str,
        fitted: &Fitted<'_>,
        tokens_after: Option<u64>,
        result_tokens: impl FnOnce() -> u64,
    ) {
        let Some(window) = self.policy.cut.context_window else { return };
        if fitted.tokens() > window {
            let tokens = tokens_after.unwrap_or_else(result_tokens);
            if tokens > window {
                self.report(source, CompactionEvent::TooLarge { tokens, window });
            }
        }
    }

    /// Reports what a compaction is worth, and returns it; none where nothing was saved or counted.
    fn economy(&self, source: &str, done: &Compaction<'_>) -> Option<Economy> {
        let (before, after) = (done.tokens_before?, done.tokens_after?);
        if done.summary.is_none() && !done.is_pruned() {
            return None;
        }
        let economy = worth::actual_economy(self.policy, before, after, &done.bill);
        self.report(source, CompactionEvent::Economy(&economy));
        Some(economy)
    }
}

#[cfg(test)]
mod cut_tests;
