//! Which of the sizes that a session recorded still holds: the last one, unless a compaction stands between it and the
//! end. A size from before a compaction is never taken for one from after it; where nothing shows it, there is none.
//!
//! Most formats do not show it. Messages that a compaction kept stand behind its summary, as they were, and with the sizes
//! of a context that held the whole history. Only sizes that fell show a compaction then: each round of compaction makes
//! the size fall once, from what counts the removed history to what does not. Where the sizes behind the summary fell at
//! least as often as there were rounds, the last ones are newer than the last round.

use memchr::memmem;

use crate::plan::removal_note::{self, RemovalNote};
use crate::plan::{carried, summaries};
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
        let mut tokens = 0;
        for index in 0..self.record.messages {
            if is_read(transcript, index) {
                tokens += tally.message(index);
            }
        }
        tokens
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
    let counted = size.counted(transcript, &Tally::new(counter, &transcript.messages));
    Tally::of(counter, transcript, Some(size.record.tokens.saturating_sub(counted)))
}

/// The sizes of a conversation's messages as the model that it names counts them.
fn estimate<'m, 'a>(transcript: &'m Transcript<'a>, tally: &Tally<'_, '_>) -> Tally<'m, 'a> {
    let family = match model_of(transcript) {
        Some(name) => ModelFamily::of_model(&name),
        None => ModelFamily::OTHERS,
    };
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
    if summaries.next().is_some() {
        return None;
    }
    let rounds = rounds(&transcript.messages[summary])?;
    if falls(&records, tally) >= rounds as usize { Some(valid) } else { None }
}

/// The recorded sizes that are no less than half of what the messages count. Smaller ones are of a sub-agent, or from a
/// server that leaves out what it had cached.
fn whole_records(transcript: &Transcript<'_>, tally: &Tally<'_, '_>) -> Vec<Recorded> {
    let (mut counted, mut sum) = (0, 0);
    let mut whole = Vec::new();
    for record in transcript.records() {
        for index in counted..record.messages {
            if is_read(transcript, index) {
                sum += tally.message(index);
            }
        }
        counted = record.messages.max(counted);
        if record.tokens >= sum / 2 {
            whole.push(record);
        }
    }
    whole
}

/// Whether a message is not replaced by a provider's own compaction.
fn is_read(transcript: &Transcript<'_>, index: usize) -> bool {
    index >= transcript.compactions.last().copied().unwrap_or(0) || transcript.messages[index].role.is_system()
}

/// Whether a message is a summary, and nothing tells which of the messages behind it are newer.
fn hides_age(transcript: &Transcript<'_>, index: usize) -> bool {
    let message = &transcript.messages[index];
    message.earlier
        && !transcript.has_compaction(index)
        && transcript.format.session.age(message.json, message).is_none()
}

/// Whether a summary stands beside the messages.
fn is_summarized_beside(transcript: &Transcript<'_>) -> bool {
    transcript.state.and_then(SummarizationEvent::of).is_some()
        || carried::place(transcript).is_some_and(|place| !place.is_falsy())
}

/// Whether a run removed something from these messages and left no summary that this one knows: it pruned them, or had
/// another `--summary-prefix`, or was one of `LangChain`'s. Sizes from before count what is gone. A user who quotes such a
/// text has an estimate instead.
fn has_trace(messages: &[Message<'_>]) -> bool {
    const FENCE: &str = "<summary>";
    let traces = [removal_note::OPENING.trim_end(), summaries::TRUNCATED, "\"lc_source\"", fence::USER_HEADING];
    let (traces, fence) = (traces.map(memmem::Finder::new), memmem::Finder::new(FENCE));
    for message in messages {
        if message.earlier {
            continue;
        }
        let raw = message.json.raw().as_bytes();
        let is_fenced = fence.find(raw).is_some() && fence::is_whole(&message.whole_text());
        if is_fenced || traces.iter().any(|trace| trace.find(raw).is_some()) {
            return true;
        }
    }
    false
}

/// How many rounds of compaction there were, if the summary of the last one surely says so: of tcompact's own
/// summaries, the first one alone names no round.
fn rounds(summary: &Message<'_>) -> Option<u32> {
    if !summary.is_ours() {
        return None;
    }
    let is_sure = RemovalNote::of(summary).is_some() || fence::is_whole(&summary.whole_text());
    if is_sure { Some(summary.round) } else { None }
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
        // A level above this one has surely fallen.
        let most = unseen.saturating_mul(2).saturating_add(2_000);
        while levels.pop_if(|level| *level <= most).is_some() {}
        if let Some((tokens, level)) = before
            && record.tokens < tokens / 4 * 3
            && level > most
        {
            levels.push(level);
        }
        before = Some((record.tokens, unseen));
    }
    let is_plausible = before.is_some_and(|(_, unseen)| unseen <= MOST_BESIDE + sum / 2);
    if is_plausible { levels.len() } else { 0 }
}

#[cfg(test)]
mod tests;
