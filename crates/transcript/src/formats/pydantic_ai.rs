//! pydantic-ai's `ModelMessage`s: requests and responses, each a list of parts.
//!
//! Calls are parts of responses; results and retry requests are parts of the next request. Call and result of a
//! provider's own tool are parts of responses, and usually of one. The system prompt is a part of a request too, usually of the first,
//! beside the user's prompt. Such a request counts as standing instructions as a whole, so that it is kept.

use serde_json::{Value, json};

use crate::compaction::ProviderCompaction;
use crate::foreign;
use crate::format::{Format, Hooks, InsertionPoint, MatchScore, NewResult, SettingParts, SummaryMessage, TextBlock};
use crate::formats::shared::blocks::reasoning;
use crate::formats::shared::fields::{begins_with, call_part, check_object, id, non_null, of_hosted};
use crate::json::{Json, JsonKind, Object};
use crate::media::MediaKind;
use crate::message::{Arguments, Call, Content, Message, Part, PartKind, ResultRef, Role};
use crate::outputs::{CallOutput, HostedResult, OutputShape};
use crate::status::Denial;
use crate::text::Text;

/// The kinds of parts with which the program says what holds from there on.
const SETTINGS: [&str; 4] =
    ["capability-load-delta", "instruction-delta", "model-settings-delta", "tool-availability-delta"];

/// The format's row.
pub(super) static FORMAT: Format = Format {
    name: "pydantic-ai",
    about: "requests and responses as ModelMessagesTypeAdapter of pydantic-ai writes them",
    keeps_signatures: true,
    settings: Some(SettingParts { list: &["parts"], kind: "part_kind", kinds: &SETTINGS, id: "id" }),
    results_message: Some(r#"{"parts":["…"],"kind":"request"}"#),
    text_block: TextBlock::Written(write_text_block),
    hooks: Hooks {
        match_score,
        read,
        groups,
        result_output,
        provider_results,
        write_summary,
        write_result,
        ..Hooks::NONE
    },
    ..Format::DEFAULT
};

fn match_score(message: &Object<'_>) -> MatchScore {
    if is_response(message).is_none() {
        return MatchScore::Mismatch;
    }
    let Some(parts) = list_of_parts(message) else { return MatchScore::Mismatch };
    let is_empty = parts.items().next().is_none();
    if is_empty || parts.items().any(|part| part.get_text("part_kind").is_some()) {
        MatchScore::Own("kind and parts")
    } else {
        MatchScore::Mismatch
    }
}

fn list_of_parts<'a>(message: &Object<'a>) -> Option<Json<'a>> {
    message.get("parts").filter(|parts| parts.kind() == JsonKind::Array)
}

fn read<'a>(message: &Object<'a>) -> Result<Message<'a>, String> {
    let json = message.json;
    check_object(json, "an object with parts")?;
    let Some(is_response) = is_response(message) else {
        return Err("is neither of the kind request nor of the kind response".to_owned());
    };
    let Some(parts) = list_of_parts(message) else {
        return Err("has no list of parts".to_owned());
    };
    let parts: Vec<Json<'a>> = parts.items().collect();
    let role = if is_response { Role::Assistant } else { role_of_request(&parts) };
    let mut content = Vec::with_capacity(parts.len());
    let mut calls = Vec::new();
    let mut results = Vec::new();
    for part in parts {
        content.append(&mut self::parts(part, role));
        if is(part, "tool-call") {
            calls.push(call(part));
        } else if is_answer(part) {
            results.push(ResultRef { denial: denial(part), ..ResultRef::new(part, id(part.get("tool_call_id"))) });
        }
    }
    let content = Content::of_parts(content.into());
    Ok(Message { role, content, calls: calls.into(), results: results.into(), ..Message::empty(json) })
}

/// The speaker of a request with these parts.
fn role_of_request(parts: &[Json<'_>]) -> Role {
    let is_of_operator = parts.iter().any(|part| is(*part, "system-prompt"))
        || !parts.is_empty() && parts.iter().all(|part| is_of_program(*part));
    if is_of_operator { Role::System } else { Role::User }
}

fn groups(messages: &[Message<'_>]) -> Vec<(usize, usize)> {
    of_hosted(messages, is_provider_call, is_provider_return)
}

fn is_provider_call(part: Json<'_>) -> bool {
    is(part, "builtin-tool-call")
}

fn is_provider_return(part: Json<'_>) -> bool {
    is(part, "builtin-tool-return")
}

fn result_output<'a>(_message: &Message<'a>, answer: &ResultRef<'a>) -> Option<CallOutput<'a>> {
    let part = answer.json;
    let output = CallOutput::of(part.get("content"), OutputShape::Any)?;
    Some(output.with_failure(part.member_is("outcome", "failed") || is(part, "retry-prompt")))
}

fn provider_results<'a>(message: &Message<'a>) -> Vec<HostedResult<'a>> {
    let Some(parts) = message.json.get("parts") else { return Vec::new() };
    parts.items().filter_map(provider_result).collect()
}

