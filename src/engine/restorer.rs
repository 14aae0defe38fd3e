//! Puts back the rounds of one text, the newest first: where the hash of the text, of a line or of a beginning is known, by that;
//! where a list grew, by the entries that it begins with.

mod broken_runs;
mod lines;
mod messages_set;
mod rounds;
mod steps;
mod text;
mod what_is_missing;
mod which_run;

use std::borrow::Cow;
use std::collections::HashMap;

use anyhow::Result;

use crate::events::RestoredRounds;
use crate::exit::Failure;
use crate::rewrite::growth::TextLists;
use crate::rewrite::restoring::{self, PutBack, Record, RestoreError};
use crate::transcript::source::Source;

use crate::engine::archive::Archive;
use crate::engine::broken_records::BrokenRun;
use crate::engine::records::RecordPlace;

pub(super) use broken_runs::why_refused;
pub(super) use messages_set::lines_that_set_all_messages;
pub(super) use rounds::LostRun;
pub(super) use text::Restored;
pub(super) use which_run::has_same_name;

use rounds::{Rounds, run_of};
use text::{TextLines, end_last_line};
use which_run::ReadText;

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
    /// Whether a line of the text begins with what a run left on the line of this number of a file.
    lines_in_place: HashMap<(String, usize), bool>,
    /// For the line of a record in the archive, the line of the text that it names, where that is in its place.
    lines_of_records: HashMap<usize, usize>,
    pub(super) done: RestoredRounds,
}

