//! Secrets that are known by how they are spelled, found in a text: provider keys, JSON web tokens, private keys,
//! passwords in URLs.
//!
//! One regular expression of literals finds where something may begin, and a look at the bytes from there on tells whether
//! it does. Nothing that was looked at is looked at again from another beginning, so the time is linear. What is secret
//! by the name before it is found in [`super::names`].

use std::ops::Range;
use std::sync::LazyLock;

use memchr::memmem;
use regex::Regex;

use super::kinds::{Class, JWT, PRIVATE_KEY, SHAPES, Shape, URL_PASSWORD};
use super::values;
use super::{Found, breaks};

/// Where a JSON web token begins: the Base64 of `{"`.
const JWT_BEGINS: &str = "eyJ";
/// The fewest characters of a part of a JSON web token.
const JWT_PART: usize = 10;
/// Bytes of a URL's authority that are looked at.
const LONGEST_AUTHORITY: usize = 512;
/// Characters of Base64 in a row that make something the body of a key.
const KEY_LINE: usize = 16;

/// Where something may begin, the longer beginning first.
static BEGINNINGS: LazyLock<Option<Regex>> = LazyLock::new(|| {
    let mut prefixes: Vec<&str> = SHAPES.iter().map(|shape| shape.prefix).chain([JWT_BEGINS]).collect();
    prefixes.sort_by_key(|prefix| std::cmp::Reverse(prefix.len()));
    let literals: Vec<String> = prefixes.into_iter().map(regex::escape).collect();
    // The tests see that it compiles.
    Regex::new(&literals.join("|")).ok()
});

/// All of them in a text, in no order.
pub(super) fn find(text: &str, found: &mut Vec<Found>) {
    keys(text, found);
    private_keys(text, found);
    url_passwords(text, found);
}

/// Provider keys and JSON web tokens.
fn keys(text: &str, found: &mut Vec<Found>) {
    let Some(beginnings) = BEGINNINGS.as_ref() else { return };
    let mut at = 0;
    // As far as one was looked for in vain, where a later beginning would be in vain too.
    let (mut no_jwt, mut no_weak) = (0, 0);
    while let Some(hit) = beginnings.find_at(text, at) {
        let start = hit.start();
        at = start + 1;
        if hit.as_str() == JWT_BEGINS {
            let (end, is_jwt) = if start < no_jwt { (no_jwt, false) } else { jwt(text.as_bytes(), start) };
            if is_jwt {
                at = end;
                found.push(Found { range: start..end, kind: JWT });
            }
            no_jwt = end;
            continue;
        }
        let shapes = SHAPES.iter().filter(|shape| text[start..].starts_with(shape.prefix));
        for shape in shapes {
            if shape.weak && start < no_weak {
                continue;
            }
            match key(text, start, shape) {
                Ok(range) => {
                    at = range.end;
                    found.push(Found { range, kind: shape.kind });
                    break;
                }
                Err(end) if shape.weak => no_weak = end,
                Err(_) => {}
            }
        }
    }
}

/// The key of that shape that begins at `start`, or has its mark there; or as far as was looked.
fn key(text: &str, start: usize, shape: &Shape) -> Result<Range<usize>, usize> {
    let bytes = text.as_bytes();
    let body = start + shape.prefix.len();
    let mut first = start;
    if let Some((class, least, most)) = shape.before {
        let before = bytes[..start].iter().rev().take(most + 1).take_while(|byte| class.has(**byte)).count();
        first = start - before.min(most);
        if before < least || (before > most && !begins(text, first)) {
            return Err(start);
        }
    } else if !shape.stays && !begins(text, start) {
        return Err(start);
    }
    if values::begins_as_stand_in(&text[body..]) {
        return Err(start);
    }
    let ran = body + run(&bytes[body..], shape.class);
    let mut end = ran;
    while end > body && matches!(bytes[end - 1], b'.' | b'-' | b'/' | b'~') {
        end -= 1;
    }
    let length = end - body;
    let is_key = (shape.least..=shape.most).contains(&length)
        && !values::is_stand_in(&text[body..end])
        && (!shape.weak || is_dense(&bytes[body..end]))
        && (shape.class != Class::Hex || bytes[body..end].iter().any(u8::is_ascii_digit));
    if is_key { Ok(if shape.stays { body..end } else { first..end }) } else { Err(ran) }
}

