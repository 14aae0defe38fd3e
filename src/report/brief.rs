//! What a message does in a few words, for people who look at a conversation: who speaks, what is called, how it begins.

use std::borrow::Cow;

use crate::transcript::compaction::Compaction;
use crate::transcript::{Arguments, Content, Message, PartKind, Role};

use crate::report::columns::fitted;

/// Columns that a role takes, at most.
pub(super) const ROLE: usize = 9;

/// Columns that the name of a tool takes among others, at most.
const TOOL: usize = 24;

/// Who speaks.
pub(crate) fn role(message: &Message<'_>) -> String {
    match message.rest().role_name {
        Some(name) if message.role == Role::Other => fitted(&name.decode(), ROLE),
        _ => message.role.openai_name().to_owned(),
    }
}

/// The tools that are called, each with what it is given.
pub(super) fn called<'m>(message: &'m Message<'_>) -> impl Iterator<Item = (Cow<'m, str>, Cow<'m, str>)> {
    message.calls.iter().map(|call| {
        let name = call.name.map_or(Cow::Borrowed("a call without a name"), |name| name.decode());
        let given = match call.arguments {
            Arguments::Text(text) => text.decode(),
            Arguments::Value(value) => Cow::Borrowed(value.raw()),
            Arguments::Absent => Cow::Borrowed(""),
        };
        (name, given)
    })
}

/// The same, each in so many columns.
pub(super) fn calls(message: &Message<'_>, columns: usize) -> Vec<String> {
    called(message).map(|(name, given)| fitted(&format!("→ {name} {given}"), columns)).collect()
}

/// The names of the tools that are called.
pub(super) fn tools(message: &Message<'_>) -> Vec<String> {
    message.calls.iter().filter_map(|call| Some(fitted(&call.name?.decode(), TOOL))).collect()
}

/// What is said, as text.
pub(crate) fn text(message: &Message<'_>) -> String {
    let texts = message.content.texts();
    texts.iter().map(|text| text.decode()).filter(|text| !text.is_empty()).collect::<Vec<_>>().join("\n")
}

/// What is there beside text and calls.
pub(super) fn others(message: &Message<'_>) -> Vec<&'static str> {
    let Content::Parts(parts) = &message.content else { return Vec::new() };
    let named = parts.iter().filter_map(|part| match part.kind {
        PartKind::Compaction(Compaction::Readable(_)) => None,
        PartKind::Compaction(_) => Some("[compaction]"),
        PartKind::Image => Some("[picture]"),
        PartKind::Media => Some("[media]"),
        PartKind::Reasoning(_) => Some("[reasoning]"),
        _ => None,
    });
    named.collect()
}

/// A message on one line: what it calls, what it says and, where it does neither, what else it holds.
pub(super) fn line(message: &Message<'_>, columns: usize) -> String {
    let mut line = String::new();
    if message.earlier {
        line.push_str("earlier summary: ");
    }
    line.push_str(&calls(message, columns).join(" "));
    let text = text(message);
    if !text.is_empty() {
        let mark = if message.answers.is_empty() { "" } else { "← " };
        line.push_str(&format!(" {mark}{text}"));
    }
    if line.is_empty() {
        line = others(message).join(" ");
    }
    fitted(&line, columns)
}
