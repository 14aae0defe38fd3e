//! Finds secrets by the name before them: `.env` lines, assignments in code, YAML, JSON and XML, command flags,
//! headers.
//!
//! There is one scanner for all of them. It reads the name of a secret, the operator behind it
//! ([`crate::operators`]) and the value ([`crate::extents`]), and asks whether the value is secret
//! ([`crate::values`]).

use std::ops::Range;
use std::sync::LazyLock;

use memchr::memmem;
use regex::Regex;

use crate::extents::{LONGEST_HEADER, LONGEST_NAME, Quote, ValueStart, is_delimiter, skip_spaces};
use crate::kinds::AUTHORIZATION;
use crate::names::{self, NameClass};
use crate::operators::{self, Operator};
use crate::pattern::pattern;
use crate::values::{self, SecretCandidate, ValuePlace};
use crate::{SecretSpan, loose, tables};

/// The most bytes between a value and its name in another member.
const LONGEST_LABEL: usize = 200;

/// Matches a part of every name for a secret.
static NAMES: LazyLock<Regex> = LazyLock::new(|| {
    let words = "pass|pwd|secret|token|key|credential|auth|cookie|bearer|pw|psw|mdp|dockerconfig|_pat|_pin|salt|dsn|psk|mnemonic|phrase|value|pepper|recovery|backup_?code|phpsessid|jsessionid";
    pattern(&format!("(?-u:(?i:{words}))"))
});

