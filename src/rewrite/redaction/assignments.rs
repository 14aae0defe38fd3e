//! Secrets that are known by the name before them, found in a text: `.env` lines, assignments in code, YAML, JSON and XML,
//! flags of commands, headers.
//!
//! The text may be of any kind and cut anywhere, so nothing is parsed: from a name that says secret one looks for what
//! assigns, and from there for where the value ends. How far that looks is bounded, so the time is linear.

use std::ops::Range;
use std::sync::LazyLock;

use regex::Regex;

use crate::rewrite::redaction::kinds::{ENV_SECRET, PASSWORD, SECRET};
use crate::rewrite::redaction::names::{self, Says};
use crate::rewrite::redaction::{Found, breaks, headers, values};

/// Bytes of a name that are looked at on either side of the word that tells.
const LONGEST_NAME: usize = 64;
/// Bytes of a value that are looked at.
const LONGEST_VALUE: usize = 4096;
/// Spaces around what assigns.
const MOST_SPACES: usize = 16;

/// Something that every name has in it that says secret.
static NAMES: LazyLock<Option<Regex>> = LazyLock::new(|| {
    Regex::new("(?i-u:pass|pwd|secret|token|key|credential|auth|cookie|bearer|_pw|_pat|_pin|salt|dsn)").ok()
});

/// What stands between a name and its value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Assigns {
    /// `=` with nothing around it, or the end of an XML tag.
    Tight,
    /// `=`, `:=` or `=>`.
    Equals,
    /// `:`
    Colon,
    /// A space behind a flag.
    Space,
}

/// A name and what stands behind it.
struct Assignment<'t> {
    text: &'t str,
    name: Range<usize>,
    assigns: Assigns,
    /// Whether the name itself stands in quotes.
    quoted_name: bool,
    /// Where the value begins, its quotes passed over.
    start: usize,
    /// Backslashes and the quote before the value, where there are quotes.
    quote: Option<(usize, u8)>,
}

/// All of them in a text, in no order; `kept` are the placeholders in it.
pub(super) fn find(text: &str, kept: &[Range<usize>], found: &mut Vec<Found>) {
    // The tests see that it compiles.
    let Some(names) = NAMES.as_ref() else { return };
    let mut at = 0;
    while let Some(hit) = names.find_at(text, at) {
        at = hit.end();
        if let Some(placeholder) = placeholder_at(kept, hit.start()) {
            at = placeholder.end.max(at);
            continue;
        }
        let secret = if hit.as_str().eq_ignore_ascii_case("bearer") {
            headers::bearer(text, hit.end())
        } else {
            let name = name_around(text, hit.range());
            at = name.end.max(at);
            // Most names are given nothing, which is quickly seen.
            assignment(text, name).and_then(|assignment| assignment.secret(kept))
        };
        at = secret.as_ref().map_or(at, |secret| secret.range.end.max(at));
        found.extend(secret);
    }
}

/// The secret in the value of a member of that name, where the name says that it has one.
pub(super) fn in_member(name: &str, value: &str) -> Option<Found> {
    match names::says(name)? {
        Says::Authorization => headers::authorization(value, 0, |_, _| true),
        Says::Cookie => headers::cookies(value, 0),
        says => is_secret_in_quotes(says, name, value).then(|| Found { range: 0..value.len(), kind: kind(says, name) }),
    }
}

/// The placeholder that a byte belongs to.
fn placeholder_at(kept: &[Range<usize>], at: usize) -> Option<&Range<usize>> {
    let index = kept.partition_point(|range| range.end <= at);
    kept.get(index).filter(|range| range.start <= at)
}

/// The name that has something in it, without the letter of an escape before it.
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

/// What a name says; it may be two words.
fn said(text: &str, name: Range<usize>) -> Option<(Range<usize>, Says)> {
    let whole = |range: Range<usize>| names::says(&text[range.clone()]).map(|says| (range, says));
    whole(name.clone()).or_else(|| {
        let before = text[..name.start].strip_suffix(' ')?.as_bytes();
        let word = before.iter().rev().take(LONGEST_NAME).take_while(|byte| byte.is_ascii_alphabetic()).count();
        if word > 0 { whole(before.len() - word..name.end) } else { None }
    })
}

