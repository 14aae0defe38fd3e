//! Python's notation of strings, in `repr` and in JSON.

use std::sync::LazyLock;

use regex_syntax::hir::{Class, ClassUnicode, Hir, HirKind};

use crate::transcript::text::{Text, TextPiece};

/// A target of written text.
pub(crate) trait TextSink {
    /// Appends a text.
    fn push_str(&mut self, text: &str);

    /// Appends a character.
    fn push(&mut self, c: char);
}

impl TextSink for String {
    fn push_str(&mut self, text: &str) {
        self.push_str(text);
    }

    fn push(&mut self, c: char) {
        self.push(c);
    }
}

/// Counts the characters of written text.
#[derive(Debug, Default)]
pub(crate) struct Chars(pub(crate) usize);

impl TextSink for Chars {
    fn push_str(&mut self, text: &str) {
        self.0 += text.chars().count();
    }

    fn push(&mut self, _: char) {
        self.0 += 1;
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
        return out.push_str(text);
    }
    let mut rest = text;
    while let Some(at) = rest.bytes().position(|byte| !is_unescaped(byte, quote)) {
        out.push_str(&rest[..at]);
        let mut chars = rest[at..].chars();
        chars.next().into_iter().for_each(|c| code_point(u32::from(c), quote, out));
        rest = chars.as_str();
    }
    out.push_str(rest);
}

/// Whether a byte is an ASCII character that is not escaped.
fn is_unescaped(byte: u8, quote: char) -> bool {
    matches!(byte, b' '..=b'~') & (byte != b'\\') & (char::from(byte) != quote)
}

/// Appends a code point as the `repr` of a string has it.
fn code_point(point: u32, quote: char, out: &mut impl TextSink) {
    match char::from_u32(point) {
        Some('\n') => out.push_str("\\n"),
        Some('\r') => out.push_str("\\r"),
        Some('\t') => out.push_str("\\t"),
        Some('\\') => out.push_str("\\\\"),
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
