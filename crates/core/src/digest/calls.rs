//! Commands and calls: the label of each, and how it ended.

use std::borrow::Cow;

use serde_json::Value;

use crate::digest::deciding::{found_nothing, output_lines, reads_as_status};
use crate::digest::grammar::{ARROW, GAP};
use crate::digest::pieces::{ends, line};
use crate::digest::ranked::{Line, RankedText};
use crate::digest::values::{output_in, ranked_values};
use crate::transcript::lazy_text::LazyText;
use crate::transcript::status::{EDGE, Status, exit_status};
use crate::transcript::tools::{Access, ToolUse, command_argument, is_shell};

/// How a call ended, by what is recorded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Ended {
    With(Status),
    /// With a result that has no status: whoever reads it judges.
    Unknown,
    /// The user refused or cancelled it.
    Refused,
    /// It has no result.
    NoResult,
}

/// How a status is told, and the label of an output that begins like one.
const EXIT: &str = "exit ";
const ERROR: &str = "is_error";
const CANCELLED: &str = "cancelled by the user";
const NO_RESULT: &str = "no result yet";
const OUTPUT: &str = "output";
const NO_OUTPUT: &str = "no output";

impl Ended {
    /// How a call ended: by the status that its format records, and the one that its program writes at the edges of the
    /// result. Where only the program says that it failed, it is unknown.
    pub(super) fn of_result(result: &LazyText<'_>, recorded: Option<Status>) -> Self {
        let (first, last) = result.edges(EDGE);
        match (recorded, exit_status(first, last)) {
            (Some(recorded), Some(written)) if written.is_failure() && !recorded.is_failure() => Ended::Unknown,
            (Some(recorded), Some(written)) if recorded.is_failure() && !written.is_failure() => Ended::With(recorded),
            (_, Some(code @ Status::Code(_))) => Ended::With(code),
            (recorded, written) => recorded.or(written).map_or(Ended::Unknown, Ended::With),
        }
    }

    pub(super) fn is_failure(self) -> bool {
        matches!(self, Ended::With(status) if status.is_failure())
    }

    /// The status as the digest tells it; empty where there is nothing to tell.
    fn status(self) -> String {
        match self {
            Ended::With(Status::Code(code)) => format!("{EXIT}{code}"),
            Ended::With(Status::Error) => ERROR.to_owned(),
            Ended::Refused => CANCELLED.to_owned(),
            Ended::NoResult => NO_RESULT.to_owned(),
            Ended::With(Status::Fine) | Ended::Unknown => String::new(),
        }
    }

    /// Reads the status at the beginning of an outcome that an earlier digest told.
    pub(super) fn parse(outcome: &str) -> Self {
        if let Some(behind) = outcome.strip_prefix(EXIT)
            && let Some(code) = behind.split([':', ';']).next()
            && let Ok(code) = code.parse()
        {
            return Ended::With(Status::Code(code));
        }
        if outcome.starts_with(ERROR) {
            Ended::With(Status::Error)
        } else if outcome.starts_with(CANCELLED) {
            Ended::Refused
        } else {
            Ended::Unknown
        }
    }
}

/// A call with its result.
#[derive(Debug)]
pub(super) struct Call<'a> {
    pub(super) source: CallSource<'a>,
    pub(super) ended: Ended,
    /// Whether its output decides by single lines: it is that of a command that does not only show a file.
    pub(super) has_deciding_lines: bool,
}

/// Where the label and the result of a call are.
#[derive(Debug)]
pub(super) enum CallSource<'a> {
    History {
        name: String,
        arguments: LazyText<'a>,
        result: Option<LazyText<'a>>,
    },
    /// An earlier digest told it.
    Carried {
        label: String,
        outcome: String,
    },
}

