//! `LangChain`'s estimate of tokens, `count_tokens_approximately`, reproduced exactly, and on demand with the reasoning
//! beside the content.
//!
//! The estimate is the number of characters divided by a constant, rounded up for each message, with a few tokens per
//! message. It counts what `LangChain` counts: calls only beside string content, parts other than text by their Python
//! `repr`, pictures at a flat rate.

use crate::transcript::json::Json;
use crate::transcript::source::Source;
use crate::transcript::text::Text;
use crate::transcript::{Arguments, Call, CallPlace, Content, Message, PartKind, RareFields, Role};

use crate::tokens::python::{self, Chars, TextSink};

/// The flat rate of a picture or another medium, in tokens. It is `LangChain`'s number for a picture.
pub(crate) const MEDIA_TOKENS: u64 = 85;

/// The characters of `[]` around a list and of `, ` between its items.
const LIST_BRACKETS: usize = 2;
const LIST_SEPARATOR: usize = 2;

/// The tokens of each message besides its characters.
const MESSAGE_TOKENS: u64 = 3;

/// How a list of parts counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Lists {
    /// Each part by itself: texts, pictures at a flat rate, and all others by their `repr`.
    ByPart,
    /// By the `repr` of the whole list, as in langchain-core 1.2.7.
    Repr,
}

/// Returns the reasoning beside the content of a message. Clients that keep it send it back.
pub(crate) fn reasoning_beside<'a>(message: &Message<'a>) -> impl Iterator<Item = Text<'a>> {
    let reasoning = message.rest.as_deref().and_then(|rest| rest.reasoning);
    let of_detail = |detail: Json<'a>| ["text", "thinking", "summary"].iter().find_map(|key| detail.get_text(key));
    let text = reasoning.and_then(|reasoning| reasoning.text());
    text.into_iter().chain(reasoning.into_iter().flat_map(|details| details.items()).filter_map(of_detail))
}

/// Returns the tokens of a message, with so many characters per token. The reasoning beside its content counts only on
/// demand: `LangChain` leaves it out.
pub(crate) fn count(message: &Message<'_>, chars_per_token: f64, lists: Lists, with_reasoning: bool) -> u64 {
    let RareFields { role_name, name, .. } = message.rare_fields();
    let mut chars = role_name.map_or(message.role.openai_name().len(), |role| role.code_point_count());
    let mut media = 0;
    match &message.content {
        Content::Text(text) => {
            chars += text.code_point_count();
            if message.role == Role::Assistant {
                chars += calls_length(&message.calls);
            }
        }
        Content::Parts(parts) if lists == Lists::Repr => {
            let separators = LIST_SEPARATOR * parts.len().saturating_sub(1);
            chars += LIST_BRACKETS + separators + parts.iter().map(|part| repr_length(part.json)).sum::<usize>();
        }
        Content::Parts(parts) => {
            for part in parts {
                match &part.kind {
                    PartKind::Text(text) => chars += text.code_point_count(),
                    PartKind::Image => media += MEDIA_TOKENS,
                    _ => chars += repr_length(part.json),
                }
            }
        }
    }
    if message.role == Role::Tool {
        chars += message.results.first().and_then(|answer| answer.id).map_or(0, |id| id.code_point_count());
    }
    chars += name.map_or(0, |name| name.code_point_count());
    if with_reasoning {
        chars += reasoning_beside(message).map(|text| text.code_point_count()).sum::<usize>();
    }
    tokens(chars, chars_per_token) + MESSAGE_TOKENS + media
}

/// Returns the tokens of a user message of so many characters.
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

fn calls_length(calls: &[Call<'_>]) -> usize {
    let mut chars = Chars::default();
    calls_repr(calls, &mut chars);
    chars.0
}

/// Appends the `repr` of the list of calls as `LangChain` holds it: `[{'name': …, 'args': {…}, 'id': …, 'type':
/// 'tool_call'}]`; nothing without calls.
pub(crate) fn calls_repr(calls: &[Call<'_>], out: &mut impl TextSink) {
    let mut separator = "[";
    for call in calls.iter().filter(|call| call.place == CallPlace::List) {
        out.push_str(separator);
        out.push_str("{'name': ");
        text_or_none(call.name, out);
        out.push_str(", 'args': ");
        arguments(call.arguments, out);
        out.push_str(", 'id': ");
        // An empty id is none to pairs, but LangChain writes it.
        text_or_none(call.id.or_else(|| call.json.get_text("id")), out);
        out.push_str(", 'type': 'tool_call'}");
        separator = ", ";
    }
    if separator == ", " {
        out.push(']');
    }
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
