//! Sessions of Qwen Code: one event a line, among them messages of parts as Google's API has them.
//!
//! Lines name their parent. Qwen Code goes from the last line to its parent, and on to the first; what it does not come by
//! is a branch that the user left, and not sent. Each result of a call is a line of its own. A `chat_compression` holds a
//! list of messages that takes the place of all before it.

mod replay;
#[cfg(test)]
mod tests;
mod unsent;
mod way;

use std::collections::{BTreeMap, HashMap, HashSet};

use serde_json::{Map, Value, json};

use crate::compaction::Reset;
use crate::edit::Edit;
use crate::format::{
    Age, EntryKind, Faults, Format, Hooks, InsertionPoint, MatchScore, NewResult, OnBrokenLine, Session, SizeReset,
    SummaryMessage, SummaryPosition, TextBlock, Transcript,
};
use crate::formats::shared::chains;
use crate::formats::shared::fields::{copied, elements_of, id};
use crate::formats::shared::links::{LinkKeys, LooseEntry, followers, uuid};
use crate::formats::shared::parts::{self, member};
use crate::formats::shared::skipped::match_unknown;
use crate::json::{Items, Json, JsonKind, Object};
use crate::message::{Call, Content, Message, Part, PartKind, ResultRef, Role};
use crate::order::{OrderRule, ResultPlacement};
use crate::outputs::{CallOutput, HostedResult};
use crate::pieces::Piece;
use crate::session_files::{SessionFiles, ends_with_uuid, stem_of_lines};
use crate::status::Denial;
use crate::text::Text;
use crate::time;
use crate::usage::UsageAt;

const KEYS: LinkKeys = LinkKeys { id: "uuid", parent: "parentUuid" };

/// The members of all lines of a session that a new line copies, in order, before those that are its own.
const COMMON: [&str; 5] = ["cwd", "version", "gitBranch", "agentId", "isSidechain"];

/// The format's row.
pub(super) static FORMAT: Format = Format {
    name: "qwen-code",
    about: "sessions of Qwen Code",
    metadata_members: &["cwd", "gitBranch", "systemPayload", "toolCallResult"],
    usage: &[UsageAt::path(&["usageMetadata"])],
    unsent: unsent::FORMS,
    on_broken_line: Some(OnBrokenLine::Recover),
    session_files: Some(SessionFiles {
        variable: "",
        home: ".qwen",
        folder: "projects",
        is_session: |name| stem_of_lines(name).is_some_and(|stem| stem.len() == 36 && ends_with_uuid(stem)),
        parent: Some("chats"),
        dependents: None,
    }),
    order: OrderRule::of(ResultPlacement::Behind),
    // Qwen Code sends nothing that its way comes by before a compression.
    summary_position: SummaryPosition::First,
    marks_summaries: true,
    size_reset: Some(SizeReset { to: "zero", why: "as Qwen Code does after a compaction" }),
    text_block: TextBlock::Bare,
    hooks: Hooks {
        match_score,
        read,
        groups,
        result_output,
        provider_results,
        write_summary,
        write_result,
        ..Hooks::NONE
    },
    session: &QwenCode,
    ..Format::DEFAULT
};

#[derive(Debug)]
struct QwenCode;

fn match_score(message: &Object<'_>) -> MatchScore {
    if message.json.kind() != JsonKind::Object {
        return MatchScore::Neutral;
    }
    if !replay::is_record(message) {
        // Qwen Code passes over lines of a type that it does not know.
        let Some(kind) = message.get_text("type") else { return match_unknown(message) };
        let is_message = message.get("role").is_some() || message.at(&["message", "content"]).is_some();
        let has_id = message.get("uuid").is_some();
        if is_message || !has_id && replay::is_known(kind) {
            return MatchScore::Mismatch;
        }
        return if has_id { MatchScore::Neutral } else { MatchScore::Skipped };
    }
    let has_parts = message.at(&["message", "parts"]).is_some_and(|parts| parts.kind() == JsonKind::Array);
    if has_parts {
        return MatchScore::Own("a message of parts in a line of a session");
    }
    if replay::compressed(message).is_some() {
        return MatchScore::Own("a compression in a line of a session");
    }
    if message.get("message").is_some() { MatchScore::Mismatch } else { MatchScore::Neutral }
}

