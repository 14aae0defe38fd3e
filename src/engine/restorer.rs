//! Puts back the rounds of one text, the newest first: where the hash of the text, of a line or of a beginning is known, by that;
//! where a list grew, by the entries that it begins with.

use std::borrow::Cow;
use std::collections::{HashMap, HashSet};

use anyhow::Result;

use crate::diagnostic::PROGRAM;
use crate::events::RestoredRounds;
use crate::exit::Failure;
use crate::hash::{Hasher, sha256};
use crate::prune::SHOWN_BY;
use crate::rewrite::growth::{Difference, TextLists};
use crate::rewrite::pieces;
use crate::rewrite::restoring::{self, PutBack, Record, RestoreError, file_of_source, path_components};
use crate::rewrite::way_back::without_end;
use crate::transcript::source::Source;
use crate::wording::NOTE;

use crate::engine::records::{Archive, RecordPlace};

/// The most records that are looked at to tell why a text cannot be restored.
const MOST_EXPLAINED: usize = 16;

/// The restoration of one text.
pub(super) struct Restorer<'p, 'a> {
    archive: &'p mut Archive<'a>,
    /// The name of the text, for messages.
    name: &'p str,
    /// The file of the text.
    file: &'p str,
    /// The records that name this file.
    own: Vec<RecordPlace>,
    /// The most rounds to put back.
    most: usize,
    pub(super) done: RestoredRounds,
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
pub(super) struct Restored<'t> {
    pub(super) text: Cow<'t, [u8]>,
    pub(super) edits: Vec<PutBack>,
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

    /// The length and the hash of each beginning of the result that ends at a line end, and of the whole, that are `known` by
    /// their hash, the longest last. The last line can have been without an end when it was the last.
    fn beginnings(&self, known: impl Fn(&str) -> bool) -> Vec<(usize, String)> {
        let (mut hasher, mut length, mut beginnings) = (Hasher::default(), 0, Vec::new());
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
                        beginnings.push((length + end, hash));
                    }
                }
                hasher.add(&line[added..]);
                length += line.len();
            }
        }
        let hash = hasher.end();
        if known(&hash) {
            beginnings.push((length, hash));
        }
        beginnings
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
    /// The record of the last one.
    last: Option<Undone>,
    /// The hashes of the texts whose records were used.
    seen: HashSet<String>,
    /// The hashes before and after of each run that was put back.
    used: HashSet<(String, String)>,
    /// The number of those that were told by what a list begins with.
    grown: usize,
}

/// What is known of a round that was put back.
struct Undone {
    round: u32,
    /// The time that its record names.
    time: String,
    file: String,
    /// The hash of the text before it.
    original: String,
    /// The line of its record in the archive.
    line: usize,
}

impl Rounds {
    fn at_most(most: usize) -> Self {
        Rounds { most, ..Rounds::default() }
    }

    /// Whether a record is of the same run as the one before. A run that repairs a text writes several.
    fn is_same_run(&self, record: &Record) -> bool {
        self.last.as_ref().is_some_and(|last| !last.time.is_empty() && last.time == record.summarized_at)
    }

    /// Whether the round of a record is to be put back.
    fn take(&self, record: &Record) -> bool {
        self.number < self.most || self.is_same_run(record)
    }

    fn add(&mut self, record: &Record) {
        self.used.insert((record.original_sha256.clone(), record.result_sha256.clone()));
        self.number += usize::from(!self.is_same_run(record));
        self.last = Some(Undone {
            round: record.round,
            time: record.summarized_at.clone(),
            file: record.file().to_owned(),
            original: record.original_sha256.clone(),
            line: record.number,
        });
    }

    /// The round before the last one that was put back, if there was one.
    fn before_last(&self) -> Option<u32> {
        self.last.as_ref()?.round.checked_sub(1).filter(|round| *round > 0)
    }
}

