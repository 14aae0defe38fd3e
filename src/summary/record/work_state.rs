//! The state of the work: the last plan, the files with what was done to them, and the commands with their last
//! outcome.

use std::collections::{HashMap, VecDeque};

use serde_json::Value;

use crate::summary::record::call_values::{
    answer, argument_values, call_label, lines_with_used_names, result_values, says_only_ok,
};
use crate::summary::record::command_steps::{command_label, is_read_only, shows_file, step_label};
use crate::summary::record::failed_calls::FailedCalls;
use crate::summary::record::failures::{failed_step, failure_reason};
use crate::summary::record::file_actions::{self, FileAction};
use crate::summary::record::history_turns::{ToolCall, TurnText};
use crate::summary::record::json_fields::LONGEST_VALUE;
use crate::summary::record::names::NameUsage;
use crate::summary::record::outcome::{CommandOutcome, OutputFrames, names_error, without_echo};
use crate::summary::record::phrases::ERROR_GONE;
use crate::summary::record::plan::{Plan, asks_for_approval};
use crate::summary::record::replies::rejection_text;
use crate::summary::record::script_writes::{ScriptWrites, says_nothing_was_written};
use crate::summary::record::tool_kind::ToolKind;
use crate::summary::record::touched_files::TouchedFiles;
use crate::summary::record::{FactKind, FoundValue, RecordEntry};
use crate::transcript::tools::shell::steps;
use crate::transcript::tools::{ToolUse, argument};

/// The state of the work, updated call by call.
#[derive(Default)]
pub(super) struct WorkState {
    plan: Plan,
    files: TouchedFiles,
    commands: HashMap<String, RecordEntry>,
    /// The labels of the latest actions of each tool that is no shell.
    actions: HashMap<String, VecDeque<String>>,
    /// Errors by the labels of their commands.
    errors: HashMap<String, KnownError>,
    failed_calls: FailedCalls,
    /// The number of calls that may have changed something.
    changes: usize,
    /// The lines that the agent's program prints around each output.
    frames: OutputFrames,
    /// Values from arguments and results. `None` where a later value with the same key replaced one.
    pub(super) values: Vec<Option<FoundValue>>,
    value_places: HashMap<u64, usize, foldhash::fast::RandomState>,
    /// The last call, if it has no result.
    open: Option<RecordEntry>,
    scripts: ScriptWrites,
    /// Whether it has commands that do more than read.
    pub(super) has_commands: bool,
}

/// The error of a command.
struct KnownError {
    entry: RecordEntry,
    /// The hash of the whole command.
    command: u64,
    /// The number of calls that may have changed something, with this one.
    changes: usize,
}

/// What a call adds beside the state of the work.
#[derive(Default)]
pub(super) struct CallEffects {
    /// The label of a rejected call, and the user's reason.
    pub(super) rejected: Option<(String, String)>,
    /// Lines that report errors.
    pub(super) errors: Vec<String>,
}

impl WorkState {
    pub(super) fn new(frames: OutputFrames) -> WorkState {
        WorkState { frames, ..WorkState::default() }
    }

