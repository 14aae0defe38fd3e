//! Sessions of Claude Code: one event a line, among them the messages of the Messages API.
//!
//! The API's message is under `message`; one message of the model may be split over several lines, one block each.
//! Lines name their parent. Claude Code no longer sends lines before the last `compact_boundary`, branches that the
//! user abandoned, and messages of sub-agents. `claude -p --output-format stream-json` writes the same lines without
//! links.

use std::borrow::Cow;
use std::collections::{HashMap, HashSet};

use serde_json::{Map, Value, json};

use crate::transcript::foreign;
use crate::transcript::format::{
    EntryKind, EnvelopeFit, Fit, Format, InsertionPoint, MessageReader, MessageWriter, OrderRules, Retention,
    SummaryMessage, SummaryPosition, Transcript,
};
use crate::transcript::formats::shared::fields::copied;
use crate::transcript::formats::shared::groups::of_one_answer;
use crate::transcript::formats::shared::links::{Keys, Links, uuid};
use crate::transcript::formats::shared::tool_use;
use crate::transcript::json::{Items, Json, Kind, Object};
use crate::transcript::message::{Call, Content, Message, Part, ResultRef};
use crate::transcript::order::{Order, Results};
use crate::transcript::outputs::Output;
use crate::transcript::text::Text;

/// The format's row.
#[derive(Debug)]
pub(super) struct ClaudeCode;

const KEYS: Keys = Keys { id: "uuid", parent: "parentUuid" };

/// The members of all lines of a session, in order.
const COMMON: [&str; 12] = [
    "isSidechain",
    "userType",
    "entrypoint",
    "cwd",
    "sessionId",
    "version",
    "gitBranch",
    "slug",
    "agentId",
    "teamName",
    "session_id",
    "parent_tool_use_id",
];

impl Format for ClaudeCode {
    fn name(&self) -> &'static str {
        "claude-code"
    }

    fn about(&self) -> &'static str {
        "sessions of Claude Code, and its stream-json"
    }
}

impl MessageReader for ClaudeCode {
    fn fit(&self, message: &Object<'_>) -> Fit {
        // A value that is no object is no line of a session and stays unchanged.
        if message.json.kind() != Kind::Object {
            return Fit::Neutral;
        }
        match message.get_text("type") {
            _ if is_foreign(message) => Fit::Mismatch,
            Some(kind) if is_speaker(kind) => match message.get("message") {
                Some(inner) if inner.get("content").is_some() => Fit::Own("a message in a line of a session"),
                None if is_of_session(message) => Fit::Neutral,
                _ => Fit::Mismatch,
            },
            Some(_) if message.get("role").is_none() || message.get("content").is_none() => Fit::Neutral,
            None if is_of_session(message) => Fit::Neutral,
            _ => Fit::Mismatch,
        }
    }

    fn fit_envelope(&self, envelope: &Object<'_>) -> EnvelopeFit {
        if envelope.get("loglines").is_some() { EnvelopeFit::Likely } else { EnvelopeFit::Unknown }
    }

    fn paths(&self) -> &'static [&'static [&'static str]] {
        &[&["loglines"]]
    }

