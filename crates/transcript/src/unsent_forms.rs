//! What an agent writes to its session files and sends to no model, as data: each format has a table of it, and one
//! reader applies all tables.
//!
//! A table names only what the agent loads a session without. What the agent's own screen needs stays in a shorter form,
//! as the agent shows it where it shortens a text itself.

use crate::formats::shared::links::LinkKeys;
use crate::json::Json;

/// What the agent of one format never sends.
#[derive(Debug)]
pub struct UnsentForms {
    /// The entries that go whole.
    pub entries: &'static [UnsentEntry],
    /// The members that become shorter. Of two that hold the same value, the first counts.
    pub members: &'static [UnsentMember],
    /// The members that stay as they are.
    pub kept: &'static [KeptMember],
    /// The members with the ids of an entry and of its parent, in formats whose entries have any.
    pub links: Option<LinkKeys>,
}

impl UnsentForms {
    pub const NONE: UnsentForms = UnsentForms { entries: &[], members: &[], kept: &[], links: None };

    /// Whether the table is empty.
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty() && self.members.is_empty()
    }

    /// The values in an entry that are not sent, wherever they stand in it.
    pub fn values_in<'a>(&self, entry: Json<'a>) -> Vec<Json<'a>> {
        let mut values = Vec::new();
        for member in self.members {
            if meets(entry, member.of) {
                values.extend(values_at(entry, member.path));
            }
        }
        for member in self.kept {
            if meets(entry, member.of) {
                values.extend(values_at(entry, member.path));
            }
        }
        values
    }
}

/// The texts that some members of an entry have, each by the path to it. No condition holds of every entry.
pub type Conditions = &'static [(&'static [&'static str], &'static str)];

/// A kind of entries that the agent loads a session without. An entry that another one names as its parent stays, with
/// its members shortened.
#[derive(Debug)]
pub struct UnsentEntry {
    pub is: Conditions,
    /// The path to a value with which an entry stays; none where no value decides.
    pub stays_with: Option<&'static [&'static str]>,
    pub last: LastEntry,
}

impl UnsentEntry {
    /// What a person calls it.
    pub fn label(&self) -> &'static str {
        match self.is.last() {
            Some((_, kind)) => kind,
            None => "entries",
        }
    }
}

/// Whether the last entry of a kind stays.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LastEntry {
    Goes,
    Stays,
}

/// A member that becomes shorter, in the entries that meet the conditions.
#[derive(Debug)]
pub struct UnsentMember {
    pub of: Conditions,
    /// The path to its value. A `*` stands for each element of a list and for each member of an object.
    pub path: &'static [&'static str],
    pub becomes: Shortened,
    /// How a text begins that stays whole.
    pub spares: &'static [&'static str],
}

/// A member that the agent does not send where it has another one to send, and that stays as it is, in the entries that
/// meet the conditions.
#[derive(Debug)]
pub struct KeptMember {
    pub of: Conditions,
    /// The path to its value, as in [`UnsentMember`].
    pub path: &'static [&'static str],
}

/// What becomes of a value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Shortened {
    /// A value of the same kind with nothing in it.
    Empty,
    Null,
    /// Each text in it keeps so many lines, and a line says how many more there were.
    Lines(usize),
    /// A unified diff keeps its first hunks, up to so many lines, and at least one.
    Hunks(usize),
    /// A list keeps its first elements.
    Elements(usize),
}

impl UnsentMember {
    /// A member of the entries that meet some conditions, which spares no text.
    pub const fn new(of: Conditions, path: &'static [&'static str], becomes: Shortened) -> Self {
        UnsentMember { of, path, becomes, spares: &[] }
    }

    /// What a person calls it: the kind of its entries, or its member.
    pub fn label(&self) -> &'static str {
        match self.of.last() {
            Some((["type"] | ["payload", "type"] | ["attachment", "type"] | ["subtype"], kind)) => kind,
            _ => self.path.iter().find(|name| **name != "message").unwrap_or(&"other"),
        }
    }
}

/// Whether an entry meets conditions.
pub fn meets(entry: Json<'_>, conditions: Conditions) -> bool {
    for (path, expected) in conditions {
        match entry.at(path).and_then(|value| value.text()) {
            Some(text) if text.is(expected) => {}
            _ => return false,
        }
    }
    true
}

/// The values at a path with `*`.
pub fn values_at<'a>(value: Json<'a>, path: &[&str]) -> Vec<Json<'a>> {
    let Some((first, rest)) = path.split_first() else { return vec![value] };
    if *first != "*" {
        return match value.get(first) {
            Some(inner) => values_at(inner, rest),
            None => Vec::new(),
        };
    }
    let mut found = Vec::new();
    for item in value.items() {
        found.extend(values_at(item, rest));
    }
    for (_, inner) in value.entries() {
        found.extend(values_at(inner, rest));
    }
    found
}
