//! Applies the updates in lists of messages before all else: `RemoveMessage` of `LangGraph`.

use anyhow::Result;
use serde_json::{Value, json};

use crate::compact::{Archived, Section};
use crate::events::{Event, UpdatedBy};
use crate::exit::Failure;
use crate::files::input::Input;
use crate::rewrite::restoring::restore_infos;
use crate::rewrite::state_updates::{StateUpdates, UnknownId, may_have_updates, state_updates};
use crate::rewrite::{self, Edit};
use crate::transcript::framing::Lines;
use crate::wording::readable_source;

use crate::engine::read::json as json_of;
use crate::engine::task::Task;

/// An input with its updates applied.
pub(super) struct UpdatedInput {
    pub(super) input: Input,
    /// What leads back to the text before.
    pub(super) archived: Archived,
    /// What was done to each conversation that had updates, by its index.
    pub(super) done: Vec<(usize, UpdatedBy)>,
}

/// Applies the updates in an input; `None` if it has none.
///
/// # Errors
/// The input is not JSON; or a message is to be removed that it does not have.
pub(super) fn apply(task: &Task<'_>) -> Result<Option<UpdatedInput>> {
    let Task { input, settings, policy, .. } = *task;
    if !may_have_updates(&input.text) {
        return Ok(None);
    }
    let source = json_of(input)?;
    let lines = input.as_lines.then_some(Lines::Conversations).or(settings.input.lines);
    let updates = state_updates(&source, settings.input.from, lines);
    let mut updates = updates.map_err(|UnknownId { line, index, id }| {
        refused(&name(input, line.map(|line| line + input.lines_before)), index, &id)
    })?;
    if updates.is_empty() {
        return Ok(None);
    }
    updates.iter_mut().for_each(|one| one.line = one.line.map(|line| line + input.lines_before));
    let mut done = Vec::new();
    for one in &updates {
        let by = UpdatedBy { removed: one.removed, replaced: one.replaced };
        let is_planned = settings.action.is_read_only();
        task.notify(Event::Updated { source: &name(input, one.line), updated: by, is_planned });
        done.push((one.conversation, by));
    }
    let sections = if policy.has_records() { records(input, &updates) } else { Vec::new() };
    let archived = Archived { sections, ..Archived::default() };
    let edits: Vec<Edit> = updates.into_iter().flat_map(|one| one.edits).collect();
    let bytes = rewrite::pieces(input.bytes(), &edits).collect::<Vec<_>>().concat();
    let mut updated = input.clone();
    updated.set_bytes(bytes);
    Ok(Some(UpdatedInput { input: updated, archived, done }))
}

/// Returns the records that restore the text before.
fn records(input: &Input, updates: &[StateUpdates]) -> Vec<Section> {
    let changes: Vec<_> = updates.iter().map(StateUpdates::change).collect();
    let infos = restore_infos(input.bytes(), &changes);
    let record = |(one, info): (&StateUpdates, _)| {
        let mut record = json!({"source": name(input, one.line), "round": 0, "indices": [], "messages": []});
        // Strings and numbers do not fail to serialize.
        let info = serde_json::to_value(info).expect("strings and numbers");
        if let (Value::Object(record), Value::Object(info)) = (&mut record, info) {
            record.extend(info);
        }
        Section::Record(record)
    };
    updates.iter().zip(infos).map(record).collect()
}

fn name(input: &Input, line: Option<usize>) -> String {
    line.map_or_else(|| input.name.clone(), |line| format!("{}:{line}", input.name))
}

fn refused(source: &str, index: usize, id: &str) -> Failure {
    Failure::unreadable(format!(
        "{}: message {index} removes the message with the id {id:?}, and no message before it has this id; give the whole \
         list of messages, with the removed one, or leave this entry out",
        readable_source(source)
    ))
}
