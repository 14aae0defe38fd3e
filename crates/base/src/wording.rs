//! Words that all messages share.

use serde_json::Value;
use std::borrow::Cow;
use std::fmt::Display;
use std::io;

/// How each note begins that takes the place of something.
pub const NOTE: &str = "[tcompact: ";

/// A number and its noun: `1 file`, `2 files`. Every number before a noun goes through here.
pub fn counted<N: Display + PartialEq + From<u8>>(number: N, noun: &str) -> String {
    let ending = if number == N::from(1) { "" } else { "s" };
    format!("{number} {noun}{ending}")
}

/// A number with a comma between thousands, and its noun: `10,655 tokens`.
pub fn grouped_and_counted(number: u64, noun: &str) -> String {
    let ending = if number == 1 { "" } else { "s" };
    format!("{} {noun}{ending}", grouped(number))
}

/// A number, its noun, and the verb that agrees with them: `1 file is`, `2 files are`.
pub fn counted_and<N: Display + PartialEq + From<u8>>(number: N, noun: &str, [one, several]: [&str; 2]) -> String {
    let verb = if number == N::from(1) { one } else { several };
    format!("{} {verb}", counted(number, noun))
}

/// A number with a comma between thousands: `10,655`.
pub fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut grouped = String::new();
    for (at, digit) in digits.char_indices() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            grouped.push(',');
        }
        grouped.push(digit);
    }
    grouped
}

/// A number of bytes for people: `512 bytes`, `645 KB`, `1.58 MB`.
pub fn in_bytes(bytes: u64) -> String {
    const UNITS: [(u64, &str); 3] = [(1_000_000_000, "GB"), (1_000_000, "MB"), (1_000, "KB")];
    let Some((unit, name)) = UNITS.into_iter().find(|(unit, _)| bytes >= *unit) else {
        return counted(bytes, "byte");
    };
    let hundredths = bytes * 100 / unit;
    if hundredths >= 10_000 || name == "KB" {
        return format!("{} {name}", hundredths / 100);
    }
    format!("{}.{:02} {name}", hundredths / 100, hundredths % 100)
}

/// Says what a session recorded of its own size, and how much of that is in no message.
pub fn self_recorded(tokens: u64, beside: u64) -> String {
    let hundreds = (beside + 50) / 100 * 100;
    let beside =
        if hundreds > 0 { format!(", of which some {} are not messages", grouped(hundreds)) } else { String::new() };
    format!("the session itself recorded {}{beside}", grouped(tokens))
}

/// The name of a source for a sentence, with its line if it has one.
pub fn readable_source(name: &str) -> Cow<'_, str> {
    match name.strip_prefix('-') {
        Some("") => Cow::Borrowed("standard input"),
        Some(line) if line.starts_with(':') => Cow::Owned(format!("standard input{line}")),
        _ => Cow::Borrowed(name),
    }
}

/// The message that something cannot be written, and why.
pub fn unwritable(name: impl Display, error: &io::Error) -> String {
    format!("{name} cannot be written: {}", reason(error))
}

/// A text on one line, with one space between its words.
pub fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// The message of a system error, without its number.
pub fn reason(error: &io::Error) -> String {
    let full = error.to_string();
    let message = match full.rsplit_once(" (os error") {
        Some((message, _)) => message,
        None => &full,
    };
    let mut chars = message.chars();
    match chars.next() {
        Some(first) => first.to_lowercase().chain(chars).collect(),
        None => String::new(),
    }
}

/// A value of a config file for an error.
pub fn found(json: &Value) -> String {
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
}
