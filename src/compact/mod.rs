//! One conversation's way: decide, fit, summarize, rewrite. Each step is a function of what the one before it gives, and
//! the last gives a [`Compaction`], which holds all that is known. Whatever is shown or written is drawn from that.
//!
//! Several steps look at the conversation with some of its messages shortened. Those edits are made on a view; the result
//! is always made of the source, with the edits that fall into what stays.
//!
//! What is not here: where conversations come from and results go, who answers a summarizer's requests, and who is told.

mod advice;
mod archive;
mod ask;
mod compaction;
mod compactor;
mod context;
mod decide;
pub(crate) mod economy;
mod fit;
mod happening;
mod masking;
mod message;
mod offload;
mod policy;
mod pruned;
mod reading;
mod summarize;

use anyhow::Result;

use crate::exit::{Exit, Failure};
use crate::plan::Plan;
use crate::rewrite::thinking::Removal;
use crate::rewrite::{self, Edit, reasoning, thinking};
use crate::transcript::Transcript;
use crate::transcript::view::Arena;
use crate::wording::readable_source;

pub(crate) use archive::{Archived, ChangedConversation, Section, kept};
pub(crate) use compaction::{Account, Compaction};
pub use compactor::{CompactedText, Compactor, restore};
pub(crate) use context::CompactionContext;
pub(crate) use decide::{Decision, decide};
pub(crate) use fit::{Fit, FittedPlan, fit};
pub(crate) use happening::Happening;
pub(crate) use masking::{masked, redactor};
pub(crate) use offload::certain_files;
pub use policy::{Accept, CompactionPolicy, OnError, Pruning, SummaryPolicy};
pub(crate) use policy::{EXTRACTIVE, Emit, NOBODY, SummarizerKind, SummarizerModel, Ways, is_lines, is_no_model};
pub(crate) use reading::read;
pub(crate) use summarize::{Summary, SummarySource};

use summarize::{Attempt, summarize};

