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
        let mut records: Vec<Recorded> = Vec::new();
        let (mut end, mut reasoning) = (0, 0);
        for answer in self.without_helpers(self.answers_of_last_context()) {
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

    /// The answers with a usage, in order, from the last compaction on.
    fn answers_of_last_context(&self) -> Vec<Answer<'a>> {
        let answers = self.answers();
        let Some(last) = (0..self.messages.len()).rfind(|&index| self.begins_anew(index)) else { return answers };
        let summary = &self.messages[last];
        let mut size_before = u64::MAX;
        let mut behind = Vec::new();
        for answer in answers {
            let is_newer =
                answer.messages.end > last + 1 && self.format.session.age(answer.entry, summary) != Some(Age::Older);
            if is_newer {
                behind.push(answer);
            } else {
                size_before = answer.usage.total();
            }
        }
        // A turn can go on for a while with the messages that it began with.
        let first_smaller = behind.iter().position(|answer| answer.usage.total() < size_before / 10 * 9);
        behind.drain(..first_smaller.unwrap_or(behind.len()));
        behind
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
            let Some(message) = self.messages.get(index) else { break };
            if message.role != Role::Assistant {
                continue;
            }
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
        let mut kept: Vec<Answer<'_>> = Vec::new();
        let mut rest = answers.into_iter().peekable();
        while let Some(answer) = rest.next() {
            let is_helper = match kept.last() {
                Some(last) => answer.usage.read < last.usage.total() / 2 && self.are_of_two_models(&answer, last),
                None => false,
            };
            if !is_helper || rest.peek().is_some_and(|next| !self.are_of_two_models(&answer, next)) {
                kept.push(answer);
            }
        }
        kept
    }

    /// Whether two answers are known to be of different models.
    fn are_of_two_models(&self, answer: &Answer<'_>, other: &Answer<'_>) -> bool {
        let model = self.messages.get(answer.messages.start).and_then(own_model);
        let others_model = self.messages.get(other.messages.start).and_then(own_model);
        model.is_some() && others_model.is_some() && model != others_model
    }

    /// The size in the response to a request that the envelope holds beside the messages.
    fn of_envelope(&self) -> Option<Recorded> {
        let envelope = Object::of(self.envelope?);
        let last = self.messages.last()?;
        let answered = self.messages.iter().rposition(|message| message.role == Role::Assistant);
        if let Some(usage) = self.usage_of_exchange(&envelope, last) {
            let all = self.messages.len();
            return Some(match answered {
                Some(index) if index + 1 == all => self.size_through(index, usage),
                _ => Recorded { messages: all, tokens: usage.read, reasoning: 0 },
            });
        }
        // Beside the messages of a state, an output is the last answer among them.
        let usage = usage_in(response_at(&envelope, &["output"], last)?)?;
        Some(self.size_through(answered?, usage))
    }

    /// The usage in the response of an envelope, or in the envelope if it is a request with its response.
    fn usage_of_exchange(&self, envelope: &Object<'a>, last: &Message<'_>) -> Option<Usage<'a>> {
        for path in [&["response", "body"], &["response"][..]] {
            if let Some(usage) = response_at(envelope, path, last).and_then(usage_in) {
                return Some(usage);
            }
        }
        if self.is_exchange(envelope) { usage_in(envelope.json) } else { None }
    }

    /// The size up to and including the answer at an index, which has this usage.
    fn size_through(&self, index: usize, usage: Usage<'_>) -> Recorded {
        let reasoning = if has_reasoning(&self.messages[index]) { usage.reasoning } else { 0 };
        Recorded { messages: index + 1, tokens: usage.total() - usage.reasoning + reasoning, reasoning }
    }

    /// Whether an envelope with a usage is one request with its response. Beside a whole conversation, it can be a sum.
    fn is_exchange(&self, envelope: &Object<'a>) -> bool {
        let answers = ["choices", "output", "response", "candidates", "content"];
        let answers: Vec<Json<'a>> = answers.iter().filter_map(|key| envelope.get(key)).collect();
        // Where the messages are the answer, the request is not there.
        if let Some(first) = self.messages.first()
            && answers.iter().any(|json| json.span().contains(&first.span().start))
        {
            return false;
        }
        !answers.is_empty() || self.messages.iter().filter(|message| message.role == Role::Assistant).count() < 2
    }
}

/// The response at a path of an envelope, unless it holds the messages, of which this is the last.
fn response_at<'a>(envelope: &Object<'a>, path: &[&str], last: &Message<'_>) -> Option<Json<'a>> {
    envelope.at(path).filter(|response| !response.span().contains(&last.span().start))
}

/// The usage among the members of a value.
fn usage_in(holder: Json<'_>) -> Option<Usage<'_>> {
    Usage::of(["usage", "usageMetadata", "usage_metadata", "meta"].iter().find_map(|key| holder.get(key))?)
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
        let id = self.usage.answer;
        let Some(last) = answers.last_mut().filter(|last| id.is_some() && last.usage.answer == id) else {
            return answers.push(self);
        };
        // The parts are written while the answer streams, and the last one knows most.
        if self.usage.is_whole || self.usage.written >= last.usage.written {
            last.usage = self.usage;
        }
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
