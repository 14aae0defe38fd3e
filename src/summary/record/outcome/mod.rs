//! Determines how a command ended from its output: its exit status and the lines that report results or errors.

mod frames;
mod lines;

use std::collections::HashSet;

use crate::summary::record::cues;
use crate::summary::record::names::names;
use crate::summary::record::segmentation::clip_to;

pub(super) use frames::{OutputFrames, without_echo};
use lines::{
    LONGEST_LOOKED_AT, counts_failures, counts_something, is_diagnostic, is_document_fragment, is_sentence, line_rank,
    line_start, reports_failure, shorten_line, without_decoration, without_digits,
};
pub(super) use lines::{is_code, names_error, reports_success};

/// How a command ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct CommandOutcome {
    /// Its exit status, if the output reports one.
    pub(super) status: Option<i32>,
    /// The status in the words of the output: `Exit code 2`.
    status_text: String,
    /// Whether it failed, if known.
    pub(super) failed: Option<bool>,
    /// The lines of its output that report errors and results, the most important first.
    pub(super) lines: Vec<String>,
    /// Whether the first of these lines is a result, not only the last line of the output.
    has_result_line: bool,
}

/// Most lines kept of an output.
const MOST_LINES: usize = 24;
/// Most characters of the line that describes a success.
const LONGEST_RESULT: usize = 100;
/// Bytes of a line that is too short for more than an exit status.
const SHORT_LINE: usize = 40;

impl CommandOutcome {
    /// Parses an output. `is_marked` is whether the format marks it as a failure. `is_piped` is whether its status may
    /// be that of a filter after the command.
    pub(super) fn parse(output: &str, frames: &OutputFrames, is_marked: bool, is_piped: bool) -> CommandOutcome {
        let edges = head_and_tail(output);
        let (word, number) = match cues::STATUS.group(&edges) {
            Some((all, Some(number))) => (&edges[all.start..number.start], &edges[number]),
            _ => ("", ""),
        };
        let mut status = number.parse().ok();
        let mut status_text = format!("{} {number}", word.trim_matches(|c: char| !c.is_ascii_alphanumeric()));
        let output = frames.strip(output);
        if status.is_none()
            && let Some(number) = frames.status(&edges)
        {
            (status, status_text) = (Some(number), format!("exit code {number}"));
        }
        let nonzero = status.is_some_and(|status: i32| status != 0);
        let (lines, has_result_line) = relevant_lines(output, nonzero || is_marked);
        let has_failure = lines.iter().take(2).any(|line| reports_failure(line));
        let failed = match status {
            Some(0) if has_failure && is_piped => Some(true),
            Some(status) => Some(status != 0),
            None if is_marked || has_failure => Some(true),
            None => None,
        };
        CommandOutcome { status, status_text, failed, lines, has_result_line }
    }

    /// Describes the outcome; `None` if it is a success without a result. `is_alone` is whether the output belongs to
    /// this command alone.
    pub(super) fn describe(&self, is_alone: bool) -> Option<String> {
        let line = self.lines.first().filter(|_| is_alone);
        if self.failed == Some(true) {
            let status = self.status.filter(|status| *status != 0);
            let code = status.map_or_else(|| "failed".to_owned(), |_| format!("failed, {}", self.status_text));
            // A trace repeats its first line at its end.
            let repeats_line =
                |before: &str| self.lines.first().is_some_and(|line| line_start(line) == line_start(before));
            let before = self.lines.get(1).filter(|line| line_rank(line) > 1 || !tells_success(line));
            let before = before.filter(|line| !repeats_line(line));
            return Some(match (line, before) {
                (Some(line), Some(before)) => format!("{code}: {before} … {line}"),
                (Some(line), None) => format!("{code}: {line}"),
                (None, _) => code,
            });
        }
        // `ok  package 0.3s` says no more than that it went well.
        let says_only_ok = |line: &str| tells_success(line) && !counts_something(line) && !line.contains("no test");
        let line = line.filter(|line| self.has_result_line && !says_only_ok(line))?;
        Some(match self.failed {
            // The command may have succeeded all the same.
            Some(false) if reports_failure(line) => format!("{}: {line}", self.status_text),
            Some(false) => format!("ok: {}", clip_to(line, LONGEST_RESULT)),
            _ => line.clone(),
        })
    }
}

