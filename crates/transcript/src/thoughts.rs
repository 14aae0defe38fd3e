//! Finds Claude's thinking in a message of any format.
//!
//! It does not look for the thinking of OpenAI's and Google's models. Their signatures do not depend on the messages
//! before, and the providers reject calls without the thinking.
//!
//! Also finds the reasoning in a message that only its provider can read: encrypted items, redacted blocks, and signatures,
//! which carry what the model thought. It knows how all formats spell them.

use std::borrow::Cow;

use memchr::memmem;

use crate::json::{Json, JsonKind, Object};
use crate::message::{Call, Message, Part, PartKind, Role};
use crate::text::Text;

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

/// The members that hold the content of a message, and their value when they become empty. Providers accept an empty
/// text beside calls.
const CONTENT: [(&str, Option<&str>); 2] = [("content", Some("\"\"")), ("parts", Some("[]"))];
/// The members that hold a list of thinking: litellm's, and OpenRouter's.
const LISTS: [(&str, Option<&str>); 2] = [("thinking_blocks", None), ("reasoning_details", None)];
/// The members that hold thinking as text.
const TEXTS: [&str; 5] = ["reasoning_content", "reasoning", "reasoning_text", "reasoning_opaque", "thinking"];

/// The thinking in a message, in order; none if the model's maker requires that it stays.
pub fn thoughts<'a>(message: &Message<'a>) -> Vec<Thought<'a>> {
    let raw = message.json.raw().as_bytes();
    if message.role != Role::Assistant
        || !["hinking", "easoning", "\"think\""].iter().any(|word| memmem::find(raw, word.as_bytes()).is_some())
    {
        return Vec::new();
    }
    let mut found: Vec<Thought<'a>> = match item(message.json) {
        Some(mark) => vec![Thought { json: message.json, list: None, emptied: None, mark }],
        None => field_objects(message.json).into_iter().flat_map(thoughts_in).collect(),
    };
    found.sort_by_key(|thought| thought.json.span().start);
    found.dedup_by_key(|thought| thought.json.span().start);
    found
}

/// Whether a message has any reasoning of its model, of whichever maker. An empty text that stands in its place counts.
pub fn has_reasoning(message: &Message<'_>) -> bool {
    let is_reasoning = |part: &Part<'_>| matches!(part.kind, PartKind::Reasoning(_));
    let members = || TEXTS.into_iter().chain(LISTS.map(|(key, _)| key));
    let is_beside = |fields: &Json<'_>| {
        members().any(|key| fields.get(key).is_some_and(|reasoning| reasoning.kind() != JsonKind::Null))
    };
    message.content.parts().iter().any(is_reasoning)
        || field_objects(message.json).iter().any(is_beside)
        || !thoughts(message).is_empty()
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
    let inner = ["message", "data", "kwargs", "llm_message"].iter().filter_map(|key| json.get(key));
    let answers = json.at(&["tool_call_metadata", "model_response", "choices"]);
    let answers = answers.into_iter().flat_map(|choices| choices.items()).filter_map(|choice| choice.get("message"));
    let mut field_objects: Vec<Json<'_>> = [json].into_iter().chain(inner).chain(answers).collect();
    for at in 0..field_objects.len() {
        let object = field_objects[at];
        field_objects
            .extend(["additional_kwargs", "provider_specific_fields"].iter().filter_map(|key| object.get(key)));
    }
    field_objects.retain(|object| object.kind() == JsonKind::Object);
    field_objects
}

fn thoughts_in<'a>(object: Json<'a>) -> Vec<Thought<'a>> {
    let fields = Object::of(object);
    let list = |key: &str| fields.get(key).filter(|list| list.kind() == JsonKind::Array);
    let mut found = Vec::new();
    for (key, emptied) in CONTENT.into_iter().chain(LISTS) {
        let mark = if emptied.is_some() { block } else { detail };
        let objects = |list: Json<'a>| list.items().filter(|item| item.kind() == JsonKind::Object);
        let of_list = |list| {
            objects(list).filter_map(move |json| Some(Thought { json, list: Some(list), emptied, mark: mark(json)? }))
        };
        found.extend(list(key).into_iter().flat_map(of_list));
    }
    for json in TEXTS.into_iter().filter_map(|key| fields.get(key)).filter(|value| !value.is_falsy()) {
        let mark = match json.kind() {
            JsonKind::String => ThoughtMark::Beside,
            JsonKind::Object if has_text(json, "signature") => ThoughtMark::Signed,
            _ => continue,
        };
        found.push(Thought { json, list: None, emptied: None, mark });
    }
    found
}

