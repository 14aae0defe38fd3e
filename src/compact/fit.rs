//! The second step: the changes besides the summary, which make the result as small as it must be.
//!
//! Without `--fit`, the rules of `--prune` apply to all messages before the kept part, and the plan stays where
//! `--keep` put it. With `--fit`, they apply only as far as needed. Where that is not enough, the conversation is cut,
//! as early as it fits. Where even that is not enough, long results of the kept part lose their middle. A conversation
//! then has three zones: the summarized messages, the pruned messages behind the summary, and the kept part.

mod bytes;
mod search;
mod sizes;

use std::cell::OnceCell;
use std::collections::{BTreeMap, HashSet};
use std::ops::Range;

use anyhow::Result;

use crate::plan::size::Size;
use crate::plan::{self, CutPolicy, Plan, total};
use crate::prune::{Pruned, Rule, RuleSavings, Scene, prune, prune_unsent};
use crate::rewrite::thinking::{self, Removal, message_at};
use crate::rewrite::{Edit, sort};
use crate::tokens::Tally;
use crate::transcript::foreign::{self, Bytes};
use crate::transcript::formats::read_entry;
use crate::transcript::view::{Arena, edited};
use crate::wording::counted;

use crate::compact::archive;
use crate::compact::decide::{Planned, decide};
use crate::compact::limit::{Fit, LEFT_FOREIGN, bytes_failure, limit_name};
use crate::compact::policy::{CompactionPolicy, SummarizerKind};

use search::LimitSearch;

/// Room of less than this part of the limit stays unused.
const SPARE: u64 = 20;

/// Makes a decided plan fit: prunes, and with `--fit` cuts as early as the limit asks for.
pub(crate) fn fit<'t>(mut planned: Planned<'t>, policy: &CompactionPolicy) -> Planned<'t> {
    match limit_of(policy) {
        Some(limit) if planned.may_act(policy) => LimitSearch::new(&mut planned, policy, limit).run(),
        _ if planned.may_act(policy) => planned.prune(policy),
        _ => {}
    }
    planned.find_thinking(policy);
    if planned.fit.is_none() && planned.leaves_foreign(policy, &planned.plan, &planned.pruned) {
        (planned.pruned, planned.thinking) = (Pruned::default(), Removal::default());
        planned.leave_unchanged(LEFT_FOREIGN.to_owned());
    }
    planned
}

/// Returns the limit of `--fit` in tokens, where it is known.
pub(super) fn limit_of(policy: &CompactionPolicy) -> Option<u64> {
    policy.fit.and_then(|size| size.in_tokens(policy.cut.context_window))
}

impl<'t> Planned<'t> {
    /// Whether anything may be pruned or cut.
    fn may_act(&self, policy: &CompactionPolicy) -> bool {
        self.plan.triggered && !self.plan.refused && policy.disabled.is_none() && !self.view.messages.is_empty()
    }

    /// Returns the tokens of the whole conversation, as it was counted.
    pub(crate) fn tokens(&self, policy: &CompactionPolicy) -> u64 {
        total(self.view, &self.tally, &policy.cut)
    }

    /// Returns the tokens that triggers compare with, where the session recorded them itself.
    pub(crate) fn recorded(&self, policy: &CompactionPolicy) -> Option<u64> {
        plan::recorded(self.view, &self.tally, &policy.cut)
    }

    /// Whether the plan changes anything.
    pub(crate) fn is_change(&self) -> bool {
        self.plan.cutoff > 0 || !self.pruned.is_empty()
    }

    /// Returns the messages between the summary and the kept part that are not pinned, in order; none without pruning.
    pub(crate) fn middle(&self) -> Vec<usize> {
        let pinned = |index: &usize| self.plan.pinned.binary_search(index).is_ok();
        (self.plan.cutoff..self.kept_from).filter(|index| !pinned(index)).collect()
    }

    /// Whether the plan meets the limit of `--fit`.
    pub(crate) fn is_met(&self) -> bool {
        self.least_bytes.is_none() && self.fit.is_none_or(|fit| fit.unmet.is_none())
    }

