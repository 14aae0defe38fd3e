//! Which run left what a list of a text begins with: what the list begins with is the proof; where several runs left the
//! same, ids and names decide.

use std::cmp::Ordering;

use anyhow::Result;

use crate::rewrite::growth::TextLists;
use crate::rewrite::restoring::{self, Record, RestoreError, path_components};
use crate::transcript::source::Source;

use super::Restorer;
use super::lines::named_line_begins_with_left;
use super::rounds::{Rounds, run_of};
use crate::events::RunOnOtherFile;

/// The most runs of which each is compared with each.
const MOST_COMPARED: usize = 16;

/// A text of which the last run is looked for, or a line of it.
pub(super) struct ReadText<'l, 'a> {
    pub(super) text: &'a str,
    pub(super) lists: &'l mut TextLists<'a>,
    pub(super) line: Option<usize>,
    /// The lines of the text that it is one of.
    pub(super) all: &'l [&'l [u8]],
    /// Whether its hash is known: runs that only removed something from other files are compared with its run, too.
    pub(super) is_known: bool,
}

impl Restorer<'_, '_> {
    /// The records of the last run of those that left what the lists of a text begin with.
    pub(super) fn run_that_left(
        &mut self,
        read: &mut ReadText<'_, '_>,
        rounds: &mut Rounds,
    ) -> Result<Option<Vec<Record>>> {
        let mut last: Option<Record> = None;
        for pointer in self.archive.pointers.clone() {
            let Some(one) = self.last_run_of_list(pointer.as_deref(), read, rounds)? else { continue };
            if last.as_ref().is_none_or(|last| !is_later(last, &one)) {
                last = Some(one);
            }
        }
        match last {
            Some(record) => Ok(Some(self.whole_run(record, read.line)?)),
            None => Ok(None),
        }
    }

    /// A record of the last run of those that left what a list of a text begins with.
    fn last_run_of_list(
        &mut self,
        pointer: Option<&str>,
        read: &mut ReadText<'_, '_>,
        rounds: &mut Rounds,
    ) -> Result<Option<Record>> {
        let line = read.line;
        let (mut fitting, mut of_other_files) = (Vec::new(), Vec::new());
        for mut places in self.archive.that_left(&read.lists.at(pointer).hashes) {
            if !read.all.is_empty() {
                places.retain(|place| !self.is_of_other_line(*place, line, rounds));
            }
            for record in self.archive.read(&places)? {
                let Some(changed) = &record.changed else { continue };
                if changed.list.as_deref() != pointer || !self.is_open(&record, rounds) {
                    continue;
                }
                // A document on one line is a line, until it is spread over several. A run that only removed something
                // left what other lines can begin with, too.
                let is_of_line = record.line == line || rounds.is_of_same_line(&record);
                let may_be_of_line = record.line.is_some() && (record.wrote_entry() || is_of_line);
                if line.is_some() && !may_be_of_line || !is_of_line && self.is_of_its_line(&record, read.all)? {
                    continue;
                }
                // Something else than a system message can stand in front.
                if !read.lists.begins_with_left(&record) {
                    continue;
                }
                if self.is_inner_step(&record, rounds)? {
                    continue;
                }
                let first = self.first_step(&record)?;
                let is_undone = read.lists.begins_with_original(first.as_ref().unwrap_or(&record));
                if is_undone && !rounds.is_step_before_last(&record) {
                    self.note_undone(record, rounds);
                } else if self.is_of_this_text(&record, read, rounds) {
                    fitting.push(record);
                } else {
                    of_other_files.push(record);
                }
            }
            // What the last run on a file left is the longest. Runs on other files can have left more that is alike.
            let is_told = self.archive.has_one_file() || fitting.iter().any(|record| self.is_of_file(record, rounds));
            if is_told && !fitting.is_empty() {
                break;
            }
        }
        let last = self.last_of(fitting, read, rounds)?;
        match &last {
            Some(last) => self.note_later_run_on_other_file(of_other_files, last, read, rounds),
            // The longest is the last one.
            None => note_run_on_other_file(of_other_files.first(), rounds),
        }
        Ok(last)
    }

