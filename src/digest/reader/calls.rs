//! Calls and their results: which belong together, how a call ended, and what it did.

use std::collections::hash_map::{DefaultHasher, Entry};
use std::hash::{Hash, Hasher};

use serde_json::Value;

use crate::digest::files::CallText;
use crate::digest::grammar::Place;
use crate::digest::outcome::{Ended, ended, reads_as_error, tells_of_success};
use crate::digest::reader::{Awaited, HistoryReader};
use crate::digest::runs::CallRun;
use crate::digest::user::UserMessage;
use crate::transcript::background::{AnsweredCall, TaskEvent, records_of_call};
use crate::transcript::json::Json;
use crate::transcript::lazy_text::LazyText;
use crate::transcript::speaker::clean_folder;
use crate::transcript::status::{Denial, Status};
use crate::transcript::text::Text;
use crate::transcript::tools::actions::{Purpose, is_in, purpose_of};
use crate::transcript::tools::shell::{hides_status, steps_that_act};
use crate::transcript::tools::{Access, ToolUse, folder_argument, is_shell, words_of_name};

/// A call whose result is not there yet.
pub(super) struct OpenCall<'a> {
    pub(super) place: Place,
    pub(super) name: String,
    pub(super) arguments: LazyText<'a>,
}

/// The result of a call.
pub(super) struct CallResult<'a> {
    pub(super) place: Place,
    pub(super) text: LazyText<'a>,
    /// The status that the format records.
    pub(super) recorded: Option<Status>,
    /// The agent's record that the user refused the call.
    pub(super) denial: Option<Denial<'a>>,
    /// The message of the result, if it has no other result: what is recorded beside it is of this one.
    pub(super) message: Option<Json<'a>>,
}

