//! Events of OpenHands: actions, and the observations that answer them.
//!
//! A call is an action of the agent, its result an observation. Both name the model's call, or the observation names
//! the action by its number. Runs from before mid-2024 hold an action and its observation in a list of two. A
//! `condensation` replaces events by a summary.

use std::collections::HashSet;
use std::ops::RangeInclusive;

use serde_json::{Map, Value, json};

use crate::format::{
    Age, Attachments, EntryKind, Format, Hooks, InsertionPoint, MatchScore, NewResult, Retention, Session,
    SummaryMessage, SummaryPosition,
};
use crate::formats::shared::blocks::{elements, with_parts};
use crate::formats::shared::fields::{copied, id, of_one_answer};
use crate::json::{Items, Json, JsonKind, Object};
use crate::media::MediaKind;
use crate::message::{Arguments, Call, CallPlace, Content, Message, Part, PartKind, ResultRef, Role};
use crate::order::{OrderRule, ResultPlacement};
use crate::outputs::CallOutput;
use crate::status::Denial;
use crate::text::Text;
use crate::thin_list::ThinList;
use crate::usage::UsageAt;

/// The kinds of actions and observations that no model is sent.
const NOT_SENT: [&str; 12] = [
    "agent_state_changed",
    "change_agent_state",
    "condensation_request",
    "initialize",
    "loop_recovery",
    "null",
    "pause",
    "recall",
    "resume",
    "start",
    "stop",
    "",
];

const NOT_AN_EVENT: &str = "is neither an action nor an observation";

/// The format's row.
pub(super) static FORMAT: Format = Format {
    name: "openhands",
    about: "events of OpenHands, bare, as trajectories and in output.jsonl",
    metadata_members: &["extras", "message", "tool_call_metadata"],
    // Each action of one answer has the whole response beside it, and so has each observation.
    usage: &[UsageAt {
        answer: Some(&["tool_call_metadata", "model_response", "id"]),
        ..UsageAt::path(&["tool_call_metadata", "model_response", "usage"])
    }],
    order: OrderRule::of(ResultPlacement::Behind),
    // Events are numbered in order, and only a removed event has a free number.
    summary_position: SummaryPosition::InPlace,
    attachments: Some(Attachments::At { list: &["args", "image_urls"], beside: &["args"] }),
    hooks: Hooks { match_score, read, groups, result_output, write_summary, write_result, ..Hooks::NONE },
    session: &OpenHands,
    ..Format::DEFAULT
};

/// Who can say something or act. Other programs have other names.
const SOURCES: [&str; 3] = ["agent", "environment", "user"];

#[derive(Debug)]
struct OpenHands;

fn match_score(message: &Object<'_>) -> MatchScore {
    if is_pair(message.json) {
        MatchScore::Own("actions with their observations")
    } else if message.json.kind() != JsonKind::Array && is_event(message) {
        MatchScore::Own("actions and observations")
    } else {
        MatchScore::Mismatch
    }
}

/// Whether a value is a list of an action and its observation.
fn is_pair(json: Json<'_>) -> bool {
    let mut events = json.items();
    let (Some(action), Some(observation), None) = (events.next(), events.next(), events.next()) else { return false };
    is_event(&Object::of(action)) && action.get("action").is_some() && observation.get_text("observation").is_some()
}

fn read<'a>(message: &Object<'a>) -> Result<Message<'a>, String> {
    let json = message.json;
    let events: Vec<Object<'a>> = match json.kind() {
        JsonKind::Array => json.items().map(Object::of).collect(),
        JsonKind::Object => vec![message.clone()],
        kind => return Err(format!("is {}, not an event", kind.noun())),
    };
    let Some((first, observations)) = events.split_first() else { return Err(NOT_AN_EVENT.to_owned()) };
    if !is_event(first) {
        return Err(NOT_AN_EVENT.to_owned());
    }
    let mut read = event(json, first);
    let mut answers: Vec<ResultRef<'a>> = read.results.into_iter().collect();
    let mut parts = Vec::new();
    for observation in observations {
        if is_kind(observation, "null") {
            continue;
        }
        // In a pair whose action is not a call, the user ran the command.
        if let Some(call) = read.calls.first() {
            answers.push(ResultRef { denial: denial(observation), ..ResultRef::new(observation.json, call.id) });
        }
        let content = observation.get("content");
        parts.push(Part { json: content.unwrap_or(observation.json), kind: PartKind::Result(text_content(content)) });
    }
    read.content = with_parts(read.content, Some(first.json), parts);
    read.results = answers.into();
    Ok(read)
}

