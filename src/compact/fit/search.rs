//! The search for the pruning, the cut and the cap with which a conversation fits a size.

use crate::plan::{self, Plan};
use crate::prune::{Pruned, capping};

use crate::compact::decide::{smallest_summary, uncut_without_gain};
use crate::compact::fit::FittedPlan;
use crate::compact::fit::limit::{Fit, Unmet};
use crate::compact::fit::sizes::Sizes;
use crate::compact::message::{LEAST_SUMMARY, note_tokens, summary_tokens};
use crate::compact::policy::{CompactionPolicy, SummarizerKind};

/// Cuts that are tried, at most.
const MOST_CUTS: usize = 48;

/// The search for what makes a conversation fit a limit. All sizes are in tokens.
pub(super) struct LimitSearch<'f, 't, 'p> {
    fitted: &'f mut FittedPlan<'t>,
    policy: &'p CompactionPolicy,
    limit: u64,
    /// The size of the conversation as it is.
    total: u64,
    /// The size that pruning must save. A change must be worth its while, since the provider reads all messages behind
    /// it anew.
    goal: u64,
    /// The pinned messages before the kept part.
    pinned: Vec<usize>,
}

impl<'f, 't, 'p> LimitSearch<'f, 't, 'p> {
    /// Returns a search of which only the limit is known.
    pub(super) fn new(fitted: &'f mut FittedPlan<'t>, policy: &'p CompactionPolicy, limit: u64) -> Self {
        let total = fitted.tokens(policy);
        let goal = total.saturating_sub(limit).max(limit.div_ceil(10));
        LimitSearch { fitted, policy, limit, total, goal, pinned: Vec::new() }
    }

