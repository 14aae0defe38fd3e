//! How a program is recognized by an object of its file.

use std::fmt;

use crate::json::{Json, Object};

/// Whether an object is one of a given program.
pub(super) type Recognizer = fn(&Object<'_>) -> bool;

/// A program whose files tcompact does not read.
pub(super) struct Program {
    /// What its file is.
    pub(super) name: &'static str,
    /// What the user can do instead, if anything.
    pub(super) next: &'static str,
    pub(super) is_of: Recognizer,
}

impl Program {
    /// A program without anything else that the user could do.
    pub(super) const fn of(name: &'static str, is_of: Recognizer) -> Self {
        Program { name, next: "", is_of }
    }

    /// What errors say of it.
    pub(super) fn told(&self) -> OtherProgram {
        OtherProgram { name: self.name, next: self.next }
    }
}

/// A program whose files tcompact recognizes and does not read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct OtherProgram {
    /// What its file is.
    pub name: &'static str,
    /// What the user can do instead, if anything.
    pub next: &'static str,
}

/// Displays as what follows the words `looks like`.
impl fmt::Display for OtherProgram {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{}, which tcompact does not read", self.name)?;
        if self.next.is_empty() { Ok(()) } else { write!(out, " ({})", self.next) }
    }
}

pub(super) fn has_all(object: &Object<'_>, keys: &[&str]) -> bool {
    keys.iter().all(|key| object.get(key).is_some())
}

pub(super) fn has_any(object: &Object<'_>, keys: &[&str]) -> bool {
    keys.iter().any(|key| object.get(key).is_some())
}

/// Whether the members are strings that are not empty.
pub(super) fn has_texts(object: &Object<'_>, keys: &[&str]) -> bool {
    keys.iter().all(|key| object.get_text(key).is_some_and(|text| !text.is_empty()))
}

pub(super) fn has_at<'a>(object: &Object<'a>, path: &[&str], is_so: impl Fn(Json<'a>) -> bool) -> bool {
    object.at(path).is_some_and(is_so)
}

pub(super) fn is_one_of(object: &Object<'_>, key: &str, texts: &[&str]) -> bool {
    object.get_text(key).is_some_and(|text| text.is_in(texts))
}

/// Whether the list at a path has a part of one of these types.
pub(super) fn has_part_at(object: &Object<'_>, path: &[&str], kinds: &[&str]) -> bool {
    object.at(path).is_some_and(|list| has_part_of(list, kinds))
}

pub(super) fn has_part_of(list: Json<'_>, kinds: &[&str]) -> bool {
    list.items().any(|part| part.get_text("type").is_some_and(|kind| kind.is_in(kinds)))
}

/// Checks for tests that sources are refused, each by the name of its program.
#[cfg(test)]
pub(super) fn assert_refused_by_name(sources: &[(&str, &str)]) {
    for (source, name) in sources {
        let error = crate::framing::read_for_test(source, None, None).expect_err(source).to_string();
        assert!(error.contains(name), "{source}: {error}");
    }
}
