//! The links between the lines of a session: what leads to a summary after a compaction, which messages are not sent, and
//! the recorded sizes that Claude Code resets.

use std::borrow::Cow;

use serde_json::Value;

use crate::compaction::{Reset, ResetKind};
use crate::edit::Edit;
use crate::format::{Faults, InsertionPoint, Transcript};
use crate::formats::claude_code::walk::{Place, Walk, leads};
use crate::formats::claude_code::{KEYS, is_empty_line, is_sent, is_sidechain, parent};
use crate::formats::shared::links::{LinkFault, LooseEntry, WalkStep};
use crate::json::{Json, JsonKind, Object};
use crate::message::Message;

/// The sizes by which Claude Code decides about a compaction. It sets them to zero in messages that it keeps.
const SIZES: [&str; 4] = ["input_tokens", "output_tokens", "cache_creation_input_tokens", "cache_read_input_tokens"];

/// The way from the lines that stay to a summary in front of them.
pub(super) struct Way<'a> {
    /// The id of the summary. The first line on the way names it as its parent already, if its own parent is removed.
    pub(super) summary: String,
    /// The ids of lines without content, each with its parent. They take the place of removed lines that kept lines name
    /// as their parents, so that no kept line changes.
    pub(super) gaps: Vec<(String, String)>,
    /// The other lines that get another parent: pinned ones, mostly.
    parents: Vec<NewParent<'a>>,
}

/// A line that gets another parent.
struct NewParent<'a> {
    line: Json<'a>,
    /// The id of the parent, if it gets one.
    id: Option<String>,
}

impl<'a> Way<'a> {
    /// Finds the way to a summary at a place; `new` is its id, unless it takes that of a removed line.
    pub(super) fn to_summary(at: &InsertionPoint<'_, 'a>, new: &str) -> Self {
        let removed = (at.removed)();
        let walked = at.walk(chain);
        let begin = walked.iter().position(|step| stays(step.entry, &removed)).unwrap_or(walked.len());
        let cut = match at.transcript.messages.get(at.cutoff) {
            Some(kept) => kept.span().start,
            None => usize::MAX,
        };
        let first_parent = walked.get(begin).and_then(|step| parent(&Object::of(step.entry)));
        let before_first = if begin > 0 { Some(walked[begin - 1].entry) } else { None };
        let summary = match first_parent {
            Some(id) if is_free(at, before_first, &id) => id.into_owned(),
            _ => new.to_owned(),
        };
        let mut way = Way { summary: summary.clone(), gaps: Vec::new(), parents: Vec::new() };
        // The line before, and the last one that others can follow.
        let (mut before, mut last) = (summary.clone(), summary);
        for (index, step) in walked.iter().enumerate().skip(begin) {
            let line = step.entry;
            if !stays(line, &removed) {
                continue;
            }
            match parent(&Object::of(line)) {
                Some(parent) if *parent == before => {}
                Some(parent)
                    if index > begin && line.span().start >= cut && has_id(walked[index - 1].entry, &parent) =>
                {
                    way.gaps.push((parent.into_owned(), last.clone()));
                }
                _ => way.parents.push(NewParent { line, id: Some(last.clone()) }),
            }
            if let Some(id) = line.get_text(KEYS.id) {
                before = id.decode().into_owned();
                if leads(line) {
                    last.clone_from(&before);
                }
            }
        }
        way
    }
}

/// Whether a summary can have the id that the first remaining line names: no line that stays has it. `before` is the line
/// before that one on the way.
fn is_free(at: &InsertionPoint<'_, '_>, before: Option<Json<'_>>, id: &str) -> bool {
    match before {
        Some(removed) => has_id(removed, id),
        None => !at.transcript.entries().any(|line| has_id(line, id)),
    }
}

/// The lines from the first to the last that Claude Code walks.
fn chain<'a>(entries: &[Json<'a>]) -> Vec<WalkStep<'a>> {
    let lines: Vec<Object<'a>> = entries.iter().copied().map(Object::of).collect();
    steps(entries, &Walk::of(&lines))
}

fn steps<'a>(entries: &[Json<'a>], walk: &Walk<'_, 'a>) -> Vec<WalkStep<'a>> {
    let mut steps = Vec::with_capacity(walk.chain.len());
    for index in &walk.chain {
        steps.push(WalkStep { entry: entries[walk.counted(*index)], is_torn: walk.torn.contains(index) });
    }
    steps
}