/// The name of the member called `value` that follows.
static NAME_BEFORE: LazyLock<Regex> = LazyLock::new(|| {
    let other = r#"(?:\w+\\*["']?\s*[:=]\s*[^\s,{}]{1,40}[\s,]+)?"#;
    pattern(&format!(
        r#"{LABEL}\\*["']?(?:</(?:name|key)>)?(?:[\s,;"'<-]|\\+[nrt]){{1,40}}{other}(?:[\w-]{{1,32}}:)?\\*["']?$"#
    ))
});
/// The name of the member called `value` that precedes.
static NAME_BEHIND: LazyLock<Regex> =
    LazyLock::new(|| pattern(&format!(r#"^\\*["']?(?:[\s,;-]|\\+[nrt]){{1,40}}\\*["']?{LABEL}"#)));
/// The member with the name of the variable whose value another member has.
const LABEL: &str = r#"(?i)\b(?:name|key|variable|var)(?:\\*["']?\s*[:=]\s*\\*["']?|>)([a-z_/][\w./-]{1,63})"#;

/// How the names of methods begin whose argument is not the secret but says which, or is one to check.
const ASKING: [&str; 18] = [
    "ask", "by", "check", "compare", "contain", "decode", "expect", "find", "forgot", "get", "has", "is", "label",
    "match", "on", "prompt", "read", "verify",
];

/// The name of a secret with the start of its value.
#[derive(Clone, Copy)]
pub(super) struct Assignment<'t> {
    /// Where the name begins.
    pub(super) name: usize,
    /// What names the secret: the name, or for a member called `value` another.
    pub(super) label: &'t str,
    pub(super) class: NameClass,
    pub(super) operator: Operator,
    /// Whether the name is in quotes.
    pub(super) quoted_name: bool,
    /// Whether the value is a raw string or a template.
    is_pattern: bool,
    pub(super) value: ValueStart<'t>,
}

/// Finds all of them in a text, in no particular order; `placeholders` are those in the text.
pub(super) fn find(text: &str, placeholders: &[Range<usize>], found: &mut Vec<SecretSpan>) {
    let (mut at, mut row, mut table) = (0, 0, 0);
    while let Some(word) = NAMES.find_at(text, at) {
        at = word.end();
        let secrets = if word.as_str().eq_ignore_ascii_case("bearer") {
            bearer(text, at).into_iter().collect()
        } else {
            let name = name_around(text, word.range());
            at = name.end.max(at);
            let secrets = match Assignment::of(text, name.clone(), placeholders) {
                Some(assignment) => assignment.secrets(),
                None => Vec::new(),
            };
            if secrets.is_empty() && name.start >= row && tables::is_cell(&text[..name.start], &text[name.end..]) {
                row = tables::find(text, name.start, &mut table, found);
            }
            secrets
        };
        for secret in secrets {
            at = at.max(secret.range.end);
            found.push(secret);
        }
    }
}

/// The secret in the value of a member, if its name is that of a secret.
pub(super) fn in_member(label: &str, text: &str) -> Option<SecretSpan> {
    let value = ValueStart::whole(text);
    let class = names::classify(label)?;
    let operator = Operator::Colon;
    let member = Assignment { name: 0, label, class, operator, quoted_name: true, is_pattern: false, value };
    match class {
        NameClass::Authorization => member.credential(),
        NameClass::Cookie => member.cookies(),
        _ => member.verdict(0..text.len(), ValuePlace::Quotes),
    }
}

/// Extends a word to the whole name, without the letter of an escape before it.
fn name_around(text: &str, word: Range<usize>) -> Range<usize> {
    let bytes = text.as_bytes();
    let before = bytes[..word.start].iter().rev().take(LONGEST_NAME).take_while(is_of_name).count();
    let after = bytes[word.end..].iter().take(LONGEST_NAME).take_while(is_of_name).count();
    let mut start = word.start - before;
    let is_escape = start > 0 && bytes[start - 1] == b'\\' && matches!(bytes[start], b'n' | b'r' | b't');
    start += usize::from(is_escape && start < word.start);
    // In an address inside of another, `%3F` precedes the name.
    let is_encoded = bytes[..start].ends_with(b"%") && start + 2 <= word.start;
    start += if is_encoded && bytes[start..start + 2].iter().all(u8::is_ascii_hexdigit) { 2 } else { 0 };
    let whole = &text[start..word.end + after];
    let name = whole.trim_start_matches(['-', '.']);
    start += whole.len() - name.len();
    start..start + name.trim_end_matches(['-', '.']).len()
}

fn is_of_name(byte: &&u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-' | b'.')
}

/// The words that name a secret, and what they tell: a name, or that and the word before it.
fn classify(text: &str, name: Range<usize>) -> Option<(&str, NameClass)> {
    if let Some(class) = names::classify(&text[name.clone()]) {
        return Some((&text[name], class));
    }
    let before = text[..name.start].strip_suffix(' ')?.as_bytes();
    let word = before.iter().rev().take(LONGEST_NAME).take_while(|byte| byte.is_ascii_alphabetic()).count();
    if word == 0 {
        return None;
    }
    let both = &text[before.len() - word..name.end];
    let class = names::classify(both)?;
    // The word before the attribute of a tag is the name of the tag: `<li key="…">`.
    let is_tag = before[..before.len() - word].ends_with(b"<");
    if is_tag && class == NameClass::Ambiguous { None } else { Some((both, class)) }
}

/// Whether a member is that of a cookie in a list of them.
fn is_in_cookies(text: &str, at: usize) -> bool {
    let before = &text[text.ceil_char_boundary(at.saturating_sub(4 * LONGEST_LABEL))..at];
    memmem::rfind(before.as_bytes(), b"ookies\"").is_some_and(|list| !before[list..].contains(']'))
}

/// The name of a member called `value` that begins at `name`: that of another member, or of what it is in.
fn label<'t>(name: usize, value: ValueStart<'t>) -> Option<&'t str> {
    let text = value.text;
    let before = &text[text.ceil_char_boundary(name.saturating_sub(LONGEST_LABEL))..name];
    if let Some(captures) = NAME_BEFORE.captures(before)
        && let Some(label) = captures.get(1)
    {
        return Some(label.as_str());
    }
    let end = match value.in_quotes() {
        Some(range) => range.end,
        None => value.bare_end(false, is_delimiter),
    };
    let behind = &text[end..text.floor_char_boundary(end + LONGEST_LABEL)];
    if let Some(captures) = NAME_BEHIND.captures(behind)
        && let Some(label) = captures.get(1)
    {
        return Some(label.as_str());
    }
    section(text, name)
}

/// The name of the section or the object that the name's line is in: the nearest line above that is less indented, or
/// `[name]`.
fn section(text: &str, at: usize) -> Option<&str> {
    let first = text.ceil_char_boundary(at.saturating_sub(LONGEST_LABEL));
    let mut above = text[first..at].rsplit('\n');
    let own_indent = indent(above.next()?);
    for line in above {
        if !line.trim().is_empty() && (indent(line) < own_indent || line.starts_with('[')) {
            let name = name_of_section(line.trim())?;
            return Some(name.trim_start_matches(['-', ' ']).trim_matches(['"', '\'']));
        }
    }
    None
}

fn indent(line: &str) -> usize {
    line.bytes().take_while(|byte| matches!(byte, b' ' | b'\t')).count()
}

