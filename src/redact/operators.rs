//! Parses the assignment to a name: the operator, and where the value begins and ends.
//!
//! The text may be of any kind and cut anywhere, so nothing is parsed as a whole. All distances are bounded.

use std::ops::Range;
use std::sync::LazyLock;

use regex::Regex;

use crate::pattern::pattern;

/// The most bytes of a name on either side of the matched word.
pub(super) const LONGEST_NAME: usize = 64;
/// The most bytes between a value and its name in another member.
pub(super) const LONGEST_LABEL: usize = 200;
/// The most bytes of a value.
pub(super) const LONGEST_VALUE: usize = 4096;
/// The most bytes of a line of words.
pub(super) const LONGEST_LINE: usize = 512;
/// The most bytes of a list.
pub(super) const LONGEST_LIST: usize = 1024;
/// The most spaces around an operator.
pub(super) const MOST_SPACES: usize = 16;
/// The end of the element with a name, and the tag of the next.
pub(super) static NEXT_ELEMENT: LazyLock<Regex> =
    LazyLock::new(|| pattern(r"^</(?:key|name)>\s{0,64}<(?:string|value|data)>"));
/// What precedes the name of a variable that a command sets.
pub(super) const COMMANDS: [&str; 11] = [
    "ENV ",
    "setenv ",
    "SetEnv ",
    "setx ",
    "set -x ",
    "set -gx ",
    "set -xg ",
    "set -Ux ",
    "set -xU ",
    "set --export ",
    "#define ",
];

/// The operator between a name and its value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Operator {
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
    /// A space before a quote: `PASSWORD '…'` in SQL, `(setq password "…")`.
    Beside,
    /// A space after a command that sets a variable: `ENV K V`.
    Command,
    /// A comma between the arguments of a call: `define("K", "v")`.
    Comma,
}

/// A name with the start of its value.
pub(super) struct Assignment<'t> {
    pub(super) text: &'t str,
    pub(super) name: Range<usize>,
    pub(super) operator: Operator,
    /// Whether the name is in quotes.
    pub(super) quoted_name: bool,
    /// Where the value begins, after its opening quote.
    pub(super) start: usize,
    /// The number of backslashes and the quote before the value, if it is in quotes.
    pub(super) quote: Option<(usize, u8)>,
}

/// Returns the placeholder that contains a byte.
pub(super) fn placeholder_at(placeholders: &[Range<usize>], at: usize) -> Option<&Range<usize>> {
    let index = placeholders.partition_point(|range| range.end <= at);
    placeholders.get(index).filter(|range| range.start <= at)
}

/// Extends a match to the whole name, without the letter of an escape before it.
pub(super) fn name_around(text: &str, part: Range<usize>) -> Range<usize> {
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

/// Returns the number of backslashes and the quote at an offset.
pub(super) fn quote_at(bytes: &[u8], at: usize) -> Option<(usize, u8)> {
    let backslashes = bytes[at..].iter().take(16).take_while(|byte| **byte == b'\\').count();
    let quote = *bytes.get(at + backslashes)?;
    matches!(quote, b'"' | b'\'' | b'`').then_some((backslashes, quote))
}

pub(super) fn skip_spaces(bytes: &[u8], at: usize) -> usize {
    at + bytes[at..].iter().take(MOST_SPACES).take_while(|byte| matches!(byte, b' ' | b'\t')).count()
}

/// Parses the assignment to a name, if there is one.
pub(super) fn assignment(text: &str, name: Range<usize>) -> Option<Assignment<'_>> {
    let bytes = text.as_bytes();
    // Asterisks make the name bold in Markdown.
    let skip_stars = |at: usize| at + bytes[at..].iter().take(2).take_while(|byte| **byte == b'*').count();
    let mut at = skip_stars(name.end);
    let closing_quote = quote_at(bytes, at);
    if let Some((backslashes, _)) = closing_quote {
        at += backslashes + 1;
        at += usize::from(bytes.get(at) == Some(&b']'));
    }
    at += if bytes[at..].starts_with(b"[]") { 2 } else { 0 };
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
    start += usize::from(begins_string(&bytes[start..]));
    let quote = quote_at(bytes, start);
    start += quote.map_or(0, |(backslashes, _)| backslashes + 1);
    // Three quotes are one.
    start += quote.filter(|(_, quote)| bytes[start..].starts_with(&[*quote; 2])).map_or(0, |_| 2);
    Some(Assignment { text, name, operator, quoted_name: closing_quote.is_some(), start, quote })
}

/// Whether a letter or mark begins a string: `b"…"`, `@"…"`, `$'…'`. A raw string, `r"…"`, is mostly a pattern.
fn begins_string(bytes: &[u8]) -> bool {
    matches!(bytes, [b'b' | b'B' | b'u' | b'U' | b'@', b'"' | b'\'', ..] | [b'$', b'\'', ..])
}

/// Returns the operator behind a name that ends at `at`, and where it ends.
pub(super) fn operator(before: &str, bytes: &[u8], at: usize, is_quoted: bool) -> Option<(Operator, usize)> {
    let spaced = skip_spaces(bytes, at);
    let is_command = || spaced > at && COMMANDS.iter().any(|command| before.ends_with(command));
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
        [b',', ..] if is_quoted && before.trim_end_matches(['"', '\'', '\\']).ends_with('(') => (Operator::Comma, 1),
        [_, ..] if before.ends_with("--") && spaced > at => (Operator::Space, 0),
        [_, ..] if is_command() => (Operator::Command, 0),
        [b'"' | b'\'', ..] if spaced > at && !is_quoted => (Operator::Beside, 0),
        _ => return None,
    };
    Some((operator, spaced + length))
}

/// Returns where the text of an XML element begins that a name labels: as its tag, as an attribute of its tag, or as the
/// element before it.
pub(super) fn element_text(text: &str, name: Range<usize>, at: usize) -> Option<usize> {
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
pub(super) fn behind_type(bytes: &[u8], at: usize) -> usize {
    let is_type = |byte: &&u8| byte.is_ascii_alphanumeric() || b"_<>[]&|. ".contains(byte);
    let end = at + bytes[at..].iter().take(LONGEST_NAME).take_while(is_type).count();
    if end == at || !bytes[end..].starts_with(b"=") || bytes[end - 1] != b' ' {
        return at;
    }
    let assigned = skip_spaces(bytes, end + 1);
    if quote_at(bytes, assigned).is_some() { assigned } else { at }
}

impl<'t> Assignment<'t> {
    /// Returns the rest of the line.
    pub(super) fn line(&self) -> &'t str {
        let rest = &self.text[self.start..self.text.floor_char_boundary(self.start + LONGEST_LINE)];
        &rest[..rest.find(['\n', '\r']).unwrap_or(rest.len())]
    }

    /// Returns the span of a quoted value if the quotes close on the same line, and in the same string if the text is
    /// JSON.
    pub(super) fn in_quotes(&self) -> Option<Range<usize>> {
        let (backslashes, quote) = self.quote?;
        let range = self.closing_quote(backslashes, quote)?;
        let value = self.text.get(range.clone())?;
        let is_between = |c: char| c.is_whitespace() || matches!(c, ',' | ':' | '{' | '}' | '[' | ']');
        (!value.contains('"') || !value.contains(is_between)).then_some(range)
    }

    pub(super) fn closing_quote(&self, backslashes: usize, quote: u8) -> Option<Range<usize>> {
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
    pub(super) fn bare_end(&self, placeholders: &[Range<usize>], ends: impl Fn(u8) -> bool) -> usize {
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
}
