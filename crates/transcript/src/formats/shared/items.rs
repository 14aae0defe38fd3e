//! Single items of the Responses API, in requests and in the session files of Codex.

use std::borrow::Cow;
use std::collections::{HashMap, HashSet};

use serde_json::{Value, json};

use crate::compaction::ProviderCompaction;
use crate::format::SummaryMessage;
use crate::formats::shared::blocks::{common_block, content, reasoning_parts};
use crate::formats::shared::fields::{check_object, id, non_null, role_of};
use crate::json::{Json, Object};
use crate::media::MediaKind;
use crate::message::{Arguments, Call, CallPlace, Content, Message, Part, PartKind, RareFields, ResultRef, Role};
use crate::outputs::{CallOutput, HostedResult, OutputShape};
use crate::status::Denial;
use crate::text::Text;
use crate::thin_list::ThinList;
use crate::{foreign, outputs, provider_texts};

pub(crate) const ROLES: [(&str, Role); 4] =
    [("user", Role::User), ("assistant", Role::Assistant), ("system", Role::System), ("developer", Role::Developer)];

/// Calls that the client answers: their type, the tool's name if the call has none, and the type of the result.
pub(crate) const CALLS: [(&str, &str, &str); 9] = [
    ("function_call", "function", "function_call_output"),
    ("custom_tool_call", "custom_tool", "custom_tool_call_output"),
    ("local_shell_call", "local_shell", "local_shell_call_output"),
    ("shell_call", "shell", "shell_call_output"),
    ("apply_patch_call", "apply_patch", "apply_patch_call_output"),
    ("computer_call", "computer", "computer_call_output"),
    ("tool_search_call", "tool_search", "tool_search_output"),
    ("mcp_approval_request", "mcp_approval", "mcp_approval_response"),
    ("program", "program", "program_output"),
];

/// Calls that the server answers in the same item.
#[rustfmt::skip]
const HOSTED: &[&str] = &[
    "web_search_call", "file_search_call", "code_interpreter_call", "image_generation_call", "mcp_call",
    "mcp_list_tools",
];

/// Members of hosted calls and tool searches with readable content.
#[rustfmt::skip]
const READABLE: [&str; 12] = [
    "name", "revised_prompt", "action", "queries", "arguments", "code", "query", "results", "outputs", "output",
    "error", "tools",
];

/// The kind of an item.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Item {
    Message,
    Reasoning,
    Call,
    Result,
    Hosted,
    Reference,
    Tools,
    Compaction,
}

/// The output in an item.
pub(crate) fn output<'a>(item: Json<'a>) -> Option<CallOutput<'a>> {
    // That of a program has another name.
    let output = item.get("output").or_else(|| item.get("result"));
    CallOutput::of(output, OutputShape::Blocks("input_text"))
}

