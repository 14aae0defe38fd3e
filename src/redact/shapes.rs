//! Finds secrets by their spelling: provider keys, JSON web tokens, private keys, passwords in URLs.
//!
//! One regular expression of literals finds candidates, and the bytes after each decide. No byte is examined again from
//! another prefix, so the time is linear. Secrets recognized by the name before them are found in
//! [`crate::redact::assignments`].

use std::cmp::Reverse;
use std::collections::HashMap;
use std::ops::Range;
use std::sync::{LazyLock, OnceLock};

use memchr::memmem;
use regex::Regex;

use crate::pattern::pattern;
use crate::redact::kinds::{Class, JWT, PRIVATE_KEY, SHAPES, Shape, URL_PASSWORD};
use crate::redact::{SecretSpan, is_delimiter, values};

/// The prefix of a JSON web token: the Base64 of `{"`.
const JWT_BEGINS: &str = "eyJ";
/// The fewest characters of a part of a JSON web token.
const JWT_PART: usize = 10;
/// The most bytes of a URL that are searched for the end of a password.
const LONGEST_AUTHORITY: usize = 4096;
/// The most characters of a line of Base64; a longer one is all of it.
const WIDEST_LINE: usize = 80;
/// The fewest characters of a Base64 run in the body of a key.
const KEY_LINE: usize = 16;

/// The prefixes of all rows, longer ones first, and the rows of each prefix.
static BEGINNINGS: LazyLock<Beginnings> = LazyLock::new(|| {
    let mut prefixes: Vec<&str> = SHAPES.iter().flat_map(|shape| shape.prefixes.iter().copied()).collect();
    // A prefix of one byte would slow down the search for all others.
    prefixes.retain(|prefix| prefix.len() > 1);
    prefixes.push(JWT_BEGINS);
    prefixes.sort_unstable_by_key(|prefix| (Reverse(prefix.len()), *prefix));
    prefixes.dedup();
    let literals: Vec<String> = prefixes.iter().map(|prefix| regex::escape(prefix)).collect();
    let rows = prefixes.into_iter().map(|found| (found, rows_of(found))).collect();
    Beginnings { regex: pattern(&literals.join("|")), rows }
});
/// The pattern of each row that has one, compiled on first use.
static PARTS: [OnceLock<Regex>; SHAPES.len()] = [const { OnceLock::new() }; SHAPES.len()];
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
    pattern(r"Private-Lines: [0-9]+(?:\s|\\+[nr])+([A-Za-z0-9+/]{4,}={0,2}(?:(?:\s|\\+[nr])+[A-Za-z0-9+/]{4,}={0,2})*)")
});

struct Beginnings {
    regex: Regex,
    rows: HashMap<&'static str, Vec<(usize, &'static str)>>,
}

/// Returns the indices of the rows whose prefix begins `found`, each with that prefix.
fn rows_of(found: &str) -> Vec<(usize, &'static str)> {
    let fits = |shape: &Shape| shape.prefixes.iter().copied().find(|prefix| found.starts_with(prefix));
    SHAPES.iter().enumerate().filter_map(|(index, shape)| fits(shape).map(|prefix| (index, prefix))).collect()
}

/// Finds all of them in a text, in no particular order.
pub(super) fn find(text: &str, found: &mut Vec<SecretSpan>) {
    keys(text, found);
    marked_keys(text, found);
    private_keys(text, found);
    headless_keys(text, found);
    for captures in PUTTY.captures_iter(text) {
        let Some(lines) = captures.get(1) else { continue };
        let end = lines.start() + lines.as_str().trim_end_matches("Private").trim_end().len();
        found.push(SecretSpan { range: lines.start()..end, kind: PRIVATE_KEY });
    }
    urls(text, found);
}

