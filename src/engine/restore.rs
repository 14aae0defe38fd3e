//! Putting back what an archive holds: it is read line by line, and of its records only those that are needed.

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
use crate::rewrite::restoring::{self, Record, Refused, without_end};
use crate::settings::{RestoreSettings, Volume};
use crate::wording::{readable_source, reason};

use crate::engine::listeners::tell;

/// Puts back what an archive holds of a text, as often as it was cut, and writes it.
///
/// # Errors
/// The archive has nothing of the text, or what it has does not fit. Nothing is written then.
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
    let mut put_back = PutBack { archive: &mut archive, file: &input.name, name: &name, lines: HashSet::new() };
    let text = put_back.whole_and_lines(input.text.clone())?;
    let lines = put_back.lines.len();
    if text == input.text {
        return Err(Failure::unreadable(archive.has_nothing_of(&name)).into());
    }
    output::write(&text, output)?;
    if settings.volume > Volume::Quiet {
        let all = text.lines().filter(|line| !line.trim().is_empty()).count();
        let damaged = archive.damaged();
        let lines = (lines > 0).then_some((lines, all));
        let restored = Event::Restored { archive: archive.path, lines, damaged: damaged.as_deref() };
        tell(&Reporter::new(settings.volume), restored);
    }
    Ok(Exit::Success)
}

/// An archive, and where in it the records are that a text can be put back by.
struct Archive<'p> {
    path: &'p Path,
    file: BufReader<File>,
    /// By the hash of the text that was left, the places of the records.
    records: HashMap<String, Vec<u64>>,
    /// Records that nothing can be put back by.
    without_way: usize,
    /// Lines that are no records: how many, and the first.
    no_records: (usize, usize),
}

/// The part of a record by which it is found.
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
        let mut archive =
            Archive { path, file: BufReader::new(file), records: HashMap::new(), without_way: 0, no_records: (0, 0) };
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
                Ok(_) => archive.without_way += 1,
                // Half a record, of a run that was ended by force; the others are whole.
                Err(_) => {
                    archive.no_records.0 += 1;
                    archive.no_records.1 = if archive.no_records.0 == 1 { number } else { archive.no_records.1 };
                }
            }
            at += length as u64;
        }
    }

    /// The records of how a text was made that has some hash: a line, or the whole of a file. One that is its own original
    /// was left as it was.
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
        // A whole that became one line is another thing than that line: to put it back would make more lines for ever.
        records.retain(|record: &Record| record.original_sha256 != hash && record.line.is_some() == is_line);
        Ok(records)
    }

    fn unreadable(&self, what: &str) -> Failure {
        unreadable(self.path, what)
    }

    /// What in the archive cannot be read.
    fn damaged(&self) -> Option<String> {
        let (lines, first) = self.no_records;
        (lines > 0)
            .then(|| format!("{}: {lines} of its lines are no records, the first is line {first}", self.path.display()))
    }

    /// Why nothing can be put back.
    fn has_nothing_of(&self, name: &str) -> String {
        let mut message = format!(
            "{name}: {} has nothing that was cut from this text; name the archive that was written with it, and the file as it was written",
            self.path.display()
        );
        if self.without_way > 0 {
            message += &format!(
                "; {} of its records are of --emit update, and there is no way back from that",
                self.without_way
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

/// The work on one text.
struct PutBack<'p, 'a> {
    archive: &'p mut Archive<'a>,
    /// The file that the text is of.
    file: &'p str,
    /// The name of the text, for a sentence.
    name: &'p str,
    /// The numbers of the lines that were put back.
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
    /// Whether a record of some line can be of this one: it is, or the line that it names is no longer what it says.
    fn can_be(&self, record: &Record, hash: &str) -> bool {
        let named =
            record.line.filter(|line| *line != self.number).and_then(|line| self.hashes.get(line.checked_sub(1)?));
        named.is_none_or(|named| named != hash)
    }

    /// What tells it from others: a line that stands alone was taken out of some file, or is the only one of its own.
    fn told(&self) -> Option<usize> {
        (self.hashes.len() > 1).then_some(self.number)
    }
}

impl PutBack<'_, '_> {
    /// The text as it was before all, as a whole and line by line. That ends: a line stays one, and what it was before all
    /// has no record; each further round needs a step of the whole, and no step is taken twice.
    fn whole_and_lines(&mut self, text: String) -> Result<String> {
        let mut seen = HashSet::new();
        let mut text = self.all_the_way(text, None, &mut seen)?;
        loop {
            let hashes: Vec<String> =
                text.split_inclusive('\n').map(|line| sha256(without_end(line).as_bytes())).collect();
            let mut lines = String::with_capacity(text.len());
            for (index, line) in text.split_inclusive('\n').enumerate() {
                let content = without_end(line);
                let place = Line { number: index + 1, hashes: &hashes };
                let original = self.all_the_way(content.to_owned(), Some(place), &mut HashSet::new())?;
                if original != content {
                    self.lines.insert(index + 1);
                }
                lines.push_str(&original);
                lines.push_str(&line[content.len()..]);
            }
            text = self.all_the_way(lines.clone(), None, &mut seen)?;
            if lines == text {
                return Ok(text);
            }
        }
    }

    /// A text as it was before all, or a line of one. What was `seen` before leads back to itself.
    fn all_the_way(&mut self, mut text: String, line: Option<Line<'_>>, seen: &mut HashSet<String>) -> Result<String> {
        loop {
            let hash = sha256(text.as_bytes());
            let mut records = self.archive.records_of(&hash, line.is_some())?;
            records.retain(|record| line.is_none_or(|line| line.can_be(record, &hash)));
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
            let back = restoring::put_back(&text, self.file, line.and_then(|line| line.told()), records);
            text = match back {
                Ok(back) if line.is_some() && back.contains('\n') => Err(Refused::DoesNotFit),
                back => back,
            }
            .map_err(|why| refused(&why.to_string()))?;
        }
    }
}
