//! How a command ended, told from its output: its status, and the lines that say what came of it.

use std::collections::HashSet;

use crate::summary::ledger::cues;
use crate::summary::ledger::literals::{Class, literals};
use crate::summary::ledger::sentences::clipped_to;

/// How a command ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Outcome {
    /// Its exit status, where one is told.
    pub(super) status: Option<i32>,
    /// The status in the words of the output: `Exit code 2`.
    pub(super) said: String,
    /// The lines of its output that tell of errors and results, the one that tells most first.
    pub(super) lines: Vec<String>,
}

/// Lines that are kept of an output.
const MOST_LINES: usize = 24;
/// Characters of such a line.
const LONGEST_LINE: usize = 160;
/// Bytes of a line that has room for an exit status and for nothing else.
const SHORT_LINE: usize = 40;
/// Bytes of a line that is looked at: what is longer was not written for people.
const LONGEST_LOOKED_AT: usize = 2_000;

impl Outcome {
    /// Reads an output.
    pub(super) fn of(output: &str) -> Outcome {
        let ends = head_and_tail(output);
        let (word, number) = match cues::STATUS.group(&ends) {
            Some((all, Some(number))) => (&ends[all.start..number.start], &ends[number]),
            _ => ("", ""),
        };
        let status = number.parse().ok();
        let word = word.trim_matches(|c: char| !c.is_ascii_alphanumeric()).to_owned();
        let said = status.map(|status: i32| format!("{word} {status}")).unwrap_or_default();
        Outcome { status, said, lines: telling_lines(output, status.unwrap_or(0) != 0) }
    }

    /// Whether it went wrong, as far as is told.
    pub(super) fn failed(&self) -> bool {
        self.status.is_some_and(|status| status != 0)
    }
}

/// The ends of an output, where its status stands if anywhere.
fn head_and_tail(output: &str) -> String {
    const ENDS: usize = 300;
    let head = output.char_indices().nth(ENDS).map_or(output.len(), |(at, _)| at);
    let tail = output.char_indices().rev().nth(ENDS).map_or(0, |(at, _)| at);
    if tail <= head { output.to_owned() } else { format!("{}\n{}", &output[..head], &output[tail..]) }
}

fn telling_lines(output: &str, failed: bool) -> Vec<String> {
    let mut seen = HashSet::new();
    let mut found: Vec<(u8, usize, String)> = Vec::new();
    let mut line_end = 0;
    let small = output.to_ascii_lowercase();
    for (place, at) in cues::ENDINGS.places(&small).map(|range| range.start).enumerate() {
        if at < line_end {
            continue;
        }
        let start = output[..at].rfind('\n').map_or(0, |before| before + 1);
        line_end = output[at..].find('\n').map_or(output.len(), |length| at + length);
        let line = without_rules(&output[start..line_end]);
        let is_status = line.len() < SHORT_LINE && cues::STATUS.is_in(line);
        let is_title = !line.contains(' ') && !line.bytes().any(|byte| byte.is_ascii_digit());
        if line.len() > LONGEST_LOOKED_AT || is_code(line) || is_status || is_title {
            continue;
        }
        let told = tells(line);
        if told > 0 && seen.insert(without_digits(line)) {
            found.push((told, place, shortened(line)));
        }
    }
    if found.is_empty() || failed && found.iter().all(|(told, ..)| *told < 2) {
        found.extend(last_line(output).map(|line| (1, usize::MAX, line)));
    }
    // The last line that tells most sums the others up.
    found.sort_by_key(|(told, place, _)| std::cmp::Reverse((*told, *place)));
    found.truncate(MOST_LINES);
    found.into_iter().map(|(_, _, line)| line).collect()
}

/// A line of at most [`LONGEST_LINE`] characters: of a long one the ends, where it says what failed and how.
fn shortened(line: &str) -> String {
    const END: usize = 60;
    if line.chars().count() <= LONGEST_LINE {
        return line.to_owned();
    }
    let start = line.char_indices().rev().nth(END - 1).map_or(0, |(at, _)| at);
    let end = line[start..].split_once(' ').map_or("", |(_, words)| words);
    format!("{} {end}", clipped_to(line, LONGEST_LINE - END - 2)).trim_end().to_owned()
}

