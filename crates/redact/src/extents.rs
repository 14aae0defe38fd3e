//! Finds what stands between a name and its value, and where the value ends: at a quote, a space, the end of a line or of a
//! header.
//!
//! The text may be of any kind and cut anywhere, so nothing is parsed as a whole. All distances are bounded.
//!
//! Also: the characters that secrets consist of.

use std::ops::Range;
use std::sync::LazyLock;

use regex::Regex;

use crate::pattern::pattern;

/// The most bytes of a name on either side of the matched word.
pub(super) const LONGEST_NAME: usize = 64;
/// The end of the element with a name, and the tag of the next.
pub(super) static NEXT_ELEMENT: LazyLock<Regex> =
    LazyLock::new(|| pattern(r"^</[\w-]{0,32}(?:key|name)>\s{0,64}<[\w-]{0,32}(?:string|value|data)>"));
/// What PHP's `var_dump` says about a string before it.
pub(super) static DUMPED_STRING: LazyLock<Regex> = LazyLock::new(|| pattern(r"^\s{0,64}string(?:\([0-9]{1,5}\))? "));
/// The text of an element that has a line of its own.
pub(super) static OWN_LINE: LazyLock<Regex> =
    LazyLock::new(|| pattern(r"^[ \t]{0,16}\r?\n[ \t]{0,64}([^\s<>]+)[ \t]{0,16}\r?\n[ \t]{0,64}</"));
/// A text of one line between three quotes, each on a line of its own.
pub(super) static TEXT_BLOCK: LazyLock<Regex> =
    LazyLock::new(|| pattern(r#"^[ \t]{0,16}\r?\n[ \t]{0,64}([^\s"']+)[ \t]{0,16}\r?\n[ \t]{0,64}(?:"{3}|'{3})"#));
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
    /// `==` or `!=` before a quote.
    Compare,
    /// A space after a command that sets a variable: `ENV K V`.
    Command,
    /// A bracket before a quote: `.password("…")`, `setApiKey("…")`.
    Call,
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
    let is_command = || spaced > at && COMMANDS.split('|').any(|command| before.ends_with(command));
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
        [b',', ..] if is_quoted && before.trim_end_matches(['"', '\'', '\\']).ends_with('(') => (Operator::Equals, 1),
        [b',', ..] if begins_pair(before, is_quoted) => (Operator::Pair, 1),
        [b't', b'o', b' ', b'"', ..] if is_quoted && spaced > at => (Operator::Pair, 2),
        [_, ..] if (before.ends_with("--") || before.ends_with(" -")) && spaced > at => (Operator::Equals, 0),
        [_, ..] if is_command() => (Operator::Command, 0),
        [b'(', b'"' | b'\'' | b'`', ..] if spaced == at && !is_quoted => (Operator::Call, 1),
        [b'(', rest @ ..] if spaced == at && !is_quoted && string_prefix(rest) > 0 => (Operator::Call, 1),
        [b'(', b'\\', b'"', ..] if spaced == at && !is_quoted => (Operator::Call, 1),
        [b'"' | b'\'', ..] if spaced > at && !is_quoted => (Operator::Beside, 0),
        _ => return None,
    };
    Some((operator, spaced + length))
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
    // A tag can have the prefix of a namespace: `<wsse:Password>`.
    let space =
        text[..name].strip_suffix(':').map(|before| before.trim_end_matches(|c: char| c.is_ascii_alphanumeric()));
    let before = space.filter(|before| before.ends_with('<')).unwrap_or(&text[..name]);
    let labels = before.ends_with('<') || before.ends_with("=\"") || before.ends_with("='");
    if before.ends_with("key>") || before.ends_with("name>") {
        return NEXT_ELEMENT.find(rest).map(|found| at + found.end());
    }
    let end = rest.find(['<', '>', '\n']).filter(|end| labels && rest[*end..].starts_with('>'))?;
    let is_tag = end == 0 || rest.starts_with(' ') || !before.ends_with('<');
    if !is_tag || rest[..end].ends_with('/') {
        return None;
    }
    let value = &rest[end + 1..];
    if let Some(below) = OWN_LINE.captures(value).and_then(|captures| captures.get(1)).filter(|_| is_tag && end == 0) {
        return Some(at + end + 1 + below.start());
    }
    let line = &value[..value.find('\n').unwrap_or(value.len())];
    // What a manual says about `<password>` follows in the same way.
    let is_text = !value.starts_with(' ') || line.contains("</");
    let inner = ["<Value>", "<value>"].iter().find(|tag| value.starts_with(**tag)).map_or(0, |tag| tag.len());
    is_text.then_some(at + end + 1 + inner)
}

