//! The structured status in the result of a call: the mark of its format, and the exit code that an agent's program writes
//! around an output.
//!
//! Also: the agent's own record that the user refused a call. It stands beside the text of a result: whoever wrote the text,
//! a page or a server, can write a sentence that reads like a refusal, and did not write the record.

use std::borrow::Cow;
use std::ops::Range;

use crate::json::{Json, JsonKind};
use crate::text::Text;
use crate::tools::actions::is_in;

/// Bytes at either end of a result in which its status can be.
pub const EDGE: usize = 240;

/// A status as it is recorded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Status {
    Code(i32),
    /// It is marked as an error.
    Error,
    /// It is marked as none.
    Fine,
}

impl Status {
    fn of_mark(is_error: bool) -> Self {
        if is_error { Status::Error } else { Status::Fine }
    }

    pub fn is_failure(self) -> bool {
        !matches!(self, Status::Code(0) | Status::Fine)
    }
}

/// The status that the format records of a result; `None` if it says nothing. `result` is the part, the message or the list
/// of parts that holds the result.
pub fn recorded_status(result: Json<'_>) -> Option<Status> {
    if result.kind() == JsonKind::Array {
        return result.items().find_map(recorded_status);
    }
    let mut found = None;
    for (key, value) in result.entries() {
        match status_of_member(&key.decode(), value) {
            Some(status) if status.is_failure() => return Some(status),
            Some(status) => found = Some(status),
            None => {}
        }
    }
    found
}

/// The status that a member of a result records.
fn status_of_member(key: &str, value: Json<'_>) -> Option<Status> {
    let raw = value.raw();
    match key {
        "is_error" | "isError" => status_of_mark(raw),
        "error" if raw.starts_with('{') => Some(Status::Error),
        "error" => status_of_mark(raw),
        "errorText" => error_if(!value.is_falsy()),
        // Of `LangChain`, it says only that the tool itself did not fail.
        "status" => error_if(raw == "\"error\""),
        "state" => error_if(raw == "\"output-error\""),
        "outcome" => error_if(raw == "\"failed\""),
        "part_kind" | "kind" => error_if(raw == "\"retry-prompt\""),
        "output" => error_if(value.get("type").is_some_and(|kind| kind.raw().starts_with("\"error-"))),
        "extra" => code_at(value, &["returncode"]),
        "metadata" => code_at(value, &["exit"]),
        "data" => code_at(value, &["shellExecution", "exitCode"])
            .or_else(|| error_if(value.get("success").is_some_and(|success| success.raw() == "false"))),
        "extras" => code_at(value, &["metadata", "exit_code"]),
        "toolResult" => value.get_text("status").map(|status| Status::of_mark(!status.is("success"))),
        // A tool of OpenClaw does not throw: its record beside the text says that it failed, in a result of pi that
        // is marked as well.
        "details" => error_if(value.get_text("status").is_some_and(|status| status.is_in(&["error", "failed"]))),
        "functionResponse" | "function_response" => {
            error_if(value.at(&["response", "error"]).is_some_and(|error| !error.is_falsy()))
        }
        "observation" => error_if(raw == "\"error\"").or_else(|| recorded_status(value)),
        // The line of a session around a result.
        "event" => value.get("result").and_then(recorded_status),
        "message" => recorded_status(value),
        _ => None,
    }
}

/// The exit code at a path of a value.
fn code_at(value: Json<'_>, path: &[&str]) -> Option<Status> {
    value.at(path)?.raw().parse().ok().map(Status::Code)
}

/// The status of a mark that is `true` or `false`.
fn status_of_mark(raw: &str) -> Option<Status> {
    raw.parse().ok().map(Status::of_mark)
}

fn error_if(is_error: bool) -> Option<Status> {
    if is_error { Some(Status::Error) } else { None }
}

/// Whether the output of a command begins with the sentence in which Codex says that it made no change.
pub fn refuses_patch(output: &str) -> bool {
    let output = output.trim_start();
    ["apply_patch verification failed", "patch rejected: "].iter().any(|sentence| output.starts_with(sentence))
}