    /// Records a call of the message at `index`, with its result.
    pub(super) fn record_call(&mut self, call: &ToolCall<'_>, index: usize, used: &NameUsage) -> CallEffects {
        let arguments = call.arguments.read();
        let given: Value = serde_json::from_str(&arguments).unwrap_or(Value::Null);
        let tool = ToolUse::parse_with_json(&call.name, &given, &arguments);
        let result = call.result.as_ref().map(TurnText::read);
        let result = result.as_deref();
        let mut file_actions = file_actions::file_actions(&call.name, &given, &arguments, &tool);
        if file_actions.is_empty()
            && let Some(path) = result.and_then(|result| file_actions::open_file(&call.name, result))
        {
            file_actions.push((self.files.name_by_end(path), FileAction::Changed));
        }
        let command = tool.command.as_deref();
        let label = match (command, file_actions.first()) {
            (Some(command), _) => command_label(command),
            (None, Some((path, _))) => format!("{} {path}", call.name),
            (None, None) => call_label(&call.name, &arguments, &given),
        };
        // Programs ask the user only before an action. So the result of a read is no rejection, unless the format marks
        // it as a failure.
        let acts = tool.command_acts()
            || asks_for_approval(&call.name)
            || file_actions.iter().any(|(_, used)| *used != FileAction::Read);
        let rejected = result.filter(|_| acts || call.failed).and_then(|result| rejection_text(result, call.failed));
        if let Some(reason) = rejected {
            let path = file_actions.into_iter().find(|(_, used)| *used != FileAction::Read);
            if let Some((path, _)) = path {
                self.files.record_failed_edit(path, "rejected by the user", index);
            }
            let reason = if reason.is_empty() { "(no reason given)" } else { reason };
            return CallEffects { rejected: Some((label, reason.to_owned())), ..CallEffects::default() };
        }
        // Of several calls in one message, the last without a result counts.
        self.open = match result {
            None => Some(RecordEntry::new(FactKind::Open, index, "No result yet".to_owned(), format!("`{label}`"))),
            Some(_) => self.open.take().filter(|open| open.index == index),
        };
        let failure = result.and_then(|result| failure_reason(result, call.failed));
        if let Some(command) = command {
            return self.record_command(command, file_actions, result, call.failed, index, used);
        }
        if !file_actions.is_empty() {
            let content = argument(&given, &["content", "contents", "file_text", "text"]);
            if let (Some(code), [(path, action)]) = (content, file_actions.as_slice())
                && *action != FileAction::Read
                && failure.is_none()
            {
                self.scripts.add_script(path, &code);
            }
            return self.record_file_actions(file_actions, failure, index);
        }
        if failure.is_none() && (self.plan.update(&call.name, &given, result, index) || asks_for_approval(&call.name)) {
            return CallEffects::default();
        }
        self.changes += 1;
        let kind = ToolKind::of(&call.name, &given);
        // Some results of reading tools open with a word for a failure and report none.
        let is_certain = |reason: &&str| {
            let lower = reason.to_lowercase();
            kind == ToolKind::Acts || call.failed || lower.starts_with("error:") && !lower.starts_with("error: null")
        };
        let certain = failure.as_deref().filter(is_certain);
        let told_label = if kind == ToolKind::Secret { format!("{}()", call.name) } else { label.clone() };
        let has_failed = self.failed_calls.update(call, &given, &told_label, certain, index);
        let mut values = Vec::new();
        argument_values(&arguments, &label, index, &mut values);
        if let Some(result) = result.filter(|_| !has_failed) {
            result_values(&label, result, index, used, &mut values);
            match kind {
                // Without a value, nothing would tell what was done or answered.
                _ if !values.is_empty() || label.ends_with("()") => {}
                ToolKind::Acts => self.record_action(&call.name, &label, result, index),
                ToolKind::Reads => values.extend(answer(&label, result, index)),
                ToolKind::Step | ToolKind::Secret => {}
            }
        }
        values.into_iter().for_each(|(key, value)| self.add_value(key, value));
        CallEffects { errors: failure.into_iter().collect(), ..CallEffects::default() }
    }

    /// Records a result without a call.
    pub(super) fn record_stray_result(&mut self, result: &str, index: usize, used: &NameUsage) {
        let mut values = Vec::new();
        result_values("", result, index, used, &mut values);
        values.into_iter().for_each(|(key, value)| self.add_value(key, value));
    }

    /// Adds a value. It replaces an earlier one with the same key.
    pub(super) fn add_value(&mut self, key: Option<String>, values: FoundValue) {
        let key = key.map(|key| std::hash::BuildHasher::hash_one(self.value_places.hasher(), key));
        if let Some(before) = key.and_then(|key| self.value_places.insert(key, self.values.len())) {
            self.values[before] = None;
        }
        self.values.push(Some(values));
    }

    fn record_file_actions(
        &mut self,
        files: Vec<(String, FileAction)>,
        failure: Option<String>,
        index: usize,
    ) -> CallEffects {
        let mut news = CallEffects::default();
        for (path, used) in files {
            match (&failure, used) {
                (Some(why), FileAction::Read) => news.errors.push(why.clone()),
                (Some(why), _) => {
                    self.files.record_failed_edit(path, why, index);
                    news.errors.push(why.clone());
                }
                (None, used) => self.record_file_action(path, used, index, true),
            }
        }
        news
    }

    /// Records what a tool did that is no shell, in the words of its result if that is a line.
    fn record_action(&mut self, tool: &str, label: &str, result: &str, index: usize) {
        /// Most actions of one tool that are told; the latest stay.
        const MOST: usize = 12;
        let line = Some(result.trim()).filter(|line| !line.contains('\n') && line.len() <= LONGEST_VALUE);
        let text = line.filter(|line| !says_only_ok(line)).unwrap_or("ok");
        self.set_command(FactKind::Command, label, text.to_owned(), 2.5, index);
        let labels = self.actions.entry(tool.to_owned()).or_default();
        labels.retain(|known| known != label);
        labels.push_back(label.to_owned());
        if labels.len() > MOST
            && let Some(oldest) = labels.pop_front()
        {
            self.commands.remove(&oldest);
        }
    }

