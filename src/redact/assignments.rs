//! Finds secrets by the name before them: `.env` lines, assignments in code, YAML, JSON and XML, command flags,
//! headers.
//!
//! The text may be of any kind and cut anywhere, so nothing is parsed. After a name for a secret, the search looks for
//! an assignment operator, and from there for the end of the value. Its distance is bounded, so the time is linear.

use std::ops::Range;
use std::sync::LazyLock;

use regex::Regex;

use crate::pattern::pattern;

use crate::redact::kinds::{ENV_SECRET, PASSWORD, SECRET};
use crate::redact::names::{self, NameClass};
use crate::redact::{SecretSpan, headers, is_delimiter, values};

/// The most bytes of a name on either side of the matched word.
const LONGEST_NAME: usize = 64;
/// The most bytes between a value and its name in another member.
const LONGEST_LABEL: usize = 200;
/// The most bytes of a value.
const LONGEST_VALUE: usize = 4096;
/// The most spaces around an operator.
const MOST_SPACES: usize = 16;

/// Matches a part of every name for a secret.
static NAMES: LazyLock<Regex> = LazyLock::new(|| {
    pattern("(?i-u:pass|pwd|secret|token|key|credential|auth|cookie|bearer|_pw|_pat|_pin|salt|dsn|value)")
});

/// The end of the element with a name, and the tag of the next.
static NEXT_ELEMENT: LazyLock<Regex> = LazyLock::new(|| pattern(r"^</(?:key|name)>\s{0,64}<(?:string|value|data)>"));
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
/// What precedes the name of a variable that a command sets.
const COMMANDS: [&str; 8] = ["ENV ", "setenv ", "SetEnv ", "setx ", "set -x ", "set -gx ", "set -Ux ", "#define "];

/// The operator between a name and its value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Operator {
    /// `=` without spaces, or the end of an XML tag.
    Tight,
    /// `=`, `:=` or `=>`.
    Equals,
    /// `:`
    Colon,
    /// `?=`, `+=` and the like in a makefile.
    Make,
    /// A space after a flag.
    Space,
    /// A space after a command that sets a variable: `ENV K V`.
    Command,
    /// A comma between the arguments of a call: `define("K", "v")`.
    Comma,
}

/// A name with the start of its value.
struct Assignment<'t> {
    text: &'t str,
    name: Range<usize>,
    operator: Operator,
    /// Whether the name is in quotes.
    quoted_name: bool,
    /// Where the value begins, after its opening quote.
    start: usize,
    /// The number of backslashes and the quote before the value, if it is in quotes.
    quote: Option<(usize, u8)>,
}

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

/// Returns the placeholder that contains a byte.
fn placeholder_at(placeholders: &[Range<usize>], at: usize) -> Option<&Range<usize>> {
    let index = placeholders.partition_point(|range| range.end <= at);
    placeholders.get(index).filter(|range| range.start <= at)
}

