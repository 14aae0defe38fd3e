//! How well a message fits the AI SDK: by its typed parts, its blocks, or the members of version 4.

use crate::foreign;
use crate::format::MatchScore;
use crate::formats::ai_sdk::{ATTACHMENTS, ROLES};
use crate::formats::shared::blocks::{block_types, is_foreign};
use crate::formats::shared::fields::{has_any, non_null, role_of};
use crate::json::{Json, JsonKind, Object};
use crate::message::Role;

/// The part types of a `UIMessage`, besides those with a name in the type.
#[rustfmt::skip]
const UI_PARTS: [&str; 10] = [
    "custom", "reasoning", "reasoning-file", "file", "source", "source-url", "source-document", "steering-message", "step-start", "tool-invocation",
];

pub(super) fn match_score(message: &Object<'_>) -> MatchScore {
    let Some(role) = role_of(&ROLES, message) else { return MatchScore::Mismatch };
    // This reader does not read these members.
    if has_any(message, &["tool_calls", "tool_call_id", "function_call", "type"]) {
        return MatchScore::Mismatch;
    }
    if let Some(parts) = non_null(message, "parts") {
        return score_of_parts(parts);
    }
    let Some(content) = non_null(message, "content") else { return MatchScore::Mismatch };
    let invocations = non_null(message, "toolInvocations").is_some_and(|calls| calls.kind() == JsonKind::Array);
    match content.kind() {
        JsonKind::String if invocations => MatchScore::Own("toolInvocations"),
        JsonKind::String if non_null(message, ATTACHMENTS).is_some() => MatchScore::Own(ATTACHMENTS),
        JsonKind::String if role != Role::Tool => MatchScore::Plain,
        JsonKind::Array => score_of_blocks(message, content),
        _ => MatchScore::Mismatch,
    }
}

/// Whether a part is a tool part of a `UIMessage`: a call and its result in one.
fn is_ui_tool(part: Json<'_>) -> bool {
    let Some(kind) = part.get_text("type") else { return false };
    (kind.starts_with("tool-") || kind.is("dynamic-tool"))
        && part.get("state").is_some()
        && part.get("toolCallId").is_some()
}

fn is_ui_part(part: Json<'_>) -> bool {
    let Some(kind) = part.get_text("type") else { return false };
    if kind.is("text") {
        return part.get_text("text").is_some();
    }
    is_ui_tool(part) || kind.starts_with("data-") || kind.is_in(&UI_PARTS)
}

/// How well the parts of a `UIMessage` fit.
fn score_of_parts(parts: Json<'_>) -> MatchScore {
    if parts.kind() != JsonKind::Array || !parts.items().all(|part| is_ui_part(part) || is_of_unknown_type(part)) {
        MatchScore::Mismatch
    } else if parts.items().next().is_none() {
        MatchScore::Plain
    } else if parts.items().any(is_ui_part) {
        MatchScore::Own("parts with types")
    } else {
        MatchScore::Neutral
    }
}

/// Whether a part has a type that is not known, and that names neither a call nor a result.
fn is_of_unknown_type(part: Json<'_>) -> bool {
    let Some(kind) = part.get_text("type") else { return false };
    let is_tool = kind.starts_with("tool-") || kind.is("dynamic-tool") || kind.is("text");
    !is_tool && !foreign::could_be_call_or_result(part)
}

fn score_of_blocks(message: &Object<'_>, content: Json<'_>) -> MatchScore {
    if content.items().any(|block| block.kind() != JsonKind::Object) {
        return MatchScore::Mismatch;
    }
    let mut score = MatchScore::Plain;
    for (block, kind) in block_types(message) {
        let is_foreign = is_foreign(block, kind);
        let kind = kind.map(|kind| kind.decode());
        let has = |key: &str| block.get(key).is_some();
        match kind.as_deref() {
            Some("tool-call" | "tool-result") if has("toolCallId") => {
                score = MatchScore::Own("tool-call or tool-result parts")
            }
            Some("tool-approval-request" | "tool-approval-response") => {
                score = MatchScore::Own("questions for approval")
            }
            Some("file") if has("mediaType") || has("mimeType") => score = MatchScore::Own("its content parts"),
            Some("text" | "reasoning") if has("text") => {}
            Some("image") if has("image") => {}
            Some("redacted-reasoning") => score = MatchScore::Own("its content parts"),
            // A part of a provider, such as a compaction.
            Some("custom") if has("kind") => score = MatchScore::Own("parts of a provider's own kind"),
            _ if is_foreign => {}
            _ => return MatchScore::Mismatch,
        }
        if has("providerOptions") {
            score = MatchScore::Own("options for a provider");
        }
    }
    score
}
