//! Text that no reader reads: inside of messages under members that no format defines, and beside the list of messages,
//! as the answer of a row whose list is a request.

use std::collections::HashSet;
use std::ops::Range;

use crate::beside;
use crate::foreign::completion::{is_metadata, is_prose};
use crate::format::Transcript;
use crate::json::{Json, JsonKind};
use crate::message::{Arguments, Message};

/// Members that programs write beside what is sent, and that are as long as that, or longer.
const BESIDE: [&str; 6] = ["artifact", "extra", "instructions", "invalid_tool_calls", "raw_data", "tools"];

/// Members beside the list that hold no text of the conversation, or repeat it: what a program notes of a session or of
/// a task, and further recordings of the same run.
#[rustfmt::skip]
const NOTES: [&str; 21] = [
    "channel_versions", "config", "description", "error_retries", "events", "history", "info", "instance", "model_config",
    "outputConfig", "replay_config", "reward_info", "scores", "session_metadata", "store", "summary", "task", "title",
    "trajectory", "usage", "user_instruction",
];

/// Members beside the list with the answer to it. Any text there is worth a word.
#[rustfmt::skip]
const ANSWERS: [&str; 15] = [
    "answer", "choices", "chosen", "completion", "expected", "generations", "ideal", "output", "outputs", "prediction",
    "reference", "rejected", "response", "solution", "target",
];

/// Where Inspect has long texts of messages and of notes.
const ATTACHMENTS: &str = "attachments";

/// The least bytes of unread text that are worth a word.
const LEAST: usize = 200;

/// The bytes of text after which no further message is looked at: a program writes all of them alike, and each look costs a
/// walk of the message.
const ENOUGH: usize = 500_000;

/// How much of the text of a conversation is in no message as it is read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UnreadText {
    /// The index of the first message with unread text; none where the text is beside the messages.
    pub message: Option<usize>,
    /// The first member that holds it.
    pub member: String,
    /// The bytes of unread text.
    pub unread: usize,
    /// The bytes of all text.
    pub all: usize,
}

