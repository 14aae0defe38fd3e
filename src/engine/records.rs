//! The records of an archive, read line by line.

use std::borrow::Cow;
use std::fmt::Display;
use std::mem::take;
use std::path::Path;

use anyhow::Result;
use serde::de::IgnoredAny;
use serde::{Deserialize, Deserializer};
use serde_json::Value;

use crate::compact::is_lines;
use crate::exit::Failure;
use crate::files::input::{InputPiece, LineReader};
use crate::hash::Hasher;
use crate::transcript::record_id::RecordId;
use crate::wording::{counted, counted_and};

use crate::engine::broken_records::{BrokenRecord, RECORD_START};

/// The lines of an archive, while they are read.
pub(super) struct RecordLines {
    lines: LineReader,
    /// The text of several lines, and how much of it is done.
    text: String,
    done: usize,
    /// The next line.
    next: RecordPlace,
    pub(super) unreadable: UnreadableLines,
    /// Records whose hash is not that of their line.
    pub(super) changed: UnreadableLines,
    /// What can be read of lines that are not text, and of the one that damaged compressed data cuts off.
    pub(super) broken: Vec<BrokenRecord>,
}

/// Lines that are not what their file holds: their number, and the first one.
#[derive(Debug, Default, Clone, Copy)]
pub(super) struct UnreadableLines {
    number: usize,
    first: usize,
}

impl UnreadableLines {
    pub(super) fn add(&mut self, line: usize) {
        self.number += 1;
        self.first = if self.number == 1 { line } else { self.first };
    }

    /// Describes them; nothing where there are none. `what` each line should be.
    pub(super) fn sentence(self, file: impl Display, what: &str) -> Option<String> {
        let UnreadableLines { number, first } = self;
        let lines = counted(number as u64, "line");
        match number {
            0 => None,
            1 => Some(format!("{file}: {lines} of it is not a {what}; it is line {first}")),
            _ => Some(format!("{file}: {lines} of it are not {what}s; the first is line {first}")),
        }
    }

    /// Describes records whose hash is not that of their line; nothing where there are none.
    fn sentence_of_changed(self, file: impl Display) -> Option<String> {
        let UnreadableLines { number, first } = self;
        match number {
            0 => None,
            1 => Some(format!(
                "{file}: line {first} was changed or damaged, as its hash shows; take it from a backup of the archive"
            )),
            _ => Some(format!(
                "{file}: {} changed or damaged, as their hashes show; the first is line {first}; take them from a backup of \
                 the archive",
                counted_and(number as u64, "line", ["was", "were"])
            )),
        }
    }
}

impl RecordLines {
    pub(super) fn new(lines: LineReader) -> Self {
        let next = RecordPlace { offset: 0, line: 1 };
        RecordLines {
            lines,
            text: String::new(),
            done: 0,
            next,
            unreadable: UnreadableLines::default(),
            changed: UnreadableLines::default(),
            broken: Vec::new(),
        }
    }

    /// The next line that is not blank, and its place; nothing at the end, and where compressed data is damaged.
    ///
    /// # Errors
    /// The file cannot be read.
    pub(super) fn next_line(&mut self) -> Result<Option<(&str, RecordPlace)>> {
        loop {
            while self.done < self.text.len() {
                let (start, place) = (self.done, self.next);
                let rest = &self.text.as_bytes()[start..];
                self.done += memchr::memchr(b'\n', rest).map_or(rest.len(), |end| end + 1);
                self.next = RecordPlace { offset: place.offset + (self.done - start) as u64, line: place.line + 1 };
                if !self.text[start..self.done].trim_ascii().is_empty() {
                    return Ok(Some((&self.text[start..self.done], place)));
                }
            }
            self.done = 0;
            let piece = match self.lines.next(false, take(&mut self.text).into_bytes()) {
                Err(_) if self.lines.damage.is_some() => {
                    let start = String::from_utf8_lossy(&self.lines.cut_line);
                    self.broken.push(BrokenRecord::read(&start, self.next.line));
                    None
                }
                piece => piece?,
            };
            match piece {
                None => return Ok(None),
                Some(InputPiece::Lines(lines)) => self.text = lines.text,
                Some(InputPiece::NotUtf8 { line, .. }) => {
                    self.unreadable.add(self.next.line);
                    let text = String::from_utf8_lossy(&line);
                    if BrokenRecord::is_left_of_record(&text) {
                        self.broken.push(BrokenRecord::read(&text, self.next.line));
                    }
                    let RecordPlace { offset, line: number } = self.next;
                    self.next = RecordPlace { offset: offset + line.len() as u64, line: number + 1 };
                }
            }
        }
    }

