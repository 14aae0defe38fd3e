//! An archive that restores: where its records are, by the hashes that they name. Only the needed ones are read in full.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::ffi::OsString;
use std::fs::File;
use std::io::{self, BufRead, BufReader, BufWriter, Seek, SeekFrom, Write};
use std::path::Path;

use anyhow::Result;

use crate::exit::Failure;
use crate::files::input::LineReader;
use crate::files::paths::folder;
use crate::files::record_hash::has_wrong_hash;
use crate::hash::sha256;
use crate::rewrite::restoring::{Record, file_of_source, path_components};
use crate::rewrite::value_hash::hashes_of_beginnings;
use crate::wording::{counted_and, reason};

use crate::engine::broken_records::BrokenRecord;
use crate::engine::range_runs::{RangeRun, RangeRuns};
use crate::engine::record_heads::{Head, InnerStep, Steps};
use crate::engine::records::{RecordLines, RecordPlace};

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
    /// The records with a list by the file that they name, each with the line that it names.
    by_file: HashMap<String, BTreeMap<Option<usize>, Vec<RecordPlace>>>,
    /// The names of all files that records are of, without their folders.
    file_names: HashSet<OsString>,
    /// The times of the runs.
    run_times: BTreeSet<String>,
    /// The hashes of the texts before.
    pub(super) originals: HashSet<String>,
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
    /// What can be read of its lines that are not whole records.
    pub(super) broken: Vec<BrokenRecord>,
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
            run_times: BTreeSet::new(),
            originals: HashSet::new(),
            by_id: HashMap::new(),
            has_lines: false,
            irreversible: 0,
            without_list: 0,
            damaged: None,
            broken: Vec::new(),
        };
        let mut lines = RecordLines::new(lines);
        let mut steps = Steps::default();
        while let Some((line, mut place)) = lines.next_line()? {
            let head: Option<Head> = serde_json::from_str(line).ok().filter(Head::is_consistent);
            if head.is_some() && has_wrong_hash(line.as_bytes()) {
                archive.add_broken(BrokenRecord::read_changed(line, place.line));
                lines.changed.add(place.line);
                continue;
            }
            let Some(head) = head else {
                if BrokenRecord::is_left_of_record(line) {
                    archive.add_broken(BrokenRecord::read(line, place.line));
                }
                lines.unreadable.add(place.line);
                continue;
            };
            if let Some(unpacked) = &mut unpacked {
                place.offset = unpacked.add(line).map_err(|error| not_unpacked(path, &error))?;
            }
            steps.add(&head, place.line);
            archive.run_times.insert(head.summarized_at.clone());
            archive.add(head, place);
        }
        for step in steps.unfinished() {
            archive.remove(&step);
            archive.add_broken(BrokenRecord::of_unfinished_run(step));
        }
        for broken in lines.broken.drain(..) {
            archive.add_broken(broken);
        }
        archive.range_runs.end_unclosed();
        if let Some(unpacked) = unpacked {
            archive.file = unpacked.end().map_err(|error| not_unpacked(path, &error))?;
        }
        archive.damaged = lines.damaged(path.display(), "record");
        Ok(archive)
    }

    fn add(&mut self, head: Head, place: RecordPlace) {
        if let Some(range) = head.range {
            self.range_runs.add_range(range, head.left_sha256, place.offset);
            return;
        }
        if let (Some(totals), Some(original), Some(result)) = (head.ranges, &head.original_sha256, &head.result_sha256)
        {
            self.add_file_name(&head.source);
            self.range_runs.close(RangeRun {
                first: 0,
                totals,
                original_sha256: original.clone(),
                result_sha256: result.clone(),
                previous: head.previous,
                file: head.source,
                time: head.summarized_at,
            });
            return;
        }
        let Some(hash) = head.result_sha256 else {
            self.irreversible += 1;
            return;
        };
        if head.line.is_none()
            && let Some(original) = head.original_sha256
        {
            self.originals.insert(original);
        }
        self.has_lines |= head.line.is_some();
        let file = file_of_source(&head.source, head.line.or(head.at_line));
        self.add_file_name(file);
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
        self.by_file.entry(file.to_owned()).or_default().entry(head.line).or_default().push(place);
    }

    fn add_file_name(&mut self, file: &str) {
        if let Some(name) = Path::new(file).file_name() {
            self.file_names.insert(name.to_owned());
        }
    }

    /// Removes the record of a step whose next step is missing: nothing is put back by it.
    fn remove(&mut self, step: &InnerStep) {
        let InnerStep { head, number } = step;
        if let Some(hash) = &head.result_sha256
            && let Some(of_result) = self.by_result.get_mut(hash)
            && let Some(places) = of_result.remove(&head.line)
            && let Some(others) = without(places, *number)
        {
            of_result.insert(head.line, others);
        }
        if let Some(hash) = &head.left_sha256
            && let Some(places) = self.by_left.remove(hash)
            && let Some(others) = without(places, *number)
        {
            self.by_left.insert(hash.clone(), others);
        }
        if let Some(id) = &head.id
            && let Some(places) = self.by_id.remove(id)
            && let Some(others) = without(places, *number)
        {
            self.by_id.insert(id.clone(), others);
        }
        let file = file_of_source(&head.source, head.line.or(head.at_line));
        if let Some(of_file) = self.by_file.get_mut(file)
            && let Some(places) = of_file.remove(&head.line)
            && let Some(others) = without(places, *number)
        {
            of_file.insert(head.line, others);
        }
    }

    /// Adds what can be read of a line that is not a whole record.
    fn add_broken(&mut self, broken: BrokenRecord) {
        if let Some(run) = broken.range_run() {
            self.range_runs.close(run);
        } else if let Some((range, left)) = broken.left_range() {
            self.range_runs.add_broken_range(range, left);
        } else if broken.file().is_some() || self.broken.iter().all(|other| other.file().is_some()) {
            // Of lines of which nothing can be read, one tells as much as many.
            self.broken.push(broken);
        }
    }

    /// Whether a broken record names a text with this hash as what its run found or left.
    pub(super) fn names_in_broken(&self, hash: &str) -> bool {
        self.broken.iter().any(|broken| broken.names(hash))
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
        for (index, hash) in hashes_of_beginnings(hashes) {
            if let Some(places) = self.by_left.get(&hash) {
                found.entry(index).or_default().extend(places);
            }
        }
        found.into_values().rev().collect()
    }

    /// The records with a list that name this file, in the order of the archive; with `line`, those that name this line.
    pub(super) fn of_file(&self, name: &str, line: Option<usize>) -> Vec<RecordPlace> {
        let wanted = path_components(name);
        let mut places: Vec<RecordPlace> = Vec::new();
        for (file, of_file) in &self.by_file {
            if path_components(file) == wanted {
                match line {
                    Some(_) => places.extend(of_file.get(&line).into_iter().flatten()),
                    None => places.extend(of_file.values().flatten()),
                }
            }
        }
        places.sort_by_key(|place| place.line);
        places
    }

    /// Whether any record names a file with the name of this one, in whatever folder.
    pub(super) fn has_file_named(&self, file: &Path) -> bool {
        file.file_name().is_some_and(|name| self.file_names.contains(name))
    }

    /// Whether it has a run between the first one of another archive and a later time.
    pub(super) fn has_run_between(&self, other: &Archive<'_>, end: &str) -> bool {
        let Some(first) = other.run_times.first() else { return false };
        self.run_times.iter().any(|time| time > first && **time < *end)
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

    /// The records with a way back that have this id.
    pub(super) fn with_id(&self, id: &str) -> Vec<RecordPlace> {
        self.by_id.get(id).cloned().unwrap_or_default()
    }

    /// The records of runs that found a text whose hash begins as this one does.
    pub(super) fn that_found(&self, hash: &str) -> Vec<RecordPlace> {
        /// As many digits as an id has.
        const DIGITS: usize = 8;
        match hash.get(..DIGITS) {
            Some(id) => self.with_id(id),
            None => Vec::new(),
        }
    }

    /// Whether a whole record is of the same run as a broken one: the run was killed, and repeated.
    pub(super) fn has_repeated(&self, broken: &BrokenRecord) -> bool {
        let (Some(id), Some(result)) = (broken.id(), broken.result()) else { return false };
        let Some(of_result) = self.by_result.get(result) else { return false };
        let lines: HashSet<usize> = self.with_id(id).iter().map(|place| place.line).collect();
        of_result.values().flatten().any(|place| lines.contains(&place.line))
    }

    /// The id of the run before one that names it as `previous`, if the archive does not have that run.
    pub(super) fn lost_run(&self, previous: Option<&str>) -> Option<String> {
        let id = previous?;
        if self.by_id.contains_key(id) || self.range_runs.runs.iter().any(|run| run.original_sha256.starts_with(id)) {
            return None;
        }
        Some(id.to_owned())
    }

    /// The last line of the archive that has a record with a list.
    pub(super) fn last_line(&self) -> usize {
        let places = self.by_file.values().flat_map(BTreeMap::values).flatten();
        places.map(|place| place.line).max().unwrap_or_default()
    }

    /// The last records with a list, at most `most`, in the order of the archive.
    pub(super) fn last(&self, most: usize) -> Vec<RecordPlace> {
        let mut places: Vec<RecordPlace> =
            self.by_file.values().flat_map(BTreeMap::values).flatten().copied().collect();
        places.sort_by_key(|place| place.line);
        places.split_off(places.len().saturating_sub(most))
    }

    /// Reads the records at some places.
    pub(super) fn read(&mut self, places: &[RecordPlace]) -> Result<Vec<Record>> {
        let mut records = Vec::new();
        for &RecordPlace { offset, line: number } in places {
            let line = self.read_line(offset).map_err(|error| unreadable(self.path, &reason(&error)))?;
            let mut record = Record::read(&line).map_err(|error| {
                let what = format!("the record in line {number} is not as tcompact writes them ({error})");
                unreadable(self.path, &what)
            })?;
            record.number = number;
            records.push(record);
        }
        Ok(records)
    }

    /// The line that begins at an offset.
    fn read_line(&mut self, offset: u64) -> io::Result<Vec<u8>> {
        let mut line = Vec::new();
        self.file.seek(SeekFrom::Start(offset))?;
        self.file.read_until(b'\n', &mut line)?;
        Ok(line)
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
        let RangeRuns { incomplete, unclosed, .. } = &self.range_runs;
        if !incomplete.is_empty() {
            let runs = counted_and(incomplete.len() as u64, "run", ["lacks", "lack"]);
            message += &format!("; {runs} some of the ranges");
        }
        if !unclosed.is_empty() {
            let runs = counted_and(unclosed.len() as u64, "run", ["lacks", "lack"]);
            message += &format!("; {runs} the record behind the ranges");
        }
        if let Some(damaged) = self.damaged() {
            message += &format!("; {damaged}");
        }
        message
    }
}

/// The places without that of the record in a line of the archive; nothing where no other is left.
fn without(places: Vec<RecordPlace>, line: usize) -> Option<Vec<RecordPlace>> {
    let others: Vec<RecordPlace> = places.into_iter().filter(|place| place.line != line).collect();
    if others.is_empty() { None } else { Some(others) }
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
        let file = match tempfile::tempfile() {
            Ok(file) => file,
            // Its error is the one to report: it is about the folder that TMPDIR names.
            Err(error) => tempfile::tempfile_in(folder(archive)).map_err(|_| not_unpacked(archive, &error))?,
        };
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