/// Bytes of a class at the start of some.
fn run(bytes: &[u8], class: Class) -> usize {
    bytes.iter().take_while(|byte| class.has(**byte)).count()
}

/// Whether something has letters and digits in a row as no word does.
fn is_dense(bytes: &[u8]) -> bool {
    let mut runs = bytes.split(|byte| !byte.is_ascii_alphanumeric());
    runs.any(|run| run.len() >= 20 || (run.len() >= 16 && run.iter().any(u8::is_ascii_digit)))
}

/// Whether a secret may begin there: no letter or digit stands before it, unless it belongs to an escape or a colour.
fn begins(text: &str, start: usize) -> bool {
    let before = &text.as_bytes()[..start];
    match before {
        [.., byte] if !byte.is_ascii_alphanumeric() => true,
        [] | [.., b'\\', b'n' | b'r' | b't'] | [.., b'%', _, _] | [.., b'\\', b'u', _, _, _, _] => true,
        // The end of a terminal's colour: the escape character, `[`, digits, `m`.
        [rest @ .., b'm'] => {
            let digits = rest.iter().rev().take(16).take_while(|b| b.is_ascii_digit() || **b == b';').count();
            rest[..rest.len() - digits].ends_with(b"[")
        }
        _ => false,
    }
}

/// How far a JSON web token goes that may begin at `start`, and whether it is one.
fn jwt(bytes: &[u8], start: usize) -> (usize, bool) {
    let mut end = start;
    let mut parts = 0;
    loop {
        let length = run(&bytes[end..], Class::Word);
        // The signature of an unsigned token is empty, and a token with five parts has an empty one.
        if length < JWT_PART && parts < 2 {
            return (end + length, false);
        }
        end += length;
        parts += 1;
        if parts == 5 || bytes.get(end) != Some(&b'.') {
            break;
        }
        end += 1;
    }
    while bytes[end - 1] == b'.' {
        end -= 1;
    }
    (end, parts >= 3)
}

/// Private keys as PEM and PGP write them, with their first and last lines; without a last line, as far as the key goes.
fn private_keys(text: &str, found: &mut Vec<Found>) {
    let mut at = 0;
    while let Some(start) = memmem::find(&text.as_bytes()[at..], b"-----BEGIN ").map(|next| at + next) {
        at = start + 1;
        let Some(body) = marker_end(text, start, "BEGIN ") else { continue };
        let close = memmem::find(&text.as_bytes()[body..], b"-----").map(|next| body + next);
        let last = close.and_then(|close| marker_end(text, close, "END ").map(|end| (close, end)));
        let end = match last {
            Some((close, end)) if is_key_body(&text[body..close]) => Some(end),
            _ => cut_key_end(text, body),
        };
        if let Some(end) = end {
            found.push(Found { range: start..end, kind: PRIVATE_KEY });
            at = end;
        }
    }
}

/// Where `-----BEGIN … PRIVATE KEY … -----` ends that stands at `start`, or the line with `END`.
fn marker_end(text: &str, start: usize, word: &str) -> Option<usize> {
    let label_start = start + "-----".len();
    let rest = text[label_start..].strip_prefix(word)?.as_bytes();
    let label = rest.iter().take(64).take_while(|byte| Class::Capitals.has(**byte) || **byte == b' ').count();
    let is_private = memmem::find(&rest[..label], b"PRIVATE KEY").is_some();
    (is_private && rest[label..].starts_with(b"-----")).then_some(label_start + word.len() + label + "-----".len())
}