/// Skips what PHP's `var_dump` says about a string: `=>` and mostly a line below `string(8) "…"`.
pub(super) fn behind_dump(text: &str, at: usize) -> usize {
    let rest = &text[at..text.floor_char_boundary(at + 80)];
    let end = DUMPED_STRING.find(rest).map_or(at, |found| at + found.end());
    if Quote::at(text.as_bytes(), end).is_some() { end } else { at }
}

/// Skips what PHP's `print_r` says about a member that is not public: `:protected`, `:App\Model\User:private`.
pub(super) fn behind_visibility(text: &str, at: usize) -> usize {
    let rest = &text[at..text.floor_char_boundary(at + 120)];
    let end = rest.find(']').filter(|end| rest.starts_with(':') && !rest[..*end].contains([' ', '"', '\'', '\n']));
    let is_visibility = |end: &usize| rest[..*end].ends_with(":protected") || rest[..*end].ends_with(":private");
    end.filter(is_visibility).map_or(at, |end| at + end)
}

/// Skips the name of an argument that gives the value: `env("SECRET_KEY", default="…")`.
pub(super) fn behind_keyword(bytes: &[u8], at: usize) -> usize {
    let is_name = |byte: &&u8| byte.is_ascii_alphanumeric() || **byte == b'_';
    let end = skip_spaces(bytes, at + bytes[at..].iter().take(LONGEST_NAME).take_while(is_name).count());
    let is_keyword = end > at && bytes.get(end) == Some(&b'=') && bytes.get(end + 1) != Some(&b'=');
    if is_keyword { skip_spaces(bytes, end + 1) } else { at }
}

/// Skips a type and `=` or `:=`: `: str = "…"`.
pub(super) fn behind_type(bytes: &[u8], at: usize) -> usize {
    let is_type = |byte: &&u8| byte.is_ascii_alphanumeric() || b"_<>[]&|. ".contains(byte);
    let end = at + bytes[at..].iter().take(LONGEST_NAME).take_while(is_type).count();
    let colon = usize::from(bytes.get(end) == Some(&b':'));
    if end == at || !bytes[end + colon..].starts_with(b"=") || bytes[end - 1] != b' ' {
        return at;
    }
    let assigned = skip_spaces(bytes, end + colon + 1);
    if Quote::at(bytes, assigned).is_some() { assigned } else { at }
}

/// The most bytes of a value.
pub(super) const LONGEST_VALUE: usize = 4096;
/// The most bytes of a line of words.
const LONGEST_LINE: usize = 512;
/// The most bytes of a header.
pub(super) const LONGEST_HEADER: usize = 8192;
/// The most spaces around an operator.
const MOST_SPACES: usize = 64;

/// The start of a value.
#[derive(Clone, Copy)]
pub(super) struct ValueStart<'t> {
    pub(super) text: &'t str,
    /// The placeholders in the text.
    pub(super) placeholders: &'t [Range<usize>],
    /// Where the value begins, after its opening quote.
    pub(super) start: usize,
    /// The quote before the value, if it is in quotes.
    pub(super) quote: Option<Quote>,
    /// Where a text between three quotes ends.
    pub(super) end: Option<usize>,
}

