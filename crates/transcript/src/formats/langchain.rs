//! Messages of `LangChain` and `LangGraph` in their three encodings.
//!
//! `messages_to_dict` puts the fields under `data`, `model_dump` puts them beside `type`, and `dumps` puts them under
//! `kwargs` of a constructor. The messages of a file show its encoding, and a summary is written in the same one.

use std::collections::HashSet;
use std::str::FromStr;

use serde_json::{Value, json};

use crate::call_copies::CallCopies;
use crate::format::{Format, Hooks, InsertionPoint, MatchScore, NewResult, SummaryMessage, SummaryRole};
use crate::formats::shared::blocks::{block_types, common_block, content};
use crate::formats::shared::fields::{
    check_object, elements_of, has_reasoning, id, list, name, of_hosted, provider, reasoning,
};
use crate::json::{Json, JsonKind, Object};
use crate::media::{self, MediaKind};
use crate::message::{Arguments, Call, CallPlace, Content, Message, Part, PartKind, RareFields, ResultRef, Role};
use crate::outputs::{CallOutput, HostedResult};
use crate::text::Text;
use crate::thin_list::ThinList;
use crate::usage::UsageAt;
use crate::{foreign, outputs, provider_texts};

/// Message types with their class in `dumps`; the chunk classes are also types of their own.
const TYPES: [(&str, &str, Role); 6] = [
    ("human", "HumanMessage", Role::User),
    ("ai", "AIMessage", Role::Assistant),
    ("system", "SystemMessage", Role::System),
    ("tool", "ToolMessage", Role::Tool),
    ("function", "FunctionMessage", Role::Function),
    ("chat", "ChatMessage", Role::Other),
];

/// `LangChain`'s own usage contains what was cached in the input. Where it lacks, the provider's can be there.
const USAGE: [UsageAt; 12] = [
    UsageAt::path(&["data", "usage_metadata"]),
    UsageAt::path(&["kwargs", "usage_metadata"]),
    UsageAt::path(&["usage_metadata"]),
    UsageAt::path(&["data", "response_metadata", "token_usage"]),
    UsageAt::path(&["kwargs", "response_metadata", "token_usage"]),
    UsageAt::path(&["response_metadata", "token_usage"]),
    UsageAt::path(&["data", "response_metadata", "usage"]),
    UsageAt::path(&["kwargs", "response_metadata", "usage"]),
    UsageAt::path(&["response_metadata", "usage"]),
    UsageAt::path(&["data", "response_metadata", "tokenUsage"]),
    UsageAt::path(&["kwargs", "response_metadata", "tokenUsage"]),
    UsageAt::path(&["response_metadata", "tokenUsage"]),
];

/// Where the provider's calls are beside those that `LangChain` parsed.
const CALL_COPIES: CallCopies = CallCopies {
    around: &["kwargs", "data"],
    lists: &[&["additional_kwargs", "tool_calls"], &["tool_calls"], &["tool_call_chunks"], &["content"]],
    ids: &["call_id", "id"],
};

/// The format's row.
pub(super) static FORMAT: Format = Format {
    name: "langchain",
    about: "messages_to_dict, model_dump and dumps of LangChain, LangGraph state and thread values",
    usage: &USAGE,
    call_copies: Some(CALL_COPIES),
    keeps_signatures: true,
    summary_roles: &[SummaryRole::User, SummaryRole::System, SummaryRole::Assistant],
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
    // Lines of session files may have the type `system` too.
    if ["sessionId", "session_id", "uuid"].iter().any(|key| message.get(key).is_some()) {
        return MatchScore::Mismatch;
    }
    match encoding(message) {
        Some(encoding) if message.member_is("type", "remove") || role_of(message, encoding).is_some() => {
            MatchScore::Own("the type of its messages")
        }
        _ => MatchScore::Mismatch,
    }
}

fn read<'a>(message: &Object<'a>) -> Result<Message<'a>, String> {
    let json = message.json;
    check_object(json, "a message")?;
    if message.member_is("type", "remove") {
        return Err("is an instruction to remove a message, so the list is an update, not a state".to_owned());
    }
    let (role, fields) = fields(message).ok_or("has no type that LangChain knows (human, ai, system, tool, …)")?;
    let additional = fields.get("additional_kwargs");
    let is_developer = additional.is_some_and(|additional| additional.member_is("__openai_role__", "developer"));
    let role = if is_developer { Role::Developer } else { role };
    let results = match role {
        Role::Tool => ThinList::from([ResultRef::new(json, id(fields.get("tool_call_id")))]),
        Role::Function => ThinList::from([ResultRef::new(json, None)]),
        _ => results_in_content(&fields),
    };
    let content = content(fields.get("content"), block);
    let is_beside = role == Role::Assistant && !has_reasoning(&content);
    let rest = rest(&fields, role, is_beside);
    Ok(Message {
        role,
        content,
        calls: if role == Role::Assistant { calls(&fields).into() } else { ThinList::default() },
        results,
        rest,
        ..Message::empty(json)
    })
}

