//! Ids of calls and messages, names of tools and inputs that a provider refuses.
//!
//! Also: calls that share an id, where the provider wants the ids of a conversation to differ.
//!
//! Also: contents that a provider refuses whatever stands around them: halves of surrogate pairs, and texts without any text.

use std::cmp::Reverse;
use std::collections::{HashMap, HashSet};
use std::ops::Range;

use memchr::memmem;

use crate::plan::breaches::{Breach, ProviderRule};
use crate::transcript::json::{Json, JsonKind};
use crate::transcript::order::{ResultPlacement, Texts};
use crate::transcript::pairing::{CallOrResult, results};
use crate::transcript::text::Text;
use crate::transcript::{Arguments, Call, Content, Message, Part, PartKind, Role, Transcript};

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
        let id = transcript.format.id_of(read)?.text()?.decode();
        (!seen.insert(id.clone())).then(|| Breach {
            message,
            rule: ProviderRule::SameMessageId,
            id: Some(id.into_owned()),
        })
    };
    transcript.messages.iter().enumerate().filter_map(repeats).collect::<Vec<_>>().into_iter()
}

/// The input of a call where it must be an object and is none.
pub fn odd_input<'a>(transcript: &Transcript<'a>, call: &Call<'a>) -> Option<Json<'a>> {
    let Arguments::Value(input) = call.arguments else { return None };
    (transcript.order.object_inputs && input.kind() != JsonKind::Object).then_some(input)
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
    let is_it = |value: &Json<'a>| value.text().is_some_and(|own| own.is(text));
    let own = |json: Json<'a>| keys.iter().filter_map(|key| json.get(key)).find(is_it);
    let inside =
        || holder.entries().map(|(_, value)| value).filter(|value| value.kind() == JsonKind::Object).find_map(own);
    own(holder).or_else(|| Some(holder).filter(is_it)).or_else(inside)
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
pub fn results_of_calls(transcript: &Transcript<'_>) -> HashMap<(usize, usize), CallOrResult> {
    let messages = &transcript.messages;
    let mut of_id: HashMap<_, Vec<CallOrResult>> = HashMap::new();
    for found in results(messages).into_iter().filter(|found| !found.again) {
        let Some(call) = found.call else { continue };
        let id = call.call_of(messages).id.map(|id| id.decode());
        of_id.entry((call.message, id)).or_default().push(found.result);
    }
    // The first is taken from the end.
    of_id.values_mut().for_each(|results| results.sort_unstable_by_key(|one| Reverse((one.message, one.index))));
    let mut pairs = HashMap::new();
    for (message, read) in messages.iter().enumerate() {
        for (index, call) in read.calls.iter().enumerate() {
            let results = of_id.get_mut(&(message, call.id.map(|id| id.decode())));
            pairs.extend(results.and_then(Vec::pop).map(|result| ((message, index), result)));
        }
    }
    pairs
}

pub(super) fn of_contents(transcript: &Transcript<'_>) -> Vec<Breach> {
    let mut found = Vec::new();
    for (index, message) in transcript.messages.iter().enumerate() {
        let breach = |rule| Breach { message: index, rule, id: None };
        found.extend((!lone_surrogates(transcript, message).is_empty()).then(|| breach(ProviderRule::Surrogate)));
        found.extend((!blanks(transcript, index).is_empty()).then(|| breach(ProviderRule::Blank)));
    }
    found
}

/// A text without any text, or a content that has none.
#[derive(Debug, Clone, Copy)]
pub enum Blank<'a> {
    /// A text among others, which goes.
    Part(Json<'a>),
    /// The only text, which gets one.
    Only(Json<'a>),
    /// The content is missing, `null` or an empty list.
    Content,
}

/// What is blank in the message at an index, as far as its provider refuses it.
pub fn blanks<'a>(transcript: &Transcript<'a>, index: usize) -> Vec<Blank<'a>> {
    let message = &transcript.messages[index];
    let refuses: fn(&Text<'_>) -> bool = match transcript.order.texts {
        Texts::Any => return Vec::new(),
        Texts::Some => |_| false,
        Texts::NotEmpty => |text| text.is_empty(),
        Texts::NotBlank => is_blank,
    };
    let mut found = Vec::new();
    match &message.content {
        Content::Text(text) => {
            let is_alone = message.calls.is_empty() && message.results.is_empty();
            // The model may still have something to say in the last message.
            let is_last = index + 1 == transcript.messages.len() && message.role == Role::Assistant;
            if !is_alone || is_last || message.role == Role::Other {
                return found;
            }
            match content_of(message) {
                Some(content) if content.kind() == JsonKind::String => {
                    found.extend(refuses(text).then_some(Blank::Only(content)));
                }
                _ if text.is_empty() && !has_other_words(message) => found.push(Blank::Content),
                _ => {}
            }
        }
        Content::Parts(parts) => add_parts(parts, refuses, &mut found),
    }
    found
}

