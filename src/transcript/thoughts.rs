//! Where the thinking of Claude stands in a message, in whatever format it was written down, and which model wrote it.
//!
//! Thinking of OpenAI's and Google's models is not looked for: it is not signed for what stood before it, and their calls
//! are refused without it.

use memchr::memmem;

use crate::transcript::format::Transcript;
use crate::transcript::json::{Json, Kind, Object};
use crate::transcript::message::{Message, Role};

/// A piece of thinking in a message.
#[derive(Debug, Clone, Copy)]
pub struct Thought<'a> {
    /// The block, the value of the member, or the message, where it is nothing else.
    pub json: Json<'a>,
    /// The list that it is an element of, where it is one.
    pub list: Option<Json<'a>>,
    /// What that list becomes when nothing is left in it; its member goes where there is nothing here.
    pub emptied: Option<&'static str>,
    /// What it has to show.
    pub mark: Mark,
}

/// What a piece of thinking has to show.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mark {
    /// A signature, or thinking that only its provider can read.
    Signed,
    /// Nothing: a block of thinking.
    Unsigned,
    /// Nothing: a text beside the content, as models of all makers have it, which is often a copy of blocks.
    Beside,
}

/// Members that hold what a message says, and what they are where it says nothing: providers take an empty text beside
/// calls.
const CONTENT: [(&str, Option<&str>); 2] = [("content", Some("\"\"")), ("parts", Some("[]"))];
/// Members that hold a list of nothing but thinking: litellm's, and OpenRouter's.
const LISTS: [(&str, Option<&str>); 2] = [("thinking_blocks", None), ("reasoning_details", None)];
/// Members that hold thinking as a text.
const TEXTS: [&str; 5] = ["reasoning_content", "reasoning", "reasoning_text", "reasoning_opaque", "thinking"];

/// Where messages name the model that wrote them, in all formats.
const OWN_MODEL: [&[&str]; 15] = [
    &["model"],
    &["message", "model"],
    &["model_name"],
    &["response_metadata", "model_name"],
    &["response_metadata", "model"],
    &["response_metadata", "model_id"],
    &["data", "response_metadata", "model_name"],
    &["data", "response_metadata", "model"],
    &["data", "response_metadata", "model_id"],
    &["kwargs", "response_metadata", "model_name"],
    &["kwargs", "response_metadata", "model"],
    &["kwargs", "response_metadata", "model_id"],
    &["tool_call_metadata", "model_response", "model"],
    &["metadata", "model"],
    &["extra", "response", "model"],
];

/// Where what stands around messages, a request or what is logged of one, names the model.
const MODEL: [&[&str]; 12] = [
    &["model"],
    &["body", "model"],
    &["request", "model"],
    &["request_params", "model"],
    &["kwargs", "model"],
    &["modelId"],
    &["model_id"],
    &["model_name"],
    &["output", "model"],
    &["eval", "model"],
    &["metadata", "model"],
    &["info", "config", "model", "model_name"],
];

/// The thinking of a message, in order; none where it is of a maker whose thinking has to stay.
pub fn thoughts<'a>(message: &Message<'a>) -> Vec<Thought<'a>> {
    let raw = message.json.raw().as_bytes();
    if message.role != Role::Assistant
        || !["hinking", "easoning"].iter().any(|word| memmem::find(raw, word.as_bytes()).is_some())
    {
        return Vec::new();
    }
    let mut found: Vec<Thought<'a>> = match item(message.json) {
        Some(mark) => vec![Thought { json: message.json, list: None, emptied: None, mark }],
        None => homes(message.json).into_iter().flat_map(of_home).collect(),
    };
    found.sort_by_key(|thought| thought.json.span().start);
    found.dedup_by_key(|thought| thought.json.span().start);
    found
}

/// The name of the model that wrote a message, where the message has it.
pub fn own_model(message: &Message<'_>) -> Option<String> {
    named(&Object::of(first(message.json)), &OWN_MODEL)
}

