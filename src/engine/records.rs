//! The records of an archive: read line by line; and found by the hashes that they name, where only the needed ones are
//! read in full.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::fmt::Display;
use std::fs::File;
use std::io::{BufRead, BufReader, Seek, SeekFrom};
use std::mem::take;
use std::path::Path;
use std::sync::OnceLock;

use anyhow::Result;
use serde::Deserialize;
use serde::de::{DeserializeOwned, IgnoredAny};

use crate::compact::{CompactionPolicy, is_lines};
use crate::exit::Failure;
use crate::files::input::{InputPiece, LineReader};
use crate::hash::{Hasher, sha256};
use crate::plan::summaries::number_rounds;
use crate::rewrite::regrown::Trace;
use crate::rewrite::restoring::Record;
use crate::transcript::framing::Document;
use crate::wording::{counted, counted_and, reason};

/// The lines of an archive, while they are read.
pub(super) struct RecordLines {
    lines: LineReader,
    /// The text of several lines, and how much of it is done.
    text: String,
    done: usize,
    /// The next line.
    next: RecordPlace,
    pub(super) unreadable: UnreadableLines,
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
}

impl RecordLines {
    pub(super) fn new(lines: LineReader) -> Self {
        let next = RecordPlace { offset: 0, line: 1 };
        RecordLines { lines, text: String::new(), done: 0, next, unreadable: UnreadableLines::default() }
    }

    /// The next line that is not blank, and its place; nothing at the end.
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
            match self.lines.next(false, take(&mut self.text).into_bytes())? {
                None => return Ok(None),
                Some(InputPiece::Lines(lines)) => self.text = lines.text,
                Some(InputPiece::NotUtf8 { line, .. }) => {
                    self.unreadable.add(self.next.line);
                    let RecordPlace { offset, line: number } = self.next;
                    self.next = RecordPlace { offset: offset + line.len() as u64, line: number + 1 };
                }
            }
        }
    }

    /// The next record, and its place; nothing at the end. Lines that are not one are counted, such as half a record of
    /// a run that was killed.
    ///
    /// # Errors
    /// The file cannot be read.
    fn next<T: DeserializeOwned>(&mut self) -> Result<Option<(T, RecordPlace)>> {
        while let Some((line, place)) = self.next_line()? {
            match serde_json::from_str(line) {
                Ok(record) => return Ok(Some((record, place))),
                Err(_) => self.unreadable.add(place.line),
            }
        }
        Ok(None)
    }
}

/// An archive, and where its records are.
pub(super) struct Archive<'p> {
    pub(super) path: &'p Path,
    file: BufReader<File>,
    /// The records by the hash of the text that the compaction left, and by the line that they name.
    pub(super) by_result: HashMap<String, BTreeMap<Option<usize>, Vec<RecordPlace>>>,
    /// The records by their traces in a document that grew, and by the line that they name.
    by_trace: HashMap<Trace, BTreeMap<Option<usize>, Vec<RecordPlace>>>,
    /// The formats of the records with traces.
    pub(super) formats: BTreeSet<String>,
    /// Whether any record names a line.
    pub(super) has_lines: bool,
    /// The number of records that nothing can be restored by.
    irreversible: usize,
    unreadable: UnreadableLines,
}

/// Where a record is.
#[derive(Debug, Clone, Copy)]
pub(super) struct RecordPlace {
    /// Its first byte.
    offset: u64,
    /// Its line, counted from 1.
    pub(super) line: usize,
}

/// The messages of a record, of any version.
#[derive(Default, Deserialize)]
pub(super) struct RecordMessages<'a> {
    pub(super) source: String,
    #[serde(default)]
    pub(super) format: String,
    /// The round of compaction; 0 where an older version wrote the record.
    #[serde(default)]
    pub(super) round: u32,
    #[serde(default)]
    pub(super) indices: Vec<usize>,
    pub(super) messages: Vec<Cow<'a, str>>,
    pub(super) original_sha256: Option<String>,
    pub(super) result_sha256: Option<String>,
}

impl RecordMessages<'_> {
    /// The hash of what was cut: a run that is repeated writes the same again.
    pub(super) fn hash_of_cut(&self) -> String {
        let RecordMessages { round, indices, messages, source, .. } = self;
        let mut hasher = Hasher::default();
        hasher.add(format!("{round} {source:?} {indices:?}").as_bytes());
        messages.iter().flat_map(|message| ["\n", message]).for_each(|text| hasher.add(text.as_bytes()));
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
    damaged.or((number > 0).then_some(first)).map_or(Ok(()), refused)
}

/// How a record begins, of which only half can be there.
const RECORD_START: &str = "{\"source\":";

/// Whether a line is the record of an archive.
pub(super) fn is_record(line: &[u8]) -> bool {
    line.starts_with(b"{") && serde_json::from_slice::<RecordMessages>(line).is_ok()
}

/// The fields by which a record is found.
#[derive(Deserialize)]
struct Head {
    #[serde(rename = "source")]
    _source: String,
    #[serde(default)]
    format: String,
    result_sha256: Option<String>,
    summary_sha256: Option<String>,
    line: Option<usize>,
    #[serde(default)]
    shortened: BTreeMap<usize, String>,
}

