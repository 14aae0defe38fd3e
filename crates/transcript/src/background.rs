//! Reads what agents record of their background tasks: which were launched, which have ended and how. Nothing is inferred:
//! a task of which no end is recorded may run or not.
//!
//! Only what the agent itself writes counts: its program's text in the user's place, the record beside a result, and the
//! results of its own tools. The output of a command, a page or a file can hold the same words. A notice has texts
//! of others in it, the name of the task and what it answered, and nothing behind them is read.

use std::sync::OnceLock;

use serde_json::Value;

use crate::background_forms::{
    BackgroundForms, LaunchForm, LaunchSentence, RecordPlace, StatusForm, StopForm, TaskAnswer, TaskNotice, ToolForm,
};
use crate::formats::FORMATS;
use crate::json::Json;
use crate::lazy_text::LazyText;
use crate::{Content, Message, PartKind, Role};

/// What a record says of a task.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TaskRecord {
    /// The id by which the agent names the task.
    pub id: String,
    pub event: TaskEvent,
    /// What the task is, or the name that the agent gave it.
    pub label: Option<String>,
    /// The file of its result.
    pub file: Option<String>,
}

/// What happened to a task.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TaskEvent {
    Launched,
    /// It ended with this status, as it is recorded.
    Ended {
        status: String,
        /// Whether the agent only looked at the status, which it may have done before.
        is_look: bool,
    },
    /// It was given more to do.
    Continued,
}

/// A call of a tool, with its result.
pub struct AnsweredCall<'c, 'a> {
    pub name: &'c str,
    pub arguments: &'c Value,
    pub result: &'c LazyText<'a>,
    /// The message of the result, if it has no other result.
    pub message: Option<Json<'a>>,
}

/// Statuses of tasks that have not ended.
const GOING_ON: [&str; 9] =
    ["in_progress", "not_found", "paused", "pending", "pending_init", "queued", "running", "started", "waiting"];

impl TaskRecord {
    /// Creates one; `None` where what stands for the id is not one.
    fn new(id: &str, event: TaskEvent) -> Option<Self> {
        const LONGEST: usize = 128;
        let id = id.trim();
        let has_only_known = id.chars().all(|c| c.is_ascii_alphanumeric() || "-_/.@".contains(c));
        if id.is_empty() || id.len() > LONGEST || !has_only_known {
            return None;
        }
        Some(TaskRecord { id: id.to_owned(), event, label: None, file: None })
    }

    /// Creates one of a task that has ended; `None` where the status is of one that goes on.
    fn ended(id: &str, status: &str, is_look: bool) -> Option<Self> {
        let status = status.trim();
        if status.is_empty() || GOING_ON.contains(&status.to_lowercase().as_str()) {
            return None;
        }
        TaskRecord::new(id, TaskEvent::Ended { status: status.to_owned(), is_look })
    }
}

/// The forms of all agents.
fn forms() -> &'static [BackgroundForms] {
    static FORMS: OnceLock<Vec<BackgroundForms>> = OnceLock::new();
    FORMS.get_or_init(|| FORMATS.iter().map(|format| format.background).collect())
}

/// The notices in a message in the user's place that tasks have ended, at most one of each text. Whoever calls this knows
/// that the message is not the output of a command.
pub fn notices(message: &Message<'_>) -> Vec<TaskRecord> {
    /// Characters at the beginning of a text in which a notice opens.
    const LOOK: usize = 80;
    if let Some(role) = message.rare_fields().role_name {
        let mut is_inserted = false;
        for forms in forms() {
            if let Some(answer) = &forms.answer
                && role.is(answer.role)
            {
                return read_answer(answer, message).into_iter().collect();
            }
            is_inserted |= role.is_in(forms.inserted);
        }
        if !is_inserted {
            return Vec::new();
        }
    } else if message.role != Role::User {
        return Vec::new();
    }
    let mut texts = Vec::new();
    match &message.content {
        // An agent can send a notice in a frame.
        _ if let Some(typed) = message.rare_fields().typed => texts.push(typed),
        // A whole message that is a result has its text as its content.
        Content::Text(text) if message.results.is_empty() => texts.push(*text),
        Content::Text(_) => {}
        Content::Parts(parts) => {
            for part in parts {
                if let PartKind::Text(text) = part.kind {
                    texts.push(text);
                }
            }
        }
    }
    let mut found = Vec::new();
    for text in texts {
        // Most texts do not begin as a notice does, and are not decoded.
        let start = text.decode_start(LOOK);
        let start = start.trim_start();
        for notice in forms().iter().flat_map(|forms| forms.notices) {
            if start.starts_with(notice.opening) || begins_with_any(start, notice.behind) {
                found.extend(read_notice(notice, &text.decode()));
            }
        }
    }
    found
}