/// The results among the blocks of the content.
fn results_in_content<'a>(fields: &Object<'a>) -> ThinList<ResultRef<'a>> {
    let mut results = Vec::new();
    for block in list(fields, "content") {
        if block.member_is("type", "tool_result") {
            results.push(ResultRef::new(block, id(block.get("tool_use_id"))));
        }
    }
    results.into()
}

fn groups(messages: &[Message<'_>]) -> Vec<(usize, usize)> {
    of_hosted(messages, is_provider_call, is_provider_result)
}

fn is_provider_call(block: Json<'_>) -> bool {
    type_ends(block, &["_tool_use", "server_tool_call"])
}

fn is_provider_result(block: Json<'_>) -> bool {
    type_ends(block, &["_tool_result"])
}

fn result_output<'a>(message: &Message<'a>, answer: &ResultRef<'a>) -> Option<CallOutput<'a>> {
    if answer.json.span() != message.json.span() {
        return CallOutput::in_content(answer.json, "text");
    }
    let (_, fields) = fields(&Object::of(message.json))?;
    // The artifact is for the program and not for the model.
    Some(CallOutput::in_content(fields.json, "text")?.with_copies(fields.get("artifact")))
}

fn provider_results<'a>(message: &Message<'a>) -> Vec<HostedResult<'a>> {
    let Some((Role::Assistant, fields)) = fields(&Object::of(message.json)) else { return Vec::new() };
    let lists = [fields.get("content"), additional(&fields, "tool_outputs")];
    outputs::hosted_results(lists.into_iter().flatten().flat_map(|list| list.items()).map(unwrapped))
}

/// The block inside of one that LangChain does not know, which it wraps.
fn unwrapped(block: Json<'_>) -> Json<'_> {
    match block.get("value") {
        Some(inside) if type_ends(block, &["non_standard"]) => inside,
        _ => block,
    }
}

fn write_summary(summary: &SummaryMessage<'_>, at: &InsertionPoint<'_, '_>) -> Vec<Value> {
    let (kind, class) = match summary.role {
        SummaryRole::User => ("human", "HumanMessage"),
        SummaryRole::System => ("system", "SystemMessage"),
        SummaryRole::Assistant => ("ai", "AIMessage"),
    };
    let mut fields = json!({
        "content": summary.text,
        "additional_kwargs": if summary.marked { json!({"lc_source": "summarization"}) } else { json!({}) },
        "response_metadata": {},
        "type": kind,
        "name": summary.name,
        "id": null,
    });
    if summary.role == SummaryRole::Assistant {
        fields["tool_calls"] = json!([]);
        fields["invalid_tool_calls"] = json!([]);
    }
    vec![encode(kind, class, fields, at.neighbour())]
}

fn write_result(call: &Call<'_>, calling: &Message<'_>, text: &str) -> Option<NewResult> {
    let fields = json!({
        "content": text, "additional_kwargs": {}, "response_metadata": {}, "type": "tool",
        "name": call.name.map(|name| name.decode()), "id": null, "tool_call_id": call.id?.decode(), "artifact": null,
        "status": "error",
    });
    Some(NewResult::Entry(encode("tool", "ToolMessage", fields, Some(calling.json))))
}

/// The encoding of a message.
#[derive(Clone, Copy, PartialEq, Eq)]
enum MessageEncoding {
    Dict,
    Dump,
    Constructor,
}

/// Writes a new message in the encoding of its neighbour.
fn encode(kind: &str, class: &str, fields: Value, neighbour: Option<Json<'_>>) -> Value {
    let Some(neighbour) = neighbour else { return fields };
    match encoding(&Object::of(neighbour)) {
        None | Some(MessageEncoding::Dump) => fields,
        Some(MessageEncoding::Dict) => json!({"type": kind, "data": fields}),
        Some(MessageEncoding::Constructor) => {
            json!({"lc": 1, "type": "constructor", "id": class_path(neighbour, class), "kwargs": fields})
        }
    }
}

fn encoding(message: &Object<'_>) -> Option<MessageEncoding> {
    let kind = message.get_text("type")?;
    if kind.is("constructor") && message.get("lc").is_some() && message.get("kwargs").is_some() {
        Some(MessageEncoding::Constructor)
    } else if message.get("data").is_some_and(|data| data.kind() == JsonKind::Object) {
        Some(MessageEncoding::Dict)
    } else if message.get("content").is_some() || kind.is("remove") {
        Some(MessageEncoding::Dump)
    } else {
        None
    }
}

/// The role of a message's type, or of the class of its constructor.
fn role_of(message: &Object<'_>, encoding: MessageEncoding) -> Option<Role> {
    match encoding {
        MessageEncoding::Dict | MessageEncoding::Dump => role(message.get_text("type")?),
        MessageEncoding::Constructor => role(message.get("id")?.items().last()?.text()?),
    }
}

/// The role, and the object with the message's fields.
fn fields<'a>(message: &Object<'a>) -> Option<(Role, Object<'a>)> {
    let encoding = encoding(message)?;
    let fields = match encoding {
        MessageEncoding::Dict => Object::of(message.get("data")?),
        MessageEncoding::Dump => message.clone(),
        MessageEncoding::Constructor => Object::of(message.get("kwargs")?),
    };
    Some((role_of(message, encoding)?, fields))
}

