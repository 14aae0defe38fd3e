//! The regular expressions of the program.

use regex::Regex;

/// Builds a pattern of ours. One that does not compile is a bug, and code that masks or checks must not go on without
/// it.
pub(crate) fn pattern(text: &str) -> Regex {
    Regex::new(text).expect("a pattern of the program")
}
