//! Reads the ranges of a run from an archive.

use std::io::{BufRead, Seek, SeekFrom};

use anyhow::Result;

use crate::rewrite::ranges::RangeRecord;

use crate::engine::archive::{Archive, unreadable};
use crate::engine::range_runs::RangeRun;

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
        let sought = archive.file.seek(SeekFrom::Start(run.first));
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
