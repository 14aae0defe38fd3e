//! Events of OpenHands: actions, and the observations that answer them.
//!
//! A call is an action of the agent, its result an observation. Both name the model's call, or the observation names
//! the action by its number. Runs from before mid-2024 hold an action and its observation in a list of two. A
//! `condensation` replaces events by a summary.

use std::collections::HashSet;

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
    if message.json.kind() == JsonKind::Array {
        let events: Vec<Json<'_>> = message.json.items().collect();
        let is_pair = matches!(events.as_slice(), [action, observation]
            if is_event(&Object::of(*action)) && action.get("action").is_some() && observation.get_text("observation").is_some());
        return if is_pair { MatchScore::Own("actions with their observations") } else { MatchScore::Mismatch };
    }
    if is_event(message) { MatchScore::Own("actions and observations") } else { MatchScore::Mismatch }
}

fn read<'a>(message: &Object<'a>) -> Result<Message<'a>, String> {
    let json = message.json;
    let events: Vec<Object<'a>> = match json.kind() {
        JsonKind::Array => json.items().map(Object::of).collect(),
        JsonKind::Object => vec![message.clone()],
        kind => return Err(format!("is {}, not an event", kind.noun())),
    };
    let Some(first) = events.first().filter(|event| is_event(event)) else {
        return Err("is neither an action nor an observation".to_owned());
    };
    let mut read = event(json, first);
    let mut answers: Vec<ResultRef<'a>> = read.results.into_iter().collect();
    let mut parts = Vec::new();
    for observation in events.iter().skip(1).filter(|observation| !is_kind(observation, "null")) {
        let text = observation.get_text("content").map_or_else(Content::empty, Content::Text);
        // In a pair whose action is not a call, the user ran the command.
        let result =
            |call: &Call<'a>| ResultRef { denial: denial(observation), ..ResultRef::new(observation.json, call.id) };
        answers.extend(read.calls.first().map(result));
        parts.push(Part { json: observation.get("content").unwrap_or(observation.json), kind: PartKind::Result(text) });
    }
    read.content = with_parts(read.content, Some(first.json), parts);
    read.results = answers.into();
    Ok(read)
}

