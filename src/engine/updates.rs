//! Applies the updates in lists of messages before all else: `RemoveMessage` of `LangGraph`.

use std::borrow::Cow;

use anyhow::Result;
use serde_json::{Value, json};

use crate::compact::{Archived, Section};
use crate::events::{Event, UpdatedBy};
use crate::exit::Failure;
use crate::files::input::Input;
use crate::rewrite::restoring::restore_infos;
use crate::rewrite::state_updates::{StateUpdates, UnknownId, may_have_updates, state_updates};
use crate::rewrite::{self, Edit};
use crate::settings::InputSettings;
use crate::transcript::framing::Lines;
use crate::wording::readable_source;

use crate::engine::read::json as json_of;
use crate::engine::task::Task;

/// An input with its updates applied.
pub(super) struct UpdatedInput {
    pub(super) input: Input,
    /// What leads back to the text before.
    pub(super) archived: Archived,
    /// What was done to each conversation that had updates.
    pub(super) done: Vec<AppliedUpdates>,
}

/// What was done to a conversation.
pub(super) struct AppliedUpdates {
    /// The index of the conversation.
    pub(super) conversation: usize,
    source: String,
    pub(super) by: UpdatedBy,
}

/// Reports what was done. A piece of a stream that fails is read again line by line, so this comes last.
pub(super) fn notify(task: &Task<'_>, done: &[AppliedUpdates]) {
    let is_planned = task.settings.action.is_read_only();
    for AppliedUpdates { source, by, .. } in done {
        task.notify(Event::Updated { source, updated: *by, is_planned });
    }
}

/// Applies the updates in an input; `None` if it has none.
///
/// # Errors
/// The input is not JSON; or a message is to be removed that it does not have.
pub(super) fn apply(task: &Task<'_>) -> Result<Option<UpdatedInput>> {
    let Task { input, settings, policy, .. } = *task;
    let updates = updates_of(input, &settings.input)?;
    if updates.is_empty() {
        return Ok(None);
    }
    let of_one = |one: &StateUpdates| {
        let by = UpdatedBy { removed: one.removed, replaced: one.replaced };
        AppliedUpdates { conversation: one.conversation, source: name(input, one.line), by }
    };
    let done = updates.iter().map(of_one).collect();
    let sections = if policy.has_records() { records(input, &updates) } else { Vec::new() };
    let archived = Archived { sections, ..Archived::default() };
    Ok(Some(UpdatedInput { input: applied(input, updates), archived, done }))
}

/// Applies the updates in an input that is only read.
///
/// # Errors
/// As [`apply`].
pub(super) fn apply_to_read<'i>(input: &'i Input, settings: &InputSettings) -> Result<Cow<'i, Input>> {
    let updates = updates_of(input, settings)?;
    if updates.is_empty() {
        return Ok(Cow::Borrowed(input));
    }
    Ok(Cow::Owned(readable(&applied(input, updates)).into_owned()))
}

/// Returns the input to read: where no line is left, a list without messages.
pub(super) fn readable(updated: &Input) -> Cow<'_, Input> {
    if !updated.text.trim_ascii().is_empty() {
        return Cow::Borrowed(updated);
    }
    let mut empty = updated.clone();
    empty.set_bytes(b"[]".to_vec());
    Cow::Owned(empty)
}

/// Returns the updates in each conversation of an input that has any.
fn updates_of(input: &Input, settings: &InputSettings) -> Result<Vec<StateUpdates>> {
    if !may_have_updates(&input.text) {
        return Ok(Vec::new());
    }
    let source = json_of(input)?;
    let lines = input.as_lines.then_some(Lines::Conversations).or(settings.lines);
    let updates = state_updates(&source, settings.from, lines);
    let mut updates = updates.map_err(|UnknownId { line, index, id }| {
        refused(&name(input, line.map(|line| line + input.lines_before)), index, &id)
    })?;
    updates.iter_mut().for_each(|one| one.line = one.line.map(|line| line + input.lines_before));
    Ok(updates)
}

fn applied(input: &Input, updates: Vec<StateUpdates>) -> Input {
    let edits: Vec<Edit> = updates.into_iter().flat_map(|one| one.edits).collect();
    let bytes = rewrite::pieces(input.bytes(), &edits).collect::<Vec<_>>().concat();
    let mut updated = input.clone();
    updated.set_bytes(bytes);
    updated
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
