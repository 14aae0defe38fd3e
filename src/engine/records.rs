//! The records of an archive: read line by line; and found by the hashes that they name, where only the needed ones are
//! read in full.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::ffi::{OsStr, OsString};
use std::fmt::Display;
use std::fs::File;
use std::io::{self, BufRead, BufReader, BufWriter, Seek, SeekFrom, Write};
use std::mem::take;
use std::path::Path;
use std::sync::OnceLock;

use anyhow::Result;
use serde::de::{DeserializeOwned, IgnoredAny};
use serde::{Deserialize, Deserializer};
use serde_json::Value;

use crate::compact::{CompactionPolicy, is_lines};
use crate::exit::Failure;
use crate::files::input::{InputPiece, LineReader};
use crate::files::paths::folder;
use crate::hash::{Hasher, sha256};
use crate::plan::summaries::number_rounds;
use crate::rewrite::ranges::{RangePlace, RangeTotals};
use crate::rewrite::restoring::{Record, file_of_source, path_components};
use crate::rewrite::value_hash::ListHash;
use crate::transcript::framing::Document;
use crate::transcript::record_id::RecordId;
use crate::wording::{counted, counted_and, reason};

use crate::engine::range_runs::RangeRuns;

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
                Err(_) if self.lines.damage.is_some() => None,
                piece => piece?,
            };
            match piece {
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

    /// Describes what cannot be read; nothing where all can. `what` each line should be.
    pub(super) fn damaged(&self, file: impl Display, what: &str) -> Option<String> {
        let lines = self.unreadable.sentence(&file, what);
        let Some(damage) = &self.lines.damage else { return lines };
        let damage = format!("{file} cannot be read from line {} on: {damage}", self.next.line);
        Some(lines.map_or(damage.clone(), |lines| format!("{lines}; {damage}")))
    }
}

/// An archive, and where its records are.
pub(super) struct Archive<'p> {
    pub(super) path: &'p Path,
    /// Its text, unpacked.
    pub(super) file: BufReader<File>,
    /// The runs on large files, whose records are not among the others.
    pub(super) range_runs: RangeRuns,
    /// The records by the hash of the text that the compaction left, and by the line that they name.
    pub(super) by_result: HashMap<String, BTreeMap<Option<usize>, Vec<RecordPlace>>>,
    /// The records by the hash of what the compaction left in a list.
    pub(super) by_left: HashMap<String, Vec<RecordPlace>>,
    /// The JSON pointers to these lists; nothing is where the lines are the list.
    pub(super) pointers: BTreeSet<Option<String>>,
    /// The records with a list by the file that they name.
    by_file: HashMap<String, Vec<RecordPlace>>,
    /// The names of all files that records are of, without their folders.
    file_names: HashSet<OsString>,
    /// The hashes of the texts before, and those of each text after.
    pub(super) originals: HashSet<String>,
    originals_of: HashMap<String, Vec<String>>,
    /// The records with a way back by their id.
    by_id: HashMap<String, Vec<RecordPlace>>,
    /// Whether any record names a line.
    pub(super) has_lines: bool,
    /// The number of records that nothing can be restored by.
    irreversible: usize,
    /// The number of records that tell no list, such as those of older versions: they restore only what did not grow.
    without_list: usize,
    /// What of it cannot be read.
    damaged: Option<String>,
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

/// The fields by which a record is found.
#[derive(Deserialize)]
struct Head {
    source: String,
    id: Option<String>,
    original_sha256: Option<String>,
    result_sha256: Option<String>,
    line: Option<usize>,
    list: Option<String>,
    left_sha256: Option<String>,
    range: Option<RangePlace>,
    ranges: Option<RangeTotals>,
}

