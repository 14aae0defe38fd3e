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
        is_metadata(&key.decode(), self.format_members)
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
    text.split_whitespace().filter(|word| is_word(word)).nth(1).is_some() || text.contains(is_ideograph)
}

fn is_word(word: &str) -> bool {
    word.chars().filter(|c| c.is_alphabetic()).count() > 1 && !word.contains('_')
}

fn is_ideograph(c: char) -> bool {
    c.is_alphabetic() && !c.is_lowercase() && !c.is_uppercase()
}

/// What a message lacks after its format's reader has read it.
#[derive(Clone, Copy)]
enum Lack {
    /// All content.
    Content,
    /// A text beside its calls, results or media.
    Text,
    /// Calls and results beside its text.
    Calls,
}

impl Lack {
    fn of(message: &Message<'_>) -> Option<Lack> {
        if is_empty(message) {
            Some(Lack::Content)
        } else if lacks_text(message) {
            Some(Lack::Text)
        } else if message.calls.is_empty() && message.results.is_empty() {
            Some(Lack::Calls)
        } else {
            None
        }
    }
}

/// Reads content that the format's reader does not look for: the arguments of a call, or a text or a result under
/// another member. In a message without any content, every member that resembles content is read.
///
/// `format_members` are the metadata members of the format.
pub(crate) fn complete(message: &mut Message<'_>, format_members: &'static [&'static str]) {
    let finder = TextFinder { format_members };
    complete_calls(message, finder);
    complete_parts(message, finder);
    let Some(lack) = Lack::of(message) else { return };
    let mut foreign = Vec::new();
    for (key, json) in members(message.json) {
        let is_unread = match lack {
            Lack::Content => {
                finder.has_text_at(key, json)
                    || is_content(key, json)
                    || !finder.is_metadata(key) && json.items().any(is_shaped_as_call)
            }
            // Messages with calls often carry notes of their program, so only what is written like a text is read.
            Lack::Text => is_written_as_text(json) && !overlaps_calls(message, json) && finder.has_text_at(key, json),
            Lack::Calls => !finder.is_metadata(key) && is_unread_call(message, key, json),
        };
        if is_unread {
            foreign.push(Part { json, kind: part(json) });
        }
    }
    if !foreign.is_empty() {
        append(message, foreign);
    }
}

/// Appends parts to the content of a message.
fn append<'a>(message: &mut Message<'a>, mut more: Vec<Part<'a>>) {
    let mut parts = match std::mem::replace(&mut message.content, Content::empty()) {
        Content::Text(text) if text.is_empty() => Vec::new(),
        Content::Text(text) => {
            let json = member_with(message.json, text).unwrap_or(message.json);
            vec![Part { json, kind: PartKind::Text(text) }]
        }
        Content::Parts(parts) => parts.into_vec(),
    };
    parts.append(&mut more);
    message.content = Content::Parts(parts.into());
}

/// The member of a message that holds a text.
fn member_with<'a>(message: Json<'a>, text: Text<'a>) -> Option<Json<'a>> {
    let mut values = members(message).map(|(_, value)| value);
    values.find(|value| value.text().is_some_and(|other| other.raw() == text.raw()))
}

/// Whether a message has no content, no calls, and no results but itself.
fn is_empty(message: &Message<'_>) -> bool {
    let whole = message.json.span();
    message.content.is_empty()
        && message.calls.is_empty()
        && message.results.iter().all(|answer| answer.json.span() == whole)
}

/// Whether a value is a string, or a list of blocks with a type.
fn is_written_as_text(value: Json<'_>) -> bool {
    value.kind() == JsonKind::String || value.items().any(|item| item.get_text("type").is_some())
}

/// Whether a value is in a call or a result of a message, or around one.
fn overlaps_calls(message: &Message<'_>, value: Json<'_>) -> bool {
    message.calls.iter().any(|call| overlap(call.json, value))
        || message.results.iter().any(|result| overlap(result.json, value))
}

