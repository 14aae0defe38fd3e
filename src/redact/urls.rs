//! Finds passwords and tokens in addresses.

use crate::redact::extents::is_delimiter;
use crate::redact::kinds::URL_PASSWORD;
use crate::redact::{SecretSpan, values};

/// The most bytes of a URL that are searched for the end of a password.
const LONGEST_AUTHORITY: usize = 4096;

/// Finds passwords in `scheme://user:password@host`, and tokens in place of the user.
pub(super) fn find(text: &str, found: &mut Vec<SecretSpan>) {
    let ends = |c: char| u8::try_from(c).is_ok_and(is_delimiter) || matches!(c, '\\' | '<' | '>');
    for (mark, _) in text.match_indices("://") {
        let start = mark + "://".len();
        let rest = &text[start..text.floor_char_boundary(start + LONGEST_AUTHORITY)];
        let rest = &rest[..rest.find("://").unwrap_or(rest.len())];
        let address = &rest[..rest.find(ends).unwrap_or(rest.len())];
        let Some(last) = address.rfind('@') else { continue };
        let authority = &address[..address.find(['/', '?', '#']).unwrap_or(address.len())];
        let colon = authority.find(':').filter(|colon| *colon < last);
        // Without `@` before the first slash it is a host, a port and a path, unless the port is missing.
        let is_port = |colon: usize| authority[colon + 1..].bytes().all(|byte| byte.is_ascii_digit());
        let is_scope =
            address[..last].ends_with('/') || !address[last + 1..].starts_with(|c: char| c.is_ascii_alphanumeric());
        if !authority.contains('@') && (address.starts_with('[') || colon.is_none_or(is_port) || is_scope) {
            continue;
        }
        let user = &address[..colon.or_else(|| authority.find('@')).unwrap_or(last)];
        if values::is_dense(user, 16) && !values::is_reference(user) {
            found.push(SecretSpan { range: start..start + user.len(), kind: URL_PASSWORD });
        }
        let Some(password) = colon.map(|colon| colon + 1..last) else { continue };
        if !password.is_empty() && !values::is_reference(&address[password.clone()]) {
            found.push(SecretSpan { range: start + password.start..start + password.end, kind: URL_PASSWORD });
        }
    }
}
