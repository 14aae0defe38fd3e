//! How a command ended, told from its output: its status, and the lines that say what came of it.

use std::collections::{HashMap, HashSet};

use crate::summary::record::cues;
use crate::summary::record::literals::{Class, literals};
use crate::summary::record::names::names;
use crate::summary::record::statements::{clipped_to, without_middle};

/// How a command ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Outcome {
    /// Its exit status, where one is reported.
    pub(super) status: Option<i32>,
    /// The status in the words of the output: `Exit code 2`.
    told: String,
    /// Whether it failed, as far as is known.
    pub(super) failed: Option<bool>,
    /// The lines of its output that tell of errors and results, the one that tells most first.
    pub(super) lines: Vec<String>,
    /// Whether the first of them is a result, and not only the last that was put out.
    is_telling: bool,
}

/// Lines that are kept of an output.
const MOST_LINES: usize = 24;
/// Characters of the line that says how a command ended well.
const LONGEST_RESULT: usize = 100;
/// Characters of such a line.
const LONGEST_LINE: usize = 160;
/// Bytes of a line that has room for an exit status and for nothing else.
const SHORT_LINE: usize = 40;
/// Bytes of a line that is looked at: what is longer was not written for people.
const LONGEST_LOOKED_AT: usize = 2_000;

impl Outcome {
    /// Reads an output. `marked` tells that the format marks it as a failure, `piped` that the status is not that of the
    /// command but of what its output went through.
    pub(super) fn of(output: &str, frames: &Frames, marked: bool, piped: bool) -> Outcome {
        let ends = head_and_tail(output);
        let (word, number) = match cues::STATUS.group(&ends) {
            Some((all, Some(number))) => (&ends[all.start..number.start], &ends[number]),
            _ => ("", ""),
        };
        let mut status = number.parse().ok();
        let mut told = format!("{} {number}", word.trim_matches(|c: char| !c.is_ascii_alphanumeric()));
        let output = frames.without(output);
        if status.is_none()
            && let Some(number) = frames.status(&ends)
        {
            (status, told) = (Some(number), format!("exit code {number}"));
        }
        let nonzero = status.is_some_and(|status: i32| status != 0);
        let (lines, is_telling) = telling_lines(output, nonzero || marked);
        let complains = lines.iter().take(2).any(|line| complains(line));
        let failed = match status {
            Some(0) if complains && piped => Some(true),
            Some(status) => Some(status != 0),
            None if marked || complains => Some(true),
            None => None,
        };
        Outcome { status, told, failed, lines, is_telling }
    }

    /// How it ended, in words; nothing where it ended well and there is no more to say. `whole` tells that the output is
    /// that of this command alone.
    pub(super) fn said(&self, whole: bool) -> Option<String> {
        let line = self.lines.first().filter(|_| whole);
        if self.failed == Some(true) {
            let status = self.status.filter(|status| *status != 0);
            let code = status.map_or_else(|| "failed".to_owned(), |_| format!("failed, {}", self.told));
            let went_well =
                |line: &str| line.split_whitespace().any(|word| matches!(word, "ok" | "PASS" | "PASSED" | "passed"));
            // A trace says at its end what it says at its beginning.
            let says_the_same = |before: &str| self.lines.first().is_some_and(|line| opening(line) == opening(before));
            let before = self.lines.get(1).filter(|line| tells(line) > 1 || !went_well(line));
            let before = before.filter(|line| !says_the_same(line));
            return Some(match (line, before) {
                (Some(line), Some(before)) => format!("{code}: {before} … {line}"),
                (Some(line), None) => format!("{code}: {line}"),
                (None, _) => code,
            });
        }
        let line = line.filter(|_| self.is_telling)?;
        Some(match self.failed {
            // It may have done what it was to all the same.
            Some(false) if complains(line) => format!("{}: {line}", self.told),
            Some(false) => format!("ok: {}", clipped_to(line, LONGEST_RESULT)),
            _ => line.clone(),
        })
    }
}

