//! The reasons why a text cannot be read as a transcript, with their positions.

use std::fmt;

use crate::foreign::{self, OtherProgram};
use crate::json::{Json, JsonKind};
use crate::source::{SyntaxError, TOO_DEEP};

/// The reason why a text cannot be read as a transcript. Displays as the end of a sentence that begins with the
/// source's name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ReadError {
    Empty,
    /// The text is not JSON.
    Syntax(SyntaxError),
    /// The text is JSON without a list of messages.
    NoTranscript {
        /// Line, counted from 1.
        line: usize,
        /// Byte in the line, counted from 1.
        column: usize,
        /// What was found instead.
        found: Found,
    },
    /// The text is a transcript of another format than the one that the user named.
    OtherFormat {
        /// Line, counted from 1.
        line: usize,
        /// Byte in the line, counted from 1.
        column: usize,
        /// The format that the user named.
        named: &'static str,
        /// Why that format does not read the text.
        found: String,
        /// The format that reads it.
        own: &'static str,
    },
    /// The text is a transcript with parts that no reader knows.
    Foreign {
        /// Line, counted from 1.
        line: usize,
        /// Byte in the line, counted from 1.
        column: usize,
        /// The first unknown part.
        unknown: Box<foreign::UnknownPart>,
        /// The formats that know the part.
        known_by: Box<[&'static str]>,
    },
    /// The messages could be of several formats.
    Ambiguous {
        /// The line of the conversation, if the source holds one a line.
        line: Option<usize>,
        ambiguity: Ambiguity,
    },
}

/// What was found instead of a transcript: the beginning of a sentence.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Found {
    pub what: String,
    /// The program that writes such files, if it is known.
    pub program: Option<OtherProgram>,
}

impl Found {
    /// Something (`it`, `message 3`) that a program writes which tcompact does not read.
    pub(super) fn of_program(subject: &str, program: OtherProgram) -> Self {
        Found { what: format!("{subject} looks like {program},"), program: Some(program) }
    }
}

impl From<String> for Found {
    fn from(what: String) -> Self {
        Found { what, program: None }
    }
}

impl fmt::Display for ReadError {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ReadError::Empty => write!(out, "is empty: a transcript is a JSON list of messages, `[]` at least"),
            ReadError::Syntax(SyntaxError { line, column, what, .. }) if what == TOO_DEEP => {
                write!(out, "cannot be read: {what} at line {line} column {column}")
            }
            ReadError::Syntax(SyntaxError { line, column, what, is_unclosed: true, .. }) => {
                write!(out, "is not JSON: {what} that begins at line {line} column {column} is not closed")
            }
            ReadError::Syntax(SyntaxError { line, column, what, .. }) => {
                write!(out, "is not JSON: {what} at line {line} column {column}")
            }
            ReadError::NoTranscript { line, column, found } => {
                write!(out, "is not a transcript: {} at line {line} column {column}", found.what)
            }
            ReadError::OtherFormat { line, column, named, found, own } => {
                write!(
                    out,
                    "is not a transcript in the format {named}: {found} (line {line} column {column}); {own} reads it"
                )
            }
            ReadError::Foreign { line, column, unknown, known_by } => {
                write!(out, "cannot be read: {unknown} (line {line} column {column})")?;
                match &**known_by {
                    [] => Ok(()),
                    [one] => write!(out, "; {one} knows it"),
                    [first @ .., last] => write!(out, "; {} and {last} know it", first.join(", ")),
                }
            }
            ReadError::Ambiguous { line, ambiguity } => {
                let at = match line {
                    Some(line) => format!(" at line {line}"),
                    None => String::new(),
                };
                write!(out, "could be read in several ways{at}: {ambiguity}")
            }
        }
    }
}

impl From<SyntaxError> for ReadError {
    fn from(error: SyntaxError) -> Self {
        ReadError::Syntax(error)
    }
}

impl ReadError {
    /// Shifts the error by the lines before the text in its file.
    #[must_use]
    pub fn after(mut self, lines: usize) -> Self {
        match &mut self {
            ReadError::Empty | ReadError::Ambiguous { line: None, .. } => {}
            ReadError::Syntax(SyntaxError { line, .. })
            | ReadError::NoTranscript { line, .. }
            | ReadError::OtherFormat { line, .. }
            | ReadError::Foreign { line, .. }
            | ReadError::Ambiguous { line: Some(line), .. } => *line += lines,
        }
        self
    }
}

/// Two or more formats with evidence.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Ambiguity {
    /// The candidates: the name, the first message with evidence, and the evidence.
    pub candidates: Vec<(&'static str, usize, &'static str)>,
}

impl fmt::Display for Ambiguity {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, (name, message, what)) in self.candidates.iter().enumerate() {
            let comma = if index == 0 { "" } else { ", " };
            write!(out, "{comma}{name} (message {message} has {what})")?;
        }
        let names: Vec<&str> = self.candidates.iter().map(|candidate| candidate.0).collect();
        write!(out, "; say which with --from {}", names.join(" or --from "))
    }
}

pub(super) fn no_transcript(source: &str, value: Json<'_>, found: impl Into<Found>) -> ReadError {
    let (line, column) = position(source, value);
    ReadError::NoTranscript { line, column, found: found.into() }
}

/// The line and column of a value, both counted from 1, the column in bytes.
pub(super) fn position(source: &str, value: Json<'_>) -> (usize, usize) {
    let before = &source.as_bytes()[..value.span().start];
    let line_start = match memchr::memrchr(b'\n', before) {
        Some(line_end) => line_end + 1,
        None => 0,
    };
    (memchr::memchr_iter(b'\n', before).count() + 1, before.len() - line_start + 1)
}

pub(super) fn describe(value: Json<'_>) -> Found {
    match foreign::unread_program(value) {
        Some(program) if value.kind() == JsonKind::Object => Found::of_program("it", program),
        _ => describe_unknown(value).into(),
    }
}

fn describe_unknown(value: Json<'_>) -> String {
    const SHOWN: usize = 6;
    if value.kind() != JsonKind::Object {
        return format!("{} where a list of messages should be", value.kind().noun());
    }
    if value.member_is("type", "thread.started") {
        return "what `codex exec --json` prints, which no session can be resumed from, and not the session's own file (~/.codex/sessions/…/rollout-*.jsonl)"
            .to_owned();
    }
    let mut keys: Vec<String> = value.entries().take(SHOWN + 1).map(|(key, _)| shown(&key.decode())).collect();
    if keys.is_empty() {
        return "an empty object, without messages".to_owned();
    }
    if keys.len() > SHOWN {
        keys[SHOWN] = "…".to_owned();
    }
    format!("an object without a list of messages (its keys: {})", keys.join(", "))
}

/// Formats a key for display: short, and without control characters that a terminal would execute.
fn shown(key: &str) -> String {
    key.chars().take(40).flat_map(char::escape_debug).collect()
}
