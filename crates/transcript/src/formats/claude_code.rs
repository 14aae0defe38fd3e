//! Sessions of Claude Code: one event a line, among them the messages of the Messages API.
//!
//! The API's message is under `message`; one message of the model may be split over several lines, one block each.
//! Lines name their parent. Claude Code no longer sends lines before the last `compact_boundary`, branches that the
//! user abandoned, and messages of sub-agents. `claude -p --output-format stream-json` writes the same lines without
//! links.

mod attached;
mod background;
mod chain;
mod unsent;
mod walk;

use std::borrow::Cow;
use std::collections::{BTreeMap, HashMap};

use serde_json::{Map, Value, json};

use chain::Way;
use walk::{Place, Walk};

use crate::compaction::Reset;
use crate::edit::Edit;
use crate::foreign;
use crate::format::{
    Age, EntryKind, EnvelopeRule, Faults, Format, Hooks, InsertionPoint, MatchScore, NewResult, OnBrokenLine,
    Retention, Session, SizeReset, SummaryMessage, SummaryPosition, TextFile, Transcript,
};
use crate::formats::shared::fields::{copied, of_one_answer};
use crate::formats::shared::links::{LinkKeys, LooseEntry, followers, uuid};
use crate::formats::shared::skipped::match_unknown;
use crate::formats::shared::tool_use;
use crate::frame::Frame;
use crate::json::{Items, Json, JsonKind, Object};
use crate::line_replay::LineStep;
use crate::message::{Call, Content, Message, Part, ResultRef};
use crate::order::{MessageOrder, OrderRule, ResultPlacement, Spelling, Texts};
use crate::outputs::CallOutput;
use crate::session_files::{SessionFiles, ends_with_uuid, stem_of_lines};
use crate::text::Text;
use crate::usage::SizeNote;

const KEYS: LinkKeys = LinkKeys { id: "uuid", parent: "parentUuid" };

/// The members of all lines of a session, in order.
const COMMON: &str = "isSidechain|userType|entrypoint|cwd|sessionId|version|gitBranch|slug|agentId|teamName|session_id|\
    parent_tool_use_id";

/// What Claude Code writes in the user's place. What the user typed as a command, and its arguments, are read before these.
const FRAMES: [Frame; 24] = [
    Frame::Tag("<system-reminder>", "</system-reminder>"),
    Frame::Tag("<local-command-stdout>", "</local-command-stdout>"),
    Frame::Tag("<local-command-stderr>", "</local-command-stderr>"),
    Frame::Tag("<local-command-caveat>", "</local-command-caveat>"),
    Frame::Tag("<bash-stdout>", "</bash-stdout>"),
    Frame::Tag("<bash-stderr>", "</bash-stderr>"),
    Frame::Tag("<command-name>", "</command-name>"),
    Frame::Tag("<command-message>", "</command-message>"),
    Frame::Tag("<ide_opened_file>", "</ide_opened_file>"),
    Frame::Tag("<ide_selection>", "</ide_selection>"),
    Frame::Tag("<user-prompt-submit-hook>", "</user-prompt-submit-hook>"),
    Frame::Tag("<task-notification>", "</task-notification>"),
    Frame::Tag("<bash-notification>", "</bash-notification>"),
    Frame::Tag("<agent-message ", "</agent-message>"),
    Frame::Tag("<teammate-message ", "</teammate-message>"),
    Frame::Tag("<teammate-message>", "</teammate-message>"),
    // Feeds have an element of this name, too.
    Frame::Tag("<channel source=", "</channel>"),
    Frame::Tag("<cross-session-message ", "</cross-session-message>"),
    Frame::Opening("Another Claude session sent a message:"),
    Frame::Opening("The coordinator sent a message"),
    Frame::Opening("[SYSTEM NOTIFICATION - NOT USER INPUT]"),
    Frame::Opening("Operation stopped by hook"),
    Frame::Opening("Stop hook feedback:"),
    Frame::Opening("Base directory for this skill:"),
];

