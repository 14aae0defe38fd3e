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
    ["type", "kind"].iter().all(|key| part.get(key).is_none())
        && KEYS.split('|').chain(["thoughtSignature"]).any(|key| member(part, key).is_some())
}

/// Reads a call, which is `json` in a part.
pub(crate) fn call<'a>(part: Json<'a>, json: Json<'a>) -> Call<'a> {
    call_part(part, json, ["id", "name", "args"])
}

/// The member that REST calls `key`; Python spells it with underscores, and writes null for absent members.
pub(crate) fn member<'a>(part: Json<'a>, key: &str) -> Option<Json<'a>> {
    let value = |key: &str| part.get(key).filter(|value| value.kind() != JsonKind::Null);
    value(key).or_else(|| {
        let with_underscores =
            key.chars().flat_map(|c| [c.is_ascii_uppercase().then_some('_'), Some(c.to_ascii_lowercase())]);
        value(&with_underscores.flatten().collect::<String>())
    })
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
    let found = |key: &str, name: &str, output: &str, shape| {
        let result = member(part, key)?;
        let name = member(result, name).and_then(|name| name.text()).unwrap_or_else(|| Text::plain("code_execution"));
        let outcome = member(result, "outcome").and_then(|outcome| outcome.text());
        let failed = outcome.is_some_and(|outcome| outcome.decode().contains("FAILED"));
        let output = CallOutput::of(member(result, output), shape)?.with_failure(failed);
        Some(HostedResult { name: Some(name), output })
    };
    found("codeExecutionResult", "", "output", OutputShape::Any)
        .or_else(|| found("toolResponse", "toolType", "response", OutputShape::Object))
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
        let response = member(answer, "response").map(|json| Part { json, kind: output_text(json) });
        let media = member(answer, "parts").into_iter().flat_map(|parts| parts.items());
        let parts = response.into_iter().chain(media.map(|json| Part { json, kind: part(json) }));
        return PartKind::Result(Content::of_parts(parts.collect()));
    }
    let data = member(json, "inlineData").or_else(|| member(json, "fileData"));
    match data.map(|data| member(data, "mimeType").and_then(|kind| kind.text())) {
        Some(kind) => PartKind::Media(kind.map_or(MediaKind::Document, |kind| MediaKind::of_type(&kind.decode()))),
        // Code that the model ran, or calls that the server answered: read as text, whatever their fields.
        None => match KEYS.split('|').find_map(|key| member(json, key)) {
            Some(value) => output_text(value),
            None if member(json, "thoughtSignature").is_some() => PartKind::Reasoning(Text::plain("")),
            None => foreign::part(json),
        },
    }
}
