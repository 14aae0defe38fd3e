//! The rounds of one text that were put back so far.

use std::collections::{BTreeSet, HashMap, HashSet};
use std::ops::Range;

use crate::events::RunOnOtherFile;
use crate::rewrite::restoring::Record;

/// The rounds that were put back in one text, the last one first.
#[derive(Default)]
pub(super) struct Rounds {
    pub(super) number: usize,
    /// The most that may be.
    pub(super) most: usize,
    /// The time of the oldest run that may be put back; nothing where the time does not matter.
    oldest_run: Option<String>,
    /// The times of the runs that were put back.
    pub(super) run_times: BTreeSet<String>,
    /// The record of the last one.
    pub(super) last: Option<Undone>,
    /// The time of the newest run among them.
    pub(super) newest_run_time: String,
    /// The hashes of the texts whose records were used.
    pub(super) seen: HashSet<String>,
    /// The hashes before and after of each run that was put back.
    pub(super) used: HashSet<(String, String)>,
    /// The list that the first of them was of, and the entries that it left there: the text begins with them.
    proved: Option<(Option<String>, Range<usize>)>,
    /// The last line of the archive with a record that was used.
    pub(super) last_line: usize,
    /// The files that their records name.
    pub(super) files: HashSet<String>,
    /// The times of runs that count as put back before: the text begins with what they left, and with what they found.
    pub(super) undone_before: HashMap<(String, String), String>,
    /// The number of those that were told by what a list begins with.
    pub(super) grown: usize,
    /// A run on another file that may have been this one.
    pub(super) on_other_file: Option<RunOnOtherFile>,
    /// The last run that the archive does not have.
    pub(super) lost: Option<LostRun>,
}

/// A run that a later record names, and that the archive does not have.
#[derive(Debug, Clone)]
pub(in crate::engine) struct LostRun {
    pub(in crate::engine) id: String,
    /// The number of rounds behind it, which can be put back.
    pub(in crate::engine) rounds: usize,
}

impl LostRun {
    /// Why nothing is put back, and what can be.
    pub(in crate::engine) fn sentence(&self) -> String {
        let LostRun { id, rounds } = self;
        format!(
            "the record {id} of the run before is missing or broken in it, so that nothing tells what that run changed; \
             --rounds {rounds} takes back the later ones"
        )
    }
}

/// The hashes before and after of the run of a record.
pub(super) fn run_of(record: &Record) -> (String, String) {
    (record.original_sha256.clone(), record.result_sha256.clone())
}

/// What is known of a round that was put back.
pub(super) struct Undone {
    pub(super) round: u32,
    /// The time that its record names.
    pub(super) time: String,
    pub(super) file: String,
    /// The hash of the text before it.
    pub(super) original: String,
    /// The line of its record in the archive.
    pub(super) line: usize,
    /// The line of the text that its record names.
    text_line: Option<usize>,
    /// The number of its step of its run, from 1 on, and how many there are.
    steps: Option<[usize; 2]>,
}

impl Rounds {
    pub(super) fn at_most(most: usize) -> Self {
        Rounds { most, ..Rounds::default() }
    }

    /// At most so many, of runs that are not older than one of this time.
    pub(super) fn since(oldest_run: Option<String>, most: usize) -> Self {
        Rounds { oldest_run, ..Rounds::at_most(most) }
    }

    /// Whether a record is of the same run as the one before. A run that repairs a text writes several.
    pub(super) fn is_same_run(&self, record: &Record) -> bool {
        self.last.as_ref().is_some_and(|last| !last.time.is_empty() && last.time == record.summarized_at)
    }

    /// Whether the round of a record is to be put back.
    pub(super) fn take(&self, record: &Record) -> bool {
        let is_asked_for = self.oldest_run.as_ref().is_none_or(|oldest| record.summarized_at >= *oldest);
        self.number < self.most && is_asked_for || self.is_same_run(record)
    }

    pub(super) fn add(&mut self, record: &Record) {
        self.used.insert(run_of(record));
        self.run_times.insert(record.summarized_at.clone());
        if self.newest_run_time < record.summarized_at {
            self.newest_run_time.clone_from(&record.summarized_at);
        }
        if self.last.is_none()
            && let Some(changed) = &record.changed
        {
            // A system message in front can be another one.
            let first = usize::from(changed.left.first().is_some_and(Option::is_none));
            self.proved = Some((changed.list.clone(), first..changed.left.len()));
        }
        self.last_line = self.last_line.max(record.number);
        self.files.insert(record.file().to_owned());
        self.number += usize::from(!self.is_same_run(record));
        self.last = Some(Undone {
            round: record.round,
            time: record.summarized_at.clone(),
            file: record.file().to_owned(),
            original: record.original_sha256.clone(),
            line: record.number,
            text_line: record.line,
            steps: record.steps,
        });
    }

    /// Whether a record names the line, and the file, that the record of the last one that was put back names: it can be of
    /// the same conversation, wherever that is now.
    pub(super) fn is_of_same_line(&self, record: &Record) -> bool {
        self.last.as_ref().is_some_and(|last| last.text_line == record.line && last.file == record.file())
    }

    /// Whether the record of the last one that was put back names this line of the text.
    pub(super) fn was_last_on_line(&self, line: usize) -> bool {
        self.last.as_ref().is_some_and(|last| last.text_line == Some(line))
    }

    /// The number of the step that is still to be put back of the run that was put back last.
    pub(super) fn step_left(&self) -> Option<usize> {
        let [step, _] = self.last.as_ref()?.steps?;
        if step > 1 { Some(step - 1) } else { None }
    }

    /// The entries of a list that are proved to be as a run left them.
    pub(super) fn proved_in(&self, list: Option<&str>) -> Range<usize> {
        match &self.proved {
            Some((proved, entries)) if proved.as_deref() == list => entries.clone(),
            _ => 0..0,
        }
    }

    /// The time of the last run that counts as put back before.
    pub(super) fn last_undone_before(&self) -> Option<&String> {
        let unused = self.undone_before.iter().filter(|(run, _)| !self.used.contains(run));
        unused.map(|(_, time)| time).max()
    }

    /// Whether a record is of the step right before that which was put back last, of the same run.
    pub(super) fn is_step_before_last(&self, record: &Record) -> bool {
        let is_before = self.last.as_ref().is_some_and(|last| last.original == record.result_sha256);
        record.steps.is_some() && is_before && self.is_same_run(record)
    }

    /// The number of the step of its run that is missing, so that a record cannot be put back: it comes between the record
    /// and what was put back last.
    pub(super) fn missing_later_step(&self, record: &Record) -> Option<usize> {
        let [step, steps] = record.steps?;
        if step < steps && !self.is_step_before_last(record) { Some(step + 1) } else { None }
    }

    /// The round before the last one that was put back, if there was one.
    pub(super) fn before_last(&self) -> Option<u32> {
        let round = self.last.as_ref()?.round.checked_sub(1)?;
        if round > 0 { Some(round) } else { None }
    }
}
