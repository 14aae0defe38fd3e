//! `--restore`: puts back what an archive holds. The archive is read line by line, and only the needed records in full.

use std::collections::{HashMap, HashSet};
use std::fs::File;
use std::io::{BufRead, BufReader, Seek, SeekFrom};
use std::path::{Path, PathBuf};

use anyhow::Result;
use serde::Deserialize;

use crate::events::Event;
use crate::exit::{Exit, Failure};
use crate::files::input;
use crate::files::{append, output};
use crate::hash::sha256;
use crate::report::reporter::Reporter;
use crate::rewrite::restoring::{self, Record, RestoreError, without_end};
use crate::settings::{RestoreSettings, Volume};
use crate::wording::{readable_source, reason};

use crate::engine::listeners::notify;

/// Restores a text by its archive, as often as it was compacted, and writes it.
///
/// # Errors
/// The archive has no record of the text, or one that does not fit. Nothing is written then.
pub(crate) fn restore(settings: &RestoreSettings) -> Result<Exit> {
    let RestoreSettings { archive, paths, .. } = settings;
    let shown = archive.display();
    let is_named = |path: &&Path| path.as_os_str() != "-";
    if paths.len() > 1 {
        let message = format!("--restore {shown}: one transcript is put back at a time; name one");
        return Err(Failure::usage(message).into());
    }
    let path = paths.first().map(PathBuf::as_path).filter(is_named);
    let output = settings.output.as_deref().filter(is_named);
    if !append::is_lines(archive) {
        let message =
            format!("--restore {shown}: only an archive whose name ends in .jsonl holds what can be put back");
        return Err(Failure::usage(message).into());
    }
    output.map_or(Ok(()), |output| output::refuse_input(path, output, false))?;
    output::check(output)?;
    if output.is_some_and(|output| output::same_place(archive, output)) {
        return Err(Failure::usage(format!("--output {shown} is the archive; write to another file")).into());
    }
    let mut archive = Archive::open(archive)?;
    let input = input::read(path)?;
    let name = readable_source(&input.name);
    let mut restorer = Restorer { archive: &mut archive, file: &input.name, name: &name, lines: HashSet::new() };
    let text = restorer.restore_all(input.bytes().to_vec())?;
    let lines = restorer.lines.len();
    if text == input.bytes() {
        return Err(Failure::unreadable(archive.no_record_message(&name)).into());
    }
    output::write(&text, output)?;
    if settings.volume > Volume::Quiet {
        let all = text.split(|byte| *byte == b'\n').filter(|line| !line.trim_ascii().is_empty()).count();
        let damaged = archive.damaged();
        let lines = (lines > 0).then_some((lines, all));
        let restored = Event::Restored { archive: archive.path, lines, damaged: damaged.as_deref() };
        notify(&Reporter::new(settings.volume), restored);
    }
    Ok(Exit::Success)
}

/// An archive, and where its records are.
struct Archive<'p> {
    path: &'p Path,
    file: BufReader<File>,
    /// The offsets of the records, by the hash of the text that the compaction left.
    records: HashMap<String, Vec<u64>>,
    /// The number of records that nothing can be restored by.
    irreversible: usize,
    /// Lines that are no records: their number, and the first line.
    unreadable_lines: (usize, usize),
}

/// The fields by which a record is found.
#[derive(Deserialize)]
struct Head {
    #[serde(rename = "source")]
    _source: String,
    result_sha256: Option<String>,
}

impl<'p> Archive<'p> {
    fn open(path: &'p Path) -> Result<Self> {
        let file = File::open(path).map_err(|error| unreadable(path, &reason(&error)))?;
        if !file.metadata().is_ok_and(|metadata| metadata.is_file()) {
            return Err(unreadable(path, "it is no file").into());
        }
        let mut archive = Archive {
            path,
            file: BufReader::new(file),
            records: HashMap::new(),
            irreversible: 0,
            unreadable_lines: (0, 0),
        };
        let (mut at, mut number, mut line) = (0, 0, Vec::new());
        loop {
            line.clear();
            let length =
                archive.file.read_until(b'\n', &mut line).map_err(|error| unreadable(path, &reason(&error)))?;
            number += 1;
            match serde_json::from_slice(&line) {
                _ if length == 0 => return Ok(archive),
                _ if line.trim_ascii().is_empty() => {}
                Ok(Head { result_sha256: Some(hash), .. }) => archive.records.entry(hash).or_default().push(at),
                Ok(_) => archive.irreversible += 1,
                // Half a record, of a run that was killed; the others are whole.
                Err(_) => {
                    archive.unreadable_lines.0 += 1;
                    archive.unreadable_lines.1 =
                        if archive.unreadable_lines.0 == 1 { number } else { archive.unreadable_lines.1 };
                }
            }
            at += length as u64;
        }
    }

