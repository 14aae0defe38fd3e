//! Python's notation of JSON values: `repr`, and `json.dumps` without escapes of characters outside ASCII. tcompact's
//! estimate of tokens is `LangChain`'s and counts the characters of this notation, with and without a preset. The presets
//! also send it to models.
//!
//! Dicts and lists have `, ` and `: `; integers stay as they are spelled, other numbers are printed like Python's
//! floats. In `repr`, strings have single quotes, and the characters that Unicode 14.0 calls not printable are escaped.
//! Nothing recurses, so only memory limits the nesting. Text that is only counted is not stored.

use std::borrow::Cow;
use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::sync::LazyLock;

use regex_syntax::hir::{Class, ClassUnicode, Hir, HirKind};

use crate::transcript::json::{Json, JsonKind, Token};
use crate::transcript::text::{Text, TextPiece};

/// A notation of Python.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Dialect {
    Repr,
    Json,
}

/// Appends the `repr` of a value. The cost is linear in its length, for any nesting and any repeated keys.
pub fn repr(value: Json<'_>, out: &mut impl TextSink) {
    write(value, Dialect::Repr, out);
}

/// Appends `json.dumps(value, ensure_ascii=False)`.
pub fn json(value: Json<'_>, out: &mut impl TextSink) {
    write(value, Dialect::Json, out);
}

fn write(value: Json<'_>, dialect: Dialect, out: &mut impl TextSink) {
    let tokens: Vec<Token<'_>> = value.tokens().collect();
    let ends = ends(&tokens);
    let mut todo = vec![WritingStep::Value(0)];
    while let Some(step) = todo.pop() {
        match step {
            WritingStep::Text(text) => out.push_str(text),
            WritingStep::Key(key) => dialect.key(key, out),
            WritingStep::Value(at) => match tokens[at] {
                Token::Scalar(value) => dialect.scalar(value, out),
                Token::Open(JsonKind::Object) => {
                    out.push('{');
                    todo.push(WritingStep::Text("}"));
                    let members = members(&tokens, &ends, at);
                    for (index, (key, value)) in members.into_iter().enumerate().rev() {
                        todo.extend([WritingStep::Value(value), WritingStep::Key(key)]);
                        todo.extend((index > 0).then_some(WritingStep::Text(", ")));
                    }
                }
                Token::Open(_) | Token::Close => {
                    out.push('[');
                    todo.push(WritingStep::Text("]"));
                    for (index, item) in items(&ends, at).into_iter().enumerate().rev() {
                        todo.push(WritingStep::Value(item));
                        todo.extend((index > 0).then_some(WritingStep::Text(", ")));
                    }
                }
            },
        }
    }
}