/// A member of the additional fields that the class does not define.
fn additional<'a>(fields: &Object<'a>, key: &str) -> Option<Json<'a>> {
    fields.get("additional_kwargs")?.get(key)
}

/// Reads the rare fields of a message. `is_beside` says whether reasoning can be beside the content.
fn rest<'a>(fields: &Object<'a>, role: Role, is_beside: bool) -> Option<Box<RareFields<'a>>> {
    let reasoning = match fields.get("additional_kwargs") {
        Some(additional) if is_beside => reasoning(&Object::of(additional)),
        _ => None,
    };
    let rest = RareFields {
        reasoning,
        role_name: if role == Role::Other { fields.get_text("role") } else { None },
        name: name(fields),
        total_tokens: total_tokens(fields),
        provider: provider(fields),
        ..RareFields::default()
    };
    rest.boxed()
}

fn total_tokens<T: FromStr>(fields: &Object<'_>) -> Option<T> {
    fields.at(&["usage_metadata", "total_tokens"])?.raw().parse().ok()
}

/// The role of `human`, `HumanMessage` or `HumanMessageChunk`.
fn role(name: Text<'_>) -> Option<Role> {
    let name = name.decode();
    let class_name = name.strip_suffix("Chunk").unwrap_or(&name);
    for (kind, class, role) in TYPES {
        if name == kind || class_name == class {
            return Some(role);
        }
    }
    None
}

/// The calls of a message: those that LangChain parsed, or else their raw copies, or else the single `function_call`,
/// or else those in the content. Calls that LangChain could not parse come last; they have results like the others.
fn calls<'a>(fields: &Object<'a>) -> Vec<Call<'a>> {
    let mut calls = parsed_calls(fields, "tool_calls", CallPlace::List);
    if calls.is_empty() {
        // The arguments in the chunks of a stream are text.
        calls = parsed_calls(fields, "tool_call_chunks", CallPlace::List);
    }
    if calls.is_empty()
        && let Some(raw_calls) = additional(fields, "tool_calls")
    {
        calls = raw_calls.items().map(raw_call).collect();
    }
    if calls.is_empty()
        && let Some(function) = additional(fields, "function_call")
        && function.kind() == JsonKind::Object
    {
        calls.push(Call { place: CallPlace::FunctionCall, ..raw_call(function) });
    }
    if calls.is_empty() {
        for (block, kind) in block_types(fields) {
            if kind.is_some_and(is_call) {
                calls.push(call(block, block.get("input"), CallPlace::Content));
            }
        }
    }
    let invalid = parsed_calls(fields, "invalid_tool_calls", CallPlace::Invalid);
    if invalid.is_empty() {
        return calls;
    }
    // The raw copies include the invalid calls.
    let known: HashSet<_> = calls.iter().filter_map(|call| call.id).map(|id| id.decode()).collect();
    for call in invalid {
        if call.id.is_none_or(|id| !known.contains(&id.decode())) {
            calls.push(call);
        }
    }
    calls
}

