//! The regular expressions of the program.

use regex::{Regex, bytes};

/// Builds a pattern of ours. One that does not compile is a bug, and code that masks or checks must not go on without
/// it.
pub fn pattern(text: &str) -> Regex {
    Regex::new(text).expect("a pattern of the program")
}

/// The most memory for the states of a pattern of many alternatives; with the default, its states are forgotten all the
/// time.
const MOST_STATES: usize = 1 << 25;

/// Builds a pattern of ours that reads bytes, in ASCII alone unless it says otherwise: it is smaller, and finds faster.
pub fn ascii_pattern(text: &str) -> bytes::Regex {
    let built = bytes::RegexBuilder::new(&format!("(?-u){text}")).dfa_size_limit(MOST_STATES).build();
    built.expect("a pattern of the program")
}
