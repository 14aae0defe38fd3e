//! Finds secrets in values of several parts: authorization and cookie headers, lists, the lines below a name in YAML, and the
//! text of elements of XML.

use std::ops::Range;
use std::sync::LazyLock;

use regex::Regex;

use crate::SecretSpan;
use crate::assignments::Assignment;
use crate::elements;
use crate::extents::{LONGEST_NAME, LONGEST_VALUE, Quote, ValueStart, is_delimiter};
use crate::operators::Operator;
use crate::pattern::pattern;
use crate::phrases;
use crate::values::{self, ValuePlace};

/// Schemes with a single secret, which ends at white space.
static SCHEMES: LazyLock<Regex> = LazyLock::new(|| {
    pattern("^(?i:api-?key|basic|bearer|bot|digest|githubtoken|jwt|key|negotiate|oauth|sharedkey|sso-key|token)$")
});
impl Assignment<'_> {
    /// The credential in the value of an authorization header. On a line of its own or in quotes nothing else can be
    /// there; elsewhere it may be prose or code.
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
        if is_word && !has_parameters && !is_one {
            return None;
        }
        self.verdict(start..start + credential.len(), ValuePlace::Scheme)
    }

    /// The whole value of a cookie header.
    pub(super) fn cookies(&self) -> Option<SecretSpan> {
        let start = self.value.start;
        self.verdict(start..start + self.value.header().trim_end().len(), ValuePlace::Anywhere)
    }
}

fn without_punctuation(credential: &str) -> &str {
    credential[..elements::before_tag(credential, 0..credential.len())].trim_end_matches(['.', ',', ';', ':', ')', '}'])
}

/// The most bytes of a list.
const LONGEST_LIST: usize = 1024;

/// The rest of the line of a name whose value is below it; the mark of a block is captured.
static HEADER: LazyLock<Regex> = LazyLock::new(|| pattern(r"^([|>][-+0-9]{0,16})?[ \t]{0,64}\r?\n"));

impl Assignment<'_> {
    /// The secrets in a list, if the value is one.
    pub(super) fn elements(&self) -> Option<Vec<SecretSpan>> {
        let ValueStart { text, start, .. } = self.value;
        let bytes = text.as_bytes();
        let close = match bytes.get(start)? {
            b'[' => b']',
            b'(' if self.operator != Operator::Colon => b')',
            _ => return None,
        };
        let most = bytes.len().min(start + LONGEST_LIST);
        let mut found = Vec::new();
        let mut at = start + 1;
        // The members of an object have their own names.
        while at < most && bytes[at] != close && bytes[at] != b'{' {
            if bytes[at].is_ascii_whitespace() || bytes[at] == b',' {
                at += 1;
                continue;
            }
            let element = ValueStart::at(text, &[], at);
            let range = match element.quote {
                Some(quote) => element.closing_quote(quote)?,
                None => at..element.bare_end(false, |byte| byte == b',' || byte == close || is_delimiter(byte)),
            };
            // A quote right behind code is that of an argument: `(password.encode("utf-8"))`.
            if element.quote.is_none() && !range.is_empty() && matches!(bytes.get(range.end), Some(b'"' | b'\'')) {
                break;
            }
            at = range.end + element.quote.map_or(usize::from(range.is_empty()), Quote::len);
            let Some(value) = text.get(range.clone()) else { continue };
            if element.quote.is_some() || values::is_dense(value, 6) && !values::is_code(value) {
                found.extend(self.verdict(range, ValuePlace::Several));
            }
        }
        Some(found)
    }

    /// The secrets in the indented lines below the name, if the value is there: a block or a list in YAML.
    pub(super) fn block(&self) -> Option<Vec<SecretSpan>> {
        if self.operator != Operator::Colon {
            return None;
        }
        let ValueStart { text, start, .. } = self.value;
        let header = HEADER.captures(&text[start..])?;
        let is_block = header.get(1).is_some();
        let mut at = start + header[0].len();
        let before = text.as_bytes()[..self.name].iter().rev().take(LONGEST_NAME);
        let indent = before.take_while(|byte| matches!(byte, b' ' | b'\t')).count();
        let mut lines: Vec<Range<usize>> = Vec::new();
        for line in text[at..text.floor_char_boundary(at + LONGEST_VALUE)].split_inclusive('\n') {
            let mut value = line.trim_start();
            let own = line.len() - value.len();
            let item = if own >= indent { value.strip_prefix("- ") } else { None };
            let is_part = if is_block { own > indent } else { item.is_some() };
            if !value.is_empty() && !is_part {
                break;
            }
            if let Some(item) = item
                && !is_block
            {
                value = item;
            }
            value = value.trim_start_matches(['"', '\'']);
            let start = at + line.len() - value.len();
            value = value.trim_end().trim_end_matches(['"', '\'']);
            if !value.is_empty() {
                lines.push(start..start + value.len());
            }
            at += line.len();
        }
        let mut secrets = Vec::new();
        for line in &lines {
            let value = &text[line.clone()];
            let is_map = value.contains(": ") || value.ends_with(':');
            if !is_map {
                secrets.extend(self.verdict(line.clone(), ValuePlace::Several));
            }
        }
        // A block is one value.
        if is_block && let (Some(secret), Some(first), Some(last)) = (secrets.first(), lines.first(), lines.last()) {
            return Some(vec![SecretSpan { range: first.start..last.end, kind: secret.kind }]);
        }
        Some(secrets)
    }
}

impl Assignment<'_> {
    /// The text of an element up to its end tag, if it is secret.
    pub(super) fn element(&self) -> Option<SecretSpan> {
        const CDATA: &str = "<![CDATA[";
        let ValueStart { text, start, .. } = self.value;
        let rest = &text[start..text.floor_char_boundary(start + LONGEST_VALUE)];
        let (start, inside) = match rest.strip_prefix(CDATA) {
            Some(inside) => (start + CDATA.len(), &inside[..inside.find("]]>")?]),
            None => {
                let end = rest.find(['<', '\n', '\r']).unwrap_or(rest.len());
                let behind = rest[end..].trim_start();
                if !behind.starts_with("</") && !behind.starts_with(r"<\/") {
                    // A stand-in in an address: `//<user>:<password>@host`.
                    if rest.starts_with('@') {
                        return None;
                    }
                    return self.bare();
                }
                (start, &rest[..end])
            }
        };
        let value = inside.trim();
        let start = start + inside.len() - inside.trim_start().len();
        let range = start..start + value.len();
        if !value.contains(char::is_whitespace) {
            return self.verdict(range.clone(), self.place(range.end));
        }
        // The text of a label is a sentence.
        let is_tag = text[..self.name].ends_with('<');
        let is_phrase =
            phrases::is_phrase(value) && (is_tag || value.split(' ').any(|word| values::is_key_in_phrase(&word)));
        if is_phrase { self.verdict(range, ValuePlace::Quotes) } else { None }
    }
}

/// Builds the patterns of this file.
#[cfg(any(test, feature = "tests"))]
pub(crate) fn patterns() -> Vec<&'static Regex> {
    vec![&*SCHEMES, &*HEADER]
}