/// The mark of a message that is an item of reasoning.
fn item(json: Json<'_>) -> Option<ThoughtMark> {
    let item = json.get("payload").unwrap_or(json);
    if let Some(part) = json.at(&["event", "part"]) {
        return block(part);
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
fn block(block: Json<'_>) -> Option<ThoughtMark> {
    let signed = |is_signed: bool| Some(if is_signed { ThoughtMark::Signed } else { ThoughtMark::Unsigned });
    if block.member_is("part_kind", "thinking") {
        return part(block);
    }
    let Some(kind) = block.get_text("type") else {
        let inner = block.get("reasoningContent")?;
        let text = inner.get("reasoningText").is_some_and(|text| has_text(text, "signature"));
        return signed(text || inner.get("redactedContent").is_some());
    };
    match kind.decode().as_ref() {
        "thinking" => match block.get_text("thinkingSignature").map(|signature| signature.decode()) {
            // The signature is an item of OpenAI's, or the name of the member in which the text came.
            Some(signature) if signature.starts_with('{') => None,
            Some(signature) if TEXTS.contains(&&*signature) => Some(ThoughtMark::Unsigned),
            signature => signed(signature.is_some_and(|text| !text.is_empty()) || has_text(block, "signature")),
        },
        // What Kimi Code keeps encrypted can be any provider's.
        "think" => block.get("encrypted").is_none().then_some(ThoughtMark::Unsigned),
        "redacted_thinking" | "redacted-reasoning" => Some(ThoughtMark::Signed),
        "reasoning_content" => {
            let inner = block.get("reasoning_content");
            signed(inner.is_some_and(|inner| has_text(inner, "signature") || inner.get("redacted_content").is_some()))
        }
        "reasoning" if is_of_other_maker(block) => None,
        "reasoning" => signed(is_signed(block)),
        "non_standard" => block.get("value").filter(|value| value.kind() == JsonKind::Object).and_then(self::block),
        _ => None,
    }
}

/// The mark of a pydantic-ai part.
fn part(part: Json<'_>) -> Option<ThoughtMark> {
    let provider = part.get_text("provider_name").map(|name| name.decode().into_owned()).unwrap_or_default();
    let format = part.at(&["provider_details", "format"]).and_then(|format| format.text());
    let is_by_claude = format.is_none_or(|format| format.starts_with("anthropic"));
    if !is_by_claude
        || is_item(part, "id")
        || ["openai", "azure", "google", "xai", "grok"].iter().any(|other| provider.starts_with(other))
    {
        return None;
    }
    let is_signed = has_text(part, "signature") || part.member_is("id", "redacted_thinking");
    Some(if is_signed { ThoughtMark::Signed } else { ThoughtMark::Unsigned })
}

/// Whether a member is the id that OpenAI gives to items of reasoning, whatever the provider is called.
fn is_item(json: Json<'_>, key: &str) -> bool {
    json.get_text(key).is_some_and(|id| id.starts_with("rs_"))
}

/// Whether a block of reasoning belongs to a maker that rejects calls without it.
fn is_of_other_maker(block: Json<'_>) -> bool {
    let sealed = || block.get("encrypted_content").or_else(|| block.at(&["extras", "encrypted_content"])).is_some();
    let others = ["openai", "azure", "google", "vertex", "xai"];
    let is_from_other = |from: Json<'_>| {
        others.iter().any(|other| from.get(other).is_some()) || from.entries().any(|(_, own)| is_item(own, "itemId"))
    };
    is_item(block, "id")
        || is_item(block, "signature")
        || block.get("summary").is_some()
        || sealed()
        || provider_fields(block).any(is_from_other)
}

fn is_signed(block: Json<'_>) -> bool {
    let is_by_claude = |from: Json<'_>| ["anthropic", "bedrock"].iter().any(|own| from.get(own).is_some());
    let parts = block.get("details").into_iter().flat_map(|details| details.items());
    has_text(block, "signature")
        || block.get("extras").is_some_and(|extras| has_text(extras, "signature"))
        || block.get("redacted").is_some_and(|redacted| redacted.raw() == "true")
        || provider_fields(block).any(|from| is_by_claude(from) || is_signed_by_router(from))
        || parts.into_iter().any(|part| has_text(part, "signature") || part.member_is("type", "redacted"))
}

/// Whether the fields that OpenRouter adds to a block hold a signature.
fn is_signed_by_router(fields: Json<'_>) -> bool {
    let details = fields.at(&["openrouter", "reasoning_details"]);
    details.is_some_and(|details| details.items().any(|one| detail(one) == Some(ThoughtMark::Signed)))
}

/// The provider's own fields, as the AI SDK keeps them.
fn provider_fields<'a>(block: Json<'a>) -> impl Iterator<Item = Json<'a>> {
    ["providerOptions", "providerMetadata", "metadata"].into_iter().filter_map(move |key| block.get(key))
}

