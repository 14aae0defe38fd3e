//! The lines of an output that decide: what counts, and what names an error. Nothing else of an output is known by its
//! words, and no line is told in other words than its own.

use crate::digest::ranked::Line;
use crate::redact::{cut_before, cut_behind};
use crate::transcript::error_lines::names_error;
use crate::wording::one_line;

/// Bytes at either end of an output that are looked at, and lines of one that are told at most.
const LOOK: usize = 16_000;
const MOST_LINES: usize = 400;
/// Stands for lines that are not looked at.
const GAP_LINE: &str = "…";

/// The lines of an output without what an agent's shell prints around it, with the ranks by which they are told. Where
/// single lines decide, those that name an error come first, then those that count, the last and the first line; of any
/// other text the beginning does, and its end.
pub(super) fn output_lines(output: &str, label: &str, has_deciding_lines: bool) -> Vec<Line> {
    let output = output.trim();
    let mut lines: Vec<&str> = Vec::new();
    if output.len() <= 2 * LOOK {
        lines.extend(output.lines());
    } else {
        // No line is cut, but the only one of its part.
        let head = &output[..cut_before(output, LOOK)];
        let end = head.rfind('\n').unwrap_or(head.len());
        lines.extend(head[..end].lines());
        lines.push(GAP_LINE);
        let tail = &output[cut_behind(output, output.len() - LOOK)..];
        if let Some((_, whole)) = tail.split_once('\n') {
            lines.extend(whole.lines());
        }
    }
    let mut told: Vec<String> = Vec::new();
    for line in lines {
        let line = without_frame(line);
        let is_echo = line == label.trim_matches('`');
        if !is_echo && !is_frame(line) && told.last().is_none_or(|last| last != line) {
            told.push(one_line(line));
        }
    }
    if told.len() > MOST_LINES {
        let behind = told.len() - MOST_LINES / 2;
        told.splice(MOST_LINES / 2..behind, [GAP_LINE.to_owned()]);
    }
    let last = told.len().saturating_sub(1);
    let mut ranks: Vec<i32> = Vec::with_capacity(told.len());
    let mut errors = 0;
    for (at, line) in told.iter().enumerate() {
        let is_long = line.len() > 400;
        let rank = if line == GAP_LINE {
            i32::MAX
        } else if has_deciding_lines && !is_long && names_error(line) {
            errors += 1;
            if errors <= 2 { 0 } else { 3 }
        } else if has_deciding_lines && !is_long && counts(line) {
            1
        } else if at == last {
            2
        } else if at == 0 {
            if has_deciding_lines { 3 } else { 0 }
        } else if has_deciding_lines {
            // Programs conclude at their end.
            4 + i32::try_from((last - at).min(MOST_LINES)).unwrap_or(0)
        } else {
            4
        };
        ranks.push(rank);
    }
    // Of the errors the last one names the cause as often as the first.
    for at in (0..told.len()).rev() {
        if ranks[at] == 3 && names_error(&told[at]) {
            ranks[at] = 0;
            break;
        }
    }
    let mut ranked = Vec::with_capacity(told.len());
    for (line, rank) in told.into_iter().zip(ranks) {
        ranked.push(Line::new(rank, line));
    }
    ranked
}

/// A line without the label or the tags that an agent writes around a result.
fn without_frame(line: &str) -> &str {
    const LABELS: [&str; 4] = ["Observation:", "OBSERVATION:", "Code output:", "Command output:"];
    let line = line.trim().trim_start_matches("<output>").trim_end_matches("</output>");
    for label in LABELS {
        if let Some(rest) = line.strip_prefix(label) {
            return rest.trim();
        }
    }
    line.trim()
}

