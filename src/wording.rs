//! Words that all messages share.

use std::borrow::Cow;
use std::fmt::Display;
use std::io;

#[cfg(feature = "cli")]
use serde_json::Value;

/// Returns a number and its noun: `1 file`, `2 files`.
pub(crate) fn counted<N: Display + PartialEq + From<u8>>(number: N, noun: &str) -> String {
    let ending = if number == N::from(1) { "" } else { "s" };
    format!("{number} {noun}{ending}")
}

/// Returns a number, its noun, and the verb that agrees with them: `1 file is`, `2 files are`.
pub(crate) fn counted_and<N: Display + PartialEq + From<u8>>(
    number: N,
    noun: &str,
    [one, several]: [&str; 2],
) -> String {
    let verb = if number == N::from(1) { one } else { several };
    format!("{} {verb}", counted(number, noun))
}

/// Returns a number with a comma between thousands: `10,655`.
#[cfg(feature = "cli")]
pub(crate) fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut grouped = String::new();
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            grouped.push(',');
        }
        grouped.push(digit);
    }
    grouped
}

/// Returns the name of a source for a sentence, with its line if it has one.
pub(crate) fn readable_source(name: &str) -> Cow<'_, str> {
    match name.strip_prefix('-') {
        Some("") => Cow::Borrowed("standard input"),
        Some(line) if line.starts_with(':') => Cow::Owned(format!("standard input{line}")),
        _ => Cow::Borrowed(name),
    }
}

/// Returns the message that something cannot be written, and why.
pub(crate) fn unwritable(name: impl Display, error: &io::Error) -> String {
    format!("{name} cannot be written: {}", reason(error))
}

/// Returns a text on one line, with one space between its words.
pub(crate) fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Returns the message of a system error, without its number.
pub(crate) fn reason(error: &io::Error) -> String {
    let full = error.to_string();
    let message = full.rsplit_once(" (os error").map_or(full.as_str(), |(message, _)| message);
    let mut chars = message.chars();
    chars.next().map_or(String::new(), |first| first.to_lowercase().chain(chars).collect())
}

/// Returns a value of a config file for an error.
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
