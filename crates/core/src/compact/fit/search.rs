//! The search for the pruning, the cut and the cap with which a conversation fits a size.

use std::ops::{Range, RangeInclusive};

use crate::compact::decide::Decided;
use crate::compact::fit::{Candidate, Found, SPARE};
use crate::compact::limit::{Fit, Parts, Unmet};
use crate::compact::message::{LEAST_SUMMARY, summary_tokens};
use crate::compact::policy::SummarizerKind;
use crate::plan::size::Size;
use crate::plan::{self, CutPolicy, Plan};
use crate::prune::{Pruned, Rule, capping, for_fit, with_shorter_results};
use crate::wording::counted;

/// Cuts that are tried, at most.
const MOST_CUTS: usize = 48;

/// The fewest tokens to which results right before the cut are shortened, so that they can stay behind it.
const LEAST_CAP: u64 = 100;

/// Makes a conversation fit a limit of tokens.
pub(super) fn search(decided: &Decided<'_>, limit: u64) -> Found {
    let total = decided.tokens();
    if total <= limit {
        // A limit of bytes is one of tokens here.
        let size = match decided.policy.fit {
            Some(Size::Bytes(_)) | None => Size::Tokens(limit),
            Some(size) => size,
        };
        let mut within = format!("it has {}, within --fit {size}", counted(total, "token"));
        if let Some(recorded) = decided.recorded()
            && recorded > limit
        {
            within.push_str(&format!("; it recorded {recorded} itself, by which --counter recorded fits"));
        }
        return Candidate::unchanged(decided, within).into();
    }
    let (search, found) = reach_limit(decided, limit);
    // How long the embedded summary is shows a draft.
    if found.unmet.is_some() || decided.policy.summary.is_embedded() {
        return found;
    }
    let best = search.fill(&found.best, search.room_for_summary()).unwrap_or(found.best);
    let pruned_alone = if best.plan.cutoff > 0 { found.pruned_alone } else { None };
    Found { best, pruned_alone, unmet: None }
}

/// The best candidate within a limit, and its search. What the user typed yields where the limit cannot be met beside it.
fn reach_limit<'d, 't>(decided: &'d Decided<'t>, limit: u64) -> (LimitSearch<'d, 't>, Found) {
    let kept_from = tail(decided, limit);
    let search = LimitSearch::new(decided, limit, kept_from, decided.room_for_typed(limit));
    let found = search.reach_limit();
    let Some(unmet) = found.unmet else { return (search, found) };
    if search.typed == 0 {
        return (search, found);
    }
    let used = search.rules.typed.iter().map(|&index| decided.tally.message(index)).sum::<u64>() + search.told_words;
    let lacking = if matches!(unmet, Unmet::Tokens(_)) { unmet.least().saturating_sub(limit) } else { used };
    for room in [used.saturating_sub(lacking), 0] {
        let search = LimitSearch::new(decided, limit, kept_from, room);
        let found = search.reach_limit();
        if found.unmet.is_none() || room == 0 {
            return (search, found);
        }
    }
    (search, found)
}

/// A limit that can be met, of those above one that cannot, and none a little smaller. It is found by trying, from
/// an estimate upwards and from the whole conversation downwards: with a larger limit more stays, which can be too much
/// again.
pub(super) fn least_limit(decided: &Decided<'_>, unmet: u64, estimate: u64) -> u64 {
    let whole = decided.tokens();
    let mut below = unmet;
    let mut tried = estimate.max(unmet + 1);
    while tried < whole && !can_be_met(decided, tried) {
        below = tried;
        tried += tried / 10 + 1;
    }
    let least = least_between(decided, below, tried.min(whole));
    if below > unmet { least.min(least_between(decided, unmet, whole)) } else { least }
}

/// A limit that can be met, up to one that can, and above one that cannot and is one smaller.
fn least_between(decided: &Decided<'_>, mut unmet: u64, mut met: u64) -> u64 {
    while met > unmet + 1 {
        let middle = unmet.midpoint(met);
        if can_be_met(decided, middle) {
            met = middle;
        } else {
            unmet = middle;
        }
    }
    met
}

