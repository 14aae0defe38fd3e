//! Messages of the AI SDK, of both kinds: `UIMessage`s of typed parts, whose calls hold their own results, and
//! `ModelMessage`s, whose results are parts of messages of role tool.
//!
//! A call of a `UIMessage` is pending while its part has no output. Version 4 of the SDK kept calls in
//! `toolInvocations`, beside the content or as parts.

mod outputs;
mod score;

use std::collections::{HashMap, HashSet};

use serde_json::{Value, json};

use crate::call_copies::CallCopies;
use crate::compaction::ProviderCompaction;
use crate::edit::Edit;
use crate::foreign;
use crate::format::{
    Attachments, CallMembers, Format, Hooks, InsertionPoint, NewResult, SummaryMessage, SummaryRole, append_line,
};
use crate::formats::shared::blocks::{self, reasoning, with_parts};
use crate::formats::shared::fields::{elements_of, has_any, id, list, of_hosted, role_and_name, role_of};
use crate::hash::sha256;
use crate::json::{Json, JsonKind, Object};
use crate::media::MediaKind;
use crate::message::{Arguments, Call, CallPlace, Content, Message, Part, PartKind, RareFields, ResultRef, Role};
use crate::outputs::{CallOutput, HostedResult, OutputShape};
use crate::status::Denial;
use crate::text::Text;
use crate::usage::UsageAt;

use outputs::{only_picture, output_in, tool_output, value_of};
use score::match_score;

