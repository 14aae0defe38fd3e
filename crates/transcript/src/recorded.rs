//! The sizes that a session recorded: the tokens that its provider counted up to and including a message.
//!
//! A size is what the model read for an answer, cached or not, and the answer. Reasoning that the message does not hold is
//! not read again, and does not count. Reasoning that it holds counts, but most models read it again only until the
//! user's next message, so it is told apart.

use std::ops::Range;

use crate::format::{Age, Transcript};
use crate::json::{Json, Object};
use crate::message::{Message, Role};
use crate::named_models::own_model;
use crate::thoughts::has_reasoning;
use crate::usage::{SizeNote, Usage};

/// The tokens of the first messages with all that a request sends beside them, as the provider counted them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Recorded {
    /// How many messages were counted, from the first on.
    pub messages: usize,
    pub tokens: u64,
    /// How many of the tokens are reasoning behind the user's last message. Most models do not read it again once the
    /// user goes on.
    pub reasoning: u64,
}

/// An answer with its usage.
struct Answer<'a> {
    usage: Usage<'a>,
    /// The entry that records it.
    entry: Json<'a>,
    /// Its messages, as far as they follow each other.
    messages: Range<usize>,
    /// Whether the model can read its reasoning again.
    has_reasoning: bool,
}

impl<'a> Transcript<'a> {
    /// The recorded sizes in order, from the last compaction on, without those that the entries tell to be older.
    pub fn records(&self) -> Vec<Recorded> {
        let mut answers = self.answers();
        if let Some(last) = (0..self.messages.len()).rfind(|&index| self.begins_anew(index)) {
            let summary = &self.messages[last];
            let is_newer = |entry| self.format.session.age(entry, summary) != Some(Age::Older);
            let (behind, before): (Vec<_>, Vec<_>) =
                answers.into_iter().partition(|answer| answer.messages.end > last + 1 && is_newer(answer.entry));
            // A turn can go on for a while with the messages that it began with.
            let size = before.last().map_or(u64::MAX, |answer| answer.usage.total());
            answers = behind.into_iter().skip_while(|answer| answer.usage.total() >= size / 10 * 9).collect();
        }
        let mut records: Vec<Recorded> = Vec::new();
        let (mut end, mut reasoning) = (0, 0);
        for answer in self.without_helpers(answers) {
            let between = end.min(answer.messages.start)..answer.messages.start;
            if self.messages[between].iter().any(Message::is_user_turn) {
                reasoning = 0;
            }
            end = answer.messages.end;
            let (tokens, again) = answer.tokens();
            reasoning += again;
            records.push(Recorded { messages: answer.counted(), tokens, reasoning });
        }
        records.extend(self.of_envelope());
        records
    }

    /// Whether a message is the summary of earlier messages, or holds a provider's compaction of them.
    fn begins_anew(&self, index: usize) -> bool {
        self.messages[index].earlier || self.has_compaction(index)
    }

