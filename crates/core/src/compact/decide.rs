//! The first step: whether a conversation is compacted, and where `--keep` cuts it.

use std::cell::OnceCell;
use std::collections::HashSet;

use anyhow::Result;

use crate::diagnostic::Advice;
use crate::exit::Failure;
use crate::plan::pins::{Pin, typed};
use crate::plan::size::Size;
use crate::plan::{self, CutPolicy, Plan, Rules, no_such_place, plan, total};
use crate::presets::pairs::moved_cut;
use crate::prune::{Pruned, Rule, Scene, UnsentChange, UnsentRules, find_unsent, prune};
use crate::rewrite::thinking::{self, Removal, message_at};
use crate::rewrite::{Edit, Masked};
use crate::summary::acceptance;
use crate::tokens::Tally;
use crate::transcript::Transcript;
use crate::transcript::foreign::{self, ForeignShare};
use crate::transcript::view::Arena;

use crate::compact::archive;
use crate::compact::message::{note_tokens, summary_tokens};
use crate::compact::policy::{Accept, CompactionPolicy, SummarizerKind};
use crate::compact::views::{edited, masked_before_cuts};

/// The shortest summary. A history is summarized only if the message with this text is smaller.
const SMALLEST_SUMMARY: &str = ".";

/// The tokens that a model needs for notes under four headings, a sentence or two under each.
const SHORT_NOTES: u64 = 200;
/// A history that is more than this part of its conversation is sent to a model however short it is.
const SMALL_PART: u64 = 3;

/// The result of the first step: a conversation as it is counted, and where `--keep` cuts it. Nothing is pruned yet.
pub struct Decided<'t> {
    pub policy: &'t CompactionPolicy,
    /// The original conversation, from which the result is made; with `--redact=all`, with its secrets masked.
    pub transcript: &'t Transcript<'t>,
    /// The same as the archive gets it: with its secrets.
    pub unmasked: &'t Transcript<'t>,
    /// The conversation with its secrets masked, from which texts are cut, with `--redact`.
    pub masked: Option<Masked<'t>>,
    /// The conversation that was counted and cut: with the early edits applied.
    pub view: &'t Transcript<'t>,
    /// The early edits, in order. The result has those that fall into messages that stay.
    pub edits: Vec<Edit>,
    /// The sizes of the view's messages.
    pub tally: Tally<'t, 't>,
    /// Where the conversation is cut.
    pub plan: Plan,
    /// The messages that hold nothing but what the user typed, once they are needed.
    typed: OnceCell<Vec<usize>>,
    /// What may go of the transcript and is not sent, once it is needed.
    unsent: OnceCell<Vec<UnsentChange>>,
}

/// Decides on a conversation. `unmasked` is the same before all of its secrets were masked.
///
/// # Errors
/// The conversation cannot be read with the early edits.
pub fn decide<'t>(
    transcript: &'t Transcript<'t>,
    unmasked: &'t Transcript<'t>,
    policy: &'t CompactionPolicy,
    arena: &'t Arena<'t>,
) -> Result<Decided<'t>> {
    let masked = masked_before_cuts(transcript, policy, arena)?;
    let edits = early_edits(transcript, masked.as_ref(), policy);
    let view = edited(transcript, &edits, arena)?;
    let tally = policy.tally(view);
    let plan = match policy.disabled.clone() {
        None => uncut_without_gain(plan(view, &tally, &policy.cut, moved_cut), &tally, view, policy),
        Some(reason) => Plan::of_nothing(reason),
    };
    Ok(Decided {
        policy,
        transcript,
        unmasked,
        masked,
        view,
        edits,
        tally,
        plan,
        typed: OnceCell::new(),
        unsent: OnceCell::new(),
    })
}

