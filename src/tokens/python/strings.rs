//! Python's notation of strings, in `repr` and in JSON.

use std::sync::LazyLock;

use regex_syntax::hir::{Class, ClassUnicode, Hir, HirKind};

use crate::transcript::text::{Text, TextPiece};

/// A target of written text.
pub(crate) trait TextSink {
    /// Appends a text.
    fn push_str(&mut self, text: &str);
    /// Appends a text that is ASCII.
    fn push_ascii(&mut self, text: &str) {
        self.push_str(text);
    }
    /// Appends a character.
    fn push(&mut self, c: char);
    /// Appends the `repr` of a string.
    fn push_repr(&mut self, text: Text<'_>);
}

impl TextSink for String {
    fn push_str(&mut self, text: &str) {
        self.push_str(text);
    }

    fn push(&mut self, c: char) {
        self.push(c);
    }

    fn push_repr(&mut self, text: Text<'_>) {
        string(text, self);
    }
}

/// Counts the characters of written text.
#[derive(Debug, Default)]
pub(crate) struct Chars(pub(crate) usize);

impl TextSink for Chars {
    fn push_str(&mut self, text: &str) {
        self.0 += text.chars().count();
    }

    fn push_ascii(&mut self, text: &str) {
        self.0 += text.len();
    }

    fn push(&mut self, _: char) {
        self.0 += 1;
    }

