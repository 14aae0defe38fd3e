//! Pictures and other data that `DeepAgents` moves to files: a reference takes the place of each, as `LangChain`'s reader of
//! the message's blocks writes it.

use std::borrow::Cow;
use std::collections::{HashMap, HashSet};

use serde_json::json;

use crate::rewrite::Edit;
use crate::rewrite::media::{HASH_DIGITS, OffloadedFile};
use crate::tokens::approx::{ReadContent, read_content};
use crate::transcript::json::{Json, JsonKind};
use crate::transcript::media::base64_data::decode_like_python;
use crate::transcript::source::Source;
use crate::transcript::{Arguments, Call, CallPlace, Message, Role, Transcript};

/// The edits that replace data in messages with references into `folder`, and the files that they refer to, each once.
pub fn move_media(transcript: &Transcript<'_>, indices: &[usize], folder: &str) -> (Vec<Edit>, Vec<OffloadedFile>) {
    let mut edits = Vec::new();
    let mut files: Vec<OffloadedFile> = Vec::new();
    // The first media type that comes with the same bytes decides the name of their file.
    let mut named: HashMap<String, String> = HashMap::new();
    for &index in indices {
        let message = &transcript.messages[index];
        let ReadContent::List(parts) = read_content(message) else { continue };
        let reader = BlockReader::of(message);
        let holds_data = parts.iter().any(|part| reader.data(part.json).is_some());
        if !holds_data {
            continue;
        }
        for block in parts.iter().map(|part| part.json) {
            let Some(data) = reader.data(block) else {
                let text = reader.converted(block);
                edits.extend(text.map(|text| Edit { range: block.span(), text }));
                continue;
            };
            let reference = match data.file() {
                Some(file) => {
                    let name = named.entry(file.name[..HASH_DIGITS].to_owned()).or_insert_with(|| {
                        files.push(file.clone());
                        file.name
                    });
                    data.reference(&format!("{folder}/{name}"))
                }
                None => json!({"type": "text", "text": r#"<image error="failed_to_offload" />"#}),
            };
            edits.push(Edit { range: block.span(), text: reference.to_string() });
        }
        if reader == BlockReader::Any {
            edits.extend(insert_reasoning(message));
        }
        // The reader of OpenAI's blocks leaves the calls beside them.
        if reader != BlockReader::OpenAi {
            edits.extend(append_calls(message));
        }
    }
    (edits, files)
}

/// The reader of blocks that `LangChain` uses for a message: it has one for each provider that it knows.
#[derive(Clone, Copy, PartialEq, Eq)]
enum BlockReader {
    /// For the blocks of any provider.
    Any,
    /// For OpenAI's.
    OpenAi,
    /// For Google's, whose models draw pictures.
    Google,
    /// For the blocks of another known provider, whose models write no data.
    Other,
}

/// The types of `LangChain`'s own blocks.
#[rustfmt::skip]
const STANDARD: [&str; 15] = [
    "text", "reasoning", "refusal", "image", "audio", "video", "file", "text-plain", "non_standard", "tool_call",
    "invalid_tool_call", "tool_call_chunk", "server_tool_call", "server_tool_call_chunk", "server_tool_result",
];

impl BlockReader {
    fn of(message: &Message<'_>) -> Self {
        let Some(provider) = message.rare_fields().provider else { return BlockReader::Any };
        if message.role != Role::Assistant {
            return BlockReader::Any;
        }
        match &*provider.decode() {
            "openai" => BlockReader::OpenAi,
            "google_genai" | "google_vertexai" => BlockReader::Google,
            "anthropic" | "bedrock_converse" | "groq" => BlockReader::Other,
            "bedrock" => {
                let model = message.metadata("model_name").and_then(|name| name.text());
                let is_claude = model.is_some_and(|name| name.decode().to_lowercase().contains("claude"));
                if is_claude { BlockReader::Other } else { BlockReader::Any }
            }
            _ => BlockReader::Any,
        }
    }

    /// The data that it finds in a block. Those of providers know only the blocks that their models write.
    fn data(self, block: Json<'_>) -> Option<InlineMedia> {
        let kind = block.get_text("type");
        match self {
            BlockReader::Any => InlineMedia::of(block),
            BlockReader::OpenAi if kind?.is_in(&STANDARD) => InlineMedia::standard(block),
            BlockReader::OpenAi => None,
            BlockReader::Google => {
                if !kind?.is("image_url") {
                    return None;
                }
                let url = block.at(&["image_url", "url"])?.text()?.decode();
                if url.contains(";base64,") { InlineMedia::in_url(&url) } else { None }
            }
            BlockReader::Other => None,
        }
    }

    /// What it makes of a block without data, where the message has data elsewhere; `None` if the block stays as it is.
    fn converted(self, block: Json<'_>) -> Option<String> {
        if self == BlockReader::OpenAi && block.kind() == JsonKind::String {
            // It leaves out what is not a block.
            return Some(r#"{"type": "text", "text": ""}"#.to_owned());
        }
        if block.kind() != JsonKind::Object {
            return None;
        }
        let kind = block.get_text("type").map(|kind| kind.decode()).unwrap_or_default();
        match self {
            BlockReader::Any => converted_by_any(block, &kind),
            BlockReader::OpenAi if STANDARD.contains(&&*kind) => None,
            BlockReader::Google if kind == "text" => None,
            BlockReader::Google if kind == "thinking" => {
                let thinking = block.get("thinking")?.raw();
                Some(format!(r#"{{"type": "reasoning", "reasoning": {thinking}}}"#))
            }
            _ => Some(non_standard(block)),
        }
    }
}

/// What the reader for any provider makes of a block without data.
fn converted_by_any(block: Json<'_>, kind: &str) -> Option<String> {
    if (kind == "document" || kind == "image")
        && let Some(url) = block.at(&["source", "url"])
    {
        let kind = if kind == "image" { "image" } else { "file" };
        return Some(format!(r#"{{"type": "{kind}", "url": {}{}}}"#, url.raw(), extras(block)));
    }
    if kind == "document"
        && let Some(text) = block.at(&["source", "data"])
    {
        return Some(format!(
            r#"{{"type": "text-plain", "text": {}, "mime_type": "text/plain"{}}}"#,
            text.raw(),
            extras(block)
        ));
    }
    if kind.is_empty()
        && let Some(text) = block.get("text")
    {
        return Some(format!(r#"{{"type": "text", "text": {}}}"#, text.raw()));
    }
    let is_picture = kind == "image_url" && block.at(&["image_url", "url"]).is_some();
    if is_picture || STANDARD.contains(&kind) { None } else { Some(non_standard(block)) }
}

/// The members of a block beside its source, as a member of the standard block that it becomes.
fn extras(block: Json<'_>) -> String {
    let mut members = Vec::new();
    for (key, value) in block.entries() {
        if !key.is("type") && !key.is("source") {
            members.push(format!("{}: {}", json!(key.decode()), value.raw()));
        }
    }
    if members.is_empty() { String::new() } else { format!(r#", "extras": {{{}}}"#, members.join(", ")) }
}

/// Wraps a block that a reader does not know.
fn non_standard(block: Json<'_>) -> String {
    format!(r#"{{"type": "non_standard", "value": {}}}"#, block.raw())
}

/// Puts the model's reasoning beside the content before the blocks, unless they have some.
fn insert_reasoning(message: &Message<'_>) -> Option<Edit> {
    if message.role != Role::Assistant {
        return None;
    }
    let content = message.field("content")?;
    let reasoning = message.additional("reasoning_content").filter(|value| value.kind() == JsonKind::String)?;
    if content.items().any(|block| block.get_text("type").is_some_and(|kind| kind.is("reasoning"))) {
        return None;
    }
    let start = content.span().start + "[".len();
    Some(Edit { range: start..start, text: format!(r#"{{"type": "reasoning", "reasoning": {}}}, "#, reasoning.raw()) })
}

/// Appends the calls of a message to its blocks, where they are counted. Calls without an id, and calls already among
/// the blocks, are left out.
fn append_calls(message: &Message<'_>) -> Option<Edit> {
    let content = message.field("content").filter(|content| content.kind() == JsonKind::Array)?;
    let mut present = HashSet::new();
    for block in content.items() {
        if block.get_text("type").is_some_and(|kind| kind.is("tool_call"))
            && let Some(id) = block.get_text("id")
        {
            present.insert(id.decode());
        }
    }
    let mut text = String::new();
    for call in &message.calls {
        let Some(id) = call.id.map(|id| id.decode()) else { continue };
        if call.place != CallPlace::List || id.is_empty() || present.contains(&id) {
            continue;
        }
        let Some(arguments) = arguments(call) else { continue };
        let (id, name) = (json!(id), json!(call.name.map(|name| name.decode())));
        text.push_str(&format!(r#", {{"type": "tool_call", "id": {id}, "name": {name}, "args": {arguments}}}"#));
    }
    if text.is_empty() {
        return None;
    }
    let end = content.span().end - "]".len();
    Some(Edit { range: end..end, text })
}

/// The arguments of a call as strict JSON: control characters, which text with JSON may have, are escaped.
fn arguments(call: &Call<'_>) -> Option<String> {
    match call.arguments {
        Arguments::Value(value) => Some(value.raw().to_owned()),
        Arguments::Absent => None,
        Arguments::Text(text) => {
            let json = text.decode_json();
            Source::of_arguments(&json)?;
            let mut escaped = String::with_capacity(json.len());
            let (mut in_string, mut after_backslash) = (false, false);
            for c in json.chars() {
                match c {
                    _ if in_string && c < ' ' => escaped.push_str(&format!("\\u{:04x}", u32::from(c))),
                    _ => escaped.push(c),
                }
                in_string ^= c == '"' && !after_backslash;
                after_backslash = c == '\\' && !after_backslash;
            }
            Some(escaped)
        }
    }
}

/// The type of data that come without one.
const UNKNOWN_TYPE: &str = "application/octet-stream";

fn text_at<'a>(block: Json<'a>, path: &[&str]) -> Option<Cow<'a, str>> {
    Some(block.at(path)?.text()?.decode())
}

fn non_empty_text<'a>(block: Json<'a>, key: &str) -> Option<Cow<'a, str>> {
    let text = block.get_text(key)?.decode();
    if text.is_empty() { None } else { Some(text) }
}

/// Data inside a message.
struct InlineMedia {
    media_type: String,
    /// The bytes, if they could be decoded.
    bytes: Option<Vec<u8>>,
}

impl InlineMedia {
    /// Reads the data of a block in any of its forms.
    fn of(block: Json<'_>) -> Option<Self> {
        if let Some(standard) = InlineMedia::standard(block) {
            return Some(standard);
        }
        // LangChain's earlier blocks.
        if text_at(block, &["source_type"]).as_deref() == Some("base64")
            && let Some(data) = text_at(block, &["data"])
        {
            let media_type = text_at(block, &["mime_type"]).map_or(UNKNOWN_TYPE.to_owned(), Cow::into_owned);
            return Some(InlineMedia { bytes: decode_like_python(&data), media_type });
        }
        if text_at(block, &["source", "type"]).as_deref() == Some("base64")
            && let Some(data) = text_at(block, &["source", "data"])
        {
            let media_type = text_at(block, &["source", "media_type"]).unwrap_or_default().into_owned();
            return Some(InlineMedia { bytes: decode_like_python(&data), media_type });
        }
        if let Some(data) = text_at(block, &["input_audio", "data"]) {
            let format = text_at(block, &["input_audio", "format"]).unwrap_or_default();
            return Some(InlineMedia { bytes: decode_like_python(&data), media_type: format!("audio/{format}") });
        }
        for path in [["image_url", "url"], ["file", "file_data"]] {
            if let Some(url) = text_at(block, &path)
                && let Some(media) = InlineMedia::in_url(&url)
            {
                return Some(media);
            }
        }
        None
    }

    /// Reads the data of one of `LangChain`'s own blocks.
    fn standard(block: Json<'_>) -> Option<Self> {
        let Some(data) = non_empty_text(block, "base64") else {
            return InlineMedia::in_url(&non_empty_text(block, "url")?);
        };
        let media_type = non_empty_text(block, "mime_type").map_or(UNKNOWN_TYPE.to_owned(), Cow::into_owned);
        Some(InlineMedia { bytes: decode_like_python(&data), media_type })
    }

    /// Reads the data in an address; `None` if the data are elsewhere.
    fn in_url(url: &str) -> Option<Self> {
        let (header, payload) = url.split_once(',').unwrap_or((url, ""));
        if !header.starts_with("data:") {
            return None;
        }
        let mut header_parts = header["data:".len()..].split(';');
        let media_type = header_parts.next().unwrap_or_default().to_owned();
        let bytes = if !url.contains(',') {
            None
        } else if header_parts.any(|part| part.eq_ignore_ascii_case("base64")) {
            decode_like_python(payload)
        } else {
            Some(percent_encoding::percent_decode_str(payload).collect())
        };
        Some(InlineMedia { media_type, bytes })
    }

    fn file(&self) -> Option<OffloadedFile> {
        Some(OffloadedFile::of_medium(self.bytes.clone()?, &self.media_type))
    }

    /// Writes the block that refers to a file.
    fn reference(&self, path: &str) -> serde_json::Value {
        match self.media_type.split('/').next() {
            Some(kind @ ("image" | "audio" | "video")) => json!({"type": kind, "url": path}),
            _ => json!({"type": "text", "text": format!("<file url=\"{path}\" />")}),
        }
    }
}
