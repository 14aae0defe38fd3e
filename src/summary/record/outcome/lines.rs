//! Judges single lines of an output: what they report, and whether they are code.

use crate::summary::record::literals::{LiteralClass, literals};
use crate::summary::record::names::names;
use crate::summary::record::segmentation::clip_middle;

/// Most characters of any kept line.
pub(super) const LONGEST_LINE: usize = 160;
/// Most bytes of a line that is searched. Longer lines were not written for people.
pub(super) const LONGEST_LOOKED_AT: usize = 2_000;

/// Returns the start of a line, by which a shortened line is recognized.
pub(super) fn line_start(line: &str) -> &str {
    const BYTES: usize = 48;
    &line[..line.floor_char_boundary(BYTES)]
}

/// Whether a line reports a failure, not that there was none.
pub(super) fn reports_failure(line: &str) -> bool {
    const SIGNS: [&str; 9] = [
        "unbound variable",
        "syntax error",
        "no module named",
        "command not found",
        "no such file",
        "traceback",
        "panicked",
        "unrecognized option",
        "segmentation",
    ];
    let lower = line.to_lowercase();
    if SIGNS.iter().any(|sign| lower.contains(sign)) || line.contains("FAILED") || line.starts_with("FAIL") {
        return true;
    }
    starts_with_error(line) || counts_failures(line) == Some(true)
}

/// Whether a line starts with the name of an error or a word for one.
pub(super) fn starts_with_error(line: &str) -> bool {
    let first = line.split([':', '[', ' ', '(']).next().unwrap_or("");
    first.eq_ignore_ascii_case("error")
        || matches!(first, "fatal" | "FAIL")
        || literals(first).first().is_some_and(|literal| literal.class == LiteralClass::Error)
}

/// Returns whether a line counts failures above zero; `None` if it counts none at all.
pub(super) fn counts_failures(line: &str) -> Option<bool> {
    /// Most words between a count and its noun: `0 chart(s) failed`.
    const NEAR: usize = 3;
    let lower = line.to_lowercase();
    let starts = |part: &str| part.as_ptr() as usize - lower.as_ptr() as usize;
    let words: Vec<&str> = lower.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty()).collect();
    let is_count = |word: &&str| word.bytes().all(|byte| byte.is_ascii_digit());
    let mut found = None;
    for (at, word) in words.iter().enumerate() {
        let is_vague = at > 0 && words[at - 1] == "many";
        if is_vague || !(word.starts_with("fail") || matches!(*word, "error" | "errors")) {
            continue;
        }
        let counts_after = lower[starts(word) + word.len()..].starts_with([':', '=']);
        let before = || words[at.saturating_sub(NEAR)..at].iter().rev().find(|word| is_count(word) || **word == "no");
        let count = if counts_after { words.get(at + 1).filter(|word| is_count(word)) } else { before() };
        let Some(count) = count else { continue };
        let is_positive = *count != "no" && count.bytes().any(|byte| byte != b'0');
        found = Some(found.unwrap_or(false) || is_positive);
    }
    found
}

/// Whether a line counts something, and not only the time it took.
pub(super) fn counts_something(line: &str) -> bool {
    const UNITS: [&str; 12] =
        ["ms", "s", "sec", "secs", "second", "seconds", "m", "min", "mins", "minute", "minutes", "h"];
    let words: Vec<&str> = line.split(|c: char| c.is_whitespace() || "=(),;".contains(c)).collect();
    let words: Vec<&str> = words.into_iter().filter(|word| !word.is_empty()).collect();
    let is_count = |word: &str| {
        word.starts_with(|c: char| c.is_ascii_digit()) && word.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.')
    };
    let is_unit = |word: &&str| UNITS.contains(&word.trim_end_matches('.'));
    words.iter().enumerate().any(|(at, word)| is_count(word) && !words.get(at + 1).is_some_and(is_unit))
}

/// Whether a line names an error.
pub(in crate::summary::record) fn names_error(line: &str) -> bool {
    literals(line).iter().any(|literal| literal.class == LiteralClass::Error)
        || line.trim_start().to_lowercase().starts_with("error")
}

/// Whether a line reports success.
pub(in crate::summary::record) fn reports_success(line: &str) -> bool {
    let lower = line.to_lowercase();
    let well = ["success", "passed", "succeeded", " valid", "completed"];
    let nothing = ["issues", "warnings", "errors", "problems", "violations", "findings"];
    let found_nothing = || lower.split_once("no ").is_some_and(|(_, what)| nothing.iter().any(|n| what.starts_with(n)));
    counts_failures(line)
        .map_or_else(|| well.iter().any(|word| lower.contains(word)) || found_nothing(), |is_positive| !is_positive)
}

