//! Answers that a program gave in place of a model's summary: a JSON value, a web page, or the text of an error.
//!
//! A command that fails can print its error and end with 0, and a gateway can put its own page in the place of an answer.
//! A summary can tell of all of these. So a page or a JSON value is one only if the whole answer is, and a text is an
//! error only if it is short, begins as an error does, and tells nothing.

use std::fmt;
use std::sync::LazyLock;

use regex::Regex;

use crate::pattern::pattern;
use crate::redact::beginning;
use crate::summary::error_forms::is_error;
use crate::summary::exchange::shown;
use crate::tokens::Counter;
use crate::tokens::bpe::Encoding;
use crate::transcript::fence;
use crate::transcript::json::JsonKind;
use crate::transcript::source::Source;

/// What an answer is that is not a summary.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MachineAnswer {
    /// A JSON value that is not text, or nothing but signs and numbers.
    Json,
    /// A web page.
    WebPage,
    /// The text of an error.
    Error,
    /// A few words for a long history.
    TooShort,
}

impl fmt::Display for MachineAnswer {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(match self {
            MachineAnswer::Json => "JSON",
            MachineAnswer::WebPage => "a web page",
            MachineAnswer::Error => "an error",
            MachineAnswer::TooShort => "a few words",
        })
    }
}

/// What an answer is, if it is not a summary. It takes the place of so many tokens.
pub fn recognize(answer: &str, counter: Counter, replaced: u64) -> Option<MachineAnswer> {
    /// A text of so many tokens is not only an error.
    const LONGEST_ERROR: u64 = 60;
    /// So many tokens cannot be told in fewer than `SHORTEST`.
    const LONG: u64 = 1000;
    const SHORTEST: u64 = 20;
    let inside = unwrapped(answer);
    // A string of JSON is text. What it says is judged as the text is.
    let text = said(inside);
    if is_json(inside) || is_json(&text) {
        return Some(MachineAnswer::Json);
    }
    if PAGE.is_match(&text) {
        return Some(MachineAnswer::WebPage);
    }
    let tokens = counter.count_text(answer);
    if tokens < LONGEST_ERROR && is_error(&text) {
        return Some(MachineAnswer::Error);
    }
    // An estimate by characters is too small for a sentence in Chinese, and a sentence of frequent words has few tokens.
    let counters = [Counter::APPROX, Counter::Exact(Encoding::O200kBase)];
    if replaced >= LONG && counters.iter().all(|counter| counter.count_text(answer) < SHORTEST) {
        return Some(MachineAnswer::TooShort);
    }
    None
}

pub fn first_words(answer: &str) -> String {
    const MOST: usize = 60;
    let answer = answer.trim();
    let first = beginning(answer, MOST);
    if first.len() < answer.len() { format!("{}…", shown(first, MOST)) } else { shown(first, MOST) }
}

/// An answer without what models and programs put around it: thoughts, tags, a label and a code fence.
fn unwrapped(answer: &str) -> &str {
    let mut inside = fence::strip_wrapping(answer).trim_start_matches('\u{feff}').trim();
    if let Some(label) = LABEL.find(inside)
        && label.end() < inside.len()
    {
        inside = &inside[label.end()..];
    }
    for fence in ["```", "~~~"] {
        if let Some(opened) = inside.strip_prefix(fence)
            && let Some(fenced) = opened.strip_suffix(fence)
            && let Some((_, code)) = fenced.split_once('\n')
        {
            return code.trim();
        }
    }
    inside
}

/// What a string of JSON says, or else the text itself, without the colours of a terminal.
fn said(text: &str) -> String {
    if let Ok(source) = Source::of(text)
        && let Some(string) = source.first().and_then(|value| value.text())
    {
        return COLOUR.replace_all(&string.decode(), "").into_owned();
    }
    COLOUR.replace_all(text, "").into_owned()
}

/// Whether a text is JSON, of which some value is not text; or a program's word for nothing; or has no letters at all.
fn is_json(text: &str) -> bool {
    const NOTHING: [&str; 10] =
        ["null", "undefined", "none", "nil", "nan", "true", "false", "n/a", "object object", "object promise"];
    if !text.contains(char::is_alphabetic) {
        return true;
    }
    let word = text.trim_matches(|c: char| !c.is_alphanumeric());
    if NOTHING.iter().any(|nothing| word.eq_ignore_ascii_case(nothing)) {
        return true;
    }
    Source::of(text).is_ok_and(|source| source.values().any(|value| value.kind() != JsonKind::String))
}

/// Matches a label before an answer, as in `Summary: null`.
static LABEL: LazyLock<Regex> = LazyLock::new(|| {
    pattern(
        r"(?i)^[#*_\s]*(?:(?:here(?:'s| is)|this is|the|a|my|final|session|conversation) )*summary\b[\w' ]*[*_]*(?::[*_]*\s*|\n+)",
    )
});

/// Matches what colours a terminal.
static COLOUR: LazyLock<Regex> = LazyLock::new(|| pattern(r"\x1b\[[0-9;]*[a-zA-Z]"));

/// Matches the beginning of a web page: behind comments and the line of XML, `<!doctype html>` or `<html>`, and a tag
/// behind it. A text that tells of such a tag goes on with words.
static PAGE: LazyLock<Regex> = LazyLock::new(|| {
    const BEFORE: &str = r"(?:\s|\x{feff}|<!--(?s:.*?)-->|<\?xml[^>]*>)*";
    pattern(&format!(
        r"(?i)^{BEFORE}(?:<!doctype\s+html[^>]*>{BEFORE}(?:<|$)|<(?:html|head|body)(?:\s[^>]*)?>(?:\s*(?:<|$)|[^<]*</))"
    ))
});

/// Builds the patterns of this file.
#[cfg(any(test, feature = "tests"))]
pub fn patterns() -> Vec<&'static Regex> {
    vec![&*LABEL, &*COLOUR, &*PAGE]
}

#[cfg(test)]
mod tests;
