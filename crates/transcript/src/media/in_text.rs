//! Data of media inside texts: a page with its pictures, the output of `base64`, a value that a tool printed.

use std::borrow::Cow;
use std::ops::{Range, RangeInclusive};

use memchr::memmem;

use crate::media::{LEAST_TYPED, LEAST_UNTYPED, Medium, header_type};

/// The characters of a line of data that is wrapped, but for its last line.
const LINES: RangeInclusive<usize> = 60..=80;

/// The data of media inside a text, in order: data URLs, and long runs of Base64 that begin as data of a known type
/// does. The text can be the JSON spelling of one.
pub fn in_text(text: &str) -> Vec<Range<usize>> {
    let bytes = text.as_bytes();
    let mut found = data_urls(bytes);
    let urls = found.len();
    let mut next_url = 0;
    // A run of that length has a byte at one of these places.
    let (mut at, mut seen) = (LEAST_UNTYPED - 1, 0);
    while at < bytes.len() {
        // The place may be inside of the end of a line.
        let Some(inside) = (at..bytes.len().min(at + 5)).find(|at| is_digit(bytes[*at])) else {
            at += LEAST_UNTYPED;
            continue;
        };
        let start = run_start(bytes, inside, seen);
        let run = start..run_end(bytes, start);
        // What was looked at before is no part of a later run.
        seen = run.end.max(inside);
        while next_url < urls && found[next_url].end < run.end {
            next_url += 1;
        }
        let is_of_url = found[..urls].get(next_url).is_some_and(|url| url.start < run.end);
        if run.len() >= LEAST_UNTYPED && !is_of_url && header_type(&text[run.clone()]).is_some() {
            found.push(run.clone());
        }
        at = run.end.max(at) + LEAST_UNTYPED;
    }
    if found.len() > urls {
        found.sort_by_key(|range| range.start);
    }
    found
}

/// Whether a text has a run of Base64 that can be the data of a medium, of whatever type.
pub(super) fn has_run(text: &str) -> bool {
    let bytes = text.as_bytes();
    let mut at = LEAST_TYPED - 1;
    while at < bytes.len() {
        if is_digit(bytes[at]) || bytes[at] == b'\\' {
            let before = bytes[..at].iter().rev().take_while(is_inside).count();
            let behind = bytes[at..].iter().take(LEAST_TYPED).take_while(is_inside).count();
            if before + behind >= LEAST_TYPED {
                return true;
            }
        }
        at += LEAST_TYPED;
    }
    false
}

/// Whether a byte can be inside of a run, as a digit or in the spelling of a line end or a slash.
fn is_inside(byte: &&u8) -> bool {
    is_digit(**byte) || **byte == b'\\'
}

/// The text with a few words in place of the data of media in it.
pub fn without_data(text: &str) -> Cow<'_, str> {
    replace_data(text, |medium| format!("[{}]", medium.words()))
}

/// The text with other words in place of the data of media in it.
pub fn replace_data(text: &str, words: impl Fn(&Medium<'_>) -> String) -> Cow<'_, str> {
    let found = in_text(text);
    if found.is_empty() {
        return Cow::Borrowed(text);
    }
    let mut out = String::new();
    let mut from = 0;
    for range in found {
        out.push_str(&text[from..range.start]);
        out.push_str(&words(&Medium::of_text(&text[range.clone()])));
        from = range.end;
    }
    out.push_str(&text[from..]);
    Cow::Owned(out)
}

/// The data URLs in a text.
fn data_urls(bytes: &[u8]) -> Vec<Range<usize>> {
    memmem::find_iter(bytes, URL_MARK).filter_map(|mark| data_url_around(bytes, mark)).collect()
}

/// What stands between the type and the data in a data URL.
const URL_MARK: &[u8] = b";base64,";

/// The data URL that has its mark at a place.
fn data_url_around(bytes: &[u8], mark: usize) -> Option<Range<usize>> {
    const LONGEST_TYPE: usize = 120;
    let before = &bytes[mark.saturating_sub(LONGEST_TYPE)..mark];
    let header = &before[memmem::rfind(before, b"data:")?..];
    let is_type = header.iter().all(|byte| byte.is_ascii_alphanumeric() || b":/.+-;=_\\".contains(byte));
    let start = mark + URL_MARK.len();
    let end = run_end(bytes, start);
    if is_type && end - start >= LEAST_TYPED { Some(mark - header.len()..end) } else { None }
}

fn is_digit(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"+/=-_".contains(&byte)
}

/// The length of a line end here, as a text or JSON spells it; 0 if there is none.
fn line_end(bytes: &[u8]) -> usize {
    const ENDS: [&[u8]; 4] = [b"\r\n", b"\n", b"\\r\\n", b"\\n"];
    for end in ENDS {
        if bytes.starts_with(end) {
            return end.len();
        }
    }
    0
}

/// The end of the run that begins here.
fn run_end(bytes: &[u8], start: usize) -> usize {
    let (mut at, mut line) = (start, start);
    while let Some(byte) = bytes.get(at) {
        if is_digit(*byte) {
            at += 1;
        } else if bytes[at..].starts_with(b"\\/") {
            at += 2;
        } else {
            let end = line_end(&bytes[at..]);
            if end == 0 || !LINES.contains(&(at - line)) || !is_line(&bytes[at + end..]) {
                return at;
            }
            at += end;
            line = at;
        }
    }
    at
}

/// Whether a line of digits begins here, and not a word.
fn is_line(bytes: &[u8]) -> bool {
    let digits = bytes.iter().take(*LINES.start()).take_while(|byte| is_digit(**byte)).count();
    let is_end = bytes.get(digits).is_none_or(|byte| b"\r\n\\\"'`)<".contains(byte));
    digits == *LINES.start() || digits > 0 && is_end
}

/// The digits on the last line, as far as they are counted.
fn last_line(bytes: &[u8]) -> usize {
    bytes.iter().rev().take(LINES.end() + 1).take_while(|byte| is_digit(**byte)).count()
}

/// The start of the run that has a byte here, at `floor` at the earliest.
fn run_start(bytes: &[u8], from: usize, floor: usize) -> usize {
    let mut at = from;
    while let Some(byte) = bytes[floor..at].last() {
        let (before, is_line_end) = match byte {
            b'\\' if bytes[at] == b'/' => (at - 1, false),
            b'\n' => (at - if bytes[floor..at].ends_with(b"\r\n") { 2 } else { 1 }, true),
            b'\\' if bytes[at] == b'n' => (at - if bytes[floor..at].ends_with(b"\\r\\") { 3 } else { 1 }, true),
            // The letter behind it belongs to an escape.
            b'\\' => return at + 1,
            // An assignment or a flag stands before data, and padding behind it.
            byte if is_digit(*byte) && *byte != b'=' => (at - 1, false),
            _ => return at,
        };
        if is_line_end && !LINES.contains(&last_line(&bytes[floor..before])) {
            return if *byte == b'\\' { at + 1 } else { at };
        }
        at = before;
    }
    at
}
