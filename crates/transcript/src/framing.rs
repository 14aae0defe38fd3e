//! Splits a text into conversations: JSON or JSONL, bare lists or envelopes.
//!
//! A document is one JSON value (a list of messages, or an envelope around one), or several values: one message a line,
//! or one conversation a line. A byte order mark is skipped and preserved.

use std::collections::HashSet;
use std::ops::Range;
use std::sync::OnceLock;

use crate::compaction::SummarizationEvent;
use crate::format::{EntryKind, EnvelopeScore, Format, MatchScore, Note, Retention, Transcript};
use crate::formats::FORMATS;
use crate::json::{Json, JsonKind, Object};
use crate::list::{LineCounter, List, is_message};
use crate::message::Message;
use crate::pairing::PairFinder;
use crate::read_error::{no_transcript, position};
use crate::source::{Source, SyntaxError};
use crate::unsent::{self, Rest, Unsent};
use crate::{detect, foreign};

pub use crate::read_error::{Found, ReadError};

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
    if let Some(error) = json.error.as_ref().filter(|_| !json.is_cut_off) {
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
    let found = foreign::unread_program(envelope).map(|program| Found::of_program("it", program));
    let without = || "an object with an empty list, which nothing shows to be one of messages".to_owned().into();
    Err(no_transcript(source, envelope, found.unwrap_or_else(without)))
}

/// Names the program of a file whose first value is not known by one of the values behind it.
fn name_by_later_value(json: &Source<'_>, error: ReadError) -> ReadError {
    /// The values that are looked at.
    const MOST: usize = 20;
    let ReadError::NoTranscript { line: 1, found: Found { program: None, .. }, .. } = &error else { return error };
    let program_of =
        |value| Some(no_transcript(&json.text, value, Found::of_program("it", foreign::unread_program(value)?)));
    json.values().skip(1).take(MOST).find_map(program_of).unwrap_or(error)
}

