//! Masks the secrets in the strings of JSON, where the name of a member says what its value is.

use std::ops::Range;

use crate::Redactor;
use crate::names::{self, NameClass};
use crate::transcript::edit::{Edit, is_inside, sort};
use crate::transcript::json::{Json, JsonKind, Token};

/// The fewest bytes of a key that is searched for a spelled secret.
const SHORTEST_IN_KEY: usize = 12;

/// Ranges in order and apart.
type Ranges<'r> = &'r [Range<usize>];

/// The member whose value a string is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Member<'n> {
    /// None with a name.
    Unnamed,
    /// A member of this name.
    Named(&'n str),
    /// A member that describes the structure of a message.
    Structural,
    /// A member that its provider verifies.
    Sealed,
    /// None: the name of a member that a tool has written.
    Name,
}

impl Member<'_> {
    /// What the member is inside a tool's arguments or results, where no format has members of its own.
    fn in_data(self, is_data: bool) -> Self {
        if is_data && matches!(self, Member::Structural | Member::Sealed) { Member::Unnamed } else { self }
    }
}

/// An open object or list around a string.
#[derive(Default)]
struct OpenContainer {
    is_object: bool,
    /// The key of the next value, unless it comes next; a list has its own key.
    key: Option<String>,
    /// The key of an object, or of the list that it is in, if it is that of a secret.
    secret_name: Option<String>,
    /// The text of the member `name` or `key`, which may name the member called `value`.
    label: Option<String>,
    /// The place and the text of the member called `value`, where no name came before it.
    unnamed: Option<(Range<usize>, String)>,
}

impl Redactor {
    /// The edits of the strings in one value, in order. `data` are the parts that a tool has written, and `gone` those
    /// that are passed over, both in order and apart.
    pub fn edits_in(&mut self, json: Json<'_>, data: Ranges<'_>, gone: Ranges<'_>, depth: usize) -> Vec<Edit> {
        let mut edits: Vec<Edit> = Vec::new();
        let mut open = vec![OpenContainer::list(String::new())];
        for token in json.tokens() {
            let Some(container) = open.last_mut() else { break };
            match token {
                Token::Open(kind) => {
                    let key = container.take_key();
                    let new = if kind == JsonKind::Object { OpenContainer::object } else { OpenContainer::list };
                    open.push(new(key));
                }
                Token::Close => {
                    if let Some(closed) = open.pop()
                        && let (Some((range, value)), Some(label)) = (closed.unnamed, closed.label)
                    {
                        // An edit of the value stands behind all that are before the value.
                        let first_behind = match edits.iter().rposition(|edit| edit.range.start < range.start) {
                            Some(last_before) => last_before + 1,
                            None => 0,
                        };
                        for edit in edits.split_off(first_behind) {
                            if edit.range != range {
                                edits.push(edit);
                            }
                        }
                        edits.extend(self.edit(&value, Member::Named(&label), range, depth));
                    }
                }
                Token::Scalar(scalar) => match scalar.text() {
                    Some(text) if container.key.is_none() => {
                        let key = text.decode();
                        if key.len() >= SHORTEST_IN_KEY && !is_inside(gone, &scalar.span()) {
                            let is_data = is_inside(data, &scalar.span());
                            let member = if is_data { Member::Name } else { Member::Structural };
                            edits.extend(self.edit(&key, member, scalar.span(), depth));
                        }
                        container.read_key(key.into_owned());
                    }
                    Some(_) if is_inside(gone, &scalar.span()) => drop(container.take_key()),
                    Some(text) => {
                        let (key, value, range) = (container.take_key(), text.decode(), scalar.span());
                        let member = container.member(&key).in_data(is_inside(data, &range));
                        edits.extend(self.edit(&value, member, range.clone(), depth));
                        container.pass_text(&key, &value, range);
                    }
                    None => drop(container.take_key()),
                },
            }
        }
        sort(&mut edits);
        edits
    }
}

impl OpenContainer {
    fn object(key: String) -> Self {
        let secret_name = if names::classify(&key).is_some() { Some(key) } else { None };
        OpenContainer { is_object: true, secret_name, ..OpenContainer::default() }
    }

    fn list(key: String) -> Self {
        OpenContainer { key: Some(key), ..OpenContainer::default() }
    }

    /// Reads the key of a member. In an object with a secret's name, `value` and the like are secret too.
    fn read_key(&mut self, key: String) {
        if let Some(outer) = &self.secret_name
            && names::classify(&key).is_none()
        {
            let both = format!("{outer}.{key}");
            let is_secret = matches!(names::classify(&both), Some(NameClass::Password | NameClass::Key));
            if is_secret || both.starts_with("cookies.") {
                self.key = Some(both);
                return;
            }
        }
        self.key = Some(key);
    }

    /// The key of the next value, before which the next key comes.
    fn take_key(&mut self) -> String {
        let key = if self.is_object { self.key.take() } else { self.key.clone() };
        key.unwrap_or_default()
    }

    fn pass_text(&mut self, key: &str, value: &str, range: Range<usize>) {
        if !self.is_object {
            return;
        }
        let is_label = ["name", "key", "variable"].iter().any(|name| key.eq_ignore_ascii_case(name));
        if is_label && value.len() <= 64 {
            self.label = Some(value.to_owned());
        } else if key.eq_ignore_ascii_case("value") && self.label.is_none() {
            self.unnamed = Some((range, value.to_owned()));
        }
    }

    fn member<'o>(&'o self, key: &'o str) -> Member<'o> {
        match &self.label {
            _ if key.is_empty() => Member::Unnamed,
            Some(label) if key.eq_ignore_ascii_case("value") => Member::Named(label),
            _ if names::is_sealed(key) => Member::Sealed,
            _ if names::is_structural(key) => Member::Structural,
            _ => Member::Named(key),
        }
    }
}
