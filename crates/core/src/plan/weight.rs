//! The size of a conversation, as triggers and budgets measure it.

use crate::plan::carried::Carried;
use crate::plan::compactions::Compactions;
use crate::plan::recorded::RecordedSize;
use crate::plan::size::Size;
use crate::plan::{CutPolicy, steps};
use crate::tokens::Tally;
use crate::tokens::scaling::{ScaledTotal, reported_reaches};
use crate::transcript::{Message, Transcript};

/// A conversation as triggers see it.
pub(super) struct Weight<'w, 'a> {
    pub(super) transcript: &'w Transcript<'a>,
    pub(super) messages: &'w [Message<'a>],
    /// The earlier summary that the next one carries on.
    earlier: Option<&'w Carried<'a>>,
    pub(super) compactions: Compactions,
    pub(super) tally: &'w Tally<'w, 'a>,
    pub(super) policy: &'w CutPolicy,
}

impl<'w, 'a> Weight<'w, 'a> {
    pub(super) fn new(
        transcript: &'w Transcript<'a>,
        earlier: Option<&'w Carried<'a>>,
        tally: &'w Tally<'w, 'a>,
        policy: &'w CutPolicy,
    ) -> Self {
        let compactions = Compactions::of(transcript, policy);
        Weight { transcript, messages: &transcript.messages, earlier, compactions, tally, policy }
    }

    /// The messages that the provider reads: all but those that its own compaction replaces.
    fn read(&self) -> impl DoubleEndedIterator<Item = (usize, &'w Message<'a>)> {
        let start = self.compactions.start;
        self.messages.iter().enumerate().filter(move |(index, message)| *index >= start || message.role.is_system())
    }

    /// The message with the earlier summary that the next one carries on.
    pub(super) fn carried(&self) -> Option<usize> {
        self.earlier.and_then(|earlier| earlier.index)
    }

    /// The last index at which a cut gains nothing: a cut at or before an earlier summary leaves nothing to summarize.
    pub(super) fn first(&self) -> usize {
        self.carried().map_or(0, |index| index + 1).max(self.compactions.last.unwrap_or(0))
    }

    /// The first trigger of which all sizes are reached, or else the budget, where it is exceeded.
    pub(super) fn fired(&self) -> Option<Vec<Size>> {
        for sizes in &self.policy.triggers {
            if sizes.iter().all(|size| self.reaches(*size)) {
                return Some(sizes.clone());
            }
        }
        let budget = self.policy.budget?;
        if self.total() > budget { Some(vec![Size::Tokens(budget.saturating_add(1))]) } else { None }
    }

    fn reaches(&self, size: Size) -> bool {
        let policy = self.policy;
        match size {
            Size::Nothing | Size::From(_) | Size::Since(_) | Size::Last(_) => true,
            Size::Messages(least) => {
                let beside = usize::from(self.earlier.is_some_and(|earlier| earlier.index.is_none()));
                let is_whole = self.compactions.start == 0;
                let count = if is_whole { self.messages.len() } else { self.read().count() };
                (count + beside) as u64 >= least
            }
            Size::Turns(least) => self.turns() >= least,
            Size::Steps(least) => self.steps() >= least,
            Size::Bytes(least) => self.read().map(|(_, message)| message.span().len() as u64).sum::<u64>() >= least,
            Size::Tokens(_) | Size::Fraction(_) => {
                let Some(threshold) = size.in_tokens(policy.context_window) else { return false };
                if let Some(recorded) = self.recorded() {
                    return recorded >= threshold;
                }
                self.tokens_reach(threshold.saturating_add(u64::from(policy.rules.exceed)))
                    || policy.rules.reported_triggers
                        && reported_reaches(self.messages, threshold, |provider| policy.is_served_by(provider))
            }
        }
    }

    fn turns(&self) -> u64 {
        self.read().filter(|(_, message)| is_turn(message, self.policy)).count() as u64
    }

    fn steps(&self) -> u64 {
        let answers = steps::answers(self.transcript, &self.policy.summary_prefix);
        answers.into_iter().filter(|index| *index >= self.compactions.start).count() as u64
    }

    /// Says why all of the conversation is kept. An agent's work can be a single turn.
    pub(super) fn kept_whole(&self) -> String {
        let all = self.compactions.summarizable_part().unwrap_or_else(|| "the whole conversation".to_owned());
        let keep = self.policy.keep;
        let is = if matches!(keep, Size::Turns(_)) && self.turns() == 1 { "is one turn, " } else { "is " };
        format!("{all} {is}within --keep {keep}")
    }

    /// The size that the session itself recorded, with what follows that, where the policy asks for it.
    pub(super) fn recorded(&self) -> Option<u64> {
        if !self.policy.recorded {
            return None;
        }
        RecordedSize::of(self.transcript, self.tally).map(RecordedSize::tokens)
    }

    /// Whether the conversation has so many tokens. Where the total is a plain sum, counting stops as soon as the
    /// answer is known.
    fn tokens_reach(&self, least: u64) -> bool {
        if self.earlier.is_some() || self.policy.scales(self.tally) {
            return self.total() >= least;
        }
        let all: Vec<usize> = self.read().map(|(index, _)| index).collect();
        self.tally.reaches(&all, least.saturating_sub(self.tally.overhead()))
    }

    /// The tokens of the conversation with the overhead. A carried summary is counted after all messages, as in the
    /// systems that carry one on.
    pub(super) fn total(&self) -> u64 {
        let earlier = self.earlier.map(|earlier| earlier.tokens(self.tally.counter()));
        self.scaled(earlier).saturating_add(self.tally.overhead())
    }

    pub(super) fn message_tokens(&self) -> u64 {
        self.scaled(None)
    }

    /// The tokens of the messages, scaled by what providers reported where the policy says so. `after` are tokens that
    /// follow the last message.
    fn scaled(&self, after: Option<u64>) -> u64 {
        let mut total = ScaledTotal::default();
        for (index, message) in self.read() {
            if Some(index) != self.carried() {
                total.add(self.tally.message(index), message);
            }
        }
        if let Some(tokens) = after {
            total.add_unreported(tokens);
        }
        if self.policy.scales(self.tally) { total.total() } else { total.estimate }
    }
}

/// Whether a message begins a turn: a person wrote it, not a tool or an earlier summary. What only looks like a summary
/// begins none either: once ours stands before it, it would be a turn more, and the next compaction would cut again.
pub(super) fn is_turn(message: &Message<'_>, policy: &CutPolicy) -> bool {
    message.is_user_turn() && !message.earlier && !message.opens_with(&policy.summary_prefix)
}