impl<'p> Archive<'p> {
    /// Opens an archive. A compressed one is unpacked once, into a file without a name, where single records can be found.
    ///
    /// # Errors
    /// It cannot be read, or there is no place to unpack it.
    pub(super) fn open(path: &'p Path) -> Result<Self> {
        let file = File::open(path).map_err(|error| unreadable(path, &reason(&error)))?;
        if !file.metadata().is_ok_and(|metadata| metadata.is_file()) {
            return Err(unreadable(path, "it is not a file").into());
        }
        let lines = LineReader::open(path).map_err(|error| Failure::unreadable(format!("restore {error}")))?;
        let mut unpacked = if lines.compression.is_some() { Some(UnpackedRecords::beside(path)?) } else { None };
        let mut archive = Archive {
            path,
            file: BufReader::new(file),
            range_runs: RangeRuns::default(),
            by_result: HashMap::new(),
            by_left: HashMap::new(),
            pointers: BTreeSet::new(),
            by_file: HashMap::new(),
            file_names: HashSet::new(),
            originals: HashSet::new(),
            originals_of: HashMap::new(),
            by_id: HashMap::new(),
            has_lines: false,
            irreversible: 0,
            without_list: 0,
            damaged: None,
        };
        let mut lines = RecordLines::new(lines);
        while let Some((line, mut place)) = lines.next_line()? {
            let Ok(head) = serde_json::from_str(line) else {
                lines.unreadable.add(place.line);
                continue;
            };
            if let Some(unpacked) = &mut unpacked {
                place.offset = unpacked.add(line).map_err(|error| not_unpacked(path, &error))?;
            }
            archive.add(head, place);
        }
        if let Some(unpacked) = unpacked {
            archive.file = unpacked.end().map_err(|error| not_unpacked(path, &error))?;
        }
        archive.damaged = lines.damaged(path.display(), "record");
        Ok(archive)
    }

    fn add(&mut self, head: Head, place: RecordPlace) {
        if let Some(range) = head.range {
            self.range_runs.add_range(range, place.offset);
            return;
        }
        if let Some(((totals, original), result)) =
            head.ranges.zip(head.original_sha256.clone()).zip(head.result_sha256.clone())
        {
            self.file_names.extend(Path::new(file_of_source(&head.source)).file_name().map(OsStr::to_owned));
            self.range_runs.close(totals, original, result);
            return;
        }
        let Some(hash) = head.result_sha256 else {
            self.irreversible += 1;
            return;
        };
        if let Some(original) = head.original_sha256.filter(|_| head.line.is_none()) {
            self.originals.insert(original.clone());
            self.originals_of.entry(hash.clone()).or_default().push(original);
        }
        self.has_lines |= head.line.is_some();
        self.file_names.extend(Path::new(file_of_source(&head.source)).file_name().map(OsStr::to_owned));
        self.by_result.entry(hash).or_default().entry(head.line).or_default().push(place);
        if let Some(id) = head.id {
            self.by_id.entry(id).or_default().push(place);
        }
        let Some(left) = head.left_sha256 else {
            self.without_list += 1;
            return;
        };
        self.by_left.entry(left).or_default().push(place);
        self.pointers.insert(head.list);
        let file = file_of_source(&head.source);
        self.by_file.entry(file.to_owned()).or_default().push(place);
    }

    /// The number of records by which something can be restored.
    pub(super) fn number_of_records(&self) -> usize {
        let by_line = self.by_result.values().flat_map(BTreeMap::values);
        by_line.map(Vec::len).sum::<usize>() + self.range_runs.runs.len()
    }

    /// The records of compactions that left a whole text with this hash.
    pub(super) fn of_whole(&self, hash: &str) -> Option<&Vec<RecordPlace>> {
        self.by_result.get(hash)?.get(&None)
    }

    /// The records of compactions that left the first entries of a list, whose hashes these are: those that left most come
    /// first.
    pub(super) fn that_left(&self, hashes: &[String]) -> Vec<Vec<RecordPlace>> {
        let mut found: BTreeMap<usize, Vec<RecordPlace>> = BTreeMap::new();
        // A system message in front may differ.
        for skipped in [0, 1] {
            let mut hash = ListHash::default();
            for (index, entry) in hashes.iter().enumerate().skip(skipped) {
                hash.add(entry);
                if let Some(places) = self.by_left.get(&hash.clone().end()) {
                    found.entry(index).or_default().extend(places);
                }
            }
        }
        found.into_values().rev().collect()
    }

