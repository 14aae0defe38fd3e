//! Finds the secrets in authorization and cookie headers. The scheme of a header stays, unless it would reveal the rest.

use std::sync::LazyLock;

use regex::Regex;

use crate::pattern::pattern;
use crate::redact::SecretSpan;
use crate::redact::assignments::Assignment;
use crate::redact::values::ValuePlace;

/// Schemes with a single secret, which ends at white space.
static SCHEMES: LazyLock<Regex> = LazyLock::new(|| {
    pattern("^(?i:api-?key|basic|bearer|bot|digest|githubtoken|jwt|key|negotiate|oauth|sharedkey|sso-key|token)$")
});
impl Assignment<'_> {
    /// Returns the credential in the value of an authorization header. On a line of its own or in quotes nothing else
    /// can be there; elsewhere it may be prose or code.
    pub(super) fn credential(&self) -> Option<SecretSpan> {
        let value = self.value.header();
        let start = self.value.start + value.len() - value.trim_start().len();
        let (first, rest) = value.trim().split_once(char::is_whitespace).unwrap_or((value.trim(), ""));
        let has_scheme = first.starts_with(|c: char| c.is_ascii_alphabetic())
            && first.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-');
        if rest.is_empty() || !has_scheme {
            let end = start + without_punctuation(first).len();
            let place = match self.value.quote {
                _ if SCHEMES.is_match(without_punctuation(first)) || value.ends_with(' ') => ValuePlace::Anywhere,
                Some(_) => ValuePlace::Quotes,
                None if self.is_alone(end) => ValuePlace::Line,
                None => ValuePlace::Anywhere,
            };
            return self.verdict(start..end, place);
        }
        let start = start + value.trim().len() - rest.trim_start().len();
        let rest = rest.trim_start();
        let is_one = !rest.contains(char::is_whitespace);
        let has_parameters = rest.contains('=') && !is_one;
        let credential = if has_parameters { rest } else { rest.split_whitespace().next()? };
        let credential = without_punctuation(credential);
        let is_long = SCHEMES.is_match(first) && credential.len() > 4;
        let is_word = credential.bytes().all(|byte| byte.is_ascii_lowercase()) && !is_long;
        let secret = self.verdict(start..start + credential.len(), ValuePlace::Scheme);
        secret.filter(|_| has_parameters || is_one || !is_word)
    }

    /// Returns the whole value of a cookie header.
    pub(super) fn cookies(&self) -> Option<SecretSpan> {
        let start = self.value.start;
        self.verdict(start..start + self.value.header().trim_end().len(), ValuePlace::Anywhere)
    }
}

fn without_punctuation(credential: &str) -> &str {
    credential.trim_end_matches(['.', ',', ';', ':', ')', '}'])
}

/// Builds the patterns of this file.
#[cfg(test)]
pub(crate) fn patterns() -> Vec<&'static Regex> {
    vec![&*SCHEMES]
}
