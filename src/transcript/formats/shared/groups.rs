//! Finds messages that must stay together because of how a model wrote them.

use std::borrow::Cow;
use std::collections::HashMap;

use crate::transcript::message::{Content, Message, PartKind};
use crate::transcript::text::Text;

/// Groups each message of the last turn that calls without thinking with the one whose thinking came before. With
/// thinking enabled, providers reject a turn of the model that does not begin with its thinking.
pub(crate) fn after_thinking(messages: &[Message<'_>]) -> Vec<(usize, usize)> {
    let thinks = |message: &Message<'_>| match &message.content {
        Content::Parts(parts) => parts.iter().any(|part| {
            matches!(part.kind, PartKind::Reasoning(_))
                || part.json.get_text("type").is_some_and(|kind| kind.is("redacted_thinking"))
        }),
        Content::Text(_) => false,
    };
    let turn = messages.iter().rposition(Message::is_user_turn).unwrap_or(0);
    let mut thinking = None;
    let mut groups = Vec::new();
    for (index, message) in messages.iter().enumerate().skip(turn) {
        if thinks(message) {
            thinking = Some(index);
        } else if !message.calls.is_empty() {
            groups.extend(thinking.map(|thinking| (thinking, index)));
        }
    }
    groups
}

/// Groups messages that are pieces of one answer and share its id. A repeated id after a user turn belongs to another
/// answer.
pub(crate) fn of_one_answer<'a>(
    messages: &[Message<'a>],
    id: fn(&Message<'a>) -> Option<Text<'a>>,
) -> Vec<(usize, usize)> {
    let mut groups: Vec<(usize, usize)> = Vec::new();
    let mut by_id: HashMap<Cow<'_, str>, usize> = HashMap::new();
    for (index, message) in messages.iter().enumerate() {
        if message.is_user_turn() && !message.is_marked_as_inserted() {
            by_id.clear();
        }
        let Some(id) = id(message) else { continue };
        let group = *by_id.entry(id.decode()).or_insert_with(|| {
            groups.push((index, index));
            groups.len() - 1
        });
        groups[group].1 = index;
    }
    groups.retain(|(first, last)| first < last);
    groups
}