    /// Notes a run on another file that was after the last run on the text, if there is one: the file can have been the same one
    /// under another name, or a copy of it.
    fn note_later_run_on_other_file(
        &mut self,
        of_other_files: Vec<Record>,
        last: &Record,
        read: &mut ReadText<'_, '_>,
        rounds: &mut Rounds,
    ) {
        for record in of_other_files.into_iter().take(MOST_COMPARED) {
            let Ok(run) = self.whole_run(record.clone(), read.line) else { continue };
            let Ok(original) = read.lists.put_back(&run) else { continue };
            let Ok(source) = Source::of_file(&original) else { continue };
            if last.wrote_entry() && TextLists::new(&original, &source).begins_with_left(last) {
                note_run_on_other_file(Some(&record), rounds);
                return;
            }
        }
    }

    /// The last one of some records that fit a list of a text, the longest first.
    fn last_of(
        &mut self,
        mut records: Vec<Record>,
        read: &mut ReadText<'_, '_>,
        rounds: &Rounds,
    ) -> Result<Option<Record>> {
        let text = read.text;
        if !have_one_original(&records) && records.len() <= MOST_COMPARED {
            self.retain_last(&mut records, read)?;
        }
        retain_if_any(&mut records, |record| self.is_near(record, text, rounds));
        retain_if_any(&mut records, |record| self.is_of_file(record, rounds));
        retain_if_any(&mut records, |record| is_named(record, text));
        let Some(first) = records.first() else { return Ok(None) };
        let (file, most) = (first.file().to_owned(), left_of(first).len());
        if records.iter().all(|record| is_same_path(record.file(), &file)) {
            records.retain(|record| left_of(record).len() == most);
        }
        retain_if_any(&mut records, proves_front);
        let may_be_equal = read.is_known && records.len() <= MOST_COMPARED && !have_one_original(&records);
        if may_be_equal && self.have_equal_originals(&records, read) {
            return Ok(None);
        }
        if !have_one_original(&records) && self.have_lines_moved(&records, read) {
            let names = records.iter().map(Record::name).collect();
            return Err(self.refused(read.line, &RestoreError::ambiguous(names).to_string()));
        }
        self.of_one_run(records, read.line).map(Some)
    }

    /// Whether lines were removed or moved, so that the number of a line does not tell which of several runs was on it: the line
    /// that another of them names does not begin with what that run left, and no later run was on it.
    fn have_lines_moved(&self, records: &[Record], read: &ReadText<'_, '_>) -> bool {
        if read.line.is_none() {
            return false;
        }
        for record in records {
            let of_line = self.archive.of_file(record.file(), record.line);
            let is_last = of_line.last().is_some_and(|place| place.line == record.number);
            if is_last && record.line != read.line && !named_line_begins_with_left(record, read.all) {
                return true;
            }
        }
        false
    }

    /// Whether runs found the same values, however they were written. The hash of the text then tells which run it was.
    fn have_equal_originals(&mut self, records: &[Record], read: &mut ReadText<'_, '_>) -> bool {
        let mut first: Option<Vec<String>> = None;
        for record in records {
            let Ok(run) = self.whole_run(record.clone(), read.line) else { return false };
            let Ok(original) = read.lists.put_back(&run) else { return false };
            let Ok(source) = Source::of_file(&original) else { return false };
            let pointer = record.changed.as_ref().and_then(|changed| changed.list.as_deref());
            let found = TextLists::new(&original, &source).at(pointer).hashes.clone();
            match &first {
                None => first = Some(found),
                Some(first) if *first != found => return false,
                Some(_) => {}
            }
        }
        true
    }

