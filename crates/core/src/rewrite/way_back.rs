//! Writes the way back from a compacted text to its original, for the records of an archive.
//!
//! A text is a line if conversations stand one a line, and otherwise a whole source.

use std::collections::BTreeMap;
use std::ops::Range;

use serde::{Deserialize, Serialize};

use crate::hash::{Hasher, sha256};
use crate::rewrite::Edit;
use crate::rewrite::lists::{ChangedList, ListPlace, changed_lists};
use crate::transcript::{Role, Transcript};

/// The changes of one conversation.
#[derive(Debug)]
pub struct ConversationChange {
    /// The line on which it begins, if its source holds one conversation a line.
    line: Option<usize>,
    /// Where its list begins in the source.
    start_of_list: usize,
    /// Where an entry of its list begins in the source.
    entry: usize,
    /// Whether the first entry is a system message.
    has_system: bool,
    /// The edits, in order.
    edits: Vec<Edit>,
    /// The spans in the source of the messages that the record holds, in order.
    messages: Vec<Range<usize>>,
}

/// The part of a record that leads back to the original.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct RestoreInfo {
    /// The line that the hashes and offsets refer to, counted from 1. Without it they refer to the whole text.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub line: Option<usize>,
    /// The hash of the text before.
    pub original_sha256: String,
    /// The hash of the text after.
    pub result_sha256: String,
    /// What was changed in the list of the conversation; nothing where it stands in none.
    #[serde(flatten, skip_serializing_if = "Option::is_none")]
    pub changed: Option<ChangedList>,
    /// The replacements that restore the text before, once all conversations in the text have theirs.
    pub put_back: Vec<Replacement>,
}

/// A range of the result and its original content.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Replacement {
    pub(super) offset: usize,
    pub(super) bytes: usize,
    pub(super) pieces: Vec<RestoredPiece>,
}

/// A piece of the original content.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged)]
pub(super) enum RestoredPiece {
    /// Messages of the record, so that none is stored twice.
    Messages(MessageRun),
    /// Other entries of the list, which stand in `before` of the record.
    Entries(EntryRun),
    /// The message at this index of the record, as older versions wrote it.
    Message(usize),
    /// Text between messages.
    Text(String),
    /// Bytes between messages that are not UTF-8.
    Bytes(Vec<u8>),
}

/// Messages of a record that follow each other.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct MessageRun {
    /// The index of the first one.
    pub(super) first: usize,
    pub(super) count: usize,
    /// The text between any two.
    pub(super) between: String,
}

/// Entries of `before` that follow each other.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct EntryRun {
    /// The index of the first one.
    pub(super) entry: usize,
    pub(super) count: usize,
    /// The text between any two.
    pub(super) between: String,
}

/// What a record holds already of its text.
struct Stored<'c> {
    /// The spans of its messages in the source, in order.
    messages: &'c [Range<usize>],
    /// The entries of `before` that are texts, each with its index there and its span in the source, in order.
    entries: Vec<(usize, Range<usize>)>,
}

#[derive(Clone, Copy)]
enum StoredText {
    /// The message with this index in the record.
    Message(usize),
    /// The entry with this index in `before`.
    Entry(usize),
}

pub fn without_end(line: &[u8]) -> &[u8] {
    let line = line.strip_suffix(b"\n").unwrap_or(line);
    line.strip_suffix(b"\r").unwrap_or(line)
}