/// The format's row.
pub(super) static FORMAT: Format = Format {
    name: "claude-code",
    about: "sessions of Claude Code, and its stream-json",
    list_paths: &[&["loglines"]],
    envelope: &[EnvelopeRule::likely(&["loglines"])],
    metadata_members: &["cwd", "gitBranch", "todos", "toolUseResult"],
    unsent: unsent::FORMS,
    usage: &[attached::USAGE],
    frames: &FRAMES,
    background: background::FORMS,
    on_broken_line: Some(OnBrokenLine::Skip),
    // Sub-agents have names of their own.
    session_files: Some(SessionFiles {
        variable: "CLAUDE_CONFIG_DIR",
        home: ".claude",
        folder: "projects",
        is_session: |name| stem_of_lines(name).is_some_and(|stem| stem.len() == 36 && ends_with_uuid(stem)),
        parent: None,
        dependents: None,
    }),
    // Claude Code leaves out texts of nothing but white space, and sends empty ones.
    order: OrderRule::Always(MessageOrder {
        unique_ids: true,
        texts: Texts::NotEmpty,
        call_ids: Spelling::Word(usize::MAX),
        tool_names: Spelling::Word(128),
        object_inputs: true,
        ..MessageOrder::of(ResultPlacement::Behind)
    }),
    // Claude Code does not load lines before a boundary.
    summary_position: SummaryPosition::First,
    parent_member: Some(KEYS.parent),
    marks_summaries: true,
    size_reset: Some(SizeReset { to: "zero", why: "as Claude Code does after a compaction" }),
    // Claude Code sends the lines of a file with their numbers.
    text_file: Some(TextFile {
        member: "file",
        json: r#"{"type":"text","file":{"content":"…","numLines":1,"startLine":1,"totalLines":1}}"#,
    }),
    hooks: Hooks { match_score, read, groups, result_output, write_summary, write_result, ..Hooks::NONE },
    session: &ClaudeCode,
    ..Format::DEFAULT
};

#[derive(Debug)]
struct ClaudeCode;

fn match_score(message: &Object<'_>) -> MatchScore {
    // A value that is not an object is not a line of a session and stays unchanged.
    if message.json.kind() != JsonKind::Object {
        return MatchScore::Neutral;
    }
    match message.get_text("type") {
        _ if is_foreign(message) => MatchScore::Mismatch,
        Some(kind) if is_speaker(kind) => match message.get("message") {
            Some(inner) if inner.get("content").is_some() => MatchScore::Own("a message in a line of a session"),
            None if is_of_session(message) => MatchScore::Neutral,
            _ => MatchScore::Mismatch,
        },
        Some(_) if message.get("role").is_none() || message.get("content").is_none() => MatchScore::Neutral,
        None if is_of_session(message) => MatchScore::Neutral,
        None => match_unknown(message),
        _ => MatchScore::Mismatch,
    }
}

fn read<'a>(message: &Object<'a>) -> Result<Message<'a>, String> {
    if is_foreign(message) {
        let part = Part { json: message.json, kind: foreign::part(message.json) };
        return Ok(Message { content: Content::Parts(Box::new([part])), ..Message::empty(message.json) });
    }
    if let Some(read) = attached::read(message) {
        return Ok(read);
    }
    let Some(inner) = message.get("message").filter(|inner| inner.kind() == JsonKind::Object) else {
        return Err("is not a line with a message".to_owned());
    };
    let mut read = tool_use::message(&Object::of(inner))?;
    if let Some(denial) = attached::denial(message, &read.results) {
        read.results[0].denial = Some(denial);
    }
    Ok(Message { json: message.json, earlier: message.member_is_true("isCompactSummary"), ..read })
}