/// Returns both ends of an output, which contain its status if anything does.
fn head_and_tail(output: &str) -> String {
    const ENDS: usize = 300;
    let head = output.char_indices().nth(ENDS).map_or(output.len(), |(at, _)| at);
    let tail = output.char_indices().rev().nth(ENDS).map_or(0, |(at, _)| at);
    if tail <= head { output.to_owned() } else { format!("{}\n{}", &output[..head], &output[tail..]) }
}

fn relevant_lines(output: &str, failed: bool) -> (Vec<String>, bool) {
    let place_of = |line: &str| line.as_ptr() as usize - output.as_ptr() as usize;
    // The first problem that a compiler reports is often the cause of the others.
    let before_others = |place: usize| usize::MAX - 1 - place;
    let mut seen = HashSet::new();
    let mut found: Vec<(u8, usize, String)> = Vec::new();
    let mut line_end = 0;
    let lower = output.to_ascii_lowercase();
    let complaints = failed.then(|| cues::COMPLAINTS.places(&lower)).into_iter().flatten();
    let mut places: Vec<usize> = cues::ENDINGS.places(&lower).chain(complaints).map(|range| range.start).collect();
    places.sort_unstable();
    for at in places {
        if at < line_end {
            continue;
        }
        let start = output[..at].rfind('\n').map_or(0, |before| before + 1);
        line_end = output[at..].find('\n').map_or(output.len(), |length| at + length);
        let line = without_decoration(&output[start..line_end]);
        let start = place_of(line);
        let is_status = line.len() < SHORT_LINE && cues::STATUS.is_in(line);
        let is_title = !line.contains(' ') && !line.bytes().any(|byte| byte.is_ascii_digit());
        let is_advice = !failed && line.get(..7).is_some_and(|opening| opening.eq_ignore_ascii_case("warning"));
        if line.len() > LONGEST_LOOKED_AT
            || is_code(line)
            || is_status
            || is_title
            || is_document_fragment(line)
            || is_advice
        {
            continue;
        }
        let rank = if failed { failure_rank(line) } else { success_rank(line) };
        if rank > 0 && seen.insert(without_digits(line)) {
            match failed && is_diagnostic(line) {
                true => found.push((rank.max(2), before_others(start), shorten_line(line))),
                false => found.push((rank, start, shorten_line(line))),
            }
        }
    }
    let is_explained = found.iter().any(|(rank, ..)| *rank >= 2);
    if failed {
        // In a short output, a sentence with a name explains the failure, whatever its words.
        let few = output.lines().nth(FEW_LINES).is_none();
        let says = |line: &&str| {
            is_diagnostic(line)
                || few && !is_explained && is_sentence(line) && names(line).next().is_some() && !is_code(line)
        };
        let lines = output.lines().map(str::trim).filter(says);
        for line in lines.take(MOST_LINES) {
            if failure_rank(line) > 0 && seen.insert(without_digits(line)) {
                let place = if is_diagnostic(line) { before_others(place_of(line)) } else { place_of(line) };
                found.push((2, place, shorten_line(line)));
            }
        }
    }
    let short = output.lines().filter(|line| !line.trim().is_empty()).take(SHORT_OUTPUT + 1).count() <= SHORT_OUTPUT;
    let last = last_lines(output).next();
    let result = if failed { last.map(str::to_owned) } else { result_line(output) };
    let has_number = |line: &String| line.bytes().any(|byte| byte.is_ascii_digit());
    let has_result_line = short || !found.is_empty() || !failed && result.as_ref().is_some_and(has_number);
    let is_explained = found.iter().any(|(rank, place, _)| *rank >= 2 && (is_explained || *place > output.len()));
    if let Some((last, result)) = last.zip(result).filter(|_| !is_explained) {
        found.retain(|(_, place, _)| *place != place_of(last));
        found.push((2, usize::MAX, shorten_line(&result)));
    }
    // Of equally important lines the last one sums up the others.
    found.sort_by_key(|(rank, place, _)| std::cmp::Reverse((*rank, *place)));
    found.truncate(MOST_LINES);
    (found.into_iter().map(|(_, _, line)| line).collect(), has_result_line)
}

