//! A text that is JSON: whether it is, and where its long values lie.
//!
//! One pass checks the grammar. It keeps no tree, only where each long value ends, so that [`crate::transcript::json`] can
//! skip messages without reading them again. Like Python's `json`, it also accepts `NaN` and `Infinity` anywhere, and
//! control characters in the arguments of tools.

mod scan;
#[cfg(test)]
mod tests;

#[cfg(any(test, feature = "laws"))]
pub(crate) use scan::MAX_DEPTH;
pub(crate) use scan::TOO_DEEP;
use scan::{Controls, Scan};

/// Where a text stops being JSON.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct SyntaxError {
    /// Line, counted from 1.
    pub(crate) line: usize,
    /// Byte in the line, counted from 1.
    pub(crate) column: usize,
    /// What is wrong, without the place.
    pub(crate) what: String,
}

/// A text and the JSON values that stand in it one after the other: one in a document, several in JSONL, where two may
/// share a line. A byte order mark before them is no part of them.
#[derive(Debug)]
pub(crate) struct Source<'a> {
    /// The text, byte order mark and all.
    pub(crate) text: &'a str,
    /// Where the values begin and end, in bytes.
    pub(super) values: (usize, usize),
    /// The long values, in the order they begin.
    pub(super) long: Vec<Long>,
    /// What is wrong with the last line, if a program did not finish writing it.
    pub(super) broken: Option<SyntaxError>,
}

/// A value that is long, or the key of one. Offsets are bytes.
#[derive(Debug, Clone, Copy)]
pub(super) struct Long {
    pub(super) start: u32,
    pub(super) end: u32,
    /// Of an array or an object: the place in the list of the first long value behind it. Of a string: how many more
    /// characters its escapes take than what they stand for.
    pub(super) more: u32,
}

impl<'a> Source<'a> {
    /// Reads a text, once. If its last line is only the beginning of a value, the values are those before it.
    ///
    /// # Errors
    /// The first place that is not JSON.
    pub(crate) fn of(text: &'a str) -> Result<Self, SyntaxError> {
        let mark = if text.starts_with('\u{feff}') { '\u{feff}'.len_utf8() } else { 0 };
        match Scan::over(text, Controls::Refused, mark) {
            Ok(long) => Ok(Source { text, values: (mark, text.len()), long, broken: None }),
            Err(wrong) => Source::of_whole_lines(text, mark, &wrong).ok_or_else(|| wrong.error(text)),
        }
    }

    /// The values of all lines but an incomplete last one.
    fn of_whole_lines(text: &'a str, mark: usize, wrong: &Wrong) -> Option<Self> {
        let end = text.rfind('\n')? + 1;
        let is_blank = |text: &str| text.trim_ascii().is_empty();
        if !wrong.is_early_end || is_blank(&text[end..]) || is_blank(&text[mark..end]) {
            return None;
        }
        let long = Scan::over(&text[..end], Controls::Refused, mark).ok()?;
        Some(Source { text, values: (mark, end), long, broken: Some(wrong.error(text)) })
    }

    /// Reads arguments of a tool as Python does with `strict=False`; nothing if they are not exactly one value.
    pub(crate) fn of_arguments(text: &'a str) -> Option<Self> {
        let long = Scan::over(text, Controls::Allowed, 0).ok()?;
        let source = Source { text, values: (0, text.len()), long, broken: None };
        (source.values().take(2).count() == 1).then_some(source)
    }
}

/// What is wrong, and where.
struct Wrong {
    at: usize,
    what: &'static str,
    /// Whether the text ends where it should go on.
    is_early_end: bool,
}

impl Wrong {
    /// The same by line and column. What ends too early ends where its last line does.
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