    /// Describes what cannot be read; nothing where all can. `what` each line should be.
    pub(super) fn damaged(&self, file: impl Display, what: &str) -> Option<String> {
        let mut sentences = Vec::new();
        sentences.extend(self.unreadable.sentence(&file, what));
        sentences.extend(self.changed.sentence_of_changed(&file));
        if let Some(damage) = &self.lines.damage {
            sentences.push(format!("{file} cannot be read from line {} on: {damage}", self.next.line));
        }
        if sentences.is_empty() { None } else { Some(sentences.join("; ")) }
    }
}

/// Where a record is.
#[derive(Debug, Clone, Copy)]
pub(super) struct RecordPlace {
    /// Its first byte.
    pub(super) offset: u64,
    /// Its line, counted from 1.
    pub(super) line: usize,
}

/// The messages of a record, of any version.
#[derive(Default, Deserialize)]
pub(super) struct RecordMessages<'a> {
    pub(super) source: String,
    /// Its id; none where an older version wrote the record.
    #[serde(default, deserialize_with = "readable_id")]
    pub(super) id: Option<RecordId>,
    #[serde(default)]
    pub(super) format: String,
    /// The round of compaction; 0 where an older version wrote the record.
    #[serde(default)]
    pub(super) round: u32,
    #[serde(default)]
    pub(super) indices: Vec<usize>,
    pub(super) messages: Vec<Cow<'a, str>>,
    /// The time, which all records of one file in one run share.
    #[serde(default)]
    pub(super) summarized_at: String,
    pub(super) summary_sha256: Option<String>,
    pub(super) original_sha256: Option<String>,
    pub(super) result_sha256: Option<String>,
}

/// Reads the id of a record. What is not an id names nothing.
fn readable_id<'de, D: Deserializer<'de>>(value: D) -> Result<Option<RecordId>, D::Error> {
    let value = Value::deserialize(value)?;
    Ok(value.as_str().and_then(|text| text.parse().ok()))
}

impl RecordMessages<'_> {
    /// The hash of what was cut: a run that is repeated writes the same again.
    pub(super) fn hash_of_cut(&self) -> String {
        let RecordMessages { round, indices, messages, source, .. } = self;
        let mut hasher = Hasher::default();
        hasher.add(format!("{round} {source:?} {indices:?}").as_bytes());
        for message in messages {
            hasher.add(b"\n");
            hasher.add(message.as_bytes());
        }
        hasher.end()
    }
}

/// Refuses to append records to a file of lines that holds something else: the first whole line decides, since a run that
/// was killed can have left half a record.
///
/// # Errors
/// The file cannot be read, or is not an archive.
pub(super) fn refuse_other_file(archive: &Path) -> Result<()> {
    /// The damaged lines in front of the first record within which a file is told to be an archive.
    const MOST_DAMAGED: usize = 16;
    if !is_lines(archive) || !archive.is_file() {
        return Ok(());
    }
    let refused = |line: usize| {
        let name = archive.display();
        let message = format!("--archive {name} is not an archive: line {line} is not a record; name another file");
        Err(Failure::usage(message).about("archive").into())
    };
    let mut lines = RecordLines::new(LineReader::open(archive)?);
    let mut damaged = None;
    while let Some((line, place)) = lines.next_line()? {
        if is_record(line.as_bytes()) {
            return Ok(());
        }
        let is_whole = serde_json::from_str::<IgnoredAny>(line).is_ok();
        if is_whole || place.line > MOST_DAMAGED {
            return refused(damaged.unwrap_or(place.line));
        }
        if !line.starts_with(RECORD_START) {
            damaged.get_or_insert(place.line);
        }
    }
    let UnreadableLines { number, first } = lines.unreadable;
    match damaged {
        Some(line) => refused(line),
        None if number > 0 => refused(first),
        None => Ok(()),
    }
}

/// Whether the first line of a file is a record.
pub(super) fn is_archive(file: &Path) -> bool {
    if !file.is_file() {
        return false;
    }
    let Ok(lines) = LineReader::open(file) else { return false };
    let mut lines = RecordLines::new(lines);
    matches!(lines.next_line(), Ok(Some((line, _))) if is_record(line.as_bytes()))
}

/// Whether a line is the record of an archive.
pub(super) fn is_record(line: &[u8]) -> bool {
    line.starts_with(b"{") && serde_json::from_slice::<RecordMessages>(line).is_ok()
}
