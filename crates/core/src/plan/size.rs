//! The grammar of sizes: `messages:N`, `tokens:N`, `fraction:F`, `steps:N`, `turns:N`, `bytes:N`.

use std::fmt;
use std::str::FromStr;

use crate::diagnostic::{Diagnostic, abbreviated, nearest};
use crate::transcript::time;

/// The units of sizes.
const KINDS: [&str; 6] = ["messages", "tokens", "fraction", "steps", "turns", "bytes"];
/// The same, as sentences name them.
pub const SIZES: &str = "messages:N, tokens:N, fraction:F, steps:N, turns:N or bytes:N";
/// A number without a unit that is at least this is suggested as a number of tokens.
const TOKENS: u64 = 500;

/// The units of a time before the last message, in seconds.
const UNITS: [(char, i64); 4] = [('d', 86_400), ('h', 3_600), ('m', 60), ('s', 1)];

/// How much of a conversation.
///
/// ```
/// use tcompact_core::Size;
///
/// assert_eq!("tokens:170k".parse::<Size>().ok(), Some(Size::Tokens(170_000)));
/// assert_eq!(Size::Turns(3).to_string(), "turns:3");
/// assert!("tokens:none".parse::<Size>().is_err());
/// ```
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Size {
    /// A number of messages.
    Messages(u64),
    /// A number of tokens.
    Tokens(u64),
    /// A part of the context window; above 0, at most 1.
    Fraction(f64),
    /// A number of turns, each from a user message to before the next.
    Turns(u64),
    /// A number of steps: answers of the assistant, each with its calls and their results.
    ///
    /// Messages of the assistant that follow each other are one answer, and so are parallel calls. What the user says
    /// directly before an answer belongs to its step.
    Steps(u64),
    /// A number of bytes of the messages, as they stand in the file.
    Bytes(u64),
    /// Nothing. Only `--keep` takes this and the next ones; the grammar of sizes does not have them.
    Nothing,
    /// All from the message with this index on.
    From(usize),
    /// All from the first message on that was written at this time or later, in microseconds since 1970.
    Since(i64),
    /// The same for the time so many seconds before that of the last message.
    Last(i64),
}

impl Size {
    /// The size in tokens, where it can be: the number, or the part of the context window, rounded down, at least 1.
    pub fn in_tokens(self, context_window: Option<u64>) -> Option<u64> {
        match self {
            Size::Tokens(tokens) => Some(tokens),
            Size::Fraction(fraction) => Some(((context_window? as f64 * fraction) as u64).max(1)),
            _ => None,
        }
    }
}

impl fmt::Display for Size {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Size::Nothing => out.write_str("none"),
            Size::Messages(n) => write!(out, "messages:{n}"),
            Size::Tokens(n) => write!(out, "tokens:{n}"),
            Size::Fraction(fraction) => write!(out, "fraction:{fraction}"),
            Size::Turns(n) => write!(out, "turns:{n}"),
            Size::Steps(n) => write!(out, "steps:{n}"),
            Size::Bytes(n) => write!(out, "bytes:{n}"),
            Size::From(index) => write!(out, "from:{index}"),
            Size::Since(time) => write!(out, "since:{}", time::shown(time)),
            Size::Last(seconds) => {
                for (unit, length) in UNITS {
                    if seconds % length == 0 {
                        return write!(out, "since:{}{unit}", seconds / length);
                    }
                }
                Ok(())
            }
        }
    }
}

impl FromStr for Size {
    type Err = Diagnostic;