    /// Checks that the plan meets the limit of `--fit`.
    ///
    /// # Errors
    /// No plan meets it: why, and a limit that can be met.
    pub(crate) fn check(&self, source: &str, policy: &CompactionPolicy) -> Result<()> {
        if let Some((least, limit)) = self.least_bytes.zip(policy.fit) {
            let what = format!("--fit {limit} cannot be met; the least is {}", counted(least, "byte"));
            return Err(bytes_failure(source, &what, least).into());
        }
        match self.fit {
            Some(Fit { limit, unmet: Some(unmet), .. }) => {
                let least = self.least_limit(policy, limit, unmet.least());
                let without_pins = unmet.pinned > 0 && unmet.least() - unmet.pinned <= limit && {
                    let cut = CutPolicy { pins: Vec::new(), ..policy.cut.clone() };
                    self.can_be_met(&CompactionPolicy { cut, ..policy.clone() })
                };
                Err(unmet.failure(source, &limit_name(policy, limit), least, without_pins).into())
            }
            _ => Ok(()),
        }
    }

    /// Returns a limit that can be met, of those above one that cannot, and none a little smaller. It is found by
    /// trying, from an estimate upwards and from the whole conversation downwards: with a larger limit more stays, which
    /// can be too much again.
    fn least_limit(&self, policy: &CompactionPolicy, unmet: u64, estimate: u64) -> u64 {
        let whole = self.tokens(policy);
        let mut below = unmet;
        let mut tried = estimate.max(unmet + 1);
        while tried < whole && !self.can_be_met(&with_fit(policy, tried)) {
            below = tried;
            tried += tried / 10 + 1;
        }
        let least = self.least_between(policy, below, tried.min(whole));
        if below > unmet { least.min(self.least_between(policy, unmet, whole)) } else { least }
    }

    /// Returns a limit that can be met, up to one that can, and above one that cannot and is one smaller.
    fn least_between(&self, policy: &CompactionPolicy, mut unmet: u64, mut met: u64) -> u64 {
        while met > unmet + 1 {
            let middle = unmet.midpoint(met);
            if self.can_be_met(&with_fit(policy, middle)) {
                met = middle;
            } else {
                unmet = middle;
            }
        }
        met
    }