impl<'p, 'a> Restorer<'p, 'a> {
    /// A restoration of the text of a file, which messages call `name`, by at most so many rounds.
    pub(super) fn new(archive: &'p mut Archive<'a>, file: &'p str, name: &'p str, rounds: Option<usize>) -> Self {
        let own = archive.of_file(file);
        let most = rounds.unwrap_or(usize::MAX);
        Restorer { archive, name, file, own, most, done: RestoredRounds::default() }
    }

    /// Restores the whole text, its lines, a beginning of it and lists that grew, in turns, until nothing changes. That
    /// ends: a line stays one line, its original has no record, and no record of a whole text is used twice. Returns a
    /// text, and the edits that restore it further.
    ///
    /// # Errors
    /// The archive has nothing of the text, or what it has is not proved.
    pub(super) fn restore_all<'t>(&mut self, text: &'t [u8]) -> Result<Restored<'t>> {
        match self.restore_if_any(text)? {
            Some(restored) => Ok(restored),
            None => Err(self.no_record(text)?.into()),
        }
    }

    /// The same; nothing where the archive has nothing of the text.
    ///
    /// # Errors
    /// What the archive has is not proved.
    pub(super) fn restore_if_any<'t>(&mut self, text: &'t [u8]) -> Result<Option<Restored<'t>>> {
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
                || self.restore_grown(&mut restored, None, &mut rounds)?;
            if !is_change {
                break;
            }
        }
        self.done.rounds = rounds.number;
        self.done.grown += rounds.grown;
        let missing = rounds.before_last().filter(|_| rounds.number < self.most);
        if restored.edits.is_empty() && *restored.text == *text {
            return Ok(None);
        }
        if rounds.number < self.most
            && let Some(id) = self.named_and_not_used(&mut restored, &rounds)?
        {
            let rounds = rounds.number;
            let why =
                format!("what the run of record {id} left was changed since; --rounds {rounds} takes back the others");
            return Err(self.refused(None, &why));
        }
        if let Some(round) = missing {
            restored.join();
            if let Some(why) = self.why_not(&restored.text, Some(round))? {
                let rounds = rounds.number;
                let why = format!("round {round} is not proved: {why}; --rounds {rounds} takes back the later ones");
                return Err(self.refused(None, &why));
            }
        }
        self.done.missing = missing;
        if rounds.number < self.most {
            self.done.notes_left = notes_in(&restored);
        }
        Ok(Some(restored))
    }

    /// The id of a record that a note in the restored text names and that was not used.
    fn named_and_not_used(&mut self, restored: &mut Restored<'_>, rounds: &Rounds) -> Result<Option<String>> {
        if !self.done.lines.is_empty() {
            return Ok(None);
        }
        restored.join();
        for id in named_ids(&String::from_utf8_lossy(&restored.text)) {
            let places = self.archive.with_id(&id);
            for record in self.archive.read(&places)? {
                if !rounds.used.contains(&(record.original_sha256, record.result_sha256)) {
                    return Ok(Some(id));
                }
            }
        }
        Ok(None)
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
                if !self.restore_grown(&mut original, Some(index + 1), &mut own)? {
                    break;
                }
            }
            original.join();
            if *original.text != *content {
                self.done.lines.insert(index + 1);
                edits.push(PutBack { range: start..start + content.len(), bytes: original.text.into_owned() });
            }
            most = most.max(own.number);
            self.done.grown = self.done.grown.max(own.grown);
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
        let is_known = |hash: &str| self.archive.of_whole(hash).is_some() || self.archive.originals.contains(hash);
        let beginnings = restored.beginnings(is_known);
        let begins_with = |original: &str| beginnings.iter().any(|(_, hash)| hash == original);
        let mut longest = None;
        for (end, hash) in &beginnings {
            // Several runs can have left the same text. Where the text begins with the original of one, that one is undone.
            let originals = self.archive.originals_of(hash);
            let is_open = |original: &&String| {
                !begins_with(original) && !rounds.used.contains(&((*original).clone(), hash.clone()))
            };
            if self.archive.of_whole(hash).is_some() && originals.iter().any(|original| is_open(&original)) {
                longest = Some((*end, hash.clone()));
            }
        }
        let Some((end, hash)) = longest else { return Ok(false) };
        let places = self.archive.of_whole(&hash).cloned().unwrap_or_default();
        let mut records = self.records(&places, &hash, rounds)?;
        records.retain(|record| {
            let run = (record.original_sha256.clone(), record.result_sha256.clone());
            !begins_with(&record.original_sha256) && !rounds.used.contains(&run)
        });
        if records.is_empty() {
            return Ok(false);
        }
        restored.join();
        rounds.grown += usize::from(!rounds.is_same_run(&records[0]));
        let edits = self.put_back(&restored.text[..end], hash, records, None, rounds);
        restored.edits = edits.map_err(|why| self.refused(None, &why.to_string()))?;
        end_last_line(restored, end);
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
        let records = restoring::of_one_original(records, line)?;
        records.first().into_iter().for_each(|record| rounds.add(record));
        restoring::edits_to_original(text, line, records)
    }

    /// Puts back the last round of a text whose list begins with what a run left. Returns whether there is one.
    fn restore_grown(&mut self, restored: &mut Restored<'_>, line: Option<usize>, rounds: &mut Rounds) -> Result<bool> {
        if self.archive.by_left.is_empty() {
            return Ok(false);
        }
        restored.join();
        let Ok(text) = str::from_utf8(&restored.text) else { return Ok(false) };
        let Ok(source) = Source::of_file(text) else { return Ok(false) };
        let mut lists = TextLists::new(text, &source);
        let Some(records) = self.run_that_left(&mut lists, text, line, rounds)? else { return Ok(false) };
        if let Err(difference) = lists.check(&records) {
            return Err(self.refused(line, &difference.sentence(&records[0].summarized_at)));
        }
        let put_back = lists.put_back(&records).map_err(|why| self.refused(line, &why.to_string()))?;
        if line.is_some() && put_back.contains('\n') {
            return Err(self.refused(line, &RestoreError::DoesNotFit.to_string()));
        }
        rounds.grown += usize::from(!rounds.is_same_run(&records[0]));
        rounds.seen.insert(records[0].result_sha256.clone());
        rounds.add(&records[0]);
        restored.text = Cow::Owned(put_back.into_bytes());
        Ok(true)
    }

    /// The records of the last run of those that left what a list of the text begins with. Of several runs that left this in
    /// the same list, the one that left most.
    fn run_that_left(
        &mut self,
        lists: &mut TextLists<'_>,
        text: &str,
        line: Option<usize>,
        rounds: &Rounds,
    ) -> Result<Option<Vec<Record>>> {
        let mut last: Option<Record> = None;
        for pointer in self.archive.pointers.clone() {
            let found = self.archive.that_left(&lists.at(pointer.as_deref()).hashes);
            for places in found {
                let mut records = self.archive.read(&places)?;
                records.retain(|record| {
                    let is_of_list = record.changed.as_ref().is_some_and(|changed| changed.list == pointer);
                    // A document on one line is a line, until it is spread over several. A run that only removed something
                    // left what other lines can begin with, too.
                    let may_be = record.line.is_some() && (record.wrote_entry() || record.line == line);
                    is_of_list && (line.is_none() || may_be) && self.may_be_of(record, text, rounds)
                });
                records.retain(|record| !lists.begins_with_original(record));
                if records.is_empty() {
                    continue;
                }
                if records.iter().any(|record| self.is_near(record, text, rounds)) {
                    records.retain(|record| self.is_near(record, text, rounds));
                }
                if records.iter().any(|record| is_named(record, text)) {
                    records.retain(|record| is_named(record, text));
                }
                let one = self.of_one_run(records, line)?;
                if last.as_ref().is_none_or(|last| last.summarized_at <= one.summarized_at) {
                    last = Some(one);
                }
                break;
            }
        }
        last.map(|one| self.whole_run(one, line)).transpose()
    }

    /// Whether a record that fits can be of this text: the text begins with what its run left, and that is not what other
    /// texts begin with, too.
    fn may_be_of(&self, record: &Record, text: &str, rounds: &Rounds) -> bool {
        let run = (record.original_sha256.clone(), record.result_sha256.clone());
        if rounds.used.contains(&run) || !rounds.take(record) {
            return false;
        }
        // Clocks can differ.
        let is_before = rounds.last.as_ref().is_none_or(|last| {
            record.summarized_at <= last.time || record.round < last.round || record.number < last.line
        });
        let is_told = record.wrote_entry() || self.archive.has_one_file() || self.is_near(record, text, rounds);
        is_before && is_told
    }

    /// Whether something beside the entries tells that a record is of this text: its id, the name of its file, or the round
    /// behind it.
    fn is_near(&self, record: &Record, text: &str, rounds: &Rounds) -> bool {
        if is_named(record, text) || self.is_own(record) {
            return true;
        }
        match &rounds.last {
            None => self.own.is_empty() && has_same_name(record.file(), self.file),
            Some(last) => has_same_name(record.file(), &last.file) || last.original == record.result_sha256,
        }
    }

    fn is_own(&self, record: &Record) -> bool {
        path_components(record.file()) == path_components(file_of_source(self.file))
    }

    /// One of several records that left the same, if what stood there before is the same too.
    fn of_one_run(&self, mut records: Vec<Record>, line: Option<usize>) -> Result<Record> {
        let before = |record: &Record| record.changed.as_ref().map(|changed| changed.before_sha256.clone());
        let is_one = |records: &[Record]| records.windows(2).all(|two| before(&two[0]) == before(&two[1]));
        let names = records.iter().map(Record::name).collect();
        if !is_one(&records)
            && let Some(last) = restoring::last_at_the_end(&records)
        {
            return Ok(last.clone());
        }
        if !is_one(&records) {
            records.retain(|record| line.is_some() && record.line == line);
        }
        match records.pop() {
            Some(record) if is_one(&records) && records.iter().all(|other| before(other) == before(&record)) => {
                Ok(record)
            }
            _ => Err(self.refused(line, &RestoreError::ambiguous(names).to_string())),
        }
    }

    /// All records of the run that wrote one: a text can have several lists.
    fn whole_run(&mut self, one: Record, line: Option<usize>) -> Result<Vec<Record>> {
        let by_line = self.archive.by_result.get(&one.result_sha256);
        let places = by_line.and_then(|by_line| by_line.get(&one.line)).cloned().unwrap_or_default();
        let lists = one.changed.as_ref().map_or(1, |changed| changed.lists);
        if lists == 1 {
            return Ok(vec![one]);
        }
        let mut run: Vec<Record> = Vec::new();
        for record in self.archive.read(&places)? {
            let is_new = run.iter().all(|other| other.changed != record.changed);
            if is_new && record.original_sha256 == one.original_sha256 && record.changed.is_some() {
                run.push(record);
            }
        }
        if run.len() == lists { Ok(run) } else { Err(self.refused(line, &RestoreError::NotTheOriginal.to_string())) }
    }

    /// Why no record of this file, or of one of its rounds, restores a text: the first thing that is not as the last run left
    /// it. Nothing where the archive has no such record.
    fn why_not(&mut self, text: &[u8], round: Option<u32>) -> Result<Option<String>> {
        let places =
            if self.own.is_empty() && round.is_none() { self.archive.last(MOST_EXPLAINED) } else { self.own.clone() };
        let places = &places[places.len().saturating_sub(MOST_EXPLAINED)..];
        let Ok(text) = str::from_utf8(text) else { return Ok(None) };
        let Ok(source) = Source::of_file(text) else { return Ok(None) };
        let mut lists = TextLists::new(text, &source);
        let mut nearest: Option<(Difference, String)> = None;
        for record in self.archive.read(places)? {
            let is_of_line = record.line.is_some() && source.values().nth(1).is_some();
            if is_of_line || round.is_some_and(|round| record.round != round) {
                continue;
            }
            if let Err(difference) = lists.check(std::slice::from_ref(&record))
                && nearest.as_ref().is_none_or(|(other, _)| other.same <= difference.same)
            {
                nearest = Some((difference, record.summarized_at));
            }
        }
        // A text that has nothing in common with a run is of another conversation.
        let nearest = nearest.filter(|(difference, _)| difference.same > 0 || !self.own.is_empty());
        Ok(nearest.map(|(difference, time)| difference.sentence(&time)))
    }

    /// The error that nothing of a text is put back.
    fn no_record(&mut self, text: &[u8]) -> Result<Failure> {
        let name = self.name;
        if self.archive.is_original(text) {
            let damaged = self.archive.damaged().map(|damage| format!("; {damage}")).unwrap_or_default();
            let message =
                format!("{name}: it is as it was before it was compacted; nothing is to be put back{damaged}");
            return Ok(Failure::unreadable(message));
        }
        let mut message = self.archive.no_record_message(name);
        if let Some(why) = self.why_not(text, None)? {
            message += &format!("; {why}");
        }
        Ok(Failure::unreadable(message))
    }

    fn refused(&self, line: Option<usize>, why: &str) -> anyhow::Error {
        let at = line.map(|line| format!(" line {line}")).unwrap_or_default();
        let archive = self.archive.path.display();
        Failure::unreadable(format!("{}{at}: {archive} cannot be used: {why}", self.name)).into()
    }
}

