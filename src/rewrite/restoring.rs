//! Restores the original of a compacted text from an archive, and writes the records for it.
//!
//! A text is a line if conversations stand one a line, and otherwise a whole source. Its hash proves that the text at
//! hand is the one that was written. Nothing here trusts a record: a forged one leads nowhere.

use std::collections::BTreeMap;
use std::fmt;
use std::ops::Range;
use std::path::{Component, Path};

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::hash::{Hasher, sha256};
use crate::rewrite::{self, Edit, Replaces};
use crate::transcript::Transcript;

/// The changes of one conversation.
#[derive(Debug)]
pub(crate) struct ConversationChange {
    /// The line on which it begins, if its source holds one conversation a line.
    line: Option<usize>,
    /// Where its list begins in the source.
    start_of_list: usize,
    /// The edits, in order.
    edits: Vec<Edit>,
    /// The spans in the source of the messages that the record holds, in order.
    messages: Vec<Range<usize>>,
}

/// The part of a record that leads back to the original.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(crate) struct RestoreInfo {
    /// The line that the hashes and offsets refer to, counted from 1. Without it they refer to the whole text.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) line: Option<usize>,
    /// The hash of the text before.
    pub(crate) original_sha256: String,
    /// The hash of the text after.
    pub(crate) result_sha256: String,
    /// The replacements that restore the text before, once all conversations in the text have theirs.
    pub(crate) put_back: Vec<Replacement>,
}

/// A range of the result and its original content.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Replacement {
    offset: usize,
    bytes: usize,
    pieces: Vec<RestoredPiece>,
}

/// A piece of the original content.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged)]
enum RestoredPiece {
    /// The message at this index of the record, so that none is stored twice.
    Message(usize),
    /// Text between messages.
    Text(String),
    /// Bytes between messages that are not UTF-8.
    Bytes(Vec<u8>),
}

pub(crate) fn without_end(line: &[u8]) -> &[u8] {
    let line = line.strip_suffix(b"\n").unwrap_or(line);
    line.strip_suffix(b"\r").unwrap_or(line)
}

/// The way back for each of the `changes` of `source`, which are all that is changed in it. Hashes are of lines if
/// every conversation is on one line, before and after.
pub(crate) fn restore_infos(source: &[u8], changes: &[ConversationChange]) -> Vec<RestoreInfo> {
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
        ways.push(RestoreInfo { line: *line, original_sha256, result_sha256, put_back: Vec::new() });
    }
    for (at, (owner, edit)) in edits.iter().enumerate() {
        let text = &texts[*owner].1;
        let start = in_result(text.start, edits_of(text).start);
        ways[*owner].put_back.push(Replacement {
            offset: in_result(edit.range.start, at) - start,
            bytes: edit.text.len(),
            pieces: pieces(source, &edit.range, &changes[*owner].messages),
        });
    }
    ways
}

impl ConversationChange {
    /// Creates the change of a transcript. Its record holds the messages at the indices `messages`.
    pub(crate) fn new(transcript: &Transcript<'_>, edits: Vec<Edit>, messages: &[usize]) -> Self {
        let starts = transcript.notes.iter().map(|note| note.json.span().start);
        let first = starts.chain(transcript.messages.first().map(|message| message.span().start)).min().unwrap_or(0);
        let list = || transcript.source[..first].rfind('[').unwrap_or(first);
        let start_of_list = transcript.envelope.map_or_else(list, |envelope| envelope.span().start);
        let messages = messages.iter().map(|&index| transcript.messages[index].span()).collect();
        ConversationChange { line: transcript.line, start_of_list, edits, messages }
    }