    /// Removes the records of runs before others: what such a run left comes back where a later one is put back, or what it
    /// found.
    fn retain_last(&mut self, records: &mut Vec<Record>, read: &mut ReadText<'_, '_>) -> Result<()> {
        let mut is_before = vec![vec![false; records.len()]; records.len()];
        for (later, record) in records.iter().enumerate() {
            // Where it cannot be put back, it tells nothing of the others.
            let Ok(run) = self.whole_run(record.clone(), read.line) else { continue };
            let Ok(original) = read.lists.put_back(&run) else { continue };
            let Ok(source) = Source::of_file(&original) else { continue };
            let mut lists = TextLists::new(&original, &source);
            for (earlier, other) in records.iter().enumerate() {
                let is_other = before_of(other) != before_of(record);
                is_before[earlier][later] =
                    is_other && (lists.begins_with_left(other) || lists.begins_with_original(other));
            }
        }
        let mut last = Vec::new();
        for (one, record) in std::mem::take(records).into_iter().enumerate() {
            // Two that are before each other tell nothing.
            let is_last = (0..is_before.len()).all(|other| !is_before[one][other] || is_before[other][one]);
            if is_last {
                last.push(record);
            }
        }
        *records = last;
        Ok(())
    }

    /// Whether records that name a text as their result are of the last run on it, as far as its lists tell.
    pub(super) fn is_last_run(
        &mut self,
        text: &[u8],
        line: Option<usize>,
        records: &[Record],
        rounds: &mut Rounds,
    ) -> Result<bool> {
        let is_told = self.archive.has_one_file() || self.archive.by_left.is_empty();
        if is_told || records.iter().any(|record| self.is_of_file(record, rounds)) {
            return Ok(true);
        }
        self.is_last_run_by_lists(text, line, records, rounds)
    }

    /// Whether records that name a beginning of a text as their result are of the last run on it. A client that wrote all lines
    /// anew can have spelled the first of them as an earlier run left them, and no others as a later run did.
    pub(super) fn is_last_run_on_beginning(
        &mut self,
        text: &[u8],
        records: &[Record],
        rounds: &mut Rounds,
    ) -> Result<bool> {
        let last_of_these = records.iter().map(|record| record.number).max().unwrap_or_default();
        if self.archive.last_line() <= last_of_these.max(rounds.last_line) {
            return self.is_last_run(text, None, records, rounds);
        }
        self.is_last_run_by_lists(text, None, records, rounds)
    }

    fn is_last_run_by_lists(
        &mut self,
        text: &[u8],
        line: Option<usize>,
        records: &[Record],
        rounds: &mut Rounds,
    ) -> Result<bool> {
        let Ok(text) = str::from_utf8(text) else { return Ok(true) };
        let Ok(source) = Source::of_file(text) else { return Ok(true) };
        let mut lists = TextLists::new(text, &source);
        let last =
            self.run_that_left(&mut ReadText { text, lists: &mut lists, line, all: &[], is_known: true }, rounds)?;
        Ok(last.is_none_or(|last| records.iter().any(|record| record.result_sha256 == last[0].result_sha256)))
    }

    /// The records of this file, where several files became the same.
    pub(super) fn of_this_file(&self, mut records: Vec<Record>, rounds: &Rounds) -> Vec<Record> {
        if records.iter().any(|record| self.is_of_file(record, rounds)) {
            records.retain(|record| self.is_of_file(record, rounds));
        }
        records
    }

    /// Whether the run of a record can be the next one that is put back.
    fn is_open(&self, record: &Record, rounds: &Rounds) -> bool {
        if let Some(last) = &rounds.last {
            // Clocks can differ.
            let is_before = record.summarized_at <= last.time || record.round < last.round || record.number < last.line;
            if !is_before {
                return false;
            }
        }
        rounds.take(record) && !rounds.used.contains(&run_of(record))
    }

    /// Whether a record that fits can be of this text: what its run left is not what other texts begin with, too.
    fn is_of_this_text(&self, record: &Record, read: &ReadText<'_, '_>, rounds: &Rounds) -> bool {
        read.is_known || record.wrote_entry() || self.archive.has_one_file() || self.is_near(record, read.text, rounds)
    }

    /// Whether something beside the entries tells that a record is of this text: its id, the name of its file, or the round
    /// behind it.
    fn is_near(&self, record: &Record, text: &str, rounds: &Rounds) -> bool {
        if is_named(record, text) || self.is_own(record) {
            return true;
        }
        match &rounds.last {
            // The name of a text of standard input is not known.
            None => (self.own.is_empty() || self.file == "-") && has_same_name(record.file(), self.file),
            Some(last) => has_same_name(record.file(), &last.file) || last.original == record.result_sha256,
        }
    }