fn overlap(one: Json<'_>, other: Json<'_>) -> bool {
    let (one, other) = (one.span(), other.span());
    one.start < other.end && other.start < one.end
}

/// Whether a message has calls, results or media, but no text and no member where its reader expects one.
fn lacks_text(message: &Message<'_>) -> bool {
    let has_calls = !message.calls.is_empty();
    match &message.content {
        Content::Text(text) => {
            if !text.is_empty() || !has_calls && message.results.is_empty() {
                return false;
            }
        }
        Content::Parts(parts) => {
            for part in parts {
                match part.kind {
                    PartKind::Media(_) | PartKind::Call | PartKind::Result(_) => {}
                    PartKind::Reasoning(_) if has_calls => {}
                    _ => return false,
                }
            }
        }
    }
    if is_result(message) {
        return false;
    }
    let fields = Object::of(message.json);
    !has_field(&fields, "content") && !has_field(&fields, "parts")
}

/// Whether a message has a field where [`Message::field`] looks for it.
fn has_field(message: &Object<'_>, key: &str) -> bool {
    if message.get(key).is_some() {
        return true;
    }
    message.get("role").is_none() && (message.at(&["data", key]).is_some() || message.at(&["kwargs", key]).is_some())
}

/// The members of a message and of the message wrapped in it.
fn members(json: Json<'_>) -> impl Iterator<Item = (Text<'_>, Json<'_>)> {
    let inside = json.entries().filter(is_wrapper).flat_map(|(_, inner)| inner.entries());
    json.entries().filter(|entry| !is_wrapper(entry)).chain(inside)
}

fn is_wrapper((key, value): &(Text<'_>, Json<'_>)) -> bool {
    value.kind() == JsonKind::Object && key.is_in(&WRAPPERS)
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
    if !parts.iter().any(is_empty_part) {
        return;
    }
    let calls: HashSet<_> = message.calls.iter().map(|call| call.json.span()).collect();
    let mut named = HashSet::new();
    for result in &*message.results {
        if result.id.is_some() {
            named.insert(result.json.span());
        }
    }
    for part in parts {
        if !is_empty_part(part) {
            continue;
        }
        let is_result = matches!(part.kind, PartKind::Result(_));
        let place = part.json.span();
        let mut texts = finder.text_values(part.json).peekable();
        if is_result && calls.contains(&place) || texts.peek().is_none() {
            continue;
        }
        part.kind = if is_result && named.contains(&place) {
            PartKind::Result(Content::Parts(texts.map(|json| Part { json, kind: self::part(json) }).collect()))
        } else {
            self::part(part.json)
        };
    }
}

/// Whether a part is an empty text or an empty result.
fn is_empty_part(part: &Part<'_>) -> bool {
    match &part.kind {
        PartKind::Text(text) => text.is_empty(),
        PartKind::Result(content) => content.is_empty(),
        _ => false,
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
    let call = match json.get("function") {
        Some(function) if function.kind() == JsonKind::Object => function,
        _ => json,
    };
    has_any(call, &["name", "toolName", "tool_name"]) && has_any(call, &["arguments", "args", "input"])
}

fn has_any(json: Json<'_>, keys: &[&str]) -> bool {
    keys.iter().any(|key| json.get(key).is_some())
}

/// Whether a member resembles calls or results by its name or shape, and the message's content has no part from it.
fn is_unread_call(message: &Message<'_>, key: Text<'_>, value: Json<'_>) -> bool {
    let place = value.span();
    (is_filled_object(value) || value.items().any(is_filled_object))
        && (names_call_or_result(&key.decode()) || value.items().any(is_shaped_as_call))
        && !message.content.parts().iter().any(|part| place.contains(&part.json.span().start))
}

fn is_filled_object(value: Json<'_>) -> bool {
    value.kind() == JsonKind::Object && value.entries().next().is_some()
}

pub(super) fn is_result(message: &Message<'_>) -> bool {
    message.results.iter().any(|answer| answer.json.span() == message.json.span())
}