    /// Whether the conversation meets the limit of another policy.
    fn can_be_met(&self, policy: &CompactionPolicy) -> bool {
        let arena = Arena::default();
        let reaches = |mut planned: Planned<'_>| match limit_of(policy).filter(|_| planned.may_act(policy)) {
            Some(limit) => LimitSearch::new(&mut planned, policy, limit).can_be_reached(),
            None => true,
        };
        decide(self.transcript, policy, &arena).is_ok_and(reaches)
    }

    /// Returns what each rule did: with `--fit` to messages that stay, else to the whole history.
    pub(crate) fn savings(&self) -> Vec<RuleSavings> {
        self.pruned.savings(if self.fit.is_some() { self.plan.cutoff } else { 0 })
    }

    /// Returns the pruned messages that stay, each with the tokens that it keeps.
    pub(crate) fn pruned_sizes(&self) -> BTreeMap<usize, u64> {
        let stays = |index: &usize| *index >= self.plan.cutoff;
        self.pruned.sizes.iter().filter(|(index, _)| stays(index)).map(|(index, tokens)| (*index, *tokens)).collect()
    }

    /// Returns the tokens of the result without a summary.
    pub(crate) fn tokens_without_summary(&self) -> u64 {
        let kept = self.plan.pinned.iter().copied().chain(self.plan.cutoff..self.view.messages.len());
        self.tally.overhead() + kept.map(|index| self.size(index)).sum::<u64>()
    }

    /// Returns the names in `--prune-except` that no call has.
    pub(crate) fn unknown_tools<'p>(&self, policy: &'p CompactionPolicy) -> Vec<&'p str> {
        let mut unknown: Vec<&str> = policy.pruning.except.iter().map(String::as_str).collect();
        let calls = self.transcript.messages.iter().flat_map(|message| &message.calls);
        calls.filter_map(|call| call.name).for_each(|name| unknown.retain(|unknown| !name.is(unknown)));
        unknown
    }

    /// Returns the tokens of a message in the result.
    pub(crate) fn size(&self, index: usize) -> u64 {
        self.thinking_sizes().get(&index).copied().unwrap_or_else(|| self.pruned_size(index))
    }

    /// Returns the tokens of a message once it is pruned, with the thinking that is removed later.
    fn pruned_size(&self, index: usize) -> u64 {
        self.pruned.sizes.get(&index).copied().unwrap_or_else(|| self.tally.message(index))
    }

    /// Returns the tokens that messages with removed thinking keep.
    fn thinking_sizes(&self) -> &BTreeMap<usize, u64> {
        self.thinking_sizes.get_or_init(|| {
            let Removal { edits, emptied, messages, .. } = &self.thinking;
            if messages.is_empty() {
                return BTreeMap::new();
            }
            let mut edits: Vec<Edit> = self.edits.iter().chain(&self.pruned.edits).chain(edits).cloned().collect();
            sort(&mut edits);
            let size = |&index: &usize| {
                if emptied.binary_search(&index).is_ok() {
                    return Some((index, 0));
                }
                let entry = edited(self.transcript, index, &edits);
                Some((index, read_entry(self.transcript.format, &entry, |message| self.tally.edited(index, message))?))
            };
            messages.iter().filter_map(size).collect()
        })
    }

    /// Returns the tokens of the thinking that is removed from messages that stay.
    pub(crate) fn thinking_tokens(&self) -> u64 {
        let sizes = self.thinking_sizes().iter();
        sizes.map(|(index, tokens)| self.pruned_size(*index).saturating_sub(*tokens)).sum()
    }

    fn find_thinking(&mut self, policy: &CompactionPolicy) {
        self.thinking = self.thinking_removed(policy, &self.plan, &self.pruned);
        self.thinking_sizes = OnceCell::new();
    }

    /// Returns the plan that only prunes, where that meets the limit; else this plan.
    pub(crate) fn pruned_alone(mut self, policy: &CompactionPolicy) -> Self {
        if let Some((plan, pruned)) = self.pruned_alone.take() {
            (self.plan, self.pruned) = (plan, pruned);
            self.find_thinking(policy);
        }
        self
    }

    /// Returns the edits with which the summarizer reads the history.
    pub(crate) fn history_edits(&self, policy: &CompactionPolicy) -> Vec<Edit> {
        // The embedded summarizer reads the whole history: that costs nothing.
        if policy.summary.is_embedded() && self.fit.is_some() {
            return Vec::new();
        }
        let before = |edit: &&Edit| message_at(self.transcript, edit) < self.plan.cutoff;
        self.pruned.edits.iter().filter(before).cloned().collect()
    }

    /// Applies the rules to all messages before the kept part.
    fn prune(&mut self, policy: &CompactionPolicy) {
        let nobody = policy.summary.summarizer == SummarizerKind::Off;
        if policy.pruning.rules.is_empty() {
            // Only where the user asked for a cut, a note takes the place of the history.
            if nobody && !policy.keep_is_given && policy.cut.triggers.is_empty() {
                self.leave_unchanged("--model none writes no summary, and no rule prunes; give --prune all".to_owned());
            }
            return;
        }
        let kept_from = self.plan.kept_from;
        let pinned = plan::pinned(self.transcript, &self.tally, &policy.cut, kept_from);
        self.pruned = self.pruned_in(policy, 0..kept_from, &pinned, &policy.pruning.rules, None);
        let gone = if nobody { vec![false; self.transcript.notes.len()] } else { self.notes_gone() };
        let has_archive = policy.archive.is_some();
        self.pruned.unsent = prune_unsent(self.transcript, &policy.pruning.rules, &gone, has_archive);
        if nobody && self.pruned.is_empty() {
            let reason = self.plan.reason.take().filter(|_| kept_from == 0);
            self.leave_unchanged(reason.unwrap_or_else(|| "there is nothing to prune".to_owned()));
        } else if !self.pruned.is_empty() && (nobody || self.plan.cutoff == 0) {
            self.plan = std::mem::take(&mut self.plan).without_cut();
            self.kept_from = kept_from;
        }
    }

    /// Returns for each entry that is not a message whether the plan removes it.
    fn notes_gone(&self) -> Vec<bool> {
        let mut gone = vec![false; self.transcript.messages.len()];
        self.plan.replaced().into_iter().for_each(|index| gone[index] = true);
        if self.plan.cutoff == 0 {
            return vec![false; self.transcript.notes.len()];
        }
        self.plan.notes_gone(&self.transcript.notes, &gone)
    }

    fn leave_unchanged(&mut self, reason: String) {
        self.plan = Plan { reason: Some(reason), ..std::mem::take(&mut self.plan).without_cut() };
        self.kept_from = 0;
    }

    /// Returns the plan for a draft of its summary, with the tokens of its message. Where that leaves room, more messages
    /// stay behind the summary, and less of them is pruned. Else the draft is kept. Returns whether the plan changed.
    pub(crate) fn with_draft(mut self, policy: &CompactionPolicy, draft: String, tokens: u64) -> (Self, bool) {
        let is_changed = self.use_room_beside(policy, tokens);
        if is_changed {
            self.find_thinking(policy);
        } else if !policy.redact.is_on() {
            // With --redact, the secrets in it are counted when it is written.
            self.draft = Some(draft);
        }
        (self, is_changed)
    }

    /// Uses the room that a summary of so many tokens leaves. Returns whether that changes the plan.
    fn use_room_beside(&mut self, policy: &CompactionPolicy, summary: u64) -> bool {
        let Some(Fit { limit, target, room, unmet: None, .. }) = self.fit else { return false };
        if self.plan.cutoff == 0 || room.saturating_sub(summary) < limit / SPARE {
            return false;
        }
        // The summary is written anew for the new plan, and can then be a little longer.
        LimitSearch::resumed(self, policy, limit).use_room_beside(target, summary + summary / SPARE)
    }

    /// Returns the effect of some rules on the messages of a range that are not pinned. With a goal, the rules stop as
    /// soon as they save so many tokens.
    fn pruned_in(
        &self,
        policy: &CompactionPolicy,
        range: Range<usize>,
        pinned: &[usize],
        rules: &[Rule],
        goal: Option<u64>,
    ) -> Pruned {
        let is_free =
            |index: usize| index >= self.plan.start && range.contains(&index) && pinned.binary_search(&index).is_err();
        self.pruned_where(policy, is_free, rules, goal)
    }

    fn pruned_where(
        &self,
        policy: &CompactionPolicy,
        is_free: impl Fn(usize) -> bool,
        rules: &[Rule],
        goal: Option<u64>,
    ) -> Pruned {
        let messages = &self.transcript.messages;
        // The early edits are a preset's own shortening: no rule shortens those messages again.
        let early: HashSet<usize> = self.edits.iter().map(|edit| message_at(self.transcript, edit)).collect();
        // A summary stays as it is, but Codex keeps pictures in its own.
        let is_summary = |index: usize| messages[index].earlier && !messages[index].has_media();
        let touchable =
            (0..messages.len()).map(|index| is_free(index) && !is_summary(index) && !early.contains(&index)).collect();
        let of_original = Tally::new(self.tally.message_counter(), messages);
        let is_original = std::ptr::eq(self.view, self.transcript);
        let tally = if is_original { &self.tally } else { &of_original };
        let mut scene = Scene::new(self.transcript, tally, touchable);
        let archive = archive::place(policy, self.transcript).map(|place| place.shown());
        scene.context_window = policy.cut.context_window;
        scene.reader = policy.reader_name();
        scene.except = &policy.pruning.except;
        scene.archive = archive.as_deref();
        scene.read_masked(self.masked.as_ref());
        prune(&scene, rules, goal)
    }

    /// Whether most of the result would be of kinds that no reader knows, so that it could not be read again.
    fn leaves_foreign(&self, policy: &CompactionPolicy, plan: &Plan, pruned: &Pruned) -> bool {
        let messages = &self.transcript.messages;
        if plan.cutoff == 0 && pruned.is_empty() || !messages.iter().any(foreign::is_in) {
            return false;
        }
        let thinking = self.thinking_removed(policy, plan, pruned);
        let is_left = |index: usize| {
            (index >= plan.cutoff || plan.pinned.binary_search(&index).is_ok())
                && pruned.emptied.binary_search(&index).is_err()
                && thinking.emptied.binary_search(&index).is_err()
        };
        let left = messages.iter().enumerate().filter(|(index, _)| is_left(*index)).map(|(_, message)| message);
        let Bytes { foreign, known } = Bytes::of(left);
        let edits = pruned.edits.iter().chain(&thinking.edits).chain(&self.edits);
        let edits = edits.filter(|edit| is_left(message_at(self.transcript, edit)));
        let removed = edits.map(|edit| edit.range.len().saturating_sub(edit.text.len())).sum();
        foreign > known.saturating_sub(removed)
    }

    /// Returns the thinking that is removed from messages behind the first change: none without a change.
    fn thinking_removed(&self, policy: &CompactionPolicy, plan: &Plan, pruned: &Pruned) -> Removal {
        let Plan { cutoff, pinned, .. } = plan;
        let edits = pruned.edits.iter().map(|edit| message_at(self.transcript, edit));
        let first = edits.chain(pruned.emptied.iter().copied()).min();
        let staying: Vec<usize> = match *cutoff {
            0 => thinking::behind_change(self.transcript, first).collect(),
            cutoff => pinned.iter().copied().chain(cutoff..self.transcript.messages.len()).collect(),
        };
        let staying = staying.into_iter().filter(|&index| !pruned.has_no_thinking(index));
        thinking::removal(self.transcript, staying, policy.thinking, policy.reader_name())
    }
}

/// Returns a policy with this limit.
fn with_fit(policy: &CompactionPolicy, tokens: u64) -> CompactionPolicy {
    CompactionPolicy { fit: Some(Size::Tokens(tokens)), ..policy.clone() }
}

#[cfg(test)]
mod tests;
