//! How a call ended, and the lines of its result that tell most. A structured status says how it ended; words never do.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use regex::Regex;
use serde_json::Value;

use crate::digest::clip::{self, GAP};
use crate::digest::cues;
use crate::digest::grammar::AT;
use crate::pattern::pattern;
use crate::transcript::lazy_text::LazyText;
use crate::transcript::status::{EDGE, Status, exit_status};
use crate::transcript::tools::actions::{Purpose, is_in};
use crate::wording::one_line;

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

impl Ended {
    pub(super) fn is_failure(self) -> bool {
        matches!(self, Ended::With(status) if status.is_failure())
    }

    pub(super) fn is_success(self) -> bool {
        matches!(self, Ended::With(status) if !status.is_failure())
    }

    /// The status as the digest tells it; empty where there is nothing to tell.
    pub(super) fn status(self) -> String {
        match self {
            Ended::With(Status::Code(code)) => format!("{EXIT}{code}"),
            Ended::With(Status::Error) => ERROR.to_owned(),
            Ended::Refused => CANCELLED.to_owned(),
            Ended::With(Status::Fine) | Ended::Unknown | Ended::NoResult => String::new(),
        }
    }

    /// Reads the status at the beginning of an outcome that an earlier digest told.
    pub(super) fn parse(outcome: &str) -> Self {
        let code = outcome.strip_prefix(EXIT).and_then(|rest| rest.split([':', ';']).next()?.parse().ok());
        match code {
            Some(code) => Ended::With(Status::Code(code)),
            None if outcome.starts_with(ERROR) => Ended::With(Status::Error),
            None if outcome.starts_with(CANCELLED) => Ended::Refused,
            None => Ended::Unknown,
        }
    }
}

/// How a status is told, and the label of an output that begins like one.
const EXIT: &str = "exit ";
const ERROR: &str = "is_error";
const CANCELLED: &str = "cancelled by the user";
pub(super) const OUTPUT: &str = "output";

/// How a call ended: by the status that its format records, and the one that its program writes at the edges of the
/// result. Where only the program says that it failed, it is unknown.
pub(super) fn ended(result: &LazyText<'_>, recorded: Option<Status>) -> Ended {
    let (first, last) = result.edges(EDGE);
    match (recorded, exit_status(first, last)) {
        (Some(recorded), Some(written)) if written.is_failure() && !recorded.is_failure() => Ended::Unknown,
        (Some(recorded), Some(written)) if recorded.is_failure() && !written.is_failure() => Ended::With(recorded),
        (_, Some(code @ Status::Code(_))) => Ended::With(code),
        (recorded, written) => recorded.or(written).map_or(Ended::Unknown, Ended::With),
    }
}

/// Whether an output would be taken for a status, or for a verdict of ours.
pub(super) fn reads_as_status(output: &str) -> bool {
    Ended::parse(output) != Ended::Unknown
        || output.starts_with(AT)
        || cues::opens_with(output, "ok|failed|passed|succeeded")
}

/// Whether a result reads like an error. It decides only that a file is not told as changed or read.
pub(super) fn reads_as_error(result: &str) -> bool {
    const OPENINGS: &str = "error|<tool_use_error>|failed|failure|no replacement|no match|no change|invalid|cannot|could not|unable to|your edit|your proposed edit|edit was|runtimeerror|permission denied|file not found|file does not exist|string to replace not found|traceback|patch failed|apply_patch verification|multiple occurrences|the user doesn't want|the user does not want|the user denied|the user rejected|user rejected|user denied|user declined|rejected by|exec command rejected|the operation was rejected|permission for this tool use was denied|用户拒绝|用户取消";
    cues::opens_with(result, OPENINGS)
}

/// How tools that change files tell of success: Claude Code and editors like its own; pi and Gemini CLI; Codex; opencode and
/// Deep Agents; SWE-agent; tools that answer with JSON.
static SUCCESS: LazyLock<Regex> = LazyLock::new(|| {
    pattern(
        r#"(?i-u)^(?:ok|done|success)$|has been (?:updated|edited|created|overwritten|written|modified|deleted)|(?:created|updated|edited|deleted|written|saved|undone) successfully|updated cell|successfully (?:wrote|replaced|edited|modified|created|updated|overwrote|saved|deleted|applied|inserted|renamed|moved)|success\. updated|updated the following files|edit applied|wrote |updated file|file (?:updated|created)|replaced |applied |moved |\[file: |"success": ?true|"ok": ?true|"status": ?"success"#,
    )
});

