//! Collects the values in arguments and results of calls: JSON as fields with their names, and of other texts the
//! sentences.

use serde_json::Value;

use crate::summary::record::json_fields::{JsonField, LONGEST_VALUE, json_fields};
use crate::summary::record::literals::{LiteralClass, literals};
use crate::summary::record::names::{NameUsage, names};
use crate::summary::record::outcome::{is_code, names_error};
use crate::summary::record::segmentation::clip_to;
use crate::summary::record::{FactKind, FoundValue, RecordEntry};
use crate::wording::one_line;

/// Most characters of a call in a summary.
const LONGEST_CALL: usize = 72;

/// Returns the label of a call: its name and its short arguments.
pub(super) fn call_label(name: &str, arguments: &str, arguments_json: &Value) -> String {
    let mut label: Vec<String> = Vec::new();
    let mut length = 0;
    for (_, value) in arguments_json.as_object().into_iter().flatten() {
        let text = match value {
            Value::String(text) => one_line(text),
            Value::Number(number) => number.to_string(),
            _ => continue,
        };
        length += text.chars().count() + 2;
        if text.is_empty() || length > LONGEST_CALL {
            continue;
        }
        label.push(text);
    }
    if arguments_json.is_null() && label.is_empty() && arguments.chars().count() <= LONGEST_CALL {
        label.push(arguments.trim().replace('\n', " "));
    }
    format!("{name}({})", label.join(", ")).replace(": ", ":")
}

/// Whether a result says no more than that a call went well.
pub(super) fn says_only_ok(result: &str) -> bool {
    const WELL: [&str; 9] = ["", "ok", "okay", "true", "done", "success", "null", "none", "成功"];
    WELL.contains(&result.to_lowercase().trim_end_matches(['.', '!', '。']))
}

/// A value with its key, if a later value with the same key replaces it.
type KeyedValue = (Option<String>, FoundValue);

/// Collects the arguments of a call that its label does not show.
pub(super) fn argument_values(arguments: &str, label: &str, index: usize, found: &mut Vec<KeyedValue>) {
    let arguments_json = json_fields(arguments).unwrap_or_default();
    for field in arguments_json
        .iter()
        .filter(|field| !label.contains(&field.value) && field.value.chars().count() <= LONGEST_VALUE)
    {
        let key = format!("{label} {} {} {}", field.group, field.row, field.key);
        found.push((Some(key), field_value(field, label, index, 1.5)));
    }
}

/// Collects the fields of a result, or the sentences of one that is no JSON.
pub(super) fn result_values(label: &str, result: &str, index: usize, used: &NameUsage, found: &mut Vec<KeyedValue>) {
    if let Some(json_fields) = json_fields(result) {
        for field in json_fields.iter().filter(|field| field.value.chars().count() <= LONGEST_VALUE) {
            let key = format!("{label} {} {} {}", field.group, field.row, field.key);
            // The values of a list of plain values share one name.
            let key = if field.key.is_empty() { format!("{key} {}", field.value) } else { key };
            found.push((Some(key), field_value(field, label, index, 1.0)));
        }
        return;
    }
    found.extend(lines_with_used_names(label, result, index, used));
    /// Most lines of a text that are read, and most that are kept.
    const MOST_READ: usize = 40;
    const MOST_KEPT: usize = 2;
    let lines = result.lines().map(str::trim).filter(|line| !line.is_empty()).take(MOST_READ);
    let is_statement =
        |line: &&str| line.split_whitespace().nth(3).is_some() && line.len() <= 2 * LONGEST_VALUE && !is_code(line);
    let is_sentence =
        |line: &&str| is_statement(line) && !line.contains("://") && line.ends_with(['.', '!', '?', '。', '！', '？']);
    for line in lines.filter(is_sentence).take(MOST_KEPT) {
        found.push((None, line_value(label, line, index, 1.2)));
    }
}

