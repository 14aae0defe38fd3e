//! Messages of Chat Completions and its clones: a role, content, calls in `tool_calls` or the older `function_call`,
//! and results as messages.

use serde_json::{Value, json};

use crate::format::{InsertionPoint, SummaryMessage, SummaryRole};
use crate::formats::shared::blocks::{block_types, common_block, content};
use crate::formats::shared::fields::{
    has_reasoning, id, list, name, name_inside, non_null, provider, reasoning, role_and_name, role_of,
};
use crate::json::{Json, JsonKind, Object};
use crate::message::{Arguments, Call, CallPlace, Message, PartKind, RareFields, ResultRef, Role};
use crate::text::Text;
use crate::thin_list::ThinList;

pub(crate) const ROLES: [(&str, Role); 9] = [
    ("system", Role::System),
    ("developer", Role::Developer),
    ("user", Role::User),
    ("human", Role::User),
    ("assistant", Role::Assistant),
    ("ai", Role::Assistant),
    ("tool", Role::Tool),
    ("function", Role::Function),
    ("exit", Role::Other),
];

/// The roles that a summary may have.
pub(crate) const SUMMARY_ROLES: &[SummaryRole] = &[SummaryRole::User, SummaryRole::System, SummaryRole::Assistant];

pub(crate) fn message<'a>(message: &Object<'a>) -> Result<Message<'a>, String> {
    let (role, role_name) = role_and_name(message, role_of(&ROLES, message))?;
    let content = content(message.get("content"), block);
    let is_beside = role == Role::Assistant && !has_reasoning(&content);
    let reasoning = if is_beside { reasoning(message) } else { None };
    Ok(Message {
        role,
        content,
        calls: calls(message),
        results: answers(message, role),
        // LangChain reads the provider's name from such a message, but not its usage.
        rest: RareFields {
            role_name,
            name: name(message),
            provider: provider(message),
            reasoning,
            ..RareFields::default()
        }
        .boxed(),
        ..Message::empty(message.json)
    })
}

/// Reads a block, including those of clones: LLaMA-Factory spells text and reasoning `{"type": …, "value": …}`.
fn block<'a>(json: Json<'a>, kind: Text<'a>) -> PartKind<'a> {
    match (common_block(json, kind), json.get_text("value")) {
        (PartKind::Foreign(_), Some(text)) if kind.is("text") => PartKind::Text(text),
        (PartKind::Foreign(_), _) if kind.is("tool_call") => PartKind::Call,
        (kind, _) => kind,
    }
}

fn calls<'a>(message: &Object<'a>) -> ThinList<Call<'a>> {
    let mut calls: Vec<Call<'a>> = list(message, "tool_calls").map(tool_call).collect();
    if let Some(function) = non_null(message, "function_call") {
        calls.push(Call { place: CallPlace::FunctionCall, ..function_call(None, function, function) });
    }
    // Calls in the content are copies of the others, if there are any.
    if calls.is_empty() {
        for (block, kind) in block_types(message) {
            if kind.is_some_and(|kind| kind.is("tool_call")) {
                let value = block.get("value");
                calls.push(call(block, None, value.and_then(name_inside), value, CallPlace::Content));
            }
        }
    }
    calls.into()
}

fn tool_call(json: Json<'_>) -> Call<'_> {
    let members = Object::of(json);
    let id = id(members.get("id"));
    if let Some(function) = members.get("function")
        && function.kind() == JsonKind::Object
    {
        function_call(id, json, function)
    } else if let Some(custom) = members.get("custom") {
        call(json, id, custom.get_text("name"), custom.get("input"), CallPlace::List)
    } else {
        call(json, id, members.get_text("name"), members.get("args"), CallPlace::List)
    }
}

fn function_call<'a>(id: Option<Text<'a>>, json: Json<'a>, function: Json<'a>) -> Call<'a> {
    let function = Object::of(function);
    call(json, id, function.get_text("name"), function.get("arguments"), CallPlace::List)
}

fn call<'a>(
    json: Json<'a>,
    id: Option<Text<'a>>,
    name: Option<Text<'a>>,
    arguments: Option<Json<'a>>,
    place: CallPlace,
) -> Call<'a> {
    Call { json, id, name, arguments: Arguments::of(arguments), place }
}

fn answers<'a>(message: &Object<'a>, role: Role) -> ThinList<ResultRef<'a>> {
    match role {
        Role::Tool => {
            let mut listed = Vec::new();
            for value in list(message, "tool_call_ids") {
                listed.push(ResultRef::new(value, id(Some(value))));
            }
            if listed.is_empty() {
                listed.push(ResultRef::new(message.json, id(message.get("tool_call_id"))));
            }
            listed.into()
        }
        Role::Function => ThinList::from([ResultRef::new(message.json, None)]),
        _ => ThinList::default(),
    }
}

/// Writes a summary that looks like its neighbour.
pub(crate) fn summary(summary: &SummaryMessage<'_>, at: &InsertionPoint<'_, '_>) -> Value {
    let mut message = json!({"role": summary.role.name(), "content": summary.text});
    if let Some(name) = summary.name {
        message["name"] = json!(name);
    }
    let Some(neighbour) = at.neighbour() else { return message };
    // LLaMA-Factory reads no string where its messages have parts, and SWE-agent reads only messages with an agent.
    if neighbour.get("content").and_then(|parts| parts.items().next()?.get("value")).is_some() {
        message["content"] = json!([{"type": "text", "value": summary.text}]);
    }
    // MCP's requests for a sample have one block where other messages have a text or a list, and take nothing else.
    let kind = neighbour.get("content").and_then(|block| block.get_text("type"));
    if kind.is_some_and(|kind| kind.is_in(&["text", "image", "audio"])) {
        message["content"] = json!({"type": "text", "text": summary.text});
    }
    if let Some(agent) = neighbour.get_text("agent") {
        message["agent"] = json!(agent.decode());
        if neighbour.get("message_type").is_some() {
            message["message_type"] = json!("observation");
        }
    }
    message
}

/// Writes a result for a call.
pub(crate) fn result(call: &Call<'_>, text: &str) -> Option<Value> {
    match (call.place, call.id, call.name) {
        (CallPlace::FunctionCall, _, Some(name)) => {
            Some(json!({"role": "function", "name": name.decode(), "content": text}))
        }
        (_, Some(id), _) => Some(json!({"role": "tool", "tool_call_id": id.decode(), "content": text})),
        // LLaMA-Factory's calls have no ids, and a result is a list of parts as they are.
        (CallPlace::Content, None, _) => Some(json!({"role": "tool", "content": [{"type": "text", "value": text}]})),
        _ => None,
    }
}