/// The name in the line that begins a section or an object: `[name]`, `name:`, `name: {`.
fn name_of_section(header: &str) -> Option<&str> {
    if let Some(section) = header.strip_prefix('[')
        && let Some(name) = section.strip_suffix(']')
    {
        return Some(name);
    }
    header.trim_end_matches(['{', ' ']).strip_suffix(':')
}

/// Skips the asterisks that make a name bold in Markdown.
fn skip_stars(bytes: &[u8], at: usize) -> usize {
    at + bytes[at..].iter().take(2).take_while(|byte| **byte == b'*').count()
}

impl<'t> Assignment<'t> {
    /// Reads the assignment to a name, if there is one and the name is that of a secret.
    fn of(text: &'t str, name: Range<usize>, placeholders: &'t [Range<usize>]) -> Option<Self> {
        let bytes = text.as_bytes();
        let mut at = skip_stars(bytes, name.end);
        let closing_quote = Quote::at(bytes, at);
        let is_in_brackets = text[..name.start].ends_with('[') || text[..name.start].ends_with("[:");
        if let Some(quote) = closing_quote {
            at += quote.len();
            at += usize::from(bytes.get(at) == Some(&b']'));
        } else if is_in_brackets {
            let end = operators::behind_visibility(text, at);
            at = if matches!(&bytes[end..], [b']', b' ', b'=', ..]) { end + 1 } else { at };
        }
        at = operators::behind_subscript(&text[..name.start], bytes, at);
        at += if bytes[at..].starts_with(b"[]") { 2 } else { 0 };
        at += usize::from(bytes.get(at) == Some(&b'?') && bytes.get(at + 1) != Some(&b'='));
        let quoted_name = closing_quote.is_some();
        // Most names have no operator.
        let (operator, end) = match operators::element_text(text, name.start, at) {
            Some(end) => (Operator::Element, end),
            None => match loose::operator(text, name.start, at) {
                Some(found) => found,
                None => operators::operator(&text[..name.start], bytes, at, quoted_name)?,
            },
        };
        // In a shell, what to say or to use instead if a variable is missing: `${NAME:?…}`.
        if text[..name.start].ends_with("${") && matches!(&bytes[at..], [b':', b'?' | b'+', ..]) {
            return None;
        }
        let end = if operator == Operator::Equals { operators::behind_dump(text, end) } else { end };
        let mut start = operators::behind_type(bytes, skip_spaces(bytes, skip_stars(bytes, end)));
        if bytes[..end].ends_with(b",") {
            start = operators::behind_keyword(bytes, start);
        }
        if operator == Operator::Colon && is_line_start(&bytes[..name.start]) {
            start = operators::behind_anchor(bytes, start);
        }
        if operator == Operator::Equals || (operator == Operator::Colon && quoted_name) {
            start = operators::behind_line(bytes, start);
        }
        let prefix = &bytes[start..start + operators::string_prefix(&bytes[start..])];
        let is_pattern = operators::is_pattern_prefix(prefix);
        start += prefix.len();
        let mut value = ValueStart::at(text, placeholders, start);
        let own = &text[name.clone()];
        // In a connection string; elsewhere it is the working directory.
        let is_pwd = own.eq_ignore_ascii_case("pwd")
            && (text[..name.start].trim_end_matches(' ').ends_with(';')
                || value.line().to_ascii_lowercase().contains(";uid="));
        if is_pwd && bytes.get(start) == Some(&b'{') {
            value = ValueStart { start: start + 1, quote: Some(Quote { backslashes: 0, mark: b'}' }), ..value };
        }
        let (label, class, name) = if own.eq_ignore_ascii_case("value") {
            let label = label(name.start, value);
            match label.and_then(names::classify) {
                None | Some(NameClass::Ambiguous) if is_in_cookies(text, name.start) => {
                    let label = "cookies.value";
                    (label, names::classify(label)?, name.start)
                }
                class => (label?, class?, name.start),
            }
        } else if is_pwd {
            ("Pwd.password", NameClass::Password, name.start)
        } else {
            let (label, class) = classify(text, name.clone())?;
            (label, class, name.end - label.len())
        };
        // In the name of a resource, `secret:` is a part of the path.
        let before = &text[text.ceil_char_boundary(name.saturating_sub(LONGEST_LABEL))..name];
        let word = before.rsplit(|c: char| c.is_whitespace() || matches!(c, '"' | '\'')).next().unwrap_or(before);
        let is_path = operator == Operator::Colon && word.contains("arn:");
        // In an address, what stands before the colon is a user: `https://token:…@host`.
        let address = value.line().split([' ', '"', '\'']).next().unwrap_or_default();
        let is_user = operator == Operator::Colon && before.ends_with("://") && address.contains('@');
        if is_path || is_user {
            return None;
        }
        Some(Assignment { name, label, class, operator, quoted_name, is_pattern, value })
    }

