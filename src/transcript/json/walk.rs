//! Passing over JSON that is valid: what is known of where a value ends is made use of, and what is not is looked for.

use crate::transcript::json::{Json, Kind, SHORT};
use crate::transcript::source::{Long, Source};

/// A position inside an array or object, or among the values of a source.
#[derive(Debug, Clone)]
pub(super) struct Walk<'a> {
    source: &'a Source<'a>,
    at: usize,
    end: usize,
    /// The place among the long values of the first that begins here or further on, or [`SHORT`].
    next: u32,
}

impl<'a> Walk<'a> {
    /// Over a value as a whole.
    pub(super) fn over(value: &Json<'a>) -> Self {
        Walk { source: value.source, at: value.start(), end: value.end(), next: value.place() }
    }

    /// Over the values of a source, which stand from `start` to `end`.
    pub(super) fn of_source(source: &'a Source<'a>, start: usize, end: usize) -> Self {
        Walk { source, at: start, end, next: 0 }
    }

    /// Over what is in a value, which is nothing where it is not of this kind.
    pub(super) fn inside(value: &Json<'a>, kind: Kind) -> Self {
        let (start, end) = (value.start(), value.end());
        let inside = if value.kind() == kind { start + 1..end - 1 } else { end..end };
        let next = if value.place() == SHORT { SHORT } else { value.place() + 1 };
        Walk { source: value.source, at: inside.start, end: inside.end, next }
    }

    /// The next byte that is no separator.
    pub(super) fn peek(&mut self) -> Option<u8> {
        let bytes = &self.source.text.as_bytes()[..self.end];
        while matches!(bytes.get(self.at)?, b' ' | b'\t' | b'\n' | b'\r' | b',' | b':') {
            self.at += 1;
        }
        Some(bytes[self.at])
    }

    /// The long value that begins here.
    fn long(&self) -> Option<&'a Long> {
        self.source.long.get(self.next as usize).filter(|long| long.start as usize == self.at)
    }

    /// The next value.
    pub(super) fn value(&mut self) -> Option<Json<'a>> {
        let first = self.peek()?;
        let start = self.at;
        let place = match self.long() {
            Some(long) => {
                let place = self.next;
                self.at = long.end as usize;
                self.next = if first == b'"' { place + 1 } else { long.more };
                place
            }
            None => {
                self.at = value_end(&self.source.text.as_bytes()[..self.end], start);
                SHORT
            }
        };
        Some(Json::at_place(self.source, start..self.at, place))
    }

    /// Goes over a bracket.
    pub(super) fn step(&mut self) {
        if self.long().is_some() {
            self.next += 1;
        }
        self.at += 1;
    }
}

/// Where the value that begins at `start` ends.
fn value_end(bytes: &[u8], start: usize) -> usize {
    let mut at = start;
    let mut depth = 0usize;
    while let Some(byte) = bytes.get(at) {
        match byte {
            b',' | b':' | b' ' | b'\t' | b'\n' | b'\r' | b'}' | b']' if depth == 0 => return at,
            // Values of a source may stand side by side.
            b'"' | b'{' | b'[' if depth == 0 && at > start => return at,
            b'"' => at = string_end(bytes, at),
            b'{' | b'[' => {
                depth += 1;
                at += 1;
            }
            b'}' | b']' => {
                depth -= 1;
                at += 1;
            }
            _ => {
                at += 1;
                continue;
            }
        }
        if depth == 0 {
            return at;
        }
    }
    bytes.len()
}

/// One past the quote that closes the string opened at `open`.
fn string_end(bytes: &[u8], open: usize) -> usize {
    let mut at = open + 1;
    while let Some(byte) = bytes.get(at) {
        match byte {
            b'"' => return at + 1,
            b'\\' => at += 2,
            _ => at += 1,
        }
    }
    bytes.len()
}
