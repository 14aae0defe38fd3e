//! Tells whether the lines of a file are the entries of one conversation or a conversation each.

use crate::format::Format;
use crate::formats::FORMATS;
use crate::framing::Lines;
use crate::json::{Json, JsonKind, Object};
use crate::list::{List, is_message};
use crate::source::Source;

/// Whether a text is one conversation, one entry a line.
pub(super) fn is_conversation<'a>(json: &'a Source<'a>, from: Option<&'static Format>, lines: Option<Lines>) -> bool {
    match lines {
        Some(lines) => lines == Lines::Messages,
        None => {
            let can_be_session = from.is_none_or(|format| format.on_broken_line.is_some());
            let begins =
                begins_with_object(json.regular_values()) || can_be_session && is_session(json.regular_values());
            begins && are_messages(json.regular_values(), from)
        }
    }
}

/// Whether the first value of a file is an object. Stray values do not count: they remain in a session when the lines
/// before them are removed.
fn begins_with_object<'a>(mut values: impl Iterator<Item = Json<'a>>) -> bool {
    values.find(|value| !is_stray(*value)).is_some_and(|value| value.kind() == JsonKind::Object)
}

/// Whether the first message of a file is one of a session, whose agent skips a list before it.
fn is_session<'a>(mut values: impl Iterator<Item = Json<'a>>) -> bool {
    let first = values.find(|value| value.kind() == JsonKind::Object && lines_of(*value).is_some());
    let Some(first) = first.map(Object::of) else { return false };
    for format in FORMATS {
        if format.on_broken_line.is_some() && format.match_score(&first).is_message() {
            return true;
        }
    }
    false
}

/// Whether a value is neither an object nor a list of messages or of conversations.
fn is_stray(value: Json<'_>) -> bool {
    value.kind() != JsonKind::Object && !value.items().any(is_or_holds_message)
}

/// Whether an element of a list is a message, or a conversation.
fn is_or_holds_message(item: Json<'_>) -> bool {
    match item.kind() {
        JsonKind::Object => is_message(item) || List::in_object(item, None).is_some(),
        _ => item.items().any(is_message),
    }
}

/// Whether an object tells how to read the lines of its file. What is neither a message nor a conversation with messages
/// tells nothing: it can be the first line of a session whose messages before it are removed.
fn lines_of(object: Json<'_>) -> Option<Lines> {
    if is_message(object) {
        return Some(Lines::Messages);
    }
    let mut list = List::in_object(object, None)?;
    if list.values.any(is_message) { Some(Lines::Conversations) } else { None }
}

fn is_envelope(value: Json<'_>) -> bool {
    value.kind() == JsonKind::Object && List::in_object(value, None).is_some()
}

/// Whether a file that begins with an object holds the entries of one conversation, one a line, and not a conversation
/// a line. The first value that is either decides.
fn are_messages<'a>(mut values: impl Iterator<Item = Json<'a>> + Clone, from: Option<&'static Format>) -> bool {
    for value in values.clone() {
        if value.kind() == JsonKind::Object
            && let Some(lines) = lines_of(value)
        {
            return lines == Lines::Messages;
        }
    }
    // Of an empty envelope, the named format does not make a line.
    from.is_some_and(|format| format.on_broken_line.is_some()) && !values.any(is_envelope)
}

/// Detects how to read the lines of a file from one line; `None` if it could be either.
pub fn detect_lines(line: &str) -> Option<Lines> {
    let Ok(source) = Source::of(line) else { return Some(Lines::Messages) };
    match source.first() {
        Some(first) if first.kind() == JsonKind::Object => lines_of(first),
        // A conversation without messages, or a stray value of a session.
        Some(first) if first.kind() == JsonKind::Array && is_stray(first) => None,
        Some(first) if first.kind() == JsonKind::Array => Some(Lines::Conversations),
        // Reading it as a document returns the error.
        _ => Some(Lines::Messages),
    }
}

/// Detects how to read the lines of a file that begins with a list from a later line: the list is a conversation unless the
/// line is one of a session, whose agent skips lists. `None` if it could be either.
pub fn detect_lines_behind_list(line: &str) -> Option<Lines> {
    let Ok(source) = Source::of(line) else { return Some(Lines::Conversations) };
    match source.first() {
        Some(object) if object.kind() == JsonKind::Object => {
            let lines = lines_of(object)?;
            Some(if is_session(std::iter::once(object)) { lines } else { Lines::Conversations })
        }
        _ => Some(Lines::Conversations),
    }
}
