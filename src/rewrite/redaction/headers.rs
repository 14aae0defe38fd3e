//! The secrets in authorization and cookie headers, and in the arguments of commands that take a name and a password.
//!
//! The scheme, the names of cookies and what else a header says stay.

use std::ops::Range;

use memchr::memmem;

use super::assignments::placeholder_at;
use super::kinds::{AUTHORIZATION, COOKIE, PASSWORD};
use super::{Found, breaks, values};

/// Schemes that have a secret behind them, in small letters.
const SCHEMES: [&str; 12] = [
    "apikey",
    "api-key",
    "basic",
    "bearer",
    "bot",
    "githubtoken",
    "jwt",
    "key",
    "negotiate",
    "sso-key",
    "token",
    "zoho-oauthtoken",
];
/// What a cookie's attributes are called, in small letters.
const ATTRIBUTES: [&str; 10] =
    ["comment", "domain", "expires", "httponly", "max-age", "partitioned", "path", "priority", "samesite", "version"];
/// Bytes of a command that are looked at.
const LONGEST_COMMAND: usize = 2048;

/// A command that takes a password as an argument.
struct Command {
    name: &'static str,
    /// Flags with the password behind them.
    flags: &'static [&'static str],
    /// Whether a name and a colon stand before the password.
    named: bool,
    /// Whether the password stands right behind the flag.
    glued: bool,
}

const COMMANDS: [Command; 4] = [
    Command { name: "curl", flags: &["-u", "--user", "-U", "--proxy-user"], named: true, glued: false },
    Command { name: "sshpass", flags: &["-p"], named: false, glued: true },
    Command { name: "redis-cli", flags: &["-a"], named: false, glued: false },
    Command { name: "mysql", flags: &["-p"], named: false, glued: true },
];

/// What ends a credential.
fn ends(byte: u8) -> bool {
    breaks(byte) || matches!(byte, b',' | b';' | b'<' | b'>' | b'(' | b')' | b'\\' | b'}')
}

/// The secret behind the word `bearer`, which ends at `at`, where no header's name says what it is.
pub(super) fn bearer(text: &str, at: usize, kept: &[Range<usize>]) -> Option<Range<usize>> {
    let bytes = text.as_bytes();
    let start = at + bytes[at..].iter().take(4).take_while(|byte| **byte == b' ').count();
    if start == at || placeholder_at(kept, start).is_some() {
        return None;
    }
    let end = start + bytes[start..].iter().take(8192).take_while(|byte| !ends(**byte)).count();
    let range = start..trimmed(bytes, start, end);
    let credential = text.get(range.clone())?;
    let is_secret = values::is_random(credential, 16)
        && !values::is_no_secret("token", credential)
        && !values::is_code(credential)
        && credential.is_ascii();
    is_secret.then_some(range)
}

/// The end without the full stop or colon of a sentence.
fn trimmed(bytes: &[u8], start: usize, mut end: usize) -> usize {
    while end > start && matches!(bytes[end - 1], b'.' | b':') {
        end -= 1;
    }
    end
}

/// The secret in the value of an authorization header.
pub(super) fn authorization(text: &str, value: Range<usize>) -> Option<Found> {
    let bytes = &text.as_bytes()[..value.end];
    let word = |at: usize| {
        let start = at + bytes[at..].iter().take_while(|byte| byte.is_ascii_whitespace()).count();
        let end = start + bytes[start..].iter().take_while(|byte| !ends(**byte)).count();
        start..trimmed(bytes, start, end)
    };
    let first = word(value.start);
    let scheme = text.get(first.clone())?.to_ascii_lowercase();
    let has_scheme = SCHEMES.contains(&scheme.as_str());
    let range = if has_scheme { word(first.end) } else { first };
    let credential = text.get(range.clone())?;
    let is_word = credential.bytes().all(|byte| byte.is_ascii_lowercase() || matches!(byte, b'-' | b'_'));
    let is_long = credential.len() >= if is_word { 16 } else { 4 };
    let is_secret = if has_scheme { is_long && !values::is_code(credential) } else { values::is_random(credential, 8) };
    let is_secret = is_secret && !values::is_no_secret("token", credential);
    is_secret.then_some(Found { range, kind: AUTHORIZATION })
}