/// Whether a conversation can meet a limit of tokens.
pub(super) fn can_be_met(decided: &Decided<'_>, limit: u64) -> bool {
    if !decided.may_act() || decided.tokens() <= limit {
        return true;
    }
    LimitSearch::new(decided, limit, tail(decided, limit), 0).reach_limit().unmet.is_none()
}

/// The first message of the kept part: the one of `--keep`, or that of the longest tail of at most half of what the
/// limit leaves for messages. The last message is always in it, with all messages that belong to it.
fn tail(decided: &Decided<'_>, limit: u64) -> usize {
    let Decided { view, tally, plan, .. } = decided;
    if decided.policy.keep_is_given {
        return plan.kept_from;
    }
    let last = view.messages.len() - 1;
    let first = tally.suffix_within(limit.saturating_sub(tally.overhead()) / 2).min(last);
    let legal = plan::legal_cuts(view);
    for cut in (first..=last).chain((0..first).rev()) {
        if legal[cut] {
            return cut;
        }
    }
    0
}

/// The search for what makes a conversation with some kept part fit a limit. All sizes are in tokens.
pub(super) struct LimitSearch<'d, 't> {
    decided: &'d Decided<'t>,
    limit: u64,
    /// The size of the conversation as it is.
    total: u64,
    /// The size that pruning must save. A change must be worth its while, since the provider reads all messages behind
    /// it anew.
    goal: u64,
    /// The first message of the kept part.
    kept_from: usize,
    /// The rules for the cut, with the messages that the user typed and that stay.
    rules: CutPolicy,
    /// The most tokens of these messages.
    typed: u64,
    /// The tokens that the digest has at least, for what the user typed and that cannot stay.
    told_words: u64,
    /// The pinned messages before the kept part.
    pinned: Vec<usize>,
    /// The plan without a cut.
    uncut: Plan,
}

impl<'d, 't> LimitSearch<'d, 't> {
    /// `typed` is the most tokens of what the user typed that stay before the kept part, or that the digest has room for.
    pub(super) fn new(decided: &'d Decided<'t>, limit: u64, kept_from: usize, typed: u64) -> Self {
        let total = decided.tokens();
        let goal = total.saturating_sub(limit).max(limit.div_ceil(10));
        let stays = decided.typed_within(kept_from, typed);
        let mut told_words = 0;
        if decided.policy.summary.is_embedded() {
            let in_pins: u64 = stays.iter().map(|&index| decided.tally.message(index)).sum();
            told_words = decided.typed_tokens(kept_from, typed).saturating_sub(in_pins);
        }
        let rules = CutPolicy { typed: stays, ..decided.policy.cut.clone() };
        let pinned = decided.pinned_before(&rules, kept_from);
        let uncut = Plan { wanted: kept_from, ..decided.plan.clone().without_cut() };
        LimitSearch { decided, limit, total, goal, kept_from, rules, typed, told_words, pinned, uncut }
    }

    /// The best candidate within the limit.
    fn reach_limit(&self) -> Found {
        let rules = for_fit(&self.decided.policy.pruning.rules);
        let mut pruned = self.pruned_in(0..self.kept_from, &rules, self.goal);
        if self.decided.leaves_foreign(&self.uncut, &pruned) {
            pruned = Pruned::default();
        }
        let saved = pruned.saved();
        let fits = self.total - saved <= self.limit;
        let uncut = self.without_cut(pruned);
        if fits && saved >= self.goal {
            return uncut.into();
        }
        let target = self.target();
        if let Some(best) = self.earliest_cut(target, None, &uncut.pruned) {
            let pruned_alone = if fits { Some(uncut) } else { None };
            return Found { best, pruned_alone, unmet: None };
        }
        if fits {
            return uncut.into();
        }
        let mut capped = self.cap(target, None, &uncut.pruned);
        if capped.is_err() && target != self.limit {
            // A result that fits is worth more than the tenth that the target saves.
            capped = match self.earliest_cut(self.limit, None, &uncut.pruned) {
                Some(best) => Ok(best),
                None => self.cap(self.limit, None, &uncut.pruned),
            };
        }
        match capped {
            Ok(best) => best.into(),
            Err(unmet) => Found { best: uncut, pruned_alone: None, unmet: Some(unmet) },
        }
    }