/// The unread text of a conversation where it is more than a tenth of its text: that of its first messages, or that
/// beside all of them.
pub fn unread_text(transcript: &Transcript<'_>) -> Option<UnreadText> {
    let mut finder = UnreadFinder { transcript, spans: Vec::new(), unsent: Vec::new(), unread: 0, all: 0, first: None };
    let mut unlooked = 0;
    for (index, message) in transcript.messages.iter().enumerate() {
        if finder.all > ENOUGH {
            unlooked += message.span().len();
        } else {
            finder.add_message(index, message);
        }
    }
    let (unread, all) = (finder.unread, finder.all);
    if let Some((message, member)) = finder.first
        && unread >= LEAST
        && unread > all / 10
    {
        return Some(UnreadText { message: Some(message), member, unread, all });
    }
    let BesideFinder { unread, first, is_answer, .. } = BesideFinder::of(transcript)?;
    let all = all + unlooked + unread;
    let is_much = (is_answer || unread >= LEAST) && unread > all / 10;
    if is_much { Some(UnreadText { message: None, member: first?, unread, all }) } else { None }
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
            if key.is("content") && message.rare_fields().typed.is_some() {
                continue;
            }
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
        self.spans.extend(message.content.parts().iter().map(|part| part.json.span()));
        self.spans.extend(message.calls.iter().map(|call| call.json.span()));
        self.spans.extend(message.results.iter().map(|result| result.json.span()));
        self.spans.retain(|span| *span != whole);
        if let Some(reasoning) = message.rare_fields().reasoning {
            self.spans.push(reasoning.span());
        }
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
            let Some(text) = value.text() else { return };
            if !is_prose(text.raw()) {
                return;
            }
            self.all += place.len();
            // A copy of what was read is not unread.
            if !self.holds_read(&place) && !message.content.texts().iter().any(|read| read.raw() == text.raw()) {
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

/// Finds the text beside the list of messages.
struct BesideFinder<'t, 'a> {
    transcript: &'t Transcript<'a>,
    /// What was read, as it is spelled.
    read: Option<HashSet<&'a str>>,
    unread: usize,
    /// The first member with unread text.
    first: Option<String>,
    /// Whether an answer has unread text.
    is_answer: bool,
}

impl<'t, 'a> BesideFinder<'t, 'a> {
    /// Looks through what is around the messages of a conversation; nothing where they are a bare list.
    fn of(transcript: &'t Transcript<'a>) -> Option<Self> {
        let envelope = transcript.envelope?;
        let list = transcript.messages.first()?.span();
        let mut finder = BesideFinder { transcript, read: None, unread: 0, first: None, is_answer: false };
        let state = transcript.state.filter(|state| state.span() != envelope.span());
        for (key, value) in envelope.entries().chain(state.into_iter().flat_map(|state| state.entries())) {
            let (key, place) = (key.decode(), value.span());
            let holds_list = place.start <= list.start && list.end <= place.end;
            if holds_list
                || finder.is_note(&key)
                || !matches!(value.kind(), JsonKind::String | JsonKind::Array | JsonKind::Object)
            {
                continue;
            }
            let before = finder.unread;
            if key == ATTACHMENTS {
                finder.add_attachments(value);
            } else {
                finder.add(value);
            }
            if finder.unread > before {
                finder.is_answer |= ANSWERS.contains(&&*key);
                finder.first.get_or_insert_with(|| key.into_owned());
            }
        }
        Some(finder)
    }

    fn is_note(&self, key: &str) -> bool {
        NOTES.contains(&key)
            || BESIDE.contains(&key)
            || beside::is_sent(key)
            || is_metadata(key, self.transcript.format.metadata_members)
    }

    fn add(&mut self, value: Json<'a>) {
        if let Some(text) = value.text() {
            if is_prose(text.raw()) && !self.is_copy(text.raw()) {
                self.unread += value.span().len();
            }
            return;
        }
        for item in value.items() {
            self.add(item);
        }
        for (key, inner) in value.entries() {
            if !is_metadata(&key.decode(), self.transcript.format.metadata_members) {
                self.add(inner);
            }
        }
    }

    /// Adds the texts that stand in attachments, and in messages as references to them. Others belong to notes.
    fn add_attachments(&mut self, attachments: Json<'a>) {
        for (name, text) in attachments.entries() {
            if self.is_copy(&format!("attachment://{}", name.decode())) {
                self.unread += text.span().len();
            }
        }
    }

    /// Whether a text is one that was read.
    fn is_copy(&mut self, text: &str) -> bool {
        let messages = &self.transcript.messages;
        let read = self.read.get_or_insert_with(|| {
            messages.iter().flat_map(|message| message.content.texts()).map(|text| text.raw()).collect()
        });
        read.contains(text)
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
                r#"{"type":"metadata","protocol_version":"1.5","created_at":1}
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

    const USER: &str = r#"{"role":"user","content":"Why is the oven hot at night?"}"#;

    /// The member with unread text beside the messages of a source.
    fn beside(source: &str) -> Option<String> {
        let document = read(source, None, None).unwrap_or_else(|error| panic!("it {error}: {source}"));
        let unread = unread_text(&document.transcripts[0])?;
        assert_eq!(unread.message, None, "{source}");
        Some(unread.member)
    }

    #[test]
    fn an_answer_beside_its_request_is_told_however_short() {
        let answer = r#""The timer turns it on.""#;
        let choices = format!(r#"{{"choices":[{{"message":{{"role":"assistant","content":{answer}}}}}]}}"#);
        for (source, member) in [
            (format!(r#"{{"input":[{USER}],"ideal":{answer}}}"#), "ideal"),
            (format!(r#"{{"input":[{USER}],"output":{answer},"expected":null}}"#), "output"),
            (format!(r#"{{"input":[{USER}],"output":[{{"role":"assistant","content":{answer}}}]}}"#), "output"),
            (format!(r#"{{"messages":[{USER}],"output":{answer}}}"#), "output"),
            (format!(r#"{{"messages":[{USER}],"chosen":{{"role":"assistant","content":{answer}}}}}"#), "chosen"),
            (format!(r#"{{"messages":[{USER}],"response":{choices}}}"#), "response"),
            (format!(r#"{{"request":{{"messages":[{USER}]}},"response":{choices}}}"#), "response"),
        ] {
            assert_eq!(beside(&source).as_deref(), Some(member), "{source}");
        }
    }

    #[test]
    fn any_other_text_beside_the_messages_is_told_where_it_is_much() {
        let much = "two words ".repeat(50);
        assert_eq!(beside(&format!(r#"{{"messages":[{USER}],"transcript":"{much}"}}"#)).as_deref(), Some("transcript"));
        assert_eq!(beside(&format!(r#"{{"messages":[{USER}],"transcript":"two words"}}"#)), None);
    }

    #[test]
    fn what_programs_note_and_what_is_sent_beside_the_messages_is_not_told() {
        let much = format!(r#""{}""#, "two words ".repeat(50));
        for member in [
            "system",
            "instructions",
            "system_prompt",
            "tools",
            "metadata",
            "usage",
            "title",
            "summary",
            "info",
            "events",
            "task",
            "scores",
            "description",
            "response_metadata",
            "provider_options",
            "reasoning_summary",
        ] {
            let source = format!(r#"{{"messages":[{USER}],"{member}":{{"a":[{much}]}}}}"#);
            assert_eq!(beside(&source), None, "{member}");
        }
        // A copy of a message is not unread.
        let copy = r#""Why is the oven hot at night?""#;
        for member in ["prompt", "input", "output", "target"] {
            assert_eq!(beside(&format!(r#"{{"messages":[{USER}],"{member}":{copy}}}"#)), None, "{member}");
        }
        assert_eq!(beside(&format!("[{USER}]")), None);
        let much = "two words ".repeat(50);
        for (reference, member) in [("attachment://a", Some("attachments")), ("attachment://b", None)] {
            let source =
                format!(r#"{{"messages":[{{"role":"user","content":"{reference}"}}],"attachments":{{"a":"{much}"}}}}"#);
            assert_eq!(beside(&source).as_deref(), member, "{reference}");
        }
    }
}
