//! Finds messages that must stay together because of how a model wrote them.

use std::borrow::Cow;
use std::collections::HashMap;

use crate::transcript::json::Json;
use crate::transcript::message::{Content, Message, PartKind, Role};
use crate::transcript::text::Text;

/// Groups each message of the last turn that calls without thinking with the one whose thinking came before. With
/// thinking enabled, providers reject a turn of the model that does not begin with its thinking.
pub(crate) fn after_thinking(messages: &[Message<'_>]) -> Vec<(usize, usize)> {
    let thinks = |message: &Message<'_>| match &message.content {
        Content::Parts(parts) => parts.iter().any(|part| matches!(part.kind, PartKind::Reasoning(_))),
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

/// Groups results that the provider wrote itself with the calls of its own tools before them. It can write them into a
/// later message of the model, and rejects them there without their calls.
pub(crate) fn of_hosted(
    messages: &[Message<'_>],
    is_call: impl Fn(Json<'_>) -> bool,
    is_result: impl Fn(Json<'_>) -> bool,
) -> Vec<(usize, usize)> {
    let mut open: Vec<usize> = Vec::new();
    let mut groups = Vec::new();
    for (index, message) in messages.iter().enumerate().filter(|(_, message)| message.role == Role::Assistant) {
        let Content::Parts(parts) = &message.content else { continue };
        for part in parts {
            if is_result(part.json) {
                groups.extend(open.pop().filter(|calling| *calling < index).map(|calling| (calling, index)));
            } else if is_call(part.json) {
                open.push(index);
            }
        }
    }
    groups.dedup();
    groups
}
