//! Finds Claude's thinking in a message of any format.
//!
//! It does not look for the thinking of OpenAI's and Google's models. Their signatures do not depend on the messages
//! before, and the providers reject calls without the thinking.

mod sealed;

use memchr::memmem;

use crate::json::{Json, JsonKind, Object};
use crate::message::{Message, PartKind, Role};

pub use sealed::{is_signed_call, sealed};

/// A piece of thinking in a message.
#[derive(Debug, Clone, Copy)]
pub struct Thought<'a> {
    /// The block, the value of the member, or the whole message if it is nothing but thinking.
    pub json: Json<'a>,
    /// The list that contains it, if it is an element of one.
    pub list: Option<Json<'a>>,
    /// The replacement of that list when it becomes empty; `None` if its member is removed.
    pub emptied: Option<&'static str>,
    /// Whether it is signed.
    pub mark: ThoughtMark,
}

/// Whether a piece of thinking is signed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ThoughtMark {
    /// It has a signature, or only its provider can read it.
    Signed,
    /// A block without a signature.
    Unsigned,
    /// An unsigned text beside the content. Models of all makers have such texts, often as a copy of blocks.
    Beside,
}

impl ThoughtMark {
    fn of_block(is_signed: bool) -> Self {
        if is_signed { ThoughtMark::Signed } else { ThoughtMark::Unsigned }
    }
}

/// The members that hold the content of a message, and their value when they become empty. Providers accept an empty
/// text beside calls.
const CONTENT: [(&str, &str); 2] = [("content", "\"\""), ("parts", "[]")];
/// The members that hold a list of thinking: litellm's, and OpenRouter's.
const LISTS: [&str; 2] = ["thinking_blocks", "reasoning_details"];
/// The members that hold thinking as text.
const TEXTS: [&str; 5] = ["reasoning_content", "reasoning", "reasoning_text", "reasoning_opaque", "thinking"];

/// The thinking in a message, in order; none if the model's maker requires that it stays.
pub fn thoughts<'a>(message: &Message<'a>) -> Vec<Thought<'a>> {
    const HINTS: [&str; 3] = ["hinking", "easoning", "\"think\""];
    if message.role != Role::Assistant || !has_any(message.json, &HINTS) {
        return Vec::new();
    }
    if let Some(mark) = mark_of_item(message.json) {
        return vec![Thought { json: message.json, list: None, emptied: None, mark }];
    }
    let mut found = Vec::new();
    for object in field_objects(message.json) {
        add_thoughts(object, &mut found);
    }
    found.sort_by_key(|thought| thought.json.span().start);
    found.dedup_by_key(|thought| thought.json.span().start);
    found
}

/// Whether a value has one of these texts in its JSON. A search is faster than a look at all members.
fn has_any(json: Json<'_>, hints: &[&str]) -> bool {
    hints.iter().any(|hint| memmem::find(json.raw().as_bytes(), hint.as_bytes()).is_some())
}

/// Whether a message has any reasoning of its model, of whichever maker. An empty text that stands in its place counts.
pub fn has_reasoning(message: &Message<'_>) -> bool {
    message.content.parts().iter().any(|part| matches!(part.kind, PartKind::Reasoning(_)))
        || field_objects(message.json).into_iter().any(has_reasoning_member)
        || !thoughts(message).is_empty()
}

fn has_reasoning_member(fields: Json<'_>) -> bool {
    for key in TEXTS.iter().chain(&LISTS) {
        if fields.get(key).is_some_and(|value| value.kind() != JsonKind::Null) {
            return true;
        }
    }
    false
}

