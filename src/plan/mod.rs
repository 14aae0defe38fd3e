//! Where to cut: triggers, what is kept, pairs and pins.
//!
//! [`plan`] is pure and cannot fail. What it needs to know of sizes it asks a [`Tally`], which counts no more than the
//! answer takes.

pub(crate) mod breaches;
pub(crate) mod carried;
mod compactions;
mod cutoff;
pub(crate) mod economy;
mod langchain;
pub(crate) mod pairs;
pub(crate) mod pins;
pub(crate) mod size;

use std::collections::HashSet;

use crate::tokens::scaling::{ScaledTotal, reported_reaches};
use crate::tokens::{Counter, Tally};
use crate::transcript::foreign;
use crate::transcript::formats::SummaryPosition;
use crate::transcript::order::Turn;
use crate::transcript::{Message, Note, Retention, Transcript};

use carried::{Carried, carried};
use compactions::Compactions;
use pairs::Pairs;
use pins::Pin;
use size::Size;

/// What a summary message begins with, where nobody says otherwise.
pub(crate) const SUMMARY_PREFIX: &str = "Here is a summary of the conversation to date:";

/// The rules of a compaction.
#[derive(Debug, Clone)]
pub struct Policy {
    /// Compact when all sizes of one of these are reached; where there are none, `rules` say.
    pub triggers: Vec<Vec<Size>>,
    /// Compact too when the conversation has more tokens than this.
    pub budget: Option<u64>,
    /// How much of the end stays.
    pub keep: Size,
    /// Which messages before the cut stay too.
    pub pins: Vec<Pin>,
    /// How a cut that would part a call from its result is moved.
    pub pairs: Pairs,
    /// The context window, in tokens, where it is known.
    pub context_window: Option<u64>,
    /// Tokens that are sent with every request beside the messages.
    pub overhead_tokens: u64,
    /// What a summary message begins with, by which an earlier one is known.
    pub summary_prefix: String,
    /// What is summarized must have more tokens than this, the smallest a summary message can have; 0 for no such rule.
    pub(crate) smallest_summary: u64,
    /// What no flag says.
    pub(crate) rules: Rules,
    /// Who serves the model that will read the result, where it is known.
    pub(crate) provider: Option<&'static str>,
}

impl Policy {
    /// The rules of a compaction that keeps so much of the end, and are else those of a run without flags: whatever the
    /// size, with system messages pinned and every call with its results. How small a summary can be is for those to say
    /// who know what is put around it.
    pub fn keeping(keep: Size) -> Self {
        Policy {
            triggers: Vec::new(),
            budget: None,
            keep,
            pins: vec![Pin::System],
            pairs: Pairs::Strict,
            context_window: None,
            overhead_tokens: 0,
            summary_prefix: format!("{SUMMARY_PREFIX}\n\n"),
            smallest_summary: 0,
            rules: Rules::OWN,
            provider: None,
        }
    }
}

/// Where known systems decide otherwise than tcompact does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Rules {
    /// Whether a conversation is compacted where no trigger is given.
    pub(crate) without_trigger: bool,
    /// Whether a number of tokens must be exceeded to trigger, and not only reached.
    pub(crate) exceed: bool,
    /// Whether tokens that a provider reported trigger as those that are counted do.
    pub(crate) reported_triggers: bool,
    /// Whether they scale the estimate of the whole.
    pub(crate) reported_scales: bool,
    /// Whether the last message stays even where it is larger than what is to be kept.
    pub(crate) last_stays: bool,
    /// Whether a cut is made only where it gains something: not for an earlier summary alone.
    pub(crate) gains: bool,
    /// Whether a conversation begins with the last compaction of a provider that can be read, as it does for that
    /// provider.
    pub(crate) compactions: bool,
    /// Whether an earlier summary is carried on by the next one instead of being summarized, and the user's last request
    /// stays, and what a program marked as a reminder.
    pub(crate) carries: bool,
}

