//! The second step: what is done to a conversation besides its summary, so that the result is as large as it may be.
//!
//! Without a size that the result must fit, the rules of `--prune` are applied to all that stands before the kept part, and
//! the plan stays where `--keep` put it. With one (`--fit`) they are applied only as far as it takes; where that is not
//! enough the conversation is cut, as early as it fits; and where not even that is enough, long results of the kept part
//! lose their middle. A conversation then has three zones: what is summarized, what stands pruned behind the summary, and
//! what is kept.

mod sizes;

use std::collections::BTreeMap;

use anyhow::Result;

use crate::exit::{Exit, Failure};
use crate::plan::size::Size;
use crate::plan::{self, Plan, total};
use crate::prune::{Account, Pruned, Rule, Scene, capping, prune};
use crate::rewrite::Edit;
use crate::rewrite::thinking::{self, Removal, message_at};
use crate::tokens::Tally;
use crate::transcript::Transcript;
use crate::transcript::foreign::{self, Bytes};
use crate::transcript::view::Arena;
use crate::wording::readable_source;

use crate::compact::archive;
use crate::compact::decide::{Decision, cut_policy, decide};
use crate::compact::message::{note_tokens, summary_tokens};
use crate::compact::policy::{CompactionPolicy, SummarizerKind};
use crate::compact::summarize::Summary;

use sizes::Sizes;

/// What is to be done with a conversation.
pub(crate) struct FittedPlan<'t> {
    /// The conversation that the result is made of.
    pub(crate) transcript: &'t Transcript<'t>,
    /// The conversation as it was counted and cut, some edits made.
    pub(crate) seen: &'t Transcript<'t>,
    /// These edits, in order. In the result are those that fall into what stays.
    pub(crate) edits: Vec<Edit>,
    /// The sizes of the messages that were seen.
    pub(crate) tally: Tally<'t, 't>,
    /// Where it is cut.
    pub(crate) plan: Plan,
    /// What is pruned: what stays of it is in the result, and a model reads the history like this.
    pub(crate) pruned: Pruned,
    /// Where the part begins that is kept.
    pub(crate) kept_from: usize,
    /// The thinking that goes from the messages which stay.
    pub(crate) thinking: Removal,
    /// How far it must be made smaller, where it must.
    pub(crate) fit: Option<Fit>,
    /// The embedded summarizer's text for this plan, where it was written to find the cut.
    pub(crate) draft: Option<String>,
}

/// How a conversation is made to fit a size.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Fit {
    /// Tokens that the result may have.
    pub(crate) limit: u64,
    /// Tokens that the result is planned to have, at most: where that is possible, at least a tenth of the limit is saved.
    pub(crate) target: u64,
    /// Tokens of the summary's message with which the result reaches the target.
    pub(crate) room: u64,
    /// What results in the kept part are cut to, in tokens, where they are.
    pub(crate) cap: Option<u64>,
    /// Why it cannot be met, where it cannot.
    pub(crate) unmet: Option<Unmet>,
}

impl Fit {
    /// Tokens of the summary's message with which the result reaches the limit.
    pub(crate) fn most_room(&self) -> u64 {
        self.room + (self.limit - self.target)
    }
}

/// Why nothing is done where the result could not be read.
const LEFT_FOREIGN: &str = "most of what would be left would be of kinds that no reader knows; keep more";

/// What a result would have at least, which is too much.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Unmet {
    /// Tokens that are sent beside the messages.
    pub(crate) overhead: u64,
    /// Tokens of pinned messages.
    pub(crate) pinned: u64,
    /// Tokens of the least that could stand for the history, or of the history where it cannot be cut.
    pub(crate) before: u64,
    /// Tokens of the kept part, its results cut as far as they can be.
    pub(crate) kept: u64,
    /// Whether it would be small enough, and of kinds that no reader knows for the most part.
    pub(crate) foreign: bool,
}

impl Unmet {
    /// All of it.
    pub(crate) fn least(self) -> u64 {
        self.overhead + self.pinned + self.before + self.kept
    }
}

