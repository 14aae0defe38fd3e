//! Reads the values of a list: which are messages, which belong together, and when the others leave.

use std::collections::HashSet;
use std::sync::OnceLock;

use crate::compaction::SummarizationEvent;
use crate::format::{EntryKind, Format, MatchScore, Note, Retention, Transcript};
use crate::framing::{Found, ReadError, is_of_unknown_kind, message, refused};
use crate::json::{Json, Object};
use crate::list::List;
use crate::message::Message;
use crate::pairing::PairFinder;
use crate::read_error::{no_transcript, position};
use crate::unsent::{self, Rest, Unsent};
use crate::{detect, fence, foreign, unknown_pairs};

impl<'a> List<'a> {
    pub(super) fn read(&self, source: &'a str, from: Option<&'static Format>) -> Result<Transcript<'a>, ReadError> {
        if let Some(named) = from {
            return self.read_named(source, named);
        }
        let format = match detect::format(self.envelope, &self.values) {
            Ok(format) => format,
            Err(detect::Problem::Ambiguous(ambiguity)) => {
                return Err(ReadError::Ambiguous { line: self.line, ambiguity });
            }
            Err(detect::Problem::Unknown { message, found }) => return Err(no_transcript(source, message, found)),
        };
        let transcript = self.read_as(source, format)?;
        let is_known =
            |message: Json<'_>, start: usize| !detect::formats_that_know(message, start, format.name).is_empty();
        match foreign::check_unknown_call(&transcript, &is_known) {
            Some(unknown) => Err(refused(&transcript, unknown)),
            None => Ok(transcript),
        }
    }

    /// Reads a list in the format that the user named. The error names another format if that reads the list.
    fn read_named(&self, source: &'a str, named: &'static Format) -> Result<Transcript<'a>, ReadError> {
        let read = self.read_as(source, named);
        let Some(own) = self.read_as_other(source, named) else { return read };
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

    /// Reads a list in the format that its messages show, if that is another one than the named one.
    fn read_as_other(&self, source: &'a str, named: &'static Format) -> Option<Transcript<'a>> {
        let own = detect::format(self.envelope, &self.values).ok()?;
        if own.name == named.name { None } else { self.read_as(source, own).ok() }
    }

    pub(super) fn read_as(&self, source: &'a str, format: &'static Format) -> Result<Transcript<'a>, ReadError> {
        let inner = format.session.inner_list(self.values.clone());
        let values = match inner {
            Some(inner) => self.values.clone().opening(inner.list),
            None => self.values.clone(),
        };
        let list = List { values, ..*self };
        let read = match list.entries(source, format, None)? {
            Some(read) => read,
            None => {
                let unsent = Unsent::among(list.values.clone(), format);
                list.entries(source, format, Some(&unsent))?.unwrap_or_default()
            }
        };
        let transcript = list.transcript(source, format, read)?;
        Ok(Transcript { inner, ..transcript })
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
        let summarized = match self.state.and_then(SummarizationEvent::of) {
            Some(event) => event.messages,
            None => 0,
        };
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
                    let mut message = match message(source, &object, format, read.messages.len()) {
                        Ok(message) => message,
                        Err(error) if is_of_unknown_kind(&object, format) => read.unknown_message(&object, error),
                        Err(error) => return Err(error),
                    };
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
        read.check_most_are_known()?;
        let tied = read.refer_to_messages();
        let Entries { messages, notes, compactions, pairs, .. } = read;
        if messages.is_empty() {
            self.check_not_foreign(source, format)?;
        }
        let mut groups = format.groups_of(&messages);
        groups.extend(tied);
        let known: HashSet<(usize, usize)> = groups.iter().copied().collect();
        for pair in unknown_pairs::groups(&messages) {
            if !known.contains(&pair) {
                groups.push(pair);
            }
        }
        Ok(Transcript {
            source,
            format,
            pairing: pairs.finish(&messages),
            groups,
            order: format.order_of(self.envelope.map(Object::of).as_ref(), &messages),
            messages,
            notes,
            inner: None,
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
        let Some(first) = self.values.clone().next() else { return Ok(()) };
        for value in self.values.clone() {
            let score = format.match_score(&Object::of(value));
            if !matches!(score, MatchScore::Mismatch | MatchScore::Skipped) {
                return Ok(());
            }
        }
        Err(no_transcript(source, first, format!("as {}, nothing in it is a message", format.name)))
    }

    /// Rejects a format that the user named where it does not see a call and its result that the messages' own format
    /// sees: a cut could split them.
    fn check_named(named: &Transcript<'a>, own: &Transcript<'a>) -> Result<(), ReadError> {
        let mut seen = HashSet::new();
        for (call, result) in &named.pairing.pairs {
            seen.insert((start_of(named, *call), start_of(named, *result)));
        }
        for (call, result) in &own.pairing.pairs {
            if seen.contains(&(start_of(own, *call), start_of(own, *result))) {
                continue;
            }
            let (line, column) = position(named.source, own.messages[*result].json);
            let found =
                format!("message {result} has the result of a call in message {call}, and that call is not seen");
            return Err(ReadError::OtherFormat { line, column, named: named.format.name, found, own: own.format.name });
        }
        Ok(())
    }
}

