//! The layout of JSON, copied from a nearby message so that a new one looks like its neighbours.

use std::io::{self, Write};

use serde::Serialize;
use serde_json::Value;
use serde_json::ser::{Formatter, Serializer};

use crate::transcript::Transcript;
use crate::transcript::json::Json;

/// A layout of JSON.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Style {
    /// The text between a key and its value: `: `, `:`.
    colon: String,
    /// The text between two members on one line: `, `, `,`.
    comma: String,
    /// The text inside the braces of an object on one line.
    padding: String,
    /// The line breaks, if there are any.
    lines: Option<Indentation>,
    /// Whether non-ASCII characters are escaped.
    ascii: bool,
}

/// A layout over several lines.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Indentation {
    newline: String,
    /// The indentation of the object's own brackets.
    outer: String,
    /// The indentation of each further level.
    step: String,
}

impl Style {
    /// The layout on one line with spaces after colons and commas.
    pub fn spaced() -> Self {
        let padding = String::new();
        Style { colon: ": ".to_owned(), comma: ", ".to_owned(), padding, lines: None, ascii: false }
    }

    /// Copies the layout of the message at `index`, or of the last one; `ascii` escapes non-ASCII characters.
    pub fn beside(transcript: &Transcript<'_>, index: usize, ascii: bool) -> Self {
        let messages = &transcript.messages;
        let Some(neighbour) = messages.get(index).or(messages.last()) else { return Style::spaced() };
        Style { ascii, ..Style::of(neighbour.json) }
    }

    /// Copies the layout of an object.
    fn of(object: Json<'_>) -> Self {
        let mut style = Style::spaced();
        let mut entries = object.entries();
        let Some((key, first)) = entries.next() else { return style };
        let raw = object.raw();
        let start = object.span().start;
        // An object's text is its brackets, keys with quotes, values, and the gaps between them.
        let key_at = raw.find('"').unwrap_or(1);
        let key_end = key_at + key.raw().len() + 2;
        let (value_at, value_end) = (first.span().start - start, first.span().end - start);
        style.colon = raw[key_end..value_at].to_owned();
        if entries.next().is_some() {
            let next_key = value_end + raw[value_end..].find('"').unwrap_or(0);
            style.comma = raw[value_end..next_key].to_owned();
        }
        let opening = &raw[1..key_at];
        style.padding = opening.to_owned();
        if let Some(at) = opening.rfind('\n') {
            let last = object.entries().last().map_or(value_end, |(_, value)| value.span().end - start);
            let closing = &raw[last..raw.len() - 1];
            let outer = &closing[closing.rfind('\n').map_or(0, |at| at + 1)..];
            let inner = &opening[at + 1..];
            style.lines = Some(Indentation {
                newline: if opening[..at].ends_with('\r') { "\r\n" } else { "\n" }.to_owned(),
                outer: outer.to_owned(),
                step: inner.strip_prefix(outer).unwrap_or(inner).to_owned(),
            });
        }
        style
    }

    /// Writes a value in this layout.
    pub fn write(&self, value: &Value) -> String {
        let mut out = Vec::new();
        let layout = StyledFormatter { style: self, depth: 0, empty: true };
        // Writing to memory does not fail, and the output is UTF-8.
        match value.serialize(&mut Serializer::with_formatter(&mut out, layout)) {
            Ok(()) => String::from_utf8_lossy(&out).into_owned(),
            Err(_) => value.to_string(),
        }
    }
}

/// Formats the output of serde_json in a style.
struct StyledFormatter<'s> {
    style: &'s Style,
    depth: usize,
    empty: bool,
}

impl StyledFormatter<'_> {
    fn open<W: Write + ?Sized>(&mut self, out: &mut W, bracket: &[u8]) -> io::Result<()> {
        self.depth += 1;
        self.empty = true;
        out.write_all(bracket)
    }

    fn close<W: Write + ?Sized>(&mut self, out: &mut W, bracket: &[u8]) -> io::Result<()> {
        self.depth -= 1;
        if !self.empty && self.style.lines.is_some() {
            self.line(out)?;
        } else if !self.empty && bracket == b"}" {
            out.write_all(self.style.padding.as_bytes())?;
        }
        self.empty = false;
        out.write_all(bracket)
    }

    fn element<W: Write + ?Sized>(&mut self, out: &mut W, first: bool) -> io::Result<()> {
        self.empty = false;
        if !first {
            let comma = if self.style.lines.is_some() { "," } else { &self.style.comma };
            out.write_all(comma.as_bytes())?;
        }
        self.line(out)
    }

    /// Begins a line, where the layout has several.
    fn line<W: Write + ?Sized>(&self, out: &mut W) -> io::Result<()> {
        let Some(lines) = &self.style.lines else { return Ok(()) };
        out.write_all(lines.newline.as_bytes())?;
        out.write_all(lines.outer.as_bytes())?;
        for _ in 0..self.depth {
            out.write_all(lines.step.as_bytes())?;
        }
        Ok(())
    }
}

impl Formatter for StyledFormatter<'_> {
    fn begin_array<W: Write + ?Sized>(&mut self, out: &mut W) -> io::Result<()> {
        self.open(out, b"[")
    }

    fn end_array<W: Write + ?Sized>(&mut self, out: &mut W) -> io::Result<()> {
        self.close(out, b"]")
    }

    fn begin_array_value<W: Write + ?Sized>(&mut self, out: &mut W, first: bool) -> io::Result<()> {
        self.element(out, first)
    }

    fn begin_object<W: Write + ?Sized>(&mut self, out: &mut W) -> io::Result<()> {
        self.open(out, b"{")
    }

    fn end_object<W: Write + ?Sized>(&mut self, out: &mut W) -> io::Result<()> {
        self.close(out, b"}")
    }

    fn begin_object_key<W: Write + ?Sized>(&mut self, out: &mut W, first: bool) -> io::Result<()> {
        if first && self.style.lines.is_none() {
            out.write_all(self.style.padding.as_bytes())?;
        }
        self.element(out, first)
    }

    fn begin_object_value<W: Write + ?Sized>(&mut self, out: &mut W) -> io::Result<()> {
        out.write_all(self.style.colon.as_bytes())
    }

    fn write_string_fragment<W: Write + ?Sized>(&mut self, out: &mut W, fragment: &str) -> io::Result<()> {
        if !self.style.ascii || fragment.is_ascii() {
            return out.write_all(fragment.as_bytes());
        }
        let mut units = [0; 2];
        for c in fragment.chars() {
            if c.is_ascii() {
                out.write_all(&[c as u8])?;
            } else {
                for unit in c.encode_utf16(&mut units) {
                    write!(out, "\\u{unit:04x}")?;
                }
            }
        }
        Ok(())
    }
}