fn read<'a>(message: &Object<'a>) -> Result<Message<'a>, String> {
    let json = message.json;
    if let Some(list) = replay::compressed(message) {
        let content = compressed_content(list);
        return Ok(Message { role: Role::User, content, earlier: true, is_boundary: true, ..Message::empty(json) });
    }
    let Some(inner) = message.get("message").filter(|inner| inner.kind() == JsonKind::Object) else {
        return Err("is not a line with a message".to_owned());
    };
    let role = if message.member_is("type", "assistant") { Role::Assistant } else { Role::User };
    let mut content = Vec::new();
    let mut calls = Vec::new();
    let mut results = Vec::new();
    for part in elements_of(inner, "parts") {
        content.push(Part { json: part, kind: parts::part(part) });
        if let Some(call) = member(part, "functionCall") {
            calls.push(parts::call(part, call));
        }
        if let Some(answer) = member(part, "functionResponse") {
            results.push(ResultRef { denial: denial(message), ..ResultRef::new(part, id(answer.get("id"))) });
        }
    }
    let content = Content::of_parts(content.into());
    Ok(Message { role, content, calls: calls.into(), results: results.into(), ..Message::empty(json) })
}

/// Lines with one id are one message.
fn groups(messages: &[Message<'_>]) -> Vec<(usize, usize)> {
    let mut first_of = HashMap::new();
    let mut groups: BTreeMap<usize, usize> = BTreeMap::new();
    for (index, message) in messages.iter().enumerate() {
        let Some(id) = message.json.get_text("uuid") else { continue };
        let first = *first_of.entry(id.decode()).or_insert(index);
        if first < index {
            groups.insert(first, index);
        }
    }
    groups.into_iter().collect()
}

fn result_output<'a>(message: &Message<'a>, answer: &ResultRef<'a>) -> Option<CallOutput<'a>> {
    let record = if message.results.len() == 1 { message.json.get("toolCallResult") } else { None };
    let has_failed = record.is_some_and(|record| record.member_is("status", "error"));
    let copy = record.and_then(|record| record.get("resultDisplay"));
    Some(parts::output(answer.json)?.with_failure(has_failed).with_copies(copy))
}

fn provider_results<'a>(message: &Message<'a>) -> Vec<HostedResult<'a>> {
    let Some(inner) = message.json.get("message") else { return Vec::new() };
    elements_of(inner, "parts").filter_map(parts::hosted).collect()
}

fn write_summary(summary: &SummaryMessage<'_>, at: &InsertionPoint<'_, '_>) -> Vec<Value> {
    let neighbour = at.neighbour();
    let new = uuid(&[summary.text, neighbour.map_or("", |neighbour| neighbour.raw())]);
    let way = way::to_summary(at, &new);
    let mut line = start_of_line(neighbour, &way.summary, None);
    // The time tells which sizes were recorded before.
    let latest = at.transcript.entries().filter_map(way::time_of).max();
    if let Some(time) = latest.and_then(|latest| time::in_utc(latest.checked_add(1)?)) {
        line.insert("timestamp".to_owned(), json!(time));
    }
    line.insert("type".to_owned(), json!("system"));
    line.insert("subtype".to_owned(), json!("chat_compression"));
    add_common(&mut line, neighbour);
    let history = json!([{"role": "user", "parts": [{"text": summary.text}]}]);
    line.insert("systemPayload".to_owned(), json!({"compressedHistory": history}));
    vec![Value::Object(line)]
}

fn write_result(call: &Call<'_>, calling: &Message<'_>, text: &str) -> Option<NewResult> {
    let mut response = json!({"name": call.name?.decode(), "response": {"error": text}});
    if let Some(id) = call.id {
        response["id"] = json!(id.decode());
    }
    let own = calling.json.get_text("uuid").map(|id| id.decode().into_owned());
    let new = uuid(&["result", own.as_deref().unwrap_or_default(), call.json.raw()]);
    let mut line = start_of_line(Some(calling.json), &new, own.as_deref());
    line.insert("type".to_owned(), json!("tool_result"));
    add_common(&mut line, Some(calling.json));
    let message = json!({"role": "user", "parts": [{"functionResponse": response}]});
    line.insert("message".to_owned(), message);
    Some(NewResult::Entry(Value::Object(line)))
}

impl Session for QwenCode {
    fn entries(&self, values: Items<'_>) -> Vec<EntryKind> {
        let lines: Vec<Object<'_>> = values.map(Object::of).collect();
        replay::entries(&lines)
    }

    fn resets(&self, summary: &[Value], at: &InsertionPoint<'_, '_>, _tokens: &dyn Fn() -> u64) -> Vec<Reset> {
        way::resets(summary, at)
    }