/// Returns the importance of a line for a failure. A line that reports a success, or a count of zero failures, does not
/// explain one.
fn failure_rank(line: &str) -> u8 {
    let counted = counts_failures(line);
    if counted == Some(false) || counted.is_none() && tells_success(line) { 0 } else { line_rank(line) }
}

/// Returns the importance of a line for a success: only counts are results.
fn success_rank(line: &str) -> u8 {
    let rank = line_rank(line);
    if rank == 2 && counts_failures(line).is_none() { 1 } else { rank }
}

/// Whether a program repeats the command that it runs, or an agent's program tells of itself.
fn is_echo(line: &str) -> bool {
    const FRAMES: [&str; 7] = [
        "$ ",
        "bash-$",
        "(Open file:",
        "(Current directory:",
        "(Interactive session:",
        "Shell cwd was reset",
        "[notice]",
    ];
    FRAMES.iter().any(|frame| line.starts_with(frame)) || line.starts_with('[') && line.contains("] $ ")
}

/// Whether a line reports that something went well: `parse ok`, but not `not ok`.
fn tells_success(line: &str) -> bool {
    let mut words = line.split_whitespace();
    !line.contains("not ok") && words.any(|word| matches!(word, "ok" | "OK" | "PASS" | "PASSED" | "passed"))
}

/// Most lines of an output that is read in full.
const FEW_LINES: usize = 20;
/// Most lines of an output whose last line is its result.
const SHORT_OUTPUT: usize = 4;

/// Returns what sums an output up: its last line, and before it the last one of those above that counts something.
fn result_line(output: &str) -> Option<String> {
    /// Most lines that programs print after their result.
    const CLOSING_LINES: usize = 3;
    /// Most characters of each of the two.
    const HALF: usize = LONGEST_RESULT / 2 - 2;
    let last = last_lines(output).next()?;
    let count = last_lines(output).take(CLOSING_LINES).find(|line| counts_something(line));
    Some(match count.filter(|line| *line != last) {
        Some(count) => format!("{} … {}", clip_to(count, HALF), clip_to(last, HALF)),
        None => last.to_owned(),
    })
}

/// Returns the lines with words that are no frame, tag or code, the last one first.
fn last_lines(output: &str) -> impl Iterator<Item = &str> {
    const MOST: usize = 40;
    output.lines().rev().map(without_decoration).take(MOST).filter(|line| {
        let is_status = line.len() < SHORT_LINE && cues::STATUS.is_in(line);
        let is_other = is_code(line)
            || line.starts_with('<')
            || line.starts_with("File \"")
            || line.ends_with(':')
            || is_document_fragment(line)
            || is_status
            || is_echo(line);
        // Some programs print `(no output)` for nothing.
        let says_nothing = line.starts_with('(') && line.ends_with(')') && line.to_lowercase().contains("no output");
        !is_other
            && !says_nothing
            && line.chars().filter(|c| c.is_alphanumeric()).count() > 2
            && line.len() <= LONGEST_LOOKED_AT
    })
}

#[cfg(test)]
mod tests {
    use super::lines::LONGEST_LINE;
    use super::*;

    fn parse(output: &str) -> CommandOutcome {
        CommandOutcome::parse(output, &OutputFrames::default(), false, false)
    }

