//! The second step: the changes besides the summary, which make the result as small as it must be.
//!
//! Without `--fit`, the rules of `--prune` apply to all messages before the kept part, and the plan stays where
//! `--keep` put it. With `--fit`, they apply only as far as needed. Where that is not enough, the conversation is cut,
//! as early as it fits. Where even that is not enough, long results of the kept part lose their middle. A conversation
//! then has three zones: the summarized messages, the pruned messages behind the summary, and the kept part.
//!
//! A way to make it fit is a [`Candidate`]. The search for a size makes several, and returns the best.

mod bytes;
mod search;

use std::cell::OnceCell;
use std::collections::BTreeMap;
use std::ops::Range;
use std::rc::Rc;

use anyhow::Result;

use crate::exit::Failure;
use crate::plan::{CutPolicy, Plan};
use crate::prune::{Pruned, PrunedUnsent, RuleSavings, UnsentRules, find_unsent, unsent_rule};
use crate::rewrite::thinking::{Removal, message_at};
use crate::rewrite::{Edit, sort};
use crate::transcript::Transcript;
use crate::transcript::formats::read_entry;
use crate::transcript::view::{Arena, edited};

use crate::compact::decide::{Decided, decide};
use crate::compact::limit::{Fit, LEFT_FOREIGN, ReachableSizes, Unmet, limit_name};
use crate::compact::message::message_bytes;
use crate::compact::policy::{CompactionPolicy, Emit, SummarizerKind};

pub(super) use bytes::fit_bytes;
pub(super) use search::largest;
use search::{LimitSearch, can_be_met, least_limit, search};

/// Room of less than this part of the limit stays unused.
const SPARE: u64 = 20;

/// A way to make a conversation fit.
#[derive(Clone)]
struct Candidate {
    plan: Plan,
    /// The first message of the kept part.
    kept_from: usize,
    pruned: Pruned,
    /// The limit and how it is met, where there is one.
    fit: Option<Fit>,
}

/// What came of making a conversation fit.
struct Found {
    best: Candidate,
    /// The candidate that only prunes, where that meets the limit too and a summary only saves more.
    pruned_alone: Option<Candidate>,
    /// Why no candidate meets the limit. The best is then a conversation without a cut.
    unmet: Option<Unmet>,
}

/// The result of the second step: the plan for a conversation.
pub struct Fitted<'t> {
    pub decided: Rc<Decided<'t>>,
    /// Where the conversation is cut.
    pub plan: Plan,
    /// The first message of the kept part.
    pub kept_from: usize,
    /// The pruning. Messages that stay are pruned in the result; a model reads the history pruned.
    pub pruned: Pruned,
    /// The thinking that is removed from messages that stay.
    pub thinking: Removal,
    /// How the conversation fits `--fit`, where that is given.
    pub fit: Option<Fit>,
    /// Why nothing meets `--fit`.
    unmet: Option<Unmet>,
    /// The embedded summarizer's text for this plan, where it was written to find the cut.
    pub(super) draft: Option<String>,
    pruned_alone: Option<Candidate>,
    /// The tokens that messages with removed thinking keep, counted when they are first needed.
    thinking_sizes: OnceCell<BTreeMap<usize, u64>>,
}

/// A summary by the embedded summarizer, with the tokens of its message.
pub(super) struct Draft {
    pub(super) text: String,
    pub(super) tokens: u64,
}

/// Makes a conversation fit a limit of tokens, where there is one. `draft` writes the embedded summarizer's summary for a
/// plan: that can need less room than planned, and the room that it leaves is for the messages behind it.
pub(super) fn fit<'t>(
    decided: Rc<Decided<'t>>,
    limit: Option<u64>,
    draft: impl Fn(&Fitted<'t>) -> Option<Draft>,
) -> Fitted<'t> {
    // A summary of fewer messages is shorter again.
    const DRAFTS: usize = 3;
    let mut fitted = without_draft(decided, limit);
    for _ in 0..DRAFTS {
        if !fitted.decided.policy.summary.is_embedded() || fitted.fit.is_none() || fitted.plan.cutoff == 0 {
            break;
        }
        let Some(summary) = draft(&fitted) else { break };
        match fitted.beside(summary.tokens) {
            Some(better) => fitted = better,
            // With --redact, the secrets in it are counted when it is written.
            None if fitted.decided.policy.redact.is_on() => break,
            None => return Fitted { draft: Some(summary.text), ..fitted },
        }
    }
    fitted
}

