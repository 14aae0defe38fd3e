//! Which run left what a list of a text begins with: what the list begins with is the proof; where several runs left the
//! same, ids and names decide.

use anyhow::Result;

use crate::rewrite::growth::TextLists;
use crate::rewrite::restoring::{self, Record, RestoreError, file_of_source, path_components};

use super::Restorer;
use super::rounds::Rounds;

impl Restorer<'_, '_> {
    /// The records of the last run of those that left what a list of the text begins with. Of several runs that left this in
    /// the same list, the one that left most.
    pub(super) fn run_that_left(
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