/// The way back for each of the `changes` of `source`, which are all that is changed in it. Hashes are of lines if
/// every conversation is on one line, before and after.
pub fn restore_infos(source: &[u8], changes: &[ConversationChange]) -> Vec<RestoreInfo> {
    let lines: Option<Vec<_>> = changes.iter().map(|change| line_of(source, change)).collect();
    let texts = lines.unwrap_or_else(|| vec![(None, 0..source.len()); changes.len()]);
    let owned = changes.iter().enumerate();
    let owned = owned.flat_map(|(owner, change)| change.edits.iter().map(move |edit| (owner, edit)));
    let mut edits: Vec<(usize, &Edit)> = owned.collect();
    edits.sort_by_key(|(_, edit)| (edit.range.start, edit.range.end));
    // For each edit, the bytes inserted and removed before it.
    let mut sums = vec![(0, 0)];
    for (_, edit) in &edits {
        let (put, taken) = sums[sums.len() - 1];
        sums.push((put + edit.text.len(), taken + edit.range.len()));
    }
    let in_result = |place: usize, edits_before: usize| place + sums[edits_before].0 - sums[edits_before].1;
    let edits_of = |text: &Range<usize>| {
        let before = edits.partition_point(|(_, edit)| edit.range.start < text.start);
        before..edits.partition_point(|(_, edit)| edit.range.start <= text.end)
    };
    // The result can be as large as the source, so it is hashed piece by piece.
    let hash_of_result = |text: &Range<usize>| {
        let (mut hasher, mut at) = (Hasher::default(), text.start);
        for (_, edit) in &edits[edits_of(text)] {
            hasher.add(&source[at..edit.range.start]);
            hasher.add(edit.text.as_bytes());
            at = edit.range.end;
        }
        hasher.add(&source[at..text.end]);
        hasher.end()
    };
    let mut hashes: BTreeMap<usize, (String, String)> = BTreeMap::new();
    let mut ways = Vec::new();
    for (line, text) in &texts {
        let hash = || (sha256(&source[text.clone()]), hash_of_result(text));
        let (original_sha256, result_sha256) = hashes.entry(text.start).or_insert_with(hash).clone();
        ways.push(RestoreInfo { line: *line, original_sha256, result_sha256, put_back: Vec::new(), changed: None });
    }
    let mut of_texts: BTreeMap<usize, Vec<usize>> = BTreeMap::new();
    for (owner, (_, text)) in texts.iter().enumerate() {
        of_texts.entry(text.start).or_default().push(owner);
    }
    for owners in of_texts.into_values() {
        let text = &texts[owners[0]].1;
        let edits: Vec<&Edit> = edits[edits_of(text)].iter().map(|(_, edit)| *edit).collect();
        let lists = lists_of(source, text, &edits, owners.iter().map(|owner| &changes[*owner]));
        for (list, owner) in lists.unwrap_or_default() {
            ways[owners[owner]].changed = Some(list);
        }
    }
    let mut all_stored = Vec::new();
    for ((way, change), (_, text)) in ways.iter().zip(changes).zip(&texts) {
        all_stored.push(stored(way, change, text.start));
    }
    for (at, (owner, edit)) in edits.iter().enumerate() {
        let text = &texts[*owner].1;
        let start = in_result(text.start, edits_of(text).start);
        ways[*owner].put_back.push(Replacement {
            offset: in_result(edit.range.start, at) - start,
            bytes: edit.text.len(),
            pieces: pieces(source, &edit.range, &all_stored[*owner]),
        });
    }
    ways
}

/// What a record holds already of its text, which begins at `start` in the source.
fn stored<'c>(way: &RestoreInfo, change: &'c ConversationChange, start: usize) -> Stored<'c> {
    let mut entries = Vec::new();
    for (index, span) in way.changed.iter().flat_map(|changed| &changed.text_spans) {
        entries.push((*index, span.start + start..span.end + start));
    }
    Stored { messages: &change.messages, entries }
}

/// What edits change in the lists of a text, which is a range of the source, each with the number of its change.
fn lists_of<'c>(
    source: &[u8],
    text: &Range<usize>,
    edits: &[&Edit],
    changes: impl Iterator<Item = &'c ConversationChange>,
) -> Option<Vec<(ChangedList, usize)>> {
    let before = str::from_utf8(&source[text.clone()]).ok()?;
    let shifted = |range: &Range<usize>| range.start - text.start..range.end - text.start;
    let mut places = Vec::new();
    for (owner, change) in changes.enumerate() {
        let place = ListPlace {
            entry: change.entry.checked_sub(text.start)?,
            messages: &change.messages,
            text_start: text.start,
            has_system: change.has_system,
        };
        places.push((place, owner));
    }
    places.sort_by_key(|(place, _)| place.entry);
    let (places, owners): (Vec<_>, Vec<_>) = places.into_iter().unzip();
    let ranges: Vec<Range<usize>> = edits.iter().map(|edit| shifted(&edit.range)).collect();
    let mut left = String::with_capacity(before.len());
    let mut done = 0;
    for (edit, range) in edits.iter().zip(&ranges) {
        left.push_str(before.get(done..range.start)?);
        left.push_str(&edit.text);
        done = range.end;
    }
    left.push_str(before.get(done..)?);
    Some(changed_lists(before, &left, &ranges, &places)?.into_iter().zip(owners).collect())
}