/// Makes a conversation fit a limit, with as much room for the summary as it can need.
pub(super) fn without_draft(decided: Rc<Decided<'_>>, limit: Option<u64>) -> Fitted<'_> {
    let Found { best, pruned_alone, unmet } = match limit {
        _ if !decided.may_act() => Candidate::of(&decided).into(),
        Some(limit) => search(&decided, limit),
        None => prune(&decided).into(),
    };
    if best.fit.is_none() && decided.leaves_foreign(&best.plan, &best.pruned) {
        let unchanged = Candidate::unchanged(&decided, LEFT_FOREIGN.to_owned());
        return Fitted::new(decided, unchanged.into());
    }
    Fitted::new(decided, Found { best, pruned_alone, unmet })
}

/// The limit of `--fit` in tokens, where it is known.
pub(super) fn limit_of(policy: &CompactionPolicy) -> Option<u64> {
    policy.fit.and_then(|size| size.in_tokens(policy.cut.context_window))
}

/// Applies the rules of `--prune` to all messages before the kept part.
fn prune(decided: &Decided<'_>) -> Candidate {
    let Decided { policy, plan, .. } = decided;
    let nobody = policy.summary.summarizer == SummarizerKind::Off;
    let rules = &policy.pruning.rules;
    if rules.is_empty() {
        // Only where the user asked for a cut, a note takes the place of the history.
        if nobody && !policy.keep_is_given && policy.cut.triggers.is_empty() {
            let why = "--model none writes no summary, and no rule prunes; give --prune all";
            return Candidate::unchanged(decided, why.to_owned());
        }
        return Candidate::of(decided);
    }
    let kept_from = plan.kept_from;
    let pinned = decided.pinned_before(&policy.cut, kept_from);
    let is_free = |index| (plan.start..kept_from).contains(&index) && pinned.binary_search(&index).is_err();
    let mut pruned = decided.pruned(is_free, rules, None);
    let unsent_plan = if nobody { plan.clone().without_cut() } else { plan.clone() };
    pruned.unsent = unsent_of(decided, &unsent_plan, &pruned.emptied);
    if nobody && pruned.is_empty() {
        let reason = match &plan.reason {
            Some(reason) if kept_from == 0 => reason.clone(),
            _ => "there is nothing to prune".to_owned(),
        };
        return Candidate::unchanged(decided, reason);
    }
    if !pruned.is_empty() && (nobody || plan.cutoff == 0) {
        return Candidate { plan: plan.clone().without_cut(), kept_from, pruned, fit: None };
    }
    Candidate { pruned, ..Candidate::of(decided) }
}

/// What goes of the entries that stay and that no model is sent. Only a transcript that is written has them.
fn unsent_of(decided: &Decided<'_>, plan: &Plan, emptied: &[usize]) -> PrunedUnsent {
    let changes = decided.unsent();
    if changes.is_empty() || decided.policy.emit != Emit::Messages {
        return PrunedUnsent::default();
    }
    PrunedUnsent::of(changes, &places_gone(decided.transcript, plan, emptied))
}

/// The places of the entries that a plan removes, in order.
fn places_gone(transcript: &Transcript<'_>, plan: &Plan, emptied: &[usize]) -> Vec<Range<usize>> {
    let mut gone_messages = vec![false; transcript.messages.len()];
    let mut gone: Vec<Range<usize>> = Vec::new();
    if plan.cutoff > 0 {
        for index in plan.replaced() {
            gone_messages[index] = true;
        }
        for (note, is_gone) in transcript.notes.iter().zip(plan.notes_gone(&transcript.notes, &gone_messages)) {
            if is_gone {
                gone.push(note.json.span());
            }
        }
    }
    for index in emptied {
        gone_messages[*index] = true;
    }
    for (message, is_gone) in transcript.messages.iter().zip(gone_messages) {
        if is_gone {
            gone.push(message.span());
        }
    }
    gone.sort_by_key(|span| span.start);
    gone
}

impl Candidate {
    /// The plan as it was decided.
    fn of(decided: &Decided<'_>) -> Self {
        let plan = decided.plan.clone();
        Candidate { kept_from: plan.cutoff, plan, pruned: Pruned::default(), fit: None }
    }

    /// A candidate that changes nothing, for a reason.
    fn unchanged(decided: &Decided<'_>, reason: String) -> Self {
        let plan = Plan { reason: Some(reason), ..decided.plan.clone().without_cut() };
        Candidate { plan, kept_from: 0, pruned: Pruned::default(), fit: None }
    }
}

impl From<Candidate> for Found {
    fn from(best: Candidate) -> Self {
        Found { best, pruned_alone: None, unmet: None }
    }
}

impl<'t> Fitted<'t> {
    fn new(decided: Rc<Decided<'t>>, found: Found) -> Self {
        let Found { best: Candidate { plan, kept_from, mut pruned, fit }, pruned_alone, unmet } = found;
        let thinking = decided.thinking_removed(&plan, &pruned);
        let changes = plan.cutoff > 0 || !pruned.is_empty() || !thinking.is_empty();
        if changes && (fit.is_some() || !pruned.unsent.is_empty()) {
            let emptied: Vec<usize> = pruned.emptied.iter().chain(&thinking.emptied).copied().collect();
            pruned.unsent = unsent_of(&decided, &plan, &emptied);
        }
        let (draft, thinking_sizes) = (None, OnceCell::new());
        Fitted { decided, plan, kept_from, pruned, thinking, fit, unmet, draft, pruned_alone, thinking_sizes }
    }

    /// A better plan beside a summary of so many tokens, where that leaves room: more messages stay behind the
    /// summary, and less of them is pruned.
    fn beside(&self, summary: u64) -> Option<Self> {
        let fit = self.fit?;
        if self.unmet.is_some() || self.plan.cutoff == 0 || fit.room.saturating_sub(summary) < fit.limit / SPARE {
            return None;
        }
        let (plan, pruned) = (self.plan.clone(), self.pruned.clone());
        let candidate = Candidate { plan, kept_from: self.kept_from, pruned, fit: Some(fit) };
        let search = LimitSearch::new(&self.decided, fit.limit, self.kept_from, fit.typed);
        // The summary is written anew for the new plan, and can then be a little longer.
        let best = search.use_room_beside(&candidate, summary + summary / SPARE)?;
        let pruned_alone = if best.plan.cutoff > 0 { self.pruned_alone.clone() } else { None };
        Some(Fitted::new(self.decided.clone(), Found { best, pruned_alone, unmet: None }))
    }

    /// Whether pruning alone meets the limit, too.
    pub(super) fn can_prune_alone(&self) -> bool {
        self.pruned_alone.is_some()
    }

    /// The plan that only prunes, where that meets the limit; else this plan.
    pub(super) fn or_pruned_alone(self) -> Self {
        match self.pruned_alone {
            Some(candidate) => Fitted::new(self.decided, candidate.into()),
            None => self,
        }
    }

    /// The same plan with another room for the summary's message, for which the summary is then written.
    pub(super) fn with_room(self, room: u64) -> Self {
        Fitted { fit: self.fit.map(|fit| Fit { room, ..fit }), draft: None, ..self }
    }

    /// The plan for a limit of bytes that cannot be met.
    fn with_least_bytes(self, least: u64) -> Self {
        Fitted { unmet: Some(Unmet::Bytes(least)), ..self }
    }

    /// The tokens of the whole conversation, as it was counted.
    pub fn tokens(&self) -> u64 {
        self.decided.tokens()
    }

    /// Whether the plan changes anything.
    pub fn is_change(&self) -> bool {
        self.plan.cutoff > 0 || !self.pruned.is_empty()
    }

    /// How many bytes the result still has that no model is sent, and that the command `slim` would take.
    pub fn unsent_left(&self) -> u64 {
        let transcript = self.decided.transcript;
        let rules = [unsent_rule()];
        let rules = UnsentRules { rules: &rules, except: &[], has_archive: true, offloads_media: false };
        if transcript.format.unsent.is_empty() {
            return 0;
        }
        let gone = places_gone(transcript, &self.plan, &self.pruned.emptied);
        let all = PrunedUnsent::of(&find_unsent(transcript, rules), &gone).saved();
        all.saturating_sub(self.pruned.unsent.saved())
    }

    /// The messages that are removed or pruned, in order, for an archive that nothing is restored from. With `--emit
    /// summary`, what is pruned beside the summary is not written, so all of it stays.
    pub(super) fn cut_messages(&self) -> Vec<usize> {
        let mut cut = self.plan.removed();
        if self.decided.policy.emit != Emit::Summary {
            cut.extend(self.pruned.sizes.keys());
            cut.sort_unstable();
            cut.dedup();
        }
        cut
    }

    /// The messages between the summary and the kept part that are not pinned, in order; none without pruning.
    pub fn middle(&self) -> Vec<usize> {
        let pinned = |index: &usize| self.plan.pinned.binary_search(index).is_ok();
        (self.plan.cutoff..self.kept_from).filter(|index| !pinned(index)).collect()
    }

    /// Whether the plan meets the limit of `--fit`.
    pub(super) fn is_met(&self) -> bool {
        self.unmet.is_none()
    }

    /// Checks that the plan meets the limit of `--fit`.
    ///
    /// # Errors
    /// No plan meets it: why, and a limit that can be met.
    pub fn check(&self, source: &str) -> Result<(), Failure> {
        let Some(unmet) = self.unmet else { return Ok(()) };
        let policy = self.decided.policy;
        let limit = self.fit.map_or(0, |fit| fit.limit);
        if let (Unmet::Bytes(least), Some(size)) = (unmet, policy.fit) {
            let present = message_bytes(self.decided.transcript);
            let sizes = ReachableSizes { least, present, without_pins: false };
            return Err(unmet.failure(source, &format!("--fit {size}"), sizes));
        }
        let least = least_limit(&self.decided, limit, unmet.least().min(self.tokens()));
        let without_pins = match unmet {
            Unmet::Tokens(parts) => {
                parts.pinned > 0 && unmet.least() - parts.pinned <= limit && self.is_met_without_pins(limit)
            }
            _ => false,
        };
        let sizes = ReachableSizes { least, present: self.tokens(), without_pins };
        Err(unmet.failure(source, &limit_name(policy, limit), sizes))
    }

    /// Whether the conversation meets a limit once nothing is pinned.
    fn is_met_without_pins(&self, limit: u64) -> bool {
        let Decided { policy, transcript, unmasked, .. } = &*self.decided;
        let cut = CutPolicy { pins: Vec::new(), ..policy.cut.clone() };
        let policy = CompactionPolicy { cut, ..(*policy).clone() };
        let arena = Arena::default();
        decide(transcript, unmasked, &policy, &arena).is_ok_and(|decided| can_be_met(&decided, limit))
    }

    /// What each rule did: with `--fit` to messages that stay, else to the whole history.
    pub fn savings(&self) -> Vec<RuleSavings> {
        self.pruned.savings(if self.fit.is_some() { self.plan.cutoff } else { 0 })
    }

    /// The pruned messages that stay, each with the tokens that it keeps.
    pub fn pruned_sizes(&self) -> BTreeMap<usize, u64> {
        self.pruned.sizes.range(self.plan.cutoff..).map(|(index, tokens)| (*index, *tokens)).collect()
    }

    /// The tokens of the result without a summary.
    pub fn tokens_without_summary(&self) -> u64 {
        let kept = self.plan.pinned.iter().copied().chain(self.plan.cutoff..self.decided.view.messages.len());
        self.decided.tally.overhead() + kept.map(|index| self.size(index)).sum::<u64>()
    }

    /// The tokens of a message in the result.
    pub fn size(&self, index: usize) -> u64 {
        match self.thinking_sizes().get(&index) {
            Some(tokens) => *tokens,
            None => self.decided.pruned_size(&self.pruned, index),
        }
    }

    /// The tokens that messages with removed thinking keep.
    fn thinking_sizes(&self) -> &BTreeMap<usize, u64> {
        self.thinking_sizes.get_or_init(|| {
            let Removal { edits, emptied, messages, .. } = &self.thinking;
            if messages.is_empty() {
                return BTreeMap::new();
            }
            let Decided { transcript, tally, edits: early, .. } = &*self.decided;
            let mut edits: Vec<Edit> = early.iter().chain(&self.pruned.edits).chain(edits).cloned().collect();
            sort(&mut edits);
            let mut sizes = BTreeMap::new();
            for &index in messages {
                if emptied.binary_search(&index).is_ok() {
                    sizes.insert(index, 0);
                    continue;
                }
                let entry = edited(transcript, index, &edits);
                if let Some(size) = read_entry(transcript.format, &entry, |message| tally.edited(index, message)) {
                    sizes.insert(index, size);
                }
            }
            sizes
        })
    }

    /// The tokens of the thinking that is removed from messages that stay.
    pub fn thinking_tokens(&self) -> u64 {
        let mut removed = 0;
        for (index, tokens) in self.thinking_sizes() {
            removed += self.decided.pruned_size(&self.pruned, *index).saturating_sub(*tokens);
        }
        removed
    }

    /// The edits with which the summarizer reads the history.
    pub(super) fn history_edits(&self) -> Vec<Edit> {
        // The embedded summarizer reads the whole history: that costs nothing.
        if self.decided.policy.summary.is_embedded() && self.fit.is_some() {
            return Vec::new();
        }
        let edits = self.pruned.edits.iter();
        edits.filter(|edit| message_at(self.decided.transcript, edit) < self.plan.cutoff).cloned().collect()
    }
}

#[cfg(test)]
mod tests;
