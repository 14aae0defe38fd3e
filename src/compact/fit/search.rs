//! The search for the pruning, the cut and the cap with which a conversation fits a size.

use std::ops::Range;

use crate::plan::reasoning;
use crate::plan::{self, Plan};
use crate::presets::pairs::moved_cut;
use crate::prune::{Pruned, Rule, capping, for_fit, last_resort, with_shorter_results};

use crate::compact::decide::Planned;
use crate::compact::decide::{smallest_summary, uncut_without_gain};
use crate::compact::fit::SPARE;
use crate::compact::fit::sizes::{Sizes, largest};
use crate::compact::limit::{Fit, Unmet};
use crate::compact::message::{LEAST_SUMMARY, summary_tokens};
use crate::compact::policy::{CompactionPolicy, SummarizerKind};
use crate::wording::counted;

/// Cuts that are tried, at most.
const MOST_CUTS: usize = 48;

/// The fewest tokens to which results right before the cut are shortened, so that they can stay behind it.
const LEAST_CAP: u64 = 100;

/// The search for what makes a conversation fit a limit. All sizes are in tokens.
pub(super) struct LimitSearch<'f, 't, 'p> {
    planned: &'f mut Planned<'t>,
    policy: &'p CompactionPolicy,
    limit: u64,
    /// The size of the conversation as it is.
    total: u64,
    /// The size that pruning must save. A change must be worth its while, since the provider reads all messages behind
    /// it anew.
    goal: u64,
    /// The pinned messages before the kept part.
    pinned: Vec<usize>,
    /// Whether it is enough to know that the limit can be reached, and how is not asked.
    only_asks: bool,
}

impl<'f, 't, 'p> LimitSearch<'f, 't, 'p> {
    /// Returns a search of which only the limit is known.
    pub(super) fn new(planned: &'f mut Planned<'t>, policy: &'p CompactionPolicy, limit: u64) -> Self {
        let total = planned.tokens(policy);
        let goal = total.saturating_sub(limit).max(limit.div_ceil(10));
        LimitSearch { planned, policy, limit, total, goal, pinned: Vec::new(), only_asks: false }
    }

    /// Returns a search that goes on from a plan which meets the limit.
    pub(super) fn resumed(planned: &'f mut Planned<'t>, policy: &'p CompactionPolicy, limit: u64) -> Self {
        let pinned = plan::pinned(planned.transcript, &planned.tally, &policy.cut, planned.kept_from);
        LimitSearch { pinned, ..LimitSearch::new(planned, policy, limit) }
    }

    /// Whether the limit can be reached. The plan is of no use then.
    pub(super) fn can_be_reached(mut self) -> bool {
        self.only_asks = true;
        self.total <= self.limit || self.reach_limit_at_last().is_ok()
    }

    /// Makes the conversation fit the limit, or sets why that is impossible.
    pub(super) fn run(mut self) {
        let total = self.total;
        if total <= self.limit {
            let size = self.policy.fit.map(|size| size.to_string()).unwrap_or_default();
            let recorded = self.planned.recorded(self.policy).filter(|recorded| *recorded > self.limit);
            let recorded =
                recorded.map(|recorded| format!("; it recorded {recorded} itself, by which --counter recorded fits"));
            let within =
                format!("it has {}, within --fit {size}{}", counted(total, "token"), recorded.unwrap_or_default());
            return self.planned.leave_unchanged(within);
        }
        match self.reach_limit_at_last() {
            Err(unmet) => self.settle(self.limit, 0, None, Some(unmet)),
            // How long the embedded summary is shows a trial.
            Ok(()) if !self.policy.summary.is_embedded() => _ = self.fill(self.room_for_summary()),
            Ok(()) => {}
        }
    }

    /// Makes the conversation fit the limit, if need be without the reasoning that the model wants back.
    ///
    /// # Errors
    /// Why that is impossible.
    fn reach_limit_at_last(&mut self) -> Result<(), Unmet> {
        let decided = self.planned.plan.clone();
        let mut rules = for_fit(&self.policy.pruning.rules);
        let reached = self.reach_limit(&rules);
        let Some(rule) = last_resort(&self.policy.pruning.rules).filter(|_| reached.is_err()) else { return reached };
        if reasoning::wanted_back(self.planned.transcript, self.policy.reader_name()).is_none() {
            return reached;
        }
        rules.push(rule);
        self.planned.plan = decided;
        self.reach_limit(&rules)
    }

