//! Reads the values of names that have no quotes: where they end, and how sure their place is.

use std::sync::LazyLock;

use regex::Regex;

use crate::assignments::{Assignment, is_line_start};
use crate::extents::{LONGEST_NAME, ValueStart, is_delimiter, skip_spaces};
use crate::names::{self, NameClass};
use crate::operators::Operator;
use crate::pattern::pattern;
use crate::values::ValuePlace;
use crate::{SecretSpan, elements};

/// Values of several words that need no quotes: a password in groups of four letters, and the words of a wallet.
static GROUPS: LazyLock<Regex> = LazyLock::new(|| {
    pattern("^([a-z]{4}(?:[ -][a-z]{4}){3}|[a-z]{3,8}(?: [a-z]{3,8}){11,23})[ \\t]{0,16}(?:[^a-zA-Z \\t]|$)")
});

/// What precedes a variable or a flag.
const EXPORTS: [&str; 9] = ["--", "export ", "set ", "setx ", "-e ", "--env ", "ENV ", "ARG ", "env "];

impl Assignment<'_> {
    /// The value without quotes, if it is secret.
    pub(super) fn bare(&self) -> Option<SecretSpan> {
        // `PASS: …` is the output of a passing test.
        if self.operator == Operator::Colon && self.label == "PASS" {
            return None;
        }
        let ValueStart { text, start, .. } = self.value;
        let is_setting = self.is_setting();
        let is_connection = self.is_connection();
        let begins_tag = text.as_bytes().get(start) == Some(&b'<');
        let is_property = self.is_line_start() && !self.value.line().contains(['=', ' ']);
        // In the address of a page, `&amp;` begins the next parameter.
        let is_parameter = ["?", "&", "&amp;"].iter().any(|mark| text[..self.name].ends_with(mark));
        let end = self.value.bare_end(is_parameter, |byte| match byte {
            b' ' => !is_connection,
            b'<' => !is_setting && !begins_tag,
            b'>' => !is_setting,
            // These end a value in a URL, a form, a connection string or a command, but not in a sentence.
            b'&' | b'|' if is_connection => false,
            b';' | b'&' | b'|' => !is_setting && self.operator != Operator::Colon && !is_property,
            _ => is_delimiter(byte),
        });
        let end = if is_setting { elements::before_tag(text, start..end) } else { end };
        let mut value = text.get(start..end)?;
        if text[..start].ends_with("%3D") || text[..start].ends_with("%3d") {
            value = &value[..value.find("%26").unwrap_or(value.len())];
        }
        let punctuation = if is_setting { &[',', ';'][..] } else { &['.', ',', ':', ';', ')', ']', '}'] };
        let mut last = value.trim_end_matches(punctuation).len();
        // A bracket that the value opens belongs to it.
        for (open, close) in [('(', ')'), ('[', ']'), ('{', '}')] {
            if value[..last].contains(open) {
                last += usize::from(value[last..].starts_with(close));
                break;
            }
        }
        let place = self.place(start + last);
        self.verdict(start..start + last, place)
    }

    /// Where an unquoted value stands that ends at `end`.
    pub(super) fn place(&self, end: usize) -> ValuePlace {
        let bytes = self.value.text.as_bytes();
        let is_in_form = matches!(bytes[..self.name].last(), Some(b'?' | b'&' | b';' | b'<'))
            || matches!(bytes.get(end), Some(b'&' | b';'));
        if self.is_setting() {
            ValuePlace::Setting
        } else if matches!(self.operator, Operator::Tight | Operator::Element) && is_in_form {
            ValuePlace::Form
        } else if matches!(self.operator, Operator::Colon | Operator::Tight | Operator::Element) && self.is_alone(end) {
            ValuePlace::Line
        } else {
            ValuePlace::Anywhere
        }
    }

    /// The rest of the line, if it is a value of several words: behind a command that sets a variable, and in YAML.
    pub(super) fn words(&self) -> Option<SecretSpan> {
        let is_line = match self.operator {
            Operator::Command => true,
            Operator::Colon => self.is_line_start() && !self.is_setting() && !self.quoted_name,
            _ => false,
        };
        if self.class != NameClass::Password {
            return None;
        }
        let line = self.value.line();
        // An object or a list has values of its own.
        if line.starts_with(['{', '[']) {
            return None;
        }
        if !is_line {
            let groups = GROUPS.captures(line).and_then(|captures| captures.get(1))?;
            return self.verdict(self.value.start..self.value.start + groups.end(), ValuePlace::Quotes);
        }
        let ends = [" #", " //", " &&", " ||", " | ", "; ", "\\n"];
        let end = ends.iter().filter_map(|end| line.find(end)).chain(end_of_string(line)).min();
        let value = line[..end.unwrap_or(line.len())].trim_end();
        let range = self.value.start..self.value.start + value.len();
        if value.contains(' ') { self.verdict(range, ValuePlace::Quotes) } else { None }
    }

    /// Whether the value is that of an environment variable or a flag, so that it is not code.
    fn is_setting(&self) -> bool {
        let is_variable = names::is_environment(self.label);
        let before = &self.value.text[..self.name];
        match self.operator {
            Operator::Tight => is_variable || EXPORTS.iter().any(|word| before.ends_with(word)),
            Operator::Colon => is_variable && self.is_line_start(),
            Operator::Make => is_variable,
            Operator::Command => true,
            _ => false,
        }
    }

    /// Whether it is part of a connection string, `Password=…;`, whose values may have spaces.
    fn is_connection(&self) -> bool {
        let mut rest = self.value.text.as_bytes()[self.value.start..].iter().take(LONGEST_NAME);
        let end = rest.find(|byte| matches!(byte, b';' | b'=' | b'\\') || (**byte != b' ' && is_delimiter(**byte)));
        let is_capital = self.label.starts_with(|c: char| c.is_ascii_uppercase()) && !names::is_environment(self.label);
        self.operator == Operator::Tight && is_capital && end == Some(&b';')
    }

    /// Whether nothing else is on the line of a value that ends at `end`.
    pub(super) fn is_alone(&self, end: usize) -> bool {
        let bytes = self.value.text.as_bytes();
        let behind = &bytes[skip_spaces(bytes, end)..];
        let is_end =
            matches!(behind, [] | [b'\n' | b'\r' | b'"' | b'\'' | b'`' | b'#', ..] | [b'\\', b'n' | b'r' | b'"', ..]);
        is_end && self.is_line_start()
    }

    /// Whether the name is the first on its line, except for marks of items and changes.
    fn is_line_start(&self) -> bool {
        is_line_start(&self.value.text.as_bytes()[..self.name])
    }
}

/// Where a string of JSON ends that the line may be in.
fn end_of_string(line: &str) -> Option<usize> {
    for (at, _) in line.match_indices('"') {
        let rest = line[at + 1..].trim_start();
        if rest.is_empty() || rest.starts_with([',', '}', ']', ':']) {
            return Some(line[..at].trim_end_matches('\\').len());
        }
    }
    None
}

/// Builds the patterns of this file.
#[cfg(any(test, feature = "tests"))]
pub(crate) fn patterns() -> Vec<&'static Regex> {
    vec![&*GROUPS]
}