/// The name of the model that a transcript is of: what stands around its messages has it, or else the last message that
/// has one.
pub fn model_of(transcript: &Transcript<'_>) -> Option<String> {
    let around = [transcript.state, transcript.envelope].into_iter().flatten();
    let mut around = around.filter_map(|around| named(&Object::of(around), &MODEL));
    let answers = || transcript.messages.iter().rev().filter(|message| message.role == Role::Assistant);
    around.next().or_else(|| answers().find_map(own_model))
}

fn named(object: &Object<'_>, paths: &[&[&str]]) -> Option<String> {
    let mut names = paths.iter().filter_map(|path| object.at(path)?.text()).map(|name| name.decode().into_owned());
    // Agents write messages of their own in the name of no model.
    names.find(|name| !name.is_empty() && !name.starts_with('<'))
}

/// A message, or the first of two that stand as one.
fn first(json: Json<'_>) -> Json<'_> {
    match json.kind() {
        Kind::Array => json.items().next().unwrap_or(json),
        _ => json,
    }
}

/// The objects in which a message has its fields.
fn homes(json: Json<'_>) -> Vec<Json<'_>> {
    let json = first(json);
    let inner = ["message", "data", "kwargs", "llm_message"].iter().filter_map(|key| json.get(key));
    let answers = json.at(&["tool_call_metadata", "model_response", "choices"]);
    let answers = answers.into_iter().flat_map(|choices| choices.items()).filter_map(|choice| choice.get("message"));
    let mut homes: Vec<Json<'_>> = [json].into_iter().chain(inner).chain(answers).collect();
    for at in 0..homes.len() {
        let home = homes[at];
        homes.extend(["additional_kwargs", "provider_specific_fields"].iter().filter_map(|key| home.get(key)));
    }
    homes.retain(|home| home.kind() == Kind::Object);
    homes
}

fn of_home<'a>(home: Json<'a>) -> Vec<Thought<'a>> {
    let fields = Object::of(home);
    let list = |key: &str| fields.get(key).filter(|list| list.kind() == Kind::Array);
    let mut found = Vec::new();
    for (key, emptied) in CONTENT.into_iter().chain(LISTS) {
        let mark = if emptied.is_some() { block } else { detail };
        let objects = |list: Json<'a>| list.items().filter(|item| item.kind() == Kind::Object);
        let of_list = |list| {
            objects(list).filter_map(move |json| Some(Thought { json, list: Some(list), emptied, mark: mark(json)? }))
        };
        found.extend(list(key).into_iter().flat_map(of_list));
    }
    for json in TEXTS.into_iter().filter_map(|key| fields.get(key)).filter(|value| !value.is_falsy()) {
        let mark = match json.kind() {
            Kind::String => Mark::Beside,
            Kind::Object if has_text(json, "signature") => Mark::Signed,
            _ => continue,
        };
        found.push(Thought { json, list: None, emptied: None, mark });
    }
    found
}

/// What a message has to show that is an item of reasoning.
fn item(json: Json<'_>) -> Option<Mark> {
    let item = json.get("payload").unwrap_or(json);
    if !is(item, "type", "reasoning") || item.get("role").is_some() {
        return None;
    }
    let format = item.get_text("format").map(|format| format.decode());
    match format.as_deref() {
        Some(format) if format.starts_with("anthropic") => Some(Mark::Signed),
        Some(_) => None,
        None if has_text(item, "signature") => Some(Mark::Signed),
        None => Some(Mark::Beside),
    }
}

/// What an element of a message's content or parts has to show; nothing where it is no thinking.
fn block(block: Json<'_>) -> Option<Mark> {
    let signed = |is_signed: bool| Some(if is_signed { Mark::Signed } else { Mark::Unsigned });
    if is(block, "part_kind", "thinking") {
        return part(block);
    }
    let Some(kind) = block.get_text("type") else {
        let inner = block.get("reasoningContent")?;
        let text = inner.get("reasoningText").is_some_and(|text| has_text(text, "signature"));
        return signed(text || inner.get("redactedContent").is_some());
    };
    match kind.decode().as_ref() {
        "thinking" => match block.get_text("thinkingSignature").map(|signature| signature.decode()) {
            // An item of OpenAI's, or the name of the member that the text came in.
            Some(signature) if signature.starts_with('{') => None,
            Some(signature) if TEXTS.contains(&&*signature) => Some(Mark::Unsigned),
            signature => signed(signature.is_some_and(|text| !text.is_empty()) || has_text(block, "signature")),
        },
        "redacted_thinking" | "redacted-reasoning" => Some(Mark::Signed),
        "reasoning_content" => {
            let inner = block.get("reasoning_content");
            signed(inner.is_some_and(|inner| has_text(inner, "signature") || inner.get("redacted_content").is_some()))
        }
        "reasoning" if is_of_others(block) => None,
        "reasoning" => signed(is_signed(block)),
        "non_standard" => block.get("value").filter(|value| value.kind() == Kind::Object).and_then(self::block),
        _ => None,
    }
}