/// Makes a decision into a plan.
pub(crate) fn fit<'t>(decision: Decision<'t>, policy: &CompactionPolicy) -> FittedPlan<'t> {
    let Decision { transcript, seen, edits, tally, plan } = decision;
    let (pruned, thinking) = (Pruned::default(), Removal::default());
    let kept_from = plan.cutoff;
    let mut fitted =
        FittedPlan { transcript, seen, edits, tally, plan, pruned, kept_from, thinking, fit: None, draft: None };
    let may_act =
        fitted.plan.triggered && !fitted.plan.refused && policy.disabled.is_none() && !seen.messages.is_empty();
    match policy.fit.and_then(|size| size.in_tokens(policy.cut.context_window)) {
        Some(limit) if may_act => Fitting::new(&mut fitted, policy, limit).run(),
        _ if may_act => fitted.prune(policy),
        _ => {}
    }
    fitted.thinking = fitted.thinking_removed(policy, &fitted.plan, &fitted.pruned);
    if fitted.fit.is_none() && fitted.leaves_foreign(policy, &fitted.plan, &fitted.pruned) {
        (fitted.pruned, fitted.thinking) = (Pruned::default(), Removal::default());
        fitted.leave(policy, LEFT_FOREIGN.to_owned());
    }
    fitted
}

impl<'t> FittedPlan<'t> {
    /// Tokens of the whole conversation, as it was counted.
    pub(crate) fn tokens(&self, policy: &CompactionPolicy) -> u64 {
        total(self.seen, &self.tally, &policy.cut)
    }

    /// Whether anything is to be done.
    pub(crate) fn is_change(&self) -> bool {
        self.plan.cutoff > 0 || !self.pruned.is_empty()
    }

    /// The messages between the summary and the kept part that are not pinned, in order; none where nothing is pruned.
    pub(crate) fn middle(&self) -> Vec<usize> {
        let pinned = |index: &usize| self.plan.pinned.binary_search(index).is_ok();
        (self.plan.cutoff..self.kept_from).filter(|index| !pinned(index)).collect()
    }

    /// Whether the result is as small as it must be.
    pub(crate) fn is_met(&self) -> bool {
        self.fit.is_none_or(|fit| fit.unmet.is_none())
    }

    /// Checks that the result is as small as it must be.
    ///
    /// # Errors
    /// The conversation cannot be made so small: why, and a size that it can have.
    pub(crate) fn check(&self, source: &str, policy: &CompactionPolicy) -> Result<()> {
        match self.fit {
            Some(Fit { limit, unmet: Some(unmet), .. }) => {
                let larger = self.larger_limit(policy, unmet.least().max(limit));
                Err(cannot_fit(source, limit, unmet, larger))
            }
            _ => Ok(()),
        }
    }

    /// A limit above `least` that can be met. The size of the whole conversation is one.
    fn larger_limit(&self, policy: &CompactionPolicy, least: u64) -> u64 {
        let arena = Arena::default();
        let can_be_met = |&limit: &u64| {
            let policy = CompactionPolicy { fit: Some(Size::Tokens(limit)), ..policy.clone() };
            decide(self.transcript, &policy, &arena).is_ok_and(|decision| fit(decision, &policy).is_met())
        };
        let total = self.tokens(policy);
        let limits = std::iter::successors(Some(least + least / 10 + 1), |limit| Some(limit + limit / 4));
        limits.take_while(|limit| *limit < total).find(can_be_met).unwrap_or(total)
    }

    /// What each rule did: to what stays, where the result is to fit, or else to all of the history.
    pub(crate) fn accounts(&self) -> Vec<Account> {
        self.pruned.accounts(if self.fit.is_some() { self.plan.cutoff } else { 0 })
    }

    /// The messages of which the embedded summarizer tells, in order: those that its summary replaces, and with a size to
    /// fit those behind it too. They are shortened, and they change what was true before them.
    pub(crate) fn told(&self) -> Vec<usize> {
        let mut told = self.plan.summarized();
        if self.fit.is_some() {
            told.extend(self.middle());
        }
        told
    }

