//! Fields with the same meaning in several formats, and their values in new entries.
//!
//! Also finds messages that must stay together because of how a model wrote them.

use std::borrow::Cow;
use std::collections::HashMap;

use serde_json::Value;

use crate::hash::Hasher;
use crate::json::{Json, JsonKind, Object};
use crate::message::{Arguments, Call, CallPlace, Content, Message, PartKind, Role};
use crate::text::Text;

/// The role for a name in a table.
pub(crate) fn role_in(table: &[(&str, Role)], name: Text<'_>) -> Option<Role> {
    for (known, role) in table {
        if name.is(known) {
            return Some(*role);
        }
    }
    None
}

/// The role in a table for the member `role`.
pub(crate) fn role_of(table: &[(&str, Role)], message: &Object<'_>) -> Option<Role> {
    role_in(table, message.get_text("role")?)
}

/// Checks that a value is an object.
///
/// # Errors
/// What it is and what it should be, as an object or more.
pub(crate) fn check_object(json: Json<'_>, expected: &str) -> Result<(), String> {
    let kind = json.kind();
    if kind == JsonKind::Object { Ok(()) } else { Err(format!("is {}, not {expected}", kind.noun())) }
}

/// The role of a message, which is `known` if the format has one for its name, and otherwise the name.
pub(crate) fn role_and_name<'a>(message: &Object<'a>, known: Option<Role>) -> Result<(Role, Option<Text<'a>>), String> {
    check_object(message.json, "an object with a role")?;
    let name = message.get_text("role").ok_or("has no role")?;
    match known {
        Some(role) if role != Role::Other => Ok((role, None)),
        _ => Ok((Role::Other, Some(name))),
    }
}

/// The member `key`, unless it is null.
pub(crate) fn non_null<'a>(message: &Object<'a>, key: &str) -> Option<Json<'a>> {
    message.get(key).filter(|value| value.kind() != JsonKind::Null)
}

/// Whether one of these members exists and is not null.
pub(crate) fn has_any(message: &Object<'_>, keys: &[&str]) -> bool {
    keys.iter().any(|key| non_null(message, key).is_some())
}

/// The elements of the list `key`; none if it is not a list.
pub(crate) fn list<'a>(message: &Object<'a>, key: &str) -> impl Iterator<Item = Json<'a>> + use<'a> {
    message.get(key).into_iter().flat_map(|list| list.items())
}

/// The same of a value.
pub(crate) fn elements_of<'a>(holder: Json<'a>, key: &str) -> impl Iterator<Item = Json<'a>> + use<'a> {
    holder.get(key).into_iter().flat_map(|list| list.items())
}

/// Reads an id: a string that is not empty, or a number as it is spelled.
pub(crate) fn id(value: Option<Json<'_>>) -> Option<Text<'_>> {
    let value = value?;
    match value.kind() {
        JsonKind::Number => Some(Text::plain(value.raw())),
        _ => value.text().filter(|id| !id.is_empty()),
    }
}

/// Reads a call among the parts of the content, `json`, from the members of `call` with its id, its name and its input.
pub(crate) fn call_part<'a>(json: Json<'a>, call: Json<'a>, [id_key, name, input]: [&str; 3]) -> Call<'a> {
    let arguments = call.get(input).map_or(Arguments::Absent, Arguments::Value);
    Call { json, id: id(call.get(id_key)), name: call.get_text(name), arguments, place: CallPlace::Content }
}

/// The name of a message, unless it is empty.
pub(crate) fn name<'a>(message: &Object<'a>) -> Option<Text<'a>> {
    message.get_text("name").filter(|name| !name.is_empty())
}

/// The provider in a message's metadata.
pub(crate) fn provider<'a>(fields: &Object<'a>) -> Option<Text<'a>> {
    fields.get("response_metadata")?.get_text("model_provider")
}

/// The model's reasoning beside the content, among these members. Servers often repeat it in several.
pub(crate) fn reasoning<'a>(fields: &Object<'a>) -> Option<Json<'a>> {
    const MEMBERS: [&str; 5] =
        ["reasoning_content", "reasoning", "reasoning_text", "reasoning_details", "thinking_blocks"];
    for key in MEMBERS {
        let Some(value) = fields.get(key) else { continue };
        // LangChain keeps an item of OpenAI's there.
        let texts = value.get("summary").unwrap_or(value);
        if matches!(texts.kind(), JsonKind::String | JsonKind::Array) && !texts.is_falsy() {
            return Some(texts);
        }
    }
    None
}

