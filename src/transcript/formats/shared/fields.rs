//! Fields with the same meaning in several formats, and their values in new entries.

use serde_json::Value;

use crate::hash::Hasher;
use crate::transcript::json::{Json, JsonKind, Object};
use crate::transcript::message::{Content, PartKind, Role};
use crate::transcript::text::Text;

/// The role for a name in a table.
pub(crate) fn role_in(table: &[(&str, Role)], name: Text<'_>) -> Option<Role> {
    table.iter().find(|(known, _)| name.is(known)).map(|(_, role)| *role)
}

/// The role in a table for the member `role`.
pub(crate) fn role_of(table: &[(&str, Role)], message: &Object<'_>) -> Option<Role> {
    role_in(table, message.get_text("role")?)
}

/// The role of a message, which is `known` if the format has one for its name, and otherwise the name.
pub(crate) fn role_and_name<'a>(message: &Object<'a>, known: Option<Role>) -> Result<(Role, Option<Text<'a>>), String> {
    if message.json.kind() != JsonKind::Object {
        return Err(format!("is {}, not an object with a role", message.json.kind().noun()));
    }
    let name = message.get_text("role").ok_or("has no role")?;
    let role = known.unwrap_or(Role::Other);
    Ok((role, Some(name).filter(|_| role == Role::Other)))
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

/// Reads an id: a string that is not empty, or a number as it is spelled.
pub(crate) fn id(value: Option<Json<'_>>) -> Option<Text<'_>> {
    let value = value?;
    match value.kind() {
        JsonKind::Number => Some(Text::plain(value.raw())),
        _ => value.text().filter(|id| !id.is_empty()),
    }
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
    let has_any = |value: &Json<'a>| matches!(value.kind(), JsonKind::String | JsonKind::Array) && !value.is_falsy();
    // LangChain keeps an item of OpenAI's there.
    let texts = |value: Json<'a>| value.get("summary").unwrap_or(value);
    MEMBERS.iter().filter_map(|key| fields.get(key)).map(texts).find(has_any)
}

/// Whether some content holds reasoning itself that can be read.
pub(crate) fn has_reasoning(content: &Content<'_>) -> bool {
    content.parts().iter().any(|part| matches!(part.kind, PartKind::Reasoning(text) if !text.is_empty()))
}

/// The name of a call that is JSON in a string, if it is spelled as usual.
pub(crate) fn name_inside(value: Json<'_>) -> Option<Text<'_>> {
    let (_, rest) = value.raw().split_once(r#"\"name\""#)?;
    let rest = rest.trim_start_matches([' ', ':']).strip_prefix(r#"\""#)?;
    rest.split_once(r#"\""#).map(|(name, _)| Text::escaped(name))
}

/// Whether `key` is a neighbour's first key, so that a new message gets its keys in the same order.
pub(crate) fn begins_with(key: &str, neighbour: Option<Json<'_>>) -> bool {
    neighbour.and_then(|neighbour| neighbour.entries().next()).is_some_and(|(first, _)| first.is(key))
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
    texts.iter().for_each(|text| hasher.add(text.as_bytes()));
    hasher.end()
}

/// Writes an object with `member`, a key and its value, as its first member.
pub(crate) fn with_first(object: Json<'_>, member: &str) -> String {
    let rest = &object.raw()[1..];
    let comma = if object.entries().next().is_some() { ", " } else { "" };
    format!("{{{member}{comma}{}", rest.trim_start())
}
