//! Puts messages back into a JSON document that was written anew since its compaction, with more messages or in another
//! layout. No hash proves such a text: the summary is found by its own hash, and the removed messages take its place.

use std::collections::HashMap;
use std::ops::Range;

use crate::hash::sha256;
use crate::plan::carried;
use crate::rewrite::restoring::{PutBack, Record};
use crate::transcript::formats::{Format, read_entry};
use crate::transcript::source::Source;
use crate::transcript::{Message, Role, Transcript, framing};

/// A document that has the messages of one compaction again.
pub(crate) struct Regrown {
    /// The edits of the document, in order.
    pub(crate) edits: Vec<PutBack>,
    /// The record with the messages.
    pub(crate) record: Record,
    /// The hash of the summary.
    pub(crate) summary_sha256: String,
    /// How many messages stay as the compaction shortened them, as the document does not tell which they are.
    pub(crate) shortened: usize,
}

/// Puts the messages of one compaction back into a text, if it is a single JSON value in one of the `formats` with a
/// summary for which there is a record. `record_of` returns the record with the hash of a summary's text.
///
/// # Errors
/// Those of `record_of`.
pub(crate) fn regrown<E>(
    text: &str,
    formats: &[&'static dyn Format],
    mut record_of: impl FnMut(&str) -> Result<Option<Record>, E>,
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
            for (index, text) in texts.filter(|(_, text)| !text.is_empty()) {
                let hash = sha256(text.as_bytes());
                if let Some(record) = record_of(&hash)?
                    && let Some(regrown) = with_record(transcript, index, record, hash)
                {
                    return Ok(Some(regrown));
                }
            }
        }
    }
    Ok(None)
}

/// Puts the messages of a record in the place of a summary, which is the message with an index, or stands beside the
/// messages; `None` if tcompact cannot have written the record.
fn with_record(
    transcript: &Transcript<'_>,
    summary: Option<usize>,
    record: Record,
    summary_sha256: String,
) -> Option<Regrown> {
    let removed = record.removed()?;
    let mut edits = List::new(transcript, summary).put_back(&removed)?;
    if summary.is_none() {
        let before = record.text_before().unwrap_or("null").as_bytes().to_vec();
        edits.push(PutBack { range: carried::place(transcript)?.span(), bytes: before });
    }
    let (of_shortened, shortened) = whole_again(transcript, summary, &record);
    edits.extend(of_shortened);
    edits.sort_by_key(|edit| (edit.range.start, edit.range.end));
    let in_order = edits.windows(2).all(|two| two[0].range.end <= two[1].range.start);
    in_order.then_some(Regrown { edits, record, summary_sha256, shortened })
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

    /// Returns the edits that put messages back, each with its index in the original list. Those that were not removed
    /// stand between them. `None` if they are not in order.
    fn put_back(mut self, removed: &[(usize, &str)]) -> Option<Vec<PutBack>> {
        let (mut expected, mut together): (usize, Vec<&str>) = (0, Vec::new());
        for &(index, message) in removed {
            let kept = index.checked_sub(expected)?;
            if kept > 0 {
                self.put(&std::mem::take(&mut together));
                self.pass(kept);
            }
            together.push(message);
            expected = index.checked_add(1)?;
        }
        self.put(&together);
        self.remove_summary();
        Some(self.edits)
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

    /// Passes so many messages that were kept.
    fn pass(&mut self, kept: usize) {
        let with_summary =
            self.summary.is_some_and(|summary| (self.next..self.next.saturating_add(kept)).contains(&summary));
        let end = self.next.saturating_add(kept).saturating_add(usize::from(with_summary));
        self.next = end.min(self.spans.len());
    }

    /// Removes a summary in whose place nothing stands.
    fn remove_summary(&mut self) {
        let Some(at) = self.summary else { return };
        let span = &self.spans[at];
        let range = match (self.spans.get(at + 1), at.checked_sub(1).map(|before| &self.spans[before])) {
            (Some(next), _) => span.start..next.start,
            (None, Some(before)) => before.end..span.end,
            (None, None) => span.clone(),
        };
        self.edits.push(PutBack { range, bytes: Vec::new() });
    }

    /// Returns what stands between two messages.
    fn separator(&self) -> &str {
        let between = self.spans.windows(2).filter_map(|two| self.source.get(two[0].end..two[1].start));
        between.into_iter().find(|between| between.trim() == ",").unwrap_or(",")
    }
}

/// What tells a message from all others: its role, and the ids of its calls and results.
#[derive(PartialEq, Eq, Hash)]
struct MessageKey(Role, Vec<String>);

impl MessageKey {
    /// Returns the key of a message; `None` if it has no ids.
    fn of(message: &Message<'_>) -> Option<Self> {
        let ids = message.calls.iter().map(|call| call.id).chain(message.results.iter().map(|result| result.id));
        let ids: Vec<String> = ids.flatten().map(|id| id.decode().into_owned()).collect();
        (!ids.is_empty()).then_some(MessageKey(message.role, ids))
    }
}

/// Returns the edits that make shortened messages whole again, and how many of them are not found.
fn whole_again(transcript: &Transcript<'_>, summary: Option<usize>, record: &Record) -> (Vec<PutBack>, usize) {
    let mut places: HashMap<MessageKey, Option<usize>> = HashMap::new();
    for (index, message) in transcript.messages.iter().enumerate().filter(|(index, _)| Some(*index) != summary) {
        if let Some(key) = MessageKey::of(message) {
            places.entry(key).and_modify(|place| *place = None).or_insert(Some(index));
        }
    }
    let (mut edits, mut lost) = (Vec::new(), 0);
    for message in record.shortened() {
        let key = read_entry(transcript.format, message, MessageKey::of).flatten();
        match key.and_then(|key| places.remove(&key)).flatten() {
            Some(index) => {
                let range = transcript.messages[index].span();
                edits.push(PutBack { range, bytes: message.as_bytes().to_vec() });
            }
            None => lost += 1,
        }
    }
    (edits, lost)
}
