//! Parses the operator between a name and its value.

use std::sync::LazyLock;

use regex::Regex;

use crate::pattern::pattern;
use crate::redact::extents::{Quote, skip_spaces};

/// The most bytes of a name on either side of the matched word.
pub(super) const LONGEST_NAME: usize = 64;
/// The end of the element with a name, and the tag of the next.
pub(super) static NEXT_ELEMENT: LazyLock<Regex> =
    LazyLock::new(|| pattern(r"^</(?:key|name)>\s{0,64}<(?:string|value|data)>"));
/// What precedes the name of a variable that a command sets.
const COMMANDS: &str = "ENV |setenv |SetEnv |setx |#define |set -x |set -gx |set -xg |set -Ux |set -xU |set --export ";

/// The operator between a name and its value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Operator {
    /// `=` without spaces, or the end of an XML tag.
    Tight,
    /// `=`, `:=` or `=>`, a space after a flag, or a comma between the arguments of a call: `define("K", "v")`.
    Equals,
    /// `:`
    Colon,
    /// `?=`, `+=` and the like in a makefile.
    Make,
    /// A space before a quote: `PASSWORD '…'` in SQL, `(setq password "…")`.
    Beside,
    /// A space after a command that sets a variable: `ENV K V`.
    Command,
}

/// Whether a letter or mark begins a string: `b"…"`, `@"…"`, `$'…'`. A raw string, `r"…"`, is mostly a pattern.
pub(super) fn begins_string(bytes: &[u8]) -> bool {
    matches!(bytes, [b'b' | b'B' | b'u' | b'U' | b'N' | b'@', b'"' | b'\'', ..] | [b'$', b'\'', ..])
}

/// Returns the operator behind a name that ends at `at`, and where it ends.
pub(super) fn operator(before: &str, bytes: &[u8], at: usize, is_quoted: bool) -> Option<(Operator, usize)> {
    let spaced = skip_spaces(bytes, at);
    let is_command = || spaced > at && COMMANDS.split('|').any(|command| before.ends_with(command));
    let (operator, length) = match &bytes[spaced..] {
        [b':', b':', b'=', ..] | [b'?', b'?', b'=', ..] | [b'|', b'|', b'=', ..] => (Operator::Make, 3),
        [b':', b':', ..] | [b'=', b'=' | b'~', ..] => return None,
        [b'?' | b'+', b'=', ..] => (Operator::Make, 2),
        [b':', b'=', ..] | [b'=', b'>', ..] | [b'<', b'-', ..] => (Operator::Equals, 2),
        [b':', ..] => (Operator::Colon, 1),
        // The colon of Chinese and Japanese.
        [0xef, 0xbc, 0x9a, ..] => (Operator::Colon, 3),
        [b'=', next, ..] if spaced == at && !matches!(next, b' ' | b'\t') => (Operator::Tight, 1),
        [b'=', ..] => (Operator::Equals, 1),
        [b',', ..] if is_quoted && before.trim_end_matches(['"', '\'', '\\']).ends_with('(') => (Operator::Equals, 1),
        [_, ..] if (before.ends_with("--") || before.ends_with(" -")) && spaced > at => (Operator::Equals, 0),
        [_, ..] if is_command() => (Operator::Command, 0),
        [b'"' | b'\'', ..] if spaced > at && !is_quoted => (Operator::Beside, 0),
        _ => return None,
    };
    Some((operator, spaced + length))
}

/// Returns where the text of an XML element begins that a name labels: as its tag, as an attribute of its tag, or as the
/// element before it.
pub(super) fn element_text(text: &str, name: usize, at: usize) -> Option<usize> {
    let rest = text.get(at..text.floor_char_boundary(at + 160))?;
    let before = &text[..name];
    let labels = before.ends_with('<') || before.ends_with("=\"") || before.ends_with("='");
    if before.ends_with("<key>") || before.ends_with("<name>") {
        return NEXT_ELEMENT.find(rest).map(|found| at + found.end());
    }
    let end = rest.find(['<', '>', '\n']).filter(|end| labels && rest[*end..].starts_with('>'))?;
    let is_tag = end == 0 || rest.starts_with(' ') || !before.ends_with('<');
    (is_tag && !rest[..end].ends_with('/')).then_some(at + end + 1)
}

/// Skips a type and `=`: `: str = "…"`.
pub(super) fn behind_type(bytes: &[u8], at: usize) -> usize {
    let is_type = |byte: &&u8| byte.is_ascii_alphanumeric() || b"_<>[]&|. ".contains(byte);
    let end = at + bytes[at..].iter().take(LONGEST_NAME).take_while(is_type).count();
    if end == at || !bytes[end..].starts_with(b"=") || bytes[end - 1] != b' ' {
        return at;
    }
    let assigned = skip_spaces(bytes, end + 1);
    if Quote::at(bytes, assigned).is_some() { assigned } else { at }
}
