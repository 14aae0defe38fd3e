//! Which lines of a session pi sends: those on the way from the last line up to the first, as far as no compaction replaced
//! them.

use std::collections::HashMap;

use crate::format::{EntryKind, Retention, Transcript};
use crate::formats::pi::context_edits::ContextEdits;
use crate::formats::pi::is_compaction;
use crate::json::{Items, Json, Object};
use crate::line_replay::LineStep;
use crate::text::Text;

/// Entries that set a state from there on.
const STATES: [&str; 3] = ["model_change", "thinking_level_change", "session_info"];

/// The state that a line with the system prompt and the tools tells. pi makes both anew when it goes on.
pub(super) const SYSTEM_PROMPT: &str = "system";

/// Which lines are messages, and how long the others stay.
pub(super) fn entries(values: Items<'_>) -> Vec<EntryKind> {
    let lines: Vec<Object<'_>> = values.map(Object::of).collect();
    let Path { is_live, torn } = Path::of(&lines);
    let compaction = (0..lines.len()).rev().find(|index| is_live[*index] && is_compaction(&lines[*index]));
    let kept = match compaction {
        Some(at) => first_kept(&lines, at).unwrap_or(at).min(at),
        None => 0,
    };
    let edits = ContextEdits::among(&lines, |index| is_live[index] && index >= kept);
    let is_left_out = |index: usize| Some(index) != compaction && edits.leave_out(&lines, index);
    // What the path does not come by because it is torn, and no compaction replaced.
    let mut lost = kept..torn.unwrap_or(0).max(kept);
    if !lost.clone().any(|index| !is_live[index] && holds_message(&lines[index])) {
        lost = 0..0;
    }
    let mut entries = Vec::with_capacity(lines.len());
    for (index, line) in lines.iter().enumerate() {
        entries.push(if !is_live[index] {
            EntryKind::Note(if lost.contains(&index) { Retention::Lost } else { Retention::Obsolete })
        } else if let Some(retention) = retention_of_state(line) {
            EntryKind::Note(retention)
        } else if Some(index) == compaction {
            EntryKind::Message
        } else if index < kept || is_compaction(line) {
            EntryKind::Note(Retention::Obsolete)
        } else if holds_message(line) {
            match edits.content_edit(&lines, index) {
                _ if is_left_out(index) => EntryKind::Note(Retention::Obsolete),
                Some(by) => EntryKind::Edited { by },
                None => EntryKind::Message,
            }
        } else {
            // An edit follows what it leaves out, which goes before it does. Content stays as long as its message.
            EntryKind::Note(match edits.target(index) {
                Some(edited) if !is_left_out(edited) => Retention::With(edited),
                _ => Retention::WithPrevious,
            })
        });
    }
    entries
}

/// What a line does to the conversation, as far as the line alone tells it.
pub(super) fn line_step(line: Json<'_>) -> LineStep {
    let line = Object::of(line);
    if retention_of_state(&line).is_none() && holds_message(&line) { LineStep::Message } else { LineStep::Note }
}

/// How long a line stays that sets a state, or that concerns the whole session.
fn retention_of_state(line: &Object<'_>) -> Option<Retention> {
    let kind = kind_of(line);
    if kind.is_in(&["session", "custom"]) {
        return Some(Retention::Always);
    }
    for state in STATES {
        if kind.is(state) {
            return Some(Retention::Latest(state));
        }
    }
    if is_system_prompt(line) { Some(Retention::Latest(SYSTEM_PROMPT)) } else { None }
}

fn kind_of<'a>(line: &Object<'a>) -> Text<'a> {
    line.get_text("type").unwrap_or_else(|| Text::plain(""))
}

/// Whether a line holds a message that pi sends where the line is on the way to the last one.
fn holds_message(line: &Object<'_>) -> bool {
    let hides = line.get("message").and_then(|inner| inner.get("excludeFromContext"));
    let is_message = kind_of(line).is_in(&["message", "compaction", "branch_summary", "custom_message"]);
    is_message && hides.is_none_or(|hides| hides.is_falsy()) && !is_system_prompt(line)
}

fn is_system_prompt(line: &Object<'_>) -> bool {
    line.get("message").is_some_and(|inner| inner.member_is("role", SYSTEM_PROMPT))
}

fn is_linked(line: &Object<'_>) -> bool {
    line.get("parentId").is_some()
}

/// The way from the last line up to the first.
struct Path {
    /// For each line whether it is the last one or an ancestor of it; a line without a parent counts as one.
    is_live: Vec<bool>,
    /// The line at which the way ends too early: its parent is not there, or follows it.
    torn: Option<usize>,
}

impl Path {
    fn of(lines: &[Object<'_>]) -> Self {
        let mut path = Path { is_live: lines.iter().map(|line| !is_linked(line)).collect(), torn: None };
        let mut by_id = HashMap::new();
        for (index, line) in lines.iter().enumerate() {
            if is_linked(line)
                && let Some(id) = line.get_text("id")
            {
                by_id.insert(id.decode(), index);
            }
        }
        let mut walked = vec![false; lines.len()];
        let mut of_openclaw = None;
        let mut next = lines.iter().rposition(is_linked);
        while let Some(index) = next {
            (path.is_live[index], walked[index]) = (true, true);
            let Some(named) = lines[index].get_text("parentId") else { break };
            if named.is_empty() {
                break;
            }
            next = by_id.get(&named.decode()).copied();
            // OpenClaw appends such a line to the one before it.
            if next.is_none() && *of_openclaw.get_or_insert_with(|| lines.iter().any(names_openclaw)) {
                next = lines[..index].iter().rposition(is_linked);
                if next.is_none() {
                    break;
                }
            }
            next = next.filter(|next| !walked[*next]);
            if next.is_none() {
                path.torn = Some(index);
            }
        }
        path
    }
}

/// Whether a line shows that a session is OpenClaw's.
fn names_openclaw(line: &Object<'_>) -> bool {
    if let Some(message) = line.get("message")
        && (message.get("__openclaw").is_some() || message.member_is("provider", "openclaw"))
    {
        return true;
    }
    line.get("__openclaw").is_some() || line.get_text("customType").is_some_and(|kind| kind.starts_with("openclaw"))
}

pub(super) fn is_of_openclaw(transcript: &Transcript<'_>) -> bool {
    transcript.entries().any(|entry| names_openclaw(&Object::of(entry)))
}

/// The first line that a compaction keeps.
fn first_kept(lines: &[Object<'_>], compaction: usize) -> Option<usize> {
    let compaction = &lines[compaction];
    if let Some(id) = compaction.get_text("firstKeptEntryId") {
        let id = id.decode();
        return lines.iter().position(|line| line.member_is("id", &id));
    }
    compaction.get("firstKeptEntryIndex")?.raw().parse().ok()
}
