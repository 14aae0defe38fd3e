//! One grammar for sizes: `messages:N`, `tokens:N`, `fraction:F`, `turns:N`.

use std::fmt;
use std::str::FromStr;

/// How much of a conversation.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Size {
    /// So many messages.
    Messages(u64),
    /// So many tokens.
    Tokens(u64),
    /// This part of the context window; above 0, at most 1.
    Fraction(f64),
    /// So many turns, each from a user message to before the next.
    Turns(u64),
}

impl Size {
    /// A number of tokens, where the size is one: itself, or the part of the context window, rounded down, at least 1.
    pub fn in_tokens(self, context_window: Option<u64>) -> Option<u64> {
        match self {
            Size::Tokens(tokens) => Some(tokens),
            Size::Fraction(fraction) => Some(((context_window? as f64 * fraction) as u64).max(1)),
            Size::Messages(_) | Size::Turns(_) => None,
        }
    }
}

impl fmt::Display for Size {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Size::Messages(n) => write!(out, "messages:{n}"),
            Size::Tokens(n) => write!(out, "tokens:{n}"),
            Size::Fraction(fraction) => write!(out, "fraction:{fraction}"),
            Size::Turns(n) => write!(out, "turns:{n}"),
        }
    }
}

impl FromStr for Size {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        const KINDS: [&str; 4] = ["messages", "tokens", "fraction", "turns"];
        let Some((kind, value)) = text.split_once(':') else {
            return Err("a size is messages:N, tokens:N, fraction:F or turns:N".to_owned());
        };
        match kind {
            "messages" => whole(value).map(Size::Messages),
            "tokens" => whole(value).map(Size::Tokens),
            "turns" => whole(value).map(Size::Turns),
            "fraction" => match value.parse::<f64>() {
                Ok(fraction) if fraction > 0.0 && fraction <= 1.0 => Ok(Size::Fraction(fraction)),
                _ => Err(format!("`{value}` is no fraction: a number above 0 and at most 1, as in fraction:0.8")),
            },
            _ => {
                let near = KINDS
                    .iter()
                    .copied()
                    .max_by(|a, b| strsim::jaro_winkler(kind, a).total_cmp(&strsim::jaro_winkler(kind, b)));
                let hint = near.filter(|near| strsim::jaro_winkler(kind, near) > 0.8);
                let hint = hint.map(|near| format!("; did you mean {near}:{value}?")).unwrap_or_default();
                Err(format!("`{kind}` is none of messages, tokens, fraction, turns{hint}"))
            }
        }
    }
}

/// A whole number from 1 on, with `k` for thousands and `m` for millions.
///
/// # Errors
/// What the text is instead.
pub(crate) fn whole(text: &str) -> Result<u64, String> {
    let (digits, unit) = match text.as_bytes().last() {
        Some(b'k' | b'K') => (&text[..text.len() - 1], 1_000),
        Some(b'm' | b'M') => (&text[..text.len() - 1], 1_000_000),
        _ => (text, 1),
    };
    // `parse` alone would take `+5`.
    let number = digits.bytes().all(|byte| byte.is_ascii_digit()).then(|| digits.parse::<u64>().ok()).flatten();
    match number.and_then(|number| number.checked_mul(unit)) {
        Some(number @ 1..) => Ok(number),
        _ => Err(format!("`{text}` is no whole number from 1 on (k and m are thousands and millions, as in 170k)")),
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
        ] {
            assert_eq!(text.parse(), Ok(size));
            assert_eq!(size.to_string(), printed);
            assert_eq!(printed.parse(), Ok(size));
        }
    }

    #[test]
    fn what_is_no_size_says_why() {
        for (text, why) in [
            ("tokens:-1", "no whole number"),
            ("tokens:0", "no whole number"),
            ("tokens:+5", "no whole number"),
            ("tokens:1.5k", "no whole number"),
            ("tokens:99999999999999999999", "no whole number"),
            ("tokens:99999999999999m", "no whole number"),
            ("tokens:k", "no whole number"),
            ("fraction:1.5", "no fraction"),
            ("fraction:0", "no fraction"),
            ("fraction:nan", "no fraction"),
            ("bogus:3", "none of messages, tokens"),
            ("token:3", "did you mean tokens:3?"),
            ("20", "a size is messages:N"),
            ("messages:é", "no whole number"),
        ] {
            let error = text.parse::<Size>().expect_err(text);
            assert!(error.contains(why), "{text}: {error}");
        }
    }

    #[test]
    fn a_fraction_is_of_the_window_and_at_least_one() {
        assert_eq!(Size::Fraction(0.85).in_tokens(Some(128_000)), Some(108_800));
        assert_eq!(Size::Fraction(0.001).in_tokens(Some(10)), Some(1));
        assert_eq!(Size::Fraction(0.5).in_tokens(None), None);
    }
}
