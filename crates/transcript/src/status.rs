//! The structured status in the result of a call: the mark of its format, and the exit code that an agent's program writes
//! around an output.
//!
//! Also: the agent's own record that the user refused a call. It stands beside the text of a result: whoever wrote the text,
//! a page or a server, can write a sentence that reads like a refusal, and did not write the record.

use std::borrow::Cow;

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
    let mut found: Option<Status> = None;
    let number = |value: Json<'_>, path: &[&str]| value.at(path)?.raw().parse().ok().map(Status::Code);
    let mark = |raw: &str| raw.parse().ok().map(Status::of_mark);
    let error = |is_error: bool| is_error.then_some(Status::Error);
    for (key, value) in result.entries() {
        let raw = value.raw();
        let of_member = match &*key.decode() {
            "is_error" | "isError" => mark(raw),
            "error" if raw.starts_with('{') => Some(Status::Error),
            "error" => mark(raw),
            "errorText" => error(!value.is_falsy()),
            // Of `LangChain`, it says only that the tool itself did not fail.
            "status" => error(raw == "\"error\""),
            "state" => error(raw == "\"output-error\""),
            "outcome" => error(raw == "\"failed\""),
            "part_kind" | "kind" => error(raw == "\"retry-prompt\""),
            "output" => error(value.get("type").is_some_and(|kind| kind.raw().starts_with("\"error-"))),
            "extra" => number(value, &["returncode"]),
            "metadata" => number(value, &["exit"]),
            "data" => number(value, &["shellExecution", "exitCode"])
                .or_else(|| error(value.get("success").is_some_and(|success| success.raw() == "false"))),
            "extras" => number(value, &["metadata", "exit_code"]),
            "toolResult" => value.get_text("status").map(|status| Status::of_mark(!status.is("success"))),
            // A tool of OpenClaw does not throw: its record beside the text says that it failed, in a result of pi that
            // is marked as well.
            "details" => error(value.get_text("status").is_some_and(|status| status.is_in(&["error", "failed"]))),
            "functionResponse" | "function_response" => {
                error(value.at(&["response", "error"]).is_some_and(|error| !error.is_falsy()))
            }
            "observation" => error(raw == "\"error\"").or_else(|| recorded_status(value)),
            // The line of a session around a result.
            "event" => value.get("result").and_then(recorded_status),
            "message" => recorded_status(value),
            _ => None,
        };
        found = found.filter(|status| status.is_failure()).or(of_member).or(found);
    }
    found
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
    let label = result.lines().next().filter(|line| line.starts_with('[') && line.ends_with("] Result:"));
    let result = result[label.map_or(0, str::len)..].trim_start();
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
    const INSIDE: [&str; 2] = ["metadata", "outcome"];
    let depth = first.split_once('"')?.0.chars().rev().take_while(|c| *c == '\\').count();
    let quote = format!("{}\"", "\\".repeat(depth));
    let member = |text: &str, name: &str| {
        let key = format!("{quote}{name}{quote}");
        let (at, _) = text.rmatch_indices(&key).find(|(at, _)| !text[..*at].ends_with('\\'))?;
        Some((at, at + key.len()))
    };
    let value = |text: &str, name: &str| {
        let (at, end) = member(text, name)?;
        let (before, behind) = (&text[..at], &text[end..]);
        let opened = |text: &str| text.matches(['{', '[']).count();
        let closed = behind.matches('}').count();
        let is_last = !behind.contains(['{', '[', ']'])
            && (closed == 1 || closed == 2 && INSIDE.iter().any(|name| member(before, name).is_some()));
        let is_first = before.trim_start().starts_with('{') && opened(before) == 1;
        let rest = behind.trim_start_matches([':', ' ', '"', '\\']);
        match rest {
            _ if !is_last && !is_first => None,
            _ if rest.starts_with("true") => Some(Status::Fine),
            _ if rest.starts_with("false") => Some(Status::Error),
            _ => leading_number(rest).map(Status::Code),
        }
    };
    let is_around = BESIDE.iter().any(|name| member(first, name).or_else(|| member(last, name)).is_some());
    NAMES.iter().filter(|_| is_around).find_map(|name| value(last, name).or_else(|| value(first, name)))
}

/// The status that stands alone on a line that a tool puts before an output or behind it: `Exit code 1`,
/// `<returncode>0</returncode>`.
fn status_on_lines(first: &str, last: &str) -> Option<i32> {
    const EDGE_LINES: usize = 5;
    // Of most outputs, no bytes can say it.
    let says = |edge: &str| {
        let lower = edge.to_ascii_lowercase();
        lower.contains("code") || lower.contains("stat")
    };
    if !says(first) && !says(last) {
        return None;
    }
    let (first, last) = (first.replace("\\n", "\n"), last.replace("\\n", "\n"));
    // One agent says it inside of a sentence.
    let sandboxed =
        first.strip_prefix("failed in sandbox").and_then(|rest| leading_number(rest.split_once("exit code: ")?.1));
    let before = || status_of_frame(first.lines().take(EDGE_LINES));
    let behind = || status_of_frame(last.trim_end().lines().rev().take(EDGE_LINES));
    sandboxed.or_else(before).or_else(behind)
}

/// The status on lines around an output, from the outside, up to the first that is not one of them.
fn status_of_frame<'l>(lines: impl Iterator<Item = &'l str>) -> Option<i32> {
    const STATUS: &str = "returncode>|exit_code>|exit code|exit_code|process exited with code|command finished with exit code|the command completed with exit code|finished, status=|exit status|return code|returncode";
    const OTHERS: &str =
        "command:|directory:|chunk id:|wall time:|stdout:|stderr:|signal:|error:|background pids:|process group pgid:";
    for line in lines {
        let line = line.trim().to_ascii_lowercase();
        let bare = line.trim_start_matches(['<', '[']);
        let code = STATUS.split('|').find_map(|opening| bare.strip_prefix(opening)).and_then(|rest| {
            let rest = rest.trim_start_matches([':', '=', ' ']);
            let after = rest.trim_start_matches(|c: char| c.is_ascii_digit() || c == '-');
            leading_number(rest).filter(|_| after.is_empty() || after.starts_with(['<', ']', '.']))
        });
        let is_other = OTHERS.split('|').any(|key| line.starts_with(key));
        if code.is_some() {
            return code;
        }
        if !is_other && !line.is_empty() && !line.starts_with(['<', '[']) {
            return None;
        }
    }
    None
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
        Some(said.split_once(frame).map_or_else(String::new, |(_, words)| words.to_owned()).into())
    }

    /// The user's answer to a request for approval that is a part of a message of the AI SDK.
    pub fn in_part(part: Json<'a>) -> Option<Self> {
        part.get_text("type").filter(|kind| kind.is("tool-approval-response"))?;
        part.get("approved").filter(|approved| approved.raw() == "false")?;
        Some(Denial::new(part.get_text("reason")))
    }
}
