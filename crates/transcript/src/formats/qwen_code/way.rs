//! The way from the lines that stay to a summary in front of them, and the sizes that Qwen Code would decide by.

use serde_json::Value;

use crate::compaction::{Reset, ResetKind};
use crate::edit::Edit;
use crate::format::InsertionPoint;
use crate::formats::qwen_code::{KEYS, replay};
use crate::formats::shared::links::WalkStep;
use crate::json::{Json, JsonKind, Object};
use crate::time;

/// The way to a summary.
pub(super) struct Way<'a> {
    /// The id of the summary. The first line on the way names it as its parent already, if its own parent is removed.
    pub(super) summary: String,
    /// The lines that get another parent, with its id.
    parents: Vec<(Json<'a>, String)>,
}

/// Finds the way to a summary; `new` is its id, unless it takes that of a removed line.
pub(super) fn to_summary<'a>(at: &InsertionPoint<'_, 'a>, new: &str) -> Way<'a> {
    let removed = (at.removed)();
    let walked = at.walk(steps);
    let mut staying = Vec::new();
    for step in walked {
        if removed.binary_search(&step.entry.span().start).is_err() {
            staying.push(step.entry);
        }
    }
    let mut way = Way { summary: new.to_owned(), parents: Vec::new() };
    // The line that goes may be one of several with its id.
    if let Some(first) = staying.first()
        && let Some(id) = parent(*first)
        && !staying.iter().any(|line| has_id(*line, &id))
    {
        way.summary = id;
    }
    let mut before = way.summary.clone();
    for line in staying {
        if parent(line).as_ref() != Some(&before) {
            way.parents.push((line, before));
        }
        before = line.get_text(KEYS.id).map(|id| id.decode().into_owned()).unwrap_or_default();
    }
    way
}

fn steps<'a>(entries: &[Json<'a>]) -> Vec<WalkStep<'a>> {
    let lines: Vec<Object<'a>> = entries.iter().copied().map(Object::of).collect();
    let chain = replay::chain(&lines);
    chain.into_iter().map(|index| WalkStep { entry: entries[index], is_torn: false }).collect()
}

fn parent(line: Json<'_>) -> Option<String> {
    line.get_text(KEYS.parent).map(|parent| parent.decode().into_owned())
}

fn has_id(line: Json<'_>, id: &str) -> bool {
    line.get_text(KEYS.id).is_some_and(|own| own.is(id))
}

/// The edits with which the lines that stay lead to the summary, if there is one, and no longer tell the size of what
/// went. Qwen Code takes the last size for that of the context, and would compress again at once.
pub(super) fn resets(summary: &[Value], at: &InsertionPoint<'_, '_>) -> Vec<Reset> {
    let mut resets = Vec::new();
    let written = summary.iter().find_map(|line| line["uuid"].as_str());
    if let Some(id) = written {
        for (line, parent) in to_summary(at, id).parents {
            if let Some(old) = line.get(KEYS.parent) {
                let edit = Edit { range: old.span(), text: Value::from(parent).to_string() };
                resets.push(Reset { kind: ResetKind::Parent, entry: line.span().start, edit });
            }
        }
    }
    let removed = (at.removed)();
    for message in &at.transcript.messages {
        let entry = message.span().start;
        if removed.binary_search(&entry).is_ok() {
            continue;
        }
        let Some(usage) = message.json.get("usageMetadata") else { continue };
        for (_, size) in usage.entries() {
            if size.kind() == JsonKind::Number && size.raw() != "0" {
                let edit = Edit { range: size.span(), text: "0".to_owned() };
                resets.push(Reset { kind: ResetKind::Size, entry, edit });
            }
        }
    }
    resets.sort_by_key(|reset| (reset.entry, reset.edit.range.start));
    resets
}

/// When a line was written, in milliseconds.
pub(super) fn time_of(line: Json<'_>) -> Option<i64> {
    time::milliseconds(&line.get_text("timestamp")?.decode())
}
