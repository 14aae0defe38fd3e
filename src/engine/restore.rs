//! `--restore`: puts back what an archive holds. The archive is read line by line, and only the needed records in full.

use std::borrow::Cow;
use std::collections::{HashMap, HashSet};
use std::path::{Path, PathBuf};

use anyhow::Result;

use crate::events::{Event, RestoredRounds};
use crate::exit::{Exit, Failure};
use crate::files::input;
use crate::files::readers::Readers;
use crate::files::{append, output};
use crate::hash::{Hasher, sha256};
use crate::interrupt;
use crate::report::reporter::Reporter;
use crate::rewrite::pieces;
use crate::rewrite::regrown::{self, Regrown, Trace};
use crate::rewrite::restoring::{self, PutBack, Record, RestoreError, without_end};
use crate::settings::{Destination, RestoreSettings, Volume};
use crate::transcript::formats::by_name;
use crate::transcript::source::Source;
use crate::wording::readable_source;

use crate::engine::inputs::copy_of;
use crate::engine::listeners::notify;
use crate::engine::records::{Archive, RecordPlace};

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
    let (output, replaced) = match (&settings.destination, path) {
        (Destination::InPlace(suffix), Some(path)) => (Some(path), Some(suffix)),
        (Destination::InPlace(_), None) => {
            return Err(Failure::usage("--in-place: name the transcript that is put back").into());
        }
        (Destination::File(file), _) => (Some(file.as_path()), None),
        (Destination::Folder(_) | Destination::Stdout, _) => (None, None),
    };
    if !append::is_lines(archive) {
        let message =
            format!("--restore {shown}: only an archive whose name ends in .jsonl holds what can be put back");
        return Err(Failure::usage(message).into());
    }
    if let Some(output) = output.filter(|_| replaced.is_none()) {
        output::refuse_input(path, output, true)?;
    }
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
    let (file, most, done) = (&*input.name, settings.rounds.unwrap_or(usize::MAX), RestoredRounds::default());
    let is_document = is_document(input.bytes());
    let mut restorer = Restorer { archive: &mut archive, file, name: &name, most, is_document, done };
    let Restored { text, edits } = restorer.restore_all(input.bytes())?;
    let done = restorer.done;
    if edits.is_empty() && text == input.bytes() {
        return Err(Failure::unreadable(archive.no_record_message(&name)).into());
    }
    let readers = Readers::of([Some(archive.path), path]);
    match replaced.zip(path) {
        Some((suffix, path)) => {
            if let Some(suffix) = suffix {
                output::keep_copy(path, &copy_of(path, suffix))?;
            }
            output::replace(pieces(&text, &edits), path, &readers)?;
        }
        None => output::write(pieces(&text, &edits), output, &readers)?,
    }
    if settings.volume > Volume::Quiet {
        let all = text.split(|byte| *byte == b'\n').filter(|line| !line.trim_ascii().is_empty()).count();
        let damaged = archive.damaged();
        let restored = Event::Restored { archive: archive.path, done: &done, all, damaged: damaged.as_deref() };
        notify(&Reporter::new(settings.volume), restored);
    }
    Ok(Exit::Success)
}

/// Whether a text is a single JSON value.
fn is_document(text: &[u8]) -> bool {
    let source = str::from_utf8(text).ok().and_then(|text| Source::of_file(text).ok());
    source.is_some_and(|source| source.values().nth(1).is_none())
}

/// The restoration of one text.
struct Restorer<'p, 'a> {
    archive: &'p mut Archive<'a>,
    /// The file of the text.
    file: &'p str,
    /// The name of the text, for messages.
    name: &'p str,
    /// The most rounds to put back.
    most: usize,
    /// Whether the text is a single JSON value.
    is_document: bool,
    done: RestoredRounds,
}

/// The lines of a text.
struct LineHashes {
    hashes: Vec<String>,
    /// The records that name a line which has changed since or is not there, by their hash.
    moved: HashMap<String, Vec<RecordPlace>>,
}