/// Whether a result begins with the sentence in which a tool says that it made no change to the file. These are tools'
/// own words, and stand for a mark where the format has none.
pub fn refuses_edit(result: &str) -> bool {
    const SENTENCES: [&str; 5] = [
        // The editor of Anthropic, of OpenHands and of SWE-agent.
        "No replacement was performed",
        "ERROR:\nNo replacement was performed",
        "Your proposed edit has introduced new syntax error",
        // Claude Code and Cline, without the mark beside it.
        "<tool_use_error>",
        "The tool execution failed with the following error",
    ];
    /// The object in which OpenClaw and Roo Code answer, without its blanks.
    const OBJECT: &str = "{\"status\":\"error\"";
    let result = result.trim_start();
    // Cline names the call on a line of its own.
    let result = match result.lines().next() {
        Some(label) if label.starts_with('[') && label.ends_with("] Result:") => result[label.len()..].trim_start(),
        _ => result,
    };
    let opening = result.chars().filter(|c| !c.is_whitespace()).take(OBJECT.len());
    let says_so = SENTENCES.iter().any(|sentence| result.starts_with(sentence));
    says_so || refuses_patch(result) || opening.eq(OBJECT.chars())
}

/// The status in a result by its first and its last bytes, as the source spells them.
pub fn exit_status(first: &str, last: &str) -> Option<Status> {
    let is_object = first.trim_start().starts_with('{');
    if is_object { status_in_object(first, last) } else { status_on_lines(first, last).map(Status::Code) }
}

/// The status in an object that a tool puts around an output: the member of one of a few names, of the object itself
/// or of its `metadata` or `outcome`. What has no output beside it is a record that a command printed. Quotes of the
/// object have fewer backslashes before them than quotes inside its strings.
fn status_in_object(first: &str, last: &str) -> Option<Status> {
    const NAMES: [&str; 4] = ["exit_code", "exitCode", "returncode", "success"];
    const BESIDE: [&str; 8] = ["output", "stdout", "stderr", "message", "content", "error", "result", "metadata"];
    let depth = first.split_once('"')?.0.chars().rev().take_while(|c| *c == '\\').count();
    let quote = format!("{}\"", "\\".repeat(depth));
    if !BESIDE.iter().any(|name| key_in(first, name, &quote).or_else(|| key_in(last, name, &quote)).is_some()) {
        return None;
    }
    NAMES.iter().find_map(|name| status_at(last, name, &quote).or_else(|| status_at(first, name, &quote)))
}

/// The place of the last key of this name in the JSON of an object, whose quotes are spelled like `quote`.
fn key_in(json: &str, name: &str, quote: &str) -> Option<Range<usize>> {
    let key = format!("{quote}{name}{quote}");
    for (at, _) in json.rmatch_indices(&key) {
        if !json[..at].ends_with('\\') {
            return Some(at..at + key.len());
        }
    }
    None
}

/// The status in a member that is the first or the last one of an object.
fn status_at(json: &str, name: &str, quote: &str) -> Option<Status> {
    const INSIDE: [&str; 2] = ["metadata", "outcome"];
    let key = key_in(json, name, quote)?;
    let (before, behind) = (&json[..key.start], &json[key.end..]);
    let closed = behind.matches('}').count();
    let is_last = !behind.contains(['{', '[', ']'])
        && (closed == 1 || closed == 2 && INSIDE.iter().any(|name| key_in(before, name, quote).is_some()));
    let is_first = before.trim_start().starts_with('{') && before.matches(['{', '[']).count() == 1;
    if !is_last && !is_first {
        return None;
    }
    let value = behind.trim_start_matches([':', ' ', '"', '\\']);
    if value.starts_with("true") {
        Some(Status::Fine)
    } else if value.starts_with("false") {
        Some(Status::Error)
    } else {
        leading_number(value).map(Status::Code)
    }
}

/// The status that stands alone on a line that a tool puts before an output or behind it: `Exit code 1`,
/// `<returncode>0</returncode>`.
fn status_on_lines(first: &str, last: &str) -> Option<i32> {
    const EDGE_LINES: usize = 5;
    if !can_have_status(first) && !can_have_status(last) {
        return None;
    }
    let (first, last) = (first.replace("\\n", "\n"), last.replace("\\n", "\n"));
    // One agent says it inside of a sentence.
    if let Some(sentence) = first.strip_prefix("failed in sandbox")
        && let Some((_, code)) = sentence.split_once("exit code: ")
        && let Some(code) = leading_number(code)
    {
        return Some(code);
    }
    let before = status_of_frame(first.lines().take(EDGE_LINES));
    before.or_else(|| status_of_frame(last.trim_end().lines().rev().take(EDGE_LINES)))
}