    fn push_repr(&mut self, text: Text<'_>) {
        match string_length(text) {
            Some(length) => self.0 += length,
            None => string(text, self),
        }
    }
}

/// Appends a string as JSON, with only the escapes that it needs.
pub(super) fn json_string(text: Text<'_>, out: &mut impl TextSink) {
    out.push('"');
    for c in text.decode().chars() {
        match c {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            '\u{8}' => out.push_str("\\b"),
            '\u{c}' => out.push_str("\\f"),
            '\0'..='\u{1f}' => out.push_str(&format!("\\u{:04x}", u32::from(c))),
            _ => out.push(c),
        }
    }
    out.push('"');
}

/// Returns the length of the `repr` of a string from one pass over its bytes; nothing where each character must be
/// examined.
///
/// Python has the same one-letter escapes as JSON for most characters, so the spelled length is the length of the
/// `repr` except for quotes. In escaped text, every double quote is escaped.
pub(super) fn string_length(text: Text<'_>) -> Option<usize> {
    let raw = text.raw();
    let kinds = kinds(raw.as_bytes(), text.is_escaped());
    if kinds & UNUSUAL != 0 || kinds & BEYOND_ASCII != 0 && !raw.chars().all(|c| c.is_ascii() || is_printable(c)) {
        return None;
    }
    let mut length = if kinds & BEYOND_ASCII == 0 { raw.len() } else { raw.chars().count() };
    if kinds & MAYBE_OTHER_ESCAPE != 0 {
        length = length.checked_add_signed(other_escapes(raw.as_bytes())?)?;
    }
    if kinds & DOUBLE_QUOTE != 0 {
        // Python uses single quotes, unless the string has single quotes and no double ones.
        let count = |quote| memchr::memchr_iter(quote, raw.as_bytes()).count();
        length = length + count(b'\'') - if text.is_escaped() { count(b'"') } else { 0 };
    }
    Some(length + 2)
}

/// There are characters outside ASCII.
const BEYOND_ASCII: u8 = 1;
/// There can be an escape whose length differs in Python. (Or an escaped backslash before a letter.)
const MAYBE_OTHER_ESCAPE: u8 = 2;
const DOUBLE_QUOTE: u8 = 4;
/// There are controls, or backslashes in text without escapes.
const UNUSUAL: u8 = 8;

/// Returns which of these kinds occur in some bytes, in one pass.
fn kinds(raw: &[u8], is_escaped: bool) -> u8 {
    let kind = |byte: u8, next: u8| {
        let is_backslash = byte == b'\\';
        let is_other = (next == b'u') | (next == b'/') | (next == b'b') | (next == b'f');
        let unusual = (byte < b' ') | (byte == 0x7F) | is_backslash & !is_escaped;
        byte >> 7 | u8::from(is_backslash & is_other) << 1 | u8::from(byte == b'"') << 2 | u8::from(unusual) << 3
    };
    let nexts = raw.get(1..).unwrap_or_default();
    let last = raw.last().map_or(0, |last| kind(*last, b' '));
    raw.iter().zip(nexts).fold(last, |kinds, (byte, next)| kinds | kind(*byte, *next))
}

/// Returns by how much escapes are longer in Python than in JSON; nothing where one is a `\u` escape.
fn other_escapes(raw: &[u8]) -> Option<isize> {
    let mut longer = 0;
    let mut rest = raw;
    while let Some(at) = memchr::memchr(b'\\', rest) {
        longer += match rest.get(at + 1) {
            Some(b'u') => return None,
            Some(b'/') => -1,
            Some(b'b' | b'f') => 2,
            _ => 0,
        };
        rest = rest.get(at + 2..).unwrap_or_default();
    }
    Some(longer)
}

/// Appends the `repr` of a string.
pub(crate) fn string(text: Text<'_>, out: &mut impl TextSink) {
    let quote = if text.has_quote(b'\'') && !text.has_quote(b'"') { '"' } else { '\'' };
    out.push(quote);
    for piece in text.pieces() {
        match piece {
            TextPiece::Plain(plain) => characters(plain, quote, out),
            TextPiece::Escape(point) => code_point(point, quote, out),
        }
    }
    out.push(quote);
}

/// Appends characters as the `repr` of a string has them.
fn characters(text: &str, quote: char, out: &mut impl TextSink) {
    // In most texts no character is escaped, and testing for any is faster than searching for the first.
    if text.bytes().fold(true, |all, byte| all & is_unescaped(byte, quote)) {
        return out.push_ascii(text);
    }
    let mut rest = text;
    while let Some(at) = rest.bytes().position(|byte| !is_unescaped(byte, quote)) {
        out.push_ascii(&rest[..at]);
        let mut chars = rest[at..].chars();
        chars.next().into_iter().for_each(|c| code_point(u32::from(c), quote, out));
        rest = chars.as_str();
    }
    out.push_ascii(rest);
}

/// Whether a byte is an ASCII character that is not escaped.
fn is_unescaped(byte: u8, quote: char) -> bool {
    matches!(byte, b' '..=b'~') & (byte != b'\\') & (char::from(byte) != quote)
}

/// Appends a code point as the `repr` of a string has it.
fn code_point(point: u32, quote: char, out: &mut impl TextSink) {
    match char::from_u32(point) {
        Some('\n') => out.push_ascii("\\n"),
        Some('\r') => out.push_ascii("\\r"),
        Some('\t') => out.push_ascii("\\t"),
        Some('\\') => out.push_ascii("\\\\"),
        Some(c) if c == quote => {
            out.push('\\');
            out.push(c);
        }
        Some(c) if is_printable(c) => out.push(c),
        _ if point < 0x100 => out.push_str(&format!("\\x{point:02x}")),
        _ if point < 0x1_0000 => out.push_str(&format!("\\u{point:04x}")),
        _ => out.push_str(&format!("\\U{point:08x}")),
    }
}

/// The characters for which `str.isprintable` is false in Python 3.11, which has Unicode 14.0: controls, separators, and
/// what that version does not know.
static NOT_PRINTABLE: LazyLock<ClassUnicode> =
    LazyLock::new(|| match regex_syntax::parse(r"[\p{C}\p{Z}\P{age=14.0}--\x20]").map(Hir::into_kind) {
        Ok(HirKind::Class(Class::Unicode(class))) => class,
        other => unreachable!("a class of characters: {other:?}"),
    });

fn is_printable(c: char) -> bool {
    if c.is_ascii() {
        return !c.is_ascii_control();
    }
    let runs = NOT_PRINTABLE.ranges();
    let run = runs.partition_point(|run| run.end() < c);
    runs.get(run).is_none_or(|run| c < run.start())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tokens::python::Chars;

    /// Strings of four pieces each, with and without the escapes of JSON.
    #[test]
    fn a_string_counts_what_is_written_of_it() {
        const PIECES: [&str; 23] = [
            "", "ab", "'", r#"\""#, r"\\", r"\/", r"\b", r"\f", r"\n", r"\t", r"\u0027", r"\u0022", r"\u0008",
            r"\ud83d", r"\ude00", "é", "😀", "\u{200b}", "\u{7f}", "\u{85}", "\n", "u", "/",
        ];
        let two: Vec<String> = PIECES.iter().flat_map(|a| PIECES.map(|b| format!("{a}{b}"))).collect();
        let (mut all, mut at_once) = ([0, 0], [0, 0]);
        for (one, other) in two.iter().flat_map(|one| two.iter().map(move |other| (one, other))) {
            let escaped = format!("{one}{other}");
            let plain = escaped.replace('\\', "");
            for (kind, text) in [Text::escaped(&escaped), Text::plain(&escaped), Text::plain(&plain)].iter().enumerate()
            {
                let (mut written, mut chars) = (String::new(), Chars::default());
                written.push_repr(*text);
                chars.push_repr(*text);
                assert_eq!(chars.0, written.chars().count(), "{text:?} {written}");
                all[kind / 2] += 1;
                at_once[kind / 2] += i32::from(string_length(*text).is_some());
            }
        }
        assert!(at_once[0] > all[0] / 20 && at_once[1] > all[1] / 4, "{at_once:?} of {all:?}");
    }
}