impl Rules {
    /// tcompact's own.
    pub(crate) const OWN: Rules = Rules {
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

/// What can be wrong with the pairs of a conversation that is cut.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Parted {
    /// This call is before the cut, and this result of it behind.
    Pair(usize, usize),
    /// What is kept begins with a result without a call.
    Orphan,
}

/// What is to be done with one conversation.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Plan {
    /// Whether a trigger fired, or none was needed.
    pub triggered: bool,
    /// The trigger that fired.
    pub fired: Option<Vec<Size>>,
    /// Where `keep` alone would cut.
    pub wanted: usize,
    /// Where the part begins that is kept: there, or where a cut would be safe. 0 where all is kept.
    pub kept_from: usize,
    /// Where the cut falls: messages before it are summarized, but for the pinned ones. 0 where nothing is replaced.
    pub cutoff: usize,
    /// Why the cut is not where it was wanted.
    pub moved_because: Option<String>,
    /// Indices of the messages before the cut that stay, in order.
    pub pinned: Vec<usize>,
    /// How many of these stand before the summary; the others follow it.
    pub before_summary: usize,
    /// Where the conversation begins for its provider: at the last compaction of its own that can be read. What stands
    /// before is replaced, and not summarized again.
    pub start: usize,
    /// An earlier summary that is neither summarized nor kept, but carried on by the next one.
    pub carried: Option<usize>,
    /// Indices of messages that would stay, of which nothing is left without the thinking that goes; in order.
    pub emptied: Vec<usize>,
    /// What the rule for pairs let happen at the cut.
    pub parted: Option<Parted>,
    /// Why nothing is replaced.
    pub reason: Option<String>,
    /// Whether that is so because of what the transcript is, whatever the rules.
    pub refused: bool,
}

impl Plan {
    /// A plan that does nothing, for a reason.
    pub(crate) fn of_nothing(reason: String) -> Self {
        Plan { reason: Some(reason), ..Plan::default() }
    }

    /// The messages that a summary replaces, in order; an earlier summary that is carried on is one of them.
    pub fn replaced(&self) -> Vec<usize> {
        let mut pinned = self.pinned.iter().peekable();
        (0..self.cutoff).filter(|index| pinned.next_if_eq(&index).is_none()).collect()
    }

    /// Those of the replaced messages that their provider reads, in order.
    pub(crate) fn superseded(&self) -> Vec<usize> {
        let mut replaced = self.replaced();
        replaced.retain(|index| *index >= self.start);
        replaced
    }

    /// The messages that go, in order, but for an earlier summary that is carried on.
    pub(crate) fn removed(&self) -> Vec<usize> {
        let mut replaced = self.replaced();
        replaced.retain(|index| Some(*index) != self.carried);
        replaced
    }

    /// The messages that are summarized, in order.
    pub fn summarized(&self) -> Vec<usize> {
        let mut removed = self.removed();
        removed.retain(|index| *index >= self.start);
        removed
    }

