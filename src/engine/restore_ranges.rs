//! Restores a file whose archive has records of ranges: in a stream, so that neither the file nor what goes back into it
//! need fit in memory. Each round is written whole, and proved by its hashes before it counts.

use std::collections::{BTreeSet, HashMap, HashSet};
use std::fs::{File, Metadata};
use std::io::{self, BufWriter, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use anyhow::Result;

use crate::events::RestoredRounds;
use crate::exit::Failure;
use crate::files::atomic::Readers;
use crate::files::input::{Reader, unpacked};
use crate::files::output::{CompleteFile, OutputFile, unwritable};
use crate::files::written::WriteOptions;
use crate::hash::Hasher;
use crate::rewrite::pieces;
use crate::rewrite::way_back::without_end;
use crate::settings::LargeFiles;

use crate::engine::archive::Archive;
use crate::engine::range_reader::RangeReader;
use crate::engine::range_runs::RangeRun;
use crate::engine::restorer::{Restored, Restorer};

/// How much is read at once.
const AT_ONCE: usize = 1 << 20;

/// A text that is not held in memory.
pub(super) enum LargeText {
    /// A file that the user named.
    Named(PathBuf),
    /// A file without a name, for a result that goes to standard output, or a text that came from standard input.
    Unnamed(File),
    /// The file of a result, which is not in its place yet.
    Complete(CompleteFile),
}

impl LargeText {
    /// The text behind a path, or that of standard input, which can be read only once.
    ///
    /// # Errors
    /// It cannot be read, or not be written to a temporary file.
    pub(super) fn of_input(path: Option<&Path>) -> Result<Self> {
        if let Some(path) = path {
            return Ok(LargeText::Named(path.to_owned()));
        }
        let mut text = Unfinished::unnamed()?;
        let mut reader = unpacked(None)?;
        copy(&mut reader, u64::MAX, &mut |bytes| text.write(bytes))?;
        text.finish()
    }

    /// Writes it to standard output, a device or a pipe.
    ///
    /// # Errors
    /// It cannot be read or written. A closed pipe is not an error.
    pub(super) fn write_to(&self, path: Option<&Path>, readers: &Readers) -> Result<()> {
        let mut output = OutputFile::begin(path, WriteOptions { compression: None, readers, hashed: false })?;
        copy(&mut self.reader()?, u64::MAX, &mut |bytes| output.write([bytes]).map(drop))?;
        output.complete(None)?.put()
    }

    fn reader(&self) -> Result<Reader> {
        match self {
            LargeText::Named(path) => unpacked(Some(path)),
            LargeText::Complete(file) => unpacked(file.path()),
            LargeText::Unnamed(file) => {
                let mut file = file.try_clone().map_err(unreadable)?;
                file.seek(SeekFrom::Start(0)).map_err(unreadable)?;
                Ok(Reader::with_capacity(AT_ONCE, Box::new(file)))
            }
        }
    }
}

fn unreadable(error: io::Error) -> Failure {
    Failure::unreadable(format!("a temporary file cannot be read: {error}"))
}

/// A text while it is written.
pub(super) enum Unfinished {
    /// A result, with the file whose mode and times it gets.
    Output(Box<OutputFile>, Option<Metadata>),
    Unnamed(BufWriter<File>),
}

impl Unfinished {
    /// # Errors
    /// There is no place for temporary files.
    pub(super) fn unnamed() -> Result<Self> {
        let file = tempfile::tempfile().map_err(|error| unwritable(&std::env::temp_dir(), &error))?;
        Ok(Unfinished::Unnamed(BufWriter::with_capacity(AT_ONCE, file)))
    }

    fn write(&mut self, bytes: &[u8]) -> Result<()> {
        match self {
            Unfinished::Output(output, _) => output.write([bytes]).map(drop),
            Unfinished::Unnamed(file) => {
                Ok(file.write_all(bytes).map_err(|error| unwritable(&std::env::temp_dir(), &error))?)
            }
        }
    }

    fn finish(self) -> Result<LargeText> {
        match self {
            Unfinished::Output(output, like) => Ok(LargeText::Complete(output.complete(like.as_ref())?)),
            Unfinished::Unnamed(file) => {
                let file = file.into_inner().map_err(io::IntoInnerError::into_error);
                Ok(LargeText::Unnamed(file.map_err(|error| unwritable(&std::env::temp_dir(), &error))?))
            }
        }
    }
}

/// Reads at most `most` bytes and hands them on. Returns how many there were.
pub(super) fn copy(reader: &mut impl Read, most: u64, put: &mut dyn FnMut(&[u8]) -> Result<()>) -> Result<u64> {
    let mut buffer = vec![0; AT_ONCE];
    let mut done = 0;
    while done < most {
        let wanted = usize::try_from(most - done).map_or(AT_ONCE, |missing| missing.min(AT_ONCE));
        let read = match reader.read(&mut buffer[..wanted]) {
            Ok(0) => break,
            Ok(read) => read,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            Err(error) => return Err(Failure::unreadable(format!("the text cannot be read: {error}")).into()),
        };
        put(&buffer[..read])?;
        done += read as u64;
    }
    Ok(done)
}

/// The restoration of one large text.
pub(super) struct RangeRestorer<'r, 'p> {
    pub(super) archive: &'r mut Archive<'p>,
    /// The file of the text, and how messages call it.
    pub(super) file: &'r str,
    pub(super) name: &'r str,
    /// The most rounds to put back.
    pub(super) most: usize,
    /// Where each round is written.
    pub(super) begin: &'r dyn Fn() -> Result<Unfinished>,
    pub(super) done: RestoredRounds,
    /// The hashes before and after of the runs that were put back.
    used: HashSet<(String, String)>,
}

/// What a text begins with: the hashes of some beginnings by their lengths, and the length of the whole.
struct Beginnings {
    hashes: HashMap<u64, String>,
    length: u64,
}

impl Beginnings {
    /// Whether the text begins with what a run found.
    fn is_original(&self, run: &RangeRun) -> bool {
        self.hashes.get(&run.totals.original_bytes) == Some(&run.original_sha256)
    }

    /// Whether the text begins with what a run left.
    fn is_left(&self, run: &RangeRun) -> bool {
        self.hashes.get(&run.totals.result_bytes) == Some(&run.result_sha256)
    }
}

impl<'r, 'p> RangeRestorer<'r, 'p> {
    pub(super) fn new(
        archive: &'r mut Archive<'p>,
        file: &'r str,
        name: &'r str,
        rounds: Option<usize>,
        begin: &'r dyn Fn() -> Result<Unfinished>,
    ) -> Self {
        // Each record counts once, so that forged ones cannot lead in a circle.
        let most = rounds.unwrap_or(usize::MAX).min(archive.number_of_records());
        RangeRestorer { archive, file, name, most, begin, done: RestoredRounds::default(), used: HashSet::new() }
    }

    /// Puts back all rounds that the archive has, the last first: those of ranges in a stream, the others in memory.
    ///
    /// # Errors
    /// The archive has nothing of the text, or what it has is not proved.
    pub(super) fn restore_all(&mut self, mut text: LargeText) -> Result<LargeText> {
        let beginnings = loop {
            if self.done.rounds > 0 && self.done.rounds >= self.most {
                return Ok(text);
            }
            let beginnings = self.beginnings(&text)?;
            let run = self.run_that_left(&beginnings);
            let known = self.known_beginning(&text)?;
            // The run that left most is the last one: a later run begins with what earlier ones left.
            let is_memory_first = run.as_ref().is_none_or(|run| known > run.totals.result_bytes);
            if is_memory_first && let Some(restored) = self.restore_in_memory(&text, known, beginnings.length)? {
                text = restored;
                continue;
            }
            let Some(run) = run else { break beginnings };
            text = self.put_back(&text, &run, beginnings.length)?;
        };
        if self.done.rounds > 0 {
            return Ok(text);
        }
        let mut runs = self.archive.range_runs.runs.iter();
        let message = if runs.any(|run| beginnings.is_original(run)) {
            format!("{}: it is as it was before it was compacted; nothing is to be put back", self.name)
        } else {
            self.archive.no_record_message(self.name)
        };
        Err(Failure::unreadable(message).into())
    }

    /// The hashes of the beginnings that runs left or found.
    fn beginnings(&self, text: &LargeText) -> Result<Beginnings> {
        let mut lengths = BTreeSet::new();
        for run in &self.archive.range_runs.runs {
            lengths.extend([run.totals.original_bytes, run.totals.result_bytes]);
        }
        let (mut hasher, mut hashes, mut length) = (Hasher::default(), HashMap::new(), 0);
        let mut reader = text.reader()?;
        for wanted in lengths {
            length += copy(&mut reader, wanted - length, &mut |bytes| {
                hasher.add(bytes);
                Ok(())
            })?;
            if length < wanted {
                return Ok(Beginnings { hashes, length });
            }
            hashes.insert(length, hasher.clone().end());
        }
        length += copy(&mut reader, u64::MAX, &mut |_| Ok(()))?;
        Ok(Beginnings { hashes, length })
    }

    /// The run that left the longest beginning of a text, the last one of several.
    fn run_that_left(&self, text: &Beginnings) -> Option<RangeRun> {
        let mut found: Option<&RangeRun> = None;
        for run in &self.archive.range_runs.runs {
            // What a run left can be the beginning of what it found.
            let is_left = text.is_left(run) && !text.is_original(run);
            let is_used = self.used.contains(&(run.original_sha256.clone(), run.result_sha256.clone()));
            let is_longer = found.is_none_or(|other| other.totals.result_bytes <= run.totals.result_bytes);
            if is_left && !is_used && is_longer {
                found = Some(run);
            }
        }
        found.cloned()
    }

    /// Writes what a run found, with what stands behind what it left. `length` is that of the text.
    fn put_back(&mut self, text: &LargeText, run: &RangeRun, length: u64) -> Result<LargeText> {
        self.done.rounds += 1;
        self.done.grown += usize::from(run.totals.result_bytes < length);
        self.used.insert((run.original_sha256.clone(), run.result_sha256.clone()));
        let refused = self.refused(
            "its records do not give the original of this text back; the archive was changed, or part of it is missing",
        );
        let mut reader = text.reader()?;
        let mut written = (self.begin)()?;
        let mut hasher = Hasher::default();
        let mut put = |bytes: &[u8]| {
            hasher.add(bytes);
            written.write(bytes)
        };
        let mut ranges = RangeReader::open(self.archive, run)?;
        let mut at = 0;
        while let Some(record) = ranges.next()? {
            let range = record.range;
            let end = range.offset.checked_add(range.bytes).filter(|end| *end <= run.totals.result_bytes);
            let (Some(between), Some(end)) = (range.offset.checked_sub(at), end) else { return Err(refused) };
            copy(&mut reader, between, &mut put)?;
            let mut lines = Vec::new();
            copy(&mut reader, range.bytes, &mut |bytes| {
                lines.extend_from_slice(bytes);
                Ok(())
            })?;
            let Some(restored) = record.restore(&lines) else { return Err(refused) };
            put(&restored)?;
            at = end;
        }
        copy(&mut reader, run.totals.result_bytes - at, &mut put)?;
        if hasher.end() != run.original_sha256 {
            return Err(refused);
        }
        copy(&mut reader, u64::MAX, &mut |bytes| written.write(bytes))?;
        written.finish()
    }

    /// Puts back a round whose record holds a whole text: what it left is the beginning of the text with the length
    /// `known`, or a shorter text that was written anew. A text that was read whole is not large.
    fn restore_in_memory(&mut self, text: &LargeText, known: u64, length: u64) -> Result<Option<LargeText>> {
        let end = if known == 0 && length < LargeFiles::SLIMMED.from { length } else { known };
        if self.archive.by_result.is_empty() || end == 0 {
            return Ok(None);
        }
        let mut reader = text.reader()?;
        let mut beginning = Vec::new();
        copy(&mut reader, end, &mut |bytes| {
            beginning.extend_from_slice(bytes);
            Ok(())
        })?;
        let mut restorer = Restorer::new(self.archive, self.file, self.name, Some(1));
        let Some(Restored { text: restored, edits }) = restorer.restore_if_any(&beginning)? else { return Ok(None) };
        let done = restorer.done;
        self.done.rounds += done.rounds;
        self.done.grown += done.grown + usize::from(end < length);
        self.done.missing = done.missing;
        self.done.lines.extend(done.lines);
        let mut written = (self.begin)()?;
        for piece in pieces(&restored, &edits) {
            written.write(piece)?;
        }
        copy(&mut reader, u64::MAX, &mut |bytes| written.write(bytes))?;
        Ok(Some(written.finish()?))
    }

    /// The length of the longest beginning that ends a line, with or without its end, and that the record of a whole
    /// text names as what was left.
    fn known_beginning(&self, text: &LargeText) -> Result<u64> {
        let archive = &*self.archive;
        if archive.by_result.is_empty() {
            return Ok(0);
        }
        let (mut hasher, mut length, mut known) = (Hasher::default(), 0, 0);
        copy(&mut text.reader()?, u64::MAX, &mut |bytes| {
            for line in bytes.split_inclusive(|byte| *byte == b'\n') {
                let content = without_end(line);
                let parts = [content, &line[content.len()..]];
                for part in parts.into_iter().filter(|part| !part.is_empty()) {
                    hasher.add(part);
                    length += part.len() as u64;
                    let hash = hasher.clone().end();
                    if archive.of_whole(&hash).is_some() {
                        known = length;
                    }
                }
            }
            Ok(())
        })?;
        Ok(known)
    }

    fn refused(&self, why: &str) -> anyhow::Error {
        let archive = self.archive.path.display();
        Failure::unreadable(format!("{}: {archive} cannot be used: {why}", self.name)).into()
    }
}
