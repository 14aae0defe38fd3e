//! The lines that tcompact writes to a session: summaries, results, and lines that only link others.

use std::borrow::Cow;
use std::collections::HashSet;

use serde_json::{Map, Value, json};

use crate::format::{InsertionPoint, NewResult, SummaryMessage};
use crate::formats::pi::{KEYS, context_edits};
use crate::formats::shared::fields::copied;
use crate::formats::shared::links::{Links, uuid};
use crate::json::Json;
use crate::message::{Call, Message};
use crate::time;

/// Writes a `compaction`; a message of the user behind pinned ones, which pi would not send before a compaction, and
/// where entries have no ids, as a compaction would have to count them.
pub(super) fn write_summary(summary: &SummaryMessage<'_>, at: &InsertionPoint<'_, '_>) -> Vec<Value> {
    let Some(neighbour) = at.neighbour() else { return vec![line("message", None, None, summary.text)] };
    if neighbour.get("parentId").is_none() {
        return vec![line("message", Some(neighbour), None, summary.text)];
    }
    let links = at.links(KEYS);
    let removed = (at.removed)();
    let gone = at.transcript.messages.iter().rfind(|message| removed.binary_search(&message.span().start).is_ok());
    let place = match gone {
        Some(message) => message.span().start,
        None => 0,
    };
    let (before, behind) = links.kept.split_at(links.kept.partition_point(|entry| entry.span().start < place));
    let behind_ids: HashSet<_> = behind.iter().filter_map(|entry| links.id(*entry)).collect();
    let gaps: Vec<Cow<'_, str>> = behind.iter().filter_map(|entry| links.removed_parent(*entry)).collect();
    let new_id = match gaps.iter().find(|gap| kept_parent(links, gap, &behind_ids).is_none()) {
        // An edit that stays would leave out, or change, whatever has the id that it names.
        Some(gap) if !context_edits::names(at.transcript, gap) => gap.clone(),
        _ => Cow::Owned(uuid(&[summary.text, neighbour.raw()])[..8].to_owned()),
    };
    let mut lines = Vec::new();
    let mut bridged = HashSet::from([new_id.clone()]);
    // Pinned entries are part of the chain, before the summary or after it.
    let mut last: Option<Cow<'_, str>> = None;
    // An entry can follow one behind it.
    let mut following = behind_ids.clone();
    for entry in before {
        if links.parent(*entry).is_some_and(|parent| following.contains(&parent)) {
            following.extend(links.id(*entry));
            continue;
        }
        if let Some(gap) = links.removed_parent(*entry)
            && bridged.insert(gap.clone())
        {
            lines.push(bridge(neighbour, Link { id: &gap, parent: last.as_deref() }));
        }
        last = links.id(*entry).or(last);
    }
    let kind = if follows_message(at) { "message" } else { "compaction" };
    let link = Link { id: &new_id, parent: last.as_deref() };
    let mut written = line(kind, Some(neighbour), Some(link), summary.text);
    if kind == "compaction" {
        let first_kept = behind.first().and_then(|entry| links.id(*entry));
        written["firstKeptEntryId"] = json!(first_kept.unwrap_or_default());
        written["tokensBefore"] = json!(tokens_before(&at.transcript.messages));
        // pi takes the size of an answer that is newer than the compaction for that of the context, and would compact
        // again at once.
        if let Some(time) = latest(&links.kept).and_then(|latest| time::in_utc(latest.checked_add(1)?)) {
            written["timestamp"] = json!(time);
        }
    }
    lines.push(written);
    for gap in gaps {
        if bridged.insert(gap.clone()) {
            let parent = kept_parent(links, &gap, &behind_ids).unwrap_or_else(|| new_id.clone());
            lines.push(bridge(neighbour, Link { id: &gap, parent: Some(&parent) }));
        }
    }
    lines
}

/// The nearest entry above a removed one that stays, if it stands behind the summary: what went from the midst of the kept
/// entries follows one of them, and not the summary.
fn kept_parent<'a>(links: &Links<'a>, gap: &str, behind: &HashSet<Cow<'a, str>>) -> Option<Cow<'a, str>> {
    links.kept_ancestor(gap).filter(|id| behind.contains(id))
}