fn groups(messages: &[Message<'_>]) -> Vec<(usize, usize)> {
    let mut groups = of_one_answer(messages, answer_id);
    // A condensation names events before it.
    if let Some(last) = messages.iter().rposition(|message| message.is_boundary)
        && last > 0
    {
        groups.push((0, last));
    }
    groups
}

/// The id of the model's answer, which each of its actions repeats.
fn answer_id<'a>(message: &Message<'a>) -> Option<Text<'a>> {
    message.json.at(&["tool_call_metadata", "model_response", "id"])?.text()
}

fn result_output<'a>(_message: &Message<'a>, answer: &ResultRef<'a>) -> Option<CallOutput<'a>> {
    let event = action(answer.json)?;
    let output = CallOutput::in_content(event, "text")?;
    let has_failed = event.member_is("observation", "error") || exit_code(event).is_some_and(|code| code > 0);
    Some(output.with_failure(has_failed))
}

/// The exit code of a command, beside its output or among the output's metadata.
fn exit_code(event: Json<'_>) -> Option<i64> {
    let code = ["metadata", "exit_code"].iter().find_map(|key| event.at(&["extras", key]))?;
    code.get("exit_code").unwrap_or(code).raw().parse().ok()
}

fn write_summary(summary: &SummaryMessage<'_>, at: &InsertionPoint<'_, '_>) -> Vec<Value> {
    let neighbour = at.neighbour();
    let mut event = Map::new();
    // Numbers ascend, and that of the last removed event is free.
    let before = &at.transcript.messages[..at.cutoff.min(at.transcript.messages.len())];
    let removed = (at.removed)();
    let last_removed = before.iter().rfind(|message| removed.binary_search(&message.span().start).is_ok());
    if let Some(replaced) = last_removed.or(before.last()) {
        copy_member(action(replaced.json), "id", &mut event);
    }
    copy_member(neighbour.and_then(action), "timestamp", &mut event);
    event.insert("source".to_owned(), json!("user"));
    event.insert("message".to_owned(), json!(summary.text));
    event.insert("action".to_owned(), json!("message"));
    event.insert("args".to_owned(), json!({"content": summary.text, "wait_for_response": false}));
    let event = Value::Object(event);
    let is_in_pairs = neighbour.is_some_and(|neighbour| neighbour.kind() == JsonKind::Array);
    if is_in_pairs {
        let nothing = json!({"message": "No observation", "observation": "null", "content": "", "extras": {}});
        return vec![json!([event, nothing])];
    }
    vec![event]
}

/// Copies a member of another event to a new one.
fn copy_member(from: Option<Json<'_>>, key: &str, event: &mut Map<String, Value>) {
    if let Some(from) = from
        && let Some(value) = from.get(key)
    {
        event.insert(key.to_owned(), copied(value));
    }
}

/// Writes an observation without a number: events are numbered in order, and none is free.
fn write_result(call: &Call<'_>, calling: &Message<'_>, text: &str) -> Option<NewResult> {
    if calling.json.kind() == JsonKind::Array {
        return None;
    }
    let (number, metadata) = (call.json.get("id"), call.json.get("tool_call_metadata"));
    // Nothing else names the action.
    number.or(metadata)?;
    let mut event = Map::new();
    copy_member(Some(call.json), "timestamp", &mut event);
    event.insert("source".to_owned(), json!("agent"));
    event.insert("message".to_owned(), json!(text));
    if let Some(number) = number {
        event.insert("cause".to_owned(), copied(number));
    }
    copy_member(Some(call.json), "tool_call_metadata", &mut event);
    event.insert("observation".to_owned(), json!("error"));
    event.insert("content".to_owned(), json!(text));
    event.insert("extras".to_owned(), json!({"error_id": ""}));
    Some(NewResult::Entry(Value::Object(event)))
}