    fn from_str(text: &str) -> Result<Self, Diagnostic> {
        let Some((kind, value)) = text.split_once(':') else {
            return Err(Diagnostic::new(format!("a size is {SIZES}")).meant(meant_by(text)));
        };
        let wrong = match kind {
            "fraction" => match value.parse::<f64>() {
                Ok(fraction) if fraction > 0.0 && fraction <= 1.0 => return Ok(Size::Fraction(fraction)),
                _ => {
                    let why = format!(
                        "`{value}` is not a fraction: expected a number above 0 and at most 1, as in fraction:0.8"
                    );
                    Diagnostic::new(why).meant(of_percent(value))
                }
            },
            _ if KINDS.contains(&kind) => match whole(value) {
                Ok(number) => return Ok(of_kind(kind, number)),
                Err(why) => Diagnostic::new(why),
            },
            _ => {
                let what = format!("`{kind}` is not one of {}", KINDS.join(", "));
                let meant = nearest(kind, KINDS).or_else(|| abbreviated(kind, KINDS));
                return Err(Diagnostic::new(what).at(0..kind.len()).meant(meant));
            }
        };
        Err(wrong.at(kind.len() + 1..text.len()).example(format!("{kind}:{}", example(kind))))
    }
}

/// The size of a kind that counts something.
fn of_kind(kind: &str, number: u64) -> Size {
    match kind {
        "messages" => Size::Messages(number),
        "turns" => Size::Turns(number),
        "steps" => Size::Steps(number),
        "bytes" => Size::Bytes(number),
        _ => Size::Tokens(number),
    }
}

/// The size that a text without a colon probably means.
fn meant_by(text: &str) -> Option<String> {
    if let Some(size) = of_number(text).or_else(|| of_words(text)) {
        return Some(size);
    }
    let kind = nearest(text, KINDS)?;
    Some(format!("{kind}:{}", example(kind)))
}

/// Parses the value of `--keep`: a size, a number of messages, `none`, `from:INDEX` or `since:TIME`.
///
/// # Errors
/// It is none of these.
pub fn keep(text: &str) -> Result<Size, Diagnostic> {
    match text.split_once(':') {
        None if text == "0" => Err(no_size()),
        Some((kind, "0")) if KINDS.contains(&kind) => Err(no_size()),
        None if text == "none" => Ok(Size::Nothing),
        Some(("from", "last")) => Ok(Size::Messages(1)),
        Some(("from", index)) => match index.parse() {
            // `parse` alone would accept `+5`.
            Ok(number) if !index.starts_with('+') => Ok(Size::From(number)),
            _ => {
                let why = "expected the index of a message, as --dry-run prints it, or last";
                Err(Diagnostic::new(why).at("from:".len()..text.len()))
            }
        },
        Some(("since", time)) => {
            if let Some(seconds) = ago(time) {
                return Ok(Size::Last(seconds));
            }
            if let Some(time) = time::parse(time) {
                return Ok(Size::Since(time));
            }
            let why = "expected a time of RFC 3339 (2026-11-20T09:30:00Z), or 1d, 6h or 30m before the last message";
            Err(Diagnostic::new(why).at("since:".len()..text.len()))
        }
        None => whole(text).map(Size::Messages).or_else(|_| text.parse()),
        _ => text.parse(),
    }
}

/// The error of a size of 0.
fn no_size() -> Diagnostic {
    Diagnostic::new("0 is not a size; none keeps nothing").meant(Some("none"))
}

/// Parses the value of `--fit`: a size that the result can be measured by, or a number of tokens.
///
/// # Errors
/// It is neither.
pub fn fit(text: &str) -> Result<Size, Diagnostic> {
    const EXPECTED: &str = "expected tokens:N, fraction:F or bytes:N";
    match whole(text).map(Size::Tokens).or_else(|_| text.parse::<Size>()) {
        Ok(size @ (Size::Tokens(_) | Size::Fraction(_) | Size::Bytes(_))) => Ok(size),
        Ok(_) => Err(Diagnostic::new(EXPECTED).example("tokens:8k")),
        Err(diagnostic) if ["tokens:", "fraction:", "bytes:"].iter().any(|kind| text.starts_with(kind)) => {
            Err(diagnostic)
        }
        Err(diagnostic) => {
            let meant = diagnostic.corrected(text).filter(|meant| fit(meant).is_ok());
            Err(Diagnostic::new(EXPECTED).meant(meant).meant_whole("tokens:8k"))
        }
    }
}