    /// The records with a list that name this file, in the order of the archive.
    pub(super) fn of_file(&self, name: &str) -> Vec<RecordPlace> {
        let wanted = path_components(file_of_source(name));
        let mut places: Vec<RecordPlace> = Vec::new();
        for (file, of_file) in &self.by_file {
            if path_components(file) == wanted {
                places.extend(of_file);
            }
        }
        places.sort_by_key(|place| place.line);
        places
    }

    /// Whether any record names a file with the name of this one, in whatever folder.
    pub(super) fn has_file_named(&self, file: &Path) -> bool {
        file.file_name().is_some_and(|name| self.file_names.contains(name))
    }

    /// Whether all records with a list are of one file.
    pub(super) fn has_one_file(&self) -> bool {
        self.by_file.len() == 1
    }

    /// Whether a text is one that a compaction read.
    pub(super) fn is_original(&self, text: &[u8]) -> bool {
        self.is_original_hash(&sha256(text))
    }

    /// The same, by the hash of the text.
    pub(super) fn is_original_hash(&self, hash: &str) -> bool {
        self.originals.contains(hash) || self.range_runs.runs.iter().any(|run| run.original_sha256 == hash)
    }

    /// The hashes of the texts that became a text with this hash.
    pub(super) fn originals_of(&self, result: &str) -> &[String] {
        self.originals_of.get(result).map_or(&[], Vec::as_slice)
    }

    /// The records with a way back that have this id.
    pub(super) fn with_id(&self, id: &str) -> Vec<RecordPlace> {
        self.by_id.get(id).cloned().unwrap_or_default()
    }

    /// The last records with a list, at most `most`, in the order of the archive.
    pub(super) fn last(&self, most: usize) -> Vec<RecordPlace> {
        let mut places: Vec<RecordPlace> = self.by_file.values().flatten().copied().collect();
        places.sort_by_key(|place| place.line);
        places.split_off(places.len().saturating_sub(most))
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
            let mut record = Record::read(&line).map_err(|error| {
                let what = format!("the record in line {number} is not as tcompact writes them ({error})");
                unreadable(self.path, &what)
            })?;
            record.number = number;
            records.push(record);
        }
        Ok(records)
    }

    /// Describes what of the archive cannot be read.
    pub(super) fn damaged(&self) -> Option<&str> {
        self.damaged.as_deref()
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
        if self.without_list > 0 {
            let records = counted_and(self.without_list as u64, "record", ["restores", "restore"]);
            message += &format!("; {records} only a text that did not change since");
        }
        if self.range_runs.incomplete > 0 {
            let runs = counted_and(self.range_runs.incomplete, "run", ["lacks", "lack"]);
            message += &format!("; {runs} some of the ranges");
        }
        if let Some(damaged) = self.damaged() {
            message += &format!("; {damaged}");
        }
        message
    }
}

pub(super) fn unreadable(path: &Path, what: &str) -> Failure {
    Failure::unreadable(format!("restore {} cannot be read: {what}", path.display()))
}

fn not_unpacked(path: &Path, error: &io::Error) -> Failure {
    let what =
        format!("it is compressed, and there is no place to unpack it ({}); TMPDIR names a folder", reason(error));
    unreadable(path, &what)
}

/// The records of a compressed archive in a file without a name, which only this process can read.
struct UnpackedRecords {
    file: BufWriter<File>,
    length: u64,
}

impl UnpackedRecords {
    /// In the folder for temporary files or, where that cannot be used, in the folder of the archive.
    ///
    /// # Errors
    /// No file can be made in either.
    fn beside(archive: &Path) -> Result<Self> {
        let file = tempfile::tempfile().or_else(|error| tempfile::tempfile_in(folder(archive)).map_err(|_| error));
        let file = file.map_err(|error| not_unpacked(archive, &error))?;
        Ok(UnpackedRecords { file: BufWriter::with_capacity(1 << 16, file), length: 0 })
    }

    /// Adds a line, and returns where it begins.
    fn add(&mut self, line: &str) -> io::Result<u64> {
        self.file.write_all(line.as_bytes())?;
        self.length += line.len() as u64;
        Ok(self.length - line.len() as u64)
    }

    fn end(self) -> io::Result<BufReader<File>> {
        Ok(BufReader::new(self.file.into_inner().map_err(io::IntoInnerError::into_error)?))
    }
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
