//! Messages of the AI SDK, of both kinds: `UIMessage`s of typed parts, whose calls hold their own results, and
//! `ModelMessage`s, whose results are parts of messages of role tool.
//!
//! A call of a `UIMessage` is pending while its part has no output. Version 4 of the SDK kept calls in
//! `toolInvocations`, beside the content or as parts.

mod outputs;

use std::collections::{HashMap, HashSet};

use serde_json::{Value, json};

use crate::hash::sha256;

use crate::call_copies::CallCopies;
use crate::compaction::ProviderCompaction;
use crate::edit::Edit;
use crate::foreign;
use crate::format::{
    Attachments, CallMembers, Format, Hooks, InsertionPoint, MatchScore, NewResult, SummaryMessage, SummaryRole,
    append_line,
};
use crate::formats::shared::blocks;
use crate::formats::shared::blocks::{block_types, is_foreign, reasoning, with_parts};
use crate::formats::shared::fields::{has_any, id, non_null, of_hosted, role_and_name, role_of};
use crate::json::{Json, JsonKind, Object};
use crate::media::MediaKind;
use crate::message::{Arguments, Call, CallPlace, Content, Message, Part, PartKind, RareFields, ResultRef, Role};
use crate::outputs::{CallOutput, HostedResult, OutputShape};
use crate::status::Denial;
use crate::text::Text;
use crate::usage::UsageAt;

use outputs::{only_picture, output_in, tool_output, value_of};

const ROLES: [(&str, Role); 5] = [
    ("user", Role::User),
    ("assistant", Role::Assistant),
    ("system", Role::System),
    ("tool", Role::Tool),
    ("data", Role::Other),
];

/// The part types of a `UIMessage`, besides those with a name in the type.
#[rustfmt::skip]
const UI_PARTS: [&str; 10] = [
    "custom", "reasoning", "reasoning-file", "file", "source", "source-url", "source-document", "steering-message", "step-start", "tool-invocation",
];

/// The member of version 4 with the media beside the content.
const ATTACHMENTS: &str = "experimental_attachments";

