//! Finds secrets in authorization and cookie headers, and in the few commands and files that pass a password without a
//! name.
//!
//! The scheme of a header stays, unless it would reveal the rest.

use std::sync::LazyLock;

use regex::Regex;

use crate::pattern::pattern;
use crate::redact::kinds::{AUTHORIZATION, COOKIE, PASSWORD};
use crate::redact::{SecretSpan, is_delimiter, values};

/// The most bytes of a header.
const LONGEST_HEADER: usize = 8192;
/// The most bytes before a flag that are searched for the command.
const LONGEST_COMMAND: usize = 256;

/// Schemes with a single secret, which ends at white space.
static SCHEMES: LazyLock<Regex> = LazyLock::new(|| {
    pattern("^(?i:api-?key|basic|bearer|bot|digest|githubtoken|jwt|key|negotiate|oauth|sharedkey|sso-key|token)$")
});
/// A user and password after a flag of `curl`, a password after a flag of other commands, a password in `.netrc`.
static COMMANDS: LazyLock<Regex> = LazyLock::new(|| {
    let value = r#"\\*(?:["']([^"'\\\n]{3,256})["'\\]|([^\s"'\\]{3,256}))"#;
    let netrc = r"(?m:^|default|machine\s+\S+)\s*login\s+\S+\s+(?:account\s+\S+\s+)?password\s+(\S{3,256})";
    pattern(&format!(r"[ \t](-u|--user|-U|--proxy-user|-p)[ =]?{value}|{netrc}"))
});

fn is_scheme(word: &str) -> bool {
    SCHEMES.is_match(word)
}

/// Returns where the value of a header ends that begins at `start`: at the end of the line, or at a quote unless the
/// value of a parameter begins there.
fn header_end(text: &str, start: usize) -> usize {
    let bytes = text.as_bytes();
    let most = bytes.len().min(start + LONGEST_HEADER);
    let mut in_parameter = false;
    let mut at = start;
    while at < most {
        match bytes[at] {
            b'\n' | b'\r' => break,
            b'\\' if matches!(bytes.get(at + 1), Some(b'n' | b'r')) => break,
            b'"' | b'\'' | b'`' => {
                let before = text[start..at].trim_end_matches('\\');
                let begins = before.ends_with('=') && bytes.get(at + 1).is_some_and(u8::is_ascii_alphanumeric);
                if !in_parameter && !begins {
                    return start + before.len();
                }
                in_parameter = !in_parameter;
            }
            _ => {}
        }
        at += 1;
    }
    text.floor_char_boundary(at)
}

/// Returns the secret in the value of an authorization header. `is_explicit` tests whether nothing else can be there,
/// as on a line of its own or in quotes; elsewhere it may be prose or code.
pub(super) fn authorization(text: &str, start: usize, is_explicit: impl Fn(&str, usize) -> bool) -> Option<SecretSpan> {
    let value = text.get(start..header_end(text, start))?;
    let start = start + value.len() - value.trim_start().len();
    let (first, rest) = value.trim().split_once(char::is_whitespace).unwrap_or((value.trim(), ""));
    let has_scheme = first.starts_with(|c: char| c.is_ascii_alphabetic())
        && first.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-');
    let credential = rest.trim_start();
    let (credential, is_secret) = if rest.is_empty() || !has_scheme {
        let credential = first.trim_end_matches(['.', ',', ';', ':', ')', '}']);
        let is_explicit_secret =
            is_explicit(credential, start + credential.len()) && !is_scheme(credential) && !value.ends_with(' ');
        let is_random = values::is_random(credential, 8) && !values::is_code(credential);
        (credential, is_random || (is_explicit_secret && !values::is_call(credential)))
    } else {
        let has_parameters = credential.contains('=') && credential.contains(char::is_whitespace);
        let is_one = !credential.contains(char::is_whitespace);
        let credential = if has_parameters { credential } else { credential.split_whitespace().next()? };
        let credential = credential.trim_end_matches(['.', ',', ';', ':', ')', '}']);
        let is_word = credential.bytes().all(|byte| byte.is_ascii_lowercase());
        let is_secret = has_parameters || is_one || !is_word || (is_scheme(first) && credential.len() > 4);
        let is_call = values::is_call(credential) && !credential.contains(':');
        (credential, is_secret && credential.len() >= 3 && !is_call)
    };
    let start = credential.as_ptr() as usize - text.as_ptr() as usize;
    let range = start..start + credential.len();
    (is_secret && !values::is_nothing(credential)).then_some(SecretSpan { range, kind: AUTHORIZATION })
}

/// Returns the secret after the word `bearer`, which ends at `at`, outside a named header.
pub(super) fn bearer(text: &str, at: usize) -> Option<SecretSpan> {
    let ends =
        |c: char| !c.is_ascii() || is_delimiter(c as u8) || matches!(c, ',' | ';' | '<' | '>' | '(' | ')' | '\\' | '}');
    let rest = text[at..].trim_start_matches(' ');
    let start = text.len() - rest.len();
    let credential = &rest[..rest.find(ends).unwrap_or(rest.len()).min(LONGEST_HEADER)];
    let credential = credential.trim_end_matches(['.', ':']);
    let is_secret = start > at && (values::is_random(credential, 12) || credential.len() >= 24);
    let is_secret = is_secret && !values::is_nothing(credential) && !values::is_code(credential);
    is_secret.then(|| SecretSpan { range: start..start + credential.len(), kind: AUTHORIZATION })
}

/// Returns the whole value of a cookie header.
pub(super) fn cookies(text: &str, start: usize) -> Option<SecretSpan> {
    let value = text.get(start..header_end(text, start))?.trim_end();
    let is_secret = value.contains('=') && !values::is_nothing(value) && !values::is_code(value);
    is_secret.then(|| SecretSpan { range: start..start + value.len(), kind: COOKIE })
}

/// Finds passwords in commands and in `.netrc`.
pub(super) fn commands(text: &str, found: &mut Vec<SecretSpan>) {
    for captures in COMMANDS.captures_iter(text) {
        let Some(mut value) = captures.get(2).or(captures.get(3)).or(captures.get(4)).map(|value| value.range()) else {
            continue;
        };
        if let Some(flag) = captures.get(1) {
            let window = &text.as_bytes()[flag.start().saturating_sub(LONGEST_COMMAND)..flag.start()];
            let line = memchr::memrchr(b'\n', window).map_or(window, |line| &window[line + 1..]);
            let names = |command: &str| memchr::memmem::find(line, command.as_bytes()).is_some();
            let is_glued = value.start == flag.end();
            let colon = text[value.clone()].find(':').filter(|_| names("curl"));
            match (flag.as_str(), colon) {
                ("-p", _) if names("sshpass") || names(" login") || (is_glued && names("mysql")) => {}
                ("-p", _) | (_, None) => continue,
                (_, Some(colon)) => value.start += colon + 1,
            }
        }
        let password = &text[value.clone()];
        if password.len() >= 3 && !values::is_reference(password) && password.contains(char::is_alphanumeric) {
            found.push(SecretSpan { range: value, kind: PASSWORD });
        }
    }
}

/// Builds the patterns of this file.
#[cfg(test)]
pub(crate) fn patterns() -> Vec<&'static Regex> {
    vec![&*SCHEMES, &*COMMANDS]
}
