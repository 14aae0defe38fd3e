//! Secrets that are known by the name before them, found in a text: `.env` lines, assignments in code, YAML, JSON and XML,
//! flags of commands, headers.
//!
//! The text may be of any kind and cut anywhere, so nothing is parsed: from a name that says secret one looks for what
//! assigns, and from there for where the value ends. How far that looks is bounded, so the time is linear.

use std::ops::Range;
use std::sync::LazyLock;

use regex::Regex;

use super::kinds::{AUTHORIZATION, ENV_SECRET, PASSWORD, SECRET};
use super::names::{self, Says};
use super::{Found, breaks, headers, values};

/// Bytes of a name that are looked at on either side of the word that tells.
const LONGEST_NAME: usize = 64;
/// Bytes of a value that are looked at.
const LONGEST_VALUE: usize = 4096;
/// Spaces around what assigns.
const MOST_SPACES: usize = 16;

/// Something that every name has in it that says secret.
static NAMES: LazyLock<Option<Regex>> = LazyLock::new(|| {
    let words = "pass|pwd|secret|token|key|credential|auth|cookie|conn|mnemonic|phrase|bearer|_pw";
    // The tests see that it compiles.
    Regex::new(&format!("(?i-u:{words})")).ok()
});

/// What stands between a name and its value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Assigns {
    /// `=` with nothing around it.
    Tight,
    /// `=`, `:=` or `=>`.
    Equals,
    /// `:`
    Colon,
    /// `,` between two strings in quotes.
    Comma,
    /// A space behind a flag.
    Space,
    /// The end of an XML tag.
    Tag,
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
    let Some(names) = NAMES.as_ref() else { return };
    let mut at = 0;
    // The end of the last cookie header, in which another name of one begins no header.
    let mut cookies_end = 0;
    while let Some(hit) = names.find_at(text, at) {
        at = hit.end();
        if let Some(placeholder) = placeholder_at(kept, hit.start()) {
            at = placeholder.end.max(at);
            continue;
        }
        if hit.as_str().eq_ignore_ascii_case("bearer") {
            let credential = headers::bearer(text, hit.end(), kept);
            at = credential.as_ref().map_or(at, |range| range.end);
            found.extend(credential.map(|range| Found { range, kind: AUTHORIZATION }));
            continue;
        }
        let name = name_around(text, hit.range());
        at = name.end.max(at);
        // Most names are given nothing, which is quickly seen.
        let Some(assignment) = assignment(text, name.clone()) else { continue };
        let Some((name, says)) = said(text, name) else { continue };
        let assignment = Assignment { name, ..assignment };
        if says == Says::Cookie {
            if assignment.start < cookies_end {
                continue;
            }
            cookies_end = assignment.line(kept).end;
        }
        let before = found.len();
        assignment.secrets(says, kept, found);
        at = found[before..].iter().map(|secret| secret.range.end).max().unwrap_or(at).max(at);
    }
}

/// The secrets in the value of a member of that name, where the name says that it has some.
pub(super) fn in_member(name: &str, value: &str, found: &mut Vec<Found>) {
    let Some(says) = names::says(name) else { return };
    match says {
        Says::Authorization => found.extend(headers::authorization(value, 0..value.len())),
        Says::Cookie => headers::cookies(value, 0..value.len(), found),
        _ if is_secret_in_quotes(says, name, value, Assigns::Colon) => {
            found.push(Found { range: 0..value.len(), kind: kind(says, name) });
        }
        _ => {}
    }
}

/// The placeholder that a byte belongs to.
pub(super) fn placeholder_at(kept: &[Range<usize>], at: usize) -> Option<&Range<usize>> {
    let index = kept.partition_point(|range| range.end <= at);
    kept.get(index).filter(|range| range.start <= at)
}

fn is_name(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-' | b'.')
}

