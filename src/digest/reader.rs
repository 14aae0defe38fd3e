//! Reads a history in one pass: who speaks, what was said and done.

mod calls;

use std::collections::{BTreeMap, BTreeSet, HashMap, VecDeque};

use crate::digest::earlier::without_frame;
use crate::digest::grammar::Place;
use crate::digest::outcome::Ended;
use crate::digest::reader::calls::{CallResult, OpenCall};
use crate::digest::runs::CallRun;
use crate::digest::said::{Said, SaidKind};
use crate::digest::user::UserMessage;
use crate::digest::{Digest, carried};
use crate::transcript::background;
use crate::transcript::compaction::ProviderCompaction;
use crate::transcript::lazy_text::{LazyText, texts_of};
use crate::transcript::media::MediaKind;
use crate::transcript::outputs::loaded_tools;
use crate::transcript::pieces::Piece;
use crate::transcript::speaker::{
    INTERRUPTION, is_handed_over, is_interruption, recorded_folder, said_texts, typed_command, words_of_texts,
};
use crate::transcript::status::{Denial, recorded_status};
use crate::transcript::text::Text;
use crate::transcript::text_calls::{TextCall, answered_call, feedback, is_reply, is_shell_output, shell_block};
use crate::transcript::{Content, Message, PartKind, Role, fence, text_calls};
use crate::wording::counted;

/// Reads messages, with their `indices` in the source. `prefix` is the opening of an earlier summary.
pub(crate) fn read<'a>(messages: &[&Message<'a>], indices: &[usize], prefix: &str) -> Digest<'a> {
    let mut reader = HistoryReader { prefix, ..HistoryReader::default() };
    for (at, message) in messages.iter().enumerate() {
        let index = indices.get(at).copied().unwrap_or(at);
        reader.read_message(message, index, messages.get(at + 1).copied());
    }
    reader.finish(messages.len())
}

/// What may follow a message of the assistant in the user's place.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
enum Awaited {
    #[default]
    Words,
    /// The output of a command, in the form of one.
    Output,
    /// The reply to a call: the next message has the form of one.
    Reply,
}

#[derive(Default)]
struct HistoryReader<'a, 'p> {
    digest: Digest<'a>,
    prefix: &'p str,
    /// The calls that have no result yet, by their number, and their numbers by id.
    open: BTreeMap<usize, OpenCall<'a>>,
    open_by_id: HashMap<Option<String>, VecDeque<usize>>,
    /// How many calls there were so far, and before the user interrupted the agent.
    calls: usize,
    interrupted: usize,
    awaited: Awaited,
    /// The place of the last text that was not only thought.
    spoken: Option<usize>,
    /// The place of the last run of each key in the list of runs.
    runs: HashMap<u64, usize>,
    /// Whether the message before is a summary: the command of an output behind it is gone.
    follows_summary: bool,
    /// The command that the user typed without arguments in the message before. It stands for the text that the program
    /// inserts for it.
    typed_command: Option<(Place, String)>,
    /// The places of the runs that an earlier digest told, by their labels.
    carried: Option<HashMap<String, usize>>,
    /// The last call, where the state tells what it did.
    last_of_files: Option<CallRun<'a>>,
    /// The folders that are recorded as those of messages and calls.
    folders: BTreeSet<String>,
}

