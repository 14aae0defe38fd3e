//! `repr` of Python for values read from JSON, since `LangChain` counts the characters of it.
//!
//! Dicts and lists with `, ` and `: `, strings in single quotes with what Unicode 14.0 calls not printable escaped,
//! whole numbers as they are spelled, others as Python's floats print. Nothing recurses: nesting is bounded by memory.

use std::borrow::Cow;
use std::collections::HashMap;
use std::collections::hash_map::Entry;

use crate::transcript::json::{Json, Kind, Token};
use crate::transcript::text::Text;

use super::not_printable::NOT_PRINTABLE;

/// Appends `repr` of a value, reading it once from left to right.
pub fn repr(value: Json<'_>, out: &mut String) {
    let mut open: Vec<Open<'_>> = Vec::new();
    for token in value.tokens() {
        match token {
            Token::Open(Kind::Object) => {
                begin_value(&mut open, out);
                out.push('{');
                open.push(Open::Dict(Dict::at(out.len())));
            }
            Token::Open(_) => {
                begin_value(&mut open, out);
                out.push('[');
                open.push(Open::List { start: out.len() });
            }
            Token::Close => match open.pop() {
                Some(Open::Dict(dict)) => {
                    dict.settle(out);
                    out.push('}');
                    end_value(&mut open, out);
                }
                _ => {
                    out.push(']');
                    end_value(&mut open, out);
                }
            },
            Token::Scalar(scalar_value) => match (open.last_mut(), scalar_value.text()) {
                (Some(Open::Dict(dict)), Some(key)) if dict.wants_key => dict.key(key, out),
                _ => {
                    begin_value(&mut open, out);
                    scalar(scalar_value, out);
                    end_value(&mut open, out);
                }
            },
        }
    }
}

/// A list or dict that is being written.
enum Open<'a> {
    List {
        /// Where its elements begin in the output.
        start: usize,
    },
    Dict(Dict<'a>),
}

/// A dict that is being written, members of equal keys one after the other until it is closed.
struct Dict<'a> {
    /// Where its members begin in the output.
    start: usize,
    wants_key: bool,
    members: Vec<Member>,
    /// The first and the last member of each key, in the order of the first ones.
    distinct: Vec<(usize, usize)>,
    index: HashMap<Cow<'a, str>, usize>,
}

/// Where a member stands in the output.
struct Member {
    key: usize,
    value: usize,
    end: usize,
}

impl<'a> Dict<'a> {
    fn at(start: usize) -> Self {
        Dict { start, wants_key: true, members: Vec::new(), distinct: Vec::new(), index: HashMap::new() }
    }

    fn key(&mut self, key: Text<'a>, out: &mut String) {
        if !self.members.is_empty() {
            out.push_str(", ");
        }
        let at = out.len();
        string(key, out);
        out.push_str(": ");
        let member = self.members.len();
        match self.index.entry(key.decode()) {
            Entry::Occupied(known) => self.distinct[*known.get()].1 = member,
            Entry::Vacant(new) => {
                new.insert(self.distinct.len());
                self.distinct.push((member, member));
            }
        }
        self.members.push(Member { key: at, value: out.len(), end: out.len() });
        self.wants_key = false;
    }

    /// A key that stands twice keeps its first place and its last value.
    fn settle(&self, out: &mut String) {
        if self.distinct.len() == self.members.len() {
            return;
        }
        let mut settled = String::new();
        for (first, last) in &self.distinct {
            let (first, last) = (&self.members[*first], &self.members[*last]);
            if !settled.is_empty() {
                settled.push_str(", ");
            }
            settled.push_str(&out[first.key..first.value]);
            settled.push_str(&out[last.value..last.end]);
        }
        out.truncate(self.start);
        out.push_str(&settled);
    }
}

/// Writes the comma before an element of a list.
fn begin_value(open: &mut [Open<'_>], out: &mut String) {
    if let Some(Open::List { start }) = open.last()
        && out.len() > *start
    {
        out.push_str(", ");
    }
}

fn end_value(open: &mut [Open<'_>], out: &str) {
    if let Some(Open::Dict(dict)) = open.last_mut() {
        dict.wants_key = true;
        if let Some(member) = dict.members.last_mut() {
            member.end = out.len();
        }
    }
}

/// Appends `repr` of a number, a string, a boolean or null.
fn scalar(value: Json<'_>, out: &mut String) {
    match value.kind() {
        Kind::Null => out.push_str("None"),
        Kind::Bool => out.push_str(if value.raw() == "true" { "True" } else { "False" }),
        Kind::Number => number(value.raw(), out),
        _ => {
            if let Some(text) = value.text() {
                string(text, out);
            }
        }
    }
}

/// Appends `repr` of a string.
pub fn string(text: Text<'_>, out: &mut String) {
    let (single, double) = (u32::from('\''), u32::from('"'));
    let has = |quote| text.code_points().any(|point| point == quote);
    let quote = if has(single) && !has(double) { '"' } else { '\'' };
    out.push(quote);
    for point in text.code_points() {
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
    out.push(quote);
}

fn is_printable(c: char) -> bool {
    if c.is_ascii() {
        return !c.is_ascii_control();
    }
    let point = u32::from(c);
    let run = NOT_PRINTABLE.partition_point(|(_, last)| *last < point);
    NOT_PRINTABLE.get(run).is_none_or(|(first, _)| point < *first)
}

/// Appends `repr` of a number: a whole one as it is spelled, any other as a float.
fn number(raw: &str, out: &mut String) {
    match raw {
        "-0" => out.push('0'),
        "NaN" => out.push_str("nan"),
        "Infinity" => out.push_str("inf"),
        "-Infinity" => out.push_str("-inf"),
        _ if raw.contains(['.', 'e', 'E']) => float(raw.parse().unwrap_or_default(), out),
        _ => out.push_str(raw),
    }
}

/// Appends a float as Python prints it: the shortest digits that read back the same, plain between 1e-4 and 1e16.
fn float(value: f64, out: &mut String) {
    if value.is_infinite() {
        out.push_str(if value > 0.0 { "inf" } else { "-inf" });
        return;
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

#[cfg(test)]
mod tests {
    use super::*;

    fn of(json: &str) -> String {
        let mut out = String::new();
        repr(crate::transcript::json::values(json, 0).expect("valid JSON")[0], &mut out);
        out
    }

    /// Made with `python3.11 -c 'import json, sys; print(repr(json.loads(sys.stdin.read())))'`.
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
            (r#"{"a": {"b": 1, "b": 22}, "a": {"b": 1, "c": 2, "b": 333}}"#, "{'a': {'b': 333, 'c': 2}}"),
        ] {
            assert_eq!(of(json), python, "{json}");
        }
    }

    #[test]
    fn nesting_costs_no_stack() {
        let depth = 100_000;
        let deep = format!("{}1{}", "{\"a\":[".repeat(depth), "]}".repeat(depth));
        assert_eq!(of(&deep).len(), "{'a': []}".len() * depth + 1);
    }
}
