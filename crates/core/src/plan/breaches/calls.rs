//! Ids of calls and messages, names of tools and inputs that a provider refuses. Where the provider wants the ids of a
//! conversation to differ, it refuses equal ones.

use std::borrow::Cow;
use std::cmp::Reverse;
use std::collections::{HashMap, HashSet};

use crate::plan::breaches::{Breach, ProviderRule};
use crate::transcript::json::{Json, JsonKind};
use crate::transcript::message::ResultRef;
use crate::transcript::order::ResultPlacement;
use crate::transcript::pairing::{CallOrResult, results};
use crate::transcript::{Arguments, Call, Content, Message, PartKind, Role, Transcript};

/// The members that hold the id of a call, in the call or in its result.
const IDS: [&str; 6] = ["id", "tool_use_id", "toolUseId", "tool_call_id", "call_id", "toolCallId"];
/// The members that hold the name of a tool.
const NAMES: [&str; 3] = ["name", "toolName", "tool_name"];

pub(super) fn of_calls(transcript: &Transcript<'_>) -> Vec<Breach> {
    let order = transcript.order;
    let checks_ids = order.results != ResultPlacement::Unchecked;
    let mut found = Vec::new();
    for (message, read) in transcript.messages.iter().enumerate() {
        for (index, call) in read.calls.iter().enumerate() {
            let place = CallOrResult { message, index };
            let id = call.id.map(|id| id.decode());
            if checks_ids && has_empty_id(call) {
                found.push(Breach { message, rule: ProviderRule::EmptyId { of_result: false, place }, id: None });
            }
            if let Some(id) = &id
                && !order.call_ids.takes(id)
            {
                let id = Some(id.clone().into_owned());
                found.push(Breach { message, rule: ProviderRule::RefusedId(place), id });
            }
            if let Some(name) = call.name.map(|name| name.decode())
                && !order.tool_names.takes(&name)
            {
                let id = Some(name.into_owned());
                found.push(Breach { message, rule: ProviderRule::RefusedName(place), id });
            }
            if odd_input(transcript, call).is_some() {
                let id = id.map(Cow::into_owned);
                found.push(Breach { message, rule: ProviderRule::Input(place), id });
            }
        }
        if media_in_result(transcript, read).next().is_some() {
            found.push(Breach { message, rule: ProviderRule::MediaInResult, id: None });
        }
    }
    if checks_ids {
        found.extend(empty_ids_of_results(transcript));
    }
    found.extend(of_messages(transcript));
    found
}

fn has_empty_id(call: &Call<'_>) -> bool {
    call.id.is_none() && id_in(call.json, "").is_some()
}

/// The results with an empty id. One without a call is a violation of its own.
fn empty_ids_of_results(transcript: &Transcript<'_>) -> Vec<Breach> {
    let messages = &transcript.messages;
    let mut found = Vec::new();
    // Few conversations have one, so that the calls of results are rarely looked for.
    if !messages.iter().any(|message| message.results.iter().any(has_empty_result_id)) {
        return found;
    }
    for pair in results(messages) {
        let Some(call) = pair.call else { continue };
        let call = call.call_of(messages);
        let place = pair.result;
        let is_named = call.id.is_some() || has_empty_id(call);
        if is_named && has_empty_result_id(&messages[place.message].results[place.index]) {
            let rule = ProviderRule::EmptyId { of_result: true, place };
            found.push(Breach { message: place.message, rule, id: None });
        }
    }
    found
}

fn has_empty_result_id(result: &ResultRef<'_>) -> bool {
    result.id.is_none() && id_in(result.json, "").is_some()
}

/// Every message with the id of an earlier one, where ids of messages must differ.
fn of_messages(transcript: &Transcript<'_>) -> Vec<Breach> {
    let mut seen = HashSet::new();
    let mut found = Vec::new();
    for (message, read) in transcript.messages.iter().enumerate() {
        let Some(id) = transcript.format.id_of(read).and_then(|id| id.text()) else { continue };
        let id = id.decode();
        if seen.contains(&id) {
            found.push(Breach { message, rule: ProviderRule::SameMessageId, id: Some(id.into_owned()) });
        } else {
            seen.insert(id);
        }
    }
    found
}

