//! Calls and their results: which belong together, how a call ended, and what it did.

use std::borrow::Cow;
use std::collections::hash_map::{DefaultHasher, Entry};
use std::hash::{Hash, Hasher};

use serde_json::Value;

use crate::digest::calls::{Call, CallSource, Ended, says_nothing};
use crate::digest::deciding::reads_as_error;
use crate::digest::files::clean;
use crate::digest::grammar::Place;
use crate::digest::item::{Body, Item};
use crate::digest::kinds::Kind;
use crate::digest::reader::{AlikeKey, Awaited, HistoryReader};
use crate::transcript::background::{AnsweredCall, TaskEvent, records_of_call};
use crate::transcript::json::Json;
use crate::transcript::lazy_text::LazyText;
use crate::transcript::speaker::clean_folder;
use crate::transcript::status::{Denial, Status, refuses_edit, refuses_patch};
use crate::transcript::text::Text;
use crate::transcript::tools::purpose::{Purpose, only_searches, purpose_of};
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

impl<'a> CallResult<'a> {
    /// Where the user refused the call of a tool, and in which words.
    fn refusal(&self, tool: &str) -> Option<(Place, Cow<'a, str>)> {
        Some((self.place, self.denial?.words(tool)?))
    }
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
        /// Characters of a result that tell what kind it is. The rest is not decoded until it is told.
        const OPENING: usize = 400;
        /// Words in the names of tools with which a model only thinks.
        const THOUGHTS: [&str; 3] = ["think", "thinking", "sequentialthinking"];
        let OpenCall { place, name, arguments } = call;
        let text = arguments.read();
        let given: Value = serde_json::from_str(&text).unwrap_or(Value::Null);
        let (result, ended) = match result {
            Ok(result) => {
                let ended = Ended::of_result(&result.text, result.recorded);
                (Some(result), ended)
            }
            Err(ended) => (None, ended),
        };
        let words = result.as_ref().and_then(|result| result.refusal(&name));
        let ended = if words.is_some() { Ended::Refused } else { ended };
        let opening = match &result {
            Some(result) => result.text.opening(OPENING),
            None => String::new(),
        };
        if let Some(result) = &result
            && ended != Ended::Refused
        {
            self.add_tasks(&name, &given, place, result);
        }
        if let Some((place, words)) = words {
            self.add_words_of_denial(place, &words);
        }
        let tool = ToolUse::parse_with_json(&name, &given, &text);
        let is_done = !ended.is_failure() && !matches!(ended, Ended::Refused | Ended::NoResult);
        let key = key(&name, tool.command.as_deref().filter(|_| is_shell(&name)), &text, &given);
        let is_thought = words_of_name(&name).iter().any(|word| THOUGHTS.contains(&word.as_str()));
        if is_thought || is_done && self.plan.update(&name, &given, &opening, place) {
            for at in self.runs.remove(&key.exact).unwrap_or_default() {
                self.digest.items[at].is_replaced = true;
            }
            return;
        }
        self.folders.extend(folder_argument(&given).and_then(clean_folder));
        let at =
            CallPlaces { call: place, result: result.as_ref().map_or(place, |result| place.with_result(result.place)) };
        let is_told_as_error = reads_as_error(&opening);
        let use_ = CallUse { name: &name, given: &given, tool: &tool, ended, is_told_as_error };
        let kind = self.note_files(&use_, at, result.as_ref().map(|result| &result.text), &opening);
        drop(text);
        let Some(kind) = kind else { return };
        let has_deciding_lines = tool.command.is_some() && kind != Kind::Read;
        let source = CallSource::History { name, arguments, result: result.map(|result| result.text) };
        self.add_run(key, kind, at.result, Call { source, ended, has_deciding_lines });
    }

    /// Notes the files of a call. Returns the kind under which the call itself is told; none where its files tell it.
    fn note_files(
        &mut self,
        call: &CallUse<'_>,
        at: CallPlaces,
        result: Option<&LazyText<'a>>,
        opening: &str,
    ) -> Option<Kind> {
        let CallUse { name, given, tool, ended, is_told_as_error } = *call;
        match ended {
            Ended::NoResult => return Some(Kind::OpenCall),
            Ended::Refused => return Some(Kind::FailedCall),
            _ => {}
        }
        let has_failed = ended.is_failure() || !tool.changes.is_empty() && refuses_patch(opening);
        let purpose = purpose_of(name, tool, opening);
        // A search ends with 1 where it finds nothing, and with other codes where it could not search.
        let may_have_searched = !matches!(ended, Ended::With(Status::Code(code)) if !(0..=1).contains(&code));
        if (has_failed || !tool.only_reads) && may_have_searched && says_nothing(opening) && only_searches(name, tool) {
            return Some(Kind::FoundNothing);
        }
        if let Some(command) = &tool.command {
            if purpose != Purpose::Reads || !tool.changes.is_empty() {
                self.files.add_command(command, tool, at.call, has_failed);
            }
        } else if tool.files.iter().any(|file| file.access == Access::Changed) {
            let has_failed = has_failed || refuses_edit(opening);
            // Whether it was made, a result without a status says in its words: it is told as a call.
            if has_failed || !is_told_as_error {
                self.files.add_tool(name, given, tool, at.call, has_failed);
            }
            if has_failed || is_told_as_error {
                return Some(Kind::FailedCall);
            }
            let mut changed = tool.files.iter().filter(|file| file.access == Access::Changed);
            let are_told = changed.all(|file| clean(&file.path).is_some());
            return if are_told { None } else { Some(Kind::Action) };
        }
        if has_failed {
            return Some(Kind::FailedCall);
        }
        if tool.only_reads && !is_told_as_error {
            for file in tool.files.iter().filter(|file| file.access == Access::Read) {
                self.files.add_read(&file.path, at.result);
                self.note_rules(&file.path, at.result, result);
            }
            // What it showed is there still.
            let are_told = tool.files.iter().all(|file| clean(&file.path).is_some());
            return if are_told { None } else { Some(Kind::Read) };
        }
        Some(match purpose {
            Purpose::Effects => Kind::Effect,
            Purpose::Acts | Purpose::Checks | Purpose::Scripts => Kind::Action,
            Purpose::LooksUp => Kind::LookUp,
            Purpose::Reads => Kind::Read,
        })
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
            self.tasks.add(if is_launch { place } else { result.place }, record);
        }
    }

    /// Adds what the user said in refusing a call.
    pub(super) fn add_words_of_denial(&mut self, place: Place, words: &str) {
        let words = words.trim();
        if !words.is_empty() {
            self.add_user(place, LazyText::owned(words), words, None);
        }
    }

    /// Adds the last run of its key, in place of the one before, and of the one that an earlier digest told. A failure
    /// before a run that did not fail stays: both stand in order.
    fn add_run(&mut self, key: CallKey, kind: Kind, place: Place, call: Call<'a>) {
        let mut before = self.runs.remove(&key.exact).unwrap_or_default();
        if !self.carried_calls.is_empty() {
            before.extend(self.carried_calls.remove(&call.label(None)).unwrap_or_default());
        }
        let items = &mut self.digest.items;
        let has_failed = kind == Kind::FailedCall;
        if has_failed {
            self.failed.entry(key.program).or_default().push(items.len());
        } else if kind != Kind::OpenCall {
            // What failed before a like call succeeded is hardly open.
            for at in self.failed.remove(&key.program).unwrap_or_default() {
                items[at].kind = Kind::MendedCall;
            }
        }
        let mut standing: Vec<usize> = Vec::new();
        for at in before.into_iter().rev() {
            let failed_before = matches!(items[at].kind, Kind::FailedCall | Kind::MendedCall);
            if !has_failed && failed_before && standing.is_empty() {
                standing.push(at);
            } else {
                items[at].is_replaced = true;
            }
        }
        standing.push(items.len());
        self.runs.insert(key.exact, standing);
        self.alike.push(AlikeKey { item: items.len() as u32, without_digits: key.without_digits, kind });
        items.push(Item::new(kind, place, Body::Call(Box::new(call))));
    }
}

