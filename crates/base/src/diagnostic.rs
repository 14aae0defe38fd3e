//! What is wrong with a text, where in it, what the user probably meant, and what to try after an error. The advice is
//! data: the command line completes a command with the flags and files that were typed.

use std::fmt;
use std::ops::Range;

use regex::{Regex, RegexBuilder};
use unicode_width::UnicodeWidthChar;

use crate::sanitize::is_control;

/// The similarity from which on a word counts as a misspelling of another, by Jaro and Winkler.
const NEAR: f64 = 0.8;
/// The columns of a text that are shown.
const SHOWN: usize = 72;
/// The columns of those before the error.
const BEFORE: usize = 24;

/// What is wrong with a text.
#[derive(Debug, Clone, PartialEq, Eq)]
#[must_use]
pub struct Diagnostic {
    what: String,
    at: Option<Range<usize>>,
    meant: Option<String>,
    /// A text that would work instead, if it is not known what the user meant.
    example: Option<String>,
}

impl Diagnostic {
    /// The diagnostic that a text as a whole is wrong, and why.
    pub fn new(what: impl Into<String>) -> Self {
        Diagnostic { what: what.into(), at: None, meant: None, example: None }
    }

    /// Sets the bytes that are wrong.
    pub fn at(self, bytes: Range<usize>) -> Self {
        Diagnostic { at: Some(bytes), ..self }
    }

    /// Sets what was probably meant in place of the wrong bytes, if that is known.
    pub fn meant(self, meant: Option<impl Into<String>>) -> Self {
        Diagnostic { meant: meant.map(Into::into), ..self }
    }

    /// Sets a text that would work instead of the whole.
    pub fn example(self, example: impl Into<String>) -> Self {
        Diagnostic { example: Some(example.into()), ..self }
    }

    /// Sets a text that would work instead of the whole, unless something better is known.
    pub fn meant_whole(self, example: impl Into<String>) -> Self {
        if self.meant.is_some() { self } else { self.example(example) }
    }

    /// Moves the diagnostic to another text, which has the diagnosed part of `length` bytes at `start`.
    pub fn in_part(self, start: usize, length: usize) -> Self {
        let at = self.at.unwrap_or(0..length);
        // An example for the part is none for the whole.
        Diagnostic { at: Some(at.start + start..at.end + start), example: None, ..self }
    }

    fn range(&self, text: &str) -> Range<usize> {
        let at = self.at.clone().unwrap_or(0..text.len());
        if text.get(at.clone()).is_some() { at } else { 0..text.len() }
    }

    /// The text as it was probably meant, or else one that would work instead, if either is known.
    pub fn corrected(&self, text: &str) -> Option<String> {
        let Some(meant) = &self.meant else { return self.example.clone() };
        let Range { start, end } = self.range(text);
        Some([&text[..start], meant, &text[end..]].concat())
    }

    /// The text, and a line with carets under the error and what was probably meant. Cuts a long text around
    /// the error.
    pub fn draw(&self, text: &str) -> [String; 2] {
        let Range { start, end } = self.range(text);
        let mut left = BEFORE;
        let mut first = start;
        for (at, c) in text[..start].char_indices().rev() {
            if left < columns_of_char(c) && columns_of(text) > SHOWN {
                break;
            }
            left = left.saturating_sub(columns_of_char(c));
            first = at;
        }
        let head = if first > 0 { "…" } else { "" };
        let mut shown = head.to_owned();
        let mut columns = 0;
        for c in text[first..].chars() {
            columns += columns_of_char(c);
            if columns > SHOWN {
                break;
            }
            shown.push(if is_control(c) { ' ' } else { c });
        }
        if first + (shown.len() - head.len()) < text.len() {
            shown.push('…');
        }
        let before = columns_of(&text[first..start]) + head.chars().count();
        let carets = columns_of(&text[start..end]).clamp(1, SHOWN.saturating_sub(before).max(1));
        let hint = match &self.meant {
            Some(meant) => format!(" did you mean '{meant}'?"),
            None => String::new(),
        };
        [format!("  {shown}"), format!("  {}{}{hint}", " ".repeat(before), "^".repeat(carets))]
    }
}

/// The columns that a text takes where controls are shown as spaces.
fn columns_of(text: &str) -> usize {
    text.chars().map(columns_of_char).sum()
}

fn columns_of_char(c: char) -> usize {
    if is_control(c) { 1 } else { c.width().unwrap_or(1) }
}

impl fmt::Display for Diagnostic {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(&self.what)
    }
}

impl std::error::Error for Diagnostic {}

/// The name that a word probably misspells.
pub fn nearest<'n>(word: &str, names: impl IntoIterator<Item = &'n str>) -> Option<&'n str> {
    let word = word.to_lowercase();
    let mut best = None;
    let mut best_score = NEAR;
    for name in names {
        let score = strsim::jaro_winkler(&word, name);
        // Of names that are equally near, the last counts.
        if score > NEAR && score >= best_score {
            best = Some(name);
            best_score = score;
        }
    }
    best
}