/// How much a line tells: errors by name and counts of tests most, lines of code that speak of errors nothing.
fn tells(line: &str) -> u8 {
    let counts = ["passed", "failed", "failures", "FAILED", "errors"].iter().any(|word| line.contains(word))
        && line.bytes().any(|b| b.is_ascii_digit());
    let opens = line.split([':', '[', ' ', '(']).next().unwrap_or("");
    let named = literals(opens).first().is_some_and(|literal| literal.class == Class::Error)
        || opens.eq_ignore_ascii_case("error")
        || opens == "fatal"
        || opens == "FAIL";
    match () {
        () if counts || named => 3,
        () if literals(line).iter().any(|literal| literal.class == Class::Error) => 2,
        () => 1,
    }
}

/// Whether a line opens with the name of an error, or counts what passed and failed.
pub(super) fn reports(line: &str) -> bool {
    tells(line) >= 3
}

/// Whether a line is part of a file, a diff or a search: its words about errors are code.
fn is_code(line: &str) -> bool {
    let numbered = line.trim_start_matches(|c: char| c.is_ascii_digit()).starts_with(['→', '\t', ':', '-', '|'])
        && line.starts_with(|c: char| c.is_ascii_digit());
    const OPENINGS: [&str; 23] = [
        "+", "-", "> ", "def ", "class ", "import ", "from ", "return", "if ", "raise ", "except", "try", "with ",
        "func ", "fn ", "let ", "const ", "//", "#", "assert", "* ", "\"", "'",
    ];
    const ENDS: [&str; 7] = ["{", ";", "(", ",", "\\", "):", "])"];
    let called = line.ends_with(')') && (line.contains("(\"") || line.contains("('"));
    numbered
        || called
        || OPENINGS.iter().any(|opening| line.starts_with(opening))
        || ENDS.iter().any(|end| line.ends_with(end))
        || line.split_once(':').is_some_and(|(path, rest)| {
            path.contains(['/', '.'])
                && !path.contains(' ')
                && rest.starts_with(|c: char| c.is_ascii_digit())
                && rest.contains(['(', '{', '='])
                && !rest.contains("rror")
        })
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
            !is_code(line)
                && !line.starts_with('<')
                && line.chars().filter(|c| c.is_alphanumeric()).count() > 2
                && line.len() <= LONGEST_LOOKED_AT
        })
        .map(|line| clipped_to(line, LONGEST))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn status_and_the_line_that_tells_most() {
        let failed = Outcome::of(
            "running 3 tests\ntest a ... ok\nerror[E0308]: mismatched types in src/auth.rs\n<returncode>101</returncode>",
        );
        assert_eq!((failed.status, failed.said.as_str()), (Some(101), "returncode 101"));
        assert_eq!(failed.lines[0], "error[E0308]: mismatched types in src/auth.rs");
        let passed = Outcome::of("collected 42 items\n===== 41 passed, 1 failed in 3.21s =====\n");
        assert_eq!(Outcome::of("<tool_use_error>No such file.</tool_use_error>").lines, ["No such file."]);
        assert_eq!((passed.status, passed.lines[0].as_str()), (None, "41 passed, 1 failed in 3.21s"));
        assert_eq!(
            Outcome::of("Exit code 2\nTraceback (most recent call last):\nKeyError: 'id'").lines[0],
            "KeyError: 'id'"
        );
    }

    #[test]
    fn long_lines_keep_both_ends() {
        let line = format!("An error occurred: Command {}timed out after 60 seconds", "'x', ".repeat(60));
        let told = &Outcome::of(&line).lines[0];
        assert!(told.starts_with("An error occurred: ") && told.ends_with("timed out after 60 seconds"), "{told}");
        assert!(told.chars().count() <= LONGEST_LINE, "{told}");
        assert!(Outcome::of(&"errörs".repeat(200)).lines.iter().all(|line| line.chars().count() <= LONGEST_LINE));
    }

    #[test]
    fn lines_below_a_verdict_are_told() {
        let outcome = Outcome::of("--- PASS: TestShow (0.00s)\nPASS\nok  \tgithub.com/a/b/cli\t0.539s\n");
        assert!(outcome.lines.iter().any(|line| line.contains("0.539s")), "{outcome:?}");
    }

    #[test]
    fn code_about_errors_is_no_error() {
        assert!(Outcome::of("12:    raise KeyError(name)\n+ error = 1\n    if failed {\n").lines.is_empty());
    }
}