/// Whether a result has the form with which tools that change files tell of success.
pub(super) fn tells_of_success(result: &str) -> bool {
    SUCCESS.is_match(result.trim()) && !reads_as_error(result)
}

/// The prompt of a shell, alone or with the command behind it: `$ make`, `root@host:/w# make`, `PS C:\w> make`.
static PROMPT: LazyLock<Regex> = LazyLock::new(|| pattern(r"^(?:PS .*>|[^ ]*[@~/-][^ ]*[$#%] |\$ [a-z./]|[^ ]*\$$)"));

/// The openings of lines that an agent's shell prints around an output.
static FRAME: LazyLock<Regex> = LazyLock::new(|| {
    pattern(
        r"(?i-u)^(?:!\[|<(?:returncode|output_head|output_tail|elided_chars|warning)>|\[(?:command finished|the command completed|current working directory|python interpreter|jupyter|\.\.\. omitted 0 of)|\((?:open file|current directory):|shell cwd was reset|wall time:|\[?exit code|process exited with code|chunk id:|original token count:|output:|observation:)",
    )
});

/// The lines of an output without what an agent's shell prints around it: tags, marks of the end, the command.
fn lines_of_output<'r>(output: &'r str, call: &ToldCall<'_>) -> Vec<&'r str> {
    // How replies of agents without native calls begin, and the tags around them.
    const LABELS: [&str; 4] = ["Observation:", "OBSERVATION:", "Code output:", "Command output:"];
    const TAGS: &str =
        "tool_response|tool_result|tool_output|function_results|function_result|observation|results|result";
    let inside = |line: &'r str| {
        let line = line.trim().trim_start_matches("<output>").trim_end_matches("</output>");
        LABELS.iter().find_map(|label| line.strip_prefix(label)).unwrap_or(line).trim()
    };
    let is_frame = |line: &&str| {
        let is_mark = line.len() < 200 && (FRAME.is_match(line) || line.ends_with("] Result:"));
        let is_echo = *line == call.label.trim_matches('`');
        let is_tag = line.starts_with('<') && is_in(line.trim_matches(['<', '/', '>']), TAGS);
        is_mark || is_tag || is_echo || PROMPT.is_match(line) || !line.contains(char::is_alphanumeric)
    };
    output.lines().map(inside).filter(|line| !is_frame(line)).collect()
}

/// A call whose result is told. That of a command, whose label has backticks, is an output, and not a text.
pub(super) struct ToldCall<'c> {
    pub(super) label: &'c str,
    pub(super) purpose: Purpose,
    pub(super) has_failed: bool,
}

/// The separator of lines that are shown on one.
const SEPARATOR: &str = " / ";

/// What a result tells in at most `most` bytes, on one line: a short one whole, the values of a JSON document, of a
/// long output the lines that say how it went, of a long text its beginning and end.
pub(super) fn telling(result: &str, call: &ToldCall<'_>, most: usize) -> String {
    /// Bytes at either end of an output that are looked at, and most bytes of a document.
    const LOOK: usize = 16_000;
    const LARGEST: usize = 400_000;
    /// Levels of a document whose values are told.
    const DEEPEST: usize = 12;
    let start = result.trim();
    if ["[]", "{}", "null"].contains(&start) {
        return start.to_owned();
    }
    if start.starts_with(['{', '['])
        && result.len() <= LARGEST
        && let Ok(value) = serde_json::from_str::<Value>(start)
        && !clip::is_deep(&value, DEEPEST)
    {
        if let Some(output) = text_in(&value) {
            return telling(&output, call, most);
        }
        return clip::told_values(&value, most);
    }
    let all = (result.len(), result.len());
    let ends = || (result.floor_char_boundary(LOOK), result.ceil_char_boundary(result.len() - LOOK));
    let (head, tail) = if result.len() > 2 * LOOK { ends() } else { all };
    let lines = [lines_of_output(&result[..head], call), lines_of_output(&result[tail..], call)].concat();
    if head == tail && lines.iter().map(|line| line.len() + 1).sum::<usize>() <= most + 1 {
        return lines.join(SEPARATOR);
    }
    if call.label.starts_with('`') && call.purpose != Purpose::Reads {
        return telling_lines(&lines, call, most);
    }
    clip::clipped(&lines.join("\n"), most).replace('\n', SEPARATOR)
}

