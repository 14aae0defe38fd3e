//! Finds passwords and tokens in addresses.

use memchr::memmem;

use crate::redact::kinds::URL_PASSWORD;
use crate::redact::{SecretSpan, is_delimiter, values};

/// The most bytes of a URL that are searched for the end of a password.
const LONGEST_AUTHORITY: usize = 4096;

/// Finds passwords in `scheme://user:password@host`, and tokens in place of the user.
pub(super) fn find(text: &str, found: &mut Vec<SecretSpan>) {
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
