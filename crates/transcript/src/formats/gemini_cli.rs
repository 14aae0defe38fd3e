//! Sessions of Gemini CLI: an object around the messages, or, in newer versions, one record a line.
//!
//! Calls hold their results, so no cut splits them. Gemini CLI replays the records in order: a record with a known id
//! replaces the earlier one, `$rewindTo` removes a message and everything after it, and `$set` changes the session data
//! of the first record.

mod replay;
mod unsent;

use std::collections::HashMap;

use serde_json::{Value, json};

use crate::foreign;
use crate::format::{
    EntryKind, EnvelopeRule, EnvelopeScore, Format, Hooks, InnerList, InsertionPoint, MatchScore, OnBrokenLine,
    Session, SummaryMessage, TextBlock, Transcript,
};
use crate::formats::shared::fields::{copied, elements_of, id, list, role_in};
use crate::formats::shared::links::uuid;
use crate::formats::shared::parts;
use crate::formats::shared::skipped::match_unknown;
use crate::frame::Frame;
use crate::json::{Items, Json, JsonKind, Object};
use crate::message::{Content, Message, Part, PartKind, RareFields, ResultRef, Role};
use crate::order::{OrderRule, ResultPlacement};
use crate::outputs::{CallOutput, HostedResult, OutputShape};
use crate::session_files::SessionFiles;
use crate::status::Denial;
use crate::text::Text;
use crate::usage::{Names, Usage, UsageAt};

/// What Gemini CLI writes in the user's place: the contents of files that the user names with `@` follow the user's words,
/// and not every way to hand them over ends them.
const FRAMES: [Frame; 5] = [
    Frame::Rest("--- Content from referenced files ---"),
    Frame::Rest("--- Content from referenced context ---"),
    Frame::Tag("<hook_context>", "</hook_context>"),
    Frame::Tag("<session_context>", "</session_context>"),
    Frame::Tag("<system_note>", "</system_note>"),
];

/// The input contains what was cached. Thoughts are counted beside the output, and not read again.
const TOKENS: Names = Names { read: "input", cached: &[], written: "output", total: "total" };

/// The format's row.
pub(super) static FORMAT: Format = Format {
    name: "gemini-cli",
    about: "sessions of Gemini CLI",
    envelope: &[EnvelopeRule::Members {
        all: &["sessionId", "projectHash", "messages"],
        any: &[],
        score: EnvelopeScore::Sure,
    }],
    unsent: unsent::FORMS,
    usage: &[UsageAt { read: |tokens| Usage::named(&Object::of(tokens), &TOKENS), ..UsageAt::path(&["tokens"]) }],
    frames: &FRAMES,
    on_broken_line: Some(OnBrokenLine::Refuse),
    session_files: Some(SessionFiles {
        variable: "",
        home: ".gemini",
        folder: "tmp",
        is_session,
        parent: None,
        dependents: None,
    }),
    // A call holds its result, and a cancelled one has none.
    order: OrderRule::of(ResultPlacement::Unchecked),
    text_block: TextBlock::Bare,
    hooks: Hooks { match_score, read, result_output, provider_results, write_summary, refusal, ..Hooks::NONE },
    session: &GeminiCli,
    ..Format::DEFAULT
};

#[derive(Debug)]
struct GeminiCli;

fn match_score(message: &Object<'_>) -> MatchScore {
    if message.json.kind() != JsonKind::Object {
        return MatchScore::Neutral;
    }
    let Some(kind) = message.get_text("type") else {
        if let Some(list) = replay::list_of_all(message.json) {
            return score_of_all(list);
        }
        let is_record = ["$set", "$rewindTo", "projectHash"].iter().any(|key| message.get(key).is_some());
        return if is_record { MatchScore::Neutral } else { match_unknown(message) };
    };
    if message.get("role").is_some() || message.at(&["message", "role"]).is_some() {
        return MatchScore::Mismatch;
    }
    let is_whole = ["content", "id", "timestamp"].iter().all(|key| message.get(key).is_some());
    match role(kind) {
        Some(_) if is_whole && message.get("message").is_none() => MatchScore::Own("a message of a session"),
        Some(_) => MatchScore::Mismatch,
        None if is_whole && kind.is_in(&["info", "error", "warning"]) => MatchScore::Neutral,
        None => MatchScore::Skipped,
    }
}

