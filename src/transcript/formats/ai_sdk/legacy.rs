//! The calls that version 4 of the AI SDK has in `toolInvocations`, beside the parts or instead of them.

use std::collections::{HashMap, HashSet};

use crate::transcript::json::{Json, Object};
use crate::transcript::message::{Message, ResultRef};

/// The copies of some calls beside the parts, each with the index of its call.
pub(super) fn copies_of_calls<'a>(message: &Message<'a>, calls: &[usize]) -> Vec<(usize, Json<'a>)> {
    let of_id = |&index: &usize| Some((message.calls[index].id?.decode(), index));
    let ids: HashMap<_, _> = calls.iter().filter_map(of_id).collect();
    let own: HashSet<usize> = calls.iter().map(|&index| message.calls[index].json.span().start).collect();
    let others = legacy_calls(message.json).filter(|json| !own.contains(&json.span().start));
    others.filter_map(|json| Some((*ids.get(&json.get_text("toolCallId")?.decode())?, json))).collect()
}

/// Adds to results the copies that version 4 has beside the parts.
pub(super) fn add_duplicates<'a>(message: &Object<'a>, results: &mut [ResultRef<'a>]) {
    let own: HashSet<usize> = results.iter().map(|result| result.json.span().start).collect();
    let mut copies: HashMap<_, Vec<Json<'a>>> = HashMap::new();
    for copy in legacy_calls(message.json).filter(|copy| !own.contains(&copy.span().start)) {
        copies.entry(copy.get_text("toolCallId").map(|id| id.decode())).or_default().push(copy);
    }
    // Of results with one id, the first has the copies.
    for result in results {
        result.duplicates = copies.remove(&result.id.map(|id| id.decode())).unwrap_or_default().into();
    }
}

fn legacy_calls(message: Json<'_>) -> impl Iterator<Item = Json<'_>> {
    message.get("toolInvocations").into_iter().flat_map(|calls| calls.items())
}
