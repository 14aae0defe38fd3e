//! Finds secrets on the lines below a heading that names them: `### API key`, `**Token**`, `Password:`, `Backup codes:`.
//!
//! What follows a heading is mostly a sentence, so only a line with a single token that looks like a secret counts.

use std::ops::Range;
use std::sync::LazyLock;

use regex::bytes;

use crate::SecretSpan;
use crate::extents::varied;
use crate::kinds::{PASSWORD, SECRET};
use crate::names::NameClass;
use crate::pattern::ascii_pattern;
use crate::places::is_stand_in;
use crate::sentences::{KEY_WORDS, PASSWORD_WORDS};
use crate::values::{self, SecretCandidate, ValuePlace};

/// The most bytes of a name and what marks it.
const LONGEST_HEADING: usize = 64;
/// The most bytes of a line with a value.
const LONGEST_LINE: usize = 512;
/// The most lines of a list.
const MOST_LINES: usize = 32;
/// The fewest characters of a code.
const SHORTEST_CODE: usize = 6;

/// A name at the end of a line: of a key, of codes, or of a password. What marks it as a heading is captured last.
static HEADING: LazyLock<bytes::Regex> = LazyLock::new(|| {
    let codes = "(?i:backup|recovery)[ _-]?(?i:codes)";
    let passwords = format!("(?i:pass(?:word|phrase|code))|{PASSWORD_WORDS}");
    let names = format!("({KEY_WORDS}s?)|({codes})|({passwords})");
    ascii_pattern(&format!(r"(?:{names})(?:[ \t]+is)?((?:[*_`:]|：){{0,6}})[ \t\r]*$"))
});

/// Finds all of them below the lines of a text that can name a secret.
pub(super) fn find(text: &str, lines: &[Range<usize>], found: &mut Vec<SecretSpan>) {
    for line in lines {
        let first = line.start.max(line.end.saturating_sub(LONGEST_HEADING));
        let Some(heading) = HEADING.captures_at(&text.as_bytes()[..line.end], first) else { continue };
        let (Some(whole), Some(mark)) = (heading.get(0), heading.get(4)) else { continue };
        let Some(before) = text.get(line.start..whole.start()) else { continue };
        let underline = underline(text, line.end);
        let is_marked = !mark.is_empty() || before.trim_start().starts_with('#') || underline.is_some();
        let is_alone = before.bytes().all(|byte| b" \t-*>".contains(&byte));
        if line.end == text.len() || !is_marked && !is_alone {
            continue;
        }
        let below = Lines { text, at: underline.unwrap_or(line.end + 1) };
        if heading.get(2).is_some() {
            below.codes(found);
        } else if heading.get(1).is_some() {
            below.keys(is_marked, found);
        } else {
            found.extend(below.password(is_marked));
        }
    }
}

/// Where the line ends that makes a heading of the line before it, which ends at `end`.
fn underline(text: &str, end: usize) -> Option<usize> {
    let below = text.get(end + 1..text.floor_char_boundary(end + LONGEST_HEADING))?;
    let (line, _) = below.split_once('\n')?;
    let line_end = line.trim_end_matches('\r');
    let is_rule = line_end.len() >= 3 && line_end.bytes().all(|byte| byte == b'=');
    if is_rule { Some(end + 1 + line.len() + 1) } else { None }
}

/// Whether a value below a word alone is no other word: words stand below each other in lists of names.
fn is_unmistakable(value: &str) -> bool {
    let has_mark = value.contains(|c: char| c.is_ascii_punctuation() && !"_-./:()".contains(c));
    value.len() >= 8 && (has_mark || values::is_dense(value, 16) && varied(value))
}

/// The lines below a heading.
#[derive(Clone, Copy)]
struct Lines<'t> {
    text: &'t str,
    at: usize,
}

/// A line with a single token.
struct TokenLine<'t> {
    value: &'t str,
    /// Whether something sets the token apart from the output of a program: an indent, a quote, a mark of a list.
    is_set_apart: bool,
    /// Where the next line begins.
    next: usize,
}