impl Session for OpenHands {
    fn entries(&self, values: Items<'_>) -> Vec<EntryKind> {
        let events: Vec<Object<'_>> = values.map(Object::of).collect();
        let mut forgotten = Forgotten::default();
        let mut has_summary = false;
        let mut entries = Vec::with_capacity(events.len());
        // From the end: a condensation forgets only events before it, and numbers may repeat.
        for event in events.iter().rev() {
            entries.push(if is_condensation(event) {
                forgotten.add(event);
                // The last summary is sent.
                let is_sent = !has_summary && argument(event, "summary").is_some();
                has_summary |= is_sent;
                if is_sent { EntryKind::Message } else { EntryKind::Note(Retention::Obsolete) }
            } else if event.get("id").is_some_and(|id| forgotten.has(id)) {
                EntryKind::Note(Retention::Obsolete)
            } else if event.json.kind() == JsonKind::Object && NOT_SENT.iter().any(|kind| is_kind(event, kind)) {
                EntryKind::Note(Retention::WithPrevious)
            } else {
                EntryKind::Message
            });
        }
        entries.reverse();
        entries
    }

    fn age(&self, _entry: Json<'_>, summary: &Message<'_>) -> Option<Age> {
        // What a condensation keeps stays before it.
        if is_condensation(&Object::of(summary.json)) { Some(Age::Newer) } else { None }
    }
}

/// The numbers of the events that condensations forget.
#[derive(Default)]
struct Forgotten<'a> {
    ids: HashSet<&'a str>,
    ranges: Vec<RangeInclusive<u64>>,
}

impl<'a> Forgotten<'a> {
    fn add(&mut self, condensation: &Object<'a>) {
        if let Some(ids) = argument(condensation, "forgotten_event_ids") {
            self.ids.extend(ids.items().map(|id| id.raw()));
        }
        let first = number(condensation, "forgotten_events_start_id");
        let last = number(condensation, "forgotten_events_end_id");
        if let (Some(first), Some(last)) = (first, last) {
            self.ranges.push(first..=last);
        }
    }

    fn has(&self, id: Json<'_>) -> bool {
        if self.ids.contains(id.raw()) {
            return true;
        }
        let Ok(number) = id.raw().parse::<u64>() else { return false };
        self.ranges.iter().any(|range| range.contains(&number))
    }
}

/// The event of a message, or the first of its two.
fn action(message: Json<'_>) -> Option<Json<'_>> {
    if message.kind() == JsonKind::Array { message.items().next() } else { Some(message) }
}

fn is_event(event: &Object<'_>) -> bool {
    // Other programs write the action and the observation into one object.
    if event.get_text("action").is_some() == event.get_text("observation").is_some() {
        return false;
    }
    match event.get_text("source") {
        Some(source) => source.is_in(&SOURCES),
        None => event.get("cause").is_some(),
    }
}

fn is_kind(event: &Object<'_>, kind: &str) -> bool {
    let key = if event.get("action").is_some() { "action" } else { "observation" };
    event.member_is(key, kind)
}

/// The record that the user rejected an action: a kind of observation of its own.
fn denial<'a>(event: &Object<'a>) -> Option<Box<Denial<'a>>> {
    /// How the program's own words begin.
    const PROGRAM: [&str; 3] =
        ["Action has been rejected by the user", "The action has been rejected", "User rejected"];
    if !event.member_is("observation", "user_rejected") {
        return None;
    }
    let said = event.get_text("content").filter(|said| !PROGRAM.iter().any(|opening| said.starts_with(opening)));
    Some(Box::new(Denial::new(said)))
}

