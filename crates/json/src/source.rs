//! Checks that a text is JSON, and indexes its long values.
//!
//! One pass checks the grammar. It builds no tree and records only where each long value ends, so that
//! [`crate::json`] can skip messages without reading them again. Like Python's `json`, it also accepts
//! `NaN` and `Infinity` anywhere, and control characters in the arguments of tools.

use std::borrow::Cow;
use std::ops::Range;

mod scan;
#[cfg(test)]
mod tests;

pub use scan::MAX_DEPTH;
pub use scan::TOO_DEEP;
use scan::{Controls, Scan, ScannedLines};

/// The place where a text stops being JSON, and why.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SyntaxError {
    /// Line, counted from 1.
    pub line: usize,
    /// Byte in the line, counted from 1.
    pub column: usize,
    /// The reason, without the place.
    pub what: String,
    /// Whether the place is where a string, list or object begins that is not closed.
    pub is_unclosed: bool,
    /// Whether the text ends too early.
    pub is_early_end: bool,
}

/// A text with its JSON values: one in a document, several in JSONL, where two may share a line. A byte order mark in
/// front belongs to none of them.
#[derive(Debug)]
pub struct Source<'a> {
    /// The text, including a byte order mark. It has a mask in place of the bytes that are not JSON, so that no reader
    /// takes them for it. All other bytes have the same offsets as in the file.
    pub text: Cow<'a, str>,
    /// Where the values begin, in bytes.
    pub start: usize,
    /// The long values, in the order in which they begin.
    pub long: Vec<LongValue>,
    /// The lines that are not one value: they hold several, or are broken. Their spans, in order.
    pub irregular_lines: Vec<Range<usize>>,
    /// What is not JSON in such lines: the lines, but for whole objects in them. Its spans, in order.
    pub broken: Vec<Range<usize>>,
    /// Whether only the last line is broken, because the text ends inside it.
    pub is_cut_off: bool,
    /// Why the text as a whole is not JSON, if some lines are broken.
    pub error: Option<SyntaxError>,
}

/// The character that masks what is not JSON. It separates no values and opens none.
const MASK: &str = "x";

/// A long value or key. Offsets are bytes.
#[derive(Debug, Clone, Copy)]
pub struct LongValue {
    pub start: u32,
    pub end: u32,
    /// For an array or object: the index of the first long value after it. For a string: how many more characters its
    /// escapes have than the text they stand for.
    pub more: u32,
}

impl<'a> Source<'a> {
    /// Reads a text in one pass.
    ///
    /// # Errors
    /// The first place that is not JSON.
    pub fn of(text: &'a str) -> Result<Self, SyntaxError> {
        let start = start_of_values(text);
        match Scan::values(text, Controls::Refused, start) {
            Ok((long, irregular_lines)) => Ok(Source { irregular_lines, ..Source::new(text.into(), start, long) }),
            Err(wrong) => Err(wrong.error(text)),
        }
    }

    /// Reads a file, of which some lines may be broken. Whether that is an error depends on its format.
    ///
    /// # Errors
    /// The first place that is not JSON. The text is not JSONL either.
    pub fn of_file(text: &'a str) -> Result<Self, SyntaxError> {
        Source::of(text).or_else(|error| match error.what.as_str() {
            what if what == TOO_DEEP || what.ends_with(CONFLICT) => Err(error),
            _ => Source::of_lines(text, error),
        })
    }

