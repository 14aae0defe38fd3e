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
        let Some(list) = message.json.at(self.list) else { return names };
        for part in list.items() {
            if let Some(kind) = part.get_text(self.kind)
                && kind.is_in(self.kinds)
            {
                let id = match part.get(self.id) {
                    Some(id) => id.raw(),
                    None => "",
                };
                names.push(format!("{} {id}", kind.decode()));
            }
        }
        names
    }
}