    fn without_cut(&self, pruned: Pruned) -> Candidate {
        let fit = Fit { limit: self.limit, target: self.limit, room: 0, typed: self.typed, cap: None };
        Candidate { plan: self.uncut.clone(), kept_from: self.kept_from, pruned, fit: Some(fit) }
    }

    /// The candidate with a cut, and with `room` for the summary's message within the target.
    fn with_cut(&self, target: u64, plan: Plan, room: u64, pruned: Pruned) -> Candidate {
        let mut moved_because = None;
        if plan.cutoff != self.kept_from {
            moved_because = Some("older messages fit too, pruned".to_owned());
        }
        let Plan { triggered, fired, wanted, .. } = self.uncut.clone();
        let plan = Plan { triggered, fired, wanted, moved_because, kept_from: self.kept_from, ..plan };
        let fit = Fit { limit: self.limit, target, room, typed: self.typed, cap: None };
        Candidate { plan, kept_from: self.kept_from, pruned, fit: Some(fit) }
    }

    fn sizes(&self, pruned: &Pruned) -> Sizes {
        let size = |index| self.decided.pruned_size(pruned, index);
        Sizes::new(size, self.kept_from, self.decided.view.messages.len(), &self.pinned)
    }

    /// The largest size of a result that saves at least a tenth of the limit.
    fn target(&self) -> u64 {
        self.limit.min(self.total.saturating_sub(self.limit.div_ceil(10)))
    }

    /// The smallest and the largest size of the summary's message, where `room` is left beside the kept part. A
    /// summary holds more for its size than the pruned messages behind it, which get the room that the summary leaves.
    fn summary_range(&self, room: u64) -> (u64, u64) {
        let Decided { policy, transcript, .. } = self.decided;
        let summary = &policy.summary;
        let wrapper = summary_tokens(policy, transcript, "");
        let wanted = match summary.summarizer {
            SummarizerKind::Off => return (0, 0),
            SummarizerKind::Embedded => {
                summary.embedded_tokens(self.total, 0, Some(self.limit)).saturating_sub(wrapper)
            }
            SummarizerKind::Model | SummarizerKind::Command => summary.model.asked_tokens + summary.ledger,
        };
        let least = wrapper + LEAST_SUMMARY.max(self.told_words).min(wanted.max(LEAST_SUMMARY));
        (least, room.min(wanted.saturating_add(wrapper)).max(least))
    }

    /// The candidate with the earliest cut at which a summary, the pruned messages behind it and the kept part
    /// fit the target. The summary's message has `summary` tokens, or its share of the room.
    fn earliest_cut(&self, target: u64, summary: Option<u64>, pruned: &Pruned) -> Option<Candidate> {
        if !self.decided.may_cut() {
            return None;
        }
        let kept_from = self.kept_from;
        let sizes = self.sizes(pruned);
        let room = target.checked_sub(self.decided.tally.overhead() + sizes.kept)?;
        let (least, share) = self.summary_range(room.saturating_sub(sizes.pinned_before[kept_from]));
        let legal = plan::legal_cuts(self.decided.view);
        let cuts: Vec<usize> = (1..=kept_from).filter(|&cut| legal[cut]).collect();
        let mut wanted = summary.unwrap_or(share);
        loop {
            let first = cuts.partition_point(|&cut| sizes.pinned_before[cut] + sizes.between[cut] + wanted > room);
            let later = &cuts[first..];
            let step = later.len().div_ceil(MOST_CUTS).max(1);
            // The last cut is always tried: no other leaves less.
            for &cut in later.iter().step_by(step).chain(later.last()) {
                let plan = self.decided.cut_at(&self.rules, cut);
                let used = self.pinned_tokens(&plan) + sizes.between[plan.cutoff.min(kept_from)];
                let Some(left) = room.checked_sub(used) else { continue };
                let is_worth_it = plan.cutoff > 0 && plan.cutoff <= kept_from && left >= wanted;
                if is_worth_it && !self.decided.leaves_foreign(&plan, pruned) {
                    return Some(self.with_cut(target, plan, left, pruned.clone()));
                }
            }
            if summary.is_some() || wanted <= least {
                return None;
            }
            // The plan can move a cut that fits to a later one, which leaves less room for the summary.
            wanted = (wanted / 2).max(least);
        }
    }

