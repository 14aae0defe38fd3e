//! Outputs of tools: typed values, or any others.
//!
//! Also: the calls that version 4 of the AI SDK has in `toolInvocations`, beside the parts or instead of them.

use std::collections::{HashMap, HashSet};

use crate::formats::ai_sdk::part;
use crate::formats::shared::fields::elements_of;
use crate::json::{Json, JsonKind, Object};
use crate::message::{Content, Part, PartKind, ResultRef};
use crate::outputs::{CallOutput, OutputShape};
use crate::{foreign, media};

/// The types of tool output.
const OUTPUTS: [&str; 5] = ["text", "json", "error-text", "error-json", "content"];
/// The type of the output of a call that the user denied, which has a reason and no value.
pub(super) const DENIED: &str = "execution-denied";

/// The output in an element; `shape` is that of a value.
pub(super) fn output_in(json: Json<'_>, shape: OutputShape) -> Option<CallOutput<'_>> {
    let output = ["output", "result", "errorText"].iter().find_map(|key| json.get(key))?;
    let value = value_of(output);
    let shape = if is_content(output) {
        OutputShape::Blocks("text")
    } else if is_denial(json, output) {
        OutputShape::Fixed
    } else if shape == OutputShape::Any && is_without_value(json, output) {
        OutputShape::Typed
    } else {
        shape
    };
    let is_error = json.member_is_true("isError");
    let is_typed_error = output.get_text("type").is_some_and(|kind| kind.starts_with("error"));
    let failed = is_error || is_typed_error || json.get("errorText").is_some();
    Some(CallOutput::of(Some(value), shape)?.with_failure(failed))
}

/// The value of a typed output, or the output.
pub(super) fn value_of(output: Json<'_>) -> Json<'_> {
    match (output.get("value"), output.get_text("type")) {
        (Some(value), Some(kind)) if kind.is_in(&OUTPUTS) => value,
        _ => output,
    }
}

/// Whether an output of a model message is an object without a value of a known type. The AI SDK takes no text beside the
/// members of such an object, nor in its place.
fn is_without_value(json: Json<'_>, output: Json<'_>) -> bool {
    let is_of_model = json.member_is("type", "tool-result") && json.get("output").is_some();
    is_of_model && output.kind() == JsonKind::Object && value_of(output).span() == output.span()
}

/// Whether it is what the AI SDK writes where the user denied the call.
fn is_denial(json: Json<'_>, output: Json<'_>) -> bool {
    is_without_value(json, output) && output.member_is("type", DENIED)
}

/// Whether an output is a typed list of parts.
fn is_content(output: Json<'_>) -> bool {
    output.member_is("type", "content") && output.get("value").is_some()
}

/// Reads the output of a provider's tool that is a picture without its type.
pub(super) fn only_picture(value: Json<'_>) -> Option<Content<'_>> {
    let kind = media::only_data(value)?;
    Some(Content::Parts(Box::new([Part { json: value, kind: PartKind::Media(kind) }])))
}

/// Reads the output of a tool: the value of a typed output, or any other value as it is spelled.
pub(super) fn tool_output(output: Json<'_>) -> Content<'_> {
    let value = value_of(output);
    match value.text() {
        Some(text) => Content::Text(text),
        None if is_content(output) => Content::Parts(value.items().map(part).collect()),
        None => Content::Parts(Box::new([Part { json: value, kind: foreign::value(value, PartKind::Text) }])),
    }
}

/// Adds to results the copies that version 4 has beside the parts.
pub(super) fn add_duplicates<'a>(message: &Object<'a>, results: &mut [ResultRef<'a>]) {
    let own: HashSet<usize> = results.iter().map(|result| result.json.span().start).collect();
    let mut copies: HashMap<_, Vec<Json<'a>>> = HashMap::new();
    for copy in legacy_calls(message.json) {
        if !own.contains(&copy.span().start) {
            copies.entry(copy.get_text("toolCallId").map(|id| id.decode())).or_default().push(copy);
        }
    }
    // Of results with one id, the first has the copies.
    for result in results {
        result.duplicates = copies.remove(&result.id.map(|id| id.decode())).unwrap_or_default().into();
    }
}

/// The calls that version 4 has beside the parts.
pub(super) fn legacy_calls(message: Json<'_>) -> impl Iterator<Item = Json<'_>> {
    elements_of(message, "toolInvocations")
}