    /// The messages that stay and are shortened, with the tokens that they keep.
    pub(crate) fn pruned_sizes(&self) -> BTreeMap<usize, u64> {
        let stays = |index: &usize| *index >= self.plan.cutoff;
        self.pruned.sizes.iter().filter(|(index, _)| stays(index)).map(|(index, tokens)| (*index, *tokens)).collect()
    }

    /// Tokens of the result without a summary.
    pub(crate) fn staying(&self, policy: &CompactionPolicy) -> u64 {
        let kept = self.plan.pinned.iter().copied().chain(self.plan.cutoff..self.seen.messages.len());
        policy.cut.overhead_tokens + kept.map(|index| self.size(index)).sum::<u64>()
    }

    /// Names of tools that are to stay, and that no call has.
    pub(crate) fn unknown_tools<'p>(&self, policy: &'p CompactionPolicy) -> Vec<&'p str> {
        let mut unknown: Vec<&str> = policy.pruning.except.iter().map(String::as_str).collect();
        let calls = self.transcript.messages.iter().flat_map(|message| &message.calls);
        calls.filter_map(|call| call.name).for_each(|name| unknown.retain(|unknown| !name.is(unknown)));
        unknown
    }

    /// Tokens of a message as it will stand in the result, thinking aside.
    pub(crate) fn size(&self, index: usize) -> u64 {
        self.pruned.sizes.get(&index).copied().unwrap_or_else(|| self.tally.message(index))
    }

    /// The edits that the history is read with by whoever is sent it.
    pub(crate) fn history_edits(&self, policy: &CompactionPolicy) -> Vec<Edit> {
        // What costs nothing to read is read as it is.
        if policy.summary.is_embedded() && self.fit.is_some() {
            return Vec::new();
        }
        let before = |edit: &&Edit| message_at(self.transcript, edit) < self.plan.cutoff;
        self.pruned.edits.iter().filter(before).cloned().collect()
    }

    /// Applies the rules to all that stands before the kept part.
    fn prune(&mut self, policy: &CompactionPolicy) {
        let nobody = policy.summary.summarizer == SummarizerKind::Nobody;
        if policy.pruning.rules.is_empty() {
            if nobody {
                self.leave(policy, "nobody summarizes, and no rule prunes; give --prune all".to_owned());
            }
            return;
        }
        let kept_from = self.plan.kept_from;
        let pinned = plan::pinned(self.transcript, &policy.cut, kept_from);
        self.pruned = self.pruned_before(policy, kept_from, &pinned, None);
        if nobody && self.pruned.is_empty() {
            let reason = self.plan.reason.take().filter(|_| kept_from == 0);
            self.leave(policy, reason.unwrap_or_else(|| "there is nothing to be pruned".to_owned()));
        } else if !self.pruned.is_empty() && (nobody || self.plan.cutoff == 0) {
            self.plan = std::mem::take(&mut self.plan).without_cut();
            self.kept_from = kept_from;
        }
    }

    fn leave(&mut self, _policy: &CompactionPolicy, reason: String) {
        self.plan = Plan { reason: Some(reason), ..std::mem::take(&mut self.plan).without_cut() };
        self.kept_from = 0;
    }

    /// Uses the summary that the embedded summarizer writes for this plan. Where that leaves room, the cut moves to an
    /// earlier message, so that more messages stay behind the summary; else the summary is kept as the draft.
    pub(crate) fn use_trial(&mut self, policy: &CompactionPolicy, trial: Summary) {
        if !self.cut_earlier(policy, trial.tokens) && !policy.redact {
            self.draft = Some(trial.text);
        }
    }

    /// Moves the cut to an earlier message where a summary of so many tokens leaves room. Returns whether it moved.
    fn cut_earlier(&mut self, policy: &CompactionPolicy, summary: u64) -> bool {
        let Some(Fit { limit, target, room, cap: None, unmet: None }) = self.fit else { return false };
        if self.plan.cutoff == 0 || room.saturating_sub(summary) < limit / SPARE {
            return false;
        }
        let pinned = plan::pinned(self.transcript, &policy.cut, self.kept_from);
        let before = self.plan.cutoff;
        let mut fitting = Fitting::new(self, policy, limit);
        fitting.pinned = pinned;
        let earlier = fitting.cut(target, Some(summary + summary / SPARE)).filter(|(plan, _)| plan.cutoff < before);
        let Some((plan, room)) = earlier else { return false };
        fitting.settle_cut(target, plan, room, None);
        self.thinking = self.thinking_removed(policy, &self.plan, &self.pruned);
        true
    }

    /// What rules do to the messages before one that are not pinned; with a goal as far as that takes.
    fn pruned_before(&self, policy: &CompactionPolicy, end: usize, pinned: &[usize], goal: Option<u64>) -> Pruned {
        let is_free = |index: usize| index >= self.plan.start && index < end && pinned.binary_search(&index).is_err();
        self.pruned_where(policy, is_free, &policy.pruning.rules, goal)
    }

    fn pruned_where(
        &self,
        policy: &CompactionPolicy,
        is_free: impl Fn(usize) -> bool,
        rules: &[Rule],
        goal: Option<u64>,
    ) -> Pruned {
        let messages = &self.transcript.messages;
        // What a system shortens by its own rules before all else is left to it.
        let is_edited = |index: usize| self.edits.iter().any(|edit| message_at(self.transcript, edit) == index);
        let is_earlier = |index: usize| messages[index].is_summary(&policy.cut.summary_prefix);
        let touchable = (0..messages.len())
            .map(|index| is_free(index) && !is_earlier(index) && (self.edits.is_empty() || !is_edited(index)))
            .collect();
        let tally = Tally::new(policy.counter, messages);
        let mut scene = Scene::new(self.transcript, &tally, touchable);
        let archive = archive::place(policy, self.transcript).map(|place| place.shown());
        scene.context_window = policy.cut.context_window;
        scene.summary_prefix = &policy.cut.summary_prefix;
        scene.except = &policy.pruning.except;
        scene.archive = archive.as_deref();
        prune(&scene, rules, goal)
    }

    /// Whether most of what would be left is of kinds that no reader knows, so that nobody could read the result.
    fn leaves_foreign(&self, policy: &CompactionPolicy, plan: &Plan, pruned: &Pruned) -> bool {
        let messages = &self.transcript.messages;
        if plan.cutoff == 0 && pruned.is_empty() || !messages.iter().any(foreign::is_in) {
            return false;
        }
        let thinking = self.thinking_removed(policy, plan, pruned);
        let is_left = |index: usize| {
            (index >= plan.cutoff || plan.pinned.binary_search(&index).is_ok())
                && !pruned.emptied.contains(&index)
                && !thinking.emptied.contains(&index)
        };
        let left = messages.iter().enumerate().filter(|(index, _)| is_left(*index)).map(|(_, message)| message);
        let Bytes { foreign, known } = Bytes::of(left);
        let edits = pruned.edits.iter().chain(&thinking.edits).chain(&self.edits);
        let edits = edits.filter(|edit| is_left(message_at(self.transcript, edit)));
        let gone = edits.map(|edit| edit.range.len().saturating_sub(edit.text.len())).sum();
        foreign > known.saturating_sub(gone)
    }

    /// The thinking that goes from what stays behind the first change: none where all is as it was.
    fn thinking_removed(&self, policy: &CompactionPolicy, plan: &Plan, pruned: &Pruned) -> Removal {
        let Plan { cutoff, pinned, .. } = plan;
        let edits = pruned.edits.iter().map(|edit| message_at(self.transcript, edit));
        let first = edits.chain(pruned.emptied.iter().copied()).min();
        let behind = match (*cutoff, first) {
            (0, None) => return Removal::default(),
            (0, Some(first)) => first + 1,
            (cutoff, _) => cutoff,
        };
        let pinned = pinned.iter().copied().filter(|_| *cutoff > 0);
        let staying = pinned.chain(behind..self.transcript.messages.len());
        let staying = staying.filter(|&index| !pruned.has_no_thinking(index));
        thinking::removal(self.transcript, staying, policy.thinking, policy.reader_name())
    }
}

