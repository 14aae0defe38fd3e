//! When a message was written, as its program says beside its content, and how points in time are spelled. In microseconds
//! since 1970, in UTC, but where a name says milliseconds.

use std::sync::LazyLock;

use jiff::SignedDuration;
use jiff::civil::Date;
use regex::{Captures, Regex};

use crate::Message;
use crate::json::{Json, JsonKind};
use crate::pattern::pattern;

/// A date, with or without a time of day and its offset.
static TIME: LazyLock<Regex> = LazyLock::new(|| {
    pattern(
        r"^(\d{4})-(\d\d)-(\d\d)(?:[Tt ](\d\d):(\d\d)(?::(\d\d)(?:[.,](\d{1,18}))?)?(?:[Zz]| ?([+-]\d\d):?(\d\d))?)?$",
    )
});

/// The names of the member with the time.
const NAMES: [&str; 7] = ["timestamp", "createdAt", "created_at", "create_time", "created", "ts", "time"];
/// The members beside the content that can have it, where the message itself lacks it.
const BESIDE: [&[&str]; 9] = [
    &["message"],
    &["metadata"],
    &["time"],
    &["info", "time"],
    &["data"],
    &["additional_kwargs"],
    &["response_metadata"],
    &["data", "response_metadata"],
    &["kwargs", "response_metadata"],
];

/// A second.
pub const SECOND: i64 = 1_000_000;
const DAY: i64 = 86_400 * SECOND;

/// The day from which times count.
const FIRST_DAY: Date = Date::constant(1970, 1, 1);

/// Parses a time of RFC 3339. One without an offset is in UTC, and a date alone is its midnight.
pub fn parse(text: &str) -> Option<i64> {
    let found = TIME.captures(text.trim())?;
    let (year, month, day) = (number(&found, 1)?, number(&found, 2)?, number(&found, 3)?);
    let (hour, minute, second) = (number(&found, 4)?, number(&found, 5)?, number(&found, 6)?);
    let fraction = match found.get(7) {
        Some(digits) => format!("{:0<6}", digits.as_str()).get(..6).unwrap_or("0").parse::<i64>().ok()?,
        None => 0,
    };
    let offset = number(&found, 8)?.abs() * 60 + number(&found, 9)?;
    let offset = if found.get(8).is_some_and(|hours| hours.as_str().starts_with('-')) { -offset } else { offset };
    // A minute can have a leap second.
    if hour >= 24 || minute >= 60 || second > 60 || offset.abs() >= 24 * 60 {
        return None;
    }
    let date = Date::new(year.try_into().ok()?, month.try_into().ok()?, day.try_into().ok()?).ok()?;
    let days = date.duration_since(FIRST_DAY).as_hours() / 24;
    Some(days * DAY + (((hour * 60 + minute - offset) * 60) + second) * SECOND + fraction)
}

/// The number in a group of a time; 0 if the time lacks the group.
fn number(time: &Captures<'_>, group: usize) -> Option<i64> {
    match time.get(group) {
        Some(digits) => digits.as_str().parse().ok(),
        None => Some(0),
    }
}

/// Writes a time as RFC 3339.
pub fn shown(time: i64) -> String {
    let micros = time.rem_euclid(SECOND);
    let fraction = if micros > 0 { format!(".{micros:06}") } else { String::new() };
    written(time, &fraction).unwrap_or_default()
}

/// Writes a time with all six digits of its fraction; `None` outside of the years of four digits.
pub fn to_the_microsecond(time: i64) -> Option<String> {
    written(time, &format!(".{:06}", time.rem_euclid(SECOND)))
}

/// A time with this fraction of its second; `None` outside of the years of four digits.
fn written(time: i64, fraction: &str) -> Option<String> {
    let (days, second) = (time.div_euclid(DAY), time.rem_euclid(DAY) / SECOND);
    let date = FIRST_DAY.checked_add(SignedDuration::from_hours(days * 24)).ok()?;
    if date.year() < 0 {
        return None;
    }
    let (hour, minute, second) = (second / 3600, second / 60 % 60, second % 60);
    Some(format!("{date}T{hour:02}:{minute:02}:{second:02}{fraction}Z"))
}

/// The milliseconds since 1970 of a time such as `2026-03-01T10:00:00.000Z`, which has a time of day and an offset.
pub fn milliseconds(time: &str) -> Option<i64> {
    let found = TIME.captures(time)?;
    let has_seconds = found.get(6).is_some();
    let has_offset = time.ends_with(['Z', 'z']) || found.get(8).is_some();
    if has_seconds && has_offset { Some(parse(time)?.div_euclid(1_000)) } else { None }
}

