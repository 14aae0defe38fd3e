//! Access to JSON text without building a tree.
//!
//! A [`Json`] is a span of a text that [`crate::source`] has checked. Nothing here checks the grammar
//! again; it only finds where values begin and end. Offsets are bytes from the start of the whole source, as edits need
//! them. Numbers and strings stay as the source spells them.

mod walk;

use std::fmt;
use std::ops::Range;

use crate::source::Source;
use crate::text::Text;
use walk::Walk;
pub use walk::named_strings;

/// A valid JSON value in a source text.
// There may be millions, so three numbers share two fields. The lower 48 bits of each are an offset, more than any
// memory has bytes. The upper 16 bits are half of the value's index among the long values, or of `SHORT`.
#[derive(Clone, Copy)]
pub struct Json<'a> {
    source: &'a Source<'a>,
    start_and_index: u64,
    end_and_index: u64,
}

/// The number of bits of an offset.
const OFFSET: u32 = 48;

/// The kind of a value, by its first byte.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum JsonKind {
    /// `{…}`
    Object,
    /// `[…]`
    Array,
    /// `"…"`
    String,
    /// A number as JSON spells it, or Python's `NaN` or `Infinity`.
    Number,
    /// `true` or `false`
    Bool,
    /// `null`
    Null,
}

impl JsonKind {
    /// The noun for messages such as "message 3 is a number".
    pub fn noun(self) -> &'static str {
        match self {
            JsonKind::Object => "an object",
            JsonKind::Array => "an array",
            JsonKind::String => "a string",
            JsonKind::Number => "a number",
            JsonKind::Bool => "a boolean",
            JsonKind::Null => "null",
        }
    }
}

impl<'a> Json<'a> {
    fn new(source: &'a Source<'a>, span: Range<usize>, long_index: u32) -> Self {
        let start_and_index = span.start as u64 | u64::from(long_index >> 16) << OFFSET;
        let end_and_index = span.end as u64 | u64::from(long_index & 0xffff) << OFFSET;
        Json { source, start_and_index, end_and_index }
    }

    fn start(&self) -> usize {
        (self.start_and_index & ((1 << OFFSET) - 1)) as usize
    }

    fn end(&self) -> usize {
        (self.end_and_index & ((1 << OFFSET) - 1)) as usize
    }

    /// Its index among the long values of the source, or `SHORT`.
    fn long_index(&self) -> u32 {
        ((self.start_and_index >> OFFSET) << 16 | self.end_and_index >> OFFSET) as u32
    }

    fn next(walk: &mut Walk<'a>) -> Option<Self> {
        walk.value().map(|(span, long_index)| Json::new(walk.source, span, long_index))
    }

    /// Walks over the content of the value; over nothing if it is not of this kind.
    fn inside(&self, kind: JsonKind) -> Walk<'a> {
        if self.kind() == kind {
            Walk::inside(self.source, self.span(), self.long_index())
        } else {
            Walk::empty(self.source)
        }
    }

    /// Walks over the value as a whole.
    fn whole(&self) -> Walk<'a> {
        Walk::over(self.source, self.span(), self.long_index())
    }

    /// Its span in the source, in bytes.
    pub fn span(&self) -> Range<usize> {
        self.start()..self.end()
    }

    /// The value as the source spells it.
    pub fn raw(&self) -> &'a str {
        &self.source.text[self.span()]
    }

    pub fn kind(&self) -> JsonKind {
        match self.source.text.as_bytes()[self.start()] {
            b'{' => JsonKind::Object,
            b'[' => JsonKind::Array,
            b'"' => JsonKind::String,
            b't' | b'f' => JsonKind::Bool,
            b'n' => JsonKind::Null,
            _ => JsonKind::Number,
        }
    }

    /// The string, if the value is one.
    pub fn text(&self) -> Option<Text<'a>> {
        (self.kind() == JsonKind::String).then(|| match self.source.long.get(self.long_index() as usize) {
            Some(long) => Text::spelled(self.unquoted(), long.more),
            None => Text::escaped(self.unquoted()),
        })
    }

    /// The elements; none if the value is not an array.
    pub fn items(&self) -> Items<'a> {
        Items::over(self.inside(JsonKind::Array), &[])
    }

    /// The members in order; none if the value is not an object.
    pub fn entries(&self) -> Entries<'a> {
        Entries { walk: self.inside(JsonKind::Object) }
    }

    /// The brackets and scalars of the value from left to right, in one pass at any depth.
    pub fn tokens(&self) -> Tokens<'a> {
        Tokens { walk: self.whole() }
    }

    /// The member called `key`; the last one if the key is repeated, as all common JSON readers do.
    pub fn get(&self, key: &str) -> Option<Json<'a>> {
        let mut walk = self.inside(JsonKind::Object);
        let mut found = None;
        while let Some(name) = Json::next(&mut walk) {
            let value = Json::next(&mut walk)?;
            if spells(name.unquoted(), key) {
                found = Some(value);
            }
        }
        found
    }

    /// The text between the quotes of a string.
    fn unquoted(&self) -> &'a str {
        &self.source.text[self.start() + 1..self.end() - 1]
    }

    /// The member called `key` if it is a string.
    pub fn get_text(&self, key: &str) -> Option<Text<'a>> {
        self.get(key)?.text()
    }

    /// Whether the member called `key` is this string.
    pub fn member_is(&self, key: &str, text: &str) -> bool {
        self.get_text(key).is_some_and(|own| own.is(text))
    }

    /// Whether the member called `key` is `true`.
    pub fn member_is_true(&self, key: &str) -> bool {
        self.get(key).is_some_and(|value| value.raw() == "true")
    }

    /// The member at the end of a path of keys.
    pub fn at(&self, path: &[&str]) -> Option<Json<'a>> {
        path.iter().try_fold(*self, |value, key| value.get(key))
    }

    /// Whether the value is falsy in Python: `null`, `false`, `0`, `""`, `[]`, `{}`.
    pub fn is_falsy(&self) -> bool {
        match self.kind() {
            JsonKind::Null => true,
            JsonKind::Bool => self.raw() == "false",
            JsonKind::String => self.raw() == "\"\"",
            JsonKind::Number => self.raw().parse::<f64>() == Ok(0.0),
            JsonKind::Array => self.items().next().is_none(),
            JsonKind::Object => self.entries().next().is_none(),
        }
    }
}