    fn entries(&self, values: Items<'_>) -> Vec<EntryKind> {
        let lines: Vec<Object<'_>> = values.map(Object::of).collect();
        let is_message = |line: &Object<'_>| {
            line.get_text("type").is_some_and(is_speaker) && line.get("message").is_some() || is_foreign(line)
        };
        // In the file of a sub-agent every line is a sidechain. In other files a sub-agent's compactions concern only
        // itself.
        let all_sidechain = lines.iter().filter(|line| is_message(line)).all(is_sidechain);
        let is_main_boundary = |line: &Object<'_>| is_boundary(line) && (all_sidechain || !is_sidechain(line));
        let cut = lines.iter().rposition(is_main_boundary).unwrap_or(0);
        let is_undone = is_undone(&lines[cut..]);
        let by_id: HashMap<_, usize> = lines
            .iter()
            .enumerate()
            .filter_map(|(index, line)| Some((line.get_text("uuid")?.decode(), index)))
            .collect();
        let mut has_message = false;
        let entry = |(index, line): (usize, &Object<'_>)| {
            let is_linked = line.get("uuid").is_some() || line.get("parentUuid").is_some();
            let message = line.get_text("messageId").and_then(|id| by_id.get(&id.decode())).copied();
            EntryKind::Note(match message {
                _ if index < cut && is_linked => Retention::Obsolete,
                Some(message) if message < cut => Retention::Obsolete,
                Some(message) => Retention::With(message),
                None if is_main_boundary(line) => Retention::Obsolete,
                None if index >= cut && is_undone[index - cut] => Retention::Obsolete,
                None if index >= cut && is_message(line) && (all_sidechain || !is_sidechain(line)) => {
                    has_message = true;
                    return EntryKind::Message;
                }
                // The output of hooks before the first message, which has it as its parent.
                None if is_linked && !has_message && line.get("parentUuid").is_some() => Retention::Obsolete,
                None if is_linked || line.get("snapshot").is_some() || line.get("session_id").is_some() => {
                    Retention::WithPrevious
                }
                // A title, the mode, a queue: it concerns the whole session.
                None => Retention::Always,
            })
        };
        lines.iter().enumerate().map(entry).collect()
    }

    fn metadata_members(&self) -> &'static [&'static str] {
        &["cwd", "gitBranch", "todos", "toolUseResult"]
    }

    fn message<'a>(&self, message: &Object<'a>) -> Result<Message<'a>, String> {
        if is_foreign(message) {
            let part = Part { json: message.json, kind: foreign::part(message.json) };
            return Ok(Message { content: Content::Parts(Box::new([part])), ..Message::empty(message.json) });
        }
        let Some(inner) = message.get("message").filter(|inner| inner.kind() == Kind::Object) else {
            return Err("is no line with a message".to_owned());
        };
        let read = tool_use::message(&Object::of(inner))?;
        Ok(Message { json: message.json, earlier: is_true(message, "isCompactSummary"), ..read })
    }

    fn skips_broken_lines(&self) -> bool {
        true
    }

    fn refusal(&self, transcript: &Transcript<'_>) -> Option<String> {
        let of_main = |line: &Object<'_>| is_boundary(line) && !is_sidechain(line);
        let boundary = transcript.notes.iter().rev().find(|note| of_main(&Object::of(note.json)))?;
        let kept = boundary.json.at(&["compactMetadata", "preservedSegment"])?;
        (!kept.is_falsy()).then(|| "its last compaction kept messages that stand before it".to_owned())
    }
}

impl MessageWriter for ClaudeCode {
    fn output<'a>(&self, message: &Message<'a>, answer: &ResultRef<'a>) -> Option<Output<'a>> {
        answer.json.get_text("type").filter(|kind| kind.is("tool_result") || kind.is("mcp_tool_result"))?;
        // The agent displays this copy; the model is not sent it.
        let copy = message.json.get("toolUseResult").filter(|_| message.results.len() == 1);
        Output::in_content(answer.json, "text").map(|output| output.with_copies(copy))
    }

    fn summary_position(&self, transcript: &Transcript<'_>) -> SummaryPosition {
        // Claude Code does not load lines before a boundary.
        let is_linked = transcript.messages.iter().any(|message| message.json.get("parentUuid").is_some());
        if is_linked { SummaryPosition::First } else { SummaryPosition::AfterPinned }
    }

    fn summary(&self, summary: &SummaryMessage<'_>, at: &InsertionPoint<'_, '_>) -> Vec<Value> {
        let message = json!({"role": "user", "content": summary.text});
        let Some(neighbour) = at.neighbour() else { return vec![json!({"type": "user", "message": message})] };
        let line = Line { neighbour };
        let new = uuid(&[summary.text, neighbour.raw()]);
        if neighbour.get("parentUuid").is_none() {
            let id = neighbour.get("uuid").is_some().then_some(new);
            return vec![line.user(message, id, Map::new())];
        }
        let links = Links::of(at, KEYS);
        let id = links.end_of_walk().map_or(new, Cow::into_owned);
        let boundary = uuid(&["boundary", &id]);
        let marks = json!({"isVisibleInTranscriptOnly": true, "isCompactSummary": true});
        let mut lines = vec![
            line.boundary(&boundary, at),
            linked(Some(&boundary), line.user(message, Some(id.clone()), members(marks))),
        ];
        let mut bridged = HashSet::from([Cow::from(id.clone())]);
        let gaps = links.kept.iter().filter_map(|entry| links.removed_parent(*entry));
        lines
            .extend(gaps.filter(|gap| bridged.insert(gap.clone())).map(|gap| linked(Some(&id), line.empty_line(&gap))));
        lines
    }

