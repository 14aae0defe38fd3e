//! What no reader knows: parts of unknown kinds, and messages whose content stands under members that are not read.
//!
//! A reader never skips them: each is a [`PartKind::Foreign`] with its JSON as text, so that it is counted, shown and
//! summarized. A conversation that is mostly foreign is rejected: it is of another format.

use std::fmt;

use crate::transcript::format::Transcript;
use crate::transcript::json::{Json, Kind, Object};
use crate::transcript::message::{Content, Message, Part, PartKind};
use crate::transcript::text::Text;

/// Kinds of parts that are known and have nothing to read: what only their provider can read, and marks. All others without
/// a reader are foreign.
const OPAQUE: [&str; 17] = [
    "cache-point",
    "cache_control",
    "citation",
    "connector_text",
    "encrypted",
    "fallback",
    "non_standard",
    "reasoning",
    "reasoning_content",
    "redacted_thinking",
    "refusal",
    "search_result",
    "text-plain",
    "thinking",
    "tool_addition",
    "tool_reference",
    "web_search_result",
];

/// Members under which formats keep texts, calls and results.
const CONTENT: [&str; 21] = [
    "blocks",
    "body",
    "calls",
    "chunks",
    "content",
    "contents",
    "items",
    "output",
    "parts",
    "response",
    "result",
    "results",
    "segments",
    "text",
    "toolCall",
    "toolCalls",
    "toolInvocations",
    "toolRequests",
    "tool_call",
    "tool_calls",
    "value",
];

/// Members that hold the message itself.
const WRAPPERS: [&str; 5] = ["message", "data", "kwargs", "payload", "args"];

/// Recognizes the messages of a program.
type Recognizer = fn(&Object<'_>) -> bool;

/// Programs whose files look like those of a format in the table, and how to recognize them.
const PROGRAMS: [(&str, Recognizer); 6] = [
    ("a session of Qwen Code", |line| line.get("uuid").is_some() && line.at(&["message", "parts"]).is_some()),
    ("a session of Factory Droid", |line| {
        line.get_text("type").is_some_and(|kind| kind.is("message"))
            && line.at(&["message", "content"]).is_some_and(|content| has_kind(content, &["tool_use", "tool_result"]))
    }),
    ("a stream of Cursor's agent", |line| line.get("call_id").is_some() && line.get("tool_call").is_some()),
    ("Goose's messages", |message| {
        message.get("content").is_some_and(|content| has_kind(content, &["toolRequest", "toolResponse"]))
    }),
    ("Mastra's messages", |message| message.at(&["content", "format"]).is_some()),
    ("Kimi CLI's context", |message| message.get("content").is_some_and(|content| has_kind(content, &["think"]))),
];

/// A part of an unknown kind.
pub(super) fn part<'a>(json: Json<'a>) -> PartKind<'a> {
    PartKind::Foreign(Text::plain(json.raw()))
}

/// A part that no reader reads: opaque, or foreign.
pub(super) fn unread<'a>(json: Json<'a>, kind: Text<'a>) -> PartKind<'a> {
    if OPAQUE.iter().any(|opaque| kind.is(opaque)) { PartKind::Other } else { part(json) }
}

