//! `restore`: puts back what an archive holds. The archive is read line by line, and only the needed records in full.

use std::borrow::Cow;
use std::collections::{HashMap, HashSet};
use std::fs;
use std::path::Path;

use anyhow::Result;

use crate::events::{Event, Listener, RestoredRounds};
use crate::exit::{Exit, Failure};
use crate::files::atomic::Readers;
use crate::files::open_files::OpenFiles;
use crate::files::replacing::ReplacedFile;
use crate::files::{append, input, output};
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
use crate::engine::records::{Archive, RecordPlace};

/// Restores a text by its archive, as often as it was compacted, and writes it.
///
/// # Errors
/// The archive has no record of the text, or one that does not fit. Nothing is written then.
pub(crate) fn restore(settings: &RestoreSettings) -> Result<Exit> {
    let is_named = |path: &&Path| path.as_os_str() != "-";
    let path = settings.path.as_deref().filter(is_named);
    let (output, replaced) = match (&settings.destination, path) {
        (Destination::InPlace(suffix), path) => (path, Some(suffix)),
        (Destination::File(file), _) => (Some(file.as_path()), None),
        (Destination::Folder(_) | Destination::Stdout, _) => (None, None),
    };
    check(settings, path, output, replaced.is_some())?;
    if output.is_some() {
        interrupt::exit_on_signals();
    }
    let before = path.filter(|_| replaced.is_some()).and_then(|path| fs::metadata(path).ok());
    let open_files = OpenFiles::default();
    if let Some((path, file)) = path.zip(before.as_ref()).filter(|_| !settings.force) {
        open_files.refuse_writer(path, file)?;
    }
    let mut archive = Archive::open(&settings.archive)?;
    let input = input::read(path)?;
    let name = readable_source(&input.name);
    let (file, most, done) = (&*input.name, settings.rounds.unwrap_or(usize::MAX), RestoredRounds::default());
    let source = str::from_utf8(input.bytes()).ok().and_then(|text| Source::of_file(text).ok());
    let is_document = source.is_some_and(|source| source.values().nth(1).is_none());
    let mut restorer = Restorer { archive: &mut archive, file, name: &name, most, is_document, done };
    let Restored { text, edits } = restorer.restore_all(input.bytes())?;
    let done = restorer.done;
    if edits.is_empty() && *text == *input.bytes() {
        return Err(Failure::unreadable(archive.no_record_message(&name)).into());
    }
    let (readers, reporter) = (Readers::of_result(path), Reporter::new(settings.volume));
    match replaced.zip(path) {
        Some((suffix, path)) => {
            let result = output::replacement(pieces(&text, &edits), path, &readers)?;
            let target = result.place().unwrap_or(path).to_owned();
            let replaced = ReplacedFile { path, target, before: before.as_ref() };
            if let Some(file) = before.as_ref().filter(|_| !settings.force)
                && let Some(warning) = open_files.warning(path, file)
            {
                reporter.handle(&Event::Notice(&warning));
            }
            let copy = suffix.as_ref().map(|suffix| copy_of(path, suffix));
            let others = replaced.replace(result, copy.as_deref())?;
            if others > 0 {
                reporter.handle(&Event::NamesParted { path, others });
            }
        }
        None => output::write(pieces(&text, &edits), output, &readers)?,
    }
    if settings.volume > Volume::Quiet {
        let all = text.split(|byte| *byte == b'\n').filter(|line| !line.trim_ascii().is_empty()).count();
        let damaged = archive.damaged();
        let restored = Event::Restored { archive: archive.path, done: &done, all, damaged: damaged.as_deref() };
        reporter.handle(&restored);
    }
    Ok(Exit::Success)
}