/// The calls of a list that LangChain wrote.
fn parsed_calls<'a>(fields: &Object<'a>, key: &str, place: CallPlace) -> Vec<Call<'a>> {
    list(fields, key).map(|json| call(json, json.get("args"), place)).collect()
}

fn call<'a>(json: Json<'a>, arguments: Option<Json<'a>>, place: CallPlace) -> Call<'a> {
    let id = id(json.get("call_id").or_else(|| json.get("id")));
    Call { json, id, name: json.get_text("name"), arguments: Arguments::of(arguments), place }
}

/// Reads a call of the provider in `additional_kwargs`.
fn raw_call(json: Json<'_>) -> Call<'_> {
    let function = json.get("function").unwrap_or(json);
    Call { name: function.get_text("name"), ..call(json, function.get("arguments"), CallPlace::List) }
}

fn is_call(kind: Text<'_>) -> bool {
    kind.is_in(&["tool_use", "function_call", "tool_call"])
}

/// Reads a block. Blocks of `content` are the provider's own, and calls among them are copies of those in `tool_calls`.
fn block<'a>(json: Json<'a>, kind: Text<'a>) -> PartKind<'a> {
    if is_call(kind) {
        PartKind::Call
    } else if kind.is("tool_result") {
        PartKind::Result(content(json.get("content"), common_block))
    } else if provider_texts::is_generated_picture(json) {
        // LangChain does not know it as a picture.
        let medium = Part { json, kind: PartKind::Media(MediaKind::Picture) };
        PartKind::Mixed(Content::Parts(Box::new([medium])))
    } else if is_of_provider(kind) {
        if media::find(json).is_empty() { PartKind::Other } else { foreign::value(json, PartKind::Text) }
    } else {
        common_block(json, kind)
    }
}

/// Whether a block belongs to a call that the provider answers itself, or is a piece of a call that [`calls`] has.
/// There are many types with common endings.
fn is_of_provider(kind: Text<'_>) -> bool {
    const ENDINGS: [&str; 6] = ["_call", "_call_chunk", "_call_output", "tool_use", "_tool_result", "_delta"];
    let kind = kind.decode();
    ENDINGS.iter().any(|ending| kind.ends_with(ending)) || kind == "server_tool_result"
}

fn type_ends(block: Json<'_>, endings: &[&str]) -> bool {
    let Some(kind) = block.get_text("type") else { return false };
    let kind = kind.decode();
    endings.iter().any(|ending| kind.ends_with(ending))
}

/// The module path of a neighbour's class with the class replaced: Python and JavaScript write different paths.
fn class_path(neighbour: Json<'_>, class: &str) -> Vec<String> {
    let mut path = Vec::new();
    for part in elements_of(neighbour, "id") {
        if let Some(name) = part.text() {
            path.push(name.decode().into_owned());
        }
    }
    path.pop();
    path.push(class.to_owned());
    path
}

#[cfg(test)]
mod tests {
    use crate::framing::read_for_test as read;

    #[test]
    fn chunks_of_javascript_calls_that_cannot_be_parsed_and_logs_of_callbacks() {
        let messages = r#"{"type":"HumanMessageChunk","content":"u"},
            {"type":"AIMessageChunk","content":"","tool_calls":[],"invalid_tool_calls":[{"name":"f","args":"{","id":"a","error":null,"type":"invalid_tool_call"}]},
            {"type":"ToolMessageChunk","content":"r","tool_call_id":"a"}"#;
        let constructed = r#"{"lc":1,"type":"constructor","id":["langchain_core","messages","HumanMessageChunk"],"kwargs":{"content":"u"}},
            {"lc":1,"type":"constructor","id":["langchain_core","messages","AIMessageChunk"],"kwargs":{"content":"","tool_calls":[{"name":"f","args":{},"id":"a"}]}},
            {"lc":1,"type":"constructor","id":["langchain_core","messages","ToolMessageChunk"],"kwargs":{"content":"r","tool_call_id":"a"}}"#;
        for list in [messages, constructed] {
            for source in [
                format!("[{list}]"),
                format!(r#"{{"messages":[[{list}]]}}"#),
                format!(r#"{{"lc":1,"type":"constructor","id":["p"],"kwargs":{{"messages":[{list}]}}}}"#),
            ] {
                let document = read(&source, None, None).unwrap_or_else(|error| panic!("{source} {error}"));
                let transcript = &document.transcripts[0];
                assert_eq!(transcript.format.name, "langchain", "{source}");
                assert_eq!(transcript.pairing.pairs, [(1, 2)], "{source}");
            }
        }
    }
}
