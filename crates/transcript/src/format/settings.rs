//! What a message sets from there on.

use crate::format::Path;
use crate::message::Message;

/// The parts of a message that set something from there on.
#[derive(Debug)]
pub struct SettingParts {
    /// The path to the list of parts.
    pub list: Path,
    /// The member with the kind of a part.
    pub kind: &'static str,
    /// The kinds of those that set something.
    pub kinds: &'static [&'static str],
    /// The member that tells two settings of one kind apart.
    pub id: &'static str,
}

impl SettingParts {
    /// The names of what a message sets.
    pub(super) fn names_in(&self, message: &Message<'_>) -> Vec<String> {
        let mut names = Vec::new();
        for part in message.json.at(self.list).into_iter().flat_map(|list| list.items()) {
            if let Some(kind) = part.get_text(self.kind).filter(|kind| kind.is_in(self.kinds)) {
                let id = part.get(self.id).map_or("", |id| id.raw());
                names.push(format!("{} {id}", kind.decode()));
            }
        }
        names
    }
}