impl<'a> HistoryReader<'a, '_> {
    fn read_message(&mut self, message: &Message<'a>, index: usize, next: Option<&Message<'a>>) {
        let place = Place::new(index);
        let follows_summary = std::mem::replace(&mut self.follows_summary, message.earlier);
        // A provider's compaction is an earlier summary, even if text of the model follows.
        if let Some(ProviderCompaction::Readable(text)) = message.compaction() {
            self.read_earlier(place, &text.decode(), 0);
            if message.is_readable_compaction() {
                return;
            }
        }
        self.folders.extend(recorded_folder(message));
        let (texts, results, thoughts) = texts_of(message);
        let text = LazyText::new(texts);
        if message.earlier {
            self.read_earlier(place, &text.read(), message.round);
            self.awaited = Awaited::Words;
            self.spoken = self.digest.said.len().checked_sub(1);
            return;
        }
        // What answers a command in its place is the command's.
        if self.awaited == Awaited::Words || message.is_marked_as_inserted() {
            for record in background::notices(message) {
                self.digest.tasks.add(place, record);
            }
        }
        match message.role {
            Role::User if message.is_user_turn() => {
                // A part that nobody knows beside a result is rather the tool's than the user's.
                let said = if message.results.is_empty() { text.clone() } else { said_texts(message) };
                self.read_user(message, place, &said, follows_summary, next);
            }
            Role::Assistant => self.read_assistant(message, place, &text, thoughts, next),
            _ => {}
        }
        for (_, said) in message.asides().filter(|(role, _)| *role == Role::User) {
            let text = LazyText::new(said.texts());
            let words = words_of_texts(text.strings());
            if !words.trim().is_empty() {
                self.digest.user.push(UserMessage::new(place, text, &words, None));
            }
        }
        for denial in message.content.parts().iter().filter_map(|part| Denial::in_part(part.json)) {
            self.add_words_of_denial(place, &denial.words("").unwrap_or_default());
        }
        let loaded = message.content.parts().iter().filter(|part| matches!(part.kind, PartKind::Other));
        let loaded: Vec<Text<'_>> = loaded.flat_map(|part| loaded_tools(part.json)).collect();
        self.digest.loaded.add(place, loaded.into_iter().map(|name| name.decode().into_owned()));
        for call in &message.calls {
            let name = call.name.map(|name| name.decode().into_owned()).unwrap_or_default();
            let arguments = LazyText::of_arguments(call.arguments);
            self.add_call(call.id, OpenCall { place, name, arguments });
        }
        if message.is_interrupted() {
            self.interrupt(place);
        }
        let mut texts = results.into_iter().map(LazyText::new);
        let mut contents = message.content.parts().iter().filter_map(|part| match &part.kind {
            PartKind::Result(content) => Some(content),
            _ => None,
        });
        for answer in &message.results {
            self.awaited = Awaited::Words;
            let loaded = loaded_tools(answer.json);
            // If a whole message is a result, its content is the result.
            let content = contents.next().unwrap_or(&message.content);
            let text = texts.next().unwrap_or_else(|| text.clone());
            let text = with_other_content(text, content, loaded.len());
            self.digest.loaded.add(place, loaded.into_iter().map(|name| name.decode().into_owned()));
            let (recorded, denial) = (recorded_status(answer.json), answer.denial.as_deref().copied());
            let message = Some(message.json).filter(|_| message.results.len() == 1);
            self.add_result(answer.id, CallResult { place, text, recorded, denial, message });
        }
        if matches!(message.role, Role::Tool | Role::Function) && message.results.is_empty() {
            let text = with_other_content(text, &message.content, 0);
            self.add_result(None, CallResult { place, text, recorded: None, denial: None, message: None });
        }
    }

    fn read_earlier(&mut self, place: Place, text: &str, round: u32) {
        let is_ours = round > 0;
        let inside =
            if is_ours { fence::opened(text.strip_prefix(self.prefix.trim_end()).unwrap_or(text)) } else { text };
        if !is_ours || !carried::read_into(&mut self.digest, place, round, inside) {
            self.digest.earlier.push((place, without_frame(inside).to_owned()));
        }
    }

    fn read_user(
        &mut self,
        message: &Message<'a>,
        place: Place,
        text: &LazyText<'a>,
        follows_summary: bool,
        next: Option<&Message<'a>>,
    ) {
        let awaited = std::mem::take(&mut self.awaited);
        let all = text.read();
        let is_inserted = message.is_marked_as_inserted() && message.results.is_empty();
        if let Some((place, typed)) = self.typed_command.take().filter(|_| is_inserted) {
            self.digest.user.push(UserMessage::new(place, LazyText::Owned(typed.as_str().into()), &typed, None));
        }
        let command = typed_command(&all).filter(|command| !is_inserted && command.arguments.is_empty());
        self.typed_command = command.map(|command| (place, command.called()));
        let answer = || next.map(|next| LazyText::new(texts_of(next).0).opening(text_calls::OPENING));
        let words = words_of_texts(text.strings());
        if words.lines().any(is_interruption) {
            self.interrupted = self.calls;
        }
        if is_inserted || words.trim().is_empty() || is_handed_over(&all, answer) {
            return;
        }
        let before = self.spoken.filter(|_| follows_summary).map(|spoken| self.digest.said[spoken].text.read());
        let answers = awaited == Awaited::Reply && is_reply(&all)
            || before.is_some_and(|before| answered_call(&before, &all).is_some());
        if answers || self.is_output(message, &words, awaited, follows_summary) {
            // Several replies can follow each other. Where no call is known, a person may have written it.
            self.awaited = awaited;
            self.digest.left_out.user += usize::from(!answers && awaited == Awaited::Words);
            let text = with_other_content(text.clone(), &message.content, 0);
            self.add_result(None, CallResult { place, text, recorded: None, denial: None, message: None });
            for said in feedback(&message.content.texts()) {
                self.add_words_of_denial(place, &said);
            }
            return;
        }
        let last_user = self.digest.user.last().map(|message| message.place);
        let asked = self.spoken.map(|spoken| &self.digest.said[spoken]);
        let asked = asked.filter(|said| Some(said.place) > last_user);
        let asked = asked.and_then(|said| UserMessage::asked(&words, said.place, &said.text));
        self.digest.user.push(UserMessage::new(place, text.clone(), &words, asked));
    }

    /// Whether a message in the user's place is the output of a command. The command of one behind a summary is gone.
    fn is_output(&self, message: &Message<'a>, words: &str, awaited: Awaited, follows_summary: bool) -> bool {
        let follows_command = awaited != Awaited::Words;
        let is_marked = || message.json.get_text("message_type").is_some_and(|kind| kind.is("observation"));
        // A person does not answer a command with what looks like a summary.
        (follows_command || follows_summary)
            && (is_shell_output(words, follows_command) || is_marked() || message.opens_with(self.prefix))
    }

    /// Notes that the user interrupted the agent, where its record has no line that says so.
    fn interrupt(&mut self, place: Place) {
        self.interrupted = self.calls;
        self.digest.user.push(UserMessage::new(place, LazyText::Owned(INTERRUPTION.into()), INTERRUPTION, None));
    }

    fn read_assistant(
        &mut self,
        message: &Message<'a>,
        place: Place,
        text: &LazyText<'a>,
        thoughts: Vec<Text<'a>>,
        next: Option<&Message<'a>>,
    ) {
        let says_nothing = text.is_blank();
        if !says_nothing || !message.calls.is_empty() {
            self.awaited = Awaited::Words;
        }
        // What a provider's tool did is not said by the model.
        let item = message.json.get("payload").unwrap_or(message.json);
        if message.calls.is_empty() && item.get_text("type").is_some_and(|kind| kind.decode().ends_with("_call")) {
            return;
        }
        // What was thought is told where nothing was said.
        if says_nothing {
            let text = LazyText::new(thoughts);
            let thought = Said { place, text, kind: SaidKind::Thought };
            self.digest.said.extend(Some(thought).filter(|thought| !thought.text.is_blank()));
            return;
        }
        let call = if message.calls.is_empty() { self.call_in_text(message, &text.read(), next) } else { None };
        // Some formats write a call as a message of its own.
        let acts = !message.calls.is_empty() || call.is_some() || next.is_some_and(|next| next.role == Role::Assistant);
        let kind = if acts { SaidKind::Step } else { SaidKind::Report };
        self.spoken = Some(self.digest.said.len());
        self.digest.said.push(Said { place, text: text.clone(), kind });
        if text.read().lines().next_back().is_some_and(is_interruption) {
            self.interrupt(place);
        }
        if let Some(TextCall { name, arguments }) = call {
            // A reply answers the text before it, and none of earlier ones.
            self.open_by_id.remove(&None);
            self.add_call(None, OpenCall { place, name, arguments: LazyText::Owned(arguments.into()) });
        }
    }

    /// The call in a text of the assistant: one that the next message answers, or that nothing follows.
    fn call_in_text(&mut self, message: &Message<'a>, text: &str, next: Option<&Message<'a>>) -> Option<TextCall> {
        let reply = next.filter(|next| next.role == Role::User).map(|next| LazyText::new(texts_of(next).0));
        let opening = reply.as_ref().map(|reply| reply.opening(text_calls::OPENING)).unwrap_or_default();
        if let Some(call) = answered_call(text, &opening) {
            self.awaited = Awaited::Reply;
            return Some(call);
        }
        let is_next_output = || reply.as_ref().is_some_and(|reply| is_shell_output(&reply.read(), true));
        let command = shell_block(text, is_next_output).map(str::to_owned);
        let command = command.or_else(|| Some(message.command_beside()?.decode().into_owned()));
        command.map(|command| {
            self.awaited = Awaited::Output;
            TextCall { name: "bash".to_owned(), arguments: command }
        })
    }

    fn finish(mut self, messages: usize) -> Digest<'a> {
        let end = self.digest.said.last().map(|said| said.place);
        for (at, call) in std::mem::take(&mut self.open) {
            // Only a call at the end is still open. An earlier one has no result and gets none.
            if at < self.interrupted {
                self.end_call(call, Err(Ended::Refused));
            } else if end.is_none_or(|end| call.place >= end) {
                self.end_call(call, Err(Ended::NoResult));
            }
        }
        let mut digest = self.digest;
        digest.runs.retain(|run| !run.is_superseded);
        digest.keep_last_of_equal_messages();
        digest.runs.extend(self.last_of_files);
        digest.messages = messages;
        // Once a folder was told, the paths of all rounds are told without it. Of several recorded ones none is that of all.
        let recorded = self.folders.pop_first().filter(|_| self.folders.is_empty());
        digest.folder = digest.folder.take().or(recorded);
        if let Some(folder) = &digest.folder {
            digest.files.shorten(folder);
        }
        digest
    }
}

/// The text of a result; where it has none, what it holds in its place.
fn with_other_content<'a>(text: LazyText<'a>, content: &Content<'_>, loaded_tools: usize) -> LazyText<'a> {
    if !text.is_blank() {
        return text;
    }
    let (mut pictures, mut files) = (0, 0);
    content.pieces(&mut |_, piece| match piece {
        Piece::Media(MediaKind::Picture, _) => pictures += 1,
        Piece::Media(..) => files += 1,
        _ => {}
    });
    let kinds = [(pictures, "picture"), (files, "file"), (loaded_tools, "loaded tool")];
    let named: Vec<String> =
        kinds.into_iter().filter(|(number, _)| *number > 0).map(|(number, noun)| counted(number, noun)).collect();
    if named.is_empty() { text } else { LazyText::Owned(format!("no text: {}", named.join(", ")).into()) }
}