/// The place in the source where a message begins.
fn start_of(transcript: &Transcript<'_>, message: usize) -> usize {
    transcript.messages[message].span().start
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
    /// The number of messages of a kind that the format does not know, and why the first of them cannot be read.
    unknown: usize,
    first_unknown: Option<ReadError>,
}

impl<'a> Entries<'a> {
    fn add_note(&mut self, json: Json<'a>, retention: Retention) {
        self.indices.push(None);
        self.notes.push(Note { json, before: self.messages.len(), retention });
    }

    /// Reads an entry as a message of an unknown kind, and remembers why it cannot be read.
    fn unknown_message(&mut self, entry: &Object<'a>, error: ReadError) -> Message<'a> {
        self.unknown += 1;
        self.first_unknown.get_or_insert(error);
        foreign::message(entry)
    }

    /// Rejects a conversation if half of its messages or more are of unknown kinds: it is of another format.
    fn check_most_are_known(&mut self) -> Result<(), ReadError> {
        let all = self.messages.len();
        if 2 * self.unknown < all || self.unknown < all && self.has_summary() {
            return Ok(());
        }
        match self.first_unknown.take() {
            Some(error) => Err(error),
            None => Ok(()),
        }
    }

    /// Whether a summary of ours may be among the messages. Behind one, nothing else than unknown messages may be left.
    fn has_summary(&self) -> bool {
        self.messages.iter().any(|message| fence::may_be_summary(message.json))
    }

    fn add_message(&mut self, message: Message<'a>) {
        let index = self.messages.len();
        self.indices.push(Some(index));
        if message.compaction().is_some() {
            self.compactions.push(index);
        }
        self.messages.push(message);
        self.pairs.advance_to(&self.messages, index, drop);
    }

    /// Ties what is left of a message, or the message before it where nothing is, to the summary without which all of it
    /// would be sent.
    fn tie(&mut self, rest: &Rest) {
        if let Some(last) = self.messages.len().checked_sub(usize::from(rest.is_empty)) {
            self.tied.push((rest.of, last));
        }
    }

    /// Replaces the entry that a note is kept with by the index of its message. Returns the messages that stay together.
    fn refer_to_messages(&mut self) -> Vec<(usize, usize)> {
        for note in &mut self.notes {
            note.retention = match note.retention {
                Retention::With(entry) => {
                    message_of(&self.indices, entry).map_or(Retention::WithPrevious, Retention::With)
                }
                Retention::Replaced(entry) => {
                    message_of(&self.indices, entry).map_or(Retention::WithPrevious, Retention::Replaced)
                }
                other => other,
            };
        }
        let mut tied = Vec::new();
        for &(entry, last) in &self.tied {
            if let Some(first) = message_of(&self.indices, entry)
                && first < last
            {
                tied.push((first, last));
            }
        }
        tied
    }
}

/// The index of the message of an entry, if it has one.
fn message_of(indices: &[Option<usize>], entry: usize) -> Option<usize> {
    *indices.get(entry)?
}
