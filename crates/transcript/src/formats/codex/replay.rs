//! What each line of a session does when Codex resumes it.

use crate::format::{EntryKind, Retention};
use crate::formats::codex::{CodexLine, is_foreign, is_from_agent, is_injected, is_skipped, line};
use crate::formats::shared::items::{self, Item};
use crate::json::{Items, Json, JsonKind, Object};
use crate::line_replay::{LineReplay, LineStep};
use crate::message::Role;

/// Which lines remain as messages when Codex resumes a session, and how long the others stay.
pub(super) fn entries(values: Items<'_>) -> Vec<EntryKind> {
    let mut replay = LineReplay::default();
    let mut retentions = Vec::new();
    // The last line that tells the model its instructions and its environment: a message, or a compaction's list. A
    // record of what the model knows stays as long as that line. Without it, Codex sends neither again.
    let mut telling = None;
    for (index, value) in values.enumerate() {
        let step = step(value);
        replay.add(step);
        if matches!(step, LineStep::Standing | LineStep::Compaction { has_list: true }) {
            telling = Some(index);
        }
        retentions.push(match line(&Object::of(value)) {
            Some(CodexLine::WorldState) => telling.map_or(Retention::Obsolete, Retention::With),
            _ => retention(value, step),
        });
    }
    let mut entries = Vec::with_capacity(retentions.len());
    for (index, retention) in retentions.into_iter().enumerate() {
        let retention = match retention {
            // The line was replaced by a later compaction, and the record by the one behind that.
            Retention::With(line) if !replay.is_message(line) => Retention::Obsolete,
            other => other,
        };
        entries.push(if replay.is_message(index) { EntryKind::Message } else { EntryKind::Note(retention) });
    }
    entries
}

/// How long a line stays that is not a message, or no longer is.
fn retention(value: Json<'_>, step: LineStep) -> Retention {
    // A rollback becomes obsolete with the turns that it removes: alone it would remove others.
    if step.is_message() || matches!(step, LineStep::Rollback(_)) {
        return Retention::Obsolete;
    }
    match line(&Object::of(value)) {
        Some(CodexLine::Item(..) | CodexLine::Event(_)) => Retention::WithPrevious,
        Some(CodexLine::Context) => Retention::Latest("turn_context"),
        _ => Retention::Always,
    }
}

/// What a line does.
pub(super) fn step(value: Json<'_>) -> LineStep {
    let object = Object::of(value);
    match line(&object) {
        None if is_skipped(&object) => LineStep::Note,
        Some(CodexLine::Item(item, None)) if !is_from_agent(item) && !is_foreign(item) => LineStep::Note,
        Some(CodexLine::Item(item, Some(Item::Message))) => step_of_message(item),
        Some(CodexLine::Item(..)) | None => LineStep::Message,
        Some(CodexLine::Compacted(payload)) => LineStep::Compaction { has_list: has_list(payload) },
        Some(CodexLine::Event(event)) => step_of_event(event),
        Some(CodexLine::Meta | CodexLine::Context | CodexLine::WorldState | CodexLine::Other) => LineStep::Note,
    }
}

fn step_of_message(item: Json<'_>) -> LineStep {
    match items::item(&Object::of(item)) {
        // A compaction without a list keeps it, because Codex writes it anew.
        Ok(read) if is_injected(&read) => LineStep::Standing,
        Ok(read) if read.role == Role::User => LineStep::Turn,
        _ => LineStep::Message,
    }
}

fn step_of_event(event: Json<'_>) -> LineStep {
    let is_rollback = event.member_is("type", "thread_rolled_back");
    let turns = event.get("num_turns").and_then(|turns| turns.raw().parse::<usize>().ok());
    match turns.filter(|turns| is_rollback && *turns > 0) {
        Some(turns) => LineStep::Rollback(turns),
        None => LineStep::Note,
    }
}

/// Whether a compaction has a list that replaces all before it.
pub(super) fn has_list(payload: Json<'_>) -> bool {
    payload.get("replacement_history").is_some_and(|list| list.kind() == JsonKind::Array)
}