fn id(line: Json<'_>) -> Option<Cow<'_, str>> {
    line.get_text(KEYS.id).map(|id| id.decode())
}

/// Whether a line is not among the removed ones, of which these are the first bytes in order.
fn stays(line: Json<'_>, removed: &[usize]) -> bool {
    removed.binary_search(&line.span().start).is_err()
}

fn has_id(line: Json<'_>, id: &str) -> bool {
    line.get_text(KEYS.id).is_some_and(|own| own.is(id))
}

/// The edits with which the lines that stay lead to the summary, if there is one, and no longer tell the size of what
/// went.
pub(super) fn resets(summary: &[Value], at: &InsertionPoint<'_, '_>) -> Vec<Reset> {
    if at.neighbour().is_none_or(|line| line.get(KEYS.parent).is_none()) {
        return Vec::new();
    }
    let removed = (at.removed)();
    let mut resets = Vec::new();
    let written = summary.iter().find(|line| line["isCompactSummary"] == true);
    let mut parents = match written.and_then(|line| line["uuid"].as_str()) {
        Some(id) => Way::to_summary(at, id).parents,
        None => torn(at.walk(chain)),
    };
    for line in branches_at_the_end(at, &removed) {
        parents.push(NewParent { line, id: None });
    }
    for NewParent { line, id } in parents {
        if let Some(edit) = new_parent(line, id.as_deref()) {
            resets.push(Reset { kind: ResetKind::Parent, entry: line.span().start, edit });
        }
    }
    for message in &at.transcript.messages {
        if !stays(message.json, &removed) {
            continue;
        }
        for size in counts(message.json) {
            let edit = Edit { range: size.span(), text: "0".to_owned() };
            resets.push(Reset { kind: ResetKind::Size, entry: message.span().start, edit });
        }
    }
    resets
}

/// The branches that would be the end of the way where its former end goes, or where the circle that it closes opens: a line
/// can follow the last line of the file although it was written before it. Such a branch begins a tree of its own instead,
/// and is not sent, as before.
fn branches_at_the_end<'a>(at: &InsertionPoint<'_, 'a>, removed: &[usize]) -> Vec<Json<'a>> {
    let walked = at.walk(chain);
    let Some(last) = walked.iter().rfind(|step| stays(step.entry, removed)) else { return Vec::new() };
    let last = last.entry;
    let Some(last_id) = id(last) else { return Vec::new() };
    let mut branches = Vec::new();
    for line in at.transcript.entries() {
        let object = Object::of(line);
        let follows_last = parent(&object).is_some_and(|parent| parent == last_id);
        if follows_last
            && line.span().start < last.span().start
            && !is_sidechain(&object)
            && leads(line)
            && stays(line, removed)
            && !walked.iter().any(|step| step.entry.span() == line.span())
        {
            branches.push(line);
        }
    }
    branches
}

/// The edit that gives a line another parent, or none.
fn new_parent(line: Json<'_>, parent: Option<&str>) -> Option<Edit> {
    Some(Edit { range: line.get(KEYS.parent)?.span(), text: Value::from(parent).to_string() })
}

/// The sizes in a line that are not zero.
fn counts(line: Json<'_>) -> impl Iterator<Item = Json<'_>> {
    let usage = line.at(&["message", "usage"]);
    let sizes = SIZES.iter().filter_map(move |key| usage?.get(key));
    sizes.filter(|size| size.kind() == JsonKind::Number && size.raw() != "0")
}

/// Whether a line has a size that is not zero.
pub(super) fn has_size(line: Json<'_>) -> bool {
    counts(line).next().is_some()
}

/// The lines that do not name the line before them, each with the id of that line.
fn torn<'a>(walked: &[WalkStep<'a>]) -> Vec<NewParent<'a>> {
    let mut torn = Vec::new();
    let mut last: Option<String> = None;
    for step in walked {
        if step.is_torn {
            torn.push(NewParent { line: step.entry, id: last.clone() });
        }
        if leads(step.entry)
            && let Some(id) = id(step.entry)
        {
            last = Some(id.into_owned());
        }
    }
    torn
}

