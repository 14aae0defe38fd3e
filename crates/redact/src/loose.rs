//! Finds what else people and pages write between a name and its value: a note in brackets, a number, an arrow, tags, and
//! the rest of an assertion. The value must look like a secret by itself.

use std::sync::LazyLock;

use regex::Regex;

use crate::extents::{Quote, skip_spaces};
use crate::operators::Operator;
use crate::pattern::pattern;

/// The most bytes between a name and its value.
const LONGEST: usize = 160;
/// The most tags between them.
const MOST_TAGS: usize = 8;
/// The tags that stand between them, and those among them in which a value stands without a colon.
const TAGS: [&str; 21] = [
    "b", "strong", "em", "i", "span", "p", "code", "kbd", "samp", "td", "th", "tr", "dt", "dd", "label", "pre", "div",
    "font", "tt", "u", "br",
];
const VALUES: [&str; 5] = ["td", "dd", "code", "kbd", "br"];

/// A note or a number before the operator: `Password (prod): …`, `TOKEN [staging] = …`, `Unseal Key 1: …`.
static NOTE: LazyLock<Regex> = LazyLock::new(|| {
    pattern(
        r"^(?-u:\*{0,2}[ \t]{1,4}(?:\([\w ,./:-]{1,40}\)|\[[\w ,./:-]{1,40}\]|#?[0-9]{1,3})\*{0,2}[ \t]{0,4}[:=]\*{0,2}[ \t])",
    )
});
/// An arrow of any kind that is not one of code.
static ARROW: LazyLock<Regex> = LazyLock::new(|| pattern(r"^\*{0,2}[ \t]{0,4}(?:→|⇒|➜|=={1,2}>)[ \t]{0,4}"));
/// The rest of an assertion whose argument is compared with a text in quotes.
static EXPECTED: LazyLock<Regex> = LazyLock::new(|| {
    pattern(
        r"^(?:\(\))?\)\.?(?:(?:to|not|should|that|is|and)(?:\(\))?[. ]){0,3}(?:toBe|toEqual|toStrictEqual|equals?|eql?|be|isEqualTo)\(",
    )
});

/// The operator behind the name at `name` that ends at `at`, and where it ends.
pub(super) fn operator(text: &str, name: usize, at: usize) -> Option<(Operator, usize)> {
    let before = &text[..name];
    let rest = &text[at..text.floor_char_boundary(at + LONGEST)];
    let bytes = rest.as_bytes();
    let end = match bytes.first()? {
        b'(' | b')' | b',' => return Some((Operator::Compare, at + compared(before, rest)?)),
        b'<' | b':' if !before.ends_with(['<', '/']) => behind_tags(rest)?,
        b' ' | b'\t' | b'*' | b'=' | 0xe2 => {
            // What is behind a second arrow is a step of a path: `Settings → Password → …`.
            let is_path = before.trim_end().ends_with(['→', '⇒', '➜']);
            match NOTE.find(rest) {
                Some(note) => note.end(),
                None if is_path => return None,
                None => ARROW.find(rest)?.end(),
            }
        }
        _ => return None,
    };
    Some((Operator::Loose, at + end))
}

/// Where the tags behind a name end, if there is a colon among them or the last is that of a value.
fn behind_tags(rest: &str) -> Option<usize> {
    let bytes = rest.as_bytes();
    let (mut at, mut tags, mut has_colon, mut opens_value) = (0, 0, false, false);
    while tags < MOST_TAGS {
        at = skip_spaces(bytes, at);
        match bytes.get(at) {
            Some(b'\n' | b'\r') if tags > 0 => at += 1,
            Some(b':') if !has_colon => {
                has_colon = true;
                at += 1;
            }
            Some(b'<') => {
                let tag = &rest[at + 1..at + rest[at..].find('>')?];
                let name = tag.trim_matches('/').split(' ').next().unwrap_or(tag);
                if !TAGS.contains(&name) {
                    return None;
                }
                opens_value |= VALUES.contains(&tag.trim_end_matches('/').split(' ').next().unwrap_or(tag));
                tags += 1;
                at += tag.len() + "<>".len();
            }
            _ => break,
        }
    }
    if tags > 0 && (has_colon || opens_value) { Some(at) } else { None }
}

/// Where the rest of an assertion ends, before the text that a secret is compared with.
fn compared(before: &str, rest: &str) -> Option<usize> {
    let call = before.trim_end_matches('&').strip_suffix('(')?;
    let word = call.rsplit(|c: char| !c.is_ascii_alphanumeric() && !"_!.:".contains(c)).next()?.to_ascii_lowercase();
    let end = match rest.strip_prefix("()").unwrap_or(rest).strip_prefix(',') {
        Some(behind) if word.contains("assert") || word == "strcmp" => rest.len() - behind.len(),
        None if word == "expect" || word.contains("assert") => EXPECTED.find(rest)?.end(),
        _ => return None,
    };
    let end = skip_spaces(rest.as_bytes(), end);
    if Quote::at(rest.as_bytes(), end).is_some() { Some(end) } else { None }
}

/// Builds the patterns of this file.
#[cfg(any(test, feature = "tests"))]
pub(crate) fn patterns() -> Vec<&'static Regex> {
    vec![&*NOTE, &*ARROW, &*EXPECTED]
}
