//! The values of a JSON document, as text: `name: Mia, flights: (number date) HAT1 2024-05-01; HAT2 2024-05-02`.
//!
//! Where room lacks, long texts are clipped first. Then a table loses rows, never cells of a row, and an object loses what it
//! holds besides its plain values. Whatever is lost shows.

use serde_json::{Map, Value};

use crate::digest::clip::{GAP, line};

/// Most rows of a table.
const MOST_ROWS: usize = 64;

/// Bytes of a text among other values, the most that have room.
const TEXTS: [usize; 5] = [640, 160, 80, 40, 20];

/// Returns as many values as fit in `most` bytes.
pub(super) fn told(value: &Value, most: usize) -> String {
    let whole = TEXTS.iter().map(|texts| flat(value, *texts)).find(|text| text.len() <= most);
    whole.unwrap_or_else(|| {
        let some = match (value, value.as_object().and_then(as_rows)) {
            (Value::Array(rows), _) => some_rows(rows, most),
            (_, Some(rows)) => some_rows(&rows, most),
            (Value::Object(members), None) => some_members(members, most),
            (plain, _) => line(&flat(plain, TEXTS[0]), most),
        };
        format!("{} {GAP}", some.trim_end_matches([' ', GAP]))
    })
}

/// Whether a document is nested so deeply that its text is told as it stands.
pub(super) fn is_deep(value: &Value, most: usize) -> bool {
    match value {
        _ if most == 0 => true,
        Value::Object(members) => members.values().any(|value| is_deep(value, most - 1)),
        Value::Array(rows) => rows.iter().any(|row| is_deep(row, most - 1)),
        _ => false,
    }
}

/// Returns an object whose members are all objects as the rows of a table, with the keys in the first column.
fn as_rows(members: &Map<String, Value>) -> Option<Vec<Value>> {
    let row = |(key, value): (&String, &Value)| {
        let others = value.as_object()?.iter().filter(|(_, value)| value.as_str() != Some(key));
        let others = others.map(|(key, value)| (key.clone(), value.clone()));
        Some([(String::new(), Value::from(key.as_str()))].into_iter().chain(others).collect())
    };
    let are_rows = members.len() > 1 && members.values().all(Value::is_object);
    are_rows.then(|| members.iter().filter_map(row).collect())
}

/// Returns the plain members that fit, and then as much of the others as fits.
fn some_members(members: &Map<String, Value>, most: usize) -> String {
    let is_deep = |(_, value): &(&String, &Value)| value.is_object() || value.is_array();
    let (deep, plain): (Vec<_>, Vec<_>) = members.iter().partition(is_deep);
    // Those behind share what those before leave.
    let shares = std::iter::repeat_n(1, plain.len()).chain((1..=deep.len()).rev());
    let (mut left, mut parts) = (most.saturating_sub(" …".len()), Vec::new());
    for ((key, value), shares) in plain.iter().chain(&deep).zip(shares) {
        let most = (left / shares).saturating_sub(key.len() + ": (), ".len());
        let part = member(key, value, &told(value, most));
        if part.contains(char::is_alphanumeric) && part.len() + ", ".len() <= left {
            left -= part.len() + ", ".len();
            parts.push(part);
        }
    }
    parts.join(", ")
}

/// Returns the first rows that fit: as many as do with the shortest texts, and then texts as long as fit.
fn some_rows(rows: &[Value], most: usize) -> String {
    let fitting = TEXTS.iter().rev().filter_map(|texts| {
        let some = (1..=rows.len().min(MOST_ROWS)).map(|count| (count, table(&rows[..count], *texts)));
        some.take_while(|(_, text)| text.len() + " …".len() <= most).last()
    });
    let fitting = fitting.max_by_key(|(count, _)| *count).map(|(_, text)| text);
    fitting.unwrap_or_else(|| rows.first().map_or(String::new(), |row| told(row, most)))
}

/// Returns all values of a document on one line, with at most `texts` bytes of each text.
fn flat(value: &Value, texts: usize) -> String {
    match value {
        Value::Null => String::new(),
        Value::String(text) => line(text, texts),
        Value::Object(members) => match as_rows(members) {
            Some(rows) => table(&rows, texts),
            None => joined(members.iter().map(|(key, value)| member(key, value, &flat(value, texts))), ", "),
        },
        Value::Array(rows) => table(rows, texts),
        plain => plain.to_string(),
    }
}

fn member(key: &str, value: &Value, text: &str) -> String {
    match text.trim() {
        "" => String::new(),
        text if value.is_object() => format!("{key}: ({text})"),
        text if key.is_empty() => text.to_owned(),
        text => format!("{key}: {text}"),
    }
}

fn joined(parts: impl Iterator<Item = String>, separator: &str) -> String {
    parts.filter(|part| !part.is_empty()).collect::<Vec<_>>().join(separator)
}

/// Returns a list; if its items are objects with the same keys, their keys stand once in front.
fn table(rows: &[Value], texts: usize) -> String {
    let keys = |row: &Value| Some(row.as_object()?.keys().cloned().collect::<Vec<String>>());
    let heading = rows.first().and_then(keys).filter(|_| rows.len() > 1);
    let heading = heading.filter(|first| rows.iter().take(MOST_ROWS).all(|row| keys(row).as_ref() == Some(first)));
    let cell = |value: &Value| match flat(value, texts) {
        text if text.is_empty() => "-".to_owned(),
        text if value.is_object() || value.is_array() => format!("({text})"),
        text => text,
    };
    let row = |row: &Value| match row {
        Value::Object(members) if heading.is_some() => joined(members.values().map(cell), " "),
        row => flat(row, texts),
    };
    let separator = if rows.iter().any(|row| row.is_object() || row.is_array()) { "; " } else { ", " };
    let gap = if rows.len() > MOST_ROWS { format!("{separator}{GAP}") } else { String::new() };
    let heading = heading.as_ref().map_or(String::new(), |keys| format!("({}) ", keys.join(" ").trim_start()));
    format!("{heading}{}{gap}", joined(rows.iter().take(MOST_ROWS).map(row), separator))
}