    /// Makes the conversation fit the limit.
    ///
    /// # Errors
    /// Why that is impossible.
    fn reach_limit(&mut self, rules: &[Rule]) -> Result<(), Unmet> {
        let kept_from = if self.policy.keep_is_given { self.planned.plan.kept_from } else { self.half_limit_tail() };
        self.pinned = self.pinned_before(kept_from);
        self.planned.plan = std::mem::take(&mut self.planned.plan).without_cut();
        (self.planned.plan.wanted, self.planned.kept_from) = (kept_from, kept_from);
        let mut pruned = self.pruned_in(0..kept_from, rules, self.goal);
        if self.planned.leaves_foreign(self.policy, &self.planned.plan, &pruned) {
            pruned = Pruned::default();
        }
        let saved = pruned.saved();
        self.planned.pruned = pruned;
        let fits = self.total - saved <= self.limit;
        if fits && saved >= self.goal {
            self.settle(self.limit, 0, None, None);
            return Ok(());
        }
        let target = self.target();
        if let Some((plan, room)) = self.earliest_cut(target, None) {
            self.planned.pruned_alone = fits.then(|| (self.planned.plan.clone(), self.planned.pruned.clone()));
            self.settle_cut(target, plan, room, None);
            return Ok(());
        }
        if fits {
            self.settle(self.limit, 0, None, None);
            return Ok(());
        }
        let Err(unmet) = self.cap(target, None) else { return Ok(()) };
        if target == self.limit {
            return Err(unmet);
        }
        // A result that fits is worth more than the tenth that the target saves.
        if let Some((plan, room)) = self.earliest_cut(self.limit, None) {
            self.settle_cut(self.limit, plan, room, None);
            return Ok(());
        }
        self.cap(self.limit, None)
    }

    fn settle(&mut self, target: u64, room: u64, cap: Option<u64>, unmet: Option<Unmet>) {
        self.planned.fit = Some(Fit { limit: self.limit, target, room, cap, unmet });
    }

    fn settle_cut(&mut self, target: u64, plan: Plan, room: u64, cap: Option<u64>) {
        let before = &self.planned.plan;
        let moved_because =
            (plan.cutoff != self.planned.kept_from).then(|| "older messages fit too, pruned".to_owned());
        let (triggered, fired, wanted) = (before.triggered, before.fired.clone(), before.wanted);
        self.planned.plan = Plan { triggered, fired, wanted, moved_because, kept_from: self.planned.kept_from, ..plan };
        self.settle(target, room, cap, None);
    }

    /// Returns the first message of the longest tail of at most half of what the limit leaves for messages. The last
    /// message is always in it, with all messages that belong to it.
    fn half_limit_tail(&self) -> usize {
        let Planned { view, tally, .. } = &*self.planned;
        let last = view.messages.len() - 1;
        let first = tally.suffix_within(self.limit.saturating_sub(tally.overhead()) / 2).min(last);
        let legal = plan::legal_cuts(view);
        let behind = (first..=last).find(|&cut| legal[cut]);
        behind.or_else(|| (0..first).rev().find(|&cut| legal[cut])).unwrap_or(0)
    }

    fn pinned_before(&self, cut: usize) -> Vec<usize> {
        plan::pinned(self.planned.transcript, &self.planned.tally, &self.policy.cut, cut)
    }

    fn sizes(&self) -> Sizes {
        let planned = &*self.planned;
        Sizes::new(|index| planned.pruned_size(index), planned.kept_from, planned.view.messages.len(), &self.pinned)
    }

    /// Returns the largest size of a result that saves at least a tenth of the limit.
    fn target(&self) -> u64 {
        self.limit.min(self.total.saturating_sub(self.limit.div_ceil(10)))
    }

    /// Returns the smallest and the largest size of the summary's message, where `room` is left beside the kept part. A
    /// summary holds more for its size than the pruned messages behind it, which get the room that the summary leaves.
    fn summary_range(&self, room: u64) -> (u64, u64) {
        let (policy, transcript) = (self.policy, self.planned.transcript);
        let summary = &policy.summary;
        let wrapper = summary_tokens(policy, transcript, "");
        let wanted = match summary.summarizer {
            SummarizerKind::Off => return (0, 0),
            SummarizerKind::Embedded => summary.tokens.saturating_sub(wrapper),
            SummarizerKind::Model | SummarizerKind::Command => summary.model.asked_tokens + summary.ledger,
        };
        let least = wrapper + LEAST_SUMMARY;
        (least, room.min(wanted.saturating_add(wrapper)).max(least))
    }

