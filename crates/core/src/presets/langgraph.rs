//! Messages as `LangChain` and `LangGraph` take them.
//!
//! A compaction as an update of a `LangGraph` state removes all messages, then adds the current ones. `update_state`
//! converts each with `convert_to_messages` of langchain-core, which takes a flat object with `role` or `type` and
//! `content`. So the envelopes of `messages_to_dict` and `dumps` are opened.
//!
//! What that conversion rejects, the presets of `LangChain` reject too. LangChain's own messages were converted before; of
//! these, only a text block without a text is still rejected.

use serde_json::{Value, json};

use crate::plan::{Plan, carried};
use crate::rewrite::state_updates::REMOVE_ALL;
use crate::rewrite::{Edit, Placed, Style, remaining};
use crate::transcript::edit::edited_value;
use crate::transcript::format::Format;
use crate::transcript::json::{Json, JsonKind, Object};
use crate::transcript::message::{Content, Message, Role};
use crate::transcript::source::Source;
use crate::transcript::{Transcript, compaction};

/// What `convert_to_messages` of `LangChain` does with the messages of a format.
#[derive(Debug, Clone, Copy)]
enum Coercion {
    /// It converts them, and rejects those that it cannot convert.
    Converted,
    /// They are its own messages.
    Done,
    /// It accepts them; which ones it would reject is unknown.
    Unchecked,
    /// It does not know them.
    Unknown,
}

/// The formats whose messages `LangChain` and a state of `LangGraph` take.
const COERCIONS: [(&str, Coercion); 3] =
    [("openai-chat", Coercion::Converted), ("anthropic", Coercion::Unchecked), ("langchain", Coercion::Done)];

fn coercion(format: &Format) -> Coercion {
    for (name, coercion) in COERCIONS {
        if name == format.name {
            return coercion;
        }
    }
    Coercion::Unknown
}

/// The entry that makes the reducer of a state drop all its messages; `None` if no such reducer takes the format.
pub fn remove_all(format: &Format) -> Option<Value> {
    match coercion(format) {
        Coercion::Unknown => None,
        Coercion::Done => Some(json!({
            "content": "", "additional_kwargs": {}, "response_metadata": {}, "type": "remove", "name": null,
            "id": REMOVE_ALL,
        })),
        Coercion::Converted | Coercion::Unchecked => Some(json!({"role": "remove", "content": "", "id": REMOVE_ALL})),
    }
}

/// The update for a run without changes.
pub const NO_UPDATE: &str = "null\n";

/// `{"messages": [remove-all, pinned…, summary, kept…]}` and a line end. Members of kept messages stay unchanged to the
/// byte, except for `edits`. A summary beside the messages is written beside them, under its key; an event that stands
/// for removed messages becomes null.
pub fn update(transcript: &Transcript<'_>, plan: &Plan, summary: Option<&Placed>, edits: &[Edit]) -> String {
    let format = transcript.format;
    let mut messages: Vec<String> = Vec::new();
    if let Some(entry) = remove_all(format) {
        messages.push(Style::spaced().write(&entry));
    }
    for text in remaining(transcript, plan, summary, edits) {
        messages.push(in_state(format, text));
    }
    let beside = match summary {
        Some(Placed::Beside(text)) => format!(", \"{}\": {}", carried::KEY, Value::from(text.as_str())),
        _ => String::new(),
    };
    let event = match transcript.state.and_then(compaction::event_place) {
        Some(_) => format!(", \"{}\": null", compaction::EVENT_KEY),
        None => String::new(),
    };
    format!("{{\"messages\": [{}]{beside}{event}}}\n", messages.join(", "))
}

/// Converts a message to the form that `update_state` takes.
fn in_state(format: &Format, text: String) -> String {
    if let Ok(source) = Source::of(&text)
        && let Some(message) = source.first()
        && let Some(converted) = converted(format, &Object::of(message))
    {
        return converted;
    }
    text
}

/// A message in the form that `update_state` takes; `None` if it takes the message unchanged.
fn converted(format: &Format, message: &Object<'_>) -> Option<String> {
    match coercion(format) {
        // In Chat Completions a message with calls may lack content; langchain-core requires it.
        Coercion::Converted if message.get("content").is_none() => Some(with_first(message.json, "\"content\": null")),
        Coercion::Converted => None,
        Coercion::Done => without_encoding(format, message),
        Coercion::Unchecked | Coercion::Unknown => None,
    }
}

