//! Finds the reasoning in a message that only its provider can read: encrypted items, redacted blocks, and signatures,
//! which carry what the model thought. It knows how all formats spell them.

use std::borrow::Cow;

use memchr::memmem;

use crate::transcript::json::{Json, JsonKind};
use crate::transcript::message::{Message, Role};
use crate::transcript::text::Text;

/// Each spelling has one of these in it.
const HINTS: [&str; 4] = ["ncrypted", "edacted", "ignature", "opaque"];

/// Members with such reasoning: a text, or several in a list or an object.
const MEMBERS: [&str; 12] = [
    "__gemini_function_call_thought_signatures__",
    "reasoningEncryptedContent",
    "reasoning_opaque",
    "redactedContent",
    "redactedData",
    "redacted_content",
    "signature",
    "textSignature",
    "thinkingSignature",
    "thoughtSignature",
    "thought_signature",
    "thought_signatures",
];

/// The types of blocks with such reasoning in `data`.
const REDACTED: [&str; 4] = ["reasoning.encrypted", "redacted", "redacted-reasoning", "redacted_thinking"];

/// Members that lead to blocks or to members with such reasoning. Arguments, results and records of answers, which
/// clients do not send again, are not among them.
const WAYS: [&str; 22] = [
    "additional_kwargs",
    "content",
    "data",
    "details",
    "extras",
    "function",
    "kwargs",
    "llm_message",
    "message",
    "parts",
    "payload",
    "provider_details",
    "provider_specific_fields",
    "reasoning",
    "reasoningContent",
    "reasoningText",
    "reasoning_content",
    "reasoning_details",
    "thinking",
    "thinking_blocks",
    "tool_calls",
    "value",
];

/// Members that hold the members of each provider under its name.
const BY_PROVIDER: [&str; 4] = ["callProviderMetadata", "extra_content", "providerMetadata", "providerOptions"];

/// Deeper than any spelling.
const MAX_DEPTH: usize = 8;

/// The reasoning in a message that only its provider can read. Programs often repeat it in several members.
pub(crate) fn sealed<'a>(message: &Message<'a>) -> Vec<Text<'a>> {
    let raw = message.json.raw().as_bytes();
    if message.role != Role::Assistant || !HINTS.iter().any(|hint| memmem::find(raw, hint.as_bytes()).is_some()) {
        return Vec::new();
    }
    let mut found = Vec::new();
    objects(message.json).for_each(|object| collect(object, MAX_DEPTH, &mut found));
    found.sort_by_key(Text::raw);
    found.dedup_by_key(|sealed| sealed.raw());
    found
}

fn collect<'a>(object: Json<'a>, depth: usize, found: &mut Vec<Text<'a>>) {
    let kind = ["type", "part_kind"].iter().find_map(|key| object.get_text(key));
    let kind = kind.map_or(Cow::Borrowed(""), |kind| kind.decode());
    if depth == 0 || is_other(&kind) {
        return;
    }
    let is_redacted = object.get("redacted").is_some_and(|redacted| redacted.raw() == "true");
    for (key, value) in object.entries() {
        let key = key.decode();
        let is_sealed = match &*key {
            "encrypted_content" => ["", "reasoning"].contains(&&*kind),
            "data" => REDACTED.contains(&&*kind),
            "reasoning" => is_redacted && value.kind() == JsonKind::String,
            key => MEMBERS.contains(&key),
        };
        if is_sealed {
            found.extend(texts(value));
        } else if WAYS.contains(&&*key) {
            objects(value).for_each(|inner| collect(inner, depth - 1, found));
        } else if BY_PROVIDER.contains(&&*key) {
            value.entries().for_each(|(_, own)| collect(own, depth - 1, found));
        }
    }
}

/// Whether a part of this type is a result or a compaction. Providers encrypt these too.
fn is_other(kind: &str) -> bool {
    kind.contains("compaction") || ["result", "return", "output"].iter().any(|end| kind.ends_with(end))
}

/// An object, or the objects in a list.
fn objects<'a>(json: Json<'a>) -> impl Iterator<Item = Json<'a>> {
    [json].into_iter().chain(json.items()).filter(|value| value.kind() == JsonKind::Object)
}

/// A text, or the texts in a list or an object.
fn texts<'a>(json: Json<'a>) -> impl Iterator<Item = Text<'a>> {
    let inside = json.items().chain(json.entries().map(|(_, value)| value));
    [json].into_iter().chain(inside).filter_map(|value| value.text())
}