/// A time in UTC, as JavaScript spells it; `None` outside the years of four digits.
pub fn in_utc(milliseconds: i64) -> Option<String> {
    let micros = milliseconds.checked_mul(1_000)?;
    written(micros, &format!(".{:03}", milliseconds.rem_euclid(1_000)))
}

/// When a message was written.
pub fn of(message: &Message<'_>) -> Option<i64> {
    // An action of `OpenHands` stands in a list, with its observation behind it.
    let json = if message.json.kind() == JsonKind::Array { message.json.items().next()? } else { message.json };
    if let Some(time) = of_member(json) {
        return Some(time);
    }
    for path in BESIDE {
        if let Some(time) = json.at(path).and_then(of_member) {
            return Some(time);
        }
    }
    // The parts of Pydantic AI's requests have their own.
    let part = json.get("parts")?.items().find(|part| part.get("part_kind").is_some())?;
    of_value(part.get("timestamp")?)
}

/// The time among the members of a value.
fn of_member(value: Json<'_>) -> Option<i64> {
    NAMES.iter().find_map(|name| of_value(value.get(name)?))
}

/// Reads a text, or seconds, milliseconds, microseconds or nanoseconds since 1970.
fn of_value(value: Json<'_>) -> Option<i64> {
    if let Some(text) = value.text() {
        // Programs that know no time write that of the year 1 or of 1970.
        return parse(&text.decode()).filter(|time| *time > 0);
    }
    if value.kind() != JsonKind::Number {
        return None;
    }
    let number: f64 = value.raw().parse().ok()?;
    // The year 5138 in seconds is 1973 in milliseconds: no conversation with a model is older.
    for (limit, unit) in [(1e11, 1e6), (1e14, 1e3), (1e17, 1.0), (1e20, 1e-3)] {
        if (1.0..limit).contains(&number) {
            return Some((number * unit).round() as i64);
        }
    }
    None
}

