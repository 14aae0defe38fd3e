//! Finds the entities and the tags of XML and HTML beside and in a value.

use std::ops::Range;
use std::sync::LazyLock;

use regex::Regex;

use crate::pattern::pattern;

/// The most bytes of an entity and of the name behind it.
const LONGEST: usize = 128;
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
    let rest = &text[at..text.floor_char_boundary(at + LONGEST)];
    let entity = ENTITY.find(rest)?;
    let ends_value = is_parameter && entity.as_str() == "&amp;" || PART_BEHIND.is_match(rest);
    if ends_value { None } else { Some(at + entity.end()) }
}

/// Where a value ends that a tag may follow: before the tag.
pub(super) fn before_tag(text: &str, value: Range<usize>) -> usize {
    for at in memchr::memchr_iter(b'<', text[value.clone()].as_bytes()) {
        let rest = &text[value.start + at..];
        // Only an end tag, or a line break of a page, stands behind a value. `<x>` can be a part of a password.
        let can_be_behind = rest.starts_with("</") || rest.starts_with("<br");
        if at > 0 && can_be_behind && TAG.is_match(rest) {
            return value.start + at;
        }
    }
    value.end
}

/// Builds the patterns of this file.
#[cfg(any(test, feature = "tests"))]
pub(crate) fn patterns() -> Vec<&'static Regex> {
    vec![&*ENTITY, &*PART_BEHIND, &*TAG]
}
