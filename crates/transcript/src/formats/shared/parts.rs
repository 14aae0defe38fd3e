//! Parts of Google's API: an object whose key names its content (`text`, `functionCall`, `inlineData`, …).

use crate::foreign;
use crate::formats::shared::blocks::output_text;
use crate::formats::shared::fields::call_part;
use crate::json::{Json, JsonKind};
use crate::media::MediaKind;
use crate::message::{Call, Content, Part, PartKind};
use crate::outputs::{CallOutput, HostedResult, OutputShape};
use crate::text::Text;

/// The members that a part can hold, as REST spells them.
const KEYS: &str = "text|functionCall|functionResponse|inlineData|fileData|executableCode|codeExecutionResult|toolCall|\
    toolResponse";

/// Whether a value is such a part.
pub(crate) fn is_part(part: Json<'_>) -> bool {
    if part.get("type").is_some() || part.get("kind").is_some() {
        return false;
    }
    KEYS.split('|').any(|key| member(part, key).is_some()) || member(part, "thoughtSignature").is_some()
}

/// Reads a call, which is `json` in a part.
pub(crate) fn call<'a>(part: Json<'a>, json: Json<'a>) -> Call<'a> {
    call_part(part, json, ["id", "name", "args"])
}

/// The member that REST calls `key`; Python spells it with underscores, and writes null for absent members.
pub(crate) fn member<'a>(part: Json<'a>, key: &str) -> Option<Json<'a>> {
    if let Some(value) = part.get(key)
        && value.kind() != JsonKind::Null
    {
        return Some(value);
    }
    let mut with_underscores = String::with_capacity(key.len() + 2);
    for c in key.chars() {
        if c.is_ascii_uppercase() {
            with_underscores.push('_');
        }
        with_underscores.push(c.to_ascii_lowercase());
    }
    part.get(&with_underscores).filter(|value| value.kind() != JsonKind::Null)
}

/// The response in a part, and the media beside it.
pub(crate) fn output<'a>(part: Json<'a>) -> Option<CallOutput<'a>> {
    let answer = member(part, "functionResponse")?;
    let response = member(answer, "response")?;
    let failed = response.get("error").is_some_and(|error| !error.is_falsy());
    let output = CallOutput::of(Some(response), OutputShape::Object)?.with_failure(failed);
    Some(output.with_copies(member(answer, "parts")))
}

/// The result in a part of a tool that the server runs.
pub(crate) fn hosted<'a>(part: Json<'a>) -> Option<HostedResult<'a>> {
    if let Some(result) = member(part, "codeExecutionResult")
        && let Some(output) = CallOutput::of(member(result, "output"), OutputShape::Any)
    {
        return Some(HostedResult {
            name: Some(Text::plain("code_execution")),
            output: output.with_failure(has_failed(result)),
        });
    }
    let result = member(part, "toolResponse")?;
    let name = member(result, "toolType").and_then(|name| name.text());
    let output = CallOutput::of(member(result, "response"), OutputShape::Object)?;
    Some(HostedResult {
        name: name.or(Some(Text::plain("code_execution"))),
        output: output.with_failure(has_failed(result)),
    })
}

fn has_failed(result: Json<'_>) -> bool {
    let Some(outcome) = member(result, "outcome") else { return false };
    outcome.text().is_some_and(|outcome| outcome.decode().contains("FAILED"))
}

pub(crate) fn part(json: Json<'_>) -> PartKind<'_> {
    if let Some(text) = json.get_text("text") {
        let is_thought = json.member_is_true("thought");
        return if is_thought { PartKind::Reasoning(text) } else { PartKind::Text(text) };
    }
    if member(json, "functionCall").is_some() {
        return PartKind::Call;
    }
    if let Some(answer) = member(json, "functionResponse") {
        let mut parts = Vec::new();
        if let Some(json) = member(answer, "response") {
            parts.push(Part { json, kind: output_text(json) });
        }
        if let Some(media) = member(answer, "parts") {
            parts.extend(media.items().map(|json| Part { json, kind: part(json) }));
        }
        return PartKind::Result(Content::of_parts(parts.into()));
    }
    if let Some(data) = member(json, "inlineData").or_else(|| member(json, "fileData")) {
        return PartKind::Media(kind_of_data(data));
    }
    // Code that the model ran, or calls that the server answered: read as text, whatever their fields.
    match KEYS.split('|').find_map(|key| member(json, key)) {
        Some(value) => output_text(value),
        None if member(json, "thoughtSignature").is_some() => PartKind::Reasoning(Text::plain("")),
        None => foreign::part(json),
    }
}

fn kind_of_data(data: Json<'_>) -> MediaKind {
    match member(data, "mimeType").and_then(|media_type| media_type.text()) {
        Some(media_type) => MediaKind::of_type(&media_type.decode()),
        None => MediaKind::Document,
    }
}