/// Parses a size of `--trigger`. A number alone could be one of messages or of tokens.
///
/// # Errors
/// It is not a size.
pub fn trigger(text: &str) -> Result<Size, Diagnostic> {
    match whole(text) {
        Ok(_) => {
            let why = format!("a number alone is ambiguous here: messages:{text} or tokens:{text}");
            Err(Diagnostic::new(why).meant(of_number(text)))
        }
        Err(_) => text.parse(),
    }
}

/// The seconds of a time such as `1d`.
fn ago(text: &str) -> Option<i64> {
    for (unit, length) in UNITS {
        if let Some(number) = text.strip_suffix(unit) {
            // `parse` alone would accept `+5`.
            if number.starts_with('+') {
                return None;
            }
            return Some(i64::from(number.parse::<u32>().ok()?) * length);
        }
    }
    None
}

fn example(kind: &str) -> &'static str {
    match kind {
        "tokens" => "8k",
        "fraction" => "0.8",
        "turns" => "3",
        "bytes" => "1m",
        _ => "20",
    }
}

/// The size that a number without a unit probably means.
fn of_number(text: &str) -> Option<String> {
    match (whole(text), text.parse::<f64>()) {
        // Large numbers are rarely numbers of messages.
        (Ok(number), parsed) => {
            let kind = if number >= TOKENS || parsed.is_err() { "tokens" } else { "messages" };
            Some(format!("{kind}:{text}"))
        }
        (_, Ok(fraction)) if fraction > 0.0 && fraction < 1.0 => Some(format!("fraction:{fraction}")),
        _ => text.strip_suffix('%').and_then(of_percent).map(|fraction| format!("fraction:{fraction}")),
    }
}

/// The size that `tokens=4k` or `20 messages` means.
fn of_words(text: &str) -> Option<String> {
    let (one, other) = text.split_once(['=', ' '])?;
    of_kind_and_value(one, other).or_else(|| of_kind_and_value(other, one))
}

/// The size of a kind, as it may be spelled, and a value.
fn of_kind_and_value(kind: &str, value: &str) -> Option<String> {
    let size = format!("{}:{}", nearest(kind.trim(), KINDS)?, value.trim());
    if size.parse::<Size>().is_ok() { Some(size) } else { None }
}

/// The fraction that a percentage means.
fn of_percent(text: &str) -> Option<String> {
    // Without its sign, what is not much above 1 may be anything.
    let (digits, least) = match text.strip_suffix('%') {
        Some(digits) => (digits, 1.0),
        None => (text, 2.0),
    };
    let percent: f64 = digits.parse().ok()?;
    if (least..=100.0).contains(&percent) { Some((percent / 100.0).to_string()) } else { None }
}

