//! Reads a history in one pass: who speaks, what was said and done.

use std::collections::{HashMap, VecDeque, hash_map::DefaultHasher};
use std::hash::{Hash, Hasher};

use serde_json::Value;

use crate::digest::files::Place;
use crate::digest::outcome::{Ended, ended, reads_as_error};
use crate::digest::runs::{Run, class_of, folder_of_command};
use crate::digest::said::{Said, SaidKind};
use crate::digest::speaker::{is_observation, notes_interruption, refusal, shell_block, words_of_person};
use crate::digest::text::{LazyText, texts_and_results, thoughts};
use crate::digest::user::UserMessage;
use crate::digest::{Digest, carried};
use crate::transcript::compaction::Compaction;
use crate::transcript::fence;
use crate::transcript::tools::{Access, ToolUse, words_of_name};
use crate::transcript::{Message, ResultRef, Role};

/// Reads messages, with their `indices` in the source. `prefix` is the opening of an earlier summary.
pub(crate) fn read<'a>(messages: &[&Message<'a>], indices: &[usize], prefix: &str) -> Digest<'a> {
    let mut reader = Reader { prefix, ..Reader::default() };
    for (at, message) in messages.iter().enumerate() {
        let index = indices.get(at).copied().unwrap_or(at);
        reader.read_message(message, index, messages.get(at + 1).copied());
    }
    reader.finish(messages.len())
}

/// Characters of a result that tell what kind it is.
const OPENING: usize = 400;

/// A call whose result is not there yet.
struct OpenCall<'a> {
    place: Place,
    name: String,
    arguments: LazyText<'a>,
    /// Whether the user interrupted it.
    is_interrupted: bool,
}

#[derive(Default)]
struct Reader<'a, 'p> {
    digest: Digest<'a>,
    prefix: &'p str,
    open: Vec<Option<OpenCall<'a>>>,
    open_by_id: HashMap<String, VecDeque<usize>>,
    open_without_id: VecDeque<usize>,
    /// The place of the last run of each key in the list of runs.
    runs: HashMap<u64, usize>,
    /// The last thought, until something is said.
    thought: Option<Said<'a>>,
    /// No output of a command precedes the first command.
    has_acted: bool,
    /// The text of a slash command that the user typed is what the user wants.
    follows_slash_command: bool,
    /// How many commands ran in each folder.
    folders: HashMap<String, usize>,
}

