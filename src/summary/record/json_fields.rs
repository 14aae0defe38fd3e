//! Flattens the JSON of arguments and results into fields with their names.

use serde_json::Value;

use crate::wording::one_line;

/// A scalar in a JSON document.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::summary) struct JsonField {
    /// The path of names around it, without indices: `flights` for the price of every flight.
    pub(in crate::summary) group: String,
    /// The number of its object in a list. The fields of one object share it.
    pub(in crate::summary) row: usize,
    /// Its name; empty in a list of plain values.
    pub(in crate::summary) key: String,
    pub(in crate::summary) value: String,
    /// Whether it is a number or boolean, which means nothing without its name.
    pub(in crate::summary) bare: bool,
}

impl JsonField {
    /// Parses a field from an earlier summary, where its name precedes it.
    pub(in crate::summary) fn parse(text: &str) -> Self {
        let (group, text) = text.split_once(": ").unwrap_or(("", text));
        let (key, value) = text.split_once('=').filter(|(key, _)| !key.contains(' ')).unwrap_or(("", text));
        JsonField { group: group.to_owned(), row: 0, key: key.to_owned(), value: value.to_owned(), bare: false }
    }

    /// Returns the value with its name.
    pub(in crate::summary) fn with_name(&self) -> String {
        if self.key.is_empty() { self.value.clone() } else { format!("{}={}", self.key, self.value) }
    }
}

/// Most fields of a document. One with more is a data set.
const MOST_FIELDS: usize = 2_000;
/// Most characters of a value; longer ones are text.
pub(in crate::summary) const LONGEST_VALUE: usize = 120;

/// Returns the fields of a JSON document in order; `None` if the text is no JSON.
pub(in crate::summary) fn json_fields(text: &str) -> Option<Vec<JsonField>> {
    let trimmed = text.trim();
    if !trimmed.starts_with(['{', '[']) {
        return None;
    }
    let value: Value = serde_json::from_str(trimmed).ok()?;
    let mut found = Vec::new();
    let mut rows = 0;
    collect_fields(&value, "", "", 0, false, &mut rows, &mut found);
    Some(found)
}

fn collect_fields(
    value: &Value,
    group: &str,
    key: &str,
    row: usize,
    in_list: bool,
    rows: &mut usize,
    found: &mut Vec<JsonField>,
) {
    if found.len() >= MOST_FIELDS {
        return;
    }
    let mut push = |value: String, bare| {
        found.push(JsonField { group: group.to_owned(), row, key: key.to_owned(), value, bare });
    };
    match value {
        Value::Null => {}
        Value::Bool(value) => push(value.to_string(), true),
        Value::Number(number) => push(number.to_string(), true),
        Value::String(text) => {
            let line = one_line(text);
            if !line.is_empty() {
                push(line, false);
            }
        }
        Value::Array(values) => {
            let inside = join_path(group, key);
            for value in values {
                // The plain values of a list belong together.
                if value.is_object() || value.is_array() {
                    *rows += 1;
                    collect_fields(value, &inside, "", *rows, true, rows, found);
                } else {
                    collect_fields(value, &inside, "", row, in_list, rows, found);
                }
            }
        }
        Value::Object(fields) => {
            let inside = join_path(group, key);
            // An object inside an object of a list belongs to the same row.
            let row = if key.is_empty() || in_list {
                row
            } else {
                *rows += 1;
                *rows
            };
            for (name, value) in fields {
                collect_fields(value, &inside, name, row, in_list, rows, found);
            }
        }
    }
}

fn join_path(group: &str, key: &str) -> String {
    match (group, key) {
        (group, "") => group.to_owned(),
        ("", key) => key.to_owned(),
        (group, key) => format!("{group}.{key}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_know_their_names() {
        let text = r#"{"id": "H9ZU1C", "flights": [{"no": "HAT192", "price": 174}, {"no": "HAT166"}], "name": {"first": "Mia"}, "tags": ["a", "b"]}"#;
        let found = json_fields(text).expect("JSON");
        let named: Vec<String> =
            found.iter().map(|field| format!("{}/{}/{}", field.group, field.row, field.with_name())).collect();
        assert_eq!(
            named,
            [
                "/0/id=H9ZU1C",
                "flights/1/no=HAT192",
                "flights/1/price=174",
                "flights/2/no=HAT166",
                "name/3/first=Mia",
                "tags/0/a",
                "tags/0/b"
            ]
        );
        let nested = json_fields(r#"[{"no": "HAT192", "prices": {"economy": 141}}, {"prices": {"economy": 103}}]"#)
            .expect("JSON");
        let named: Vec<String> =
            nested.iter().map(|field| format!("{}/{}/{}", field.group, field.row, field.with_name())).collect();
        assert_eq!(named, ["/1/no=HAT192", "prices/1/economy=141", "prices/2/economy=103"]);
        assert_eq!(json_fields("no JSON"), None);
        assert_eq!(json_fields(&"[".repeat(100_000)), None);
    }
}
