//! The chain of lines that Claude Code walks up from the last one, and what it resets after a compaction.
//!
//! Also: lines that Claude Code kept of the history when it compacted it. They stand before the boundary in the file; Claude Code
//! sends them behind the summary, and nothing else that stands before the boundary.

use std::borrow::Cow;
use std::collections::{HashMap, HashSet};

use serde_json::Value;

use crate::transcript::compaction::{Reset, ResetKind};
use crate::transcript::edit::Edit;
use crate::transcript::format::{InsertionPoint, Retention, Transcript};
use crate::transcript::formats::claude_code::{KEYS, is_boundary, is_sidechain, is_true, parent};
use crate::transcript::formats::shared::links::{Chain, LinkFault, LooseEntry};
use crate::transcript::json::{Json, JsonKind, Object};
use crate::transcript::message::Message;

/// The sizes by which Claude Code decides about a compaction. It sets them to zero in messages that it keeps.
const SIZES: [&str; 4] = ["input_tokens", "output_tokens", "cache_creation_input_tokens", "cache_read_input_tokens"];

/// The edits with which kept lines lead to the summary, if there is one, and no longer tell the size of what went.
pub(super) fn resets(summary: &[Value], at: &InsertionPoint<'_, '_>) -> Vec<Reset> {
    if at.neighbour().is_none_or(|line| line.get(KEYS.parent).is_none()) {
        return Vec::new();
    }
    let removed = (at.removed)();
    let is_kept = |message: &&Message<'_>| removed.binary_search(&message.span().start).is_err();
    let sizes = at.transcript.messages.iter().filter(is_kept).flat_map(|message| sizes(message.json));
    ties(summary, at).into_iter().chain(sizes).collect()
}

/// The edits of lines that do not lead to the summary.
fn ties(summary: &[Value], at: &InsertionPoint<'_, '_>) -> Vec<Reset> {
    let id = summary.iter().find(|line| line["isCompactSummary"] == true).and_then(|line| line["uuid"].as_str());
    let Some(top) = id else { return Vec::new() };
    let links = at.links(KEYS);
    let entries = main_chain(at.transcript, links.kept.iter().copied());
    let ends_at = |id: &str| id == top || links.is_removed(id);
    let chain = Chain { entries: &entries, keys: KEYS, ends_at: &ends_at, top: Some(top), leads };
    let tie = |loose: LooseEntry<'_>| {
        Some(Reset { kind: ResetKind::Parent, entry: loose.entry.span().start, edit: loose.tie(KEYS)? })
    };
    chain.loose().into_iter().filter_map(tie).collect()
}

/// The edits that set the sizes in a line to zero.
fn sizes(line: Json<'_>) -> impl Iterator<Item = Reset> {
    let usage = line.at(&["message", "usage"]);
    let sizes = SIZES.iter().filter_map(move |key| usage?.get(key));
    let counts = sizes.filter(|size| size.kind() == JsonKind::Number && size.raw() != "0");
    counts.map(move |size| Reset {
        kind: ResetKind::Size,
        entry: line.span().start,
        edit: Edit { range: size.span(), text: "0".to_owned() },
    })
}