/// A quote that may be escaped.
#[derive(Clone, Copy)]
pub(super) struct Quote {
    pub(super) backslashes: usize,
    pub(super) mark: u8,
}

impl Quote {
    pub(super) fn at(bytes: &[u8], at: usize) -> Option<Self> {
        let backslashes = bytes[at..].iter().take(16).take_while(|byte| **byte == b'\\').count();
        let mark = *bytes.get(at + backslashes)?;
        matches!(mark, b'"' | b'\'' | b'`').then_some(Quote { backslashes, mark })
    }

    pub(super) fn len(self) -> usize {
        self.backslashes + 1
    }
}

/// Whether a byte ends an unquoted value.
pub(super) fn is_delimiter(byte: u8) -> bool {
    byte.is_ascii_whitespace() || byte.is_ascii_control() || matches!(byte, b'"' | b'\'' | b'`')
}

pub(super) fn skip_spaces(bytes: &[u8], at: usize) -> usize {
    at + bytes[at..].iter().take(MOST_SPACES).take_while(|byte| matches!(byte, b' ' | b'\t')).count()
}

/// Counts the characters from `first` on that belong to an escape which begins before it. A mask must leave them whole
/// so that JSON stays valid.
pub(super) fn escape_letters(before: &[u8], first: usize) -> usize {
    let (outside, inside) = before.split_at(first);
    match inside {
        _ if !outside.ends_with(b"\\") => 0,
        [b'u', digits @ ..] if digits.len() >= 4 && digits[..4].iter().all(u8::is_ascii_hexdigit) => 5,
        [b'b' | b'f' | b'n' | b'r' | b't' | b'\\' | b'"' | b'/', ..] => 1,
        _ => 0,
    }
}

/// The placeholder that contains a byte.
fn placeholder_at(placeholders: &[Range<usize>], at: usize) -> Option<&Range<usize>> {
    let index = placeholders.partition_point(|range| range.end <= at);
    placeholders.get(index).filter(|range| range.start <= at)
}

impl<'t> ValueStart<'t> {
    /// The value that begins at an offset, in quotes or not.
    pub(super) fn at(text: &'t str, placeholders: &'t [Range<usize>], at: usize) -> Self {
        let quote = Quote::at(text.as_bytes(), at);
        let start = at + quote.map_or(0, Quote::len);
        // Three quotes are one.
        let is_triple = quote.is_some_and(|quote| text.as_bytes()[start..].starts_with(&[quote.mark; 2]));
        let start = start + if is_triple { 2 } else { 0 };
        let rest = &text[start..text.floor_char_boundary(start + LONGEST_LINE)];
        let block = if is_triple { TEXT_BLOCK.captures(rest).and_then(|captures| captures.get(1)) } else { None };
        match block {
            Some(line) => {
                ValueStart { text, placeholders, start: start + line.start(), quote, end: Some(start + line.end()) }
            }
            None => ValueStart { text, placeholders, start, quote, end: None },
        }
    }

    /// A text that is all a value, as between quotes.
    pub(super) fn whole(text: &'t str) -> Self {
        let quote = Some(Quote { backslashes: 0, mark: b'"' });
        ValueStart { text, placeholders: &[], start: 0, quote, end: None }
    }