/// How a line begins, by which one that was cut is known again.
fn opening(line: &str) -> &str {
    const BYTES: usize = 48;
    &line[..line.floor_char_boundary(BYTES)]
}

/// Whether a line reports that something went wrong, and not that nothing did.
fn complains(line: &str) -> bool {
    const SIGNS: [&str; 7] = [
        "no module named",
        "command not found",
        "no such file",
        "traceback",
        "panicked",
        "unrecognized option",
        "segmentation",
    ];
    let small = line.to_lowercase();
    if SIGNS.iter().any(|sign| small.contains(sign)) || line.contains("FAILED") || line.starts_with("FAIL") {
        return true;
    }
    opens_with_an_error(line) || failures(line) == Some(true)
}

/// Whether a line begins with the name of an error, or with the word of a program for one.
fn opens_with_an_error(line: &str) -> bool {
    let first = line.split([':', '[', ' ', '(']).next().unwrap_or("");
    first.eq_ignore_ascii_case("error")
        || matches!(first, "fatal" | "FAIL")
        || literals(first).first().is_some_and(|literal| literal.class == Class::Error)
}

/// Whether a line counts failures: some, or none; nothing where it does not count them.
fn failures(line: &str) -> Option<bool> {
    /// Words between a count and what it counts: `0 chart(s) failed`.
    const NEAR: usize = 3;
    let small = line.to_lowercase();
    let starts = |part: &str| part.as_ptr() as usize - small.as_ptr() as usize;
    let words: Vec<&str> = small.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty()).collect();
    let is_count = |word: &&str| word.bytes().all(|byte| byte.is_ascii_digit());
    let mut found = None;
    for (at, word) in words.iter().enumerate() {
        if !(word.starts_with("fail") || matches!(*word, "error" | "errors")) {
            continue;
        }
        let names = small[starts(word) + word.len()..].starts_with([':', '=']);
        let before = || words[at.saturating_sub(NEAR)..at].iter().rev().find(|word| is_count(word) || **word == "no");
        let count = if names { words.get(at + 1).filter(|word| is_count(word)) } else { before() };
        let Some(count) = count else { continue };
        let some = *count != "no" && count.bytes().any(|byte| byte != b'0');
        found = Some(found.unwrap_or(false) || some);
    }
    found
}

/// Whether a line names an error.
pub(super) fn names_an_error(line: &str) -> bool {
    literals(line).iter().any(|literal| literal.class == Class::Error)
        || line.trim_start().to_lowercase().starts_with("error")
}

/// Whether a line says that something went well.
pub(super) fn reports_success(line: &str) -> bool {
    let small = line.to_lowercase();
    let well = ["success", "passed", "succeeded", " valid", "completed", "no issues"];
    failures(line).map_or_else(|| well.iter().any(|word| small.contains(word)), |some| !some)
}

/// Lines that a program puts around every output, the same but for their numbers: `[finished, status=0]`.
#[derive(Debug, Default)]
pub(super) struct Frames {
    lines: HashSet<String>,
}

impl Frames {
    /// Lines at either end of an output that may be a frame.
    const EDGE: usize = 3;