impl<'p, 'a> Restorer<'p, 'a> {
    /// A restoration of the text of a file, which messages call `name`, by at most so many rounds.
    pub(super) fn new(archive: &'p mut Archive<'a>, file: &'p str, name: &'p str, rounds: Option<usize>) -> Self {
        let own = archive.of_file(file, None);
        let most = rounds.unwrap_or(usize::MAX);
        Restorer {
            archive,
            name,
            file,
            own,
            most,
            lines_in_place: HashMap::new(),
            lines_of_records: HashMap::new(),
            done: RestoredRounds::default(),
        }
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

    /// The same; nothing where the archive has nothing of the text. A round that the archive has and that is not proved is only
    /// noted: another archive can have a run between that round and those that were put back.
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
                || self.restore_grown(&mut restored, None, &[], &mut rounds)?;
            if !is_change {
                break;
            }
        }
        self.done.rounds = rounds.number;
        self.done.grown += rounds.grown;
        self.done.newest_run_time = rounds.newest_run_time.clone();
        self.done.files.extend(rounds.files.iter().cloned());
        let missing = if rounds.number < self.most { rounds.before_last() } else { None };
        self.done.undone_before = self.done.undone_before.take().or(rounds.last_undone_before().cloned());
        if restored.edits.is_empty() && *restored.text == *text {
            return Ok(None);
        }
        self.refuse_lost_run(None, &rounds, 0)?;
        self.refuse_half_run(None, &rounds)?;
        if self.done.lines.is_empty() {
            restored.join();
            if let Some(why) = self.edited_run(text, &restored.text, None, &rounds)? {
                return Err(self.refused(None, &why));
            }
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
                self.done.unproved = Some(self.refused(None, &why).to_string());
            }
        }
        self.done.missing = missing;
        self.done.on_other_file = self.done.on_other_file.take().or(rounds.on_other_file.take());
        if rounds.number < self.most {
            self.done.notes_left = self.notes_without_record(&restored);
        }
        self.done.lost = self.done.lost.take().or(rounds.lost.as_ref().map(|lost| lost.id.clone()));
        let may_be_broken = !self.archive.broken.is_empty() && self.done.lines.is_empty();
        if may_be_broken && self.done.lost.is_none() && rounds.number < self.most {
            restored.join();
            self.done.lost = self.broken_run_before(&restored.text, &rounds);
        }
        Ok(Some(restored))
    }

    /// Restores a text, or a line of one by its number, as often as its hash is known.
    fn restore_known(
        &mut self,
        restored: &mut Restored<'_>,
        mut line: Option<(usize, &mut TextLines<'_>)>,
        rounds: &mut Rounds,
    ) -> Result<()> {
        loop {
            let hash = restored.hash();
            // A whole file that became one line differs from that line: restoring it there would add lines forever.
            let places = match &mut line {
                Some((number, lines)) => {
                    let moved = lines.hashes.moved_places(self.archive, &hash);
                    let mut places = self.not_of_other_lines(moved, *number, &lines.all, rounds)?;
                    places.extend(lines.hashes.own_places(self.archive, &hash, *number));
                    places
                }
                None => self.archive.of_whole(&hash).cloned().unwrap_or_default(),
            };
            let number = line.as_ref().map(|(number, _)| *number);
            let records = self.records(&places, &hash, number, rounds)?;
            if records.is_empty() {
                return Ok(());
            }
            if rounds.seen.contains(&hash) {
                return Err(self.refused(number, "its records form a circle"));
            }
            // A single line can come from any file.
            let of_file = match &line {
                Some((number, lines)) if lines.all.len() > 1 => Some(*number),
                _ => None,
            };
            restored.join();
            if !self.is_last_run(&restored.text, number, &records, rounds)? {
                return Ok(());
            }
            for broken in &self.archive.broken {
                // Several lines can have become the same.
                let is_of_other_line = broken.line().is_some() && broken.line() != number && records[0].line == number;
                let is_last = broken.left(&hash) && !broken.found(&records[0].original_sha256) && !is_of_other_line;
                if is_last && let Some(why) = why_refused(self.archive, broken, BrokenRun::LeftText) {
                    return Err(self.refused(number, &why));
                }
            }
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
        let mut longest: Option<(usize, Vec<Record>)> = None;
        for (end, hash) in &beginnings {
            let places = self.archive.of_whole(hash).cloned().unwrap_or_default();
            let mut open = Vec::new();
            // Several runs can have left the same text.
            for record in self.archive.read(&places)? {
                if rounds.used.contains(&run_of(&record)) {
                    continue;
                }
                let first = self.first_step(&record)?;
                let original = &first.as_ref().unwrap_or(&record).original_sha256;
                // A beginning that is shorter than what a run left is no sign that the run was put back.
                let is_undone = beginnings.iter().any(|(length, hash)| hash == original && length > end);
                if is_undone && !rounds.is_step_before_last(&record) {
                    self.note_undone(record, rounds);
                } else {
                    open.push(record);
                }
            }
            if !open.is_empty() {
                longest = Some((*end, open));
            }
        }
        let Some((end, open)) = longest else { return Ok(false) };
        let hash = open[0].result_sha256.clone();
        let records = self.that_may_be_put_back(open, &hash, None, rounds)?;
        restored.join();
        if records.is_empty() || !self.is_last_run_on_beginning(&restored.text, &records, rounds)? {
            return Ok(false);
        }
        self.refuse_broken_run(&restored.text, None, &records[0], rounds)?;
        rounds.grown += usize::from(!rounds.is_same_run(&records[0]));
        let edits = self.put_back(&restored.text[..end], hash, records, None, rounds);
        restored.edits = edits.map_err(|why| self.refused(None, &why.to_string()))?;
        end_last_line(restored, end);
        Ok(true)
    }

    /// Notes a run that counts as put back before.
    fn note_undone(&self, record: Record, rounds: &mut Rounds) {
        if self.archive.has_one_file() || self.is_of_file(&record, rounds) {
            rounds.undone_before.insert(run_of(&record), record.summarized_at);
        }
    }

    /// Reads the records of compactions that left a text with this hash, if their round is to be put back. A record whose
    /// original is the same text changed nothing.
    fn records(
        &mut self,
        places: &[RecordPlace],
        hash: &str,
        line: Option<usize>,
        rounds: &Rounds,
    ) -> Result<Vec<Record>> {
        let records = self.archive.read(places)?;
        self.that_may_be_put_back(records, hash, line, rounds)
    }

    /// Of the records of runs that left a text with this hash, those whose round is to be put back.
    ///
    /// # Errors
    /// There are only records of runs of which a step is missing.
    fn that_may_be_put_back(
        &mut self,
        mut records: Vec<Record>,
        hash: &str,
        line: Option<usize>,
        rounds: &Rounds,
    ) -> Result<Vec<Record>> {
        records.retain(|record| record.original_sha256 != hash && rounds.take(record));
        let mut outer = Vec::new();
        for record in records {
            if !self.is_inner_step(&record, rounds)? {
                outer.push(record);
            }
        }
        let records = self.of_this_file(outer, rounds);
        self.of_whole_runs(records, line, rounds)
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
        // Of a run that was repeated, the last time counts.
        if let Some(record) = records.iter().max_by_key(|record| &record.summarized_at) {
            self.add_round(record, rounds);
        }
        restoring::edits_to_original(text, line, records)
    }

    /// Puts back the last round of a text whose list begins with what a run left. Returns whether there is one.
    /// `all` are the lines of which it is one.
    fn restore_grown(
        &mut self,
        restored: &mut Restored<'_>,
        line: Option<usize>,
        all: &[&[u8]],
        rounds: &mut Rounds,
    ) -> Result<bool> {
        if self.archive.by_left.is_empty() {
            return Ok(false);
        }
        restored.join();
        let Ok(text) = str::from_utf8(&restored.text) else { return Ok(false) };
        let Ok(source) = Source::of_file(text) else { return Ok(false) };
        let mut lists = TextLists::new(text, &source);
        let Some(records) =
            self.run_that_left(&mut ReadText { text, lists: &mut lists, line, all, is_known: false }, rounds)?
        else {
            return Ok(false);
        };
        let records = self.of_whole_runs(records, line, rounds)?;
        if let Err(difference) = lists.check(&records) {
            return Err(self.refused(line, &difference.sentence(&records[0].summarized_at)));
        }
        self.refuse_broken_run(&restored.text, line, &records[0], rounds)?;
        let put_back = lists.put_back(&records).map_err(|why| self.refused(line, &why.to_string()))?;
        if line.is_some() && put_back.contains('\n') {
            return Err(self.refused(line, &RestoreError::DoesNotFit.to_string()));
        }
        rounds.grown += usize::from(!rounds.is_same_run(&records[0]));
        rounds.seen.insert(records[0].result_sha256.clone());
        self.add_round(&records[0], rounds);
        restored.text = Cow::Owned(put_back.into_bytes());
        Ok(true)
    }

    /// Counts a record as put back.
    fn add_round(&self, record: &Record, rounds: &mut Rounds) {
        rounds.add(record);
        if rounds.lost.is_none()
            && let Some(id) = self.archive.lost_run(record.previous.as_deref())
        {
            rounds.lost = Some(LostRun { id, rounds: rounds.number });
        }
    }

    /// Refuses to go back to before a run that the archive does not have. `done` is the number of rounds that were put back of
    /// the whole text before its lines.
    ///
    /// # Errors
    /// There is such a run, and more was put back than the rounds behind it.
    fn refuse_lost_run(&self, line: Option<usize>, rounds: &Rounds, done: usize) -> Result<()> {
        let Some(lost) = &rounds.lost else { return Ok(()) };
        if rounds.number <= lost.rounds {
            return Ok(());
        }
        let lost = LostRun { rounds: lost.rounds + done, ..lost.clone() };
        Err(self.refused(line, &lost.sentence()))
    }

    fn refused(&self, line: Option<usize>, why: &str) -> anyhow::Error {
        let at = line.map(|line| format!(" line {line}")).unwrap_or_default();
        let archive = self.archive.path.display();
        Failure::unreadable(format!("{}{at}: {archive} cannot be used: {why}", self.name)).into()
    }
}