impl Decided<'_> {
    /// Checks that the conversation has the place that `--keep` names, and may have what `--pin` pins.
    ///
    /// # Errors
    /// It has not, or may not: which flag is wrong, and what to try.
    pub(super) fn check_rules(&self) -> Result<()> {
        let policy = self.policy;
        let keep = policy.cut.keep;
        // That an index is wrong is said of a conversation that need not be cut, too.
        let matters = self.plan.triggered || matches!(keep, Size::From(_)) && policy.disabled.is_none();
        if matters && let Some(why) = no_such_place(self.transcript, keep) {
            let last = Size::From(self.transcript.messages.len() - 1);
            let instead = if matches!(keep, Size::From(_)) { last } else { Size::Messages(20) };
            let instead = Advice::command(["--keep", &instead.to_string()]);
            return Err(Failure::usage(format!("--keep {keep}: {why}")).about("keep").try_next(instead).into());
        }
        let Transcript { order, format, .. } = self.transcript;
        let pins_user = policy.cut.pins.iter().any(|pin| matches!(pin, Pin::User(_)));
        if self.plan.triggered && order.alternates && pins_user {
            let why = "user and model must take turns, so a message of the user cannot stand before the summary";
            let why = format!("--pin user: in the format {}, {why}", format.name);
            let instead = Advice::Line("the same without --pin user".to_owned());
            return Err(Failure::usage(why).about("pin").try_next(instead).into());
        }
        Ok(())
    }

    /// Whether anything may be pruned or cut.
    pub(super) fn may_act(&self) -> bool {
        self.plan.triggered && !self.plan.refused && self.policy.disabled.is_none() && !self.view.messages.is_empty()
    }

    /// Whether the conversation may be cut to meet a limit. Without a summarizer, a limit takes no words of user or model.
    pub(super) fn may_cut(&self) -> bool {
        self.policy.summary.summarizer != SummarizerKind::Off
    }

    /// The tokens of the whole conversation, as it was counted.
    pub fn tokens(&self) -> u64 {
        total(self.view, &self.tally, &self.policy.cut)
    }

    /// The tokens that the session recorded itself, for triggers to compare with; none where it did not, and where the
    /// policy does not ask for them.
    pub fn recorded(&self) -> Option<u64> {
        plan::recorded(self.view, &self.tally, &self.policy.cut)
    }

    /// The names in `--prune-except` that no call has.
    pub fn unknown_tools(&self) -> Vec<&str> {
        let mut unknown: Vec<&str> = self.policy.pruning.except.iter().map(String::as_str).collect();
        for call in self.transcript.messages.iter().flat_map(|message| &message.calls) {
            if let Some(name) = call.name {
                unknown.retain(|unknown| !name.is(unknown));
            }
        }
        unknown
    }

    /// The plan with a cut at one place, or without a cut where no summary can be smaller than the history. `rules` are
    /// those of the policy, with the messages that stay.
    pub(super) fn cut_at(&self, rules: &CutPolicy, cut: usize) -> Plan {
        let plan = plan::cut_at(self.view, &self.tally, rules, moved_cut, cut);
        uncut_without_gain(plan, &self.tally, self.view, self.policy)
    }

    /// The messages before a cut that are pinned, as indices in order.
    pub(super) fn pinned_before(&self, rules: &CutPolicy, cut: usize) -> Vec<usize> {
        plan::pinned(self.transcript, &self.tally, rules, cut)
    }

    /// The most tokens of what the user typed that stay before the cut or have room in the digest, where the result is made
    /// to fit a limit: none where `--pin none` says so, and where a preset's system pins for itself.
    pub(super) fn room_for_typed(&self, limit: u64) -> u64 {
        const SHARE: u64 = 4;
        let CutPolicy { pins, rules, .. } = &self.policy.cut;
        let is_cleared = pins.iter().any(|pin| matches!(pin, Pin::None));
        if *rules == Rules::OWN && !is_cleared && self.may_cut() { limit / SHARE } else { 0 }
    }

    /// The tokens of the messages before `end` that the user typed, up to a number.
    pub(super) fn typed_tokens(&self, end: usize, most: u64) -> u64 {
        let mut tokens = 0;
        for &index in self.typed_before(end) {
            if tokens >= most {
                break;
            }
            tokens += self.tally.message(index);
        }
        tokens.min(most)
    }

    fn typed_before(&self, end: usize) -> &[usize] {
        let all = self.typed.get_or_init(|| typed(self.transcript, &self.policy.cut, self.plan.start));
        &all[..all.partition_point(|&index| index < end)]
    }

    /// The messages before `end` that the user typed and that have room, in order; none where the provider wants user and
    /// model to take turns. The newest come first, and long ones
    /// behind all others: a pasted page takes the place of no request. This order is the same for every room and every
    /// end, so that a larger room holds all of a smaller one.
    pub(super) fn typed_within(&self, end: usize, room: u64) -> Vec<usize> {
        /// The most tokens of a message that a person types at once.
        const SHORT: u64 = 1_000;
        if room == 0 || self.transcript.order.alternates {
            return Vec::new();
        }
        let (mut stays, mut left) = (Vec::new(), room);
        'all: for takes_short in [true, false] {
            for &index in self.typed_before(end).iter().rev() {
                let size = self.tally.message(index);
                if (size <= SHORT) != takes_short {
                    continue;
                }
                let Some(rest) = left.checked_sub(size) else { break 'all };
                left = rest;
                stays.push(index);
            }
        }
        stays.sort_unstable();
        stays
    }

    /// The tokens of a message once it is pruned, with the thinking that is removed later.
    pub(super) fn pruned_size(&self, pruned: &Pruned, index: usize) -> u64 {
        pruned.sizes.get(&index).copied().unwrap_or_else(|| self.tally.message(index))
    }

    /// The effect of some rules on those messages that are free. With a goal, the rules stop as soon as they save so
    /// many tokens.
    pub(super) fn pruned(&self, is_free: impl Fn(usize) -> bool, rules: &[Rule], goal: Option<u64>) -> Pruned {
        let messages = &self.transcript.messages;
        // The early edits are a preset's own shortening: no rule shortens those messages again.
        let early: HashSet<usize> = self.edits.iter().map(|edit| message_at(self.transcript, edit)).collect();
        let mut touchable = vec![false; messages.len()];
        for (index, message) in messages.iter().enumerate() {
            // A summary stays as it is, but Codex keeps pictures in its own.
            let is_summary = message.earlier && !message.has_media();
            // What another entry holds is not shortened: a cut removes that entry with the message, and not with its
            // edits.
            let is_elsewhere = message.content_edit().is_some();
            touchable[index] = is_free(index) && !is_summary && !is_elsewhere && !early.contains(&index);
        }
        let of_original = Tally::new(self.tally.message_counter(), messages);
        let is_original = std::ptr::eq(self.view, self.transcript);
        let tally = if is_original { &self.tally } else { &of_original };
        let mut scene = Scene::new(self.transcript, tally, touchable);
        let archive = archive::place(self.policy, self.transcript).map(|place| place.noted());
        scene.context_window = self.policy.cut.context_window;
        scene.reader = self.policy.reader_name();
        scene.except = &self.policy.pruning.except;
        scene.archive = archive.as_ref();
        scene.read_masked(self.masked.as_ref());
        prune(&scene, rules, goal)
    }

    /// What the rules take of what is not sent, in all entries.
    pub(super) fn unsent(&self) -> &[UnsentChange] {
        let CompactionPolicy { pruning, archive, .. } = self.policy;
        let has_archive = archive.is_some();
        let rules = UnsentRules {
            rules: &pruning.rules,
            except: &pruning.except,
            // What can be restored is kept; text for reading keeps messages alone.
            has_archive: self.policy.has_records(),
            offloads_media: has_archive,
        };
        self.unsent.get_or_init(|| find_unsent(self.transcript, rules))
    }

    /// Whether most of the result would be of kinds that no reader knows, so that it could not be read again.
    pub(super) fn leaves_foreign(&self, plan: &Plan, pruned: &Pruned) -> bool {
        let messages = &self.transcript.messages;
        if plan.cutoff == 0 && pruned.is_empty() || !messages.iter().any(foreign::is_in) {
            return false;
        }
        let thinking = self.thinking_removed(plan, pruned);
        let is_left = |index: usize| {
            (index >= plan.cutoff || plan.pinned.binary_search(&index).is_ok())
                && pruned.emptied.binary_search(&index).is_err()
                && thinking.emptied.binary_search(&index).is_err()
        };
        let left = messages.iter().enumerate().filter(|(index, _)| is_left(*index)).map(|(_, message)| message);
        let mut share = ForeignShare::of(left);
        for edit in pruned.edits.iter().chain(&thinking.edits).chain(&self.edits) {
            if is_left(message_at(self.transcript, edit)) {
                share.known = share.known.saturating_sub(edit.range.len().saturating_sub(edit.text.len()));
                share.known_parts = share.known_parts.saturating_sub(usize::from(edit.text.is_empty()));
            }
        }
        share.is_of_other_format()
    }

    /// The thinking that is removed from messages behind the first change: none without a change.
    pub(super) fn thinking_removed(&self, plan: &Plan, pruned: &Pruned) -> Removal {
        let Plan { cutoff, pinned, .. } = plan;
        let edited = pruned.edits.iter().map(|edit| message_at(self.transcript, edit));
        let first = edited.chain(pruned.emptied.iter().copied()).min();
        let mut staying: Vec<usize> = if *cutoff == 0 {
            thinking::behind_change(self.transcript, first).collect()
        } else {
            pinned.iter().copied().chain(*cutoff..self.transcript.messages.len()).collect()
        };
        staying.retain(|&index| !pruned.has_no_thinking(index));
        thinking::removal(self.transcript, staying.into_iter(), self.policy.thinking, self.policy.reader_name())
    }
}

