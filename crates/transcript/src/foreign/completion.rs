//! Completes a message with the content that its format's reader missed: content under members that the format does not
//! define.

use std::collections::HashSet;

use crate::foreign::part::{names_call_or_result, part};
use crate::json::{Json, JsonKind, Object};
use crate::message::{Arguments, Content, Message, Part, PartKind};
use crate::text::Text;

/// Members that hold texts, calls or results in some format.
#[rustfmt::skip]
const CONTENT: &[&str] = &[
    "blocks", "body", "calls", "chunks", "content", "contents", "items", "output", "parts", "response", "result",
    "results", "segments", "text", "toolCall", "toolCalls", "toolInvocations", "toolRequests", "tool_call",
    "tool_calls", "value",
];

/// Members that wrap the message itself.
const WRAPPERS: [&str; 5] = ["message", "data", "kwargs", "payload", "args"];

/// Members that hold metadata in any format: the speaker's name, and notes of a provider or a program. Members that
/// begin with one of [`METADATA_PREFIXES`] are metadata too.
const METADATA: [&str; 6] = ["additional_kwargs", "annotations", "citations", "metadata", "name", "response_metadata"];

/// Prefixes of members that hold metadata, see [`METADATA`].
const METADATA_PREFIXES: [&str; 4] = ["provider", "reasoning", "thinking", "thought"];

/// Finds text in members that no reader reads, and passes over metadata.
#[derive(Clone, Copy)]
struct TextFinder {
    /// The metadata members of the message's format.
    format_members: &'static [&'static str],
}

impl TextFinder {
    fn is_metadata(self, key: Text<'_>) -> bool {
        self.format_members.iter().chain(&METADATA).any(|name| key.is(name))
            || METADATA_PREFIXES.iter().any(|start| key.starts_with(start))
    }

    /// Whether a member holds prose, and not a label, a number or metadata.
    fn has_text_at(self, key: Text<'_>, value: Json<'_>) -> bool {
        !self.is_metadata(key) && self.has_text(value)
    }

    fn has_text(self, json: Json<'_>) -> bool {
        match json.kind() {
            JsonKind::String => json.text().is_some_and(|text| is_prose(&text.decode())),
            JsonKind::Array => json.items().any(|item| self.has_text(item)),
            JsonKind::Object => json.entries().any(|(key, value)| self.has_text_at(key, value)),
            _ => false,
        }
    }

    /// The values of the members that hold prose.
    fn text_values(self, json: Json<'_>) -> impl Iterator<Item = Json<'_>> {
        json.entries().filter(move |(key, value)| self.has_text_at(*key, *value)).map(|(_, value)| value)
    }
}

/// Whether a member of a message holds metadata, in any format or among those of its own.
pub(super) fn is_metadata(key: &str, format_members: &[&str]) -> bool {
    format_members.contains(&key)
        || METADATA.contains(&key)
        || METADATA_PREFIXES.iter().any(|start| key.starts_with(start))
}

/// Whether a text has two words of letters, or a letter of a script that needs no spaces between words.
pub(super) fn is_prose(text: &str) -> bool {
    let is_word = |word: &&str| word.chars().filter(|c| c.is_alphabetic()).count() > 1 && !word.contains('_');
    let is_ideograph = |c: char| c.is_alphabetic() && !c.is_lowercase() && !c.is_uppercase();
    text.split_whitespace().filter(is_word).nth(1).is_some() || text.contains(is_ideograph)
}

/// Reads content that the format's reader does not look for: the arguments of a call, or a text or a result under
/// another member. In a message without any content, every member that resembles content is read.
///
/// `format_members` are the metadata members of the format.
pub(crate) fn complete(message: &mut Message<'_>, format_members: &'static [&'static str]) {
    let finder = TextFinder { format_members };
    complete_calls(message, finder);
    complete_parts(message, finder);
    let is_whole = |json: Json<'_>| json.span() == message.json.span();
    let is_empty = message.content.is_empty()
        && message.calls.is_empty()
        && message.results.iter().all(|answer| is_whole(answer.json));
    let has_calls_or_answers = !message.calls.is_empty() || !message.results.is_empty();
    let lacks_text = !is_empty && lacks_text(message);
    if !is_empty && has_calls_or_answers && !lacks_text {
        return;
    }
    let is_of_call = |value: Json<'_>| {
        let (calls, answers) = (message.calls.iter().map(|call| call.json), message.results.iter().map(|one| one.json));
        let (place, mut spans) = (value.span(), calls.chain(answers).map(|json| json.span()));
        spans.any(|span| span.start < place.end && place.start < span.end)
    };
    let foreign = members(message.json).filter(|(key, value)| {
        if is_empty {
            finder.has_text_at(*key, *value)
                || is_content(*key, *value)
                || !finder.is_metadata(*key) && value.items().any(is_shaped_as_call)
        } else if lacks_text {
            // Messages with calls often carry notes of their program, so only what is written like a text is read.
            (value.kind() == JsonKind::String || value.items().any(|item| item.get_text("type").is_some()))
                && !is_of_call(*value)
                && finder.has_text_at(*key, *value)
        } else {
            !finder.is_metadata(*key) && is_unread_call(message, *key, *value)
        }
    });
    let foreign: Vec<Part<'_>> = foreign.map(|(_, json)| Part { json, kind: part(json) }).collect();
    if foreign.is_empty() {
        return;
    }
    let read = match &message.content {
        Content::Text(text) if text.is_empty() => Vec::new(),
        Content::Text(text) => {
            let is_of = |value: &Json<'_>| value.text().is_some_and(|other| other.raw() == text.raw());
            let json = members(message.json).map(|(_, value)| value).find(is_of);
            vec![Part { json: json.unwrap_or(message.json), kind: PartKind::Text(*text) }]
        }
        Content::Parts(parts) => parts.to_vec(),
    };
    message.content = Content::Parts(read.into_iter().chain(foreign).collect());
}

/// Whether a message has calls, results or media, but no text and no member where its reader expects one.
fn lacks_text(message: &Message<'_>) -> bool {
    let has_calls = !message.calls.is_empty();
    let is_beside_text = |part: &Part<'_>| match part.kind {
        PartKind::Media(_) | PartKind::Call | PartKind::Result(_) => true,
        PartKind::Reasoning(_) => has_calls,
        _ => false,
    };
    let has_no_text = match &message.content {
        Content::Text(text) => (has_calls || !message.results.is_empty()) && text.is_empty(),
        Content::Parts(parts) => parts.iter().all(is_beside_text),
    };
    if !has_no_text || is_result(message) {
        return false;
    }
    let fields = Object::of(message.json);
    ["content", "parts"].iter().all(|name| !has_field(&fields, name))
}

