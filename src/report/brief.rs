//! A message in a few words: its role, its calls, the beginning of its text.

use std::borrow::Cow;

use crate::report::columns::fitted;
use crate::transcript::compaction::ProviderCompaction;
use crate::transcript::media::{MediaKind, without_data};
use crate::transcript::pieces::Piece;
use crate::transcript::{Arguments, Message, Role};

/// The most columns of a role.
pub(super) const ROLE: usize = 9;

/// The most columns of the name of a tool among others.
const TOOL: usize = 24;

pub(crate) fn role(message: &Message<'_>) -> String {
    match message.rare_fields().role_name {
        Some(name) if message.role == Role::Other => fitted(&name.decode(), ROLE),
        _ => message.role.openai_name().to_owned(),
    }
}

/// The called tools, each with its arguments.
pub(super) fn called<'m>(message: &'m Message<'_>) -> impl Iterator<Item = (Cow<'m, str>, Cow<'m, str>)> {
    message.calls.iter().map(|call| {
        let name = call.name.map_or(Cow::Borrowed("a call without a name"), |name| name.decode());
        let arguments = match call.arguments {
            Arguments::Text(text) => Cow::Owned(without_data(&text.decode()).into_owned()),
            Arguments::Value(value) => without_data(value.raw()),
            Arguments::Absent => Cow::Borrowed(""),
        };
        (name, arguments)
    })
}

/// The calls of a message, each in at most so many columns.
pub(super) fn calls(message: &Message<'_>, columns: usize) -> Vec<String> {
    called(message).map(|(name, arguments)| fitted(&format!("→ {name} {arguments}"), columns)).collect()
}

/// The names of the called tools.
pub(super) fn tools(message: &Message<'_>) -> Vec<String> {
    message.calls.iter().filter_map(|call| Some(fitted(&call.name?.decode(), TOOL))).collect()
}

pub(crate) fn text(message: &Message<'_>) -> String {
    let texts = message.content.texts();
    let texts: Vec<_> = texts.iter().map(|text| text.decode()).filter(|text| !text.is_empty()).collect();
    without_data(&texts.join("\n")).into_owned()
}

/// Marks for the parts that are neither text nor calls.
pub(super) fn others(message: &Message<'_>) -> Vec<&'static str> {
    let mut named = Vec::new();
    message.pieces(&mut |_, piece| match piece {
        Piece::Media(MediaKind::Picture, _) => named.push("[picture]"),
        Piece::Media(..) => named.push("[media]"),
        Piece::Reasoning(_) => named.push("[reasoning]"),
        _ => {}
    });
    if message.compaction().is_some_and(|compaction| matches!(compaction, ProviderCompaction::Opaque)) {
        named.push("[compaction]");
    }
    named
}

/// A message on one line: its calls and its text or, without either, marks for its other parts.
pub(super) fn line(message: &Message<'_>, columns: usize) -> String {
    let mut line = String::new();
    if message.earlier {
        line.push_str("earlier summary: ");
    }
    line.push_str(&calls(message, columns).join(" "));
    let text = text(message);
    if !text.is_empty() {
        let mark = if message.results.is_empty() { "" } else { "← " };
        line.push_str(&format!(" {mark}{text}"));
    }
    if line.is_empty() {
        line = others(message).join(" ");
    }
    fitted(&line, columns)
}
