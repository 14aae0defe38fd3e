//! Finds what is more than a prefix and a run of characters: private keys, whole or cut, in PEM and PGP and of PuTTY; and
//! JSON web tokens.
//!
//! A private key may stand behind the numbers or times of a log, and its lines may be escaped. All functions are called for
//! the prefix of a row in [`crate::kinds`].

use std::ops::Range;
use std::sync::LazyLock;

use memchr::memmem;
use regex::Regex;

use crate::extents::{Class, is_delimiter, varied};
use crate::pattern::pattern;

/// The most characters of a line of Base64; a longer one is all of it.
const WIDEST_LINE: usize = 80;
/// The fewest characters of a Base64 run in the body of a key.
const KEY_LINE: usize = 16;

/// The lines of a private key whose last line was cut off, or is behind the numbers or times of a log: headers, whole
/// lines of Base64, the last of them, and the marker.
static CUT_KEY: LazyLock<Regex> = LazyLock::new(|| {
    let header = r#"[A-Za-z-]{2,40}: [^\n\\"]{0,128}"#;
    let end = "-----END [A-Z0-9 ]{0,40}-----";
    pattern(&format!("^(?:{BETWEEN}{header})*((?:{BETWEEN}{LINE})+)({BETWEEN}{LAST})?({BETWEEN}{end})?"))
});
/// Further lines of the Base64 of a private key.
static WRAPPED: LazyLock<Regex> = LazyLock::new(|| pattern(&format!("^((?:{BETWEEN}{LINE})+)({BETWEEN}{LAST})?")));
/// The lines of a private key before its last line.
static HEADLESS: LazyLock<Regex> = LazyLock::new(|| pattern(&format!("(?:{LINE}{BETWEEN})+(?:{LAST}{BETWEEN})?$")));
const LINE: &str = "[A-Za-z0-9+/=]{16,}";
const LAST: &str = "[A-Za-z0-9+/=]{4,15}";
/// What is between the lines of a key: the end of a line, and numbers, times and the name of a container.
const BETWEEN: &str = concat!(
    r"(?:[ \t\r\n>|+-]|\\+[nr])+",
    r"(?:(?:[\[(]?[0-9][0-9A-Za-z:.,+-]{0,31}[\])]?|[0-9A-Za-z_.-]{1,32} *\|)(?:[ \t:|>]|→|│)+(?:[A-Z]{3,8}[ \t:|]+)?){0,3}"
);
/// The private lines of a PuTTY key; the last may be followed by the first word of `Private-MAC`.
static PUTTY: LazyLock<Regex> = LazyLock::new(|| {
    pattern(
        r"^Private-Lines: [0-9]+(?:\s|\\+[nr])+([A-Za-z0-9+/]{4,}={0,2}(?:(?:\s|\\+[nr])+[A-Za-z0-9+/]{4,}={0,2})*)",
    )
});

/// Finds a private key by its first line. A key whose last line is missing ends with its last line of Base64.
pub(super) fn pem(text: &str, start: usize) -> Result<Range<usize>, usize> {
    let body = marker_end(text, start, "BEGIN ").ok_or(start)?;
    let close = memmem::find(&text.as_bytes()[body..], b"-----").map(|next| body + next);
    let last = close.and_then(|close| marker_end(text, close, "END ").map(|end| (close, end)));
    let end = match last {
        Some((close, end)) if is_key_body(&text[body..close]) => Some(end),
        _ => cut_key_end(text, body),
    };
    end.map(|end| start..end).ok_or(start)
}

/// Finds a private key by its last line, for its first may be cut off. Where that is there too, the spans overlap and
/// become one.
pub(super) fn without_first_line(text: &str, close: usize) -> Result<Range<usize>, usize> {
    let end = marker_end(text, close, "END ").ok_or(close)?;
    // Each byte is in one window, so the time is linear.
    let from = memmem::rfind(&text.as_bytes()[..close], b"-----END ").unwrap_or(0);
    let lines = HEADLESS.find(&text[from..close]).filter(|lines| varied(lines.as_str())).ok_or(close)?;
    Ok(from + lines.start()..end)
}

/// Finds the private lines of a PuTTY key.
pub(super) fn putty(text: &str, start: usize) -> Result<Range<usize>, usize> {
    let captures = PUTTY.captures(&text[start..]).ok_or(start)?;
    let lines = captures.get(1).ok_or(start)?;
    let lines_start = start + lines.start();
    Ok(lines_start..lines_start + lines.as_str().trim_end_matches("Private").trim_end().len())
}

/// Where the Base64 of a whole PEM ends, of which `found` is the first line or all.
pub(super) fn wrapped_end(text: &str, found: Range<usize>) -> usize {
    let more = if found.len() <= WIDEST_LINE { WRAPPED.find(&text[found.end..]) } else { None };
    found.end + more.map_or(0, |lines| lines.end())
}

/// Where the line `-----BEGIN … PRIVATE KEY … -----` at `start` ends, or the one with `END`.
fn marker_end(text: &str, start: usize, word: &str) -> Option<usize> {
    let label_start = start + "-----".len();
    let rest = text[label_start..].strip_prefix(word)?.as_bytes();
    let label = rest.iter().take(64).take_while(|byte| Class::Capitals.has(**byte) || **byte == b' ').count();
    let is_private = memmem::find(&rest[..label], b"PRIVATE KEY").is_some();
    (is_private && rest[label..].starts_with(b"-----")).then_some(label_start + word.len() + label + "-----".len())
}

/// Whether the text between the first and the last line can be a key, and not dots or words in its place.
fn is_key_body(body: &str) -> bool {
    // A text with brackets would be several JSON values.
    !body.contains(['{', '}', '[', ']'])
        && body.split(|c: char| !c.is_ascii_alphanumeric() && c != '+' && c != '/').any(|run| run.len() >= KEY_LINE)
}

/// Where a key without a last line ends: after the last line of Base64.
fn cut_key_end(text: &str, body: usize) -> Option<usize> {
    let captures = CUT_KEY.captures(&text[body..])?;
    let ends = |end: &usize| {
        text.as_bytes().get(*end).is_none_or(|byte| (is_delimiter(*byte) && *byte != b' ') || *byte == b'\\')
    };
    let last = captures.get(2).map(|last| body + last.end()).filter(ends);
    let marker = captures.get(3).map(|marker| body + marker.end());
    marker.or(last).or_else(|| captures.get(1).map(|lines| body + lines.end()))
}

/// Builds the patterns of this file.
#[cfg(any(test, feature = "tests"))]
pub(crate) fn patterns() -> Vec<&'static Regex> {
    vec![&*CUT_KEY, &*WRAPPED, &*HEADLESS, &*PUTTY]
}

/// The fewest characters of a header or a payload.
const SHORTEST_PART: usize = 10;

/// The JSON web token that begins at `start`. The error is the offset before which there is none.
pub(super) fn jwt(text: &str, start: usize) -> Result<Range<usize>, usize> {
    let (mut end, mut parts) = (start, 0);
    loop {
        let length = Class::Word.run(&text.as_bytes()[end..]);
        // An unsigned token has an empty signature, and a token of five parts has one empty part.
        if length < SHORTEST_PART && parts < 2 {
            return Err(end + length);
        }
        (end, parts) = (end + length, parts + 1);
        if parts == 5 || !text[end..].starts_with('.') {
            break;
        }
        end += 1;
    }
    let length = text[start..end].trim_end_matches('.').len();
    if parts < 3 { Err(end) } else { Ok(start..start + length) }
}