impl<'t> Lines<'t> {
    /// The line at an offset, if it has a single token.
    fn token(&self, at: usize) -> Option<TokenLine<'t>> {
        let rest = self.text.get(at..self.text.floor_char_boundary(at + LONGEST_LINE))?;
        let line = &rest[..rest.find('\n').unwrap_or(rest.len())];
        let numbered = line.trim_start().trim_start_matches(|c: char| c.is_ascii_digit());
        let item = match numbered.strip_prefix(['.', ')']) {
            Some(item) if item.starts_with(' ') => item,
            _ => line,
        };
        let item = item.trim_start().trim_start_matches(['>', '*', '-']).trim();
        let value = item.trim_matches(['`', '"', '\'', '*']);
        let is_one = !value.is_empty() && !value.contains(|c: char| c.is_whitespace() || "\"'`\\".contains(c));
        if !is_one {
            return None;
        }
        Some(TokenLine { value, is_set_apart: value.len() < line.trim_end().len(), next: at + line.len() + 1 })
    }

    /// The first token below an empty line and the beginning of a block of code.
    fn first_token(&self) -> Option<TokenLine<'t>> {
        let mut at = self.at;
        for line in self.text[at..].split_inclusive('\n').take(3) {
            if !line.trim().is_empty() && !line.trim_start().starts_with("```") {
                break;
            }
            at += line.len();
        }
        let token = self.token(at)?;
        Some(TokenLine { is_set_apart: token.is_set_apart || at > self.at, ..token })
    }

    /// The password below a heading. A prompt looks like one, and what follows it is the output of a program.
    fn password(&self, is_marked: bool) -> Option<SecretSpan> {
        let token = self.first_token()?;
        let place = if token.is_set_apart { ValuePlace::Sentence } else { ValuePlace::Beside };
        let is_prompt = token.value.contains(['@', '=']) && token.value.ends_with(['$', '#', '>', '%']);
        if is_prompt || !is_marked && !is_unmistakable(token.value) {
            return None;
        }
        self.secret(token.value, NameClass::Password, place)
    }

    /// The keys below a heading, one on each line.
    fn keys(&self, is_marked: bool, found: &mut Vec<SecretSpan>) {
        let mut next = self.first_token();
        let place = if is_marked { ValuePlace::Announced } else { ValuePlace::Sentence };
        for _ in 0..MOST_LINES {
            let Some(token) = next else { return };
            let Some(secret) = self.secret(token.value, NameClass::Key, place) else { return };
            found.push(secret);
            next = self.token(token.next);
        }
    }

    /// The codes that replace a second factor, one on each line. Many are numbers.
    fn codes(&self, found: &mut Vec<SecretSpan>) {
        let mut next = self.first_token();
        for _ in 0..MOST_LINES {
            let Some(TokenLine { value, next: end, .. }) = next else { return };
            let is_code = value.len() >= SHORTEST_CODE
                && value.contains(|c: char| c.is_ascii_digit())
                && value.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-+/=".contains(&byte))
                && !is_date_or_numbered_word(value)
                && !values::is_of_sentences(value)
                && !values::is_reference(value);
            if !is_code {
                return;
            }
            let start = self.offset(value);
            found.push(SecretSpan { range: start..start + value.len(), kind: SECRET });
            next = self.token(end);
        }
    }

    fn secret(&self, value: &'t str, class: NameClass, place: ValuePlace) -> Option<SecretSpan> {
        let candidate = SecretCandidate { class, name: "", value, place };
        let is_secret = candidate.is_secret() && !is_stand_in(value) && !values::begins_otherwise(value);
        if !is_secret || value.ends_with(':') {
            return None;
        }
        let start = self.offset(value);
        let kind = if class == NameClass::Password { PASSWORD } else { SECRET };
        Some(SecretSpan { range: start..start + value.len(), kind })
    }

    fn offset(&self, value: &str) -> usize {
        value.as_ptr() as usize - self.text.as_ptr() as usize
    }
}
/// Whether a value is a date, as `2026-01-02`, or a word with a number behind it, as `iPhone15` and `step-1`.
fn is_date_or_numbered_word(value: &str) -> bool {
    let word = value.trim_end_matches(|c: char| c.is_ascii_digit());
    let is_numbered_word =
        value.len() - word.len() <= 2 && word.bytes().all(|byte| byte.is_ascii_alphabetic() || byte == b'-');
    let lengths: Vec<usize> = value.split('-').map(str::len).collect();
    is_numbered_word || lengths == [4, 2, 2]
}