/// Extends a match to the whole name, without the letter of an escape before it.
fn name_around(text: &str, part: Range<usize>) -> Range<usize> {
    let bytes = text.as_bytes();
    let is_name = |byte: &&u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-' | b'.');
    let before = bytes[..part.start].iter().rev().take(LONGEST_NAME).take_while(is_name).count();
    let after = bytes[part.end..].iter().take(LONGEST_NAME).take_while(is_name).count();
    let mut start = part.start - before;
    let is_escape = start > 0 && bytes[start - 1] == b'\\' && matches!(bytes[start], b'n' | b'r' | b't');
    start += usize::from(is_escape && start < part.start);
    let whole = &text[start..part.end + after];
    let name = whole.trim_start_matches(['-', '.']);
    start += whole.len() - name.len();
    start..start + name.trim_end_matches(['-', '.']).len()
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

/// Returns the number of backslashes and the quote at an offset.
fn quote_at(bytes: &[u8], at: usize) -> Option<(usize, u8)> {
    let backslashes = bytes[at..].iter().take(16).take_while(|byte| **byte == b'\\').count();
    let quote = *bytes.get(at + backslashes)?;
    matches!(quote, b'"' | b'\'' | b'`').then_some((backslashes, quote))
}

fn skip_spaces(bytes: &[u8], at: usize) -> usize {
    at + bytes[at..].iter().take(MOST_SPACES).take_while(|byte| matches!(byte, b' ' | b'\t')).count()
}

/// Parses the assignment to a name, if there is one.
fn assignment(text: &str, name: Range<usize>) -> Option<Assignment<'_>> {
    let bytes = text.as_bytes();
    // Asterisks make the name bold in Markdown.
    let skip_stars = |at: usize| at + bytes[at..].iter().take(2).take_while(|byte| **byte == b'*').count();
    let mut at = skip_stars(name.end);
    let closing_quote = quote_at(bytes, at);
    if let Some((backslashes, _)) = closing_quote {
        at += backslashes + 1;
        at += usize::from(bytes.get(at) == Some(&b']'));
    }
    at += usize::from(bytes.get(at) == Some(&b'?') && bytes.get(at + 1) != Some(&b'='));
    let before = &text[..name.start];
    let (operator, end) = match element_text(text, name.clone(), at) {
        Some(end) => (Operator::Tight, end),
        None => operator(before, bytes, at, closing_quote.is_some())?,
    };
    let mut start = skip_spaces(bytes, skip_stars(end));
    if operator == Operator::Colon {
        start = behind_type(bytes, start);
    }
    let quote = quote_at(bytes, start);
    start += quote.map_or(0, |(backslashes, _)| backslashes + 1);
    Some(Assignment { text, name, operator, quoted_name: closing_quote.is_some(), start, quote })
}

/// Returns the operator behind a name that ends at `at`, and where it ends.
fn operator(before: &str, bytes: &[u8], at: usize, is_quoted: bool) -> Option<(Operator, usize)> {
    let spaced = skip_spaces(bytes, at);
    let is_command = || spaced > at && COMMANDS.iter().any(|command| before.ends_with(command));
    let (operator, length) = match &bytes[spaced..] {
        [b':', b':', b'=', ..] | [b'?', b'?', b'=', ..] | [b'|', b'|', b'=', ..] => (Operator::Make, 3),
        [b':', b':', ..] | [b'=', b'=' | b'~', ..] => return None,
        [b'?' | b'+', b'=', ..] => (Operator::Make, 2),
        [b':', b'=', ..] | [b'=', b'>', ..] | [b'<', b'-', ..] => (Operator::Equals, 2),
        [b':', ..] => (Operator::Colon, 1),
        [b'=', next, ..] if spaced == at && !matches!(next, b' ' | b'\t') => (Operator::Tight, 1),
        [b'=', ..] => (Operator::Equals, 1),
        [b',', ..] if is_quoted && before.trim_end_matches(['"', '\'', '\\']).ends_with('(') => (Operator::Comma, 1),
        [_, ..] if before.ends_with("--") && spaced > at => (Operator::Space, 0),
        [_, ..] if is_command() => (Operator::Command, 0),
        _ => return None,
    };
    Some((operator, spaced + length))
}

/// Returns where the text of an XML element begins that a name labels: as its tag, as an attribute of its tag, or as the
/// element before it.
fn element_text(text: &str, name: Range<usize>, at: usize) -> Option<usize> {
    let rest = text.get(at..text.floor_char_boundary(at + 160))?;
    let before = &text[..name.start];
    let labels = before.ends_with('<') || before.ends_with("=\"") || before.ends_with("='");
    if before.ends_with("<key>") || before.ends_with("<name>") {
        return NEXT_ELEMENT.find(rest).map(|found| at + found.end());
    }
    let end = rest.find(['<', '>', '\n']).filter(|end| labels && rest[*end..].starts_with('>'))?;
    let is_tag = end == 0 || rest.starts_with(' ') || !before.ends_with('<');
    (is_tag && !rest[..end].ends_with('/')).then_some(at + end + 1)
}