    /// Reads each line by itself. A text is JSONL if its first line is not broken, or two of its lines are objects: of a list
    /// that is spread over lines, only the last element has no comma behind it.
    fn of_lines(text: &'a str, error: SyntaxError) -> Result<Self, SyntaxError> {
        let start = start_of_values(text);
        let scanned = Scan::lines(text, start).map_err(|wrong| wrong.error(text))?;
        let ScannedLines { long, irregular, broken } = scanned;
        let mut masked = String::with_capacity(text.len());
        for span in &broken {
            masked.push_str(&text[masked.len()..span.start]);
            masked.push_str(&MASK.repeat(span.len()));
        }
        masked.push_str(&text[masked.len()..]);
        let first = text.len() - text[start..].trim_ascii_start().len();
        // A line of whole objects is not broken.
        let is_broken = |line: &Range<usize>| {
            let at = broken.partition_point(|span| span.start < line.start);
            broken.get(at).is_some_and(|span| span.start < line.end)
        };
        let begins_broken = irregular.first().is_some_and(|line| line.start <= first && is_broken(line));
        let begins_object = |line: &str| line.trim_ascii_start().starts_with('{');
        let is_broken_object = |line: &&Range<usize>| is_broken(line) && begins_object(&text[line.start..line.end]);
        let broken_objects = irregular.iter().filter(is_broken_object).count();
        let objects = text[start..].lines().filter(|line| begins_object(line)).count() - broken_objects;
        if begins_broken && objects < 2 {
            return Err(error);
        }
        let is_cut_off = match irregular.as_slice() {
            [last] => is_cut_off(&text[last.start..]),
            _ => false,
        };
        let (irregular_lines, error) = (irregular, Some(error));
        Ok(Source { irregular_lines, broken, is_cut_off, error, ..Source::new(masked.into(), start, long) })
    }

    fn new(text: Cow<'a, str>, start: usize, long: Vec<LongValue>) -> Self {
        Source { text, start, long, irregular_lines: Vec::new(), broken: Vec::new(), is_cut_off: false, error: None }
    }

    /// Reads a tool's arguments as Python does with `strict=False`; `None` if they are not exactly one value.
    pub fn of_arguments(text: &'a str) -> Option<Self> {
        let (long, _) = Scan::values(text, Controls::Allowed, 0).ok()?;
        let source = Source::new(text.into(), 0, long);
        (source.values().take(2).count() == 1).then_some(source)
    }
}

/// Whether a text is one line that ends inside a value. Where it ends inside a character, a NUL stands for each of the
/// character's bytes.
pub fn is_cut_off(line: &str) -> bool {
    let is_last = memchr::memchr(b'\n', line.as_bytes()).is_none();
    is_last && Source::of(line.trim_end_matches('\0')).is_err_and(|error| error.is_early_end)
}

/// The offset after a byte order mark.
fn start_of_values(text: &str) -> usize {
    if text.starts_with('\u{feff}') { '\u{feff}'.len_utf8() } else { 0 }
}

/// An error and its offset.
struct ScanError {
    at: usize,
    what: &'static str,
    /// Whether the offset is where a string, list or object begins that is not closed.
    is_unclosed: bool,
    /// Whether the text ends too early.
    is_early_end: bool,
}

/// What a line is that begins with a mark of a merge conflict, after the mark.
const CONFLICT: &str = "marks a merge conflict that nobody has resolved,";

impl ScanError {
    /// Converts to line and column. A text that ends too early has its error at the end of its last line, unless
    /// something is not closed.
    fn error(&self, text: &str) -> SyntaxError {
        let is_at_end = self.is_early_end && !self.is_unclosed;
        let at = if is_at_end { text.trim_ascii_end().len().saturating_sub(1) } else { self.at };
        let before = &text.as_bytes()[..at];
        let line_start = memchr::memrchr(b'\n', before).map_or(0, |at| at + 1);
        let line = memchr::memchr_iter(b'\n', before).count() + 1;
        let conflict =
            ["<<<<<<<", "=======", ">>>>>>>"].into_iter().find(|marker| text[line_start..].starts_with(marker));
        let (column, what, is_unclosed) = match conflict {
            Some(marker) => (1, format!("`{marker}` {CONFLICT}"), false),
            None => (at - line_start + 1, self.what.to_owned(), self.is_unclosed),
        };
        SyntaxError { line, column, what, is_unclosed, is_early_end: self.is_early_end }
    }
}
