//! Sessions of Claude Code: one event a line, among them the messages of the Messages API.
//!
//! The API's message is under `message`; one message of the model may be split over several lines, one block each.
//! Lines name their parent. Claude Code no longer sends lines before the last `compact_boundary`, branches that the
//! user abandoned, and messages of sub-agents. `claude -p --output-format stream-json` writes the same lines without
//! links.

mod attached;
mod chain;

use std::borrow::Cow;
use std::collections::{BTreeMap, HashMap, HashSet};

use serde_json::{Map, Value, json};

use crate::transcript::compaction::Reset;
use crate::transcript::edit::Edit;
use crate::transcript::foreign;
use crate::transcript::format::{
    EntryKind, EnvelopeFit, Format, FormatFit, InsertionPoint, MessageReader, MessageWriter, OrderRules, Retention,
    SummaryMessage, SummaryPosition, Transcript,
};
use crate::transcript::formats::shared::fields::{copied, of_one_answer};
use crate::transcript::formats::shared::links::{LinkKeys, LooseEntry, followers, uuid};
use crate::transcript::formats::shared::tool_use;
use crate::transcript::frame::Frame;
use crate::transcript::json::{Items, Json, JsonKind, Object};
use crate::transcript::message::{Call, Content, Message, Part, ResultRef};
use crate::transcript::order::{MessageOrder, ResultPlacement, Spelling, Texts};
use crate::transcript::outputs::CallOutput;
use crate::transcript::text::Text;

/// The format's row.
#[derive(Debug)]
pub(super) struct ClaudeCode;

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

impl Format for ClaudeCode {
    fn name(&self) -> &'static str {
        "claude-code"
    }

    fn about(&self) -> &'static str {
        "sessions of Claude Code, and its stream-json"
    }
}