/// Whether an edge of an output has the words of a status. Most outputs have neither.
fn can_have_status(edge: &str) -> bool {
    let lower = edge.to_ascii_lowercase();
    lower.contains("code") || lower.contains("stat")
}

/// The status on lines around an output, from the outside, up to the first that is not one of them.
fn status_of_frame<'l>(lines: impl Iterator<Item = &'l str>) -> Option<i32> {
    #[rustfmt::skip]
    const OTHERS: &[&str] = &[
        "command:", "directory:", "chunk id:", "wall time:", "stdout:", "stderr:", "signal:", "error:",
        "background pids:", "process group pgid:",
    ];
    for line in lines {
        let line = line.trim().to_ascii_lowercase();
        let code = status_of_line(&line);
        if code.is_some() {
            return code;
        }
        let is_of_frame = line.is_empty() || line.starts_with(['<', '[']);
        if !is_of_frame && !OTHERS.iter().any(|key| line.starts_with(key)) {
            return None;
        }
    }
    None
}

/// The status that is all that a line says.
fn status_of_line(line: &str) -> Option<i32> {
    #[rustfmt::skip]
    const OPENINGS: &[&str] = &[
        "returncode>", "exit_code>", "exit code", "exit_code", "process exited with code",
        "command finished with exit code", "the command completed with exit code", "finished, status=", "exit status",
        "return code", "returncode",
    ];
    let line = line.trim_start_matches(['<', '[']);
    let code = OPENINGS.iter().find_map(|opening| line.strip_prefix(opening))?.trim_start_matches([':', '=', ' ']);
    let behind = code.trim_start_matches(|c: char| c.is_ascii_digit() || c == '-');
    if behind.is_empty() || behind.starts_with(['<', ']', '.']) { leading_number(code) } else { None }
}

fn leading_number(text: &str) -> Option<i32> {
    let end = text.find(|c: char| !c.is_ascii_digit() && c != '-').unwrap_or(text.len());
    text[..end].parse().ok()
}

/// A record that the user refused a call.
#[derive(Debug, Clone, Copy)]
pub struct Denial<'a> {
    /// The text with what the user said.
    said: Option<Text<'a>>,
    /// What the agent's program writes before the user's words; without it no word of the text is the user's.
    frame: Option<&'static str>,
    /// The tools whose record it can be, with `|` between them, where other tools can write it too.
    tools: Option<&'static str>,
}

impl<'a> Denial<'a> {
    /// Creates one with the words of the user, if there are any.
    pub fn new(said: Option<Text<'a>>) -> Self {
        Denial { said, frame: None, tools: None }
    }

    /// The record with words that stand behind a frame.
    pub fn behind(self, frame: &'static str) -> Self {
        Denial { frame: Some(frame), ..self }
    }

    /// For a record that only calls of these tools make certain.
    pub fn of_tools(self, tools: &'static str) -> Self {
        Denial { tools: Some(tools), ..self }
    }

    /// What the user said in refusing a call of a tool, which can be nothing; `None` if the tool could have written the
    /// record itself.
    pub fn words(&self, tool: &str) -> Option<Cow<'a, str>> {
        if self.tools.is_some_and(|tools| !is_in(tool, tools)) {
            return None;
        }
        let said = self.said.map_or(Cow::Borrowed(""), |said| said.decode());
        let Some(frame) = self.frame else { return Some(said) };
        let (_, words) = said.split_once(frame).unwrap_or_default();
        Some(Cow::Owned(words.to_owned()))
    }

    /// The user's answer to a request for approval that is a part of a message of the AI SDK.
    pub fn in_part(part: Json<'a>) -> Option<Self> {
        let is_denied = part.get("approved")?.raw() == "false";
        if !is_denied || !part.member_is("type", "tool-approval-response") {
            return None;
        }
        Some(Denial::new(part.get_text("reason")))
    }
}