/// Whether a line is what an agent's shell prints around an output: a tag, a mark of the end, a prompt.
fn is_frame(line: &str) -> bool {
    /// The ends of openings behind which an output can stand.
    const ENDS_LABEL: [char; 3] = [':', '>', 'e'];
    #[rustfmt::skip]
    const OPENINGS: [&str; 25] = [
        "![", "<returncode>", "<output_head>", "<output_tail>", "<elided_chars>", "<warning>", "[command finished",
        "[the command completed", "[current working directory", "[python interpreter", "[jupyter",
        "[... omitted 0 of", "(open file:", "(current directory:", "shell cwd was reset", "wall time:", "exit code",
        "[exit code", "process exited with code", "process group pgid:", "chunk id:", "original token count:", "output:", "observation:",
        "</",
    ];
    #[rustfmt::skip]
    const TAGS: [&str; 9] = [
        "tool_response", "tool_result", "tool_output", "function_results", "function_result", "observation",
        "results", "result", "untrusted_context",
    ];
    if line.chars().all(|c| "-=_*#~.|+".contains(c)) {
        return true;
    }
    if line.len() >= 200 {
        return false;
    }
    if let Some(tag) = line.strip_prefix('<')
        && TAGS.contains(&tag.trim_matches(['<', '/', '>']))
    {
        return true;
    }
    if line.ends_with("] Result:") || is_prompt(line) {
        return true;
    }
    for opening in OPENINGS {
        if !starts_with(line, opening) {
            continue;
        }
        // What follows is a number or a word, or else the output itself.
        let behind = &line[opening.len()..];
        if !opening.ends_with(ENDS_LABEL) || behind.split_whitespace().count() <= 2 {
            return true;
        }
    }
    false
}

/// Whether a line is the prompt of a shell, alone or with the command behind it: `$ make`, `root@host:/w# make`,
/// `PS C:\w> make`.
fn is_prompt(line: &str) -> bool {
    if let Some(rest) = line.strip_prefix("PS ") {
        return rest.contains('>');
    }
    if let Some(command) = line.strip_prefix("$ ") {
        return command.starts_with(|c: char| c.is_ascii_lowercase() || c == '.' || c == '/');
    }
    let (first, rest) = line.split_once(' ').unwrap_or((line, ""));
    let has_place = first.contains(['@', '/']) || matches!(first, "~$" | "~#" | "~%");
    let names_place = has_place && first.ends_with(['$', '#', '%']);
    names_place && !rest.is_empty() || first.ends_with('$') && rest.is_empty()
}

/// Whether a line begins with an ASCII text, whatever its case.
fn starts_with(line: &str, opening: &str) -> bool {
    line.as_bytes().get(..opening.len()).is_some_and(|start| start.eq_ignore_ascii_case(opening.as_bytes()))
}

/// Whether an output would be taken for a verdict of ours.
pub(super) fn reads_as_status(output: &str) -> bool {
    ["ok", "failed", "passed", "succeeded", "no output", "no result"].iter().any(|verdict| starts_with(output, verdict))
}

/// Whether the beginning of a result says only that a search found nothing: it is empty but for what an agent's shell
/// prints around it, or has the sentence with which tools say so.
pub(super) fn found_nothing(opening: &str) -> bool {
    /// Bytes of a sentence with a pattern and a folder in it.
    const LONGEST: usize = 360;
    const SENTENCES: [&str; 7] = [
        "no matches found",
        "no files found",
        "no results found",
        "no matches",
        "found 0 ",
        "0 matches",
        "no files were found",
    ];
    if opening.len() > LONGEST {
        return false;
    }
    let mut lines = opening.lines().map(without_frame).filter(|line| !is_frame(line));
    let first = lines.next().unwrap_or("");
    first.is_empty() || SENTENCES.iter().any(|sentence| starts_with(first, sentence)) && lines.next().is_none()
}

/// Whether a result reads like an error. It decides only that a file is not told as changed or read.
pub(super) fn reads_as_error(result: &str) -> bool {
    #[rustfmt::skip]
    const OPENINGS: [&str; 38] = [
        "error", "<tool_use_error>", "failed", "failure", "no replacement", "no match", "no change", "invalid",
        "cannot", "could not", "unable to", "your edit", "your proposed edit", "edit was", "runtimeerror",
        "permission denied", "file not found", "file does not exist", "string to replace not found", "traceback",
        "patch failed", "apply_patch verification", "multiple occurrences", "the user doesn't want",
        "the user does not want", "the user denied", "the user rejected", "user rejected", "user denied",
        "user declined", "rejected by", "exec command rejected", "the operation was rejected",
        "permission for this tool use was denied", "用户拒绝", "用户取消", "eisdir", "enoent",
    ];
    let result = result.trim_start();
    OPENINGS.iter().any(|opening| starts_with(result, opening))
}

