//! Reads the events that Copilot sends as messages.

use crate::foreign;
use crate::formats::shared::fields::{call_part, elements_of, id};
use crate::json::{Json, JsonKind, Object};
use crate::media::MediaKind;
use crate::message::{Arguments, Call, CallPlace, Content, Message, Part, PartKind, ResultRef, Role};
use crate::status::Denial;
use crate::text::Text;
use crate::thin_list::ThinList;

/// The members that Copilot shows or logs.
pub(super) const METADATA: [&str; 20] = [
    "citableSources",
    "citations",
    "contents",
    "detailedContent",
    "encryptedContent",
    "fusion",
    "intentionSummary",
    "kind",
    "mcpMeta",
    "remediation",
    "serverTools",
    "shellExecution",
    "source",
    "structuredContent",
    "taggedFilesEntry",
    "toolDescription",
    "toolTelemetry",
    "toolTitle",
    "transformedContent",
    "uiResource",
];

/// How the error of a call begins that the user refused, and what stands before the user's words.
const REFUSED: &str = "The user rejected this tool call";
const FEEDBACK: &str = "User feedback: ";
/// The tools of Copilot whose errors never begin like that.
const OWN_TOOLS: &str = "bash|powershell|edit|create|view|write_bash|str_replace_editor|apply_patch";

/// Whether events of a type can be messages.
pub(super) fn is_known(kind: Text<'_>) -> bool {
    kind.is_in(&[
        "user.message",
        "assistant.message",
        "tool.execution_complete",
        "session.compaction_complete",
        "session.context_cleared",
        "system.notification",
        "skill.context_delivered",
    ])
}

/// Reads an event.
///
/// # Errors
/// It is of a type that is not sent, to follow the words "message 3".
pub(super) fn message<'a>(line: &Object<'a>) -> Result<Message<'a>, String> {
    let kind = line.get_text("type").map(|kind| kind.decode());
    let data = line.get("data").ok_or("is not an event with data")?;
    let mut read = Message { role: Role::User, ..Message::empty(line.json) };
    match kind.as_deref() {
        Some("user.message") => read.content = said_by_user(data),
        Some("assistant.message") => {
            read.role = Role::Assistant;
            read.content = data.get("content").map_or_else(Content::empty, text_or_value);
            read.calls = elements_of(data, "toolRequests").map(call).collect();
        }
        Some("tool.execution_complete") => {
            read.content = returned(data);
            if is_of_user(data) {
                // The user ran it: nobody said what it printed.
                read.content = of_program(data, std::mem::replace(&mut read.content, Content::empty()));
            } else {
                read.role = Role::Tool;
                let result =
                    ResultRef { denial: denial(data), ..ResultRef::new(line.json, id(data.get("toolCallId"))) };
                read.results = ThinList::from([result]);
            }
        }
        Some("session.compaction_complete") => {
            read.earlier = true;
            read.is_boundary = true;
            read.content = data.get("summaryContent").map_or_else(Content::empty, text_or_value);
        }
        Some("session.context_cleared") => {
            read.is_boundary = true;
            read.content = program_text(data, "initialMessage");
        }
        Some("system.notification" | "skill.context_delivered") => read.content = program_text(data, "content"),
        _ => return Err("is not an event that Copilot sends to its model".to_owned()),
    }
    Ok(read)
}

fn text_or_value(json: Json<'_>) -> Content<'_> {
    match json.text() {
        Some(text) => Content::Text(text),
        None if json.kind() == JsonKind::Null => Content::empty(),
        None => Content::Parts(Box::new([Part { json, kind: foreign::part(json) }])),
    }
}

/// Wraps what a program wrote in the user's place.
fn of_program<'a>(json: Json<'a>, content: Content<'a>) -> Content<'a> {
    Content::Parts(Box::new([Part { json, kind: PartKind::Result(content) }]))
}

fn program_text<'a>(data: Json<'a>, key: &str) -> Content<'a> {
    data.get(key).map_or_else(Content::empty, |json| of_program(json, text_or_value(json)))
}