/// The only name that a word abbreviates: both begin alike, and the name has the word's letters in their order.
pub fn abbreviated<'n>(word: &str, names: impl IntoIterator<Item = &'n str>) -> Option<&'n str> {
    const SHORTEST: usize = 3;
    if !word.is_ascii() || word.len() < SHORTEST {
        return None;
    }
    let mut found = None;
    for name in names {
        if !abbreviates(word, name) {
            continue;
        }
        if found.is_some() {
            return None;
        }
        found = Some(name);
    }
    found
}

/// Whether a name begins like an ASCII word, and has its letters in their order.
fn abbreviates(word: &str, name: &str) -> bool {
    let mut letters = name.chars();
    name.starts_with(&word[..1]) && word.chars().all(|c| letters.any(|letter| letter == c))
}

/// Builds a pattern that the user typed, as `build` wants it. An error points to its place.
///
/// # Errors
/// It is not a regular expression.
pub fn typed_pattern(text: &str, build: impl Fn(&mut RegexBuilder) -> &mut RegexBuilder) -> Result<Regex, Diagnostic> {
    build(&mut RegexBuilder::new(text)).build().map_err(|error| pattern_diagnostic(text, &error))
}

/// The diagnostic of a pattern that the library refuses.
fn pattern_diagnostic(text: &str, error: &regex::Error) -> Diagnostic {
    // The last line of the library's message says what is wrong, and one before it has carets under the place.
    let message = error.to_string();
    let what = message.lines().last().unwrap_or_default().trim().trim_start_matches("error: ");
    let diagnostic = Diagnostic::new(format!("`{text}` is not a regular expression: {what}"));
    let example = regex::escape(text);
    // Of a pattern of several lines, the columns of the library are not those of the text.
    if !text.contains('\n')
        && let Some(line) = message.lines().find(|line| is_caret_line(line))
        && let Some(carets) = line.get(INDENT..)
    {
        let first = carets.find('^').unwrap_or_default();
        let wrong = byte_of_column(text, first)..byte_of_column(text, carets.len());
        return diagnostic.at(wrong).example(example);
    }
    diagnostic.example(example)
}

/// Whether a line has carets, and nothing else but spaces.
fn is_caret_line(line: &str) -> bool {
    line.contains('^') && line.chars().all(|c| matches!(c, ' ' | '^'))
}

/// The place of the character in a column of a text of one line.
fn byte_of_column(text: &str, column: usize) -> usize {
    match text.char_indices().nth(column) {
        Some((at, _)) => at,
        None => text.len(),
    }
}

/// How far the library's message indents a pattern and the carets under it.
const INDENT: usize = 4;

/// Quotes a word for a shell. Only some shells know how to write control characters.
pub fn quoted(word: &str) -> String {
    if word.chars().any(is_control) {
        return quoted_with_escapes(word);
    }
    if !word.is_empty() && word.chars().all(is_plain_in_shell) {
        return word.to_owned();
    }
    format!("'{}'", word.replace('\'', r"'\''"))
}

/// Whether a shell takes a character as it is.
fn is_plain_in_shell(c: char) -> bool {
    c.is_alphanumeric() || "-_=:,./%+@".contains(c)
}

/// Quotes a word with control characters, each byte of which has an octal number.
fn quoted_with_escapes(word: &str) -> String {
    let mut quoted = "$'".to_owned();
    for byte in word.bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'/' | b'.' | b'-' | b'_' | b' ' => quoted.push(char::from(byte)),
            byte => quoted.push_str(&format!("\\{byte:03o}")),
        }
    }
    quoted.push('\'');
    quoted
}

/// The name of the program.
pub const PROGRAM: &str = "tcompact";

/// What to try after an error.
#[derive(Debug, Clone, PartialEq, Eq)]
#[must_use]
pub enum Advice {
    /// The command that failed, changed.
    Command {
        /// A variable to set for the command, `NAME=value`; nothing otherwise.
        variable: Option<String>,
        /// An input that the command goes without, or in whose place `words` stand; nothing otherwise.
        without: Option<String>,
        /// What the command needs: flags, their values, files.
        words: Vec<String>,
        /// What the command is for, and what else may help.
        note: Option<&'static str>,
    },
    /// A line that is not a command of tcompact.
    Line(String),
}

impl Advice {
    /// The advice to try the command with these words: flags, their values, files.
    pub fn command<W: Into<String>>(words: impl IntoIterator<Item = W>) -> Self {
        let words = words.into_iter().map(Into::into).collect();
        Advice::Command { variable: None, without: None, words, note: None }
    }

    /// The advice to set a variable for the command, `NAME=value`.
    pub fn variable(variable: String) -> Self {
        Advice::Command { variable: Some(variable), without: None, words: Vec::new(), note: None }
    }