    #[test]
    fn status_and_the_line_that_tells_most() {
        let failed = parse(
            "running 3 tests\ntest a ... ok\nerror[E0308]: mismatched types in src/auth.rs\n<returncode>101</returncode>",
        );
        assert_eq!((failed.status, failed.failed), (Some(101), Some(true)));
        assert_eq!(
            failed.describe(true).as_deref(),
            Some("failed, returncode 101: error[E0308]: mismatched types in src/auth.rs")
        );
        let mixed = parse("collected 42 items\n===== 41 passed, 1 failed in 3.21s =====\n");
        assert_eq!(
            (mixed.failed, mixed.describe(true).as_deref()),
            (Some(true), Some("failed: 41 passed, 1 failed in 3.21s"))
        );
        assert_eq!(parse("42 passed\nexit code 0").describe(true).as_deref(), Some("ok: 42 passed"));
        assert_eq!(parse("exit code 0").describe(true), None);
        assert_eq!(parse("Exit code 2\nTraceback (most recent call last):\nKeyError: 'id'").lines[0], "KeyError: 'id'");
    }

    #[test]
    fn the_status_of_a_pipe_is_not_that_of_the_command() {
        let output = "<returncode>0</returncode>\n<output>\nImportError: Failed to import test module: t\nFAILED (errors=1)\n</output>";
        let failed =
            |output: &str, is_piped| CommandOutcome::parse(output, &OutputFrames::default(), false, is_piped).failed;
        assert_eq!(failed(output, true), Some(true));
        assert_eq!(failed(output, false), Some(false));
        assert_eq!(failed("10 passed, 0 failed\nexit code 0", true), Some(false));
    }

    #[test]
    fn long_lines_keep_both_ends() {
        let line = format!("An error occurred: Command {}timed out after 60 seconds", "'x', ".repeat(60));
        let kept = &parse(&line).lines[0];
        assert!(kept.starts_with("An error occurred: ") && kept.ends_with("timed out after 60 seconds"), "{kept}");
        assert!(kept.chars().count() <= LONGEST_LINE, "{kept}");
        assert!(parse(&"errörs".repeat(200)).lines.iter().all(|line| line.chars().count() <= LONGEST_LINE));
    }

    #[test]
    fn the_result_is_the_last_count_and_no_duration() {
        let noise = "wake antenna ok (40572)\nsend beacon ok (77644)\ndrwxr-xr-x 3 me staff 40418 Feb 7 11:33 mast\n\
            send mast ok (1234)\n";
        for (output, result) in [
            (
                "> Task :radar:test\n462 tests completed\nBUILD SUCCESSFUL in 5s",
                "462 tests completed … BUILD SUCCESSFUL in 5s",
            ),
            ("Succeeded : 470\nDuration : 79m", "Succeeded : 470 … Duration : 79m"),
            ("Flash: used 470 kB\n[SUCCESS] Took 3.2 seconds", "Flash: used 470 kB … [SUCCESS] Took 3.2 seconds"),
            (&format!("{noise}all 480 checks good"), "all 480 checks good"),
            (&format!("{noise}490 links alive"), "490 links alive"),
            ("compiled\nfinished in 0.4 s", "finished in 0.4 s"),
        ] {
            assert_eq!(parse(&format!("{output}\nexit code 0")).lines.first().map(String::as_str), Some(result));
        }
        let failed = |output: &str| parse(&format!("{noise}{output}\nexit code 1")).describe(true);
        assert_eq!(failed("157 dead links").as_deref(), Some("failed, exit code 1: 157 dead links"));
    }

    #[test]
    fn lines_below_a_verdict_are_told() {
        let outcome = parse("--- PASS: TestShow (0.00s)\nPASS\nok  \tgithub.com/a/b/cli\t0.539s\n");
        assert!(outcome.lines.iter().any(|line| line.contains("0.539s")), "{outcome:?}");
    }

    #[test]
    fn failures_are_counted() {
        for (line, is_positive) in [
            ("41 passed, 1 failed in 3.21s", Some(true)),
            ("1 chart(s) linted, 0 chart(s) failed", Some(false)),
            ("Tests run: 316, Failures: 0, Errors: 0, Skipped: 0", Some(false)),
            ("FAILED (failures=2)", Some(true)),
            ("386 examples, 0 failures", Some(false)),
            ("no errors found", Some(false)),
            ("the build failed", None),
        ] {
            assert_eq!(counts_failures(line), is_positive, "{line}");
        }
    }