/// What is sent of a message of the user.
pub(super) fn sent_text(data: Json<'_>) -> Option<Json<'_>> {
    for key in ["transformedContent", "content"] {
        if let Some(text) = data.get(key)
            && text.kind() == JsonKind::String
        {
            return Some(text);
        }
    }
    None
}

/// Reads what the user said, and the files that are sent with it.
fn said_by_user(data: Json<'_>) -> Content<'_> {
    let sent = sent_text(data);
    let (Some(json), Some(text)) = (sent, sent.and_then(|sent| sent.text())) else {
        return data.get("content").map_or_else(Content::empty, text_or_value);
    };
    let mut parts = if is_by_program(data) {
        vec![Part { json, kind: PartKind::Result(Content::Text(text)) }]
    } else {
        with_frame(json, text, data.get_text("content"))
    };
    add_files(&mut parts, data, "attachments");
    match parts.as_slice() {
        [Part { kind: PartKind::Text(text), .. }] => Content::Text(*text),
        _ => Content::of_parts(parts.into()),
    }
}

/// Whether Copilot wrote a message in the user's place: a skill, another agent, or a loop that goes on by itself.
fn is_by_program(data: Json<'_>) -> bool {
    data.member_is_true("isAutopilotContinuation")
        || data.get_text("source").is_some_and(|source| !source.is_empty() && !source.is("user"))
}

/// Adds the files of a list that are sent.
fn add_files<'a>(parts: &mut Vec<Part<'a>>, holder: Json<'a>, key: &str) {
    for json in elements_of(holder, key) {
        if is_sent(json) {
            parts.push(Part { json, kind: PartKind::Media(kind_of_file(json)) });
        }
    }
}

/// Takes the words of the user out of what is sent around them.
fn with_frame<'a>(json: Json<'a>, sent: Text<'a>, said: Option<Text<'a>>) -> Vec<Part<'a>> {
    let Some((before, words, behind)) = said.and_then(|said| around(sent, said)) else {
        return vec![Part { json, kind: PartKind::Text(sent) }];
    };
    let mut parts = Vec::new();
    if !before.is_empty() {
        parts.push(Part { json, kind: PartKind::Result(Content::Text(Text::escaped(before))) });
    }
    parts.push(Part { json, kind: PartKind::Text(Text::escaped(words)) });
    if !behind.is_empty() {
        parts.push(Part { json, kind: PartKind::Result(Content::Text(Text::escaped(behind))) });
    }
    parts
}

/// What is sent before the words of the user, the words, and what is sent behind them, as the source spells them.
fn around<'a>(sent: Text<'a>, words: Text<'_>) -> Option<(&'a str, &'a str, &'a str)> {
    if words.is_empty() || words.raw() == sent.raw() {
        return None;
    }
    let (before, behind) = sent.raw().rsplit_once(words.raw())?;
    // Inside an escape are no words.
    if before.ends_with('\\') {
        return None;
    }
    Some((before, &sent.raw()[before.len()..sent.raw().len() - behind.len()], behind))
}

/// Whether the bytes of a file are sent: they stand in it, or in an event that it names.
fn is_sent(file: Json<'_>) -> bool {
    holds(file, "mimeType") && (holds(file, "data") || holds(file, "assetId")) && !holds(file, "omittedReason")
}

/// Whether a member holds something.
pub(super) fn holds(json: Json<'_>, key: &str) -> bool {
    json.get(key).is_some_and(|value| !value.is_falsy())
}

fn kind_of_file(file: Json<'_>) -> MediaKind {
    match file.get_text("mimeType") {
        Some(mime) => MediaKind::of_type(&mime.decode()),
        None => MediaKind::Document,
    }
}

/// The list with the files that are sent with a message or a result.
pub(super) fn attachments(line: Json<'_>) -> Option<Json<'_>> {
    let data = line.get("data")?;
    let list = data.get("attachments").or_else(|| data.at(&["result", "binaryResultsForLlm"]));
    let list = list?;
    if list.items().any(is_sent) { Some(list) } else { None }
}

fn call(json: Json<'_>) -> Call<'_> {
    let arguments = Arguments::of(json.get("arguments"));
    Call { arguments, place: CallPlace::List, ..call_part(json, json, ["toolCallId", "name", "arguments"]) }
}

/// Whether the user ran a command: its output is sent without a call.
pub(super) fn is_of_user(data: Json<'_>) -> bool {
    data.member_is_true("isUserRequested")
}

/// Whether a call succeeded.
pub(super) fn has_succeeded(data: Json<'_>) -> bool {
    data.get("success").is_none_or(|success| success.raw() != "false")
}

/// The value that holds what a call returned, or its error.
pub(super) fn output(data: Json<'_>) -> Option<Json<'_>> {
    if has_succeeded(data) { data.at(&["result", "content"]) } else { data.at(&["error", "message"]) }
}

/// Reads what a call returned.
fn returned(data: Json<'_>) -> Content<'_> {
    let Some(json) = output(data) else { return Content::empty() };
    let content = text_or_value(json);
    let (Content::Text(text), Some(result)) = (&content, data.get("result")) else { return content };
    let mut parts = vec![Part { json, kind: PartKind::Text(*text) }];
    if has_succeeded(data) {
        add_files(&mut parts, result, "binaryResultsForLlm");
    }
    if parts.len() == 1 { content } else { Content::Parts(parts.into()) }
}

/// The record that the user refused a call: its error. Only Copilot's own tools have no other errors like it.
fn denial(data: Json<'_>) -> Option<Box<Denial<'_>>> {
    let error = data.at(&["error", "message"])?.text()?;
    if has_succeeded(data) || !error.starts_with(REFUSED) {
        return None;
    }
    let denial =
        if error.raw().contains(FEEDBACK) { Denial::new(Some(error)).behind(FEEDBACK) } else { Denial::new(None) };
    Some(Box::new(denial.of_tools(OWN_TOOLS)))
}