    fn record_file_action(&mut self, path: String, action: FileAction, index: usize, is_work: bool) {
        self.changes += usize::from(action != FileAction::Read);
        let (path, action) = match path.split_once(" → ") {
            // `mv new.py a.py`: a known file has new content.
            Some((from, to)) if action == FileAction::Renamed => {
                self.files.forget(from);
                if self.files.is_known(to) { (to.to_owned(), FileAction::Changed) } else { (path, action) }
            }
            _ => (path, action),
        };
        self.files.record(path, action, index, is_work);
    }

    fn record_command(
        &mut self,
        command: &str,
        file_actions: Vec<(String, FileAction)>,
        result: Option<&str>,
        is_marked: bool,
        index: usize,
        used: &NameUsage,
    ) -> CallEffects {
        let result = result.map(|output| without_echo(output, command));
        let is_piped = command.contains(" | ") || command.contains("||");
        let outcome = CommandOutcome::parse(result.unwrap_or(""), &self.frames, is_marked, is_piped);
        let has_failed = outcome.failed == Some(true);
        let file_actions: Vec<(String, FileAction)> = file_actions
            .into_iter()
            .map(|(path, action)| (self.files.name_from_folder(command, path), action))
            .collect();
        let writes = |action: &FileAction| matches!(action, FileAction::Created | FileAction::Changed);
        if let Some((script, _)) = file_actions.iter().find(|(_, action)| writes(action) && command.contains("<<")) {
            self.scripts.add_script(script, command);
        }
        if !has_failed {
            let written = self.scripts.of_command(command);
            let is_written = |_: &(String, FileAction)| !says_nothing_was_written(result.unwrap_or(""));
            for (path, action) in written.into_iter().filter(is_written).filter(|(path, _)| !path.starts_with("/tmp/"))
            {
                let path = self.files.name_from_folder(command, path);
                self.record_file_action(path, action, index, action == FileAction::Changed);
            }
            let is_patch = command.contains("*** Begin Patch");
            for (path, action) in file_actions {
                let is_work = is_patch || self.files.was_read(&path);
                self.record_file_action(path, action, index, is_work);
            }
            self.files.record_version_control(command);
        }
        let steps = steps(command);
        let mut labels: Vec<String> =
            steps.iter().filter(|step| !is_read_only(step)).map(|step| step_label(command, step)).collect();
        labels.dedup();
        let reports = !steps.iter().any(|step| shows_file(step)) || !labels.is_empty();
        if let Some(result) = result.filter(|_| reports) {
            let about = labels.last().cloned().unwrap_or_else(|| command_label(command));
            for (key, values) in lines_with_used_names(&about, self.frames.strip(result), index, used) {
                self.add_value(key, values);
            }
        }
        if labels.is_empty() {
            // The outcome of a read-only command is reported only if it fails. A search that finds nothing ends with 1.
            let found_nothing = outcome.status == Some(1) && outcome.lines.is_empty();
            if !has_failed || found_nothing {
                return CallEffects::default();
            }
            labels.push(command_label(command));
        }
        self.has_commands = true;
        let Some(result) = result else {
            self.set_command(FactKind::Command, &labels.join(" && "), NO_RESULT_YET.to_owned(), 3.0, index);
            return CallEffects::default();
        };
        self.files.unchecked.record_run(&labels);
        let mut effects = CallEffects::default();
        if has_failed {
            let weight = if steps.iter().all(|step| is_read_only(step)) { 0.7 } else { 5.0 };
            let failed = failed_step(&labels, command, result, &outcome);
            self.record_failure(&labels, failed, &outcome, weight, index);
            effects.errors.extend(outcome.lines.iter().take(4).cloned());
        } else {
            self.record_success(&labels, &outcome, index);
        }
        // A line with the name of an error says more than a count of errors.
        let named = outcome.lines.iter().find(|line| names_error(line));
        let error = named.or(outcome.lines.first()).filter(|_| has_failed);
        labels.iter().for_each(|label| self.update_error(label, command, error, index));
        self.changes += 1;
        effects
    }

    fn set_command(&mut self, kind: FactKind, label: &str, text: String, weight: f64, index: usize) {
        let mut entry = RecordEntry::new(kind, index, label.to_owned(), text);
        entry.weight = weight;
        self.commands.insert(label.to_owned(), entry);
    }