/// The backslashes and the quote that stand there.
fn quote_at(bytes: &[u8], at: usize) -> Option<(usize, u8)> {
    let backslashes = bytes[at..].iter().take(16).take_while(|byte| **byte == b'\\').count();
    let quote = *bytes.get(at + backslashes)?;
    matches!(quote, b'"' | b'\'' | b'`').then_some((backslashes, quote))
}

fn skip_spaces(bytes: &[u8], at: usize) -> usize {
    at + bytes[at..].iter().take(MOST_SPACES).take_while(|byte| matches!(byte, b' ' | b'\t')).count()
}

/// What a name is given, where it is given something.
fn assignment(text: &str, name: Range<usize>) -> Option<Assignment<'_>> {
    let bytes = text.as_bytes();
    // Stars make it bold in Markdown.
    let skip_stars = |at: usize| at + bytes[at..].iter().take(2).take_while(|byte| **byte == b'*').count();
    let mut at = skip_stars(name.end);
    let closing = quote_at(bytes, at);
    if let Some((backslashes, _)) = closing {
        at += backslashes + 1;
        at += usize::from(bytes.get(at) == Some(&b']'));
    }
    at += usize::from(matches!(bytes.get(at), Some(b'?')));
    let spaced = skip_spaces(bytes, at);
    let before = &bytes[..name.start];
    let (assigns, length) = match &bytes[spaced..] {
        [b':', b':', ..] | [b'=', b'=' | b'~', ..] => return None,
        [b':', b'=', ..] | [b'=', b'>', ..] => (Assigns::Equals, 2),
        [b':', ..] => (Assigns::Colon, 1),
        [b'=', next, ..] if spaced == at && !matches!(next, b' ' | b'\t') => (Assigns::Tight, 1),
        [b'=', ..] => (Assigns::Equals, 1),
        [b'>', ..] if before.ends_with(b"<") && spaced == at => (Assigns::Tight, 1),
        [_, ..] if before.ends_with(b"--") && spaced > at => (Assigns::Space, 0),
        _ => return None,
    };
    let mut start = skip_spaces(bytes, skip_stars(spaced + length));
    if assigns == Assigns::Colon {
        start = behind_type(bytes, start);
    }
    let quote = quote_at(bytes, start);
    start += quote.map_or(0, |(backslashes, _)| backslashes + 1);
    Some(Assignment { text, name, assigns, quoted_name: closing.is_some(), start, quote })
}

/// Passes over a type and `=`: `: str = "…"`.
fn behind_type(bytes: &[u8], at: usize) -> usize {
    let is_type = |byte: &&u8| byte.is_ascii_alphanumeric() || b"_<>[]&|. ".contains(byte);
    let end = at + bytes[at..].iter().take(LONGEST_NAME).take_while(is_type).count();
    if end == at || !bytes[end..].starts_with(b"=") || bytes[end - 1] != b' ' {
        return at;
    }
    let assigned = skip_spaces(bytes, end + 1);
    if quote_at(bytes, assigned).is_some() { assigned } else { at }
}

