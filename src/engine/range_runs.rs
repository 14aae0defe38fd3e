//! The runs of an archive that left a record for each range of a large file, and one behind these with the hashes of the
//! whole.

use std::io::{BufRead, Seek, SeekFrom};

use anyhow::Result;

use crate::rewrite::ranges::{RangePlace, RangeRecord, RangeTotals};

use crate::engine::records::{Archive, RecordPlace, unreadable};

/// The runs, in the order of the archive.
#[derive(Default)]
pub(super) struct RangeRuns {
    /// Ranges whose closing record was not read yet: the first of them, and their number.
    open: Option<(RecordPlace, u64)>,
    pub(super) runs: Vec<RangeRun>,
    /// Closing records whose ranges do not all stand in front of them.
    pub(super) incomplete: u64,
}

/// One run on one file.
#[derive(Debug, Clone)]
pub(super) struct RangeRun {
    /// Its first range; the others follow.
    first: RecordPlace,
    pub(super) totals: RangeTotals,
    pub(super) original_sha256: String,
    pub(super) result_sha256: String,
}

impl RangeRuns {
    pub(super) fn add_range(&mut self, range: RangePlace, place: RecordPlace) {
        self.open = match self.open {
            _ if range.number == 0 => Some((place, 1)),
            Some((first, count)) if count == range.number => Some((first, count + 1)),
            _ => None,
        };
    }

    pub(super) fn close(&mut self, totals: RangeTotals, original_sha256: String, result_sha256: String) {
        match self.open.take() {
            Some((first, count)) if count == totals.count => {
                self.runs.push(RangeRun { first, totals, original_sha256, result_sha256 });
            }
            _ => self.incomplete += 1,
        }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.runs.is_empty() && self.incomplete == 0
    }
}

/// Reads the ranges of a run, one at a time.
pub(super) struct RangeReader<'r, 'p> {
    archive: &'r mut Archive<'p>,
    next: u64,
    count: u64,
    line: Vec<u8>,
}

impl<'r, 'p> RangeReader<'r, 'p> {
    /// # Errors
    /// The archive cannot be read.
    pub(super) fn open(archive: &'r mut Archive<'p>, run: &RangeRun) -> Result<Self> {
        let path = archive.path;
        let sought = archive.file.seek(SeekFrom::Start(run.first.offset));
        sought.map_err(|error| unreadable(path, &error.to_string()))?;
        Ok(RangeReader { archive, next: 0, count: run.totals.count, line: Vec::new() })
    }

    /// The next range; nothing behind the last.
    ///
    /// # Errors
    /// The archive cannot be read, or the record is not as tcompact writes them.
    pub(super) fn next(&mut self) -> Result<Option<RangeRecord>> {
        if self.next == self.count {
            return Ok(None);
        }
        let path = self.archive.path;
        loop {
            self.line.clear();
            let read = self.archive.file.read_until(b'\n', &mut self.line);
            let read = read.map_err(|error| unreadable(path, &error.to_string()))?;
            if read == 0 || !self.line.trim_ascii().is_empty() {
                break;
            }
        }
        match serde_json::from_slice::<RangeRecord>(&self.line) {
            Ok(record) if record.range.number == self.next => {
                self.next += 1;
                Ok(Some(record))
            }
            _ => Err(unreadable(path, "the record of a range is not as tcompact writes them").into()),
        }
    }
}
