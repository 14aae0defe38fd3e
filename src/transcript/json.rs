//! Walking over JSON text without building a tree.
//!
//! A [`Json`] is a place in a text that `serde_json` has found valid, so nothing here checks grammar again: it only
//! finds where values begin and end. Offsets are bytes from the start of the whole source, which is what an edit needs.
//! It is not a parser, and numbers and strings stay as they are spelled.

use std::fmt;
use std::ops::Range;

use serde::de::IgnoredAny;

use super::text::Text;

/// A valid JSON value at its place in a source text.
#[derive(Clone, Copy)]
pub struct Json<'a> {
    source: &'a str,
    start: usize,
    end: usize,
}

/// What a value is, told by its first byte.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// `{…}`
    Object,
    /// `[…]`
    Array,
    /// `"…"`
    String,
    /// A number as JSON spells it, or `NaN` or `Infinity` as Python does.
    Number,
    /// `true` or `false`
    Bool,
    /// `null`
    Null,
}

impl Kind {
    /// The word for a sentence: "message 3 is a number".
    pub fn noun(self) -> &'static str {
        match self {
            Kind::Object => "an object",
            Kind::Array => "an array",
            Kind::String => "a string",
            Kind::Number => "a number",
            Kind::Bool => "a boolean",
            Kind::Null => "null",
        }
    }
}

/// Where a text stops being JSON.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SyntaxError {
    /// Line, counted from 1.
    pub line: usize,
    /// Byte in the line, counted from 1.
    pub column: usize,
    /// What is wrong, without the place.
    pub what: String,
}

/// All values that stand one after the other in `source` from byte `from` on (one in a JSON document, several in JSONL,
/// where two may share a line). Reads the whole text once.
///
/// # Errors
/// The first place that is not JSON.
pub fn values(source: &str, from: usize) -> Result<Vec<Json<'_>>, SyntaxError> {
    values_checked(source, source, from).or_else(|error| {
        // What Python writes beyond JSON is rare, and a file is read a second time only where it is not JSON.
        let beyond =
            memchr::memmem::find(source.as_bytes(), b"NaN").or(memchr::memmem::find(source.as_bytes(), b"Infinity"));
        if beyond.is_none() { Err(error) } else { values_checked(source, &strict(source, Controls::Refused), from) }
    })
}

/// The one value that `text` is, as Python reads it with `strict=False` (so tool arguments are read); nothing if it is
/// not exactly one.
pub fn parse_arguments(text: &str) -> Option<Json<'_>> {
    let found = values_checked(text, text, 0).or_else(|_| values_checked(text, &strict(text, Controls::Allowed), 0));
    match found.ok()?.as_slice() {
        [one] => Some(*one),
        _ => None,
    }
}

/// Whether control characters may stand in strings.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Controls {
    Refused,
    Allowed,
}

/// `text` with what Python reads and writes beyond JSON (`NaN`, `Infinity`) replaced by JSON of the same length, so that
/// it can be checked in its place.
fn strict(text: &str, controls: Controls) -> String {
    const BEYOND: [(&str, &str); 2] = [("NaN", "0.0"), ("Infinity", "10000000")];
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    let (mut in_string, mut after_backslash) = (false, false);
    while let Some(c) = rest.chars().next() {
        let begins =
            out.ends_with(['[', ':', ',', ' ', '\t', '\n', '\r']) || out.ends_with('-') && c == 'I' || out.is_empty();
        let ends = |after: &str| after.is_empty() || after.starts_with([',', ']', '}', ' ', '\t', '\n', '\r']);
        let literal =
            BEYOND.iter().find(|(beyond, _)| begins && !in_string && rest.strip_prefix(beyond).is_some_and(ends));
        if let Some((beyond, same_length)) = literal {
            out.push_str(same_length);
            rest = &rest[beyond.len()..];
            continue;
        }
        let control = in_string && c < ' ' && controls == Controls::Allowed;
        out.push(if control { ' ' } else { c });
        in_string ^= c == '"' && !after_backslash;
        after_backslash = c == '\\' && !after_backslash;
        rest = &rest[c.len_utf8()..];
    }
    out
}

/// The values of `source`, given that `checked` has the same ones at the same places.
fn values_checked<'a>(source: &'a str, checked: &str, from: usize) -> Result<Vec<Json<'a>>, SyntaxError> {
    let text = checked.get(from..).unwrap_or_default();
    let mut stream = serde_json::Deserializer::from_str(text).into_iter::<IgnoredAny>();
    let mut found = Vec::new();
    let mut done = 0;
    while let Some(next) = stream.next() {
        next.map_err(|error| SyntaxError::new(&error))?;
        let end = stream.byte_offset();
        let start = done + leading_space(&text.as_bytes()[done..end]);
        found.push(Json { source, start: from + start, end: from + end });
        done = end;
    }
    Ok(found)
}

impl SyntaxError {
    fn new(error: &serde_json::Error) -> Self {
        let full = error.to_string();
        let what = full.rfind(" at line ").map_or(full.as_str(), |at| &full[..at]);
        SyntaxError { line: error.line(), column: error.column(), what: what.to_owned() }
    }
}