fn provider_result(part: Json<'_>) -> Option<HostedResult<'_>> {
    if !is_provider_return(part) {
        return None;
    }
    let content = part.get("content")?;
    let is_medium = matches!(text_or_media(content).kind, PartKind::Media(_));
    let shape = if is_medium { OutputShape::Any } else { OutputShape::Texts };
    Some(HostedResult { name: part.get_text("tool_name"), output: CallOutput::of(Some(content), shape)? })
}

fn write_summary(summary: &SummaryMessage<'_>, at: &InsertionPoint<'_, '_>) -> Vec<Value> {
    let messages = &at.transcript.messages;
    let request = nearest_request(messages, at.cutoff.min(messages.len()));
    let parts = request.and_then(|request| request.get("parts"));
    let mut part = json!({"content": summary.text});
    if let Some(time) = parts.and_then(|parts| parts.items().find_map(timestamp)) {
        part["timestamp"] = time;
    }
    part["part_kind"] = json!("user-prompt");
    let mut message = json!({});
    if begins_with("kind", request) {
        message["kind"] = json!("request");
    }
    message["parts"] = json!([part]);
    if let Some(time) = request.and_then(timestamp) {
        message["timestamp"] = time;
    }
    message["kind"] = json!("request");
    vec![message]
}

/// The request that is nearest to the cut. One before it comes first: it is older than the kept messages, so its timestamp
/// fits.
fn nearest_request<'a>(messages: &[Message<'a>], cutoff: usize) -> Option<Json<'a>> {
    for message in messages[..cutoff].iter().rev().chain(&messages[cutoff..]) {
        if message.role != Role::Assistant {
            return Some(message.json);
        }
    }
    None
}

fn timestamp(json: Json<'_>) -> Option<Value> {
    let time = json.get_text("timestamp")?;
    Some(Value::from(time.decode()))
}

fn write_result(call: &Call<'_>, _calling: &Message<'_>, text: &str) -> Option<NewResult> {
    let (name, id) = (call.name?.decode(), call.id?.decode());
    Some(NewResult::Entry(json!({"tool_name": name, "content": text, "tool_call_id": id, "part_kind": "tool-return"})))
}

fn write_text_block(part: Json<'_>, text: &str) -> Option<Value> {
    // A file from the model is a part of its own, and no element of a prompt or result.
    let is_own = part.get("part_kind").is_some();
    Some(if is_own { json!({"content": text, "part_kind": "text"}) } else { Value::from(text) })
}

/// Whether a message is a response and not a request; `None` if it is neither.
fn is_response(message: &Object<'_>) -> Option<bool> {
    match message.get_text("kind")?.decode().as_ref() {
        "request" => Some(false),
        "response" => Some(true),
        _ => None,
    }
}

fn is(part: Json<'_>, kind: &str) -> bool {
    part.member_is("part_kind", kind)
}

/// Whether the program writes a part: what holds from there on, or what the model is sent in another place.
fn is_of_program(part: Json<'_>) -> bool {
    let Some(kind) = part.get_text("part_kind") else { return false };
    kind.is("instruction-baseline") || kind.is_in(&SETTINGS)
}

/// Whether a part is the result of a call. A retry request is one if it names a tool.
fn is_answer(part: Json<'_>) -> bool {
    is(part, "tool-return") || is(part, "retry-prompt") && part.get_text("tool_name").is_some()
}

