//! What was done with tools: commands and how they ended, files, and the values that calls were given and brought.

use serde_json::Value;

use crate::summary::ledger::cues;
use crate::summary::ledger::files::{self, Use};
use crate::summary::ledger::literals::{Class, literals};
use crate::summary::ledger::outcome::{Outcome, reports};
use crate::summary::ledger::reading::{Called, Speaker, Turn, Words};
use crate::summary::ledger::sentences::clipped_to;
use crate::summary::ledger::values::{Cell, LONGEST_VALUE, cells};
use crate::summary::ledger::{Found, Kind};
use crate::transcript::tools::shell::{open_quote, steps};
use crate::transcript::tools::{ToolUse, argument};

/// Characters of a command as it is shown.
const LONGEST_COMMAND: usize = 110;
/// Characters of a call as it is shown.
const LONGEST_CALL: usize = 72;
/// Lines beyond the first that are kept of what a command put out.
const MOST_LINES: usize = 20;

/// Programs that only look, or move about: how they ended is worth a note where they failed.
const LOOKS: [&str; 25] = [
    "ls", "cat", "grep", "rg", "find", "sed", "head", "tail", "awk", "wc", "echo", "pwd", "cd", "source", "which",
    "tree", "diff", "sleep", "nl", "cp", "mkdir", "rm", "export", "touch", "mv",
];

/// What a message did.
pub(super) fn of_turn(turn: &Turn<'_>, found: &mut Vec<Found>) {
    for call in &turn.calls {
        of_call(call, turn.index, found);
    }
    for stray in &turn.strays {
        of_result("", &stray.read(), turn.index, found);
    }
}

fn of_call(call: &Called<'_>, index: usize, found: &mut Vec<Found>) {
    let arguments = call.arguments.read();
    let given: Value = serde_json::from_str(&arguments).unwrap_or(Value::Null);
    let tool = ToolUse::of_given(&call.name, &given, &arguments);
    let result = call.result.as_ref().map(Words::read);
    let result = result.as_deref();
    let files = files::of_call(&tool);
    if let Some(command) = tool.command {
        of_files(files, index, found);
        return of_command(&command, result, index, found);
    }
    if !files.is_empty() {
        let about = files.first().map(|(path, _)| format!("{} {path}", call.name)).unwrap_or_default();
        of_files(files, index, found);
        // What a file says of errors is no error, unless it is a log.
        let failed = result.is_some_and(reports_error);
        let line = result.and_then(|result| Outcome::of(result).lines.into_iter().next());
        if let Some(line) = line.filter(|line| failed || reports(line)) {
            found.push(Found::new(Kind::Error, Speaker::Tool, index, &about, line).keyed(format!("error {about}")));
        }
        return;
    }
    if of_list(&given, index, found) {
        return;
    }
    let shown = shown_call(&call.name, &arguments, &given);
    of_arguments(&arguments, &shown, index, found);
    if let Some(result) = result {
        of_result(&shown, result, index, found);
    }
}

fn of_files(files: Vec<(String, Use)>, index: usize, found: &mut Vec<Found>) {
    for (path, used) in files {
        let weight = if used == Use::Changed { 1.0 } else { 0.3 };
        let path = clipped_to(path.trim(), LONGEST_VALUE * 2);
        found.push(
            Found::new(Kind::File, Speaker::Tool, index, used.word(), &*path)
                .keyed(format!("file {path}"))
                .weighing(weight),
        );
    }
}

/// Whether a result begins by saying that it failed.
fn reports_error(result: &str) -> bool {
    let opening: String = result.trim_start().chars().take(160).collect();
    let opens = opening.to_lowercase();
    ["error", "<tool_use_error>", "failed", "exit code", "traceback", "fatal", "no replacement", "invalid"]
        .iter()
        .any(|word| opens.starts_with(word))
}

