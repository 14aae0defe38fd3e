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
pub(crate) mod economy;
mod event;
mod fit;
mod masking;
mod message;
mod no_summary;
mod offload;
mod policy;
mod pruned;
mod reading;
mod summarize;

use anyhow::Result;

use crate::exit::{Exit, Failure};
use crate::plan::Plan;
use crate::presets::reasoning;
use crate::redact::Masked;
use crate::rewrite::thinking::Removal;
use crate::rewrite::{self, Edit, thinking};
use crate::transcript::Transcript;
use crate::transcript::view::Arena;
use crate::wording::readable_source;

pub(crate) use archive::{Archived, ChangedConversation, Section, archive_contents};
pub(crate) use compaction::{Account, Compaction};
pub use compactor::{CompactedText, Compactor, restore};
pub(crate) use context::CompactionContext;
pub(crate) use decide::{Decision, decide};
pub(crate) use event::CompactionEvent;
pub(crate) use fit::{Fit, FittedPlan, fit, limit_name};
pub(crate) use masking::{masked, redactor};
pub(crate) use offload::certain_files;
pub use policy::{Accept, CompactionPolicy, OnError, Pruning, SummaryPolicy};
pub(crate) use policy::{EXTRACTIVE, Emit, NOBODY, SummarizerKind, SummarizerModel, is_lines, is_no_model};
pub(crate) use reading::read;
pub(crate) use summarize::{Summary, SummarySource};

use summarize::{Attempt, summarize};

