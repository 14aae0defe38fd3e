//! Reads a history in one pass: who speaks, what was said and done.

mod calls;
mod carried;
mod finish;
mod questions;
mod rules;
mod user;

use std::collections::hash_map::DefaultHasher;
use std::collections::{BTreeMap, BTreeSet, HashMap, VecDeque};
use std::hash::Hasher;

use crate::digest::Digest;
use crate::digest::earlier::without_frame;
use crate::digest::files::Files;
use crate::digest::grammar::Place;
use crate::digest::item::{Body, Item};
use crate::digest::kinds::Kind;
use crate::digest::plan::Plan;
use crate::digest::reader::calls::{CallResult, OpenCall, hash_without_digits};
use crate::digest::reader::user::UserKey;
use crate::digest::tasks::Tasks;
use crate::transcript::background;
use crate::transcript::compaction::ProviderCompaction;
use crate::transcript::lazy_text::{LazyText, texts_of};
use crate::transcript::media::MediaKind;
use crate::transcript::outputs::loaded_tools;
use crate::transcript::pieces::Piece;
use crate::transcript::speaker::{is_interruption, recorded_folder, said_texts, words_of_texts};
use crate::transcript::status::{Denial, recorded_status};
use crate::transcript::text::Text;
use crate::transcript::text_calls::{OPENING, TextCall, answered_call, is_shell_output, shell_block};
use crate::transcript::{Content, Message, PartKind, Role, fence};
use crate::wording::{counted, one_line};

/// Reads messages, with their `indices` in the source. `prefix` is the opening of an earlier summary.
pub fn read<'a>(messages: &[&'a Message<'a>], indices: &[usize], prefix: &str) -> Digest<'a> {
    let mut reader = HistoryReader { prefix, ..HistoryReader::default() };
    for (at, message) in messages.iter().enumerate() {
        let index = indices.get(at).copied().unwrap_or(at);
        reader.read_message(message, index, messages.get(at + 1).copied());
    }
    reader.finish(messages.len())
}

/// What OpenClaw's assistant says where it has nothing to say.
const SILENT: [&str; 2] = ["NO_REPLY", "HEARTBEAT_OK"];

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

/// The hash by which a call or a text of the assistant is known to be equal to others but for digits.
struct AlikeKey {
    /// The place of its item in the list, which is no longer than memory allows.
    item: u32,
    without_digits: u64,
    /// The kind of its item, which can change until all messages are read.
    kind: Kind,
}

#[derive(Default)]
pub(super) struct HistoryReader<'a, 'p> {
    pub(super) digest: Digest<'a>,
    pub(super) plan: Plan,
    pub(super) files: Files,
    pub(super) tasks: Tasks,
    /// The tools that results have loaded, in order, with the place of the last such result.
    pub(super) loaded: Vec<String>,
    pub(super) loaded_at: Option<Place>,
    /// How many places of earlier digests were read back.
    pub(super) carried: u32,
    prefix: &'p str,
    /// The calls that have no result yet, by their number, and their numbers by id.
    open: BTreeMap<usize, OpenCall<'a>>,
    open_by_id: HashMap<Option<String>, VecDeque<usize>>,
    /// How many calls there were so far, and before the user interrupted the agent.
    calls: usize,
    interrupted: usize,
    awaited: Awaited,
    /// The items of the last text that was not only thought, and of the last message of the user.
    spoken: Option<usize>,
    last_user: Option<usize>,
    /// The item and the words of the last message of the user that is no interruption.
    last_words: Option<(usize, String)>,
    /// The keys of the user's messages, in order.
    user_keys: Vec<UserKey>,
    /// How many calls there were before the last message of the user, and the bytes of what was said after it.
    calls_before_user: usize,
    answer_bytes: usize,
    /// The items of the last run of each command and call, with the last failure before it.
    runs: HashMap<u64, Vec<usize>>,
    /// The items of calls that failed, by their tool or program, where no like call succeeded so far.
    failed: HashMap<u64, Vec<usize>>,
    /// The keys of calls and of texts of the assistant, in order.
    alike: Vec<AlikeKey>,
    rules: Vec<rules::RuleFile>,
    /// Whether the message before is a summary: the command of an output behind it is gone.
    follows_summary: bool,
    /// The command that the user typed without arguments in the message before. It stands for the text that the program
    /// inserts for it.
    typed_command: Option<(Place, String)>,
    /// The items of calls that an earlier digest told, by their labels.
    pub(super) carried_calls: HashMap<String, Vec<usize>>,
    /// The folders that are recorded as those of messages and calls.
    folders: BTreeSet<String>,
}

