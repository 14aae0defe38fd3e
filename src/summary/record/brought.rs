//! The values that calls were given and brought: JSON as values with their names, of other texts what reads like a sentence.

use serde_json::Value;

use crate::summary::record::literals::{Class, literals};
use crate::summary::record::names::{Names, names};
use crate::summary::record::outcome::{is_code, names_an_error};
use crate::summary::record::statements::clipped_to;
use crate::summary::record::values::{Cell, LONGEST_VALUE, cells};
use crate::summary::record::{Entry, Found, Kind};

/// Characters of a call as it is shown.
const LONGEST_CALL: usize = 72;

/// A call with what it is given, as far as that is short.
pub(super) fn shown_call(name: &str, arguments: &str, given: &Value) -> String {
    let mut shown: Vec<String> = Vec::new();
    let mut length = 0;
    for (_, value) in given.as_object().into_iter().flatten() {
        let text = match value {
            Value::String(text) => text.split_whitespace().collect::<Vec<_>>().join(" "),
            Value::Number(number) => number.to_string(),
            _ => continue,
        };
        length += text.chars().count() + 2;
        if text.is_empty() || length > LONGEST_CALL {
            continue;
        }
        shown.push(text);
    }
    if given.is_null() && shown.is_empty() && arguments.chars().count() <= LONGEST_CALL {
        shown.push(arguments.trim().replace('\n', " "));
    }
    format!("{name}({})", shown.join(", ")).replace(": ", ":")
}

/// A value with the name that only the last of its kind has.
type Keyed = (Option<String>, Found);

/// The values that a call is given and that are not shown with it.
pub(super) fn of_arguments(arguments: &str, shown: &str, index: usize, found: &mut Vec<Keyed>) {
    let given = cells(arguments).unwrap_or_default();
    for cell in given.iter().filter(|cell| !shown.contains(&cell.value) && cell.value.chars().count() <= LONGEST_VALUE)
    {
        let key = format!("{shown} {} {} {}", cell.group, cell.row, cell.key);
        found.push((Some(key), of_cell(cell, shown, index, 1.5)));
    }
}

/// The values that a result brings, or the lines of one that is no JSON.
pub(super) fn of_result(shown: &str, result: &str, index: usize, used: &Names, found: &mut Vec<Keyed>) {
    if let Some(cells) = cells(result) {
        for cell in cells.iter().filter(|cell| cell.value.chars().count() <= LONGEST_VALUE) {
            let key = format!("{shown} {} {} {}", cell.group, cell.row, cell.key);
            // A list of bare values has one name for all of them.
            let key = if cell.key.is_empty() { format!("{key} {}", cell.value) } else { key };
            found.push((Some(key), of_cell(cell, shown, index, 1.0)));
        }
        return;
    }
    found.extend(used_lines(shown, result, index, used));
    /// Lines of a text that are looked at, and that are kept.
    const MOST_READ: usize = 40;
    const MOST_KEPT: usize = 2;
    let lines = result.lines().map(str::trim).filter(|line| !line.is_empty()).take(MOST_READ);
    let says =
        |line: &&str| line.split_whitespace().nth(3).is_some() && line.len() <= 2 * LONGEST_VALUE && !is_code(line);
    let prose = |line: &&str| says(line) && !line.contains("://") && line.ends_with(['.', '!', '?', '。', '！', '？']);
    for line in lines.filter(prose).take(MOST_KEPT) {
        found.push((None, of_line(shown, line, index, 1.2)));
    }
}

/// Lines of an output with names that were used again.
pub(super) fn used_lines(shown: &str, output: &str, index: usize, used: &Names) -> Vec<Keyed> {
    const MOST_KEPT: usize = 3;
    let mut found: Vec<Keyed> = Vec::new();
    for line in output.lines() {
        if found.len() == MOST_KEPT {
            break;
        }
        let mut again = names(line).filter(|name| used.is_used_after(name, index) && !shown.contains(name));
        let Some(name) = again.next() else { continue };
        let line = line.trim();
        // Which errors still hold is told by how the command ended last.
        if line.len() > 2 * LONGEST_VALUE || is_code(line) || line.contains(['{', '"']) || names_an_error(line) {
            continue;
        }
        found.push((Some(format!("used {name}")), of_line(shown, line, index, 4.0)));
    }
    found
}

fn of_line(shown: &str, line: &str, index: usize, weight: f64) -> Found {
    let line = clipped_to(&line.split_whitespace().collect::<Vec<_>>().join(" "), 2 * LONGEST_VALUE);
    let mut entry = Entry::new(Kind::Finding, index, format!("`{}`", shown.trim_end_matches("()")), line);
    entry.weight = weight;
    Found::of(entry)
}

fn of_cell(cell: &Cell, shown: &str, index: usize, factor: f64) -> Found {
    let mut entry = Entry::new(Kind::Value, index, shown.to_owned(), cell.named());
    entry.weight = factor * weight(cell);
    Found { entry, cell: Some(Box::new(cell.clone())), spare: false }
}

/// How much a value matters by what it is: an identifier most, a word least.
fn weight(cell: &Cell) -> f64 {
    let value = cell.value.as_str();
    let class = literals(value).first().map(|literal| literal.class);
    let key = cell.key.to_lowercase();
    let named = ["id", "number", "code", "key", "email", "name"].iter().any(|end| key.ends_with(end));
    match class {
        Some(Class::Identifier | Class::Email | Class::Path) => 3.0,
        Some(Class::Error) => 4.0,
        Some(Class::Url | Class::Version) => 2.0,
        _ if named && !cell.bare => 3.0,
        Some(Class::Number) => 2.0,
        None if cell.bare && value.bytes().any(|byte| byte.is_ascii_digit()) => 2.0,
        None => 1.0,
    }
}