impl<'a> HistoryReader<'a, '_> {
    pub(super) fn add_call(&mut self, id: Option<Text<'_>>, call: OpenCall<'a>) {
        if id.is_none() && self.awaited == Awaited::Words {
            self.awaited = Awaited::Reply;
        }
        self.open_by_id.entry(id.map(|id| id.decode().into_owned())).or_default().push_back(self.calls);
        self.open.insert(self.calls, call);
        self.calls += 1;
    }

    pub(super) fn add_result(&mut self, id: Option<Text<'_>>, result: CallResult<'a>) {
        let Entry::Occupied(mut queue) = self.open_by_id.entry(id.map(|id| id.decode().into_owned())) else { return };
        let call = queue.get_mut().pop_front().and_then(|number| self.open.remove(&number));
        if queue.get().is_empty() {
            queue.remove();
        }
        if let Some(call) = call {
            self.end_call(call, Ok(result));
        }
    }

    /// Notes what a call did, once its result is there, or how it ended without one.
    pub(super) fn end_call(&mut self, call: OpenCall<'a>, result: Result<CallResult<'a>, Ended>) {
        /// Characters of a result that tell what kind it is, and of a command what it could not do. The rest is not decoded
        /// until it is told.
        const OPENING: usize = 400;
        const OUTPUT: usize = 8_000;
        let OpenCall { place, name, arguments } = call;
        let text = arguments.read();
        let given: Value = serde_json::from_str(&text).unwrap_or(Value::Null);
        let words = result.as_ref().ok().and_then(|result| Some((result.place, result.denial?.words(&name)?)));
        let answer = result.as_ref().map_or(String::new(), |result| result.text.opening(OPENING));
        let recorded = match &result {
            Ok(_) if words.is_some() => Ended::Refused,
            Ok(result) => ended(&result.text, result.recorded),
            Err(end) => *end,
        };
        let result = result.ok();
        if let Some(result) = result.as_ref().filter(|_| recorded != Ended::Refused) {
            self.add_tasks(&name, &given, place, result);
        }
        let of_result = result.as_ref().map_or(place, |result| place.with_result(result.place));
        if let Some((place, words)) = words {
            self.add_words_of_denial(place, &words);
        }
        let tool = ToolUse::parse_with_json(&name, &given, &text);
        let command = tool.command.as_deref();
        let is_of_shell = matches!(recorded, Ended::With(status) if status != Status::Error);
        let end = if is_of_shell && command.is_some_and(hides_status) { Ended::Unknown } else { recorded };
        let is_told = !matches!(end, Ended::Refused | Ended::NoResult);
        let has_failed = end.is_failure();
        let key = key(&name, command.filter(|_| is_shell(&name)), &text, folder_argument(&given).as_deref());
        let is_thought = words_of_name(&name).iter().any(|word| is_in(word, "think|thinking|sequentialthinking"));
        if is_thought || is_told && !has_failed && self.digest.plan.update(&name, &given, &answer, place) {
            if let Some(before) = self.runs.remove(&key) {
                self.digest.runs[before].supersede();
            }
            return;
        }
        self.folders.extend(folder_argument(&given).and_then(clean_folder));
        // Where nothing is recorded, a program that changes files tells of success by its silence.
        let is_one = command.is_some_and(|command| steps_that_act(command) < 2 && !command.contains("2>"));
        let is_silent = || is_one && answer.trim().is_empty() && !command.is_some_and(hides_status);
        let succeeded = match end {
            Ended::Unknown => tells_of_success(&answer) || is_silent(),
            end => end.is_success(),
        };
        let changed = tool.files.iter().find(|file| file.access == Access::Changed && command.is_none());
        if let Some(file) = changed.filter(|_| is_told && (!succeeded || reads_as_error(&answer))) {
            return self.digest.files.add_failure(&file.full_path(), of_result, &answer, has_failed);
        }
        // A program behind one that failed, or before it, may have changed a file.
        if is_told && !(has_failed && command.is_none_or(|command| steps_that_act(command) < 2)) {
            let output = result.as_ref().filter(|_| !tool.changes.is_empty()).map(|result| result.text.opening(OUTPUT));
            let result = output.as_deref().unwrap_or(&answer);
            let exited_well = recorded.is_success();
            let call = CallText { name: &name, given: &given, arguments: &text, result, succeeded, exited_well };
            self.digest.files.add_call(call, &tool, (place, of_result));
        }
        // The state tells which files were changed or read. What a command shows of one is there still.
        let is_of_files = is_told && (changed.is_some() || tool.only_reads && !has_failed);
        let purpose = if is_of_files { Purpose::Reads } else { purpose_of(&name, &tool, &answer) };
        if is_of_files {
            self.digest.calls.push(if changed.is_some() { ("edit", place.source) } else { ("read", of_result.source) });
        }
        drop(text);
        let result = result.map(|result| result.text);
        let run = CallRun { purpose, name, arguments, result, ..CallRun::new(of_result, end) };
        self.add_run(key, run, is_of_files);
    }

    /// Adds what a call did with background tasks. What a task printed says nothing of the call.
    fn add_tasks(&mut self, name: &str, arguments: &Value, place: Place, result: &CallResult<'a>) {
        if result.recorded.is_some_and(Status::is_failure) {
            return;
        }
        let call = AnsweredCall { name, arguments, result: &result.text, message: result.message };
        for record in records_of_call(&call) {
            // What is launched is in the call, and how it ended in the result.
            let is_launch = record.event == TaskEvent::Launched;
            self.digest.tasks.add(if is_launch { place } else { result.place }, record);
        }
    }

    /// Adds what the user said in refusing a call.
    pub(super) fn add_words_of_denial(&mut self, place: Place, words: &str) {
        let words = words.trim();
        if !words.is_empty() {
            self.digest.user.push(UserMessage::new(place, LazyText::Owned(words.into()), words, None));
        }
    }

    /// Adds the last run of its key, in place of the one before, and of the one that an earlier digest told. Of those that the
    /// state tells, only the last call of all is told.
    fn add_run(&mut self, key: u64, mut run: CallRun<'a>, is_of_files: bool) {
        let runs = &mut self.digest.runs;
        let carried = self.carried.get_or_insert_with(|| {
            let told = runs.iter().enumerate().filter(|(_, run)| run.carried.is_some());
            told.map(|(at, run)| (run.label(None), at)).collect()
        });
        let label = if carried.is_empty() { String::new() } else { run.label(self.digest.folder.as_deref()) };
        for before in carried.remove(&label).into_iter().chain(self.runs.remove(&key)) {
            run.failed_before = runs[before].supersede();
        }
        self.last_of_files = None;
        if is_of_files {
            self.last_of_files = Some(run);
        } else {
            self.runs.insert(key, runs.len());
            runs.push(run);
        }
    }
}

/// What runs of the same command, or of the same call with the same arguments, have in common, however they are spaced
/// and quoted.
fn key(name: &str, command: Option<&str>, arguments: &str, folder: Option<&str>) -> u64 {
    let mut key = DefaultHasher::new();
    let (name, text) = command.map_or((name, arguments), |command| ("", command));
    (name, folder).hash(&mut key);
    text.split_whitespace().for_each(|word| word.trim_matches(['\'', '"']).hash(&mut key));
    key.finish()
}
