//! What a format is asked, and the conversation that is read by one.
//!
//! A format answers three kinds of questions: how messages are read ([`MessageReader`]), how new ones are written
//! ([`MessageWriter`]), and which order their provider asks for ([`OrderRules`]). Most answers have a default. A
//! conversation names its format, and formats are asked about conversations: therefore both are in this file.

use std::fmt::Debug;

use serde_json::Value;

use crate::transcript::json::{Items, Json, Kind, Object};
use crate::transcript::message::{Answer, Call, Message};
use crate::transcript::order::{Order, Results};
use crate::transcript::outputs::Output;
use crate::transcript::pairing::Pairing;

/// One way of writing messages.
pub(crate) trait Format: MessageReader + MessageWriter + OrderRules + Sync + Debug {
    /// The name that `--from` takes and that reports give.
    fn name(&self) -> &'static str;

    /// What it is, in a line.
    fn about(&self) -> &'static str;
}

/// How messages are recognized and read, one at a time.
pub(crate) trait MessageReader {
    /// How well a value fits the format. A format judges by what it reads itself and knows of no other.
    fn fit(&self, message: &Object<'_>) -> Fit;

    /// How well the object around the messages fits the format.
    fn fit_envelope(&self, _envelope: &Object<'_>) -> EnvelopeFit {
        EnvelopeFit::Unknown
    }

    /// Paths to the messages in objects that this format alone has, beside those of [`crate::transcript::list`].
    fn paths(&self) -> &'static [&'static [&'static str]] {
        &[]
    }

    /// Which of the values of a list are messages, and when the others are removed; empty where all are messages.
    fn entries(&self, _values: Items<'_>) -> Vec<EntryKind> {
        Vec::new()
    }

    /// Reads one message.
    ///
    /// # Errors
    /// What the value is instead, to follow "message 3".
    fn message<'a>(&self, message: &Object<'a>) -> Result<Message<'a>, String>;

    /// Members that stand beside what a message says: what the program shows or notes down, and no model is sent.
    fn members_beside(&self) -> &'static [&'static str] {
        &[]
    }

    /// Whether an agent appends lines to such files, so that the last line may be incomplete.
    fn is_append_only(&self) -> bool {
        false
    }

    /// What `LangChain` does with such messages.
    fn coercion(&self) -> Coercion {
        Coercion::Unknown
    }

    /// Why a conversation is left unchanged although it can be read, to follow its name.
    fn refusal(&self, _transcript: &Transcript<'_>) -> Option<String> {
        None
    }
}

/// How new messages are written, so that they look like their neighbours.
pub(crate) trait MessageWriter {
    /// The roles a summary may be given, the default first.
    fn summary_roles(&self) -> &'static [SummaryRole] {
        &[SummaryRole::User]
    }

    /// Where a summary stands among the messages that are pinned.
    fn summary_position(&self, _transcript: &Transcript<'_>) -> SummaryPosition {
        SummaryPosition::AfterPinned
    }

    /// A summary: one message, and in session files what else their agent needs to find it.
    fn summary(&self, summary: &SummaryMessage<'_>, at: &InsertionPoint<'_, '_>) -> Vec<Value>;

    /// A result for a call that has none: a message, or a part for the message of [`MessageWriter::results_message`];
    /// nothing where the format has no way to write one.
    fn result(&self, _call: &Call<'_>, _calling: &Message<'_>, _text: &str) -> Option<Value> {
        None
    }

    /// The message that holds results as its parts, with [`PARTS`] where they go; nothing where a result is a message.
    fn results_message(&self) -> Option<Value> {
        None
    }

    /// Where the result is that answers a call, for those who put a shorter one in its place; nothing where none can be
    /// put there.
    fn output<'a>(&self, message: &Message<'a>, answer: &Answer<'a>) -> Option<Output<'a>> {
        // One message may answer several calls, and then they have no more than their ids.
        let holder = if answer.json.kind() == Kind::Object { answer.json } else { message.json };
        Output::in_content(holder, "text")
    }

    /// A block of text in the place of a part that is no text; nothing where none can be put there.
    fn text_block(&self, _part: Json<'_>, text: &str) -> Option<Value> {
        Some(serde_json::json!({"type": "text", "text": text}))
    }

    /// Other places in a message that repeat some of its calls, and are removed with them.
    fn duplicates<'a>(&self, _message: &Message<'a>, _calls: &[usize]) -> Vec<Json<'a>> {
        Vec::new()
    }

    /// An entry without content that replaces a removed one, where others name that as the entry before them.
    fn placeholder(&self, _entry: Json<'_>) -> Option<Value> {
        None
    }

    /// The entry that tells a `LangGraph` reducer to drop all messages it has; nothing where no such reducer takes the
    /// format.
    fn remove_all(&self) -> Option<Value> {
        None
    }

    /// A message as a `LangGraph` reducer takes it; nothing where it takes the message unchanged.
    fn in_state(&self, _message: &Object<'_>) -> Option<String> {
        None
    }
}