    fn secrets(&self) -> Vec<SecretSpan> {
        let is_header = matches!(self.class, NameClass::Authorization | NameClass::Cookie);
        if self.value.quote.is_none() && self.operator == Operator::Element {
            return self.element().into_iter().collect();
        }
        if self.is_alias() {
            return Vec::new();
        }
        if self.value.quote.is_none()
            && !is_header
            && let Some(several) = self.elements().or_else(|| self.block())
        {
            return several;
        }
        let is_in_header = self.operator == Operator::Colon || self.quoted_name || self.label.ends_with("uthorization");
        let secret = match self.class {
            // A JSON value without quotes is not a string, and mostly a variable.
            _ if self.quoted_name && self.operator == Operator::Colon && self.value.quote.is_none() => {
                self.told_alone()
            }
            _ if self.operator == Operator::Compare => self.secret(),
            _ if self.operator == Operator::Loose => self.told(),
            NameClass::Authorization if is_in_header => self.credential(),
            NameClass::Authorization => Assignment { class: NameClass::Key, ..*self }.secret(),
            NameClass::Cookie if self.operator == Operator::Colon => self.cookies(),
            NameClass::Cookie => None,
            _ => self.secret(),
        };
        secret.into_iter().collect()
    }

    /// The value, if it is alone on its line and as random as no variable is.
    fn told_alone(&self) -> Option<SecretSpan> {
        let line = self.value.line();
        let end = line.find(|c: char| c.is_whitespace() || ",}\"'".contains(c)).unwrap_or(line.len());
        let value = &line[..end];
        if !self.is_alone(self.value.start + end) || !values::is_no_identifier(value) || values::is_name(value) {
            return None;
        }
        self.told()
    }

    /// The value, if it looks like a secret whatever is between it and its name.
    fn told(&self) -> Option<SecretSpan> {
        let class = match self.class {
            NameClass::Password => NameClass::Password,
            NameClass::Key | NameClass::Ambiguous => NameClass::Key,
            NameClass::Authorization | NameClass::Cookie => return None,
        };
        let range = match self.value.in_quotes() {
            Some(range) => range,
            None => {
                let end = self.value.bare_end(false, |byte| byte == b'<' || is_delimiter(byte));
                let value = self.value.text[self.value.start..end].trim_end_matches(['.', ',', ';', ':', ')', ']']);
                self.value.start..self.value.start + value.len()
            }
        };
        Assignment { class, ..*self }.verdict(range, ValuePlace::Announced)
    }

    /// The value, if it is secret.
    fn secret(&self) -> Option<SecretSpan> {
        let Some(range) = self.value.in_quotes() else { return self.words().or_else(|| self.bare()) };
        let range = self.in_raw_string(range);
        let value = &self.value.text[range.clone()];
        if value.starts_with('{') && value.ends_with('}') && self.has_secrets_inside(range.clone()) {
            return None;
        }
        let is_in_backticks = matches!(self.value.quote, Some(Quote { mark: b'`', .. }));
        // In a shell, what stands between these is a command.
        let is_command = self.operator == Operator::Tight && is_in_backticks;
        let may_be = match self.operator {
            _ if self.is_pattern && !values::is_plain(value) => false,
            _ if is_in_backticks && value.contains("${") => false,
            _ if is_command => values::is_told(self.class, value),
            Operator::Pair => values::is_told(self.class, value) && values::is_no_numbered_word(value),
            Operator::Compare => values::is_announced(self.class, value),
            Operator::Beside => self.label == "PASSWORD" || values::is_no_identifier(value),
            Operator::Call => self.is_setter() && self.is_handed_over(value),
            _ => true,
        };
        if may_be { self.verdict(range, ValuePlace::Quotes) } else { None }
    }

    /// The text between the brackets of a raw string of C++: `R"(…)"`.
    fn in_raw_string(&self, range: Range<usize>) -> Range<usize> {
        let value = &self.value.text[range.clone()];
        let is_raw = self.is_pattern && value.len() > 2 && value.starts_with('(') && value.ends_with(')');
        if is_raw { range.start + 1..range.end - 1 } else { range }
    }