/// How well a list of all messages fits. It begins a session, alone behind its first record.
fn score_of_all(list: Json<'_>) -> MatchScore {
    const OF_ALL: MatchScore = MatchScore::Own("all messages of a session");
    let mut score = if list.items().next().is_none() { OF_ALL } else { MatchScore::Neutral };
    for message in list.items() {
        match match_score(&Object::of(message)) {
            MatchScore::Mismatch => return MatchScore::Mismatch,
            of_message if of_message.is_message() => score = OF_ALL,
            _ => {}
        }
    }
    score
}

fn read<'a>(message: &Object<'a>) -> Result<Message<'a>, String> {
    let json = message.json;
    let Some(kind) = message.get_text("type") else {
        let part = Part { json, kind: foreign::part(json) };
        return Ok(Message { content: Content::Parts(Box::new([part])), ..Message::empty(json) });
    };
    let role = role(kind).unwrap_or(Role::Other);
    if role != Role::Other && message.get("content").is_none() {
        return Err("has no content".to_owned());
    }
    let rest = RareFields::of_role(if role == Role::Other { Some(kind) } else { None });
    let content = content_of(message.get("content"));
    let has_all_calls = holds_calls(&content);
    let mut calls = Vec::new();
    let mut results = Vec::new();
    let mut parts = match (content, message.get("content")) {
        (Content::Text(text), _) if list(message, "toolCalls").next().is_none() => {
            return Ok(Message { role, content: Content::Text(text), rest, ..Message::empty(json) });
        }
        (Content::Parts(parts), _) => parts.into_vec(),
        (Content::Text(text), Some(json)) if !text.is_empty() => vec![Part { json, kind: PartKind::Text(text) }],
        _ => Vec::new(),
    };
    for part in &parts {
        if let Some(call) = parts::member(part.json, "functionCall") {
            calls.push(parts::call(part.json, call));
        } else if let Some(answer) = parts::member(part.json, "functionResponse") {
            results.push(ResultRef::new(part.json, id(answer.get("id"))));
        }
    }
    for call in list(message, "toolCalls") {
        if !has_all_calls {
            if let Some(json) = call.get("args") {
                parts.push(Part { json, kind: PartKind::Call });
            }
            if call.kind() == JsonKind::Object {
                calls.push(parts::call(call, call));
            }
        }
        if let Some(list) = call.get("result")
            && !list.is_falsy()
        {
            parts.push(Part { json: list, kind: PartKind::Result(result(list)) });
            results.push(ResultRef { denial: denial(call), ..ResultRef::new(list, id(call.get("id"))) });
        }
    }
    Ok(Message {
        role,
        content: Content::of_parts(parts.into()),
        calls: calls.into(),
        results: results.into(),
        rest,
        ..Message::empty(json)
    })
}

/// Whether the content of an answer holds its calls, so that those beside it are not sent: Gemini CLI writes it so when it
/// sets all messages at once, with the thoughts of the answer among its parts.
fn holds_calls(content: &Content<'_>) -> bool {
    let Content::Parts(parts) = content else { return false };
    parts.iter().any(|part| matches!(part.kind, PartKind::Call | PartKind::Reasoning(_)))
}