/// Adds to a message without anything to read what it seems to say under other members.
pub(super) fn complete(message: &mut Message<'_>) {
    let is_silent = match &message.content {
        Content::Text(text) => text.is_empty(),
        Content::Parts(parts) => parts.is_empty(),
    };
    if !is_silent || !message.calls.is_empty() || !message.answers.is_empty() {
        return;
    }
    let outer = Object::of(message.json);
    let inner = WRAPPERS.iter().filter_map(|key| outer.get(key)).filter(|inner| inner.kind() == Kind::Object);
    let places = [outer.json].into_iter().chain(inner);
    let unread: Box<[Part<'_>]> = places
        .flat_map(|place| place.entries().filter(|(key, value)| is_content(*key, *value)).collect::<Vec<_>>())
        .map(|(_, json)| Part { json, kind: part(json) })
        .collect();
    message.content = Content::of_parts(unread);
}

fn is_content(key: Text<'_>, value: Json<'_>) -> bool {
    // A string could be any label.
    let holds = match value.kind() {
        Kind::Array => value.items().next().is_some(),
        Kind::Object => value.entries().next().is_some(),
        _ => false,
    };
    holds && CONTENT.iter().any(|name| key.is(name))
}

/// Whether a value of a kind that no reader knows could be a call or a result, by its type or its only key.
pub(super) fn could_be_call_or_result(json: Json<'_>) -> bool {
    let inside = || json.items().any(could_be_call_or_result);
    match json.get_text("type").or_else(|| json.get_text("kind")).or_else(|| json.get_text("content_type")) {
        Some(kind) => names_call_or_result(&kind.decode()),
        None => json.entries().any(|(key, _)| names_call_or_result(&key.decode())) || inside(),
    }
}

/// Whether a name looks like those of calls and results in all formats: `tool_use`, `functionResponse`, `ToolCallPart`.
fn names_call_or_result(name: &str) -> bool {
    const ENDINGS: [&str; 9] =
        ["call", "use", "request", "invocation", "result", "response", "output", "return", "execution"];
    let name: String = name.chars().filter(char::is_ascii_alphabetic).map(|c| c.to_ascii_lowercase()).collect();
    let name = name.strip_suffix('s').unwrap_or(&name);
    let name = ["part", "event", "block", "content"].iter().find_map(|end| name.strip_suffix(end)).unwrap_or(name);
    (name.contains("tool") || name.contains("function")) && ENDINGS.iter().any(|ending| name.ends_with(ending))
}

fn has_kind(list: Json<'_>, kinds: &[&str]) -> bool {
    list.items().any(|part| part.get_text("type").is_some_and(|kind| kinds.iter().any(|name| kind.is(name))))
}

/// The program that writes messages like this one, if it is known and tcompact does not read its files.
pub(super) fn program(message: Json<'_>) -> Option<&'static str> {
    let message = Object::of(message);
    PROGRAMS.iter().find(|(_, is_of)| is_of(&message)).map(|(name, _)| *name)
}

/// The foreign parts of a message. A result may have parts of any kind.
fn parts<'m, 'a>(message: &'m Message<'a>) -> impl Iterator<Item = &'m Part<'a>> {
    let parts = match &message.content {
        Content::Parts(parts) if !is_result(message) => parts.as_ref(),
        _ => &[],
    };
    parts.iter().filter(|part| matches!(part.kind, PartKind::Foreign(_)))
}

fn is_result(message: &Message<'_>) -> bool {
    message.answers.iter().any(|answer| answer.json.span() == message.json.span())
}

/// Whether a message has parts of a kind that no reader knows.
pub fn is_in(message: &Message<'_>) -> bool {
    parts(message).next().is_some()
}

/// Bytes of JSON in parts of unknown kinds, and in all others.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Bytes {
    /// In parts that no reader knows.
    pub foreign: usize,
    /// In parts, texts and calls that were read.
    pub known: usize,
}

impl Bytes {
    /// What the messages hold.
    pub fn of<'m, 'a: 'm>(messages: impl IntoIterator<Item = &'m Message<'a>>) -> Self {
        let mut bytes = Bytes::default();
        for message in messages {
            let content: usize = match &message.content {
                Content::Text(text) => text.spelled_len(),
                Content::Parts(parts) => parts.iter().map(|part| part.json.span().len()).sum(),
            };
            let foreign: usize = parts(message).map(|part| part.json.span().len()).sum();
            let calls: usize = message.calls.iter().map(|call| call.json.span().len()).sum();
            bytes.foreign += foreign;
            bytes.known += content - foreign + calls;
        }
        bytes
    }

    /// Whether most of it cannot be read.
    pub fn is_mostly_foreign(&self) -> bool {
        self.foreign > self.known
    }
}

/// Messages that are not read as what they are.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unread {
    /// The index of the first.
    pub message: usize,
    /// What is unknown of it: a type, or the member it stands under.
    what: String,
    /// The format that the others are in.
    format: &'static str,
    /// The program that is known to write such messages.
    program: Option<&'static str>,
    /// How much of the conversation is unknown; nothing where one part is reason enough.
    bytes: Option<Bytes>,
}

impl Unread {
    fn of<'a>(transcript: &Transcript<'a>, (message, part): (usize, Json<'a>), bytes: Option<Bytes>) -> Self {
        let whole = transcript.messages[message].json;
        let kind = part.get_text("type").map(|kind| kind.decode()).filter(|kind| kind.chars().count() < 60);
        let what = match kind {
            Some(kind) => format!("a part of the type `{}`", kind.escape_debug()),
            None => format!("{} that {} does not have there", part.kind().noun(), transcript.format.name()),
        };
        Unread { message, what, format: transcript.format.name(), program: program(whole), bytes }
    }
}

impl fmt::Display for Unread {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Unread { message, what, format, .. } = self;
        match self.bytes {
            Some(Bytes { foreign, known }) => write!(
                out,
                "most of it is of kinds that no reader knows ({foreign} of {} bytes): message {message} has {what}",
                foreign + known
            )?,
            None => write!(
                out,
                "message {message} has {what}, which may be a call or a result, and is none that {format} knows"
            )?,
        }
        match self.program {
            Some(program) => write!(out, "; it looks like {program}, which tcompact does not read"),
            None => Ok(()),
        }
    }
}

/// Each foreign part with the index of its message.
fn all<'t, 'a>(transcript: &'t Transcript<'a>) -> impl Iterator<Item = (usize, Json<'a>)> + use<'t, 'a> {
    let messages = transcript.messages.iter().enumerate();
    messages.flat_map(|(index, message)| parts(message).map(move |part| (index, part.json)))
}

/// The first foreign part that could be a call or a result. Where the user did not name the format, it is another one,
/// since the calls of this one are known.
pub fn unknown_call(transcript: &Transcript<'_>) -> Option<Unread> {
    let found = all(transcript).find(|(_, part)| could_be_call_or_result(*part))?;
    Some(Unread::of(transcript, found, None))
}

/// The first foreign message of a conversation that is mostly foreign.
pub fn mostly(transcript: &Transcript<'_>) -> Option<Unread> {
    let first = all(transcript).next()?;
    let bytes = Bytes::of(&transcript.messages);
    bytes.is_mostly_foreign().then(|| Unread::of(transcript, first, Some(bytes)))
}