/// The search for what makes a conversation fit.
struct Fitting<'f, 't, 'p> {
    fitted: &'f mut FittedPlan<'t>,
    policy: &'p CompactionPolicy,
    limit: u64,
    total: u64,
    /// Tokens that must go at least: a change is worth its while, since it makes the provider read all behind it anew.
    goal: u64,
    /// The messages before the kept part that stay whatever is summarized.
    pinned: Vec<usize>,
}

/// A summary that leaves this part of the size is taken to have told all.
const SPARE: u64 = 20;
/// Tokens below which no summary says anything.
pub(super) const LEAST_SUMMARY: u64 = 24;
/// Cuts that are looked at.
const CUTS: usize = 48;

impl<'f, 't, 'p> Fitting<'f, 't, 'p> {
    fn new(fitted: &'f mut FittedPlan<'t>, policy: &'p CompactionPolicy, limit: u64) -> Self {
        let total = fitted.tokens(policy);
        let goal = total.saturating_sub(limit).max(limit.div_ceil(10));
        Fitting { fitted, policy, limit, total, goal, pinned: Vec::new() }
    }

    fn run(mut self) {
        let total = self.total;
        if total <= self.limit {
            let size = self.policy.fit.map(|size| size.to_string()).unwrap_or_default();
            return self.fitted.leave(self.policy, format!("it has {total} tokens, within --fit {size}"));
        }
        if let Err(unmet) = self.reach_limit() {
            self.settle(self.limit, 0, None, Some(unmet));
        }
    }