impl fmt::Debug for Json<'_> {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "Json({}..{} {})", self.start(), self.end(), self.raw())
    }
}

/// Iterates over the elements of an array, or the values of a source. The source has the ends of long values; the ends
/// of short ones are found byte by byte.
#[derive(Debug, Clone)]
pub struct Items<'a> {
    walk: Walk<'a>,
    /// The spans among the values that are passed over, in order.
    except: &'a [Range<usize>],
    /// A list inside one of the values, whose elements come in the place of that value.
    opened: Option<Json<'a>>,
    /// While these elements come, the values behind that one.
    behind: Option<Walk<'a>>,
}

impl Source<'_> {
    /// All values in order, also the whole objects of broken lines.
    pub fn values(&self) -> Items<'_> {
        self.values_except(&self.broken)
    }

    /// The values in order. Of a text with broken lines, only lines that are one value count.
    pub fn regular_values(&self) -> Items<'_> {
        self.values_except(if self.error.is_some() { &self.irregular_lines } else { &[] })
    }

    /// The values that are not in some spans, in order.
    pub fn values_except<'s>(&'s self, except: &'s [Range<usize>]) -> Items<'s> {
        Items::over(Walk::of_source(self, self.start), except)
    }

    pub fn first(&self) -> Option<Json<'_>> {
        self.values().next()
    }
}

impl<'a> Items<'a> {
    fn over(walk: Walk<'a>, except: &'a [Range<usize>]) -> Self {
        Items { walk, except, opened: None, behind: None }
    }

    /// Iterates over a single value.
    pub fn only(value: Json<'a>) -> Self {
        Items::over(value.whole(), &[])
    }

    /// The same values, but for the one around a list: the elements of the list come in its place.
    pub fn opening(self, list: Json<'a>) -> Self {
        Items { opened: Some(list), ..self }
    }

    /// The list inside a value whose elements come in the place of that value.
    pub fn opened(&self) -> Option<Json<'a>> {
        self.opened
    }

    fn next_of_walk(&mut self) -> Option<Json<'a>> {
        while let Some((span, rest)) = self.except.split_first()
            && self.walk.pass_over(span)
        {
            self.except = rest;
        }
        Json::next(&mut self.walk)
    }
}

impl<'a> Iterator for Items<'a> {
    type Item = Json<'a>;

    fn next(&mut self) -> Option<Json<'a>> {
        loop {
            let Some(value) = self.next_of_walk() else {
                self.walk = self.behind.take()?;
                continue;
            };
            match self.opened {
                Some(list) if value.start() < list.start() && list.end() < value.end() => {
                    self.behind = Some(std::mem::replace(&mut self.walk, list.inside(JsonKind::Array)));
                }
                _ => return Some(value),
            }
        }
    }
}

/// Iterates over the members of an object.
pub struct Entries<'a> {
    walk: Walk<'a>,
}

impl<'a> Iterator for Entries<'a> {
    type Item = (Text<'a>, Json<'a>);

    fn next(&mut self) -> Option<(Text<'a>, Json<'a>)> {
        let name = Json::next(&mut self.walk)?.text()?;
        Some((name, Json::next(&mut self.walk)?))
    }
}