    /// Creates the change of a list, by its line and where it begins in its source. Its record holds no message.
    pub(crate) fn of_list(line: Option<usize>, start_of_list: usize, edits: Vec<Edit>) -> Self {
        ConversationChange { line, start_of_list, edits, messages: Vec::new() }
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

/// Splits a range of the source into messages by index and the text between them.
fn pieces(source: &[u8], range: &Range<usize>, messages: &[Range<usize>]) -> Vec<RestoredPiece> {
    let first = messages.partition_point(|message| message.start < range.start);
    let mut pieces = Vec::new();
    let mut done = range.start;
    let text = |pieces: &mut Vec<RestoredPiece>, bytes: &[u8]| {
        for chunk in bytes.utf8_chunks() {
            let (text, other) = (chunk.valid(), chunk.invalid());
            pieces.extend((!text.is_empty()).then(|| RestoredPiece::Text(text.to_owned())));
            pieces.extend((!other.is_empty()).then(|| RestoredPiece::Bytes(other.to_vec())));
        }
    };
    for (index, message) in messages.iter().enumerate().skip(first) {
        if message.end > range.end {
            break;
        }
        text(&mut pieces, &source[done..message.start]);
        pieces.push(RestoredPiece::Message(index));
        done = message.end;
    }
    text(&mut pieces, &source[done..range.end]);
    pieces
}

/// The fields of a record that restoring needs.
#[derive(Debug, Clone, Deserialize)]
pub(crate) struct Record {
    /// The name of the conversation: its file and, if the file holds one a line, its line.
    #[serde(default)]
    pub(crate) source: String,
    /// The line that was changed.
    pub(crate) line: Option<usize>,
    /// The hash of the text before.
    pub(crate) original_sha256: String,
    /// The round of compaction; 0 where an older version wrote the record.
    #[serde(default)]
    pub(crate) round: u32,
    /// The time, which all records of one file in one run share.
    #[serde(default)]
    pub(crate) summarized_at: String,
    /// The line of the record in its archive.
    #[serde(skip)]
    pub(crate) number: usize,
    put_back: Vec<Replacement>,
    /// The indices of the messages.
    #[serde(default)]
    indices: Vec<usize>,
    messages: Vec<String>,
    /// The hashes of messages that stayed, as the compaction left them, by their indices: of those that it shortened, and of
    /// those before the kept part.
    #[serde(default)]
    shortened: BTreeMap<usize, String>,
    #[serde(default)]
    pub(crate) pinned: BTreeMap<usize, String>,
}

/// The hash of a JSON value, however it is laid out; `None` if the text is not one.
pub(crate) fn value_hash(json: &str) -> Option<String> {
    let mut value: Value = serde_json::from_str(json).ok()?;
    value.sort_all_objects();
    Some(sha256(value.to_string().as_bytes()))
}

/// The reason why a text cannot be restored.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum RestoreError {
    /// The records do not fit the text.
    DoesNotFit,
    /// The restored text is not the original.
    NotTheOriginal,
    /// Different originals became this text; these are their names.
    Ambiguous(Vec<String>),
}

impl fmt::Display for RestoreError {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            RestoreError::DoesNotFit => {
                out.write_str("its record does not match this text; the archive was changed")
            }
            RestoreError::NotTheOriginal => out.write_str(
                "its record does not give the original of this text back: the hash differs; the archive was changed, or part of it is missing",
            ),
            RestoreError::Ambiguous(names) => {
                const MOST: usize = 5;
                let shown = names[..names.len().min(MOST)].join(", ");
                let more = names.len().saturating_sub(MOST);
                let more = if more > 0 { format!(" and {more} more") } else { String::new() };
                write!(
                    out,
                    "different texts were compacted to this one ({shown}{more}); copy the file to the path that it had, or use a copy of the archive with only its records"
                )
            }
        }
    }
}

