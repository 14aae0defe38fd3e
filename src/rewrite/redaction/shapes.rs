//! Secrets that are known by how they are spelled, found in a text: provider keys, JSON web tokens, private keys,
//! passwords in URLs.
//!
//! One regular expression of literals finds where something may begin, and a look at the bytes from there on tells whether
//! it does. Nothing that was looked at is looked at again from another beginning, so the time is linear. What is secret
//! by the name before it is found in [`crate::rewrite::redaction::assignments`].

use std::cmp::Reverse;
use std::collections::HashMap;
use std::ops::Range;
use std::sync::{LazyLock, OnceLock};

use memchr::memmem;
use regex::Regex;

use crate::rewrite::redaction::kinds::{Class, JWT, PRIVATE_KEY, SHAPES, Shape, URL_PASSWORD};
use crate::rewrite::redaction::{Found, breaks, values};

/// Where a JSON web token begins: the Base64 of `{"`.
const JWT_BEGINS: &str = "eyJ";
/// The fewest characters of a part of a JSON web token.
const JWT_PART: usize = 10;
/// Bytes of a URL that are looked at for the end of a password.
const LONGEST_AUTHORITY: usize = 4096;
/// Characters of Base64 in a row that make something the body of a key.
const KEY_LINE: usize = 16;

/// Where something may begin, the longer beginning first, and which rows each beginning leads to.
static BEGINNINGS: LazyLock<Option<Beginnings>> = LazyLock::new(|| {
    let mut prefixes: Vec<&str> = SHAPES.iter().flat_map(|shape| shape.prefixes.iter().copied()).collect();
    // A single byte would make looking for all the others slow.
    prefixes.retain(|prefix| prefix.len() > 1);
    prefixes.push(JWT_BEGINS);
    prefixes.sort_unstable_by_key(|prefix| (Reverse(prefix.len()), *prefix));
    prefixes.dedup();
    let literals: Vec<String> = prefixes.iter().map(|prefix| regex::escape(prefix)).collect();
    let rows = prefixes.into_iter().map(|found| (found, rows_of(found))).collect();
    Regex::new(&literals.join("|")).ok().map(|regex| Beginnings { regex, rows })
});
/// The pattern of each row that has one, once it is looked for.
static PARTS: [OnceLock<Option<Regex>>; SHAPES.len()] = [const { OnceLock::new() }; SHAPES.len()];
/// The lines of a private key without its last one: headers, whole lines of Base64, and the last of them.
static CUT_KEY: LazyLock<Option<Regex>> = LazyLock::new(|| {
    let between = r"(?:[\s>|]|\\+[nr])+";
    let header = r#"[A-Za-z-]{2,40}: [^\n\\"]{0,128}"#;
    let (line, last) = ("[A-Za-z0-9+/=]{16,}", "[A-Za-z0-9+/=]{4,15}");
    Regex::new(&format!("^(?:{between}{header})*((?:{between}{line})+)({between}{last})?")).ok()
});
/// The private lines of a PuTTY key; the last may have the first word of `Private-MAC` behind it.
static PUTTY: LazyLock<Option<Regex>> = LazyLock::new(|| {
    Regex::new(
        r"Private-Lines: [0-9]+(?:\s|\\+[nr])+([A-Za-z0-9+/]{4,}={0,2}(?:(?:\s|\\+[nr])+[A-Za-z0-9+/]{4,}={0,2})*)",
    )
    .ok()
});

struct Beginnings {
    regex: Regex,
    rows: HashMap<&'static str, Vec<(usize, &'static str)>>,
}

/// The rows whose beginning is there where `found` is, as their indices, each with its beginning.
fn rows_of(found: &str) -> Vec<(usize, &'static str)> {
    let fits = |shape: &Shape| shape.prefixes.iter().copied().find(|prefix| found.starts_with(prefix));
    SHAPES.iter().enumerate().filter_map(|(index, shape)| fits(shape).map(|prefix| (index, prefix))).collect()
}

