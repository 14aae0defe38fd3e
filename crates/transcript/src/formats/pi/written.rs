//! The lines that tcompact writes to a session: summaries, results, and lines that only link others.

use std::borrow::Cow;
use std::collections::HashSet;

use serde_json::{Map, Value, json};

use crate::format::{InsertionPoint, NewResult, SummaryMessage};
use crate::formats::pi::{KEYS, context_edits};
use crate::formats::shared::fields::copied;
use crate::formats::shared::links::uuid;
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
    let place = gone.map_or(0, |message| message.span().start);
    let (before, behind) = links.kept.split_at(links.kept.partition_point(|entry| entry.span().start < place));
    // What went from the midst of the kept entries follows one of them, and not the summary.
    let behind_ids: HashSet<_> = behind.iter().filter_map(|entry| links.id(*entry)).collect();
    let kept_parent = |gap: &str| links.kept_ancestor(gap).filter(|id| behind_ids.contains(id));
    let gaps: Vec<Cow<'_, str>> = behind.iter().filter_map(|entry| links.removed_parent(*entry)).collect();
    let new_id = gaps.iter().find(|gap| kept_parent(gap).is_none()).cloned();
    // An edit that stays would leave out, or change, whatever has the id that it names.
    let new_id = new_id.filter(|id| !context_edits::names(at.transcript, id));
    let new_id = new_id.unwrap_or_else(|| Cow::Owned(uuid(&[summary.text, neighbour.raw()])[..8].to_owned()));
    let bridge = |id: &str, parent: Option<&str>| line("custom", Some(neighbour), Some((id, parent)), "");
    let mut lines = Vec::new();
    let mut bridged = HashSet::from([new_id.clone()]);
    // Pinned entries are part of the chain, before the summary or after it.
    let mut last: Option<Cow<'_, str>> = None;
    // An entry can follow one behind it.
    let mut following: HashSet<_> = behind.iter().filter_map(|entry| links.id(*entry)).collect();
    for entry in before {
        if links.parent(*entry).is_some_and(|parent| following.contains(&parent)) {
            following.extend(links.id(*entry));
            continue;
        }
        if let Some(gap) = links.removed_parent(*entry).filter(|gap| bridged.insert(gap.clone())) {
            lines.push(bridge(&gap, last.as_deref()));
        }
        last = links.id(*entry).or(last);
    }
    let kind = if follows_message(at) { "message" } else { "compaction" };
    let mut written = line(kind, Some(neighbour), Some((&new_id, last.as_deref())), summary.text);
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
            lines.push(bridge(&gap, Some(&*kept_parent(&gap).unwrap_or_else(|| new_id.clone()))));
        }
    }
    lines
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
    let is_kept = |message: &Message<'_>| removed.binary_search(&message.span().start).is_err();
    at.transcript.messages[..at.cutoff].iter().any(is_kept)
}

/// The latest time that entries have, in milliseconds.
fn latest(entries: &[Json<'_>]) -> Option<i64> {
    let mut latest = None;
    for entry in entries {
        let own = entry.get_text("timestamp").and_then(|time| time::milliseconds(&time.decode()));
        let inner = entry.at(&["message", "timestamp"]).and_then(|time| time.raw().parse::<i64>().ok());
        latest = latest.max(own).max(inner);
    }
    latest
}

/// The size of the context before a compaction, as the last answer that has one tells it.
fn tokens_before(messages: &[Message<'_>]) -> u64 {
    let size = |message: &Message<'_>| {
        let usage = message.json.at(&["message", "usage"])?;
        let count = |key: &str| usage.get(key)?.raw().parse::<u64>().ok();
        let sum = || {
            ["input", "output", "cacheRead", "cacheWrite"].into_iter().filter_map(count).fold(0, u64::saturating_add)
        };
        Some(count("totalTokens").filter(|total| *total > 0).unwrap_or_else(sum)).filter(|size| *size > 0)
    };
    messages.iter().rev().find_map(size).unwrap_or_default()
}

/// Writes a line with `text`, or without, and with an id and a parent if the other lines have them.
pub(super) fn line(kind: &str, neighbour: Option<Json<'_>>, link: Option<(&str, Option<&str>)>, text: &str) -> Value {
    let mut line = Map::new();
    line.insert("type".to_owned(), json!(kind));
    if kind == "custom" {
        line.insert("customType".to_owned(), json!("tcompact"));
    }
    if let Some((id, parent)) = link {
        line.insert("id".to_owned(), json!(id));
        line.insert("parentId".to_owned(), json!(parent));
    }
    let timestamp = |json: Option<Json<'_>>| json.and_then(|json| json.get("timestamp")).map(copied);
    line.extend(timestamp(neighbour).map(|time| ("timestamp".to_owned(), time)));
    if kind == "compaction" {
        line.insert("summary".to_owned(), json!(text));
        line.insert("fromHook".to_owned(), json!(true));
    } else if kind == "message" {
        let mut message = json!({"role": "user", "content": [{"type": "text", "text": text}]});
        if let Some(time) = timestamp(neighbour.and_then(|neighbour| neighbour.get("message"))) {
            message["timestamp"] = time;
        }
        line.insert("message".to_owned(), message);
    }
    Value::Object(line)
}