/// Whether a text is one conversation, one entry a line.
fn is_conversation<'a>(json: &'a Source<'a>, from: Option<&'static Format>, lines: Option<Lines>) -> bool {
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
        let line = one_of_many.then(|| line.at(source, value.span().start));
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
    let list = |values, aside| List { envelope: None, state: None, values, line: None, aside };
    let aside: &[Range<usize>] = if json.error.is_some() { &json.irregular_lines } else { &[] };
    let mut transcript = list(json.regular_values(), aside).read(source, from)?;
    let format = transcript.format;
    let unread = format.unread_spans(json);
    if unread != aside {
        transcript = list(json.values_except(unread), unread).read_as(source, format)?;
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

impl<'a> List<'a> {
    fn read(&self, source: &'a str, from: Option<&'static Format>) -> Result<Transcript<'a>, ReadError> {
        if let Some(named) = from {
            return self.read_named(source, named);
        }
        let format = detect::format(self.envelope, &self.values).map_err(|problem| match problem {
            detect::Problem::Ambiguous(ambiguity) => ReadError::Ambiguous { line: self.line, ambiguity },
            detect::Problem::Unknown { message, found } => no_transcript(source, message, found),
        })?;
        let transcript = self.read_as(source, format)?;
        match foreign::check_unknown_call(&transcript) {
            Some(unknown) => Err(refused(&transcript, unknown)),
            None => Ok(transcript),
        }
    }

    /// Reads a list in the format that the user named. The error names another format if that reads the list.
    fn read_named(&self, source: &'a str, named: &'static Format) -> Result<Transcript<'a>, ReadError> {
        let read = self.read_as(source, named);
        let own = || detect::format(self.envelope, &self.values).ok().filter(|own| own.name != named.name);
        let Some(own) = own().and_then(|own| self.read_as(source, own).ok()) else { return read };
        match read {
            Ok(transcript) => {
                Self::check_named(&transcript, &own)?;
                match foreign::check_mostly_foreign(&transcript) {
                    Some(unknown) if foreign::check_mostly_foreign(&own).is_none() => {
                        let (line, column) = position(source, transcript.messages[unknown.message].json);
                        let (named, found, own) = (named.name, unknown.to_string(), own.format.name);
                        Err(ReadError::OtherFormat { line, column, named, found, own })
                    }
                    _ => Ok(transcript),
                }
            }
            Err(ReadError::NoTranscript { line, column, found: Found { what, .. } }) => {
                let found = what.strip_prefix(&format!("as {}, ", named.name)).unwrap_or(&what).to_owned();
                Err(ReadError::OtherFormat { line, column, named: named.name, found, own: own.format.name })
            }
            error => error,
        }
    }

    fn read_as(&self, source: &'a str, format: &'static Format) -> Result<Transcript<'a>, ReadError> {
        let read = match self.entries(source, format, None)? {
            Some(read) => read,
            None => {
                let unsent = Unsent::among(self.values.clone(), format);
                self.entries(source, format, Some(&unsent))?.unwrap_or_default()
            }
        };
        self.transcript(source, format, read)
    }

    /// Reads the values. `unsent` is what of them an agent no longer sends; without it, the result is `None` as soon as a
    /// message says that there is some.
    fn entries(
        &self,
        source: &'a str,
        format: &'static Format,
        unsent: Option<&Unsent<'a>>,
    ) -> Result<Option<Entries<'a>>, ReadError> {
        let entries = format.session.entries(self.values.clone());
        let mut read = Entries::default();
        let has_edits = entries.iter().any(|entry| matches!(entry, EntryKind::Edited { .. }));
        let values: Vec<Json<'a>> = if has_edits { self.values.clone().collect() } else { Vec::new() };
        let summarized = self.state.and_then(SummarizationEvent::of).map_or(0, |event| event.messages);
        for (index, json) in self.values.clone().enumerate() {
            match (entries.get(index), unsent.and_then(|unsent| unsent.stays_with(index))) {
                _ if index < summarized => read.add_note(json, Retention::Obsolete),
                (Some(EntryKind::Note(retention)), _) => read.add_note(json, *retention),
                (_, Some(with)) => read.add_note(json, Retention::Replaced(with)),
                _ => {
                    let object = Object::of(json);
                    if unsent.is_none() && unsent::is_tagged(&object) {
                        return Ok(None);
                    }
                    let mut message = message(source, &object, format, read.messages.len())?;
                    if let Some(EntryKind::Edited { by }) = entries.get(index) {
                        format.session.read_edit(&mut message, values[*by]);
                    }
                    if let Some(rest) = unsent.and_then(|unsent| unsent.leave_out_results(index, &mut message)) {
                        read.tie(&rest);
                        if rest.is_empty {
                            read.add_note(json, Retention::Replaced(rest.of));
                            continue;
                        }
                    }
                    read.add_message(message);
                }
            }
        }
        Ok(Some(read))
    }

    fn transcript(
        &self,
        source: &'a str,
        format: &'static Format,
        mut read: Entries<'a>,
    ) -> Result<Transcript<'a>, ReadError> {
        let tied = read.refer_to_messages();
        let Entries { messages, notes, compactions, pairs, .. } = read;
        if messages.is_empty() {
            self.check_not_foreign(source, format)?;
        }
        Ok(Transcript {
            source,
            format,
            pairing: pairs.finish(&messages),
            groups: format.groups_of(&messages).into_iter().chain(tied).collect(),
            order: format.order_of(self.envelope.map(Object::of).as_ref(), &messages),
            messages,
            notes,
            compactions,
            envelope: self.envelope,
            state: self.state,
            aside: self.aside,
            line: self.line,
            nth_of_line: 1,
            earlier_rounds: 0,
            record_id: None,
            ascii: OnceLock::new(),
        })
    }

    /// Rejects values of which none belongs to the format. A file of another program is not a session without messages,
    /// even if the user named the format.
    fn check_not_foreign(&self, source: &str, format: &Format) -> Result<(), ReadError> {
        let is_foreign = |value: Json<'a>| {
            matches!(format.match_score(&Object::of(value)), MatchScore::Mismatch | MatchScore::Skipped)
        };
        match self.values.clone().next() {
            Some(first) if self.values.clone().all(is_foreign) => {
                Err(no_transcript(source, first, format!("as {}, nothing in it is a message", format.name)))
            }
            _ => Ok(()),
        }
    }

    /// Rejects a format that the user named where it does not see a call and its result that the messages' own format
    /// sees: a cut could split them.
    fn check_named(named: &Transcript<'a>, own: &Transcript<'a>) -> Result<(), ReadError> {
        let start = |transcript: &Transcript<'a>, index: usize| transcript.messages[index].span().start;
        let places = |transcript: &Transcript<'a>| -> HashSet<(usize, usize)> {
            let pairs = transcript.pairing.pairs.iter();
            pairs.map(|(call, result)| (start(transcript, *call), start(transcript, *result))).collect()
        };
        let seen = places(named);
        let lost =
            own.pairing.pairs.iter().find(|(call, result)| !seen.contains(&(start(own, *call), start(own, *result))));
        let Some((call, result)) = lost else { return Ok(()) };
        let (line, column) = position(named.source, own.messages[*result].json);
        let found = format!("message {result} has the result of a call in message {call}, and that call is not seen");
        Err(ReadError::OtherFormat { line, column, named: named.format.name, found, own: own.format.name })
    }
}

