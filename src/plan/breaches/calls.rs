//! Ids of calls and messages, names of tools and inputs that a provider refuses.

use std::collections::HashSet;

use crate::plan::breaches::{Breach, ProviderRule};
use crate::transcript::json::{Json, JsonKind};
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
            let id = call.id.map(|id| id.decode().into_owned());
            let mut breach = |rule, id| found.push(Breach { message, rule, id });
            if checks_ids && has_empty_id(call) {
                breach(ProviderRule::EmptyId { of_result: false, place }, None);
            }
            if id.as_ref().is_some_and(|id| !order.call_ids.takes(id)) {
                breach(ProviderRule::RefusedId(place), id.clone());
            }
            let name = call.name.map(|name| name.decode().into_owned());
            if name.as_ref().is_some_and(|name| !order.tool_names.takes(name)) {
                breach(ProviderRule::RefusedName(place), name);
            }
            if odd_input(transcript, call).is_some() {
                breach(ProviderRule::Input(place), id);
            }
        }
        found.extend(media_in_result(transcript, read).next().map(|_| Breach {
            message,
            rule: ProviderRule::MediaInResult,
            id: None,
        }));
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
    let is_empty = |place: CallOrResult| {
        let result = &messages[place.message].results[place.index];
        result.id.is_none() && id_in(result.json, "").is_some()
    };
    let places = messages
        .iter()
        .enumerate()
        .flat_map(|(message, read)| (0..read.results.len()).map(move |index| CallOrResult { message, index }));
    if !places.into_iter().any(is_empty) {
        return Vec::new();
    }
    let has_id = |call: &Call<'_>| call.id.is_some() || has_empty_id(call);
    let pairs = results(messages).into_iter();
    let answers = pairs.filter(|pair| pair.call.is_some_and(|call| has_id(call.call_of(messages))));
    let places = answers.map(|pair| pair.result).filter(|place| is_empty(*place));
    let breach = |place: CallOrResult| Breach {
        message: place.message,
        rule: ProviderRule::EmptyId { of_result: true, place },
        id: None,
    };
    places.map(breach).collect()
}

/// Every message with the id of an earlier one, where ids of messages must differ.
fn of_messages<'a>(transcript: &Transcript<'a>) -> impl Iterator<Item = Breach> {
    let mut seen = HashSet::new();
    let repeats = move |(message, read): (usize, &Message<'a>)| {
        let id = transcript.format.message_id(read)?.text()?.decode();
        (!seen.insert(id.clone())).then(|| Breach {
            message,
            rule: ProviderRule::SameMessageId,
            id: Some(id.into_owned()),
        })
    };
    transcript.messages.iter().enumerate().filter_map(repeats).collect::<Vec<_>>().into_iter()
}

/// The input of a call where it must be an object and is none.
pub(crate) fn odd_input<'a>(transcript: &Transcript<'a>, call: &Call<'a>) -> Option<Json<'a>> {
    let Arguments::Value(input) = call.arguments else { return None };
    (transcript.order.object_inputs && input.kind() != JsonKind::Object).then_some(input)
}

/// The parts of a message with a result that are not text, where results must be text.
pub(crate) fn media_in_result<'m, 'a>(
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
pub(crate) fn id_in<'a>(holder: Json<'a>, id: &str) -> Option<Json<'a>> {
    member_in(holder, &IDS, id)
}

/// The value with the name of a tool, in the same places.
pub(crate) fn name_in<'a>(holder: Json<'a>, name: &str) -> Option<Json<'a>> {
    member_in(holder, &NAMES, name)
}

fn member_in<'a>(holder: Json<'a>, keys: &[&str], text: &str) -> Option<Json<'a>> {
    let is_it = |value: &Json<'a>| value.text().is_some_and(|own| own.is(text));
    let own = |json: Json<'a>| keys.iter().filter_map(|key| json.get(key)).find(is_it);
    let inside =
        || holder.entries().map(|(_, value)| value).filter(|value| value.kind() == JsonKind::Object).find_map(own);
    own(holder).or_else(|| Some(holder).filter(is_it)).or_else(inside)
}