impl<'a> Json<'a> {
    /// Where the value stands in the source, in bytes.
    pub fn span(&self) -> Range<usize> {
        self.start..self.end
    }

    /// The value as it is spelled.
    pub fn raw(&self) -> &'a str {
        &self.source[self.start..self.end]
    }

    /// What the value is.
    pub fn kind(&self) -> Kind {
        match self.source.as_bytes()[self.start] {
            b'{' => Kind::Object,
            b'[' => Kind::Array,
            b'"' => Kind::String,
            b't' | b'f' => Kind::Bool,
            b'n' => Kind::Null,
            _ => Kind::Number,
        }
    }

    /// The string, if the value is one.
    pub fn text(&self) -> Option<Text<'a>> {
        (self.kind() == Kind::String).then(|| Text::escaped(&self.source[self.start + 1..self.end - 1]))
    }

    /// The elements, none if the value is no array.
    pub fn items(&self) -> Items<'a> {
        Items { walk: Walk::inside(self, Kind::Array) }
    }

    /// The members in the order they stand, none if the value is no object.
    pub fn entries(&self) -> Entries<'a> {
        Entries { walk: Walk::inside(self, Kind::Object) }
    }

    /// Everything in the value from left to right, brackets and scalars, in one pass however deep it is.
    pub fn tokens(&self) -> Tokens<'a> {
        Tokens { walk: Walk { source: self.source, at: self.start, end: self.end } }
    }

    /// The member called `key`; the last one where it stands twice, as every JSON reader in use takes it.
    pub fn get(&self, key: &str) -> Option<Json<'a>> {
        self.entries().filter(|(name, _)| name.is(key)).last().map(|(_, value)| value)
    }

    /// The member called `key` if it is a string.
    pub fn get_text(&self, key: &str) -> Option<Text<'a>> {
        self.get(key)?.text()
    }

    /// The member at the end of a path of keys.
    pub fn at(&self, path: &[&str]) -> Option<Json<'a>> {
        path.iter().try_fold(*self, |value, key| value.get(key))
    }

    /// Whether Python would call the value false: `null`, `false`, `0`, `""`, `[]`, `{}`.
    pub fn is_falsy(&self) -> bool {
        match self.kind() {
            Kind::Null => true,
            Kind::Bool => self.raw() == "false",
            Kind::String => self.raw() == "\"\"",
            Kind::Number => self.raw().parse::<f64>() == Ok(0.0),
            Kind::Array => self.items().next().is_none(),
            Kind::Object => self.entries().next().is_none(),
        }
    }
}

impl fmt::Debug for Json<'_> {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "Json({}..{} {})", self.start, self.end, self.raw())
    }
}

/// The elements of an array.
pub struct Items<'a> {
    walk: Walk<'a>,
}

impl<'a> Iterator for Items<'a> {
    type Item = Json<'a>;

    fn next(&mut self) -> Option<Json<'a>> {
        self.walk.value()
    }
}

/// The members of an object.
pub struct Entries<'a> {
    walk: Walk<'a>,
}

impl<'a> Iterator for Entries<'a> {
    type Item = (Text<'a>, Json<'a>);

    fn next(&mut self) -> Option<(Text<'a>, Json<'a>)> {
        let name = self.walk.value()?.text()?;
        Some((name, self.walk.value()?))
    }
}

/// An object whose members have been found, for those who ask for several of them.
#[derive(Clone)]
pub struct Object<'a> {
    /// The value itself, which need not be an object; then there are no members.
    pub json: Json<'a>,
    members: Vec<(Text<'a>, Json<'a>)>,
}

impl<'a> Object<'a> {
    /// Finds the members of a value, in one pass over it.
    pub fn of(json: Json<'a>) -> Self {
        Object { json, members: json.entries().collect() }
    }

    /// The member called `key`; the last one where it stands twice.
    pub fn get(&self, key: &str) -> Option<Json<'a>> {
        self.members.iter().rev().find(|(name, _)| name.is(key)).map(|(_, value)| *value)
    }

    /// The member called `key` if it is a string.
    pub fn get_text(&self, key: &str) -> Option<Text<'a>> {
        self.get(key)?.text()
    }
}

/// A piece of a value as it is passed over.
#[derive(Debug, Clone, Copy)]
pub enum Token<'a> {
    /// An object or array begins.
    Open(Kind),
    /// The innermost object or array ends.
    Close,
    /// A key, or a value that is neither object nor array.
    Scalar(Json<'a>),
}

/// The tokens of a value.
pub struct Tokens<'a> {
    walk: Walk<'a>,
}

impl<'a> Iterator for Tokens<'a> {
    type Item = Token<'a>;

    fn next(&mut self) -> Option<Token<'a>> {
        let token = match self.walk.peek()? {
            b'{' => Token::Open(Kind::Object),
            b'[' => Token::Open(Kind::Array),
            b'}' | b']' => Token::Close,
            _ => return self.walk.value().map(Token::Scalar),
        };
        self.walk.at += 1;
        Some(token)
    }
}