    #[test]
    fn what_is_around_every_output_is_no_part_of_it() {
        let outputs: Vec<String> =
            (0..5).map(|n| format!("[stdout]\nline {n}\n[finished, status={}]", n % 2)).collect();
        let frames = OutputFrames::of(outputs.iter().map(|output| output.as_str().into()));
        let failed = CommandOutcome::parse("[stdout]\nno such target\n[finished, status=2]", &frames, false, false);
        assert_eq!(failed.describe(true).as_deref(), Some("failed, exit code 2: no such target"));
        let well = CommandOutcome::parse("[stdout]\nbuilt 7 parts\n[finished, status=0]", &frames, false, false);
        assert_eq!(well.describe(true).as_deref(), Some("ok: built 7 parts"));
        let outputs: Vec<String> =
            (0..5).map(|n| format!("line [{n}][venv: /opt/a]\nme@host # \n[Command ended, code {}]", n % 2)).collect();
        let frames = OutputFrames::of(outputs.iter().map(|output| output.as_str().into()));
        let failed = "KeyError: 'b'[venv: /opt/a]\nme@host # \n[Command ended, code 1]";
        let failed = CommandOutcome::parse(failed, &frames, false, false);
        assert_eq!(failed.describe(true).as_deref(), Some("failed, exit code 1: KeyError: 'b'"));
    }

    #[test]
    fn results_that_look_like_code_are_results() {
        let noise = "GET /a 200 3ms\n";
        for (result, said) in [("+++ OK, passed 490 tests.", "passed 490"), ("00:08 +424: All tests passed!", "+424")] {
            let ok = parse(&format!("{}{result}\nexit code 0", noise.repeat(9))).describe(true).unwrap_or_default();
            assert!(ok.contains(said), "{ok}");
        }
        for (result, said) in [
            ("*** Failed! Falsified after 7 tests: empty_list\nstat disk read min=2 max=9", "Falsified after 7 tests"),
            ("00:08 +1 -1: totals [E]\n  Expected: <240>\n  Actual: <null>", "Expected: <240>"),
        ] {
            let failed = parse(&format!("{noise}{result}\nexit code 1")).describe(true).unwrap_or_default();
            assert!(failed.contains(said), "{failed}");
        }
    }

    #[test]
    fn linters_name_what_is_wrong() {
        let described = |output: &str| {
            CommandOutcome::parse(output, &OutputFrames::default(), true, false).describe(true).unwrap_or_default()
        };
        for (output, named) in [
            (
                "src/theme.ts(5,15): error TS2305: The module has no member 'EditorTheme'.\nsrc/app.ts(9,1): error TS7006: The parameter has no type.",
                "EditorTheme",
            ),
            (
                "error[E0432]: unresolved import `crate::queue`\nerror[E0308]: mismatched types\nerror[E0277]: no such trait\nerror: could not compile `app` (lib) due to 3 previous errors",
                "crate::queue",
            ),
            ("+ staticcheck ./api/...\napi/plan.go:12:3: func parse_row is unused (U1000)", "parse_row"),
            (
                "[ERROR] src/main/A.java:[12,3] (naming) MemberName: Name 'WS_ROW' must match the pattern.\n[ERROR] Failed to execute goal checkstyle: You have 1 violation.",
                "WS_ROW",
            ),
            (
                "Checking 12 source files ...\n┃ [F] → Function parse_row is too complex (max is 9).\n┃       lib/a.ex:12:7\n\nfound 1 refactoring opportunity.",
                "parse_row",
            ),
            (
                "--- stderr: a_msgs\nErrors while running CTest\n\t 3 - parse_row (Failed)\n---\n  1 package had test failures: a_msgs",
                "parse_row (Failed)",
            ),
        ] {
            assert!(described(output).contains(named), "{}", described(output));
        }
    }

    #[test]
    fn code_about_errors_is_no_error() {
        assert!(parse("12:    raise KeyError(name)\n+ error = 1\n    if failed {\n").lines.is_empty());
    }
}