/// All of them in a text, in no order.
pub(super) fn find(text: &str, found: &mut Vec<Found>) {
    keys(text, found);
    marked_keys(text, found);
    private_keys(text, found);
    for captures in PUTTY.iter().flat_map(|regex| regex.captures_iter(text)) {
        let Some(lines) = captures.get(1) else { continue };
        let end = lines.start() + lines.as_str().trim_end_matches("Private").trim_end().len();
        found.push(Found { range: lines.start()..end, kind: PRIVATE_KEY });
    }
    urls(text, found);
}

/// Provider keys and JSON web tokens.
fn keys(text: &str, found: &mut Vec<Found>) {
    // The tests see that it compiles.
    let Some(beginnings) = BEGINNINGS.as_ref() else { return };
    let mut at = 0;
    // As far as one was looked for in vain, where a later beginning would be in vain too.
    let mut no_jwt = 0;
    let mut vain = [0; SHAPES.len()];
    while let Some(hit) = beginnings.regex.find_at(text, at) {
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
        for (index, prefix) in beginnings.rows.get(hit.as_str()).into_iter().flatten() {
            let vain = &mut vain[*index];
            if start < *vain {
                continue;
            }
            match key(text, start, prefix, *index) {
                Ok(range) => {
                    at = range.end;
                    found.push(Found { range, kind: SHAPES[*index].kind });
                    break;
                }
                Err(end) => *vain = end,
            }
        }
    }
}

/// Keys that have digits and a single byte in them as their mark.
fn marked_keys(text: &str, found: &mut Vec<Found>) {
    let bytes = text.as_bytes();
    let marks = memchr::memchr2_iter(b'|', b'%', bytes);
    for start in marks.filter(|start| *start > 0 && bytes[start - 1].is_ascii_digit()) {
        let rows = rows_of(&text[start..=start]).into_iter();
        let keys = rows.filter_map(|(index, mark)| Some((index, key(text, start, mark, index).ok()?)));
        found.extend(keys.map(|(index, range)| Found { range, kind: SHAPES[index].kind }));
    }
}

/// The key of the row `index` that begins at `start`, or has its mark there; or as far as none is.
fn key(text: &str, start: usize, prefix: &str, index: usize) -> Result<Range<usize>, usize> {
    let shape = &SHAPES[index];
    let bytes = text.as_bytes();
    let body = start + prefix.len();
    let mut first = start;
    if let Some((class, least, most)) = shape.before {
        let before = bytes[..start].iter().rev().take(most + 1).take_while(|byte| class.has(**byte)).count();
        first = start - before.min(most);
        let escape = escape_letters(&bytes[..start], first);
        first += escape;
        if before < least + escape || (before > most && !begins(text, first)) {
            return Err(start);
        }
    } else if !shape.stays && !begins(text, start) {
        return Err(start);
    }
    if let Some(pattern) = shape.parts {
        let end = body + parts_end(&text[body..], pattern, &PARTS[index]).ok_or(start)?;
        let goes_on = bytes.get(end).is_some_and(|byte| byte.is_ascii_alphanumeric());
        return if goes_on { Err(start) } else { Ok(first..end) };
    }
    let most = bytes.len().min(body.saturating_add(shape.most).saturating_add(1));
    let ran = body + shape.class.run(&bytes[body..most]);
    // A full stop and what else may follow a key; a key that is shorter without it ends with it.
    let trimmed = body + text[body..ran].trim_end_matches(['.', '/', '~']).len();
    let end = trimmed.max(ran.min(body.saturating_add(shape.least)));
    let value = &text[body..end];
    if (!value.is_empty() && values::is_reference(value)) || !shape.needs.met_by(value) {
        return Err(ran);
    }
    let has_digits = shape.class != Class::Hex || value.bytes().any(|byte| byte.is_ascii_digit());
    if !has_digits || !(shape.least..=shape.most).contains(&value.len()) {
        return Err(start);
    }
    Ok(if shape.stays { body..end } else { first..end })
}

