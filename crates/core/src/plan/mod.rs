//! Where to cut: triggers, the kept part, pairs and pins.
//!
//! [`plan`] is pure and cannot fail. It asks a [`Tally`] for sizes, which counts only as far as each answer needs.

pub mod breaches;
pub mod carried;
pub mod compactions;
pub mod cutoff;
pub mod economy;
pub mod pins;
pub mod recorded;
pub mod removal_note;
pub mod size;
pub mod steps;
pub mod summaries;
pub mod undecipherable;
mod weight;

use std::collections::HashSet;

use crate::tokens::{Counter, Tally};
use crate::transcript::formats::SummaryPosition;
use crate::transcript::order::Turn;
use crate::transcript::{Message, Note, Retention, Transcript, foreign};
use crate::wording::counted;

pub use cutoff::{last_bytes, legal_cuts, no_such_place};

use carried::carried;
use cutoff::Pairs;
use pins::{Pin, PinRules};
use size::Size;
use weight::Weight;

/// The default beginning of a summary message.
pub const SUMMARY_PREFIX: &str = "Here is a summary of the conversation to date:";

/// The rules of a compaction.
#[derive(Debug, Clone)]
pub struct CutPolicy {
    /// Compact when all sizes of one of these are reached. Without any, `rules` decide.
    pub triggers: Vec<Vec<Size>>,
    /// Also compact when the conversation has more tokens than this.
    pub budget: Option<u64>,
    /// How much of the end is kept.
    pub keep: Size,
    /// Which messages before the cut stay as well.
    pub pins: Vec<Pin>,
    /// Messages that stay besides those: what the user typed, as much as a size allows. In order.
    pub typed: Vec<usize>,
    /// How a cut moves that would split a call from its result.
    pub pairs: Pairs,
    /// The context window, in tokens, where it is known.
    pub context_window: Option<u64>,
    /// Tokens that every request sends beside the messages, where they are not those that the transcript has itself: its
    /// tools, system text and format of the answer.
    pub overhead_tokens: Option<u64>,
    /// Whether triggers compare with the size that the session itself recorded, where that still holds.
    pub recorded: bool,
    /// The beginning of a summary message. Earlier summaries are recognized by it.
    pub summary_prefix: String,
    /// Rules without a flag.
    pub rules: Rules,
    /// The provider of the model that will read the result, where it is known.
    pub provider: Option<&'static str>,
}

impl CutPolicy {
    /// A policy that keeps so much of the end, and else has the defaults of a run without flags: it compacts at any
    /// size, pins system messages and keeps every call with its results.
    pub fn keeping(keep: Size) -> Self {
        CutPolicy {
            triggers: Vec::new(),
            budget: None,
            keep,
            pins: vec![Pin::System],
            typed: Vec::new(),
            pairs: Pairs::Strict,
            context_window: None,
            overhead_tokens: None,
            recorded: true,
            summary_prefix: format!("{SUMMARY_PREFIX}\n\n"),
            rules: Rules::OWN,
            provider: None,
        }
    }
}

/// Rules in which known systems differ from tcompact.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Rules {
    /// Whether a conversation is compacted without any trigger.
    pub without_trigger: bool,
    /// Whether a number of tokens triggers only when it is exceeded, not when it is reached.
    pub exceed: bool,
    /// Whether tokens that a provider reported trigger, as counted ones do.
    pub reported_triggers: bool,
    /// Whether reported tokens scale the estimated total.
    pub reported_scales: bool,
    /// Whether the last message stays even where it is larger than `keep`.
    pub last_stays: bool,
    /// Whether a cut must gain something: an earlier summary alone is not summarized again.
    pub gains: bool,
    /// Whether a conversation begins at the provider's last readable compaction, as it does for that provider.
    pub compactions: bool,
    /// Whether the next summary carries an earlier one on instead of summarizing it. The user's last request and
    /// messages that a program marked as reminders then stay.
    pub carries: bool,
}

impl Rules {
    /// tcompact's own rules.
    pub const OWN: Rules = Rules {
        without_trigger: true,
        exceed: false,
        reported_triggers: false,
        reported_scales: false,
        last_stays: true,
        gains: true,
        compactions: true,
        carries: false,
    };
}

/// A pair that the rule for pairs lets a cut split.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Parted {
    /// The message with the call before the cut, and the one with its result behind it.
    Pair(usize, usize),
    /// The kept part begins with a result without a call.
    Orphan,
}

