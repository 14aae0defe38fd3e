//! Text under a member that no reader reads is not lost: renames each member of each message of the fixtures.

use std::fs;

use crate::all_cases::{Sample, one_in};
use crate::transcript::formats::Format;
use crate::transcript::framing::{self, Document};
use crate::transcript::message::{Arguments, Message};
use serde_json::Value;

use crate::transcripts::read;

/// A name that no format has.
const NEW_NAME: &str = "hologram";

/// Members without which text does not count as a message's, and why that is right or accepted so far.
const EXCEPTIONS: [(&str, &[&str], &str); 12] = [
    ("openai-chat", &["api_content"], "it stands beside `content`, which is read in its place"),
    ("copilot-cli", &["type", "summaryContent", "content"], "Copilot reads no event or notice without them either"),
    ("opencode", &["status", "error"], "opencode sends nothing of a call whose state does not say that it has ended"),
    (
        "qwen-code",
        &[
            "uuid",
            "parentUuid",
            "sessionId",
            "type",
            "message",
            "subtype",
            "systemPayload",
            "compressedHistory",
            "parts",
        ],
        "Qwen Code does not read a line without them either, or finds another way",
    ),
    (
        "kimi-code",
        &[
            "type",
            "event",
            "message",
            "part",
            "stepUuid",
            "uuid",
            "toolCallId",
            "role",
            "summary",
            "contextSummary",
            "compactedCount",
            "note",
        ],
        "Kimi Code does not read an event without them either",
    ),
    ("claude-code", &["uuid"], "lines lead to each other by their ids, likewise"),
    ("pi", &["id"], "entries lead to each other by their ids: what nothing leads to is a branch that was left"),
    ("pi", &["type"], "a compaction of no type is an entry that its program does not read either"),
    ("codex", &["timestamp", "type", "payload", "role", "content"], "the same of a history that a compaction holds"),
    ("openhands", &["args", "summary", "content"], "the words of a condensation and of a call that holds a plan"),
    ("anthropic", &["content"], "a compaction without its text is one that failed, and says nothing"),
    ("pydantic-ai", &["content"], "the same, and a request for a retry, whose words nobody wrote"),
];

/// Whether a member of these files is one of the [`EXCEPTIONS`].
fn is_exception(format: &str, member: &str) -> bool {
    let last = member.rsplit('.').next().unwrap_or(member);
    let is_of = |(name, members, _): &(&str, &[&str], &str)| *name == format && members.contains(&last);
    EXCEPTIONS.iter().any(is_of)
}

/// A value with each of its members renamed, one at a time, and the member's previous name.
fn renamed(value: &Value) -> Vec<(String, Value)> {
    match value {
        Value::Object(members) => {
            let inside = members.iter().flat_map(|(key, inner)| {
                renamed(inner).into_iter().map(move |(name, changed)| {
                    let mut whole = value.clone();
                    whole[key] = changed;
                    (format!("{key}.{name}"), whole)
                })
            });
            let here = members.keys().map(|key| {
                let name = |other: &String| if other == key { NEW_NAME.to_owned() } else { other.clone() };
                (key.clone(), members.iter().map(|(other, value)| (name(other), value.clone())).collect())
            });
            here.chain(inside).collect()
        }
        Value::Array(items) => {
            let at = |(index, item): (usize, &Value)| {
                let with = move |(name, changed)| {
                    let mut whole = value.clone();
                    whole[index] = changed;
                    (format!("{index}.{name}"), whole)
                };
                renamed(item).into_iter().map(with).collect::<Vec<_>>()
            };
            items.iter().enumerate().flat_map(at).collect()
        }
        _ => Vec::new(),
    }
}

/// The texts and arguments of a message: decoded texts, and JSON as it is spelled.
fn texts_and_arguments(message: &Message<'_>) -> Vec<String> {
    let arguments = message.calls.iter().map(|call| match call.arguments {
        Arguments::Text(text) => text.decode().into_owned(),
        Arguments::Value(json) => json.raw().to_owned(),
        Arguments::Absent => String::new(),
    });
    message.content.texts().iter().map(|text| text.decode().into_owned()).chain(arguments).collect()
}

/// The texts of a message that are more than a label.
fn words(message: &Message<'_>) -> Vec<String> {
    let mut found = Vec::new();
    for text in texts_and_arguments(message) {
        match serde_json::from_str::<Value>(&text) {
            Ok(value @ (Value::Object(_) | Value::Array(_))) => strings(&value, &mut found),
            _ => found.push(text),
        }
    }
    found.retain(|text| text.split_whitespace().filter(|word| word.chars().all(char::is_alphabetic)).nth(1).is_some());
    found
}

fn strings(value: &Value, found: &mut Vec<String>) {
    match value {
        Value::String(text) => found.push(text.clone()),
        Value::Array(items) => items.iter().for_each(|item| strings(item, found)),
        Value::Object(members) => members.values().for_each(|value| strings(value, found)),
        _ => {}
    }
}

/// The texts that no message of a document has.
fn lost(texts: &[String], document: &Document<'_>) -> Vec<String> {
    let all: Vec<String> = document
        .transcripts
        .iter()
        .flat_map(|transcript| transcript.messages.iter().flat_map(texts_and_arguments))
        .collect();
    let is_there = |text: &&String| {
        // The text itself, inside JSON, and inside JSON in a JSON string.
        let escaped = |text: &str| Value::from(text).to_string().trim_matches('"').to_owned();
        let spellings = [text.to_string(), escaped(text), escaped(&escaped(text))];
        spellings.iter().any(|spelled| all.iter().any(|texts_and_arguments| texts_and_arguments.contains(spelled)))
    };
    texts.iter().filter(|text| !is_there(text)).cloned().collect()
}

#[test]
fn no_words_are_lost_under_another_name() {
    let (mut tried, mut all_lost, mut sample) = (0, Vec::new(), Sample::default());
    for (name, file) in crate::fixtures::all() {
        let source = fs::read_to_string(&file).expect("a fixture");
        let document = read(&source, None, None).expect("a transcript");
        let format: &'static Format = document.transcripts[0].format;
        for message in document.transcripts.iter().flat_map(|transcript| &transcript.messages) {
            let texts = words(message);
            let span = message.span();
            let Ok(value) = serde_json::from_str::<Value>(message.json.raw()) else { continue };
            let renamed = renamed(&value).into_iter().filter(|_| !texts.is_empty());
            for (member, changed) in renamed.filter(|_| sample.takes_next()) {
                let text = format!("{}{changed}{}", &source[..span.start], &source[span.end..]);
                for from in [None, Some(format)] {
                    tried += 1;
                    let Ok(document) = read(&text, from, None) else { continue };
                    if framing::check_foreign(&document).is_err() {
                        continue;
                    }
                    let lost = lost(&texts, &document);
                    if !lost.is_empty() && !is_exception(name, &member) {
                        let how = if from.is_some() { " with --from" } else { "" };
                        all_lost.push(format!("{name} {} {member}{how}: {lost:?}", file.display()));
                    }
                }
            }
        }
    }
    assert!(tried * one_in() > 2_000 && all_lost.is_empty(), "of {tried}:\n{}", all_lost.join("\n"));
}