/// The name that has something in it.
fn name_around(text: &str, part: Range<usize>) -> Range<usize> {
    let bytes = text.as_bytes();
    let before = bytes[..part.start].iter().rev().take(LONGEST_NAME).take_while(|byte| is_name(**byte)).count();
    let after = bytes[part.end..].iter().take(LONGEST_NAME).take_while(|byte| is_name(**byte)).count();
    let (mut start, mut end) = (part.start - before, part.end + after);
    while matches!(bytes[start], b'-' | b'.') {
        start += 1;
    }
    while matches!(bytes[end - 1], b'-' | b'.') {
        end -= 1;
    }
    start..end
}

/// What a name says; it may begin with the letter of an escape, and be two words.
fn said(text: &str, name: Range<usize>) -> Option<(Range<usize>, Says)> {
    let whole = |range: Range<usize>| names::says(&text[range.clone()]).map(|says| (range, says));
    let bytes = text.as_bytes();
    let is_escaped =
        name.start > 0 && bytes[name.start - 1] == b'\\' && matches!(bytes[name.start], b'n' | b'r' | b't');
    let unescaped = || if is_escaped { whole(name.start + 1..name.end) } else { None };
    let joined = || {
        let space = name.start.checked_sub(1).filter(|&space| bytes[space] == b' ')?;
        let before =
            bytes[..space].iter().rev().take(LONGEST_NAME).take_while(|byte| byte.is_ascii_alphabetic()).count();
        if before > 0 { whole(space - before..name.end) } else { None }
    };
    unescaped().or_else(|| whole(name.clone())).or_else(joined)
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

/// Passes over the stars that make a name bold.
fn skip_stars(bytes: &[u8], at: usize) -> usize {
    at + bytes[at..].iter().take(2).take_while(|byte| **byte == b'*').count()
}

/// What a name is given, where it is given something.
fn assignment(text: &str, name: Range<usize>) -> Option<Assignment<'_>> {
    let bytes = text.as_bytes();
    let mut at = skip_stars(bytes, name.end);
    let closing = quote_at(bytes, at);
    if let Some((backslashes, _)) = closing {
        at += backslashes + 1;
        at += usize::from(bytes.get(at) == Some(&b']'));
    }
    at = skip_stars(bytes, at);
    at += usize::from(matches!(bytes.get(at), Some(b'?')));
    let spaced = skip_spaces(bytes, at);
    let is_flag = bytes[..name.start].ends_with(b"--");
    let is_tag = bytes[..name.start].ends_with(b"<");
    let rest = &bytes[spaced..];
    let (assigns, length) = match rest {
        [b':', b':', ..] | [b'=', b'=' | b'~', ..] => return None,
        [b':', b'=', ..] | [b'=', b'>', ..] => (Assigns::Equals, 2),
        [b':', ..] => (Assigns::Colon, 1),
        [b'=', next, ..] if spaced == at && !matches!(next, b' ' | b'\t') => (Assigns::Tight, 1),
        [b'=', ..] => (Assigns::Equals, 1),
        [b',', ..] if closing.is_some() => (Assigns::Comma, 1),
        [b'>', ..] if is_tag && spaced == at => (Assigns::Tag, 1),
        [_, ..] if is_flag && spaced > at => (Assigns::Space, 0),
        _ => return None,
    };
    let mut start = skip_spaces(bytes, skip_stars(bytes, spaced + length));
    if assigns == Assigns::Colon {
        start = behind_type(bytes, start);
    }
    start = behind_wrapper(text, start);
    let quote = quote_at(bytes, start).filter(|_| assigns != Assigns::Tag);
    start += quote.map_or(0, |(backslashes, _)| backslashes + 1);
    Some(Assignment { text, name, assigns, quoted_name: closing.is_some(), start, quote })
}

/// Passes over a type and `=`: `: str = "…"`.
fn behind_type(bytes: &[u8], at: usize) -> usize {
    let is_type = |byte: &&u8| {
        byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'<' | b'>' | b'[' | b']' | b'&' | b'|' | b'.' | b' ')
    };
    let end = at + bytes[at..].iter().take(LONGEST_NAME).take_while(is_type).count();
    if end == at || bytes.get(end) != Some(&b'=') || bytes[end - 1] != b' ' {
        return at;
    }
    let assigned = skip_spaces(bytes, end + 1);
    if quote_at(bytes, assigned).is_some() { assigned } else { at }
}

