//! The regular expressions of the program.

use regex::{Regex, RegexBuilder, bytes};

use crate::diagnostic::Diagnostic;

/// Builds a pattern of ours. One that does not compile is a bug, and code that masks or checks must not go on without
/// it.
pub(crate) fn pattern(text: &str) -> Regex {
    Regex::new(text).expect("a pattern of the program")
}

/// Builds a pattern that the user typed, as `build` wants it. An error points to its place.
///
/// # Errors
/// It is not a regular expression.
pub(crate) fn typed(text: &str, build: impl Fn(&mut RegexBuilder) -> &mut RegexBuilder) -> Result<Regex, Diagnostic> {
    build(&mut RegexBuilder::new(text)).build().map_err(|error| {
        // The last line of the library's message says what is wrong, and one before it has carets under the place.
        let message = error.to_string();
        let what = message.lines().last().unwrap_or_default().trim().trim_start_matches("error: ");
        let diagnostic = Diagnostic::new(format!("`{text}` is not a regular expression: {what}"));
        let is_caret_line = |line: &&str| line.contains('^') && line.chars().all(|c| matches!(c, ' ' | '^'));
        let carets = message.lines().find(is_caret_line).and_then(|line| line.get(INDENT..));
        let Some(carets) = carets.filter(|_| !text.contains('\n')) else {
            return diagnostic.example(regex::escape(text));
        };
        let place = |column: usize| text.char_indices().nth(column).map_or(text.len(), |(at, _)| at);
        let first = carets.find('^').unwrap_or_default();
        diagnostic.at(place(first)..place(carets.len())).example(regex::escape(text))
    })
}

/// How far the library's message indents a pattern and the carets under it.
const INDENT: usize = 4;

/// The most memory for the states of a pattern of many alternatives; with the default, its states are forgotten all the
/// time.
const MOST_STATES: usize = 1 << 25;

/// Builds a pattern of ours that reads bytes, in ASCII alone unless it says otherwise: it is smaller, and finds faster.
pub(crate) fn ascii_pattern(text: &str) -> bytes::Regex {
    let built = bytes::RegexBuilder::new(&format!("(?-u){text}")).dfa_size_limit(MOST_STATES).build();
    built.expect("a pattern of the program")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_error_in_a_pattern_points_to_its_place() {
        for (text, at) in [
            ("(a", "^"),
            ("ab[z-", "  ^"),
            ("日本(?<x", "    ^^^^"),
            ("a{2,1}", " ^^^^^"),
            ("a\n(b", "^^^^"),
            (r"\p{Nothing}", "^^^^^^^^^^^"),
        ] {
            let wrong = typed(text, |builder| builder).expect_err(text);
            assert_eq!(wrong.draw(text)[1].strip_prefix("  "), Some(at), "{text}: {wrong}");
            assert!(wrong.corrected(text).is_some_and(|example| Regex::new(&example).is_ok()), "{text}");
        }
        assert!(typed("x{1000}{1000}{1000}", |builder| builder).is_err(), "it is too large");
    }
}