/// Returns what a reading tool answered in one line: `Sunny, 24 °C`. The last answer to the same call counts.
pub(super) fn answer(label: &str, result: &str, index: usize) -> Option<KeyedValue> {
    const WEIGHT: f64 = 1.2;
    let line = result.trim();
    // `src/a.go:77: type A` is a place, not an answer.
    let is_place = line.split(':').nth(1).is_some_and(|part| part.parse::<u32>().is_ok());
    let answers = !line.contains('\n') && line.len() <= LONGEST_VALUE && !says_only_ok(line);
    (answers && !line.starts_with("No ") && !is_place && !is_code(line))
        .then(|| (Some(format!("answer {label}")), line_value(label, line, index, WEIGHT)))
}

/// Collects the lines of an output with names that are used later.
pub(super) fn lines_with_used_names(label: &str, output: &str, index: usize, used: &NameUsage) -> Vec<KeyedValue> {
    const MOST_KEPT: usize = 3;
    let mut found: Vec<KeyedValue> = Vec::new();
    for line in output.lines() {
        if found.len() == MOST_KEPT {
            break;
        }
        let mut used_again = names(line).filter(|name| used.is_used_after(name, index) && !label.contains(name));
        let Some(name) = used_again.next() else { continue };
        let line = line.trim();
        // The last outcome of a command shows which errors remain.
        if line.len() > 2 * LONGEST_VALUE || is_code(line) || states_nothing(line) || names_error(line) {
            continue;
        }
        found.push((Some(format!("used {name}")), line_value(label, line, index, 4.0)));
    }
    found
}

/// Whether a line states nothing: a name alone, or a line of a program or markup that does not look like one by its
/// ends: `x = f(y)`, `</title>`.
fn states_nothing(line: &str) -> bool {
    let calls = || {
        let mut brackets = line.match_indices('(').filter(|(at, _)| !line[*at..].starts_with("(s)"));
        brackets.any(|(at, _)| line[..at].ends_with(|c: char| c.is_ascii_alphanumeric() || c == '_'))
    };
    line.contains(['{', '"'])
        || !line.contains(' ')
        || line.starts_with(['<', '@'])
        || line.starts_with("===")
        || line.ends_with('[')
        || [" = ", "=>", "::"].iter().any(|mark| line.contains(mark))
        || calls()
}

fn line_value(label: &str, line: &str, index: usize, weight: f64) -> FoundValue {
    let line = clip_to(&one_line(line), 2 * LONGEST_VALUE);
    let about = if label.is_empty() { String::new() } else { format!("`{}`", label.trim_end_matches("()")) };
    let mut entry = RecordEntry::new(FactKind::Finding, index, about, line);
    entry.weight = weight;
    FoundValue::new(entry)
}

fn field_value(field: &JsonField, label: &str, index: usize, factor: f64) -> FoundValue {
    let mut entry = RecordEntry::new(FactKind::Value, index, label.to_owned(), field.with_name());
    entry.weight = factor * weight(field);
    FoundValue { entry, field: Some(Box::new(field.clone())), is_spare: false }
}

/// Returns the weight of a value by its class: an identifier weighs most, a word least.
fn weight(field: &JsonField) -> f64 {
    let value = field.value.as_str();
    let class = literals(value).first().map(|literal| literal.class);
    let key = field.key.to_lowercase();
    let has_naming_key = ["id", "number", "code", "key", "email", "name"].iter().any(|end| key.ends_with(end));
    match class {
        Some(LiteralClass::Identifier | LiteralClass::Email | LiteralClass::Path) => 3.0,
        Some(LiteralClass::Error) => 4.0,
        Some(LiteralClass::Url | LiteralClass::Version) => 2.0,
        _ if has_naming_key && !field.bare => 3.0,
        Some(LiteralClass::Number) => 2.0,
        None if field.bare && value.bytes().any(|byte| byte.is_ascii_digit()) => 2.0,
        None => 1.0,
    }
}