fn result_output<'a>(message: &Message<'a>, answer: &ResultRef<'a>) -> Option<CallOutput<'a>> {
    let result = answer.json;
    let mut calls = elements_of(message.json, "toolCalls");
    let call = calls.find(|call| call.get("result").is_some_and(|of_call| of_call.span() == result.span()));
    let Some(call) = call else { return parts::output(result) };
    let output = match result.items().find_map(parts::output) {
        Some(output) => output,
        None => CallOutput::of(Some(result), OutputShape::Blocks(""))?,
    };
    let has_failed = call.member_is("status", "error");
    Some(output.with_failure(has_failed).with_copies(call.get("resultDisplay")))
}

fn provider_results<'a>(message: &Message<'a>) -> Vec<HostedResult<'a>> {
    elements_of(message.json, "content").filter_map(parts::hosted).collect()
}

fn write_summary(summary: &SummaryMessage<'_>, at: &InsertionPoint<'_, '_>) -> Vec<Value> {
    let neighbour = at.neighbour();
    let id = uuid(&[summary.text, neighbour.map_or("", |neighbour| neighbour.raw())]);
    let mut message = json!({"id": id});
    if let Some(time) = neighbour.and_then(|neighbour| neighbour.get("timestamp")) {
        message["timestamp"] = copied(time);
    }
    message["type"] = json!("user");
    let of_user = at.transcript.messages.iter().rfind(|message| message.role == Role::User);
    message["content"] = match of_user.and_then(|message| message.json.get("content")) {
        Some(content) if content.kind() == JsonKind::Array => json!([{"text": summary.text}]),
        _ => json!(summary.text),
    };
    vec![message]
}

fn refusal(transcript: &Transcript<'_>) -> Option<String> {
    let (mut first, mut last) = (HashMap::new(), HashMap::new());
    let start = match transcript.inner {
        Some(inner) => inner.list.span().start,
        None => 0,
    };
    for note in &transcript.notes {
        if note.json.span().start < start {
            continue;
        }
        if let Some(target) = note.json.get_text("$rewindTo")
            && last.get(&target.decode()) != Some(&note.before)
        {
            return Some(format!("`$rewindTo` names {}, which is not what stands before it", target.decode()));
        }
        if note.json.get("$rewindTo").is_some() {
            first.retain(|_, before| *before != note.before);
            last.retain(|_, before| *before != note.before);
        }
        if let Some(id) = note.json.get_text("id") {
            first.entry(id.decode()).or_insert(note.before);
            last.insert(id.decode(), note.before);
        }
    }
    // In the replay, a record stays where its id first occurred.
    for (index, message) in transcript.messages.iter().enumerate() {
        let Some(id) = message.json.get_text("id") else { continue };
        let id = id.decode();
        if first.get(&id).is_some_and(|before| *before < index) {
            return Some(format!("the record `{id}` comes again behind another message"));
        }
    }
    None
}

impl Session for GeminiCli {
    fn entries(&self, values: Items<'_>) -> Vec<EntryKind> {
        replay::entries(values)
    }

    fn inner_list<'a>(&self, values: Items<'a>) -> Option<InnerList<'a>> {
        values.filter_map(|entry| Some(InnerList { entry, list: replay::list_of_all(entry)? })).last()
    }

    fn no_longer_loaded<'a>(&self, transcript: &Transcript<'a>) -> Vec<Json<'a>> {
        replay::no_longer_loaded(transcript)
    }
}

/// Whether a file is a session by its name, in the form of either version.
fn is_session(name: &str) -> bool {
    let Some(stem) = name.strip_suffix(".json").or_else(|| name.strip_suffix(".jsonl")) else { return false };
    stem.starts_with("session-") && !stem.contains('.')
}

fn role(kind: Text<'_>) -> Option<Role> {
    role_in(&[("user", Role::User), ("gemini", Role::Assistant)], kind)
}

