//! `--restore`: puts back what an archive holds. The archive is read line by line, and only the needed records in full.

use std::borrow::Cow;
use std::collections::{BTreeMap, HashMap, HashSet};
use std::fs::File;
use std::io::{BufRead, BufReader, Seek, SeekFrom};
use std::path::{Path, PathBuf};

use anyhow::Result;
use serde::Deserialize;

use crate::events::Event;
use crate::exit::{Exit, Failure};
use crate::files::input;
use crate::files::readers::Readers;
use crate::files::{append, output};
use crate::hash::{Hasher, sha256};
use crate::interrupt;
use crate::report::reporter::Reporter;
use crate::rewrite::pieces;
use crate::rewrite::restoring::{self, PutBack, Record, RestoreError, without_end};
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
    output::refuse_emptied(path)?;
    if output.is_some_and(|output| output::same_place(archive, output)) {
        return Err(Failure::usage(format!("--output {shown} is the archive; write to another file")).into());
    }
    if output.is_some() {
        interrupt::exit_on_signals();
    }
    let mut archive = Archive::open(archive)?;
    let input = input::read(path)?;
    let name = readable_source(&input.name);
    let mut restorer = Restorer { archive: &mut archive, file: &input.name, name: &name, lines: HashSet::new() };
    let Restored { text, edits } = restorer.restore_all(input.bytes())?;
    let lines = restorer.lines.len();
    if edits.is_empty() && text == input.bytes() {
        return Err(Failure::unreadable(archive.no_record_message(&name)).into());
    }
    output::write(pieces(&text, &edits), output, &Readers::of([Some(archive.path), path]))?;
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
    /// The offsets of the records, by the hash of the text that the compaction left, and by the line that they name.
    records: HashMap<String, BTreeMap<Option<usize>, Vec<u64>>>,
    /// Whether any record names a line.
    has_lines: bool,
    /// The number of records that nothing can be restored by.
    irreversible: usize,
    /// Lines that are not records: their number, and the first line.
    unreadable_lines: (usize, usize),
}

/// The fields by which a record is found.
#[derive(Deserialize)]
struct Head {
    #[serde(rename = "source")]
    _source: String,
    result_sha256: Option<String>,
    line: Option<usize>,
}