/// Reads the answer of a task, if it is the last.
fn read_answer(answer: &TaskAnswer, message: &Message<'_>) -> Option<TaskRecord> {
    let item = message.json.get("payload").unwrap_or(message.json);
    let id = item.get_text(answer.id)?.decode();
    let text = message.content.first_text()?.decode();
    let status = text.strip_prefix(answer.before_status)?.lines().next()?;
    if !answer.statuses.contains(&status) {
        return None;
    }
    TaskRecord::ended(&id, status, false)
}

/// Reads the notice with which a text begins, or which stands behind an opening of the agent's.
fn read_notice(notice: &TaskNotice, text: &str) -> Option<TaskRecord> {
    let text = text.trim_start();
    let (before, rest) = text.split_once(notice.opening)?;
    if !before.is_empty() && !begins_with_any(text, notice.behind) {
        return None;
    }
    let (inside, behind) = rest.rsplit_once(notice.closing)?;
    // A user who pastes a notice goes on in words.
    let behind = behind.trim_start();
    if !behind.is_empty() && !begins_with_any(behind, notice.endings) {
        return None;
    }
    let inside = inside.trim();
    if inside.starts_with('{') {
        let object: Value = serde_json::from_str(inside).ok()?;
        let id = first_string(&object, notice.ids)?;
        return TaskRecord::ended(id, status_in(object.get(notice.status)?)?, false);
    }
    let mut head_end = inside.len();
    for name in notice.texts {
        if let Some(start) = inside.find(&format!("<{name}>")) {
            head_end = head_end.min(start);
        }
    }
    let (head, texts) = inside.split_at(head_end);
    let id = notice.ids.iter().find_map(|id| element(head, id))?;
    let status = element(head, notice.status)?;
    let record = TaskRecord::ended(id, failure_in(texts, notice).unwrap_or(status), false)?;
    let label = match notice.texts.first() {
        Some(name) if texts.starts_with(&format!("<{name}>")) => element(texts, name).map(name_in_sentence),
        _ => None,
    };
    Some(TaskRecord { label, file: element(head, notice.file).map(str::to_owned), ..record })
}

/// The first line of a text of a notice that says that the task failed.
fn failure_in<'t>(texts: &'t str, notice: &TaskNotice) -> Option<&'t str> {
    for name in notice.texts {
        if let Some(text) = element(texts, name)
            && begins_with_any(text, notice.failures)
        {
            return text.lines().next();
        }
    }
    None
}

fn begins_with_any(text: &str, openings: &[&str]) -> bool {
    openings.iter().any(|opening| text.starts_with(opening))
}

/// What a call and its result say of background tasks.
pub fn records_of_call(call: &AnsweredCall<'_, '_>) -> Vec<TaskRecord> {
    for tool in forms().iter().flat_map(|forms| forms.tools) {
        if tool.names.contains(&call.name) {
            return records_of_tool(tool.form, call);
        }
    }
    Vec::new()
}

fn records_of_tool(form: ToolForm, call: &AnsweredCall<'_, '_>) -> Vec<TaskRecord> {
    let record = match form {
        ToolForm::Launch(form) => launched(&form, call),
        ToolForm::Status(form) => looked_up(&form, call),
        ToolForm::Statuses { ids, member } => return statuses(ids, member, call),
        ToolForm::Stop(form) => stopped(&form, call),
        ToolForm::Input { ids } => continued(ids, call),
    };
    record.into_iter().collect()
}