/// Parses a whole number from 1 up, with `k` for thousands and `m` for millions.
///
/// # Errors
/// The text is not such a number.
pub fn whole(text: &str) -> Result<u64, String> {
    let (digits, unit) = match text.as_bytes().last() {
        Some(b'k' | b'K') => (&text[..text.len() - 1], 1_000),
        Some(b'm' | b'M') => (&text[..text.len() - 1], 1_000_000),
        _ => (text, 1),
    };
    // `parse` alone would accept `+5`.
    let number = if digits.starts_with('+') { None } else { digits.parse::<u64>().ok() };
    match number.and_then(|number| number.checked_mul(unit)) {
        Some(number @ 1..) => Ok(number),
        _ => Err(format!("`{text}` is not a whole number from 1 up (k and m are thousands and millions, as in 170k)")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_read_and_print_the_same() {
        for (text, size, printed) in [
            ("messages:20", Size::Messages(20), "messages:20"),
            ("tokens:170k", Size::Tokens(170_000), "tokens:170000"),
            ("tokens:2m", Size::Tokens(2_000_000), "tokens:2000000"),
            ("fraction:0.85", Size::Fraction(0.85), "fraction:0.85"),
            ("fraction:1", Size::Fraction(1.0), "fraction:1"),
            ("turns:3", Size::Turns(3), "turns:3"),
            ("steps:20", Size::Steps(20), "steps:20"),
            ("bytes:200k", Size::Bytes(200_000), "bytes:200000"),
        ] {
            assert_eq!(text.parse(), Ok(size));
            assert_eq!(size.to_string(), printed);
            assert_eq!(printed.parse(), Ok(size));
        }
    }

    #[test]
    fn an_invalid_size_says_why() {
        for (text, why) in [
            ("tokens:-1", "not a whole number"),
            ("tokens:0", "not a whole number"),
            ("tokens:+5", "not a whole number"),
            ("tokens:1.5k", "not a whole number"),
            ("tokens:99999999999999999999", "not a whole number"),
            ("tokens:99999999999999m", "not a whole number"),
            ("tokens:k", "not a whole number"),
            ("fraction:1.5", "not a fraction"),
            ("fraction:0", "not a fraction"),
            ("fraction:nan", "not a fraction"),
            ("bogus:3", "not one of messages, tokens"),
            ("20", "a size is messages:N"),
            ("messages:é", "not a whole number"),
        ] {
            let error = text.parse::<Size>().expect_err(text);
            assert!(error.to_string().contains(why), "{text}: {error}");
        }
    }

    #[test]
    fn an_invalid_size_suggests_the_probable_one() {
        for (text, meant) in [
            ("token:3", Some("tokens:3")),
            ("fraction:80", Some("fraction:0.8")),
            ("fraction:85%", Some("fraction:0.85")),
            ("20", Some("messages:20")),
            ("499", Some("messages:499")),
            ("500", Some("tokens:500")),
            ("20k", Some("tokens:20k")),
            ("0.8", Some("fraction:0.8")),
            ("80%", Some("fraction:0.8")),
            ("tokens=4k", Some("tokens:4k")),
            ("token=4k", Some("tokens:4k")),
            ("20 messages", Some("messages:20")),
            ("tokens=x", Some("tokens:8k")),
            ("-20", None),
            ("turn", Some("turns:3")),
            ("step", Some("steps:20")),
            ("step:4", Some("steps:4")),
            ("byte:4k", Some("bytes:4k")),
            ("20 steps", Some("steps:20")),
            ("bogus:3", None),
            ("msgs:10", Some("messages:10")),
            ("fraction:1.5", Some("fraction:0.8")),
            ("tokens:-1", Some("tokens:8k")),
        ] {
            assert_eq!(text.parse::<Size>().expect_err(text).corrected(text).as_deref(), meant);
        }
    }

    #[test]
    fn a_bare_number_has_the_usual_unit_of_its_flag() {
        for (text, kept, fits) in [
            ("20", Size::Messages(20), Size::Tokens(20)),
            ("50k", Size::Messages(50_000), Size::Tokens(50_000)),
            ("2M", Size::Messages(2_000_000), Size::Tokens(2_000_000)),
        ] {
            assert_eq!((keep(text), fit(text)), (Ok(kept), Ok(fits)), "{text}");
            let error = trigger(text).expect_err(text).to_string();
            assert!(error.contains(&format!("messages:{text} or tokens:{text}")), "{error}");
        }
        for text in ["0", "-20", "+5", "1.5", "", "20 ", "99999999999999m"] {
            assert!(keep(text).is_err() && fit(text).is_err() && trigger(text).is_err(), "{text}");
        }
        for text in ["messages:20", "steps:20", "turns:3", "none", "from:3"] {
            assert!(fit(text).is_err(), "{text}");
        }
    }

    #[test]
    fn a_fraction_is_of_the_window_and_at_least_one() {
        assert_eq!(Size::Fraction(0.85).in_tokens(Some(128_000)), Some(108_800));
        assert_eq!(Size::Fraction(0.001).in_tokens(Some(10)), Some(1));
        assert_eq!(Size::Fraction(0.5).in_tokens(None), None);
    }
}