fn add_parts<'a>(parts: &[Part<'a>], refuses: fn(&Text<'_>) -> bool, found: &mut Vec<Blank<'a>>) {
    let is_refused = |part: &Part<'_>| matches!(&part.kind, PartKind::Text(text) if refuses(text));
    let is_all = parts.iter().all(is_refused);
    for (at, part) in parts.iter().enumerate() {
        match &part.kind {
            PartKind::Result(Content::Parts(inner)) => add_parts(inner, refuses, found),
            _ if !is_refused(part) => {}
            _ if is_all && at == 0 => found.push(Blank::Only(part.json)),
            _ => found.push(Blank::Part(part.json)),
        }
    }
}

/// The content of a message, as a list or a text.
pub fn content_of<'a>(message: &Message<'a>) -> Option<Json<'a>> {
    let inner = message.json.get("message").filter(|inner| inner.kind() == JsonKind::Object);
    let fields = inner.unwrap_or(message.json);
    fields.get("content").or_else(|| fields.get("parts"))
}

/// Whether a message without content says something in another member.
fn has_other_words(message: &Message<'_>) -> bool {
    const OTHERS: [&str; 4] = ["refusal", "audio", "tool_plan", "function_call"];
    OTHERS.iter().any(|key| message.json.get(key).is_some_and(|value| !value.is_falsy()))
}

fn is_blank(text: &Text<'_>) -> bool {
    let rest = text.raw().trim_start();
    rest.is_empty() || rest.starts_with('\\') && text.decode().trim().is_empty()
}

/// The escapes of a message that are half of a surrogate pair, as spans of the source. What no model is sent does not
/// count.
pub fn lone_surrogates(transcript: &Transcript<'_>, message: &Message<'_>) -> Vec<Range<usize>> {
    let start = message.span().start;
    let lone = halves(message.json.raw());
    if lone.is_empty() {
        return lone;
    }
    let unsent = spans_of(message.json, transcript.format.metadata_members);
    let lone = lone.into_iter().map(|half| start + half.start..start + half.end);
    let is_sent = |half: &Range<usize>| {
        let before = unsent.partition_point(|span| span.start <= half.start);
        before.checked_sub(1).is_none_or(|last| unsent[last].end <= half.start)
    };
    lone.filter(is_sent).collect()
}

/// The spans of these members in an object and in the objects inside, in order.
fn spans_of(object: Json<'_>, members: &[&str]) -> Vec<Range<usize>> {
    let mut spans = Vec::new();
    let is_member = |key: &Text<'_>| members.iter().any(|member| key.is(member));
    for (key, value) in object.entries() {
        if is_member(&key) {
            spans.push(value.span());
        } else {
            spans.extend(value.entries().filter(|(key, _)| is_member(key)).map(|(_, inner)| inner.span()));
        }
    }
    spans
}

/// The length of `\ud83d`.
const ESCAPE: usize = 6;

/// The escapes in some JSON that are half of a surrogate pair.
fn halves(json: &str) -> Vec<Range<usize>> {
    let bytes = json.as_bytes();
    let mut lone: Vec<Range<usize>> = Vec::new();
    // A first half whose second one is to follow.
    let mut first: Option<Range<usize>> = None;
    for at in memmem::find_iter(bytes, b"\\u") {
        let Some(unit) = json.get(at + 2..at + ESCAPE).and_then(|digits| u16::from_str_radix(digits, 16).ok()) else {
            continue;
        };
        let backslashes = bytes[..at].iter().rev().take_while(|byte| **byte == b'\\').count();
        if !(0xd800..=0xdfff).contains(&unit) || backslashes % 2 == 1 {
            continue;
        }
        let is_first = unit < 0xdc00;
        let is_paired = !is_first && first.as_ref().is_some_and(|first| first.end == at);
        if is_paired {
            first = None;
            continue;
        }
        lone.extend(first.take());
        if is_first {
            first = Some(at..at + ESCAPE);
        } else {
            lone.push(at..at + ESCAPE);
        }
    }
    lone.extend(first);
    lone
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lone_surrogates_are_found() {
        let found = |json: &str| halves(json).into_iter().map(|span| json[span].to_owned()).collect::<Vec<_>>();
        assert_eq!(found(r#""\ud83d\ude00 \u4e2d \\ud83d \\\\ud83d""#), [] as [&str; 0]);
        assert_eq!(found(r#""\ud83d""#), [r"\ud83d"]);
        assert_eq!(found(r#""\uD83D\\ude00""#), [r"\uD83D"]);
        assert_eq!(found(r#""a\ude00\ud83d\ud83d\ude00\ud83dé""#), [r"\ude00", r"\ud83d", r"\ud83d"]);
        assert_eq!(found(r#""\\\ud83d x""#), [r"\ud83d"], "behind an escaped backslash");
    }
}