    fn result(&self, call: &Call<'_>, calling: &Message<'_>, text: &str) -> Option<Value> {
        let result = tool_use::result(call, text)?;
        let id = calling.json.get_text("uuid");
        let new = id.map(|id| uuid(&["result", &id.decode(), call.json.raw()]));
        let line = Line { neighbour: calling.json }.user(json!({"role": "user", "content": [result]}), new, Map::new());
        Some(match id {
            Some(id) if calling.json.get("parentUuid").is_some() => linked(Some(&id.decode()), line),
            _ => line,
        })
    }

    fn placeholder(&self, entry: Json<'_>) -> Option<Value> {
        let (id, parent) = (entry.get_text("uuid")?, entry.get("parentUuid")?.text().map(|parent| parent.decode()));
        Some(linked(parent.as_deref(), Line { neighbour: entry }.empty_line(&id.decode())))
    }
}

impl OrderRules for ClaudeCode {
    fn order(&self, _envelope: Option<&Object<'_>>, _messages: &[Message<'_>]) -> Order {
        Order::of(Results::Behind)
    }

    fn groups(&self, messages: &[Message<'_>]) -> Vec<(usize, usize)> {
        of_one_answer(messages, |message| message.json.at(&["message", "id"])?.text())
    }
}

/// Whether a line of any kind belongs to a session.
fn is_of_session(line: &Object<'_>) -> bool {
    ["sessionId", "session_id", "parentUuid"].iter().any(|key| line.get(key).is_some())
}

/// Whether a line is itself a call or a result, as only other agents write them, or holds a message without being a
/// message line: it has no type, or the message has another name.
fn is_foreign(line: &Object<'_>) -> bool {
    let is_message = |value: Json<'_>| value.get("role").is_some() && value.get("content").is_some();
    match (line.get_text("type"), line.get("message")) {
        (Some(kind), None) if is_speaker(kind) => line.json.entries().any(|(_, value)| is_message(value)),
        (Some(kind), Some(_)) if is_speaker(kind) => false,
        (Some(_), _) => foreign::could_be_call_or_result(line.json),
        (None, message) => message.is_some_and(is_message),
    }
}

fn is_speaker(kind: Text<'_>) -> bool {
    kind.is("user") || kind.is("assistant")
}

fn is_true(line: &Object<'_>, key: &str) -> bool {
    line.get(key).is_some_and(|value| value.raw() == "true")
}

/// Whether a line is a message to or from a sub-agent.
fn is_sidechain(line: &Object<'_>) -> bool {
    is_true(line, "isSidechain") || line.get("parent_tool_use_id").is_some_and(|id| !id.is_falsy())
}

/// Whether a line marks that everything before it is no longer sent. In a stream, no summary replaces that.
fn is_boundary(line: &Object<'_>) -> bool {
    line.get_text("subtype").is_some_and(|subtype| subtype.is("compact_boundary")) && line.get("parentUuid").is_some()
}

/// Returns for each line whether the user went back before it: of several prompts with the same parent, all lines from
/// the first prompt to the last one.
fn is_undone(lines: &[Object<'_>]) -> Vec<bool> {
    let is_prompt = |line: &Object<'_>| {
        line.get_text("type").is_some_and(|kind| kind.is("user"))
            && !is_sidechain(line)
            && !is_true(line, "isMeta")
            && line.get("message").and_then(|message| message.get("content")).is_some_and(|content| {
                content.items().all(|block| !block.get_text("type").is_some_and(|kind| kind.is("tool_result")))
            })
    };
    let prompts = || lines.iter().enumerate().filter(|(_, line)| is_prompt(line));
    let last: HashMap<_, usize> = prompts().filter_map(|(index, line)| Some((parent(line)?, index))).collect();
    let mut ends: Vec<usize> = vec![0; lines.len()];
    for (index, line) in prompts() {
        ends[index] = parent(line).and_then(|id| last.get(&id).copied()).unwrap_or_default();
    }
    let mut until = 0;
    let is_before = |(index, end): (usize, usize)| {
        until = until.max(end);
        index < until
    };
    ends.into_iter().enumerate().map(is_before).collect()
}