impl ConversationChange {
    /// Creates the change of a transcript. Its record holds the messages at the indices `messages`.
    pub fn new(transcript: &Transcript<'_>, edits: Vec<Edit>, messages: &[usize]) -> Self {
        let note = transcript.notes.iter().map(|note| note.json.span().start).min();
        let message = transcript.messages.first();
        let first = note.into_iter().chain(message.map(|message| message.span().start)).min().unwrap_or(0);
        let start_of_list = match transcript.envelope {
            Some(envelope) => envelope.span().start,
            None => transcript.source[..first].rfind('[').unwrap_or(first),
        };
        let entry = message.map_or(first, |message| message.span().start);
        ConversationChange {
            line: transcript.line,
            start_of_list,
            // A message inside of an entry is a part of it.
            entry: match transcript.inner {
                Some(inner) if inner.entry.span().contains(&entry) => inner.entry.span().start,
                _ => entry,
            },
            has_system: note.is_none_or(|note| note > first)
                && message.is_some_and(|message| message.role == Role::System),
            edits,
            messages: messages.iter().map(|&index| transcript.messages[index].span()).collect(),
        }
    }

    /// Creates the change of a list, by its line and where it and its first entry begin in its source. Its record holds no
    /// message.
    pub fn of_list(line: Option<usize>, start_of_list: usize, entry: usize, edits: Vec<Edit>) -> Self {
        ConversationChange { line, start_of_list, entry, has_system: false, edits, messages: Vec::new() }
    }
}

/// The number and span of the line that a conversation is on, unless the change breaks the line.
fn line_of(source: &[u8], change: &ConversationChange) -> Option<(Option<usize>, Range<usize>)> {
    let start = memchr::memrchr(b'\n', &source[..change.start_of_list]).map_or(0, |at| at + 1);
    let rest = &source[start..];
    let end = start + without_end(&rest[..memchr::memchr(b'\n', rest).unwrap_or(rest.len())]).len();
    let is_on_line = |edit: &Edit| start <= edit.range.start && edit.range.end <= end && !edit.text.contains('\n');
    change.edits.iter().all(is_on_line).then_some((Some(change.line?), start..end))
}

/// Splits a range of the source into what its record holds already, and the text between.
fn pieces(source: &[u8], range: &Range<usize>, stored: &Stored<'_>) -> Vec<RestoredPiece> {
    let mut next_message = stored.messages.partition_point(|span| span.start < range.start);
    let mut next_entry = stored.entries.partition_point(|(_, span)| span.start < range.start);
    let mut pieces = Vec::new();
    let mut done = range.start;
    loop {
        let (span, what) = match (stored.messages.get(next_message), stored.entries.get(next_entry)) {
            (Some(span), entry) if entry.is_none_or(|(_, other)| span.start <= other.start) => {
                next_message += 1;
                (span, StoredText::Message(next_message - 1))
            }
            (_, Some((index, span))) => {
                next_entry += 1;
                (span, StoredText::Entry(*index))
            }
            _ => break,
        };
        if span.start > range.end {
            break;
        }
        // An entry inside of a message is a part of it.
        if span.end > range.end || span.start < done {
            continue;
        }
        let between = &source[done..span.start];
        done = span.end;
        if pieces.last_mut().is_some_and(|last| continues(last, what, between)) {
            continue;
        }
        push_text(&mut pieces, between);
        pieces.push(match what {
            StoredText::Message(first) => {
                RestoredPiece::Messages(MessageRun { first, count: 1, between: String::new() })
            }
            StoredText::Entry(entry) => RestoredPiece::Entries(EntryRun { entry, count: 1, between: String::new() }),
        });
    }
    push_text(&mut pieces, &source[done..range.end]);
    pieces
}

/// Adds what follows a run of the same kind to it, behind the same text as between any two of the run.
fn continues(last: &mut RestoredPiece, what: StoredText, between: &[u8]) -> bool {
    let (first, count, known, next) = match (last, what) {
        (RestoredPiece::Messages(run), StoredText::Message(next)) => {
            (run.first, &mut run.count, &mut run.between, next)
        }
        (RestoredPiece::Entries(run), StoredText::Entry(next)) => (run.entry, &mut run.count, &mut run.between, next),
        _ => return false,
    };
    let Ok(between) = str::from_utf8(between) else { return false };
    if first + *count != next || *count > 1 && known != between {
        return false;
    }
    *known = between.to_owned();
    *count += 1;
    true
}

pub(super) fn push_text(pieces: &mut Vec<RestoredPiece>, bytes: &[u8]) {
    for chunk in bytes.utf8_chunks() {
        let (text, other) = (chunk.valid(), chunk.invalid());
        if !text.is_empty() {
            pieces.push(RestoredPiece::Text(text.to_owned()));
        }
        if !other.is_empty() {
            pieces.push(RestoredPiece::Bytes(other.to_vec()));
        }
    }
}