/// Finds provider keys and JSON web tokens.
fn keys(text: &str, found: &mut Vec<SecretSpan>) {
    let mut at = 0;
    // Before these offsets a search has failed, so a later prefix there would fail too.
    let mut no_jwt_before = 0;
    let mut searched_to = [0; SHAPES.len()];
    while let Some(found_prefix) = BEGINNINGS.regex.find_at(text, at) {
        let start = found_prefix.start();
        at = start + 1;
        if found_prefix.as_str() == JWT_BEGINS {
            let (end, is_jwt) =
                if start < no_jwt_before { (no_jwt_before, false) } else { jwt(text.as_bytes(), start) };
            if is_jwt {
                at = end;
                found.push(SecretSpan { range: start..end, kind: JWT });
            }
            no_jwt_before = end;
            continue;
        }
        for (index, prefix) in BEGINNINGS.rows.get(found_prefix.as_str()).into_iter().flatten() {
            let searched_to = &mut searched_to[*index];
            if start < *searched_to {
                continue;
            }
            match key(text, start, prefix, *index) {
                Ok(mut range) => {
                    if SHAPES[*index].kind == PRIVATE_KEY && range.len() <= WIDEST_LINE {
                        range.end += WRAPPED.find(&text[range.end..]).map_or(0, |lines| lines.end());
                    }
                    at = range.end;
                    found.push(SecretSpan { range, kind: SHAPES[*index].kind });
                    break;
                }
                Err(end) => *searched_to = end,
            }
        }
    }
}

/// Finds keys with a mark of a single byte after digits.
fn marked_keys(text: &str, found: &mut Vec<SecretSpan>) {
    let bytes = text.as_bytes();
    let marks = memchr::memchr2_iter(b'|', b'%', bytes);
    for start in marks.filter(|start| *start > 0 && bytes[start - 1].is_ascii_digit()) {
        let rows = rows_of(&text[start..=start]).into_iter();
        let keys = rows.filter_map(|(index, mark)| Some((index, key(text, start, mark, index).ok()?)));
        found.extend(keys.map(|(index, range)| SecretSpan { range, kind: SHAPES[index].kind }));
    }
}

/// Returns the key of row `index` that begins at `start`, or has its mark there. The error is the offset before which
/// there is none.
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
        if before < least + escape || (before > most && !can_begin(text, first)) {
            return Err(start);
        }
    } else if !shape.keeps_prefix && !can_begin(text, start) {
        return Err(start);
    }
    if let Some(pattern) = shape.parts {
        let end = body + parts_end(&text[body..], pattern, &PARTS[index]).ok_or(start)?;
        let continues = bytes.get(end).is_some_and(|byte| byte.is_ascii_alphanumeric());
        return if continues { Err(start) } else { Ok(first..end) };
    }
    let most = bytes.len().min(body.saturating_add(shape.most).saturating_add(1));
    let ran = body + shape.class.run(&bytes[body..most]);
    // A full stop and the like may follow a key; a key that would be too short without it ends with it.
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
    Ok(if shape.keeps_prefix { body..end } else { first..end })
}

/// Counts the characters from `first` on that belong to an escape which begins before it. A mask must leave them whole
/// so that JSON stays valid.
fn escape_letters(before: &[u8], first: usize) -> usize {
    let (outside, inside) = before.split_at(first);
    match inside {
        _ if !outside.ends_with(b"\\") => 0,
        [b'u', digits @ ..] if digits.len() >= 4 && digits[..4].iter().all(u8::is_ascii_hexdigit) => 5,
        [b'b' | b'f' | b'n' | b'r' | b't', ..] => 1,
        _ => 0,
    }
}

/// Returns the length of a pattern's match at the start of a text.
fn parts_end(rest: &str, parts: &str, regex: &OnceLock<Regex>) -> Option<usize> {
    part_pattern(parts, regex).find(rest).map(|found| found.end())
}

fn part_pattern<'r>(parts: &str, regex: &'r OnceLock<Regex>) -> &'r Regex {
    regex.get_or_init(|| pattern(&format!("^(?-u:{parts})")))
}

/// Whether a secret can begin at `start`: no letter or digit precedes it, unless it belongs to an escape or a terminal
/// color.
fn can_begin(text: &str, start: usize) -> bool {
    let before = &text.as_bytes()[..start];
    match before {
        [.., byte] if !byte.is_ascii_alphanumeric() => true,
        [] | [.., b'\\', b'n' | b'r' | b't'] | [.., b'%', _, _] | [.., b'\\', b'u', _, _, _, _] => true,
        // The end of a terminal color: the escape character, `[`, digits, `m`.
        [rest @ .., b'm'] => {
            let digits = rest.iter().rev().take(16).take_while(|b| b.is_ascii_digit() || **b == b';').count();
            rest[..rest.len() - digits].ends_with(b"[")
        }
        _ => false,
    }
}