const ROLES: [(&str, Role); 5] = [
    ("user", Role::User),
    ("assistant", Role::Assistant),
    ("system", Role::System),
    ("tool", Role::Tool),
    ("data", Role::Other),
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

fn read<'a>(message: &Object<'a>) -> Result<Message<'a>, String> {
    let json = message.json;
    let (role, role_name) = role_and_name(message, role_of(&ROLES, message))?;
    let elements = elements(message);
    let mut content = Vec::with_capacity(elements.len());
    let mut calls: Vec<Call<'a>> = Vec::new();
    let mut results: Vec<ResultRef<'a>> = Vec::new();
    for json in elements {
        content.push(part(json));
        calls.extend(call(json));
        results.extend(answer(json));
    }
    // The whole part around an invocation is the call and is removed with it.
    let mut around = HashMap::new();
    for part in list(message, "parts") {
        if let Some(invocation) = part.get("toolInvocation") {
            around.insert(invocation.span().start, part);
        }
    }
    for call in &mut calls {
        if let Some(part) = around.get(&call.json.span().start) {
            call.json = *part;
        }
    }
    let content = match content.as_slice() {
        [] => Content::empty(),
        [Part { json, kind: PartKind::Text(text) }] if json.kind() == JsonKind::String => Content::Text(*text),
        _ => Content::Parts(content.into()),
    };
    results.retain(|result| !is_hosted(result.json));
    if role == Role::Assistant {
        // Results of other calls in a message of the model are the provider's own.
        let called: HashSet<_> = calls.iter().filter_map(|call| call.id).map(|id| id.decode()).collect();
        results.retain(|result| result.id.is_some_and(|id| called.contains(&id.decode())));
    }
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
        for part in elements_of(message.json, "content") {
            let Some(id) = part.get_text("approvalId") else { continue };
            let id = id.decode();
            if part.member_is("type", "tool-approval-request") {
                requests.insert(id, index);
            } else if part.member_is("type", "tool-approval-response")
                && let Some(&question) = requests.get(&id)
            {
                groups.push((question, index));
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
    let answered: HashSet<usize> = message.results.iter().map(|result| result.json.span().start).collect();
    let mut found = Vec::new();
    for json in elements(&Object::of(message.json)) {
        if answered.contains(&json.span().start) || answer(json).is_none() {
            continue;
        }
        if let Some(output) = output_in(json, OutputShape::Texts) {
            found.push(HostedResult { name: name(json), output });
        }
    }
    found
}

fn write_summary(summary: &SummaryMessage<'_>, at: &InsertionPoint<'_, '_>) -> Vec<Value> {
    let messages = &at.transcript.messages;
    let neighbour = at.neighbour();
    // Messages of version 4 have parts or invocations. A cut may leave neither, so the summary has parts.
    let is_ui = messages.iter().any(|message| has_any(&Object::of(message.json), &["parts", "toolInvocations"]));
    let mut message = json!({});
    if is_ui || neighbour.and_then(|neighbour| neighbour.get("id")).is_some() {
        message["id"] = json!(new_id(summary.text, neighbour));
    }
    message["role"] = json!(summary.role.name());
    // Version 4 repeats the text beside the parts.
    if !is_ui || neighbour.and_then(|neighbour| neighbour.get("content")).is_some() {
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
    if !call.json.member_is("type", "tool-call") {
        return None;
    }
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
    let inside = if invocation.is_some() { Some("toolInvocation") } else { None };
    // Version 4.
    if state.is_in(&["call", "partial-call"]) {
        let members = vec![("state", Some(json!("result"))), ("result", Some(json!(text)))];
        return Some(CallMembers { inside, members });
    }
    let mut members = vec![("state", Some(json!("output-error"))), ("errorText", Some(json!(text)))];
    // Nobody has approved it.
    if call.json.get("approval").is_some_and(|approval| approval.get("approved").is_none()) {
        members.push(("approval", None));
    }
    Some(CallMembers { inside, members })
}

/// Appends a line to the parts of a message, or else to its content.
fn append_to_parts(message: &Message<'_>, line: &str) -> Option<Edit> {
    match message.json.get("parts") {
        Some(parts) if parts.items().next().is_some() => {
            let end = parts.span().end - "]".len();
            Some(Edit { range: end..end, text: format!(",{}", json!({"type": "text", "text": line})) })
        }
        _ => append_line(&Object::of(message.json), line),
    }
}

/// An id that depends only on the text and the neighbour: letters and digits, like the SDK's own ids.
fn new_id(text: &str, neighbour: Option<Json<'_>>) -> String {
    const DIGITS: usize = 16;
    let text = format!("{text}\n{}", neighbour.map_or("", |neighbour| neighbour.raw()));
    sha256(text.as_bytes())[..DIGITS].to_owned()
}

/// The elements of a message: its parts, its content, or its content and the calls beside it. Calls come without the
/// part around them.
fn elements<'a>(message: &Object<'a>) -> Vec<Json<'a>> {
    let mut elements = Vec::new();
    for part in list(message, "parts") {
        elements.push(part.get("toolInvocation").unwrap_or(part));
    }
    if !elements.is_empty() {
        return elements;
    }
    match message.get("content") {
        Some(text) if text.kind() == JsonKind::String && !text.is_falsy() => elements.push(text),
        _ => elements.extend(list(message, "content")),
    }
    elements.extend(list(message, "toolInvocations"));
    elements
}

/// Whether the provider runs the tool of a call. It writes the result too, into the same message or a later one, so the
/// client owes none.
fn is_hosted(json: Json<'_>) -> bool {
    json.get("providerExecuted").is_some_and(|executed| !executed.is_falsy())
}