    /// Makes the conversation fit the limit.
    ///
    /// # Errors
    /// Why that is impossible.
    fn reach_limit(&mut self) -> Result<(), Unmet> {
        let kept_from = if self.policy.keep_is_given { self.fitted.plan.kept_from } else { self.half() };
        self.pinned = plan::pinned(self.fitted.transcript, &self.policy.cut, kept_from);
        self.fitted.plan = std::mem::take(&mut self.fitted.plan).without_cut();
        (self.fitted.plan.wanted, self.fitted.kept_from) = (kept_from, kept_from);
        let mut pruned = self.fitted.pruned_before(self.policy, kept_from, &self.pinned, Some(self.goal));
        if self.fitted.leaves_foreign(self.policy, &self.fitted.plan, &pruned) {
            pruned = Pruned::default();
        }
        let saved = pruned.saved();
        self.fitted.pruned = pruned;
        let fits = self.total - saved <= self.limit;
        if fits && saved >= self.goal {
            self.settle(self.limit, 0, None, None);
            return Ok(());
        }
        // What is left of a history that nobody summarizes goes only where it must.
        let nobody = self.policy.summary.summarizer == SummarizerKind::Nobody;
        let target = self.target();
        if !(fits && nobody)
            && let Some((plan, room)) = self.cut(target, None)
        {
            self.settle_cut(target, plan, room, None);
            return Ok(());
        }
        if fits {
            self.settle(self.limit, 0, None, None);
            return Ok(());
        }
        let Err(unmet) = self.cap(target) else { return Ok(()) };
        if target == self.limit {
            return Err(unmet);
        }
        // A result that fits is worth more than the tenth.
        if let Some((plan, room)) = self.cut(self.limit, None) {
            self.settle_cut(self.limit, plan, room, None);
            return Ok(());
        }
        self.cap(self.limit)
    }

    fn settle(&mut self, target: u64, room: u64, cap: Option<u64>, unmet: Option<Unmet>) {
        self.fitted.fit = Some(Fit { limit: self.limit, target, room, cap, unmet });
    }

    fn settle_cut(&mut self, target: u64, plan: Plan, room: u64, cap: Option<u64>) {
        let before = &self.fitted.plan;
        let moved_because = (plan.cutoff != self.fitted.kept_from)
            .then(|| "what stands from there to the kept part fits pruned".to_owned());
        let (triggered, fired, wanted) = (before.triggered, before.fired.clone(), before.wanted);
        self.fitted.plan = Plan { triggered, fired, wanted, moved_because, kept_from: self.fitted.kept_from, ..plan };
        self.settle(target, room, cap, None);
    }

