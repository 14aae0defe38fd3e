//! Messages whose calls and results are blocks of the content: `tool_use` and `tool_result`, as in the Messages API.
//!
//! Tools that the server runs have their own blocks (`server_tool_use`, `mcp_tool_use`) and results
//! (`web_search_tool_result`, …).

use serde_json::{Value, json};

use crate::formats::shared::blocks::{block_types, common_block, content};
use crate::formats::shared::fields::{call_part, id, role_and_name, role_of};
use crate::json::{Json, Object};
use crate::message::{Call, Message, PartKind, RareFields, ResultRef, Role};
use crate::outputs;
use crate::outputs::CallOutput;
use crate::text::Text;

pub(crate) const ROLES: [(&str, Role); 3] =
    [("user", Role::User), ("assistant", Role::Assistant), ("system", Role::System)];

pub(crate) fn message<'a>(message: &Object<'a>) -> Result<Message<'a>, String> {
    let (role, role_name) = role_and_name(message, role_of(&ROLES, message))?;
    let mut calls = Vec::new();
    let mut answers = Vec::new();
    for (block, kind) in block_types(message) {
        let Some(kind) = kind else { continue };
        if is_call(kind) {
            calls.push(call_part(block, block, ["id", "name", "input"]));
        } else if is_result(kind) {
            answers.push(ResultRef::new(block, id(block.get("tool_use_id"))));
        }
    }
    Ok(Message {
        role,
        content: content(message.get("content"), block),
        calls: calls.into(),
        results: answers.into(),
        rest: RareFields::of_role(role_name),
        ..Message::empty(message.json)
    })
}

/// The output in a result, of which those of the server's own tools have their own forms.
pub(crate) fn output(answer: Json<'_>) -> Option<CallOutput<'_>> {
    match answer.get_text("type") {
        Some(kind) if kind.is("tool_result") => CallOutput::in_content(answer, "text"),
        _ => Some(outputs::hosted_result(answer)?.output),
    }
}

/// Writes a result for a call that the client answers; the server answers its own.
pub(crate) fn result(call: &Call<'_>, text: &str) -> Option<Value> {
    if !call.json.member_is("type", "tool_use") {
        return None;
    }
    Some(json!({"type": "tool_result", "tool_use_id": call.id?.decode(), "content": text, "is_error": true}))
}

/// Whether a block of this type is a call. All types so far end alike, as those of results do.
pub(crate) fn is_call(kind: Text<'_>) -> bool {
    kind.decode().ends_with("tool_use")
}

/// Whether a block of this type is a result.
pub(crate) fn is_result(kind: Text<'_>) -> bool {
    kind.decode().ends_with("tool_result")
}

fn block<'a>(json: Json<'a>, kind: Text<'a>) -> PartKind<'a> {
    if is_call(kind) {
        PartKind::Call
    } else if is_result(kind) {
        PartKind::Result(content(json.get("content"), common_block))
    } else {
        common_block(json, kind)
    }
}