impl<'p> Archive<'p> {
    fn open(path: &'p Path) -> Result<Self> {
        let file = File::open(path).map_err(|error| unreadable(path, &reason(&error)))?;
        if !file.metadata().is_ok_and(|metadata| metadata.is_file()) {
            return Err(unreadable(path, "it is not a file").into());
        }
        let mut archive = Archive {
            path,
            file: BufReader::new(file),
            records: HashMap::new(),
            has_lines: false,
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
                Ok(Head { result_sha256: Some(hash), line, .. }) => {
                    archive.has_lines |= line.is_some();
                    archive.records.entry(hash).or_default().entry(line).or_default().push(at);
                }
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

    /// Reads the records at some offsets, of compactions that left a text with this hash. A record whose original is the
    /// same text changed nothing.
    fn read(&mut self, places: &[u64], hash: &str) -> Result<Vec<Record>> {
        let mut records = Vec::new();
        for place in places {
            let mut line = Vec::new();
            let sought = self.file.seek(SeekFrom::Start(*place));
            sought
                .and_then(|_| self.file.read_until(b'\n', &mut line))
                .map_err(|error| self.unreadable(&reason(&error)))?;
            records.push(serde_json::from_slice(&line).map_err(|error| {
                self.unreadable(&format!("the record at byte {place} is not as tcompact writes them ({error})"))
            })?);
        }
        records.retain(|record: &Record| record.original_sha256 != hash);
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

/// The lines of a text.
struct LineHashes {
    hashes: Vec<String>,
    /// The offsets of the records that name a line which has changed since or is not there, by their hash.
    moved: HashMap<String, Vec<u64>>,
}

impl LineHashes {
    fn of(text: &[u8]) -> Self {
        let hash = |line| sha256(without_end(line));
        LineHashes { hashes: text.split_inclusive(|byte| *byte == b'\n').map(hash).collect(), moved: HashMap::new() }
    }

    /// Returns the offsets of the records with this hash that can be of a line: they name this line, or one that has
    /// changed since. Many lines can be equal, so the records of one are not looked at for another.
    fn places(&mut self, archive: &Archive<'_>, hash: &str, number: usize) -> Vec<u64> {
        let Some(by_line) = archive.records.get(hash) else { return Vec::new() };
        let LineHashes { hashes, moved } = self;
        let has_hash = |line: usize| line.checked_sub(1).and_then(|at| hashes.get(at)).is_some_and(|own| own == hash);
        let moved = moved.entry(hash.to_owned()).or_insert_with(|| {
            let moved = by_line.iter().filter(|(line, _)| line.is_some_and(|line| !has_hash(line)));
            moved.flat_map(|(_, places)| places).copied().collect()
        });
        let own = by_line.get(&Some(number)).filter(|_| has_hash(number));
        moved.iter().chain(own.into_iter().flatten()).copied().collect()
    }
}

/// A text, and the edits that restore it.
struct Restored<'t> {
    text: Cow<'t, [u8]>,
    edits: Vec<PutBack>,
}

impl<'t> Restored<'t> {
    /// Returns the hash of the result.
    fn hash(&self) -> String {
        let mut hasher = Hasher::default();
        pieces(&self.text, &self.edits).for_each(|piece| hasher.add(piece));
        hasher.end()
    }

    /// Returns the result in one piece.
    fn joined(self) -> Cow<'t, [u8]> {
        if self.edits.is_empty() {
            return self.text;
        }
        pieces(&self.text, &self.edits).collect::<Vec<_>>().concat().into()
    }
}

impl Restorer<'_, '_> {
    /// Restores the whole text and its lines, in turns, until neither changes. That ends: a line stays one line, and
    /// its original has no record; each further round needs a step of the whole text, and no step is taken twice.
    /// Returns a text, and the edits that restore it further, so that a large original need not be joined.
    fn restore_all<'t>(&mut self, text: &'t [u8]) -> Result<Restored<'t>> {
        let mut seen = HashSet::new();
        let mut whole = self.restore_text(Cow::Borrowed(text), None, &mut seen)?;
        loop {
            if !self.archive.has_lines {
                return Ok(whole);
            }
            let text = whole.joined();
            let (mut lines, mut edits, mut start) = (LineHashes::of(&text), Vec::new(), 0);
            for (index, line) in text.split_inclusive(|byte| *byte == b'\n').enumerate() {
                let content = without_end(line);
                let place = Some((index + 1, &mut lines));
                let original = self.restore_text(Cow::Borrowed(content), place, &mut HashSet::new())?.joined();
                if original != content {
                    self.lines.insert(index + 1);
                    edits.push(PutBack { range: start..start + content.len(), bytes: original.into_owned() });
                }
                start += line.len();
            }
            whole = Restored { text, edits };
            let records = self.archive.records.get(&whole.hash());
            if whole.edits.is_empty() || !records.is_some_and(|lines| lines.contains_key(&None)) {
                return Ok(whole);
            }
            whole = self.restore_text(whole.joined(), None, &mut seen)?;
        }
    }

    /// Restores a text, or a line of one by its number, until no record is left. A hash in `seen` means that the records
    /// form a circle.
    fn restore_text<'t>(
        &mut self,
        text: Cow<'t, [u8]>,
        mut line: Option<(usize, &mut LineHashes)>,
        seen: &mut HashSet<String>,
    ) -> Result<Restored<'t>> {
        let mut restored = Restored { text, edits: Vec::new() };
        loop {
            let hash = restored.hash();
            // A whole file that became one line differs from that line: restoring it there would add lines forever.
            let places = match &mut line {
                Some((number, lines)) => lines.places(self.archive, &hash, *number),
                None => self.archive.records.get(&hash).and_then(|lines| lines.get(&None)).cloned().unwrap_or_default(),
            };
            let records = self.archive.read(&places, &hash)?;
            if records.is_empty() {
                return Ok(restored);
            }
            let text = restored.joined();
            let at = line.as_ref().map(|(number, _)| format!(" line {number}")).unwrap_or_default();
            let refused = |why: &str| {
                Failure::unreadable(format!("{}{at}: {} cannot be used: {why}", self.name, self.archive.path.display()))
            };
            if !seen.insert(hash) {
                return Err(refused("its records lead back to themselves").into());
            }
            // A single line can come from any file.
            let number = line.as_ref().filter(|(_, lines)| lines.hashes.len() > 1).map(|(number, _)| *number);
            let edits = restoring::edits_to_original(&text, self.file, number, records);
            let edits = match edits {
                Ok(edits) if line.is_some() && edits.iter().any(|edit| edit.bytes.contains(&b'\n')) => {
                    Err(RestoreError::DoesNotFit)
                }
                edits => edits,
            };
            restored = Restored { text, edits: edits.map_err(|why| refused(&why.to_string()))? };
        }
    }
}