/// Returns where the JSON web token ends that may begin at `start`, and whether it is one.
fn jwt(bytes: &[u8], start: usize) -> (usize, bool) {
    let mut end = start;
    let mut parts = 0;
    loop {
        let length = Class::Word.run(&bytes[end..]);
        // An unsigned token has an empty signature, and a token of five parts has one empty part.
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

/// Finds private keys in PEM and PGP, with their first and last lines. A key whose last line is missing ends with its
/// last line of Base64.
fn private_keys(text: &str, found: &mut Vec<SecretSpan>) {
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
            found.push(SecretSpan { range: start..end, kind: PRIVATE_KEY });
            at = end;
        }
    }
}

/// Finds private keys whose first line was cut off: the lines of Base64 before a last line. Where the first line is there
/// too, the spans overlap and become one.
fn headless_keys(text: &str, found: &mut Vec<SecretSpan>) {
    let mut from = 0;
    for close in memmem::find_iter(text.as_bytes(), b"-----END ") {
        let Some(end) = marker_end(text, close, "END ") else { continue };
        // Each byte is in one window, so the time is linear.
        let lines = text.get(from..close).and_then(|window| HEADLESS.find(window));
        if let Some(lines) = lines.filter(|lines| is_mixed(lines.as_str())) {
            found.push(SecretSpan { range: from + lines.start()..end, kind: PRIVATE_KEY });
        }
        from = end;
    }
}

/// Whether a text has letters of both cases and digits, as every Base64 of some lines has.
fn is_mixed(text: &str) -> bool {
    let has = |test: fn(&u8) -> bool| text.as_bytes().iter().any(test);
    has(u8::is_ascii_uppercase) && has(u8::is_ascii_lowercase) && has(u8::is_ascii_digit)
}

/// Returns where the line `-----BEGIN … PRIVATE KEY … -----` at `start` ends, or the one with `END`.
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

/// Returns where a key without a last line ends: after the last line of Base64.
fn cut_key_end(text: &str, body: usize) -> Option<usize> {
    let captures = CUT_KEY.captures(&text[body..])?;
    let ends = |end: &usize| {
        text.as_bytes().get(*end).is_none_or(|byte| (is_delimiter(*byte) && *byte != b' ') || *byte == b'\\')
    };
    let last = captures.get(2).map(|last| body + last.end()).filter(ends);
    let marker = captures.get(3).map(|marker| body + marker.end());
    marker.or(last).or_else(|| captures.get(1).map(|lines| body + lines.end()))
}

/// Finds passwords in `scheme://user:password@host`, and tokens in place of the user.
fn urls(text: &str, found: &mut Vec<SecretSpan>) {
    let bytes = text.as_bytes();
    let mut at = 0;
    while let Some(start) = memmem::find(&bytes[at..], b"://").map(|next| at + next + 3) {
        let ends = |at: usize| {
            is_delimiter(bytes[at]) || matches!(bytes[at], b'\\' | b'<' | b'>') || bytes[at..].starts_with(b"://")
        };
        let most = bytes.len().min(start + LONGEST_AUTHORITY);
        let end = (start..most).find(|at| ends(*at)).unwrap_or(most);
        at = start;
        let rest = &bytes[start..end];
        let Some(last) = memchr::memrchr(b'@', rest) else { continue };
        let authority = rest.iter().position(|byte| matches!(byte, b'/' | b'?' | b'#')).unwrap_or(rest.len());
        let colon = memchr::memchr(b':', &rest[..authority.min(last)]);
        // Without `@` before the first slash it is a host, a port and a path, unless the port is missing.
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
            found.push(SecretSpan { range: user, kind: URL_PASSWORD });
        }
        let Some(password) = colon.map(|colon| start + colon + 1..start + last) else { continue };
        if text.get(password.clone()).is_some_and(|value| !value.is_empty() && !values::is_reference(value)) {
            found.push(SecretSpan { range: password, kind: URL_PASSWORD });
        }
    }
}

/// Builds the patterns of this file.
#[cfg(test)]
pub(crate) fn patterns() -> Vec<&'static Regex> {
    let parts = SHAPES.iter().zip(&PARTS).filter_map(|(shape, regex)| Some(part_pattern(shape.parts?, regex)));
    parts.chain([&BEGINNINGS.regex, &*CUT_KEY, &*WRAPPED, &*HEADLESS, &*PUTTY]).collect()
}