fn groups(messages: &[Message<'_>]) -> Vec<(usize, usize)> {
    let mut groups = of_one_answer(messages, |message| {
        message.json.at(&["tool_call_metadata", "model_response", "id"]).and_then(|id| id.text())
    });
    // A condensation names events before it.
    let last = messages.iter().rposition(|message| message.is_boundary);
    groups.extend(last.filter(|last| *last > 0).map(|last| (0, last)));
    groups
}

fn result_output<'a>(_message: &Message<'a>, answer: &ResultRef<'a>) -> Option<CallOutput<'a>> {
    let event = action(answer.json)?;
    let kind = event.member_is("observation", "error");
    let code = ["metadata", "exit_code"].iter().find_map(|key| event.at(&["extras", key]));
    let code = code.and_then(|code| code.get("exit_code").or(Some(code)));
    let failed = code.and_then(|code| code.raw().parse::<i64>().ok()).is_some_and(|code| code > 0);
    CallOutput::in_content(event, "text").map(|output| output.with_failure(kind || failed))
}

fn write_summary(summary: &SummaryMessage<'_>, at: &InsertionPoint<'_, '_>) -> Vec<Value> {
    let neighbour = at.neighbour();
    let is_pair = neighbour.is_some_and(|neighbour| neighbour.kind() == JsonKind::Array);
    let mut event = Map::new();
    // Numbers ascend, and that of the last removed event is free.
    let before = &at.transcript.messages[..at.cutoff.min(at.transcript.messages.len())];
    let removed = (at.removed)();
    let is_removed = |message: &&Message<'_>| removed.binary_search(&message.span().start).is_ok();
    let replaced = before.iter().rfind(is_removed).or(before.last()).map(|message| message.json);
    let number = replaced.and_then(action).and_then(|event| event.get("id"));
    event.extend(number.map(|id| ("id".to_owned(), copied(id))));
    let time = neighbour.and_then(action).and_then(|event| event.get("timestamp"));
    event.extend(time.map(|time| ("timestamp".to_owned(), copied(time))));
    let said = json!({"source": "user", "message": summary.text, "action": "message",
                      "args": {"content": summary.text, "wait_for_response": false}});
    if let Value::Object(said) = said {
        event.extend(said);
    }
    let event = Value::Object(event);
    let nothing = || json!({"message": "No observation", "observation": "null", "content": "", "extras": {}});
    vec![if is_pair { json!([event, nothing()]) } else { event }]
}

/// Writes an observation without a number: events are numbered in order, and none is free.
fn write_result(call: &Call<'_>, calling: &Message<'_>, text: &str) -> Option<NewResult> {
    if calling.json.kind() == JsonKind::Array {
        return None;
    }
    let mut event = Map::new();
    let timestamp = call.json.get("timestamp");
    event.extend(timestamp.map(|time| ("timestamp".to_owned(), copied(time))));
    event.insert("source".to_owned(), json!("agent"));
    event.insert("message".to_owned(), json!(text));
    event.extend(call.json.get("id").map(|id| ("cause".to_owned(), copied(id))));
    let metadata = call.json.get("tool_call_metadata");
    event.extend(metadata.map(|metadata| ("tool_call_metadata".to_owned(), copied(metadata))));
    // Nothing else names the action.
    event.get("cause").or_else(|| event.get("tool_call_metadata"))?;
    event.insert("observation".to_owned(), json!("error"));
    event.insert("content".to_owned(), json!(text));
    event.insert("extras".to_owned(), json!({"error_id": ""}));
    Some(NewResult::Entry(Value::Object(event)))
}

impl Session for OpenHands {
    fn entries(&self, values: Items<'_>) -> Vec<EntryKind> {
        let events: Vec<Object<'_>> = values.map(Object::of).collect();
        let summarizes = |event: &Object<'_>| is_condensation(event) && argument(event, "summary").is_some();
        let last = events.iter().rposition(summarizes);
        let mut forgotten: HashSet<&str> = HashSet::new();
        let mut ranges: Vec<(u64, u64)> = Vec::new();
        // Iterates from the end: a condensation forgets only events before it, and numbers may repeat.
        let entry = |index: usize| {
            let event = &events[index];
            if is_condensation(event) {
                forgotten.extend(
                    argument(event, "forgotten_event_ids").into_iter().flat_map(|ids| ids.items()).map(|id| id.raw()),
                );
                let end = |key| argument(event, key).and_then(|id| id.raw().parse().ok());
                ranges.extend(end("forgotten_events_start_id").zip(end("forgotten_events_end_id")));
                return if Some(index) == last { EntryKind::Message } else { EntryKind::Note(Retention::Obsolete) };
            }
            let is_within = |number: u64| ranges.iter().any(|(first, last)| (*first..=*last).contains(&number));
            let is_forgotten = |id: &Json<'_>| forgotten.contains(id.raw()) || id.raw().parse().is_ok_and(is_within);
            match event {
                _ if event.get("id").as_ref().is_some_and(is_forgotten) => EntryKind::Note(Retention::Obsolete),
                _ if event.json.kind() == JsonKind::Object && NOT_SENT.iter().any(|kind| is_kind(event, kind)) => {
                    EntryKind::Note(Retention::WithPrevious)
                }
                _ => EntryKind::Message,
            }
        };
        let mut entries: Vec<EntryKind> = (0..events.len()).rev().map(entry).collect();
        entries.reverse();
        entries
    }

    fn age(&self, _entry: Json<'_>, summary: &Message<'_>) -> Option<Age> {
        // What a condensation keeps stays before it.
        is_condensation(&Object::of(summary.json)).then_some(Age::Newer)
    }
}

/// The event of a message, or the first of its two.
fn action(message: Json<'_>) -> Option<Json<'_>> {
    if message.kind() == JsonKind::Array { message.items().next() } else { Some(message) }
}

fn is_event(event: &Object<'_>) -> bool {
    let has = |key| event.get_text(key).is_some();
    // Other programs write the action and the observation into one object.
    let is_by_known = event.get_text("source").is_some_and(|source| source.is_in(&SOURCES));
    has("action") != has("observation") && (is_by_known || !has("source") && event.get("cause").is_some())
}

fn is_kind(event: &Object<'_>, kind: &str) -> bool {
    let is = |key| event.member_is(key, kind);
    if event.get("action").is_some() { is("action") } else { is("observation") }
}

/// The record that the user rejected an action: a kind of observation of its own.
fn denial<'a>(event: &Object<'a>) -> Option<Box<Denial<'a>>> {
    /// How the program's own words begin.
    const PROGRAM: [&str; 3] =
        ["Action has been rejected by the user", "The action has been rejected", "User rejected"];
    event.get_text("observation").filter(|kind| kind.is("user_rejected"))?;
    let said = event.get_text("content").filter(|said| !PROGRAM.iter().any(|opening| said.starts_with(opening)));
    Some(Box::new(Denial::new(said)))
}

