//! The values of a JSON document, as text: `name: Mia, flights: (number date) HAT1 2024-05-01; HAT2 2024-05-02`.
//!
//! Of a table the first columns of every row stay, of an object its plain values. None are joined across what is left
//! out.

use serde_json::{Map, Value};

use crate::digest::clip::{GAP, middle_cut};

/// Most bytes of a plain value, and most rows of a table.
const LONGEST_VALUE: usize = 160;
const MOST_ROWS: usize = 64;

/// Returns as many values as fit in `most` bytes, but for those of an object that the label of its call shows.
pub(super) fn told(value: Value, label: &str, most: usize) -> String {
    match value {
        Value::Object(mut members) => {
            members.retain(|_, value| value.as_str().is_none_or(|value| value.is_empty() || !label.contains(value)));
            written(&Value::Object(members), most)
        }
        value => written(&value, most),
    }
}

fn written(value: &Value, most: usize) -> String {
    let whole = flat(value);
    match value {
        _ if whole.len() <= most => whole,
        Value::Object(members) => some_members(members, most),
        Value::Array(rows) => some_rows(rows, most),
        _ => middle_cut(&whole, most),
    }
}

/// Returns the plain members that fit, and then as much of the others as fits.
fn some_members(members: &Map<String, Value>, most: usize) -> String {
    const LEAST: usize = 24;
    let is_deep = |value: &Value| value.is_object() || value.is_array();
    let deep = members.values().filter(|value| is_deep(value)).count();
    let mut order: Vec<(usize, (&String, &Value))> = members.iter().enumerate().collect();
    order.sort_by_key(|(_, (_, value))| is_deep(value));
    let (mut left, mut parts) = (most.saturating_sub(GAP.len_utf8() + 1), Vec::new());
    for (at, (key, value)) in order {
        let share = if is_deep(value) { left.min((most / deep).max(LEAST)) } else { left };
        let part = member(key, value);
        let part = if part.len() > share && is_deep(value) {
            format!("{key}: {}", written(value, share.saturating_sub(key.len() + 2)))
        } else {
            part
        };
        if !part.is_empty() && part.len() + 2 <= left && !part.ends_with(": ") {
            left -= part.len() + 2;
            parts.push((at, part));
        }
    }
    parts.sort_unstable();
    let parts: Vec<String> = parts.into_iter().map(|(_, part)| part).collect();
    format!("{} {GAP}", parts.join(", "))
}

/// Returns the first columns of every row, or else the first rows.
fn some_rows(rows: &[Value], most: usize) -> String {
    let rows = without_equal_columns(rows);
    let most = most.saturating_sub(GAP.len_utf8() + 1);
    let columns = rows.iter().filter_map(Value::as_object).map(Map::len).max().unwrap_or(0);
    let narrow = (1..=columns).rev().map(|columns| table(&rows, columns)).find(|text| text.len() <= most);
    let first =
        || (1..rows.len()).rev().map(|count| table(&rows[..count], columns.max(1))).find(|text| text.len() <= most);
    let text = narrow.filter(|_| rows.len() <= MOST_ROWS).or_else(first);
    let text = text.unwrap_or_else(|| rows.first().map_or(String::new(), |row| written(row, most)));
    if text.ends_with(GAP) { text } else { format!("{text} {GAP}") }
}

/// Returns the rows of a table without the columns that are equal in all of them: they tell no row from another.
fn without_equal_columns(rows: &[Value]) -> Vec<Value> {
    let mut rows: Vec<Value> = rows.iter().take(MOST_ROWS + 1).cloned().collect();
    let Some(first) = rows.first().and_then(Value::as_object).cloned() else { return rows };
    let is_equal = |key: &String| rows.len() > 1 && rows.iter().all(|row| row.get(key) == first.get(key));
    let equal: Vec<&String> = first.keys().filter(|key| is_equal(key)).collect();
    if equal.len() < first.len() {
        rows.iter_mut().filter_map(Value::as_object_mut).for_each(|row| row.retain(|key, _| !equal.contains(&key)));
    }
    rows
}

/// Returns all values of a document on one line.
fn flat(value: &Value) -> String {
    match value {
        Value::Null => String::new(),
        Value::String(text) => middle_cut(text, LONGEST_VALUE),
        Value::Object(members) => joined(members.iter().map(|(key, value)| member(key, value)), ", "),
        Value::Array(rows) => table(rows, usize::MAX),
        plain => plain.to_string(),
    }
}

fn member(key: &str, value: &Value) -> String {
    match flat(value) {
        text if text.trim().is_empty() => String::new(),
        text if value.is_object() => format!("{key}: ({text})"),
        text => format!("{key}: {text}"),
    }
}

fn joined(parts: impl Iterator<Item = String>, separator: &str) -> String {
    parts.filter(|part| !part.is_empty()).collect::<Vec<_>>().join(separator)
}

/// Returns a list; if its items are objects with the same keys, their keys stand once in front. Only the first `columns`
/// of an object are shown.
fn table(rows: &[Value], columns: usize) -> String {
    let keys = |row: &Value| Some(row.as_object()?.keys().take(columns).cloned().collect::<Vec<String>>());
    let heading = rows
        .first()
        .and_then(keys)
        .filter(|first| rows.len() > 1 && rows.iter().take(MOST_ROWS).all(|row| keys(row).as_ref() == Some(first)));
    let cell = |value: &Value| match flat(value) {
        text if text.is_empty() => "-".to_owned(),
        text if value.is_object() || value.is_array() => format!("({text})"),
        text => text,
    };
    let line = |row: &Value| match row {
        Value::Object(members) if heading.is_some() => joined(members.values().take(columns).map(cell), " "),
        Value::Object(members) => joined(members.iter().take(columns).map(|(key, value)| member(key, value)), ", "),
        row => flat(row),
    };
    let separator = if rows.iter().any(|row| row.is_object() || row.is_array()) { "; " } else { ", " };
    let gap = if rows.len() > MOST_ROWS { format!("{separator}{GAP}") } else { String::new() };
    let heading = heading.as_ref().map_or(String::new(), |keys| format!("({}) ", keys.join(" ")));
    format!("{heading}{}{gap}", joined(rows.iter().take(MOST_ROWS).map(line), separator))
}
