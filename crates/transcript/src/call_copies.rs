//! Where a message repeats its calls: some formats keep a call as the provider sent it beside the one that they parsed.

use std::collections::{HashMap, HashSet};

use crate::json::{Json, JsonKind};
use crate::message::Message;

/// The places in a message that repeat its calls.
#[derive(Debug)]
pub struct CallCopies {
    /// Members that hold all fields of a message in some encodings of the format. The first that is an object counts.
    pub around: &'static [&'static str],
    /// The paths from the fields of a message to the lists of them.
    pub lists: &'static [&'static [&'static str]],
    /// The members with the id of the call; the first one counts.
    pub ids: &'static [&'static str],
}

impl CallCopies {
    /// The copies of some calls of a message, each with the index of its call.
    pub(crate) fn of<'a>(&self, message: &Message<'a>, calls: &[usize]) -> Vec<(usize, Json<'a>)> {
        let mut indices = HashMap::new();
        let mut own = HashSet::new();
        for &index in calls {
            let call = &message.calls[index];
            if let Some(id) = call.id {
                indices.insert(id.decode(), index);
            }
            own.insert(call.json.span().start);
        }
        let mut copies = Vec::new();
        let fields = self.fields(message.json);
        for list in self.lists {
            let Some(list) = fields.at(list) else { continue };
            for element in list.items() {
                if let Some(id) = self.ids.iter().find_map(|key| element.get_text(key))
                    && let Some(index) = indices.get(&id.decode())
                    && !own.contains(&element.span().start)
                {
                    copies.push((*index, element));
                }
            }
        }
        copies
    }

    fn fields<'a>(&self, message: Json<'a>) -> Json<'a> {
        for key in self.around {
            if let Some(fields) = message.get(key)
                && fields.kind() == JsonKind::Object
            {
                return fields;
            }
        }
        message
    }
}