fn parent<'a>(line: &Object<'a>) -> Option<Cow<'a, str>> {
    line.get_text("parentUuid").map(|id| id.decode())
}

/// Writes lines like a neighbour of the same session.
struct Line<'a> {
    neighbour: Json<'a>,
}

impl Line<'_> {
    fn common(&self) -> Map<String, Value> {
        COMMON.iter().filter_map(|key| Some(((*key).to_owned(), copied(self.neighbour.get(key)?)))).collect()
    }

    fn user(&self, message: Value, id: Option<String>, marks: Map<String, Value>) -> Value {
        let mut line = self.common();
        line.insert("type".to_owned(), json!("user"));
        line.insert("message".to_owned(), message);
        line.extend(marks);
        line.extend(id.map(|id| ("uuid".to_owned(), json!(id))));
        line.extend(self.timestamp());
        Value::Object(line)
    }

    fn boundary(&self, id: &str, at: &InsertionPoint<'_, '_>) -> Value {
        let last = at.cutoff.checked_sub(1).and_then(|last| at.transcript.messages[last].json.get("uuid"));
        let mut line = members(json!({"parentUuid": null, "logicalParentUuid": last.map_or(Value::Null, copied)}));
        line.extend(self.system(id, "compact_boundary", "Conversation compacted"));
        line.insert("compactMetadata".to_owned(), json!({"trigger": "manual"}));
        Value::Object(line)
    }

    /// Writes a line without content that only links.
    fn empty_line(&self, id: &str) -> Value {
        let mut line = self.system(id, "informational", "");
        line.insert("isMeta".to_owned(), json!(true));
        Value::Object(line)
    }

    fn system(&self, id: &str, subtype: &str, content: &str) -> Map<String, Value> {
        let mut line = self.common();
        line.extend(members(json!({"type": "system", "subtype": subtype, "content": content, "isMeta": false})));
        line.extend(self.timestamp());
        line.extend(members(json!({"uuid": id, "level": "info"})));
        line
    }

    fn timestamp(&self) -> Option<(String, Value)> {
        Some(("timestamp".to_owned(), copied(self.neighbour.get("timestamp")?)))
    }
}

/// Adds a parent, or none, to a line.
fn linked(parent: Option<&str>, line: Value) -> Value {
    let mut linked = members(json!({"parentUuid": parent}));
    linked.extend(members(line));
    Value::Object(linked)
}

