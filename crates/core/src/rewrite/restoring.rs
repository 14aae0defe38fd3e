//! Restores the original of a compacted text from the records of an archive.
//!
//! A text is a line if conversations stand one a line, and otherwise a whole source. Its hash proves that the text at
//! hand is the one that was written. Nothing here trusts a record: a forged one leads nowhere.

use std::fmt;
use std::ops::Range;
use std::path::{Component, Path};

use serde::Deserialize;

use crate::hash::Hasher;
use crate::rewrite::lists::{ChangedList, EntryBefore};
use crate::rewrite::way_back::{EntryRun, MessageRun, Replacement, RestoredPiece};
use crate::rewrite::{self, Replaces};

/// The fields of a record that restoring needs.
#[derive(Debug, Clone, Deserialize)]
pub struct Record {
    /// The name of the conversation: its file and, if the file holds one a line, its line.
    #[serde(default)]
    pub source: String,
    /// What names the record in the notes of its run; empty where an older version wrote it.
    #[serde(default)]
    pub id: String,
    /// The id of the record of the run before it on the same text; nothing where the archive had none, and where an older
    /// version wrote the record.
    pub previous: Option<String>,
    /// The name of the format; empty where nothing was read as messages.
    #[serde(default)]
    pub format: String,
    /// The number of this step of its run on the text, from 1 on, and how many there are; nothing where the run has only one,
    /// and where an older version wrote the record.
    pub steps: Option<[usize; 2]>,
    /// The line that was changed.
    pub line: Option<usize>,
    /// The line with which `source` ends, of a conversation in a text of several lines.
    pub at_line: Option<usize>,
    /// The hash of the text before.
    pub original_sha256: String,
    /// The round of compaction; 0 where an older version wrote the record.
    #[serde(default)]
    pub round: u32,
    /// The time, which all records of one file in one run share.
    #[serde(default)]
    pub summarized_at: String,
    /// The line of the record in its archive.
    #[serde(skip)]
    pub number: usize,
    /// The hash of the text after.
    pub result_sha256: String,
    put_back: Vec<Replacement>,
    pub messages: Vec<String>,
    /// What was changed in the list of the conversation, where it stands in one. (A flattened field would be read twice.)
    #[serde(skip)]
    pub changed: Option<ChangedList>,
}

/// The reason why a text cannot be restored.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RestoreError {
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
                    "different texts were compacted to this one ({shown}{more}); use a copy of the archive with only the records of this file"
                )
            }
        }
    }
}

/// The edits that restore the original of `text`, by the records that name it as their result. They are in order and do
/// not overlap, and their result has the hash of the original. `line` is the line of the text in its file, if it is one.
/// Repeated records count once. Of different originals, the one counts whose record names the same line.
///
/// # Errors
/// The records do not fit, do not yield the original, or yield several originals.
pub fn edits_to_original(text: &[u8], line: Option<usize>, records: Vec<Record>) -> Result<Vec<PutBack>, RestoreError> {
    let records = of_one_original(records, line)?;
    let Some(first) = records.first() else { return Err(RestoreError::DoesNotFit) };
    let mut edits_of_records: Vec<Vec<PutBack>> = Vec::with_capacity(records.len());
    for record in &records {
        edits_of_records.push(record.edits().ok_or(RestoreError::DoesNotFit)?);
    }
    edits_of_records.sort_by_key(|edits| edits.first().map(|edit| edit.range.start));
    edits_of_records.dedup();
    let mut edits: Vec<PutBack> = edits_of_records.into_iter().flatten().collect();
    edits.sort_by_key(|edit| (edit.range.start, edit.range.end));
    let mut done = 0;
    for edit in &edits {
        if edit.range.start < done || text.get(edit.range.clone()).is_none() {
            return Err(RestoreError::DoesNotFit);
        }
        done = edit.range.end;
    }
    let mut hasher = Hasher::default();
    for piece in rewrite::pieces(text, &edits) {
        hasher.add(piece);
    }
    if hasher.end() == first.original_sha256 { Ok(edits) } else { Err(RestoreError::NotTheOriginal) }
}

/// The records of one original; of several, those that name this line.
///
/// # Errors
/// They are still of different originals.
pub fn of_one_original(mut records: Vec<Record>, line: Option<usize>) -> Result<Vec<Record>, RestoreError> {
    let names: Vec<String> = records.iter().map(Record::name).collect();
    if !have_one_original(&records)
        && let Some(last) = last_at_the_end(&records)
    {
        let original = last.original_sha256.clone();
        records.retain(|record| record.original_sha256 == original);
    }
    if !have_one_original(&records) {
        records.retain(|record| record.line == line && line.is_some());
    }
    if !records.is_empty() && have_one_original(&records) {
        return Ok(records);
    }
    Err(RestoreError::ambiguous(names))
}

fn have_one_original(records: &[Record]) -> bool {
    records.windows(2).all(|two| two[0].original_sha256 == two[1].original_sha256)
}

/// Of the records of several runs on one file, that of the last run, if it only removed entries behind those that it left: what
/// it puts back begins with what the others left, so that these follow.
pub fn last_at_the_end(records: &[Record]) -> Option<&Record> {
    let last = records.iter().max_by(|one, other| one.summarized_at.cmp(&other.summarized_at))?;
    for record in records {
        let is_of_last_run = record.summarized_at == last.summarized_at;
        if is_of_last_run && record.original_sha256 != last.original_sha256 || record.file() != last.file() {
            return None;
        }
    }
    let changed = last.changed.as_ref()?;
    if changed.before.len() <= changed.left.len() {
        return None;
    }
    for (index, before) in changed.before.iter().take(changed.left.len()).enumerate() {
        if *before != EntryBefore::Left(index) {
            return None;
        }
    }
    Some(last)
}

