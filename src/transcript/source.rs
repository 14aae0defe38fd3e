//! Checks that a text is JSON, and indexes its long values.
//!
//! One pass checks the grammar. It builds no tree and records only where each long value ends, so that
//! [`crate::transcript::json`] can skip messages without reading them again. Like Python's `json`, it also accepts
//! `NaN` and `Infinity` anywhere, and control characters in the arguments of tools.

mod scan;
#[cfg(test)]
mod tests;

#[cfg(any(test, feature = "laws"))]
pub(crate) use scan::MAX_DEPTH;
pub(crate) use scan::TOO_DEEP;
use scan::{Controls, Scan};

/// The place where a text stops being JSON, and why.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct SyntaxError {
    /// Line, counted from 1.
    pub(crate) line: usize,
    /// Byte in the line, counted from 1.
    pub(crate) column: usize,
    /// The reason, without the place.
    pub(crate) what: String,
}

/// A text with its JSON values: one in a document, several in JSONL, where two may share a line. A byte order mark in
/// front belongs to none of them.
#[derive(Debug)]
pub(crate) struct Source<'a> {
    /// The text, including a byte order mark.
    pub(crate) text: &'a str,
    /// The byte range of all values.
    pub(super) values: (usize, usize),
    /// The long values, in the order in which they begin.
    pub(super) long: Vec<LongValue>,
    /// The error in the last line, if a program did not finish writing it.
    pub(super) broken: Option<SyntaxError>,
}

/// A long value or key. Offsets are bytes.
#[derive(Debug, Clone, Copy)]
pub(super) struct LongValue {
    pub(super) start: u32,
    pub(super) end: u32,
    /// For an array or object: the index of the first long value after it. For a string: how many more characters its
    /// escapes have than the text they stand for.
    pub(super) more: u32,
}

impl<'a> Source<'a> {
    /// Reads a text in one pass. If the last line is only the beginning of a value, the values are those before it.
    ///
    /// # Errors
    /// The first place that is not JSON.
    pub(crate) fn of(text: &'a str) -> Result<Self, SyntaxError> {
        let mark = if text.starts_with('\u{feff}') { '\u{feff}'.len_utf8() } else { 0 };
        match Scan::long_values(text, Controls::Refused, mark) {
            Ok(long) => Ok(Source { text, values: (mark, text.len()), long, broken: None }),
            Err(wrong) => Source::of_whole_lines(text, mark, &wrong).ok_or_else(|| wrong.error(text)),
        }
    }

    /// Reads all lines but an incomplete last one.
    fn of_whole_lines(text: &'a str, mark: usize, wrong: &ScanError) -> Option<Self> {
        let end = text.rfind('\n')? + 1;
        let is_blank = |text: &str| text.trim_ascii().is_empty();
        if !wrong.is_early_end || is_blank(&text[end..]) || is_blank(&text[mark..end]) {
            return None;
        }
        let long = Scan::long_values(&text[..end], Controls::Refused, mark).ok()?;
        Some(Source { text, values: (mark, end), long, broken: Some(wrong.error(text)) })
    }

    /// Reads a tool's arguments as Python does with `strict=False`; `None` if they are not exactly one value.
    pub(crate) fn of_arguments(text: &'a str) -> Option<Self> {
        let long = Scan::long_values(text, Controls::Allowed, 0).ok()?;
        let source = Source { text, values: (0, text.len()), long, broken: None };
        (source.values().take(2).count() == 1).then_some(source)
    }
}

/// An error and its offset.
struct ScanError {
    at: usize,
    what: &'static str,
    /// Whether the text ends too early.
    is_early_end: bool,
}

impl ScanError {
    /// Converts to line and column. A text that ends too early has its error at the end of its last line.
    fn error(&self, text: &str) -> SyntaxError {
        let at = if self.is_early_end { text.trim_ascii_end().len().saturating_sub(1) } else { self.at };
        let before = &text.as_bytes()[..at];
        let line_start = memchr::memrchr(b'\n', before).map_or(0, |at| at + 1);
        let line = memchr::memchr_iter(b'\n', before).count() + 1;
        let conflict =
            ["<<<<<<<", "=======", ">>>>>>>"].into_iter().find(|marker| text[line_start..].starts_with(marker));
        match conflict {
            Some(marker) => {
                let what = format!("`{marker}` marks a merge conflict that nobody has resolved,");
                SyntaxError { line, column: 1, what }
            }
            None => SyntaxError { line, column: at - line_start + 1, what: self.what.to_owned() },
        }
    }
}
