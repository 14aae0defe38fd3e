//! JSON that a tool is given or brings, as values with their names: what is in it, without its braces.

use serde_json::Value;

/// A value of a JSON document.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::summary) struct Cell {
    /// The names around it, indices left out: `flights` of the price of every flight.
    pub(in crate::summary) group: String,
    /// Which of the list it belongs to, where there is a list: the values of one object have the same.
    pub(in crate::summary) row: usize,
    /// Its own name; empty in a list of bare values.
    pub(in crate::summary) key: String,
    pub(in crate::summary) value: String,
    /// Whether it is a number or a truth value, which says nothing without its name.
    pub(in crate::summary) bare: bool,
}

impl Cell {
    /// A value as an earlier summary had it, its name before it.
    pub(in crate::summary) fn named_so(text: &str) -> Self {
        let (group, text) = text.split_once(": ").unwrap_or(("", text));
        let (key, value) = text.split_once('=').filter(|(key, _)| !key.contains(' ')).unwrap_or(("", text));
        Cell { group: group.to_owned(), row: 0, key: key.to_owned(), value: value.to_owned(), bare: false }
    }

    /// The value with its name.
    pub(in crate::summary) fn named(&self) -> String {
        if self.key.is_empty() { self.value.clone() } else { format!("{}={}", self.key, self.value) }
    }
}

/// Values that are looked at of one document: more would be a data set, and no notes on one.
const MOST: usize = 2_000;
/// Characters of a value that is kept as one; longer ones are text.
pub(in crate::summary) const LONGEST_VALUE: usize = 120;

/// The values of a JSON document in its order; nothing where it is none.
pub(in crate::summary) fn cells(text: &str) -> Option<Vec<Cell>> {
    let trimmed = text.trim();
    if !trimmed.starts_with(['{', '[']) {
        return None;
    }
    let value: Value = serde_json::from_str(trimmed).ok()?;
    let mut found = Vec::new();
    let mut rows = 0;
    walk(&value, "", "", 0, false, &mut rows, &mut found);
    Some(found)
}

fn walk(value: &Value, group: &str, key: &str, row: usize, listed: bool, rows: &mut usize, found: &mut Vec<Cell>) {
    if found.len() >= MOST {
        return;
    }
    let mut push = |value: String, bare| {
        found.push(Cell { group: group.to_owned(), row, key: key.to_owned(), value, bare });
    };
    match value {
        Value::Null => {}
        Value::Bool(value) => push(value.to_string(), true),
        Value::Number(number) => push(number.to_string(), true),
        Value::String(text) => {
            let line = text.split_whitespace().collect::<Vec<_>>().join(" ");
            if !line.is_empty() {
                push(line, false);
            }
        }
        Value::Array(values) => {
            let inside = joined(group, key);
            for value in values {
                // The values of a list of bare ones belong together.
                if value.is_object() || value.is_array() {
                    *rows += 1;
                    walk(value, &inside, "", *rows, true, rows, found);
                } else {
                    walk(value, &inside, "", row, listed, rows, found);
                }
            }
        }
        Value::Object(fields) => {
            let inside = joined(group, key);
            // What an object in a list holds in an object of its own belongs to the same row.
            let row = if key.is_empty() || listed {
                row
            } else {
                *rows += 1;
                *rows
            };
            for (name, value) in fields {
                walk(value, &inside, name, row, listed, rows, found);
            }
        }
    }
}

fn joined(group: &str, key: &str) -> String {
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
        let found = cells(text).expect("JSON");
        let told: Vec<String> =
            found.iter().map(|cell| format!("{}/{}/{}", cell.group, cell.row, cell.named())).collect();
        assert_eq!(
            told,
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
        let nested =
            cells(r#"[{"no": "HAT192", "prices": {"economy": 141}}, {"prices": {"economy": 103}}]"#).expect("JSON");
        let told: Vec<String> =
            nested.iter().map(|cell| format!("{}/{}/{}", cell.group, cell.row, cell.named())).collect();
        assert_eq!(told, ["/1/no=HAT192", "prices/1/economy=141", "prices/2/economy=103"]);
        assert_eq!(cells("no JSON"), None);
        assert_eq!(cells(&"[".repeat(100_000)), None);
    }
}