/// The lines at which the walk ends too early, and the messages that it does not come by although nobody took them back.
pub(super) fn broken_links<'a>(transcript: &Transcript<'a>) -> Faults<LooseEntry<'a>> {
    let entries = transcript.entries_in_order();
    let lines: Vec<Object<'a>> = entries.iter().copied().map(Object::of).collect();
    let walk = Walk::of(&lines);
    let mut found = Vec::new();
    for NewParent { line: entry, id } in torn(&steps(&entries, &walk)) {
        let named = parent(&Object::of(entry));
        let is_there = named.as_ref().is_some_and(|named| walk.line_of(named).is_some());
        let fault = if is_there { LinkFault::Cycle } else { LinkFault::Missing };
        found.push(LooseEntry { entry, fault, named: named.map(Cow::into_owned), parent: id });
    }
    let mut repairs: Vec<Edit> = found.iter().filter_map(|loose| loose.tie(KEYS)).collect();
    let beside = beside(&walk, &walk.places(&is_sent));
    for index in &beside {
        if is_sent(&lines[*index]) {
            let (entry, named) = (entries[*index], id(entries[*index]).map(Cow::into_owned));
            found.push(LooseEntry { entry, fault: LinkFault::Beside, named, parent: None });
        }
    }
    // What is beside the way comes into it once nothing tears it.
    if repairs.is_empty() && !found.is_empty() {
        repairs = edits_into_the_way(&entries, &lines, &walk, beside);
    }
    Faults { found, repairs }
}

/// The edits with which the lines beside the way come into it where they stand.
fn edits_into_the_way(
    entries: &[Json<'_>],
    lines: &[Object<'_>],
    walk: &Walk<'_, '_>,
    beside: Vec<usize>,
) -> Vec<Edit> {
    let mut way = beside;
    way.extend(&walk.chain);
    way.sort_unstable();
    let mut edits = Vec::new();
    for pair in way.windows(2) {
        let Some(before) = id(entries[pair[0]]) else { continue };
        if parent(&lines[pair[1]]).as_ref() != Some(&before) {
            edits.extend(new_parent(entries[pair[1]], Some(&before)));
        }
    }
    edits
}

/// The lines of branches that begin with an empty line behind a summary: so earlier versions of tcompact wrote pinned
/// messages, which Claude Code does not send.
fn beside(walk: &Walk<'_, '_>, places: &[Place]) -> Vec<usize> {
    let mut is_beside = vec![false; places.len()];
    for index in 0..places.len() {
        let parent = walk.parent_of(index);
        is_beside[index] = match places[index] {
            Place::Branch => parent.is_some_and(|parent| is_beside[parent]),
            Place::Outside => {
                is_empty_line(walk.line(index))
                    && parent.is_some_and(|parent| walk.line(parent).member_is_true("isCompactSummary"))
            }
            Place::Walked | Place::Compacted | Place::Copy(_) => false,
        };
    }
    (0..places.len()).filter(|index| is_beside[*index]).collect()
}

/// The edits that give lines the parents that their copies named last.
pub(super) fn edits_without_copies(transcript: &Transcript<'_>) -> Vec<Edit> {
    let entries = transcript.entries_in_order();
    let lines: Vec<Object<'_>> = entries.iter().copied().map(Object::of).collect();
    let walk = Walk::of(&lines);
    let mut edits = Vec::new();
    for &last in &walk.chain {
        let counted = walk.counted(last);
        if counted == last || walk.torn.contains(&last) {
            continue;
        }
        let named = parent(&lines[last]);
        if parent(&lines[counted]) != named {
            edits.extend(new_parent(entries[counted], named.as_deref()));
        }
    }
    edits
}

/// The messages that stay together because the summary behind them comes first when they are sent.
pub(super) fn group(messages: &[Message<'_>]) -> Option<(usize, usize)> {
    let summary = messages.iter().position(|message| message.json.member_is_true("isCompactSummary"))?;
    if summary == 0 {
        return None;
    }
    // Behind a boundary, as no message is its parent.
    let boundary = parent(&Object::of(messages[summary].json))?;
    if messages.iter().any(|message| has_id(message.json, &boundary)) { None } else { Some((0, summary)) }
}
