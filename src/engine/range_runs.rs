//! The runs of an archive that left a record for each range of a large file, and one behind these with the hashes of the
//! whole.

use crate::rewrite::ranges::{RangePlace, RangeTotals};

/// The runs, in the order of the archive.
#[derive(Default)]
pub(super) struct RangeRuns {
    /// Ranges whose closing record was not read yet.
    open: Option<OpenRun>,
    pub(super) runs: Vec<RangeRun>,
    /// Closing records whose ranges do not all stand in front of them.
    pub(super) incomplete: u64,
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
        self.open = match self.open {
            _ if range.number == 0 => Some(OpenRun { first: offset, count: 1 }),
            Some(open) if open.count == range.number => Some(OpenRun { count: open.count + 1, ..open }),
            _ => None,
        };
    }

    pub(super) fn close(&mut self, totals: RangeTotals, original_sha256: String, result_sha256: String) {
        match self.open.take() {
            Some(OpenRun { first, count }) if count == totals.count => {
                self.runs.push(RangeRun { first, totals, original_sha256, result_sha256 });
            }
            _ => self.incomplete += 1,
        }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.runs.is_empty() && self.incomplete == 0
    }
}
