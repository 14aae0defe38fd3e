//! Walking over JSON text without building a tree.
//!
//! A [`Json`] is a place in a text that [`super::syntax`] has found valid, so nothing here checks grammar again: it only
//! finds where values begin and end. Offsets are bytes from the start of the whole source, which is what an edit needs.
//! It is not a parser, and numbers and strings stay as they are spelled.

use std::fmt;
use std::ops::Range;

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

impl<'a> Json<'a> {
    /// The value that stands at `span`, which is known to hold one.
    pub(super) fn at_span(source: &'a str, span: Range<usize>) -> Self {
        Json { source, start: span.start, end: span.end }
    }

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

    /// The member at the end of a path of keys.
    pub fn at(&self, path: &[&str]) -> Option<Json<'a>> {
        let (first, rest) = path.split_first()?;
        self.get(first)?.at(rest)
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

/// One past the quote that closes the string opened at `open`. Quotes are looked for and not escapes, since texts are full
/// of those: a quote closes the string where an even number of backslashes stands before it.
fn string_end(bytes: &[u8], open: usize) -> usize {
    let mut at = open + 1;
    while let Some(next) = memchr::memchr(b'"', bytes.get(at..).unwrap_or_default()) {
        let quote = at + next;
        let backslashes = bytes[at..quote].iter().rev().take_while(|byte| **byte == b'\\').count();
        at = quote + 1;
        if backslashes % 2 == 0 {
            return at;
        }
    }
    bytes.len()
}

#[cfg(test)]
mod tests {
    use super::super::syntax::values;
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
    fn falsy_is_what_python_calls_false() {
        for text in ["null", "false", "0", "-0.0", "\"\"", "[ ]", "{}"] {
            assert!(one(text).is_falsy(), "{text}");
        }
        for text in ["true", "1", "\" \"", "[0]", "{\"a\":0}"] {
            assert!(!one(text).is_falsy(), "{text}");
        }
    }

    #[test]
    fn a_quote_behind_backslashes_closes_a_string_where_they_pair_up() {
        for text in [r#""""#, r#""\"""#, r#""\\""#, r#""\\\"""#, r#""\"\"""#, r#""a\\\\""#, r#""\n\"x\\""#] {
            let array = format!("[{text},7]");
            let items: Vec<&str> = one(&array).items().map(|item| item.raw()).collect();
            assert_eq!(items, [text, "7"]);
        }
    }

    #[test]
    fn depth_costs_no_stack() {
        let deep = format!("{}{}", "[".repeat(200_000), "]".repeat(200_000));
        assert_eq!(one(&deep).items().count(), 1);
    }
}