fn continued(ids: &[&str], call: &AnsweredCall<'_, '_>) -> Option<TaskRecord> {
    TaskRecord::new(text_argument(call.arguments, ids)?, TaskEvent::Continued)
}

fn launched(form: &LaunchForm, call: &AnsweredCall<'_, '_>) -> Option<TaskRecord> {
    let record = match form.record {
        RecordPlace::Beside(members) => launched_beside(form, members, call)?,
        RecordPlace::Result => launched_in_object(form, &object_in(call.result)?)?,
    };
    let task = text_argument(call.arguments, form.labels).map(str::to_owned);
    let label = match (record.label, task) {
        (Some(name), Some(task)) => Some(format!("{name}, {task}")),
        (name, task) => name.or(task),
    };
    Some(TaskRecord { label, ..record })
}

/// A launch whose result is an object of the agent's own.
fn launched_in_object(form: &LaunchForm, object: &Value) -> Option<TaskRecord> {
    let id = first_string(object, form.ids)?;
    let label = object.get(form.name).and_then(Value::as_str).map(str::to_owned);
    Some(TaskRecord { label, ..TaskRecord::new(id, TaskEvent::Launched)? })
}

/// A launch by the record beside its result, or by the sentences of the result where no record is there.
fn launched_beside(form: &LaunchForm, members: &[&str], call: &AnsweredCall<'_, '_>) -> Option<TaskRecord> {
    let record = record_beside(call, members);
    let id = match record {
        Some(record) => launch_in_record(form, record)?,
        None => launch_in_text(&form.sentence?, call)?,
    };
    let recorded = record.and_then(|record| record.get_text(form.file));
    let file = match (recorded, form.sentence) {
        (Some(file), _) => Some(file.decode().into_owned()),
        (None, Some(sentence)) => file_in_text(&sentence, &id, call),
        (None, None) => None,
    };
    Some(TaskRecord { file, ..TaskRecord::new(&id, TaskEvent::Launched)? })
}

/// The file that the result of a launch names. What the command printed before can hold the same words, but the file has
/// the name of its task.
fn file_in_text(sentence: &LaunchSentence, id: &str, call: &AnsweredCall<'_, '_>) -> Option<String> {
    let text = call.result.read();
    let file = behind_last(&text, sentence.before_file)?;
    if file.contains(id) { Some(file.to_owned()) } else { None }
}

/// The id in the record of a launch; `None` where it is of a task that did not go to the background.
fn launch_in_record(form: &LaunchForm, record: Json<'_>) -> Option<String> {
    let status = record.get_text("status");
    if !form.statuses.is_empty() && !status.is_some_and(|status| status.is_in(form.statuses)) {
        return None;
    }
    let id = form.ids.iter().find_map(|id| record.get_text(id))?;
    Some(id.decode().into_owned())
}

/// The id in a result whose message has no record.
fn launch_in_text(sentence: &LaunchSentence, call: &AnsweredCall<'_, '_>) -> Option<String> {
    if let Some(argument) = sentence.asked
        && call.arguments.get(argument) != Some(&Value::Bool(true))
    {
        return None;
    }
    let text = call.result.read();
    let opening = sentence.openings.iter().find(|opening| text.starts_with(**opening))?;
    let rest = if sentence.before_id.is_empty() { &text[opening.len()..] } else { &text };
    let (_, id) = rest.split_once(sentence.before_id)?;
    let end = id.find(|c: char| c.is_whitespace() || ".,;)".contains(c)).unwrap_or(id.len());
    Some(id[..end].to_owned())
}

fn looked_up(form: &StatusForm, call: &AnsweredCall<'_, '_>) -> Option<TaskRecord> {
    let id = text_argument(call.arguments, form.ids)?;
    if let Some(record) = record_beside(call, form.beside) {
        let task = record.get(form.inside).unwrap_or(record);
        return TaskRecord::ended(id, &task.get_text(form.status)?.decode(), true);
    }
    let text = call.result.read();
    let mut head_end = text.len();
    for output in form.outputs {
        if let Some(start) = text.find(output) {
            head_end = head_end.min(start);
        }
    }
    TaskRecord::ended(id, element(&text[..head_end], form.status)?, true)
}

