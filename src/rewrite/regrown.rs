//! Puts messages back into a JSON document that was written anew since its compaction, with more messages or in another
//! layout. No hash proves such a text. Hashes of its parts lead to what is put back: that of the summary's text, in whose
//! place the removed messages stand, and those of messages as they were shortened.

use std::collections::{HashMap, VecDeque};
use std::ops::Range;

use crate::hash::sha256;
use crate::plan::carried;
use crate::rewrite;
use crate::rewrite::restoring::{PutBack, Record, value_hash};
use crate::transcript::formats::Format;
use crate::transcript::source::Source;
use crate::transcript::{Message, Transcript, framing};

/// A document that has the messages of one compaction again.
pub(crate) struct Regrown {
    /// The edits of the document, in order.
    pub(crate) edits: Vec<PutBack>,
    /// The record with the messages.
    pub(crate) record: Record,
    /// How many messages stay as the compaction left them, as they are not found.
    pub(crate) shortened: usize,
}

/// What a record is found by.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) enum Trace {
    /// The hash of a summary's text.
    Summary(String),
    /// The hash of a message as it was left.
    Shortened(String),
}

/// Puts the messages of one compaction back into a text, if it is a single JSON value in one of the `formats` with a
/// trace of one. `record_of` returns the record with a trace.
///
/// # Errors
/// Those of `record_of`.
pub(crate) fn regrown<E>(
    text: &str,
    formats: &[&'static dyn Format],
    mut record_of: impl FnMut(&Trace) -> Result<Option<Record>, E>,
) -> Result<Option<Regrown>, E> {
    let Ok(source) = Source::of_file(text) else { return Ok(None) };
    if source.values().nth(1).is_some() {
        return Ok(None);
    }
    for format in formats {
        let Ok(document) = framing::read(&source, Some(*format), None) else { continue };
        for transcript in &document.transcripts {
            let of_messages = transcript.messages.iter().map(Message::whole_text).enumerate();
            let beside = carried::place(transcript).and_then(|place| Some(place.text()?.decode().into_owned()));
            let texts = of_messages.map(|(index, text)| (Some(index), text)).chain(beside.map(|text| (None, text)));
            let texts = texts.filter(|(_, text)| !text.is_empty());
            let summaries = texts.map(|(index, text)| (Some(index), Trace::Summary(sha256(text.as_bytes()))));
            let messages = transcript.messages.iter().filter_map(|message| value_hash(message.json.raw()));
            let shortened = messages.map(|hash| (None, Trace::Shortened(hash)));
            for (summary, trace) in summaries.chain(shortened) {
                let Some(record) = record_of(&trace)? else { continue };
                let regrown = with_record(transcript, summary, record).filter(|one| is_still_read(text, one, *format));
                if regrown.is_some() {
                    return Ok(regrown);
                }
            }
        }
    }
    Ok(None)
}

/// Whether a document is still one with some edits. A record can have been changed.
fn is_still_read(text: &str, regrown: &Regrown, format: &'static dyn Format) -> bool {
    let result = rewrite::pieces(text.as_bytes(), &regrown.edits).collect::<Vec<_>>().concat();
    let source = std::str::from_utf8(&result).ok().and_then(|text| Source::of_file(text).ok());
    source.is_some_and(|source| framing::read(&source, Some(format), None).is_ok())
}

/// Puts the messages of a record back: those that were removed in the place of the summary, which is the message with an
/// index or stands beside the messages, if there is one. `None` if tcompact cannot have written the record.
fn with_record(transcript: &Transcript<'_>, summary: Option<Option<usize>>, record: Record) -> Option<Regrown> {
    let messages: Vec<Option<String>> =
        transcript.messages.iter().map(|message| value_hash(message.json.raw())).collect();
    let (mut edits, mut lost) = (Vec::new(), 0);
    if let Some(place) = summary {
        (edits, lost) = List::new(transcript, place).put_back(&record, &messages)?;
        if place.is_none() {
            let before = record.text_before().unwrap_or("null").as_bytes().to_vec();
            edits.push(PutBack { range: carried::place(transcript)?.span(), bytes: before });
        }
    }
    let (whole, shortened) = whole_again(transcript, &record, &messages);
    edits.extend(whole);
    edits.sort_by_key(|edit| (edit.range.start, edit.range.end));
    let in_order = edits.windows(2).all(|two| two[0].range.end <= two[1].range.start);
    (in_order && !edits.is_empty()).then_some(Regrown { edits, record, shortened: shortened + lost })
}

/// The edits that make shortened messages whole again, and how many of them are not found. Messages that were left
/// alike are told by their order.
fn whole_again(transcript: &Transcript<'_>, record: &Record, messages: &[Option<String>]) -> (Vec<PutBack>, usize) {
    let mut places: HashMap<&str, VecDeque<usize>> = HashMap::new();
    for (index, hash) in messages.iter().enumerate().filter_map(|(index, hash)| Some((index, hash.as_deref()?))) {
        places.entry(hash).or_default().push_back(index);
    }
    let (mut edits, mut lost) = (Vec::new(), 0);
    for (hash, message) in record.shortened() {
        match places.get_mut(hash).and_then(VecDeque::pop_front) {
            Some(index) => {
                let range = transcript.messages[index].span();
                edits.push(PutBack { range, bytes: message.as_bytes().to_vec() });
            }
            None => lost += 1,
        }
    }
    (edits, lost)
}

/// The list of a document, and how far the original list was followed in it.
struct List<'d> {
    source: &'d str,
    spans: Vec<Range<usize>>,
    /// The index of the summary, until it is replaced.
    summary: Option<usize>,
    /// The index of the next message.
    next: usize,
    edits: Vec<PutBack>,
}