/// Whether something between the first and the last line of a key may be one, and not dots or words in its place.
fn is_key_body(body: &str) -> bool {
    // With brackets it would be several values of some JSON.
    if body.contains(['{', '}', '[', ']']) {
        return false;
    }
    let longest = body.as_bytes().split(|byte| !Class::Base64.has(*byte)).map(<[u8]>::len).max().unwrap_or_default();
    longest >= KEY_LINE || (longest >= 4 && !body.contains(' ') && !values::is_stand_in(body.trim()))
}

/// Where a key ends that was cut off before its last line: behind the last line of Base64.
fn cut_key_end(text: &str, body: usize) -> Option<usize> {
    let bytes = text.as_bytes();
    let mut at = body;
    let mut end = None;
    loop {
        let between = separators(&bytes[at..]);
        // From one string into another, or in one; but not out of strings.
        let quotes = bytes[at..at + between].iter().filter(|byte| matches!(byte, b'"' | b'\'' | b'`')).count();
        let joins = bytes[at..at + between].contains(&b',');
        at += between;
        if quotes != if joins { 2 } else { quotes & 2 } {
            return end;
        }
        let length = run(&bytes[at..], Class::Base64);
        let line = &bytes[at..at + length];
        // A header, such as `DEK-Info: …`, ends with its line.
        if line.len() < KEY_LINE
            && end.is_none()
            && let Some(header) = header(&bytes[at..])
        {
            at += header;
            continue;
        }
        let is_last = length >= 4 && bytes.get(at + length).is_none_or(|byte| breaks(*byte) && *byte != b' ');
        let mixes = line.iter().any(|byte| !byte.is_ascii_lowercase());
        let is_name = bytes[at + length..].iter().find(|byte| !matches!(byte, b'\\' | b'"' | b' ')) == Some(&b':');
        if is_name {
            return end;
        }
        if length >= KEY_LINE || (is_last && mixes) {
            at += length;
            end = Some(at);
        } else {
            return end;
        }
    }
}

/// What stands between the lines of a key: line breaks, also spelled out, and what quotes, joins or marks lines.
fn separators(bytes: &[u8]) -> usize {
    let mut at = 0;
    while let Some(byte) = bytes.get(at) {
        at += match byte {
            b'\\' if matches!(bytes.get(at + 1), Some(b'n' | b'r' | b't' | b'\\' | b'"')) => 2,
            b' ' | b'\t' | b'\n' | b'\r' | b'"' | b'\'' | b'`' | b'+' | b',' | b'>' | b'|' | b'\\' => 1,
            _ => return at,
        };
    }
    at
}

/// The length of a header's line, where one begins here.
fn header(bytes: &[u8]) -> Option<usize> {
    let name = run(bytes, Class::Word);
    if name == 0 || !bytes[name..].starts_with(b": ") {
        return None;
    }
    Some(bytes.iter().take(256).take_while(|byte| !matches!(byte, b'\n' | b'\\' | b'"')).count())
}

/// The passwords in `scheme://user:password@host`.
fn url_passwords(text: &str, found: &mut Vec<Found>) {
    let bytes = text.as_bytes();
    let mut at = 0;
    while let Some(start) = memmem::find(&bytes[at..], b"://").map(|next| at + next + 3) {
        let ends = |byte: &u8| matches!(byte, b'/' | b'?' | b'#' | b'\\' | b'<' | b'>') || breaks(*byte);
        let authority = bytes[start..].iter().take(LONGEST_AUTHORITY).take_while(|byte| !ends(byte)).count();
        at = start;
        let authority = &bytes[start..start + authority];
        let Some(host) = memchr::memrchr(b'@', authority) else { continue };
        let Some(colon) = memchr::memchr(b':', &authority[..host]) else { continue };
        let range = start + colon + 1..start + host;
        if text.get(range.clone()).is_some_and(|password| !password.is_empty() && !values::is_reference(password)) {
            found.push(Found { range, kind: URL_PASSWORD });
        }
    }
}