/// Reads content: a string, a part, or a list of both.
fn content_of(content: Option<Json<'_>>) -> Content<'_> {
    let Some(content) = content else { return Content::empty() };
    if content.is_falsy() {
        return Content::empty();
    }
    match (content.kind(), content.text()) {
        (JsonKind::Array, _) => Content::Parts(content.items().map(part).collect()),
        (_, Some(text)) => Content::Text(text),
        (_, None) => Content::Parts(Box::new([part(content)])),
    }
}

/// The record that the user did not allow a call, or cancelled it: its status.
fn denial(call: Json<'_>) -> Option<Box<Denial<'_>>> {
    if call.member_is("status", "cancelled") { Some(Box::new(Denial::new(None))) } else { None }
}

/// Reads the result of a call: the parts that the model was sent.
fn result(list: Json<'_>) -> Content<'_> {
    match list.text() {
        Some(text) => Content::Text(text),
        None if list.kind() == JsonKind::Array => Content::of_parts(list.items().flat_map(answer).collect()),
        None => Content::of_parts(answer(list).into()),
    }
}

/// Reads a part of a result: the response of a tool and the media beside it, or another part as it is.
fn answer(json: Json<'_>) -> Vec<Part<'_>> {
    match part(json) {
        Part { kind: PartKind::Result(Content::Parts(parts)), .. } => parts.into_vec(),
        part => vec![part],
    }
}

fn part(json: Json<'_>) -> Part<'_> {
    let kind = match json.text() {
        Some(text) => PartKind::Text(text),
        None => parts::part(json),
    };
    Part { json, kind }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::framing::read_for_test as read;

    fn record(kind: &str, id: &str, text: &str) -> String {
        format!("{{\"id\":\"{id}\",\"timestamp\":\"t\",\"type\":\"{kind}\",\"content\":\"{text}\"}}\n")
    }

    const HEADER: &str = "{\"sessionId\":\"s\",\"projectHash\":\"h\",\"startTime\":\"t\"}\n";

    fn told(records: &[String]) -> (Vec<String>, Option<String>) {
        let source = format!("{HEADER}{}", records.concat());
        let document = read(&source, None, None).expect("a transcript");
        let transcript = &document.transcripts[0];
        assert_eq!(transcript.format.name, "gemini-cli");
        let texts = transcript.messages.iter().flat_map(|message| message.content.texts());
        (texts.map(|text| text.decode().into_owned()).collect(), FORMAT.refusal(transcript))
    }

    #[test]
    fn records_are_played_back() {
        let rewind = |id: &str| format!("{{\"$rewindTo\":\"{id}\"}}\n");
        let kept = [record("user", "1", "a"), record("gemini", "2", "b")];
        let again = [kept.concat(), record("gemini", "2", "c"), record("info", "3", "i")];
        assert_eq!(told(&again), (vec!["a".to_owned(), "c".to_owned()], None));
        let back = [
            kept.concat(),
            record("user", "3", "c"),
            record("gemini", "4", "d"),
            rewind("3"),
            record("user", "5", "e"),
        ];
        assert_eq!(told(&back), (["a", "b", "e"].map(str::to_owned).to_vec(), None));
        let again = [
            kept.concat(),
            record("user", "3", "c"),
            record("user", "4", "d"),
            rewind("3"),
            record("user", "4", "e"),
            record("user", "3", "f"),
        ];
        assert_eq!(told(&again), (["a", "b", "e", "f"].map(str::to_owned).to_vec(), None));
        let nowhere = [kept.concat(), rewind("9")];
        assert!(told(&nowhere).1.is_some_and(|why| why.contains("names 9")));
        let twice = [kept.concat(), rewind("2"), rewind("2"), record("user", "5", "e")];
        assert!(told(&twice).1.is_some_and(|why| why.contains("names 2")));
        let behind = [kept.concat(), record("user", "1", "c")];
        assert!(told(&behind).1.is_some_and(|why| why.contains("`1` comes again")));
    }

    #[test]
    fn a_record_sets_all_messages() {
        let kept = [record("user", "1", "a"), record("gemini", "2", "b")].concat();
        let set = |messages: &[String]| {
            let list: Vec<&str> = messages.iter().map(|message| message.trim_end()).collect();
            format!("{{\"$set\":{{\"messages\":[{}],\"lastUpdated\":\"t\"}}}}\n", list.join(","))
        };
        let said = |texts: &[&str]| (texts.iter().map(|text| (*text).to_owned()).collect::<Vec<_>>(), None);
        let other = [record("user", "3", "c"), record("gemini", "2", "d")];
        assert_eq!(told(&[kept.clone(), set(&other), record("user", "4", "e")]), said(&["c", "d", "e"]));
        assert_eq!(told(&[kept.clone(), set(&[]), record("user", "4", "e")]), said(&["e"]));
        assert_eq!(told(&[set(&other)]), said(&["c", "d"]));
        // The last of them counts, and what comes behind it is replayed as ever.
        let again = [set(&[record("user", "9", "z")]), set(&other), record("gemini", "2", "f")];
        assert_eq!(told(&again), said(&["c", "f"]));
        let rewind = "{\"$rewindTo\":\"2\"}\n".to_owned();
        assert_eq!(told(&[kept.clone(), set(&other), rewind.clone()]), said(&["c"]));
        // What was taken back before it is of no account.
        assert_eq!(told(&[kept, rewind.clone(), rewind, set(&other)]), said(&["c", "d"]));
    }

    #[test]
    fn words_that_are_not_sent_again_are_no_messages() {
        let context = r#"{"id":"5","timestamp":"t","type":"user","content":[{"text":"\n<session_context> c"}]}"#;
        let records = [
            format!("{context}\n"),
            record("user", "1", "/model"),
            record("user", "2", "? a"),
            record("user", "4", "b"),
            record("gemini", "6", "/c"),
        ];
        assert_eq!(told(&records), (vec!["b".to_owned(), "/c".to_owned()], None));
    }

    #[test]
    fn calls_among_the_parts_are_not_sent_twice() {
        let response = r#"{"functionResponse":{"id":"c","name":"f","response":{"output":"r"}}}"#;
        let call = format!(r#"{{"id":"c","name":"f","args":{{"a":1}},"result":[{response}]}}"#);
        let calling = format!(
            r#"{{"id":"1","timestamp":"t","type":"gemini","content":[{{"functionCall":{{"id":"c","name":"f","args":{{"a":1}}}}}}],"toolCalls":[{call}]}}"#
        );
        let copy = format!(r#"{{"id":"1_response","timestamp":"t","type":"user","content":[{response}]}}"#);
        let source = format!("{HEADER}{{\"$set\":{{\"messages\":[{calling},{copy}]}}}}\n");
        let document = read(&source, None, None).expect("a transcript");
        let transcript = &document.transcripts[0];
        let counts = transcript.messages.iter().map(|message| (message.calls.len(), message.results.len()));
        assert_eq!(counts.collect::<Vec<_>>(), [(1, 1), (0, 1)]);
        assert_eq!(transcript.pairing.pairs, [(0, 1)]);
        for message in &transcript.messages {
            let output = FORMAT.result_output(message, &message.results[0]);
            assert!(output.is_some());
        }
    }

    #[test]
    fn calls_hold_their_results() {
        let source = r#"{"sessionId":"s","projectHash":"h","messages":[
            {"id":"1","timestamp":"t","type":"gemini","content":"","toolCalls":[
                {"id":"c","name":"f","args":{"a":1},"result":[{"functionResponse":{"id":"c","name":"f","response":{"output":"r"}}}],"resultDisplay":"long"},
                {"id":"d","name":"g","args":{},"result":null}]}]}"#;
        let document = read(source, None, None).expect("a transcript");
        let message = &document.transcripts[0].messages[0];
        assert_eq!(message.calls.len(), 2);
        assert_eq!(message.results.len(), 1);
        let texts: Vec<_> = message.content.texts().iter().map(|text| text.decode()).collect();
        assert_eq!(texts, ["r"]);
    }
}
