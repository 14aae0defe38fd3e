//! Finds the operator between a name and its value, and what else stands between them: brackets, the type of a variable, the
//! tag of an element, the end of a line.
//!
//! Each function takes an offset and returns the next one, or the same if there is nothing to skip. All distances are
//! bounded.

use std::sync::LazyLock;

use regex::Regex;

use crate::extents::{LONGEST_NAME, Quote, skip_spaces};
use crate::pattern::pattern;

/// The end of the element with a name, and the tag of the next.
static NEXT_ELEMENT: LazyLock<Regex> =
    LazyLock::new(|| pattern(r"^</[\w-]{0,32}(?:key|name)>\s{0,64}<[\w-]{0,32}(?:string|value|data)>"));
/// What PHP's `var_dump` says about a string before it.
static DUMPED_STRING: LazyLock<Regex> = LazyLock::new(|| pattern(r"^\s{0,64}string(?:\([0-9]{1,5}\))? "));
/// The text of an element that has a line of its own.
static OWN_LINE: LazyLock<Regex> =
    LazyLock::new(|| pattern(r"^[ \t]{0,16}\r?\n[ \t]{0,64}([^\s<>]+)[ \t]{0,16}\r?\n[ \t]{0,64}</"));
/// What precedes the name of a variable that a command sets.
const COMMANDS: &str = "ENV |setenv |SetEnv |setx |#define |set -x |set -gx |set -xg |set -Ux |set -xU |set --export ";

/// The operator between a name and its value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Operator {
    /// `=` without spaces.
    Tight,
    /// The end of an XML tag, before the text of the element.
    Element,
    /// `=`, `:=` or `=>`, a space after a flag, or a comma between the arguments of a call: `define("K", "v")`.
    Equals,
    /// `:`
    Colon,
    /// `?=`, `+=` and the like in a makefile.
    Make,
    /// A space before a quote: `PASSWORD '…'` in SQL, `(setq password "…")`.
    Beside,
    /// `==` or `!=` before a quote.
    Compare,
    /// A space after a command that sets a variable: `ENV K V`.
    Command,
    /// A bracket before a quote: `.password("…")`, `setApiKey("…")`.
    Call,
    /// A note, an arrow or tags between a name and what looks like its value: `password (prod): …`, `token → …`.
    Loose,
    /// Between two texts that may be a pair: `{password, "…"}`, `"password" to "…"`, `setattr(config, "password", "…")`.
    Pair,
}

/// The bytes of the letters and marks before the quote of a string: `b"…"`, `@"…"`, `$'…'`, `rb"…"`, `r#"…"#`.
pub(super) fn string_prefix(bytes: &[u8]) -> usize {
    let letters = bytes.iter().take(2).take_while(|byte| b"bBuULNrRfF@$".contains(byte)).count();
    let is_raw = bytes[..letters].contains(&b'r');
    let hashes = if is_raw { bytes[letters..].iter().take(3).take_while(|byte| **byte == b'#').count() } else { 0 };
    let is_string = Quote::at(bytes, letters + hashes).is_some_and(|quote| quote.mark != b'`');
    if is_string { letters + hashes } else { 0 }
}

/// Whether a string with these letters before its quote is mostly a pattern or a template, and not a text.
pub(super) fn is_pattern_prefix(prefix: &[u8]) -> bool {
    prefix.iter().any(|byte| b"rRfF$".contains(byte))
}