/// The mark of an element of a list of thinking; `None` if it belongs to another maker.
fn detail(detail: Json<'_>) -> Option<ThoughtMark> {
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

/// Each spelling has one of these in it.
const HINTS: [&str; 4] = ["ncrypted", "edacted", "ignature", "opaque"];

/// Members with such reasoning: a text, or several in a list or an object.
#[rustfmt::skip]
const MEMBERS: &[&str] = &[
    "__gemini_function_call_thought_signatures__", "reasoningEncryptedContent", "reasoning_opaque", "redactedContent",
    "redactedData", "redacted_content", "signature", "textSignature", "thinkingSignature", "thoughtSignature",
    "thought_signature", "thought_signatures",
];

/// The types of blocks with such reasoning in `data`.
const REDACTED: [&str; 4] = ["reasoning.encrypted", "redacted", "redacted-reasoning", "redacted_thinking"];

/// Members that lead to blocks or to members with such reasoning. Arguments, results and records of answers, which
/// clients do not send again, are not among them.
#[rustfmt::skip]
const WAYS: &[&str] = &[
    "additional_kwargs", "content", "data", "details", "extras", "function", "kwargs", "llm_message", "message",
    "parts", "payload", "provider_details", "provider_specific_fields", "reasoning", "reasoningContent",
    "reasoningText", "reasoning_content", "reasoning_details", "thinking", "thinking_blocks", "tool_calls", "value",
];

/// Members that hold the members of each provider under its name.
const BY_PROVIDER: [&str; 4] = ["callProviderMetadata", "extra_content", "providerMetadata", "providerOptions"];

/// Deeper than any spelling.
const MAX_DEPTH: usize = 8;

/// The reasoning in a message that only its provider can read. Programs often repeat it in several members.
pub fn sealed<'a>(message: &Message<'a>) -> Vec<Text<'a>> {
    let raw = message.json.raw().as_bytes();
    if message.role != Role::Assistant || !HINTS.iter().any(|hint| memmem::find(raw, hint.as_bytes()).is_some()) {
        return Vec::new();
    }
    let mut found = Vec::new();
    objects(message.json).for_each(|object| collect(object, MAX_DEPTH, &mut found));
    found.sort_by_key(Text::raw);
    found.dedup_by_key(|sealed| sealed.raw());
    found
}

/// What litellm writes between the id of a call and its signature.
const SIGNED_ID: &str = "__thought__";

/// Whether a call of a message has a signature. Where calls are parts of the content, each holds its own; other formats
/// have them in the call or beside it.
pub fn is_signed_call(message: &Message<'_>, call: &Call<'_>) -> bool {
    let mut found = Vec::new();
    collect(call.json, MAX_DEPTH, &mut found);
    let is_part = || message.content.parts().iter().any(|part| part.json.span() == call.json.span());
    if found.is_empty() && !is_part() {
        found = sealed(message);
    }
    found.extend(moved_signature(message, call));
    found.iter().any(|signature| !signature.is_empty()) || call.id.is_some_and(|id| id.decode().contains(SIGNED_ID))
}

/// The signature of the thinking right before a call. pydantic-ai sends it with the part behind the thinking.
fn moved_signature<'a>(message: &Message<'a>, call: &Call<'_>) -> Option<Text<'a>> {
    let parts = message.content.parts();
    let at = parts.iter().position(|part| part.json.span() == call.json.span())?;
    let before = parts[..at].last()?.json;
    let is_sent = before.member_is("part_kind", "thinking") && has_text(before, "provider_name");
    before.get_text("signature").filter(|_| is_sent)
}

fn collect<'a>(object: Json<'a>, depth: usize, found: &mut Vec<Text<'a>>) {
    let kind = ["type", "part_kind"].iter().find_map(|key| object.get_text(key));
    let kind = kind.map_or(Cow::Borrowed(""), |kind| kind.decode());
    if depth == 0 || is_other(&kind) {
        return;
    }
    let is_redacted = object.get("redacted").is_some_and(|redacted| redacted.raw() == "true");
    for (key, value) in object.entries() {
        let key = key.decode();
        let is_sealed = match &*key {
            "encrypted_content" => ["", "reasoning"].contains(&&*kind),
            "data" => REDACTED.contains(&&*kind),
            "reasoning" => is_redacted && value.kind() == JsonKind::String,
            key => MEMBERS.contains(&key),
        };
        if is_sealed {
            found.extend(texts(value));
        } else if WAYS.contains(&&*key) {
            objects(value).for_each(|inner| collect(inner, depth - 1, found));
        } else if BY_PROVIDER.contains(&&*key) {
            value.entries().for_each(|(_, own)| collect(own, depth - 1, found));
        }
    }
}

/// Whether a part of this type is a result or a compaction. Providers encrypt these too.
fn is_other(kind: &str) -> bool {
    kind.contains("compaction") || ["result", "return", "output"].iter().any(|end| kind.ends_with(end))
}

/// An object, or the objects in a list.
fn objects<'a>(json: Json<'a>) -> impl Iterator<Item = Json<'a>> {
    [json].into_iter().chain(json.items()).filter(|value| value.kind() == JsonKind::Object)
}

/// A text, or the texts in a list or an object.
fn texts<'a>(json: Json<'a>) -> impl Iterator<Item = Text<'a>> {
    let inside = json.items().chain(json.entries().map(|(_, value)| value));
    [json].into_iter().chain(inside).filter_map(|value| value.text())
}