/// The secrets in the value of a cookie header.
pub(super) fn cookies(text: &str, value: Range<usize>, found: &mut Vec<Found>) {
    let mut at = value.start;
    let Some(header) = text.get(value) else { return };
    for pair in header.split(';') {
        let start = at;
        at += pair.len() + 1;
        let Some((name, content)) = pair.split_once('=') else { continue };
        let start = start + name.len() + 1;
        let name = name.trim().to_ascii_lowercase();
        let content = content.trim_end();
        let is_session = ["sess", "token", "auth", "sid", "jwt", "csrf", "xsrf"].iter().any(|part| name.contains(part));
        let is_secret = !ATTRIBUTES.contains(&name.as_str())
            && !content.contains(char::is_whitespace)
            && !values::is_no_secret(&name, content)
            && (values::is_random(content, 8) || (is_session && content.len() >= 6));
        if is_secret {
            found.push(Found { range: start..start + content.len(), kind: COOKIE });
        }
    }
}

/// The passwords that commands are given.
pub(super) fn commands(text: &str, found: &mut Vec<Found>) {
    for command in &COMMANDS {
        let finder = memmem::Finder::new(command.name);
        let mut at = 0;
        while let Some(start) = finder.find(&text.as_bytes()[at..]).map(|next| at + next + command.name.len()) {
            at = start;
            if text.as_bytes().get(start).is_some_and(|byte| matches!(byte, b' ' | b'd')) {
                at = command_end(text.as_bytes(), start);
                arguments(text, start..at, command, found);
            }
        }
    }
}

/// Where a command ends that goes on at `start`: with its line, unless that ends with a backslash.
fn command_end(bytes: &[u8], start: usize) -> usize {
    let most = bytes.len().min(start + LONGEST_COMMAND);
    let mut at = start;
    while at < most && (bytes[at] != b'\n' || bytes[at - 1] == b'\\') {
        at += 1;
    }
    at
}

/// Adds the passwords among the arguments of one command.
fn arguments(text: &str, range: Range<usize>, command: &Command, found: &mut Vec<Found>) {
    let bytes = &text.as_bytes()[..range.end];
    for flag in command.flags {
        for hit in memmem::find_iter(&bytes[range.clone()], flag) {
            let flag_start = range.start + hit;
            let mut at = flag_start + flag.len();
            let spaces = bytes[at..].iter().take(4).take_while(|byte| matches!(byte, b' ' | b'=')).count();
            if bytes[flag_start - 1] != b' '
                || (spaces == 0 && !command.glued)
                || (spaces > 0 && command.name == "mysql")
            {
                continue;
            }
            at += spaces;
            at += bytes[at..].iter().take(4).take_while(|byte| **byte == b'\\').count();
            let quote = bytes.get(at).copied().filter(|byte| matches!(byte, b'"' | b'\''));
            at += usize::from(quote.is_some());
            // A string around the command ends before the argument does.
            let is_end = |byte: u8| match byte {
                b'\\' | b'"' | b'\'' | b'\n' => true,
                _ => quote.is_none() && breaks(byte),
            };
            let end = at + bytes[at..].iter().take_while(|byte| !is_end(**byte)).count();
            if quote.is_some_and(|quote| bytes[at..end].contains(&b' ') && !closes(&bytes[end..], quote)) {
                continue;
            }
            let colon = memchr::memchr(b':', &bytes[at..end]).map(|colon| at + colon + 1);
            let start = if command.named { colon } else { Some(at) };
            let password = start.and_then(|start| Some((start, text.get(start..end)?)));
            if let Some((start, _)) = password.filter(|(_, password)| is_password(password)) {
                found.push(Found { range: start..end, kind: PASSWORD });
            }
        }
    }
}

/// Whether a quote closes there.
fn closes(bytes: &[u8], quote: u8) -> bool {
    bytes.iter().take(4).find(|byte| **byte != b'\\') == Some(&quote)
}

/// Whether an argument is a password and not the name of one.
fn is_password(argument: &str) -> bool {
    argument.chars().any(char::is_alphanumeric)
        && argument.chars().count() >= 3
        && !values::is_reference(argument)
        && !values::is_stand_in(argument)
}