/// Which messages must stay together, and in which order.
pub(crate) trait OrderRules {
    /// What the provider that reads such messages asks of their order.
    fn order(&self, _envelope: Option<&Object<'_>>, _messages: &[Message<'_>]) -> Order {
        Order::of(Results::Following)
    }

    /// Runs of messages that stay together for another reason than a call and its result: the first and the last of
    /// each.
    fn groups(&self, _messages: &[Message<'_>]) -> Vec<(usize, usize)> {
        Vec::new()
    }

    /// Whether the groups that begin with thinking exist because of it, so that they end where the thinking is removed.
    fn groups_by_thinking(&self) -> bool {
        false
    }

    /// Messages that break a rule of the provider beside those of [`OrderRules::order`], with the rule.
    fn violations(&self, _messages: &[Message<'_>]) -> Vec<(usize, &'static str)> {
        Vec::new()
    }

    /// Whether a message keeps its meaning where messages before it are removed.
    fn can_be_pinned(&self, _message: &Message<'_>) -> bool {
        true
    }
}

/// How well a value fits a format, from the least specific to the most.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Fit {
    /// The format cannot read it.
    Mismatch,
    /// It speaks neither for the format nor against it: it is no message, and files of this format may have it among
    /// theirs, or it is one that others would write alike, and only what else there is decides.
    Neutral,
    /// The format can read it, and so can others.
    Plain,
    /// It has what is typical of the format and of its variants; the words say what.
    Shared(&'static str),
    /// It is written as in another format, with something that this format alone adds; the words say what. So it is none
    /// of a format to which the same message is plain or shared.
    Variant(&'static str),
    /// It has what this format alone has; the words say what.
    Own(&'static str),
}

impl Fit {
    /// Whether the value is a message of the format by itself.
    pub(crate) fn is_message(self) -> bool {
        !matches!(self, Fit::Mismatch | Fit::Neutral)
    }
}

/// How well the object around the messages fits a format.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum EnvelopeFit {
    /// It says nothing about the format.
    Unknown,
    /// It is of the format if the messages do not contradict.
    Likely,
    /// It is of the format.
    Sure,
}

/// What `convert_to_messages` of `LangChain` does with the messages of a format.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Coercion {
    /// It converts them, and refuses what it cannot convert.
    Converted,
    /// It made them itself.
    Done,
    /// It takes them, and nobody knows what it would refuse.
    Unchecked,
    /// It does not know them.
    Unknown,
}

/// What an entry of a list is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum EntryKind {
    /// A message.
    Message,
    /// Something else. [`Retention::With`] names a message by its place among the values.
    Note(Retention),
}

/// Until when an entry stays that is no message, while the messages around it are replaced.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Retention {
    /// Always: it is about the whole session.
    Always,
    /// As long as the message before it.
    WithPrevious,
    /// As long as this message; formats name the entry, transcripts the message.
    With(usize),
    /// As long as it is in force: of those with the same name, the last before the cut stays.
    Latest(&'static str),
    /// Until anything after it is removed: it was taken back or summarized before.
    Obsolete,
}