    /// Where the longest part begins that has at most half of what the result may have; at least the last message, with
    /// all that belongs to it.
    fn half(&self) -> usize {
        let FittedPlan { seen, tally, .. } = &*self.fitted;
        let last = seen.messages.len() - 1;
        let first = tally.suffix_within(self.limit / 2).min(last);
        let legal = plan::legal_cuts(seen);
        let behind = (first..=last).find(|&cut| legal[cut]);
        behind.or_else(|| (0..first).rev().find(|&cut| legal[cut])).unwrap_or(0)
    }

    fn sizes(&self) -> Sizes {
        let fitted = &*self.fitted;
        Sizes::new(|index| fitted.size(index), fitted.kept_from, fitted.seen.messages.len(), &self.pinned)
    }

    /// Tokens that the result may have, so that enough goes.
    fn target(&self) -> u64 {
        self.limit.min(self.total.saturating_sub(self.limit.div_ceil(10)))
    }

    /// The tokens that a summary's message has at least and at most, of so much room beside the kept part. A summary
    /// tells more for its size than what stands pruned behind it, so it comes first: that has what the summary leaves.
    fn share(&self, room: u64) -> (u64, u64) {
        let (policy, transcript) = (self.policy, self.fitted.transcript);
        let summary = &policy.summary;
        let wrapper = summary_tokens(policy, transcript, "");
        let wanted = match summary.summarizer {
            SummarizerKind::Nobody => {
                let note = note_tokens(policy, transcript);
                return (note, note);
            }
            SummarizerKind::Embedded => summary.tokens.saturating_sub(wrapper),
            SummarizerKind::Model | SummarizerKind::Command => summary.model.asked_tokens + summary.ledger,
        };
        let least = wrapper + LEAST_SUMMARY;
        (least, room.min(wanted.saturating_add(wrapper)).max(least))
    }

    /// The earliest cut with which a summary, what stands pruned behind it and the kept part fit, with the room that the
    /// summary's message has: its share, or so many tokens.
    fn cut(&self, target: u64, summary: Option<u64>) -> Option<(Plan, u64)> {
        let kept_from = self.fitted.kept_from;
        let sizes = self.sizes();
        let room = target.checked_sub(self.policy.cut.overhead_tokens + sizes.kept)?;
        let (least, share) = self.share(room.saturating_sub(sizes.pinned_before(kept_from)));
        let most = summary.unwrap_or(share);
        let fits = |cut: usize, summary: u64| sizes.pinned_before(cut) + sizes.between(cut) + summary <= room;
        let legal = plan::legal_cuts(self.fitted.seen);
        let cuts: Vec<usize> = (1..=kept_from).filter(|&cut| legal[cut]).collect();
        let cut_policy = cut_policy(self.fitted.seen, self.policy);
        let made = |cut: usize, summary: u64| {
            let plan = plan::cut_at(self.fitted.seen, &self.fitted.tally, &cut_policy, cut);
            let stays: u64 = plan.pinned.iter().map(|&index| self.fitted.tally.message(index)).sum();
            let left = room.checked_sub(stays + sizes.between(plan.cutoff))?;
            let is_worth = plan.cutoff > 0 && plan.cutoff <= kept_from && left >= summary;
            let is_readable = || !self.fitted.leaves_foreign(self.policy, &plan, &self.fitted.pruned);
            (is_worth && is_readable()).then_some((plan, left))
        };
        let with = |summary: u64| {
            let first = cuts.partition_point(|&cut| !fits(cut, summary));
            let later = &cuts[first.min(cuts.len())..];
            let step = later.len().div_ceil(CUTS).max(1);
            // The last is tried in any case: nothing is smaller.
            let tried = later.iter().step_by(step).chain(later.last());
            tried.copied().find_map(|cut| made(cut, summary))
        };
        // A cut that fits is not always a legal one, and the next legal one leaves less to the summary.
        let smaller = |tokens: &u64| (summary.is_none() && *tokens > least).then(|| (tokens / 2).max(least));
        std::iter::successors(Some(most), smaller).find_map(with)
    }

