//! Names that files, commands and outputs hold beside the facts, for where there is room: each told with where it stood.

use std::borrow::Cow;
use std::ops::{Range, RangeInclusive};

use serde_json::Value;

use crate::summary::record::brought::shown_call;
use crate::summary::record::literals::Class;
use crate::summary::record::reading::Called;
use crate::summary::record::work::{self, shown_command};
use crate::summary::record::{Entry, Found, Kind};
use crate::transcript::tools::shell::steps;
use crate::transcript::tools::{ToolUse, is_shell};

/// What stands before where names stood.
pub(in crate::summary) const IN: &str = "In ";
/// Bytes of a name that is told.
const LENGTHS: RangeInclusive<usize> = 4..=80;

/// Whether a literal is a name that is told by itself: a number says nothing without its sentence, and what goes on at
/// either end is cut out of something else: an escape, a pattern, a tag, a hidden file, a diff.
pub(in crate::summary) fn is_name(class: Class, text: &str, span: &Range<usize>) -> bool {
    const OPENINGS: [&str; 6] = ["-", "self.", "this.", "__", "a/", "b/"];
    let name = &text[span.clone()];
    let tag = name.starts_with('/') && !name[1..].contains(['/', '.']);
    let odd = tag || name.ends_with('+') || OPENINGS.iter().any(|opening| name.starts_with(opening));
    let cut = text[..span.start].ends_with(['\\', '.', '}', '*', '{', '<']) || text[span.end..].starts_with(['*', '{']);
    !matches!(class, Class::Number | Class::Version) && LENGTHS.contains(&name.len()) && !odd && !cut
}

/// What a call is given as a text: the strings of its arguments as they are meant, without the escapes of JSON.
pub(in crate::summary) fn given(arguments: &str) -> Cow<'_, str> {
    let escaped = arguments.contains('\\').then(|| serde_json::from_str::<Value>(arguments).ok()).flatten();
    escaped.map_or(Cow::Borrowed(arguments), |value| {
        let mut text = String::new();
        strings(&value, &mut text);
        Cow::Owned(text)
    })
}

fn strings(value: &Value, text: &mut String) {
    match value {
        Value::Null => {}
        Value::String(string) => text.push_str(string),
        Value::Array(values) => values.iter().for_each(|value| strings(value, text)),
        Value::Object(fields) => fields.values().for_each(|value| strings(value, text)),
        value => text.push_str(&value.to_string()),
    }
    text.push('\n');
}

/// Whether what a text holds is told as values with their names.
fn has_values(text: &str) -> bool {
    text.trim_start().starts_with(['{', '['])
}

/// Whether a call only lists what there is: names by the dozen that nobody asked for one by one.
fn lists(name: &str, command: &str) -> bool {
    const LISTS: [&str; 7] = ["ls", "find", "tree", "fd", "du", "dir", "env"];
    const TOOLS: [&str; 6] = ["ls", "list_dir", "listdir", "list_files", "list_directory", "glob"];
    let program = |step: &&str| step.split_whitespace().next().unwrap_or("").to_owned();
    let programs: Vec<String> = steps(command).iter().map(program).filter(|program| program != "cd").collect();
    TOOLS.contains(&name.to_lowercase().as_str())
        || !programs.is_empty() && programs.iter().all(|program| LISTS.contains(&program.as_str()))
}

/// Whether the names in the result of a call are worth a note: not those of values, which have names of their own, of a
/// command that does more than look, and of a listing.
pub(in crate::summary) fn holds_names(call: &Called<'_>, arguments: &str, result: &str) -> bool {
    if has_values(result) {
        return false;
    }
    let given: Value = serde_json::from_str(arguments).unwrap_or(Value::Null);
    let command = ToolUse::of_given(&call.name, &given, arguments).command;
    let acts = is_shell(&call.name) && command.as_deref().is_some_and(work::runs);
    !acts && !lists(&call.name, command.as_deref().unwrap_or(arguments))
}

/// Where a call's names stand: in a file, in a command's output, or in what a tool brought.
pub(in crate::summary) fn place(call: &Called<'_>) -> String {
    let arguments = call.arguments.read();
    let given: Value = serde_json::from_str(&arguments).unwrap_or(Value::Null);
    let tool = ToolUse::of_given(&call.name, &given, &arguments);
    match (tool.files.first(), &tool.command) {
        (Some(file), _) => path_end(&file.path).to_owned(),
        (None, Some(command)) => format!("`{}`", shown_command(command)),
        (None, None) => shown_call(&call.name, &arguments, &given).trim_end_matches("()").to_owned(),
    }
}

/// A name that stood in a place.
pub(in crate::summary) fn in_place(place: &str, name: &str, index: usize) -> Found {
    let entry = Entry::new(Kind::Value, index, format!("{IN}{place}"), name.to_owned());
    Found { entry, cell: None, spare: true }
}

/// The last parts of a path that is told as a whole among the files.
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
            place(&Called { name: name.into(), arguments: arguments.to_owned().into(), result: None, failed: false })
        };
        assert_eq!(home("Read", r#"{"file_path":"/home/mia/src/a.rs"}"#), "src/a.rs");
        assert_eq!(home("bash", r#"{"command":"cat a.py | head -3"}"#), "a.py");
        assert_eq!(home("bash", r#"{"command":"cd /x && git diff main"}"#), "`git diff main`");
        assert_eq!(home("Grep", r#"{"pattern":"getName"}"#), "Grep(getName)");
    }

    #[test]
    fn what_is_cut_out_of_something_else_is_no_name() {
        let text = "get_name \\nget_it .claude/a.json </output> --all-of-it lineCount++ 4711 self.my_name src/a.rs glob*/x_y.rs b/src/a.rs __main__";
        let names = literals(text).into_iter().filter(|literal| is_name(literal.class, text, &literal.span));
        let names: Vec<&str> = names.map(|literal| &text[literal.span]).collect();
        assert_eq!(names, ["get_name", "src/a.rs"]);
    }

    #[test]
    fn escapes_are_no_letters() {
        assert_eq!(given(r#"{"a":"x\nget_name","b":[1,true]}"#), "x\nget_name\n1\ntrue\n\n\n");
    }
}