/// Writes an entry without content in place of a removed one.
pub(super) fn bridge(neighbour: Json<'_>, link: Link<'_>) -> Value {
    line("custom", Some(neighbour), Some(link), "")
}

pub(super) fn write_result(call: &Call<'_>, calling: &Message<'_>, text: &str) -> Option<NewResult> {
    let mut result = line("message", Some(calling.json), None, text);
    let message = result["message"].as_object_mut()?;
    message.insert("role".to_owned(), json!("toolResult"));
    message.insert("toolCallId".to_owned(), json!(call.id?.decode()));
    message.insert("toolName".to_owned(), json!(call.name?.decode()));
    message.insert("isError".to_owned(), json!(true));
    Some(NewResult::Entry(result))
}

/// Whether messages stay before a place.
fn follows_message(at: &InsertionPoint<'_, '_>) -> bool {
    let removed = (at.removed)();
    let before = &at.transcript.messages[..at.cutoff];
    before.iter().any(|message| removed.binary_search(&message.span().start).is_err())
}

/// The latest time that entries have, in milliseconds.
fn latest(entries: &[Json<'_>]) -> Option<i64> {
    let mut latest = None;
    for entry in entries {
        latest = latest.max(time_of_line(*entry)).max(time_of_message(*entry));
    }
    latest
}

/// When an entry was written as it says itself, in milliseconds.
pub(super) fn time_of_line(entry: Json<'_>) -> Option<i64> {
    time::milliseconds(&entry.get_text("timestamp")?.decode())
}

/// When the message in an entry was written, in milliseconds.
pub(super) fn time_of_message(entry: Json<'_>) -> Option<i64> {
    entry.at(&["message", "timestamp"])?.raw().parse().ok()
}

/// The size of the context before a compaction, as the last answer that has one tells it.
fn tokens_before(messages: &[Message<'_>]) -> u64 {
    messages.iter().rev().find_map(recorded_size).unwrap_or_default()
}

/// The size that the usage of an answer records, unless it is 0.
fn recorded_size(message: &Message<'_>) -> Option<u64> {
    let usage = message.json.at(&["message", "usage"])?;
    if let Some(total) = count(usage, "totalTokens")
        && total > 0
    {
        return Some(total);
    }
    let mut sum: u64 = 0;
    for key in ["input", "output", "cacheRead", "cacheWrite"] {
        sum = sum.saturating_add(count(usage, key).unwrap_or(0));
    }
    if sum > 0 { Some(sum) } else { None }
}

fn count(usage: Json<'_>, key: &str) -> Option<u64> {
    usage.get(key)?.raw().parse().ok()
}

/// The id of a new entry and that of its parent.
#[derive(Clone, Copy)]
pub(super) struct Link<'l> {
    pub(super) id: &'l str,
    pub(super) parent: Option<&'l str>,
}

/// Writes a line with `text`, or without, and with an id and a parent if the other lines have them.
fn line(kind: &str, neighbour: Option<Json<'_>>, link: Option<Link<'_>>, text: &str) -> Value {
    let mut line = Map::new();
    line.insert("type".to_owned(), json!(kind));
    if kind == "custom" {
        line.insert("customType".to_owned(), json!("tcompact"));
    }
    if let Some(link) = link {
        line.insert("id".to_owned(), json!(link.id));
        line.insert("parentId".to_owned(), json!(link.parent));
    }
    if let Some(time) = neighbour.and_then(|neighbour| neighbour.get("timestamp")) {
        line.insert("timestamp".to_owned(), copied(time));
    }
    if kind == "compaction" {
        line.insert("summary".to_owned(), json!(text));
        line.insert("fromHook".to_owned(), json!(true));
    } else if kind == "message" {
        let mut message = json!({"role": "user", "content": [{"type": "text", "text": text}]});
        if let Some(time) = neighbour.and_then(|neighbour| neighbour.at(&["message", "timestamp"])) {
            message["timestamp"] = copied(time);
        }
        line.insert("message".to_owned(), message);
    }
    Value::Object(line)
}
