//! `LangChain`'s estimate of tokens, `count_tokens_approximately`, reproduced exactly, and what of it the estimate by
//! pieces shares.
//!
//! The estimate is the number of characters divided by a constant, rounded up for each message, with a few tokens per
//! message. It counts what `LangChain` counts: calls only beside string content, parts other than text by their Python
//! `repr`, pictures at a flat rate.

use crate::transcript::json::{Json, JsonKind};
use crate::transcript::media::MediaKind;
use crate::transcript::source::Source;
use crate::transcript::text::Text;
use crate::transcript::{Arguments, Call, CallPlace, Content, Message, Part, PartKind, RareFields, Role};

use crate::tokens::python::{self, Chars, TextSink};

/// What a picture counts in `LangChain`, in tokens.
pub(crate) const MEDIA_TOKENS: u64 = 85;

/// The characters of `[]` around a list and of `, ` between its items.
const LIST_BRACKETS: usize = 2;
const LIST_SEPARATOR: usize = 2;

/// The tokens of each message besides its characters.
pub(crate) const MESSAGE_TOKENS: u64 = 3;

/// How a list of parts counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Lists {
    /// Each part by itself: texts, pictures at a flat rate, and all others by their `repr`.
    ByPart,
    /// By the `repr` of the whole list, as in langchain-core 1.2.7.
    Repr,
}

/// The characters around a message's pieces: its role, its name, and the call that a result answers.
pub(crate) fn chars_around(message: &Message<'_>) -> usize {
    let RareFields { role_name, name, .. } = message.rare_fields();
    let role = role_name.map_or(message.role.openai_name().len(), |role| role.code_point_count());
    let answered = message.results.first().filter(|_| message.role == Role::Tool).and_then(|result| result.id);
    role + [name, answered].into_iter().flatten().map(|text| text.code_point_count()).sum::<usize>()
}

/// `LangChain`'s own count of a message, with so many characters per token. It leaves out the reasoning beside the
/// content.
pub(crate) fn count(message: &Message<'_>, chars_per_token: f64, lists: Lists) -> u64 {
    let mut chars = chars_around(message);
    let mut media = 0;
    match read_content(message) {
        ReadContent::Text(text) => {
            chars += text.code_point_count();
            if message.role == Role::Assistant {
                chars +=
                    message.calls.iter().filter(|call| call.place == CallPlace::List).map(call_chars).sum::<usize>();
            }
        }
        ReadContent::Parts(parts) if lists == Lists::Repr => {
            let separators = LIST_SEPARATOR * parts.len().saturating_sub(1);
            chars += LIST_BRACKETS + separators + parts.iter().map(|part| repr_length(part.json)).sum::<usize>();
        }
        ReadContent::Parts(parts) => {
            for part in parts {
                match &part.kind {
                    PartKind::Text(text) => chars += text.code_point_count(),
                    PartKind::Media(MediaKind::Picture) => media += MEDIA_TOKENS,
                    _ => chars += repr_length(part.json),
                }
            }
        }
    }
    tokens(chars, chars_per_token) + MESSAGE_TOKENS + media
}

/// The content of a message as `LangChain` reads it.
enum ReadContent<'m, 'a> {
    Text(Text<'a>),
    Parts(Vec<&'m Part<'a>>),
}

/// The content without what `LangChain` does not read: media of other providers beside it.
fn read_content<'m, 'a>(message: &'m Message<'a>) -> ReadContent<'m, 'a> {
    let parts = match &message.content {
        Content::Text(text) => return ReadContent::Text(*text),
        Content::Parts(parts) => parts,
    };
    let content = || message.field("content").map(|content| content.span());
    let is_beside = |part: &&Part<'_>| {
        let span = part.json.span();
        matches!(part.kind, PartKind::Mixed(_))
            && content().is_none_or(|content| span.end <= content.start || content.end <= span.start)
    };
    let read: Vec<&Part<'a>> = parts.iter().filter(|part| !is_beside(part)).collect();
    match read[..] {
        [] if !parts.is_empty() => ReadContent::Text(Text::plain("")),
        [Part { json, kind: PartKind::Text(text) }] if read.len() < parts.len() && json.kind() == JsonKind::String => {
            ReadContent::Text(*text)
        }
        _ => ReadContent::Parts(read),
    }
}

/// The tokens of a user message of so many characters.
pub(crate) fn text_message(chars: usize, chars_per_token: f64) -> u64 {
    tokens(chars + Role::User.openai_name().len(), chars_per_token) + MESSAGE_TOKENS
}

/// Divides characters by the characters per token, and rounds up like Python's floats.
pub(crate) fn tokens(chars: usize, chars_per_token: f64) -> u64 {
    (chars as f64 / chars_per_token).ceil() as u64
}

fn repr_length(value: Json<'_>) -> usize {
    let mut chars = Chars::default();
    python::repr(value, &mut chars);
    chars.0
}

/// The characters of a call: its `repr`, and what stands between it and others.
pub(crate) fn call_chars(call: &Call<'_>) -> usize {
    let mut chars = Chars::default();
    call_repr(call, &mut chars);
    chars.0 + LIST_SEPARATOR
}

/// Appends the `repr` of the list of calls as `LangChain` holds it; nothing without calls.
pub(crate) fn calls_repr(calls: &[Call<'_>], out: &mut impl TextSink) {
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