/// A position inside an array or object.
struct Walk<'a> {
    source: &'a str,
    at: usize,
    end: usize,
}

impl<'a> Walk<'a> {
    fn inside(value: &Json<'a>, kind: Kind) -> Self {
        let inside = if value.kind() == kind { value.start + 1..value.end - 1 } else { value.end..value.end };
        Walk { source: value.source, at: inside.start, end: inside.end }
    }

    /// The next byte that is no separator.
    fn peek(&mut self) -> Option<u8> {
        let bytes = &self.source.as_bytes()[..self.end];
        while matches!(bytes.get(self.at)?, b' ' | b'\t' | b'\n' | b'\r' | b',' | b':') {
            self.at += 1;
        }
        Some(bytes[self.at])
    }

    /// The next value.
    fn value(&mut self) -> Option<Json<'a>> {
        self.peek()?;
        let start = self.at;
        self.at = value_end(&self.source.as_bytes()[..self.end], start);
        Some(Json { source: self.source, start, end: self.at })
    }
}

fn leading_space(bytes: &[u8]) -> usize {
    bytes.iter().position(|byte| !matches!(byte, b' ' | b'\t' | b'\n' | b'\r')).unwrap_or(bytes.len())
}

/// Where the value that begins at `start` ends.
fn value_end(bytes: &[u8], start: usize) -> usize {
    let mut at = start;
    let mut depth = 0usize;
    while let Some(byte) = bytes.get(at) {
        match byte {
            b',' | b':' | b' ' | b'\t' | b'\n' | b'\r' | b'}' | b']' if depth == 0 => return at,
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
    while let Some(next) = memchr::memchr2(b'"', b'\\', &bytes[at.min(bytes.len())..]) {
        at += next;
        if bytes[at] == b'"' {
            return at + 1;
        }
        at += 2;
    }
    bytes.len()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn one(text: &str) -> Json<'_> {
        values(text, 0).expect("valid JSON")[0]
    }

    #[test]
    fn spans_are_those_of_the_source() {
        let source = " [ {\"a\" : [1, \"]\\\"\"] } ,-2.50e+3,true ]\n";
        let array = values(source, 0).expect("valid")[0];
        let items: Vec<&str> = array.items().map(|item| item.raw()).collect();
        assert_eq!(items, ["{\"a\" : [1, \"]\\\"\"] }", "-2.50e+3", "true"]);
        for item in array.items() {
            assert_eq!(&source[item.span()], item.raw());
        }
    }

    #[test]
    fn the_last_of_equal_keys_counts_and_keys_may_be_escaped() {
        assert_eq!(one(r#"{"k":1,"\u006b":2}"#).get("k").map(|v| v.raw()), Some("2"));
        assert!(one("[1]").get("k").is_none());
    }

    #[test]
    fn several_values_may_share_a_line() {
        let found = values("{\"a\":1}{\"a\":2}\n[3]\n", 0).expect("valid");
        assert_eq!(found.iter().map(|v| v.raw()).collect::<Vec<_>>(), ["{\"a\":1}", "{\"a\":2}", "[3]"]);
    }

    #[test]
    fn an_error_names_line_and_column() {
        let error = values("{\"a\": 1}\n{\"a\" 2}", 0).expect_err("not JSON");
        assert_eq!((error.line, error.column), (2, 6));
        assert_eq!(error.what, "expected `:`");
    }

    #[test]
    fn falsy_is_what_python_calls_false() {
        for text in ["null", "false", "0", "-0.0", "\"\"", "[ ]", "{}"] {
            assert!(one(text).is_falsy(), "{text}");
        }
        for text in ["true", "1", "\" \"", "[0]", "{\"a\":0}"] {
            assert!(!one(text).is_falsy(), "{text}");
        }
    }

    #[test]
    fn what_python_writes_beyond_json_is_read() {
        let source = r#"[NaN, -Infinity, {"NaN": "Infinity \" NaN"}]"#;
        let array = values(source, 0).expect("as Python reads it")[0];
        assert_eq!(
            array.items().map(|item| item.raw()).collect::<Vec<_>>(),
            ["NaN", "-Infinity", r#"{"NaN": "Infinity \" NaN"}"#]
        );
        for none in ["[nan]", "[1NaN]", "[-NaN]", "[1Infinity]", "[NaN1]", "[Infinity.5]", "[NaNe5]"] {
            assert!(values(none, 0).is_err(), "{none}");
        }
        assert_eq!(values("[NaN]\n[1,]", 0).expect_err("not JSON").line, 2);
        assert!(values("[\"\t\"]", 0).is_err(), "no control characters in strings of a transcript");
        assert_eq!(parse_arguments("{\"a\": \"\t\n\"}").map(|value| value.raw()), Some("{\"a\": \"\t\n\"}"));
    }

    #[test]
    fn depth_costs_no_stack() {
        let deep = format!("{}{}", "[".repeat(200_000), "]".repeat(200_000));
        assert_eq!(one(&deep).items().count(), 1);
    }
}