impl Assignment<'_> {
    /// The secret in the value.
    fn secret(self, kept: &[Range<usize>]) -> Option<Found> {
        let (name, says) = said(self.text, self.name.clone())?;
        let assignment = Assignment { name, ..self };
        let name = &assignment.text[assignment.name.clone()];
        // What JSON has without quotes is no string.
        if assignment.quoted_name && assignment.assigns == Assigns::Colon && assignment.quote.is_none() {
            return None;
        }
        let is_header =
            assignment.assigns == Assigns::Colon || assignment.quoted_name || name.ends_with("uthorization");
        // A name without `-` may be that of a member in code, and its value a variable.
        let is_given = |value: &str, end: usize| {
            let is_alone = assignment.is_line_start() && assignment.is_line_end(end);
            assignment.quote.is_some() || (is_alone && (name.contains('-') || !values::is_code(value)))
        };
        match says {
            Says::Authorization if is_header => headers::authorization(assignment.text, assignment.start, is_given),
            Says::Authorization => {
                assignment.value(Says::Key, name, kept).map(|range| Found { range, kind: kind(Says::Key, name) })
            }
            Says::Cookie if assignment.assigns == Assigns::Colon => headers::cookies(assignment.text, assignment.start),
            Says::Cookie => None,
            _ => assignment.value(says, name, kept).map(|range| Found { range, kind: kind(says, name) }),
        }
    }

    /// The value, if it is secret.
    fn value(&self, says: Says, name: &str, kept: &[Range<usize>]) -> Option<Range<usize>> {
        if let Some(range) = self.in_quotes() {
            return is_secret_in_quotes(says, name, &self.text[range.clone()]).then_some(range);
        }
        let is_environment = self.is_environment(name);
        let is_connection = self.is_connection(name);
        let ends = |byte: u8| match byte {
            b' ' => !is_connection,
            b'<' | b'>' => !is_environment,
            // What ends a value in a URL, a form, a connection string or a command may stand in one in a sentence.
            b';' | b'&' | b'|' => !is_environment && self.assigns != Assigns::Colon,
            _ => breaks(byte),
        };
        let end = self.bare_end(kept, ends);
        let last: &[char] = if is_environment { &[',', ';'] } else { &['.', ',', ':', ';', ')', ']', '}'] };
        let value = self.text.get(self.start..end)?.trim_end_matches(last);
        self.is_secret(says, name, value, is_environment).then_some(self.start..self.start + value.len())
    }

    /// Where the value in quotes is, if they are closed on the same line, and in the same string where the text is JSON.
    fn in_quotes(&self) -> Option<Range<usize>> {
        let (backslashes, quote) = self.quote?;
        let range = self.closing(backslashes, quote)?;
        let value = self.text.get(range.clone())?;
        let is_between = |c: char| c.is_whitespace() || matches!(c, ',' | ':' | '{' | '}' | '[' | ']');
        (!value.contains('"') || !value.contains(is_between)).then_some(range)
    }

    fn closing(&self, backslashes: usize, quote: u8) -> Option<Range<usize>> {
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
            // Backslashes in pairs before a quote in a plain string escape each other.
            if *next == quote && backslashes == 0 && escapes % 2 == 0 {
                return Some(self.start..at + escapes);
            }
            at += escapes + 1;
        }
        None
    }

    /// Where a value without quotes ends: before what ends it, or what would end it if it were not spelled out.
    fn bare_end(&self, kept: &[Range<usize>], ends: impl Fn(u8) -> bool) -> usize {
        let bytes = self.text.as_bytes();
        let mut at = self.start;
        let most = bytes.len().min(self.start + LONGEST_VALUE);
        while at < most && !ends(bytes[at]) {
            if bytes[at] == b'\\' && bytes.get(at + 1).is_some_and(|next| b"nrt\"'\\u".contains(next)) {
                break;
            }
            at = placeholder_at(kept, at).map_or(at + 1, |placeholder| placeholder.end);
        }
        self.text.floor_char_boundary(at)
    }

    /// Whether the value is written as that of an environment variable or of a flag, so that it is no code.
    fn is_environment(&self, name: &str) -> bool {
        let before = &self.text[..self.name.start];
        let is_exported = || {
            let words = ["--", "export ", "set ", "setx ", "-e ", "--env ", "ENV ", "ARG ", "env "];
            words.iter().any(|word| before.ends_with(word))
        };
        match self.assigns {
            Assigns::Tight => names::is_environment(name) || is_exported(),
            Assigns::Colon => names::is_environment(name) && self.is_line_start(),
            Assigns::Equals | Assigns::Space => false,
        }
    }

    /// Whether it is a part of a connection string, `Password=…;`, where spaces belong to the value.
    fn is_connection(&self, name: &str) -> bool {
        let mut rest = self.text.as_bytes()[self.start..].iter().take(LONGEST_NAME);
        let end = rest.find(|byte| matches!(byte, b';' | b'=' | b'\\') || (**byte != b' ' && breaks(**byte)));
        let is_capital = name.starts_with(|c: char| c.is_ascii_uppercase()) && !names::is_environment(name);
        self.assigns == Assigns::Tight && is_capital && end == Some(&b';')
    }

    /// Whether the name is the first on its line, but for what marks items and changes.
    fn is_line_start(&self) -> bool {
        let before = self.text.as_bytes()[..self.name.start].iter().rev().take(LONGEST_NAME);
        let mut rest = before.skip_while(|byte| matches!(byte, b' ' | b'\t' | b'-' | b'+' | b'>' | b'*'));
        match rest.next() {
            None | Some(b'\n' | b'\r' | b'"' | b'\'' | b'`' | b'{') => true,
            Some(b'n') => rest.next() == Some(&b'\\'),
            _ => false,
        }
    }

    /// Whether nothing stands behind a value on its line.
    fn is_line_end(&self, end: usize) -> bool {
        let rest = &self.text.as_bytes()[skip_spaces(self.text.as_bytes(), end)..];
        matches!(rest, [] | [b'\n' | b'\r' | b'"' | b'\'' | b'`' | b'#', ..] | [b'\\', b'n' | b'r' | b'"', ..])
    }

    /// Whether a value without quotes is secret.
    fn is_secret(&self, says: Says, name: &str, value: &str, is_environment: bool) -> bool {
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
        let is_given = is_environment || (is_form && self.assigns == Assigns::Tight);
        match says {
            // Tests pass, and say so.
            Says::Password if self.assigns == Assigns::Colon && name == "PASS" => false,
            Says::Password => {
                let is_type = value.starts_with(|c: char| c.is_ascii_uppercase())
                    && value.bytes().all(|byte| byte.is_ascii_alphabetic());
                let is_alone = matches!(self.assigns, Assigns::Colon | Assigns::Tight)
                    && self.is_line_start()
                    && self.is_line_end(end)
                    && !is_type;
                (length >= 3 && is_given) || (length >= 4 && is_alone) || values::is_random(value, 6)
            }
            Says::Key => (length >= 4 && is_given && !is_number(value)) || values::is_random(value, 8),
            Says::Perhaps => looks_drawn(value) && values::is_dense(value, 8),
            Says::Authorization | Says::Cookie => false,
        }
    }
}