    /// The rest of the line.
    pub(super) fn line(&self) -> &'t str {
        let rest = &self.text[self.start..self.text.floor_char_boundary(self.start + LONGEST_LINE)];
        &rest[..rest.find(['\n', '\r']).unwrap_or(rest.len())]
    }

    /// The span of a quoted value if the quotes close on the same line, and in the same string if the text is JSON.
    pub(super) fn in_quotes(&self) -> Option<Range<usize>> {
        if let Some(end) = self.end {
            return Some(self.start..end);
        }
        let quote = self.quote?;
        let range = self.closing_quote(quote)?;
        let value = self.text.get(range.clone())?;
        // Each of these quotes is escaped.
        let is_string = quote.backslashes == 0 && quote.mark == b'"';
        let is_between = |c: char| c.is_whitespace() || matches!(c, ',' | ':' | '{' | '}' | '[' | ']');
        (is_string || !value.contains('"') || !value.contains(is_between)).then_some(range)
    }

    pub(super) fn closing_quote(&self, quote: Quote) -> Option<Range<usize>> {
        let Quote { backslashes, mark } = quote;
        let bytes = self.text.as_bytes();
        let mut at = self.start;
        let end = bytes.len().min(self.start + LONGEST_VALUE);
        // Where the value ends if a quote that is written twice is two.
        let mut doubled = None;
        while at < end {
            let escapes = bytes[at..end].iter().take_while(|byte| **byte == b'\\').count();
            let Some(next) = bytes.get(at + escapes) else { break };
            match next {
                b'\n' | b'\r' => break,
                byte if *byte == mark && backslashes == 0 && self.is_doubled(at, mark) => {
                    doubled = doubled.or(Some(at));
                    at += 1;
                }
                // Fewer backslashes than before the value close the string around it.
                byte if *byte == mark && escapes <= backslashes => return Some(self.start..at),
                b'n' | b'r' if escapes > 0 && escapes <= backslashes => break,
                // In a plain string, pairs of backslashes before a quote escape each other.
                byte if *byte == mark && backslashes == 0 && escapes % 2 == 0 => return Some(self.start..at + escapes),
                _ => {}
            }
            at += escapes + 1;
        }
        doubled.map(|end| self.start..end)
    }

    /// Whether a quote at an offset is the first of two inside of a word, which stand for one: `'it''s'` in SQL and YAML.
    fn is_doubled(&self, at: usize, mark: u8) -> bool {
        let is_letter = |byte: Option<&u8>| byte.is_some_and(|byte| byte.is_ascii_alphanumeric() || !byte.is_ascii());
        let bytes = self.text.as_bytes();
        at > self.start
            && bytes[at..].starts_with(&[mark; 2])
            && is_letter(bytes.get(at - 1))
            && is_letter(bytes.get(at + 2))
    }

    /// Where an unquoted value ends: before a byte that ends it, or the escape of one.
    pub(super) fn bare_end(&self, ends: impl Fn(u8) -> bool) -> usize {
        let bytes = self.text.as_bytes();
        let mut at = self.start;
        let most = bytes.len().min(self.start + LONGEST_VALUE);
        while at < most && !ends(bytes[at]) {
            if bytes[at] == b'\\' && bytes.get(at + 1).is_some_and(|next| b"nrt\"'\\u".contains(next)) {
                break;
            }
            at = placeholder_at(self.placeholders, at).map_or(at + 1, |placeholder| placeholder.end);
        }
        self.text.floor_char_boundary(at)
    }

    /// The value of a header: up to the end of the line, or to a quote unless the value of a parameter begins there.
    pub(super) fn header(&self) -> &'t str {
        let rest = &self.text[self.start..self.text.floor_char_boundary(self.start + LONGEST_HEADER)];
        let bytes = rest.as_bytes();
        let mut in_parameter = false;
        for (at, byte) in bytes.iter().enumerate() {
            match byte {
                b'\n' | b'\r' => return &rest[..at],
                b'n' | b'r' if at > 0 && bytes[at - 1] == b'\\' => return &rest[..at - 1],
                b'"' | b'\'' | b'`' => {
                    let before = rest[..at].trim_end_matches('\\');
                    let begins = before.ends_with('=') && bytes.get(at + 1).is_some_and(u8::is_ascii_alphanumeric);
                    if !in_parameter && !begins {
                        return before;
                    }
                    in_parameter = !in_parameter;
                }
                _ => {}
            }
        }
        rest
    }
}