impl<'a> HistoryReader<'a, '_> {
    fn read_message(&mut self, message: &'a Message<'a>, index: usize, next: Option<&Message<'a>>) {
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
            self.spoken = self.last_said();
            return;
        }
        // What answers a command in its place is the command's.
        if self.awaited == Awaited::Words || message.is_marked_as_inserted() {
            for record in background::notices(message) {
                self.tasks.add(place, record);
            }
        }
        match message.role {
            Role::User if message.is_user_turn() => {
                // A part that nobody knows beside a result is rather the tool's than the user's, and what a
                // program adds to recorded words is the program's.
                let has_answers = !message.results.is_empty() || message.has_unknown_answer();
                if !has_answers && message.rare_fields().typed.is_none() {
                    self.read_user(message, place, &LazyText::Message(message), follows_summary, next);
                } else {
                    self.read_user(message, place, &said_texts(message), follows_summary, next);
                }
            }
            Role::Assistant => self.read_assistant(message, place, &text, thoughts, next),
            _ => {}
        }
        for (role, said) in message.asides() {
            if role != Role::User {
                continue;
            }
            let text = LazyText::new(said.texts());
            let words = words_of_texts(text.strings());
            if !words.trim().is_empty() {
                self.add_user(place, text, &words, None);
            }
        }
        self.read_parts(message, place);
        for call in &message.calls {
            let name = call.name.map(|name| name.decode().into_owned()).unwrap_or_default();
            let arguments = LazyText::of_arguments(call.arguments);
            self.add_call(call.id, OpenCall { place, name, arguments });
        }
        if message.is_interrupted() {
            self.interrupt(place);
        }
        self.read_results(message, place, text, results);
    }

    /// Reads the parts that are records of the agent: what the user said in refusing a call, and loaded tools.
    fn read_parts(&mut self, message: &Message<'a>, place: Place) {
        for part in message.content.parts() {
            if let Some(denial) = Denial::in_part(part.json) {
                self.add_words_of_denial(place, &denial.words("").unwrap_or_default());
            }
            if matches!(part.kind, PartKind::Other) {
                self.add_loaded(place, &loaded_tools(part.json));
            }
        }
    }

    /// Reads the results of a message: its `text`, and the texts of its parts that are `results`.
    fn read_results(&mut self, message: &Message<'a>, place: Place, text: LazyText<'a>, results: Vec<Vec<Text<'a>>>) {
        if message.results.is_empty() {
            if matches!(message.role, Role::Tool | Role::Function) {
                let text = with_other_content(text, &message.content, 0);
                self.add_result(None, CallResult { place, text, recorded: None, denial: None, message: None });
            }
            return;
        }
        let mut texts = results.into_iter();
        let mut contents = message.content.parts().iter().filter_map(|part| match &part.kind {
            PartKind::Result(content) => Some(content),
            _ => None,
        });
        for answer in &message.results {
            self.awaited = Awaited::Words;
            let loaded = loaded_tools(answer.json);
            // If a whole message is a result, its content is the result.
            let content = contents.next().unwrap_or(&message.content);
            let text = texts.next().map_or_else(|| text.clone(), LazyText::new);
            let text = with_other_content(text, content, loaded.len());
            self.add_loaded(place, &loaded);
            let (recorded, denial) = (recorded_status(answer.json), answer.denial.as_deref().copied());
            let message = if message.results.len() == 1 { Some(message.json) } else { None };
            self.add_result(answer.id, CallResult { place, text, recorded, denial, message });
        }
    }

    fn read_earlier(&mut self, place: Place, text: &str, round: u32) {
        let is_ours = round > 0;
        if !is_ours {
            self.add_summary(place, without_frame(text));
            return;
        }
        let inside = fence::opened(text.strip_prefix(self.prefix.trim_end()).unwrap_or(text));
        if !carried::read_into(self, place, round, inside) {
            self.add_summary(place, without_frame(inside));
        }
    }

    /// Adds a summary that somebody else wrote.
    pub(super) fn add_summary(&mut self, place: Place, text: &str) {
        self.digest.items.push(Item::new(Kind::EarlierSummary, place, Body::Summary(text.into())));
    }

    fn last_said(&self) -> Option<usize> {
        self.digest.items.iter().rposition(|item| matches!(item.body, Body::Said(_)) && item.kind != Kind::Thought)
    }

    fn said_text(&self, at: usize) -> Option<(Place, &LazyText<'a>)> {
        match &self.digest.items[at].body {
            Body::Said(text) => Some((self.digest.items[at].place, text)),
            _ => None,
        }
    }

    /// Notes the text by which the next item is known to be equal to others but for digits.
    pub(super) fn note_alike(&mut self, text: &str) {
        let mut key = DefaultHasher::new();
        hash_without_digits(text.trim(), &mut key);
        let kind = Kind::Step;
        self.alike.push(AlikeKey { item: self.digest.items.len() as u32, without_digits: key.finish(), kind });
    }

    /// Adds the tools that a result has loaded.
    fn add_loaded(&mut self, place: Place, names: &[Text<'_>]) {
        for name in names {
            let name = name.decode().into_owned();
            self.add_loaded_tool(place, name);
        }
    }

    pub(super) fn add_loaded_tool(&mut self, place: Place, name: String) {
        let is_name = !name.is_empty() && !name.contains([',', '…']) && one_line(&name) == name;
        if is_name {
            self.loaded_at = Some(place);
            self.loaded.retain(|known| *known != name);
            self.loaded.push(name);
        }
    }

    fn read_assistant(
        &mut self,
        message: &'a Message<'a>,
        place: Place,
        text: &LazyText<'a>,
        thoughts: Vec<Text<'a>>,
        next: Option<&Message<'a>>,
    ) {
        let says_nothing = text.is_blank() || SILENT.contains(&text.read().trim());
        if !says_nothing || !message.calls.is_empty() {
            self.awaited = Awaited::Words;
        }
        // What a provider's tool did is not said by the model.
        let item = message.json.get("payload").unwrap_or(message.json);
        if message.calls.is_empty() && item.get_text("type").is_some_and(|kind| kind.decode().ends_with("_call")) {
            return;
        }
        /// Bytes of a thought that tells nothing.
        const SHORT_THOUGHT: usize = 80;
        // What was thought is told where nothing was said.
        if says_nothing {
            let text = LazyText::new(thoughts);
            // A short thought is the title of the next step.
            if text.bytes() > SHORT_THOUGHT && !text.is_blank() {
                self.digest.items.push(Item::new(Kind::Thought, place, Body::Said(text)));
            }
            return;
        }
        let call = if message.calls.is_empty() { self.call_in_text(message, &text.read(), next) } else { None };
        // Some formats write a call as a message of its own.
        let acts = !message.calls.is_empty() || call.is_some() || next.is_some_and(|next| next.role == Role::Assistant);
        let kind = if !acts {
            Kind::Report
        } else if announces(&text.read()) {
            Kind::Announcement
        } else {
            Kind::Step
        };
        self.spoken = Some(self.digest.items.len());
        self.answer_bytes += text.bytes();
        self.note_alike(&text.read());
        self.digest.items.push(Item::new(kind, place, Body::Said(LazyText::Message(message))));
        if text.read().lines().next_back().is_some_and(is_interruption) {
            self.interrupt(place);
        }
        if let Some(TextCall { name, arguments }) = call {
            // A reply answers the text before it, and none of earlier ones.
            self.open_by_id.remove(&None);
            self.add_call(None, OpenCall { place, name, arguments: LazyText::owned(arguments) });
        }
    }

    /// The call in a text of the assistant: one that the next message answers, or that nothing follows.
    fn call_in_text(&mut self, message: &Message<'a>, text: &str, next: Option<&Message<'a>>) -> Option<TextCall> {
        let reply = match next {
            Some(next) if next.role == Role::User => LazyText::new(texts_of(next).0),
            _ => LazyText::new(Vec::new()),
        };
        if let Some(call) = answered_call(text, &reply.opening(OPENING)) {
            self.awaited = Awaited::Reply;
            return Some(call);
        }
        let command = match shell_block(text, || is_shell_output(&reply.read(), true)) {
            Some(command) => command.to_owned(),
            None => message.command_beside()?.decode().into_owned(),
        };
        self.awaited = Awaited::Output;
        Some(TextCall { name: "bash".to_owned(), arguments: command })
    }
}

/// Whether a text before a call only says what the call does.
fn announces(text: &str) -> bool {
    const LONGEST: usize = 160;
    let text = text.trim();
    let is_one_clause = !text.contains(['\n', ';', '。', '；', '，']) && !text.contains(". ");
    text.len() <= LONGEST && text.ends_with([':', '：']) && is_one_clause
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
    let mut named: Vec<String> = Vec::new();
    for (number, noun) in [(pictures, "picture"), (files, "file"), (loaded_tools, "loaded tool")] {
        if number > 0 {
            named.push(counted(number, noun));
        }
    }
    if named.is_empty() { text } else { LazyText::owned(format!("no text: {}", named.join(", "))) }
}