/// The same of a part of pydantic-ai's.
fn part(part: Json<'_>) -> Option<Mark> {
    let provider = part.get_text("provider_name").map(|name| name.decode().into_owned()).unwrap_or_default();
    let format = part.at(&["provider_details", "format"]).and_then(|format| format.text());
    let by_claude = format.is_none_or(|format| format.starts_with("anthropic"));
    if !by_claude || ["openai", "azure", "google", "xai", "grok"].iter().any(|other| provider.starts_with(other)) {
        return None;
    }
    let is_signed = has_text(part, "signature") || is(part, "id", "redacted_thinking");
    Some(if is_signed { Mark::Signed } else { Mark::Unsigned })
}

/// Whether a block of reasoning is of a maker whose calls are refused without it.
fn is_of_others(block: Json<'_>) -> bool {
    let is_item = |key| block.get_text(key).is_some_and(|id| id.starts_with("rs_"));
    let sealed = || block.get("encrypted_content").or_else(|| block.at(&["extras", "encrypted_content"])).is_some();
    let others = ["openai", "azure", "google", "vertex", "xai"];
    let by_others = |from: Json<'_>| others.iter().any(|other| from.get(other).is_some());
    is_item("id") || is_item("signature") || block.get("summary").is_some() || sealed() || origins(block).any(by_others)
}

fn is_signed(block: Json<'_>) -> bool {
    let by_claude = |from: Json<'_>| ["anthropic", "bedrock"].iter().any(|own| from.get(own).is_some());
    let by_router = |from: Json<'_>| {
        let details = from.at(&["openrouter", "reasoning_details"]).into_iter().flat_map(|details| details.items());
        details.into_iter().any(|one| detail(one) == Some(Mark::Signed))
    };
    let parts = block.get("details").into_iter().flat_map(|details| details.items());
    has_text(block, "signature")
        || block.get("extras").is_some_and(|extras| has_text(extras, "signature"))
        || block.get("redacted").is_some_and(|redacted| redacted.raw() == "true")
        || origins(block).any(|from| by_claude(from) || by_router(from))
        || parts.into_iter().any(|part| has_text(part, "signature") || is(part, "type", "redacted"))
}

/// What the AI SDK keeps of a provider's.
fn origins<'a>(block: Json<'a>) -> impl Iterator<Item = Json<'a>> {
    ["providerOptions", "providerMetadata"].into_iter().filter_map(move |key| block.get(key))
}

/// What an element of a list of thinking has to show; nothing where another maker's name is on it.
fn detail(detail: Json<'_>) -> Option<Mark> {
    let format = detail.get_text("format").map(|format| format.decode());
    match format.as_deref() {
        Some(format) if format.starts_with("anthropic") => Some(Mark::Signed),
        Some(format) if !["", "unknown"].contains(&format) => None,
        _ if has_text(detail, "signature") || is(detail, "type", "redacted_thinking") => Some(Mark::Signed),
        _ if is(detail, "type", "thinking") => Some(Mark::Unsigned),
        _ => Some(Mark::Beside),
    }
}

fn is(json: Json<'_>, key: &str, value: &str) -> bool {
    json.get_text(key).is_some_and(|text| text.is(value))
}

fn has_text(json: Json<'_>, key: &str) -> bool {
    json.get_text(key).is_some_and(|text| !text.is_empty())
}