/// The record that a call was denied: the outcome of its result, whose content is the reason.
fn denial(part: Json<'_>) -> Option<Box<Denial<'_>>> {
    /// What the program writes where nobody gave a reason.
    const NO_REASON: &str = "The tool call was denied.";
    if !part.member_is("outcome", "denied") {
        return None;
    }
    Some(Box::new(Denial::new(part.get_text("content").filter(|reason| !reason.is(NO_REASON)))))
}

fn call(part: Json<'_>) -> Call<'_> {
    let arguments = Arguments::of(non_null(&Object::of(part), "args"));
    Call { arguments, ..call_part(part, part, ["tool_call_id", "tool_name", "args"]) }
}

/// Reads a part of a message of this role as one or more parts: a user's prompt may be a list of texts and media.
fn parts(part: Json<'_>, role: Role) -> Vec<Part<'_>> {
    let kind = part.get_text("part_kind").unwrap_or_else(|| Text::plain(""));
    let content = part.get("content").filter(|content| content.kind() != JsonKind::Null);
    let text = content.and_then(|content| content.text());
    let one = match kind.decode().as_ref() {
        "user-prompt" if text.is_none() => match content {
            Some(content) => return content.items().map(text_or_media).collect(),
            None => return Vec::new(),
        },
        "instruction-baseline" => return Vec::new(),
        "instruction-delta" if role == Role::User => {
            PartKind::SaidBy(Role::System, text.map_or_else(Content::empty, Content::Text))
        }
        "instruction-delta" => PartKind::Text(text.unwrap_or_else(|| Text::plain(""))),
        _ if is_of_program(part) => PartKind::Other,
        "speech" => return speech(part),
        "compaction" => PartKind::Compaction(ProviderCompaction::of(part)),
        "thinking" => reasoning(part),
        "tool-call" => PartKind::Call,
        "builtin-tool-return" => PartKind::Result(tool_output(content)),
        "file" => match content {
            Some(content) => text_or_media(content).kind,
            None => return Vec::new(),
        },
        _ if is_answer(part) => PartKind::Result(tool_output(content)),
        "retry-prompt" | "retry-feedback" => match content {
            Some(content) => readable(content),
            None => return Vec::new(),
        },
        kind if kind != "builtin-tool-call" && foreign::could_be_call_or_result(part) => foreign::part(part),
        kind => match text {
            Some(text) => PartKind::Text(text),
            None if ["system-prompt", "instruction", "text"].contains(&kind) => PartKind::Text(Text::plain("")),
            None if kind == "builtin-tool-call" => PartKind::Other,
            None => foreign::part(part),
        },
    };
    vec![Part { json: part, kind: one }]
}

/// Reads what was spoken: the words, and the sound where it is kept.
fn speech(part: Json<'_>) -> Vec<Part<'_>> {
    let mut parts = Vec::new();
    if let Some(words) = part.get_text("transcript") {
        parts.push(Part { json: part, kind: PartKind::Text(words) });
    }
    if let Some(sound) = part.get("audio")
        && !sound.is_falsy()
    {
        parts.push(text_or_media(sound));
    }
    parts
}

/// Reads the output of a tool: a text, texts and media, or a value as it is spelled.
fn tool_output(content: Option<Json<'_>>) -> Content<'_> {
    let Some(content) = content else { return Content::empty() };
    match (content.kind(), content.text()) {
        (_, Some(text)) => Content::Text(text),
        (JsonKind::Array, _) if content.items().any(|item| item.get_text("kind").is_some()) => {
            Content::Parts(content.items().map(text_or_media).collect())
        }
        _ => Content::Parts(Box::new([Part { kind: text_or_media(content).kind, json: content }])),
    }
}

/// Reads a text, or a value as it is spelled.
fn readable(json: Json<'_>) -> PartKind<'_> {
    match json.text() {
        Some(text) => PartKind::Text(text),
        None => foreign::value(json, PartKind::Text),
    }
}

/// Reads a text or a medium from the user or a tool.
fn text_or_media(json: Json<'_>) -> Part<'_> {
    let Some(kind) = json.get_text("kind") else { return Part { json, kind: readable(json) } };
    let kind = match kind.decode().as_ref() {
        kind @ ("image-url" | "binary" | "uploaded-file" | "audio-url" | "video-url" | "document-url") => {
            PartKind::Media(MediaKind::of_block(json, kind))
        }
        "cache-point" => PartKind::Other,
        _ => match json.get_text("content") {
            Some(text) => PartKind::Text(text),
            None => readable(json),
        },
    };
    Part { json, kind }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::format::{SummaryRole, Transcript};
    use crate::framing::read_for_test as read;

    const FIRST: &str = r#"{"parts":[{"content":"s","part_kind":"system-prompt"},{"content":"u","timestamp":"T0","part_kind":"user-prompt"}],"kind":"request"}"#;
    const CALLS: &str = r#"{"parts":[{"content":"hm","part_kind":"thinking"},{"tool_name":"f","args":"{}","tool_call_id":"a","part_kind":"tool-call"},{"tool_name":"f","args":{},"tool_call_id":"b","part_kind":"tool-call"}],"kind":"response"}"#;
    const RESULTS: &str = r#"{"parts":[{"tool_name":"f","content":{"n":1.50},"tool_call_id":"a","part_kind":"tool-return"},{"tool_name":"f","content":"again","tool_call_id":"b","part_kind":"retry-prompt"}],"kind":"request"}"#;

    fn with<T>(source: &str, look: impl FnOnce(&Transcript<'_>) -> T) -> T {
        let document = read(source, None, None).unwrap_or_else(|error| panic!("it {error}: {source}"));
        assert_eq!(document.transcripts[0].format.name, "pydantic-ai");
        look(&document.transcripts[0])
    }

    #[test]
    fn results_and_retries_answer_calls() {
        let retry = r#"{"parts":[{"tool_name":null,"content":[{"type":"x"}],"tool_call_id":"c","part_kind":"retry-prompt"}],"kind":"request"}"#;
        with(&format!("[{FIRST},{CALLS},{RESULTS},{retry}]"), |transcript| {
            let messages = &transcript.messages;
            assert_eq!(transcript.pairing.pairs, [(1, 2), (1, 2)]);
            let roles: Vec<Role> = messages.iter().map(|message| message.role).collect();
            assert_eq!(roles, [Role::System, Role::Assistant, Role::User, Role::User]);
            let turns: Vec<bool> = messages.iter().map(Message::is_user_turn).collect();
            assert_eq!(turns, [false, false, false, true]);
            let said: Vec<_> = messages[2].content.texts().iter().map(|text| text.decode().into_owned()).collect();
            assert_eq!(said, [r#"{"n":1.50}"#, "again"]);
        });
    }

    /// What holds from there on is nobody's words, and what the operator says is the operator's.
    #[test]
    fn deltas_are_not_the_users_words() {
        let request = |parts: &str| format!(r#"{{"parts":[{parts}],"kind":"request"}}"#);
        let prompt = r#"{"content":"words","part_kind":"user-prompt"}"#;
        let instructions = r#"{"id":null,"content":"in cents","base_hash":null,"part_kind":"instruction-delta"}"#;
        let tools = r#"{"tools_added":["pay"],"tool_call_id":null,"part_kind":"tool-availability-delta"}"#;
        let baseline =
            r#"{"instructions":[{"content":"s","part_kind":"instruction"}],"part_kind":"instruction-baseline"}"#;
        let spoken = r#"{"speaker":"user","transcript":"words","audio":null,"part_kind":"speech"}"#;
        let all = [
            request(&[prompt, instructions].join(",")),
            request(&[baseline, prompt].join(",")),
            request(tools),
            request(&[tools, prompt].join(",")),
            request(spoken),
        ];
        with(&format!("[{}]", all.join(",")), |transcript| {
            let texts = |message: &Message<'_>| -> Vec<String> {
                message.content.texts().iter().map(|text| text.decode().into_owned()).collect()
            };
            let said: Vec<_> = transcript.messages.iter().map(|message| (message.role, texts(message))).collect();
            let words = vec!["words".to_owned()];
            assert_eq!(said[0], (Role::User, vec!["words".to_owned(), "in cents".to_owned()]));
            assert_eq!(transcript.messages[0].asides().map(|(role, _)| role).collect::<Vec<_>>(), [Role::System]);
            assert_eq!(said[1], (Role::User, words.clone()));
            assert_eq!(said[2], (Role::System, Vec::new()));
            assert_eq!(said[3], (Role::User, words.clone()));
            assert_eq!(said[4], (Role::User, words));
            let settings: Vec<usize> =
                transcript.messages.iter().map(|message| FORMAT.settings_of(message).len()).collect();
            assert_eq!(settings, [1, 0, 1, 1, 0]);
        });
    }

    #[test]
    fn a_summary_has_a_time_where_its_neighbours_have_one() {
        let summary = SummaryMessage { text: "s", role: SummaryRole::User, name: None, marked: false };
        let written = |source: &str| {
            with(source, |transcript| {
                FORMAT.write_summary(&summary, &InsertionPoint::new(transcript, 0))[0].to_string()
            })
        };
        assert_eq!(
            written(&format!("[{FIRST}]")),
            r#"{"parts":[{"content":"s","timestamp":"T0","part_kind":"user-prompt"}],"kind":"request"}"#
        );
        assert_eq!(
            written(r#"[{"kind":"request","parts":[{"part_kind":"user-prompt","content":"u"}],"timestamp":"T1"}]"#),
            r#"{"kind":"request","parts":[{"content":"s","part_kind":"user-prompt"}],"timestamp":"T1"}"#
        );
    }
}