impl MessageReader for ClaudeCode {
    fn fit(&self, message: &Object<'_>) -> FormatFit {
        // A value that is not an object is not a line of a session and stays unchanged.
        if message.json.kind() != JsonKind::Object {
            return FormatFit::Neutral;
        }
        match message.get_text("type") {
            _ if is_foreign(message) => FormatFit::Mismatch,
            Some(kind) if is_speaker(kind) => match message.get("message") {
                Some(inner) if inner.get("content").is_some() => FormatFit::Own("a message in a line of a session"),
                None if is_of_session(message) => FormatFit::Neutral,
                _ => FormatFit::Mismatch,
            },
            Some(_) if message.get("role").is_none() || message.get("content").is_none() => FormatFit::Neutral,
            None if is_of_session(message) => FormatFit::Neutral,
            _ => FormatFit::Mismatch,
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
        let is_sent = |line: &Object<'_>| is_message(line) || attached::read(line).is_some();
        // In the file of a sub-agent every line is a sidechain. In other files a sub-agent's compactions concern only
        // itself.
        let all_sidechain = lines.iter().filter(|line| is_message(line)).all(is_sidechain);
        let is_main_boundary = |line: &Object<'_>| is_boundary(line) && (all_sidechain || !is_sidechain(line));
        let boundary = lines.iter().rposition(is_main_boundary);
        let cut = boundary.unwrap_or(0);
        let preserved = boundary.map_or_else(HashSet::new, |boundary| chain::lines_before(&lines, boundary));
        let is_gone = |index: usize| index < cut && !preserved.contains(&index);
        let by_id: HashMap<_, usize> = lines
            .iter()
            .enumerate()
            .filter_map(|(index, line)| Some((line.get_text("uuid")?.decode(), index)))
            .collect();
        let copied = copies(&lines[cut..], &|line| is_sent(line) && (all_sidechain || !is_sidechain(line)));
        let is_undone = is_undone(&lines[cut..], &copied);
        let mut has_message = false;
        let entry = |(index, line): (usize, &Object<'_>)| {
            let is_linked = line.get("uuid").is_some() || line.get("parentUuid").is_some();
            let message = line.get_text("messageId").and_then(|id| by_id.get(&id.decode())).copied();
            EntryKind::Note(match message {
                _ if is_gone(index) && is_linked => Retention::Obsolete,
                Some(message) if is_gone(message) => Retention::Obsolete,
                Some(message) => Retention::With(message),
                None if is_main_boundary(line) => Retention::Obsolete,
                None if index >= cut && is_undone[index - cut] => Retention::Obsolete,
                None if let Some(original) = copied.get(&index.wrapping_sub(cut)) => Retention::With(cut + original),
                None if !is_gone(index) && is_sent(line) && (all_sidechain || !is_sidechain(line)) => {
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

    fn frames(&self) -> &'static [Frame] {
        &FRAMES
    }

    fn metadata_members(&self) -> &'static [&'static str] {
        &["cwd", "gitBranch", "todos", "toolUseResult"]
    }

    fn message<'a>(&self, message: &Object<'a>) -> Result<Message<'a>, String> {
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
        Ok(Message { json: message.json, earlier: is_true(message, "isCompactSummary"), ..read })
    }

    fn skips_broken_lines(&self) -> bool {
        true
    }
}

impl MessageWriter for ClaudeCode {
    fn output<'a>(&self, message: &Message<'a>, answer: &ResultRef<'a>) -> Option<CallOutput<'a>> {
        // The agent displays this copy; the model is not sent it.
        let copy = message.json.get("toolUseResult").filter(|_| message.results.len() == 1);
        tool_use::output(answer.json).map(|output| output.with_copies(copy))
    }

    fn summary_position(&self, transcript: &Transcript<'_>) -> SummaryPosition {
        // Claude Code does not load lines before a boundary.
        let is_linked = transcript.messages.iter().any(|message| message.json.get("parentUuid").is_some());
        if is_linked { SummaryPosition::First } else { SummaryPosition::AfterPinned }
    }

    fn marks_summaries(&self) -> bool {
        true
    }

    fn summary(&self, summary: &SummaryMessage<'_>, at: &InsertionPoint<'_, '_>) -> Vec<Value> {
        let message = json!({"role": "user", "content": summary.text});
        let Some(neighbour) = at.neighbour() else { return vec![json!({"type": "user", "message": message})] };
        let new = uuid(&[summary.text, neighbour.raw()]);
        if neighbour.get("parentUuid").is_none() {
            let id = neighbour.get("uuid").is_some().then_some(new);
            return vec![user_line(neighbour, message, id, Map::new())];
        }
        let links = at.links(KEYS);
        let id = links.end_of_walk().map_or(new, Cow::into_owned);
        let boundary = uuid(&["boundary", &id]);
        let marks = json!({"isVisibleInTranscriptOnly": true, "isCompactSummary": true});
        let mut lines = vec![
            boundary_line(neighbour, &boundary, at),
            linked(Some(&boundary), user_line(neighbour, message, Some(id.clone()), members(marks))),
        ];
        let mut bridged = HashSet::from([Cow::from(id.clone())]);
        let gaps = links.kept.iter().filter_map(|entry| links.removed_parent(*entry));
        lines.extend(
            gaps.filter(|gap| bridged.insert(gap.clone())).map(|gap| linked(Some(&id), empty_line(neighbour, &gap))),
        );
        lines
    }

    fn resets(&self, summary: &[Value], at: &InsertionPoint<'_, '_>, _tokens: &dyn Fn() -> u64) -> Vec<Reset> {
        chain::resets(summary, at)
    }

    fn result(&self, call: &Call<'_>, calling: &Message<'_>, text: &str) -> Option<Value> {
        let result = tool_use::result(call, text)?;
        let id = calling.json.get_text("uuid");
        // Lines with one uuid are one message, so each of several equal calls takes its own.
        let is_equal = |other: &&Call<'_>| other.json.raw() == call.json.raw();
        let before = |other: &&Call<'_>| other.json.span().start < call.json.span().start;
        let nth = calling.calls.iter().filter(is_equal).filter(before).count();
        let spelled = call.json.raw().to_owned() + &"again".repeat(nth);
        let new = id.map(|id| uuid(&["result", &id.decode(), &spelled]));
        let line = user_line(calling.json, json!({"role": "user", "content": [result]}), new, Map::new());
        Some(match id {
            Some(id) if calling.json.get("parentUuid").is_some() => linked(Some(&id.decode()), line),
            _ => line,
        })
    }

    fn link_results(&self, transcript: &Transcript<'_>, results: &mut BTreeMap<usize, Vec<Value>>) -> Vec<Edit> {
        let mut last_of = HashMap::new();
        for (calling, results) in results {
            let calling = transcript.messages[*calling].json;
            let Some(id) = calling.get("parentUuid").and_then(|_| calling.get_text("uuid")) else { continue };
            let mut last = Value::from(id.decode());
            for result in results {
                let own = result["uuid"].clone();
                result["parentUuid"] = std::mem::replace(&mut last, own);
            }
            last_of.extend(last.as_str().map(|last| (id.decode(), last.to_owned())));
        }
        followers(transcript.entries(), KEYS, &last_of)
    }

    fn placeholder(&self, entry: Json<'_>) -> Option<Value> {
        let (id, parent) = (entry.get_text("uuid")?, entry.get("parentUuid")?.text().map(|parent| parent.decode()));
        Some(linked(parent.as_deref(), empty_line(entry, &id.decode())))
    }
}

impl OrderRules for ClaudeCode {
    fn order(&self, _envelope: Option<&Object<'_>>, _messages: &[Message<'_>]) -> MessageOrder {
        // Claude Code leaves out texts of nothing but white space, and sends empty ones.
        MessageOrder {
            unique_ids: true,
            texts: Texts::NotEmpty,
            call_ids: Spelling::Word(usize::MAX),
            tool_names: Spelling::Word(128),
            object_inputs: true,
            ..MessageOrder::of(ResultPlacement::Behind)
        }
    }

    fn groups(&self, messages: &[Message<'_>]) -> Vec<(usize, usize)> {
        let mut groups = of_one_answer(messages, |message| message.json.at(&["message", "id"])?.text());
        groups.extend(chain::group(messages));
        groups
    }

    fn loose_entries<'a>(&self, transcript: &Transcript<'a>) -> Vec<LooseEntry<'a>> {
        chain::loose(transcript)
    }