/// The fields of a message of `LangChain` without its encoding around them, and with its type.
fn without_encoding(format: &Format, message: &Object<'_>) -> Option<String> {
    let kind = match format.read(message).ok()?.role {
        Role::User => "human",
        Role::Assistant => "ai",
        Role::System | Role::Developer => "system",
        Role::Tool => "tool",
        Role::Function => "function",
        Role::Other => "chat",
    };
    let around = if message.get("lc").is_some() { "kwargs" } else { "data" };
    let fields = match message.get(around) {
        Some(fields) if fields.kind() == JsonKind::Object => fields,
        _ => message.json,
    };
    // JavaScript writes no type among the fields.
    let Some(named) = fields.get("type") else {
        return Some(with_first(fields, &format!("\"type\": \"{kind}\"")));
    };
    if !named.text().is_some_and(|named| named.is(kind)) {
        return Some(edited_value(fields, vec![Edit { range: named.span(), text: format!("\"{kind}\"") }]));
    }
    if fields.span() == message.json.span() { None } else { Some(fields.raw().to_owned()) }
}

/// Writes an object with `member`, a key and its value, as its first member.
fn with_first(object: Json<'_>, member: &str) -> String {
    let rest = &object.raw()[1..];
    let comma = if object.entries().next().is_some() { ", " } else { "" };
    format!("{{{member}{comma}{}", rest.trim_start())
}

/// The index of the first kept message that `update_state` rejects in any form, and why, to follow "message 3".
pub fn refused_by_state(transcript: &Transcript<'_>, plan: &Plan) -> Option<(usize, String)> {
    for index in plan.pinned.iter().copied().chain(plan.cutoff..transcript.messages.len()) {
        if let Some(why) = refused_in_state(transcript.format, &transcript.messages[index]) {
            return Some((index, why));
        }
    }
    None
}

/// Why `update_state` rejects a message as the update has it; `None` if it accepts it.
fn refused_in_state(format: &Format, message: &Message<'_>) -> Option<String> {
    match converted(format, &Object::of(message.json)) {
        None => state_refusal(message.role, &Object::of(message.json)),
        Some(text) => state_refusal(message.role, &Object::of(Source::of(&text).ok()?.first()?)),
    }
}

/// Why `LangChain` rejects a message, to follow "message 3"; `None` if it accepts it.
pub fn refusal(format: &Format, message: &Message<'_>) -> Option<String> {
    let object = Object::of(message.json);
    match coercion(format) {
        Coercion::Unchecked => None,
        Coercion::Done => check_texts(message),
        Coercion::Converted => {
            let Some(content) = object.get("content") else {
                return Some("has no content, which LangChain requires".to_owned());
            };
            check_content(message.role, content)
                .or_else(|| check_texts(message))
                .or_else(|| check_fields(message.role, &object))
        }
        Coercion::Unknown => Some(format!("is of the format {}, which LangChain does not read", format.name)),
    }
}

/// Why `update_state` of `LangGraph` rejects a message in the form for a state, to follow "message 3"; `None` if it
/// accepts it. It converts messages by the rules that [`refusal`] applies to Chat Completions.
fn state_refusal(role: Role, object: &Object<'_>) -> Option<String> {
    let content = object.get("content").and_then(|content| check_content(role, content));
    content.or_else(|| check_fields(role, object))
}

fn check_content(role: Role, content: Json<'_>) -> Option<String> {
    if content.is_falsy() || role == Role::Tool {
        return None;
    }
    match content.kind() {
        JsonKind::String => None,
        JsonKind::Array => {
            let mut items = content.items();
            let wrong = items.find(|item| !matches!(item.kind(), JsonKind::String | JsonKind::Object))?;
            let noun = wrong.kind().noun();
            Some(format!("has {noun} in its content, where LangChain takes texts and objects"))
        }
        kind => Some(format!("has {} for its content, where LangChain takes a text or a list", kind.noun())),
    }
}

/// Rejects text blocks whose text is not a string, list or object: `LangChain` cannot count them.
fn check_texts(message: &Message<'_>) -> Option<String> {
    let Content::Parts(parts) = &message.content else { return None };
    for part in parts.iter() {
        if !part.json.get_text("type").is_some_and(|kind| kind.is("text")) {
            continue;
        }
        let Some(text) = part.json.get("text") else { continue };
        if !matches!(text.kind(), JsonKind::String | JsonKind::Array | JsonKind::Object) {
            return Some(format!("has {} for a text, which LangChain cannot count", text.kind().noun()));
        }
    }
    None
}