/// The format's row.
pub(super) static FORMAT: Format = Format {
    name: "ai-sdk",
    about: "UIMessages and ModelMessages of the AI SDK",
    // Programs put it into the metadata, which have no fixed form. That of several steps is a sum over their requests.
    usage: &[UsageAt { step: Some("step-start"), ..UsageAt::path(&["metadata", "usage"]) }],
    // Version 4 repeats calls beside the parts.
    call_copies: Some(CallCopies { around: &[], lists: &[&["toolInvocations"]], ids: &["toolCallId"] }),
    // The user interface finds its messages by their ids.
    message_id: Some("id"),
    keeps_signatures: true,
    summary_roles: &[SummaryRole::User, SummaryRole::System],
    results_message: Some(r#"{"role":"tool","content":["…"]}"#),
    attachments: Some(Attachments::Read {
        list: |message| message.json.get(ATTACHMENTS),
        append_line: append_to_parts,
    }),
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
    let Some(role) = role_of(&ROLES, message) else { return MatchScore::Mismatch };
    // This reader does not read these members.
    if has_any(message, &["tool_calls", "tool_call_id", "function_call", "type"]) {
        return MatchScore::Mismatch;
    }
    if let Some(parts) = non_null(message, "parts") {
        return match parts.kind() {
            JsonKind::Array if parts.items().next().is_none() => MatchScore::Plain,
            JsonKind::Array if !parts.items().all(|part| is_ui_part(part) || is_of_unknown_type(part)) => {
                MatchScore::Mismatch
            }
            JsonKind::Array if parts.items().any(is_ui_part) => MatchScore::Own("parts with types"),
            JsonKind::Array => MatchScore::Neutral,
            _ => MatchScore::Mismatch,
        };
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

fn read<'a>(message: &Object<'a>) -> Result<Message<'a>, String> {
    let json = message.json;
    let (role, role_name) = role_and_name(message, role_of(&ROLES, message))?;
    let elements = elements(message);
    let content: Vec<Part<'a>> = elements.iter().map(|json| part(*json)).collect();
    let mut calls: Vec<Call<'a>> = elements.iter().filter_map(|json| call(*json)).collect();
    // The whole part around an invocation is the call and is removed with it.
    let parts = message.get("parts").into_iter().flat_map(|parts| parts.items());
    let around = parts.filter_map(|part| Some((part.get("toolInvocation")?.span().start, part)));
    let around: HashMap<usize, Json<'a>> = around.collect();
    for call in &mut calls {
        call.json = around.get(&call.json.span().start).copied().unwrap_or(call.json);
    }
    let content = match content.as_slice() {
        [] => Content::empty(),
        [Part { json, kind: PartKind::Text(text) }] if json.kind() == JsonKind::String => Content::Text(*text),
        _ => Content::Parts(content.into()),
    };
    let mut results: Vec<ResultRef<'a>> = elements.iter().filter_map(|json| answer(*json)).collect();
    // Results of other calls in a message of the model are the provider's own.
    let own: HashSet<_> = calls.iter().filter_map(|call| call.id).map(|id| id.decode()).collect();
    let is_own = |result: &ResultRef<'_>| result.id.is_some_and(|id| own.contains(&id.decode()));
    results.retain(|result| !is_hosted(result.json) && (role != Role::Assistant || is_own(result)));
    outputs::add_duplicates(message, &mut results);
    let attachments = blocks::elements(message.get(ATTACHMENTS), JsonKind::Object);
    let attachments = attachments.map(|json| Part { json, kind: PartKind::Media(MediaKind::of_block(json, "file")) });
    Ok(Message {
        role,
        content: with_parts(content, message.get("content"), attachments.collect()),
        calls: calls.into(),
        results: results.into(),
        rest: RareFields::of_role(role_name),
        ..Message::empty(json)
    })
}

/// Groups a request for approval of a tool with its response, and the call of a provider's own tool with its result.
fn groups(messages: &[Message<'_>]) -> Vec<(usize, usize)> {
    let mut requests = HashMap::new();
    let mut groups = of_hosted(messages, is_hosted, |part| part.member_is("type", "tool-result"));
    for (index, message) in messages.iter().enumerate() {
        for part in message.json.get("content").into_iter().flat_map(|content| content.items()) {
            let approval = part.get_text("approvalId").map(|id| id.decode());
            match (part.get_text("type"), approval) {
                (Some(kind), Some(id)) if kind.is("tool-approval-request") => _ = requests.insert(id, index),
                (Some(kind), Some(id)) if kind.is("tool-approval-response") => {
                    groups.extend(requests.get(&id).map(|&question| (question, index)));
                }
                _ => {}
            }
        }
    }
    groups
}

fn result_output<'a>(_message: &Message<'a>, answer: &ResultRef<'a>) -> Option<CallOutput<'a>> {
    if let Some(sent) = sent_instead(answer.json) {
        return CallOutput::of(Some(sent), OutputShape::Blocks("text"));
    }
    let mut found = output_in(answer.json, OutputShape::Any)?;
    found.duplicates = answer.duplicates.iter().filter_map(|other| other.get("result")).collect();
    Some(found)
}

fn provider_results<'a>(message: &Message<'a>) -> Vec<HostedResult<'a>> {
    let elements = elements(&Object::of(message.json)).into_iter().filter(|json| answer(*json).is_some());
    let answered: HashSet<usize> = message.results.iter().map(|result| result.json.span().start).collect();
    let hosted = elements.filter(|json| !answered.contains(&json.span().start));
    let result = |json| Some(HostedResult { name: name(json), output: output_in(json, OutputShape::Texts)? });
    hosted.filter_map(result).collect()
}

fn write_summary(summary: &SummaryMessage<'_>, at: &InsertionPoint<'_, '_>) -> Vec<Value> {
    let messages = &at.transcript.messages;
    let neighbour = at.neighbour();
    // Messages of version 4 have parts or invocations. A cut may leave neither, so the summary has parts.
    let is_ui = messages.iter().any(|message| has_any(&Object::of(message.json), &["parts", "toolInvocations"]));
    let has = |key: &str| neighbour.is_some_and(|neighbour| neighbour.get(key).is_some());
    let mut message = json!({});
    if is_ui || has("id") {
        message["id"] = json!(new_id(summary.text, neighbour));
    }
    message["role"] = json!(summary.role.name());
    // Version 4 repeats the text beside the parts.
    if !is_ui || has("content") {
        message["content"] = json!(summary.text);
    }
    if is_ui {
        message["parts"] = json!([{"type": "text", "text": summary.text}]);
    }
    vec![message]
}

fn write_result(call: &Call<'_>, _calling: &Message<'_>, text: &str) -> Option<NewResult> {
    if let Some(members) = result_members(call, text) {
        return Some(NewResult::InCall(members));
    }
    call.json.get_text("type").filter(|kind| kind.is("tool-call"))?;
    let mut result = json!({"type": "tool-result", "toolCallId": call.id?.decode(), "toolName": call.name?.decode()});
    match call.json.get("args") {
        None => result["output"] = json!({"type": "error-text", "value": text}),
        Some(_) => {
            result["result"] = json!(text);
            result["isError"] = json!(true);
        }
    }
    Some(NewResult::Entry(result))
}