/// An entry among the messages that no model is sent: a line of a session file about something else.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Note<'a> {
    /// The entry as it stands in the source.
    pub(crate) json: Json<'a>,
    /// The index of the message it stands before.
    pub(crate) before: usize,
    /// Until when it stays.
    pub(crate) retention: Retention,
}

/// One conversation at its place in a source.
#[derive(Debug, Clone)]
pub(crate) struct Transcript<'a> {
    /// The whole source the conversation stands in; all spans are bytes of it.
    pub(crate) source: &'a str,
    /// How its messages are written.
    pub(crate) format: &'static dyn Format,
    /// The messages in order.
    pub(crate) messages: Vec<Message<'a>>,
    /// What stands among the messages and is none, in order.
    pub(crate) notes: Vec<Note<'a>>,
    /// Which calls and results belong together.
    pub(crate) pairing: Pairing,
    /// Messages that must not be split for another reason than a call and its result: the first and the last of each
    /// such run.
    pub(crate) groups: Vec<(usize, usize)>,
    /// The indices of the messages that hold a provider's own compaction, in order.
    pub(crate) compactions: Vec<usize>,
    /// What its provider asks of the order of messages.
    pub(crate) order: Order,
    /// The whole value around the list of messages, where there is one.
    pub(crate) envelope: Option<Json<'a>>,
    /// The object that holds the list of messages as one of its members, where one does.
    pub(crate) state: Option<Json<'a>>,
    /// The line of the source the conversation begins on, counted from 1, where a source holds one a line.
    pub(crate) line: Option<usize>,
}

impl Transcript<'_> {
    /// Whether the message of that index holds a compaction.
    pub(crate) fn has_compaction(&self, index: usize) -> bool {
        self.compactions.binary_search(&index).is_ok()
    }
}

/// What a summary message says, and who says it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct SummaryMessage<'s> {
    /// All of its content.
    pub(crate) text: &'s str,
    /// Its role.
    pub(crate) role: SummaryRole,
    /// The speaker's name, where the format has names.
    pub(crate) name: Option<&'static str>,
    /// Whether it has the mark by which `LangChain` knows its own, where the format has a place for it.
    pub(crate) marked: bool,
}

/// The role a summary is given.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SummaryRole {
    /// As if the user had said it; every provider takes it.
    User,
    /// As an instruction.
    System,
    /// As if the model had said it.
    Assistant,
}

impl SummaryRole {
    /// The role's name on the command line and in most formats.
    pub(crate) fn name(self) -> &'static str {
        match self {
            SummaryRole::User => "user",
            SummaryRole::System => "system",
            SummaryRole::Assistant => "assistant",
        }
    }
}

/// Where a summary stands among the messages that are pinned.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum SummaryPosition {
    /// After all of them.
    AfterPinned,
    /// Before all of them.
    First,
    /// In the place of the last message that it replaces.
    InPlace,
}

/// Where a new message is inserted.
#[derive(Clone, Copy)]
pub(crate) struct InsertionPoint<'p, 'a> {
    /// The conversation.
    pub(crate) transcript: &'p Transcript<'a>,
    /// The index of the first message that is kept after it.
    pub(crate) cutoff: usize,
    /// Finds where the entries begin that are removed, messages and others, in order; in bytes. Few formats ask.
    pub(crate) removed: &'p dyn Fn() -> Vec<usize>,
}

impl<'a> InsertionPoint<'_, 'a> {
    /// The message that the new one is to look like: the first that is kept, or else the last.
    pub(crate) fn neighbour(&self) -> Option<Json<'a>> {
        let messages = &self.transcript.messages;
        messages.get(self.cutoff).or(messages.last()).map(|message| message.json)
    }
}

/// The text that stands for the parts of a message that is yet to have them.
pub(crate) const PARTS: &str = "…";

/// The id that `LangGraph`'s reducer takes as "all messages".
pub(crate) const REMOVE_ALL: &str = "__remove_all__";