/// Numbers the conversations of each line.
fn number_on_lines(transcripts: &mut [Transcript<'_>]) {
    for at in 1..transcripts.len() {
        if transcripts[at].line.is_some() && transcripts[at].line == transcripts[at - 1].line {
            transcripts[at].nth_of_line = transcripts[at - 1].nth_of_line + 1;
        }
    }
}

/// The entries of a list, as far as they are read.
#[derive(Default)]
struct Entries<'a> {
    messages: Vec<Message<'a>>,
    notes: Vec<Note<'a>>,
    compactions: Vec<usize>,
    pairs: PairFinder<'a>,
    /// Entries and messages behind them that stay together.
    tied: Vec<(usize, usize)>,
    /// For each entry, the index of its message; `None` for a note.
    indices: Vec<Option<usize>>,
}

impl<'a> Entries<'a> {
    fn add_note(&mut self, json: Json<'a>, retention: Retention) {
        self.indices.push(None);
        self.notes.push(Note { json, before: self.messages.len(), retention });
    }

    fn add_message(&mut self, message: Message<'a>) {
        let index = self.messages.len();
        self.indices.push(Some(index));
        self.compactions.extend(message.compaction().map(|_| index));
        self.messages.push(message);
        self.pairs.advance_to(&self.messages, index, drop);
    }

    /// Ties what is left of a message, or the message before it where nothing is, to the summary without which all of it
    /// would be sent.
    fn tie(&mut self, rest: &Rest) {
        let last = self.messages.len().checked_sub(usize::from(rest.is_empty));
        self.tied.extend(last.map(|last| (rest.of, last)));
    }

    /// Replaces the entry that a note is kept with by the index of its message. Returns the messages that stay together.
    fn refer_to_messages(&mut self) -> Vec<(usize, usize)> {
        let message = |entry: usize| self.indices.get(entry).copied().flatten();
        for note in &mut self.notes {
            note.retention = match note.retention {
                Retention::With(entry) => message(entry).map_or(Retention::WithPrevious, Retention::With),
                Retention::Replaced(entry) => message(entry).map_or(Retention::WithPrevious, Retention::Replaced),
                other => other,
            };
        }
        let tied = self.tied.iter().filter_map(|(first, last)| Some((message(*first)?, *last)));
        tied.filter(|(first, last)| first < last).collect()
    }
}

