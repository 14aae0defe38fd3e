//! How a call ended, and the lines of its result that tell most. A structured status says how it ended; words never do.

use serde_json::{Map, Value};

use crate::digest::clip::{self, GAP, middle_cut};
use crate::digest::text::LazyText;
use crate::digest::values;

/// How a call ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Ended {
    /// Well, by its status.
    Well,
    /// Failed, by its status, with the exit code if it has one.
    Failed(Option<i32>),
    /// With a result that has no status: whoever reads it judges.
    Unknown,
    /// The user refused or cancelled it.
    Refused,
    /// It has no result.
    NoResult,
}

/// Bytes at either end of a result in which its status can be.
const EDGE: usize = 240;
/// Words in front of an exit code.
const CODES: [&str; 9] = [
    "exit_code",
    "exitcode",
    "returncode",
    "exit code",
    "exited with code",
    "exit status",
    "return code",
    "status=",
    "code=",
];

/// Returns how a call ended: by the mark of its format, or else by the status that its program writes at the edges of the
/// result.
pub(super) fn ended(result: &LazyText<'_>, marked: Option<bool>) -> Ended {
    let (first, last) = result.edges(EDGE);
    let code = exit_code(first, last);
    match (marked, code) {
        (Some(true), code) => Ended::Failed(code.filter(|code| *code != 0)),
        (_, Some(0)) => Ended::Well,
        (_, Some(code)) => Ended::Failed(Some(code)),
        (Some(false), None) => Ended::Well,
        (None, None) => match success(first) {
            Some(true) => Ended::Well,
            Some(false) => Ended::Failed(None),
            None => Ended::Unknown,
        },
    }
}

/// Returns the exit code at the edges of a result. It stands alone on the first or the last lines, in a tag, in brackets
/// or in an object, and never inside a sentence.
fn exit_code(first: &str, last: &str) -> Option<i32> {
    let is_object = first.trim_start().starts_with('{');
    let lines =
        |text: &str| -> Vec<String> { text.replace("\\n", "\n").lines().map(str::to_ascii_lowercase).collect() };
    let (first, last) = (lines(first), lines(last));
    let opening = first.iter().take(4);
    opening.chain(last.iter().rev().take(4)).find_map(|line| {
        CODES.iter().find_map(|name| {
            let at = line.find(name)?;
            let before = line[..at].trim_end_matches(['"', '\\', ' ']);
            let is_status = is_object && (before.ends_with(['{', ',']) || before.is_empty())
                || matches!(
                    before.trim(),
                    "" | "<" | "process" | "[command finished with" | "[the command completed with" | "[finished,"
                )
                || before.starts_with('[') && line.trim_end_matches(['"', '\\', '}']).ends_with(']');
            if !is_status {
                return None;
            }
            let rest = line[at + name.len()..].trim_start_matches(['"', '\\', ':', '=', '>', ' ', '\'']);
            let end = rest.find(|c: char| !c.is_ascii_digit() && c != '-').unwrap_or(rest.len());
            rest[..end].parse().ok()
        })
    })
}

/// Returns the member `success` of a JSON object, by its beginning.
fn success(first: &str) -> Option<bool> {
    let start = first.trim_start().strip_prefix('{')?;
    let plain = start.replace(['\\', ' ', '\n'], "");
    let value =
        plain.strip_prefix("\"success\":").or_else(|| plain.split_once(",\"success\":").map(|(_, rest)| rest))?;
    if value.starts_with("true") {
        Some(true)
    } else if value.starts_with("false") {
        Some(false)
    } else {
        None
    }
}

/// Whether a result without a status reads like the refusal of an edit. It decides only which of two lists names a file.
pub(super) fn reads_as_error(result: &str) -> bool {
    const OPENINGS: [&str; 14] = [
        "error",
        "<tool_use_error>",
        "failed",
        "failure",
        "no replacement",
        "no match",
        "invalid",
        "cannot",
        "could not",
        "permission denied",
        "file not found",
        "string to replace not found",
        "traceback",
        "patch failed",
    ];
    const LONG: usize = 60;
    let opening = result.trim_start();
    let opening = opening[..opening.floor_char_boundary(LONG)].to_ascii_lowercase();
    OPENINGS.iter().any(|start| opening.starts_with(start))
}

/// Returns the output of a command without what an agent's shell prints around it: the object that holds it, tags, marks
/// of the end, the command itself.
fn output<'r>(result: &'r str, label: &str) -> Vec<&'r str> {
    const FRAMES: [&str; 14] = [
        "<returncode>",
        "<output>",
        "</output>",
        "<output_head>",
        "<output_tail>",
        "<elided_chars>",
        "<warning>",
        "[Command finished",
        "[The command completed",
        "[Current working directory",
        "[Python Interpreter",
        "[Jupyter",
        "Shell cwd was reset",
        "Wall time:",
    ];
    let command = label.trim_matches('`');
    let is_frame = |line: &str| {
        FRAMES.iter().any(|frame| line.starts_with(frame))
            || ["bash-$", "$", "Output:", "Observation:", "OBSERVATION:"].contains(&line)
            || line == command
            || line.starts_with("Exit code")
            || line.starts_with("Process exited with code")
            || line.starts_with("exit code:")
            || line.starts_with("Chunk ID:")
            || line.starts_with("Original token count:")
            || !line.contains(char::is_alphanumeric)
    };
    let inside = |line: &'r str| -> &'r str {
        let line = line.trim();
        let line = line.strip_prefix("<output>").unwrap_or(line);
        line.strip_suffix("</output>").unwrap_or(line).trim()
    };
    result.lines().map(inside).filter(|line| !is_frame(line)).collect()
}

