//! Rejects a conversation with too much foreign content, or with an unknown call: it is of another format.

use std::fmt;

use crate::foreign::completion::is_result;
use crate::foreign::part::could_be_call_or_result;
use crate::foreign::programs::unread_program;
use crate::foreign::recognizer::OtherProgram;
use crate::format::Transcript;
use crate::json::Json;
use crate::message::{Content, Message, Part, PartKind};
use crate::unknown_pairs;
use crate::unknown_pairs::PartPlace;
use crate::wording::counted;

/// The foreign parts of a message. Results are skipped: they may have parts of any kind.
fn foreign_parts<'m, 'a>(message: &'m Message<'a>) -> impl Iterator<Item = &'m Part<'a>> {
    let foreign_parts = match &message.content {
        Content::Parts(foreign_parts) if !is_result(message) => foreign_parts.as_ref(),
        _ => &[],
    };
    foreign_parts.iter().filter(|part| is_foreign(part))
}

fn is_foreign(part: &Part<'_>) -> bool {
    match &part.kind {
        PartKind::Mixed(inner) => matches!(inner.parts(), [Part { kind: PartKind::Foreign(_), .. }, ..]),
        kind => matches!(kind, PartKind::Foreign(_)),
    }
}

/// Whether a message has parts of an unknown kind.
pub fn is_in(message: &Message<'_>) -> bool {
    foreign_parts(message).next().is_some()
}

/// How much of some messages is foreign content, and how much is known.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct ForeignShare {
    /// Bytes of JSON in parts that no reader knows.
    pub foreign: usize,
    /// Bytes of JSON in parts, texts and calls that were read.
    pub known: usize,
    /// The number of parts that no reader knows.
    pub foreign_parts: usize,
    /// The number of parts, texts and calls that were read.
    pub known_parts: usize,
}

impl ForeignShare {
    /// Counts the content of some messages.
    pub fn of<'m, 'a: 'm>(messages: impl IntoIterator<Item = &'m Message<'a>>) -> Self {
        let mut share = ForeignShare::default();
        for message in messages {
            let (mut bytes, mut parts) = match &message.content {
                Content::Text(text) => (text.raw().len(), usize::from(!text.is_empty())),
                Content::Parts(parts) => (parts.iter().map(|part| part.json.span().len()).sum(), parts.len()),
            };
            for part in foreign_parts(message) {
                let length = part.json.span().len();
                share.foreign += length;
                share.foreign_parts += 1;
                bytes -= length;
                parts -= 1;
            }
            let calls: usize = message.calls.iter().map(|call| call.json.span().len()).sum();
            share.known += bytes + calls;
            share.known_parts += parts + message.calls.len();
        }
        share
    }

    /// Whether more bytes are foreign than known.
    pub fn is_large(self) -> bool {
        self.foreign > self.known
    }

    /// Whether the messages are rather of another format: more bytes are foreign than known, and they are not in a few
    /// parts among many that are known. A file of another program has foreign parts throughout.
    pub fn is_of_other_format(self) -> bool {
        self.is_large() && 2 * self.foreign_parts > self.known_parts
    }

    /// Whether one part alone is foreign: a file of another program has more of them.
    pub fn is_of_one_part(self) -> bool {
        self.foreign_parts == 1 && self.known_parts > 0
    }
}

/// The first unknown part of a conversation that is rejected or mostly unknown, and why.
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
    program: Option<OtherProgram>,
    /// How much of the conversation is unknown; `None` if one unknown call is the reason.
    share: Option<ForeignShare>,
}

impl UnknownPart {
    /// The percentage of the content that is unknown.
    pub fn percent(&self) -> usize {
        match self.share {
            Some(ForeignShare { foreign, known, .. }) => foreign * 100 / (foreign + known).max(1),
            None => 0,
        }
    }

    /// What is unknown: the part's type, or the kind of value it is.
    pub fn what(&self) -> &str {
        &self.what
    }

    fn of<'a>(transcript: &Transcript<'a>, message: usize, part: Json<'a>, share: Option<ForeignShare>) -> Self {
        let whole = transcript.messages[message].json;
        let kind = part.get_text("type").map(|kind| kind.decode());
        let what = match kind {
            Some(kind) if kind.chars().count() < 60 => format!("a part of the type `{}`", kind.escape_debug()),
            _ => format!("{} that {} does not have there", part.kind().noun(), transcript.format.name),
        };
        let (start, format) = (part.span().start, transcript.format.name);
        UnknownPart { message, start, what: what.into(), format, program: unread_program(whole), share }
    }
}