fn of_command(command: &str, result: Option<&str>, index: usize, found: &mut Vec<Found>) {
    let shown = shown_command(command);
    if shown.is_empty() {
        return;
    }
    let outcome = Outcome::of(result.unwrap_or(""));
    let looks = LOOKS.contains(&program(&shown)) || shown.contains("<<");
    if looks && !outcome.failed() {
        return;
    }
    let first = outcome.lines.first().map(String::as_str);
    let text = match (outcome.status, first, result) {
        (Some(0), Some(line), _) => format!("ok: {line}"),
        (Some(0), None, _) => "ok".to_owned(),
        (Some(_), Some(line), _) => format!("{}: {line}", outcome.said),
        (Some(_), None, _) => outcome.said.clone(),
        (None, Some(line), _) => line.to_owned(),
        (None, None, Some(_)) => "no output".to_owned(),
        (None, None, None) => "no result yet".to_owned(),
    };
    let weight = if outcome.failed() { 1.3 } else { 1.0 } * if looks { 0.3 } else { 1.0 };
    let key = format!("command {shown}");
    found.push(Found::new(Kind::Command, Speaker::Tool, index, &shown, text).keyed(key).weighing(weight));
    for (place, line) in outcome.lines.iter().skip(1).take(MOST_LINES).enumerate() {
        let key = format!("line {place} of {shown}");
        let weight = weight * 0.6 / (1.0 + 0.2 * place as f64);
        found.push(Found::new(Kind::Error, Speaker::Tool, index, &shown, line.as_str()).keyed(key).weighing(weight));
    }
}

/// A command as it is shown: the first of its steps that does more than look, without how its output is cut.
pub(super) fn shown_command(command: &str) -> String {
    let steps = steps(command);
    let looks = |step: &str| LOOKS.contains(&program(step));
    let Some(step) =
        steps.iter().find(|step| !looks(step)).or(steps.iter().find(|step| program(step) != "cd")).or(steps.first())
    else {
        return String::new();
    };
    let cuts = ["<<", " 2>&1", " 2>/dev/null", " | tail", " | head"];
    let end = cuts.iter().filter_map(|cut| step.find(cut).map(|at| if *cut == "<<" { at + 2 } else { at })).min();
    let shown = clipped_to(step[..end.unwrap_or(step.len())].trim(), LONGEST_COMMAND);
    let Some(quote) = open_quote(&shown).filter(|_| open_quote(step).is_some()) else { return shown };
    // Of a script in quotes its first line tells which it is.
    let inside = if shown.ends_with(quote) { first_line_behind(command, step) } else { "" };
    let shown = format!("{shown}{inside}");
    format!("{}…{quote}", clipped_to(&shown, LONGEST_COMMAND).trim_end_matches('…'))
}

/// The first line with something on it behind a step.
fn first_line_behind<'c>(command: &'c str, step: &str) -> &'c str {
    let behind = command.find(step).map_or("", |at| &command[at + step.len()..]);
    behind.lines().map(str::trim).find(|line| !line.is_empty()).unwrap_or("")
}

/// The program that a step runs.
fn program(step: &str) -> &str {
    step.split_whitespace().find(|word| !word.contains('=')).unwrap_or("")
}

/// A list of things to do, each with how far it is.
fn of_list(given: &Value, index: usize, found: &mut Vec<Found>) -> bool {
    let Some(items) = given.as_object().and_then(|given| given.values().find_map(Value::as_array)) else {
        return false;
    };
    let mut any = false;
    for item in items {
        let Some((text, status)) = argument(item, &["content", "task", "step", "title", "description"])
            .zip(argument(item, &["status", "state"]))
        else {
            continue;
        };
        any = true;
        let kind = if ["completed", "done", "complete"].contains(&status.as_str()) { Kind::Done } else { Kind::Next };
        let text = clipped_to(&text, 200);
        found.push(Found::new(kind, Speaker::Tool, index, "", &*text).keyed(format!("task {text}")).weighing(0.8));
    }
    any
}

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

/// The values that a call is given and that are not shown with it.
fn of_arguments(arguments: &str, shown: &str, index: usize, found: &mut Vec<Found>) {
    let given = cells(arguments).unwrap_or_default();
    for cell in given.iter().filter(|cell| !shown.contains(&cell.value) && cell.value.chars().count() <= LONGEST_VALUE)
    {
        let key = format!("{shown} {} {} {}", cell.group, cell.row, cell.key);
        found.push(of_cell(cell, shown, index).keyed(key).weighing(1.5));
    }
}