/// The first message that was written at a time or later. A message that says no time can be as late as the next one that
/// says one, and the last ones can be late in any case.
pub fn first_since(messages: &[Message<'_>], since: i64) -> Option<usize> {
    let mut first = 0;
    for (index, message) in messages.iter().enumerate() {
        match of(message) {
            Some(time) if time >= since => return Some(first),
            Some(_) => first = index + 1,
            None => {}
        }
    }
    if first < messages.len() { Some(first) } else { None }
}

/// The time of the last message that says one.
pub fn last(messages: &[Message<'_>]) -> Option<i64> {
    messages.iter().rev().find_map(of)
}

/// Builds the patterns of this file.
#[cfg(any(test, feature = "tests"))]
pub fn patterns() -> Vec<&'static Regex> {
    vec![&*TIME]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::framing::read_for_test as read;

    #[test]
    fn times_are_read_and_printed() {
        let day = 20_413 * DAY;
        for (text, time) in [
            ("1970-01-01", 0),
            ("2025-11-21", day),
            ("2025-11-21T00:00:00Z", day),
            ("2025-11-21t01:30:00.25+01:30", day + SECOND / 4),
            ("2025-11-20 22:00:01,000001999-0200", day + SECOND + 1),
            ("2025-11-21T00:00", day),
            ("2024-02-29T23:59:60Z", 19_783 * DAY),
            ("1969-12-31T23:59:59Z", -SECOND),
            ("0001-01-01", -719_162 * DAY),
            ("9999-12-31", 2_932_896 * DAY),
        ] {
            assert_eq!(parse(text), Some(time), "{text}");
            assert_eq!(parse(&shown(time)), Some(time), "{text} is {}", shown(time));
        }
        assert_eq!(shown(day + 3_661 * SECOND), "2025-11-21T01:01:01Z");
        for text in ["", "1d", "2025-02-29", "2025-13-01", "2025-00-01", "2025-01-00", "2025-01-32", "2025-1-1"] {
            assert_eq!(parse(text), None, "{text}");
        }
        for text in ["2025-01-01T24:00:00Z", "2025-01-01T00:60:00Z", "2025-01-01T00:00:00+99:00", "٢٠٢٥-01-01"] {
            assert_eq!(parse(text), None, "{text}");
        }
    }

    #[test]
    fn days_follow_each_other() {
        for day in (-719_161..2_932_897_i64).step_by(7) {
            let (before, text) = (shown(day * DAY - DAY), shown(day * DAY));
            assert_eq!(parse(&text), Some(day * DAY), "{text}");
            assert!(before < text, "{before} {text}");
        }
    }

    #[test]
    fn times_stand_beside_the_content() {
        let text = "2025-11-21T00:00:00Z";
        for (message, time) in [
            (format!(r#"{{"role":"user","content":"x","timestamp":"{text}"}}"#), Some(20_413 * DAY)),
            (r#"{"role":"user","content":"x","createdAt":1763683200}"#.to_owned(), Some(20_413 * DAY)),
            (r#"{"role":"user","content":"x","created_at":1763683200000}"#.to_owned(), Some(20_413 * DAY)),
            (r#"{"role":"user","content":"x","ts":1763683200000}"#.to_owned(), Some(20_413 * DAY)),
            (r#"{"role":"user","content":"x","created_at":1763683200.5}"#.to_owned(), Some(20_413 * DAY + SECOND / 2)),
            (format!(r#"{{"role":"user","content":"x","metadata":{{"timestamp":"{text}"}}}}"#), Some(20_413 * DAY)),
            (r#"{"role":"user","content":"x","timestamp":0}"#.to_owned(), None),
            (r#"{"role":"user","content":"x","timestamp":"yesterday"}"#.to_owned(), None),
            (format!(r#"{{"role":"user","content":"timestamp: {text}"}}"#), None),
            (format!(r#"{{"role":"user","content":[{{"type":"text","text":"x","timestamp":"{text}"}}]}}"#), None),
            (r#"{"role":"user","content":"x","timestamp":1e400}"#.to_owned(), None),
        ] {
            let source = format!("[{message}]");
            let document = read(&source, None, None).expect("a transcript");
            assert_eq!(of(&document.transcripts[0].messages[0]), time, "{message}");
        }
    }

    #[test]
    fn a_message_without_a_time_is_as_late_as_the_next_one() {
        let at = |time: &i64| match time {
            0 => r#"{"role":"user","content":"x"}"#.to_owned(),
            time => format!(r#"{{"role":"user","content":"x","timestamp":{time}}}"#),
        };
        let cases = [
            ([10, 20, 30], 20, Some(1)),
            ([10, 0, 30], 20, Some(1)),
            ([0, 20, 30], 15, Some(0)),
            ([0, 20, 30], 25, Some(2)),
            ([10, 20, 0], 21, Some(2)),
            ([10, 20, 30], 31, None),
            ([0, 0, 10], 10, Some(0)),
            ([10, 30, 20], 25, Some(1)),
        ];
        for (times, since, first) in cases {
            let source = format!("[{}]", times.iter().map(at).collect::<Vec<_>>().join(","));
            let document = read(&source, None, None).expect("a transcript");
            assert_eq!(first_since(&document.transcripts[0].messages, since * SECOND), first, "{times:?}");
        }
    }
}

#[cfg(test)]
mod times_tests {
    use super::*;

    #[test]
    fn times_are_read_and_written_alike() {
        for (time, expected) in [
            ("1970-01-01T00:00:00.000Z", 0),
            ("2026-03-01T10:14:00.000Z", 1_772_360_040_000),
            ("2000-02-29T23:59:59.999Z", 951_868_799_999),
            ("1969-12-31T23:59:59.999Z", -1),
        ] {
            assert_eq!(milliseconds(time), Some(expected), "{time}");
            assert_eq!(in_utc(expected).as_deref(), Some(time));
        }
        for day in (-700_000..2_900_000).step_by(97) {
            let written = in_utc(day * (DAY / 1_000) + 1);
            assert!(written.is_none_or(|written| milliseconds(&written) == Some(day * (DAY / 1_000) + 1)), "{day}");
        }
        assert_eq!(milliseconds("2026-03-01T12:14:00+02:00"), milliseconds("2026-03-01T10:14:00Z"));
        assert_eq!(milliseconds("2026-03-01T08:44:00.1-01:30"), Some(1_772_360_040_100));
        for odd in ["t", "", "2026-03-01", "2026-13-01T10:14:00Z", "2026-03-01T10:14:00", "2026-03-01T10:14Z", "é-é"]
        {
            assert_eq!(milliseconds(odd), None, "{odd}");
        }
        assert_eq!((in_utc(i64::MAX), in_utc(i64::MIN)), (None, None));
    }
}
