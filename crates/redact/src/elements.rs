//! Reads the text of elements of XML and HTML, and the entities in it.

use std::sync::LazyLock;

use regex::Regex;

use crate::SecretSpan;
use crate::assignments::Assignment;
use crate::extents::{LONGEST_NAME, LONGEST_VALUE, ValueStart};
use crate::pattern::pattern;
use crate::values::{self, ValuePlace};

/// The entity of a character that text can have only so, except for quotes.
static ENTITY: LazyLock<Regex> =
    LazyLock::new(|| pattern("^&(?:amp|lt|gt|#(?:38|[4-9][0-9]|1[0-9]{2})|#[xX](?:26|3[cCeE]|[4-7][0-9a-fA-F]));"));
/// What follows the entity of `&` where it is between two parameters, or that of `<` where it begins a tag.
static PART_BEHIND: LazyLock<Regex> = LazyLock::new(|| pattern(r"^&(?:amp;[\w.\[\]-]{1,64}=|lt;/?[a-zA-Z]{1,16}&gt;)"));
/// A whole tag.
static TAG: LazyLock<Regex> = LazyLock::new(|| pattern(r"^</?[a-zA-Z][\w:.-]{0,63}\s{0,4}/?>"));

/// Where the entity ends that begins at an offset, if it is a character of a value. `is_parameter` is whether `&amp;` ends
/// the value.
pub(super) fn behind_entity(text: &str, at: usize, is_parameter: bool) -> Option<usize> {
    let rest = &text[at..text.floor_char_boundary(at + 2 * LONGEST_NAME)];
    let entity = ENTITY.find(rest)?;
    let ends = is_parameter && entity.as_str() == "&amp;" || PART_BEHIND.is_match(rest);
    (!ends).then_some(at + entity.end())
}

/// Where a value ends that a tag may follow: before the tag.
pub(super) fn before_tag(text: &str, value: std::ops::Range<usize>) -> usize {
    let is_tag = |at: &usize| *at > value.start && TAG.is_match(&text[*at..]);
    let marks = memchr::memchr_iter(b'<', text[value.clone()].as_bytes());
    marks.map(|at| value.start + at).find(is_tag).unwrap_or(value.end)
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
            values::is_phrase(value) && (is_tag || value.split(' ').any(|word| values::is_key_in_phrase(&word)));
        self.verdict(range, ValuePlace::Quotes).filter(|_| is_phrase)
    }
}

/// Builds the patterns of this file.
#[cfg(any(test, feature = "tests"))]
pub(crate) fn patterns() -> Vec<&'static Regex> {
    vec![&*ENTITY, &*PART_BEHIND, &*TAG]
}