/// The result in an item of a tool that the server runs.
pub(crate) fn hosted(json: Json<'_>) -> Vec<HostedResult<'_>> {
    if kind(&Object::of(json)) != Some(Item::Hosted) {
        return Vec::new();
    }
    outputs::hosted_results(std::iter::once(json))
}

/// Writes a result for a call. That of a computer is a picture, and that of a request for approval a decision of the
/// user; neither can be written.
pub(crate) fn result(call: &Call<'_>, text: &str) -> Option<Value> {
    let kind = call.json.get_text("type")?;
    let (name, _, answer) = CALLS.iter().find(|(name, ..)| kind.is(name))?;
    let mut result = json!({"type": answer, "call_id": call.id?.decode()});
    match *name {
        "function_call" | "custom_tool_call" => result["output"] = json!(text),
        "local_shell_call" => {
            result["id"] = result["call_id"].clone();
            result["output"] = json!(text);
        }
        "shell_call" => {
            let outcome = json!({"type": "exit", "exit_code": 1});
            result["output"] = json!([{"stdout": "", "stderr": text, "outcome": outcome}]);
        }
        "apply_patch_call" => {
            result["status"] = json!("failed");
            result["output"] = json!(text);
        }
        "tool_search_call" => {
            result["execution"] = json!("client");
            result["tools"] = json!([]);
        }
        _ => return None,
    }
    Some(result)
}

/// The kind of an item; `None` if it is not an item.
pub(crate) fn kind(item: &Object<'_>) -> Option<Item> {
    let Some(kind) = non_null(item, "type") else { return kind_without_type(item) };
    let kind = kind.text()?;
    match kind.decode().as_ref() {
        "message" if item.get_text("role").is_some() => Some(Item::Message),
        "message" => None,
        "tool_search_call" | "tool_search_output" if is_hosted(item) => Some(Item::Hosted),
        "reasoning" => Some(Item::Reasoning),
        "item_reference" => Some(Item::Reference),
        "additional_tools" => Some(Item::Tools),
        "compaction" | "context_compaction" | "compaction_summary" => Some(Item::Compaction),
        kind => known_call_or_result(kind).or_else(|| kind_by_ending(item, kind)),
    }
}

fn kind_without_type(item: &Object<'_>) -> Option<Item> {
    if item.get_text("role").is_some() && item.get("content").is_some() {
        Some(Item::Message)
    } else if item.get_text("id").is_some() && item.json.entries().nth(2).is_none() {
        Some(Item::Reference)
    } else {
        None
    }
}

/// The kind of a call or a result whose type is known.
fn known_call_or_result(kind: &str) -> Option<Item> {
    for (call, _, result) in CALLS {
        if kind == call {
            return Some(Item::Call);
        }
        if kind == result {
            return Some(Item::Result);
        }
    }
    if HOSTED.contains(&kind) { Some(Item::Hosted) } else { None }
}

/// The kind of an item of an unknown type by the common endings of all types so far.
fn kind_by_ending(item: &Object<'_>, kind: &str) -> Option<Item> {
    if kind.ends_with("_call_output") {
        Some(Item::Result)
    } else if !kind.ends_with("_call") {
        None
    } else if non_null(item, "call_id").is_some() {
        Some(Item::Call)
    } else {
        Some(Item::Hosted)
    }
}

/// Whether the type of an item is known by its full name, and not only by its ending.
pub(crate) fn is_known(item: &Object<'_>) -> bool {
    let Some(kind) = item.get_text("type") else { return true };
    let kind = kind.decode();
    known_call_or_result(&kind).is_some() || kind_by_ending(item, &kind).is_none()
}

/// Whether an item has a type that is not known.
pub(crate) fn is_of_unknown_type(item: &Object<'_>) -> bool {
    item.get_text("type").is_some_and(|kind| !kind.is("message")) && kind(item).is_none()
}

/// Whether an item has a member that messages of other programs have, too. Where its type is not known, only other items
/// tell whether it is an item.
pub(crate) fn has_member_of_others(item: &Object<'_>) -> bool {
    const OF_OTHERS: [&str; 12] = [
        "role",
        "content",
        "message",
        "payload",
        "data",
        "parts",
        "kwargs",
        "timestamp",
        "uuid",
        "sessionId",
        "session_id",
        "parentId",
    ];
    OF_OTHERS.iter().any(|key| item.get(key).is_some())
}

/// The id of the call to which an item of an unknown type belongs.
fn unknown_call<'a>(item: &Object<'a>) -> Option<Cow<'a, str>> {
    let id = item.get_text("call_id")?;
    if is_of_unknown_type(item) { Some(id.decode()) } else { None }
}

/// The type of an item that is not known and names a call without another item that names it, too.
pub(crate) fn unpaired_type<'a>(items: &[Json<'a>]) -> Option<Cow<'a, str>> {
    let mut named: HashMap<Cow<'_, str>, usize> = HashMap::new();
    for id in items.iter().filter_map(|item| item.get_text("call_id")) {
        *named.entry(id.decode()).or_default() += 1;
    }
    for item in items {
        let object = Object::of(*item);
        if unknown_call(&object).is_some_and(|id| named[&id] < 2) {
            return object.get_text("type").map(|kind| kind.decode());
        }
    }
    None
}

/// Whether a tool search is run by the server.
fn is_hosted(item: &Object<'_>) -> bool {
    item.member_is("execution", "server") || non_null(item, "call_id").is_none()
}

/// Creates a message without calls and results.
pub(crate) fn message_of<'a>(json: Json<'a>, role: Role, content: Content<'a>) -> Message<'a> {
    Message { role, content, ..Message::empty(json) }
}

/// Reads one item.
///
/// # Errors
/// What the value is instead.
pub(crate) fn item<'a>(item: &Object<'a>) -> Result<Message<'a>, String> {
    let json = item.json;
    check_object(json, "an item")?;
    let Some(kind) = kind(item) else {
        return Err("is not an item with a type that is known, and has no role".to_owned());
    };
    Ok(match kind {
        Item::Message => message(item),
        Item::Reasoning => message_of(json, Role::Assistant, Content::of_parts(reasoning_parts(json).into())),
        Item::Tools => message_of(json, Role::Developer, readable_content(json)),
        Item::Hosted => message_of(json, Role::Assistant, readable_content(json)),
        Item::Reference => message_of(json, Role::Assistant, Content::empty()),
        Item::Compaction => {
            let kind = PartKind::Compaction(ProviderCompaction::of(json));
            message_of(json, Role::Assistant, Content::Parts(Box::new([Part { json, kind }])))
        }
        Item::Call => {
            Message { calls: ThinList::from([call(item)]), ..message_of(json, Role::Assistant, Content::empty()) }
        }
        Item::Result => result_message(item),
    })
}