    /// Makes the conversation fit the limit, or sets why that is impossible.
    pub(super) fn run(mut self) {
        let total = self.total;
        if total <= self.limit {
            let size = self.policy.fit.map(|size| size.to_string()).unwrap_or_default();
            return self.fitted.leave_unchanged(format!("it has {total} tokens, within --fit {size}"));
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
        let kept_from = if self.policy.keep_is_given { self.fitted.plan.kept_from } else { self.half_limit_tail() };
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
        // A note in the place of a history loses all of it, so it is only written where pruning is not enough.
        let writes_note = self.policy.summary.summarizer == SummarizerKind::Off;
        let target = self.target();
        if !(fits && writes_note)
            && let Some((plan, room)) = self.earliest_cut(target, None)
        {
            self.fitted.pruned_alone = fits.then(|| self.fitted.plan.clone());
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
        // A result that fits is worth more than the tenth that the target saves.
        if let Some((plan, room)) = self.earliest_cut(self.limit, None) {
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
            .then(|| "the messages from there to the kept part fit once they are pruned".to_owned());
        let (triggered, fired, wanted) = (before.triggered, before.fired.clone(), before.wanted);
        self.fitted.plan = Plan { triggered, fired, wanted, moved_because, kept_from: self.fitted.kept_from, ..plan };
        self.settle(target, room, cap, None);
    }

    /// Returns the first message of the longest tail of at most half the limit. The last message is always in it, with
    /// all messages that belong to it.
    fn half_limit_tail(&self) -> usize {
        let FittedPlan { view, tally, .. } = &*self.fitted;
        let last = view.messages.len() - 1;
        let first = tally.suffix_within(self.limit / 2).min(last);
        let legal = plan::legal_cuts(view);
        let behind = (first..=last).find(|&cut| legal[cut]);
        behind.or_else(|| (0..first).rev().find(|&cut| legal[cut])).unwrap_or(0)
    }

    fn sizes(&self) -> Sizes {
        let fitted = &*self.fitted;
        Sizes::new(|index| fitted.pruned_size(index), fitted.kept_from, fitted.view.messages.len(), &self.pinned)
    }

    /// Returns the largest size of a result that saves at least a tenth of the limit.
    fn target(&self) -> u64 {
        self.limit.min(self.total.saturating_sub(self.limit.div_ceil(10)))
    }

    /// Returns the smallest and the largest size of the summary's message, where `room` is left beside the kept part. A
    /// summary holds more for its size than the pruned messages behind it, which get the room that the summary leaves.
    fn summary_range(&self, room: u64) -> (u64, u64) {
        let (policy, transcript) = (self.policy, self.fitted.transcript);
        let summary = &policy.summary;
        let wrapper = summary_tokens(policy, transcript, "");
        let wanted = match summary.summarizer {
            SummarizerKind::Off => {
                let note = note_tokens(policy, transcript);
                return (note, note);
            }
            SummarizerKind::Embedded => summary.tokens.saturating_sub(wrapper),
            SummarizerKind::Model | SummarizerKind::Command => summary.model.asked_tokens + summary.ledger,
        };
        let least = wrapper + LEAST_SUMMARY;
        (least, room.min(wanted.saturating_add(wrapper)).max(least))
    }

    /// Returns the plan with the earliest cut at which a summary, the pruned messages behind it and the kept part fit
    /// the target, and the room for the summary's message. That message has `summary` tokens, or its share of the room.
    pub(super) fn earliest_cut(&self, target: u64, summary: Option<u64>) -> Option<(Plan, u64)> {
        let kept_from = self.fitted.kept_from;
        let sizes = self.sizes();
        let room = target.checked_sub(self.policy.cut.overhead_tokens + sizes.kept)?;
        let (least, share) = self.summary_range(room.saturating_sub(sizes.pinned_before(kept_from)));
        let most = summary.unwrap_or(share);
        let fits = |cut: usize, summary: u64| sizes.pinned_before(cut) + sizes.between(cut) + summary <= room;
        let legal = plan::legal_cuts(self.fitted.view);
        let cuts: Vec<usize> = (1..=kept_from).filter(|&cut| legal[cut]).collect();
        let smallest_summary = smallest_summary(self.fitted.view, self.policy);
        let plan_at = |cut: usize, summary: u64| {
            let plan = plan::cut_at(self.fitted.view, &self.fitted.tally, &self.policy.cut, cut);
            let plan = uncut_without_gain(plan, &self.fitted.tally, || smallest_summary);
            let pinned: u64 = plan.pinned.iter().map(|&index| self.fitted.tally.message(index)).sum();
            let left = room.checked_sub(pinned + sizes.between(plan.cutoff))?;
            let is_worth_it = plan.cutoff > 0 && plan.cutoff <= kept_from && left >= summary;
            let is_readable = || !self.fitted.leaves_foreign(self.policy, &plan, &self.fitted.pruned);
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

    /// Cuts results of the kept part, as little as the target takes.
    ///
    /// # Errors
    /// Why that is not enough.
    fn cap(&mut self, target: u64) -> Result<(), Unmet> {
        let kept_from = self.fitted.kept_from;
        let overhead = self.policy.cut.overhead_tokens;
        let plan = plan::cut_at(self.fitted.view, &self.fitted.tally, &self.policy.cut, kept_from);
        let plan = uncut_without_gain(plan, &self.fitted.tally, || smallest_summary(self.fitted.view, self.policy));
        let plan = (kept_from > 0 && plan.cutoff == kept_from).then_some(plan);
        let sizes = self.sizes();
        let pinned = match &plan {
            Some(plan) => plan.pinned.iter().map(|&index| self.fitted.tally.message(index)).sum(),
            None => sizes.pinned_before(kept_from),
        };
        let before =
            |summary: u64| if plan.is_some() { summary } else { sizes.before - sizes.pinned_before(kept_from) };
        let (least, share) = self.summary_range(target.saturating_sub(overhead + pinned) / 5);
        // Pins are never cut, in the kept part either.
        let all_pinned = plan::pinned(self.fitted.transcript, &self.policy.cut, self.fitted.transcript.messages.len());
        let may_cut = |index: usize| index >= kept_from && all_pinned.binary_search(&index).is_err();
        let capped = |tokens: u64| self.fitted.pruned_where(self.policy, may_cut, &[capping(tokens)], None);
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
            let all_pruned = self.fitted.pruned.clone().and(pruned);
            if self.fitted.leaves_foreign(self.policy, plan.as_ref().unwrap_or(&self.fitted.plan), &all_pruned) {
                foreign = true;
                continue;
            }
            self.fitted.pruned = all_pruned;
            match plan {
                Some(plan) => self.settle_cut(target, plan, summary + left, cap),
                None => self.settle(target, 0, cap, None),
            }
            return Ok(());
        }
        let kept = sizes.kept.saturating_sub(capped(1).saved());
        Err(Unmet { overhead, pinned, before: before(least), kept, foreign })
    }

    /// Moves the cut of a plan to an earlier message where a summary of so many tokens leaves room. Returns whether it
    /// moved.
    pub(super) fn cut_earlier(
        fitted: &'f mut FittedPlan<'t>,
        policy: &'p CompactionPolicy,
        (target, limit): (u64, u64),
        summary: u64,
    ) -> bool {
        let before = fitted.plan.cutoff;
        let pinned = plan::pinned(fitted.transcript, &policy.cut, fitted.kept_from);
        let mut search = LimitSearch { pinned, ..LimitSearch::new(fitted, policy, limit) };
        match search.earliest_cut(target, Some(summary)).filter(|(plan, _)| plan.cutoff < before) {
            Some((plan, room)) => {
                search.settle_cut(target, plan, room, None);
                true
            }
            None => false,
        }
    }
}

/// Returns the largest number up to `most` for which `of` returns something, and that.
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