/// The edits that a preset makes before anything is counted: it cuts arguments.
fn early_edits(transcript: &Transcript<'_>, masked: Option<&Masked<'_>>, policy: &CompactionPolicy) -> Vec<Edit> {
    let Some(truncation) = &policy.truncation else { return Vec::new() };
    if policy.disabled.is_some() {
        return Vec::new();
    }
    let tally = policy.tally(transcript);
    let before = truncation.old_messages(transcript, &tally, &policy.cut);
    match masked {
        Some(masked) => masked.edits_in_source(truncation.edits(masked.transcript, before)),
        None => truncation.edits(transcript, before),
    }
}

/// The plan, or one without a cut where no summary can be smaller than the history.
fn uncut_without_gain(plan: Plan, tally: &Tally<'_, '_>, view: &Transcript<'_>, policy: &CompactionPolicy) -> Plan {
    if plan.cutoff == 0 {
        return plan;
    }
    let mut smallest = smallest_summary(view, policy);
    if smallest > 0 && policy.summary.asks_for_notes() && saves(policy) {
        // A model's notes would be as long as the history. Each run would pay for them and refuse them. A user who tries
        // tcompact on a few lines wants to see the model's answer, and such a history is most of its conversation.
        let with_notes = smallest + SHORT_NOTES;
        let (history, all) = (plan.summarized(), Vec::from_iter(0..view.messages.len()));
        if !tally.reaches(&history, with_notes + 1) && tally.reaches(&all, SMALL_PART * tally.sum(&history) + 1) {
            smallest = with_notes;
        }
    }
    plan.uncut_if_no_larger_than(smallest, tally)
}

/// Whether a summary must save a tenth of what it replaces.
fn saves(policy: &CompactionPolicy) -> bool {
    policy.summary.accept == Accept::Smaller && policy.fit.is_none()
}

/// The tokens of the smallest summary message. A history that is no larger is not summarized. 0 where the size does not
/// matter.
fn smallest_summary(transcript: &Transcript<'_>, policy: &CompactionPolicy) -> u64 {
    // The embedded summarizer never writes more than it replaces. With tcompact's own rules, a dry run must not promise
    // a summary that it cannot write.
    let embedded = policy.summary.is_embedded() && policy.cut.rules == Rules::OWN;
    if policy.summary.summarizer == SummarizerKind::Off {
        note_tokens(policy, transcript)
    } else if policy.summary.accept == Accept::Smaller || embedded {
        let smallest = summary_tokens(policy, transcript, SMALLEST_SUMMARY);
        if saves(policy) { acceptance::largest_not_worth(smallest) } else { smallest }
    } else {
        0
    }
}
