//! Finds where a value begins and ends: at a quote, a space, the end of a line or of a header. Also the characters that secrets
//! consist of.
//!
//! The text may be of any kind and cut anywhere, so nothing is parsed as a whole. All distances are bounded.

use std::ops::Range;
use std::sync::LazyLock;

use regex::Regex;

use crate::elements;
use crate::pattern::pattern;

/// The most bytes of a name on either side of the matched word.
pub(super) const LONGEST_NAME: usize = 64;
/// A text of one line between three quotes, each on a line of its own.
pub(super) static TEXT_BLOCK: LazyLock<Regex> =
    LazyLock::new(|| pattern(r#"^[ \t]{0,16}\r?\n[ \t]{0,64}([^\s"']+)[ \t]{0,16}\r?\n[ \t]{0,64}(?:"{3}|'{3})"#));
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
        if matches!(mark, b'"' | b'\'' | b'`') { Some(Quote { backslashes, mark }) } else { None }
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
        if !is_string && value.contains('"') && value.contains(is_between) { None } else { Some(range) }
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
        let bytes = self.text.as_bytes();
        at > self.start
            && bytes[at..].starts_with(&[mark; 2])
            && is_letter(bytes.get(at - 1))
            && is_letter(bytes.get(at + 2))
    }

    /// Where an unquoted value ends: before a byte that ends it, or the escape of one. The entity of a byte does not end
    /// it, unless `&amp;` begins a parameter.
    pub(super) fn bare_end(&self, is_parameter: bool, ends: impl Fn(u8) -> bool) -> usize {
        let bytes = self.text.as_bytes();
        let mut at = self.start;
        let most = bytes.len().min(self.start + LONGEST_VALUE);
        while at < most {
            if bytes[at] == b'&'
                && let Some(end) = elements::behind_entity(self.text, at, is_parameter)
            {
                at = end;
                continue;
            }
            if ends(bytes[at]) {
                break;
            }
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

/// Whether there is a byte that is of a letter or a digit.
fn is_letter(byte: Option<&u8>) -> bool {
    byte.is_some_and(|byte| byte.is_ascii_alphanumeric() || !byte.is_ascii())
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

    /// Whether the class contains a character.
    pub(super) fn has_char(self, character: char) -> bool {
        u8::try_from(character).is_ok_and(|byte| byte.is_ascii() && self.has(byte))
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
    let (mut digits, mut capitals, mut small) = (0, 0, 0);
    for byte in value.bytes() {
        digits += usize::from(byte.is_ascii_digit());
        capitals += usize::from(byte.is_ascii_uppercase());
        small += usize::from(byte.is_ascii_lowercase());
    }
    digits > 1 && capitals > 0 && small > 0
}

/// Whether a text is a picture or another file in Base64, and not a secret in it.
pub(super) fn is_file(text: &str) -> bool {
    if text.len() <= LONGEST_VALUE {
        return false;
    }
    let data = match text.split_once(";base64,") {
        Some((kind, data)) if kind.starts_with("data:") && kind.len() < 100 => data,
        _ => text,
    };
    // A private key in Base64 begins with its first line.
    !data.starts_with("LS0tLS1") && Class::Encoded.run(data.as_bytes()) == data.len()
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