/// The plan for one conversation.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Plan {
    /// Whether a trigger fired or none was needed.
    pub triggered: bool,
    /// The trigger that fired.
    pub fired: Option<Vec<Size>>,
    /// Where `keep` alone would cut.
    pub wanted: usize,
    /// The first message of the kept part: `wanted`, or the safe cut near it. 0 where all messages are kept.
    pub kept_from: usize,
    /// The cut: messages before it are summarized, except the pinned ones. 0 where nothing is replaced.
    pub cutoff: usize,
    /// Why the cut is not at `wanted`.
    pub moved_because: Option<String>,
    /// Indices of the messages before the cut that stay, in order.
    pub pinned: Vec<usize>,
    /// How many of the pinned messages come before the summary. The others follow it.
    pub before_summary: usize,
    /// Where the conversation begins for its provider: at the provider's last readable compaction. Messages before it
    /// are replaced, and not summarized again.
    pub start: usize,
    /// The message with the earlier summary that the next one carries on, instead of summarizing or keeping it.
    pub carried: Option<usize>,
    /// Indices of kept messages that are removed, as they are empty without their removed thinking; in order.
    pub emptied: Vec<usize>,
    /// The pair that the cut splits, where the rule for pairs allows it.
    pub parted: Option<Parted>,
    /// Why nothing is replaced.
    pub reason: Option<String>,
    /// Whether the transcript itself is the reason, whatever the policy.
    pub refused: bool,
}

impl Plan {
    pub fn of_nothing(reason: String) -> Self {
        Plan { reason: Some(reason), ..Plan::default() }
    }

    /// The messages that a summary replaces, in order, with an earlier summary that is carried on.
    pub fn replaced(&self) -> Vec<usize> {
        let mut pinned = self.pinned.iter().peekable();
        (0..self.cutoff).filter(|index| pinned.next_if_eq(&index).is_none()).collect()
    }

    /// The replaced messages that the provider reads, in order.
    pub fn superseded(&self) -> Vec<usize> {
        let mut replaced = self.replaced();
        replaced.retain(|index| *index >= self.start);
        replaced
    }

    /// The removed messages, in order, without an earlier summary that is carried on.
    pub fn removed(&self) -> Vec<usize> {
        let mut replaced = self.replaced();
        replaced.retain(|index| Some(*index) != self.carried);
        replaced
    }

    /// The summarized messages, in order.
    pub fn summarized(&self) -> Vec<usize> {
        let mut removed = self.removed();
        removed.retain(|index| *index >= self.start);
        removed
    }