/// The operator behind a name that ends at `at`, and where it ends.
pub(super) fn operator(before: &str, bytes: &[u8], at: usize, is_quoted: bool) -> Option<(Operator, usize)> {
    let spaced = skip_spaces(bytes, at);
    let (operator, length) = match &bytes[spaced..] {
        [b':', b':', b'=', ..] | [b'?', b'?', b'=', ..] | [b'|', b'|', b'=', ..] => (Operator::Make, 3),
        [b'=' | b'!', b'=', rest @ ..] => {
            // What a secret is compared with, in quotes.
            let length = 2 + usize::from(rest.first() == Some(&b'='));
            Quote::at(bytes, skip_spaces(bytes, spaced + length))?;
            (Operator::Compare, length)
        }
        // A hidden field of jsonnet.
        [b':', b':', b' ', rest @ ..] if Quote::at(rest, 0).is_some() => (Operator::Equals, 3),
        [b':', b':', ..] | [b'=', b'~', ..] => return None,
        // In an address inside of another.
        [b'%', b'3', b'D' | b'd', ..] if spaced == at => (Operator::Tight, 3),
        [b'?' | b'+', b'=', ..] => (Operator::Make, 2),
        [b':', b'=', ..] | [b'=', b'>', ..] | [b'<', b'-', ..] => (Operator::Equals, 2),
        // Without spaces it reads a member.
        [b'-', b'>', b' ', ..] if spaced > at => (Operator::Equals, 2),
        [b':', ..] => (Operator::Colon, 1),
        // The colon of Chinese and Japanese.
        [0xef, 0xbc, 0x9a, ..] => (Operator::Colon, 3),
        [b'=', next, ..] if spaced == at && !matches!(next, b' ' | b'\t') => (Operator::Tight, 1),
        [b'=', ..] => (Operator::Equals, 1),
        [b',', rest @ ..] if is_quoted && is_tuple(before) && is_constant(rest) => return None,
        [b',', ..] if is_quoted && is_first_argument(before) || before.ends_with("-define(") => (Operator::Equals, 1),
        // The arguments of a command in a list.
        [b',', ..]
            if is_quoted && before.ends_with("--") && Quote::at(bytes, skip_spaces(bytes, spaced + 1)).is_some() =>
        {
            (Operator::Pair, 1)
        }
        [b',', ..] if begins_pair(before, is_quoted) && Quote::at(bytes, skip_spaces(bytes, spaced + 1)).is_some() => {
            (Operator::Pair, 1)
        }
        [b't', b'o', b' ', b'"', ..] if is_quoted && spaced > at => (Operator::Pair, 2),
        [_, ..] if (before.ends_with("--") || before.ends_with(" -")) && spaced > at => (Operator::Equals, 0),
        [_, ..] if spaced > at && is_behind_command(before) => (Operator::Command, 0),
        [b'(', b'"' | b'\'' | b'`', ..] if spaced == at && !is_quoted => (Operator::Call, 1),
        // The members of a variable of C++.
        [b'{', b'"', ..] if spaced == at && !is_quoted => (Operator::Loose, 1),
        [b'(', rest @ ..] if spaced == at && !is_quoted && string_prefix(rest) > 0 => (Operator::Call, 1),
        [b'(', b'\\', b'"', ..] if spaced == at && !is_quoted => (Operator::Call, 1),
        [b'"' | b'\'', ..] if spaced > at && !is_quoted => (Operator::Beside, 0),
        _ => return None,
    };
    Some((operator, spaced + length))
}

/// Whether a command that sets a variable precedes its name.
fn is_behind_command(before: &str) -> bool {
    COMMANDS.split('|').any(|command| before.ends_with(command))
}

/// Whether a name in quotes is the first argument of a call: `define('K', 'v')`, `define( 'K', 'v' )`.
fn is_first_argument(before: &str) -> bool {
    before.trim_end_matches(['"', '\'', '\\']).trim_end_matches(' ').ends_with('(')
}

/// Whether a text in quotes is a word in capitals.
fn is_constant(bytes: &[u8]) -> bool {
    let start = skip_spaces(bytes, 0);
    let Some(quote) = Quote::at(bytes, start) else { return false };
    let value = &bytes[start + quote.len()..];
    let length = value.iter().take(LONGEST_NAME).take_while(|byte| byte.is_ascii_uppercase() || **byte == b'_').count();
    length > 0 && matches!(value.get(length), Some(b'"' | b'\''))
}

/// Whether nothing is called where a name in quotes is the first behind a bracket: `: ('AUTH', 'SELECTED')`.
fn is_tuple(before: &str) -> bool {
    let before = before.trim_end_matches(['"', '\'', '\\']).trim_end_matches(' ');
    before.strip_suffix('(').is_some_and(|outside| outside.trim_end_matches(' ').ends_with([':', ',', '(', '[', '=']))
}

/// Whether a name before a comma is the first of a tuple in braces, or the second argument of a call.
fn begins_pair(before: &str, is_quoted: bool) -> bool {
    if !is_quoted {
        return before.ends_with('{') || before.ends_with("{:");
    }
    let before = before.trim_end_matches(['"', '\'', '\\']).trim_end_matches(' ');
    let Some(first) = before.strip_suffix(',') else { return false };
    let call = first.trim_end_matches(|c: char| c.is_ascii_alphanumeric() || "_.$".contains(c));
    call.len() < first.len() && call.ends_with('(')
}

/// Skips the bracket behind a name in a subscript, where a text in quotes is assigned: `$h{password} = "…"`,
/// `([password]="…")`.
pub(super) fn behind_subscript(before: &str, bytes: &[u8], at: usize) -> usize {
    let before = before.trim_end_matches(['"', '\'']);
    let is_closed = match bytes.get(at) {
        Some(b'}') => before
            .strip_suffix('{')
            .is_some_and(|hash| hash.ends_with(|c: char| c.is_ascii_alphanumeric() || "_>}".contains(c))),
        Some(b']') => before.ends_with('['),
        _ => false,
    };
    let equals = skip_spaces(bytes, at + usize::from(is_closed));
    let is_assigned = is_closed && bytes.get(equals) == Some(&b'=');
    if is_assigned && Quote::at(bytes, skip_spaces(bytes, equals + 1)).is_some() { at + 1 } else { at }
}

/// Skips the end of a line and the spaces of the next, if that begins with a text in quotes.
pub(super) fn behind_line(bytes: &[u8], at: usize) -> usize {
    let line = match &bytes[at..] {
        [b'\n', ..] => at + 1,
        [b'\r', b'\n', ..] => at + 2,
        _ => return at,
    };
    let next = skip_spaces(bytes, line);
    if matches!(bytes.get(next), Some(b'"' | b'\'')) { next } else { at }
}

