//! `LangChain`'s estimate of tokens, `count_tokens_approximately`, reproduced exactly, and what of it the estimate by
//! pieces shares.
//!
//! The estimate is the number of characters divided by a constant, rounded up for each message, with a few tokens per
//! message. It counts what `LangChain` counts: calls only beside string content, parts other than text by their Python
//! `repr`, pictures at a flat rate.

use crate::transcript::json::{Json, JsonKind};
use crate::transcript::source::Source;
use crate::transcript::text::Text;
use crate::transcript::{Arguments, Call, CallPlace, Content, Message, Part, PartKind, RareFields, Role};

use crate::python::{self, Chars, TextSink};

/// What a picture counts in `LangChain`, in tokens.
pub const MEDIA_TOKENS: u64 = 85;

/// The characters of `[]` around a list and of `, ` between its items.
const LIST_BRACKETS: usize = 2;
const LIST_SEPARATOR: usize = 2;

/// The tokens of each message besides its characters.
pub const MESSAGE_TOKENS: u64 = 3;

/// How a list of parts counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Lists {
    /// Each part by itself: texts, pictures at a flat rate, and all others by their `repr`.
    ByPart,
    /// By the `repr` of the whole list, as in langchain-core 1.2.7.
    Repr,
}

/// The characters around a message's pieces: its role, its name, and the call that a result answers.
pub fn chars_around(message: &Message<'_>) -> usize {
    let RareFields { role_name, name, .. } = message.rare_fields();
    let role = role_name.map_or(message.role.openai_name().len(), |role| role.code_point_count());
    let mut chars = role;
    if let Some(name) = name {
        chars += name.code_point_count();
    }
    if message.role == Role::Tool
        && let Some(result) = message.results.first()
        && let Some(answered) = result.id
    {
        chars += answered.code_point_count();
    }
    chars
}

/// `LangChain`'s own count of a message, with so many characters per token. It leaves out the reasoning beside the
/// content.
pub fn count(message: &Message<'_>, chars_per_token: f64, lists: Lists) -> u64 {
    let mut chars = chars_around(message);
    let mut media = 0;
    match read_content(message) {
        ReadContent::Text(text) => {
            chars += text.code_point_count();
            if message.role == Role::Assistant {
                for call in &message.calls {
                    if call.place == CallPlace::List {
                        chars += call_chars(call);
                    }
                }
            }
        }
        ReadContent::Printed(value) => chars += repr_length(value),
        ReadContent::List(parts) if lists == Lists::Repr => {
            chars += LIST_BRACKETS + LIST_SEPARATOR * parts.len().saturating_sub(1);
            for part in parts {
                chars += repr_length(part.json);
            }
        }
        ReadContent::List(parts) => {
            for part in parts {
                match block_kind(part.json) {
                    BlockKind::Text(length) => chars += length,
                    BlockKind::Picture => media += MEDIA_TOKENS,
                    BlockKind::Other => chars += repr_length(part.json),
                }
            }
        }
    }
    tokens(chars, chars_per_token) + MESSAGE_TOKENS + media
}

/// How `LangChain` counts an element of a list of content.
enum BlockKind {
    /// As a text of so many characters.
    Text(usize),
    /// As a picture, at a flat rate.
    Picture,
    /// By its `repr`.
    Other,
}

/// `LangChain` goes by the type alone. Of a text that is a list or an object, Python's `len` counts the elements.
fn block_kind(block: Json<'_>) -> BlockKind {
    if let Some(text) = block.text() {
        return BlockKind::Text(text.code_point_count());
    }
    let Some(kind) = block.get_text("type") else { return BlockKind::Other };
    if kind.is("image") || kind.is("image_url") {
        return BlockKind::Picture;
    }
    if !kind.is("text") {
        return BlockKind::Other;
    }
    let Some(text) = block.get("text") else { return BlockKind::Text(0) };
    BlockKind::Text(match text.kind() {
        JsonKind::Array => text.items().count(),
        JsonKind::Object => text.entries().count(),
        _ => text.text().map_or(0, |text| text.code_point_count()),
    })
}