/// The set of characters in a secret.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Class {
    Digits,
    Hex,
    /// Capital letters and digits.
    Capitals,
    Alphanumeric,
    /// Letters and digits without those that look like others: `0`, `O`, `I` and `l`.
    Base58,
    /// Letters, digits, `_` and `-`.
    Word,
    /// `Word`, dots and `~`.
    Dotted,
    /// `Dotted` and `=`.
    Padded,
    /// Base64 of either alphabet, percent encoded or not; also the path of a URL.
    Encoded,
}

impl Class {
    /// Whether the class contains a byte.
    pub(super) fn has(self, byte: u8) -> bool {
        match self {
            Class::Digits => byte.is_ascii_digit(),
            Class::Hex => byte.is_ascii_hexdigit(),
            Class::Capitals => byte.is_ascii_uppercase() || byte.is_ascii_digit(),
            Class::Alphanumeric => byte.is_ascii_alphanumeric(),
            Class::Base58 => byte.is_ascii_alphanumeric() && !b"0OIl".contains(&byte),
            Class::Word => byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-'),
            Class::Dotted => Class::Word.has(byte) || matches!(byte, b'.' | b'~'),
            Class::Padded => Class::Dotted.has(byte) || byte == b'=',
            Class::Encoded => Class::Word.has(byte) || matches!(byte, b'+' | b'/' | b'=' | b'%'),
        }
    }

    /// Counts the leading bytes that the class contains.
    pub(super) fn run(self, bytes: &[u8]) -> usize {
        bytes.iter().take_while(|byte| self.has(**byte)).count()
    }
}

/// Whether a secret can begin at `start`: no letter or digit precedes it, unless it belongs to an escape.
pub(super) fn can_begin(text: &str, start: usize) -> bool {
    let before = &text.as_bytes()[..start];
    match before {
        [.., byte] if !byte.is_ascii_alphanumeric() => true,
        [] | [.., b'\\', b'n' | b'r' | b't'] | [.., b'%', _, _] | [.., b'\\', b'u', _, _, _, _] => true,
        _ => false,
    }
}

/// Whether a value has letters of both cases and two digits or more.
pub(super) fn varied(value: &str) -> bool {
    let count = |test: fn(&u8) -> bool| value.as_bytes().iter().filter(|byte| test(byte)).count();
    count(u8::is_ascii_digit) > 1 && count(u8::is_ascii_uppercase) > 0 && count(u8::is_ascii_lowercase) > 0
}

/// Whether a text is a picture or another file in Base64, and not a secret in it.
pub(super) fn is_file(text: &str) -> bool {
    let in_url = text.split_once(";base64,").filter(|(kind, _)| kind.starts_with("data:") && kind.len() < 100);
    let data = in_url.map_or(text, |(_, data)| data);
    // A private key in Base64 begins with its first line.
    text.len() > LONGEST_VALUE && !data.starts_with("LS0tLS1") && Class::Encoded.run(data.as_bytes()) == data.len()
}

/// A run of characters of a class.
#[derive(Debug, Clone, Copy)]
pub(super) struct CharRun {
    pub(super) class: Class,
    /// The fewest characters.
    pub(super) least: usize,
    /// The most characters; a longer run is something else.
    pub(super) most: usize,
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Redactor;

    #[test]
    fn a_picture_stays_as_it_is() {
        let key = format!("/AI{}{}", "za", "x9Y8z7W6v5U4t3S2r1Q0x9Y8z7W6v5U4t3S");
        let picture = format!("iVBORw0KGgo{}{key}{}", "AAAA".repeat(700), "/9/+".repeat(700));
        for text in [picture.clone(), format!("data:image/png;base64,{picture}")] {
            assert!(is_file(&text));
            assert_eq!(Redactor::default().mask(&text), text);
        }
        for text in [key.clone(), format!("{key};base64,{picture}"), format!("{picture} {key}")] {
            assert!(!is_file(&text) && Redactor::default().mask(&text).contains("[google-key-1]"));
        }
    }
}
