//! Parts of an unknown kind, and the names that calls and results have in all formats.
//!
//! Also: programs whose files tcompact does not read, told by one of their messages or by a whole export.

use std::ops::Range;

use crate::json::{Json, JsonKind, Object};
use crate::media;
use crate::message::{Content, Part, PartKind};
use crate::text::Text;

/// Known kinds of parts without text: marks, and content that only its provider can read. Every other kind without a
/// reader is foreign.
#[rustfmt::skip]
const OPAQUE: &[&str] = &[
    "cache-point", "cache_control", "citation", "connector_text", "encrypted", "fallback", "non_standard", "refusal",
    "search_result", "text-plain", "tool_addition", "tool_reference", "web_search_result",
];

/// A part of an unknown kind.
pub(crate) fn part<'a>(json: Json<'a>) -> PartKind<'a> {
    value(json, PartKind::Foreign)
}

/// A value as it is spelled, of which `kind` is the kind of its text. Media in it are media, and its JSON around them is
/// text.
pub(crate) fn value<'a>(json: Json<'a>, kind: fn(Text<'a>) -> PartKind<'a>) -> PartKind<'a> {
    let media = if json.kind() == JsonKind::String { Vec::new() } else { media::find(json) };
    if media.is_empty() {
        return kind(Text::plain(json.raw()));
    }
    let start = json.span().start;
    let mut parts = Vec::new();
    let add_text = |parts: &mut Vec<Part<'a>>, range: Range<usize>| {
        let text = Text::plain(&json.raw()[range.start - start..range.end - start]);
        if text.is_empty() {
            return;
        }
        parts.push(Part { json, kind: kind(text) });
    };
    let mut from = start;
    for (json, of_kind) in media {
        let span = json.span();
        add_text(&mut parts, from..span.start);
        parts.push(Part { json, kind: PartKind::Media(of_kind) });
        from = span.end;
    }
    add_text(&mut parts, from..json.span().end);
    PartKind::Mixed(Content::Parts(parts.into()))
}

/// What a part without a reader is: opaque, or foreign.
pub(crate) fn opaque_or_foreign<'a>(json: Json<'a>, kind: Text<'a>) -> PartKind<'a> {
    if kind.is_in(OPAQUE) { PartKind::Other } else { part(json) }
}

/// Reads a part that holds a text under `member`. A part that holds something else is foreign.
pub(crate) fn text_part<'a>(json: Json<'a>, member: &str) -> PartKind<'a> {
    let is_other = |(key, value): (Text<'_>, Json<'_>)| !key.is("type") && !value.is_falsy();
    match json.get_text(member) {
        Some(text) => PartKind::Text(text),
        None if json.entries().any(is_other) => part(json),
        None => PartKind::Text(Text::plain("")),
    }
}

/// Whether a value of an unknown kind could be a call or a result, by its type or its only key.
pub(crate) fn could_be_call_or_result(json: Json<'_>) -> bool {
    let inside = || json.items().any(could_be_call_or_result);
    match json.get_text("type").or_else(|| json.get_text("kind")).or_else(|| json.get_text("content_type")) {
        Some(kind) => names_call_or_result(&kind.decode()),
        None => json.entries().any(|(key, _)| names_call_or_result(&key.decode())) || inside(),
    }
}

/// Whether a name resembles those of calls and results in any format: `tool_use`, `functionResponse`, `ToolCallPart`.
pub(super) fn names_call_or_result(name: &str) -> bool {
    const ENDINGS: [&str; 9] =
        ["call", "use", "request", "invocation", "result", "response", "output", "return", "execution"];
    let name: String = name.chars().filter(char::is_ascii_alphabetic).map(|c| c.to_ascii_lowercase()).collect();
    let name = name.strip_suffix('s').unwrap_or(&name);
    let name = ["part", "event", "block", "content"].iter().find_map(|end| name.strip_suffix(end)).unwrap_or(name);
    (name.contains("tool") || name.contains("function")) && ENDINGS.iter().any(|ending| name.ends_with(ending))
}