/// The content of a message as `LangChain` reads it.
pub enum ReadContent<'m, 'a> {
    Text(Text<'a>),
    /// A list, which can be empty. `LangChain` counts no calls beside any list.
    List(Vec<&'m Part<'a>>),
    /// Another value of a result. It becomes the text that Python prints of it.
    Printed(Json<'a>),
}

/// The content as `LangChain` reads it: what the member `content` has. tcompact also reads words that stand beside it,
/// such as a refusal; `LangChain` keeps those among the additional fields, and neither counts nor writes them.
pub fn read_content<'m, 'a>(message: &'m Message<'a>) -> ReadContent<'m, 'a> {
    let member = message.field("content");
    let parts = match &message.content {
        Content::Text(text) if !text.is_empty() => return ReadContent::Text(*text),
        Content::Text(_) => return read_empty(message, member),
        Content::Parts(parts) => parts,
    };
    let read: Vec<&Part<'a>> = parts.iter().filter(|part| !is_beside(part, member)).collect();
    if read.is_empty() {
        return read_empty(message, member);
    }
    match member {
        Some(member) if member.kind() == JsonKind::String => {
            member.text().map_or(ReadContent::List(read), ReadContent::Text)
        }
        Some(member) if member.kind() != JsonKind::Array => ReadContent::Printed(member),
        _ => ReadContent::List(read),
    }
}

/// Content that is empty or falsy in Python. `LangChain`'s own encodings, which have no role, keep it as it is. In
/// other messages it becomes an empty text.
fn read_empty<'m, 'a>(message: &'m Message<'a>, member: Option<Json<'a>>) -> ReadContent<'m, 'a> {
    let empty = ReadContent::Text(Text::plain(""));
    let Some(member) = member else { return empty };
    if !member.is_falsy() || message.json.get("role").is_some() {
        return empty;
    }
    match member.kind() {
        JsonKind::Array => ReadContent::List(Vec::new()),
        JsonKind::String => empty,
        _ if message.role == Role::Tool => ReadContent::Printed(member),
        _ => empty,
    }
}

/// Whether a part stands elsewhere than in the member `content`. Media of a provider do even where there is no such member.
fn is_beside(part: &Part<'_>, member: Option<Json<'_>>) -> bool {
    let Some(member) = member else { return matches!(part.kind, PartKind::Mixed(_)) };
    let (part, member) = (part.json.span(), member.span());
    part.end <= member.start || member.end <= part.start
}

/// The tokens of a user message of so many characters.
pub fn text_message(chars: usize, chars_per_token: f64) -> u64 {
    tokens(chars + Role::User.openai_name().len(), chars_per_token) + MESSAGE_TOKENS
}

/// Divides characters by the characters per token, and rounds up like Python's floats.
pub fn tokens(chars: usize, chars_per_token: f64) -> u64 {
    (chars as f64 / chars_per_token).ceil() as u64
}

fn repr_length(value: Json<'_>) -> usize {
    let mut chars = Chars::default();
    python::repr(value, &mut chars);
    chars.0
}

/// The characters of a call: its `repr`, and what stands between it and others.
pub fn call_chars(call: &Call<'_>) -> usize {
    let mut chars = Chars::default();
    call_repr(call, &mut chars);
    chars.0 + LIST_SEPARATOR
}

/// Appends the `repr` of the list of calls as `LangChain` holds it; nothing without calls.
pub fn calls_repr(calls: &[Call<'_>], out: &mut impl TextSink) {
    let mut separator = "[";
    for call in calls.iter().filter(|call| call.place == CallPlace::List) {
        out.push_str(separator);
        call_repr(call, out);
        separator = ", ";
    }
    if separator == ", " {
        out.push(']');
    }
}

/// Appends the `repr` of a call: `{'name': …, 'args': {…}, 'id': …, 'type': 'tool_call'}`.
fn call_repr(call: &Call<'_>, out: &mut impl TextSink) {
    out.push_str("{'name': ");
    text_or_none(call.name, out);
    out.push_str(", 'args': ");
    arguments(call.arguments, out);
    out.push_str(", 'id': ");
    // An empty id is none to pairs, but LangChain writes it.
    text_or_none(call.id.or_else(|| call.json.get_text("id")), out);
    out.push_str(", 'type': 'tool_call'}");
}

fn text_or_none(text: Option<Text<'_>>, out: &mut impl TextSink) {
    match text {
        Some(text) => python::string(text, out),
        None => out.push_str("None"),
    }
}

/// Appends arguments as a dict. Arguments that are not a dict, which `LangChain` refuses, count as a string.
fn arguments(arguments: Arguments<'_>, out: &mut impl TextSink) {
    match arguments {
        Arguments::Value(value) => python::repr(value, out),
        Arguments::Absent => out.push_str("{}"),
        Arguments::Text(text) => match Source::of_arguments(&text.decode_json()).as_ref().and_then(Source::first) {
            Some(value) => python::repr(value, out),
            None => python::string(text, out),
        },
    }
}
