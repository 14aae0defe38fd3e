//! Skipping over valid JSON: where long values end is known, and where short ones end is looked for.

use std::ops::Range;

use crate::transcript::source::{Long, Source};

/// The place of a value that is not kept among the long ones.
pub(super) const SHORT: u32 = u32::MAX;

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
    /// Over a value as a whole; `place` is its place among the long values.
    pub(super) fn over(source: &'a Source<'a>, span: Range<usize>, place: u32) -> Self {
        Walk { source, at: span.start, end: span.end, next: place }
    }

    /// Over the values of a source, which stand from `start` to `end`.
    pub(super) fn of_source(source: &'a Source<'a>, start: usize, end: usize) -> Self {
        Walk { source, at: start, end, next: 0 }
    }

    /// Over what is between the brackets of a value.
    pub(super) fn inside(source: &'a Source<'a>, span: Range<usize>, place: u32) -> Self {
        let next = if place == SHORT { SHORT } else { place + 1 };
        Walk { source, at: span.start + 1, end: span.end - 1, next }
    }

    /// Over nothing.
    pub(super) fn empty(source: &'a Source<'a>) -> Self {
        Walk { source, at: 0, end: 0, next: SHORT }
    }

    /// The text that the walk goes over.
    pub(super) fn source(&self) -> &'a Source<'a> {
        self.source
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

    /// Where the next value stands, and its place among the long values.
    pub(super) fn value(&mut self) -> Option<(Range<usize>, u32)> {
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
        Some((start..self.at, place))
    }

    /// Skips a bracket.
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