/// A step of writing. The next one is the last of the stack.
enum WritingStep<'a> {
    Text(&'static str),
    Key(Text<'a>),
    /// The value that begins with this token.
    Value(usize),
}

/// For each token, the one after the value that begins with it.
fn ends(tokens: &[Token<'_>]) -> Vec<usize> {
    let mut ends: Vec<usize> = (1..=tokens.len()).collect();
    let mut open = Vec::new();
    for (at, token) in tokens.iter().enumerate() {
        match token {
            Token::Open(_) => open.push(at),
            Token::Close => {
                if let Some(opened) = open.pop() {
                    ends[opened] = at + 1;
                }
            }
            Token::Scalar(_) => {}
        }
    }
    ends
}

/// The first tokens of a list's elements.
fn items(ends: &[usize], open: usize) -> Vec<usize> {
    let close = ends[open] - 1;
    let mut items = Vec::new();
    let mut at = open + 1;
    while at < close {
        items.push(at);
        at = ends[at];
    }
    items
}

/// The keys of an object and the first tokens of their values. A repeated key keeps its first place and its last value.
fn members<'a>(tokens: &[Token<'a>], ends: &[usize], open: usize) -> Vec<(Text<'a>, usize)> {
    let items = items(ends, open);
    let named = items.chunks_exact(2).filter_map(|pair| match tokens[pair[0]] {
        Token::Scalar(name) => Some((name.text()?, pair[1])),
        _ => None,
    });
    let mut members: Vec<(Text<'a>, usize)> = Vec::with_capacity(items.len() / 2);
    let mut places: HashMap<Cow<'a, str>, usize> = HashMap::new();
    for (name, value) in named {
        match places.entry(name.decode()) {
            Entry::Occupied(place) => members[*place.get()].1 = value,
            Entry::Vacant(new) => {
                new.insert(members.len());
                members.push((name, value));
            }
        }
    }
    members
}

impl Dialect {
    /// Appends a key and its colon.
    fn key(self, key: Text<'_>, out: &mut impl TextSink) {
        self.string(key, out);
        out.push_str(": ");
    }

    /// Appends a number, a string, a boolean or null.
    fn scalar(self, value: Json<'_>, out: &mut impl TextSink) {
        match (value.kind(), self) {
            (JsonKind::Null, Dialect::Repr) => out.push_str("None"),
            (JsonKind::Bool, Dialect::Repr) => out.push_str(if value.raw() == "true" { "True" } else { "False" }),
            (JsonKind::Null | JsonKind::Bool, Dialect::Json) => out.push_str(value.raw()),
            (JsonKind::Number, _) => self.number(value.raw(), out),
            _ => {
                if let Some(text) = value.text() {
                    self.string(text, out);
                }
            }
        }
    }

    fn string(self, text: Text<'_>, out: &mut impl TextSink) {
        match self {
            Dialect::Repr => string(text, out),
            Dialect::Json => json_string(text, out),
        }
    }

    /// Appends a number: an integer as it is spelled, any other as a float.
    fn number(self, raw: &str, out: &mut impl TextSink) {
        let infinity = if self == Dialect::Json { "Infinity" } else { "inf" };
        match raw {
            "-0" => out.push('0'),
            "NaN" => out.push_str(if self == Dialect::Json { "NaN" } else { "nan" }),
            "Infinity" => out.push_str(infinity),
            "-Infinity" => {
                out.push('-');
                out.push_str(infinity);
            }
            _ if raw.contains(['.', 'e', 'E']) => float(raw.parse().unwrap_or_default(), infinity, out),
            _ => out.push_str(raw),
        }
    }
}

/// Appends a float like Python: the shortest digits that parse to the same value, without an exponent from 1e-4 to
/// 1e16.
fn float(value: f64, infinity: &str, out: &mut impl TextSink) {
    if value.is_infinite() {
        out.push_str(if value > 0.0 { "" } else { "-" });
        return out.push_str(infinity);
    }
    // Rust's `{:e}` has the same shortest digits: `1.5e300`, `5e-324`.
    let scientific = format!("{value:e}");
    let (mantissa, exponent) = scientific.split_once('e').unwrap_or((&scientific, "0"));
    let exponent: i32 = exponent.parse().unwrap_or(0);
    if (-4..16).contains(&exponent) {
        let plain = format!("{value}");
        out.push_str(&plain);
        if !plain.contains('.') {
            out.push_str(".0");
        }
    } else {
        let sign = if exponent < 0 { '-' } else { '+' };
        out.push_str(&format!("{mantissa}e{sign}{:02}", exponent.abs()));
    }
}

/// A target of written text.
pub trait TextSink {
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
pub struct Chars(pub usize);

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
pub fn string(text: Text<'_>, out: &mut impl TextSink) {
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::transcript::source::Source;

    fn of(json: &str) -> String {
        let mut out = String::new();
        let (mut chars, source) = (Chars::default(), Source::of(json).expect("valid JSON"));
        repr(source.first().expect("a value"), &mut out);
        repr(source.first().expect("a value"), &mut chars);
        assert_eq!(chars.0, out.chars().count(), "{json}");
        out
    }

    /// The expected texts come from `python3.11 -c 'import json, sys; print(repr(json.loads(sys.stdin.read())))'`.
    #[test]
    fn as_python_prints() {
        for (json, python) in [
            (r#"{"a": [1, true, null, "x"], "b": {}, "c": []}"#, "{'a': [1, True, None, 'x'], 'b': {}, 'c': []}"),
            (r#"["it's", "a \"b\"", "it's \"b\"", "back\\slash"]"#, r#"["it's", 'a "b"', 'it\'s "b"', 'back\\slash']"#),
            (r#""\n\r\t\u0000\u007f\u0085\u00a0\u00ad""#, r"'\n\r\t\x00\x7f\x85\xa0\xad'"),
            (r#""\u200b\u200d\u2028\ufeff\ue000\ud83d""#, r"'\u200b\u200d\u2028\ufeff\ue000\ud83d'"),
            (r#""😀é中\ufe0f\ud83d\ude00\udb40\udc01""#, "'😀é中\u{fe0f}😀\\U000e0001'"),
            (
                "[0, -0, 12345678901234567890123, 1.0, 1e16, 1e15, 123456789.123, 1e-4, 1e-5, -0.0, 1.5E300, 5e-324, 1e400, -1e400, NaN, -Infinity]",
                "[0, 0, 12345678901234567890123, 1.0, 1e+16, 1000000000000000.0, 123456789.123, 0.0001, 1e-05, -0.0, 1.5e+300, 5e-324, inf, -inf, nan, -inf]",
            ),
            (r#"{"a": 1, "b": [2], "a": {"c": "long"}, "d": 3, "b": 0, "\u0061": 9}"#, "{'a': 9, 'b': 0, 'd': 3}"),
            (r#"{"only": 1, "only": [1, 2]}"#, "{'only': [1, 2]}"),
            (r#"{"a": 1, "b": null, "\u0061": "2"}"#, "{'a': '2', 'b': None}"),
            ("{}", "{}"),
            (
                r#"{"a":1,"b":2,"c":3,"d":4,"e":5,"f":6,"g":true,"h":0.5}"#,
                "{'a': 1, 'b': 2, 'c': 3, 'd': 4, 'e': 5, 'f': 6, 'g': True, 'h': 0.5}",
            ),
            (
                r#"{"a":1,"b":2,"c":3,"d":4,"e":5,"f":6,"g":7,"h":8,"i":9}"#,
                "{'a': 1, 'b': 2, 'c': 3, 'd': 4, 'e': 5, 'f': 6, 'g': 7, 'h': 8, 'i': 9}",
            ),
            (
                r#"{"a":1,"b":2,"c":3,"d":4,"e":5,"f":6,"g":7,"h":8,"a":9}"#,
                "{'a': 9, 'b': 2, 'c': 3, 'd': 4, 'e': 5, 'f': 6, 'g': 7, 'h': 8}",
            ),
            (r#"{"a": {"b": 1, "b": 22}, "a": {"b": 1, "c": 2, "b": 333}}"#, "{'a': {'b': 333, 'c': 2}}"),
        ] {
            assert_eq!(of(json), python, "{json}");
        }
    }

    /// The expected texts come from `python3.11 -c 'import json, sys; print(json.dumps(json.loads(sys.stdin.read()), ensure_ascii=False))'`.
    #[test]
    fn as_python_writes_json() {
        for (json, python) in [
            (r#"{"a":[1,true,null,"x"],"b":{},"c":[]}"#, r#"{"a": [1, true, null, "x"], "b": {}, "c": []}"#),
            (r#""\u0000\n\u001f\b\f\u007f\u2028\u00e9\"\\\/""#, "\"\\u0000\\n\\u001f\\b\\f\u{7f}\u{2028}é\\\"\\\\/\""),
            (
                "[-0, 1.0, 1e5, 1E400, -1e400, NaN, -Infinity, 1.10]",
                "[0, 1.0, 100000.0, Infinity, -Infinity, NaN, -Infinity, 1.1]",
            ),
            (r#"{"a": 1, "b": 2, "a": 3}"#, r#"{"a": 3, "b": 2}"#),
            (
                r#"{"a":true,"b":null,"c":"\u0001\"","d":1E400}"#,
                r#"{"a": true, "b": null, "c": "\u0001\"", "d": Infinity}"#,
            ),
        ] {
            let mut out = String::new();
            super::json(Source::of(json).expect("valid JSON").first().expect("a value"), &mut out);
            assert_eq!(out, python, "{json}");
        }
    }

    #[test]
    fn keys_that_repeat_at_every_level_cost_no_more() {
        let depth = 1_000;
        let deep = format!("{}1{}", "{\"a\":0,\"a\":".repeat(depth), "}".repeat(depth));
        assert_eq!(of(&deep).len(), "{'a': }".len() * depth + 1);
    }

    #[test]
    fn nesting_costs_no_stack() {
        let depth = 500;
        let deep = format!("{}1{}", "{\"a\":[".repeat(depth), "]}".repeat(depth));
        assert_eq!(of(&deep).len(), "{'a': []}".len() * depth + 1);
    }
}
