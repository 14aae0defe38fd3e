//! Rejects a conversation with too much foreign content, or with an unknown call: it is of another format.

use std::fmt;

use crate::foreign::completion::is_result;
use crate::foreign::part::could_be_call_or_result;
use crate::foreign::programs::program;
use crate::format::Transcript;
use crate::json::Json;
use crate::message::{Content, Message, Part, PartKind};
use crate::wording::counted;

/// The foreign parts of a message. Results are skipped: they may have parts of any kind.
fn foreign_parts<'m, 'a>(message: &'m Message<'a>) -> impl Iterator<Item = &'m Part<'a>> {
    let foreign_parts = match &message.content {
        Content::Parts(foreign_parts) if !is_result(message) => foreign_parts.as_ref(),
        _ => &[],
    };
    foreign_parts.iter().filter(|part| match &part.kind {
        PartKind::Mixed(inner) => matches!(inner.parts(), [Part { kind: PartKind::Foreign(_), .. }, ..]),
        kind => matches!(kind, PartKind::Foreign(_)),
    })
}

/// Whether a message has parts of an unknown kind.
pub fn is_in(message: &Message<'_>) -> bool {
    foreign_parts(message).next().is_some()
}

/// How many bytes of JSON are in foreign content, and how many in known content.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Bytes {
    /// Bytes in parts that no reader knows.
    pub foreign: usize,
    /// Bytes in parts, texts and calls that were read.
    pub known: usize,
}

impl Bytes {
    /// Counts the bytes of some messages.
    pub fn of<'m, 'a: 'm>(messages: impl IntoIterator<Item = &'m Message<'a>>) -> Self {
        let mut bytes = Bytes::default();
        for message in messages {
            let content: usize = match &message.content {
                Content::Text(text) => text.raw().len(),
                Content::Parts(foreign_parts) => foreign_parts.iter().map(|part| part.json.span().len()).sum(),
            };
            let foreign: usize = foreign_parts(message).map(|part| part.json.span().len()).sum();
            let calls: usize = message.calls.iter().map(|call| call.json.span().len()).sum();
            bytes.foreign += foreign;
            bytes.known += content - foreign + calls;
        }
        bytes
    }

    /// Whether more is foreign than known.
    pub fn is_mostly_foreign(&self) -> bool {
        self.foreign > self.known
    }
}

/// The first unknown part of a rejected conversation, and the reason for the rejection.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UnknownPart {
    /// The index of its message.
    pub message: usize,
    /// Where it begins in the source, in bytes.
    pub start: usize,
    /// What is unknown: the part's type, or the kind of value it is.
    what: Box<str>,
    /// The name of the conversation's format.
    format: &'static str,
    /// The program known to write such messages.
    program: Option<&'static str>,
    /// How much of the conversation is unknown; `None` if one unknown call is the reason.
    bytes: Option<Bytes>,
}

impl UnknownPart {
    fn of<'a>(transcript: &Transcript<'a>, message: usize, part: Json<'a>, bytes: Option<Bytes>) -> Self {
        let whole = transcript.messages[message].json;
        let kind = part.get_text("type").map(|kind| kind.decode()).filter(|kind| kind.chars().count() < 60);
        let what = match kind {
            Some(kind) => format!("a part of the type `{}`", kind.escape_debug()),
            None => format!("{} that {} does not have there", part.kind().noun(), transcript.format.name),
        };
        let (start, format) = (part.span().start, transcript.format.name);
        UnknownPart { message, start, what: what.into(), format, program: program(whole), bytes }
    }
}

/// Whether the part that begins at a byte is of an unknown kind.
pub(crate) fn is_unknown(message: &Message<'_>, start: usize) -> bool {
    foreign_parts(message).any(|part| part.json.span().start == start)
}

impl fmt::Display for UnknownPart {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let UnknownPart { message, what, format, .. } = self;
        match self.bytes {
            Some(Bytes { foreign, known }) => write!(
                out,
                "tcompact cannot read most of it ({foreign} of {}): message {message} has {what}",
                counted(foreign + known, "byte")
            )?,
            None => write!(
                out,
                "message {message} has {what}, which may be a call or a result that {format} does not know"
            )?,
        }
        match self.program {
            Some(program) => write!(out, "; it looks like {program}, which tcompact does not read"),
            None => Ok(()),
        }
    }
}

/// Each foreign part with the index of its message.
fn all_foreign_parts<'t, 'a>(transcript: &'t Transcript<'a>) -> impl Iterator<Item = (usize, Json<'a>)> + use<'t, 'a> {
    let messages = transcript.messages.iter().enumerate();
    messages.flat_map(|(index, message)| foreign_parts(message).map(move |part| (index, part.json)))
}

/// The first foreign part that could be a call or a result, if there is one. Unless the user named the format, the
/// conversation is then of another one: all calls of this format are known.
pub(crate) fn check_unknown_call(transcript: &Transcript<'_>) -> Option<UnknownPart> {
    let (message, part) = all_foreign_parts(transcript).find(|(_, part)| could_be_call_or_result(*part))?;
    Some(UnknownPart::of(transcript, message, part, None))
}

/// The first foreign part of a conversation that is mostly foreign.
pub fn check_mostly_foreign(transcript: &Transcript<'_>) -> Option<UnknownPart> {
    let (message, part) = all_foreign_parts(transcript).next()?;
    let bytes = Bytes::of(&transcript.messages);
    bytes.is_mostly_foreign().then(|| UnknownPart::of(transcript, message, part, Some(bytes)))
}
