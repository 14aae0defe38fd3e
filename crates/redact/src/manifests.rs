//! Finds the values in the manifest of a Kubernetes Secret, whose names are neutral: in YAML, and in JSON.

use std::ops::Range;
use std::sync::LazyLock;

use memchr::memmem;
use regex::Regex;

use crate::SecretSpan;
use crate::kinds::SECRET;
use crate::pattern::pattern;
use crate::values::is_nothing;

/// The most bytes of a manifest on either side of its kind.
const LONGEST: usize = 8192;

static KIND: LazyLock<Regex> =
    LazyLock::new(|| pattern(r#"(?m:^)([ \t]*(?:- )?)"?kind"?:[ \t]*["']?Secret["']?,?\s|"kind":\s*"Secret""#));
/// The data on one line of JSON.
static INLINE: LazyLock<Regex> = LazyLock::new(|| pattern(r#"\b(?:data|stringData)"?:\s*\{([^{}]*)\}"#));
/// What `vault kv get` prints.
static VAULT: LazyLock<Regex> = LazyLock::new(|| pattern(r"= Data =+\n((?:[^\n=]+(?:\n|$))+)"));
/// The line that data begins with.
static DATA: LazyLock<Regex> = LazyLock::new(|| pattern(r#"^[ \t]*(?:- )?"?(?:data|stringData)"?:"#));
/// A member, or a line of a value of several.
static VALUE: LazyLock<Regex> = LazyLock::new(|| {
    pattern(
        r#"(?:^[ \t]*(?:- )?)?"?[\w.-]+"?(?::[ \t]*| {2,})(?:"((?:[^"\\\n]|\\.)+)"|'([^'\n]+)'|([^\s"'|>{\[,](?:[^\n"',]*[^\s"',])?))|^[ \t]*([^\s"{}][^\n"]*[^\s:|>])"#,
    )
});

/// Finds all of them in a text.
pub(super) fn find(text: &str, found: &mut Vec<SecretSpan>) {
    for data in VAULT.captures_iter(text).filter_map(|data| data.get(1)) {
        values(text, data.range(), found);
    }
    if memmem::find(text.as_bytes(), b"Secret").is_none() {
        return;
    }
    let mut done = 0;
    for kind in KIND.captures_iter(text) {
        let at = kind.get(0).map_or(0, |kind| kind.start());
        // A kind in what was searched is of the same object.
        if at < done {
            continue;
        }
        let first = text.ceil_char_boundary(at.saturating_sub(LONGEST));
        let around = &text[first..text.floor_char_boundary(at + LONGEST)];
        for data in INLINE.captures_iter(around).filter_map(|data| data.get(1)) {
            values(text, first + data.start()..first + data.end(), found);
        }
        done = first + around.len();
        let Some(indent) = kind.get(1).map(|indent| indent.len()) else { continue };
        let column = |line: &str| line.len() - line.trim_start_matches([' ', '-']).len();
        let is_own = |line: &&str| line.trim().is_empty() || (column(line) >= indent && !line.starts_with("---"));
        let above: Vec<&str> = text[first..at].split_inclusive('\n').collect();
        let mut start = at - above.into_iter().rev().take_while(is_own).map(str::len).sum::<usize>();
        let mut is_data = false;
        for line in text[start..first + around.len()].split_inclusive('\n').take_while(is_own) {
            if column(line) <= indent && !line.trim().is_empty() {
                is_data = DATA.is_match(line);
            } else if is_data && !begins_block(line) {
                values(text, start..start + line.len(), found);
            }
            start += line.len();
        }
        done = start;
    }
}

/// Whether the value of a line's member is below it.
fn begins_block(line: &str) -> bool {
    let Some((name, mark)) = line.trim().rsplit_once(':') else { return false };
    let is_name = name.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"_.-\"".contains(&byte));
    let mark = mark.trim_start().trim_end_matches(|c: char| c.is_ascii_digit() || c == '-' || c == '+');
    is_name && ["", "|", ">"].contains(&mark)
}

/// Finds the values in a part of a text.
fn values(text: &str, part: Range<usize>, found: &mut Vec<SecretSpan>) {
    for captures in VALUE.captures_iter(&text[part.clone()]) {
        let in_member = captures.get(1).or(captures.get(2)).or(captures.get(3));
        // A line with a name and a colon has its value behind them, if that is not masked already.
        let whole_line = captures.get(4).filter(|line| !line.as_str().contains(": "));
        let Some(value) = in_member.or(whole_line) else { continue };
        if value.len() <= 3 || is_nothing(value.as_str()) {
            continue;
        }
        found.push(SecretSpan { range: part.start + value.start()..part.start + value.end(), kind: SECRET });
    }
}

/// Builds the patterns of this file.
#[cfg(any(test, feature = "tests"))]
pub(crate) fn patterns() -> Vec<&'static Regex> {
    vec![&*KIND, &*INLINE, &*VAULT, &*DATA, &*VALUE]
}
