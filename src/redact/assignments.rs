//! Finds secrets by the name before them: `.env` lines, assignments in code, YAML, JSON and XML, command flags,
//! headers.
//!
//! There is one scanner for all of them: the names of secrets, the operator behind each, and the value. Whether the
//! value is secret depends on the name, the operator and the place.

use std::ops::Range;
use std::sync::LazyLock;

use regex::Regex;

use crate::pattern::pattern;
use crate::redact::kinds::{ENV_SECRET, PASSWORD, SECRET};
use crate::redact::names::{self, NameClass};
use crate::redact::operators::{
    Assignment, LONGEST_LABEL, LONGEST_NAME, Operator, assignment, name_around, placeholder_at, skip_spaces,
};
use crate::redact::{SecretSpan, headers, is_delimiter, values};

/// Matches a part of every name for a secret.
static NAMES: LazyLock<Regex> = LazyLock::new(|| {
    pattern("(?i-u:pass|pwd|secret|token|key|credential|auth|cookie|bearer|_pw|_pat|_pin|salt|dsn|value)")
});

/// The name of the member called `value` that follows.
static NAME_BEFORE: LazyLock<Regex> = LazyLock::new(|| {
    let other = r#"(?:\w+\\*["']?\s*[:=]\s*[^\s,{}]{1,40}[\s,]+)?"#;
    pattern(&format!(r#"{LABEL}\\*["']?(?:</(?:name|key)>)?(?:[\s,;"'<-]|\\+[nrt]){{1,40}}{other}\\*["']?$"#))
});
/// The name of the member called `value` that precedes.
static NAME_BEHIND: LazyLock<Regex> =
    LazyLock::new(|| pattern(&format!(r#"^\\*["']?(?:[\s,;-]|\\+[nrt]){{1,40}}\\*["']?{LABEL}"#)));
/// The member with the name of the variable whose value another member has.
const LABEL: &str = r#"(?i)\b(?:name|key|variable|var)(?:\\*["']?\s*[:=]\s*\\*["']?|>)([a-z_][\w.-]{1,63})"#;

/// Finds all of them in a text, in no particular order; `placeholders` are those in the text.
pub(super) fn find(text: &str, placeholders: &[Range<usize>], found: &mut Vec<SecretSpan>) {
    let mut at = 0;
    while let Some(found_word) = NAMES.find_at(text, at) {
        at = found_word.end();
        if let Some(placeholder) = placeholder_at(placeholders, found_word.start()) {
            at = placeholder.end.max(at);
            continue;
        }
        let first = found.len();
        if found_word.as_str().eq_ignore_ascii_case("bearer") {
            found.extend(headers::bearer(text, found_word.end()));
        } else {
            let name = name_around(text, found_word.range());
            at = name.end.max(at);
            // Most names have no value, which is quickly seen.
            if let Some(assignment) = assignment(text, name) {
                assignment.secrets(placeholders, found);
            }
        }
        at = found[first..].iter().map(|secret| secret.range.end).fold(at, usize::max);
    }
}

/// Returns the secret in the value of a member, if its name is that of a secret.
pub(super) fn in_member(name: &str, value: &str) -> Option<SecretSpan> {
    match names::classify(name)? {
        NameClass::Authorization => headers::authorization(value, 0, |_, _| true),
        NameClass::Cookie => headers::cookies(value, 0),
        class => is_secret_in_quotes(class, name, value)
            .then(|| SecretSpan { range: 0..value.len(), kind: kind(class, name) }),
    }
}

/// Classifies a name, which may be two words.
fn classify_name(text: &str, name: Range<usize>) -> Option<(Range<usize>, NameClass)> {
    let whole = |range: Range<usize>| names::classify(&text[range.clone()]).map(|class| (range, class));
    whole(name.clone()).or_else(|| {
        let before = text[..name.start].strip_suffix(' ')?.as_bytes();
        let word = before.iter().rev().take(LONGEST_NAME).take_while(|byte| byte.is_ascii_alphabetic()).count();
        if word > 0 { whole(before.len() - word..name.end) } else { None }
    })
}

impl<'t> Assignment<'t> {
    /// Finds the secrets in the value.
    fn secrets(self, placeholders: &[Range<usize>], found: &mut Vec<SecretSpan>) {
        let Some((name, label, class)) = self.classify(placeholders) else { return };
        let assignment = Assignment { name, ..self };
        let kind = kind(class, label);
        let is_header = matches!(class, NameClass::Authorization | NameClass::Cookie);
        if assignment.quote.is_none() && !is_header {
            let several = assignment.elements(class, label).or_else(|| assignment.block(class, label));
            if let Some(several) = several {
                return found.extend(several.into_iter().map(|range| SecretSpan { range, kind }));
            }
        }
        found.extend(assignment.secret(class, label, placeholders));
    }

    /// Returns the name, the words that tell what the value is, and what they tell. A member called `value` is named by
    /// another, or by what it is in.
    fn classify(&self, placeholders: &[Range<usize>]) -> Option<(Range<usize>, &'t str, NameClass)> {
        let text = self.text;
        if !text[self.name.clone()].eq_ignore_ascii_case("value") {
            let (name, class) = classify_name(text, self.name.clone())?;
            return Some((name.clone(), &text[name], class));
        }
        let before = &text[text.ceil_char_boundary(self.name.start.saturating_sub(LONGEST_LABEL))..self.name.start];
        let label = NAME_BEFORE.captures(before).or_else(|| {
            let end = match self.in_quotes() {
                Some(range) => range.end,
                None => self.bare_end(placeholders, is_delimiter),
            };
            NAME_BEHIND.captures(&text[end..text.floor_char_boundary(end + LONGEST_LABEL)])
        });
        let label = label.and_then(|label| label.get(1)).map(|label| label.as_str()).or_else(|| self.section())?;
        Some((self.name.clone(), label, names::classify(label)?))
    }

    /// Returns the name of the section or the object that the name's line is in: the nearest line above that is less
    /// indented, or `[name]`.
    fn section(&self) -> Option<&'t str> {
        let first = self.text.ceil_char_boundary(self.name.start.saturating_sub(LONGEST_LABEL));
        let mut above = self.text[first..self.name.start].rsplit('\n');
        let indent = |line: &str| line.bytes().take_while(|byte| matches!(byte, b' ' | b'\t')).count();
        let own = indent(above.next()?);
        let is_header = |line: &&str| !line.trim().is_empty() && (indent(line) < own || line.starts_with('['));
        let header = above.find(is_header)?.trim();
        let name = header.strip_prefix('[').and_then(|section| section.strip_suffix(']'));
        let name = name.or_else(|| header.trim_end_matches(['{', ' ']).strip_suffix(':'))?;
        Some(name.trim_start_matches(['-', ' ']).trim_matches(['"', '\'']))
    }

    /// Returns the secret in the value.
    fn secret(&self, class: NameClass, name: &str, placeholders: &[Range<usize>]) -> Option<SecretSpan> {
        // A JSON value without quotes is not a string.
        if self.quoted_name && self.operator == Operator::Colon && self.quote.is_none() {
            return None;
        }
        let is_header = self.operator == Operator::Colon || self.quoted_name || name.ends_with("uthorization");
        // A name without `-` may be a member in code, and its value a variable.
        let is_explicit = |value: &str, end: usize| {
            let is_alone = self.is_line_start() && self.is_line_end(end);
            self.quote.is_some() || (is_alone && (name.contains('-') || !values::is_code(value)))
        };
        match class {
            NameClass::Authorization if is_header => headers::authorization(self.text, self.start, is_explicit),
            NameClass::Cookie if self.operator == Operator::Colon => headers::cookies(self.text, self.start),
            NameClass::Cookie => None,
            _ => {
                let class = if class == NameClass::Authorization { NameClass::Key } else { class };
                self.value(class, name, placeholders).map(|range| SecretSpan { range, kind: kind(class, name) })
            }
        }
    }

    /// Returns the span of the value, if it is secret.
    fn value(&self, class: NameClass, name: &str, placeholders: &[Range<usize>]) -> Option<Range<usize>> {
        if let Some(range) = self.in_quotes() {
            let value = &self.text[range.clone()];
            let may_be = self.operator != Operator::Beside || values::is_no_identifier(value);
            return (may_be && is_secret_in_quotes(class, name, value)).then_some(range);
        }
        let is_environment = self.is_environment(name);
        if let Some(range) = self.words(class, is_environment) {
            return Some(range);
        }
        let is_connection = self.is_connection(name);
        let first = self.text.as_bytes().get(self.start).copied();
        let is_property = self.is_line_start() && !self.line().contains(['=', ' ']);
        let ends = |byte: u8| match byte {
            b' ' => !is_connection,
            b'<' => !is_environment && first != Some(b'<'),
            b'>' => !is_environment,
            // These end a value in a URL, a form, a connection string or a command, but not in a sentence.
            b';' | b'&' | b'|' => !is_environment && self.operator != Operator::Colon && !is_property,
            _ => is_delimiter(byte),
        };
        let end = self.bare_end(placeholders, ends);
        let value = self.text.get(self.start..end)?;
        let mut last =
            value.trim_end_matches(if is_environment { &[',', ';'][..] } else { &['.', ',', ':', ';', ')', ']', '}'] });
        // A bracket that the value opens belongs to it.
        let opens = [('(', ')'), ('[', ']'), ('{', '}')].into_iter().find(|(open, _)| last.contains(*open));
        if let Some((_, close)) = opens.filter(|(_, close)| value[last.len()..].starts_with(*close)) {
            last = &value[..last.len() + close.len_utf8()];
        }
        self.is_secret(class, name, last, is_environment).then_some(self.start..self.start + last.len())
    }

    /// Returns the rest of the line, if it is a value of several words: behind a command that sets a variable, and in
    /// YAML.
    fn words(&self, class: NameClass, is_environment: bool) -> Option<Range<usize>> {
        let is_line = match self.operator {
            Operator::Command => true,
            Operator::Colon => self.is_line_start() && !is_environment && !self.quoted_name,
            _ => false,
        };
        if !is_line || class != NameClass::Password {
            return None;
        }
        let line = self.line();
        let ends = [" #", " //", " &&", " ||", " | ", "; ", "\\n"];
        let end = ends.iter().filter_map(|end| line.find(end)).min().unwrap_or(line.len());
        let value = line[..end].trim_end();
        (value.contains(' ') && values::is_phrase(value)).then(|| self.start..self.start + value.len())
    }

    /// Whether the value belongs to an environment variable or a flag, so that it is not code.
    fn is_environment(&self, name: &str) -> bool {
        let before = &self.text[..self.name.start];
        let is_exported = || {
            let words = ["--", "export ", "set ", "setx ", "-e ", "--env ", "ENV ", "ARG ", "env "];
            words.iter().any(|word| before.ends_with(word))
        };
        match self.operator {
            Operator::Tight => names::is_environment(name) || is_exported(),
            Operator::Colon => names::is_environment(name) && self.is_line_start(),
            Operator::Make => names::is_environment(name),
            Operator::Command => true,
            Operator::Equals | Operator::Space | Operator::Beside | Operator::Comma => false,
        }
    }

    /// Whether it is part of a connection string, `Password=…;`, whose values may have spaces.
    fn is_connection(&self, name: &str) -> bool {
        let mut rest = self.text.as_bytes()[self.start..].iter().take(LONGEST_NAME);
        let end = rest.find(|byte| matches!(byte, b';' | b'=' | b'\\') || (**byte != b' ' && is_delimiter(**byte)));
        let is_capital = name.starts_with(|c: char| c.is_ascii_uppercase()) && !names::is_environment(name);
        self.operator == Operator::Tight && is_capital && end == Some(&b';')
    }

    /// Whether the name is the first on its line, except for marks of items and changes.
    fn is_line_start(&self) -> bool {
        let before = self.text.as_bytes()[..self.name.start].iter().rev().take(LONGEST_NAME);
        let mut rest = before.skip_while(|byte| matches!(byte, b' ' | b'\t' | b'-' | b'+' | b'>' | b'*'));
        match rest.next() {
            None | Some(b'\n' | b'\r' | b'"' | b'\'' | b'`' | b'{') => true,
            Some(b'n') => rest.next() == Some(&b'\\'),
            _ => false,
        }
    }

    /// Whether nothing follows a value on its line.
    fn is_line_end(&self, end: usize) -> bool {
        let rest = &self.text.as_bytes()[skip_spaces(self.text.as_bytes(), end)..];
        matches!(rest, [] | [b'\n' | b'\r' | b'"' | b'\'' | b'`' | b'#', ..] | [b'\\', b'n' | b'r' | b'"', ..])
    }

    /// Whether an unquoted value is secret.
    fn is_secret(&self, class: NameClass, name: &str, value: &str, is_environment: bool) -> bool {
        let is_named = names::is_environment(name) && is_environment;
        let is_code = if is_named { values::is_call(value) } else { values::is_code(value) };
        if values::is_nothing(value) || is_code || (!is_named && values::is_own_name(name, value)) {
            return false;
        }
        let bytes = self.text.as_bytes();
        let end = self.start + value.len();
        let length = value.chars().count();
        let is_form = matches!(bytes[..self.name.start].last(), Some(b'?' | b'&' | b';' | b'<'))
            || matches!(bytes.get(end), Some(b'&' | b';'));
        let is_explicit = is_environment || (is_form && self.operator == Operator::Tight);
        match class {
            // `PASS: …` is the output of a passing test.
            NameClass::Password if self.operator == Operator::Colon && name == "PASS" => false,
            NameClass::Password => {
                let is_type = value.starts_with(|c: char| c.is_ascii_uppercase())
                    && value.bytes().all(|byte| byte.is_ascii_alphabetic());
                let is_alone = matches!(self.operator, Operator::Colon | Operator::Tight)
                    && self.is_line_start()
                    && self.is_line_end(end)
                    && !is_type;
                (length >= 3 && is_explicit) || (length >= 4 && is_alone) || values::is_random(value, 6)
            }
            NameClass::Key => (length >= 4 && is_explicit && !is_number(value)) || values::is_random(value, 8),
            NameClass::Ambiguous => looks_random(value) && values::is_dense(value, 8),
            NameClass::Authorization | NameClass::Cookie => false,
        }
    }
}

/// Whether a quoted value is secret.
pub(super) fn is_secret_in_quotes(class: NameClass, name: &str, value: &str) -> bool {
    let is_environment = names::is_environment(name);
    if values::is_nothing(value) || (!is_environment && values::is_own_name(name, value)) {
        return false;
    }
    let length = value.chars().count();
    match class {
        // A variable's value may be several words.
        NameClass::Password if value.contains(char::is_whitespace) => values::is_phrase(value),
        _ if value.contains(char::is_whitespace) => false,
        NameClass::Password => length >= 3,
        NameClass::Key => length >= 8 && !values::is_code(value) && !is_number(value),
        NameClass::Ambiguous => looks_random(value),
        NameClass::Authorization | NameClass::Cookie => false,
    }
}

fn is_number(value: &str) -> bool {
    value.bytes().all(|byte| byte.is_ascii_digit())
}

/// Whether a value looks random and is not a short hexadecimal id.
fn looks_random(value: &str) -> bool {
    values::is_random(value, 8) && (value.len() >= 16 || !value.bytes().all(|byte| byte.is_ascii_hexdigit()))
}

/// Returns the kind of a secret that is recognized by its name.
fn kind(class: NameClass, name: &str) -> &'static str {
    match class {
        _ if names::is_environment(name) => ENV_SECRET,
        NameClass::Password if !name.to_ascii_lowercase().ends_with("secret") => PASSWORD,
        _ => SECRET,
    }
}

/// Builds the patterns of this file.
#[cfg(test)]
pub(crate) fn patterns() -> Vec<&'static Regex> {
    vec![&*NAMES, &*crate::redact::operators::NEXT_ELEMENT, &*NAME_BEFORE, &*NAME_BEHIND]
}