/// The edits that restore the original of `text`, by the records that name it as their result. They are in order and do
/// not overlap, and their result has the hash of the original. `name` is the path of its file, and `line` its line in
/// the file, if it is one. Repeated records count once. If different texts became this one, the record wins whose
/// source is nearest to `name`, and then the one with the same line.
///
/// # Errors
/// The records do not fit, do not yield the original, or yield several originals.
pub(crate) fn edits_to_original(
    text: &[u8],
    name: &str,
    line: Option<usize>,
    records: Vec<Record>,
) -> Result<Vec<PutBack>, RestoreError> {
    let records = of_one_original(records, name, line, |one, other| one.original_sha256 == other.original_sha256)?;
    let Some(hash) = records.first().map(|record| record.original_sha256.clone()) else {
        return Err(RestoreError::DoesNotFit);
    };
    let mut edits: Vec<Vec<PutBack>> =
        records.iter().map(Record::edits).collect::<Option<_>>().ok_or(RestoreError::DoesNotFit)?;
    edits.sort_by_key(|own| own.first().map(|edit| edit.range.start));
    edits.dedup();
    let mut edits: Vec<PutBack> = edits.into_iter().flatten().collect();
    edits.sort_by_key(|edit| (edit.range.start, edit.range.end));
    let in_order = edits.windows(2).all(|two| two[0].range.end <= two[1].range.start);
    if !in_order || edits.iter().any(|edit| text.get(edit.range.clone()).is_none()) {
        return Err(RestoreError::DoesNotFit);
    }
    let mut hasher = Hasher::default();
    rewrite::pieces(text, &edits).for_each(|piece| hasher.add(piece));
    if hasher.end() == hash { Ok(edits) } else { Err(RestoreError::NotTheOriginal) }
}

/// The records of one original: of those that differ, the ones whose source is nearest to `name`, and then those with
/// the same line. `is_same` tells whether two are of the same original.
///
/// # Errors
/// They still differ.
pub(crate) fn of_one_original(
    mut records: Vec<Record>,
    name: &str,
    line: Option<usize>,
    is_same: impl Fn(&Record, &Record) -> bool,
) -> Result<Vec<Record>, RestoreError> {
    let is_ambiguous = |records: &[Record]| records.windows(2).any(|two| !is_same(&two[0], &two[1]));
    let mut names: Vec<String> = records.iter().map(Record::name).collect();
    if is_ambiguous(&records) {
        let nearness = nearness(&records, &parts(name));
        let mut scores = nearness.iter();
        records.retain(|_| scores.next() == nearness.iter().max());
    }
    if is_ambiguous(&records) {
        names = records.iter().map(Record::name).collect();
        records.retain(|record| record.line == line);
    }
    if !records.is_empty() && !is_ambiguous(&records) {
        return Ok(records);
    }
    names.sort();
    names.dedup();
    Err(RestoreError::Ambiguous(names))
}

/// Restores the original of `text`, as [`edits_to_original`] does.
///
/// # Errors
/// The same.
pub(crate) fn restore_original(
    text: &[u8],
    name: &str,
    line: Option<usize>,
    records: Vec<Record>,
) -> Result<Vec<u8>, RestoreError> {
    let edits = edits_to_original(text, name, line, records)?;
    Ok(rewrite::pieces(text, &edits).collect::<Vec<_>>().concat())
}

/// A range of the result, and the bytes that it was before.
#[derive(Debug, PartialEq)]
pub(crate) struct PutBack {
    pub(crate) range: Range<usize>,
    pub(crate) bytes: Vec<u8>,
}

impl PutBack {
    pub(crate) fn has_line_end(&self) -> bool {
        self.bytes.contains(&b'\n')
    }
}

impl Replaces for PutBack {
    fn range(&self) -> &Range<usize> {
        &self.range
    }

    fn bytes(&self) -> &[u8] {
        &self.bytes
    }
}

fn parts(path: &str) -> Vec<Component<'_>> {
    Path::new(path).components().filter(|part| *part != Component::CurDir).collect()
}