/// Whether a value in quotes is secret.
fn is_secret_in_quotes(says: Says, name: &str, value: &str) -> bool {
    let is_environment = names::is_environment(name);
    if values::is_nothing(value) || (!is_environment && values::is_own_name(name, value)) {
        return false;
    }
    let length = value.chars().count();
    match says {
        // A variable's value may be several words.
        Says::Password if is_environment => length >= 3 && !(value.ends_with('.') && value.contains(' ')),
        _ if value.contains(char::is_whitespace) => false,
        Says::Password => length >= 3,
        Says::Key => length >= 8 && !values::is_code(value) && !is_number(value),
        Says::Perhaps => looks_drawn(value),
        Says::Authorization | Says::Cookie => false,
    }
}

fn is_number(value: &str) -> bool {
    value.bytes().all(|byte| byte.is_ascii_digit())
}

/// Whether a value looks as if it was drawn at random, and is no short id in hexadecimal digits.
fn looks_drawn(value: &str) -> bool {
    values::is_random(value, 8) && (value.len() >= 16 || !value.bytes().all(|byte| byte.is_ascii_hexdigit()))
}

/// What a secret is called that is one by its name.
fn kind(says: Says, name: &str) -> &'static str {
    match says {
        _ if names::is_environment(name) => ENV_SECRET,
        Says::Password if !name.to_ascii_lowercase().ends_with("secret") => PASSWORD,
        _ => SECRET,
    }
}