/// Whether a line counts how something went: `12 passed`, `Tests run: 3, Failures: 1`, `BUILD SUCCESS`.
fn counts(line: &str) -> bool {
    #[rustfmt::skip]
    const COUNTED: [&str; 25] = [
        "passed", "failed", "passing", "failing", "failure", "failures", "error", "errors", "issue", "issues",
        "problem", "problems", "example", "examples", "warning", "warnings", "skipped", "vulnerabilities", "added",
        "changed", "destroyed", "insertions", "insertion", "tests", "test",
    ];
    const KINDS: [&str; 8] = ["test", "tests", "spec", "specs", "check", "checks", "file", "files"];
    const TOTALS: [&str; 7] = ["test", "tests", "passed", "failed", "failures", "errors", "total"];
    const BUILDS: [&str; 8] = ["build", "compil", "apply", "deploy", "install", "success", "built", "finished"];
    const ENDS: [&str; 4] = ["success", "fail", "complete", "no issues found"];
    if is_verdict_of_tests(line) || line.starts_with("Ran ") || line.starts_with("All checks passed") {
        return true;
    }
    let lower = line.to_ascii_lowercase();
    let words: Vec<&str> = lower.split(parts_words).filter(|word| !word.is_empty()).collect();
    for (at, word) in words.iter().enumerate() {
        let next = words.get(at + 1).map_or("", |next| next.trim_matches([':', '.']));
        if is_number(word) {
            let then = words.get(at + 2).map_or("", |then| then.trim_matches([':', '.']));
            let is_kind = KINDS.contains(&next) && COUNTED.contains(&then);
            if is_kind || COUNTED.contains(&next) && next != "test" && next != "tests" {
                return true;
            }
        }
        let is_total = word.ends_with(':') && TOTALS.contains(&word.trim_end_matches(':'));
        if is_total && is_number(next) || *word == "run:" && at > 0 && words[at - 1] == "tests" {
            return true;
        }
    }
    let first = lower.trim_start_matches(|c: char| !c.is_alphanumeric());
    let first = match first.split_once("] ") {
        Some((_, behind)) => behind,
        None => first,
    };
    let first = &first[..first.floor_char_boundary(48)];
    if BUILDS.iter().any(|build| first.starts_with(build)) && ENDS.iter().any(|end| first.contains(end)) {
        return true;
    }
    lower.contains(" in ") && ["built", "finished", "done"].iter().any(|word| words.contains(word))
}

/// Whether a line is the verdict of a test runner: `PASS`, `OK`, `ok  pkg 0.1s`.
fn is_verdict_of_tests(line: &str) -> bool {
    let bare = line.trim_start_matches(['-', '=', '*', ' ']);
    let first = bare.split(|c: char| !c.is_ascii_alphanumeric()).next().unwrap_or("");
    if matches!(first, "PASS" | "PASSED" | "OK") || bare == "ok" {
        return true;
    }
    let Some(rest) = line.strip_prefix("ok") else { return false };
    let last = rest.rsplit(char::is_whitespace).next().unwrap_or("");
    rest.starts_with(char::is_whitespace)
        && (last == "(cached)" || last.ends_with('s') && is_number(last.trim_end_matches('s')))
}

fn parts_words(c: char) -> bool {
    c.is_whitespace() || matches!(c, ',' | ';' | '(' | ')' | '=')
}

fn is_number(word: &str) -> bool {
    word.starts_with(|c: char| c.is_ascii_digit()) && word.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.')
}

#[cfg(test)]
mod tests {
    use super::*;

    fn decides(line: &str) -> bool {
        counts(line) || names_error(line)
    }

    #[test]
    fn lines_that_decide() {
        for line in [
            "=== 1 failed, 36 passed in 0.09s ===",
            "34 examples, 1 failure",
            "22 issues:",
            "1 failing",
            "OK",
            "Tests run: 3, Failures: 1, Errors: 0",
            "Apply complete! Resources: 3 added, 0 changed, 0 destroyed.",
            "2 files changed, 9 insertions(+)",
            "Ran 3 tests in 0.1s",
            "FAILED tests/a.py::b - assert 1",
            "--- FAIL: TestA",
            "ok  \tgithub.com/a/b\t0.1s",
            "BUILD SUCCESS",
            "[INFO] BUILD SUCCESS",
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
            "✖ 3 problems (2 errors, 1 warning)",
            "❌ The gate cannot be reached.",
            "⛔ closed",
            "error: failed to push some refs",
        ] {
            assert!(decides(line), "{line}");
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
            assert!(!decides(line), "{line}");
        }
    }
}