    fn link_results(&self, transcript: &Transcript<'_>, results: &mut BTreeMap<usize, Vec<Value>>) -> Vec<Edit> {
        let mut last_of = HashMap::new();
        for (calling, results) in results {
            let calling = transcript.messages[*calling].json;
            let (Some(_), Some(id)) = (calling.get("parentUuid"), calling.get_text("uuid")) else { continue };
            let mut last = id.decode().into_owned();
            for (nth, result) in results.iter_mut().enumerate() {
                // Of equal calls, each result has an id of its own.
                let own = uuid(&["result", &nth.to_string(), &last, calling.raw()]);
                result["uuid"] = json!(own);
                result["parentUuid"] = json!(last);
                last = own;
            }
            last_of.insert(id.decode(), last);
        }
        followers(transcript.entries(), KEYS, &last_of)
    }

    fn placeholder(&self, entry: Json<'_>) -> Option<Value> {
        let id = entry.get_text("uuid")?.decode();
        let parent = entry.get("parentUuid")?.text().map(|parent| parent.decode());
        let mut line = start_of_line(Some(entry), &id, parent.as_deref());
        line.insert("type".to_owned(), json!("system"));
        add_common(&mut line, Some(entry));
        Some(Value::Object(line))
    }

    fn no_longer_loaded<'a>(&self, transcript: &Transcript<'a>) -> Vec<Json<'a>> {
        unsent::no_longer_loaded(transcript)
    }

    fn broken_links<'a>(&self, transcript: &Transcript<'a>) -> Faults<LooseEntry<'a>> {
        // Of lines with one id, the first names the parent.
        let mut ids = HashSet::new();
        let mut entries = transcript.entries_in_order();
        entries.retain(|entry| {
            let line = Object::of(*entry);
            replay::is_of_conversation(&line) && line.get_text(KEYS.id).is_some_and(|id| ids.insert(id.decode()))
        });
        chains::with_repairs(chains::broken_links(transcript, KEYS, entries), KEYS)
    }

    /// Ours stands before what is kept, and has a later time.
    fn age(&self, entry: Json<'_>, summary: &Message<'_>) -> Option<Age> {
        Some(Age::of_times(way::time_of(entry)?, way::time_of(summary.json)?))
    }
}

/// The messages that a compression holds, as one: the summary, and what Qwen Code kept. Our own holds nothing but its text.
fn compressed_content(list: Json<'_>) -> Content<'_> {
    let parts: Vec<Json<'_>> = list.items().flat_map(|content| elements_of(content, "parts")).collect();
    if let [only] = parts.as_slice()
        && let Some(text) = only.get_text("text")
        && list.items().nth(1).is_none()
    {
        return Content::Text(text);
    }
    // All of it is an earlier summary, whoever said it.
    let mut all = Vec::new();
    for json in parts {
        let kind = parts::part(json);
        if matches!(kind, PartKind::Call) {
            all.push(Part { json, kind: PartKind::Text(Text::plain(json.raw())) });
            continue;
        }
        let content = Content::Parts(Box::new([Part { json, kind }]));
        content.pieces(&mut |_, piece| match (piece.text(), piece) {
            (Some(text), _) if !text.is_empty() => all.push(Part { json, kind: PartKind::Text(text) }),
            (_, Piece::Media(kind, json)) => all.push(Part { json, kind: PartKind::Media(kind) }),
            _ => {}
        });
    }
    Content::of_parts(all.into())
}

/// The record that the user did not allow a call, or cancelled it: its status.
fn denial<'a>(line: &Object<'a>) -> Option<Box<Denial<'a>>> {
    let is_cancelled = line.get("toolCallResult")?.member_is("status", "cancelled");
    if is_cancelled { Some(Box::new(Denial::new(None))) } else { None }
}

/// The members with which each line begins. Qwen Code reads no line that names no parent, so it names none with `null`.
fn start_of_line(neighbour: Option<Json<'_>>, id: &str, parent: Option<&str>) -> Map<String, Value> {
    let mut line = Map::new();
    line.insert("uuid".to_owned(), json!(id));
    line.insert("parentUuid".to_owned(), json!(parent));
    for key in ["sessionId", "timestamp"] {
        if let Some(value) = neighbour.and_then(|neighbour| neighbour.get(key)) {
            line.insert(key.to_owned(), copied(value));
        }
    }
    line
}

/// Adds what all lines of a session have. The first line must have the folder of its project.
fn add_common(line: &mut Map<String, Value>, neighbour: Option<Json<'_>>) {
    for key in COMMON {
        if let Some(value) = neighbour.and_then(|neighbour| neighbour.get(key)) {
            line.insert(key.to_owned(), copied(value));
        }
    }
}