    /// The candidate that cuts results of the kept part, as little as the target takes beside a summary of so
    /// many tokens, or of its share. Before the kept part, `before` is pruned.
    ///
    /// # Errors
    /// Why that is not enough.
    fn cap(&self, target: u64, summary: Option<u64>, before: &Pruned) -> Result<Candidate, Unmet> {
        let kept_from = self.kept_from;
        let overhead = self.decided.tally.overhead();
        let plan = self.plan_before_kept();
        let sizes = self.sizes(before);
        let pinned = plan.as_ref().map_or(0, |plan| self.pinned_tokens(plan));
        let (least, share) = self.summary_range(target.saturating_sub(overhead + pinned) / 5);
        // Pins are never cut, in the kept part either.
        let all_pinned = self.decided.pinned_before(&self.rules, self.decided.transcript.messages.len());
        let capped = |tokens: u64| {
            let may_cut = |index: usize| index >= kept_from && all_pinned.binary_search(&index).is_err();
            self.decided.pruned(may_cut, &[capping(tokens)], None)
        };
        let shortest = capped(1);
        let mut foreign = false;
        let tried = match summary {
            Some(summary) => vec![summary],
            None => vec![share, least],
        };
        for summary in tried {
            let history = if plan.is_some() { summary } else { sizes.between[0] };
            let Some(room) = target.checked_sub(overhead + pinned + history) else { continue };
            let found = largest(1..=sizes.kept, |tokens| {
                let pruned = if tokens == 1 { shortest.clone() } else { capped(tokens) };
                if sizes.kept.saturating_sub(pruned.saved()) <= room { Some(pruned) } else { None }
            });
            let Some((tokens, pruned)) = found else { continue };
            let left = room - sizes.kept.saturating_sub(pruned.saved());
            let cap = if pruned.is_empty() { None } else { Some(tokens) };
            let pruned = before.clone().and(pruned);
            if self.decided.leaves_foreign(plan.as_ref().unwrap_or(&self.uncut), &pruned) {
                foreign = true;
                continue;
            }
            let candidate = match plan {
                Some(plan) => self.with_cut(target, plan, summary + left, pruned),
                None => self.without_cut(pruned),
            };
            return Ok(Candidate { fit: candidate.fit.map(|fit| Fit { cap, ..fit }), ..candidate });
        }
        if foreign {
            return Err(Unmet::Foreign);
        }
        let pinned_before = sizes.pinned_before[kept_from];
        let (pinned, before) = match plan {
            Some(_) => (pinned, least),
            None => (pinned_before, sizes.between[0] - pinned_before),
        };
        let kept = sizes.kept.saturating_sub(shortest.saved());
        Err(Unmet::Tokens(Parts { overhead, pinned, before, kept }))
    }

    /// The plan with a cut right before the kept part, where there can be one.
    fn plan_before_kept(&self) -> Option<Plan> {
        if self.kept_from == 0 || !self.decided.may_cut() {
            return None;
        }
        let plan = self.decided.cut_at(&self.rules, self.kept_from);
        if plan.cutoff == self.kept_from { Some(plan) } else { None }
    }