/// The result in a call of a `UIMessage`, which holds its own.
fn result_members(call: &Call<'_>, text: &str) -> Option<CallMembers> {
    let invocation = call.json.get("toolInvocation");
    let state = invocation.unwrap_or(call.json).get_text("state")?;
    let inside = invocation.map(|_| "toolInvocation");
    // Version 4.
    if ["call", "partial-call"].iter().any(|name| state.is(name)) {
        let members = vec![("state", Some(json!("result"))), ("result", Some(json!(text)))];
        return Some(CallMembers { inside, members });
    }
    // Nobody has approved it.
    let is_open = call.json.get("approval").is_some_and(|approval| approval.get("approved").is_none());
    let mut members = vec![("state", Some(json!("output-error"))), ("errorText", Some(json!(text)))];
    members.extend(is_open.then_some(("approval", None)));
    Some(CallMembers { inside, members })
}

/// Appends a line to the parts of a message, or else to its content.
fn append_to_parts(message: &Message<'_>, line: &str) -> Option<Edit> {
    let parts = message.json.get("parts").filter(|parts| parts.items().next().is_some());
    let Some(parts) = parts else { return append_line(&Object::of(message.json), line) };
    let end = parts.span().end - "]".len();
    Some(Edit { range: end..end, text: format!(",{}", json!({"type": "text", "text": line})) })
}

/// An id that depends only on the text and the neighbour: letters and digits, like the SDK's own ids.
fn new_id(text: &str, neighbour: Option<Json<'_>>) -> String {
    const DIGITS: usize = 16;
    let text = format!("{text}\n{}", neighbour.map_or("", |neighbour| neighbour.raw()));
    sha256(text.as_bytes())[..DIGITS].to_owned()
}

/// Whether a part is a tool part of a `UIMessage`: a call and its result in one.
fn is_ui_tool(part: Json<'_>) -> bool {
    let kind = part.get_text("type").filter(|kind| kind.starts_with("tool-") || kind.is("dynamic-tool"));
    let is_tool_part = || part.get("state").is_some() && part.get("toolCallId").is_some();
    kind.is_some() && is_tool_part()
}

fn is_ui_part(part: Json<'_>) -> bool {
    let Some(kind) = part.get_text("type") else { return false };
    if kind.is("text") {
        return part.get_text("text").is_some();
    }
    is_ui_tool(part) || kind.starts_with("data-") || UI_PARTS.iter().any(|name| kind.is(name))
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

/// The elements of a message: its parts, its content, or its content and the calls beside it. Calls come without the
/// part around them.
fn elements<'a>(message: &Object<'a>) -> Vec<Json<'a>> {
    let list = |key: &str| message.get(key).filter(|list| list.kind() == JsonKind::Array).into_iter();
    let parts: Vec<Json<'a>> = list("parts").flat_map(|parts| parts.items()).collect();
    if !parts.is_empty() {
        return parts.into_iter().map(|part| part.get("toolInvocation").unwrap_or(part)).collect();
    }
    let content = message.get("content").filter(|content| !content.is_falsy());
    let text = content.filter(|content| content.kind() == JsonKind::String);
    let invocations = list("toolInvocations").flat_map(|calls| calls.items());
    text.into_iter().chain(list("content").flat_map(|content| content.items())).chain(invocations).collect()
}

/// Whether the provider runs the tool of a call. It writes the result too, into the same message or a later one, so the
/// client owes none.
fn is_hosted(json: Json<'_>) -> bool {
    json.get("providerExecuted").is_some_and(|executed| !executed.is_falsy())
}

