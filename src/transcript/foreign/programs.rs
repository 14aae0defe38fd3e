//! Programs whose files tcompact does not read, told by one of their messages or by a whole export.

use crate::transcript::json::{Json, Object};

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
pub(in crate::transcript) fn program(object: Json<'_>) -> Option<&'static str> {
    let object = Object::of(object);
    PROGRAMS.iter().find(|(_, is_of)| is_of(&object)).map(|(name, _)| *name)
}
