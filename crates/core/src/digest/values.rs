//! The values of a JSON document as lines: a plain member each, and a row each of what holds several.

use serde_json::{Map, Value};

use crate::digest::pieces::line;
use crate::digest::ranked::{Line, RankedText};

/// Most bytes of a value, of a cell in a row and of a row, and most lines.
const LONGEST_VALUE: usize = 240;
const LONGEST_CELL: usize = 80;
const LONGEST_ROW: usize = 320;
const MOST_LINES: usize = 200;
/// Levels of a document that are told by their members.
const LEVELS: i32 = 3;

/// The values of a document: plain members first, then the rows of its lists.
pub(super) fn ranked_values(value: &Value) -> RankedText<'static> {
    let mut lines = Vec::new();
    add_lines("", value, 0, &mut lines);
    RankedText::of_lines(lines, "; ")
}

/// Adds the lines of a value with its name. Those of deeper values come later.
fn add_lines(name: &str, value: &Value, depth: i32, lines: &mut Vec<Line>) {
    if lines.len() >= MOST_LINES {
        return;
    }
    if let Some(rows) = Rows::of(value) {
        rows.add_lines(name, depth, lines);
        return;
    }
    match value {
        Value::Object(members) if depth < LEVELS => {
            for (key, value) in members {
                let is_plain = !value.is_object() && !value.is_array();
                add_lines(&joined(name, key), value, if is_plain { depth } else { depth + 1 }, lines);
            }
        }
        value => {
            let text = flat(value, LONGEST_VALUE);
            if !text.is_empty() {
                let depth = if names_cause(name) { -1 } else { depth };
                lines.push(Line::new(depth, if name.is_empty() { text } else { format!("{name}: {text}") }));
            }
        }
    }
}

/// Whether a member says why something failed.
fn names_cause(name: &str) -> bool {
    let own = name.rsplit(' ').next().unwrap_or(name);
    ["error", "message", "stderr", "reason", "detail"].contains(&own)
}

/// The name of a member behind that of what holds it.
fn joined(holder: &str, key: &str) -> String {
    let key = line(key, LONGEST_CELL);
    if holder.is_empty() { key } else { format!("{holder} {key}") }
}

/// Objects with the same keys: the elements of a list, or the members of an object.
struct Rows<'v> {
    keys: Vec<&'v str>,
    rows: Vec<(Option<&'v str>, &'v Map<String, Value>)>,
}

impl<'v> Rows<'v> {
    fn of(value: &'v Value) -> Option<Self> {
        let mut rows = Vec::new();
        match value {
            Value::Array(items) => {
                for item in items {
                    rows.push((None, item.as_object()?));
                }
            }
            Value::Object(members) => {
                for (key, value) in members {
                    rows.push((Some(key.as_str()), value.as_object()?));
                }
            }
            _ => return None,
        }
        let ((_, first), others) = rows.split_first()?;
        let keys: Vec<&str> = first.keys().map(String::as_str).collect();
        if others.is_empty() || keys.is_empty() {
            return None;
        }
        for (_, row) in others {
            if row.len() != keys.len() || !keys.iter().all(|key| row.contains_key(*key)) {
                return None;
            }
        }
        Some(Rows { keys, rows })
    }

    fn add_lines(&self, name: &str, depth: i32, lines: &mut Vec<Line>) {
        let heading = lines.len();
        let keys = line(&self.keys.join(" "), LONGEST_VALUE);
        lines.push(Line::heading(if name.is_empty() { format!("({keys})") } else { format!("{name} ({keys}):") }));
        for (key, row) in self.rows.iter().take(MOST_LINES) {
            let mut cells: Vec<String> = Vec::with_capacity(1 + self.keys.len());
            // The key of a row is mostly one of its values, too.
            if let Some(key) = key
                && !row.values().any(|value| value == key)
            {
                cells.push(line(key, LONGEST_CELL));
            }
            for key in &self.keys {
                let cell = flat(&row[*key], LONGEST_CELL);
                cells.push(if cell.is_empty() { "-".to_owned() } else { cell });
            }
            lines.push(Line::below(heading, depth, line(&cells.join(" "), LONGEST_ROW)));
        }
    }
}

/// A value on one line, with at most `most` bytes of each text.
fn flat(value: &Value, most: usize) -> String {
    match value {
        Value::Null => String::new(),
        Value::String(text) => line(text, most),
        Value::Object(members) => {
            let mut parts = Vec::new();
            for (key, value) in members {
                let text = flat(value, most);
                if !text.is_empty() {
                    parts.push(format!("{}: {text}", line(key, LONGEST_CELL)));
                }
            }
            let row = line(&parts.join(", "), LONGEST_ROW);
            if row.is_empty() { row } else { format!("({row})") }
        }
        Value::Array(items) => {
            let mut parts = Vec::new();
            for item in items.iter().take(MOST_LINES) {
                let text = flat(item, most);
                if !text.is_empty() {
                    parts.push(text);
                }
            }
            line(&parts.join(", "), LONGEST_ROW)
        }
        plain => plain.to_string(),
    }
}

/// The text from the blocks in which servers of MCP hand it over, or from the object in which some agents hand over the
/// output of a command beside its status.
pub(super) fn output_in(value: &Value) -> Option<String> {
    if let Value::Array(blocks) = value {
        if blocks.is_empty() {
            return None;
        }
        let mut texts = Vec::new();
        for block in blocks {
            texts.push(output_in(block)?);
        }
        return Some(texts.join("\n"));
    }
    if let Some(blocks @ Value::Array(_)) = value.get("content") {
        return output_in(blocks);
    }
    const BESIDE: [&str; 16] = [
        "output",
        "stdout",
        "stderr",
        "exit_code",
        "exitCode",
        "returncode",
        "success",
        "metadata",
        "status",
        "interrupted",
        "isImage",
        "duration",
        "duration_seconds",
        "truncated",
        "type",
        "noOutputExpected",
    ];
    let Value::Object(members) = value else { return None };
    let is_record = members.keys().all(|key| BESIDE.contains(&key.as_str()));
    if is_record && let Some(output) = text_in(value, "output").or_else(|| text_in(value, "stdout")) {
        return Some([output, text_in(value, "stderr").unwrap_or("")].join("\n"));
    }
    if text_in(value, "type") == Some("text") { text_in(value, "text").map(str::to_owned) } else { None }
}

fn text_in<'v>(value: &'v Value, name: &str) -> Option<&'v str> {
    value.get(name).and_then(Value::as_str)
}