impl<'d> List<'d> {
    fn new(transcript: &'d Transcript<'_>, summary: Option<usize>) -> Self {
        let spans = transcript.messages.iter().map(Message::span).collect();
        List { source: transcript.source, spans, summary, next: 0, edits: Vec::new() }
    }

    /// The edits that put the removed messages back. Where the messages before the kept part are those that the record
    /// names, they stand among these as they did. Otherwise somebody changed the list, and all that was removed stands
    /// in the place of the summary. Also returns how many messages were removed from the kept part: their places are
    /// not known. `None` if they are not in order.
    fn put_back(mut self, record: &Record, messages: &[Option<String>]) -> Option<(Vec<PutBack>, usize)> {
        let removed = record.removed()?;
        let before_kept = messages.iter().enumerate().filter(|(index, _)| Some(*index) != self.summary);
        let before_kept = before_kept.take(record.pinned.len()).map(|(_, hash)| hash.as_ref());
        let is_same = before_kept.eq(record.pinned.values().map(Some))
            && self.summary.is_none_or(|summary| summary <= record.pinned.len());
        if !is_same {
            self.next = self.summary.unwrap_or(0);
        }
        if !removed.windows(2).all(|two| two[0].0 < two[1].0) {
            return None;
        }
        let (mut pinned, mut together) = (record.pinned.keys().copied().peekable(), Vec::new());
        let (mut next, mut done) = (removed.first().map_or(0, |(index, _)| *index), 0);
        for (index, message) in &removed {
            while let Some(stays) = pinned.next_if(|stays| stays < index) {
                if is_same {
                    self.put(&std::mem::take(&mut together));
                    self.pass();
                }
                next = next.max(stays + 1);
            }
            if *index != next {
                break;
            }
            together.push(*message);
            (next, done) = (index + 1, done + 1);
        }
        self.put(&together);
        // Nothing stands in the place of the summary.
        if let Some(at) = self.summary {
            self.edits.push(PutBack { range: rewrite::removal(&self.spans, at, at + 1).range, bytes: Vec::new() });
        }
        Some((self.edits, removed.len() - done))
    }

    /// Puts messages before the next one, or in the place of the summary.
    fn put(&mut self, messages: &[&str]) {
        if messages.is_empty() {
            return;
        }
        let separator = self.separator().to_owned();
        let text = messages.join(&separator);
        let (range, text) = match self.spans.get(self.next) {
            Some(span) if self.summary == Some(self.next) => {
                (self.summary, self.next) = (None, self.next + 1);
                (span.clone(), text)
            }
            Some(span) => (span.start..span.start, text + &separator),
            None => {
                let end = self.spans.last().map_or(0, |span| span.end);
                (end..end, separator + &text)
            }
        };
        self.edits.push(PutBack { range, bytes: text.into_bytes() });
    }

    /// Passes a message that stayed.
    fn pass(&mut self) {
        self.next += 1 + usize::from(self.summary == Some(self.next));
    }

    fn separator(&self) -> &str {
        let between = self.spans.windows(2).filter_map(|two| self.source.get(two[0].end..two[1].start));
        between.into_iter().find(|between| between.trim() == ",").unwrap_or(",")
    }
}