impl<'p> Archive<'p> {
    pub(super) fn open(path: &'p Path) -> Result<Self> {
        let file = File::open(path).map_err(|error| unreadable(path, &reason(&error)))?;
        if !file.metadata().is_ok_and(|metadata| metadata.is_file()) {
            return Err(unreadable(path, "it is not a file").into());
        }
        let mut archive = Archive {
            path,
            file: BufReader::new(file),
            by_result: HashMap::new(),
            by_trace: HashMap::new(),
            formats: BTreeSet::new(),
            has_lines: false,
            irreversible: 0,
            unreadable: UnreadableLines::default(),
        };
        let lines = LineReader::open(path).map_err(|error| Failure::unreadable(format!("restore {error}")))?;
        if lines.compression.is_some() {
            return Err(unreadable(path, "it is compressed; unpack it first").into());
        }
        let mut lines = RecordLines::new(lines);
        while let Some((head, place)) = lines.next()? {
            archive.add(head, place);
        }
        archive.unreadable = lines.unreadable;
        Ok(archive)
    }

    fn add(&mut self, head: Head, place: RecordPlace) {
        let Some(hash) = head.result_sha256 else {
            self.irreversible += 1;
            return;
        };
        self.has_lines |= head.line.is_some();
        self.by_result.entry(hash).or_default().entry(head.line).or_default().push(place);
        // Where there is a summary, it is found first.
        let traces: Vec<Trace> = match head.summary_sha256 {
            Some(hash) => vec![Trace::Summary(hash)],
            None => head.shortened.into_values().map(Trace::Shortened).collect(),
        };
        if !traces.is_empty() {
            self.formats.insert(head.format);
        }
        for trace in traces {
            self.by_trace.entry(trace).or_default().entry(head.line).or_default().push(place);
        }
    }

    /// The records of compactions that left a whole text with this hash.
    pub(super) fn of_whole(&self, hash: &str) -> Option<&Vec<RecordPlace>> {
        self.by_result.get(hash)?.get(&None)
    }

    /// Whether any record has traces in a document that grew.
    pub(super) fn has_traces(&self) -> bool {
        !self.by_trace.is_empty()
    }

    /// The records with a trace: those of the line, if some name it, or else all. Many lines can be equal.
    pub(super) fn with_trace(&self, trace: &Trace, line: Option<usize>) -> Vec<RecordPlace> {
        let Some(by_line) = self.by_trace.get(trace) else { return Vec::new() };
        let own = line.and_then(|line| by_line.get(&Some(line)));
        own.map_or_else(|| by_line.values().flatten().copied().collect(), Vec::clone)
    }

    /// Reads the records at some places.
    pub(super) fn read(&mut self, places: &[RecordPlace]) -> Result<Vec<Record>> {
        let mut records = Vec::new();
        for &RecordPlace { offset, line: number } in places {
            let mut line = Vec::new();
            let sought = self.file.seek(SeekFrom::Start(offset));
            sought
                .and_then(|_| self.file.read_until(b'\n', &mut line))
                .map_err(|error| unreadable(self.path, &reason(&error)))?;
            let mut record: Record = serde_json::from_slice(&line).map_err(|error| {
                let what = format!("the record in line {number} is not as tcompact writes them ({error})");
                unreadable(self.path, &what)
            })?;
            record.number = number;
            records.push(record);
        }
        Ok(records)
    }

    /// Describes the lines of the archive that cannot be read.
    pub(super) fn damaged(&self) -> Option<String> {
        self.unreadable.sentence(self.path.display(), "record")
    }

    pub(super) fn no_record_message(&self, name: &str) -> String {
        let mut message = format!(
            "{name}: {} has nothing that was cut from this text; name the archive that was written with it, and the file as it was written, or with lines appended",
            self.path.display()
        );
        if self.irreversible > 0 {
            let records = counted_and(self.irreversible as u64, "record", ["is", "are"]);
            message += &format!("; {records} of --emit update, which cannot be restored");
        }
        if let Some(damaged) = self.damaged() {
            message += &format!("; {damaged}");
        }
        message
    }
}

fn unreadable(path: &Path, what: &str) -> Failure {
    Failure::unreadable(format!("restore {} cannot be read: {what}", path.display()))
}

/// The rounds of the summaries in the archive of a run, which is read once.
#[derive(Default)]
pub(super) struct ArchivedRounds(OnceLock<HashMap<String, u32>>);

impl ArchivedRounds {
    /// Numbers the rounds of the summaries of tcompact in a document. What the archive says of one holds.
    pub(super) fn number(&self, policy: &CompactionPolicy, document: &mut Document<'_>) {
        let Some(archive) = policy.archive.as_deref().filter(|_| policy.has_records()) else { return };
        let rounds = self.0.get_or_init(|| read_rounds(archive));
        if rounds.is_empty() {
            return;
        }
        let known = |text: &str| rounds.get(&sha256(text.as_bytes())).copied();
        document.transcripts.iter_mut().for_each(|transcript| number_rounds(transcript, &policy.cut, known));
    }
}

/// Reads the round of each summary in an archive, by the hash of its text. Lines that are not records have none, and so
/// has an archive that is not there yet.
fn read_rounds(archive: &Path) -> HashMap<String, u32> {
    #[derive(Deserialize)]
    struct Summarized {
        round: u32,
        summary_sha256: String,
    }
    let mut rounds = HashMap::new();
    if !archive.is_file() {
        return rounds;
    }
    let Ok(lines) = LineReader::open(archive) else { return rounds };
    let mut lines = RecordLines::new(lines);
    while let Ok(Some((Summarized { round, summary_sha256 }, _))) = lines.next() {
        rounds.insert(summary_sha256, round);
    }
    rounds
}
