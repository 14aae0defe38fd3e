//! Text inside of messages that no reader reads: under members that no format defines, beside what was read.

use std::ops::Range;

use crate::foreign::completion::{is_metadata, is_prose};
use crate::format::Transcript;
use crate::json::{Json, JsonKind};
use crate::message::{Arguments, Message};

/// Members that programs write beside what is sent, and that are as long as that, or longer.
const BESIDE: [&str; 6] = ["artifact", "extra", "instructions", "invalid_tool_calls", "raw_data", "tools"];

/// The least bytes of unread text that are worth a word.
const LEAST: usize = 200;

/// The bytes of text after which no further message is looked at: a program writes all of them alike, and each look costs a
/// walk of the message.
const ENOUGH: usize = 500_000;

/// How much of the text of a conversation is in no message as it is read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UnreadText {
    /// The index of the first message with unread text.
    pub message: usize,
    /// The member of that message that holds it.
    pub member: String,
    /// The bytes of unread text.
    pub unread: usize,
    /// The bytes of all text.
    pub all: usize,
}

/// The unread text of the first messages of a conversation where it is more than a tenth of their text.
pub fn unread_text(transcript: &Transcript<'_>) -> Option<UnreadText> {
    let mut finder = UnreadFinder { transcript, spans: Vec::new(), unsent: Vec::new(), unread: 0, all: 0, first: None };
    for (index, message) in transcript.messages.iter().enumerate() {
        if finder.all > ENOUGH {
            break;
        }
        finder.add_message(index, message);
    }
    let (message, member) = finder.first?;
    let (unread, all) = (finder.unread, finder.all);
    (unread >= LEAST && unread > all / 10).then_some(UnreadText { message, member, unread, all })
}

struct UnreadFinder<'t, 'a> {
    transcript: &'t Transcript<'a>,
    /// The places of what was read of the message, in order and apart from each other.
    spans: Vec<Range<usize>>,
    /// Where its values begin that the agent has and does not send.
    unsent: Vec<usize>,
    unread: usize,
    all: usize,
    /// The first message with unread text, and the member that holds it.
    first: Option<(usize, String)>,
}

impl<'a> UnreadFinder<'_, 'a> {
    fn add_message(&mut self, index: usize, message: &Message<'a>) {
        self.find_spans(message);
        let unsent = self.transcript.format.unsent.values_in(message.json);
        self.unsent = unsent.iter().map(|value| value.span().start).collect();
        for (key, value) in message.json.entries() {
            let before = self.unread;
            // A wrapper can have the name of a member that holds metadata.
            if self.holds_read(&value.span()) || !self.is_beside(&key.decode()) {
                self.add(message, value);
            }
            if self.unread > before && self.first.is_none() {
                self.first = Some((index, key.decode().into_owned()));
            }
        }
    }

    /// Finds the places of what was read of a message. What is the whole message says nothing of its members.
    fn find_spans(&mut self, message: &Message<'a>) {
        let whole = message.json.span();
        self.spans.clear();
        let parts = message.content.parts().iter().map(|part| part.json.span());
        let calls = message.calls.iter().map(|call| call.json.span());
        let results = message.results.iter().map(|result| result.json.span());
        self.spans.extend(parts.chain(calls).chain(results).filter(|span| *span != whole));
        self.spans.extend(message.rare_fields().reasoning.map(|reasoning| reasoning.span()));
        for call in &message.calls {
            self.spans.extend(match call.arguments {
                Arguments::Text(text) => text.span_in(self.transcript.source),
                Arguments::Value(json) => Some(json.span()),
                Arguments::Absent => None,
            });
        }
        for text in message.content.texts() {
            self.spans.extend(text.span_in(self.transcript.source));
        }
        self.spans.sort_by_key(|span| (span.start, span.end));
        self.spans.dedup_by(|later, earlier| {
            let overlaps = later.start <= earlier.end;
            if overlaps {
                earlier.end = earlier.end.max(later.end);
            }
            overlaps
        });
    }

    fn is_beside(&self, key: &str) -> bool {
        BESIDE.contains(&key) || is_metadata(key, self.transcript.format.metadata_members)
    }

    /// Whether something that was read is inside of a value, or the value inside of that.
    fn holds_read(&self, place: &Range<usize>) -> bool {
        let next = self.spans.partition_point(|span| span.end <= place.start);
        self.spans.get(next).is_some_and(|span| span.start < place.end)
    }

    fn add(&mut self, message: &Message<'a>, value: Json<'a>) {
        let place = value.span();
        if self.unsent.contains(&place.start) && !self.holds_read(&place) {
            return;
        }
        if value.kind() == JsonKind::String {
            let text = value.text().filter(|text| is_prose(text.raw()));
            let Some(text) = text else { return };
            self.all += place.len();
            // A copy of what was read is not unread.
            let is_copy = || message.content.texts().iter().any(|read| read.raw() == text.raw());
            if !self.holds_read(&place) && !is_copy() {
                self.unread += place.len();
            }
            return;
        }
        let next = self.spans.partition_point(|span| span.end <= place.start);
        if self.spans.get(next).is_some_and(|span| span.start <= place.start && place.end <= span.end) {
            self.all += place.len();
            return;
        }
        for item in value.items() {
            self.add(message, item);
        }
        for (key, inner) in value.entries() {
            if self.holds_read(&inner.span()) || !self.is_beside(&key.decode()) {
                self.add(message, inner);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::framing::read_for_test as read;

    /// What an agent has and does not send is known, and the same text under another name is not.
    #[test]
    fn members_that_the_agent_does_not_send_are_not_unread() {
        let words = "Two words. ".repeat(30);
        let cases = [
            (
                r#"{"type":"metadata","protocol_version":"1.5"}
{"type":"context.apply_compaction","summary":"WORDS","contextSummary":"What is sent.","compactedCount":0}"#,
                "\"summary\"",
            ),
            (
                r#"{"type":"attachment","uuid":"1","parentUuid":null,"sessionId":"s","attachment":{"type":"hook_success","hookEvent":"SessionStart","content":"Sent.","command":"WORDS"}}
{"type":"user","uuid":"2","parentUuid":"1","sessionId":"s","message":{"role":"user","content":"Go on."}}"#,
                "\"command\"",
            ),
            (
                r#"{"type":"attachment","uuid":"1","parentUuid":null,"sessionId":"s","attachment":{"type":"hook_success","hookEvent":"UserPromptSubmit","content":"Sent.","stdout":"WORDS"}}
{"type":"user","uuid":"2","parentUuid":"1","sessionId":"s","message":{"role":"user","content":"Go on."}}"#,
                "\"stdout\"",
            ),
        ];
        for (source, member) in cases {
            let source = source.replace("WORDS", &words);
            let is_unread = |source: &str| {
                let document = read(source, None, None).expect("a session");
                unread_text(&document.transcripts[0]).is_some()
            };
            assert!(!is_unread(&source), "{source}");
            assert!(is_unread(&source.replace(member, "\"hologram\"")), "{source}");
        }
    }
}
