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
        let no_transcript_at = |value: Json<'a>| no_transcript(source, value, describe(value));
        // Lines are counted from the start of the file.
        let mut lines = line
            .map_or_else(LineCounter::default, |line| LineCounter { offset: value.span().start, newlines: line - 1 });
        let mut read_item = |item: Json<'a>| {
            let line = Some(lines.at(source, item.span().start));
            List::in_object(item, line)
        };
        match value.kind() {
            JsonKind::Array if is_collection(value) => {
                value.items().map(|item| read_item(item).ok_or_else(|| no_transcript_at(item))).collect()
            }
            JsonKind::Array => Ok(vec![List::of(None, None, value, line)]),
            JsonKind::Object => match List::in_object(value, line) {
                Some(list) => Ok(vec![list]),
                // An envelope without messages (a run that produced nothing) stays unchanged.
                None => {
                    let collections = COLLECTIONS.iter().filter_map(|key| value.get(key));
                    let lists: Vec<Self> =
                        collections.flat_map(|collection| collection.items()).filter_map(read_item).collect();
                    if lists.is_empty() { Err(no_transcript_at(value)) } else { Ok(lists) }
                }
            },
            _ => Err(no_transcript_at(value)),
        }
    }

    /// Finds the list in an envelope.
    pub(super) fn in_object(envelope: Json<'a>, line: Option<usize>) -> Option<Self> {
        // `Object` finds the members once, while `Json::get` would skip over all messages each time.
        let members = Object::of(envelope);
        let member = |key: &str| members.get(key);
        // A trace keeps its last message under `output`, outside the list.
        let is_trace = members.get("output").is_some_and(|output| output.kind() == JsonKind::Object);
        let lists = || {
            let paths = PATHS.iter().chain(FORMATS.iter().flat_map(|format| format.list_paths));
            paths.filter(|path| !is_trace || path[0] != "input").filter_map(|path| {
                let (first, rest) = path.split_first()?;
                let (state, list) = match rest.split_last() {
                    None => (envelope, member(first)?),
                    Some((last, between)) => {
                        let state = member(first)?.at(between)?;
                        (state, state.get(last)?)
                    }
                };
                (list.kind() == JsonKind::Array).then_some((state, list))
            })
        };
        // The first message may belong to no format although later ones do.
        let of_messages = lists().find(|(_, list)| list.items().any(is_message));
        let found = of_messages.or_else(|| lists().next());
        if let Some((state, list)) = found {
            return Some(List::of(Some(envelope), Some(state), list, line));
        }
        // The input of a request may be a string.
        let text = member("input").filter(|input| input.kind() == JsonKind::String && member("model").is_some());
        text.map(|text| List {
            envelope: Some(envelope),
            state: Some(envelope),
            values: Items::only(text),
            line,
            aside: &[],
        })
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

/// Whether a list holds envelopes instead of messages.
fn is_collection(list: Json<'_>) -> bool {
    list.items().next().is_some_and(|first| {
        first.kind() == JsonKind::Object && !is_message(first) && List::in_object(first, None).is_some()
    })
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
