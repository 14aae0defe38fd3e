//! Blocks and items of reasoning, which formats spell in many ways. What only the provider can read of them is in
//! [`crate::transcript::sealed`].

use crate::transcript::json::{Json, JsonKind};
use crate::transcript::message::{Content, Part, PartKind};
use crate::transcript::text::Text;

/// The types of blocks of reasoning.
const TYPES: [&str; 5] = ["reasoning", "reasoning_content", "redacted-reasoning", "redacted_thinking", "thinking"];

/// Members that hold a text.
const TEXTS: [&str; 6] = ["thinking", "reasoning", "text", "content", "summary", "value"];

/// Members that hold a list of texts.
const LISTS: [&str; 4] = ["thinking", "summary", "content", "details"];

/// Whether a block of this type is reasoning.
pub(crate) fn is_reasoning(kind: Text<'_>) -> bool {
    TYPES.iter().any(|name| kind.is(name))
}

/// Reads a block of reasoning. Its text is empty if only the provider can read it.
pub(crate) fn reasoning(block: Json<'_>) -> PartKind<'_> {
    let mut parts = reasoning_parts(block);
    match parts.len() {
        0 => PartKind::Reasoning(Text::plain("")),
        1 => parts.remove(0).kind,
        _ => PartKind::Mixed(Content::Parts(parts.into())),
    }
}

/// The texts of a block of reasoning.
pub(crate) fn reasoning_parts(block: Json<'_>) -> Vec<Part<'_>> {
    let inner = ["reasoningContent", "reasoning_content"].iter().find_map(|key| block.get(key));
    let inner = inner.filter(|inner| inner.kind() == JsonKind::Object).unwrap_or(block);
    let inner = inner.get("reasoningText").unwrap_or(inner);
    let is_redacted = inner.get("redacted").is_some_and(|redacted| redacted.raw() == "true");
    let may_read = |key: &&&str| !is_redacted || **key == "summary";
    let text = TEXTS.iter().filter(may_read).find_map(|key| inner.get_text(key).filter(|text| !text.is_empty()));
    if let Some(text) = text {
        return vec![Part { json: block, kind: PartKind::Reasoning(text) }];
    }
    let listed = LISTS.iter().filter_map(|key| inner.get(key)).flat_map(|list| list.items());
    listed.filter_map(|json| Some(Part { json, kind: PartKind::Reasoning(json.get_text("text")?) })).collect()
}