impl LineHashes {
    fn of(text: &[u8]) -> Self {
        let hash = |line| sha256(without_end(line));
        LineHashes { hashes: text.split_inclusive(|byte| *byte == b'\n').map(hash).collect(), moved: HashMap::new() }
    }

    /// Returns the records with this hash that can be of a line: they name this line, or one that has changed since. Many
    /// lines can be equal, so the records of one are not looked at for another.
    fn places(&mut self, archive: &Archive<'_>, hash: &str, number: usize) -> Vec<RecordPlace> {
        let Some(by_line) = archive.by_result.get(hash) else { return Vec::new() };
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

/// A text, and the edits that restore it, so that a large original need not be joined.
struct Restored<'t> {
    text: Cow<'t, [u8]>,
    edits: Vec<PutBack>,
}

impl<'t> Restored<'t> {
    fn of(text: Cow<'t, [u8]>) -> Self {
        Restored { text, edits: Vec::new() }
    }

    /// Returns the hash of the result.
    fn hash(&self) -> String {
        let mut hasher = Hasher::default();
        pieces(&self.text, &self.edits).for_each(|piece| hasher.add(piece));
        hasher.end()
    }

    /// Returns the length and the hash of the longest beginning of the result that ends at a line end and is `known` by its
    /// hash. The last line can have been without an end when it was the last.
    fn longest_beginning(&self, known: impl Fn(&str) -> bool) -> Option<(usize, String)> {
        let (mut hasher, mut length, mut longest) = (Hasher::default(), 0, None);
        for piece in pieces(&self.text, &self.edits) {
            for line in piece.split_inclusive(|byte| *byte == b'\n') {
                let content = without_end(line);
                let ends = [content.len(), line.len()];
                let mut added = 0;
                for end in ends.into_iter().filter(|_| content.len() < line.len()) {
                    hasher.add(&line[added..end]);
                    added = end;
                    let hash = hasher.clone().end();
                    if known(&hash) {
                        longest = Some((length + end, hash));
                    }
                }
                hasher.add(&line[added..]);
                length += line.len();
            }
        }
        longest
    }

    /// Returns the result in one piece.
    fn joined(self) -> Cow<'t, [u8]> {
        if self.edits.is_empty() {
            return self.text;
        }
        pieces(&self.text, &self.edits).collect::<Vec<_>>().concat().into()
    }
}

/// What one step made of a text.
struct Step<'t> {
    restored: Restored<'t>,
    is_change: bool,
}

impl<'t> Step<'t> {
    fn none(restored: Restored<'t>) -> Self {
        Step { restored, is_change: false }
    }
}

/// The rounds that were put back in one text, the last one first.
#[derive(Default)]
struct Rounds {
    number: usize,
    /// The most that may be.
    most: usize,
    /// The round and the time that the record of the last one names.
    last: Option<(u32, String)>,
    /// The hashes of the texts and summaries whose records were used.
    seen: HashSet<String>,
}

impl Rounds {
    fn at_most(most: usize) -> Self {
        Rounds { most, ..Rounds::default() }
    }

    /// Whether a record is of the same run as the one before. A run that repairs a text writes several.
    fn is_same_run(&self, record: &Record) -> bool {
        self.last.as_ref().is_some_and(|(_, time)| !time.is_empty() && *time == record.summarized_at)
    }

    /// Whether the round of a record is to be put back.
    fn take(&self, record: &Record) -> bool {
        self.number < self.most || self.is_same_run(record)
    }

    fn add(&mut self, record: &Record) {
        self.number += usize::from(!self.is_same_run(record));
        self.last = Some((record.round, record.summarized_at.clone()));
    }

    /// Returns the round before the last one that was put back, if there was one.
    fn before_last(&self) -> Option<u32> {
        let (round, _) = self.last.as_ref()?;
        round.checked_sub(1).filter(|round| *round > 0)
    }
}

