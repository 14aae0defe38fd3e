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

/// The text that a way back leads to: a line, or the whole source.
struct ChangedText {
    /// The number of the line, if it is one.
    line: Option<usize>,
    /// The span in the source.
    span: Range<usize>,
}

/// The edits of all changes of a source, in order.
struct OrderedEdits<'c> {
    edits: Vec<&'c Edit>,
    /// For each edit, the index of the change that makes it.
    owners: Vec<usize>,
    /// For each edit, the bytes that the edits in front of it insert.
    inserted: Vec<usize>,
    /// For each edit, the bytes that the edits in front of it remove.
    removed: Vec<usize>,
}

impl<'c> OrderedEdits<'c> {
    fn of(changes: &'c [ConversationChange]) -> Self {
        let mut owned: Vec<(usize, &Edit)> = Vec::new();
        for (owner, change) in changes.iter().enumerate() {
            for edit in &change.edits {
                owned.push((owner, edit));
            }
        }
        owned.sort_by_key(|(_, edit)| (edit.range.start, edit.range.end));
        let mut ordered =
            OrderedEdits { edits: Vec::new(), owners: Vec::new(), inserted: Vec::new(), removed: Vec::new() };
        let (mut inserted, mut removed) = (0, 0);
        for (owner, edit) in owned {
            ordered.edits.push(edit);
            ordered.owners.push(owner);
            ordered.inserted.push(inserted);
            ordered.removed.push(removed);
            inserted += edit.text.len();
            removed += edit.range.len();
        }
        ordered
    }

    /// The indices of the edits in a span of the source.
    fn indices_in(&self, span: &Range<usize>) -> Range<usize> {
        let first = self.edits.partition_point(|edit| edit.range.start < span.start);
        first..self.edits.partition_point(|edit| edit.range.start <= span.end)
    }

    /// Where a place in the source is in the result, if only the edits in front of the one at `index` move it.
    fn in_result(&self, place: usize, index: usize) -> usize {
        place + self.inserted[index] - self.removed[index]
    }

    /// The hash of what a span of the source becomes. It can be as large as the source, so it is hashed piece by piece.
    fn hash_of_result(&self, source: &[u8], span: &Range<usize>) -> String {
        let (mut hasher, mut at) = (Hasher::default(), span.start);
        for edit in &self.edits[self.indices_in(span)] {
            hasher.add(&source[at..edit.range.start]);
            hasher.add(edit.text.as_bytes());
            at = edit.range.end;
        }
        hasher.add(&source[at..span.end]);
        hasher.end()
    }
}

/// The way back for each of the `changes` of `source`, which are all that is changed in it. Hashes are of lines if
/// every conversation is on one line, before and after.
pub fn restore_infos(source: &[u8], changes: &[ConversationChange]) -> Vec<RestoreInfo> {
    let texts = changed_texts(source, changes);
    let edits = OrderedEdits::of(changes);
    let mut infos = hashed_texts(source, &texts, &edits);
    add_changed_lists(&mut infos, source, changes, &texts, &edits);
    add_replacements(&mut infos, source, changes, &texts, &edits);
    infos
}

/// The text of each change: its line if every conversation is on one, and otherwise the whole source.
fn changed_texts(source: &[u8], changes: &[ConversationChange]) -> Vec<ChangedText> {
    let mut texts = Vec::with_capacity(changes.len());
    for change in changes {
        match line_of(source, change) {
            Some(text) => texts.push(text),
            None => return changes.iter().map(|_| ChangedText { line: None, span: 0..source.len() }).collect(),
        }
    }
    texts
}

/// The hashes of each text before and after. Those of a text with several conversations are made once.
fn hashed_texts(source: &[u8], texts: &[ChangedText], edits: &OrderedEdits<'_>) -> Vec<RestoreInfo> {
    let mut hashes: BTreeMap<usize, (String, String)> = BTreeMap::new();
    let mut infos = Vec::with_capacity(texts.len());
    for ChangedText { line, span } in texts {
        let hashes_of_text = hashes
            .entry(span.start)
            .or_insert_with(|| (sha256(&source[span.clone()]), edits.hash_of_result(source, span)));
        let (original_sha256, result_sha256) = hashes_of_text.clone();
        infos.push(RestoreInfo { line: *line, original_sha256, result_sha256, put_back: Vec::new(), changed: None });
    }
    infos
}

