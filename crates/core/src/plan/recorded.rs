//! Which of the sizes that a session recorded still holds: the last one, unless a compaction stands between it and the
//! end. A size from before a compaction is never taken for one from after it; where nothing shows it, there is none.
//!
//! Most formats do not show it. Messages that a compaction kept stand behind its summary, as they were, and with the sizes
//! of a context that held the whole history. Only sizes that fell show a compaction then: each round of compaction makes
//! the size fall once, from what counts the removed history to what does not. Where the sizes behind the summary fell at
//! least as often as there were rounds, the last ones are newer than the last round.
//!
//! Also: the size of a conversation, as triggers and budgets measure it.

use memchr::memmem;

use crate::plan::carried::Carried;
use crate::plan::compactions::Compactions;
use crate::plan::size::Size;
use crate::plan::summaries::RemovalNote;
use crate::plan::{CutPolicy, carried, steps, summaries};
use crate::tokens::scaling::{ScaledTotal, reported_reaches};
use crate::tokens::{Counter, MessageCounter, ModelFamily, Tally};
use crate::transcript::compaction::SummarizationEvent;
use crate::transcript::named_models::model_of;
use crate::transcript::recorded::Recorded;
use crate::transcript::{Message, Transcript, fence};

/// What a request sends beside the messages, at most: an agent's instructions and tools.
const MOST_BESIDE: u64 = 30_000;

/// The size of a conversation by what its session recorded, in tokens of the model that the session names.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RecordedSize {
    /// The first messages with all that a request sends beside them, as the provider counted them.
    pub record: Recorded,
    /// The messages behind these, as they are estimated.
    pub behind: u64,
}

impl RecordedSize {
    /// The size, if the session recorded one that still holds.
    pub fn of(transcript: &Transcript<'_>, tally: &Tally<'_, '_>) -> Option<Self> {
        let tally = &estimate(transcript, tally);
        let record = last_valid(transcript, tally)?;
        let behind = (record.messages..transcript.messages.len()).map(|index| tally.message(index)).sum();
        Some(RecordedSize { record, behind })
    }

    pub fn tokens(self) -> u64 {
        self.record.tokens.saturating_add(self.behind)
    }

    /// How many of the recorded tokens are about those of no message: tools, the system text, and what the estimate
    /// lacks.
    pub fn beside(self, transcript: &Transcript<'_>, tally: &Tally<'_, '_>) -> u64 {
        self.record.tokens.saturating_sub(self.counted(transcript, &estimate(transcript, tally)))
    }

    /// What the messages count that the record counts.
    fn counted(self, transcript: &Transcript<'_>, tally: &Tally<'_, '_>) -> u64 {
        let read = (0..self.record.messages).filter(|index| is_read(transcript, *index));
        read.map(|index| tally.message(index)).sum()
    }
}

/// A tally in which a conversation has the size that its session recorded, where one holds: what is in no message is
/// sent beside them.
pub fn as_recorded<'m, 'a>(transcript: &'m Transcript<'a>, tally: Tally<'m, 'a>) -> Tally<'m, 'a> {
    /// Leaves some room for the tokens around texts, which no factor makes fewer.
    const MOST: f64 = 0.98;
    let Some(size) = RecordedSize::of(transcript, &tally) else { return tally };
    let (counted, mut counter) = (size.counted(transcript, &tally), tally.message_counter());
    if let Counter::Recorded(family) = &mut counter.counter
        && counted > size.record.tokens
    {
        *family = family.times(MOST * size.record.tokens as f64 / counted as f64);
    }
    let beside =
        size.record.tokens.saturating_sub(size.counted(transcript, &Tally::new(counter, &transcript.messages)));
    Tally::of(counter, transcript, Some(beside))
}

/// The sizes of a conversation's messages as the model that it names counts them.
fn estimate<'m, 'a>(transcript: &'m Transcript<'a>, tally: &Tally<'_, '_>) -> Tally<'m, 'a> {
    let family = model_of(transcript).map_or(ModelFamily::OTHERS, |name| ModelFamily::of_model(&name));
    let counter = MessageCounter { counter: Counter::Estimate(family), ..tally.message_counter() };
    Tally::new(counter, &transcript.messages)
}

/// The last size that a session recorded, if it still holds. Where the user wrote after it, reasoning before that is
/// not in it.
pub fn last_valid(transcript: &Transcript<'_>, tally: &Tally<'_, '_>) -> Option<Recorded> {
    let records = whole_records(transcript, tally);
    let last = *records.last()?;
    let behind = &transcript.messages[last.messages..];
    let again = if behind.iter().any(Message::is_user_turn) { 0 } else { last.reasoning };
    let valid = Recorded { tokens: last.tokens - last.reasoning + again, reasoning: again, ..last };
    if is_summarized_beside(transcript) || has_trace(&transcript.messages[..last.messages]) {
        return None;
    }
    let mut summaries = (0..transcript.messages.len()).filter(|&index| hides_age(transcript, index));
    let Some(summary) = summaries.next() else { return Some(valid) };
    let rounds = rounds(&transcript.messages[summary]).filter(|_| summaries.next().is_none())?;
    (falls(&records, tally) >= rounds as usize).then_some(valid)
}

