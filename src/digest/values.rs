//! The values of a JSON document, as text: `name: Mia, flights: (number date) HAT1 2024-05-01; HAT2 2024-05-02`.
//!
//! Of a table the first columns of every row stay, of an object its plain values. None are joined across what is left
//! out.

use serde_json::Value;

use crate::digest::clip::{GAP, middle_cut};

/// Most bytes of a plain value.
const LONGEST_VALUE: usize = 160;
/// Rows of a table that are looked at.
const MOST_ROWS: usize = 64;

/// Returns as many values as fit in `most` bytes.
pub(super) fn written(value: &Value, most: usize) -> String {
    let whole = flat(value);
    if whole.len() <= most {
        return whole;
    }
    match value {
        Value::Object(members) if members.len() == 1 => members
            .iter()
            .map(|(key, value)| format!("{key}: {}", written(value, most.saturating_sub(key.len() + 2))))
            .collect(),
        Value::Object(members) => {
            let mut parts: Vec<(usize, String)> = Vec::new();
            let mut room = most;
            let mut is_whole = true;
            let is_plain = |value: &Value| !value.is_object() && !value.is_array();
            let (plain, deep): (Vec<_>, Vec<_>) =
                members.iter().enumerate().partition(|(_, (_, value))| is_plain(value));
            let deep_room = most / (deep.len() + 1).min(4);
            for (at, (key, value)) in plain.into_iter().chain(deep) {
                let text = member(key, value);
                let part = if text.len() <= room || is_plain(value) {
                    text
                } else {
                    format!("{key}: {}", written(value, deep_room.min(room.saturating_sub(key.len() + 2))))
                };
                if part.len() + 2 > room || part.ends_with(": ") {
                    is_whole = false;
                    continue;
                }
                room -= part.len() + 2;
                parts.push((at, part));
            }
            parts.sort_unstable();
            let parts: Vec<String> = parts.into_iter().map(|(_, part)| part).filter(|part| !part.is_empty()).collect();
            with_gap(parts.join(", "), is_whole)
        }
        Value::Array(rows) => {
            let rows = &without_equal_columns(rows)[..];
            let columns = rows.iter().filter_map(Value::as_object).map(serde_json::Map::len).max().unwrap_or(0);
            let narrower = (1..=columns)
                .rev()
                .map(|columns| table(rows, columns))
                .find(|text| text.len() + 4 <= most && rows.len() <= MOST_ROWS);
            narrower.map(|text| with_gap(text, false)).unwrap_or_else(|| {
                let mut out = String::new();
                for row in rows.iter().take(MOST_ROWS) {
                    let row = flat(row);
                    if out.len() + row.len() + 4 > most {
                        break;
                    }
                    out.push_str(if out.is_empty() { "" } else { "; " });
                    out.push_str(&row);
                }
                match rows.first() {
                    Some(first) if out.is_empty() => with_gap(written(first, most.saturating_sub(4)), false),
                    _ => with_gap(out, false),
                }
            })
        }
        plain => middle_cut(&flat(plain), most),
    }
}

fn with_gap(text: String, is_whole: bool) -> String {
    if is_whole || text.ends_with(GAP) { text } else { format!("{text} {GAP}") }
}

/// Returns the rows of a table without the columns that are equal in all of them: what they hold tells no row from
/// another.
fn without_equal_columns(rows: &[Value]) -> Vec<Value> {
    let first = rows.first().and_then(Value::as_object).cloned().unwrap_or_default();
    let is_equal =
        |key: &String| rows.len() > 1 && rows.iter().take(MOST_ROWS + 1).all(|row| row.get(key) == first.get(key));
    let equal: Vec<&String> = first.keys().filter(|key| is_equal(key)).collect();
    if equal.len() == first.len() {
        return rows.to_vec();
    }
    let narrower = |row: &Value| match row {
        Value::Object(members) => Value::Object(
            members
                .iter()
                .filter(|(key, _)| !equal.contains(key))
                .map(|(key, value)| (key.clone(), value.clone()))
                .collect(),
        ),
        row => row.clone(),
    };
    rows.iter().take(MOST_ROWS + 1).map(narrower).collect()
}

/// Returns all values of a document on one line.
fn flat(value: &Value) -> String {
    match value {
        Value::Null => String::new(),
        Value::String(text) => middle_cut(text, LONGEST_VALUE),
        Value::Object(members) => members
            .iter()
            .map(|(key, value)| member(key, value))
            .filter(|text| !text.is_empty())
            .collect::<Vec<_>>()
            .join(", "),
        Value::Array(rows) => table(rows, usize::MAX),
        plain => plain.to_string(),
    }
}

fn member(key: &str, value: &Value) -> String {
    match value {
        Value::Null => String::new(),
        Value::Object(members) if members.is_empty() => String::new(),
        Value::Array(rows) if rows.is_empty() => String::new(),
        Value::String(text) if text.trim().is_empty() => String::new(),
        Value::Object(_) => format!("{key}: ({})", flat(value)),
        _ => format!("{key}: {}", flat(value)),
    }
}

/// Returns a list; if its items are objects with the same keys, their keys stand once in front. Only the first `columns`
/// of an object are shown.
fn table(rows: &[Value], columns: usize) -> String {
    let keys = |row: &Value| -> Option<Vec<String>> { Some(row.as_object()?.keys().cloned().collect()) };
    let heading = rows.first().and_then(keys);
    let is_table = rows.len() > 1 && heading.is_some() && rows.iter().take(MOST_ROWS).all(|row| keys(row) == heading);
    let cells = |row: &Value| -> String {
        let members = row.as_object().into_iter().flatten().take(columns);
        if is_table {
            let cell = |value: &Value| match flat(value) {
                text if text.is_empty() => "-".to_owned(),
                text if value.is_object() || value.is_array() => format!("({text})"),
                text => text,
            };
            members.map(|(_, value)| cell(value)).collect::<Vec<_>>().join(" ")
        } else {
            members
                .map(|(key, value)| member(key, value))
                .filter(|text| !text.is_empty())
                .collect::<Vec<_>>()
                .join(", ")
        }
    };
    let shown: Vec<String> =
        rows.iter().take(MOST_ROWS).map(|row| if row.is_object() { cells(row) } else { flat(row) }).collect();
    let gap = if rows.len() > MOST_ROWS { format!("; {GAP}") } else { String::new() };
    let heading = heading
        .filter(|_| is_table)
        .map(|keys| format!("({}) ", keys.into_iter().take(columns).collect::<Vec<_>>().join(" ")));
    let separator = if rows.iter().any(Value::is_object) { "; " } else { ", " };
    format!("{}{}{gap}", heading.unwrap_or_default(), shown.join(separator))
}