impl Restorer<'_, '_> {
    /// Restores the whole text, its lines, a beginning of it and a document that grew, in turns, until nothing changes. That
    /// ends: a line stays one line, its original has no record, and no record of a whole text or of a summary is used
    /// twice. Returns a text, and the edits that restore it further.
    fn restore_all<'t>(&mut self, text: &'t [u8]) -> Result<Restored<'t>> {
        let mut rounds = Rounds::at_most(self.most);
        let mut restored = Restored::of(Cow::Borrowed(text));
        loop {
            restored = self.restore_known(restored, None, &mut rounds)?;
            if self.archive.has_lines {
                restored = self.restore_lines(restored.joined(), &mut rounds)?;
                if !restored.edits.is_empty() && self.archive.of_whole(&restored.hash()).is_some() {
                    continue;
                }
            }
            let mut step = self.restore_beginning(restored, &mut rounds)?;
            if !step.is_change {
                step = self.restore_document(step.restored, None, &mut rounds)?;
            }
            restored = step.restored;
            if !step.is_change {
                self.done.rounds = rounds.number;
                self.done.missing = rounds.before_last().filter(|_| rounds.number < self.most);
                return Ok(restored);
            }
        }
    }

    /// Restores each line by itself. The rounds of the line that had most count.
    fn restore_lines<'t>(&mut self, text: Cow<'t, [u8]>, rounds: &mut Rounds) -> Result<Restored<'t>> {
        let (mut lines, mut edits, mut start, mut most) = (LineHashes::of(&text), Vec::new(), 0, 0);
        for (index, line) in text.split_inclusive(|byte| *byte == b'\n').enumerate() {
            let content = without_end(line);
            let mut own = Rounds::at_most(rounds.most - rounds.number);
            let place = (index + 1, &mut lines);
            let original = self.restore_line(content, place, &mut own)?;
            if original != content {
                self.done.lines.insert(index + 1);
                edits.push(PutBack { range: start..start + content.len(), bytes: original.into_owned() });
            }
            most = most.max(own.number);
            start += line.len();
        }
        rounds.number += most;
        Ok(Restored { text, edits })
    }

    /// Restores one line, by its number.
    fn restore_line<'t>(
        &mut self,
        line: &'t [u8],
        (number, lines): (usize, &mut LineHashes),
        rounds: &mut Rounds,
    ) -> Result<Cow<'t, [u8]>> {
        let mut restored = Restored::of(Cow::Borrowed(line));
        loop {
            restored = self.restore_known(restored, Some((number, lines)), rounds)?;
            let step = self.restore_document(restored, Some(number), rounds)?;
            restored = step.restored;
            if !step.is_change {
                return Ok(restored.joined());
            }
        }
    }

    /// Restores a text, or a line of one by its number, as often as its hash is known.
    fn restore_known<'t>(
        &mut self,
        mut restored: Restored<'t>,
        mut line: Option<(usize, &mut LineHashes)>,
        rounds: &mut Rounds,
    ) -> Result<Restored<'t>> {
        loop {
            let hash = restored.hash();
            // A whole file that became one line differs from that line: restoring it there would add lines forever.
            let places = match &mut line {
                Some((number, lines)) => lines.places(self.archive, &hash, *number),
                None => self.archive.of_whole(&hash).cloned().unwrap_or_default(),
            };
            let records = self.records(&places, &hash, rounds)?;
            if records.is_empty() {
                return Ok(restored);
            }
            let number = line.as_ref().map(|(number, _)| *number);
            if rounds.seen.contains(&hash) {
                return Err(self.refused(number, "its records form a circle"));
            }
            // A single line can come from any file.
            let of_file = line.as_ref().filter(|(_, lines)| lines.hashes.len() > 1).map(|(number, _)| *number);
            let text = restored.joined();
            let edits = self.put_back(&text, hash, records, of_file, rounds);
            let edits = match edits {
                Ok(edits) if line.is_some() && edits.iter().any(PutBack::has_line_end) => Err(RestoreError::DoesNotFit),
                edits => edits,
            };
            restored = Restored { text, edits: edits.map_err(|why| self.refused(number, &why.to_string()))? };
        }
    }

    /// Restores the longest beginning of a text that a compaction left: lines were appended since.
    fn restore_beginning<'t>(&mut self, restored: Restored<'t>, rounds: &mut Rounds) -> Result<Step<'t>> {
        let is_known = |hash: &str| self.archive.of_whole(hash).is_some() && !rounds.seen.contains(hash);
        let Some((end, hash)) = restored.longest_beginning(is_known) else { return Ok(Step::none(restored)) };
        let places = self.archive.of_whole(&hash).cloned().unwrap_or_default();
        let records = self.records(&places, &hash, rounds)?;
        if records.is_empty() {
            return Ok(Step::none(restored));
        }
        let text = restored.joined();
        let edits = self.put_back(&text[..end], hash, records, None, rounds);
        let edits = edits.map_err(|why| self.refused(None, &why.to_string()))?;
        Ok(Step { restored: Restored { text, edits }, is_change: true })
    }

    /// Reads the records of compactions that left a text with this hash, if their round is to be put back. A record whose
    /// original is the same text changed nothing.
    fn records(&mut self, places: &[RecordPlace], hash: &str, rounds: &Rounds) -> Result<Vec<Record>> {
        let mut records = self.archive.read(places)?;
        records.retain(|record| record.original_sha256 != hash && rounds.take(record));
        Ok(records)
    }

    /// Returns the edits of one round, which its records name.
    fn put_back(
        &self,
        text: &[u8],
        hash: String,
        records: Vec<Record>,
        line: Option<usize>,
        rounds: &mut Rounds,
    ) -> Result<Vec<PutBack>, RestoreError> {
        rounds.seen.insert(hash);
        records.first().into_iter().for_each(|record| rounds.add(record));
        restoring::edits_to_original(text, self.file, line, records)
    }

    /// Puts back the messages of the last round of a document that grew.
    fn restore_document<'t>(
        &mut self,
        text: Restored<'t>,
        line: Option<usize>,
        rounds: &mut Rounds,
    ) -> Result<Step<'t>> {
        let may_be = self.archive.has_traces() && rounds.number < rounds.most;
        if !may_be || line.is_none() && !self.is_document {
            return Ok(Step::none(text));
        }
        let text = text.joined();
        let formats: Vec<_> = self.archive.formats.iter().filter_map(|name| by_name(name)).collect();
        let Ok(document) = str::from_utf8(&text) else { return Ok(Step::none(Restored::of(text))) };
        let regrown = regrown::regrown(document, &formats, |trace| self.record_with(trace, line, rounds))?;
        let Some(Regrown { edits, record, shortened }) = regrown else { return Ok(Step::none(Restored::of(text))) };
        if line.is_some() && edits.iter().any(PutBack::has_line_end) {
            return Err(self.refused(line, &RestoreError::DoesNotFit.to_string()));
        }
        rounds.seen.insert(record.number.to_string());
        rounds.add(&record);
        self.done.unproved = true;
        self.done.shortened += shortened;
        Ok(Step { restored: Restored { text, edits }, is_change: true })
    }

    /// Returns the record of the compaction that left a trace in a document, if its round is to be put back. Of several
    /// that shortened a message alike, the last one.
    fn record_with(&mut self, trace: &Trace, line: Option<usize>, rounds: &Rounds) -> Result<Option<Record>> {
        let places = self.archive.with_trace(trace, line);
        if places.is_empty() {
            return Ok(None);
        }
        let mut records = self.archive.read(&places)?;
        records.retain(|record| !rounds.seen.contains(&record.number.to_string()));
        if matches!(trace, Trace::Shortened(_)) {
            records.drain(..records.len().saturating_sub(1));
        }
        if records.is_empty() {
            return Ok(None);
        }
        let one = restoring::of_one_original(records, self.file, line, Record::has_same_messages);
        let one = one.map_err(|why| self.refused(line, &why.to_string()))?.into_iter().next();
        Ok(one.filter(|record| rounds.take(record)))
    }

    fn refused(&self, line: Option<usize>, why: &str) -> anyhow::Error {
        let at = line.map(|line| format!(" line {line}")).unwrap_or_default();
        let archive = self.archive.path.display();
        Failure::unreadable(format!("{}{at}: {archive} cannot be used: {why}", self.name)).into()
    }
}
