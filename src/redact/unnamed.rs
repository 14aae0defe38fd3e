//! Finds secrets without a name: behind `bearer`, behind the flags of a few commands, and in `.netrc`.

use std::ops::Range;
use std::sync::LazyLock;

use regex::Regex;

use crate::pattern::pattern;
use crate::redact::SecretSpan;
use crate::redact::extents::{LONGEST_HEADER, LONGEST_VALUE, ValueStart, is_delimiter};
use crate::redact::kinds::{AUTHORIZATION, PASSWORD};
use crate::redact::names::NameClass;
use crate::redact::values::{self, SecretCandidate, ValuePlace};

/// The most bytes before a flag that are searched for the command.
const LONGEST_COMMAND: usize = 256;

/// What precedes `password` in an entry of `.netrc`.
static ENTRY: LazyLock<Regex> =
    LazyLock::new(|| pattern(r"(?m:^|default|machine\s+\S+)\s*login\s+\S+\s+(?:account\s+\S+\s+)?$"));

/// Returns the secret after the word `bearer`, which ends at `at`, outside a named header.
pub(super) fn bearer(text: &str, at: usize) -> Option<SecretSpan> {
    let ends = |c: char| u8::try_from(c).is_ok_and(is_delimiter) || !c.is_ascii() || ",;<>()\\}".contains(c);
    let rest = text[at..].trim_start_matches(' ');
    let start = text.len() - rest.len();
    let credential = &rest[..rest.find(ends).unwrap_or(rest.len()).min(LONGEST_HEADER)];
    let value = credential.trim_end_matches(['.', ':']);
    let may_be = start > at && (values::is_random(value, 12) || value.len() >= 24);
    let candidate = SecretCandidate { class: NameClass::Authorization, name: "bearer", value, place: ValuePlace::Line };
    let range = start..start + value.len();
    (may_be && candidate.is_secret()).then_some(SecretSpan { range, kind: AUTHORIZATION })
}

/// Returns the password behind a flag, if it is one of the few commands that take it there.
pub(super) fn behind_flag(text: &str, flag: Range<usize>, placeholders: &[Range<usize>]) -> Option<SecretSpan> {
    let before = &text[text.ceil_char_boundary(flag.start.saturating_sub(LONGEST_COMMAND))..flag.start];
    let line = &before[before.rfind('\n').unwrap_or(0)..];
    let is_glued = !matches!(text.as_bytes().get(flag.end), Some(b' ' | b'='));
    let value = ValueStart::at(text, placeholders, flag.end + usize::from(!is_glued));
    let quoted = value.quote.filter(|quote| quote.mark != b'`').and_then(|quote| value.closing_quote(quote));
    // A quote of another string of JSON does not close this one.
    let is_between = |c: char| c.is_whitespace() || matches!(c, ',' | '{' | '}' | '[' | ']');
    let is_in_one = |value: &str| !value.contains('"') || !value.starts_with('"') && !value.contains(is_between);
    let quoted = quoted.filter(|range| text.get(range.clone()).is_some_and(is_in_one));
    let mut range = quoted.unwrap_or_else(|| word_at(text, value.start));
    if text[flag].ends_with("-p") {
        let is_mysql = is_glued && line.contains("mysql");
        if !is_mysql && !line.contains("sshpass") && !line.contains(" login") {
            return None;
        }
    } else if line.contains("curl") {
        range.start += text.get(range.clone())?.find(':')? + 1;
    } else {
        return None;
    }
    behind_command(text, range)
}

/// Returns the word at an offset: up to white space, a quote or an escape, but for an escape that it begins with.
fn word_at(text: &str, at: usize) -> Range<usize> {
    let word = text[at..].trim_start_matches('\\');
    let is_escape = word.starts_with('u') && word.len() < text[at..].len();
    let start = text.len() - word.len();
    let end = word.find(|c: char| c.is_whitespace() || matches!(c, '"' | '\'' | '\\')).unwrap_or(word.len());
    let end = text.floor_char_boundary(start + end.min(LONGEST_VALUE));
    // A mask must leave no half of an escape.
    if is_escape { start - 1..end } else { start..end }
}

/// Returns the password behind the word `password` at `name` in an entry of `.netrc`.
pub(super) fn in_netrc(text: &str, name: &Range<usize>) -> Option<SecretSpan> {
    let rest = text[name.end..].trim_start();
    let start = text.len() - rest.len();
    let before = &text[text.ceil_char_boundary(name.start.saturating_sub(LONGEST_COMMAND))..name.start];
    if &text[name.clone()] != "password" || start == name.end || !ENTRY.is_match(before) {
        return None;
    }
    let end = rest.find(char::is_whitespace).unwrap_or(rest.len());
    behind_command(text, start..start + end)
}

/// Returns the password that a command or a file passes without a name.
fn behind_command(text: &str, range: Range<usize>) -> Option<SecretSpan> {
    let value = text.get(range.clone())?;
    let candidate = SecretCandidate { class: NameClass::Password, name: "", value, place: ValuePlace::Command };
    candidate.is_secret().then_some(SecretSpan { range, kind: PASSWORD })
}

/// Builds the patterns of this file.
#[cfg(test)]
pub(crate) fn patterns() -> Vec<&'static Regex> {
    vec![&*ENTRY]
}