impl Call<'_> {
    /// The bytes of its result that can be told, or some more.
    pub(super) fn result_bytes(&self) -> usize {
        match &self.source {
            _ if matches!(self.ended, Ended::Refused | Ended::NoResult) => 0,
            CallSource::History { result, .. } => result.as_ref().map_or(0, LazyText::bytes),
            CallSource::Carried { outcome, .. } => outcome.len(),
        }
    }

    /// Whether its result has a text.
    fn has_output(&self) -> bool {
        matches!(&self.source, CallSource::History { result: Some(result), .. } if !result.is_blank())
    }

    /// The bytes of its label, or some more.
    pub(super) fn label_bytes(&self) -> usize {
        const STATUS: usize = 8;
        match &self.source {
            CallSource::History { name, arguments, .. } => name.len() + arguments.bytes().min(LABEL) + STATUS,
            CallSource::Carried { label, .. } => label.len() + STATUS,
        }
    }

    /// Its label, and the beginning of its result.
    pub(super) fn opening(&self, most: usize) -> String {
        let opening = match &self.source {
            CallSource::History { result: Some(result), .. } => result.opening(most),
            CallSource::History { .. } => String::new(),
            CallSource::Carried { outcome, .. } => outcome.clone(),
        };
        format!("{} {opening}", self.label(None))
    }

    /// The lines of its result, those that decide first.
    pub(super) fn ranked_result(&self) -> RankedText<'_> {
        let result = match &self.source {
            CallSource::Carried { outcome, .. } => {
                return RankedText::of_lines(vec![Line::new(0, outcome.clone())], "");
            }
            CallSource::History { result: Some(result), .. } if self.ended != Ended::Refused => result.read(),
            CallSource::History { .. } => Cow::Borrowed(""),
        };
        if ["[]", "{}"].contains(&result.trim()) {
            return RankedText::of_lines(vec![Line::new(0, result.trim().to_owned())], "");
        }
        let label = self.label(None);
        if let Some(value) = document(&result) {
            return match output_in(&value) {
                Some(output) => RankedText::of_lines(output_lines(&output, &label, self.has_deciding_lines), SEPARATOR),
                None => ranked_values(&value),
            };
        }
        RankedText::of_lines(output_lines(&result, &label, self.has_deciding_lines), SEPARATOR)
    }

    /// The call as a digest tells it, with what is shown of its result.
    pub(super) fn told(&self, shown: &str, folder: Option<&str>) -> String {
        let label = self.label(folder);
        if let CallSource::Carried { outcome, .. } = &self.source {
            return format!("{label}{ARROW}{outcome}");
        }
        let status = match self.ended.status() {
            status if !status.is_empty() => status,
            _ if shown.is_empty() && self.has_output() => GAP.to_string(),
            _ if shown.is_empty() => NO_OUTPUT.to_owned(),
            // What a program says is not its status.
            _ if reads_as_status(shown) || Ended::parse(shown) != Ended::Unknown => OUTPUT.to_owned(),
            none => none,
        };
        let between = if status.is_empty() || shown.is_empty() { "" } else { ": " };
        format!("{label}{ARROW}{status}{between}{shown}")
    }

    /// The label: the command in backticks, or the call with its arguments; without `folder` in front of paths.
    pub(super) fn label(&self, folder: Option<&str>) -> String {
        match &self.source {
            CallSource::Carried { label, .. } => label.clone(),
            CallSource::History { name, arguments, .. } => label(name, &arguments.read(), folder),
        }
    }
}

/// Whether the beginning of a result says only that a search found nothing.
pub(super) fn says_nothing(opening: &str) -> bool {
    if found_nothing(opening) {
        return true;
    }
    let Some(value) = document(opening) else { return false };
    output_in(&value).is_some_and(|output| found_nothing(&output))
}

/// Whether the outcome that an earlier digest told of a search says that it found nothing.
pub(super) fn tells_nothing(outcome: &str) -> bool {
    let output = outcome.strip_prefix("exit 1").or_else(|| outcome.strip_prefix(ERROR)).unwrap_or(outcome);
    outcome == NO_OUTPUT || found_nothing(output.strip_prefix(": ").unwrap_or(output))
}

/// Between two lines of an output that are told on one line.
const SEPARATOR: &str = " / ";

/// The JSON document that a result is; `None` for any other text, and for one that is very large or nested deeply.
fn document(result: &str) -> Option<Value> {
    const LARGEST: usize = 400_000;
    const DEEPEST: usize = 12;
    let result = result.trim();
    if !result.starts_with(['{', '[']) || result.len() > LARGEST || result.len() <= "{}".len() {
        return None;
    }
    let value: Value = serde_json::from_str(result).ok()?;
    if is_deeper(&value, DEEPEST) { None } else { Some(value) }
}

