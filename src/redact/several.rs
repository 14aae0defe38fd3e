//! Finds secrets in values of several: lists, and the lines below a name in YAML.

use std::ops::Range;

use crate::redact::assignments::is_secret_in_quotes;
use crate::redact::names::NameClass;
use crate::redact::operators::{Assignment, LONGEST_LIST, LONGEST_NAME, LONGEST_VALUE, Operator, quote_at};
use crate::redact::{is_delimiter, values};

impl Assignment<'_> {
    /// Returns the secrets in a list, if the value is one.
    pub(super) fn elements(&self, class: NameClass, label: &str) -> Option<Vec<Range<usize>>> {
        let bytes = self.text.as_bytes();
        let close = match bytes.get(self.start)? {
            b'[' => b']',
            b'(' if self.operator != Operator::Colon => b')',
            _ => return None,
        };
        let most = bytes.len().min(self.start + LONGEST_LIST);
        let mut found = Vec::new();
        let mut at = self.start + 1;
        while at < most && bytes[at] != close {
            if bytes[at].is_ascii_whitespace() || bytes[at] == b',' {
                at += 1;
                continue;
            }
            // The members of an object have their own names.
            if bytes[at] == b'{' {
                break;
            }
            let quote = quote_at(bytes, at);
            let start = at + quote.map_or(0, |(backslashes, _)| backslashes + 1);
            let element = Assignment { name: self.name.clone(), start, quote, ..*self };
            let is_secret = |value: &str| match quote {
                Some(_) => is_secret_element(class, label, value),
                None => values::is_dense(value, 6) && !values::is_code(value) && is_secret_element(class, label, value),
            };
            let range = match quote {
                Some((backslashes, quote)) => element.closing_quote(backslashes, quote)?,
                None => start..element.bare_end(&[], |byte| byte == b',' || byte == close || is_delimiter(byte)),
            };
            at = range.end + start - at + usize::from(quote.is_none() && range.is_empty());
            found.extend(self.text.get(range.clone()).filter(|value| is_secret(value)).map(|_| range));
        }
        Some(found)
    }

    /// Returns the secrets in the indented lines below the name, if the value is there: a block or a list in YAML.
    pub(super) fn block(&self, class: NameClass, label: &str) -> Option<Vec<Range<usize>>> {
        if self.operator != Operator::Colon {
            return None;
        }
        let header = self.line();
        let is_block =
            header.starts_with(['|', '>']) && header[1..].bytes().all(|byte| b"+-0123456789".contains(&byte));
        let mut at = self.start + header.len();
        at += usize::from(self.text[at..].starts_with('\r'));
        let is_below = (is_block || header.trim_end().is_empty()) && self.text[at..].starts_with('\n');
        if !is_below {
            return None;
        }
        at += 1;
        let before = self.text.as_bytes()[..self.name.start].iter().rev().take(LONGEST_NAME);
        let indent = before.take_while(|byte| matches!(byte, b' ' | b'\t')).count();
        let mut lines: Vec<Range<usize>> = Vec::new();
        for line in self.text[at..self.text.floor_char_boundary(at + LONGEST_VALUE)].split_inclusive('\n') {
            let mut value = line.trim_start();
            let own = line.len() - value.len();
            let item = value.strip_prefix("- ").filter(|_| own >= indent);
            let is_part = if is_block { own > indent } else { item.is_some() };
            if !value.is_empty() && !is_part {
                break;
            }
            value = item.filter(|_| !is_block).unwrap_or(value).trim_start_matches(['"', '\'']);
            let start = at + line.len() - value.len();
            value = value.trim_end().trim_end_matches(['"', '\'']);
            if !value.is_empty() {
                lines.push(start..start + value.len());
            }
            at += line.len();
        }
        let is_secret = |range: &Range<usize>| {
            let value = &self.text[range.clone()];
            let is_map = value.contains(": ") || value.ends_with(':');
            !is_map && is_secret_element(class, label, value)
        };
        if !is_block {
            lines.retain(is_secret);
        } else if lines.iter().any(is_secret) {
            lines = lines.first().zip(lines.last()).map(|(first, last)| first.start..last.end).into_iter().collect();
        } else {
            lines.clear();
        }
        Some(lines)
    }
}

/// Whether one of several values is secret.
fn is_secret_element(class: NameClass, name: &str, value: &str) -> bool {
    let is_key = || values::is_random(value, 8) && values::is_dense(value, 6) && !values::is_code(value);
    is_secret_in_quotes(class, name, value) && (is_password(class, name) || is_key())
}

/// Whether a name means a password and not a key.
fn is_password(class: NameClass, name: &str) -> bool {
    class == NameClass::Password && !name.to_ascii_lowercase().contains("key")
}