/// Refuses a transcript, an archive and an output that do not go together.
fn check(settings: &RestoreSettings, path: Option<&Path>, output: Option<&Path>, is_in_place: bool) -> Result<()> {
    let (archive, shown) = (&settings.archive, settings.archive.display());
    if is_in_place && path.is_none() {
        return Err(Failure::usage("--in-place: name the transcript that is put back").into());
    }
    if !append::is_lines(archive) {
        let message = format!("restore {shown}: only an archive whose name ends in .jsonl holds what can be put back");
        return Err(Failure::usage(message).into());
    }
    if let Some(output) = output.filter(|_| !is_in_place) {
        output::refuse_input(path, output, true)?;
    }
    output::check(output)?;
    output::refuse_emptied(path)?;
    if output.is_some_and(|output| output::same_place(archive, output)) {
        return Err(Failure::usage(format!("--output {shown} is the archive; write to another file")).into());
    }
    Ok(())
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

    /// The records with this hash that can be of a line: they name this line, or one that has changed since. Many lines
    /// can be equal, so the records of one are not looked at for another.
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
    fn of(text: &'t [u8]) -> Self {
        Restored { text: Cow::Borrowed(text), edits: Vec::new() }
    }

    /// The hash of the text with the edits.
    fn hash(&self) -> String {
        let mut hasher = Hasher::default();
        pieces(&self.text, &self.edits).for_each(|piece| hasher.add(piece));
        hasher.end()
    }

    /// The length and the hash of the longest beginning of the result that ends at a line end and is `known` by its
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

    /// Makes the result the text.
    fn join(&mut self) {
        if !self.edits.is_empty() {
            self.text = pieces(&self.text, &self.edits).collect::<Vec<_>>().concat().into();
            self.edits.clear();
        }
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

    /// The round before the last one that was put back, if there was one.
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
        let mut restored = Restored::of(text);
        loop {
            self.restore_known(&mut restored, None, &mut rounds)?;
            if self.archive.has_lines {
                self.restore_lines(&mut restored, &mut rounds)?;
                if !restored.edits.is_empty() && self.archive.of_whole(&restored.hash()).is_some() {
                    continue;
                }
            }
            let is_change = self.restore_beginning(&mut restored, &mut rounds)?
                || self.restore_document(&mut restored, None, &mut rounds)?;
            if !is_change {
                self.done.rounds = rounds.number;
                self.done.missing = rounds.before_last().filter(|_| rounds.number < self.most);
                return Ok(restored);
            }
        }
    }

    /// Restores each line by itself. The rounds of the line that had most count.
    fn restore_lines(&mut self, restored: &mut Restored<'_>, rounds: &mut Rounds) -> Result<()> {
        restored.join();
        let (mut lines, mut edits, mut start, mut most) = (LineHashes::of(&restored.text), Vec::new(), 0, 0);
        for (index, line) in restored.text.split_inclusive(|byte| *byte == b'\n').enumerate() {
            let content = without_end(line);
            let mut own = Rounds::at_most(rounds.most - rounds.number);
            let mut original = Restored::of(content);
            loop {
                self.restore_known(&mut original, Some((index + 1, &mut lines)), &mut own)?;
                if !self.restore_document(&mut original, Some(index + 1), &mut own)? {
                    break;
                }
            }
            original.join();
            if *original.text != *content {
                self.done.lines.insert(index + 1);
                edits.push(PutBack { range: start..start + content.len(), bytes: original.text.into_owned() });
            }
            most = most.max(own.number);
            start += line.len();
        }
        rounds.number += most;
        restored.edits = edits;
        Ok(())
    }

    /// Restores a text, or a line of one by its number, as often as its hash is known.
    fn restore_known(
        &mut self,
        restored: &mut Restored<'_>,
        mut line: Option<(usize, &mut LineHashes)>,
        rounds: &mut Rounds,
    ) -> Result<()> {
        loop {
            let hash = restored.hash();
            // A whole file that became one line differs from that line: restoring it there would add lines forever.
            let places = match &mut line {
                Some((number, lines)) => lines.places(self.archive, &hash, *number),
                None => self.archive.of_whole(&hash).cloned().unwrap_or_default(),
            };
            let records = self.records(&places, &hash, rounds)?;
            if records.is_empty() {
                return Ok(());
            }
            let number = line.as_ref().map(|(number, _)| *number);
            if rounds.seen.contains(&hash) {
                return Err(self.refused(number, "its records form a circle"));
            }
            // A single line can come from any file.
            let of_file = number.filter(|_| line.as_ref().is_some_and(|(_, lines)| lines.hashes.len() > 1));
            restored.join();
            let edits = match self.put_back(&restored.text, hash, records, of_file, rounds) {
                Ok(edits) if line.is_some() && edits.iter().any(PutBack::has_line_end) => Err(RestoreError::DoesNotFit),
                edits => edits,
            };
            restored.edits = edits.map_err(|why| self.refused(number, &why.to_string()))?;
        }
    }

    /// Restores the longest beginning of a text that a compaction left: lines were appended since. Returns whether there
    /// is one.
    fn restore_beginning(&mut self, restored: &mut Restored<'_>, rounds: &mut Rounds) -> Result<bool> {
        let is_known = |hash: &str| self.archive.of_whole(hash).is_some() && !rounds.seen.contains(hash);
        let Some((end, hash)) = restored.longest_beginning(is_known) else { return Ok(false) };
        let places = self.archive.of_whole(&hash).cloned().unwrap_or_default();
        let records = self.records(&places, &hash, rounds)?;
        if records.is_empty() {
            return Ok(false);
        }
        restored.join();
        let edits = self.put_back(&restored.text[..end], hash, records, None, rounds);
        restored.edits = edits.map_err(|why| self.refused(None, &why.to_string()))?;
        Ok(true)
    }

    /// Reads the records of compactions that left a text with this hash, if their round is to be put back. A record whose
    /// original is the same text changed nothing.
    fn records(&mut self, places: &[RecordPlace], hash: &str, rounds: &Rounds) -> Result<Vec<Record>> {
        let mut records = self.archive.read(places)?;
        records.retain(|record| record.original_sha256 != hash && rounds.take(record));
        Ok(records)
    }

    /// The edits of one round, which its records name.
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

    /// Puts back the messages of the last round of a document that grew. Returns whether there are any.
    fn restore_document(
        &mut self,
        restored: &mut Restored<'_>,
        line: Option<usize>,
        rounds: &mut Rounds,
    ) -> Result<bool> {
        let may_be = self.archive.has_traces() && rounds.number < rounds.most;
        if !may_be || line.is_none() && !self.is_document {
            return Ok(false);
        }
        restored.join();
        let formats: Vec<_> = self.archive.formats.iter().filter_map(|name| by_name(name)).collect();
        let Ok(document) = str::from_utf8(&restored.text) else { return Ok(false) };
        let regrown = regrown::regrown(document, &formats, |trace| self.record_with(trace, line, rounds))?;
        let Some(Regrown { edits, record, shortened }) = regrown else { return Ok(false) };
        if line.is_some() && edits.iter().any(PutBack::has_line_end) {
            return Err(self.refused(line, &RestoreError::DoesNotFit.to_string()));
        }
        rounds.seen.insert(record.number.to_string());
        rounds.add(&record);
        self.done.unproved = true;
        self.done.shortened += shortened;
        restored.edits = edits;
        Ok(true)
    }

    /// The record of the compaction that left a trace in a document, if its round is to be put back. Of several that
    /// shortened a message alike, the last one.
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