/// Adds what was changed in the list of each conversation.
fn add_changed_lists(
    infos: &mut [RestoreInfo],
    source: &[u8],
    changes: &[ConversationChange],
    texts: &[ChangedText],
    edits: &OrderedEdits<'_>,
) {
    let mut owners_by_text: BTreeMap<usize, Vec<usize>> = BTreeMap::new();
    for (owner, text) in texts.iter().enumerate() {
        owners_by_text.entry(text.span.start).or_default().push(owner);
    }
    for owners in owners_by_text.into_values() {
        let span = &texts[owners[0]].span;
        let edits_of_text = &edits.edits[edits.indices_in(span)];
        let changes_of_text = owners.iter().map(|owner| &changes[*owner]);
        let Some(lists) = lists_of(source, span, edits_of_text, changes_of_text) else { continue };
        for (list, nth) in lists {
            infos[owners[nth]].changed = Some(list);
        }
    }
}

/// Adds the replacements that lead from each result back to its text.
fn add_replacements(
    infos: &mut [RestoreInfo],
    source: &[u8],
    changes: &[ConversationChange],
    texts: &[ChangedText],
    edits: &OrderedEdits<'_>,
) {
    let mut all_stored = Vec::with_capacity(changes.len());
    for (owner, change) in changes.iter().enumerate() {
        all_stored.push(stored(&infos[owner], change, texts[owner].span.start));
    }
    for (index, (edit, &owner)) in edits.edits.iter().zip(&edits.owners).enumerate() {
        let span = &texts[owner].span;
        let start = edits.in_result(span.start, edits.indices_in(span).start);
        infos[owner].put_back.push(Replacement {
            offset: edits.in_result(edit.range.start, index) - start,
            bytes: edit.text.len(),
            pieces: pieces(source, &edit.range, &all_stored[owner]),
        });
    }
}

/// What a record holds already of its text, which begins at `start` in the source.
fn stored<'c>(info: &RestoreInfo, change: &'c ConversationChange, start: usize) -> Stored<'c> {
    let mut entries = Vec::new();
    if let Some(changed) = &info.changed {
        for (index, span) in &changed.text_spans {
            entries.push((*index, span.start + start..span.end + start));
        }
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
    let mut ranges = Vec::with_capacity(edits.len());
    let mut left = String::with_capacity(before.len());
    let mut done = 0;
    for edit in edits {
        let range = edit.range.start - text.start..edit.range.end - text.start;
        left.push_str(before.get(done..range.start)?);
        left.push_str(&edit.text);
        done = range.end;
        ranges.push(range);
    }
    left.push_str(before.get(done..)?);
    let lists = changed_lists(before, &left, &ranges, &places)?;
    Some(lists.into_iter().zip(owners).collect())
}

impl ConversationChange {
    /// Creates the change of a transcript. Its record holds the messages at the indices `messages`.
    pub fn new(transcript: &Transcript<'_>, edits: Vec<Edit>, messages: &[usize]) -> Self {
        let note = transcript.notes.iter().map(|note| note.json.span().start).min();
        let message = transcript.messages.first();
        let message_start = message.map(|message| message.span().start);
        let first = match (note, message_start) {
            (Some(note), Some(message)) => note.min(message),
            (one, other) => one.or(other).unwrap_or(0),
        };
        let start_of_list = match transcript.envelope {
            Some(envelope) => envelope.span().start,
            None => transcript.source[..first].rfind('[').unwrap_or(first),
        };
        let mut entry = message_start.unwrap_or(first);
        // A message inside of an entry is a part of it.
        if let Some(inner) = transcript.inner
            && inner.entry.span().contains(&entry)
        {
            entry = inner.entry.span().start;
        }
        let is_note_first = note == Some(first);
        ConversationChange {
            line: transcript.line,
            start_of_list,
            entry,
            has_system: !is_note_first && message.is_some_and(|message| message.role == Role::System),
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

/// The line that a conversation is on, unless the change breaks the line.
fn line_of(source: &[u8], change: &ConversationChange) -> Option<ChangedText> {
    let line = change.line?;
    let start = memchr::memrchr(b'\n', &source[..change.start_of_list]).map_or(0, |at| at + 1);
    let rest = &source[start..];
    let length = memchr::memchr(b'\n', rest).unwrap_or(rest.len());
    let end = start + without_end(&rest[..length]).len();
    for edit in &change.edits {
        if edit.range.start < start || edit.range.end > end || edit.text.contains('\n') {
            return None;
        }
    }
    Some(ChangedText { line: Some(line), span: start..end })
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