impl RestoreError {
    /// Says that these records are of different originals.
    pub fn ambiguous(mut names: Vec<String>) -> Self {
        names.sort();
        names.dedup();
        RestoreError::Ambiguous(names)
    }
}

/// Restores the original of `text`, as [`edits_to_original`] does.
///
/// # Errors
/// The same.
pub fn restore_original(text: &[u8], line: Option<usize>, records: Vec<Record>) -> Result<Vec<u8>, RestoreError> {
    let edits = edits_to_original(text, line, records)?;
    Ok(rewrite::pieces(text, &edits).collect::<Vec<_>>().concat())
}

/// A range of the result, and the bytes that it was before.
#[derive(Debug, PartialEq)]
pub struct PutBack {
    pub range: Range<usize>,
    pub bytes: Vec<u8>,
}

impl PutBack {
    pub fn has_line_end(&self) -> bool {
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

/// The components of a path. `./a` and `a` are the same.
pub fn path_components(path: &str) -> Vec<Component<'_>> {
    Path::new(path).components().filter(|part| *part != Component::CurDir).collect()
}

/// The path of the file that a record's source names. The source of a conversation on a line ends with the number of the line,
/// and its own number on the line; `line` is that line, as the record names it.
pub fn file_of_source(source: &str, line: Option<usize>) -> &str {
    let Some((file, end)) = source.rsplit_once(':') else { return source };
    let number = end.split_once('#').map_or(end, |(number, _)| number);
    match number.parse() {
        Ok(number) if line == Some(number) => file,
        _ => source,
    }
}

impl Record {
    /// Reads a record.
    ///
    /// # Errors
    /// It is not as tcompact writes them.
    pub fn read(text: &[u8]) -> serde_json::Result<Self> {
        let mut record: Record = serde_json::from_slice(text)?;
        record.changed = serde_json::from_slice(text).ok();
        Ok(record)
    }

    /// Its source, with its line in the archive, where it is known.
    pub fn name(&self) -> String {
        match self.number {
            0 => self.source.clone(),
            number => format!("{} in line {number} of the archive", self.source),
        }
    }

    /// The path of its source file.
    pub fn file(&self) -> &str {
        file_of_source(&self.source, self.line.or(self.at_line))
    }

    /// Whether the run wrote an entry of the list, rather than only removing some. Texts that begin with such an entry are
    /// hardly of another conversation.
    pub fn wrote_entry(&self) -> bool {
        let Some(changed) = &self.changed else { return false };
        let mut is_written = vec![true; changed.left.len()];
        for before in &changed.before {
            if let EntryBefore::Left(index) = before
                && let Some(is_written) = is_written.get_mut(*index)
            {
                *is_written = false;
            }
        }
        is_written.contains(&true)
    }

    /// The edits that restore the original; `None` if tcompact cannot have written the record.
    fn edits(&self) -> Option<Vec<PutBack>> {
        let mut reader = PieceReader { record: self, next_message: 0, next_entry: 0 };
        let mut edits = Vec::with_capacity(self.put_back.len());
        for replacement in &self.put_back {
            let mut bytes = Vec::new();
            for piece in &replacement.pieces {
                reader.add(piece, &mut bytes)?;
            }
            let end = replacement.offset.checked_add(replacement.bytes)?;
            edits.push(PutBack { range: replacement.offset..end, bytes });
        }
        Some(edits)
    }
}

/// Reads the pieces of a record: each message and each entry at most once and in order, so that a short record cannot grow
/// without bounds.
struct PieceReader<'r> {
    record: &'r Record,
    next_message: usize,
    next_entry: usize,
}

impl PieceReader<'_> {
    /// Adds the bytes of a piece; `None` if the record does not hold it.
    fn add(&mut self, piece: &RestoredPiece, bytes: &mut Vec<u8>) -> Option<()> {
        match piece {
            RestoredPiece::Text(text) => bytes.extend(text.as_bytes()),
            RestoredPiece::Bytes(other) => bytes.extend(other),
            RestoredPiece::Message(index) if *index >= self.next_message => {
                bytes.extend(self.record.messages.get(*index)?.as_bytes());
                self.next_message = *index + 1;
            }
            RestoredPiece::Messages(run) if run.first >= self.next_message => self.add_messages(run, bytes)?,
            RestoredPiece::Entries(run) if run.entry >= self.next_entry => self.add_entries(run, bytes)?,
            RestoredPiece::Message(_) | RestoredPiece::Messages(_) | RestoredPiece::Entries(_) => return None,
        }
        Some(())
    }

    fn add_messages(&mut self, run: &MessageRun, bytes: &mut Vec<u8>) -> Option<()> {
        self.next_message = run.first.checked_add(run.count)?;
        let messages = self.record.messages.get(run.first..self.next_message)?;
        bytes.extend(messages.join(&run.between).as_bytes());
        Some(())
    }

    fn add_entries(&mut self, run: &EntryRun, bytes: &mut Vec<u8>) -> Option<()> {
        self.next_entry = run.entry.checked_add(run.count)?;
        let changed = self.record.changed.as_ref()?;
        for (at, before) in changed.before.get(run.entry..self.next_entry)?.iter().enumerate() {
            let EntryBefore::Text(text) = before else { return None };
            if at > 0 {
                bytes.extend(run.between.as_bytes());
            }
            bytes.extend(text.as_bytes());
        }
        Some(())
    }
}