/// The lines that do not lead to the ones before them. A line that names no parent begins a chain on purpose.
pub(super) fn loose<'a>(transcript: &Transcript<'a>) -> Vec<LooseEntry<'a>> {
    let obsolete =
        || transcript.notes.iter().filter(|note| note.retention == Retention::Obsolete).map(|note| note.json);
    let boundary = obsolete().filter(|line| is_boundary(&Object::of(*line))).map(|line| line.span().start).max();
    let is_before = |line: &Json<'_>| boundary.is_some_and(|boundary| line.span().start <= boundary);
    // Messages that Claude Code kept stand before the boundary.
    let before: HashSet<_> =
        obsolete().filter(is_before).filter_map(|line| line.get_text(KEYS.id)).map(|id| id.decode()).collect();
    let abandoned: HashSet<usize> = obsolete().map(|line| line.span().start).collect();
    let is_walked = |line: &Json<'_>| !is_before(line) || !abandoned.contains(&line.span().start);
    let mut entries: Vec<Json<'a>> =
        transcript.entries().filter(|line| line.get(KEYS.parent).is_some() && is_walked(line)).collect();
    entries.sort_by_key(|line| line.span().start);
    let entries = main_chain(transcript, entries.into_iter());
    let ends_at = |id: &str| before.contains(id);
    let chain = Chain { entries: &entries, keys: KEYS, ends_at: &ends_at, top: None, leads };
    let mut loose = chain.loose();
    let is_abandoned = |loose: &LooseEntry<'_>| abandoned.contains(&loose.entry.span().start);
    loose.retain(|loose| match loose.fault {
        LinkFault::Root => false,
        LinkFault::Missing => !is_abandoned(loose),
        LinkFault::Cycle => true,
    });
    loose
}

/// The lines that the conversation is of: those of sub-agents have chains of their own.
fn main_chain<'a>(transcript: &Transcript<'a>, lines: impl Iterator<Item = Json<'a>>) -> Vec<Json<'a>> {
    let is_of_sub_agent = |line: Json<'a>| is_sidechain(&Object::of(line));
    let messages = &transcript.messages;
    let all = messages.iter().all(|message| is_of_sub_agent(message.json));
    lines.filter(|line| all || !is_of_sub_agent(*line)).collect()
}

/// Whether other lines can follow a line: Claude Code takes lines about progress out of the chain.
fn leads(line: Json<'_>) -> bool {
    !line.member_is("type", "progress")
}

/// The lines that a boundary keeps of those before it. Claude Code keeps none where it misses one of them.
pub(super) fn lines_before(lines: &[Object<'_>], boundary: usize) -> HashSet<usize> {
    let Some(line) = lines.get(boundary) else { return HashSet::new() };
    let by_id: HashMap<_, usize> = lines[..boundary]
        .iter()
        .enumerate()
        .filter_map(|(index, line)| Some((line.get_text("uuid")?.decode(), index)))
        .collect();
    let metadata = |key: &str| line.at(&["compactMetadata", key]).filter(|value| !value.is_falsy());
    let found = match (metadata("preservedMessages"), metadata("preservedSegment")) {
        (Some(list), _) => {
            let ids = list.get("uuids").into_iter().flat_map(|ids| ids.items());
            ids.map(|id| by_id.get(&id.text()?.decode()).copied()).collect()
        }
        (None, Some(segment)) => {
            let end = |key| segment.get_text(key).map(|id| id.decode());
            walk(lines, &by_id, end("tailUuid"), end("headUuid").as_deref())
        }
        (None, None) => None,
    };
    found.unwrap_or_default()
}

/// The lines of the walk up from a tail to a head; `None` if the walk does not reach the head.
fn walk<'a>(
    lines: &[Object<'a>],
    by_id: &HashMap<Cow<'a, str>, usize>,
    tail: Option<Cow<'a, str>>,
    head: Option<&str>,
) -> Option<HashSet<usize>> {
    let mut walked = HashSet::new();
    let mut at = tail;
    loop {
        let id = at?;
        let index = *by_id.get(&id)?;
        if !walked.insert(index) {
            return None;
        }
        if Some(&*id) == head {
            return Some(walked);
        }
        at = parent(&lines[index]);
    }
}

/// The messages that stay together because the summary behind them comes first when they are sent.
pub(super) fn group(messages: &[Message<'_>]) -> Option<(usize, usize)> {
    let is_summary = |message: &Message<'_>| is_true(&Object::of(message.json), "isCompactSummary");
    let summary = messages.iter().position(is_summary).filter(|summary| *summary > 0)?;
    // Behind a boundary, as no message is its parent.
    let boundary = parent(&Object::of(messages[summary].json))?;
    let is_parent = |message: &Message<'_>| message.json.get_text("uuid").is_some_and(|id| id.is(&boundary));
    (!messages.iter().any(is_parent)).then_some((0, summary))
}