/// Where the text of an XML element begins that a name labels: as its tag, as an attribute of its tag, or as the
/// element before it.
pub(super) fn element_text(text: &str, name: usize, at: usize) -> Option<usize> {
    let rest = text.get(at..text.floor_char_boundary(at + 160))?;
    let before = without_namespace(&text[..name]);
    let labels = before.ends_with('<') || before.ends_with("=\"") || before.ends_with("='");
    if before.ends_with("key>") || before.ends_with("name>") {
        let found = NEXT_ELEMENT.find(rest)?;
        return Some(at + found.end());
    }
    let end = rest.find(['<', '>', '\n'])?;
    if !labels || !rest[end..].starts_with('>') {
        return None;
    }
    let is_tag = end == 0 || rest.starts_with(' ') || !before.ends_with('<');
    if !is_tag || rest[..end].ends_with('/') {
        return None;
    }
    let value = &rest[end + 1..];
    if end == 0
        && let Some(captures) = OWN_LINE.captures(value)
        && let Some(below) = captures.get(1)
    {
        return Some(at + end + 1 + below.start());
    }
    let line = &value[..value.find('\n').unwrap_or(value.len())];
    // What a manual says about `<password>` follows in the same way.
    if value.starts_with(' ') && !line.contains("</") {
        return None;
    }
    let has_inner_tag = value.starts_with("<Value>") || value.starts_with("<value>");
    let inner = if has_inner_tag { "<value>".len() } else { 0 };
    Some(at + end + 1 + inner)
}

/// What precedes the name of a tag, without the prefix of a namespace: `<wsse:Password>`.
fn without_namespace(before: &str) -> &str {
    let Some(prefixed) = before.strip_suffix(':') else { return before };
    let outside = prefixed.trim_end_matches(|c: char| c.is_ascii_alphanumeric());
    if outside.ends_with('<') { outside } else { before }
}

/// Skips what PHP's `var_dump` says about a string: `=>` and mostly a line below `string(8) "…"`.
pub(super) fn behind_dump(text: &str, at: usize) -> usize {
    let rest = &text[at..text.floor_char_boundary(at + 80)];
    let end = match DUMPED_STRING.find(rest) {
        Some(found) => at + found.end(),
        None => at,
    };
    if Quote::at(text.as_bytes(), end).is_some() { end } else { at }
}

/// Skips what PHP's `print_r` says about a member that is not public: `:protected`, `:App\Model\User:private`.
pub(super) fn behind_visibility(text: &str, at: usize) -> usize {
    let rest = &text[at..text.floor_char_boundary(at + 120)];
    let Some(end) = rest.find(']') else { return at };
    let note = &rest[..end];
    let is_visibility = note.starts_with(':') && (note.ends_with(":protected") || note.ends_with(":private"));
    if is_visibility && !note.contains([' ', '"', '\'', '\n']) { at + end } else { at }
}

/// Skips the anchor or the tag of a value in YAML: `&name `, `!!str `.
pub(super) fn behind_anchor(bytes: &[u8], at: usize) -> usize {
    let mark = match &bytes[at..] {
        [b'&', ..] => 1,
        [b'!', b'!', ..] => 2,
        _ => return at,
    };
    let name = run_of(&bytes[at + mark..], b"_-");
    let end = at + mark + name;
    if name > 0 && bytes.get(end) == Some(&b' ') { skip_spaces(bytes, end) } else { at }
}

/// Counts the letters, digits and marks of these that some bytes begin with, up to the length of a name.
fn run_of(bytes: &[u8], marks: &[u8]) -> usize {
    let near = bytes.iter().take(LONGEST_NAME);
    near.take_while(|byte| byte.is_ascii_alphanumeric() || marks.contains(byte)).count()
}

/// Skips the name of an argument that gives the value: `env("SECRET_KEY", default="…")`.
pub(super) fn behind_keyword(bytes: &[u8], at: usize) -> usize {
    let end = skip_spaces(bytes, at + run_of(&bytes[at..], b"_"));
    let is_keyword = end > at && bytes.get(end) == Some(&b'=') && bytes.get(end + 1) != Some(&b'=');
    if is_keyword { skip_spaces(bytes, end + 1) } else { at }
}

/// Skips a type and `=` or `:=`: `: str = "…"`.
pub(super) fn behind_type(bytes: &[u8], at: usize) -> usize {
    let end = at + run_of(&bytes[at..], b"_<>[]&|. ");
    let colon = usize::from(bytes.get(end) == Some(&b':'));
    if end == at || !bytes[end + colon..].starts_with(b"=") || bytes[end - 1] != b' ' {
        return at;
    }
    let assigned = skip_spaces(bytes, end + colon + 1);
    if Quote::at(bytes, assigned + string_prefix(&bytes[assigned..])).is_some() { assigned } else { at }
}

/// Builds the patterns of this file.
#[cfg(any(test, feature = "tests"))]
pub(crate) fn patterns() -> Vec<&'static Regex> {
    vec![&*NEXT_ELEMENT, &*DUMPED_STRING, &*OWN_LINE]
}