fn result_message<'a>(item: &Object<'a>) -> Message<'a> {
    let json = item.json;
    let output = non_null(item, "output").or_else(|| non_null(item, "result"));
    let content = match (output, item.get("approve")) {
        (Some(output), _) => output_of(output),
        (None, Some(approved)) => Content::Text(Text::plain(approved.raw())),
        (None, None) => readable_content(json),
    };
    if is_handoff(item) {
        return message_of(json, Role::User, content);
    }
    let call_id = ["call_id", "approval_request_id", "id"].into_iter().find_map(|key| id(item.get(key)));
    let result = ResultRef { denial: denial(item), ..ResultRef::new(json, call_id) };
    Message { results: ThinList::from([result]), ..message_of(json, Role::Tool, content) }
}

/// The user's answer to a request for approval, where it is a refusal.
fn denial<'a>(item: &Object<'a>) -> Option<Box<Denial<'a>>> {
    if !item.member_is("type", "mcp_approval_response") || item.get("approve")?.raw() != "false" {
        return None;
    }
    Some(Box::new(Denial::new(item.get_text("reason"))))
}

/// Whether an item has the form of a result but answers no call: another agent hands over its task in it.
fn is_handoff(item: &Object<'_>) -> bool {
    non_null(item, "call_id").is_none() && item.get_text("name").is_some()
}

fn message<'a>(item: &Object<'a>) -> Message<'a> {
    let role = role_of(&ROLES, item).unwrap_or(Role::Other);
    let role_name = if role == Role::Other { item.get_text("role") } else { None };
    Message { rest: RareFields::of_role(role_name), ..message_of(item.json, role, content_of(item)) }
}

/// The content of a message.
pub(crate) fn content_of<'a>(item: &Object<'a>) -> Content<'a> {
    content(item.get("content"), block)
}

fn call<'a>(item: &Object<'a>) -> Call<'a> {
    let kind = item.get_text("type").unwrap_or_else(|| Text::plain(""));
    let named = CALLS.iter().find(|(name, ..)| kind.is(name)).map(|(_, name, _)| Text::plain(name));
    let arguments = ["arguments", "input", "action", "actions", "operation", "code"];
    Call {
        json: item.json,
        id: id(non_null(item, "call_id").or_else(|| item.get("id"))),
        name: item.get_text("name").or(named),
        arguments: Arguments::of(arguments.iter().find_map(|key| non_null(item, key))),
        place: CallPlace::List,
    }
}