/// Whether an object is one of a given program.
type Recognizer = fn(&Object<'_>) -> bool;

const PROGRAMS: [(&str, Recognizer); 18] = [
    ("a session of Qwen Code", |line| line.get("uuid").is_some() && line.at(&["message", "parts"]).is_some()),
    ("events of OpenHands V1", |event| {
        let kind = event.get_text("kind").map(|kind| kind.decode());
        let is_event = |kind: &str| {
            ["Event", "Observation", "Condensation", "CondensationRequest"].iter().any(|end| kind.ends_with(end))
        };
        kind.is_some_and(|kind| is_event(&kind)) && has_all(event, &["id", "source"])
    }),
    ("a chat history of Semantic Kernel", |message| {
        let is_item = |item: Json<'_>| ["content_type", "$type"].iter().any(|key| item.get_text(key).is_some());
        let has_items = |key: &str| has_at(message, &[key], |items| items.items().next().is_some_and(is_item));
        has_all(message, &["content_type", "role"]) && !has_any(message, &["parts"])
            || message.at(&["Role", "Label"]).or_else(|| message.at(&["role", "label"])).is_some()
            || has_any(message, &["Role", "role"]) && (has_items("items") || has_items("Items"))
    }),
    ("a session of Factory Droid", |line| {
        is_one_of(line, "type", &["message"])
            && has_at(line, &["message", "content"], |content| has_part_of(content, &["tool_use", "tool_result"]))
    }),
    ("a session of Factory Droid", |line| is_one_of(line, "type", &["session_start", "compaction_state"])),
    ("a stream of Cursor's agent", |line| has_all(line, &["call_id", "tool_call"])),
    ("a transcript of Cursor's agent", |line| {
        has_all(line, &["role"]) && line.at(&["message", "content"]).is_some() && !has_any(line, &["type", "uuid"])
    }),
    ("Goose's messages", |message| {
        has_any(message, &["working_dir"]) && has_any(message, &["conversation"])
            || has_at(message, &["content"], |content| has_part_of(content, &["toolRequest", "toolResponse"]))
    }),
    ("Mastra's messages", |message| message.at(&["content", "format"]).is_some()),
    ("Kimi CLI's context", |message| {
        has_at(message, &["content"], |content| has_part_of(content, &["think"]))
            || message.get_text("role").is_some_and(|role| role.decode().starts_with('_'))
    }),
    ("an export of ChatGPT", |one| has_all(one, &["mapping"]) && has_any(one, &["current_node", "conversation_id"])),
    ("an export of Claude.ai", |one| has_all(one, &["chat_messages"])),
    ("an export of Open WebUI", |one| one.at(&["chat", "history", "messages"]).is_some()),
    ("a session of opencode", |one| {
        has_all(one, &["info", "parts"])
            || has_all(one, &["type", "data"]) && is_one_of(one, "type", &["session", "message", "part"])
            || one.at(&["info", "id"]).and_then(|id| id.text()).is_some_and(|id| id.decode().starts_with("ses_"))
    }),
    ("a session of GitHub Copilot CLI", |line| {
        let kind = line.get_text("type").map(|kind| kind.decode().contains('.'));
        kind == Some(true) && has_all(line, &["data", "timestamp"])
    }),
    ("a session of Google's ADK", |one| {
        has_all(one, &["author"]) && has_any(one, &["invocationId", "invocation_id"])
            || has_all(one, &["events"]) && has_any(one, &["appName", "app_name"])
    }),
    ("a session of Strands Agents", |one| has_all(one, &["message", "message_id"])),
    ("a trace of OpenTelemetry", |one| {
        has_any(one, &["gen_ai.input.messages", "gen_ai.output.messages"])
            || has_at(one, &["parts"], |parts| has_part_of(parts, &["tool_call", "tool_call_response"]))
    }),
];

fn has_all(object: &Object<'_>, keys: &[&str]) -> bool {
    keys.iter().all(|key| object.get(key).is_some())
}

fn has_any(object: &Object<'_>, keys: &[&str]) -> bool {
    keys.iter().any(|key| object.get(key).is_some())
}

fn has_at<'a>(object: &Object<'a>, path: &[&str], is_so: impl Fn(Json<'a>) -> bool) -> bool {
    object.at(path).is_some_and(is_so)
}

fn is_one_of(object: &Object<'_>, key: &str, texts: &[&str]) -> bool {
    object.get_text(key).is_some_and(|text| texts.iter().any(|one| text.is(one)))
}

fn has_part_of(list: Json<'_>, kinds: &[&str]) -> bool {
    list.items().any(|part| part.get_text("type").is_some_and(|kind| kinds.iter().any(|name| kind.is(name))))
}

/// The program that writes objects like this one, if tcompact recognizes it but does not read its files.
pub(crate) fn program(object: Json<'_>) -> Option<&'static str> {
    let object = Object::of(object);
    PROGRAMS.iter().find(|(_, is_of)| is_of(&object)).map(|(name, _)| *name)
}