/// Whether a message has a field where [`Message::field`] looks for it.
fn has_field(message: &Object<'_>, key: &str) -> bool {
    let is_in = |envelope: &&str| message.at(&[envelope, key]).is_some();
    message.get(key).is_some() || message.get("role").is_none() && ["data", "kwargs"].iter().any(is_in)
}

/// The members of a message and of the message wrapped in it.
fn members(json: Json<'_>) -> impl Iterator<Item = (Text<'_>, Json<'_>)> {
    let is_inside = |(key, value): &(Text<'_>, Json<'_>)| {
        value.kind() == JsonKind::Object && WRAPPERS.iter().any(|wrapper| key.is(wrapper))
    };
    let inside = json.entries().filter(is_inside).flat_map(|(_, inner)| inner.entries());
    json.entries().filter(move |entry| !is_inside(entry)).chain(inside)
}

/// Finds arguments for calls that have none.
fn complete_calls(message: &mut Message<'_>, finder: TextFinder) {
    if !message.calls.iter().any(|call| matches!(call.arguments, Arguments::Absent)) {
        return;
    }
    let (whole, is_empty) = (message.json.span(), message.content.is_empty());
    // A call that holds its own result would yield the text of that result.
    let answers: HashSet<_> = message.results.iter().map(|answer| answer.json.span()).collect();
    for call in &mut message.calls {
        let span = call.json.span();
        let is_alone = (span != whole || is_empty) && !answers.contains(&span);
        if is_alone && matches!(call.arguments, Arguments::Absent) {
            call.arguments = Arguments::of(finder.text_values(call.json).next());
        }
    }
}

/// Finds the text of empty texts and results. A result that names its call stays a result.
fn complete_parts(message: &mut Message<'_>, finder: TextFinder) {
    let Content::Parts(parts) = &mut message.content else { return };
    let is_empty = |part: &Part<'_>| match &part.kind {
        PartKind::Text(text) => text.is_empty(),
        PartKind::Result(content) => content.is_empty(),
        _ => false,
    };
    if !parts.iter().any(is_empty) {
        return;
    }
    let calls: HashSet<_> = message.calls.iter().map(|call| call.json.span()).collect();
    let named = message.results.iter().filter(|answer| answer.id.is_some());
    let named: HashSet<_> = named.map(|answer| answer.json.span()).collect();
    let is_call = |json: Json<'_>| calls.contains(&json.span());
    let names_call = |json: Json<'_>| named.contains(&json.span());
    for Part { json, kind } in parts.iter_mut() {
        let foreign = || finder.text_values(*json);
        match kind {
            PartKind::Text(text) if text.is_empty() && foreign().next().is_some() => *kind = part(*json),
            PartKind::Result(content) if content.is_empty() && !is_call(*json) && foreign().next().is_some() => {
                *kind = if names_call(*json) {
                    let parts = foreign().map(|json| Part { json, kind: part(json) });
                    PartKind::Result(Content::Parts(parts.collect()))
                } else {
                    part(*json)
                };
            }
            _ => {}
        }
    }
}

/// Whether a member is a non-empty list or object under a name that some format uses for content.
fn is_content(key: Text<'_>, value: Json<'_>) -> bool {
    // A string could be a mere label.
    let holds = match value.kind() {
        JsonKind::Array => value.items().next().is_some(),
        JsonKind::Object => value.entries().next().is_some(),
        _ => false,
    };
    holds && key.is_in(CONTENT)
}

/// Whether a value has a name and arguments under any of their usual keys. In all formats only calls have both.
fn is_shaped_as_call(json: Json<'_>) -> bool {
    let call = json.get("function").filter(|function| function.kind() == JsonKind::Object).unwrap_or(json);
    let has = |keys: [&str; 3]| keys.iter().any(|key| call.get(key).is_some());
    has(["name", "toolName", "tool_name"]) && has(["arguments", "args", "input"])
}

/// Whether a member resembles calls or results by its name or shape, and the message's content has no part from it.
fn is_unread_call(message: &Message<'_>, key: Text<'_>, value: Json<'_>) -> bool {
    let holds = |item: Json<'_>| item.kind() == JsonKind::Object && item.entries().next().is_some();
    let (place, parts) = (value.span(), message.content.parts());
    (holds(value) || value.items().any(holds))
        && (names_call_or_result(&key.decode()) || value.items().any(is_shaped_as_call))
        && !parts.iter().any(|part| place.contains(&part.json.span().start))
}

pub(super) fn is_result(message: &Message<'_>) -> bool {
    message.results.iter().any(|answer| answer.json.span() == message.json.span())
}