    /// Finds what is the same at the edges of some outputs.
    pub(super) fn of<'o>(outputs: impl Iterator<Item = std::borrow::Cow<'o, str>>) -> Frames {
        /// Outputs that are looked at, those that show what is the same, and their share.
        const MOST: usize = 120;
        const ENOUGH: usize = 4;
        const SHARE: usize = 4;
        let (mut times, mut count) = (HashMap::<String, usize>::new(), 0);
        for output in outputs.take(MOST) {
            count += 1;
            let edges: HashSet<String> = Self::edges(&output).map(without_digits).collect();
            edges.into_iter().for_each(|line| *times.entry(line).or_default() += 1);
        }
        let lines = times.into_iter().filter(|(_, times)| *times >= ENOUGH && *times * SHARE >= count);
        Frames { lines: lines.map(|(line, _)| line).collect() }
    }

    fn edges(output: &str) -> impl Iterator<Item = &str> {
        const LONGEST: usize = 120;
        const SHORTEST: usize = 8;
        let lines = || output.lines().map(str::trim).filter(|line| !line.is_empty());
        let ends = lines().take(Self::EDGE).chain(lines().rev().take(Self::EDGE));
        ends.filter(|line| (SHORTEST..=LONGEST).contains(&line.len()))
    }

    /// An output without them.
    fn without<'o>(&self, output: &'o str) -> &'o str {
        let mut inside = output;
        for _ in 0..Self::EDGE {
            let first = inside.trim_start().lines().next().unwrap_or("");
            if self.has(first.trim()) {
                inside = &inside.trim_start()[first.len()..];
            }
            let last = inside.trim_end().lines().next_back().unwrap_or("");
            if self.has(last.trim()) {
                inside = &inside[..inside.trim_end().len() - last.len()];
            }
        }
        inside
    }

    fn has(&self, line: &str) -> bool {
        !self.lines.is_empty() && self.lines.contains(&without_digits(line))
    }

    /// The exit status that one of them gives.
    fn status(&self, ends: &str) -> Option<i32> {
        let line = Self::edges(ends).find(|line| {
            let small = line.to_lowercase();
            self.has(line) && ["status", "exit", "code", "return", "rc"].iter().any(|word| small.contains(word))
        })?;
        let digits = line.rsplit(|c: char| !c.is_ascii_digit()).find(|part| !part.is_empty())?;
        digits.parse().ok()
    }
}

/// The ends of an output, where its status stands if anywhere.
fn head_and_tail(output: &str) -> String {
    const ENDS: usize = 300;
    let head = output.char_indices().nth(ENDS).map_or(output.len(), |(at, _)| at);
    let tail = output.char_indices().rev().nth(ENDS).map_or(0, |(at, _)| at);
    if tail <= head { output.to_owned() } else { format!("{}\n{}", &output[..head], &output[tail..]) }
}

fn telling_lines(output: &str, failed: bool) -> (Vec<String>, bool) {
    let mut seen = HashSet::new();
    let mut found: Vec<(u8, usize, String)> = Vec::new();
    let mut line_end = 0;
    let small = output.to_ascii_lowercase();
    let complaints = failed.then(|| cues::COMPLAINTS.places(&small)).into_iter().flatten();
    let mut places: Vec<usize> = cues::ENDINGS.places(&small).chain(complaints).map(|range| range.start).collect();
    places.sort_unstable();
    for at in places {
        if at < line_end {
            continue;
        }
        let start = output[..at].rfind('\n').map_or(0, |before| before + 1);
        line_end = output[at..].find('\n').map_or(output.len(), |length| at + length);
        let line = without_rules(&output[start..line_end]);
        let is_status = line.len() < SHORT_LINE && cues::STATUS.is_in(line);
        let is_title = !line.contains(' ') && !line.bytes().any(|byte| byte.is_ascii_digit());
        let is_advice = !failed && line.get(..7).is_some_and(|opening| opening.eq_ignore_ascii_case("warning"));
        if line.len() > LONGEST_LOOKED_AT || is_code(line) || is_status || is_title || is_debris(line) || is_advice {
            continue;
        }
        // That nothing else failed is no reason.
        let told = if failed && failures(line) == Some(false) { 0 } else { tells(line) };
        if told > 0 && seen.insert(without_digits(line)) {
            found.push((told, start, shortened(line)));
        }
    }
    if failed {
        // Of a few lines one that names something tells what is wrong, whatever its words are.
        let few = output.lines().nth(FEW_LINES).is_none();
        let says = |line: &&str| {
            is_diagnostic(line) || few && is_sentence(line) && names(line).next().is_some() && !is_code(line)
        };
        let lines = output.lines().map(str::trim).filter(says);
        for line in lines.take(MOST_LINES) {
            if seen.insert(without_digits(line)) {
                found.push((2, line.as_ptr() as usize - output.as_ptr() as usize, shortened(line)));
            }
        }
    }
    let short = output.lines().filter(|line| !line.trim().is_empty()).take(SHORT_OUTPUT + 1).count() <= SHORT_OUTPUT;
    let last = last_line(output).filter(|line| line.bytes().any(|byte| byte.is_ascii_digit()));
    let is_telling = short || !found.is_empty() || !failed && last.is_some();
    if found.is_empty() || failed && found.iter().all(|(told, ..)| *told < 2) {
        let last = last_line(output).filter(|line| found.iter().all(|(_, _, known)| known != line));
        found.extend(last.map(|line| (1, usize::MAX, line)));
    }
    // The last line that tells most sums the others up.
    found.sort_by_key(|(told, place, _)| std::cmp::Reverse((*told, *place)));
    found.truncate(MOST_LINES);
    (found.into_iter().map(|(_, _, line)| line).collect(), is_telling)
}