/// Whether a value has more levels than `most`.
fn is_deeper(value: &Value, most: usize) -> bool {
    match value {
        _ if most == 0 => true,
        Value::Object(members) => members.values().any(|value| is_deeper(value, most - 1)),
        Value::Array(items) => items.iter().any(|item| is_deeper(item, most - 1)),
        _ => false,
    }
}

/// Most bytes of a label, and of a command in one.
const LABEL: usize = 160;
const COMMAND: usize = 200;

fn label(name: &str, arguments: &str, folder: Option<&str>) -> String {
    /// Bytes that the value of an argument has at least.
    const SHORT_VALUE: usize = 24;
    let mut given: Value = serde_json::from_str(arguments).unwrap_or(Value::Null);
    // Some agents wrap the arguments of tools that others provide.
    if let Some(inner @ Value::Object(_)) = given.get_mut("arguments") {
        given = inner.take();
    }
    let command = match &given {
        Value::Null if is_shell(name) => Some(arguments.to_owned()),
        Value::Null => None,
        given => command_argument(name, given),
    };
    if let Some(command) = command {
        // Commands with one beginning differ at their ends.
        let command = without_folder(without_change_of_folder(&command, folder), folder);
        return format!("`{}`", ends(&command, COMMAND).replace(ARROW, " -> "));
    }
    let name = label_part(name, LABEL, folder).replace(": ", ". ");
    let Value::Object(members) = &given else { return format!("{name}({})", label_part(arguments, LABEL, folder)) };
    // Of an edit the path is enough.
    if arguments.len() > LABEL {
        let tool = ToolUse::parse_with_json(&name, &given, arguments);
        if let Some(file) = tool.files.into_iter().find(|file| file.access == Access::Changed) {
            return format!("{name}({})", label_part(&file.path, LABEL, folder));
        }
    }
    let (mut out, mut left) = (Vec::new(), LABEL);
    for (key, value) in members {
        if key == "thought" {
            continue;
        }
        let value = match value {
            Value::String(text) => Cow::Borrowed(text.as_str()),
            other => Cow::Owned(other.to_string()),
        };
        let key = label_part(key, LABEL / 2, folder);
        let most = left.saturating_sub(key.len() + 1);
        if most < SHORT_VALUE {
            out.push(GAP.to_string());
            break;
        }
        let argument = format!("{key}={}", label_part(&value, most, folder));
        left = left.saturating_sub(argument.len() + ", ".len());
        out.push(argument);
    }
    format!("{name}({})", out.join(", "))
}

/// A part of a label in at most `most` bytes, without `folder` in front of paths. None reads as the arrow behind a label.
fn label_part(text: &str, most: usize, folder: Option<&str>) -> String {
    line(&without_folder(text, folder), most).replace(ARROW, " -> ")
}

/// A command without the change to `folder` before all else.
fn without_change_of_folder<'c>(command: &'c str, folder: Option<&str>) -> &'c str {
    let Some((first, rest)) = command.split_once("&&") else { return command };
    let changed = first.trim_start().strip_prefix("cd ").map(str::trim);
    if folder.is_some() && changed == folder { rest.trim_start() } else { command }
}

/// A text without a folder in front of the paths in it. Where the folder is a part of a longer path, it stays: a search
/// for what is left finds the text.
pub(super) fn without_folder<'t>(text: &'t str, folder: Option<&str>) -> Cow<'t, str> {
    let Some(folder) = folder else { return Cow::Borrowed(text) };
    if !text.contains(folder) {
        return Cow::Borrowed(text);
    }
    let folder = format!("{folder}/");
    let mut shown = String::with_capacity(text.len());
    for (at, part) in text.split(folder.as_str()).enumerate() {
        let is_inside = shown.ends_with(|c: char| c.is_alphanumeric() || "/._-~}".contains(c));
        if at > 0 && is_inside {
            shown.push_str(&folder);
        }
        shown.push_str(part);
    }
    Cow::Owned(shown)
}
