//! The last step: the edits of the messages that stay.

use anyhow::Result;

use crate::exit::{Exit, Failure};
use crate::plan::Plan;
use crate::plan::size::Size;
use crate::presets::reasoning;
use crate::rewrite::thinking::{self, Removal};
use crate::rewrite::{self, Edit, Placed};
use crate::transcript::Transcript;
use crate::wording::{counted, readable_source};

use crate::compact::compaction::Edits;
use crate::compact::context::CompactionContext;
use crate::compact::decide::Planned;
use crate::compact::event::CompactionEvent;
use crate::compact::limit::{Fit, larger_fit, limit_name};
use crate::compact::summarize::Summary;
use crate::compact::{offload, pruned};

impl CompactionContext<'_> {
    /// Returns the edits of a plan, with its summary or without one.
    ///
    /// # Errors
    /// The result is larger than it may be.
    pub(super) fn rewrite(&self, source: &str, planned: &Planned<'_>, summary: Option<&Summary>) -> Result<Edits> {
        let plan = &planned.plan;
        if summary.is_none() && plan.cutoff > 0 {
            // Without a summary, the history stays unchanged.
            self.report_over_limit(source, planned);
            return Ok(self.leave(source, planned));
        }
        if summary.is_none() && planned.pruned.is_empty() {
            let mut edits = self.shorten(source, planned);
            if plan.triggered {
                edits = offload::fit_results(self.policy, source, planned, None, edits)?;
            }
            let (arguments, results) = (!planned.edits.is_empty(), !edits.files.is_empty());
            self.report(source, CompactionEvent::NotSummarized { arguments, results });
            return Ok(edits);
        }
        let placed = summary.map(|summary| &summary.placed);
        let edits = match placed {
            Some(_) => offload::fit_results(self.policy, source, planned, placed, self.edit_kept(source, planned))?,
            None => self.prune(source, planned),
        };
        self.report(source, CompactionEvent::Pruned(&planned.savings()));
        if let Some(tokens) = planned.fit.and_then(|fit| fit.cap) {
            self.report(source, CompactionEvent::Capped(tokens));
        }
        self.check_fit(source, planned, &edits, placed)?;
        Ok(edits)
    }

    /// Edits a conversation that is pruned and not summarized.
    fn prune(&self, source: &str, planned: &Planned<'_>) -> Edits {
        let Planned { transcript, pruned, thinking, .. } = planned;
        self.report(source, CompactionEvent::Thinking(thinking));
        let mut emptied: Vec<usize> = pruned.emptied.iter().chain(&thinking.emptied).copied().collect();
        emptied.sort_unstable();
        let mut edits: Vec<Edit> = planned
            .edits
            .iter()
            .chain(&pruned.edits)
            .chain(&thinking.edits)
            .chain(&pruned.unsent.edits)
            .cloned()
            .collect();
        rewrite::sort(&mut edits);
        let removal = Removal { edits, emptied: emptied.clone(), ..Removal::default() };
        Edits {
            plan: Plan { emptied, ..planned.plan.clone() },
            edits: removal.all_edits(transcript),
            sections: pruned::sections(self.policy, source, planned),
            files: pruned::files(self.policy, planned),
        }
    }

    /// Edits a conversation that stays although its plan cuts it: thinking behind a mask can be removed.
    fn leave(&self, source: &str, planned: &Planned<'_>) -> Edits {
        let transcript = planned.transcript;
        let behind = thinking::behind_change(transcript, None);
        let removal = thinking::removal(transcript, behind, self.policy.thinking, self.policy.reader_name());
        if removal.is_empty() {
            return Edits { plan: planned.plan.clone(), ..Edits::default() };
        }
        self.report(source, CompactionEvent::Thinking(&removal));
        let plan = Plan { emptied: removal.emptied.clone(), ..Plan::default() };
        Edits { plan, edits: removal.all_edits(transcript), ..Edits::default() }
    }

    /// Edits a conversation that is not summarized. Thinking behind the first edit can be removed.
    fn shorten(&self, source: &str, planned: &Planned<'_>) -> Edits {
        let Planned { transcript, edits: early, .. } = planned;
        let edited = early.first().map(|edit| thinking::message_at(transcript, edit));
        let behind = thinking::behind_change(transcript, edited);
        let removal = thinking::removal(transcript, behind, self.policy.thinking, self.policy.reader_name());
        self.report(source, CompactionEvent::Thinking(&removal));
        let mut edits = early.clone();
        let plan = Plan { emptied: removal.emptied.clone(), ..planned.plan.clone() };
        edits.extend(removal.all_edits(transcript));
        rewrite::sort(&mut edits);
        Edits { plan, edits, ..Edits::default() }
    }

    /// Edits the messages that stay beside a summary.
    pub(super) fn edit_kept(&self, source: &str, planned: &Planned<'_>) -> Edits {
        let Planned { transcript, pruned, thinking, plan, .. } = planned;
        let staying = planned.edits.iter().chain(&pruned.edits).filter(|edit| stays(transcript, plan, edit));
        let mut edits: Vec<Edit> = staying.chain(&pruned.unsent.edits).cloned().collect();
        self.report(source, CompactionEvent::Thinking(thinking));
        // DeepAgents removes the reasoning that it knows to be bound to the history, for any model.
        let is_unbound = self.policy.habits.files && thinking.is_empty();
        edits.extend(if is_unbound { reasoning::remove_bound(transcript, plan) } else { thinking.edits.clone() });
        rewrite::sort(&mut edits);
        let emptied = pruned.emptied.iter().filter(|index| **index >= plan.cutoff).chain(&thinking.emptied);
        let mut emptied: Vec<usize> = emptied.copied().collect();
        emptied.sort_unstable();
        let files = pruned::files(self.policy, planned);
        Edits { plan: Plan { emptied, ..plan.clone() }, edits, files, ..Edits::default() }
    }

    /// Reports a conversation that stays unchanged although it is larger than the limit of `--fit`.
    fn report_over_limit(&self, source: &str, planned: &Planned<'_>) {
        let tokens = planned.tokens(self.policy);
        if let Some(Fit { limit, .. }) = planned.fit.filter(|fit| tokens > fit.limit) {
            self.report(source, CompactionEvent::OverLimit { tokens, limit: &limit_name(self.policy, limit) });
        }
    }

    /// Checks that the result meets the limit of `--fit`.
    ///
    /// # Errors
    /// The result is larger.
    fn check_fit(&self, source: &str, planned: &Planned<'_>, edits: &Edits, placed: Option<&Placed>) -> Result<()> {
        // Bytes are checked once all edits are known.
        let by_bytes = matches!(self.policy.fit, Some(Size::Bytes(_)));
        let Some(Fit { limit, .. }) = planned.fit.filter(|_| !by_bytes) else { return Ok(()) };
        let tokens = offload::result_tokens(self.policy, planned.transcript, edits, placed);
        if tokens <= limit {
            return Ok(());
        }
        let (source, limit) = (readable_source(source), limit_name(self.policy, limit));
        let message = format!("{source}: the result would have {}, more than {limit}", counted(tokens, "token"));
        Err(Failure::new(Exit::SummaryRefused, message).try_next(larger_fit(tokens)).into())
    }
}

/// Whether an edit is in a message that stays.
fn stays(transcript: &Transcript<'_>, plan: &Plan, edit: &Edit) -> bool {
    let after = transcript.messages.partition_point(|message| message.span().start <= edit.range.start);
    let index = after.saturating_sub(1);
    index >= plan.cutoff || plan.pinned.binary_search(&index).is_ok()
}