/// A message, or the first of two in a list that counts as one.
pub(super) fn first(json: Json<'_>) -> Json<'_> {
    match json.kind() {
        JsonKind::Array => json.items().next().unwrap_or(json),
        _ => json,
    }
}

/// The objects that hold the fields of a message.
fn field_objects(json: Json<'_>) -> Vec<Json<'_>> {
    let json = first(json);
    let mut objects = vec![json];
    for key in ["message", "data", "kwargs", "llm_message"] {
        objects.extend(json.get(key));
    }
    if let Some(choices) = json.at(&["tool_call_metadata", "model_response", "choices"]) {
        objects.extend(choices.items().filter_map(|choice| choice.get("message")));
    }
    for at in 0..objects.len() {
        let object = objects[at];
        objects.extend(object.get("additional_kwargs"));
        objects.extend(object.get("provider_specific_fields"));
    }
    objects.retain(|object| object.kind() == JsonKind::Object);
    objects
}

/// Adds the thinking among the fields of a message.
fn add_thoughts<'a>(object: Json<'a>, found: &mut Vec<Thought<'a>>) {
    let fields = Object::of(object);
    for (key, emptied) in CONTENT {
        add_elements(fields.get(key), Some(emptied), mark_of_block, found);
    }
    for key in LISTS {
        add_elements(fields.get(key), None, mark_of_detail, found);
    }
    for key in TEXTS {
        let Some(json) = fields.get(key) else { continue };
        let mark = match json.kind() {
            _ if json.is_falsy() => continue,
            JsonKind::String => ThoughtMark::Beside,
            JsonKind::Object if has_text(json, "signature") => ThoughtMark::Signed,
            _ => continue,
        };
        found.push(Thought { json, list: None, emptied: None, mark });
    }
}

/// Adds the thinking among the elements of a list.
fn add_elements<'a>(
    list: Option<Json<'a>>,
    emptied: Option<&'static str>,
    mark_of: fn(Json<'a>) -> Option<ThoughtMark>,
    found: &mut Vec<Thought<'a>>,
) {
    let Some(list) = list else { return };
    for json in list.items() {
        if json.kind() == JsonKind::Object
            && let Some(mark) = mark_of(json)
        {
            found.push(Thought { json, list: Some(list), emptied, mark });
        }
    }
}

/// The mark of a message that is an item of reasoning.
fn mark_of_item(json: Json<'_>) -> Option<ThoughtMark> {
    let item = json.get("payload").unwrap_or(json);
    if let Some(part) = json.at(&["event", "part"]) {
        return mark_of_block(part);
    }
    if !item.member_is("type", "reasoning") || item.get("role").is_some() {
        return None;
    }
    let format = item.get_text("format").map(|format| format.decode());
    match format.as_deref() {
        Some(format) if format.starts_with("anthropic") => Some(ThoughtMark::Signed),
        Some(_) => None,
        None if has_text(item, "signature") => Some(ThoughtMark::Signed),
        None => Some(ThoughtMark::Beside),
    }
}

/// The mark of an element of a message's content; `None` if it is not thinking.
fn mark_of_block(block: Json<'_>) -> Option<ThoughtMark> {
    if block.member_is("part_kind", "thinking") {
        return mark_of_part(block);
    }
    let Some(kind) = block.get_text("type") else {
        let inner = block.get("reasoningContent")?;
        let is_signed = inner.get("reasoningText").is_some_and(|text| has_text(text, "signature"));
        return Some(ThoughtMark::of_block(is_signed || inner.get("redactedContent").is_some()));
    };
    match kind.decode().as_ref() {
        "thinking" => mark_of_thinking(block),
        // What Kimi Code keeps encrypted can be any provider's.
        "think" if block.get("encrypted").is_some() => None,
        "think" => Some(ThoughtMark::Unsigned),
        "redacted_thinking" | "redacted-reasoning" => Some(ThoughtMark::Signed),
        "reasoning_content" => {
            let is_signed = block.get("reasoning_content").is_some_and(is_signed_content);
            Some(ThoughtMark::of_block(is_signed))
        }
        "reasoning" if is_of_other_maker(block) => None,
        "reasoning" => Some(ThoughtMark::of_block(is_signed(block))),
        "non_standard" => mark_of_block(block.get("value").filter(|value| value.kind() == JsonKind::Object)?),
        _ => None,
    }
}

fn is_signed_content(content: Json<'_>) -> bool {
    has_text(content, "signature") || content.get("redacted_content").is_some()
}

/// The mark of a block of the type `thinking`.
fn mark_of_thinking(block: Json<'_>) -> Option<ThoughtMark> {
    let signature = block.get_text("thinkingSignature").map(|signature| signature.decode());
    match signature.as_deref() {
        // An item of OpenAI's.
        Some(signature) if signature.starts_with('{') => None,
        // The name of the member in which the text came.
        Some(signature) if TEXTS.contains(&signature) => Some(ThoughtMark::Unsigned),
        None | Some("") => Some(ThoughtMark::of_block(has_text(block, "signature"))),
        Some(_) => Some(ThoughtMark::Signed),
    }
}

/// The mark of a pydantic-ai part.
fn mark_of_part(part: Json<'_>) -> Option<ThoughtMark> {
    let provider = part.get_text("provider_name").map(|name| name.decode().into_owned()).unwrap_or_default();
    let format = part.at(&["provider_details", "format"]).and_then(|format| format.text());
    let is_by_claude = format.is_none_or(|format| format.starts_with("anthropic"));
    let is_by_other = ["openai", "azure", "google", "xai", "grok"].iter().any(|other| provider.starts_with(other));
    if !is_by_claude || is_by_other || is_item(part, "id") {
        return None;
    }
    Some(ThoughtMark::of_block(has_text(part, "signature") || part.member_is("id", "redacted_thinking")))
}

/// Whether a member is the id that OpenAI gives to items of reasoning, whatever the provider is called.
fn is_item(json: Json<'_>, key: &str) -> bool {
    json.get_text(key).is_some_and(|id| id.starts_with("rs_"))
}

/// Whether a block of reasoning belongs to a maker that rejects calls without it.
fn is_of_other_maker(block: Json<'_>) -> bool {
    is_item(block, "id")
        || is_item(block, "signature")
        || block.get("summary").is_some()
        || block.get("encrypted_content").is_some()
        || block.at(&["extras", "encrypted_content"]).is_some()
        || provider_fields(block).any(are_of_other_maker)
}

fn are_of_other_maker(fields: Json<'_>) -> bool {
    for maker in ["openai", "azure", "google", "vertex", "xai"] {
        if fields.get(maker).is_some() {
            return true;
        }
    }
    fields.entries().any(|(_, value)| is_item(value, "itemId"))
}

fn is_signed(block: Json<'_>) -> bool {
    has_text(block, "signature")
        || block.get("extras").is_some_and(|extras| has_text(extras, "signature"))
        || block.member_is_true("redacted")
        || provider_fields(block).any(are_of_claude)
        || block.get("details").is_some_and(|details| details.items().any(is_signed_detail))
}

fn are_of_claude(fields: Json<'_>) -> bool {
    fields.get("anthropic").is_some() || fields.get("bedrock").is_some() || is_signed_by_router(fields)
}

fn is_signed_detail(detail: Json<'_>) -> bool {
    has_text(detail, "signature") || detail.member_is("type", "redacted")
}

/// Whether the fields that OpenRouter adds to a block hold a signature.
fn is_signed_by_router(fields: Json<'_>) -> bool {
    let Some(details) = fields.at(&["openrouter", "reasoning_details"]) else { return false };
    details.items().any(|detail| mark_of_detail(detail) == Some(ThoughtMark::Signed))
}

/// The provider's own fields, as the AI SDK keeps them.
fn provider_fields<'a>(block: Json<'a>) -> impl Iterator<Item = Json<'a>> {
    ["providerOptions", "providerMetadata", "metadata"].into_iter().filter_map(move |key| block.get(key))
}

/// The mark of an element of a list of thinking; `None` if it belongs to another maker.
fn mark_of_detail(detail: Json<'_>) -> Option<ThoughtMark> {
    let format = detail.get_text("format").map(|format| format.decode());
    match format.as_deref() {
        Some(format) if format.starts_with("anthropic") => Some(ThoughtMark::Signed),
        Some(format) if !["", "unknown"].contains(&format) => None,
        _ if is_item(detail, "id") => None,
        _ if has_text(detail, "signature") || detail.member_is("type", "redacted_thinking") => {
            Some(ThoughtMark::Signed)
        }
        _ if detail.member_is("type", "thinking") => Some(ThoughtMark::Unsigned),
        _ => Some(ThoughtMark::Beside),
    }
}

fn has_text(json: Json<'_>, key: &str) -> bool {
    json.get_text(key).is_some_and(|text| !text.is_empty())
}