fn groups(messages: &[Message<'_>]) -> Vec<(usize, usize)> {
    let mut groups = of_one_answer(messages, |message| message.json.at(&["message", "id"])?.text());
    groups.extend(chain::group(messages));
    groups
}

fn result_output<'a>(message: &Message<'a>, answer: &ResultRef<'a>) -> Option<CallOutput<'a>> {
    // The agent displays this copy; the model is not sent it.
    let copy = if message.results.len() == 1 { message.json.get("toolUseResult") } else { None };
    Some(tool_use::output(answer.json)?.with_copies(copy))
}

fn write_summary(summary: &SummaryMessage<'_>, at: &InsertionPoint<'_, '_>) -> Vec<Value> {
    let message = json!({"role": "user", "content": summary.text});
    let Some(neighbour) = at.neighbour() else { return vec![json!({"type": "user", "message": message})] };
    let new = uuid(&[summary.text, neighbour.raw()]);
    if neighbour.get("parentUuid").is_none() {
        let id = neighbour.get("uuid").is_some().then_some(new);
        return vec![user_line(neighbour, message, id, Map::new())];
    }
    let way = Way::to_summary(at, &new);
    let boundary = uuid(&["boundary", &way.summary]);
    let marks = json!({"isVisibleInTranscriptOnly": true, "isCompactSummary": true});
    let id = Some(way.summary);
    let mut lines = vec![
        boundary_line(neighbour, &boundary, at),
        linked(Some(&boundary), user_line(neighbour, message, id, members(marks))),
    ];
    for (id, parent) in &way.gaps {
        lines.push(linked(Some(parent), empty_line(neighbour, id)));
    }
    lines
}

fn write_result(call: &Call<'_>, calling: &Message<'_>, text: &str) -> Option<NewResult> {
    let result = tool_use::result(call, text)?;
    let id = calling.json.get_text("uuid");
    // Lines with one uuid are one message, so each of several equal calls takes its own.
    let mut nth = 0;
    for other in &calling.calls {
        if other.json.raw() == call.json.raw() && other.json.span().start < call.json.span().start {
            nth += 1;
        }
    }
    let spelled = call.json.raw().to_owned() + &"again".repeat(nth);
    let new = id.map(|id| uuid(&["result", &id.decode(), &spelled]));
    let line = user_line(calling.json, json!({"role": "user", "content": [result]}), new, Map::new());
    Some(NewResult::Entry(match id {
        Some(id) if calling.json.get("parentUuid").is_some() => linked(Some(&id.decode()), line),
        _ => line,
    }))
}

impl Session for ClaudeCode {
    fn line_step(&self, line: Json<'_>) -> Option<LineStep> {
        Some(if is_sent(&Object::of(line)) { LineStep::Message } else { LineStep::Note })
    }

    fn entries(&self, values: Items<'_>) -> Vec<EntryKind> {
        let lines: Vec<Object<'_>> = values.map(Object::of).collect();
        let walk = Walk::of(&lines);
        let places = walk.places(&is_sent);
        // With the last message goes what else could be taken for the end of the conversation.
        let last_message = (0..lines.len()).rfind(|index| places[*index] == Place::Walked && is_sent(&lines[*index]));
        let with_last = last_message.map_or(Retention::Always, Retention::With);
        let retention_of = |line: usize| match places[line] {
            Place::Walked | Place::Outside => Retention::With(line),
            Place::Compacted => Retention::Obsolete,
            Place::Copy(_) => Retention::Copy,
            Place::Branch => with_last,
        };
        let mut has_message = false;
        let mut entries = Vec::with_capacity(lines.len());
        for (index, line) in lines.iter().enumerate() {
            let is_message = match places[index] {
                Place::Walked => is_sent(line),
                Place::Outside => is_sent(line) && !(walk.has_main_line && is_sidechain(line)),
                Place::Compacted | Place::Copy(_) | Place::Branch => false,
            };
            if is_message {
                has_message = true;
                entries.push(EntryKind::Message);
                continue;
            }
            let retention = match places[index] {
                Place::Copy(original) if places[original] == Place::Branch => with_last,
                Place::Compacted | Place::Copy(_) | Place::Branch => retention_of(index),
                Place::Walked if is_boundary(line) => Retention::Obsolete,
                // The output of hooks before the first message, which has it as its parent.
                Place::Walked | Place::Outside if !has_message && line.get("parentUuid").is_some() => {
                    Retention::Obsolete
                }
                Place::Walked => Retention::WithPrevious,
                Place::Outside => match line.get_text("messageId").and_then(|id| walk.line_of(&id.decode())) {
                    Some(message) => retention_of(message),
                    None if is_in_conversation(line) => Retention::WithPrevious,
                    // A title, the mode, a queue: it concerns the whole session.
                    None => Retention::Always,
                },
            };
            entries.push(EntryKind::Note(retention));
        }
        entries
    }

    fn resets(&self, summary: &[Value], at: &InsertionPoint<'_, '_>, _tokens: &dyn Fn() -> u64) -> Vec<Reset> {
        chain::resets(summary, at)
    }

    fn link_results(&self, transcript: &Transcript<'_>, results: &mut BTreeMap<usize, Vec<Value>>) -> Vec<Edit> {
        let mut last_of = HashMap::new();
        for (calling, results) in results {
            let calling = transcript.messages[*calling].json;
            let (Some(_), Some(id)) = (calling.get("parentUuid"), calling.get_text("uuid")) else { continue };
            let mut last = Value::from(id.decode());
            for result in results {
                let own = result["uuid"].clone();
                result["parentUuid"] = std::mem::replace(&mut last, own);
            }
            if let Some(last) = last.as_str() {
                last_of.insert(id.decode(), last.to_owned());
            }
        }
        followers(transcript.entries(), KEYS, &last_of)
    }

    fn edits_without_copies(&self, transcript: &Transcript<'_>) -> Vec<Edit> {
        chain::edits_without_copies(transcript)
    }

    fn placeholder(&self, entry: Json<'_>) -> Option<Value> {
        let (id, parent) = (entry.get_text("uuid")?, entry.get("parentUuid")?.text().map(|parent| parent.decode()));
        Some(linked(parent.as_deref(), empty_line(entry, &id.decode())))
    }

    fn broken_links<'a>(&self, transcript: &Transcript<'a>) -> Faults<LooseEntry<'a>> {
        chain::broken_links(transcript)
    }

    fn size_note<'a>(&self, note: Json<'a>) -> Option<SizeNote<'a>> {
        attached::size_note(note)
    }

    /// Messages that Claude Code kept stand before its summary. Ours has the time of what it stands before, so that times
    /// tell nothing. It sets the sizes of all that it keeps to zero, and no answer that Claude Code was given has such sizes.
    fn age(&self, entry: Json<'_>, summary: &Message<'_>) -> Option<Age> {
        if !summary.json.member_is_true("isCompactSummary") {
            return None;
        }
        Some(if chain::has_size(entry) { Age::Newer } else { Age::NewerIfSized })
    }

    fn no_longer_loaded<'a>(&self, transcript: &Transcript<'a>) -> Vec<Json<'a>> {
        unsent::no_longer_loaded(transcript)
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

