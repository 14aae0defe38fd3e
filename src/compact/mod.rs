//! One conversation's way: decide, fit, summarize, rewrite. Each step is a function of what the one before it gives, and
//! the last gives a [`Compaction`], which holds all that is known. Whatever is shown or written is drawn from that.
//!
//! Several steps look at the conversation with some of its messages shortened. Those edits are made on a view; the result
//! is always made of the source, with the edits that fall into what stays.
//!
//! What is not here: where conversations come from and results go, who answers a summarizer's requests, and who is told.

mod archive;
mod ask;
mod compaction;
mod compactor;
mod context;
mod decide;
pub mod economy;
mod fit;
mod happening;
mod masking;
mod message;
mod offload;
mod policy;
mod reading;
mod summarize;

use anyhow::Result;

use crate::plan::Plan;
use crate::rewrite::{self, Edit, reasoning, thinking};
use crate::transcript::Transcript;
use crate::transcript::view::Arena;

pub use archive::{Archived, ChangedConversation, Files, Section, kept};
pub use compaction::{Account, Compaction};
pub use compactor::{CompactedText, Compactor, restore};
pub use context::CompactionContext;
pub use decide::{Decision, decide};
pub use fit::{FittedPlan, fit};
pub use happening::Happening;
pub use masking::{masked, redactor};
pub use offload::certain_files;
pub use policy::{
    Accept, CompactionPolicy, EXTRACTIVE, Emit, OnError, SummarizerKind, SummarizerModel, SummaryPolicy, Ways, is_lines,
};
pub use reading::read;
pub use summarize::{Summary, SummarySource};

use summarize::{Attempt, summarize};

impl CompactionContext<'_> {
    /// What is to be done with a conversation.
    ///
    /// # Errors
    /// With its arguments cut it is no conversation.
    pub fn plan<'t>(&self, transcript: &'t Transcript<'t>, arena: &'t Arena<'t>) -> Result<FittedPlan<'t>> {
        Ok(fit(decide(transcript, self.policy, arena)?, self.policy))
    }

    /// Does it: has the summary written, and makes the edits.
    pub fn carry_out<'t>(&self, source: &str, fitted: FittedPlan<'t>) -> Compaction<'t> {
        let attempt = if fitted.plan.cutoff > 0 { summarize(self, source, &fitted) } else { Attempt::default() };
        self.rewrite(source, fitted, attempt)
    }

    /// The compaction that a plan comes to which is not carried out.
    pub fn refused<'t>(&self, fitted: FittedPlan<'t>, failure: anyhow::Error) -> Compaction<'t> {
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
                offload::fit_results(self.policy, source, done)
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
        let FittedPlan { transcript, edits, late_edits, thinking, .. } = &done.fitted;
        let edits = edits.iter().chain(late_edits).filter(|edit| stays(transcript, &done.plan, edit));
        done.edits = edits.cloned().collect();
        self.tell(source, Happening::Thinking(thinking));
        // DeepAgents removes what it knows to be bound, whatever the model.
        let is_unbound = self.policy.ways.files && thinking.is_empty();
        let removed = if is_unbound { reasoning::unbound(transcript, &done.plan) } else { thinking.edits.clone() };
        done.edits.extend(removed);
        rewrite::sort(&mut done.edits);
        done.plan.emptied.clone_from(&thinking.emptied);
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
        let Compaction { account, redactor: masks, fitted, .. } = done;
        if let (Some((before, after)), true) = (account.tokens_before.zip(account.tokens_after), done.summary.is_some())
        {
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