    /// A better candidate that uses the room beside a summary of so many tokens, where there is one.
    pub(super) fn use_room_beside(&self, best: &Candidate, summary: u64) -> Option<Candidate> {
        let Fit { target, cap, .. } = best.fit?;
        if cap.is_some() {
            return self.cap(target, Some(summary), &Pruned::default()).ok();
        }
        let mut earlier = self.earliest_cut(target, Some(summary), &best.pruned);
        earlier = earlier.filter(|earlier| earlier.plan.cutoff < best.plan.cutoff);
        self.fill(earlier.as_ref().unwrap_or(best), summary).or(earlier)
    }

    /// The candidate without a cut, where pruning to the least saves enough.
    fn pruned_to_the_goal(&self) -> Option<Candidate> {
        let pruned = self.pruned_in(0..self.kept_from, &self.rules_to_the_least(), self.goal);
        if pruned.saved() < self.goal {
            return None;
        }
        let pruned = self.pruned_history(0).and(pruned);
        if self.decided.leaves_foreign(&self.uncut, &pruned) { None } else { Some(self.without_cut(pruned)) }
    }

    /// The size of the summary's message for which room is left.
    fn room_for_summary(&self) -> u64 {
        let (_, most) = self.summary_range(u64::MAX);
        // A model can write more than it was asked for.
        most.saturating_mul(2)
    }

    /// The candidate that gives the messages behind the cut the room that a summary of so many tokens leaves:
    /// what was pruned comes back as far as it fits. Where room is left still, the messages in front of the cut stay,
    /// too, with their results cut. Nothing where there is no room.
    fn fill(&self, best: &Candidate, summary: u64) -> Option<Candidate> {
        let filled = self.fill_once(best, summary)?;
        // The summary of a history that has become short is short as well, and leaves more room.
        Some(self.fill_once(&filled, summary).unwrap_or(filled))
    }

    fn fill_once(&self, best: &Candidate, summary: u64) -> Option<Candidate> {
        let Fit { room, target, .. } = best.fit.filter(|fit| fit.cap.is_none())?;
        let (cut, kept_from) = (best.plan.cutoff, self.kept_from);
        let summary = summary.min(self.decided.tally.sum(&best.plan.superseded()));
        let spare = room.saturating_sub(summary);
        if cut == 0 || !self.is_worth_it(spare) {
            return None;
        }
        let mut saved: u64 = 0;
        for index in self.free(cut..kept_from) {
            let size = self.decided.tally.message(index);
            saved += size.saturating_sub(self.decided.pruned_size(&best.pruned, index));
        }
        let behind = self.pruned_in(cut..kept_from, &self.rules_to_the_least(), saved.saturating_sub(spare));
        let left = (spare + behind.saved()).checked_sub(saved)?;
        let restores = behind.saved() < saved;
        let more = if !self.is_worth_it(left) {
            None
        } else if let Some(plan) = self.earlier_cut(cut) {
            let in_front = plan.cutoff..cut;
            let size: u64 = self.free(in_front.clone()).map(|index| self.decided.tally.message(index)).sum();
            let goal = size.saturating_sub(left);
            let pruned = self.pruned_in(in_front, &self.rules_to_the_least(), goal);
            if pruned.saved() >= goal {
                self.cut_with_room(target, plan, pruned.and(behind.clone()), summary)
            } else {
                None
            }
        } else {
            self.pruned_to_the_goal()
        };
        if more.is_some() || !restores {
            return more;
        }
        self.cut_with_room(target, best.plan.clone(), behind, summary)
    }

    /// The plan with the next earlier cut; nothing where there is nothing to be summarized in front of it.
    fn earlier_cut(&self, cut: usize) -> Option<Plan> {
        let legal = plan::legal_cuts(self.decided.view);
        let earlier = (1..cut).rev().find(|&cut| legal[cut])?;
        let plan = self.decided.cut_at(&self.rules, earlier);
        if plan.cutoff == earlier { Some(plan) } else { None }
    }