fn is_condensation(event: &Object<'_>) -> bool {
    event.member_is("action", "condensation")
}

fn argument<'a>(event: &Object<'a>, key: &str) -> Option<Json<'a>> {
    event.get("args")?.get(key).filter(|value| value.kind() != JsonKind::Null)
}

/// Reads an event of the message `json`.
fn event<'a>(json: Json<'a>, event: &Object<'a>) -> Message<'a> {
    let is_by_agent = event.member_is("source", "agent");
    let is_condensation = is_condensation(event);
    let mut read =
        Message { role: Role::User, earlier: is_condensation, is_boundary: is_condensation, ..Message::empty(json) };
    let call_id = || event.get("tool_call_metadata").and_then(|call| id(call.get("tool_call_id")));
    let text = |json: Option<Json<'a>>| json.and_then(|json| json.text()).map_or_else(Content::empty, Content::Text);
    let Some(action) = event.get_text("action") else {
        let answered = call_id().or_else(|| id(event.get("cause")));
        if answered.is_some() {
            read.role = Role::Tool;
            read.results = ThinList::from([ResultRef { denial: denial(event), ..ResultRef::new(json, answered) }]);
        }
        read.content = text(event.get("content"));
        return read;
    };
    let said = ["content", "summary", "final_thought"].iter().find_map(|key| argument(event, key));
    let speaks = ["message", "system", "condensation", "finish", "reject"].iter().any(|kind| action.is(kind));
    if speaks || !is_by_agent {
        let own = said.or_else(|| argument(event, "thought")).or_else(|| argument(event, "command"));
        let own = own.or_else(|| event.get("message"));
        let pictures = elements(argument(event, "image_urls"), JsonKind::String);
        let pictures = pictures.map(|json| Part { json, kind: PartKind::Media(MediaKind::Picture) });
        read.content = with_parts(text(own), own, pictures.collect());
        read.role = if action.is("system") {
            Role::System
        } else if is_by_agent && !read.earlier {
            Role::Assistant
        } else {
            Role::User
        };
        return read;
    }
    read.role = Role::Assistant;
    let args = event.get("args");
    let thought =
        argument(event, "thought").and_then(|json| Some((json, json.text().filter(|text| !text.is_empty())?)));
    let thought = thought.map(|(json, text)| Part { json, kind: PartKind::Text(text) });
    let call = args.map(|json| Part { json, kind: PartKind::Call });
    read.content = Content::of_parts(thought.into_iter().chain(call).collect());
    // An editor is one tool for reading and editing: only the action says which.
    let name = event.get("tool_call_metadata").and_then(|call| call.get_text("function_name"));
    let name = name.filter(|_| !action.is("read"));
    read.calls = ThinList::from([Call {
        json: event.json,
        id: call_id().or_else(|| id(event.get("id"))),
        name: name.or(Some(action)),
        arguments: args.map_or(Arguments::Absent, Arguments::Value),
        place: CallPlace::Content,
    }]);
    read
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