    /// Returns the plan with the earliest cut at which a summary, the pruned messages behind it and the kept part fit
    /// the target, and the room for the summary's message. That message has `summary` tokens, or its share of the room.
    pub(super) fn earliest_cut(&self, target: u64, summary: Option<u64>) -> Option<(Plan, u64)> {
        if !self.may_cut() {
            return None;
        }
        let kept_from = self.planned.kept_from;
        let sizes = self.sizes();
        let room = target.checked_sub(self.planned.tally.overhead() + sizes.kept)?;
        let (least, share) = self.summary_range(room.saturating_sub(sizes.pinned_before(kept_from)));
        let most = summary.unwrap_or(share);
        let fits = |cut: usize, summary: u64| sizes.pinned_before(cut) + sizes.between(cut) + summary <= room;
        let legal = plan::legal_cuts(self.planned.view);
        let cuts: Vec<usize> = (1..=kept_from).filter(|&cut| legal[cut]).collect();
        let smallest_summary = smallest_summary(self.planned.view, self.policy);
        let plan_at = |cut: usize, summary: u64| {
            let plan = plan::cut_at(self.planned.view, &self.planned.tally, &self.policy.cut, moved_cut, cut);
            let plan = uncut_without_gain(plan, &self.planned.tally, || smallest_summary);
            let pinned: u64 = plan.pinned.iter().map(|&index| self.planned.tally.message(index)).sum();
            let left = room.checked_sub(pinned + sizes.between(plan.cutoff))?;
            let is_worth_it = plan.cutoff > 0 && plan.cutoff <= kept_from && left >= summary;
            let is_readable = || !self.planned.leaves_foreign(self.policy, &plan, &self.planned.pruned);
            (is_worth_it && is_readable()).then_some((plan, left))
        };
        let earliest = |summary: u64| {
            let first = cuts.partition_point(|&cut| !fits(cut, summary));
            let later = &cuts[first.min(cuts.len())..];
            let step = later.len().div_ceil(MOST_CUTS).max(1);
            // The last cut is always tried: no other leaves less.
            let tried = later.iter().step_by(step).chain(later.last());
            tried.copied().find_map(|cut| plan_at(cut, summary))
        };
        // The plan can move a cut that fits to a later one, which leaves less room for the summary.
        let smaller = |tokens: &u64| (summary.is_none() && *tokens > least).then(|| (tokens / 2).max(least));
        std::iter::successors(Some(most), smaller).find_map(earliest)
    }

    /// Cuts results of the kept part, as little as the target takes beside a summary of so many tokens, or of its share.
    ///
    /// # Errors
    /// Why that is not enough.
    fn cap(&mut self, target: u64, summary: Option<u64>) -> Result<(), Unmet> {
        let kept_from = self.planned.kept_from;
        let overhead = self.planned.tally.overhead();
        let plan = (kept_from > 0).then(|| self.plan_at(kept_from)).filter(|plan| plan.cutoff == kept_from);
        let sizes = self.sizes();
        let pinned = match &plan {
            Some(plan) => plan.pinned.iter().map(|&index| self.planned.tally.message(index)).sum(),
            None => sizes.pinned_before(kept_from),
        };
        let before =
            |summary: u64| if plan.is_some() { summary } else { sizes.before - sizes.pinned_before(kept_from) };
        let (least, share) = self.summary_range(target.saturating_sub(overhead + pinned) / 5);
        // Pins are never cut, in the kept part either.
        let all_pinned = self.pinned_before(self.planned.transcript.messages.len());
        let may_cut = |index: usize| index >= kept_from && all_pinned.binary_search(&index).is_err();
        let capped = |tokens: u64| self.planned.pruned_where(self.policy, may_cut, &[capping(tokens)], None);
        let shortest = capped(1);
        let most = if self.only_asks { 1 } else { sizes.kept };
        let mut foreign = false;
        let tried = summary.map_or_else(|| vec![share, least], |summary| vec![summary]);
        for summary in tried {
            let Some(room) = target.checked_sub(overhead + pinned + before(summary)) else { continue };
            let Some((tokens, pruned)) = largest(most, |tokens| {
                let pruned = if tokens == 1 { shortest.clone() } else { capped(tokens) };
                (sizes.kept.saturating_sub(pruned.saved()) <= room).then_some(pruned)
            }) else {
                continue;
            };
            let left = room - sizes.kept.saturating_sub(pruned.saved());
            let cap = (!pruned.is_empty()).then_some(tokens);
            let all_pruned = self.planned.pruned.clone().and(pruned);
            if self.planned.leaves_foreign(self.policy, plan.as_ref().unwrap_or(&self.planned.plan), &all_pruned) {
                foreign = true;
                continue;
            }
            self.planned.pruned = all_pruned;
            match plan {
                Some(plan) => self.settle_cut(target, plan, summary + left, cap),
                None => self.settle(target, 0, cap, None),
            }
            return Ok(());
        }
        let kept = sizes.kept.saturating_sub(shortest.saved());
        Err(Unmet { overhead, pinned, before: before(least), kept, foreign })
    }