    /// Whether a part of the text is an object one of whose own members tells the secret.
    fn has_secrets_inside(&self, range: Range<usize>) -> bool {
        let ValueStart { text, placeholders, .. } = self.value;
        if placeholders.iter().any(|mask| range.start <= mask.start && mask.end <= range.end) {
            return true;
        }
        let mut inside = Vec::new();
        find(&text[range.start + 1..range.end], &[], &mut inside);
        !inside.is_empty()
    }

    /// Whether a call hands the secret over, as those of builders do, and does not ask for it.
    fn is_setter(&self) -> bool {
        let name = self.label.rsplit('.').next().unwrap_or(self.label).to_ascii_lowercase();
        let is_method = name.len() < self.label.len() || self.value.text[..self.name].ends_with(['.', ':', '>']);
        let asks = ASKING.iter().any(|verb| name.starts_with(verb));
        ["set", "with"].iter().any(|verb| name.starts_with(verb)) || is_method && !asks
    }

    /// Whether the argument of a setter is the secret. A password can be any word where the name says so.
    fn is_handed_over(&self, value: &str) -> bool {
        let name = self.label.rsplit('.').next().unwrap_or(self.label).to_ascii_lowercase();
        let sets_password = (name.starts_with("set") || name.starts_with("with")) && name.ends_with("password");
        let may_be_word = sets_password && value.len() >= 6 && !value.contains(char::is_whitespace);
        (values::is_random(value, 6) || may_be_word) && !value.ends_with([':', '?'])
    }

    /// A part of the text, if it is secret.
    pub(super) fn verdict(&self, range: Range<usize>, place: ValuePlace) -> Option<SecretSpan> {
        let value = self.value.text.get(range.clone())?;
        let candidate = SecretCandidate { class: self.class, name: self.label, value, place };
        if !candidate.is_secret() {
            return None;
        }
        Some(SecretSpan { range, kind: names::kind(self.class, self.label) })
    }

    /// Whether the value is an alias of YAML, `*name`, or the anchor of what is below, `&name`. One with a digit
    /// may be a password.
    fn is_alias(&self) -> bool {
        let begins = matches!(self.value.text.as_bytes().get(self.value.start), Some(b'*' | b'&'));
        if !begins || self.operator != Operator::Colon || self.value.quote.is_some() {
            return false;
        }
        let line = &self.value.line()[1..];
        let name = line.split([' ', ',', '}', ']']).next().unwrap_or(line);
        name.starts_with(|c: char| c.is_ascii_alphabetic())
            && name.bytes().all(|byte| byte.is_ascii_alphabetic() || b"_-.".contains(&byte))
            && !values::is_key_in_phrase(&name)
    }
}

/// Whether a name is the first on its line that `before` ends in front of, except for marks of items and changes.
pub(super) fn is_line_start(before: &[u8]) -> bool {
    let near = before.iter().rev().take(LONGEST_NAME);
    let mut rest = near.skip_while(|byte| matches!(byte, b' ' | b'\t' | b'-' | b'+' | b'>' | b'*'));
    match rest.next() {
        None | Some(b'\n' | b'\r' | b'"' | b'\'' | b'`' | b'{') => true,
        Some(b'n') => rest.next() == Some(&b'\\'),
        _ => false,
    }
}

/// The secret after the word `bearer`, which ends at `at`, outside a named header.
fn bearer(text: &str, at: usize) -> Option<SecretSpan> {
    let rest = text[at..].trim_start_matches(' ');
    let start = text.len() - rest.len();
    let credential = &rest[..rest.find(ends_credential).unwrap_or(rest.len()).min(LONGEST_HEADER)];
    let value = credential.trim_end_matches(['.', ':']);
    let may_be = start > at && (values::is_random(value, 12) || value.len() >= 24);
    let candidate = SecretCandidate { class: NameClass::Authorization, name: "bearer", value, place: ValuePlace::Line };
    let range = start..start + value.len();
    if may_be && candidate.is_secret() { Some(SecretSpan { range, kind: AUTHORIZATION }) } else { None }
}

fn ends_credential(c: char) -> bool {
    u8::try_from(c).is_ok_and(is_delimiter) || !c.is_ascii() || ",;<>()\\}".contains(c)
}

/// Builds the patterns of this file.
#[cfg(any(test, feature = "tests"))]
pub(crate) fn patterns() -> Vec<&'static Regex> {
    vec![&*NAMES, &*crate::extents::TEXT_BLOCK, &*NAME_BEFORE, &*NAME_BEHIND]
}
