//! Reads a history in one pass: who speaks, what was said and done.

mod calls;
mod carried;
mod finish;
mod questions;
mod rules;

use std::collections::hash_map::DefaultHasher;
use std::collections::{BTreeMap, BTreeSet, HashMap, VecDeque};
use std::hash::{Hash, Hasher};

use crate::digest::Digest;
use crate::digest::cues::commands;
use crate::digest::earlier::without_frame;
use crate::digest::files::Files;
use crate::digest::grammar::{Place, Section};
use crate::digest::item::{Body, Item, Question};
use crate::digest::kinds::Kind;
use crate::digest::plan::Plan;
use crate::digest::reader::calls::{CallResult, OpenCall, hash_without_digits};
use crate::digest::reader::questions::question_of;
use crate::digest::tasks::Tasks;
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

/// The hashes by which a message of the user is known to be equal to others.
struct UserKey {
    /// The place of its item in the list.
    item: usize,
    /// The hash of its words as they are.
    exact: u64,
    /// The hash of its words without digits.
    without_digits: u64,
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
        for (_, said) in message.asides().filter(|(role, _)| *role == Role::User) {
            let text = LazyText::new(said.texts());
            let words = words_of_texts(text.strings());
            if !words.trim().is_empty() {
                self.add_user(place, text, &words, None);
            }
        }
        for denial in message.content.parts().iter().filter_map(|part| Denial::in_part(part.json)) {
            self.add_words_of_denial(place, &denial.words("").unwrap_or_default());
        }
        let loaded = message.content.parts().iter().filter(|part| matches!(part.kind, PartKind::Other));
        let loaded: Vec<Text<'_>> = loaded.flat_map(|part| loaded_tools(part.json)).collect();
        self.add_loaded(place, &loaded);
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
            self.add_loaded(place, &loaded);
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
        if !is_ours || !carried::read_into(self, place, round, inside) {
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

    /// Adds a message of the user. `words` are those that a person wrote.
    pub(super) fn add_user(&mut self, place: Place, text: LazyText<'a>, words: &str, asked: Option<Question>) {
        self.note_standing_wish();
        let words = words.trim();
        let kind = if is_interruption(words) {
            Kind::Interruption
        } else if is_from_program(words) {
            Kind::FromProgram
        } else if commands(words) {
            Kind::Rule
        } else if asked.is_none() && is_remark(words) {
            Kind::Remark
        } else {
            Kind::Typed
        };
        self.replace_repeated_message(words, kind);
        self.last_user = Some(self.digest.items.len());
        self.calls_before_user = self.calls;
        self.answer_bytes = 0;
        let (mut exact, mut without_digits) = (DefaultHasher::new(), DefaultHasher::new());
        (words, asked.as_ref().map(|question| &question.text)).hash(&mut exact);
        hash_without_digits(words, &mut without_digits);
        self.user_keys.push(UserKey {
            item: self.digest.items.len(),
            exact: exact.finish(),
            without_digits: without_digits.finish(),
        });
        self.digest.items.push(Item::of_user(kind, place, text, words, asked));
    }

    /// A message that the user sent once more, and longer, stands for the one before.
    fn replace_repeated_message(&mut self, words: &str, kind: Kind) {
        const LEAST: usize = 12;
        if kind == Kind::Interruption {
            return;
        }
        if let Some((at, before)) = self.last_words.take().filter(|(_, before)| before.len() >= LEAST)
            && words.starts_with(before.as_str())
            && words.len() > before.len()
            && self.calls == self.calls_before_user
        {
            self.digest.items[at].is_replaced = true;
        }
        self.last_words = Some((self.digest.items.len(), words.to_owned()));
    }

    /// Notes the text by which the next item is known to be equal to others but for digits.
    pub(super) fn note_alike(&mut self, text: &str) {
        let mut key = DefaultHasher::new();
        hash_without_digits(text.trim(), &mut key);
        let kind = Kind::Step;
        self.alike.push(AlikeKey { item: self.digest.items.len() as u32, without_digits: key.finish(), kind });
    }

    /// A message to which the assistant agreed in a few words, without a call, says what is to hold from then on.
    fn note_standing_wish(&mut self) {
        /// Bytes of an answer that only agrees.
        const SHORT_ANSWER: usize = 400;
        let is_question = self.last_words.as_ref().is_some_and(|(_, words)| words.ends_with(['?', '？']));
        if let Some(at) = self.last_user
            && !is_question
            && (1..=SHORT_ANSWER).contains(&self.answer_bytes)
            && self.calls == self.calls_before_user
            && self.digest.items[at].kind == Kind::Typed
        {
            self.digest.items[at].kind = Kind::Rule;
        }
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
            self.add_user(place, LazyText::owned(typed.as_str()), &typed, None);
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
        let before = self.spoken.filter(|_| follows_summary).and_then(|spoken| self.said_text(spoken));
        let answers = awaited == Awaited::Reply && is_reply(&all)
            || before.is_some_and(|(_, before)| answered_call(&before.read(), &all).is_some());
        if answers || self.is_output(message, &words, awaited, follows_summary) {
            // Several replies can follow each other. Where no call is known, a person may have written it.
            self.awaited = awaited;
            if !answers && awaited == Awaited::Words {
                self.digest.left_out[Section::User as usize].add(1, place.source);
            }
            let text = with_other_content(text.clone(), &message.content, 0);
            self.add_result(None, CallResult { place, text, recorded: None, denial: None, message: None });
            for said in feedback(&message.content.texts()) {
                self.add_words_of_denial(place, &said);
            }
            return;
        }
        // Only the first message behind a text answers it.
        let asked =
            self.spoken.filter(|spoken| self.last_user < Some(*spoken)).and_then(|spoken| self.said_text(spoken));
        let asked = asked.and_then(|(place, text)| question_of(&words, place, text));
        self.add_user(place, text.clone(), &words, asked);
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
        self.add_user(place, LazyText::owned(INTERRUPTION), INTERRUPTION, None);
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
        let kind = match acts {
            true if announces(&text.read()) => Kind::Announcement,
            true => Kind::Step,
            false => Kind::Report,
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
}

/// Whether a message of the user only says that it is well, or to go on.
fn is_remark(words: &str) -> bool {
    #[rustfmt::skip]
    const REMARKS: [&str; 22] = [
        "ok", "okay", "done", "yes", "hi", "hey", "hello", "thanks", "thank you", "go on", "continue", "next", "sí", "oui",
        "ja", "да", "好", "好的", "是", "继续", "做完了", "はい",
    ];
    let words = words.trim_end_matches(['.', '!', '。', '！']).to_lowercase();
    words.len() <= 2 && words.bytes().all(|byte| byte.is_ascii_digit()) || REMARKS.contains(&&*words)
}

/// Whether a text before a call only says what the call does.
fn announces(text: &str) -> bool {
    const LONGEST: usize = 160;
    let text = text.trim();
    let is_one_clause = !text.contains(['\n', ';', '。', '；', '，']) && !text.contains(". ");
    text.len() <= LONGEST && text.ends_with([':', '：']) && is_one_clause
}

/// Whether a text in the user's place opens as programs open theirs.
fn is_from_program(words: &str) -> bool {
    const OPENINGS: [&str; 6] = [
        "Base directory for this skill:",
        "[IMPORTANT: ",
        "[SYSTEM",
        "Read HEARTBEAT.md",
        "<task-notification",
        "System: [",
    ];
    OPENINGS.iter().any(|opening| words.starts_with(opening))
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
    if named.is_empty() { text } else { LazyText::owned(format!("no text: {}", named.join(", "))) }
}
