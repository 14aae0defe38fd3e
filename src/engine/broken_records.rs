//! Lines of an archive that are not whole records. A run writes its record before it changes the file: one that was killed
//! meanwhile leaves half a line, and the file as it was. Where a record was cut off or damaged later, its run did change the
//! file. What stands in front of the damage tells which: a record begins with the hashes of what its run found and left.

use serde::Deserialize;

use crate::rewrite::growth::TextLists;
use crate::rewrite::ranges::{RangePlace, RangeTotals};
use crate::rewrite::restoring::file_of_source;
use crate::rewrite::value_hash::hashes_of_beginnings;

use crate::engine::range_runs::RangeRun;
use crate::engine::record_heads::InnerStep;

/// How a record begins, of which only half can be there.
pub(super) const RECORD_START: &str = "{\"source\":\"";
/// How a record ends: with a time.
const RECORD_END: &str = "+00:00\"}";

/// A line that is not a whole record, and what can still be read of it.
#[derive(Debug, Default, Deserialize)]
pub(super) struct BrokenRecord {
    /// Its number, counted from 1.
    #[serde(skip)]
    pub(super) number: usize,
    /// Whether the line has no end, as a run that was killed leaves it.
    #[serde(skip)]
    is_cut: bool,
    /// Whether the line is whole, but its hash is not that of the line: any member can be what changed.
    #[serde(skip)]
    is_changed: bool,
    /// Whether the record is whole, but that of the next step of its run is missing.
    #[serde(skip)]
    is_unfinished: bool,
    source: Option<String>,
    /// The first digits of the hash of the text that the run found.
    id: Option<String>,
    original_sha256: Option<String>,
    result_sha256: Option<String>,
    /// The number of its step of its run, from 1 on, and how many there are; nothing where the run has only one.
    steps: Option<[usize; 2]>,
    list: Option<String>,
    left_sha256: Option<String>,
    line: Option<usize>,
    at_line: Option<usize>,
    range: Option<RangePlace>,
    ranges: Option<RangeTotals>,
}

/// What a broken record tells of a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum BrokenRun {
    /// The run left what the text begins with.
    LeftText,
    /// The run did not change the text, or it was put back.
    LeftNothing,
    /// Too little can be read.
    Unknown,
}

impl BrokenRecord {
    /// Whether a line begins or ends as a record does. Other lines are not what is left of one.
    pub(super) fn is_left_of_record(line: &str) -> bool {
        let line = line.trim_end();
        line.starts_with(RECORD_START) || RECORD_START.starts_with(line) || line.ends_with(RECORD_END)
    }

    /// Reads the members of a record in front of the place where its line is cut off or damaged.
    pub(super) fn read(line: &str, number: usize) -> Self {
        /// The bytes in front that are read. Only the source has no fixed length.
        const MOST_BYTES: usize = 1 << 14;
        /// More members than stand in front of the first one that is long.
        const MOST_MEMBERS: usize = 12;
        let is_cut = !line.trim_end().ends_with(RECORD_END);
        let start = &line[..line.floor_char_boundary(MOST_BYTES)];
        let mut ends: Vec<usize> = start.match_indices(",\"").map(|(at, _)| at).take(MOST_MEMBERS).collect();
        // It can be cut off behind a comma.
        ends.extend(start.strip_suffix(',').map(str::len));
        for end in ends.into_iter().rev() {
            if let Ok(record) = serde_json::from_str::<BrokenRecord>(&format!("{}}}", &start[..end])) {
                return BrokenRecord { number, is_cut, ..record };
            }
        }
        BrokenRecord { number, is_cut, ..BrokenRecord::default() }
    }

    /// Reads a whole record whose hash is not that of its line.
    pub(super) fn read_changed(line: &str, number: usize) -> Self {
        BrokenRecord { is_cut: false, is_changed: true, ..BrokenRecord::read(line, number) }
    }

    /// The record of a step of a run, of whose next step the archive has none.
    pub(super) fn of_unfinished_run(step: InnerStep) -> Self {
        let InnerStep { head, number, .. } = step;
        BrokenRecord {
            number,
            is_cut: true,
            is_unfinished: true,
            source: Some(head.source),
            id: head.id,
            original_sha256: head.original_sha256,
            result_sha256: head.result_sha256,
            steps: head.steps,
            list: head.list,
            left_sha256: head.left_sha256,
            line: head.line,
            at_line: head.at_line,
            ..BrokenRecord::default()
        }
    }

    /// Why a text is not put back because of the record, whose run left the text if `is_told`.
    pub(super) fn reason(&self, is_told: bool) -> String {
        let number = self.number;
        let copy = "if that run was killed, use a copy of the archive without this line";
        if self.is_unfinished {
            return format!(
                "line {number} is of a step of a run, and the next step is missing; take it from a backup of the archive, or, {copy}"
            );
        }
        if !is_told {
            return format!(
                "line {number} is cut off or damaged, so that nothing tells whether its run changed this text; {copy}"
            );
        }
        let reason = format!(
            "a later run changed this text, and line {number} with its record is cut off or damaged; take the line from a backup of the archive"
        );
        // What a run found can begin with what it left.
        if self.is_cut { format!("{reason}, or, {copy}") } else { reason }
    }