fn members(value: Value) -> Map<String, Value> {
    match value {
        Value::Object(members) => members,
        _ => Map::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::transcript::format::SummaryRole;
    use crate::transcript::framing::tests::read;

    fn line(id: u8, parent: u8, rest: &str) -> String {
        let parent = if parent == 0 { "null".to_owned() } else { format!("\"u{parent}\"") };
        format!("{{\"parentUuid\":{parent},\"cwd\":\"/w\",\"sessionId\":\"s\",{rest},\"uuid\":\"u{id}\"}}\n")
    }

    fn user(id: u8, parent: u8, text: &str) -> String {
        line(id, parent, &format!(r#""type":"user","message":{{"role":"user","content":"{text}"}}"#))
    }

    fn blocks(id: u8, parent: u8, kind: &str, block: &str) -> String {
        line(id, parent, &format!(r#""type":"{kind}","message":{{"id":"m","role":"{kind}","content":[{block}]}}"#))
    }

    fn summarized(source: &str, cutoff: usize, gone: &[usize]) -> Vec<Value> {
        let document = read(source, None, None).expect("a transcript");
        let transcript = &document.transcripts[0];
        let gone: Vec<usize> = gone.iter().map(|index| transcript.messages[*index].span().start).collect();
        let summary = SummaryMessage { text: "s", role: SummaryRole::User, name: None, marked: false };
        ClaudeCode.summary(&summary, &InsertionPoint { transcript, cutoff, removed: &|| gone.clone() })
    }

    #[test]
    fn a_message_on_several_lines_and_results_between_stay_together() {
        let call = |id| format!(r#"{{"type":"tool_use","id":"{id}","name":"f","input":{{}}}}"#);
        let result = |id| format!(r#"{{"type":"tool_result","tool_use_id":"{id}","content":"r"}}"#);
        let source = [
            user(1, 0, "a"),
            blocks(2, 1, "assistant", &call("a")),
            blocks(3, 2, "user", &result("a")).replace(r#""id":"m","#, ""),
            blocks(4, 2, "assistant", &call("b")),
            blocks(5, 4, "user", &result("b")).replace(r#""id":"m","#, ""),
            user(6, 5, "b"),
        ]
        .concat();
        let document = read(&source, None, None).expect("a transcript");
        let transcript = &document.transcripts[0];
        assert_eq!(transcript.format.name(), "claude-code");
        assert_eq!(transcript.groups, [(1, 3)]);
        let whole = transcript.pairing.allowed_cuts(&transcript.groups);
        assert_eq!(whole, [true, true, false, false, false, true, true]);
    }

    #[test]
    fn what_is_not_sent_is_no_message() {
        let boundary = line(3, 0, r#""type":"system","subtype":"compact_boundary""#);
        let source = [
            user(1, 0, "old"),
            user(2, 1, "old too"),
            boundary,
            user(4, 3, "summary").replace("\"uuid", "\"isCompactSummary\":true,\"uuid"),
            user(5, 4, "taken back"),
            blocks(6, 5, "assistant", r#"{"type":"text","text":"its answer"}"#),
            user(7, 4, "kept"),
            user(8, 7, "of a sub-agent").replace("\"uuid", "\"isSidechain\":true,\"uuid"),
            "{\"type\":\"custom-title\",\"customTitle\":\"t\"}\n".to_owned(),
        ]
        .concat();
        let document = read(&source, None, None).expect("a transcript");
        let transcript = &document.transcripts[0];
        let texts: Vec<_> = transcript.messages.iter().map(|message| message.content.texts()[0].decode()).collect();
        assert_eq!(texts, ["summary", "kept"]);
        assert_eq!([0, 1].map(|index| transcript.messages[index].earlier), [true, false]);
        let again = [user(5, 4, "kept"), user(6, 5, "behind it")].concat();
        let document = read(Box::leak((source.clone() + &again).into_boxed_str()), None, None).expect("a transcript");
        let texts = document.transcripts[0].messages.iter().map(|message| message.content.texts()[0].decode());
        assert_eq!(texts.collect::<Vec<_>>(), ["summary", "kept", "behind it"], "a line that was written twice");
        let bounds: Vec<Retention> = transcript.notes.iter().map(|note| note.retention).collect();
        let spent = Retention::Obsolete;
        assert_eq!(bounds, [spent, spent, spent, spent, spent, Retention::WithPrevious, Retention::Always]);
    }

    #[test]
    fn a_summary_is_where_the_kept_lines_look_for_their_parent() {
        let source = [user(1, 0, "a"), user(2, 1, "b"), user(3, 2, "c"), user(4, 1, "d").replace("user", "assistant")];
        let source = source.concat();
        let lines = summarized(&source, 2, &[0, 1]);
        assert_eq!(lines.len(), 3, "{lines:?}");
        assert_eq!((&lines[0]["parentUuid"], &lines[0]["logicalParentUuid"]), (&Value::Null, &json!("u2")));
        assert_eq!((&lines[1]["uuid"], &lines[1]["parentUuid"]), (&json!("u2"), &lines[0]["uuid"]));
        assert_eq!((&lines[1]["cwd"], &lines[1]["isCompactSummary"]), (&json!("/w"), &json!(true)));
        assert_eq!((&lines[2]["uuid"], &lines[2]["parentUuid"]), (&json!("u1"), &json!("u2")));
        let pinned = summarized(&source, 2, &[1]);
        let links: Vec<_> = pinned.iter().map(|line| (&line["uuid"], &line["parentUuid"])).collect();
        assert_eq!(links, [(&pinned[0]["uuid"], &Value::Null), (&json!("u2"), &pinned[0]["uuid"])]);
    }
}
