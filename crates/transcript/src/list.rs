//! Finds the messages in a value: a list, an envelope around one, or a collection of envelopes.

use std::ops::Range;

use crate::formats::FORMATS;
use crate::json::{Items, Json, JsonKind, Object};
use crate::read_error::{ReadError, describe, no_transcript};

/// Paths to the messages in an envelope that several formats use; paths of a single format come after them. The first
/// path to a list of messages wins, or else the first path to a list.
const PATHS: [&[&str]; 19] = [
    &["messages"],
    &["contents"],
    &["conversations"],
    &["values", "messages"],
    &["history"],
    &["request_params", "messages"],
    &["body", "messages"],
    &["params", "messages"],
    &["request", "messages"],
    &["request", "contents"],
    &["kwargs", "messages"],
    &["input", "messages"],
    &["channel_values", "messages"],
    &["input"],
    &["body", "input"],
    &["request", "input"],
    &["output"],
    &["response", "output"],
    &["trajectory"],
];

/// The keys of lists of envelopes.
const COLLECTIONS: [&str; 2] = ["samples", "simulations"];

/// A list of messages whose format is not known yet.
#[derive(Debug)]
pub struct List<'a> {
    /// The object around the list, if there is one.
    pub envelope: Option<Json<'a>>,
    /// The object that has the list as a member: the envelope, or an object inside it.
    pub(super) state: Option<Json<'a>>,
    /// The values of the list: messages, and in session files other entries.
    pub values: Items<'a>,
    /// The line on which it begins, if the source holds one conversation a line.
    pub line: Option<usize>,
    /// The spans among the values that are kept aside.
    pub(super) aside: &'a [Range<usize>],
}

impl<'a> List<'a> {
    /// Finds the lists in a value: one, unless the value is a collection of conversations.
    pub(super) fn find(source: &str, value: Json<'a>, line: Option<usize>) -> Result<Vec<Self>, ReadError> {
        // Lines are counted from the start of the file.
        let mut lines = match line {
            Some(line) => LineCounter { offset: value.span().start, newlines: line - 1 },
            None => LineCounter::default(),
        };
        let mut lists = Vec::new();
        match value.kind() {
            JsonKind::Array if is_collection(value) => {
                for item in value.items() {
                    let line = lines.at(source, item.span().start);
                    let Some(list) = List::in_object(item, Some(line)) else {
                        return Err(no_transcript(source, item, describe(item)));
                    };
                    lists.push(list);
                }
                return Ok(lists);
            }
            JsonKind::Array => lists.push(List::of(None, None, value, line)),
            JsonKind::Object => lists.extend(List::in_object(value, line)),
            _ => {}
        }
        if lists.is_empty() {
            for key in COLLECTIONS {
                let Some(collection) = value.get(key) else { continue };
                for item in collection.items() {
                    let line = lines.at(source, item.span().start);
                    // An envelope without messages (a run that produced nothing) stays unchanged.
                    lists.extend(List::in_object(item, Some(line)));
                }
            }
        }
        if lists.is_empty() { Err(no_transcript(source, value, describe(value))) } else { Ok(lists) }
    }

    /// Finds the list in an envelope.
    pub(super) fn in_object(envelope: Json<'a>, line: Option<usize>) -> Option<Self> {
        // `Object` finds the members once, while `Json::get` would skip over all messages each time.
        let members = Object::of(envelope);
        // A trace keeps its last message under `output`, outside the list.
        let is_trace = members.get("output").is_some_and(|output| output.kind() == JsonKind::Object);
        let mut first = None;
        for path in PATHS.iter().chain(FORMATS.iter().flat_map(|format| format.list_paths)) {
            if is_trace && path[0] == "input" {
                continue;
            }
            let Some((state, list)) = list_at(&members, path) else { continue };
            // The first message may belong to no format although later ones do.
            if list.items().any(is_message) {
                return Some(List::of(Some(envelope), Some(state), list, line));
            }
            first = first.or(Some((state, list)));
        }
        if let Some((state, list)) = first {
            return Some(List::of(Some(envelope), Some(state), list, line));
        }
        // The input of a request may be a string.
        let text = members.get("input")?;
        if text.kind() != JsonKind::String || members.get("model").is_none() {
            return None;
        }
        Some(List { envelope: Some(envelope), state: Some(envelope), values: Items::only(text), line, aside: &[] })
    }

    fn of(envelope: Option<Json<'a>>, state: Option<Json<'a>>, list: Json<'a>, line: Option<usize>) -> Self {
        // LangChain's callback logs nest the list in another list. A single message of a format can be a list, too.
        let mut first = list.items();
        let values = match (first.next(), first.next()) {
            (Some(only), None) if only.kind() == JsonKind::Array && !is_message(only) => only.items(),
            _ => list.items(),
        };
        List { envelope, state, values, line, aside: &[] }
    }
}

/// The list at a path in an envelope, and the object that has it as a member.
fn list_at<'a>(envelope: &Object<'a>, path: &[&str]) -> Option<(Json<'a>, Json<'a>)> {
    let (last, between) = path.split_last()?;
    let state = if between.is_empty() { envelope.json } else { envelope.at(between)? };
    let list = if between.is_empty() { envelope.get(last)? } else { state.get(last)? };
    if list.kind() == JsonKind::Array { Some((state, list)) } else { None }
}

/// Whether a list holds envelopes instead of messages.
fn is_collection(list: Json<'_>) -> bool {
    let Some(first) = list.items().next() else { return false };
    first.kind() == JsonKind::Object && !is_message(first) && List::in_object(first, None).is_some()
}

/// Counts lines for ascending offsets, each line once.
#[derive(Default)]
pub(super) struct LineCounter {
    offset: usize,
    newlines: usize,
}

impl LineCounter {
    /// The line of byte `offset`, counted from 1.
    pub(super) fn at(&mut self, source: &str, offset: usize) -> usize {
        self.newlines += memchr::memchr_iter(b'\n', &source.as_bytes()[self.offset..offset]).count();
        self.offset = offset;
        self.newlines + 1
    }
}

/// Whether a value is a single message of some format, and not a conversation.
pub(super) fn is_message(value: Json<'_>) -> bool {
    let value = Object::of(value);
    FORMATS.iter().any(|format| format.match_score(&value).is_message())
}