    /// The run on a large file, if all that proves it can be read.
    pub(super) fn range_run(&self) -> Option<RangeRun> {
        if self.is_changed {
            return None;
        }
        Some(RangeRun {
            first: 0,
            totals: self.ranges?,
            original_sha256: self.original_sha256.clone()?,
            result_sha256: self.result_sha256.clone()?,
            previous: None,
            file: self.source.clone()?,
            time: String::new(),
        })
    }

    /// The place of a range and the hash of what the run left there, if both can be read.
    pub(super) fn left_range(&self) -> Option<(RangePlace, String)> {
        Some((self.range?, self.left_sha256.clone()?))
    }

    pub(super) fn file(&self) -> Option<&str> {
        self.source.as_deref().map(|source| file_of_source(source, self.line.or(self.at_line)))
    }

    /// The line of the text that the run changed, counted from 1.
    pub(super) fn line(&self) -> Option<usize> {
        self.line.or_else(|| self.line_of_source())
    }

    /// The file, if the number of a line stands behind its name and the record is cut off before it names the line.
    pub(super) fn file_before_line(&self) -> Option<&str> {
        let (file, line) = self.source_before_line()?;
        if line.starts_with(|c: char| c.is_ascii_digit()) { Some(file) } else { None }
    }

    /// The line with which the source ends, if the record is cut off before it names a line.
    fn line_of_source(&self) -> Option<usize> {
        let (_, line) = self.source_before_line()?;
        line.split('#').next()?.parse().ok()
    }

    fn source_before_line(&self) -> Option<(&str, &str)> {
        if self.line.is_some() || self.at_line.is_some() {
            return None;
        }
        self.source.as_deref()?.rsplit_once(':')
    }

    /// The hash of the text that the run left.
    pub(super) fn result(&self) -> Option<&str> {
        self.result_sha256.as_deref()
    }

    pub(super) fn id(&self) -> Option<&str> {
        self.id.as_deref()
    }

    /// Whether a text with this hash is what the run found.
    pub(super) fn found(&self, hash: &str) -> bool {
        match (&self.original_sha256, &self.id) {
            (Some(original), _) => original == hash,
            (None, Some(id)) => hash.starts_with(&**id),
            (None, None) => false,
        }
    }

    /// Whether a text with this hash is what the run left.
    pub(super) fn left(&self, hash: &str) -> bool {
        self.result_sha256.as_deref() == Some(hash)
    }

    /// Whether the run found or left a text with this hash.
    pub(super) fn names(&self, hash: &str) -> bool {
        self.found(hash) || self.left(hash)
    }

    /// What the record tells of a text. `beginnings` are the lengths and hashes of those of its beginnings that the record names,
    /// and `lists` are its lists, where they are known.
    pub(super) fn told_of(&self, beginnings: &[(usize, String)], lists: Option<&mut TextLists<'_>>) -> BrokenRun {
        let left = beginnings.iter().rfind(|(_, hash)| self.left(hash)).map(|(end, _)| *end);
        // What the run left can begin with what it found.
        if beginnings.iter().any(|(end, hash)| self.found(hash) && left.is_none_or(|left| *end > left)) {
            return BrokenRun::LeftNothing;
        }
        let begins_with_left = match (&self.left_sha256, lists) {
            (Some(wanted), Some(lists)) => {
                let hashes = &lists.at(self.list.as_deref()).hashes;
                hashes_of_beginnings(hashes).any(|(_, hash)| hash == *wanted)
            }
            _ => false,
        };
        if left.is_some() || begins_with_left {
            return BrokenRun::LeftText;
        }
        // Where something in the middle is damaged, the hashes can be, too.
        let knows_hashes = self.is_cut && self.left_sha256.is_some();
        if knows_hashes && self.is_last_step() { BrokenRun::LeftNothing } else { BrokenRun::Unknown }
    }

    /// Whether the run left the text that the record names, rather than changed it once more.
    fn is_last_step(&self) -> bool {
        self.steps.is_none_or(|[step, last]| step == last)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_stands_in_front_of_the_damage_is_read() {
        let record = r#"{"source":"a,\"b\",","id":"0123abcd","line":3,"original_sha256":"0123abcd9","result_sha256":"45","list":"/messages","left_sha256":"67","left":["89","ab"],"before":[0]}"#;
        let read = |length: usize| BrokenRecord::read(&record[..length], 7);
        let before = |member: &str| record.find(member).expect("a member");
        // A member is whole behind its comma.
        for length in 0..record.len() {
            let broken = read(length);
            assert_eq!((broken.number, broken.is_cut), (7, true));
            assert_eq!(broken.id.is_some(), length >= before("\"line\""), "{length}");
            assert_eq!(broken.result_sha256.is_some(), length >= before("\"list\""), "{length}");
            assert_eq!(broken.left_sha256.as_deref(), (length >= before("\"left\"")).then_some("67"), "{length}");
        }
        assert_eq!(read(record.len() - 1).source.as_deref(), Some("a,\"b\","));
    }
}