fn call(json: Json<'_>) -> Option<Call<'_>> {
    let id = id(json.get("toolCallId"))?;
    let is_call = !is_hosted(json) && (json.member_is("type", "tool-call") || json.get("state").is_some());
    is_call.then(|| Call {
        json,
        id: Some(id),
        name: name(json),
        arguments: Arguments::of(["input", "args"].iter().find_map(|key| json.get(key))),
        place: CallPlace::Content,
    })
}

/// The name of the tool of a call or a result.
fn name(json: Json<'_>) -> Option<Text<'_>> {
    let of_type = || json.get("type")?.raw().strip_prefix("\"tool-")?.strip_suffix('"').map(Text::plain);
    json.get_text("toolName").or_else(of_type)
}

/// The result in an element: a result part, or the output of a call.
fn answer(json: Json<'_>) -> Option<ResultRef<'_>> {
    let id = id(json.get("toolCallId"))?;
    let is_answer = json.member_is("type", "tool-result") || json.get("state").is_some() && output(json).is_some();
    is_answer.then(|| ResultRef { denial: denial(json), ..ResultRef::new(json, Some(id)) })
}

/// The user's answer to a request for approval, where it is a refusal: beside the state of a call, or as the type of an
/// output. A tool returns a value inside of an output and never its type.
fn denial(json: Json<'_>) -> Option<Box<Denial<'_>>> {
    let is_denied = |approval: &Json<'_>| approval.get("approved").is_some_and(|approved| approved.raw() == "false");
    let is_result = json.member_is("type", "tool-result");
    let typed = || json.get("output").filter(|output| is_result && output.member_is("type", outputs::DENIED));
    let record = json.get("approval").filter(is_denied).or_else(typed)?;
    Some(Box::new(Denial::new(record.get_text("reason"))))
}

/// The parts that version 4 sends in place of a result.
fn sent_instead(result: Json<'_>) -> Option<Json<'_>> {
    result.get("experimental_content").filter(|parts| parts.items().next().is_some())
}

fn output(json: Json<'_>) -> Option<Json<'_>> {
    let known = ["output", "result", "errorText"].iter().find_map(|key| json.get(key));
    // A call that the user denied is finished without output.
    known.or_else(|| json.get("state").filter(|state| state.text().is_some_and(|state| state.is("output-denied"))))
}

fn part(json: Json<'_>) -> Part<'_> {
    Part { json, kind: part_kind(json) }
}

/// The members with what only a provider reads.
const PROVIDER_DATA: [&str; 2] = ["providerMetadata", "providerOptions"];

/// Reads a provider's compaction: a text with Anthropic's mark, or a part of `OpenAI`'s own kind.
fn compaction(json: Json<'_>) -> Option<ProviderCompaction<'_>> {
    let kind = json.get_text("type")?;
    if kind.is("custom") {
        let is_compaction = json.get_text("kind").is_some_and(|kind| kind.decode().ends_with(".compaction"));
        let of_providers = PROVIDER_DATA.iter().filter_map(|data| json.get(data)).flat_map(|data| data.entries());
        let has = |data: Json<'_>, key: &str| data.get(key).is_some_and(|value| !value.is_falsy());
        let is_opaque = of_providers.into_iter().any(|(_, data)| has(data, "encryptedContent") || has(data, "itemId"));
        let compaction = if is_opaque { ProviderCompaction::Opaque } else { ProviderCompaction::Failed };
        return is_compaction.then_some(compaction);
    }
    let mark = PROVIDER_DATA.iter().find_map(|data| json.at(&[data, "anthropic", "type"]));
    let is_marked = mark.and_then(|mark| mark.text()).is_some_and(|mark| mark.is("compaction"));
    let text = json.get_text("text").filter(|_| kind.is("text") && is_marked)?;
    let is_blank = text.decode().trim().is_empty();
    Some(if is_blank { ProviderCompaction::Failed } else { ProviderCompaction::Readable(text) })
}

fn part_kind(json: Json<'_>) -> PartKind<'_> {
    if let Some(text) = json.text() {
        return PartKind::Text(text);
    }
    if answer(json).is_some() {
        let picture = || output(json).filter(|_| is_hosted(json)).and_then(|output| only_picture(value_of(output)));
        return PartKind::Result(match sent_instead(json) {
            Some(sent) => Content::Parts(sent.items().map(part).collect()),
            None => picture().or_else(|| output(json).map(tool_output)).unwrap_or_else(Content::empty),
        });
    }
    if call(json).is_some() {
        return PartKind::Call;
    }
    if let Some(compaction) = compaction(json) {
        return PartKind::Compaction(compaction);
    }
    match json.get_text("type").map(|kind| kind.decode()).as_deref() {
        Some("text") => foreign::text_part(json, "text"),
        Some("reasoning" | "redacted-reasoning") => reasoning(json),
        Some("reasoning-file") => PartKind::Media(MediaKind::of_block(json, "file")),
        Some(kind @ ("image" | "image-data" | "image-url" | "file" | "media" | "file-data" | "file-url")) => {
            PartKind::Media(MediaKind::of_block(json, kind))
        }
        // The user said it while the model worked.
        Some("steering-message") if json.get("parts").is_some() => {
            let said = json.get("parts").into_iter().flat_map(|parts| parts.items());
            PartKind::SaidBy(Role::User, Content::of_parts(said.map(part).collect()))
        }
        Some("step-start" | "source" | "source-url" | "source-document") => PartKind::Other,
        Some("tool-approval-request" | "tool-approval-response") => PartKind::Other,
        Some(kind) if kind.starts_with("data-") => PartKind::Other,
        // A part of a provider.
        Some("custom") if json.get_text("kind").is_some() => PartKind::Other,
        // A call that the provider runs, without output so far.
        Some(_) if json.get("toolCallId").is_some() && json.get("providerExecuted").is_some() => PartKind::Other,
        _ => foreign::part(json),
    }
}

#[cfg(test)]
mod tests;