    /// Uses the room that a summary of so many tokens leaves. Returns whether that changes the plan.
    pub(super) fn use_room_beside(&mut self, target: u64, summary: u64) -> bool {
        if self.planned.fit.is_some_and(|fit| fit.cap.is_some()) {
            let capped = std::mem::take(&mut self.planned.pruned);
            let is_capped_less = self.cap(target, Some(summary)).is_ok();
            if !is_capped_less {
                self.planned.pruned = capped;
            }
            return is_capped_less;
        }
        let cut = self.planned.plan.cutoff;
        let earlier = self.earliest_cut(target, Some(summary)).filter(|(plan, _)| plan.cutoff < cut);
        let is_earlier = earlier.is_some();
        if let Some((plan, room)) = earlier {
            self.settle_cut(target, plan, room, None);
        }
        self.fill(summary) || is_earlier
    }

    /// Returns the size of the summary's message for which room is left.
    fn room_for_summary(&self) -> u64 {
        let (_, most) = self.summary_range(u64::MAX);
        // A model can write more than it was asked for.
        most.saturating_mul(2)
    }

    /// Gives the messages behind the cut the room that a summary of so many tokens leaves: what was pruned comes back as
    /// far as it fits. Where room is left still, the messages in front of the cut stay, too, with their results cut.
    /// Returns whether that changes the plan.
    fn fill(&mut self, summary: u64) -> bool {
        let is_filled = self.fill_once(summary);
        // The summary of a history that has become short is short as well, and leaves more room.
        if is_filled {
            self.fill_once(summary);
        }
        is_filled
    }

    fn fill_once(&mut self, summary: u64) -> bool {
        let Some(Fit { room, cap: None, unmet: None, .. }) = self.planned.fit else { return false };
        let (cut, kept_from) = (self.planned.plan.cutoff, self.planned.kept_from);
        let summary = summary.min(self.planned.tally.sum(&self.planned.plan.superseded()));
        let spare = room.saturating_sub(summary);
        if cut == 0 || !self.is_worth_it(spare) {
            return false;
        }
        let saved: u64 = self.free(cut..kept_from).map(|index| self.saved(index)).sum();
        let behind = self.pruned_in(cut..kept_from, &self.rules_to_the_least(), saved.saturating_sub(spare));
        let Some(left) = (spare + behind.saved()).checked_sub(saved) else { return false };
        let restores = behind.saved() < saved;
        match self.earlier_cut(left) {
            Some(plan) if plan.cutoff == 0 => {
                let pruned = self.pruned_in(0..kept_from, &self.rules_to_the_least(), self.goal);
                if pruned.saved() >= self.goal && self.apply(plan, pruned, summary) {
                    return true;
                }
            }
            Some(plan) => {
                let in_front = plan.cutoff..cut;
                let size: u64 = self.free(in_front.clone()).map(|index| self.planned.tally.message(index)).sum();
                let goal = size.saturating_sub(left);
                let pruned = self.pruned_in(in_front, &self.rules_to_the_least(), goal);
                let pruned = (pruned.saved() >= goal).then(|| pruned.and(behind.clone()));
                if pruned.is_some_and(|pruned| self.apply(plan, pruned, summary)) {
                    return true;
                }
            }
            None => {}
        }
        restores && self.apply(self.planned.plan.clone(), behind, summary)
    }

