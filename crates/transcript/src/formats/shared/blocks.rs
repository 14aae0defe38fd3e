//! Content in most formats: a string, or a list of strings and blocks.
//!
//! A block has a `type`, or its only key gives its kind. [`common_block`] reads the types that formats share; the file
//! of each family reads the family's own types.
//!
//! Also: media in a list beside the content of a message.
//!
//! Also: blocks and items of reasoning, which formats spell in many ways. What only the provider can read of them is in
//! [`crate::thoughts`].

use crate::compaction::ProviderCompaction;
use crate::foreign;
use crate::formats::shared::fields::elements_of;
use crate::json::{Json, JsonKind, Object};
use crate::media::MediaKind;
use crate::message::{Content, Part, PartKind};
use crate::text::Text;

/// The types of blocks that are calls or results. Formats with calls beside the content do not read them.
pub(crate) const CALLS: [&str; 3] = ["tool_use", "tool_result", "server_tool_use"];

/// The types of blocks of some families that [`common_block`] does not read.
pub(crate) const UNREAD: [&str; 6] =
    ["input_text", "output_text", "input_image", "input_file", "tool-call", "tool-result"];

/// The keys of blocks without a type.
pub(crate) const KEYS: &str = "text|toolUse|toolResult|image|document|video|audio|reasoningContent|cachePoint|\
    guardContent|citationsContent|searchResult|json";

/// Whether a block has one of [`KEYS`].
pub(crate) fn has_key(block: Json<'_>) -> bool {
    KEYS.split('|').any(|key| block.get(key).is_some())
}

/// Whether a type is in [`CALLS`] or [`UNREAD`].
pub(crate) fn is_call_or_unread(kind: Text<'_>) -> bool {
    CALLS.iter().chain(&UNREAD).any(|name| kind.is(name))
}

/// Whether no reader knows a block. Such a block is not evidence for or against a format.
pub(crate) fn is_foreign(block: Json<'_>, kind: Option<Text<'_>>) -> bool {
    match kind {
        None => !has_key(block),
        Some(kind) => !is_call_or_unread(kind) && matches!(common_block(block, kind), PartKind::Foreign(_)),
    }
}

/// The blocks of a message's content, each with its type.
pub(crate) fn block_types<'a>(message: &Object<'a>) -> impl Iterator<Item = (Json<'a>, Option<Text<'a>>)> + use<'a> {
    message
        .get("content")
        .into_iter()
        .flat_map(|content| content.items())
        .filter(|block| block.kind() == JsonKind::Object)
        .map(|block| (block, block.get_text("type")))
}

/// Reads content; `block` reads elements other than strings.
pub(crate) fn content<'a>(value: Option<Json<'a>>, block: fn(Json<'a>, Text<'a>) -> PartKind<'a>) -> Content<'a> {
    let Some(value) = value else { return Content::empty() };
    if value.is_falsy() {
        return Content::empty();
    }
    match value.kind() {
        JsonKind::String => value.text().map_or_else(Content::empty, Content::Text),
        JsonKind::Array => Content::Parts(value.items().map(|item| part(item, block)).collect()),
        _ => Content::Parts(Box::new([part(value, block)])),
    }
}

fn part<'a>(json: Json<'a>, block: fn(Json<'a>, Text<'a>) -> PartKind<'a>) -> Part<'a> {
    let kind = match json.text() {
        Some(text) => PartKind::Text(text),
        None => block(json, json.get_text("type").unwrap_or_else(|| Text::plain(""))),
    };
    Part { json, kind }
}

/// Reads the types of blocks that formats share.
pub(crate) fn common_block<'a>(json: Json<'a>, kind: Text<'a>) -> PartKind<'a> {
    const MEDIA: [&str; 9] =
        ["image", "image_url", "input_audio", "audio", "file", "video", "document", "container_upload", "video_url"];
    if kind.is("text") {
        foreign::text_part(json, "text")
    } else if kind.is("document") {
        document(json)
    } else if kind.is_in(&MEDIA) {
        PartKind::Media(MediaKind::of_block(json, &kind.decode()))
    } else if is_reasoning(kind) {
        reasoning(json)
    } else if kind.is("refusal") {
        json.get_text("refusal").map_or(PartKind::Other, PartKind::Refusal)
    } else if kind.is("compaction") {
        PartKind::Compaction(ProviderCompaction::of(json))
    } else if let Some((value, kind)) = inside(json, kind) {
        common_block(value, kind)
    } else {
        foreign::opaque_or_foreign(json, kind)
    }
}

/// The compaction or the reasoning in a block that `LangChain` wraps around types it does not know.
fn inside<'a>(json: Json<'a>, kind: Text<'a>) -> Option<(Json<'a>, Text<'a>)> {
    if !kind.is("non_standard") {
        return None;
    }
    let value = json.get("value")?;
    let kind = value.get_text("type")?;
    if kind.is("compaction") || is_reasoning(kind) { Some((value, kind)) } else { None }
}

