//! Parts of an unknown kind, and the names that calls and results have in all formats.

use std::ops::Range;

use crate::json::{Json, JsonKind, Object};
use crate::media;
use crate::message::{Content, Message, Part, PartKind, RareFields};
use crate::text::Text;

/// Known kinds of parts without text: marks, and content that only its provider can read. Every other kind without a
/// reader is foreign.
#[rustfmt::skip]
const OPAQUE: &[&str] = &[
    "cache-point", "cache_control", "citation", "connector_text", "encrypted", "fallback", "mcp_tool_listing", "non_standard", "refusal",
    "search_result", "text-plain", "tool_addition", "tool_reference", "tool_removal", "web_search_result",
];

/// A part of an unknown kind.
pub(crate) fn part<'a>(json: Json<'a>) -> PartKind<'a> {
    value(json, PartKind::Foreign)
}

/// Reads a message of an unknown kind as it is spelled. Nobody is known to have said it.
pub(crate) fn message<'a>(message: &Object<'a>) -> Message<'a> {
    let part = Part { json: message.json, kind: part(message.json) };
    let kind = ["role", "type", "kind", "from"].iter().find_map(|key| message.get_text(key));
    let content = Content::Parts(Box::new([part]));
    Message { content, rest: RareFields::of_role(kind), ..Message::empty(message.json) }
}

/// A value as it is spelled, of which `kind` is the kind of its text. Media in it are media, and its JSON around them is
/// text.
pub(crate) fn value<'a>(json: Json<'a>, kind: fn(Text<'a>) -> PartKind<'a>) -> PartKind<'a> {
    let media = if json.kind() == JsonKind::String { Vec::new() } else { media::find(json) };
    if media.is_empty() {
        return kind(Text::plain(json.raw()));
    }
    let whole = json.span();
    let mut parts = Vec::new();
    let mut from = whole.start;
    for (medium, of_kind) in media {
        let span = medium.span();
        if from < span.start {
            parts.push(Part { json, kind: kind(text_in(json, from..span.start)) });
        }
        parts.push(Part { json: medium, kind: PartKind::Media(of_kind) });
        from = span.end;
    }
    if from < whole.end {
        parts.push(Part { json, kind: kind(text_in(json, from..whole.end)) });
    }
    PartKind::Mixed(Content::Parts(parts.into()))
}

/// A range of a value as it is spelled.
fn text_in<'a>(json: Json<'a>, range: Range<usize>) -> Text<'a> {
    let start = json.span().start;
    Text::plain(&json.raw()[range.start - start..range.end - start])
}

/// What a part without a reader is: opaque, or foreign.
pub(crate) fn opaque_or_foreign<'a>(json: Json<'a>, kind: Text<'a>) -> PartKind<'a> {
    if kind.is_in(OPAQUE) { PartKind::Other } else { part(json) }
}

/// Reads a part that holds a text under `member`. A part that holds something else is foreign.
pub(crate) fn text_part<'a>(json: Json<'a>, member: &str) -> PartKind<'a> {
    if let Some(text) = json.get_text(member) {
        return PartKind::Text(text);
    }
    for (key, value) in json.entries() {
        if !key.is("type") && !value.is_falsy() {
            return part(json);
        }
    }
    PartKind::Text(Text::plain(""))
}

/// Whether a value of an unknown kind could be a call or a result, by its type or its only key.
pub(crate) fn could_be_call_or_result(json: Json<'_>) -> bool {
    if json.get_text("role").is_some_and(|role| names_call_or_result(&role.decode())) {
        return true;
    }
    for key in ["type", "kind", "content_type", "part_kind"] {
        if let Some(kind) = json.get_text(key) {
            return names_call_or_result(&kind.decode());
        }
    }
    let has_such_key = json.entries().any(|(key, _)| names_call_or_result(&key.decode()));
    has_such_key || json.items().any(could_be_call_or_result)
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
