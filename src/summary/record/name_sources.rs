//! Finds names in files, commands and outputs, each with its source, for the room left in a summary.

use std::borrow::Cow;
use std::ops::{Range, RangeInclusive};

use serde_json::Value;

use crate::summary::record::call_values::call_label;
use crate::summary::record::command_steps::{self, command_label};
use crate::summary::record::history_turns::ToolCall;
use crate::summary::record::literals::LiteralClass;
use crate::summary::record::{FactKind, FoundValue, RecordEntry};
use crate::transcript::tools::shell::steps;
use crate::transcript::tools::{ToolUse, is_shell};

/// The prefix of a name's source.
pub(in crate::summary) const IN_PREFIX: &str = "In ";
/// The length of a reported name, in bytes.
const LENGTHS: RangeInclusive<usize> = 4..=80;

/// Whether a literal is worth reporting as a name. A number means nothing without its sentence. A literal that
/// continues at either end is part of something else: an escape, a pattern, a tag, a hidden file or a diff.
pub(in crate::summary) fn is_reportable_name(class: LiteralClass, text: &str, span: &Range<usize>) -> bool {
    const OPENINGS: [&str; 6] = ["-", "self.", "this.", "__", "a/", "b/"];
    let name = &text[span.clone()];
    let is_tag = name.starts_with('/') && !name[1..].contains(['/', '.']);
    let is_excluded = is_tag || name.ends_with('+') || OPENINGS.iter().any(|opening| name.starts_with(opening));
    let is_fragment =
        text[..span.start].ends_with(['\\', '.', '}', '*', '{', '<']) || text[span.end..].starts_with(['*', '{']);
    !matches!(class, LiteralClass::Number | LiteralClass::Version)
        && LENGTHS.contains(&name.len())
        && !is_excluded
        && !is_fragment
}

/// Returns the strings in the arguments of a call, without JSON escapes.
pub(in crate::summary) fn decoded_arguments(arguments: &str) -> Cow<'_, str> {
    let escaped = arguments.contains('\\').then(|| serde_json::from_str::<Value>(arguments).ok()).flatten();
    escaped.map_or(Cow::Borrowed(arguments), |value| {
        let mut text = String::new();
        append_strings(&value, &mut text);
        Cow::Owned(text)
    })
}

fn append_strings(value: &Value, text: &mut String) {
    match value {
        Value::Null => {}
        Value::String(string) => text.push_str(string),
        Value::Array(values) => values.iter().for_each(|value| append_strings(value, text)),
        Value::Object(fields) => fields.values().for_each(|value| append_strings(value, text)),
        value => text.push_str(&value.to_string()),
    }
    text.push('\n');
}

/// Whether a text is JSON, whose fields are reported as values.
fn has_values(text: &str) -> bool {
    text.trim_start().starts_with(['{', '['])
}

/// Whether a call only lists files or variables, most of which are of no interest.
fn is_listing(name: &str, command: &str) -> bool {
    const LISTS: [&str; 7] = ["ls", "find", "tree", "fd", "du", "dir", "env"];
    const TOOLS: [&str; 6] = ["ls", "list_dir", "listdir", "list_files", "list_directory", "glob"];
    let program = |step: &&str| step.split_whitespace().next().unwrap_or("").to_owned();
    let programs: Vec<String> = steps(command).iter().map(program).filter(|program| program != "cd").collect();
    TOOLS.contains(&name.to_lowercase().as_str())
        || !programs.is_empty() && programs.iter().all(|program| LISTS.contains(&program.as_str()))
}

/// Whether the names in the result of a call are worth reporting. Those of JSON are reported as values; commands that
/// do more than read, and listings, are skipped.
pub(in crate::summary) fn has_useful_names(call: &ToolCall<'_>, arguments: &str, result: &str) -> bool {
    if has_values(result) {
        return false;
    }
    let arguments_json: Value = serde_json::from_str(arguments).unwrap_or(Value::Null);
    let command = ToolUse::parse_with_json(&call.name, &arguments_json, arguments).command;
    let does_more_than_read =
        is_shell(&call.name) && command.as_deref().is_some_and(command_steps::does_more_than_read);
    !does_more_than_read && !is_listing(&call.name, command.as_deref().unwrap_or(arguments))
}

/// Returns the source of a call's names: a file, a command or a tool.
pub(in crate::summary) fn source_label(call: &ToolCall<'_>) -> String {
    let arguments = call.arguments.read();
    let arguments_json: Value = serde_json::from_str(&arguments).unwrap_or(Value::Null);
    let tool = ToolUse::parse_with_json(&call.name, &arguments_json, &arguments);
    match (tool.files.first(), &tool.command) {
        (Some(file), _) => path_end(&file.path).to_owned(),
        (None, Some(command)) => format!("`{}`", command_label(command)),
        (None, None) => call_label(&call.name, &arguments, &arguments_json).trim_end_matches("()").to_owned(),
    }
}

/// Returns an entry for a name and its source.
pub(in crate::summary) fn name_found_in(place: &str, name: &str, index: usize) -> FoundValue {
    let entry = RecordEntry::new(FactKind::Value, index, format!("{IN_PREFIX}{place}"), name.to_owned());
    FoundValue { entry, field: None, is_spare: true }
}

/// Returns the last parts of a path, which the list of files shows in full.
fn path_end(path: &str) -> &str {
    const PARTS: usize = 2;
    path.rmatch_indices('/').nth(PARTS - 1).map_or(path, |(at, _)| &path[at + 1..])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::summary::record::literals::literals;

    #[test]
    fn names_stand_where_they_stood() {
        let home = |name: &str, arguments: &str| {
            source_label(&ToolCall {
                name: name.into(),
                arguments: arguments.to_owned().into(),
                result: None,
                failed: false,
            })
        };
        assert_eq!(home("Read", r#"{"file_path":"/home/mia/src/a.rs"}"#), "src/a.rs");
        assert_eq!(home("bash", r#"{"command":"cat a.py | head -3"}"#), "a.py");
        assert_eq!(home("bash", r#"{"command":"cd /x && git diff main"}"#), "`git diff main`");
        assert_eq!(home("Grep", r#"{"pattern":"getName"}"#), "Grep(getName)");
    }

    #[test]
    fn what_is_cut_out_of_something_else_is_no_name() {
        let text = "get_name \\nget_it .claude/a.json </output> --all-of-it lineCount++ 4711 self.my_name src/a.rs glob*/x_y.rs b/src/a.rs __main__";
        let names = literals(text).into_iter().filter(|literal| is_reportable_name(literal.class, text, &literal.span));
        let names: Vec<&str> = names.map(|literal| &text[literal.span]).collect();
        assert_eq!(names, ["get_name", "src/a.rs"]);
    }

    #[test]
    fn escapes_are_no_letters() {
        assert_eq!(decoded_arguments(r#"{"a":"x\nget_name","b":[1,true]}"#), "x\nget_name\n1\ntrue\n\n\n");
    }
}