    /// Cuts results of the kept part, as little as the target takes.
    ///
    /// # Errors
    /// Why that is not enough.
    fn cap(&mut self, target: u64) -> Result<(), Unmet> {
        let kept_from = self.fitted.kept_from;
        let overhead = self.policy.cut.overhead_tokens;
        let cut_policy = cut_policy(self.fitted.seen, self.policy);
        let plan = plan::cut_at(self.fitted.seen, &self.fitted.tally, &cut_policy, kept_from);
        let plan = (kept_from > 0 && plan.cutoff == kept_from).then_some(plan);
        let sizes = self.sizes();
        let pinned = match &plan {
            Some(plan) => plan.pinned.iter().map(|&index| self.fitted.tally.message(index)).sum(),
            None => sizes.pinned_before(kept_from),
        };
        let before =
            |summary: u64| if plan.is_some() { summary } else { sizes.before - sizes.pinned_before(kept_from) };
        let (least, share) = self.share(target.saturating_sub(overhead + pinned) / 5);
        // Pins are not cut, wherever they stand.
        let everywhere = plan::pinned(self.fitted.transcript, &self.policy.cut, self.fitted.transcript.messages.len());
        let in_kept = |index: usize| index >= kept_from && everywhere.binary_search(&index).is_err();
        let capped = |tokens: u64| self.fitted.pruned_where(self.policy, in_kept, &[capping(tokens)], None);
        let mut foreign = false;
        for summary in [share, least] {
            let Some(room) = target.checked_sub(overhead + pinned + before(summary)) else { continue };
            let Some((tokens, pruned)) = largest(sizes.kept, |tokens| {
                let pruned = capped(tokens);
                (sizes.kept.saturating_sub(pruned.saved()) <= room).then_some(pruned)
            }) else {
                continue;
            };
            let left = room - sizes.kept.saturating_sub(pruned.saved());
            let cap = (!pruned.is_empty()).then_some(tokens);
            let in_all = self.fitted.pruned.clone().and(pruned);
            if self.fitted.leaves_foreign(self.policy, plan.as_ref().unwrap_or(&self.fitted.plan), &in_all) {
                foreign = true;
                continue;
            }
            self.fitted.pruned = in_all;
            match plan {
                Some(plan) => self.settle_cut(target, plan, summary + left, cap),
                None => self.settle(target, 0, cap, None),
            }
            return Ok(());
        }
        let kept = sizes.kept.saturating_sub(capped(1).saved());
        Err(Unmet { overhead, pinned, before: before(least), kept, foreign })
    }
}

/// The largest number up to some other for which there is something.
fn largest<T>(most: u64, of: impl Fn(u64) -> Option<T>) -> Option<(u64, T)> {
    const LEAST: u64 = 1;
    let mut found = (LEAST, of(LEAST)?);
    let (mut low, mut high) = (LEAST, most.max(LEAST));
    while low < high {
        let middle = low + (high - low).div_ceil(2);
        match of(middle) {
            Some(this) => (found, low) = ((middle, this), middle),
            None => high = middle - 1,
        }
    }
    Some(found)
}

/// That no result is so small, and why.
fn cannot_fit(source: &str, limit: u64, unmet: Unmet, larger: u64) -> anyhow::Error {
    let Unmet { overhead, pinned, before, kept, foreign } = unmet;
    if foreign {
        let message = format!("{}: --fit {limit} cannot be met: {LEFT_FOREIGN}", readable_source(source));
        return Failure::new(Exit::SummaryRefused, message).try_next(format!("tcompact --fit tokens:{larger}")).into();
    }
    let parts = [
        (kept, "in the part that is kept, its results cut as far as they can be"),
        (pinned, "pinned"),
        (before, "at least for what stands before"),
        (overhead, "of --overhead-tokens"),
    ];
    let parts: Vec<String> =
        parts.iter().filter(|(tokens, _)| *tokens > 0).map(|(tokens, what)| format!("{tokens} {what}")).collect();
    let message = format!(
        "{}: --fit {limit} cannot be met: the result would have {} tokens: {}",
        readable_source(source),
        unmet.least(),
        parts.join(", ")
    );
    let next = match pinned > limit / 2 {
        true => "tcompact --pin none".to_owned(),
        false => format!("tcompact --fit tokens:{larger}, or keep less with --keep"),
    };
    Failure::new(Exit::SummaryRefused, message).try_next(next).into()
}

#[cfg(test)]
mod tests;
