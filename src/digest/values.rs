//! The values of a JSON document, as text: `name: Mia, flights: (number date) HAT1 2024-05-01; HAT2 2024-05-02`.
//!
//! Of a table some columns of every row stay, of an object its plain values. None are joined across what is left out.

use std::collections::HashSet;

use serde_json::{Map, Value};

use crate::digest::clip::{GAP, middle_cut};

/// Most rows of a table, and the fewest bytes of a cell with its separator.
const MOST_ROWS: usize = 64;
const CELL: usize = 2;

/// Returns as many values as fit in `most` bytes, but for those of an object that the label of its call shows.
pub(super) fn told(mut value: Value, label: &str, most: usize) -> String {
    if let Value::Object(members) = &mut value {
        members.retain(|_, value| value.as_str().is_none_or(|value| value.is_empty() || !label.contains(value)));
    }
    written(&value, most)
}

fn written(value: &Value, most: usize) -> String {
    let whole = flat(value);
    match value {
        _ if whole.len() <= most => whole,
        Value::Object(members) if as_rows(members).is_none() => some_members(members, most),
        Value::Object(members) => some_rows(&as_rows(members).unwrap_or_default(), most),
        Value::Array(rows) => some_rows(rows, most),
        _ => middle_cut(&whole, most),
    }
}

/// Returns an object whose members are all objects as the rows of a table, with the keys in the first column.
fn as_rows(members: &Map<String, Value>) -> Option<Vec<Value>> {
    let row = |(key, value): (&String, &Value)| {
        let others = value.as_object()?.iter().filter(|(_, value)| value.as_str() != Some(key));
        let named = [(String::new(), Value::from(key.as_str()))].into_iter();
        Some(named.chain(others.map(|(key, value)| (key.clone(), value.clone()))).collect())
    };
    members.iter().map(row).collect::<Option<Vec<Value>>>().filter(|rows| rows.len() > 1)
}

/// Returns the plain members that fit, and then as much of the others as fits.
fn some_members(members: &Map<String, Value>, most: usize) -> String {
    const LEAST: usize = 40;
    let is_deep = |value: &Value| value.is_object() || value.is_array();
    let deep = members.values().filter(|value| is_deep(value)).count();
    let mut order: Vec<(usize, (&String, &Value))> = members.iter().enumerate().collect();
    order.sort_by_key(|(_, (_, value))| is_deep(value));
    let (mut left, mut parts) = (most.saturating_sub(GAP.len_utf8() + 1), Vec::new());
    for (at, (key, value)) in order {
        let share = left.min((most / deep.max(1)).max(LEAST)).saturating_sub(key.len() + 2);
        let whole = member(key, value);
        let cut =
            || Some(written(value, share)).filter(|cut| cut.len() >= LEAST / 2).map(|cut| format!("{key}: {cut}"));
        let part =
            if whole.len() + 2 <= left && (whole.len() <= share || !is_deep(value)) { Some(whole) } else { cut() };
        if let Some(part) = part.filter(|part| !part.is_empty() && part.len() + 2 <= left) {
            left -= part.len() + 2;
            parts.push((at, part));
        }
    }
    parts.sort_unstable();
    format!("{} {GAP}", joined(parts.into_iter().map(|(_, part)| part), ", "))
}

fn is_number(value: &Value) -> bool {
    value.is_number() || value.as_str().is_some_and(|text| text.starts_with(|c: char| c.is_ascii_digit()))
}

fn holds_numbers(value: &Value) -> bool {
    is_number(value) || value.as_object().is_some_and(|members| members.values().any(is_number))
}

/// Returns some columns of every row, or else the first rows: the first column, which names the row, and then numbers
/// before texts.
fn some_rows(rows: &[Value], most: usize) -> String {
    let mut rows = without_equal_columns(rows);
    for row in rows.iter_mut().filter_map(Value::as_object_mut) {
        let mut members: Vec<_> = std::mem::take(row).into_iter().enumerate().collect();
        members.sort_by_key(|(at, (_, value))| *at > 0 && !holds_numbers(value));
        row.extend(members.into_iter().map(|(_, member)| member));
    }
    let most = most.saturating_sub(GAP.len_utf8() + 1);
    let columns = rows.iter().filter_map(Value::as_object).map(Map::len).max().unwrap_or(0);
    // Of more columns than these not even the separators have room.
    let fitting = columns.min(most / rows.len().max(1) / CELL);
    // A column alone says little.
    let least = if columns > 2 { 2 } else { 1 };
    let narrow = (least..=fitting).rev().map(|columns| table(&rows, columns)).find(|text| text.len() <= most);
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
    let equal: HashSet<&String> = first.keys().filter(|key| is_equal(key)).collect();
    if equal.len() < first.len() {
        rows.iter_mut().filter_map(Value::as_object_mut).for_each(|row| row.retain(|key, _| !equal.contains(key)));
    }
    rows
}

/// Returns all values of a document on one line.
fn flat(value: &Value) -> String {
    const LONGEST: usize = 160;
    match value {
        Value::Null => String::new(),
        Value::String(text) => middle_cut(text, LONGEST),
        Value::Object(members) => match as_rows(members) {
            Some(rows) => table(&rows, usize::MAX),
            None => joined(members.iter().map(|(key, value)| member(key, value)), ", "),
        },
        Value::Array(rows) => table(rows, usize::MAX),
        plain => plain.to_string(),
    }
}

fn member(key: &str, value: &Value) -> String {
    match flat(value) {
        text if text.trim().is_empty() => String::new(),
        text if value.is_object() => format!("{key}: ({text})"),
        text if key.is_empty() => text,
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
    let heading = rows.first().and_then(keys).filter(|_| rows.len() > 1);
    let heading = heading.filter(|first| rows.iter().take(MOST_ROWS).all(|row| keys(row).as_ref() == Some(first)));
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
    let heading = heading.as_ref().map_or(String::new(), |keys| format!("({}) ", keys.join(" ").trim_start()));
    format!("{heading}{}{gap}", joined(rows.iter().take(MOST_ROWS).map(line), separator))
}