/// Whether a compiler or linter reports a problem at a place: `src/a.go:12:3: unused variable x`, `[ERROR]
/// src/A.java:[12,3] (naming) …`.
pub(super) fn is_diagnostic(line: &str) -> bool {
    if line.starts_with("error[") {
        return true;
    }
    let line = without_level(line);
    // `src/a.ts(12,3): error …`
    let bracketed = line.find('(').filter(|at| line[at + 1..].starts_with(|c: char| c.is_ascii_digit()));
    let Some((path, rest)) = bracketed.map(|at| line.split_at(at)).or(line.split_once(':')) else { return false };
    let place = |c: char| c.is_ascii_digit() || matches!(c, ':' | ',' | '[' | ']' | '(' | ')');
    let message = rest.trim_start_matches(place);
    path.contains('.')
        && !path.contains(char::is_whitespace)
        && rest.trim_start_matches(['[', '(']).starts_with(|c: char| c.is_ascii_digit())
        && rest[..rest.len() - message.len()].ends_with([':', ']', ')'])
        && is_sentence(message)
        && !message.trim_start().starts_with("too many errors")
}

/// Removes the level that a program prints before a message: `[ERROR]`, `┃ [F] →`.
fn without_level(line: &str) -> &str {
    let mut line = line.trim_start_matches(|c: char| !c.is_alphanumeric() && !matches!(c, '[' | '.' | '/' | '<'));
    if let Some((level, rest)) = line.strip_prefix('[').and_then(|rest| rest.split_once(']'))
        && level.len() <= "warning".len()
    {
        line = rest;
    }
    line.trim_start_matches(|c: char| !c.is_alphanumeric() && !matches!(c, '.' | '/' | '<'))
}

/// Whether a text is a sentence and not code.
pub(super) fn is_sentence(message: &str) -> bool {
    const WORDS: usize = 3;
    let words =
        message.split_whitespace().filter(|word| word.chars().all(|c| c.is_alphabetic() || "-,.'’".contains(c)));
    words.take(WORDS).count() == WORDS && message.len() <= LONGEST_LOOKED_AT && !ends_like_code(message)
}

/// Whether a line is part of a JSON document.
pub(super) fn is_document_fragment(line: &str) -> bool {
    ["{\"", "\":", "\"}", "\\n", "\\\""].iter().any(|mark| line.contains(mark))
}

/// Shortens a line to [`LONGEST_LINE`] characters. Both ends stay, since they name what failed and how.
pub(super) fn shorten_line(line: &str) -> String {
    const GAP: usize = " … ".len();
    clip_middle(line, LONGEST_LINE - GAP)
}

/// Returns the importance of a line: names of errors and counts of failed tests rank first.
pub(super) fn line_rank(line: &str) -> u8 {
    let counts = ["passed", "FAILED"].iter().any(|word| line.contains(word))
        && line.bytes().any(|b| b.is_ascii_digit())
        || counts_failures(line) == Some(true);
    match () {
        () if counts || starts_with_error(line) => 3,
        () if counts_failures(line) == Some(false) => 2,
        () if literals(line).iter().any(|literal| literal.class == LiteralClass::Error)
            || names(line).next().is_some() =>
        {
            2
        }
        () => 1,
    }
}

/// Whether a line is part of a file, a diff or a search result, so that its words about errors are code.
pub(in crate::summary::record) fn is_code(line: &str) -> bool {
    let after_number = line.trim_start_matches(|c: char| c.is_ascii_digit());
    // `00:08 +42: All tests passed!`
    let is_clock = line.len() - after_number.len() == 2
        && after_number.as_bytes().get(1..3).is_some_and(|minutes| minutes.iter().all(u8::is_ascii_digit));
    let numbered = line.len() > after_number.len() && !is_clock && after_number.starts_with(['→', '\t', ':', '-', '|']);
    // `+++ OK, passed 100 tests.` is no line of a diff.
    let is_result = line.starts_with('+') && counts_something(line) && reports_success(line);
    const OPENINGS: [&str; 24] = [
        "+", "-", "drwx", "> ", "def ", "class ", "import ", "from ", "return", "if ", "raise ", "except", "try",
        "with ", "func ", "fn ", "let ", "const ", "//", "#", "assert", "* ", "\"", "'",
    ];
    let called = line.ends_with(')') && (line.contains("(\"") || line.contains("('") || !line.contains(' '))
        || line.contains(" := ");
    numbered
        || called
        || !is_result && OPENINGS.iter().any(|opening| line.starts_with(opening))
        || ends_like_code(line)
        || line.split_once(':').is_some_and(|(path, rest)| {
            path.contains(['/', '.'])
                && !path.contains(' ')
                && rest.starts_with(|c: char| c.is_ascii_digit())
                && rest.contains(['(', '{', '='])
                && !rest.contains("rror")
        })
}

/// Whether a line ends like code.
fn ends_like_code(line: &str) -> bool {
    ["{", ";", "(", ",", "\\", "):", "])"].iter().any(|end| line.ends_with(end))
}

/// Removes the decoration around a line: `=== 42 passed ===`.
pub(super) fn without_decoration(line: &str) -> &str {
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

/// Removes the digits of a line. Lines equal except for numbers are repetitions.
pub(super) fn without_digits(line: &str) -> String {
    line.chars().filter(|c| !c.is_ascii_digit()).collect()
}
