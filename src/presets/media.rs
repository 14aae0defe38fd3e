//! Moves pictures and other data from messages to files, as `DeepAgents` does.
//!
//! A reference replaces them, which a summarizer can read and pass on.

use std::collections::{HashMap, HashSet};

use serde_json::json;

use crate::hash::sha256;
use crate::transcript::json::{Json, JsonKind};
use crate::transcript::source::Source;
use crate::transcript::{Arguments, Call, CallPlace, Content, Message, Role, Transcript};

use crate::rewrite::Edit;
use crate::rewrite::media::{OffloadedFile, extension, unbase64};

/// The hexadecimal digits of a file's hash in its name.
const NAME_DIGITS: usize = 16;

/// Returns the edits that replace data in messages with references into `folder`, and the files that they refer to,
/// each once.
pub(crate) fn offload(transcript: &Transcript<'_>, indices: &[usize], folder: &str) -> (Vec<Edit>, Vec<OffloadedFile>) {
    let mut edits = Vec::new();
    let mut files: Vec<OffloadedFile> = Vec::new();
    // The first media type that comes with the same bytes decides the name of their file.
    let mut named: HashMap<String, String> = HashMap::new();
    for &index in indices {
        let message = &transcript.messages[index];
        let Content::Parts(parts) = &message.content else { continue };
        let reader = BlockReader::of(message);
        let data = |block: Json<'_>| reader.knows(block).then(|| InlineMedia::of(block)).flatten();
        let blocks = || parts.iter().map(|part| part.json).filter(|block| block.kind() == JsonKind::Object);
        let holds_data = blocks().any(|block| data(block).is_some());
        for block in blocks().filter(|_| holds_data) {
            let Some(data) = data(block) else {
                edits.extend(wrap(block));
                continue;
            };
            let reference = match data.file() {
                Some(file) => {
                    let name = named.entry(file.name[..NAME_DIGITS].to_owned()).or_insert_with(|| {
                        files.push(file.clone());
                        file.name
                    });
                    data.reference(&format!("{folder}/{name}"))
                }
                None => json!({"type": "text", "text": r#"<image error="failed_to_offload" />"#}),
            };
            edits.push(Edit { range: block.span(), text: reference.to_string() });
        }
        if holds_data && reader.appends_calls() {
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
    /// For Google's, whose models draw pictures.
    Google,
    /// For the blocks of another known provider.
    Other,
}

impl BlockReader {
    fn of(message: &Message<'_>) -> Self {
        const OTHER: [&str; 5] = ["anthropic", "bedrock", "bedrock_converse", "groq", "openai"];
        match message.rare_fields().provider.filter(|_| message.role == Role::Assistant) {
            Some(name) if OTHER.iter().any(|other| name.is(other)) => BlockReader::Other,
            Some(name) if name.is("google_genai") || name.is("google_vertexai") => BlockReader::Google,
            _ => BlockReader::Any,
        }
    }

    /// Whether it looks for data in a block. It skips blocks that its provider's models do not write.
    fn knows(self, block: Json<'_>) -> bool {
        let foreign: &[&str] = match self {
            BlockReader::Any => &[],
            BlockReader::Google => &["input_audio"],
            BlockReader::Other => &["image_url", "input_audio"],
        };
        !block.get_text("type").is_some_and(|kind| foreign.iter().any(|name| kind.is(name)))
    }

    /// Whether it appends the calls of a message to its blocks.
    fn appends_calls(self) -> bool {
        self != BlockReader::Other
    }
}

/// Appends the calls of a message to its blocks, where they are counted. Calls without an id, and calls already among
/// the blocks, are left out.
fn append_calls(message: &Message<'_>) -> Option<Edit> {
    let content = message.field("content").filter(|content| content.kind() == JsonKind::Array)?;
    let calls = content.items().filter(|block| block.get_text("type").is_some_and(|kind| kind.is("tool_call")));
    let present: HashSet<_> = calls.filter_map(|block| block.get_text("id")).map(|id| id.decode()).collect();
    let blocks = message.calls.iter().filter(|call| call.place == CallPlace::List).filter_map(|call| {
        let id = call.id.map(|id| id.decode()).filter(|id| !id.is_empty() && !present.contains(id))?;
        let name = call.name.map(|name| name.decode());
        let arguments = arguments(call)?;
        Some(format!(r#", {{"type": "tool_call", "id": {}, "name": {}, "args": {arguments}}}"#, json!(id), json!(name)))
    });
    let text: String = blocks.collect();
    let end = content.span().end - "]".len();
    (!text.is_empty()).then_some(Edit { range: end..end, text })
}

/// Returns the arguments of a call as strict JSON: control characters, which text with JSON may have, are escaped.
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

/// Rewrites a block beside data as `DeepAgents` does: text without a type gets one, and a type that `LangChain` does
/// not know is wrapped, which affects token counts.
fn wrap(block: Json<'_>) -> Option<Edit> {
    const KNOWN: [&str; 11] = [
        "text",
        "reasoning",
        "refusal",
        "image",
        "image_url",
        "audio",
        "video",
        "file",
        "text-plain",
        "server_tool_call",
        "server_tool_result",
    ];
    let text = match (block.get_text("type"), block.get("text")) {
        (Some(kind), _) if KNOWN.iter().any(|known| kind.is(known)) => return None,
        (None, Some(text)) => format!(r#"{{"type": "text", "text": {}}}"#, text.raw()),
        _ => format!(r#"{{"type": "non_standard", "value": {}}}"#, block.raw()),
    };
    Some(Edit { range: block.span(), text })
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
        let text = |path: &[&str]| block.at(path).and_then(|value| value.text()).map(|text| text.decode().into_owned());
        let encoded = |data: String, media_type: String| InlineMedia { bytes: unbase64(&data), media_type };
        if let Some(data) = text(&["base64"]).filter(|data| !data.is_empty()) {
            let media_type = text(&["mime_type"]).filter(|kind| !kind.is_empty());
            return Some(encoded(data, media_type.unwrap_or("application/octet-stream".to_owned())));
        }
        let is_base64 =
            block.at(&["source", "type"]).and_then(|kind| kind.text()).is_some_and(|kind| kind.is("base64"));
        if let Some(data) = text(&["source", "data"]).filter(|_| is_base64) {
            return Some(encoded(data, text(&["source", "media_type"]).unwrap_or_default()));
        }
        if let Some(data) = text(&["input_audio", "data"]) {
            return Some(encoded(data, format!("audio/{}", text(&["input_audio", "format"]).unwrap_or_default())));
        }
        let urls: [&[&str]; 3] = [&["url"], &["image_url", "url"], &["file", "file_data"]];
        let url = urls.iter().find_map(|path| text(path).filter(|url| url.starts_with("data:")))?;
        let (header, payload) = url.split_once(',').unwrap_or((&url, ""));
        let mut header_parts = header["data:".len()..].split(';');
        let media_type = header_parts.next().unwrap_or_default().to_owned();
        let bytes = if !url.contains(',') {
            None
        } else if header_parts.any(|part| part.eq_ignore_ascii_case("base64")) {
            unbase64(payload)
        } else {
            Some(percent_encoding::percent_decode_str(payload).collect())
        };
        Some(InlineMedia { media_type, bytes })
    }

    fn file(&self) -> Option<OffloadedFile> {
        let bytes = self.bytes.clone()?;
        let digits = sha256(&bytes);
        Some(OffloadedFile { name: format!("{}.{}", &digits[..NAME_DIGITS], extension(&self.media_type)), bytes })
    }

    /// Writes the block that refers to a file.
    fn reference(&self, path: &str) -> serde_json::Value {
        match self.media_type.split('/').next() {
            Some(kind @ ("image" | "audio" | "video")) => json!({"type": kind, "url": path}),
            _ => json!({"type": "text", "text": format!("<file url=\"{path}\" />")}),
        }
    }
}