/// How many letters and digits from `first` on belong to an escape that begins before it: a mask must leave them whole, so
/// that JSON stays JSON.
fn escape_letters(before: &[u8], first: usize) -> usize {
    let (outside, inside) = before.split_at(first);
    match inside {
        _ if !outside.ends_with(b"\\") => 0,
        [b'u', digits @ ..] if digits.len() >= 4 && digits[..4].iter().all(u8::is_ascii_hexdigit) => 5,
        [b'b' | b'f' | b'n' | b'r' | b't', ..] => 1,
        _ => 0,
    }
}

/// How far what a pattern says goes at the start of a text.
fn parts_end(rest: &str, pattern: &str, regex: &OnceLock<Option<Regex>>) -> Option<usize> {
    // The tests see that it compiles.
    let compile = || Regex::new(&format!("^(?-u:{pattern})")).ok();
    regex.get_or_init(compile).as_ref()?.find(rest).map(|found| found.end())
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
        let length = Class::Word.run(&bytes[end..]);
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
    !body.contains(['{', '}', '[', ']'])
        && body.split(|c: char| !c.is_ascii_alphanumeric() && c != '+' && c != '/').any(|run| run.len() >= KEY_LINE)
}

/// Where a key ends that was cut off before its last line: behind the last line of Base64.
fn cut_key_end(text: &str, body: usize) -> Option<usize> {
    let captures = CUT_KEY.as_ref()?.captures(&text[body..])?;
    let ends =
        |end: &usize| text.as_bytes().get(*end).is_none_or(|byte| (breaks(*byte) && *byte != b' ') || *byte == b'\\');
    let last = captures.get(2).map(|last| body + last.end()).filter(ends);
    last.or_else(|| captures.get(1).map(|lines| body + lines.end()))
}

/// The passwords in `scheme://user:password@host`, and tokens in the place of the user.
fn urls(text: &str, found: &mut Vec<Found>) {
    let bytes = text.as_bytes();
    let mut at = 0;
    while let Some(start) = memmem::find(&bytes[at..], b"://").map(|next| at + next + 3) {
        let ends = |at: usize| {
            breaks(bytes[at]) || matches!(bytes[at], b'\\' | b'<' | b'>') || bytes[at..].starts_with(b"://")
        };
        let most = bytes.len().min(start + LONGEST_AUTHORITY);
        let end = (start..most).find(|at| ends(*at)).unwrap_or(most);
        at = start;
        let rest = &bytes[start..end];
        let Some(last) = memchr::memrchr(b'@', rest) else { continue };
        let authority = rest.iter().position(|byte| matches!(byte, b'/' | b'?' | b'#')).unwrap_or(rest.len());
        let colon = memchr::memchr(b':', &rest[..authority.min(last)]);
        // Without `@` before the first slash it is a host, a port and a path, unless there is no port.
        let has_user = rest[..authority].contains(&b'@');
        let is_port = |colon: usize| rest[colon + 1..authority].iter().all(u8::is_ascii_digit);
        let is_scope =
            |last: usize| rest[last - 1] == b'/' || !rest.get(last + 1).is_some_and(u8::is_ascii_alphanumeric);
        if !has_user && (rest.starts_with(b"[") || colon.is_none_or(is_port) || is_scope(last)) {
            continue;
        }
        let before_host = memchr::memchr(b'@', &rest[..authority]).filter(|_| colon.is_none()).unwrap_or(last);
        let user = start..start + colon.unwrap_or(before_host).min(before_host);
        if text.get(user.clone()).is_some_and(|user| values::is_dense(user, 16) && !values::is_reference(user)) {
            found.push(Found { range: user, kind: URL_PASSWORD });
        }
        let Some(password) = colon.map(|colon| start + colon + 1..start + last) else { continue };
        if text.get(password.clone()).is_some_and(|value| !value.is_empty() && !values::is_reference(value)) {
            found.push(Found { range: password, kind: URL_PASSWORD });
        }
    }
}