fn check_fields(role: Role, object: &Object<'_>) -> Option<String> {
    if role == Role::Other {
        return Some("has a role that LangChain does not know".to_owned());
    }
    if object.get("message_type").is_some() {
        return Some("has a message_type, which clashes with LangChain's own argument of that name".to_owned());
    }
    if object.get("id").is_some_and(|id| !matches!(id.kind(), JsonKind::Null | JsonKind::String | JsonKind::Number)) {
        return Some("has an id that is not a text".to_owned());
    }
    for key in ["additional_kwargs", "response_metadata"] {
        let Some(value) = object.get(key) else { continue };
        let may_be_falsy = key == "response_metadata";
        if value.kind() != JsonKind::Object && !(may_be_falsy && value.is_falsy()) {
            return Some(format!("has {key} that are not an object"));
        }
    }
    let name = object.get("name").map_or(JsonKind::Null, |name| name.kind());
    if !matches!(name, JsonKind::Null | JsonKind::String) {
        return Some(format!("has {} for its name, where LangChain takes a text", name.noun()));
    }
    match role {
        Role::Function if name == JsonKind::Null => Some("answers a function and has no name".to_owned()),
        Role::Tool => check_result(object),
        Role::Assistant => check_calls(object.get("tool_calls")?),
        _ => None,
    }
}

/// Checks the members of a result that tell which call it answers, and how that ended.
fn check_result(object: &Object<'_>) -> Option<String> {
    match object.get("tool_call_id").map_or(JsonKind::Null, |id| id.kind()) {
        JsonKind::Null => return Some("is a result and has no tool_call_id".to_owned()),
        JsonKind::Array | JsonKind::Object => return Some("has a tool_call_id that is not a text".to_owned()),
        _ => {}
    }
    let status = object.get("status")?;
    let is_known = status.text().is_some_and(|status| status.is("success") || status.is("error"));
    if is_known || status.kind() == JsonKind::Null {
        return None;
    }
    Some("has a status that is neither success nor error".to_owned())
}

fn check_calls(calls: Json<'_>) -> Option<String> {
    if !calls.is_falsy() && calls.kind() != JsonKind::Array {
        return Some("has tool_calls that are not a list".to_owned());
    }
    for (index, call) in calls.items().enumerate() {
        if let Some(what) = check_call(call) {
            return Some(format!("calls a tool (call {index}) and the call {what}"));
        }
    }
    None
}

const NO_OBJECT: &str = "has arguments that are not a JSON object";

const NO_NAME: &str = "has no name";

/// What is wrong with a call, to follow "the call".
fn check_call(call: Json<'_>) -> Option<String> {
    if call.kind() != JsonKind::Object {
        return Some(format!("is {}", call.kind().noun()));
    }
    let id = call.get("id");
    if id.is_some_and(|id| !matches!(id.kind(), JsonKind::Null | JsonKind::String)) {
        return Some("has an id that is not a text".to_owned());
    }
    let Some(function) = call.get("function") else { return check_flat_call(call) };
    if id.is_none() {
        return Some("has no id".to_owned());
    }
    if function.get_text("name").is_none() {
        return Some(NO_NAME.to_owned());
    }
    check_arguments(function.get("arguments"))
}

/// What is wrong with a call in the form of `LangChain` itself.
fn check_flat_call(call: Json<'_>) -> Option<String> {
    for key in ["name", "args", "id"] {
        if call.get(key).is_none() {
            return Some(format!("has neither function nor {key}"));
        }
    }
    if call.get("args").is_some_and(|args| args.kind() != JsonKind::Object) {
        return Some(NO_OBJECT.to_owned());
    }
    if call.get_text("name").is_none() {
        return Some(NO_NAME.to_owned());
    }
    for (key, _) in call.entries() {
        if !key.is_in(&["name", "args", "id", "type", "extras"]) {
            return Some(format!("has {}, which LangChain does not know there", key.decode()));
        }
    }
    None
}

