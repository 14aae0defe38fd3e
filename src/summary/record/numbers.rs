//! Recognizes numbers with their units, dates, times and versions.

use crate::summary::record::literal::{Literal, LiteralClass, trimmed_end, word_end};

/// Units that make a number of any size a literal and are part of it.
const UNITS: [&str; 66] = [
    "ns",
    "us",
    "ms",
    "s",
    "sec",
    "secs",
    "second",
    "seconds",
    "min",
    "mins",
    "minute",
    "minutes",
    "hour",
    "hours",
    "h",
    "day",
    "days",
    "week",
    "weeks",
    "month",
    "months",
    "year",
    "years",
    "KB",
    "MB",
    "GB",
    "TB",
    "KiB",
    "MiB",
    "GiB",
    "TiB",
    "byte",
    "bytes",
    "kbps",
    "Mbps",
    "Hz",
    "kHz",
    "MHz",
    "GHz",
    "token",
    "tokens",
    "line",
    "lines",
    "row",
    "rows",
    "file",
    "files",
    "test",
    "tests",
    "x",
    "USD",
    "EUR",
    "dollar",
    "dollars",
    "euro",
    "euros",
    "km",
    "kg",
    "bag",
    "bags",
    "passenger",
    "passengers",
    "passed",
    "failed",
    "errors",
    "warnings",
];

/// Whether a word is one of the units.
pub(super) fn is_unit(word: &str) -> bool {
    UNITS.contains(&word)
}

/// Adds a number with its unit, if it is significant: a date, a version, an amount, or three digits. Returns whether
/// the word is a number.
pub(super) fn scan_number(text: &str, start: usize, end: usize, found: &mut Vec<Literal>) -> bool {
    let word = &text[start..end];
    let bytes = word.as_bytes();
    let digits = bytes.iter().filter(|byte| byte.is_ascii_digit()).count();
    let body = word.trim_start_matches(['$', 'v']);
    let number_end = body.bytes().take_while(|b| b.is_ascii_digit() || matches!(b, b'.' | b',')).count();
    let (value, tail) = body.split_at(number_end);
    if digits == 0 {
        return false;
    }
    let dotted = value.matches('.').count();
    let class = match () {
        () if is_date(body) || dotted == 3 && tail.is_empty() => LiteralClass::Number,
        () if dotted >= 2 || bytes[0] == b'v' => LiteralClass::Version,
        () if tail.is_empty() && bytes[0] == b'$' => LiteralClass::Number,
        () if tail == "%" || !tail.is_empty() && is_unit(tail) => LiteralClass::Number,
        () if tail.is_empty() => {
            if let Some(unit_end) = unit_end_after(text, end) {
                found.push(Literal { class: LiteralClass::Number, span: start..unit_end });
                return true;
            }
            if dotted == 0 && digits < 3 {
                return true;
            }
            LiteralClass::Number
        }
        () => return false,
    };
    found.push(Literal { class, span: start..end });
    true
}

/// Returns the end of a unit after a number and a space: a whole word, or several joined by slashes, as in a rate.
fn unit_end_after(text: &str, end: usize) -> Option<usize> {
    let start = end + 1;
    text[end..].strip_prefix(' ')?;
    let unit_end = trimmed_end(text.as_bytes(), start, word_end(text.as_bytes(), start));
    text[start..unit_end].split('/').all(is_unit).then_some(unit_end)
}

fn is_date(word: &str) -> bool {
    let bytes = word.as_bytes();
    bytes.len() >= 10
        && bytes[..10]
            .iter()
            .enumerate()
            .all(|(at, b)| if at == 4 || at == 7 { *b == b'-' } else { b.is_ascii_digit() })
}

/// Whether a word is a time of day.
pub(super) fn is_time(word: &str) -> bool {
    let mut parts = word.split(':');
    let is_one_or_two_digits =
        |part: &str| (1..=2).contains(&part.len()) && part.bytes().all(|byte| byte.is_ascii_digit());
    let (hours, minutes) = (parts.next().unwrap_or(""), parts.next().unwrap_or(""));
    let date = hours.split_once('T').map_or(hours, |(_, hour)| hour);
    is_one_or_two_digits(date)
        && minutes.len() == 2
        && is_one_or_two_digits(minutes)
        && parts.all(|part| part.bytes().next().is_some_and(|b| b.is_ascii_digit()))
}