/// Whether a line is a message to or from a sub-agent.
fn is_sidechain(line: &Object<'_>) -> bool {
    line.member_is_true("isSidechain") || line.get("parent_tool_use_id").is_some_and(|id| !id.is_falsy())
}

/// Whether a line marks that everything before it is no longer sent. In a stream, no summary replaces that.
fn is_boundary(line: &Object<'_>) -> bool {
    line.member_is("subtype", "compact_boundary") && line.get("parentUuid").is_some()
}

/// Whether a line holds something that a model can be sent.
fn is_sent(line: &Object<'_>) -> bool {
    let is_message = line.get_text("type").is_some_and(is_speaker) && line.get("message").is_some();
    is_message || is_foreign(line) || attached::read(line).is_some()
}

/// Whether a line concerns a part of the conversation.
fn is_in_conversation(line: &Object<'_>) -> bool {
    ["uuid", "parentUuid", "snapshot", "session_id"].iter().any(|key| line.get(key).is_some())
}

fn parent<'a>(line: &Object<'a>) -> Option<Cow<'a, str>> {
    line.get_text("parentUuid").map(|id| id.decode())
}

/// The members that a line has like a neighbour of the same session.
fn common(neighbour: Json<'_>) -> Map<String, Value> {
    COMMON.split('|').filter_map(|key| Some((key.to_owned(), copied(neighbour.get(key)?)))).collect()
}

fn user_line(neighbour: Json<'_>, message: Value, id: Option<String>, marks: Map<String, Value>) -> Value {
    let mut line = common(neighbour);
    line.insert("type".to_owned(), json!("user"));
    line.insert("message".to_owned(), message);
    line.extend(marks);
    line.extend(id.map(|id| ("uuid".to_owned(), json!(id))));
    line.extend(timestamp(neighbour));
    Value::Object(line)
}

fn boundary_line(neighbour: Json<'_>, id: &str, at: &InsertionPoint<'_, '_>) -> Value {
    let last = at.cutoff.checked_sub(1).and_then(|last| at.transcript.messages[last].json.get("uuid"));
    let mut line = members(json!({"parentUuid": null, "logicalParentUuid": last.map_or(Value::Null, copied)}));
    line.extend(system_line(neighbour, id, "compact_boundary", "Conversation compacted"));
    line.insert("compactMetadata".to_owned(), json!({"trigger": "manual"}));
    Value::Object(line)
}

/// Writes a line without content that only links.
fn empty_line(neighbour: Json<'_>, id: &str) -> Value {
    let mut line = system_line(neighbour, id, "informational", "");
    line.insert("isMeta".to_owned(), json!(true));
    Value::Object(line)
}

/// Whether a line is one that [`empty_line`] wrote, or one like it.
fn is_empty_line(line: &Object<'_>) -> bool {
    line.member_is("subtype", "informational") && line.member_is("content", "")
}

fn system_line(neighbour: Json<'_>, id: &str, subtype: &str, content: &str) -> Map<String, Value> {
    let mut line = common(neighbour);
    line.extend(members(json!({"type": "system", "subtype": subtype, "content": content, "isMeta": false})));
    line.extend(timestamp(neighbour));
    line.extend(members(json!({"uuid": id, "level": "info"})));
    line
}

fn timestamp(neighbour: Json<'_>) -> Option<(String, Value)> {
    Some(("timestamp".to_owned(), copied(neighbour.get("timestamp")?)))
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
mod tests;
