//! Fields that mean the same in several formats, and how new entries get theirs.

use serde_json::Value;

use crate::hash::Hasher;
use crate::transcript::json::{Json, Kind, Object};
use crate::transcript::message::Role;
use crate::transcript::text::Text;

/// The role that a table has for a name.
pub(crate) fn role_in(table: &[(&str, Role)], name: Text<'_>) -> Option<Role> {
    table.iter().find(|(known, _)| name.is(known)).map(|(_, role)| *role)
}

/// The role that a table has for the value of `role`.
pub(crate) fn role_of(table: &[(&str, Role)], message: &Object<'_>) -> Option<Role> {
    role_in(table, message.get_text("role")?)
}

/// The role of a message, `known` if the format has one for its name; and the name, where the format has none.
pub(crate) fn role_and_name<'a>(message: &Object<'a>, known: Option<Role>) -> Result<(Role, Option<Text<'a>>), String> {
    if message.json.kind() != Kind::Object {
        return Err(format!("is {}, not an object with a role", message.json.kind().noun()));
    }
    let name = message.get_text("role").ok_or("has no role")?;
    let role = known.unwrap_or(Role::Other);
    Ok((role, Some(name).filter(|_| role == Role::Other)))
}

/// The member `key`, unless it is null.
pub(crate) fn present<'a>(message: &Object<'a>, key: &str) -> Option<Json<'a>> {
    message.get(key).filter(|value| value.kind() != Kind::Null)
}

/// Whether one of these members is there and not null.
pub(crate) fn has_any(message: &Object<'_>, keys: &[&str]) -> bool {
    keys.iter().any(|key| present(message, key).is_some())
}

/// The elements of the list `key`, none where it is no list.
pub(crate) fn list<'a>(message: &Object<'a>, key: &str) -> impl Iterator<Item = Json<'a>> + use<'a> {
    message.get(key).into_iter().flat_map(|list| list.items())
}

/// An id: a string, or a number as it is spelled.
pub(crate) fn id(value: Option<Json<'_>>) -> Option<Text<'_>> {
    let value = value?;
    match value.kind() {
        Kind::Number => Some(Text::plain(value.raw())),
        _ => value.text(),
    }
}

/// The name of a message, unless it is empty.
pub(crate) fn name<'a>(message: &Object<'a>) -> Option<Text<'a>> {
    message.get_text("name").filter(|name| !name.is_empty())
}

/// The provider that a message's metadata names.
pub(crate) fn provider<'a>(fields: &Object<'a>) -> Option<Text<'a>> {
    fields.get("response_metadata")?.get_text("model_provider")
}

/// The name of a call that is JSON in a string, where it is spelled as usual.
pub(crate) fn name_inside(value: Json<'_>) -> Option<Text<'_>> {
    let (_, rest) = value.raw().split_once(r#"\"name\""#)?;
    let rest = rest.trim_start_matches([' ', ':']).strip_prefix(r#"\""#)?;
    rest.split_once(r#"\""#).map(|(name, _)| Text::escaped(name))
}

/// Whether `key` is the first key of a neighbour, so that a new message gets its keys in the same order.
pub(crate) fn begins_with(key: &str, neighbour: Option<Json<'_>>) -> bool {
    neighbour.and_then(|neighbour| neighbour.entries().next()).is_some_and(|(first, _)| first.is(key))
}

/// A value of another entry, for a new one.
pub(crate) fn copied(value: Json<'_>) -> Value {
    match value.text() {
        Some(text) => Value::String(text.decode().into_owned()),
        None => serde_json::from_str(value.raw()).unwrap_or_default(),
    }
}

/// Hexadecimal digits for an id, the same for the same texts.
pub(crate) fn digest(texts: &[&str]) -> String {
    let mut hasher = Hasher::default();
    texts.iter().for_each(|text| hasher.add(text.as_bytes()));
    hasher.end()
}

/// An object with `member`, a key and its value, before all it has.
pub(crate) fn with_first(object: Json<'_>, member: &str) -> String {
    let rest = &object.raw()[1..];
    let comma = if object.entries().next().is_some() { ", " } else { "" };
    format!("{{{member}{comma}{}", rest.trim_start())
}