/// The input of a call where it must be an object and is none.
pub fn odd_input<'a>(transcript: &Transcript<'a>, call: &Call<'a>) -> Option<Json<'a>> {
    match call.arguments {
        Arguments::Value(input) if transcript.order.object_inputs && input.kind() != JsonKind::Object => Some(input),
        _ => None,
    }
}

/// The parts of a message with a result that are not text, where results must be text.
pub fn media_in_result<'m, 'a>(
    transcript: &Transcript<'a>,
    message: &'m Message<'a>,
) -> impl Iterator<Item = Json<'a>> + use<'m, 'a> {
    let is_checked = transcript.order.text_results && message.role == Role::Tool;
    let parts: &[_] = match &message.content {
        Content::Parts(parts) if is_checked => parts,
        _ => &[],
    };
    parts.iter().filter(|part| matches!(part.kind, PartKind::Media(_))).map(|part| part.json)
}

/// The value with an id of a call, in the call or the result, or in the one object inside.
pub fn id_in<'a>(holder: Json<'a>, id: &str) -> Option<Json<'a>> {
    member_in(holder, &IDS, id)
}

/// The value with the name of a tool, in the same places.
pub fn name_in<'a>(holder: Json<'a>, name: &str) -> Option<Json<'a>> {
    member_in(holder, &NAMES, name)
}

fn member_in<'a>(holder: Json<'a>, keys: &[&str], text: &str) -> Option<Json<'a>> {
    if let Some(found) = own_member(holder, keys, text) {
        return Some(found);
    }
    if is_text(holder, text) {
        return Some(holder);
    }
    for (_, value) in holder.entries() {
        if value.kind() == JsonKind::Object
            && let Some(found) = own_member(value, keys, text)
        {
            return Some(found);
        }
    }
    None
}

/// The first member of an object under one of these keys that is a text.
fn own_member<'a>(object: Json<'a>, keys: &[&str], text: &str) -> Option<Json<'a>> {
    let mut members = keys.iter().filter_map(|key| object.get(key));
    members.find(|value| is_text(*value, text))
}

fn is_text(value: Json<'_>, text: &str) -> bool {
    value.text().is_some_and(|known| known.is(text))
}

/// Every call with the id of an earlier one.
pub(super) fn of_ids(transcript: &Transcript<'_>) -> Vec<Breach> {
    let mut found = Vec::new();
    if !transcript.order.unique_ids {
        return found;
    }
    let mut seen = HashSet::new();
    for (message, read) in transcript.messages.iter().enumerate() {
        for (index, call) in read.calls.iter().enumerate() {
            let Some(id) = call.id.map(|id| id.decode()) else { continue };
            if !seen.insert(id.clone()) {
                let rule = ProviderRule::Repeated(CallOrResult { message, index });
                found.push(Breach { message, rule, id: Some(id.into_owned()) });
            }
        }
    }
    found
}

/// The result of each call. The results of calls with one id in one message belong to them in order.
pub fn results_of_calls(transcript: &Transcript<'_>) -> HashMap<CallOrResult, CallOrResult> {
    let messages = &transcript.messages;
    let mut of_id: HashMap<_, Vec<CallOrResult>> = HashMap::new();
    for found in results(messages) {
        if let Some(call) = found.call
            && !found.again
        {
            let id = call.call_of(messages).id.map(|id| id.decode());
            of_id.entry((call.message, id)).or_default().push(found.result);
        }
    }
    // The first is taken from the end.
    for results in of_id.values_mut() {
        results.sort_unstable_by_key(|one| Reverse((one.message, one.index)));
    }
    let mut pairs = HashMap::new();
    for (message, read) in messages.iter().enumerate() {
        for (index, call) in read.calls.iter().enumerate() {
            let id = call.id.map(|id| id.decode());
            if let Some(result) = of_id.get_mut(&(message, id)).and_then(Vec::pop) {
                pairs.insert(CallOrResult { message, index }, result);
            }
        }
    }
    pairs
}