    /// For each entry that is not a message whether it is removed. `gone` says so for each message.
    pub fn notes_gone(&self, notes: &[Note<'_>], gone: &[bool]) -> Vec<bool> {
        let mut superseded: HashSet<&str> = HashSet::new();
        let mut removed = vec![false; notes.len()];
        for (index, note) in notes.iter().enumerate().rev() {
            // A note that belongs to a message goes with it from any place: a copy would take its place.
            let goes_from_any_place =
                matches!(note.retention, Retention::With(_) | Retention::Replaced(_) | Retention::Copy);
            if note.before > self.cutoff && !goes_from_any_place {
                continue;
            }
            removed[index] = match note.retention {
                Retention::Always | Retention::Lost => false,
                Retention::WithPrevious => note.before.checked_sub(1).is_some_and(|message| gone[message]),
                Retention::With(message) | Retention::Replaced(message) => {
                    gone.get(message).copied().unwrap_or_default()
                }
                Retention::Latest(name) => !superseded.insert(name),
                Retention::Obsolete => true,
                Retention::Copy => self.cutoff > 0,
            };
        }
        removed
    }

    /// The plan, or one without a cut where the history has no more tokens than the smallest summary message.
    #[must_use]
    pub fn uncut_if_no_larger_than(self, smallest_summary: u64, tally: &Tally<'_, '_>) -> Self {
        let summarized = self.summarized();
        if smallest_summary == 0 || summarized.is_empty() || tally.reaches(&summarized, smallest_summary + 1) {
            return self;
        }
        self.nothing(format!(
            "the history before the cut is too small for a summary to be smaller ({})",
            counted(tally.sum(&summarized), "token")
        ))
    }

    fn nothing(self, reason: String) -> Self {
        Plan { reason: Some(reason), ..self.without_cut() }
    }

    #[must_use]
    pub fn without_cut(self) -> Self {
        Plan {
            cutoff: 0,
            pinned: Vec::new(),
            before_summary: 0,
            carried: None,
            parted: None,
            moved_because: None,
            reason: None,
            ..self
        }
    }
}

/// Where a cut moves by a rule for pairs of another system. The presets know these rules.
pub type MoveCut = fn(&[Message<'_>], wanted: usize, Pairs) -> usize;

/// Decides whether and where to cut a conversation. `move_cut` is for all rules for pairs but the strict one.
pub fn plan(transcript: &Transcript<'_>, tally: &Tally<'_, '_>, policy: &CutPolicy, move_cut: MoveCut) -> Plan {
    if let Some(reason) = transcript.format.refusal(transcript) {
        return Plan { refused: true, ..Plan::of_nothing(reason) };
    }
    let messages = transcript.messages.as_slice();
    let earlier = carried(transcript, policy);
    let weight = Weight::new(transcript, earlier.as_ref(), tally, policy);
    let fired = weight.fired();
    let mut plan = Plan {
        triggered: fired.is_some() || policy.triggers.is_empty() && policy.rules.without_trigger,
        fired,
        start: weight.compactions.start,
        ..Plan::default()
    };
    if messages.is_empty() {
        return plan.nothing("there are no messages".to_owned());
    }
    if !plan.triggered {
        let why = if policy.never_triggers() { NEVER } else { "no trigger was reached" };
        return plan.nothing(why.to_owned());
    }
    let first = weight.first();
    let Some(wanted) = cutoff::wanted(&weight) else {
        return plan.nothing(weight.kept_whole());
    };
    (plan.wanted, plan.kept_from) = (wanted, wanted);
    let pairing = &transcript.pairing;
    let (cut, moved_because) = cutoff::safe(transcript, wanted, policy.pairs, move_cut);
    if cut <= first {
        let why = moved_because.unwrap_or_else(|| "there is nothing before the cut".to_owned());
        return plan.nothing(format!("there is no safe cut: {why}, and no earlier cut is safe"));
    }
    (plan.cutoff, plan.kept_from) = (cut, cut);
    plan.moved_because = moved_because;
    plan.parted = match pairing.split_pair(cut) {
        Some((call, result)) => Some(Parted::Pair(call, result)),
        None if pairing.orphaned.get(cut) == Some(&true) => Some(Parted::Orphan),
        None => None,
    };
    plan.carried = weight.carried();
    plan.pinned = PinRules { transcript, policy, carried: plan.carried, tally: Some(tally) }.pinned(cut);
    plan.before_summary = before_summary(&plan, transcript, policy);
    if let Some(reason) = weight.compactions.refusal(transcript, &plan) {
        return Plan { refused: true, ..plan.nothing(reason) };
    }
    if policy.pairs == Pairs::Strict
        && let Some(reason) = refused_order(&plan, transcript)
    {
        return plan.nothing(reason);
    }
    if is_left_foreign(&plan, messages) {
        return plan.nothing(
            "without the summarized messages, tcompact could not read most of the result; keep more".to_owned(),
        );
    }
    match worthless(&plan, messages, policy) {
        Some(reason) => plan.nothing(reason),
        None => plan,
    }
}

/// How many of the pinned messages come before the summary.
fn before_summary(plan: &Plan, transcript: &Transcript<'_>, policy: &CutPolicy) -> usize {
    if policy.rules.carries {
        // DeerFlow shows a carried summary to its model behind the system messages, before all others.
        let pinned = plan.pinned.iter();
        return pinned.take_while(|index| transcript.messages[**index].role.is_system()).count();
    }
    match transcript.format.summary_position_in(transcript) {
        SummaryPosition::AfterPinned => plan.pinned.len(),
        SummaryPosition::First => 0,
        SummaryPosition::InPlace => {
            let last = plan.replaced().last().copied().unwrap_or_default();
            plan.pinned.partition_point(|&index| index < last)
        }
    }
}

/// Why a provider would refuse the order of the pinned messages, the summary and the kept part. Only messages that did
/// not follow each other before are checked.
fn refused_order(plan: &Plan, transcript: &Transcript<'_>) -> Option<String> {
    let rules = transcript.order;
    let (before, after) = plan.pinned.split_at(plan.before_summary);
    // `None` stands for the summary.
    let mut order: Vec<Option<usize>> = before.iter().copied().map(Some).collect();
    order.push(None);
    order.extend(after.iter().copied().map(Some));
    if plan.cutoff < transcript.messages.len() {
        order.push(Some(plan.cutoff));
    }
    let mut last: Option<(Option<usize>, Turn)> = None;
    for index in order {
        let turn = match index {
            None => Some(Turn::User),
            // A compaction can begin a conversation, though the model wrote it.
            Some(index) if transcript.has_compaction(index) => None,
            Some(index) => Turn::of(&transcript.messages[index]),
        };
        let Some(turn) = turn else { continue };
        let is_unchanged = matches!((last, index), (Some((Some(last), _)), Some(index)) if last + 1 == index);
        let rule = rules.refuses(last.map(|last| last.1), turn);
        if let Some(rule) = rule
            && !is_unchanged
        {
            let name = transcript.format.name;
            let what = index.map_or("the summary".to_owned(), |index| format!("message {index}"));
            return Some(format!(
                "{name} would refuse {what} behind the pinned messages: {rule}; pin others with --pin"
            ));
        }
        last = Some((index, turn));
    }
    None
}

/// Whether most of the result would be of kinds that no reader knows, so that it could not be read again.
fn is_left_foreign(plan: &Plan, messages: &[Message<'_>]) -> bool {
    let stays = || plan.pinned.iter().map(|&index| &messages[index]).chain(&messages[plan.cutoff..]);
    stays().any(foreign::is_in) && foreign::ForeignShare::of(stays()).is_of_other_format()
}

/// Why a cut would gain nothing.
fn worthless(plan: &Plan, messages: &[Message<'_>], policy: &CutPolicy) -> Option<String> {
    match plan.summarized().as_slice() {
        [] => Some("every message before the cut is pinned".to_owned()),
        [only] if policy.rules.gains && messages[*only].earlier => {
            Some("there is only an earlier summary before the cut".to_owned())
        }
        _ => None,
    }
}

/// The messages before a cut that stay, in order.
pub fn pinned(transcript: &Transcript<'_>, tally: &Tally<'_, '_>, policy: &CutPolicy, cut: usize) -> Vec<usize> {
    let carried = carried(transcript, policy).and_then(|earlier| earlier.index);
    PinRules { transcript, policy, carried, tally: Some(tally) }.pinned(cut)
}

/// The plan with a cut at one place, by all other rules of the policy; without a cut where none can be there.
pub fn cut_at(
    transcript: &Transcript<'_>,
    tally: &Tally<'_, '_>,
    policy: &CutPolicy,
    move_cut: MoveCut,
    cut: usize,
) -> Plan {
    let keep = Size::Messages((transcript.messages.len().saturating_sub(cut)).max(1) as u64);
    let rules = Rules { without_trigger: true, ..policy.rules };
    plan(transcript, tally, &CutPolicy { triggers: Vec::new(), budget: None, keep, rules, ..policy.clone() }, move_cut)
}

/// How many messages are before the kept part: none where nothing triggers or all messages are kept.
pub fn old_messages(transcript: &Transcript<'_>, tally: &Tally<'_, '_>, policy: &CutPolicy) -> usize {
    if transcript.messages.is_empty() {
        return 0;
    }
    let earlier = carried(transcript, policy);
    let weight = Weight::new(transcript, earlier.as_ref(), tally, policy);
    let triggered = weight.fired().is_some() || policy.triggers.is_empty() && policy.rules.without_trigger;
    if triggered { cutoff::wanted(&weight).unwrap_or(0) } else { 0 }
}

/// The tokens of a conversation with the overhead, as triggers and budgets count them.
pub fn total(transcript: &Transcript<'_>, tally: &Tally<'_, '_>, policy: &CutPolicy) -> u64 {
    let earlier = carried(transcript, policy);
    Weight::new(transcript, earlier.as_ref(), tally, policy).total()
}

/// The tokens that triggers compare with where they are not those: what the session recorded itself, with what follows
/// that.
pub fn recorded(transcript: &Transcript<'_>, tally: &Tally<'_, '_>, policy: &CutPolicy) -> Option<u64> {
    Weight::new(transcript, None, tally, policy).recorded()
}

/// Why a policy without any trigger changes nothing.
pub const NEVER: &str = "no trigger is given, and the preset does nothing without one; give --trigger";

impl CutPolicy {
    /// Whether the policy can never trigger.
    pub fn never_triggers(&self) -> bool {
        self.triggers.is_empty() && self.budget.is_none() && !self.rules.without_trigger
    }

    /// Whether totals are scaled by the tokens that providers reported. Only `LangChain`'s estimate is; an exact count
    /// needs no correction.
    pub fn scales(&self, tally: &Tally<'_, '_>) -> bool {
        self.rules.reported_scales && matches!(tally.counter(), Counter::Approx(_) | Counter::ApproxContent(_))
    }

    /// Whether the provider that a message names serves the model that will read the result. Without a named model, it
    /// is assumed to.
    fn is_served_by(&self, provider: &str) -> bool {
        self.provider.is_none_or(|ours| ours == provider || (ours, provider) == ("google", "google_genai"))
    }
}

#[cfg(test)]
pub mod tests;