    /// The answers with a usage, in order, from the last entry on that tells of a smaller context.
    fn answers(&self) -> Vec<Answer<'a>> {
        let mut answers: Vec<Answer<'a>> = Vec::new();
        let mut notes = self.notes.iter().peekable();
        // Results of quick calls can stand before the usage of the answer that made the calls.
        let mut last_answer = 0..0;
        let mut noted = None;
        for index in 0..=self.messages.len() {
            while let Some(note) = notes.next_if(|note| note.before <= index) {
                match self.format.session.size_note(note.json) {
                    Some(SizeNote::Smaller) => answers.clear(),
                    // An event can repeat what the last one said.
                    Some(SizeNote::Usage(usage)) if noted.replace(usage) != Some(usage) => {
                        let (messages, entry) = (last_answer.clone(), note.json);
                        answers.push(Answer { usage, entry, messages, has_reasoning: true });
                    }
                    _ => {}
                }
            }
            let Some(message) = self.messages.get(index).filter(|message| message.role == Role::Assistant) else {
                continue;
            };
            last_answer = index..index + 1;
            if let Some(usage) = self.format.usage_of(message) {
                Answer::new(usage, message, index).add_to(&mut answers);
            }
        }
        answers
    }

    /// Leaves out what a small helper was asked between the answers of a model: one answer of another model that read less
    /// than half of what the one before it did.
    fn without_helpers(&self, answers: Vec<Answer<'a>>) -> Vec<Answer<'a>> {
        let model = |answer: &Answer<'_>| own_model(self.messages.get(answer.messages.start)?);
        let mut kept: Vec<Answer<'_>> = Vec::new();
        let mut rest = answers.into_iter().peekable();
        while let Some(answer) = rest.next() {
            let is_by_other = |other: &Answer<'_>| {
                let (own, other) = (model(&answer), model(other));
                own.is_some() && other.is_some() && own != other
            };
            let is_small = |last: &&Answer<'_>| answer.usage.read < last.usage.total() / 2;
            let is_helper = kept.last().filter(is_small).is_some_and(is_by_other);
            if !is_helper || rest.peek().is_some_and(|next| !is_by_other(next)) {
                kept.push(answer);
            }
        }
        kept
    }

    /// The size in the response to a request that the envelope holds beside the messages.
    fn of_envelope(&self) -> Option<Recorded> {
        let envelope = Object::of(self.envelope?);
        let last = self.messages.last()?;
        let holds_last = |json: Json<'_>| json.span().contains(&last.span().start);
        let usage_in = |holder: Json<'a>| {
            let usage = ["usage", "usageMetadata", "usage_metadata", "meta"].iter().find_map(|key| holder.get(key));
            usage.and_then(Usage::of)
        };
        let response = |path: &[&str]| envelope.at(path).filter(|response| !holds_last(*response));
        let of_response = [&["response", "body"], &["response"][..]].iter().find_map(|path| usage_in(response(path)?));
        let of_exchange = || Some(envelope.json).filter(|_| self.is_exchange(&envelope)).and_then(usage_in);
        let answered = self.messages.iter().rposition(|message| message.role == Role::Assistant);
        // Beside the messages of a state, an output is the last answer among them.
        let of_output = || response(&["output"]).and_then(usage_in);
        let size = |usage: Usage<'_>, end: usize| {
            let again = if has_reasoning(&self.messages[end - 1]) { usage.reasoning } else { 0 };
            let tokens = usage.total() - usage.reasoning + again;
            Some(Recorded { messages: end, tokens, reasoning: again })
        };
        if let Some(usage) = of_response.or_else(of_exchange) {
            let all = self.messages.len();
            return match answered {
                Some(index) if index + 1 == all => size(usage, all),
                _ => Some(Recorded { messages: all, tokens: usage.read, reasoning: 0 }),
            };
        }
        of_output().zip(answered).and_then(|(usage, index)| size(usage, index + 1))
    }

    /// Whether an envelope with a usage is one request with its response. Beside a whole conversation, it can be a sum.
    fn is_exchange(&self, envelope: &Object<'a>) -> bool {
        let answers = ["choices", "output", "response", "candidates", "content"];
        let answers: Vec<Json<'a>> = answers.iter().filter_map(|key| envelope.get(key)).collect();
        let is_single = || self.messages.iter().filter(|message| message.role == Role::Assistant).nth(1).is_none();
        // Where the messages are the answer, the request is not there.
        let is_answer = |message: &Message<'a>| answers.iter().any(|json| json.span().contains(&message.span().start));
        !self.messages.first().is_some_and(is_answer) && (!answers.is_empty() || is_single())
    }
}

impl<'a> Answer<'a> {
    fn new(usage: Usage<'a>, message: &Message<'a>, index: usize) -> Self {
        // The results of calls that hold them were not written yet.
        let usage = Usage { is_whole: usage.is_whole && message.results.is_empty(), ..usage };
        let has_reasoning = usage.reasoning > 0 && has_reasoning(message);
        Answer { usage, entry: message.json, messages: index..index + 1, has_reasoning }
    }

    /// Adds an answer, or its next part.
    fn add_to(self, answers: &mut Vec<Answer<'a>>) {
        let is_part = |last: &&mut Answer<'a>| self.usage.answer.is_some() && last.usage.answer == self.usage.answer;
        let Some(last) = answers.last_mut().filter(is_part) else { return answers.push(self) };
        // The parts are written while the answer streams, and the last one knows most.
        let (is_less, usage) = (self.usage.written < last.usage.written, self.usage);
        last.usage = if is_less && !usage.is_whole { last.usage } else { usage };
        last.has_reasoning |= self.has_reasoning;
        // Results of some of its calls can stand between its parts.
        if last.messages.end == self.messages.start {
            last.messages.end = self.messages.end;
        }
    }

    /// How many messages its size counts.
    fn counted(&self) -> usize {
        if self.usage.is_whole { self.messages.end } else { self.messages.start }
    }

    /// Its size, and how much of its own reasoning is in it.
    fn tokens(&self) -> (u64, u64) {
        let usage = self.usage;
        match (usage.is_whole, self.has_reasoning) {
            (false, _) => (usage.read, 0),
            (true, true) => (usage.total(), usage.reasoning),
            (true, false) => (usage.total() - usage.reasoning, 0),
        }
    }
}

#[cfg(test)]
mod tests;