/// Whether the part that begins at a byte is of an unknown kind.
pub(crate) fn is_unknown(message: &Message<'_>, start: usize) -> bool {
    foreign_parts(message).any(|part| part.json.span().start == start)
}

impl fmt::Display for UnknownPart {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let UnknownPart { message, what, format, .. } = self;
        match self.share {
            Some(ForeignShare { foreign, known, .. }) => write!(
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
            Some(program) => write!(out, "; it looks like {}, which tcompact does not read", program.name),
            None => Ok(()),
        }
    }
}

/// Each foreign part with the index of its message.
fn all_foreign_parts<'t, 'a>(transcript: &'t Transcript<'a>) -> impl Iterator<Item = (usize, Json<'a>)> + use<'t, 'a> {
    let messages = transcript.messages.iter().enumerate();
    messages.flat_map(|(index, message)| foreign_parts(message).map(move |part| (index, part.json)))
}

/// The first foreign part that could be a call or a result and that no other part belongs to, if there is one. Unless
/// the user named the format, the conversation is then of another one: all calls of this format are known. `is_known` says
/// whether another format knows the part of a message that begins at a byte.
pub(crate) fn check_unknown_call(
    transcript: &Transcript<'_>,
    is_known: &dyn Fn(Json<'_>, usize) -> bool,
) -> Option<UnknownPart> {
    let mut unknown = all_foreign_parts(transcript).filter(|(_, part)| could_be_call_or_result(*part)).peekable();
    unknown.peek()?;
    let pairs = unknown_pairs::find(&transcript.messages);
    for (message, part) in unknown {
        let place = PartPlace { message, start: part.span().start };
        let is_alone = match pairs.iter().find(|pair| pair.first == place || pair.second == place) {
            Some(pair) => is_known(transcript.messages[pair.first.message].json, pair.first.start),
            None => true,
        };
        if is_alone {
            return Some(UnknownPart::of(transcript, message, part, None));
        }
    }
    None
}

/// The first foreign part of a conversation whose content is foreign for the larger part.
pub fn large_foreign_content(transcript: &Transcript<'_>) -> Option<UnknownPart> {
    let (message, part) = all_foreign_parts(transcript).next()?;
    let share = ForeignShare::of(&transcript.messages);
    if share.is_large() { Some(UnknownPart::of(transcript, message, part, Some(share))) } else { None }
}

/// The first foreign part of a conversation that is rather of another format.
pub fn check_mostly_foreign(transcript: &Transcript<'_>) -> Option<UnknownPart> {
    let unknown = large_foreign_content(transcript)?;
    let share = unknown.share?;
    if share.is_of_other_format() && !share.is_of_one_part() { Some(unknown) } else { None }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::framing::{check_foreign, read_for_test as read};

    #[test]
    fn a_few_unknown_parts_refuse_no_file_however_large() {
        let unknown = |bytes: usize| format!(r#"{{"type":"hologram","body":"{}"}}"#, "x".repeat(bytes));
        let text = r#"{"type":"text","text":"hello there"}"#;
        let message = |role: &str, parts: &str| format!(r#"{{"role":"{role}","content":[{parts}]}}"#);
        let list = |messages: &[String]| format!("[{}]", messages.join(","));
        let (ask, answer) = (message("user", text), message("assistant", text));
        for (source, is_large, is_refused) in [
            (list(&[ask.clone(), message("assistant", &unknown(9)), answer.clone()]), false, false),
            (list(&[ask.clone(), message("assistant", &unknown(9_000)), answer.clone()]), true, false),
            (list(&[message("user", &format!("{text},{}", unknown(9_000))), answer.clone()]), true, false),
            // Each answer is unknown: it is another program's file.
            (
                list(&[
                    ask.clone(),
                    message("assistant", &unknown(900)),
                    ask.clone(),
                    message("assistant", &unknown(900)),
                ]),
                true,
                true,
            ),
            (list(&[message("user", &unknown(90))]), true, true),
        ] {
            let document = read(&source, None, None).expect("a transcript");
            assert_eq!(large_foreign_content(&document.transcripts[0]).is_some(), is_large, "{source}");
            assert_eq!(check_foreign(&document).is_err(), is_refused, "{source}");
        }
    }
}