    /// Records the steps of a command that succeeded. Its output belongs to the last step.
    fn record_success(&mut self, labels: &[String], outcome: &CommandOutcome, index: usize) {
        let last = labels.len() - 1;
        for (at, label) in labels.iter().enumerate() {
            let (text, weight) = match outcome.describe(at == last) {
                Some(text) => (text, 4.0),
                None => ("ok".to_owned(), 2.5),
            };
            self.set_command(FactKind::Command, label, text, weight, index);
        }
    }

    /// Records the steps of a command that failed: those before the failed one succeeded. If it is unknown which step
    /// failed, the whole chain did.
    fn record_failure(
        &mut self,
        labels: &[String],
        failed: Option<usize>,
        outcome: &CommandOutcome,
        weight: f64,
        index: usize,
    ) {
        for label in &labels[..failed.unwrap_or(0)] {
            self.set_command(FactKind::Command, label, "ok".to_owned(), 2.5, index);
        }
        let label = failed.map_or_else(|| labels.join(" && "), |at| labels[at].clone());
        let text = outcome.describe(true).unwrap_or_else(|| "failed".to_owned());
        self.set_command(FactKind::Error, &label, text, weight, index);
        if failed.is_some() && labels.len() > 1 {
            self.commands.remove(&labels.join(" && "));
        }
    }

    /// Updates the error of a step of a command: `line` is its new error; without one, the step passes now.
    fn update_error(&mut self, label: &str, command: &str, line: Option<&String>, index: usize) {
        let command = std::hash::BuildHasher::hash_one(self.value_places.hasher(), command);
        if let Some(line) = line {
            let entry = RecordEntry::new(FactKind::Error, index, String::new(), line.clone());
            let changes = self.changes + 1;
            self.errors.insert(label.to_owned(), KnownError { entry, command, changes });
            return;
        }
        let Some(known) = self.errors.get_mut(label).filter(|known| known.entry.about.is_empty()) else { return };
        // The error counts as fixed if something may have changed since.
        if known.changes < self.changes || known.command != command {
            known.entry.about = ERROR_GONE.to_owned();
            known.entry.text = format!("{} (`{label}` has passed since)", known.entry.text);
            known.entry.weight = 3.5;
            return;
        }
        if let Some(run) = self.commands.get_mut(label) {
            run.text = format!("{} (failed before: {}; nothing was changed in between)", run.text, known.entry.text);
            run.weight = 4.0;
        }
        self.errors.remove(label);
    }

    /// Restores an entry from an earlier summary.
    pub(super) fn restore_entry(&mut self, entry: RecordEntry) {
        match entry.kind {
            FactKind::Error if FailedCalls::is_one(&entry) => self.failed_calls.restore(entry),
            FactKind::Command | FactKind::Error if !entry.about.is_empty() && entry.about != ERROR_GONE => {
                self.commands.insert(entry.about.clone(), entry);
            }
            FactKind::Todo | FactKind::Done => self.plan.restore(entry),
            FactKind::Open => self.files.unchecked.restore(&entry),
            FactKind::File => self.files.restore(entry),
            _ => {}
        }
    }

    /// Returns the state as entries, without the values. `position` maps the index of a message to its place in the
    /// history, from 0 to 1.
    pub(super) fn entries(&mut self, position: impl Fn(usize) -> f64) -> Vec<RecordEntry> {
        let mut all: Vec<RecordEntry> = std::mem::take(&mut self.plan).into_entries();
        all.extend(self.files.take_entries(&position));
        let mut commands: Vec<RecordEntry> = std::mem::take(&mut self.commands).into_values().collect();
        let errors = std::mem::take(&mut self.errors).into_values().map(|known| known.entry);
        commands.extend(errors.filter(|error| !error.about.is_empty()));
        commands.extend(std::mem::take(&mut self.failed_calls).into_entries());
        commands.iter_mut().for_each(|entry| entry.weight *= 0.7 + 0.6 * position(entry.index));
        commands.sort_by(|a, b| (a.index, &a.about, &a.text).cmp(&(b.index, &b.about, &b.text)));
        all.extend(commands);
        all
    }

    /// Returns the files changed since the last run of a command.
    pub(super) fn take_unchecked_changes(&mut self) -> Option<RecordEntry> {
        std::mem::take(&mut self.files.unchecked).into_entry()
    }

    /// Returns the last call, if it has no result.
    pub(super) fn take_unanswered_call(&mut self) -> Option<RecordEntry> {
        self.open.take()
    }
}

/// The outcome of a command that has no result yet.
pub(super) const NO_RESULT_YET: &str = "no result yet";