/// Whether a compiler or a linter says what is wrong at a place: `src/a.go:12:3: unused variable x`,
/// `[ERROR] src/A.java:[12,3] (naming) …`.
fn is_diagnostic(line: &str) -> bool {
    let line = without_level(line);
    let Some((path, rest)) = line.split_once(':') else { return false };
    let place = |c: char| c.is_ascii_digit() || matches!(c, ':' | ',' | '[' | ']' | '(' | ')');
    let said = rest.trim_start_matches(place);
    path.contains('.')
        && !path.contains(char::is_whitespace)
        && rest.trim_start_matches(['[', '(']).starts_with(|c: char| c.is_ascii_digit())
        && rest[..rest.len() - said.len()].ends_with([':', ']', ')'])
        && is_sentence(said)
}

/// A line without the level that a program puts before it: `[ERROR]`, `┃ [F] →`.
fn without_level(line: &str) -> &str {
    let mut line = line.trim_start_matches(|c: char| !c.is_alphanumeric() && !matches!(c, '[' | '.' | '/' | '<'));
    if let Some((level, rest)) = line.strip_prefix('[').and_then(|rest| rest.split_once(']'))
        && level.len() <= "warning".len()
    {
        line = rest;
    }
    line.trim_start_matches(|c: char| !c.is_alphanumeric() && !matches!(c, '.' | '/' | '<'))
}

/// Whether some words say something, and are no line of a program.
fn is_sentence(said: &str) -> bool {
    const WORDS: usize = 3;
    let words = said.split_whitespace().filter(|word| word.chars().all(|c| c.is_alphabetic() || "-,.'’".contains(c)));
    words.take(WORDS).count() == WORDS && said.len() <= LONGEST_LOOKED_AT && !ends_like_code(said)
}

/// Lines of an output that are all read.
const FEW_LINES: usize = 20;
/// Lines of an output whose last one is its result.
const SHORT_OUTPUT: usize = 4;

/// Whether a line is part of a document and no sentence.
fn is_debris(line: &str) -> bool {
    ["{\"", "\":", "\"}", "\\n", "\\\""].iter().any(|mark| line.contains(mark))
}

/// A line of at most [`LONGEST_LINE`] characters: a long one keeps both ends, which name what failed and how.
fn shortened(line: &str) -> String {
    const GAP: usize = " … ".len();
    without_middle(line, LONGEST_LINE - GAP)
}