/// Reads the content of an item that is neither a message nor a call.
fn readable_content(json: Json<'_>) -> Content<'_> {
    if provider_texts::is_generated_picture(json) {
        return Content::Parts(Box::new([Part { json, kind: PartKind::Media(MediaKind::Picture) }]));
    }
    let mut parts = Vec::new();
    for key in READABLE {
        let Some(value) = json.get(key) else { continue };
        if value.is_falsy() {
            continue;
        }
        match output_of(value) {
            Content::Text(text) => parts.push(Part { json: value, kind: PartKind::Text(text) }),
            Content::Parts(of_value) => parts.extend(of_value),
        }
    }
    Content::of_parts(parts.into())
}

/// Reads the output of a tool: a text, parts, or any other value as it is spelled.
fn output_of(value: Json<'_>) -> Content<'_> {
    match content(Some(value), block) {
        Content::Text(text) => Content::Text(text),
        Content::Parts(parts) => Content::Parts(parts.into_iter().map(readable).collect()),
    }
}

fn readable(part: Part<'_>) -> Part<'_> {
    match part.kind {
        PartKind::Other | PartKind::Foreign(_) => Part { kind: foreign::value(part.json, PartKind::Text), ..part },
        _ => part,
    }
}

fn block<'a>(json: Json<'a>, kind: Text<'a>) -> PartKind<'a> {
    if kind.is_in(&["input_text", "output_text"]) {
        foreign::text_part(json, "text")
    } else if provider_texts::is_blank_screenshot(json) {
        PartKind::Text(Text::plain(""))
    } else if kind.is_in(&["input_image", "computer_screenshot"]) {
        PartKind::Media(MediaKind::Picture)
    } else if kind.is("input_file") {
        PartKind::Media(MediaKind::of_block(json, "file"))
    } else {
        common_block(json, kind)
    }
}

/// Groups items that the provider accepts only together: reasoning with the rest of the same response, a hosted search
/// with its results, a reference with the item it names.
pub(crate) fn groups<'a>(items: impl Iterator<Item = Json<'a>>) -> Vec<(usize, usize)> {
    let mut groups = Vec::new();
    let mut named = HashMap::new();
    let mut searches: Vec<usize> = Vec::new();
    let mut calls: HashMap<Cow<'_, str>, usize> = HashMap::new();
    // The first reasoning of a response and the last of its items so far.
    let mut response: Option<(usize, usize)> = None;
    let all: Vec<Json<'a>> = items.collect();
    for (index, json) in all.iter().enumerate() {
        let item = Object::of(*json);
        let kind = kind(&item);
        // The provider inserts compactions between items that belong together.
        if kind == Some(Item::Compaction) {
            continue;
        }
        if let Some(id) = item.get_text("id") {
            let id = id.decode();
            if kind != Some(Item::Reference) {
                named.insert(id, index);
            } else if let Some(&first) = named.get(&id) {
                groups.push((first, index));
            }
        }
        // What an item of an unknown type does with its call is not known, so all that name it stay together.
        if let Some(id) = item.get_text("call_id") {
            let first = *calls.entry(id.decode()).or_insert(index);
            if is_of_unknown_type(&item) || is_of_unknown_type(&Object::of(all[first])) {
                groups.push((first, index));
            }
        }
        if !is_of_the_model(kind, &item) {
            groups.extend(response.take());
            searches.clear();
            continue;
        }
        response = match response {
            Some((first, _)) => Some((first, index)),
            None if kind == Some(Item::Reasoning) => Some((index, index)),
            None => None,
        };
        if kind != Some(Item::Hosted) {
            continue;
        }
        if item.member_is("type", "tool_search_call") {
            searches.push(index);
        } else if item.member_is("type", "tool_search_output")
            && let Some(search) = searches.pop()
        {
            groups.push((search, index));
        }
    }
    groups.extend(response);
    groups.retain(|(first, last)| first < last);
    groups
}

/// Reasoning that no output of the model follows. Reasoning with an id must be followed by an item with an id.
pub(crate) fn violations<'a>(items: impl Iterator<Item = Json<'a>>) -> Vec<(usize, &'static str)> {
    let mut alone = Vec::new();
    let mut waiting: Vec<(usize, bool)> = Vec::new();
    for (index, json) in items.enumerate() {
        let item = Object::of(json);
        let kind = kind(&item);
        if kind == Some(Item::Compaction) {
            continue;
        }
        let has_id = item.get_text("id").is_some();
        if kind == Some(Item::Reasoning) {
            waiting.push((index, has_id));
        } else if is_of_the_model(kind, &item) {
            let is_other = kind == Some(Item::Message) && !has_id;
            alone.extend(waiting.drain(..).filter(|(_, named)| *named && is_other));
        } else {
            alone.append(&mut waiting);
        }
    }
    alone.append(&mut waiting);
    alone.into_iter().map(|(index, _)| (index, "reasoning must be followed by what the model made of it")).collect()
}

fn is_of_the_model(kind: Option<Item>, item: &Object<'_>) -> bool {
    match kind {
        Some(Item::Message) => item.member_is("role", "assistant"),
        Some(Item::Reasoning | Item::Call | Item::Hosted | Item::Reference) => true,
        // It may belong to the reasoning before it, unless it says that somebody else wrote it.
        None => is_of_unknown_type(item) && !names_another_author(item),
        _ => false,
    }
}

/// Whether an item of an unknown type says that the user, another agent or a tool wrote it.
fn names_another_author(item: &Object<'_>) -> bool {
    item.get("author").is_some() || item.get_text("role").is_some_and(|role| !role.is("assistant"))
}

/// Whether any item that the model made has an id. The provider then knows which reasoning led to which item.
pub(crate) fn have_ids<'a>(items: impl Iterator<Item = Json<'a>>) -> bool {
    for item in items.map(Object::of) {
        if is_of_the_model(kind(&item), &item) && item.get_text("id").is_some_and(|id| !id.is_empty()) {
            return true;
        }
    }
    false
}

/// Whether a reference names an item that does not precede it.
pub(crate) fn unknown_references<'a>(items: impl Iterator<Item = Json<'a>>) -> bool {
    let mut known = HashSet::new();
    for item in items.map(Object::of) {
        let id = item.get_text("id").map(|id| id.decode());
        if kind(&item) != Some(Item::Reference) {
            known.extend(id);
        } else if id.is_none_or(|id| !known.contains(&id)) {
            return true;
        }
    }
    false
}

/// Writes a summary as an item in its full form.
pub(crate) fn summary(summary: &SummaryMessage<'_>) -> Value {
    json!({"type": "message", "role": summary.role.name(), "content": [{"type": "input_text", "text": summary.text}]})
}
