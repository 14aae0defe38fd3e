//! Whether a text is JSON, and where its values stand.
//!
//! `serde_json` checks the grammar and keeps nothing. What Python's `json` reads and writes beyond it is let through:
//! `NaN` and `Infinity` anywhere, control characters in the arguments of tools.

use serde::de::IgnoredAny;

use super::json::Json;

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
        next.map_err(|error| SyntaxError::new(&error, source))?;
        let end = stream.byte_offset();
        let start = done + leading_space(&text.as_bytes()[done..end]);
        found.push(Json::at_span(source, from + start..from + end));
        done = end;
    }
    Ok(found)
}

impl SyntaxError {
    fn new(error: &serde_json::Error, source: &str) -> Self {
        let line = source.lines().nth(error.line().saturating_sub(1)).unwrap_or_default();
        // What ends too early ends where its last line does.
        let (at, column) = match (error.line(), error.column()) {
            (at, 0) if at > 1 => (at - 1, source.lines().nth(at - 2).unwrap_or_default().len()),
            place => place,
        };
        if let Some(marker) = ["<<<<<<<", "=======", ">>>>>>>"].iter().find(|marker| line.starts_with(**marker)) {
            let what = format!("`{marker}` marks a merge conflict that nobody has resolved,");
            return SyntaxError { line: error.line(), column: 1, what };
        }
        let full = error.to_string();
        let what = full.rfind(" at line ").map_or(full.as_str(), |at| &full[..at]);
        SyntaxError { line: at, column, what: what.to_owned() }
    }
}

fn leading_space(bytes: &[u8]) -> usize {
    bytes.iter().position(|byte| !matches!(byte, b' ' | b'\t' | b'\n' | b'\r')).unwrap_or(bytes.len())
}

#[cfg(test)]
mod tests {
    use super::*;

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
    fn merge_conflicts_are_called_by_their_name() {
        for (source, line) in [("<<<<<<< HEAD\n[]\n", 1), ("[1,\n=======\n2]", 2)] {
            let error = values(source, 0).expect_err("no JSON");
            assert_eq!((error.line, error.column), (line, 1));
            assert!(error.what.contains("merge conflict"), "{}", error.what);
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
}