/// An object with all its members found once, for readers that need several of them.
#[derive(Clone)]
pub struct Object<'a> {
    /// The value itself. It has no members if it is not an object.
    pub json: Json<'a>,
    members: Vec<JsonMember<'a>>,
}

#[derive(Clone, Copy)]
struct JsonMember<'a> {
    /// The text between the quotes of the key.
    key: &'a str,
    /// Whether that text has escapes.
    is_escaped: bool,
    value: Json<'a>,
}

impl<'a> Object<'a> {
    /// Finds the members of a value in one pass.
    pub fn of(json: Json<'a>) -> Self {
        let mut walk = json.inside(JsonKind::Object);
        let mut members = Vec::with_capacity(4);
        while let Some(key) = Json::next(&mut walk)
            && let Some(value) = Json::next(&mut walk)
        {
            let key = key.unquoted();
            members.push(JsonMember { key, is_escaped: key.bytes().any(|byte| byte == b'\\'), value });
        }
        Object { json, members }
    }

    /// The member called `key`; the last one if the key is repeated.
    pub fn get(&self, key: &str) -> Option<Json<'a>> {
        let is_it =
            |member: &&JsonMember<'_>| if member.is_escaped { spells(member.key, key) } else { member.key == key };
        self.members.iter().rev().find(is_it).map(|member| member.value)
    }

    /// The member called `key` if it is a string.
    pub fn get_text(&self, key: &str) -> Option<Text<'a>> {
        self.get(key)?.text()
    }

    /// Whether the member called `key` is this string.
    pub fn member_is(&self, key: &str, text: &str) -> bool {
        self.get_text(key).is_some_and(|own| own.is(text))
    }

    /// Whether the member called `key` is `true`.
    pub fn member_is_true(&self, key: &str) -> bool {
        self.get(key).is_some_and(|value| value.raw() == "true")
    }

    /// The member at the end of a path of keys.
    pub fn at(&self, path: &[&str]) -> Option<Json<'a>> {
        let (first, rest) = path.split_first()?;
        self.get(first)?.at(rest)
    }
}

/// Whether a key with `raw` between its quotes decodes to `text`.
fn spells(raw: &str, text: &str) -> bool {
    // Most keys differ in length or in the first byte, and an escaped key is longer than its text.
    let (begins, wanted) = (raw.as_bytes().first(), text.as_bytes().first());
    if raw.len() > text.len() {
        (begins == wanted || begins == Some(&b'\\')) && Text::escaped(raw).is(text)
    } else {
        // A key spelled like a text with a backslash decodes to another text.
        begins == wanted && raw == text && !text.contains('\\')
    }
}

/// A token of a value.
#[derive(Debug, Clone, Copy)]
pub enum Token<'a> {
    /// An object or array begins.
    Open(JsonKind),
    /// The innermost object or array ends.
    Close,
    /// A key, or a value other than an object or array.
    Scalar(Json<'a>),
}

/// Iterates over the tokens of a value.
pub struct Tokens<'a> {
    walk: Walk<'a>,
}

impl<'a> Iterator for Tokens<'a> {
    type Item = Token<'a>;

    fn next(&mut self) -> Option<Token<'a>> {
        let token = match self.walk.peek()? {
            b'{' => Token::Open(JsonKind::Object),
            b'[' => Token::Open(JsonKind::Array),
            b'}' | b']' => Token::Close,
            _ => return Json::next(&mut self.walk).map(Token::Scalar),
        };
        self.walk.step();
        Some(token)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn one(text: &str) -> Json<'_> {
        // The leaks of short tests do not matter.
        Box::leak(Box::new(Source::of(text).expect("valid JSON"))).first().expect("a value")
    }

    #[test]
    fn spans_are_those_of_the_source() {
        let source = " [ {\"a\" : [1, \"]\\\"\"] } ,-2.50e+3,true ]\n";
        let array = one(source);
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

    /// The index is stored in two halves.
    #[test]
    fn a_value_behind_many_others_is_known_by_its_place() {
        let many = (1 << 16) + 10;
        let source = format!("[{}\"\\u00e9\"]", "[],".repeat(many));
        let last = one(&source).items().last().expect("a string");
        assert_eq!((last.long_index(), last.raw()), (many as u32 + 1, "\"\\u00e9\""));
        assert_eq!(last.text().expect("a string").code_point_count(), 1);
    }

    #[test]
    fn depth_costs_no_stack() {
        use crate::source::MAX_DEPTH;

        let deep = format!("{}{}", "[".repeat(MAX_DEPTH), "]".repeat(MAX_DEPTH));
        assert_eq!(one(&deep).items().count(), 1);
    }
}
