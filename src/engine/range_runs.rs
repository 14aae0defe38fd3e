//! The runs of an archive that left a record for each range of a large file, and one behind these with the hashes of the
//! whole.

use crate::rewrite::ranges::{RangePlace, RangeTotals};

/// The runs, in the order of the archive.
#[derive(Default)]
pub(super) struct RangeRuns {
    /// Ranges whose closing record was not read yet, as far as they follow each other.
    open: Option<OpenRun>,
    /// The places of all of these.
    places: Vec<LeftRange>,
    pub(super) runs: Vec<RangeRun>,
    /// Runs with a closing record, whose ranges do not all stand in front of it.
    pub(super) incomplete: Vec<RangeRun>,
    /// The ranges of runs without a closing record: it was lost, or the run was killed and changed nothing.
    pub(super) unclosed: Vec<Vec<LeftRange>>,
}

/// A range of a text, and the hash of what a run left there; none where an older version wrote its record.
#[derive(PartialEq)]
pub(super) struct LeftRange {
    pub(super) place: RangePlace,
    pub(super) left_sha256: Option<String>,
}

/// Ranges that stand behind each other.
#[derive(Clone, Copy)]
struct OpenRun {
    /// Where the first of them begins in the text of the archive.
    first: u64,
    count: u64,
}

/// One run on one file.
#[derive(Debug, Clone)]
pub(super) struct RangeRun {
    /// Where its first range begins in the text of the archive; the others follow.
    pub(super) first: u64,
    pub(super) totals: RangeTotals,
    pub(super) original_sha256: String,
    pub(super) result_sha256: String,
    /// The id of the record of the run before it, if its record names one.
    pub(super) previous: Option<String>,
    /// The file that its record names.
    pub(super) file: String,
    /// The time that its record names; empty where that cannot be read.
    pub(super) time: String,
}

impl RangeRuns {
    /// Adds a range whose record begins at an offset of the text.
    pub(super) fn add_range(&mut self, range: RangePlace, left_sha256: Option<String>, offset: u64) {
        if range.number == 0 {
            self.end_unclosed();
        }
        self.places.push(LeftRange { place: range, left_sha256 });
        self.open = match self.open {
            _ if range.number == 0 => Some(OpenRun { first: offset, count: 1 }),
            Some(open) if open.count == range.number => Some(OpenRun { count: open.count + 1, ..open }),
            _ => None,
        };
    }

    /// Adds a range whose record is broken, but tells what the run left there.
    pub(super) fn add_broken_range(&mut self, range: RangePlace, left_sha256: String) {
        self.add_range(range, Some(left_sha256), 0);
        self.open = None;
    }

    /// Adds the run of a closing record. Where its ranges begin is known from these.
    pub(super) fn close(&mut self, run: RangeRun) {
        let places = std::mem::take(&mut self.places);
        let (first, count) = self.open.take().map_or((0, 0), |OpenRun { first, count }| (first, count));
        let run = RangeRun { first, ..run };
        if count == run.totals.count {
            // The run was killed before, and repeated.
            self.unclosed.retain(|ranges| !ranges.iter().all(|range| places.contains(range)));
            self.runs.push(run);
        } else {
            self.incomplete.push(run);
        }
    }

    /// Ends ranges that have no closing record.
    pub(super) fn end_unclosed(&mut self) {
        if !self.places.is_empty() {
            self.unclosed.push(std::mem::take(&mut self.places));
        }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.runs.is_empty() && self.incomplete.is_empty() && self.unclosed.is_empty()
    }
}
