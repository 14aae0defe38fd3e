//! The structured status in the result of a call: the mark of its format, and the exit code that an agent's program writes
//! around an output.

use crate::transcript::json::Json;

/// Bytes at either end of a result in which its status can be.
pub(crate) const EDGE: usize = 240;

/// Stands for a failure without an exit code.
pub(crate) const FALSE: i32 = i32::MIN;

/// Returns whether the format says that a result is a failure; `None` if it says nothing. `result` is the part or the
/// message that holds the result.
pub(crate) fn status_mark(result: Json<'_>) -> Option<bool> {
    let mut mark = None;
    let number = |value: Json<'_>, path: &[&str]| Some(value.at(path)?.raw().parse::<i32>().ok()? != 0);
    for (key, value) in result.entries() {
        let raw = value.raw();
        let of_member = match &*key.decode() {
            "is_error" | "isError" => raw.parse().ok(),
            "error" if raw.starts_with('{') => Some(true),
            "error" => raw.parse().ok(),
            // Of `LangChain`, it says only that the tool itself did not fail.
            "status" => (raw == "\"error\"").then_some(true),
            "state" => (raw == "\"output-error\"").then_some(true),
            "output" => value.get("type").is_some_and(|kind| kind.raw().starts_with("\"error-")).then_some(true),
            "extra" => number(value, &["returncode"]),
            "extras" => number(value, &["metadata", "exit_code"]),
            "toolResult" => value.get_text("status").map(|status| !status.is("success")),
            _ => None,
        };
        mark = if mark == Some(true) { mark } else { of_member.or(mark) };
    }
    mark
}

/// Returns the status in a result by its first and its last bytes, as the source spells them: 0 for success.
pub(crate) fn exit_status(first: &str, last: &str) -> Option<i32> {
    let is_object = first.trim_start().starts_with('{');
    if is_object { status_in_object(first, last) } else { status_on_lines(first, last) }
}

/// Returns the status in an object: the member of one of a few names. Quotes of the object have fewer backslashes before
/// them than quotes inside its strings.
fn status_in_object(first: &str, last: &str) -> Option<i32> {
    let depth = first.split_once('"')?.0.chars().rev().take_while(|c| *c == '\\').count();
    let quote = format!("{}\"", "\\".repeat(depth));
    let value = |text: &str, name: &str| {
        let key = format!("{quote}{name}{quote}");
        let (at, _) = text.rmatch_indices(&key).find(|(at, _)| !text[..*at].ends_with('\\'))?;
        let rest = text[at + key.len()..].trim_start_matches([':', ' ', '"', '\\']);
        match rest {
            _ if rest.starts_with("true") => Some(0),
            _ if rest.starts_with("false") => Some(FALSE),
            _ => leading_number(rest),
        }
    };
    let names = ["exit_code", "exitCode", "returncode", "success"];
    names.iter().find_map(|name| value(last, name).or_else(|| value(first, name)))
}

/// Returns the status that stands alone on one of the first or last lines: `Exit code 1`, `<returncode>0</returncode>`.
fn status_on_lines(first: &str, last: &str) -> Option<i32> {
    const EDGE_LINES: usize = 4;
    const OPENINGS: &str = "returncode>|exit_code>|exit code|exit_code|process exited with code|command finished with exit code|the command completed with exit code|finished, status=|exit status|return code|returncode";
    let (first, last) = (first.replace("\\n", "\n"), last.replace("\\n", "\n"));
    let lines = first.lines().take(EDGE_LINES).chain(last.lines().rev().take(EDGE_LINES));
    // One agent says it inside of a sentence.
    let sandboxed =
        first.strip_prefix("failed in sandbox").and_then(|rest| leading_number(rest.split_once("exit code: ")?.1));
    sandboxed.or_else(|| {
        lines.map(|line| line.trim().trim_start_matches(['<', '[']).to_ascii_lowercase()).find_map(|line| {
            let rest = OPENINGS.split('|').find_map(|opening| line.strip_prefix(opening))?;
            let rest = rest.trim_start_matches([':', '=', ' ']);
            let after = rest.trim_start_matches(|c: char| c.is_ascii_digit() || c == '-');
            leading_number(rest).filter(|_| after.is_empty() || after.starts_with(['<', ']', '.']))
        })
    })
}

fn leading_number(text: &str) -> Option<i32> {
    let end = text.find(|c: char| !c.is_ascii_digit() && c != '-').unwrap_or(text.len());
    text[..end].parse().ok()
}