fn is_condensation(event: &Object<'_>) -> bool {
    event.member_is("action", "condensation")
}

fn argument<'a>(event: &Object<'a>, key: &str) -> Option<Json<'a>> {
    let value = event.get("args")?.get(key)?;
    if value.kind() == JsonKind::Null { None } else { Some(value) }
}

/// The first of these arguments that an event has.
fn first_argument<'a>(event: &Object<'a>, keys: &[&str]) -> Option<Json<'a>> {
    keys.iter().find_map(|key| argument(event, key))
}

fn number(event: &Object<'_>, key: &str) -> Option<u64> {
    argument(event, key)?.raw().parse().ok()
}

fn text_content(json: Option<Json<'_>>) -> Content<'_> {
    json.and_then(|json| json.text()).map_or_else(Content::empty, Content::Text)
}

/// Reads an event of the message `json`.
fn event<'a>(json: Json<'a>, event: &Object<'a>) -> Message<'a> {
    let Some(action) = event.get_text("action") else { return observation(json, event) };
    let is_by_agent = event.member_is("source", "agent");
    if !is_by_agent || action.is_in(&["message", "system", "condensation", "finish", "reject"]) {
        return utterance(json, event, action);
    }
    let mut parts = Vec::new();
    if let Some(thought) = argument(event, "thought")
        && let Some(text) = thought.text()
        && !text.is_empty()
    {
        parts.push(Part { json: thought, kind: PartKind::Text(text) });
    }
    let args = event.get("args");
    if let Some(json) = args {
        parts.push(Part { json, kind: PartKind::Call });
    }
    // An editor is one tool for reading and editing: only the action says which.
    let name = if action.is("read") { None } else { event.at(&["tool_call_metadata", "function_name"]) };
    let call = Call {
        json: event.json,
        id: call_id(event).or_else(|| id(event.get("id"))),
        name: name.and_then(|name| name.text()).or(Some(action)),
        arguments: args.map_or(Arguments::Absent, Arguments::Value),
        place: CallPlace::Content,
    };
    Message {
        role: Role::Assistant,
        content: Content::of_parts(parts.into()),
        calls: ThinList::from([call]),
        ..Message::empty(json)
    }
}

/// Reads an observation of the message `json`.
fn observation<'a>(json: Json<'a>, event: &Object<'a>) -> Message<'a> {
    let content = text_content(event.get("content"));
    let answered = call_id(event).or_else(|| id(event.get("cause")));
    if answered.is_none() {
        return Message { role: Role::User, content, ..Message::empty(json) };
    }
    let result = ResultRef { denial: denial(event), ..ResultRef::new(json, answered) };
    Message { role: Role::Tool, content, results: ThinList::from([result]), ..Message::empty(json) }
}

/// Reads an action of the message `json` with which somebody speaks.
fn utterance<'a>(json: Json<'a>, event: &Object<'a>, action: Text<'a>) -> Message<'a> {
    let words = first_argument(event, &["content", "summary", "final_thought", "thought", "command"]);
    let words = words.or_else(|| event.get("message"));
    let mut pictures = Vec::new();
    for json in elements(argument(event, "image_urls"), JsonKind::String) {
        pictures.push(Part { json, kind: PartKind::Media(MediaKind::Picture) });
    }
    let is_condensation = action.is("condensation");
    let role = if action.is("system") {
        Role::System
    } else if event.member_is("source", "agent") && !is_condensation {
        Role::Assistant
    } else {
        Role::User
    };
    Message {
        role,
        content: with_parts(text_content(words), words, pictures),
        earlier: is_condensation,
        is_boundary: is_condensation,
        ..Message::empty(json)
    }
}

