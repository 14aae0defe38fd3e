//! The second step: what is done to a conversation besides its summary, so that the result is as large as it may be.
//!
//! Today old arguments of tools are cut once it is known where the conversation is. Whatever else makes a result smaller
//! goes here, each as edits of the transcript: the conversation is seen again with them ([`view`]), and cut again.
//!
//! [`view`]: crate::transcript::view::view

use crate::plan::{Plan, total};
use crate::rewrite::Edit;
use crate::rewrite::thinking::{self, Removal};
use crate::tokens::Tally;
use crate::transcript::Transcript;

use crate::compact::decide::Decision;
use crate::compact::policy::CompactionPolicy;

/// What is to be done with a conversation.
pub struct FittedPlan<'t> {
    /// The conversation that the result is made of.
    pub transcript: &'t Transcript<'t>,
    /// The conversation as it was counted and cut, some edits made.
    pub seen: &'t Transcript<'t>,
    /// These edits, in order. In the result are those that fall into what stays.
    pub edits: Vec<Edit>,
    /// The sizes of the messages that were seen.
    pub tally: Tally<'t, 't>,
    /// Where it is cut.
    pub plan: Plan,
    /// Edits that follow from the cut, in order: the summarizer reads the history with them, and so is what stays of it.
    pub late_edits: Vec<Edit>,
    /// The thinking that goes from the messages which stay.
    pub thinking: Removal,
}

/// Makes a decision into a plan.
pub fn fit<'t>(decision: Decision<'t>, policy: &CompactionPolicy) -> FittedPlan<'t> {
    let Decision { transcript, seen, edits, tally, plan } = decision;
    let truncation = policy.truncation.as_ref().filter(|_| plan.cutoff > 0);
    let late_edits = truncation.map(|cut| cut.late_edits(transcript, plan.cutoff)).unwrap_or_default();
    let thinking = thinking_removed(transcript, &plan, policy);
    FittedPlan { transcript, seen, edits, tally, plan, late_edits, thinking }
}

impl FittedPlan<'_> {
    /// Tokens of the whole conversation, as it was counted.
    pub fn tokens(&self, policy: &CompactionPolicy) -> u64 {
        total(self.seen, &self.tally, &policy.cut)
    }
}

/// The thinking that goes from the messages which a plan has stay: none where it leaves their history as it was.
fn thinking_removed(transcript: &Transcript<'_>, plan: &Plan, policy: &CompactionPolicy) -> Removal {
    if plan.cutoff == 0 {
        return Removal::default();
    }
    let staying = thinking::staying(transcript, plan);
    thinking::removal(transcript, staying, policy.thinking, policy.reader_name())
}
