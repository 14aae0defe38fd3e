//! The hash of a JSON value, whatever its layout: a client that writes a document anew may order the members of an object
//! in another way, escape other characters and spell numbers in another way.

use std::borrow::Cow;

use crate::hash::{Hasher, sha256};
use crate::transcript::json::{Json, JsonKind};
use crate::transcript::text::{Text, TextPiece};

/// The digits of a short hash, which tells entries of one list apart.
pub const SHORT: usize = 16;

/// The hash of a value, in 64 hexadecimal digits.
pub fn value_hash(value: Json<'_>) -> String {
    let mut bytes = Vec::with_capacity(value.span().len() + 16);
    write(value, &mut bytes);
    sha256(&bytes)
}

/// Writes a value so that two values give the same bytes if, and only if, they are equal.
fn write(value: Json<'_>, out: &mut Vec<u8>) {
    match value.kind() {
        JsonKind::Null | JsonKind::Bool => out.extend(value.raw().as_bytes()),
        JsonKind::Number => write_number(value.raw(), out),
        JsonKind::String => {
            if let Some(text) = value.text() {
                write_text(&decoded(&text), out);
            }
        }
        JsonKind::Array => {
            out.push(b'[');
            for item in value.items() {
                write(item, out);
                out.push(b',');
            }
            out.push(b']');
        }
        JsonKind::Object => {
            let mut members: Vec<_> = value.entries().map(|(key, value)| (decoded(&key), value)).collect();
            members.sort_by(|(one, _), (other, _)| one.cmp(other));
            out.push(b'{');
            for (at, (key, value)) in members.iter().enumerate() {
                // Of members with the same key, readers take the last.
                if members.get(at + 1).is_none_or(|(next, _)| next != key) {
                    write_text(key, out);
                    write(*value, out);
                }
            }
            out.push(b'}');
        }
    }
}

/// Many clients read all numbers as floating-point numbers, so equal ones of these are equal.
fn write_number(raw: &str, out: &mut Vec<u8>) {
    out.push(b'#');
    match raw.parse::<f64>() {
        // There are two zeros.
        Ok(0.0) => out.extend(0f64.to_be_bytes()),
        Ok(number) => out.extend(number.to_be_bytes()),
        Err(_) => write_text(raw.as_bytes(), out),
    }
}

/// The bytes of a string. Half of a surrogate pair has bytes that no text has: a repair replaces it by a character, and that is
/// a change.
fn decoded<'a>(text: &Text<'a>) -> Cow<'a, [u8]> {
    if !text.is_escaped() {
        return Cow::Borrowed(text.raw().as_bytes());
    }
    let mut bytes = Vec::with_capacity(text.raw().len());
    for piece in text.pieces() {
        match piece {
            TextPiece::Plain(plain) => bytes.extend(plain.as_bytes()),
            TextPiece::Escape(point) => match char::from_u32(point) {
                Some(char) => bytes.extend(char.encode_utf8(&mut [0; 4]).as_bytes()),
                None => bytes.extend([0xff, (point >> 8) as u8, point as u8]),
            },
        }
    }
    Cow::Owned(bytes)
}

fn write_text(text: &[u8], out: &mut Vec<u8>) {
    out.push(b'"');
    out.extend((text.len() as u64).to_be_bytes());
    out.extend(text);
}

/// The running hash of the entries of a list.
#[derive(Clone, Default)]
pub struct ListHash(Hasher);

impl ListHash {
    /// Adds the hash of the next entry.
    pub fn add(&mut self, entry: &str) {
        self.0.add(entry.as_bytes());
    }

    /// The hash of all entries so far.
    pub fn end(self) -> String {
        self.0.end()
    }
}

/// The hash of each beginning of a list, with the index of its last entry. A system message in front may differ, so each
/// beginning without the first entry counts, too. `hashes` are those of the entries.
pub fn hashes_of_beginnings(hashes: &[String]) -> impl Iterator<Item = (usize, String)> {
    hashes_from(hashes, 0).chain(hashes_from(hashes, 1))
}

/// The hash of each list that begins with the entry at `first`, with the index of its last entry.
fn hashes_from(hashes: &[String], first: usize) -> impl Iterator<Item = (usize, String)> {
    let mut hash = ListHash::default();
    hashes.iter().enumerate().skip(first).map(move |(index, entry)| {
        hash.add(entry);
        (index, hash.clone().end())
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::transcript::source::Source;

    fn hash(text: &str) -> String {
        value_hash(Source::of(text).expect("JSON").first().expect("a value"))
    }

    #[test]
    fn equal_values_have_equal_hashes() {
        for (one, other) in [
            (r#"{"a": 1, "b": [true, null]}"#, r#"{ "b":[true,null] ,"a":1.0}"#),
            (r#""é\n/""#, r#""\u00e9\u000A\/""#),
            (r#""\ud83c!""#, r#""\uD83C\u0021""#),
            (r#""\ud83c\udf37""#, r#""🌷""#),
            (r#"{"a": 1, "a": 2}"#, r#"{"a": 2}"#),
            ("1e2", "100"),
            ("-0.0", "0"),
            ("{}", "{ }"),
        ] {
            assert_eq!(hash(one), hash(other), "{one} {other}");
        }
    }

    #[test]
    fn other_values_have_other_hashes() {
        let values = [
            "null",
            "false",
            "0",
            "\"0\"",
            "\"\"",
            "[]",
            "{}",
            "[[]]",
            "[[],[]]",
            "[\"a\",\"b\"]",
            "[\"ab\"]",
            "{\"a\":0}",
            "{\"a\":\"0\"}",
            "[{\"a\":0}]",
            "{\"a\":{}}",
            "\"null\"",
            "1",
            "-1",
            "[1,2]",
            "[12]",
            "[2,1]",
            r#""\ud83c""#,
            r#""\ud83d""#,
            r#""\ufffd""#,
            r#"{"\ud83c":0}"#,
            r#"{"\ufffd":0}"#,
        ];
        for (at, one) in values.iter().enumerate() {
            for other in &values[at + 1..] {
                assert_ne!(hash(one), hash(other), "{one} {other}");
            }
        }
    }
}
