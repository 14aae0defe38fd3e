//! Skips over valid JSON. The ends of long values are known; the ends of short ones are searched for.
//!
//! Also: the strings in a value.

use std::ops::Range;

use crate::json::{Json, JsonKind, Token};
use crate::source::{LongValue, Source};

/// The index of a value that is not among the long ones.
pub(super) const SHORT: u32 = u32::MAX;

/// A position inside an array or object, or among the values of a source.
#[derive(Debug, Clone)]
pub(super) struct Walk<'a> {
    pub(super) source: &'a Source<'a>,
    at: usize,
    end: usize,
    /// The index of the first long value that begins here or later, or [`SHORT`].
    next: u32,
}

impl<'a> Walk<'a> {
    /// Walks over a whole value; `index` is its index among the long values.
    pub(super) fn over(source: &'a Source<'a>, span: Range<usize>, index: u32) -> Self {
        Walk { source, at: span.start, end: span.end, next: index }
    }

    /// Walks over the values of a source, from byte `start` on.
    pub(super) fn of_source(source: &'a Source<'a>, start: usize) -> Self {
        Walk { source, at: start, end: source.text.len(), next: 0 }
    }

    /// Walks over what is between the brackets of a value.
    pub(super) fn inside(source: &'a Source<'a>, span: Range<usize>, index: u32) -> Self {
        let next = if index == SHORT { SHORT } else { index + 1 };
        Walk { source, at: span.start + 1, end: span.end - 1, next }
    }

    /// Walks over nothing.
    pub(super) fn empty(source: &'a Source<'a>) -> Self {
        Walk { source, at: 0, end: 0, next: SHORT }
    }

    /// The next byte that is not a separator.
    pub(super) fn peek(&mut self) -> Option<u8> {
        let bytes = &self.source.text.as_bytes()[..self.end];
        while matches!(bytes.get(self.at)?, b' ' | b'\t' | b'\n' | b'\r' | b',' | b':') {
            self.at += 1;
        }
        Some(bytes[self.at])
    }

    /// Passes over a span if it comes next. Returns whether it did.
    pub(super) fn pass_over(&mut self, span: &Range<usize>) -> bool {
        self.peek();
        let comes_next = self.at == span.start;
        if comes_next {
            self.at = span.end;
            self.next = self.source.long.partition_point(|long| (long.start as usize) < span.end) as u32;
        }
        comes_next
    }

    /// The long value that begins here.
    fn long(&self) -> Option<&'a LongValue> {
        self.source.long.get(self.next as usize).filter(|long| long.start as usize == self.at)
    }

    /// The span of the next value and its index among the long values.
    pub(super) fn value(&mut self) -> Option<(Range<usize>, u32)> {
        let first = self.peek()?;
        let start = self.at;
        let index = match self.long() {
            Some(long) => {
                let index = self.next;
                self.at = long.end as usize;
                self.next = if first == b'"' { index + 1 } else { long.more };
                index
            }
            None => {
                self.at = value_end(&self.source.text.as_bytes()[..self.end], start);
                SHORT
            }
        };
        Some((start..self.at, index))
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
            // Values of a source may follow each other without a separator.
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

/// The offset after the quote that closes the string opened at `open`.
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

/// Every string in a value that is not a key, in order, with the key of the innermost member around it; in one pass at
/// any depth.
pub fn named_strings(value: Json<'_>) -> Vec<(Option<Json<'_>>, Json<'_>)> {
    /// An open object or array: the key of its current member, and whether a key comes next.
    struct Open<'a> {
        kind: JsonKind,
        key: Option<Json<'a>>,
        key_is_next: bool,
    }
    let mut found = Vec::new();
    let mut open: Vec<Open<'_>> = Vec::new();
    for token in value.tokens() {
        match token {
            Token::Open(kind) => {
                let key = open.last().and_then(|around| around.key);
                open.push(Open { kind, key, key_is_next: kind == JsonKind::Object });
                continue;
            }
            Token::Close => _ = open.pop(),
            Token::Scalar(scalar) => match open.last_mut() {
                Some(around) if around.key_is_next => {
                    (around.key, around.key_is_next) = (Some(scalar), false);
                    continue;
                }
                around if scalar.kind() == JsonKind::String => {
                    found.push((around.and_then(|around| around.key), scalar))
                }
                _ => {}
            },
        }
        // A value ends here.
        if let Some(around) = open.last_mut() {
            around.key_is_next = around.kind == JsonKind::Object;
        }
    }
    found
}