impl<'a> Reader<'a, '_> {
    fn read_message(&mut self, message: &Message<'a>, index: usize, next: Option<&Message<'a>>) {
        let place = Place::new(index);
        // A provider's compaction is an earlier summary, even if text of the model follows.
        if let Some(Compaction::Readable(text)) = message.compaction() {
            self.read_earlier(place, LazyText::One(text), false);
            if message.is_readable_compaction() {
                return;
            }
        }
        let (texts, results) = texts_and_results(message);
        let text = LazyText::new(texts);
        if message.is_summary(self.prefix) {
            return self.read_earlier(place, text, true);
        }
        let is_result = matches!(message.role, Role::Tool | Role::Function) || !message.results.is_empty();
        match message.role {
            Role::User if message.is_user_turn() => self.read_user(message, place, &text),
            Role::Assistant => self.read_assistant(message, place, &text, next),
            _ => {}
        }
        for call in &message.calls {
            let name = call.name.map(|name| name.decode().into_owned()).unwrap_or_default();
            let arguments = LazyText::of_arguments(call.arguments);
            self.add_call(
                call.id.map(|id| id.decode().into_owned()),
                OpenCall { place, name, arguments, is_interrupted: false },
            );
        }
        let mut contents = results.into_iter().map(LazyText::new);
        for answer in &message.results {
            // If a whole message is a result, its text is the result.
            let result = contents.next().unwrap_or_else(|| text.clone());
            self.add_result(answer.id.map(|id| id.decode().into_owned()).as_deref(), result, mark_of(answer), place);
        }
        if is_result && message.results.is_empty() {
            self.add_result(None, text, None, place);
        }
    }

    fn read_earlier(&mut self, place: Place, text: LazyText<'a>, may_be_ours: bool) {
        let owned = text.read();
        let ours = owned.strip_prefix(self.prefix.trim_end()).filter(|_| may_be_ours && !self.prefix.trim().is_empty());
        let inside = fence::opened(ours.unwrap_or(&owned));
        if ours.is_none() || !carried::read_into(&mut self.digest, place, inside) {
            let inside = LazyText::Owned(inside.trim().into());
            self.digest.earlier = Some((place, inside)).filter(|(_, inside)| !inside.is_blank());
        }
    }

    fn read_user(&mut self, message: &Message<'a>, place: Place, text: &LazyText<'a>) {
        let all = text.read();
        if notes_interruption(&all) {
            self.open.iter_mut().flatten().for_each(|call| call.is_interrupted = true);
        }
        let is_slash_command = all.contains("<command-name>");
        let is_inserted = message.is_marked_as_inserted() && message.results.is_empty() && !self.follows_slash_command;
        self.follows_slash_command = is_slash_command;
        let words = words_of_person(&all);
        if is_inserted || words.trim().is_empty() {
            return;
        }
        if self.has_acted && is_observation(&words) {
            return self.add_result(None, text.clone(), None, place);
        }
        let asked = self.digest.said.last().filter(|said| said.kind == SaidKind::Report);
        let asked = asked.and_then(|said| UserMessage::asked(&words, said.place, &said.text.read()));
        self.digest.user.push(UserMessage::new(place, text.clone(), &words, asked));
    }

    fn read_assistant(&mut self, message: &Message<'a>, place: Place, text: &LazyText<'a>, next: Option<&Message<'a>>) {
        self.has_acted = true;
        let thoughts = thoughts(message);
        if !thoughts.is_empty() {
            self.thought = Some(Said { place, text: LazyText::new(thoughts), kind: SaidKind::Thought });
        }
        if text.is_blank() {
            return;
        }
        self.thought = None;
        let is_next_output = || {
            next.is_some_and(|next| {
                next.role == Role::User && is_observation(&LazyText::new(texts_and_results(next).0).read())
            })
        };
        let all = if message.calls.is_empty() { text.read() } else { "".into() };
        let command = shell_block(&all, is_next_output);
        // Some formats write a call as a message of its own.
        let acts =
            !message.calls.is_empty() || command.is_some() || next.is_some_and(|next| next.role == Role::Assistant);
        let kind = if acts { SaidKind::Step } else { SaidKind::Report };
        self.digest.said.push(Said { place, text: text.clone(), kind });
        if let Some(command) = command {
            let arguments = LazyText::Owned(command.into());
            self.add_call(None, OpenCall { place, name: "bash".to_owned(), arguments, is_interrupted: false });
        }
    }

    fn add_call(&mut self, id: Option<String>, call: OpenCall<'a>) {
        let queue = match id {
            Some(id) => self.open_by_id.entry(id).or_default(),
            None => &mut self.open_without_id,
        };
        queue.push_back(self.open.len());
        self.open.push(Some(call));
    }

    fn add_result(&mut self, id: Option<&str>, result: LazyText<'a>, marked: Option<bool>, place: Place) {
        let queue = match id {
            Some(id) => self.open_by_id.get_mut(id),
            None => Some(&mut self.open_without_id),
        };
        let call = queue.and_then(VecDeque::pop_front).and_then(|at| self.open[at].take());
        if let Some(call) = call {
            self.end_call(call, Some(result), marked, place);
        }
    }

    /// Notes what a call did, once its result is there or will not come.
    fn end_call(&mut self, call: OpenCall<'a>, result: Option<LazyText<'a>>, marked: Option<bool>, end: Place) {
        let OpenCall { place, name, arguments, is_interrupted } = call;
        let text = arguments.read();
        let given: Value = serde_json::from_str(&text).unwrap_or(Value::Null);
        if words_of_name(&name).iter().any(|word| matches!(word.as_str(), "think" | "thinking" | "sequentialthinking"))
        {
            return;
        }
        // Results are not decoded but for their beginning, until they are told.
        let answer = result.as_ref().map(|result| result.opening(OPENING));
        let answer = answer.as_deref();
        let ended = match &result {
            Some(result) => ended(result, marked),
            None if is_interrupted => Ended::Refused,
            None => Ended::NoResult,
        };
        let has_failed = matches!(ended, Ended::Failed(_));
        if !has_failed && result.is_some() && self.digest.plan.update(&name, &given, answer, place) {
            return;
        }
        let tool = ToolUse::parse_with_json(&name, &given, &text);
        let changed = tool.files.iter().find(|file| file.access == Access::Changed);
        // Programs ask the user only before an action.
        let asks = marked.unwrap_or(changed.is_some() || tool.command_acts());
        let refused = answer.filter(|answer| asks && refusal(answer).is_some()).and(result.as_ref());
        let refused = refused.map(|result| refusal(&result.read()).unwrap_or("").to_owned());
        let ended = if refused.is_some() { Ended::Refused } else { ended };
        if let Some(words) = refused.as_deref().filter(|words| !words.is_empty()) {
            let text = LazyText::Owned(words.into());
            self.digest.user.push(UserMessage::new(end, text, words, None));
        }
        let edit_failed = has_failed || ended == Ended::Unknown && answer.is_some_and(reads_as_error);
        match (ended, changed) {
            (Ended::Refused | Ended::NoResult, _) => {}
            (_, Some(file)) if tool.command.is_none() && edit_failed => {
                return self.digest.files.add_failure(&file.path, place, answer.unwrap_or(""));
            }
            _ if has_failed => {}
            _ => self.digest.files.add_call(&name, &given, &text, &tool, place),
        }
        let is_told = ended != Ended::Refused && ended != Ended::NoResult;
        // The state tells which files were changed or read. What a command shows of one is there still.
        let is_of_files = tool.command.is_none() && changed.is_some() || tool.only_reads && !has_failed;
        if is_told && is_of_files {
            return;
        }
        if let Some(folder) = tool.command.as_deref().and_then(folder_of_command) {
            *self.folders.entry(folder.to_owned()).or_default() += 1;
        }
        let class = class_of(&name, &tool, answer.unwrap_or(""));
        let mut key = DefaultHasher::new();
        match &tool.command {
            Some(command) => command.trim().hash(&mut key),
            None => (&name, &*text).hash(&mut key),
        }
        drop(text);
        let mut run = Run {
            place,
            class,
            name,
            arguments,
            result,
            ended,
            carried: None,
            failed_before: None,
            is_superseded: false,
        };
        if self.digest.runs.first().is_some_and(|run| run.carried.is_some()) {
            let label = run.label(None);
            let known = self.digest.runs.iter_mut().take_while(|run| run.carried.is_some());
            known.filter(|known| known.label(None) == label).for_each(|known| known.is_superseded = true);
        }
        if let Some(before) = self.runs.insert(key.finish(), self.digest.runs.len()) {
            run.failed_before = self.digest.runs[before].supersede();
        }
        self.digest.runs.push(run);
    }

    fn finish(mut self, messages: usize) -> Digest<'a> {
        let end = self.digest.said.last().map(|said| said.place);
        for call in std::mem::take(&mut self.open).into_iter().flatten() {
            // Only a call at the end is still open. An earlier one has no result and gets none.
            if call.is_interrupted || end.is_none_or(|end| call.place >= end) {
                let place = call.place;
                self.end_call(call, None, None, place);
            }
        }
        let mut digest = self.digest;
        digest.runs.retain(|run| !run.is_superseded);
        digest.said.extend(self.thought);
        digest.messages = messages;
        let of_commands = self.folders.into_iter().filter(|(folder, times)| *times > 1 && folder.starts_with('/'));
        let of_commands = of_commands.max_by(|a, b| a.1.cmp(&b.1).then(b.0.cmp(&a.0))).map(|(folder, _)| folder);
        // Once a folder was told, the paths of all rounds are told without it.
        digest.folder = digest.folder.take().or(of_commands).or_else(|| digest.files.common_folder());
        if let Some(folder) = &digest.folder {
            digest.files.shorten(folder);
        }
        digest
    }
}

/// Returns what the format says of a result: whether it failed.
fn mark_of(answer: &ResultRef<'_>) -> Option<bool> {
    let has = |key: &str, wanted: &str| answer.json.get(key).is_some_and(|value| value.raw() == wanted);
    if has("is_error", "true")
        || has("status", "\"error\"")
        || has("isError", "true")
        || has("state", "\"output-error\"")
    {
        return Some(true);
    }
    let is_well = has("is_error", "false") || has("status", "\"success\"") || has("isError", "false");
    is_well.then_some(false)
}
