//! Splits a text into conversations: JSON or JSONL, bare lists or envelopes.
//!
//! A document is one JSON value (a list of messages, or an envelope around one), or several values: one message a line,
//! or one conversation a line. A byte order mark is skipped and preserved.

mod entries;
mod lines;

use std::ops::Range;

use crate::format::{EnvelopeScore, Format, MatchScore, Transcript};
use crate::json::{Json, JsonKind, Object};
use crate::list::{LineCounter, List};
use crate::message::Message;
use crate::read_error::{no_transcript, position};
use crate::source::{Source, SyntaxError};
use crate::{detect, foreign, unsent};

pub use crate::read_error::{Found, ReadError};
pub use lines::{detect_lines, detect_lines_behind_list};

use lines::is_conversation;

/// How to read the lines of a JSONL file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Lines {
    /// One message a line: the file is one conversation.
    Messages,
    /// One conversation a line: a list of messages, or an object around one.
    Conversations,
}

/// The conversations of one source.
#[derive(Debug)]
pub struct Document<'a> {
    /// What it was read from.
    pub json: &'a Source<'a>,
    pub transcripts: Vec<Transcript<'a>>,
    /// The numbers of the lines that are not JSON, counted from 1. Only an agent that recovers their whole objects sends
    /// anything of them.
    pub broken_lines: Vec<usize>,
}

/// Reads the conversations of a text. The text decides the format and how to read lines, unless the user does.
///
/// # Errors
/// The first unreadable value, with its position.
pub fn read<'a>(
    json: &'a Source<'a>,
    from: Option<&'static Format>,
    lines: Option<Lines>,
) -> Result<Document<'a>, ReadError> {
    let source = &*json.text;
    // Where the text is not JSON, nothing else is said of it.
    let or_syntax = |error| json.error.clone().map_or(error, ReadError::Syntax);
    let Some(first) = json.regular_values().next() else { return Err(or_syntax(ReadError::Empty)) };
    if lines == Some(Lines::Conversations) {
        check_lines(source, json.regular_values()).map_err(or_syntax)?;
    }
    if is_conversation(json, from, lines) {
        return read_lines(json, from).map_err(or_syntax);
    }
    if let Some(error) = &json.error
        && !json.is_cut_off
    {
        return Err(ReadError::Syntax(error.clone()));
    }
    let mut transcripts = Vec::new();
    for list in lists_of_values(json, lines) {
        let read = list.and_then(|list| list.read(source, from));
        transcripts.push(read.map_err(|error| name_by_later_value(json, error))?);
    }
    if transcripts.is_empty() && lines != Some(Lines::Conversations) {
        return Err(no_transcript(source, first, "answers without their requests".to_owned()));
    }
    if from.is_none() && lines.is_none() {
        check_shown(source, &transcripts)?;
    }
    number_on_lines(&mut transcripts);
    // What an agent recovers of a broken line is read.
    let unread = match transcripts.first() {
        Some(transcript) if json.error.is_some() => transcript.format.unread_spans(json),
        _ => &json.broken,
    };
    Ok(Document { json, transcripts, broken_lines: line_numbers(source, unread) })
}

/// Rejects objects whose lists are all empty, where neither the name of a list nor anything beside it shows that they are
/// transcripts.
fn check_shown(source: &str, transcripts: &[Transcript<'_>]) -> Result<(), ReadError> {
    /// Members that have no other list than one of messages.
    const LISTS: [&str; 3] = ["messages", "contents", "conversations"];
    for transcript in transcripts {
        let (Some(envelope), Some(state)) = (transcript.envelope, transcript.state) else { return Ok(()) };
        let is_named = LISTS.iter().any(|list| state.get(list).is_some());
        let is_empty = transcript.messages.is_empty() && transcript.notes.is_empty();
        if !is_empty || is_named || transcript.format.match_envelope(&Object::of(envelope)) != EnvelopeScore::Unknown {
            return Ok(());
        }
    }
    let Some(envelope) = transcripts.first().and_then(|transcript| transcript.envelope) else { return Ok(()) };
    let found: Found = match foreign::unread_program(envelope) {
        Some(program) => Found::of_program("it", program),
        None => "an object with an empty list, which nothing shows to be one of messages".to_owned().into(),
    };
    Err(no_transcript(source, envelope, found))
}

/// Names the program of a file whose first value is not known by one of the values behind it.
fn name_by_later_value(json: &Source<'_>, error: ReadError) -> ReadError {
    /// The values that are looked at.
    const MOST: usize = 20;
    let ReadError::NoTranscript { line: 1, found: Found { program: None, .. }, .. } = &error else { return error };
    for value in json.values().skip(1).take(MOST) {
        if let Some(program) = foreign::unread_program(value) {
            return no_transcript(&json.text, value, Found::of_program("it", program));
        }
    }
    error
}

/// The list of each conversation in a text.
pub fn lists<'a>(
    json: &'a Source<'a>,
    from: Option<&'static Format>,
    lines: Option<Lines>,
) -> Vec<Result<List<'a>, ReadError>> {
    if is_conversation(json, from, lines) {
        return vec![Ok(List { envelope: None, state: None, values: json.regular_values(), line: None, aside: &[] })];
    }
    lists_of_values(json, lines)
}

