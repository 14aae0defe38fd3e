//! The runs of an archive that left a record for each range of a large file, and one behind these with the hashes of the
//! whole.

use crate::rewrite::ranges::{RangePlace, RangeTotals};

/// The runs, in the order of the archive.
#[derive(Default)]
pub(super) struct RangeRuns {
    /// Ranges whose closing record was not read yet, as far as they follow each other.
    open: Option<OpenRun>,
    /// The places of all of these.
    places: Vec<RangePlace>,
    pub(super) runs: Vec<RangeRun>,
    /// Runs with a closing record, whose ranges do not all stand in front of it.
    pub(super) incomplete: Vec<RangeRun>,
    /// The places of the ranges of runs without a closing record: it was lost, or the run was killed and changed nothing.
    pub(super) unclosed: Vec<Vec<RangePlace>>,
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
}

impl RangeRuns {
    /// Adds a range whose record begins at an offset of the text.
    pub(super) fn add_range(&mut self, range: RangePlace, offset: u64) {
        if range.number == 0 {
            self.end_unclosed();
        }
        self.places.push(range);
        self.open = match self.open {
            _ if range.number == 0 => Some(OpenRun { first: offset, count: 1 }),
            Some(open) if open.count == range.number => Some(OpenRun { count: open.count + 1, ..open }),
            _ => None,
        };
    }

    pub(super) fn close(&mut self, totals: RangeTotals, original_sha256: String, result_sha256: String) {
        self.places.clear();
        let (first, count) = self.open.take().map_or((0, 0), |OpenRun { first, count }| (first, count));
        let run = RangeRun { first, totals, original_sha256, result_sha256 };
        if count == totals.count {
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