    /// For each entry that is no message, whether it goes when the messages do that `gone` names.
    pub(crate) fn notes_gone(&self, notes: &[Note<'_>], gone: &[bool]) -> Vec<bool> {
        let mut superseded: HashSet<&str> = HashSet::new();
        let mut goes = vec![false; notes.len()];
        for (index, note) in notes.iter().enumerate().rev().filter(|(_, note)| note.before <= self.cutoff) {
            goes[index] = match note.retention {
                Retention::Always => false,
                Retention::WithPrevious => note.before.checked_sub(1).is_some_and(|message| gone[message]),
                Retention::With(message) => gone.get(message).copied().unwrap_or_default(),
                Retention::Latest(name) => !superseded.insert(name),
                Retention::Obsolete => true,
            };
        }
        goes
    }

    fn nothing(self, reason: String) -> Self {
        Plan { reason: Some(reason), ..self.without_cut() }
    }

    /// The same without a summary.
    #[must_use]
    pub(crate) fn without_cut(self) -> Self {
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

/// Decides whether and where to cut a conversation.
pub(crate) fn plan(transcript: &Transcript<'_>, tally: &Tally<'_, '_>, policy: &Policy) -> Plan {
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
        let why = if policy.never() { NEVER } else { "no trigger was reached" };
        return plan.nothing(why.to_owned());
    }
    let first = weight.first();
    let Some(wanted) = cutoff::wanted(&weight) else {
        let all = weight.compactions.beginning().unwrap_or_else(|| "the whole conversation".to_owned());
        return plan.nothing(format!("{all} is within --keep {}", policy.keep));
    };
    (plan.wanted, plan.kept_from) = (wanted, wanted);
    let pairing = &transcript.pairing;
    let (cut, moved_because) = cutoff::safe(transcript, wanted, policy.pairs);
    if cut <= first {
        let why = moved_because.unwrap_or_else(|| "nothing stands before the cut".to_owned());
        return plan.nothing(format!("there is no safe cut: {why}, and so on to the beginning"));
    }
    (plan.cutoff, plan.kept_from) = (cut, cut);
    plan.moved_because = moved_because;
    let orphan = || pairing.orphaned.get(cut).is_some_and(|orphaned| *orphaned).then_some(Parted::Orphan);
    plan.parted = pairing.split_pair(cut).map(|(call, result)| Parted::Pair(call, result)).or_else(orphan);
    plan.carried = weight.carried();
    let must_stay = weight.compactions.staying(cut);
    plan.pinned = pins::pinned(transcript, policy, plan.carried, must_stay, cut);
    plan.before_summary = match policy.rules.carries {
        // As the system that carries it shows it to its model: behind the standing instructions, before all else.
        true => plan.pinned.iter().take_while(|&&index| messages[index].role.is_system()).count(),
        false => match transcript.format.summary_position(transcript) {
            SummaryPosition::AfterPinned => plan.pinned.len(),
            SummaryPosition::First => 0,
            SummaryPosition::InPlace => {
                let last = plan.replaced().last().copied().unwrap_or_default();
                plan.pinned.partition_point(|&index| index < last)
            }
        },
    };
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
            "without what would be summarized, most of it would be of kinds that no reader knows; keep more".to_owned(),
        );
    }
    match not_worth_it(&plan, messages, tally, policy) {
        Some(reason) => plan.nothing(reason),
        None => plan,
    }
}

/// Why a provider would refuse the order that pinned messages, the summary and what is kept have: a rule that is broken
/// where messages now stand behind each other that did not before.
fn refused_order(plan: &Plan, transcript: &Transcript<'_>) -> Option<String> {
    let rules = transcript.order;
    let (before, after) = plan.pinned.split_at(plan.before_summary);
    let kept = (plan.cutoff < transcript.messages.len()).then_some(plan.cutoff);
    let order = before
        .iter()
        .map(|&index| Some(index))
        .chain([None])
        .chain(after.iter().chain(&kept).map(|&index| Some(index)));
    let mut last: Option<(Option<usize>, Turn)> = None;
    // A compaction may open a conversation, though the model made it.
    let is_compaction = |index: &Option<usize>| index.is_some_and(|index| transcript.has_compaction(index));
    for index in order.filter(|index| !is_compaction(index)) {
        let Some(turn) = index.map_or(Some(Turn::User), |index| Turn::of(&transcript.messages[index])) else {
            continue;
        };
        let as_it_was = matches!((last, index), (Some((Some(last), _)), Some(index)) if last + 1 == index);
        if let Some(rule) = rules.refuses(last.map(|last| last.1), turn).filter(|_| !as_it_was) {
            let what = index.map_or("the summary".to_owned(), |index| format!("message {index}"));
            return Some(format!(
                "{} would refuse {what} behind the pinned messages: {rule}; pin others with --pin",
                transcript.format.name()
            ));
        }
        last = Some((index, turn));
    }
    None
}