/// Rates how near the sources of records are to a path. A source rates by whether it is the same path, then by how many
/// components below the common folder of all sources agree (that is where the result of a folder is written below
/// another folder), then by how many trailing components agree.
fn nearness(records: &[Record], path: &[Component<'_>]) -> Vec<(bool, usize, usize)> {
    let sources: Vec<Vec<Component<'_>>> = records.iter().map(Record::path).collect();
    let first = sources.first().map(Vec::as_slice).unwrap_or_default();
    let is_shared = |at: &usize| sources.iter().all(|source| at + 1 < source.len() && source[*at] == first[*at]);
    let shared = (0..first.len()).take_while(is_shared).count();
    let score = |source: &Vec<Component<'_>>| {
        let below = &source[shared..];
        let same = source.iter().rev().zip(path.iter().rev()).take_while(|(one, other)| one == other).count();
        (source == path, if path.ends_with(below) { below.len() } else { 0 }, same)
    };
    sources.iter().map(score).collect()
}

impl Record {
    /// Its source, with its line in the archive, where it is known.
    fn name(&self) -> String {
        match self.number {
            0 => self.source.clone(),
            number => format!("{} in line {number} of the archive", self.source),
        }
    }

    /// Whether two records hold the same messages.
    pub(crate) fn has_same_messages(&self, other: &Record) -> bool {
        (&self.indices, &self.messages) == (&other.indices, &other.messages)
    }

    /// The messages that were removed, with their indices; `None` if tcompact cannot have written the record.
    pub(crate) fn removed(&self) -> Option<Vec<(usize, &str)>> {
        let pieces = self.put_back.iter().flat_map(|replacement| &replacement.pieces);
        let place = |piece: &RestoredPiece| if let RestoredPiece::Message(place) = piece { Some(*place) } else { None };
        let message = |place: usize| Some((*self.indices.get(place)?, self.messages.get(place)?.as_str()));
        pieces.filter_map(place).map(message).collect()
    }

    /// The messages that were shortened, as they were, each with the hash of what was left of it.
    pub(crate) fn shortened(&self) -> impl Iterator<Item = (&str, &str)> {
        let messages = self.indices.iter().zip(&self.messages);
        messages.filter_map(|(index, message)| Some((self.shortened.get(index)?.as_str(), message.as_str())))
    }

    /// The string, or null, that stood where a summary beside the messages stands.
    pub(crate) fn text_before(&self) -> Option<&str> {
        self.put_back.iter().find_map(|replacement| match replacement.pieces.as_slice() {
            [RestoredPiece::Text(text)] => serde_json::from_str::<Option<String>>(text).ok().map(|_| text.as_str()),
            _ => None,
        })
    }

    /// The components of the path of its source file.
    fn path(&self) -> Vec<Component<'_>> {
        // The source of a conversation on a line ends with the line's number, and its own number on the line.
        let is_line = |text: &str| {
            let (line, number) = text.split_once('#').unwrap_or((text, "1"));
            self.line.is_some() && line.parse::<usize>().is_ok() && number.parse::<usize>().is_ok()
        };
        let file = self.source.rsplit_once(':').filter(|(_, line)| is_line(line));
        parts(file.map_or(&self.source, |(file, _)| file))
    }

    /// The edits that restore the original; `None` if tcompact cannot have written the record.
    fn edits(&self) -> Option<Vec<PutBack>> {
        // Each message at most once and in order, so a short record cannot grow without bounds.
        let mut next = 0;
        let mut edit = |put_back: &Replacement| {
            let mut bytes = Vec::new();
            for piece in &put_back.pieces {
                match piece {
                    RestoredPiece::Text(piece) => bytes.extend(piece.as_bytes()),
                    RestoredPiece::Bytes(piece) => bytes.extend(piece),
                    RestoredPiece::Message(index) if *index >= next => {
                        bytes.extend(self.messages.get(*index)?.as_bytes());
                        next = *index + 1;
                    }
                    RestoredPiece::Message(_) => return None,
                }
            }
            Some(PutBack { range: put_back.offset..put_back.offset.checked_add(put_back.bytes)?, bytes })
        };
        self.put_back.iter().map(&mut edit).collect()
    }
}