/// Reads a document: its data or its text, and what stands beside it for the model.
fn document<'a>(json: Json<'a>) -> PartKind<'a> {
    // Cohere's documents are values of a program and not files. Results of tools consist of them.
    if let Some(data) = json.at(&["document", "data"]) {
        let kind = match data.text() {
            Some(text) => PartKind::Text(text),
            None => foreign::value(data, PartKind::Text),
        };
        return PartKind::Mixed(Content::Parts(Box::new([Part { json: data, kind }])));
    }
    let medium = PartKind::Media(MediaKind::of_block(json, "document"));
    // Models of other providers have neither a source nor texts beside it.
    let Some(source) = json.get("source") else { return medium };
    let mut parts = Vec::new();
    for key in ["title", "context"] {
        if let Some(beside) = json.get(key)
            && let Some(text) = beside.text()
            && !text.is_empty()
        {
            parts.push(Part { json: beside, kind: PartKind::Text(text) });
        }
    }
    let text = if source.member_is("type", "text") { source.get("data") } else { None };
    match text.or_else(|| source.get("content")) {
        Some(inside) => parts.push(Part { json: inside, kind: PartKind::Mixed(content(Some(inside), common_block)) }),
        None if parts.is_empty() => return medium,
        None => parts.push(Part { json: source, kind: medium }),
    }
    PartKind::Mixed(Content::Parts(parts.into()))
}

/// Reads the output of a tool as text: the only text that it holds, or the value as it is spelled, with its media.
pub(crate) fn output_text(value: Json<'_>) -> PartKind<'_> {
    let mut entries = value.entries();
    if let (Some((key, output)), None) = (entries.next(), entries.next())
        && (key.is("output") || key.is("result"))
        && let Some(text) = output.text()
    {
        return PartKind::Text(text);
    }
    foreign::value(value, PartKind::Text)
}

/// The elements of a list of one of these kinds; none if there is no list.
pub(crate) fn elements<'a>(list: Option<Json<'a>>, kind: JsonKind) -> impl Iterator<Item = Json<'a>> + use<'a> {
    list.into_iter().flat_map(|list| list.items()).filter(move |element| element.kind() == kind)
}

/// Appends parts to a content whose text, if it has any, is in `json`.
pub(crate) fn with_parts<'a>(content: Content<'a>, json: Option<Json<'a>>, mut more: Vec<Part<'a>>) -> Content<'a> {
    if more.is_empty() {
        return content;
    }
    let mut parts = match (content, json) {
        (Content::Text(text), Some(json)) if !text.is_empty() => vec![Part { json, kind: PartKind::Text(text) }],
        (Content::Text(_), _) => Vec::new(),
        (Content::Parts(parts), _) => parts.into_vec(),
    };
    parts.append(&mut more);
    Content::Parts(parts.into())
}

/// The types of blocks of reasoning.
const TYPES: [&str; 5] = ["reasoning", "reasoning_content", "redacted-reasoning", "redacted_thinking", "thinking"];

/// Members that hold a text.
const TEXTS: [&str; 6] = ["thinking", "reasoning", "text", "content", "summary", "value"];

/// Members that hold a list of texts.
const LISTS: [&str; 4] = ["thinking", "summary", "content", "details"];

/// Whether a block of this type is reasoning.
pub(crate) fn is_reasoning(kind: Text<'_>) -> bool {
    kind.is_in(&TYPES)
}

/// Reads a block of reasoning. Its text is empty if only the provider can read it.
pub(crate) fn reasoning(block: Json<'_>) -> PartKind<'_> {
    let mut parts = reasoning_parts(block);
    match parts.len() {
        0 => PartKind::Reasoning(Text::plain("")),
        1 => parts.remove(0).kind,
        _ => PartKind::Mixed(Content::Parts(parts.into())),
    }
}

/// The texts of a block of reasoning.
pub(crate) fn reasoning_parts(block: Json<'_>) -> Vec<Part<'_>> {
    let inner = match block.get("reasoningContent").or_else(|| block.get("reasoning_content")) {
        Some(inner) if inner.kind() == JsonKind::Object => inner,
        _ => block,
    };
    let inner = inner.get("reasoningText").unwrap_or(inner);
    let is_redacted = inner.member_is_true("redacted");
    for key in TEXTS {
        if is_redacted && key != "summary" {
            continue;
        }
        if let Some(text) = inner.get_text(key)
            && !text.is_empty()
        {
            return vec![Part { json: block, kind: PartKind::Reasoning(text) }];
        }
    }
    let mut parts = Vec::new();
    for key in LISTS {
        for json in elements_of(inner, key) {
            if let Some(text) = json.get_text("text") {
                parts.push(Part { json, kind: PartKind::Reasoning(text) });
            }
        }
    }
    parts
}