/// Words of lines that say how something went.
const TELLING: [&str; 30] = [
    " passed",
    " failed",
    "error",
    "exception",
    "warning",
    "not found",
    "denied",
    "refused",
    "panicked",
    "fatal",
    "success",
    "cannot",
    "no such",
    "timed out",
    "conflict",
    "rejected",
    "traceback",
    "undefined",
    "expected",
    "mismatch",
    "ok.",
    "fail:",
    "fail ",
    "--- fail",
    "result:",
    "total",
    "失败",
    "成功",
    "错误",
    "通过",
];

/// Returns whether a line says how something went.
fn tells(line: &str) -> bool {
    const LONGEST: usize = 400;
    if line.len() > LONGEST {
        return false;
    }
    let lower = line.to_ascii_lowercase();
    TELLING.iter().any(|word| lower.contains(word)) || lower == "ok" || lower == "pass" || lower.starts_with("ok ")
}

/// Lines that say how it went besides the last two.
const MORE: usize = 5;
/// Bytes at either end of an output that are looked at.
const LOOK: usize = 16_000;

/// Returns what a result tells in at most `most` bytes, on one line: a short one whole, the values of a JSON document, of
/// a long output the lines that say how it went, of a long text its beginning and end.
pub(super) fn telling(result: &str, label: &str, is_output: bool, ended: Ended, most: usize) -> String {
    if let Some(object) = object_around_output(result) {
        let text = object.get("output").or_else(|| object.get("stdout")).and_then(Value::as_str).unwrap_or("");
        let errors = object.get("stderr").and_then(Value::as_str).unwrap_or("");
        let both = [text, errors].join("\n");
        return telling(&both, label, true, ended, most);
    }
    let start = result.trim_start();
    if start.starts_with(['{', '['])
        && let Ok(value) = serde_json::from_str::<Value>(start)
        && !value.is_string()
    {
        return values::told(value, label, most);
    }
    let (head, tail) = match result.len() > 2 * LOOK {
        true => {
            (&result[..result.floor_char_boundary(LOOK)], &result[result.ceil_char_boundary(result.len() - LOOK)..])
        }
        false => (result, ""),
    };
    let mut lines = output(head, label);
    lines.extend(output(tail, label));
    let all = lines.iter().map(|line| line.len() + SEPARATOR.len()).sum::<usize>();
    if all <= most && tail.is_empty() {
        return lines.join(SEPARATOR);
    }
    if !is_output {
        return clip::clipped(&lines.join("\n"), most, |_| false).replace('\n', SEPARATOR);
    }
    let hits: Vec<usize> = (0..lines.len()).filter(|&at| tells(lines[at])).collect();
    let end = lines.len().saturating_sub(1);
    let mut wanted = match (ended, hits.as_slice()) {
        (Ended::Failed(_), [first, .., last]) => vec![*last, *first, end],
        (_, [.., before, last]) => vec![*last, *before, end],
        (_, [only]) => vec![*only, end, 0],
        _ => vec![end, 0, 1, end.saturating_sub(1)],
    };
    wanted.extend(hits.iter().rev().take(MORE));
    wanted.retain(|at| *at <= end);
    chosen_lines(&lines, wanted.into_iter(), most)
}

/// The separator of lines that are shown on one.
const SEPARATOR: &str = " / ";

/// Returns lines in their order, the first of `wanted` first, as many as fit.
fn chosen_lines(lines: &[&str], wanted: impl Iterator<Item = usize>, most: usize) -> String {
    /// The least room for a line that is cut.
    const LEAST: usize = 40;
    if lines.is_empty() {
        return String::new();
    }
    let (mut room, mut chosen) = (most, Vec::<(usize, String)>::new());
    for at in wanted {
        if chosen.iter().any(|(known, _)| *known == at) || room < LEAST && !chosen.is_empty() {
            continue;
        }
        let line = middle_cut(lines[at], room);
        if line.contains(GAP) && !chosen.is_empty() {
            continue;
        }
        room = room.saturating_sub(line.len() + SEPARATOR.len() + GAP.len_utf8());
        chosen.push((at, line));
    }
    chosen.sort_unstable();
    let mut out = String::new();
    let mut next = 0;
    for (at, line) in chosen {
        let gap = if at > next { format!("{GAP} ") } else { String::new() };
        out.push_str(if out.is_empty() { "" } else { SEPARATOR });
        out.push_str(&gap);
        out.push_str(&line);
        next = at + 1;
    }
    if next < lines.len() {
        out.push_str(&format!(" {GAP}"));
    }
    out
}

/// Returns the JSON object in which some agents hand over the output of a command beside its status.
fn object_around_output(result: &str) -> Option<Map<String, Value>> {
    const OUTPUTS: [&str; 2] = ["\"output\"", "\"stdout\""];
    if !result.trim_start().starts_with('{') || !OUTPUTS.iter().any(|name| result.contains(name)) {
        return None;
    }
    let object: Map<String, Value> = serde_json::from_str(result).ok()?;
    let is_text = |name: &str| object.get(name).is_some_and(Value::is_string);
    (is_text("output") || is_text("stdout")).then_some(object)
}