    /// The advice to try the command without an input.
    pub fn without(input: String) -> Self {
        Advice::Command { variable: None, without: Some(input), words: Vec::new(), note: None }
    }

    /// The advice to try the command with another word in the place of an input.
    pub fn instead(input: String, word: String) -> Self {
        Advice::Command { variable: None, without: Some(input), words: vec![word], note: None }
    }

    /// Adds what a command is for.
    pub fn note(mut self, what: &'static str) -> Self {
        if let Advice::Command { note, .. } = &mut self {
            *note = Some(what);
        }
        self
    }

    /// The lines that show it. A note has its own, since whoever pastes a command pastes its line.
    pub fn lines(&self) -> Vec<String> {
        match self {
            Advice::Command { variable, words, note, .. } => {
                let line = [variable.as_deref().unwrap_or_default(), PROGRAM, &joined(words)].join(" ");
                let mut lines = vec![format!("try: {}", line.trim())];
                if let Some(note) = note {
                    lines.push(format!("  {note}"));
                }
                lines
            }
            Advice::Line(line) => vec![format!("try: {line}")],
        }
    }
}

/// Words as a shell takes them.
pub fn joined(words: &[String]) -> String {
    words.iter().map(|word| quoted(word)).collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn carets_stand_under_what_is_wrong() {
        let diagnostic = Diagnostic::new("wrong").at(0..5).meant(Some("tokens"));
        assert_eq!(diagnostic.draw("token:4k"), ["  token:4k", "  ^^^^^ did you mean 'tokens'?"]);
        assert_eq!(diagnostic.corrected("token:4k").as_deref(), Some("tokens:4k"));
        let part = diagnostic.in_part(11, 8);
        assert_eq!(part.draw("messages:9,token:4k")[1], "             ^^^^^ did you mean 'tokens'?");
        assert_eq!(part.corrected("messages:9,token:4k").as_deref(), Some("messages:9,tokens:4k"));
        assert_eq!(Diagnostic::new("wrong").draw("日本"), ["  日本", "  ^^^^"]);
        assert_eq!(Diagnostic::new("wrong").draw(""), ["  ", "  ^"]);
        assert_eq!(Diagnostic::new("wrong").at(3..9).draw("日本"), ["  日本", "  ^^^^"], "no such place");
        assert_eq!(Diagnostic::new("wrong").corrected("a"), None);
        assert_eq!(Diagnostic::new("wrong").example("b").corrected("a").as_deref(), Some("b"));
    }

    #[test]
    fn of_a_long_text_the_part_around_is_shown() {
        let text = format!("{}X{}", "a".repeat(500), "b".repeat(500));
        let [shown, carets] = Diagnostic::new("wrong").at(500..501).draw(&text);
        assert_eq!(shown.chars().position(|c| c == 'X'), carets.find('^'));
        assert!(shown.chars().count() < 80 && shown.contains('…') && shown.ends_with('…'), "{shown}");
        let [shown, carets] = Diagnostic::new("wrong").draw(&"a\n".repeat(500));
        assert!(shown.chars().count() < 80 && carets.len() < 80 && !shown.contains('\n'), "{shown}{carets}");
    }

    #[test]
    fn an_abbreviation_has_one_meaning() {
        let names = ["messages", "tokens", "turns", "arguments"];
        for (word, name) in [
            ("msgs", Some("messages")),
            ("args", Some("arguments")),
            ("ts", None),
            ("tns", None),
            ("gus", None),
            ("é", None),
        ] {
            assert_eq!(abbreviated(word, names), name, "{word}");
        }
    }

    #[test]
    fn near_names_and_words_for_a_shell() {
        assert_eq!(nearest("Mesages", ["messages", "tokens"]), Some("messages"));
        assert_eq!(nearest("bogus", ["messages", "tokens"]), None);
        assert_eq!(quoted("tokens:4k"), "tokens:4k");
        assert_eq!(quoted("match:a b'c"), r"'match:a b'\''c'");
    }

    #[test]
    fn an_error_in_a_pattern_points_to_its_place() {
        for (text, at) in [
            ("(a", "^"),
            ("ab[z-", "  ^"),
            ("日本(?<x", "        ^"),
            ("日本[z-a]", "     ^^^"),
            ("a\n(b", "^^^^"),
            (r"\p{Nothing}", "^^^^^^^^^^^"),
        ] {
            let wrong = typed_pattern(text, |builder| builder).expect_err(text);
            assert_eq!(wrong.draw(text)[1].strip_prefix("  "), Some(at), "{text}: {wrong}");
            assert!(wrong.corrected(text).is_some_and(|example| Regex::new(&example).is_ok()), "{text}");
        }
        assert!(typed_pattern("x{1000}{1000}{1000}", |builder| builder).is_err(), "it is too large");
    }
}