fn call(json: Json<'_>) -> Option<Call<'_>> {
    let id = id(json.get("toolCallId"))?;
    if is_hosted(json) || !json.member_is("type", "tool-call") && json.get("state").is_none() {
        return None;
    }
    Some(Call {
        json,
        id: Some(id),
        name: name(json),
        arguments: Arguments::of(["input", "args"].iter().find_map(|key| json.get(key))),
        place: CallPlace::Content,
    })
}

/// The name of the tool of a call or a result: in a member, or behind `tool-` in the type.
fn name(json: Json<'_>) -> Option<Text<'_>> {
    if let Some(name) = json.get_text("toolName") {
        return Some(name);
    }
    json.get("type")?.raw().strip_prefix("\"tool-")?.strip_suffix('"').map(Text::plain)
}

/// The result in an element: a result part, or the output of a call.
fn answer(json: Json<'_>) -> Option<ResultRef<'_>> {
    let id = id(json.get("toolCallId"))?;
    if !json.member_is("type", "tool-result") && (json.get("state").is_none() || output(json).is_none()) {
        return None;
    }
    Some(ResultRef { denial: denial(json), ..ResultRef::new(json, Some(id)) })
}

/// The user's answer to a request for approval, where it is a refusal: beside the state of a call, or as the type of an
/// output. A tool returns a value inside of an output and never its type.
fn denial(json: Json<'_>) -> Option<Box<Denial<'_>>> {
    let record = match json.get("approval") {
        Some(approval) if approval.get("approved").is_some_and(|approved| approved.raw() == "false") => approval,
        _ if json.member_is("type", "tool-result") => {
            json.get("output").filter(|output| output.member_is("type", outputs::DENIED))?
        }
        _ => return None,
    };
    Some(Box::new(Denial::new(record.get_text("reason"))))
}

/// The parts that version 4 sends in place of a result.
fn sent_instead(result: Json<'_>) -> Option<Json<'_>> {
    result.get("experimental_content").filter(|parts| parts.items().next().is_some())
}

fn output(json: Json<'_>) -> Option<Json<'_>> {
    let known = ["output", "result", "errorText"].iter().find_map(|key| json.get(key));
    // A call that the user denied is finished without output.
    if known.is_none() && json.member_is("state", "output-denied") {
        return json.get("state");
    }
    known
}

fn part(json: Json<'_>) -> Part<'_> {
    Part { json, kind: part_kind(json) }
}

/// The members with what only a provider reads.
const PROVIDER_DATA: [&str; 2] = ["providerMetadata", "providerOptions"];

/// Reads a provider's compaction: a text with Anthropic's mark, or a part of `OpenAI`'s own kind.
fn compaction(json: Json<'_>) -> Option<ProviderCompaction<'_>> {
    if json.member_is("type", "custom") {
        return custom_compaction(json);
    }
    let mark = PROVIDER_DATA.iter().find_map(|data| json.at(&[data, "anthropic", "type"]))?;
    if !json.member_is("type", "text") || !mark.text()?.is("compaction") {
        return None;
    }
    let text = json.get_text("text")?;
    let is_blank = text.decode().trim().is_empty();
    Some(if is_blank { ProviderCompaction::Failed } else { ProviderCompaction::Readable(text) })
}

/// Reads a compaction in a part of a provider's own kind.
fn custom_compaction(json: Json<'_>) -> Option<ProviderCompaction<'_>> {
    if !json.get_text("kind")?.decode().ends_with(".compaction") {
        return None;
    }
    for providers in PROVIDER_DATA.iter().filter_map(|data| json.get(data)) {
        for (_, data) in providers.entries() {
            if has_data(data, "encryptedContent") || has_data(data, "itemId") {
                return Some(ProviderCompaction::Opaque);
            }
        }
    }
    Some(ProviderCompaction::Failed)
}

fn has_data(data: Json<'_>, key: &str) -> bool {
    data.get(key).is_some_and(|value| !value.is_falsy())
}

/// Reads the content of a result.
fn result_content(json: Json<'_>) -> Content<'_> {
    if let Some(sent) = sent_instead(json) {
        return Content::Parts(sent.items().map(part).collect());
    }
    let Some(output) = output(json) else { return Content::empty() };
    if is_hosted(json)
        && let Some(picture) = only_picture(value_of(output))
    {
        return picture;
    }
    tool_output(output)
}

fn part_kind(json: Json<'_>) -> PartKind<'_> {
    if let Some(text) = json.text() {
        return PartKind::Text(text);
    }
    if answer(json).is_some() {
        return PartKind::Result(result_content(json));
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
            PartKind::SaidBy(Role::User, Content::of_parts(elements_of(json, "parts").map(part).collect()))
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