/// Whether what stays is mostly foreign, so that nobody could read the result.
fn is_left_foreign(plan: &Plan, messages: &[Message<'_>]) -> bool {
    let stays = || plan.pinned.iter().map(|&index| &messages[index]).chain(&messages[plan.cutoff..]);
    stays().any(foreign::is_in) && foreign::Bytes::of(stays()).is_mostly_foreign()
}

/// Why a cut gains nothing, where it gains nothing.
fn not_worth_it(plan: &Plan, messages: &[Message<'_>], tally: &Tally<'_, '_>, policy: &Policy) -> Option<String> {
    let summarized = plan.summarized();
    match summarized.as_slice() {
        [] => Some("every message before the cut is pinned".to_owned()),
        [only] if policy.rules.gains && messages[*only].is_summary(&policy.summary_prefix) => {
            Some("nothing but an earlier summary stands before the cut".to_owned())
        }
        _ if policy.smallest_summary > 0 && !tally.reaches(&summarized, policy.smallest_summary + 1) => Some(format!(
            "what stands before the cut is too small for a summary to be smaller ({} tokens)",
            tally.sum(&summarized)
        )),
        _ => None,
    }
}

/// A conversation as triggers see it.
struct Weight<'w, 'a> {
    messages: &'w [Message<'a>],
    earlier: Option<&'w Carried<'a>>,
    compactions: Compactions,
    tally: &'w Tally<'w, 'a>,
    policy: &'w Policy,
}

impl<'w, 'a> Weight<'w, 'a> {
    fn new(
        transcript: &'w Transcript<'a>,
        earlier: Option<&'w Carried<'a>>,
        tally: &'w Tally<'w, 'a>,
        policy: &'w Policy,
    ) -> Self {
        let compactions = Compactions::of(transcript, policy);
        Weight { messages: &transcript.messages, earlier, compactions, tally, policy }
    }

    /// The messages that their provider reads: all but those that a compaction stands for.
    fn read(&self) -> impl DoubleEndedIterator<Item = (usize, &'w Message<'a>)> {
        let start = self.compactions.start;
        self.messages.iter().enumerate().filter(move |(index, message)| *index >= start || message.role.is_system())
    }

    /// The message that is an earlier summary to be carried on.
    fn carried(&self) -> Option<usize> {
        self.earlier.and_then(|earlier| earlier.index)
    }

    /// The first message that a cut can stand behind: a cut before or at an earlier summary leaves nothing to be done.
    fn first(&self) -> usize {
        self.carried().map_or(0, |index| index + 1).max(self.compactions.last.unwrap_or(0))
    }

    /// The first trigger all of whose sizes are reached, or the budget that is exceeded.
    fn fired(&self) -> Option<Vec<Size>> {
        let reached = |clause: &&Vec<Size>| clause.iter().all(|size| self.reached(*size));
        let over = |budget: &u64| self.total() > *budget;
        let budget = || self.policy.budget.filter(over).map(|budget| vec![Size::Tokens(budget.saturating_add(1))]);
        self.policy.triggers.iter().find(reached).cloned().or_else(budget)
    }

    fn reached(&self, size: Size) -> bool {
        let policy = self.policy;
        match size {
            Size::Nothing => true,
            Size::Messages(least) => {
                let beside = usize::from(self.earlier.is_some_and(|earlier| earlier.index.is_none()));
                let left_out = self.compactions.start;
                let count = if left_out == 0 { self.messages.len() } else { self.read().count() };
                (count + beside) as u64 >= least
            }
            Size::Turns(least) => self.read().filter(|(_, message)| is_turn(message, policy)).count() as u64 >= least,
            Size::Tokens(_) | Size::Fraction(_) => size.in_tokens(policy.context_window).is_some_and(|threshold| {
                self.tokens_reach(threshold.saturating_add(u64::from(policy.rules.exceed)))
                    || policy.rules.reported_triggers
                        && reported_reaches(self.messages, threshold, |provider| policy.is_served_by(provider))
            }),
        }
    }

    /// Whether the conversation has so many tokens. Every message is counted only where the sum is not all there is to
    /// it.
    fn tokens_reach(&self, least: u64) -> bool {
        if self.earlier.is_some() || self.policy.scales(self.tally) {
            return self.total() >= least;
        }
        let all: Vec<usize> = self.read().map(|(index, _)| index).collect();
        self.tally.reaches(&all, least.saturating_sub(self.policy.overhead_tokens))
    }

    /// The tokens of the conversation with all that is sent beside it. An earlier summary that is carried on is counted
    /// after all messages, as the systems that carry one on count it.
    fn total(&self) -> u64 {
        let earlier = self.earlier.map(|earlier| earlier.tokens(self.tally.counter()));
        self.scaled(earlier).saturating_add(self.policy.overhead_tokens)
    }

    /// The tokens of the messages alone.
    fn of_messages(&self) -> u64 {
        self.scaled(None)
    }

    fn scaled(&self, after: Option<u64>) -> u64 {
        let mut total = ScaledTotal::default();
        for (index, message) in self.read().filter(|(index, _)| Some(*index) != self.carried()) {
            total.add(self.tally.message(index), message);
        }
        after.into_iter().for_each(|tokens| total.add_unreported(tokens));
        if self.policy.scales(self.tally) { total.total() } else { total.estimate() }
    }
}

/// The messages before a cut that stay whatever is summarized, in order.
pub(crate) fn pinned(transcript: &Transcript<'_>, policy: &Policy, cut: usize) -> Vec<usize> {
    let earlier = carried(transcript, policy).and_then(|earlier| earlier.index);
    pins::pinned(transcript, policy, earlier, Compactions::of(transcript, policy).staying(cut), cut)
}

/// The plan with a cut at one place and no other, as all other rules have it; no cut where that is none.
pub(crate) fn cut_at(transcript: &Transcript<'_>, tally: &Tally<'_, '_>, policy: &Policy, cut: usize) -> Plan {
    let keep = Size::Messages((transcript.messages.len().saturating_sub(cut)).max(1) as u64);
    let rules = Rules { without_trigger: true, ..policy.rules };
    plan(transcript, tally, &Policy { triggers: Vec::new(), budget: None, keep, rules, ..policy.clone() })
}

pub(crate) use cutoff::legal_cuts;

/// How many messages are older than what is kept; none where nothing triggers or all is kept.
pub(crate) fn old_messages(transcript: &Transcript<'_>, tally: &Tally<'_, '_>, policy: &Policy) -> usize {
    if transcript.messages.is_empty() {
        return 0;
    }
    let earlier = carried(transcript, policy);
    let weight = Weight::new(transcript, earlier.as_ref(), tally, policy);
    let triggered = weight.fired().is_some() || policy.triggers.is_empty() && policy.rules.without_trigger;
    if triggered { cutoff::wanted(&weight).unwrap_or(0) } else { 0 }
}

/// The tokens of a conversation with all that is sent beside it, as triggers and budgets see them.
pub(crate) fn total(transcript: &Transcript<'_>, tally: &Tally<'_, '_>, policy: &Policy) -> u64 {
    let earlier = carried(transcript, policy);
    Weight::new(transcript, earlier.as_ref(), tally, policy).total()
}

/// Why a policy that can never trigger does nothing.
pub(crate) const NEVER: &str = "no trigger is given, and the preset does nothing without one; give --trigger";

impl Policy {
    /// Whether nothing can trigger.
    pub(crate) fn never(&self) -> bool {
        self.triggers.is_empty() && self.budget.is_none() && !self.rules.without_trigger
    }

    /// Whether totals are scaled by what providers reported. Only `LangChain`'s estimate is; an exact count needs no
    /// correction.
    pub(crate) fn scales(&self, tally: &Tally<'_, '_>) -> bool {
        self.rules.reported_scales && matches!(tally.counter(), Counter::Approx(_))
    }

    /// Whether a provider that a message names is the one that serves the model. Where no model is named, it is taken to
    /// be the one that wrote the conversation.
    fn is_served_by(&self, provider: &str) -> bool {
        self.provider.is_none_or(|ours| ours == provider || (ours, provider) == ("google", "google_genai"))
    }
}

/// Whether a turn begins here: a person speaks, not a tool and not an earlier summary.
fn is_turn(message: &Message<'_>, policy: &Policy) -> bool {
    message.is_user_turn() && !message.is_summary(&policy.summary_prefix)
}

/// Marks the messages that are summaries of earlier compactions by these rules.
pub(crate) fn mark_summaries(transcript: &mut Transcript<'_>, policy: &Policy) {
    transcript.messages.iter_mut().for_each(|message| message.earlier = message.is_summary(&policy.summary_prefix));
}

#[cfg(test)]
pub(crate) mod tests;