impl CompactionContext<'_> {
    /// Plans the compaction of a conversation.
    ///
    /// # Errors
    /// The conversation cannot be read with the early edits.
    pub(crate) fn plan<'t>(&self, transcript: &'t Transcript<'t>, arena: &'t Arena<'t>) -> Result<FittedPlan<'t>> {
        let mut fitted = fit(decide(transcript, self.policy, arena)?, self.policy);
        // The embedded summarizer can need less room than planned. Only a trial summary shows how much, and the room
        // that it leaves is for the messages behind it.
        if self.policy.summary.is_embedded() && fitted.fit.is_some() && fitted.plan.cutoff > 0 {
            let silent = CompactionContext { listen: &|_, _| (), ..*self };
            if let Some(summary) = summarize(&silent, "", &fitted).summary {
                fitted.use_trial(self.policy, summary.text, summary.tokens);
            }
        }
        Ok(fitted)
    }

    /// Carries a plan out: asks for the summary, and makes the edits.
    pub(crate) fn carry_out<'t>(&self, source: &str, mut fitted: FittedPlan<'t>) -> Compaction<'t> {
        let attempt = match fitted.check(source, self.policy) {
            Err(failure) => Attempt { failure: Some(failure), ..Attempt::default() },
            Ok(()) if fitted.plan.cutoff > 0 => summarize(self, source, &fitted),
            Ok(()) => Attempt::default(),
        };
        if self.policy.summary.is_embedded() && attempt.summary.is_none() && attempt.failure.is_none() {
            fitted.fall_back_on_pruning(self.policy);
        }
        self.rewrite(source, fitted, attempt)
    }

    /// Returns the compaction of a plan that is not carried out, because of a failure.
    pub(crate) fn refused<'t>(&self, fitted: FittedPlan<'t>, failure: anyhow::Error) -> Compaction<'t> {
        self.rewrite("", fitted, Attempt { failure: Some(failure), ..Attempt::default() })
    }

    /// The last step: makes the edits and the account.
    fn rewrite<'t>(&self, source: &str, fitted: FittedPlan<'t>, attempt: Attempt) -> Compaction<'t> {
        let Attempt { summary, archived, bill, redactor, error, failure } = attempt;
        let account = Account {
            bill,
            tokens_before: self.counts.then(|| fitted.tokens(self.policy)),
            error,
            ..Account::default()
        };
        let plan = fitted.plan.clone();
        let edits = Vec::new();
        let mut done = Compaction { fitted, plan, summary, edits, archived, account, redactor, failure };
        if done.failure.is_none()
            && let Err(failure) = self.edit(source, &mut done)
        {
            done.failure = Some(failure);
        }
        self.count_masks(source, &mut done);
        self.complete_account(source, &mut done);
        done
    }

    fn edit(&self, source: &str, done: &mut Compaction<'_>) -> Result<()> {
        match (&done.summary, done.plan.cutoff) {
            (Some(_), _) => {
                self.edit_kept(source, done);
                offload::fit_results(self.policy, source, done)?;
                self.report_pruning(source, done);
                self.check_fit(source, done)
            }
            (None, 0) if !done.fitted.pruned.is_empty() => {
                self.prune(source, done);
                self.report_pruning(source, done);
                self.check_fit(source, done)
            }
            (None, 0) => {
                self.shorten(source, done);
                if done.plan.triggered {
                    offload::fit_results(self.policy, source, done)?;
                }
                let (arguments, results) = (!done.fitted.edits.is_empty(), !done.archived.files.is_empty());
                self.report(source, CompactionEvent::NotSummarized { arguments, results });
                Ok(())
            }
            // Without a summary, the history stays unchanged.
            (None, _) => {
                self.report_over_limit(source, done);
                Ok(())
            }
        }
    }

    /// Edits a conversation that is pruned and not summarized.
    fn prune(&self, source: &str, done: &mut Compaction<'_>) {
        let FittedPlan { transcript, edits, pruned, thinking, .. } = &done.fitted;
        self.report(source, CompactionEvent::Thinking(thinking));
        let mut emptied: Vec<usize> = pruned.emptied.iter().chain(&thinking.emptied).copied().collect();
        emptied.sort_unstable();
        done.plan.emptied.clone_from(&emptied);
        let mut edits: Vec<Edit> = edits.iter().chain(&pruned.edits).chain(&thinking.edits).cloned().collect();
        rewrite::sort(&mut edits);
        done.edits = Removal { edits, emptied, ..Removal::default() }.all_edits(transcript);
        done.archived.extend(pruned::archived(self.policy, source, &done.fitted));
    }

    fn report_pruning(&self, source: &str, done: &Compaction<'_>) {
        self.report(source, CompactionEvent::Pruned(&done.fitted.accounts()));
        if let Some(tokens) = done.fitted.fit.and_then(|fit| fit.cap) {
            self.report(source, CompactionEvent::Capped(tokens));
        }
    }

    /// Reports a result that does not fit the window.
    fn check_window(&self, source: &str, done: &Compaction<'_>) {
        let Some(window) = self.policy.cut.context_window.filter(|_| done.failure.is_none()) else { return };
        if done.fitted.tokens(self.policy) <= window {
            return;
        }
        let tokens = done.account.tokens_after.unwrap_or_else(|| offload::result_tokens(self.policy, done));
        if tokens > window {
            self.report(source, CompactionEvent::TooLarge { tokens, window });
        }
    }

    /// Reports a conversation that stays unchanged although it is larger than the limit of `--fit`.
    fn report_over_limit(&self, source: &str, done: &Compaction<'_>) {
        let tokens = done.fitted.tokens(self.policy);
        if let Some(Fit { limit, .. }) = done.fitted.fit.filter(|fit| tokens > fit.limit) {
            self.report(source, CompactionEvent::OverLimit { tokens, limit: &limit_name(self.policy, limit) });
        }
    }

    /// Checks that the result meets the limit of `--fit`.
    ///
    /// # Errors
    /// The result is larger.
    fn check_fit(&self, source: &str, done: &Compaction<'_>) -> Result<()> {
        let Some(Fit { limit, .. }) = done.fitted.fit else { return Ok(()) };
        match offload::result_tokens(self.policy, done) {
            tokens if tokens > limit => {
                let source = readable_source(source);
                let limit = limit_name(self.policy, limit);
                let message = format!("{source}: the result would have {tokens} tokens, more than {limit}");
                Err(Failure::new(Exit::SummaryRefused, message)
                    .try_next(format!("tcompact --fit tokens:{tokens}"))
                    .into())
            }
            _ => Ok(()),
        }
    }

    /// Edits a conversation that is not summarized. Thinking behind the first edit can be removed.
    fn shorten(&self, source: &str, done: &mut Compaction<'_>) {
        let transcript = done.fitted.transcript;
        done.edits.clone_from(&done.fitted.edits);
        let messages = transcript.messages.len();
        let behind = done.edits.first().map_or(messages, |edit| thinking::message_at(transcript, edit) + 1);
        let reader = self.policy.reader_name();
        let removal = thinking::removal(transcript, behind..messages, self.policy.thinking, reader);
        self.report(source, CompactionEvent::Thinking(&removal));
        done.plan.emptied.clone_from(&removal.emptied);
        done.edits.extend(removal.all_edits(transcript));
        rewrite::sort(&mut done.edits);
    }

    /// Edits the messages that stay beside a summary.
    fn edit_kept(&self, source: &str, done: &mut Compaction<'_>) {
        let FittedPlan { transcript, edits, pruned, thinking, .. } = &done.fitted;
        let edits = edits.iter().chain(&pruned.edits).filter(|edit| stays(transcript, &done.plan, edit));
        done.edits = edits.cloned().collect();
        self.report(source, CompactionEvent::Thinking(thinking));
        // DeepAgents removes the reasoning that it knows to be bound to the history, for any model.
        let is_unbound = self.policy.habits.files && thinking.is_empty();
        let removed = if is_unbound { reasoning::remove_bound(transcript, &done.plan) } else { thinking.edits.clone() };
        done.edits.extend(removed);
        rewrite::sort(&mut done.edits);
        let cutoff = done.plan.cutoff;
        let emptied = pruned.emptied.iter().filter(|index| **index >= cutoff).chain(&thinking.emptied);
        done.plan.emptied = emptied.copied().collect();
        done.plan.emptied.sort_unstable();
        done.archived.files.extend(pruned::files(self.policy, &done.fitted));
    }

    /// Counts the secrets that were masked: in the history, and in texts of the result that were cut.
    fn count_masks(&self, source: &str, done: &mut Compaction<'_>) {
        let masked = done.fitted.masked.as_ref().map(Masked::redactor);
        let Some(redactor) = done.redactor.take().or(masked) else { return };
        let redactor = done.redactor.insert(redactor);
        done.edits.iter().for_each(|edit| redactor.count_masks(&edit.text));
        self.report(source, CompactionEvent::Redacted(redactor.counts()));
        done.account.redacted = Some(redactor.counts().clone());
    }

    /// Completes the account: tokens, money, and what went wrong.
    fn complete_account(&self, source: &str, done: &mut Compaction<'_>) {
        match &done.failure {
            Some(failure) => done.account.error = Some(failure.to_string()),
            None if self.counts && done.is_change() => {
                done.account.tokens_after = Some(offload::result_tokens(self.policy, done));
            }
            None => {}
        }
        self.check_window(source, done);
        let has_saved = done.summary.is_some() || done.is_pruned();
        let Compaction { account, redactor: masks, fitted, .. } = done;
        if let (Some((before, after)), true) = (account.tokens_before.zip(account.tokens_after), has_saved) {
            let economy = economy::actual(self.policy, before, after, &account.bill);
            self.report(source, CompactionEvent::Economy(&economy));
            account.economy = Some(economy);
        }
        if let Some(error) = account.error.take_if(|_| self.policy.redact) {
            // An error message of a server or a command can quote the conversation.
            let masks = masks.get_or_insert_with(|| redactor(fitted.transcript));
            account.error = Some(masks.mask(&error).into_owned());
        }
    }
}

/// Whether an edit is in a message that stays.
fn stays(transcript: &Transcript<'_>, plan: &Plan, edit: &Edit) -> bool {
    let after = transcript.messages.partition_point(|message| message.span().start <= edit.range.start);
    let index = after.saturating_sub(1);
    index >= plan.cutoff || plan.pinned.binary_search(&index).is_ok()
}

#[cfg(test)]
mod cut_tests;
