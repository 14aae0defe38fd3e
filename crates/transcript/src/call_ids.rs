//! The keys under which values of unknown kinds name a call.

use crate::json::{Json, JsonKind};

/// Whether a key is one of an id: `id`, `tool_use_id`, `parentId`.
pub(crate) fn is_id(key: &str) -> bool {
    key == "id" || ["_id", "Id", "ID"].iter().any(|ending| key.ends_with(ending))
}

/// Whether a key holds the id of a call: `toolCallId`, `tool_use_id`, `approvalId`.
pub(crate) fn names_call(key: &str) -> bool {
    const CALLS: [&str; 6] = ["approval", "call", "execution", "invocation", "request", "use"];
    if !is_id(key) {
        return false;
    }
    let name = key[..key.len() - "id".len()].trim_end_matches('_');
    let start = name.rfind(|c: char| c == '_' || c.is_ascii_uppercase()).unwrap_or(0);
    let last_word = name[start..].trim_start_matches('_').to_ascii_lowercase();
    CALLS.contains(&&*last_word)
}

/// Whether an object names a call by one of its members, or by one of a member's own.
pub(crate) fn has_call_id(json: Json<'_>) -> bool {
    json.entries().any(|(key, value)| is_call_id(key.raw(), value) || has_own_call_id(value))
}

fn has_own_call_id(json: Json<'_>) -> bool {
    json.entries().any(|(key, value)| is_call_id(key.raw(), value))
}

fn is_call_id(key: &str, value: Json<'_>) -> bool {
    matches!(value.kind(), JsonKind::String | JsonKind::Number) && names_call(key)
}