/// Ends the last line of a restored beginning where lines stand behind it: the original can have been without a line end,
/// when its last line was the last of the file.
fn end_last_line(restored: &mut Restored<'_>, end: usize) {
    let (left, appended) = restored.text.split_at(end);
    let last = pieces(left, &restored.edits).filter(|piece| !piece.is_empty()).last();
    if last.is_none_or(|piece| piece.ends_with(b"\n")) || matches!(appended.first(), None | Some(b'\n' | b'\r')) {
        return;
    }
    let line_end = if left.ends_with(b"\r\n") { "\r\n" } else { "\n" };
    restored.edits.push(PutBack { range: end..end, bytes: line_end.into() });
}

/// The number of notes of pruned content in a text.
fn notes_in(restored: &Restored<'_>) -> usize {
    let finder = memchr::memmem::Finder::new(NOTE);
    pieces(&restored.text, &restored.edits).map(|piece| finder.find_iter(piece).count()).sum()
}

/// Whether a text names the id of a record.
fn is_named(record: &Record, text: &str) -> bool {
    !record.id.is_empty() && memchr::memmem::find(text.as_bytes(), record.id.as_bytes()).is_some()
}

/// Whether two files can be the same one, by their last names. Standard input can be any.
fn has_same_name(one: &str, other: &str) -> bool {
    let (one, other) = (file_of_source(one), file_of_source(other));
    let last_names = [one, other].map(|path| path_components(path).pop());
    one == "-" || other == "-" || last_names[0] == last_names[1]
}

/// The ids of records that the notes of pruned results and of summaries in a text name.
fn named_ids(text: &str) -> HashSet<String> {
    const DIGITS: usize = 8;
    let mut ids = HashSet::new();
    let shown_by = format!("{SHOWN_BY}{PROGRAM} show ");
    let forms = [(&*shown_by, ""), ("; it is kept in ", " as "), (" finds what this summarizes", " (record ")];
    for (before, behind) in forms {
        for (at, _) in text.match_indices(before) {
            let rest = &text[at + before.len()..];
            let Some(start) = rest.find(behind).filter(|start| *start < 4096) else { continue };
            let id = rest[start + behind.len()..].get(..DIGITS);
            ids.extend(id.filter(|id| id.bytes().all(|byte| byte.is_ascii_hexdigit())).map(str::to_owned));
        }
    }
    ids
}
