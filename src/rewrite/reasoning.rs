//! Reasoning that a model's provider accepts only after the very messages it followed.
//!
//! Once those are summarized it must go, or the next request is refused.

use crate::plan::Plan;
use crate::transcript::json::Kind;
use crate::transcript::{Content, Message, Role, Transcript};

use crate::rewrite::{Edit, removal};

/// Block types of such reasoning.
const BOUND: [&str; 3] = ["thinking", "redacted_thinking", "reasoning_content"];

/// The edits that take bound reasoning out of the messages that stay.
pub(crate) fn unbound(transcript: &Transcript<'_>, plan: &Plan) -> Vec<Edit> {
    let stay = plan.pinned.iter().copied().chain(plan.cutoff..transcript.messages.len());
    let stay = stay.map(|index| &transcript.messages[index]).filter(|message| message.role == Role::Assistant);
    stay.flat_map(without_reasoning).collect()
}

fn without_reasoning(message: &Message<'_>) -> Vec<Edit> {
    let Content::Parts(parts) = &message.content else { return Vec::new() };
    // A single object is read as the one part of a list, and there is no list to take it out of.
    if message.field("content").is_none_or(|content| content.kind() != Kind::Array) {
        return Vec::new();
    }
    let kinds = bound_kinds(message);
    let goes = |index: &usize| {
        parts[*index].json.get_text("type").is_some_and(|kind| kinds.iter().any(|bound| kind.is(bound)))
    };
    let going: Vec<usize> = (0..parts.len()).filter(goes).collect();
    let spans: Vec<_> = parts.iter().map(|part| part.json.span()).collect();
    going.chunk_by(|a, b| a + 1 == *b).map(|run| removal(&spans, run[0], run[run.len() - 1] + 1)).collect()
}

/// The types of blocks that are bound in a message: Claude's, by whoever serves it; where nobody is named, those that
/// are Claude's alone.
fn bound_kinds(message: &Message<'_>) -> Vec<&'static str> {
    let Some(provider) = message.rest().provider else { return BOUND.to_vec() };
    let model = message.metadata("model_name").and_then(|name| name.text());
    let model = model.map(|name| name.decode().to_lowercase()).unwrap_or_default();
    let bedrock = provider.is("bedrock") || provider.is("bedrock_converse");
    if provider.is("anthropic") || bedrock && (model.contains("claude") || model.contains("anthropic")) {
        return BOUND.into_iter().chain(["reasoning"]).collect();
    }
    Vec::new()
}