    /// Returns the plan with the next earlier cut, or the one without a cut where there is nothing to be summarized in
    /// front of it; nothing where the room is not worth a change.
    fn earlier_cut(&self, room: u64) -> Option<Plan> {
        if !self.is_worth_it(room) {
            return None;
        }
        let legal = plan::legal_cuts(self.planned.view);
        let earlier = (1..self.planned.plan.cutoff).rev().find(|&cut| legal[cut]);
        let plan = earlier.map(|cut| self.plan_at(cut)).filter(|plan| Some(plan.cutoff) == earlier);
        Some(plan.unwrap_or_else(|| self.planned.plan.clone().without_cut()))
    }

    /// Makes this the plan, with this pruning of the messages behind its cut, where the result can be read and has room
    /// for a summary of so many tokens. Returns whether it did.
    fn apply(&mut self, plan: Plan, pruned: Pruned, summary: u64) -> bool {
        let Some(Fit { target, .. }) = self.planned.fit else { return false };
        let pruned = self.pruned_history(plan.cutoff).and(pruned);
        if self.planned.leaves_foreign(self.policy, &plan, &pruned) {
            return false;
        }
        let before = std::mem::replace(&mut self.planned.pruned, pruned);
        if plan.cutoff == 0 {
            (self.planned.plan, self.planned.pruned_alone) = (plan, None);
            self.settle(self.limit, 0, None, None);
            return true;
        }
        let room = target.checked_sub(self.size_without_summary(&plan)).filter(|room| *room >= summary);
        match room {
            Some(room) => self.settle_cut(target, plan, room, None),
            None => self.planned.pruned = before,
        }
        room.is_some()
    }

    /// Returns the rules that prune, with results cut as short as a useful rest is.
    fn rules_to_the_least(&self) -> Vec<Rule> {
        with_shorter_results(for_fit(&self.policy.pruning.rules), LEAST_CAP)
    }

    /// Whether so much room is worth a change of the plan.
    fn is_worth_it(&self, room: u64) -> bool {
        room >= (self.limit / SPARE).max(1)
    }

    /// Returns the messages of a range that are not pinned.
    fn free(&self, range: Range<usize>) -> impl Iterator<Item = usize> {
        range.filter(|index| self.pinned.binary_search(index).is_err())
    }

    /// Returns the tokens that the pruning saves in a message.
    fn saved(&self, index: usize) -> u64 {
        self.planned.tally.message(index).saturating_sub(self.planned.pruned_size(index))
    }

    /// Returns the tokens of a result without its summary and before thinking is removed.
    fn size_without_summary(&self, plan: &Plan) -> u64 {
        let kept = plan.pinned.iter().copied().chain(plan.cutoff..self.planned.view.messages.len());
        self.planned.tally.overhead() + kept.map(|index| self.planned.pruned_size(index)).sum::<u64>()
    }

    fn pruned_in(&self, range: Range<usize>, rules: &[Rule], goal: u64) -> Pruned {
        self.planned.pruned_in(self.policy, range, &self.pinned, rules, Some(goal))
    }

    /// Returns the pruning of the messages before a cut, which a model reads pruned.
    fn pruned_history(&self, cut: usize) -> Pruned {
        if self.policy.summary.is_embedded() {
            return Pruned::default();
        }
        self.pruned_in(0..cut, &for_fit(&self.policy.pruning.rules), u64::MAX)
    }

    /// Returns the plan with a cut at one place; without a cut where it would gain nothing.
    fn plan_at(&self, cut: usize) -> Plan {
        let Planned { view, tally, .. } = &*self.planned;
        let plan = plan::cut_at(view, tally, &self.policy.cut, moved_cut, cut);
        if self.may_cut() {
            uncut_without_gain(plan, tally, || smallest_summary(view, self.policy))
        } else {
            plan.without_cut()
        }
    }

    /// Whether the conversation may be cut. Without a summarizer, a limit takes no words of user or model.
    fn may_cut(&self) -> bool {
        self.policy.summary.summarizer != SummarizerKind::Off
    }
}