/// The text from the blocks in which servers of MCP hand it over, or from the object in which some agents hand over the
/// output of a command beside its status.
fn text_in(value: &Value) -> Option<String> {
    let text = |name: &str| value.get(name).and_then(Value::as_str);
    if let Value::Array(blocks) = value {
        if blocks.is_empty() {
            return None;
        }
        return blocks.iter().map(text_in).collect::<Option<Vec<_>>>().map(|texts| texts.join("\n"));
    }
    if let Some(blocks @ Value::Array(_)) = value.get("content") {
        return text_in(blocks);
    }
    let block = || text("text").filter(|_| text("type") == Some("text")).map(str::to_owned);
    let output = text("output").or_else(|| text("stdout"));
    output.map(|output| [output, text("stderr").unwrap_or("")].join("\n")).or_else(block)
}

/// The lines of an output that decide: what counts, and what names an error. Nothing else of an output is known by its words.
const COUNTS: [&str; 5] = [
    // `12 passed`, `34 examples, 1 failure`, `22 issues:`
    r"(?i)\b\d+ (?:tests? |specs? |checks? )?(?:passed|failed|passing|failing|failures?|errors?|issues?|problems?|examples?|warnings?|skipped|vulnerabilities)\b",
    // `Tests run: 3, Failures: 1`, `Tests: 12, Assertions: 30`
    r"(?i)\b(?:tests?(?: run)?|passed|failed|failures|errors|total) ?[:=] *\d",
    // `3 added, 0 changed`, `2 files changed, 9 insertions(+)`, `Ran 3 tests in 0.1s`
    r"\b\d+ (?:added|changed|destroyed|files? changed|insertions?)\b|^Ran \d+ ",
    // `PASS`, `OK`, `ok  pkg 0.1s`
    r"^(?:[-=* ]*(?:PASS(?:ED)?|OK)\b|ok$|ok\s+\S+\s+(?:[\d.]+s|\(cached\)))",
    // `BUILD SUCCESS`, `Build failed`, `Compiled successfully`, `Apply complete!`, `built in 478 ms`
    r"(?i)^(?:\[\w+\] )?(?:build|compil\w+|apply|deploy\w*|install\w*|success)\b[^:]{0,24}\b(?:success\w*|fail\w*|complete\w*|no issues found)|^All checks passed|\b(?:built|finished|done)\b.*\bin [\d.]+ ?m?s\b",
];
const NAMES: [&str; 7] = [
    // `ModuleNotFoundError: No module`, `E   AssertionError`, `Caused by: java.lang.IllegalStateException: …`
    r"^(?:E +|Caused by: |Uncaught |Unhandled |Exception in thread \S+ )*[\w.$:]*(?:Error|Exception|Interrupt|Exit)\b(?: \[\w+\])?(?:[:(]|$)",
    // `error[E0308]: mismatched types`, `src/a.ts(3,9): error TS2322: …`, `[ERROR] …`, `make: *** [all] Error 2`
    r"(?i)^(?:\S+[:(]\d+(?:[:,]\d+)?\)?:? *(?:- )?|\S+: |\[)?(?:fatal )?error(?:\[\w+\]| \w+\d+| \d+$)?[:\] ]|\*\*\* .*\bError \d+$",
    // `npm ERR! code ERESOLVE`
    r"^npm (?:ERR!|error) ",
    // `fatal: not a git repository`, `panic: …`, `thread 'main' panicked at`
    r"^(?:fatal|panic): |\bpanicked at ",
    // `bash: foo: command not found`, `cat: a: No such file or directory`
    r"(?i): (?:command not found|no such file or directory|permission denied|operation not permitted|is a directory|not found)$",
    // `error: failed to push`, ` ! [rejected]`, `CONFLICT (content): …`
    r"^! \[\w+ ?\w*\]|^CONFLICT \(",
    // `FAILED tests/a.py::b`, `--- FAIL: TestA`, `✗ refunds twice`, `not ok 3 - refunds`
    r"^(?:[-=* ]*FAIL(?:ED)?\b|(?:✗|✘|✖|×|not ok) )",
];

