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
use crate::rewrite::regrown::{self, Regrown};
use crate::rewrite::restoring::{self, PutBack, Record, RestoreError, without_end};
use crate::settings::{RestoreSettings, Volume};
use crate::transcript::formats::by_name;
use crate::wording::readable_source;

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
    let (file, most, done) = (&*input.name, settings.rounds.unwrap_or(usize::MAX), RestoredRounds::default());
    let mut restorer = Restorer { archive: &mut archive, file, name: &name, most, done };
    let Restored { text, edits } = restorer.restore_all(input.bytes())?;
    let done = restorer.done;
    if edits.is_empty() && text == input.bytes() {
        return Err(Failure::unreadable(archive.no_record_message(&name)).into());
    }
    output::write(pieces(&text, &edits), output, &Readers::of([Some(archive.path), path]))?;
    if settings.volume > Volume::Quiet {
        let all = text.split(|byte| *byte == b'\n').filter(|line| !line.trim_ascii().is_empty()).count();
        let damaged = archive.damaged();
        let restored = Event::Restored { archive: archive.path, done: &done, all, damaged: damaged.as_deref() };
        notify(&Reporter::new(settings.volume), restored);
    }
    Ok(Exit::Success)
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
    /// Restores the whole text and its lines, in turns, until neither changes. That ends: a line stays one line, its
    /// original has no record, and no record of a whole text or of a summary is used twice. Returns a text, and the edits
    /// that restore it further.
    fn restore_all<'t>(&mut self, text: &'t [u8]) -> Result<Restored<'t>> {
        let mut rounds = Rounds::at_most(self.most);
        let mut restored = Restored::of(Cow::Borrowed(text));
        loop {
            restored = self.restore_text(restored, None, &mut rounds)?;
            if self.archive.has_lines {
                restored = self.restore_lines(restored.joined(), &mut rounds)?;
            }
            if restored.edits.is_empty() || self.archive.of_whole(&restored.hash()).is_none() {
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
            let place = Some((index + 1, &mut lines));
            let original = self.restore_text(Restored::of(Cow::Borrowed(content)), place, &mut own)?.joined();
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

    /// Restores a text, or a line of one by its number, until no record is left.
    fn restore_text<'t>(
        &mut self,
        text: Restored<'t>,
        mut line: Option<(usize, &mut LineHashes)>,
        rounds: &mut Rounds,
    ) -> Result<Restored<'t>> {
        let mut restored = text;
        loop {
            let hash = restored.hash();
            // A whole file that became one line differs from that line: restoring it there would add lines forever.
            let (known, places) = match &mut line {
                Some((number, lines)) => (None, lines.places(self.archive, &hash, *number)),
                None => match self.archive.of_whole(&hash) {
                    Some(places) => (None, places.clone()),
                    None => self.beginning(&restored, rounds).unwrap_or_default(),
                },
            };
            let mut records = self.archive.read(&places)?;
            // A record whose original is the same text changed nothing.
            let (end, hash) = known.unwrap_or((usize::MAX, hash));
            records.retain(|record: &Record| record.original_sha256 != hash);
            let Some(first) = records.first() else {
                match self.restore_document(restored, line.is_some(), rounds)? {
                    (more, true) => restored = more,
                    (done, false) => return Ok(done),
                }
                continue;
            };
            if !rounds.take(first) {
                return Ok(restored);
            }
            let text = restored.joined();
            let number = line.as_ref().map(|(number, _)| *number);
            if !rounds.seen.insert(hash) {
                return Err(self.refused(number, "its records lead back to themselves"));
            }
            rounds.add(first);
            // A single line can come from any file.
            let of_file = line.as_ref().filter(|(_, lines)| lines.hashes.len() > 1).map(|(number, _)| *number);
            let edits = restoring::edits_to_original(&text[..end.min(text.len())], self.file, of_file, records);
            let edits = match edits {
                Ok(edits) if line.is_some() && edits.iter().any(|edit| edit.bytes.contains(&b'\n')) => {
                    Err(RestoreError::DoesNotFit)
                }
                edits => edits,
            };
            restored = Restored { text, edits: edits.map_err(|why| self.refused(number, &why.to_string()))? };
        }
    }

    /// Returns the longest beginning that a compaction left, as its length and hash, with its records.
    fn beginning(&self, text: &Restored<'_>, rounds: &Rounds) -> Option<(Option<(usize, String)>, Vec<RecordPlace>)> {
        let is_known = |hash: &str| self.archive.of_whole(hash).is_some() && !rounds.seen.contains(hash);
        let (end, hash) = text.longest_beginning(is_known)?;
        let places = self.archive.of_whole(&hash)?.clone();
        Some((Some((end, hash)), places))
    }

    /// Puts back the messages of the last round of a document that grew. Returns whether there was one.
    fn restore_document<'t>(
        &mut self,
        text: Restored<'t>,
        is_line: bool,
        rounds: &mut Rounds,
    ) -> Result<(Restored<'t>, bool)> {
        // The record of what was put back says whether a summary stands before it.
        let may_have_more = rounds.last.is_none() || rounds.before_last().is_some();
        if self.archive.by_summary.is_empty() || !may_have_more {
            return Ok((text, false));
        }
        let text = text.joined();
        let formats: Vec<_> = self.archive.formats.iter().filter_map(|name| by_name(name)).collect();
        let Ok(document) = str::from_utf8(&text) else { return Ok((Restored::of(text), false)) };
        let regrown = regrown::regrown(document, &formats, |hash| self.record_of_summary(hash, rounds))?;
        let Some(Regrown { edits, record, summary_sha256, shortened }) = regrown else {
            return Ok((Restored::of(text), false));
        };
        if is_line && edits.iter().any(|edit| edit.bytes.contains(&b'\n')) {
            return Err(self.refused(None, &RestoreError::DoesNotFit.to_string()));
        }
        rounds.seen.insert(summary_sha256);
        rounds.add(&record);
        self.done.unproved = true;
        self.done.shortened += shortened;
        Ok((Restored { text, edits }, true))
    }

    /// Returns the record of the compaction that left a summary with this hash, if its round is to be put back.
    fn record_of_summary(&mut self, hash: &str, rounds: &Rounds) -> Result<Option<Record>> {
        let Some(places) = self.archive.by_summary.get(hash).filter(|_| !rounds.seen.contains(hash)).cloned() else {
            return Ok(None);
        };
        let records = self.archive.read(&places)?;
        let one = restoring::of_one_original(records, self.file, None, Record::has_same_messages);
        let one = one.map_err(|why| self.refused(None, &why.to_string()))?.into_iter().next();
        Ok(one.filter(|record| rounds.take(record)))
    }

    fn refused(&self, line: Option<usize>, why: &str) -> anyhow::Error {
        let at = line.map(|line| format!(" line {line}")).unwrap_or_default();
        let archive = self.archive.path.display();
        Failure::unreadable(format!("{}{at}: {archive} cannot be used: {why}", self.name)).into()
    }
}
