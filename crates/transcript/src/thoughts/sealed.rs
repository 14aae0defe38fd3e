//! Finds the reasoning in a message that only its provider can read: encrypted items, redacted blocks, and signatures,
//! which carry what the model thought. It knows how all formats spell them.

use std::borrow::Cow;

use crate::json::{Json, JsonKind};
use crate::message::{Call, Message, Role};
use crate::text::Text;
use crate::thoughts::{has_any, has_text};

/// Each spelling has one of these in it.
const HINTS: [&str; 4] = ["ncrypted", "edacted", "ignature", "opaque"];

/// Members with such reasoning: a text, or several in a list or an object.
#[rustfmt::skip]
const MEMBERS: &[&str] = &[
    "__gemini_function_call_thought_signatures__", "reasoningEncryptedContent", "reasoning_opaque", "redactedContent",
    "redactedData", "redacted_content", "signature", "textSignature", "thinkingSignature", "thoughtSignature",
    "thought_signature", "thought_signatures",
];

/// The types of blocks with such reasoning in `data`.
const REDACTED: [&str; 4] = ["reasoning.encrypted", "redacted", "redacted-reasoning", "redacted_thinking"];

/// Members that lead to blocks or to members with such reasoning. Arguments, results and records of answers, which
/// clients do not send again, are not among them.
#[rustfmt::skip]
const WAYS: &[&str] = &[
    "additional_kwargs", "content", "data", "details", "extras", "function", "kwargs", "llm_message", "message",
    "parts", "payload", "provider_details", "provider_specific_fields", "reasoning", "reasoningContent",
    "reasoningText", "reasoning_content", "reasoning_details", "thinking", "thinking_blocks", "tool_calls", "value",
];

/// Members that hold the members of each provider under its name.
const BY_PROVIDER: [&str; 4] = ["callProviderMetadata", "extra_content", "providerMetadata", "providerOptions"];

/// Deeper than any spelling.
const MAX_DEPTH: usize = 8;

/// The reasoning in a message that only its provider can read. Programs often repeat it in several members.
pub fn sealed<'a>(message: &Message<'a>) -> Vec<Text<'a>> {
    if message.role != Role::Assistant || !has_any(message.json, &HINTS) {
        return Vec::new();
    }
    let mut found = Vec::new();
    for object in objects(message.json) {
        collect(object, MAX_DEPTH, &mut found);
    }
    found.sort_by_key(Text::raw);
    found.dedup_by_key(|sealed| sealed.raw());
    found
}

/// What litellm writes between the id of a call and its signature.
const SIGNED_ID: &str = "__thought__";

/// Whether a call of a message has a signature. Where calls are parts of the content, each holds its own; other formats
/// have them in the call or beside it.
pub fn is_signed_call(message: &Message<'_>, call: &Call<'_>) -> bool {
    let mut found = Vec::new();
    collect(call.json, MAX_DEPTH, &mut found);
    if found.is_empty() && !message.content.parts().iter().any(|part| part.json.span() == call.json.span()) {
        found = sealed(message);
    }
    found.extend(moved_signature(message, call));
    found.iter().any(|signature| !signature.is_empty()) || call.id.is_some_and(|id| id.decode().contains(SIGNED_ID))
}

/// The signature of the thinking right before a call. pydantic-ai sends it with the part behind the thinking.
fn moved_signature<'a>(message: &Message<'a>, call: &Call<'_>) -> Option<Text<'a>> {
    let parts = message.content.parts();
    let at = parts.iter().position(|part| part.json.span() == call.json.span())?;
    let before = parts[..at].last()?.json;
    let is_sent = before.member_is("part_kind", "thinking") && has_text(before, "provider_name");
    if is_sent { before.get_text("signature") } else { None }
}

fn collect<'a>(object: Json<'a>, depth: usize, found: &mut Vec<Text<'a>>) {
    let kind = ["type", "part_kind"].iter().find_map(|key| object.get_text(key));
    let kind = match kind {
        Some(kind) => kind.decode(),
        None => Cow::Borrowed(""),
    };
    if depth == 0 || is_other(&kind) {
        return;
    }
    let is_redacted = object.member_is_true("redacted");
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
            for inner in objects(value) {
                collect(inner, depth - 1, found);
            }
        } else if BY_PROVIDER.contains(&&*key) {
            for (_, fields) in value.entries() {
                collect(fields, depth - 1, found);
            }
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