/// The lists in the values of a text.
fn lists_of_values<'a>(json: &'a Source<'a>, lines: Option<Lines>) -> Vec<Result<List<'a>, ReadError>> {
    let source = &*json.text;
    let one_of_many = lines.is_some() || json.regular_values().nth(1).is_some();
    let mut line = LineCounter::default();
    let mut lists = Vec::new();
    for value in json.regular_values() {
        let line = if one_of_many { Some(line.at(source, value.span().start)) } else { None };
        match List::find(source, value, line) {
            Err(_) if one_of_many && is_logged_answer(value) => {}
            Err(error) => lists.push(Err(error)),
            Ok(found) => lists.extend(found.into_iter().map(Ok)),
        }
    }
    lists
}

/// Reads a file that is one conversation, one entry a line.
fn read_lines<'a>(json: &'a Source<'a>, from: Option<&'static Format>) -> Result<Document<'a>, ReadError> {
    let source = &*json.text;
    let aside: &[Range<usize>] = if json.error.is_some() { &json.irregular_lines } else { &[] };
    let list = List { envelope: None, state: None, values: json.regular_values(), line: None, aside };
    let mut transcript = list.read(source, from)?;
    let format = transcript.format;
    let unread = format.unread_spans(json);
    if unread != aside {
        let list = List { values: json.values_except(unread), aside: unread, ..list };
        transcript = list.read_as(source, format)?;
    }
    match &json.error {
        Some(error) if !format.reads_beside_broken_lines() && !json.is_cut_off => Err(ReadError::Syntax(error.clone())),
        _ => {
            let broken_lines = line_numbers(source, transcript.aside);
            Ok(Document { json, transcripts: vec![transcript], broken_lines })
        }
    }
}

/// The numbers of lines, counted from 1. `lines` are their spans, in order.
fn line_numbers(source: &str, lines: &[Range<usize>]) -> Vec<usize> {
    let mut counter = LineCounter::default();
    let mut numbers: Vec<usize> = lines.iter().map(|line| counter.at(source, line.start)).collect();
    numbers.dedup();
    numbers
}

/// Rejects conversations that span several lines.
fn check_lines<'a>(source: &str, mut values: impl Iterator<Item = Json<'a>>) -> Result<(), ReadError> {
    let Some(value) = values.find(|value| memchr::memchr(b'\n', value.raw().as_bytes()).is_some()) else {
        return Ok(());
    };
    let (line, _) = position(source, value);
    let column = source.lines().nth(line - 1).unwrap_or_default().len();
    let what = "the conversation goes on on the next line, where each line should be one".to_owned();
    Err(ReadError::Syntax(SyntaxError { line, column, what, is_unclosed: false, is_early_end: false }))
}

/// Numbers the conversations of each line.
fn number_on_lines(transcripts: &mut [Transcript<'_>]) {
    for at in 1..transcripts.len() {
        if transcripts[at].line.is_some() && transcripts[at].line == transcripts[at - 1].line {
            transcripts[at].nth_of_line = transcripts[at - 1].nth_of_line + 1;
        }
    }
}

/// Rejects a document that has a mostly foreign conversation.
///
/// # Errors
/// The first foreign message, with its position.
pub fn check_foreign(document: &Document<'_>) -> Result<(), ReadError> {
    for transcript in &document.transcripts {
        if let Some(unknown) = foreign::check_mostly_foreign(transcript) {
            return Err(refused(transcript, unknown));
        }
    }
    Ok(())
}

fn refused(transcript: &Transcript<'_>, unknown: foreign::UnknownPart) -> ReadError {
    let message = transcript.messages[unknown.message].json;
    let (line, column) = position(transcript.source, message);
    let known_by = detect::formats_that_know(message, unknown.start, transcript.format.name);
    ReadError::Foreign { line, column, unknown: Box::new(unknown), known_by }
}

/// Reads a list that has nothing but messages of a conversation that was read before, unknown ones too.
///
/// # Errors
/// A value is not a message of this format.
pub fn messages<'a>(list: &'a Source<'a>, format: &Format) -> Result<Vec<Message<'a>>, ReadError> {
    let mut messages = Vec::new();
    for (index, json) in list.first().into_iter().flat_map(|list| list.items()).enumerate() {
        let object = Object::of(json);
        messages.push(match message(&list.text, &object, format, index) {
            Err(_) if is_of_unknown_kind(&object, format) => foreign::message(&object),
            read => read?,
        });
    }
    Ok(messages)
}

/// Whether an entry is an object that the format does not know.
fn is_of_unknown_kind(entry: &Object<'_>, format: &Format) -> bool {
    entry.json.kind() == JsonKind::Object && format.match_score(entry) == MatchScore::Mismatch
}

/// Reads a message, which errors call by its `index`.
///
/// # Errors
/// The value is not a message of this format.
pub fn message<'a>(source: &str, object: &Object<'a>, format: &Format, index: usize) -> Result<Message<'a>, ReadError> {
    let mut message = match format.read(object) {
        Ok(message) => message,
        Err(what) => {
            let found = format!("as {}, message {index} {what}", format.name);
            return Err(no_transcript(source, object.json, found));
        }
    };
    foreign::complete(&mut message, format.metadata_members);
    message.earlier |= message.is_readable_compaction() || unsent::is_summary(object);
    Ok(message)
}

/// Whether a line is an answer in a log of requests and answers. It has no history and stays unchanged.
fn is_logged_answer(value: Json<'_>) -> bool {
    value.member_is("type", "response")
}

#[cfg(test)]
mod tests;

/// Reads a text for a test. The leaks of short tests do not matter.
#[cfg(any(test, feature = "tests"))]
pub fn read_for_test<'a>(
    text: &'a str,
    from: Option<&'static Format>,
    lines: Option<Lines>,
) -> Result<Document<'a>, ReadError> {
    read(Box::leak(Box::new(Source::of_file(text)?)), from, lines)
}