/// Whether some content holds reasoning itself that can be read.
pub(crate) fn has_reasoning(content: &Content<'_>) -> bool {
    content.parts().iter().any(|part| matches!(part.kind, PartKind::Reasoning(text) if !text.is_empty()))
}

/// The name of a call that is JSON in a string, if it is spelled as usual.
pub(crate) fn name_inside(value: Json<'_>) -> Option<Text<'_>> {
    let (_, rest) = value.raw().split_once(r#"\"name\""#)?;
    let rest = rest.trim_start_matches([' ', ':']).strip_prefix(r#"\""#)?;
    let (name, _) = rest.split_once(r#"\""#)?;
    Some(Text::escaped(name))
}

/// Whether `key` is a neighbour's first key, so that a new message gets its keys in the same order.
pub(crate) fn begins_with(key: &str, neighbour: Option<Json<'_>>) -> bool {
    let Some(neighbour) = neighbour else { return false };
    neighbour.entries().next().is_some_and(|(first, _)| first.is(key))
}

/// Copies a value of another entry for a new one.
pub(crate) fn copied(value: Json<'_>) -> Value {
    match value.text() {
        Some(text) => Value::String(text.decode().into_owned()),
        None => serde_json::from_str(value.raw()).unwrap_or_default(),
    }
}

/// Hexadecimal digits for an id, which depend only on the texts.
pub(crate) fn digest(texts: &[&str]) -> String {
    let mut hasher = Hasher::default();
    for text in texts {
        hasher.add(text.as_bytes());
    }
    hasher.end()
}

/// Groups each message of the last turn that calls without thinking with the one whose thinking came before. With
/// thinking enabled, providers reject a turn of the model that does not begin with its thinking.
pub(crate) fn after_thinking(messages: &[Message<'_>]) -> Vec<(usize, usize)> {
    let turn = messages.iter().rposition(Message::is_user_turn).unwrap_or(0);
    let mut thinking = None;
    let mut groups = Vec::new();
    for (index, message) in messages.iter().enumerate().skip(turn) {
        if message.content.parts().iter().any(|part| matches!(part.kind, PartKind::Reasoning(_))) {
            thinking = Some(index);
        } else if let Some(thinking) = thinking
            && !message.calls.is_empty()
        {
            groups.push((thinking, index));
        }
    }
    groups
}

/// Groups messages that are pieces of one answer and share its id. A repeated id after a user turn belongs to another
/// answer.
pub(crate) fn of_one_answer<'a>(
    messages: &[Message<'a>],
    id: fn(&Message<'a>) -> Option<Text<'a>>,
) -> Vec<(usize, usize)> {
    let mut groups: Vec<(usize, usize)> = Vec::new();
    let mut by_id: HashMap<Cow<'_, str>, usize> = HashMap::new();
    for (index, message) in messages.iter().enumerate() {
        if message.is_user_turn() && !message.is_marked_as_inserted() {
            by_id.clear();
        }
        let Some(id) = id(message) else { continue };
        let group = *by_id.entry(id.decode()).or_insert_with(|| {
            groups.push((index, index));
            groups.len() - 1
        });
        groups[group].1 = index;
    }
    groups.retain(|(first, last)| first < last);
    groups
}

/// Groups results that the provider wrote itself with the calls of its own tools before them. It can write them into a
/// later message of the model, and rejects them there without their calls.
pub(crate) fn of_hosted(
    messages: &[Message<'_>],
    is_call: impl Fn(Json<'_>) -> bool,
    is_result: impl Fn(Json<'_>) -> bool,
) -> Vec<(usize, usize)> {
    let mut open: Vec<usize> = Vec::new();
    let mut groups = Vec::new();
    for (index, message) in messages.iter().enumerate() {
        if message.role != Role::Assistant {
            continue;
        }
        for part in message.content.parts() {
            if is_result(part.json) {
                if let Some(calling) = open.pop()
                    && calling < index
                {
                    groups.push((calling, index));
                }
            } else if is_call(part.json) {
                open.push(index);
            }
        }
    }
    groups.dedup();
    groups
}