/// How much a line tells: errors by name and counts of tests most, lines of code that speak of errors nothing.
fn tells(line: &str) -> u8 {
    let counts = ["passed", "FAILED"].iter().any(|word| line.contains(word))
        && line.bytes().any(|b| b.is_ascii_digit())
        || failures(line) == Some(true);
    match () {
        () if counts || opens_with_an_error(line) => 3,
        () if failures(line) == Some(false) => 2,
        () if literals(line).iter().any(|literal| literal.class == Class::Error) || names(line).next().is_some() => 2,
        () => 1,
    }
}

/// Whether a line is part of a file, a diff or a search: its words about errors are code.
pub(super) fn is_code(line: &str) -> bool {
    let numbered = line.trim_start_matches(|c: char| c.is_ascii_digit()).starts_with(['→', '\t', ':', '-', '|'])
        && line.starts_with(|c: char| c.is_ascii_digit());
    const OPENINGS: [&str; 23] = [
        "+", "-", "> ", "def ", "class ", "import ", "from ", "return", "if ", "raise ", "except", "try", "with ",
        "func ", "fn ", "let ", "const ", "//", "#", "assert", "* ", "\"", "'",
    ];
    let called = line.ends_with(')') && (line.contains("(\"") || line.contains("('") || !line.contains(' '))
        || line.contains(" := ");
    numbered
        || called
        || OPENINGS.iter().any(|opening| line.starts_with(opening))
        || ends_like_code(line)
        || line.split_once(':').is_some_and(|(path, rest)| {
            path.contains(['/', '.'])
                && !path.contains(' ')
                && rest.starts_with(|c: char| c.is_ascii_digit())
                && rest.contains(['(', '{', '='])
                && !rest.contains("rror")
        })
}

/// Whether a line ends as those of programs do.
fn ends_like_code(line: &str) -> bool {
    ["{", ";", "(", ",", "\\", "):", "])"].iter().any(|end| line.ends_with(end))
}

/// A line without what is drawn around it: `=== 42 passed ===`.
fn without_rules(line: &str) -> &str {
    const DRAWN: [char; 6] = ['=', '-', '*', '_', '~', ' '];
    const FRAME: (&str, &str) = ("<tool_use_error>", "</tool_use_error>");
    let mut line = line.trim();
    while let Some(inside) = line.strip_prefix(FRAME.0).or_else(|| line.strip_suffix(FRAME.1)) {
        line = inside;
    }
    let drawn = line
        .as_bytes()
        .windows(3)
        .any(|three| b"=-*_~".contains(&three[0]) && three.iter().all(|byte| *byte == three[0]));
    if drawn { line.trim_matches(DRAWN) } else { line.trim() }
}

/// Lines that differ in nothing but numbers are one line that repeats.
fn without_digits(line: &str) -> String {
    line.chars().filter(|c| !c.is_ascii_digit()).collect()
}

