//! Calls and their results: which belong together, how a call ended, and what it did.

use std::collections::VecDeque;
use std::collections::hash_map::DefaultHasher;
use std::hash::{Hash, Hasher};

use serde_json::Value;

use crate::digest::files::CallText;
use crate::digest::grammar::Place;
use crate::digest::outcome::{Ended, ended, reads_as_error};
use crate::digest::reader::{Awaited, HistoryReader};
use crate::digest::runs::{CallRun, folder_of_command};
use crate::digest::user::UserMessage;
use crate::transcript::denial::Denial;
use crate::transcript::lazy_text::LazyText;
use crate::transcript::text::Text;
use crate::transcript::tools::purpose::{Purpose, is_in, purpose_of};
use crate::transcript::tools::{Access, ToolUse, words_of_name};

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
    /// Whether it failed, where the format says so.
    pub(super) marked: Option<bool>,
    /// The agent's record that the user refused the call.
    pub(super) denial: Option<Denial<'a>>,
    /// What it holds that is not text.
    pub(super) other: Option<String>,
}

impl<'a> HistoryReader<'a, '_> {
    pub(super) fn add_call(&mut self, id: Option<Text<'_>>, call: OpenCall<'a>) {
        if id.is_none() && self.awaited == Awaited::Words {
            self.awaited = Awaited::Reply;
        }
        self.open_by_id.entry(id.map(|id| id.decode().into_owned())).or_default().push_back(self.open.len());
        self.open.push(Some(call));
    }

    pub(super) fn add_result(&mut self, id: Option<Text<'_>>, result: CallResult<'a>) {
        let queue = self.open_by_id.get_mut(&id.map(|id| id.decode().into_owned()));
        let call = queue.and_then(VecDeque::pop_front).and_then(|at| self.open[at].take());
        if let Some(call) = call {
            self.end_call(call, Ok(result));
        }
    }

    /// Notes what a call did, once its result is there, or how it ended without one.
    pub(super) fn end_call(&mut self, call: OpenCall<'a>, result: Result<CallResult<'a>, Ended>) {
        /// Characters of a result that tell what kind it is. The rest is not decoded until it is told.
        const OPENING: usize = 400;
        let OpenCall { place, name, arguments } = call;
        let text = arguments.read();
        let given: Value = serde_json::from_str(&text).unwrap_or(Value::Null);
        let words = result.as_ref().ok().and_then(|result| Some((result.place, result.denial?.words(&name)?)));
        let answer = result.as_ref().map_or(String::new(), |result| result.text.opening(OPENING));
        let end = match &result {
            Ok(_) if words.is_some() => Ended::Refused,
            Ok(result) => ended(&result.text, result.marked),
            Err(end) => *end,
        };
        let result = result.ok();
        let of_result = result.as_ref().map_or(place, |result| place.with_result(result.place));
        if let Some((place, words)) = words {
            self.add_words_of_denial(place, &words);
        }
        let has_failed = matches!(end, Ended::Failed(_));
        let is_thought = words_of_name(&name).iter().any(|word| is_in(word, "think|thinking|sequentialthinking"));
        if is_thought
            || !has_failed
                && end != Ended::Refused
                && result.is_some()
                && self.digest.plan.update(&name, &given, &answer, place)
        {
            return;
        }
        let tool = ToolUse::parse_with_json(&name, &given, &text);
        let changed = tool.files.iter().find(|file| file.access == Access::Changed);
        let edit_failed = has_failed || end == Ended::Unknown && reads_as_error(&answer);
        let is_told = end != Ended::Refused && end != Ended::NoResult;
        if let Some(file) = changed.filter(|_| is_told && tool.command.is_none() && edit_failed) {
            return self.digest.files.add_failure(&file.path, of_result, &answer);
        }
        if is_told && !has_failed {
            let call = CallText { name: &name, given: &given, arguments: &text, result: &answer };
            self.digest.files.add_call(call, &tool, place, of_result);
        }
        // The state tells which files were changed or read. What a command shows of one is there still.
        let is_of_files = is_told && (tool.command.is_none() && changed.is_some() || tool.only_reads && !has_failed);
        if let Some(folder) = tool.command.as_deref().and_then(folder_of_command) {
            *self.folders.entry(folder.to_owned()).or_default() += 1;
        }
        let purpose = if is_of_files { Purpose::Reads } else { purpose_of(&name, &tool, &answer) };
        let mut key = DefaultHasher::new();
        (tool.command.as_deref().map_or((&*name, &*text), |command| ("", command.trim()))).hash(&mut key);
        drop(text);
        let (result, other) = result.map(|result| (result.text, result.other)).unzip();
        let run = CallRun { purpose, name, arguments, result, other: other.flatten(), ..CallRun::new(of_result, end) };
        // The last call is told whatever it was.
        self.last_of_files = None;
        if is_of_files {
            let call = if changed.is_some() { ("edit", place) } else { ("read", of_result) };
            self.digest.calls.push((call.0, call.1.source));
            self.last_of_files = Some(run);
        } else {
            self.add_run(key.finish(), run);
        }
    }

    /// Adds what the user said in refusing a call.
    pub(super) fn add_words_of_denial(&mut self, place: Place, words: &str) {
        let words = words.trim();
        if !words.is_empty() {
            self.digest.user.push(UserMessage::new(place, LazyText::Owned(words.into()), words, None));
        }
    }

    /// Adds the last run of its key, in place of the one before, and of the one that an earlier digest told.
    fn add_run(&mut self, key: u64, mut run: CallRun<'a>) {
        let runs = &mut self.digest.runs;
        if self.carried.is_none() {
            let told = runs.iter().enumerate().filter(|(_, run)| run.carried.is_some());
            self.carried = Some(told.map(|(at, run)| (run.label(None), at)).collect());
        }
        let carried = self.carried.as_mut().filter(|carried| !carried.is_empty());
        if let Some(at) = carried.and_then(|carried| carried.remove(&run.label(self.digest.folder.as_deref()))) {
            run.failed_before = runs[at].supersede();
        }
        if let Some(before) = self.runs.insert(key, runs.len()) {
            run.failed_before = runs[before].supersede();
        }
        runs.push(run);
    }
}