    /// Returns the records of compactions that left a text with this hash: of a line, or of a whole file. A record
    /// whose original is the same text changed nothing.
    fn records_of(&mut self, hash: &str, is_line: bool) -> Result<Vec<Record>> {
        let places = self.records.get(hash).cloned().unwrap_or_default();
        let mut records = Vec::new();
        for place in places {
            let mut line = Vec::new();
            let sought = self.file.seek(SeekFrom::Start(place));
            sought
                .and_then(|_| self.file.read_until(b'\n', &mut line))
                .map_err(|error| self.unreadable(&reason(&error)))?;
            records.push(serde_json::from_slice(&line).map_err(|error| {
                self.unreadable(&format!("the record at byte {place} is not as tcompact writes them ({error})"))
            })?);
        }
        // A whole file that became one line differs from that line: restoring it there would add lines forever.
        records.retain(|record: &Record| record.original_sha256 != hash && record.line.is_some() == is_line);
        Ok(records)
    }

    fn unreadable(&self, what: &str) -> Failure {
        unreadable(self.path, what)
    }

    /// Describes the lines of the archive that cannot be read.
    fn damaged(&self) -> Option<String> {
        let (lines, first) = self.unreadable_lines;
        (lines > 0).then(|| {
            format!("{}: {lines} of its lines are not records, the first is line {first}", self.path.display())
        })
    }

    /// Returns the message that the archive has no record of a text.
    fn no_record_message(&self, name: &str) -> String {
        let mut message = format!(
            "{name}: {} has nothing that was cut from this text; name the archive that was written with it, and the file as it was written",
            self.path.display()
        );
        if self.irreversible > 0 {
            message += &format!(
                "; {} of its records are of --emit update, and there is no way back from that",
                self.irreversible
            );
        }
        if let Some(damaged) = self.damaged() {
            message += &format!("; {damaged}");
        }
        message
    }
}

fn unreadable(path: &Path, what: &str) -> Failure {
    Failure::unreadable(format!("--restore {} cannot be read: {what}", path.display()))
}

/// The restoration of one text.
struct Restorer<'p, 'a> {
    archive: &'p mut Archive<'a>,
    /// The file of the text.
    file: &'p str,
    /// The name of the text, for messages.
    name: &'p str,
    /// The numbers of the restored lines.
    lines: HashSet<usize>,
}

/// A line of a text.
#[derive(Clone, Copy)]
struct Line<'t> {
    /// Its number, from 1.
    number: usize,
    /// The hashes of all lines of the text.
    hashes: &'t [String],
}

impl Line<'_> {
    /// Whether a record can be of this line: it names this line, or a line that has changed since.
    fn can_match(&self, record: &Record, hash: &str) -> bool {
        let named =
            record.line.filter(|line| *line != self.number).and_then(|line| self.hashes.get(line.checked_sub(1)?));
        named.is_none_or(|named| named != hash)
    }

    /// Returns the number that tells it from other lines; none for a single line, which can come from any file.
    fn own_number(&self) -> Option<usize> {
        (self.hashes.len() > 1).then_some(self.number)
    }
}

impl Restorer<'_, '_> {
    /// Restores the whole text and its lines, in turns, until neither changes. That ends: a line stays one line, and
    /// its original has no record; each further round needs a step of the whole text, and no step is taken twice.
    fn restore_all(&mut self, text: Vec<u8>) -> Result<Vec<u8>> {
        let mut seen = HashSet::new();
        let mut text = self.restore_text(text, None, &mut seen)?;
        loop {
            let split = || text.split_inclusive(|byte| *byte == b'\n');
            let hashes: Vec<String> = split().map(|line| sha256(without_end(line))).collect();
            let mut lines = Vec::with_capacity(text.len());
            for (index, line) in split().enumerate() {
                let content = without_end(line);
                let place = Line { number: index + 1, hashes: &hashes };
                let original = self.restore_text(content.to_owned(), Some(place), &mut HashSet::new())?;
                if original != content {
                    self.lines.insert(index + 1);
                }
                lines.extend(original);
                lines.extend(&line[content.len()..]);
            }
            text = self.restore_text(lines.clone(), None, &mut seen)?;
            if lines == text {
                return Ok(text);
            }
        }
    }

    /// Restores a text, or a line of one, until no record is left. A hash in `seen` means that the records form a
    /// circle.
    fn restore_text(
        &mut self,
        mut text: Vec<u8>,
        line: Option<Line<'_>>,
        seen: &mut HashSet<String>,
    ) -> Result<Vec<u8>> {
        loop {
            let hash = sha256(&text);
            let mut records = self.archive.records_of(&hash, line.is_some())?;
            records.retain(|record| line.is_none_or(|line| line.can_match(record, &hash)));
            if records.is_empty() {
                return Ok(text);
            }
            let at = line.map(|line| format!(" line {}", line.number)).unwrap_or_default();
            let refused = |why: &str| {
                Failure::unreadable(format!("{}{at}: {} cannot be used: {why}", self.name, self.archive.path.display()))
            };
            if !seen.insert(hash) {
                return Err(refused("its records lead back to themselves").into());
            }
            let back = restoring::restore_original(&text, self.file, line.and_then(|line| line.own_number()), records);
            text = match back {
                Ok(back) if line.is_some() && back.contains(&b'\n') => Err(RestoreError::DoesNotFit),
                back => back,
            }
            .map_err(|why| refused(&why.to_string()))?;
        }
    }
}