/// The places of a call and of its result.
#[derive(Clone, Copy)]
struct CallPlaces {
    call: Place,
    result: Place,
}

/// What a call does, and how it ended.
#[derive(Clone, Copy)]
struct CallUse<'c> {
    name: &'c str,
    given: &'c Value,
    tool: &'c ToolUse,
    ended: Ended,
    /// Whether its result reads like an error.
    is_told_as_error: bool,
}

/// What calls have in common that stand for each other.
pub(super) struct CallKey {
    /// Equal for runs of the same command, or of the same call with the same arguments, however they are spaced and
    /// quoted.
    exact: u64,
    /// Equal for those that are equal but for digits, too.
    without_digits: u64,
    /// Equal for all calls of one tool, and for commands that run the same program.
    program: u64,
}

fn key(name: &str, command: Option<&str>, arguments: &str, given: &Value) -> CallKey {
    let (mut exact, mut without_digits) = (DefaultHasher::new(), DefaultHasher::new());
    let (name, text) = match command {
        Some(command) => ("", command),
        None => (name, arguments),
    };
    (name, folder_argument(given)).hash(&mut exact);
    name.hash(&mut without_digits);
    for word in text.split_whitespace() {
        let word = word.trim_matches(['\'', '"']);
        word.hash(&mut exact);
        hash_without_digits(word, &mut without_digits);
    }
    let mut program = DefaultHasher::new();
    match command {
        Some(command) => last_program(command).hash(&mut program),
        None => name.hash(&mut program),
    }
    CallKey { exact: exact.finish(), without_digits: without_digits.finish(), program: program.finish() }
}

/// The program of the last step of a command that is joined by `&&`, with its first argument.
fn last_program(command: &str) -> [Option<&str>; 2] {
    let step = command.rsplit("&&").next().unwrap_or(command);
    let mut words = step.split_whitespace().filter(|word| !word.contains('='));
    [words.next(), words.next()]
}

/// Hashes a text, with one mark for each number in it.
pub(super) fn hash_without_digits(text: &str, hasher: &mut DefaultHasher) {
    let mut follows_digit = false;
    for byte in text.bytes() {
        if !byte.is_ascii_digit() {
            hasher.write_u8(byte);
        } else if !follows_digit {
            hasher.write_u8(b'0');
        }
        follows_digit = byte.is_ascii_digit();
    }
    hasher.write_u8(b' ');
}