/// The id of the model's call, which actions and observations name.
fn call_id<'a>(event: &Object<'a>) -> Option<Text<'a>> {
    id(event.get("tool_call_metadata")?.get("tool_call_id"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::framing;

    fn told(source: &str) -> (Vec<String>, Vec<(usize, usize)>) {
        let document = framing::read_for_test(source, None, None).expect("a transcript");
        let transcript = &document.transcripts[0];
        assert_eq!(transcript.format.name, "openhands");
        let first = |message: &Message<'_>| message.content.texts().first().map(|text| text.decode().into_owned());
        let texts = transcript.messages.iter().map(|message| first(message).unwrap_or_default());
        (texts.collect(), [transcript.pairing.pairs.as_slice(), transcript.groups.as_slice()].concat())
    }

    #[test]
    fn results_name_the_call_or_the_action() {
        let source = r#"{"history":[
            {"id":0,"source":"environment","observation":"agent_state_changed","content":""},
            {"id":1,"source":"user","action":"message","args":{"content":"u"}},
            {"id":2,"source":"agent","action":"run","args":{"command":"ls","thought":"look"}},
            {"id":3,"source":"agent","cause":2,"observation":"run","content":"r"},
            {"id":4,"source":"agent","action":"read","args":{"path":"a"},"tool_call_metadata":{"tool_call_id":"c","model_response":{"id":"m"}}},
            {"id":5,"source":"agent","action":"read","args":{"path":"b"},"tool_call_metadata":{"tool_call_id":"d","model_response":{"id":"m"}}},
            {"id":6,"source":"agent","cause":5,"observation":"read","content":"b","tool_call_metadata":{"tool_call_id":"d","model_response":{"id":"m"}}},
            {"id":7,"source":"agent","cause":4,"observation":"read","content":"a","tool_call_metadata":{"tool_call_id":"c","model_response":{"id":"m"}}}]}"#;
        let (texts, groups) = told(source);
        assert_eq!(texts, ["u", "look", "r", "", "", "b", "a"]);
        assert_eq!(groups, [(1, 2), (4, 5), (3, 6), (3, 6)]);
    }

    #[test]
    fn a_list_of_two_holds_its_result() {
        let source = r#"[[{"id":0,"source":"user","action":"message","args":{"content":"u"}},{"observation":"null","content":""}],
            [{"id":1,"source":"agent","action":"run","args":{"command":"ls"}},{"id":2,"source":"agent","cause":1,"observation":"run","content":"r"}]]"#;
        assert_eq!(told(source), (vec!["u".to_owned(), "r".to_owned()], Vec::new()));
        let document = framing::read_for_test(source, None, None).expect("a transcript");
        let messages = &document.transcripts[0].messages;
        assert_eq!((messages[1].calls.len(), messages[1].results.len()), (1, 1));
    }

    #[test]
    fn a_lone_pair_is_not_a_list_within_a_list() {
        let pair =
            r#"[{"source":"user","action":"message","args":{"content":"u"}},{"observation":"null","content":""}]"#;
        assert_eq!(told(&format!(r#"{{"history":[{pair}]}}"#)), (vec!["u".to_owned()], Vec::new()));
        assert_eq!(told(&format!("[{pair}]")), (vec!["u".to_owned()], Vec::new()));
    }

    #[test]
    fn forgotten_events_are_not_messages() {
        let event = |id: u8| format!(r#"{{"id":{id},"source":"user","action":"message","args":{{"content":"{id}"}}}}"#);
        let condensation = r#"{"id":3,"source":"agent","action":"condensation","args":{"forgotten_event_ids":[1],"forgotten_events_start_id":null,"summary":"s","summary_offset":1}}"#;
        let source = format!("[{},{},{},{condensation},{}]", event(0), event(1), event(2), event(4));
        let (texts, groups) = told(&source);
        assert_eq!(texts, ["0", "2", "s", "4"]);
        assert_eq!(groups, [(0, 2)]);
        let range = condensation
            .replace("[1]", "null")
            .replace("start_id\":null", "start_id\":1,\"forgotten_events_end_id\":2");
        assert_eq!(told(&source.replace(condensation, &range)).0, ["0", "s", "4"]);
        let again = source.replace(r#"{"id":4,"#, r#"{"id":1,"#);
        assert_eq!(told(&again).0, ["0", "2", "s", "4"], "what comes after it is not what it forgot");
    }
}