fn check_arguments(arguments: Option<Json<'_>>) -> Option<String> {
    let Some(arguments) = arguments else { return Some("has no arguments".to_owned()) };
    let kind = match arguments.text() {
        Some(text) => {
            let json = text.decode_json();
            let source = Source::of_arguments(&json);
            source.as_ref().and_then(Source::first).map(|value| value.kind())
        }
        None => Some(arguments.kind()),
    };
    if kind == Some(JsonKind::Object) { None } else { Some(NO_OBJECT.to_owned()) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::transcript::formats;
    use crate::transcript::framing::read_for_test as read;

    fn refused(message: &str) -> Option<String> {
        let source = format!("[{message}]");
        let document = read(&source, formats::by_name("openai-chat"), None).expect("a transcript");
        refusal(document.transcripts[0].format, &document.transcripts[0].messages[0])
    }

    /// Tried with `convert_to_messages` of langchain-core 1.7.2: each of these raises.
    #[test]
    fn each_format_that_a_state_takes_is_there() {
        for (name, _) in COERCIONS {
            assert!(formats::by_name(name).is_some(), "{name}");
        }
    }

    #[test]
    fn what_langchain_refuses() {
        for (message, why) in [
            (r#"{"role":"assistant","tool_calls":[]}"#, "no content"),
            (r#"{"role":"user","content":3}"#, "a number for its content"),
            (r#"{"role":"user","content":[3]}"#, "a number in its content"),
            (r#"{"role":"user","content":[{"type":"text","text":null}]}"#, "null for a text"),
            (r#"{"role":"user","content":"","name":3}"#, "a number for its name"),
            (r#"{"role":"function","content":""}"#, "no name"),
            (r#"{"role":"tool","content":""}"#, "no tool_call_id"),
            (r#"{"role":"tool","content":"","tool_call_id":"a","status":3}"#, "neither success nor error"),
            (r#"{"role":"tool","content":"","tool_call_id":"a","status":"odd"}"#, "neither success nor error"),
            (r#"{"role":"user","content":"","message_type":"a"}"#, "a message_type"),
            (r#"{"role":"user","content":"","additional_kwargs":null}"#, "additional_kwargs that are not an object"),
            (r#"{"role":"user","content":"","response_metadata":"s"}"#, "response_metadata that are not an object"),
            (r#"{"role":"user","content":"","id":true}"#, "an id that is not a text"),
            (r#"{"role":"assistant","content":"","tool_calls":"s"}"#, "not a list"),
            (r#"{"role":"assistant","content":"","tool_calls":["s"]}"#, "is a string"),
            (
                r#"{"role":"assistant","content":"","tool_calls":[{"id":3,"name":"f","args":{}}]}"#,
                "an id that is not a text",
            ),
            (r#"{"role":"assistant","content":"","tool_calls":[{"id":"a","name":null,"args":{}}]}"#, "has no name"),
            (
                r#"{"role":"assistant","content":"","tool_calls":[{"id":"a","name":"f","args":"{}"}]}"#,
                "not a JSON object",
            ),
            (
                r#"{"role":"assistant","content":"","tool_calls":[{"id":"a","function":{"arguments":"{}"}}]}"#,
                "has no name",
            ),
            (r#"{"role":"tool","content":"","tool_call_id":{}}"#, "a tool_call_id that is not a text"),
            (r#"{"role":"exit","content":""}"#, "a role that LangChain does not know"),
            (r#"{"role":"assistant","content":"","tool_calls":[{"function":{"name":"f","arguments":"{}"}}]}"#, "no id"),
            (
                r#"{"role":"assistant","content":"","tool_calls":[{"id":"a","function":{"name":"f","arguments":"{"}}]}"#,
                "not a JSON object",
            ),
            (
                r#"{"role":"assistant","content":"","tool_calls":[{"id":"a","function":{"name":"f","arguments":"[]"}}]}"#,
                "not a JSON object",
            ),
            (r#"{"role":"assistant","content":"","tool_calls":[{"id":"a","custom":{"name":"f"}}]}"#, "nor name"),
        ] {
            let found = refused(message).unwrap_or_else(|| panic!("{message} is taken"));
            assert!(found.contains(why), "{message}: {found}");
        }
    }

    #[test]
    fn what_langchain_takes() {
        for message in [
            r#"{"role":"user","content":null}"#,
            r#"{"role":"user","content":["a",{"type":"text"}]}"#,
            r#"{"role":"tool","content":{"a":1},"tool_call_id":3}"#,
            r#"{"role":"assistant","content":"","tool_calls":null,"name":null}"#,
            r#"{"role":"assistant","content":"","tool_calls":[{"id":null,"name":"f","args":{},"type":"tool_call"}]}"#,
        ] {
            assert_eq!(refused(message), None, "{message}");
        }
    }
}