/// Rejects a document that has a mostly foreign conversation.
///
/// # Errors
/// The first foreign message, with its position.
pub fn check_foreign(document: &Document<'_>) -> Result<(), ReadError> {
    let unknown = |transcript| foreign::check_mostly_foreign(transcript).map(|unknown| refused(transcript, unknown));
    document.transcripts.iter().find_map(unknown).map_or(Ok(()), Err)
}

fn refused(transcript: &Transcript<'_>, unknown: foreign::UnknownPart) -> ReadError {
    let message = transcript.messages[unknown.message].json;
    let (line, column) = position(transcript.source, message);
    let known_by = detect::formats_that_know(message, unknown.start, transcript.format.name);
    ReadError::Foreign { line, column, unknown: Box::new(unknown), known_by }
}

/// Reads a list that has nothing but messages.
///
/// # Errors
/// A value is not a message of this format.
pub fn messages<'a>(list: &'a Source<'a>, format: &Format) -> Result<Vec<Message<'a>>, ReadError> {
    let values = list.first().into_iter().flat_map(|list| list.items());
    values.enumerate().map(|(index, json)| message(&list.text, &Object::of(json), format, index)).collect()
}

/// Reads a message, which errors call by its `index`.
///
/// # Errors
/// The value is not a message of this format.
pub fn message<'a>(source: &str, object: &Object<'a>, format: &Format, index: usize) -> Result<Message<'a>, ReadError> {
    let no_message = |what| no_transcript(source, object.json, format!("as {}, message {index} {what}", format.name));
    let mut message = format.read(object).map_err(no_message)?;
    foreign::complete(&mut message, format.metadata_members);
    message.earlier |= message.is_readable_compaction() || unsent::is_summary(object);
    Ok(message)
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
    let mut sessions = FORMATS.iter().filter(|format| format.on_broken_line.is_some());
    sessions.any(|format| format.match_score(&first).is_message())
}

/// Whether a value is neither an object nor a list of messages or of conversations.
fn is_stray(value: Json<'_>) -> bool {
    let holds = |item: Json<'_>| match item.kind() {
        JsonKind::Object => is_message(item) || List::in_object(item, None).is_some(),
        _ => item.items().any(is_message),
    };
    value.kind() != JsonKind::Object && !value.items().any(holds)
}

/// Whether an object tells how to read the lines of its file. What is neither a message nor a conversation with messages
/// tells nothing: it can be the first line of a session whose messages before it are removed.
fn lines_of(object: Json<'_>) -> Option<Lines> {
    if is_message(object) {
        return Some(Lines::Messages);
    }
    let mut list = List::in_object(object, None)?;
    list.values.any(is_message).then_some(Lines::Conversations)
}

/// Whether a file that begins with an object holds the entries of one conversation, one a line, and not a conversation
/// a line. The first value that is either decides.
fn are_messages<'a>(values: impl Iterator<Item = Json<'a>> + Clone, from: Option<&'static Format>) -> bool {
    let decided =
        values.clone().find_map(|value| if value.kind() == JsonKind::Object { lines_of(value) } else { None });
    // Of an empty envelope, the named format does not make a line.
    let is_envelope = |value: Json<'a>| value.kind() == JsonKind::Object && List::in_object(value, None).is_some();
    let is_named = || from.is_some_and(|format| format.on_broken_line.is_some()) && !values.clone().any(is_envelope);
    decided.map_or_else(is_named, |lines| lines == Lines::Messages)
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
    let source = Source::of(line).ok();
    let object = source.as_ref().and_then(|source| source.first()).filter(|first| first.kind() == JsonKind::Object);
    let Some(object) = object else { return Some(Lines::Conversations) };
    let lines = lines_of(object)?;
    Some(if is_session(std::iter::once(object)) { lines } else { Lines::Conversations })
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