/// The last line with words in it, the tags that frame an output left out.
fn last_line(output: &str) -> Option<String> {
    const LONGEST: usize = 100;
    output
        .lines()
        .rev()
        .map(without_rules)
        .take(40)
        .find(|line| {
            let is_status = line.len() < SHORT_LINE && cues::STATUS.is_in(line);
            let is_other = is_code(line) || line.starts_with('<') || is_debris(line) || is_status;
            // `(no output)` is what a program says for nothing.
            let says_nothing =
                line.starts_with('(') && line.ends_with(')') && line.to_lowercase().contains("no output");
            !is_other
                && !says_nothing
                && line.chars().filter(|c| c.is_alphanumeric()).count() > 2
                && line.len() <= LONGEST_LOOKED_AT
        })
        .map(|line| clipped_to(line, LONGEST))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(output: &str) -> Outcome {
        Outcome::of(output, &Frames::default(), false, false)
    }

    #[test]
    fn status_and_the_line_that_tells_most() {
        let failed = of(
            "running 3 tests\ntest a ... ok\nerror[E0308]: mismatched types in src/auth.rs\n<returncode>101</returncode>",
        );
        assert_eq!((failed.status, failed.failed), (Some(101), Some(true)));
        assert_eq!(
            failed.said(true).as_deref(),
            Some("failed, returncode 101: error[E0308]: mismatched types in src/auth.rs")
        );
        let mixed = of("collected 42 items\n===== 41 passed, 1 failed in 3.21s =====\n");
        assert_eq!(
            (mixed.failed, mixed.said(true).as_deref()),
            (Some(true), Some("failed: 41 passed, 1 failed in 3.21s"))
        );
        assert_eq!(of("42 passed\nexit code 0").said(true).as_deref(), Some("ok: 42 passed"));
        assert_eq!(of("exit code 0").said(true), None);
        assert_eq!(of("Exit code 2\nTraceback (most recent call last):\nKeyError: 'id'").lines[0], "KeyError: 'id'");
    }

    #[test]
    fn the_status_of_a_pipe_is_not_that_of_the_command() {
        let output = "<returncode>0</returncode>\n<output>\nImportError: Failed to import test module: t\nFAILED (errors=1)\n</output>";
        let of = |output: &str, piped| Outcome::of(output, &Frames::default(), false, piped).failed;
        assert_eq!(of(output, true), Some(true));
        assert_eq!(of(output, false), Some(false));
        assert_eq!(of("10 passed, 0 failed\nexit code 0", true), Some(false));
    }

    #[test]
    fn long_lines_keep_both_ends() {
        let line = format!("An error occurred: Command {}timed out after 60 seconds", "'x', ".repeat(60));
        let told = &of(&line).lines[0];
        assert!(told.starts_with("An error occurred: ") && told.ends_with("timed out after 60 seconds"), "{told}");
        assert!(told.chars().count() <= LONGEST_LINE, "{told}");
        assert!(of(&"errörs".repeat(200)).lines.iter().all(|line| line.chars().count() <= LONGEST_LINE));
    }

    #[test]
    fn lines_below_a_verdict_are_told() {
        let outcome = of("--- PASS: TestShow (0.00s)\nPASS\nok  \tgithub.com/a/b/cli\t0.539s\n");
        assert!(outcome.lines.iter().any(|line| line.contains("0.539s")), "{outcome:?}");
    }

    #[test]
    fn failures_are_counted() {
        for (line, some) in [
            ("41 passed, 1 failed in 3.21s", Some(true)),
            ("1 chart(s) linted, 0 chart(s) failed", Some(false)),
            ("Tests run: 316, Failures: 0, Errors: 0, Skipped: 0", Some(false)),
            ("FAILED (failures=2)", Some(true)),
            ("386 examples, 0 failures", Some(false)),
            ("no errors found", Some(false)),
            ("the build failed", None),
        ] {
            assert_eq!(failures(line), some, "{line}");
        }
    }

    #[test]
    fn what_is_around_every_output_is_no_part_of_it() {
        let outputs: Vec<String> =
            (0..5).map(|n| format!("[stdout]\nline {n}\n[finished, status={}]", n % 2)).collect();
        let frames = Frames::of(outputs.iter().map(|output| output.as_str().into()));
        let failed = Outcome::of("[stdout]\nno such target\n[finished, status=2]", &frames, false, false);
        assert_eq!(failed.said(true).as_deref(), Some("failed, exit code 2: no such target"));
        let well = Outcome::of("[stdout]\nbuilt 7 parts\n[finished, status=0]", &frames, false, false);
        assert_eq!(well.said(true).as_deref(), Some("ok: built 7 parts"));
    }

    #[test]
    fn linters_name_what_is_wrong() {
        let told = |output: &str| Outcome::of(output, &Frames::default(), true, false).said(true).unwrap_or_default();
        for (output, named) in [
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
            assert!(told(output).contains(named), "{}", told(output));
        }
    }

    #[test]
    fn code_about_errors_is_no_error() {
        assert!(of("12:    raise KeyError(name)\n+ error = 1\n    if failed {\n").lines.is_empty());
    }
}
