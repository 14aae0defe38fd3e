//! The rounds of one text that were put back so far.

use std::collections::HashSet;

use crate::rewrite::restoring::Record;

/// The rounds that were put back in one text, the last one first.
#[derive(Default)]
pub(super) struct Rounds {
    pub(super) number: usize,
    /// The most that may be.
    pub(super) most: usize,
    /// The record of the last one.
    pub(super) last: Option<Undone>,
    /// The hashes of the texts whose records were used.
    pub(super) seen: HashSet<String>,
    /// The hashes before and after of each run that was put back.
    pub(super) used: HashSet<(String, String)>,
    /// The number of those that were told by what a list begins with.
    pub(super) grown: usize,
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
}

impl Rounds {
    pub(super) fn at_most(most: usize) -> Self {
        Rounds { most, ..Rounds::default() }
    }

    /// Whether a record is of the same run as the one before. A run that repairs a text writes several.
    pub(super) fn is_same_run(&self, record: &Record) -> bool {
        self.last.as_ref().is_some_and(|last| !last.time.is_empty() && last.time == record.summarized_at)
    }

    /// Whether the round of a record is to be put back.
    pub(super) fn take(&self, record: &Record) -> bool {
        self.number < self.most || self.is_same_run(record)
    }

    pub(super) fn add(&mut self, record: &Record) {
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
    pub(super) fn before_last(&self) -> Option<u32> {
        self.last.as_ref()?.round.checked_sub(1).filter(|round| *round > 0)
    }
}