    /// The candidate with this cut and this pruning of the messages behind it, where the result can be read and
    /// has room for a summary of so many tokens.
    fn cut_with_room(&self, target: u64, plan: Plan, pruned: Pruned, summary: u64) -> Option<Candidate> {
        let pruned = self.pruned_history(plan.cutoff).and(pruned);
        if self.decided.leaves_foreign(&plan, &pruned) {
            return None;
        }
        let kept = plan.pinned.iter().copied().chain(plan.cutoff..self.decided.view.messages.len());
        let kept: u64 = kept.map(|index| self.decided.pruned_size(&pruned, index)).sum();
        let room = target.checked_sub(self.decided.tally.overhead() + kept)?;
        if room < summary {
            return None;
        }
        Some(self.with_cut(target, plan, room, pruned))
    }

    /// The rules that prune, with results cut as short as a useful rest is.
    fn rules_to_the_least(&self) -> Vec<Rule> {
        with_shorter_results(for_fit(&self.decided.policy.pruning.rules), LEAST_CAP)
    }

    /// Whether so much room is worth a change of the plan.
    fn is_worth_it(&self, room: u64) -> bool {
        room >= (self.limit / SPARE).max(1)
    }

    /// The messages of a range that are not pinned.
    fn free(&self, range: Range<usize>) -> impl Iterator<Item = usize> {
        range.filter(|index| self.pinned.binary_search(index).is_err())
    }

    fn pinned_tokens(&self, plan: &Plan) -> u64 {
        plan.pinned.iter().map(|&index| self.decided.tally.message(index)).sum()
    }

    fn pruned_in(&self, range: Range<usize>, rules: &[Rule], goal: u64) -> Pruned {
        let is_free = |index: usize| {
            index >= self.uncut.start && range.contains(&index) && self.pinned.binary_search(&index).is_err()
        };
        self.decided.pruned(is_free, rules, Some(goal))
    }

    /// The pruning of the messages before a cut, which a model reads pruned.
    fn pruned_history(&self, cut: usize) -> Pruned {
        if self.decided.policy.summary.is_embedded() {
            return Pruned::default();
        }
        self.pruned_in(0..cut, &for_fit(&self.decided.policy.pruning.rules), u64::MAX)
    }
}

/// Tokens of the parts of a conversation at each possible cut up to the kept part.
struct Sizes {
    /// The kept part.
    kept: u64,
    /// The pinned messages before the cut.
    pinned_before: Vec<u64>,
    /// The messages from the cut to the kept part, pruned.
    between: Vec<u64>,
}

impl Sizes {
    /// The sizes for a conversation of `messages` messages, of which `pinned` stay at every cut.
    fn new(size: impl Fn(usize) -> u64, kept_from: usize, messages: usize, pinned: &[usize]) -> Self {
        let (mut pinned_before, mut between) = (vec![0; kept_from + 1], vec![0; kept_from + 1]);
        for index in 0..kept_from {
            let own = if pinned.binary_search(&index).is_ok() { size(index) } else { 0 };
            pinned_before[index + 1] = pinned_before[index] + own;
        }
        for index in (0..kept_from).rev() {
            between[index] = between[index + 1] + size(index);
        }
        Sizes { kept: (kept_from..messages).map(size).sum(), pinned_before, between }
    }
}

/// The largest number of a range for which `of` returns something, and that; nothing where it returns nothing for the
/// least.
pub(in crate::compact) fn largest<T>(range: RangeInclusive<u64>, of: impl Fn(u64) -> Option<T>) -> Option<(u64, T)> {
    let (mut low, mut high) = range.into_inner();
    let mut found = (low, of(low)?);
    while low < high {
        let middle = low + (high - low).div_ceil(2);
        match of(middle) {
            Some(this) => (found, low) = ((middle, this), middle),
            None => high = middle - 1,
        }
    }
    Some(found)
}
