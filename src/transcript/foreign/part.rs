//! Parts of an unknown kind, and the names that calls and results have in all formats.

use crate::transcript::json::Json;
use crate::transcript::message::PartKind;
use crate::transcript::text::Text;

/// Known kinds of parts without text: marks, and content that only its provider can read. Every other kind without a
/// reader is foreign.
const OPAQUE: [&str; 17] = [
    "cache-point",
    "cache_control",
    "citation",
    "connector_text",
    "encrypted",
    "fallback",
    "non_standard",
    "reasoning",
    "reasoning_content",
    "redacted_thinking",
    "refusal",
    "search_result",
    "text-plain",
    "thinking",
    "tool_addition",
    "tool_reference",
    "web_search_result",
];

/// A part of an unknown kind.
pub(in crate::transcript) fn part<'a>(json: Json<'a>) -> PartKind<'a> {
    PartKind::Foreign(Text::plain(json.raw()))
}

/// Returns what a part without a reader is: opaque, or foreign.
pub(in crate::transcript) fn opaque_or_foreign<'a>(json: Json<'a>, kind: Text<'a>) -> PartKind<'a> {
    if OPAQUE.iter().any(|opaque| kind.is(opaque)) { PartKind::Other } else { part(json) }
}

/// Reads a part that holds a text under `member`. A part that holds something else is foreign.
pub(in crate::transcript) fn text_part<'a>(json: Json<'a>, member: &str) -> PartKind<'a> {
    let is_other = |(key, value): (Text<'_>, Json<'_>)| !key.is("type") && !value.is_falsy();
    match json.get_text(member) {
        Some(text) => PartKind::Text(text),
        None if json.entries().any(is_other) => part(json),
        None => PartKind::Text(Text::plain("")),
    }
}

/// Whether a value of an unknown kind could be a call or a result, by its type or its only key.
pub(in crate::transcript) fn could_be_call_or_result(json: Json<'_>) -> bool {
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