impl CompactionContext<'_> {
    /// What is to be done with a conversation.
    ///
    /// # Errors
    /// With its arguments cut it is no conversation.
    pub(crate) fn plan<'t>(&self, transcript: &'t Transcript<'t>, arena: &'t Arena<'t>) -> Result<FittedPlan<'t>> {
        let mut fitted = fit(decide(transcript, self.policy, arena)?, self.policy);
        // How much there is to tell is known only when it is told, wherever the cut is; what the summary leaves goes to the
        // messages behind it.
        if self.policy.summary.is_embedded() && fitted.fit.is_some() && fitted.plan.cutoff > 0 {
            let silent = CompactionContext { listen: &|_, _| (), keeps_facts: false, ..*self };
            if let Some(summary) = summarize(&silent, "", &fitted).summary {
                fitted.cut_earlier(self.policy, summary.tokens);
            }
        }
        Ok(fitted)
    }

    /// Does it: has the summary written, and makes the edits.
    pub(crate) fn carry_out<'t>(&self, source: &str, fitted: FittedPlan<'t>) -> Compaction<'t> {
        let attempt = match fitted.check(source) {
            Err(failure) => Attempt { failure: Some(failure), ..Attempt::default() },
            Ok(()) if fitted.plan.cutoff > 0 => summarize(self, source, &fitted),
            Ok(()) => Attempt::default(),
        };
        self.rewrite(source, fitted, attempt)
    }

    /// The compaction that a plan comes to which is not carried out.
    pub(crate) fn refused<'t>(&self, fitted: FittedPlan<'t>, failure: anyhow::Error) -> Compaction<'t> {
        self.rewrite("", fitted, Attempt { failure: Some(failure), ..Attempt::default() })
    }

    /// The last step: the edits, and the account of it all.
    fn rewrite<'t>(&self, source: &str, fitted: FittedPlan<'t>, attempt: Attempt) -> Compaction<'t> {
        let Attempt { summary, archived, bill, redactor, facts, error, failure } = attempt;
        let account = Account {
            bill,
            tokens_before: self.counts.then(|| fitted.tokens(self.policy)),
            redacted: redactor.as_ref().map(|redactor| redactor.counts().clone()),
            error,
            ..Account::default()
        };
        let plan = fitted.plan.clone();
        let edits = Vec::new();
        let mut done = Compaction { fitted, plan, summary, edits, archived, account, redactor, facts, failure };
        if done.failure.is_none()
            && let Err(failure) = self.edit(source, &mut done)
        {
            done.failure = Some(failure);
        }
        self.settle(source, &mut done);
        done
    }

    fn edit(&self, source: &str, done: &mut Compaction<'_>) -> Result<()> {
        match (&done.summary, done.plan.cutoff) {
            (Some(_), _) => {
                self.edit_what_stays(source, done);
                offload::fit_results(self.policy, source, done)?;
                self.tell_of_pruning(source, done);
                self.check_fit(source, done)
            }
            (None, 0) if !done.fitted.pruned.is_empty() => {
                self.prune(source, done);
                self.tell_of_pruning(source, done);
                self.check_fit(source, done)
            }
            (None, 0) => {
                self.shorten(source, done);
                if done.plan.triggered {
                    offload::fit_results(self.policy, source, done)?;
                }
                let (arguments, results) = (!done.fitted.edits.is_empty(), !done.archived.files.is_empty());
                self.tell(source, Happening::NotSummarized { arguments, results });
                Ok(())
            }
            // There is no summary, and the history stays as it is.
            (None, _) => Ok(()),
        }
    }

    /// Edits a conversation that is pruned, and of which nothing is summarized.
    fn prune(&self, source: &str, done: &mut Compaction<'_>) {
        let FittedPlan { transcript, edits, pruned, thinking, .. } = &done.fitted;
        self.tell(source, Happening::Thinking(thinking));
        let mut emptied: Vec<usize> = pruned.emptied.iter().chain(&thinking.emptied).copied().collect();
        emptied.sort_unstable();
        done.plan.emptied.clone_from(&emptied);
        let mut edits: Vec<Edit> = edits.iter().chain(&pruned.edits).chain(&thinking.edits).cloned().collect();
        rewrite::sort(&mut edits);
        done.edits = Removal { edits, emptied, ..Removal::default() }.all_edits(transcript);
        done.archived.extend(pruned::archived(self.policy, source, &done.fitted));
    }

    fn tell_of_pruning(&self, source: &str, done: &Compaction<'_>) {
        self.tell(source, Happening::Pruned(&done.fitted.accounts()));
        if let Some(tokens) = done.fitted.fit.and_then(|fit| fit.cap) {
            self.tell(source, Happening::Capped(tokens));
        }
    }

    /// Tells where the result does not fit the window.
    fn check_window(&self, source: &str, done: &Compaction<'_>) {
        let Some(window) = self.policy.cut.context_window.filter(|_| done.failure.is_none()) else { return };
        if done.fitted.tokens(self.policy) <= window {
            return;
        }
        let tokens = done.account.tokens_after.unwrap_or_else(|| offload::left(self.policy, done));
        if tokens > window {
            self.tell(source, Happening::TooLarge { tokens, window });
        }
    }

    /// Whether the result is as large as it may be.
    ///
    /// # Errors
    /// It is larger.
    fn check_fit(&self, source: &str, done: &Compaction<'_>) -> Result<()> {
        let Some(Fit { limit, .. }) = done.fitted.fit else { return Ok(()) };
        match offload::left(self.policy, done) {
            left if left > limit => {
                let source = readable_source(source);
                let message = format!("{source}: the result would have {left} tokens, more than the {limit} of --fit");
                Err(Failure::new(Exit::SummaryRefused, message)
                    .try_next(format!("tcompact --fit tokens:{left}"))
                    .into())
            }
            _ => Ok(()),
        }
    }

    /// Edits a conversation of which nothing is summarized; thinking behind the first of its edits may go.
    fn shorten(&self, source: &str, done: &mut Compaction<'_>) {
        let transcript = done.fitted.transcript;
        done.edits.clone_from(&done.fitted.edits);
        let messages = transcript.messages.len();
        let behind = done.edits.first().map_or(messages, |edit| thinking::message_at(transcript, edit) + 1);
        let reader = self.policy.reader_name();
        let removal = thinking::removal(transcript, behind..messages, self.policy.thinking, reader);
        self.tell(source, Happening::Thinking(&removal));
        done.plan.emptied.clone_from(&removal.emptied);
        done.edits.extend(removal.all_edits(transcript));
        rewrite::sort(&mut done.edits);
    }

    /// Edits the messages that stay beside a summary.
    fn edit_what_stays(&self, source: &str, done: &mut Compaction<'_>) {
        let FittedPlan { transcript, edits, pruned, thinking, .. } = &done.fitted;
        let edits = edits.iter().chain(&pruned.edits).filter(|edit| stays(transcript, &done.plan, edit));
        done.edits = edits.cloned().collect();
        self.tell(source, Happening::Thinking(thinking));
        // DeepAgents removes what it knows to be bound, whatever the model.
        let is_unbound = self.policy.ways.files && thinking.is_empty();
        let removed = if is_unbound { reasoning::remove_bound(transcript, &done.plan) } else { thinking.edits.clone() };
        done.edits.extend(removed);
        rewrite::sort(&mut done.edits);
        let cutoff = done.plan.cutoff;
        let emptied = pruned.emptied.iter().filter(|index| **index >= cutoff).chain(&thinking.emptied);
        done.plan.emptied = emptied.copied().collect();
        done.plan.emptied.sort_unstable();
        done.archived.files.extend(pruned::files(self.policy, &done.fitted));
    }

    /// Accounts for what was done: tokens, money, and what went wrong.
    fn settle(&self, source: &str, done: &mut Compaction<'_>) {
        match &done.failure {
            Some(failure) => done.account.error = Some(failure.to_string()),
            None if self.counts && done.is_change() => {
                done.account.tokens_after = Some(offload::left(self.policy, done));
            }
            None => {}
        }
        self.check_window(source, done);
        let has_saved = done.summary.is_some() || done.is_pruned();
        let Compaction { account, redactor: masks, fitted, .. } = done;
        if let (Some((before, after)), true) = (account.tokens_before.zip(account.tokens_after), has_saved) {
            let economy = economy::actual(self.policy, before, after, &account.bill);
            self.tell(source, Happening::Economy(&economy));
            account.economy = Some(economy);
        }
        if let Some(error) = account.error.take_if(|_| self.policy.redact) {
            // What a server or a command says in an error can be of the conversation.
            let masks = masks.get_or_insert_with(|| redactor(fitted.transcript));
            account.error = Some(masks.mask(&error).into_owned());
        }
    }
}

/// Whether an edit falls into a message that stays.
fn stays(transcript: &Transcript<'_>, plan: &Plan, edit: &Edit) -> bool {
    let after = transcript.messages.partition_point(|message| message.span().start <= edit.range.start);
    let index = after.saturating_sub(1);
    index >= plan.cutoff || plan.pinned.binary_search(&index).is_ok()
}
