//! The records of a file that is too large to be held in memory: one for each range of its lines in which something was
//! changed, and one behind them for the whole, with the hashes that prove it.

use serde::{Deserialize, Serialize};

use crate::hash::Hasher;
use crate::rewrite::way_back::{Replacement, RestoredPiece, push_text};
use crate::rewrite::{self, Edit, Replaces};
use crate::transcript::record_id::RecordId;

/// What a run changed in one range of lines.
#[derive(Debug, Serialize)]
struct WrittenRange<'r> {
    source: &'r str,
    range: RangePlace,
    /// The hash of what the run left in the range.
    left_sha256: String,
    format: &'static str,
    /// No message is held whole.
    messages: [(); 0],
    put_back: Vec<Replacement>,
}

/// Where a range is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct RangePlace {
    /// Its number among the ranges of the run, from 0 on.
    pub number: u64,
    /// Where it begins in what the run left, in bytes, and how long it is there.
    pub offset: u64,
    pub bytes: u64,
}

/// What a run changed in one range of lines, as it is read.
#[derive(Debug, Deserialize)]
pub struct RangeRecord {
    pub range: RangePlace,
    put_back: Vec<Replacement>,
}

/// The record behind those of the ranges of a run. They stand in front of it, in order.
#[derive(Debug, Serialize)]
pub struct ClosingRecord<'r> {
    pub source: &'r str,
    pub id: String,
    /// The hash of the text before.
    pub original_sha256: &'r str,
    /// The hash of the text after.
    pub result_sha256: &'r str,
    pub ranges: RangeTotals,
    pub format: &'static str,
    pub round: u32,
    pub indices: [usize; 0],
    pub messages: [(); 0],
}

/// The ranges of a run, and the text as a whole.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct RangeTotals {
    /// The number of ranges in which something was changed.
    pub count: u64,
    /// The length of the text before and after, in bytes.
    pub original_bytes: u64,
    pub result_bytes: u64,
}

impl<'r> ClosingRecord<'r> {
    pub fn new(
        source: &'r str,
        format: &'static str,
        original_sha256: &'r str,
        result_sha256: &'r str,
        ranges: RangeTotals,
    ) -> Self {
        let id = RecordId::new(original_sha256, 1).to_string();
        ClosingRecord {
            source,
            id,
            original_sha256,
            result_sha256,
            ranges,
            format,
            round: 0,
            indices: [],
            messages: [],
        }
    }

    /// The text of the record, an object on one line.
    pub fn text(&self) -> String {
        // Strings and numbers do not fail to serialize.
        serde_json::to_string(self).expect("strings and numbers")
    }
}

/// The text of the record of a range: an object on one line. `lines` are those before, and `range` is where the range is
/// in what the run leaves.
pub fn range_record(source: &str, format: &'static str, range: RangePlace, lines: &[u8], edits: &[Edit]) -> String {
    let mut put_back = Vec::with_capacity(edits.len());
    let (mut done, mut offset) = (0, 0);
    for edit in edits {
        offset += edit.range.start - done;
        let mut pieces = Vec::new();
        push_text(&mut pieces, &lines[edit.range.clone()]);
        put_back.push(Replacement { offset, bytes: edit.text.len(), pieces });
        offset += edit.text.len();
        done = edit.range.end;
    }
    let mut hasher = Hasher::default();
    for piece in rewrite::pieces(lines, edits) {
        hasher.add(piece);
    }
    let record = WrittenRange { source, range, left_sha256: hasher.end(), format, messages: [], put_back };
    // Strings and numbers do not fail to serialize.
    serde_json::to_string(&record).expect("strings and numbers")
}

/// A place in a range, and what stood there.
struct RangeEdit {
    range: std::ops::Range<usize>,
    bytes: Vec<u8>,
}

impl Replaces for RangeEdit {
    fn range(&self) -> &std::ops::Range<usize> {
        &self.range
    }

    fn bytes(&self) -> &[u8] {
        &self.bytes
    }
}

impl RangeRecord {
    /// The lines of the range as they were; `None` if the record does not fit what is there.
    pub fn restore(&self, lines: &[u8]) -> Option<Vec<u8>> {
        let mut edits: Vec<RangeEdit> = Vec::with_capacity(self.put_back.len());
        for put_back in &self.put_back {
            let end = put_back.offset.checked_add(put_back.bytes)?;
            let last = edits.last().map_or(0, |edit| edit.range.end);
            if put_back.offset < last || end > lines.len() {
                return None;
            }
            let mut bytes = Vec::new();
            for piece in &put_back.pieces {
                match piece {
                    RestoredPiece::Text(text) => bytes.extend_from_slice(text.as_bytes()),
                    RestoredPiece::Bytes(other) => bytes.extend_from_slice(other),
                    RestoredPiece::Messages(_) | RestoredPiece::Entries(_) | RestoredPiece::Message(_) => return None,
                }
            }
            edits.push(RangeEdit { range: put_back.offset..end, bytes });
        }
        Some(rewrite::pieces(lines, &edits).collect::<Vec<_>>().concat())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn edit(range: std::ops::Range<usize>, text: &str) -> Edit {
        Edit { range, text: text.to_owned() }
    }

    #[test]
    fn a_range_comes_back_whatever_its_bytes_are() {
        let lines = b"{\"a\":\"one\"}\n\xff\xfe\n{\"b\":\"two\"}\r\n";
        let edits = [edit(6..9, ""), edit(12..15, ""), edit(21..24, "2")];
        let left = rewrite::pieces(lines, &edits).collect::<Vec<_>>().concat();
        let place = RangePlace { number: 0, offset: 7, bytes: left.len() as u64 };
        let record = range_record("s.jsonl", "codex", place, lines, &edits);
        let read: RangeRecord = serde_json::from_str(&record).expect("a record");
        assert_eq!((read.range, read.restore(&left).as_deref()), (place, Some(lines.as_slice())));
        assert_eq!(read.restore(&left[..9]), None, "what is there is shorter");
    }
}
