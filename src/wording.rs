//! Words that all messages share.

use std::borrow::Cow;
use std::fmt::Display;
use std::io;

#[cfg(feature = "cli")]
use serde_json::Value;

/// How each note begins that takes the place of something.
pub(crate) const NOTE: &str = "[tcompact: ";

/// A number and its noun: `1 file`, `2 files`. Every number before a noun goes through here.
pub(crate) fn counted<N: Display + PartialEq + From<u8>>(number: N, noun: &str) -> String {
    let ending = if number == N::from(1) { "" } else { "s" };
    format!("{number} {noun}{ending}")
}

/// A number with a comma between thousands, and its noun: `10,655 tokens`.
#[cfg(feature = "cli")]
pub(crate) fn grouped_and_counted(number: u64, noun: &str) -> String {
    let ending = if number == 1 { "" } else { "s" };
    format!("{} {noun}{ending}", grouped(number))
}

/// A number, its noun, and the verb that agrees with them: `1 file is`, `2 files are`.
pub(crate) fn counted_and<N: Display + PartialEq + From<u8>>(
    number: N,
    noun: &str,
    [one, several]: [&str; 2],
) -> String {
    let verb = if number == N::from(1) { one } else { several };
    format!("{} {verb}", counted(number, noun))
}

/// A number with a comma between thousands: `10,655`.
#[cfg(feature = "cli")]
pub(crate) fn grouped(number: u64) -> String {
    let digits = number.to_string();
    digits.as_bytes().rchunks(3).rev().map(String::from_utf8_lossy).collect::<Vec<_>>().join(",")
}

/// Says what a session recorded of its own size, and how much of that is in no message.
#[cfg(feature = "cli")]
pub(crate) fn self_recorded(tokens: u64, beside: u64) -> String {
    let hundreds = (beside + 50) / 100 * 100;
    let beside =
        if hundreds > 0 { format!(", of which some {} are not messages", grouped(hundreds)) } else { String::new() };
    format!("the session itself recorded {}{beside}", grouped(tokens))
}

/// The name of a source for a sentence, with its line if it has one.
pub(crate) fn readable_source(name: &str) -> Cow<'_, str> {
    match name.strip_prefix('-') {
        Some("") => Cow::Borrowed("standard input"),
        Some(line) if line.starts_with(':') => Cow::Owned(format!("standard input{line}")),
        _ => Cow::Borrowed(name),
    }
}

/// The message that something cannot be written, and why.
pub(crate) fn unwritable(name: impl Display, error: &io::Error) -> String {
    format!("{name} cannot be written: {}", reason(error))
}

/// A text on one line, with one space between its words.
pub(crate) fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// The message of a system error, without its number.
pub(crate) fn reason(error: &io::Error) -> String {
    let full = error.to_string();
    let message = full.rsplit_once(" (os error").map_or(full.as_str(), |(message, _)| message);
    let mut chars = message.chars();
    chars.next().map_or(String::new(), |first| first.to_lowercase().chain(chars).collect())
}

/// A value of a config file for an error.
#[cfg(feature = "cli")]
pub(crate) fn found(json: &Value) -> String {
    const MOST: usize = 60;
    match json {
        Value::Null => "nothing".to_owned(),
        Value::Array(items) if items.is_empty() => "an empty list".to_owned(),
        Value::Array(_) => "a list".to_owned(),
        Value::Object(_) => "a table".to_owned(),
        Value::String(text) if text.chars().count() > MOST => "a long text".to_owned(),
        scalar => scalar.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::path::Path;

    use super::*;

    #[test]
    fn one_has_no_ending() {
        for (number, noun, said) in [
            (0_u64, "message", "0 messages"),
            (1, "message", "1 message"),
            (2, "message", "2 messages"),
            (1, "earlier message", "1 earlier message"),
            (10_655, "token", "10655 tokens"),
        ] {
            assert_eq!(counted(number, noun), said);
        }
        assert_eq!(counted(1.0, "second"), "1 second");
        assert_eq!(counted(0.5, "second"), "0.5 seconds");
        assert_eq!(counted_and(1u64, "token", ["was", "were"]), "1 token was");
        assert_eq!(counted_and(2u64, "token", ["was", "were"]), "2 tokens were");
        assert_eq!(grouped_and_counted(1, "token"), "1 token");
        assert_eq!(grouped_and_counted(10_655, "token"), "10,655 tokens");
    }

    /// Words that follow a number in sentences.
    const NOUNS: &str = "answers|archives|bytes|calls|characters|conversations|days|files|hits|images|items|lines|matches|\
        messages|minutes|models|records|requests|results|rounds|seconds|secrets|tokens|tools|turns|violations|words";

    /// No sentence has a number before a noun for several, except constants, the texts of other systems, and numbers that
    /// are never 1.
    #[test]
    fn every_number_before_a_noun_is_counted() {
        const NEVER_ONE: [&str; 5] = [
            "{carried} of {} lines",
            "{lines} of {all} lines",
            "{pos}/{len} files",
            "{role} calls {tools}",
            "{:.1} seconds",
        ];
        let pattern = format!(r"\{{[^{{}}A-Z]*\}} (?:more |other |earlier |old |new )?(?:{NOUNS})\b");
        let pattern = crate::pattern::pattern(&pattern);
        let mut folders = vec![Path::new(env!("CARGO_MANIFEST_DIR")).join("src")];
        let mut wrong = Vec::new();
        while let Some(folder) = folders.pop() {
            for entry in fs::read_dir(folder).expect("a folder").flatten() {
                let path = entry.path();
                let name = entry.file_name().into_string().expect("UTF-8");
                if path.is_dir() && !["presets", "laws", "tests"].contains(&name.as_str()) {
                    folders.push(path);
                } else if name.ends_with(".rs") && !name.contains("tests") {
                    let text = fs::read_to_string(&path).expect("a file");
                    let program = text.split("#[cfg(test)]").next().unwrap_or_default();
                    let lines = program.lines().filter(|line| pattern.is_match(line));
                    let lines = lines.filter(|line| !NEVER_ONE.iter().any(|known| line.contains(known)));
                    wrong.extend(lines.map(|line| format!("{name}: {}", line.trim())));
                }
            }
        }
        assert!(wrong.is_empty(), "use `counted`: {wrong:#?}");
    }
}