    fn tie(&self, entry: &LooseEntry<'_>) -> Option<Edit> {
        entry.tie(KEYS)
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
    line.member_is("subtype", "compact_boundary") && line.get("parentUuid").is_some()
}

/// The lines that were written again, with the line that counts: of several with one uuid, the first that says what the
/// last says. Claude Code keeps the last of them, at the place of the first.
fn copies(lines: &[Object<'_>], is_sent: &dyn Fn(&Object<'_>) -> bool) -> HashMap<usize, usize> {
    let mut by_id: HashMap<Cow<'_, str>, Vec<usize>> = HashMap::new();
    for (index, line) in lines.iter().enumerate().filter(|(_, line)| is_sent(line)) {
        if let Some(id) = line.get_text("uuid") {
            by_id.entry(id.decode()).or_default().push(index);
        }
    }
    let said = |index: usize| ["message", "attachment"].map(|key| lines[index].get(key).map(|said| said.raw()));
    let of_one = |same: Vec<usize>| {
        let last = same.last().map(|last| said(*last));
        let counted = same.iter().copied().find(|index| Some(said(*index)) == last);
        same.into_iter().filter(move |index| Some(*index) != counted).filter_map(move |index| Some((index, counted?)))
    };
    by_id.into_values().filter(|same| same.len() > 1).flat_map(of_one).collect()
}

/// Whether a line is a prompt of the user's, and not a result.
fn is_prompt(line: &Object<'_>) -> bool {
    let is = |json: Json<'_>, kind: &str| json.member_is("type", kind);
    let content = line.get("message").and_then(|message| message.get("content"));
    is(line.json, "user")
        && !is_sidechain(line)
        && !is_true(line, "isMeta")
        && content.is_some_and(|content| content.items().all(|block| !is(block, "tool_result")))
}

/// For each line whether the user went back before it: of several prompts with the same parent, all lines from the
/// first prompt to the last one. A prompt that was only written again is one prompt.
fn is_undone(lines: &[Object<'_>], copied: &HashMap<usize, usize>) -> Vec<bool> {
    let prompts = || lines.iter().enumerate().filter(|(index, line)| !copied.contains_key(index) && is_prompt(line));
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