static DECIDES: LazyLock<Regex> = LazyLock::new(|| any_of([COUNTS.as_slice(), &NAMES].concat()));
static NAMES_ERROR: LazyLock<Regex> = LazyLock::new(|| any_of(NAMES.to_vec()));

fn any_of(forms: Vec<&str>) -> Regex {
    pattern(&forms.iter().map(|form| format!("(?:{form})")).collect::<Vec<_>>().join("|"))
}

/// The deciding lines of an output, else its last three, in their order. Of more than have room, those that name the
/// error of a failure come first, and of these the last and the first.
fn telling_lines(lines: &[&str], call: &ToldCall<'_>, most: usize) -> String {
    /// Bytes of a line that a person reads, and lines that are chosen.
    const LONGEST: usize = 400;
    const MOST_LINES: usize = 80;
    const LAST: usize = 3;
    let decides = |at: &usize| lines[*at].len() <= LONGEST && DECIDES.is_match(lines[*at]);
    let mut wanted: Vec<usize> = (0..lines.len()).rev().filter(decides).take(MOST_LINES).collect();
    if wanted.len() > 1 {
        wanted[1..].rotate_right(1);
        wanted.sort_by_cached_key(|at| call.has_failed && !NAMES_ERROR.is_match(lines[*at]));
    } else if wanted.is_empty() {
        // Where there is room, more of what a script prints stands as well.
        wanted.extend((0..lines.len()).rev().take(if call.purpose == Purpose::Checks { LAST } else { MOST_LINES }));
    }
    let (mut room, mut chosen) = (most, BTreeMap::<usize, String>::new());
    for at in wanted {
        let line = one_line(lines[at]);
        if chosen.is_empty() || line.len() <= room {
            room = room.saturating_sub(line.len() + SEPARATOR.len() + GAP.len_utf8());
            chosen.insert(at, clip::line(&line, most));
        }
    }
    let mut next = 0;
    let shown = chosen.into_iter().map(|(at, line)| {
        let gap = if at > std::mem::replace(&mut next, at + 1) { "… " } else { "" };
        format!("{gap}{line}")
    });
    let out = shown.collect::<Vec<_>>().join(SEPARATOR);
    if next == lines.len() { out } else { format!("{out} {GAP}") }
}

/// Builds the patterns of this file.
#[cfg(test)]
pub(super) fn patterns() -> Vec<&'static Regex> {
    vec![&DECIDES, &NAMES_ERROR, &SUCCESS, &PROMPT, &FRAME]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_that_decide() {
        for line in [
            "=== 1 failed, 36 passed in 0.09s ===",
            "34 examples, 1 failure",
            "22 issues:",
            "  1 failing",
            "OK",
            "Tests run: 3, Failures: 1, Errors: 0",
            "Apply complete! Resources: 3 added, 0 changed, 0 destroyed.",
            "2 files changed, 9 insertions(+)",
            "Ran 3 tests in 0.1s",
            "FAILED tests/a.py::b - assert 1",
            "--- FAIL: TestA",
            "ok  \tgithub.com/a/b\t0.1s",
            "BUILD SUCCESS",
            "ModuleNotFoundError: No module named 'wrapt'",
            "AssertionError",
            "E   AssertionError: 3",
            "java.lang.IllegalStateException: closed",
            "error[E0308]: mismatched types",
            "src/a.ts(3,9): error TS2322: no",
            "src/a.c:3:9: error: no",
            "[ERROR] no",
            "npm ERR! code ERESOLVE",
            "fatal: not a git repository",
            "thread 'main' panicked at src/a.rs:3",
            "bash: foo: command not found",
            "make: *** [all] Error 2",
            "✖ 3 problems (2 errors, 1 warning)",
            "error: failed to push some refs",
        ] {
            assert!(DECIDES.is_match(line.trim()), "{line}");
        }
        for line in [
            "RuntimeWarning: overflow encountered",
            "raise ValueError(\"failed\")",
            "log.Fatal(\"permission denied\")",
            "-x, --exitfirst   Exit the test suite immediately upon first failure",
            "all is well",
            "v22.16.0",
            "-- Docs: https://docs.pytest.org/how-to/errors.html",
            "Compiling error-chain v0.12.4",
        ] {
            assert!(!DECIDES.is_match(line.trim()), "{line}");
        }
    }
}