/// Skips a type and `=`: `: str = "…"`.
fn behind_type(bytes: &[u8], at: usize) -> usize {
    let is_type = |byte: &&u8| byte.is_ascii_alphanumeric() || b"_<>[]&|. ".contains(byte);
    let end = at + bytes[at..].iter().take(LONGEST_NAME).take_while(is_type).count();
    if end == at || !bytes[end..].starts_with(b"=") || bytes[end - 1] != b' ' {
        return at;
    }
    let assigned = skip_spaces(bytes, end + 1);
    if quote_at(bytes, assigned).is_some() { assigned } else { at }
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
    /// another.
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
        })?;
        let label = label.get(1)?.as_str();
        Some((self.name.clone(), label, names::classify(label)?))
    }

    /// Returns the secrets in a list, if the value is one.
    fn elements(&self, class: NameClass, label: &str) -> Option<Vec<Range<usize>>> {
        let bytes = self.text.as_bytes();
        let close = match bytes.get(self.start)? {
            b'[' => b']',
            b'(' if self.operator != Operator::Colon => b')',
            _ => return None,
        };
        let most = bytes.len().min(self.start + LONGEST_VALUE);
        let mut found = Vec::new();
        let mut at = self.start + 1;
        while at < most && bytes[at] != close {
            if bytes[at].is_ascii_whitespace() || bytes[at] == b',' {
                at += 1;
                continue;
            }
            let quote = quote_at(bytes, at);
            let start = at + quote.map_or(0, |(backslashes, _)| backslashes + 1);
            let element = Assignment { name: self.name.clone(), start, quote, ..*self };
            let is_secret = |value: &str| match quote {
                Some(_) => is_secret_element(class, label, value),
                None => values::is_dense(value, 6) && !values::is_code(value) && is_secret_element(class, label, value),
            };
            let range = match quote {
                Some((backslashes, quote)) => element.closing_quote(backslashes, quote)?,
                None => start..element.bare_end(&[], |byte| byte == b',' || byte == close || is_delimiter(byte)),
            };
            at = range.end + start - at + usize::from(quote.is_none() && range.is_empty());
            found.extend(self.text.get(range.clone()).filter(|value| is_secret(value)).map(|_| range));
        }
        Some(found)
    }

    /// Returns the secrets in the indented lines below the name, if the value is there: a block or a list in YAML.
    fn block(&self, class: NameClass, label: &str) -> Option<Vec<Range<usize>>> {
        let header = self.line();
        let is_block =
            header.starts_with(['|', '>']) && header[1..].bytes().all(|byte| b"+-0123456789".contains(&byte));
        let mut at = self.start + header.len();
        at += usize::from(self.text[at..].starts_with('\r'));
        let is_below = (is_block || header.trim_end().is_empty()) && self.text[at..].starts_with('\n');
        if self.operator != Operator::Colon || !is_below {
            return None;
        }
        at += 1;
        let before = self.text.as_bytes()[..self.name.start].iter().rev().take(LONGEST_NAME);
        let indent = before.take_while(|byte| matches!(byte, b' ' | b'\t')).count();
        let mut lines: Vec<Range<usize>> = Vec::new();
        for line in self.text[at..self.text.floor_char_boundary(at + LONGEST_VALUE)].split_inclusive('\n') {
            let mut value = line.trim_start();
            let own = line.len() - value.len();
            let item = value.strip_prefix("- ").filter(|_| own >= indent);
            let is_part = if is_block { own > indent } else { item.is_some() };
            if !value.is_empty() && !is_part {
                break;
            }
            value = item.filter(|_| !is_block).unwrap_or(value).trim_start_matches(['"', '\'']);
            let start = at + line.len() - value.len();
            value = value.trim_end().trim_end_matches(['"', '\'']);
            if !value.is_empty() {
                lines.push(start..start + value.len());
            }
            at += line.len();
        }
        let is_secret = |range: &Range<usize>| {
            let value = &self.text[range.clone()];
            let is_map = value.contains(": ") || value.ends_with(':');
            !is_map && is_secret_element(class, label, value)
        };
        if !is_block {
            lines.retain(is_secret);
        } else if lines.iter().any(is_secret) {
            lines = lines.first().zip(lines.last()).map(|(first, last)| first.start..last.end).into_iter().collect();
        } else {
            lines.clear();
        }
        Some(lines)
    }

    /// Returns the rest of the line.
    fn line(&self) -> &'t str {
        let rest = &self.text[self.start..self.text.floor_char_boundary(self.start + LONGEST_VALUE)];
        &rest[..rest.find(['\n', '\r']).unwrap_or(rest.len())]
    }

    /// Returns the secret in the value.
    fn secret(&self, class: NameClass, name: &str, placeholders: &[Range<usize>]) -> Option<SecretSpan> {
        // A JSON value without quotes is no string.
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
            return is_secret_in_quotes(class, name, &self.text[range.clone()]).then_some(range);
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
        let line = self.line();
        let ends = [" #", " //", " &&", " ||", " | ", "; ", "\\n"];
        let end = ends.iter().filter_map(|end| line.find(end)).min().unwrap_or(line.len());
        let value = line[..end].trim_end();
        let is_line = match self.operator {
            Operator::Command => true,
            Operator::Colon => self.is_line_start() && !is_environment && !self.quoted_name,
            _ => false,
        };
        let is_words = is_line && class == NameClass::Password && value.contains(' ');
        (is_words && values::is_phrase(value)).then(|| self.start..self.start + value.len())
    }

    /// Returns the span of a quoted value if the quotes close on the same line, and in the same string if the text is
    /// JSON.
    fn in_quotes(&self) -> Option<Range<usize>> {
        let (backslashes, quote) = self.quote?;
        let range = self.closing_quote(backslashes, quote)?;
        let value = self.text.get(range.clone())?;
        let is_between = |c: char| c.is_whitespace() || matches!(c, ',' | ':' | '{' | '}' | '[' | ']');
        (!value.contains('"') || !value.contains(is_between)).then_some(range)
    }

    fn closing_quote(&self, backslashes: usize, quote: u8) -> Option<Range<usize>> {
        let bytes = self.text.as_bytes();
        let mut at = self.start;
        let end = bytes.len().min(self.start + LONGEST_VALUE);
        while at < end {
            let escapes = bytes[at..end].iter().take_while(|byte| **byte == b'\\').count();
            let next = bytes.get(at + escapes)?;
            match next {
                b'\n' | b'\r' => return None,
                // Fewer backslashes than before the value close the string around it.
                byte if *byte == quote && escapes <= backslashes => return Some(self.start..at),
                b'n' | b'r' if escapes > 0 && escapes <= backslashes => return None,
                _ => {}
            }
            // In a plain string, pairs of backslashes before a quote escape each other.
            if *next == quote && backslashes == 0 && escapes % 2 == 0 {
                return Some(self.start..at + escapes);
            }
            at += escapes + 1;
        }
        None
    }

    /// Returns where an unquoted value ends: before a byte that ends it, or the escape of one.
    fn bare_end(&self, placeholders: &[Range<usize>], ends: impl Fn(u8) -> bool) -> usize {
        let bytes = self.text.as_bytes();
        let mut at = self.start;
        let most = bytes.len().min(self.start + LONGEST_VALUE);
        while at < most && !ends(bytes[at]) {
            if bytes[at] == b'\\' && bytes.get(at + 1).is_some_and(|next| b"nrt\"'\\u".contains(next)) {
                break;
            }
            at = placeholder_at(placeholders, at).map_or(at + 1, |placeholder| placeholder.end);
        }
        self.text.floor_char_boundary(at)
    }

    /// Whether the value belongs to an environment variable or a flag, so that it is no code.
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
            Operator::Equals | Operator::Space | Operator::Comma => false,
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
fn is_secret_in_quotes(class: NameClass, name: &str, value: &str) -> bool {
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

/// Whether one of several values is secret.
fn is_secret_element(class: NameClass, name: &str, value: &str) -> bool {
    let is_key = || values::is_random(value, 8) && values::is_dense(value, 6) && !values::is_code(value);
    is_secret_in_quotes(class, name, value) && (is_password(class, name) || is_key())
}

/// Whether a name means a password and not a key.
fn is_password(class: NameClass, name: &str) -> bool {
    class == NameClass::Password && !name.to_ascii_lowercase().contains("key")
}

fn is_number(value: &str) -> bool {
    value.bytes().all(|byte| byte.is_ascii_digit())
}

/// Whether a value looks random and is no short hexadecimal id.
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
    vec![&*NAMES, &*NEXT_ELEMENT, &*NAME_BEFORE, &*NAME_BEHIND]
}
