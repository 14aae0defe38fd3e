//! Removes reasoning that a provider accepts only after the very messages it followed.
//!
//! Once those are summarized, the next request with it would be rejected.

use crate::plan::Plan;
use crate::transcript::json::JsonKind;
use crate::transcript::{Content, Message, Role, Transcript};

use crate::rewrite::{Edit, removal};

/// The block types of such reasoning.
const BOUND: [&str; 3] = ["thinking", "redacted_thinking", "reasoning_content"];

/// Returns the edits that remove bound reasoning from the kept messages.
pub(crate) fn remove_bound(transcript: &Transcript<'_>, plan: &Plan) -> Vec<Edit> {
    let stay = plan.pinned.iter().copied().chain(plan.cutoff..transcript.messages.len());
    let stay = stay.map(|index| &transcript.messages[index]).filter(|message| message.role == Role::Assistant);
    stay.flat_map(without_reasoning).collect()
}

fn without_reasoning(message: &Message<'_>) -> Vec<Edit> {
    let Content::Parts(parts) = &message.content else { return Vec::new() };
    // A single object is read as a list of one part, but there is no list to remove it from.
    if message.field("content").is_none_or(|content| content.kind() != JsonKind::Array) {
        return Vec::new();
    }
    let kinds = bound_kinds(message);
    let is_bound = |index: &usize| {
        parts[*index].json.get_text("type").is_some_and(|kind| kinds.iter().any(|bound| kind.is(bound)))
    };
    let bound: Vec<usize> = (0..parts.len()).filter(is_bound).collect();
    let spans: Vec<_> = parts.iter().map(|part| part.json.span()).collect();
    bound.chunk_by(|a, b| a + 1 == *b).map(|run| removal(&spans, run[0], run[run.len() - 1] + 1)).collect()
}

/// Returns the block types that are bound in a message: Claude's, whichever provider serves it. Without a provider, the
/// types that only Claude has.
fn bound_kinds(message: &Message<'_>) -> Vec<&'static str> {
    let Some(provider) = message.rare_fields().provider else { return BOUND.to_vec() };
    let model = message.metadata("model_name").and_then(|name| name.text());
    let model = model.map(|name| name.decode().to_lowercase()).unwrap_or_default();
    let bedrock = provider.is("bedrock") || provider.is("bedrock_converse");
    if provider.is("anthropic") || bedrock && (model.contains("claude") || model.contains("anthropic")) {
        return BOUND.into_iter().chain(["reasoning"]).collect();
    }
    Vec::new()
}