    /// Whether a record is of the file of the text, or of the last run that was put back. A run on standard input may be.
    pub(super) fn is_of_file(&self, record: &Record, rounds: &Rounds) -> bool {
        if let Some(last) = &rounds.last
            && (last.original == record.result_sha256 || is_same_path(&last.file, record.file()))
        {
            return true;
        }
        self.is_own(record)
    }

    fn is_own(&self, record: &Record) -> bool {
        record.file() == "-" || is_same_path(record.file(), self.file)
    }

    /// One of several records that left the same, if what stood there before is the same too.
    fn of_one_run(&self, mut records: Vec<Record>, line: Option<usize>) -> Result<Record> {
        let names = records.iter().map(Record::name).collect();
        if !have_one_original(&records)
            && let Some(last) = restoring::last_at_the_end(&records)
        {
            return Ok(last.clone());
        }
        if !have_one_original(&records) {
            records.retain(|record| line.is_some() && record.line == line);
        }
        match records.pop() {
            Some(record) if records.iter().all(|other| before_of(other) == before_of(&record)) => Ok(record),
            _ => Err(self.refused(line, &RestoreError::ambiguous(names).to_string())),
        }
    }

    /// All records of the run that wrote one: a text can have several lists.
    fn whole_run(&mut self, one: Record, line: Option<usize>) -> Result<Vec<Record>> {
        let lists = one.changed.as_ref().map_or(1, |changed| changed.lists);
        if lists == 1 {
            return Ok(vec![one]);
        }
        let by_line = self.archive.by_result.get(&one.result_sha256);
        let places = by_line.and_then(|by_line| by_line.get(&one.line)).cloned().unwrap_or_default();
        let mut run: Vec<Record> = Vec::new();
        for record in self.archive.read(&places)? {
            let is_new = run.iter().all(|other| other.changed != record.changed);
            if is_new && record.original_sha256 == one.original_sha256 && record.changed.is_some() {
                run.push(record);
            }
        }
        if run.len() == lists { Ok(run) } else { Err(self.refused(line, &RestoreError::NotTheOriginal.to_string())) }
    }
}

fn note_run_on_other_file(record: Option<&Record>, rounds: &mut Rounds) {
    if let Some(record) = record {
        let (file, time) = (record.file().to_owned(), record.summarized_at.clone());
        rounds.on_other_file = Some(RunOnOtherFile { file, time });
    }
}

/// Keeps the records of which something holds, or all where it holds of none.
fn retain_if_any(records: &mut Vec<Record>, holds: impl Fn(&Record) -> bool) {
    if records.iter().any(&holds) {
        records.retain(holds);
    }
}

fn is_same_path(one: &str, other: &str) -> bool {
    path_components(one) == path_components(other)
}

/// Whether a run was after another one, which left a text that it can have found.
fn is_later(record: &Record, other: &Record) -> bool {
    let found = record.original_sha256 == other.result_sha256;
    let left = record.result_sha256 == other.original_sha256;
    match record.summarized_at.cmp(&other.summarized_at) {
        Ordering::Equal if found != left => found,
        Ordering::Equal => record.number > other.number,
        order => order.is_gt(),
    }
}

/// Whether a record knows the first entry that its run left, rather than only that it is a system message.
fn proves_front(record: &Record) -> bool {
    left_of(record).first().is_none_or(Option::is_some)
}

fn left_of(record: &Record) -> &[Option<String>] {
    record.changed.as_ref().map_or(&[], |changed| &changed.left)
}

fn before_of(record: &Record) -> Option<&str> {
    record.changed.as_ref().map(|changed| changed.before_sha256.as_str())
}

fn have_one_original(records: &[Record]) -> bool {
    records.windows(2).all(|two| before_of(&two[0]) == before_of(&two[1]))
}

/// Whether a text names the id of a record.
fn is_named(record: &Record, text: &str) -> bool {
    !record.id.is_empty() && memchr::memmem::find(text.as_bytes(), record.id.as_bytes()).is_some()
}

/// Whether two files can be the same one, by their last names. Standard input can be any.
pub(in crate::engine) fn has_same_name(one: &str, other: &str) -> bool {
    one == "-" || other == "-" || path_components(one).last() == path_components(other).last()
}