/// The values that a result brings, or the lines of one that is no JSON.
fn of_result(shown: &str, result: &str, index: usize, found: &mut Vec<Found>) {
    if let Some(cells) = cells(result) {
        for cell in cells {
            if cell.value.chars().count() > LONGEST_VALUE {
                of_long_value(&cell, shown, index, found);
                continue;
            }
            let key = format!("{shown} {} {} {}", cell.group, cell.row, cell.key);
            // A list of bare values has one name for all of them.
            let key = if cell.key.is_empty() { format!("{key} {}", cell.value) } else { key };
            found.push(of_cell(&cell, shown, index).keyed(key));
        }
        return;
    }
    let text = result.trim();
    if text.is_empty() {
        return;
    }
    let short = text.len() <= 2 * LONGEST_VALUE && !text.contains('\n');
    if short {
        let kind = if reports_error(text) || cues::WRONG.is_in(text) { Kind::Error } else { Kind::Said };
        found.push(Found::new(kind, Speaker::Tool, index, shown, text).keyed(format!("result of {shown}")));
        return;
    }
    let wrong = reports_error(text);
    for (place, line) in Outcome::of(text)
        .lines
        .iter()
        .filter(|line| wrong || cues::WRONG.is_in(line))
        .take(if wrong { 6 } else { 3 })
        .enumerate()
    {
        let weight = if wrong { 1.0 } else { 0.4 } / (1.0 + place as f64);
        found.push(Found::new(Kind::Error, Speaker::Tool, index, shown, line.as_str()).weighing(weight));
    }
    let addresses = literals(text).into_iter().filter(|literal| literal.class == Class::Url).take(6);
    for literal in addresses {
        let address = clipped_to(&text[literal.span], 2 * LONGEST_VALUE);
        found.push(
            Found::new(Kind::Url, Speaker::Tool, index, shown, &*address)
                .keyed(format!("address {address}"))
                .weighing(0.4),
        );
    }
}

fn of_long_value(cell: &Cell, shown: &str, index: usize, found: &mut Vec<Found>) {
    if cues::WRONG.is_in(&cell.value) {
        let text = clipped_to(&cell.named(), 2 * LONGEST_VALUE);
        found.push(Found::new(Kind::Error, Speaker::Tool, index, shown, text).weighing(0.4));
    }
}

fn of_cell(cell: &Cell, shown: &str, index: usize) -> Found {
    let kind = kind_of(cell);
    let mut found = Found::new(kind, Speaker::Tool, index, shown, cell.named());
    found.cell = Some(Box::new(cell.clone()));
    found
}

fn kind_of(cell: &Cell) -> Kind {
    let value = cell.value.as_str();
    let class = literals(value).first().map(|literal| literal.class);
    let key = cell.key.to_lowercase();
    let named = ["id", "number", "code", "key", "email", "name"].iter().any(|end| key.ends_with(end));
    match class {
        Some(Class::Url) => Kind::Url,
        Some(Class::Version) => Kind::Version,
        Some(Class::Identifier | Class::Email) => Kind::Identifier,
        Some(Class::Error) => Kind::Error,
        Some(Class::Path) => Kind::Identifier,
        _ if named && !cell.bare => Kind::Identifier,
        Some(Class::Number) => Kind::Number,
        None if cell.bare && value.bytes().any(|byte| byte.is_ascii_digit()) => Kind::Number,
        None => Kind::Said,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commands_as_they_are_shown() {
        assert_eq!(shown_command("cd /testbed && cargo test --lib 2>&1 | tail -15"), "cargo test --lib");
        assert_eq!(shown_command("cat > a.py << 'EOF'\nx\nEOF"), "cat > a.py <<");
        assert_eq!(shown_command("python -c \"\nimport numpy\nprint(1)\n\""), "python -c \"import numpy…\"");
        assert_eq!(shown_command("git commit -m 'One\n\ntwo'"), "git commit -m 'One…'");
        assert_eq!(shown_command("python -c '"), "python -c '…'");
    }

    fn of(name: &str, arguments: &str, result: &str) -> Vec<String> {
        let (arguments, result) = (arguments.to_owned().into(), Some(result.to_owned().into()));
        let call = Called { name: name.into(), arguments, result };
        let mut found = Vec::new();
        of_call(&call, 0, &mut found);
        found
            .into_iter()
            .map(|found| format!("{:?} {}|{}", found.entry.kind, found.entry.about, found.entry.text))
            .collect()
    }

    #[test]
    fn commands_end_somehow() {
        let output = "error[E0308]: mismatched types in src/auth.rs\n<returncode>101</returncode>";
        assert_eq!(
            of("bash", r#"{"command":"cargo test"}"#, output),
            ["Command cargo test|returncode 101: error[E0308]: mismatched types in src/auth.rs"]
        );
        assert!(of("bash", r#"{"command":"ls -a"}"#, "a\nb").is_empty());
        assert_eq!(of("bash", r#"{"command":"go build"}"#, ""), ["Command go build|no output"]);
    }

    #[test]
    fn values_stand_with_their_call() {
        assert_eq!(
            of("get_reservation", r#"{"id":"4WQ150"}"#, r#"{"reservation_id":"4WQ150","amount":897}"#),
            ["Identifier get_reservation(4WQ150)|reservation_id=4WQ150", "Number get_reservation(4WQ150)|amount=897"]
        );
    }
}