/// The recorded sizes that are no less than half of what the messages count. Smaller ones are of a sub-agent, or from a
/// server that leaves out what it had cached.
fn whole_records(transcript: &Transcript<'_>, tally: &Tally<'_, '_>) -> Vec<Recorded> {
    let (mut counted, mut sum) = (0, 0);
    let mut records = transcript.records();
    records.retain(|record| {
        let added = (counted..record.messages).filter(|index| is_read(transcript, *index));
        sum += added.map(|index| tally.message(index)).sum::<u64>();
        counted = record.messages.max(counted);
        record.tokens >= sum / 2
    });
    records
}

/// Whether a message is not replaced by a provider's own compaction.
fn is_read(transcript: &Transcript<'_>, index: usize) -> bool {
    index >= transcript.compactions.last().copied().unwrap_or(0) || transcript.messages[index].role.is_system()
}

/// Whether a message is a summary, and nothing tells which of the messages behind it are newer.
fn hides_age(transcript: &Transcript<'_>, index: usize) -> bool {
    let message = &transcript.messages[index];
    let has_order = || transcript.format.session.age(message.json, message).is_some();
    message.earlier && !transcript.has_compaction(index) && !has_order()
}

/// Whether a summary stands beside the messages.
fn is_summarized_beside(transcript: &Transcript<'_>) -> bool {
    let has_text = || carried::place(transcript).is_some_and(|place| !place.is_falsy());
    transcript.state.and_then(SummarizationEvent::of).is_some() || has_text()
}

/// Whether a run removed something from these messages and left no summary that this one knows: it pruned them, or had
/// another `--summary-prefix`, or was one of `LangChain`'s. Sizes from before count what is gone. A user who quotes such a
/// text has an estimate instead.
fn has_trace(messages: &[Message<'_>]) -> bool {
    const FENCE: &str = "<summary>";
    let traces = [summaries::OPENING.trim_end(), summaries::TRUNCATED, "\"lc_source\"", fence::USER_HEADING];
    let (traces, fence) = (traces.map(memmem::Finder::new), memmem::Finder::new(FENCE));
    let has = |message: &Message<'_>, trace: &memmem::Finder<'_>| trace.find(message.json.raw().as_bytes()).is_some();
    let is_fenced = |message: &Message<'_>| has(message, &fence) && fence::is_whole(&message.whole_text());
    let mut unknown = messages.iter().filter(|message| !message.earlier);
    unknown.any(|message| traces.iter().any(|trace| has(message, trace)) || is_fenced(message))
}

/// How many rounds of compaction there were, if the summary of the last one surely says so: of tcompact's own
/// summaries, the first one alone names no round.
fn rounds(summary: &Message<'_>) -> Option<u32> {
    let is_sure = || RemovalNote::of(summary).is_some() || fence::is_whole(&summary.whole_text());
    (summary.is_ours() && is_sure()).then_some(summary.round)
}

/// How often recorded sizes fell because the messages before them were removed, and did not rise again.
fn falls(records: &[Recorded], tally: &Tally<'_, '_>) -> usize {
    let (mut counted, mut sum) = (0, 0);
    let mut levels: Vec<u64> = Vec::new();
    let mut before: Option<(u64, u64)> = None;
    for record in records {
        sum += (counted..record.messages).map(|index| tally.message(index)).sum::<u64>();
        counted = record.messages.max(counted);
        let unseen = record.tokens.saturating_sub(sum);
        let is_below = |level: u64| level > unseen.saturating_mul(2).saturating_add(2_000);
        while levels.pop_if(|level| !is_below(*level)).is_some() {}
        let fell = |(tokens, level): &(u64, u64)| record.tokens < tokens / 4 * 3 && is_below(*level);
        levels.extend(before.filter(fell).map(|(_, level)| level));
        before = Some((record.tokens, unseen));
    }
    let is_plausible = before.is_some_and(|(_, unseen)| unseen <= MOST_BESIDE + sum / 2);
    if is_plausible { levels.len() } else { 0 }
}

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
        let reached = |clause: &&Vec<Size>| clause.iter().all(|size| self.reaches(*size));
        let over = |budget: &u64| self.total() > *budget;
        let budget = || self.policy.budget.filter(over).map(|budget| vec![Size::Tokens(budget.saturating_add(1))]);
        self.policy.triggers.iter().find(reached).cloned().or_else(budget)
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
            Size::Tokens(_) | Size::Fraction(_) => size.in_tokens(policy.context_window).is_some_and(|threshold| {
                if let Some(recorded) = self.recorded() {
                    return recorded >= threshold;
                }
                self.tokens_reach(threshold.saturating_add(u64::from(policy.rules.exceed)))
                    || policy.rules.reported_triggers
                        && reported_reaches(self.messages, threshold, |provider| policy.is_served_by(provider))
            }),
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
        let size = self.policy.recorded.then(|| RecordedSize::of(self.transcript, self.tally)).flatten();
        size.map(|size| size.tokens())
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
        for (index, message) in self.read().filter(|(index, _)| Some(*index) != self.carried()) {
            total.add(self.tally.message(index), message);
        }
        after.into_iter().for_each(|tokens| total.add_unreported(tokens));
        if self.policy.scales(self.tally) { total.total() } else { total.estimate }
    }
}

/// Whether a message begins a turn: a person wrote it, not a tool or an earlier summary. What only looks like a summary
/// begins none either: once ours stands before it, it would be a turn more, and the next compaction would cut again.
pub(super) fn is_turn(message: &Message<'_>, policy: &CutPolicy) -> bool {
    message.is_user_turn() && !message.earlier && !message.opens_with(&policy.summary_prefix)
}

#[cfg(test)]
mod tests;