/// Passes over what may stand before the quote of a string: the letters that say how it is read, or a type around it.
fn behind_wrapper(text: &str, at: usize) -> usize {
    let bytes = text.as_bytes();
    const WRAPPERS: [&str; 12] =
        ["SecretStr(", "Secret(", "String::from(", "Some(", "str(", "b", "r", "f", "u", "rb", "br", "@"];
    let wrapper =
        |wrapper: &&&str| bytes[at..].starts_with(wrapper.as_bytes()) && quote_at(bytes, at + wrapper.len()).is_some();
    at + WRAPPERS.iter().find(wrapper).map_or(0, |wrapper| wrapper.len())
}

impl Assignment<'_> {
    /// Adds what is secret in the value.
    fn secrets(&self, says: Says, kept: &[Range<usize>], found: &mut Vec<Found>) {
        match says {
            Says::Authorization => found.extend(headers::authorization(self.text, self.line(kept))),
            Says::Cookie => headers::cookies(self.text, self.line(kept), found),
            _ => {
                let name = &self.text[self.name.clone()];
                found.extend(self.value(says, name, kept).map(|range| Found { range, kind: kind(says, name) }));
            }
        }
    }

    /// The value as a header has it: to the end of the string or the line.
    fn line(&self, kept: &[Range<usize>]) -> Range<usize> {
        self.in_quotes().unwrap_or_else(|| {
            self.start..self.bare_end(kept, |byte| matches!(byte, b'\n' | b'\r' | b'"' | b'\'' | b'`'))
        })
    }

    /// The value, if it is secret.
    fn value(&self, says: Says, name: &str, kept: &[Range<usize>]) -> Option<Range<usize>> {
        if let Some(range) = self.in_quotes() {
            let is_secret = is_secret_in_quotes(says, name, &self.text[range.clone()], self.assigns);
            return is_secret.then_some(range);
        }
        // What JSON has without quotes is no string, and a list of arguments holds names.
        if (self.quoted_name && self.assigns == Assigns::Colon) || self.assigns == Assigns::Comma {
            return None;
        }
        let is_environment = self.is_environment(name);
        let ends = |byte: u8| match byte {
            b'<' | b'>' => self.assigns == Assigns::Tag || !is_environment,
            // What ends a value in a URL, a form, a connection string or a command may stand in one in a sentence.
            b';' | b'&' | b'|' => !is_environment && self.assigns != Assigns::Colon,
            _ => breaks(byte),
        };
        let mut end = self.bare_end(kept, ends);
        let last = |byte: u8| if is_environment { b",;".contains(&byte) } else { b".,;:)}]".contains(&byte) };
        while end > self.start && last(self.text.as_bytes()[end - 1]) {
            end -= 1;
        }
        let value = self.text.get(self.start..end).filter(|value| !value.is_empty())?;
        self.is_secret(says, name, value, is_environment).then_some(self.start..end)
    }

    /// Where the value in quotes is, if they are closed on the same line, and in the same string where the text is JSON.
    fn in_quotes(&self) -> Option<Range<usize>> {
        const BETWEEN_STRINGS: [&str; 8] = ["\",", "\":", "\"}", "\"]", ",\"", ":\"", "{\"", "[\""];
        let (backslashes, quote) = self.quote?;
        let range = self.closing(backslashes, quote)?;
        let value = self.text.get(range.clone())?;
        let is_between = value.contains('"') && BETWEEN_STRINGS.iter().any(|between| value.contains(between));
        let has_spaces = value.contains('"') && value.contains(char::is_whitespace);
        (!is_between && !has_spaces).then_some(range)
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
            if bytes[at] == b'\\' && matches!(bytes.get(at + 1), Some(b'n' | b'r' | b't' | b'"' | b'\'' | b'\\' | b'u'))
            {
                break;
            }
            at = placeholder_at(kept, at).map_or(at + 1, |placeholder| placeholder.end);
        }
        while !self.text.is_char_boundary(at) {
            at -= 1;
        }
        at
    }

    /// Whether the value is written as that of an environment variable or of a flag.
    fn is_environment(&self, name: &str) -> bool {
        let before = &self.text.as_bytes()[..self.name.start];
        let is_exported = ["export ", "set ", "setx ", "-e ", "--env ", "ENV ", "ARG ", "env "]
            .iter()
            .any(|word| before.ends_with(word.as_bytes()));
        match self.assigns {
            Assigns::Tight => names::is_environment(name) || is_exported || before.ends_with(b"--"),
            Assigns::Colon => names::is_environment(name) && self.is_line_start(),
            Assigns::Tag => true,
            Assigns::Equals | Assigns::Comma | Assigns::Space => false,
        }
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
        let rest = &self.text.as_bytes()[end..];
        let rest = &rest[rest.iter().take(MOST_SPACES).take_while(|byte| matches!(byte, b' ' | b'\t')).count()..];
        matches!(rest, [] | [b'\n' | b'\r' | b'"' | b'\'' | b'`' | b'#', ..] | [b'\\', b'n' | b'r' | b'"', ..])
    }

    /// Whether a value without quotes is secret.
    fn is_secret(&self, says: Says, name: &str, value: &str, is_environment: bool) -> bool {
        if values::is_no_secret(name, value) || values::is_code(value) {
            return false;
        }
        let bytes = self.text.as_bytes();
        let end = self.start + value.len();
        let length = value.chars().count();
        let is_form = matches!(bytes[..self.name.start].last(), Some(b'?' | b'&')) || bytes.get(end) == Some(&b'&');
        let is_given = is_environment || (is_form && self.assigns == Assigns::Tight);
        match says {
            Says::Connection => is_given && length >= 16 && value.contains('=') && !value.contains("://"),
            Says::Password => {
                let is_type = value.starts_with(|c: char| c.is_ascii_uppercase())
                    && value.bytes().all(|byte| byte.is_ascii_alphabetic());
                let is_alone = matches!(self.assigns, Assigns::Colon | Assigns::Tight)
                    && self.is_line_start()
                    && self.is_line_end(end)
                    && !is_type;
                (length >= 3 && is_given) || (length >= 4 && is_alone) || values::is_random(value, 6)
            }
            Says::Key => (length >= 4 && is_given) || values::is_random(value, 8),
            // Tests pass, and say so.
            Says::Perhaps if self.assigns == Assigns::Colon && name.to_ascii_lowercase().ends_with("pass") => false,
            Says::Perhaps => values::is_random(value, 8) && values::is_dense(value, 8),
            Says::Phrase | Says::Authorization | Says::Cookie => false,
        }
    }
}

/// Whether a value in quotes is secret.
fn is_secret_in_quotes(says: Says, name: &str, value: &str, assigns: Assigns) -> bool {
    if says == Says::Phrase {
        return value.split_whitespace().count() >= 12 && value.bytes().all(|b| b.is_ascii_lowercase() || b == b' ');
    }
    if values::is_no_secret(name, value) {
        return false;
    }
    let length = value.chars().count();
    let is_one_word = !value.contains(char::is_whitespace);
    match says {
        Says::Connection => length >= 16 && value.contains('=') && !value.contains("://"),
        _ if !is_one_word => false,
        _ if assigns == Assigns::Comma => values::is_random(value, 8),
        Says::Password => length >= 3,
        Says::Key => length >= 8 && !values::is_code(value),
        Says::Perhaps => values::is_random(value, 8),
        Says::Phrase | Says::Authorization | Says::Cookie => false,
    }
}

/// What a secret is called that is one by its name.
fn kind(says: Says, name: &str) -> &'static str {
    match says {
        _ if names::is_environment(name) => ENV_SECRET,
        Says::Password if !name.to_ascii_lowercase().ends_with("secret") => PASSWORD,
        _ => SECRET,
    }
}