fn statuses(ids: &[&str], member: &str, call: &AnsweredCall<'_, '_>) -> Vec<TaskRecord> {
    let listed = ids.iter().find_map(|ids| call.arguments.get(ids)?.as_array());
    let (Some(listed), Some(record)) = (listed, object_in(call.result)) else { return Vec::new() };
    let Some(statuses) = record.get(member) else { return Vec::new() };
    let mut found = Vec::new();
    for id in listed.iter().filter_map(Value::as_str) {
        if let Some(status) = statuses.get(id).and_then(status_in) {
            found.extend(TaskRecord::ended(id, status, true));
        }
    }
    found
}

/// A task that is stopped ends with the name of the tool, unless the result has a status that it ended with before.
fn stopped(form: &StopForm, call: &AnsweredCall<'_, '_>) -> Option<TaskRecord> {
    const LOOK: usize = 200;
    let id = text_argument(call.arguments, form.ids)?;
    let start = call.result.opening(LOOK);
    if !begins_with_any(&start, form.openings) {
        return None;
    }
    if !form.statuses.is_empty()
        && let Some(record) = object_in(call.result)
        && let Some(status) = form.statuses.iter().find_map(|status| status_in(record.get(status)?))
        && let Some(ended_before) = TaskRecord::ended(id, status, true)
    {
        return Some(ended_before);
    }
    TaskRecord::ended(id, call.name, false)
}

/// The record beside a result.
fn record_beside<'a>(call: &AnsweredCall<'_, 'a>, members: &[&str]) -> Option<Json<'a>> {
    let message = call.message?;
    members.iter().find_map(|member| message.get(member))
}

/// The object that a result is.
fn object_in(result: &LazyText<'_>) -> Option<Value> {
    let text = result.read();
    if !text.trim_start().starts_with('{') {
        return None;
    }
    serde_json::from_str(&text).ok()
}

/// A status: a text, or an object with what the task answered under its status.
fn status_in(value: &Value) -> Option<&str> {
    match value {
        Value::String(status) => Some(status),
        Value::Object(members) if members.len() == 1 => members.keys().next().map(String::as_str),
        _ => None,
    }
}

/// The first of some members that is a string.
fn first_string<'v>(object: &'v Value, names: &[&str]) -> Option<&'v str> {
    names.iter().find_map(|name| object.get(name)?.as_str())
}

/// The first of some arguments that is a string with words.
fn text_argument<'v>(arguments: &'v Value, names: &[&str]) -> Option<&'v str> {
    for name in names {
        if let Some(text) = arguments.get(name).and_then(Value::as_str)
            && !text.trim().is_empty()
        {
            return Some(text);
        }
    }
    None
}

/// The text of the first element of a name.
fn element<'t>(text: &'t str, name: &str) -> Option<&'t str> {
    let (_, rest) = text.split_once(&format!("<{name}>"))?;
    let (inside, _) = rest.split_once(&format!("</{name}>"))?;
    let inside = inside.trim();
    if inside.is_empty() { None } else { Some(inside) }
}

/// The name in quotes, or the sentence where it has none: `Agent "Audit the login" completed`.
fn name_in_sentence(sentence: &str) -> String {
    if let Some((_, rest)) = sentence.split_once('"')
        && let Some((name, _)) = rest.rsplit_once('"')
    {
        return name.to_owned();
    }
    sentence.to_owned()
}

/// The rest of the sentence behind the last place of some words.
fn behind_last<'t>(text: &'t str, words: &str) -> Option<&'t str> {
    let (_, rest) = text.rsplit_once(words)?;
    let line = rest.lines().next()?;
    let path = line.split(". ").next()?.trim_end_matches('.').trim();
    if path.is_empty() { None } else { Some(path) }
}

#[cfg(test)]
mod tests;
