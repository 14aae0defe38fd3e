//! The formats, a file and a row each.
//!
//! A format knows one message at a time: how sure it is that a value is one of its own, how to read it, and how a
//! summary is written among its like. Where the list of messages stands in a file is the same for all
//! ([`crate::transcript::framing`]).

mod ai_sdk;
mod anthropic;
mod bedrock;
mod claude_code;
mod codex;
mod gemini;
mod gemini_cli;
mod inspect;
mod items;
mod langchain;
mod links;
mod ollama;
mod openai_chat;
mod openai_responses;
mod openhands;
pub mod outputs;
mod pi;
mod pydantic_ai;
mod sharegpt;
mod tau_bench;

use std::borrow::Cow;
use std::collections::HashMap;
use std::fmt::Debug;

use serde_json::Value;

use crate::hash::Hasher;

use crate::transcript::compaction::Compaction;
use crate::transcript::foreign;
use crate::transcript::formats::outputs::Output;
use crate::transcript::json::{Items, Json, Kind, Object};
use crate::transcript::order::{Order, Results};
use crate::transcript::source::Source;
use crate::transcript::text::Text;
use crate::transcript::{Answer, Bound, Call, Content, Message, Part, PartKind, Role, Transcript};

/// Every format, in the order of the tables that are drawn from it.
pub static FORMATS: &[&dyn Format] = &[
    &openai_chat::OpenAiChat,
    &openai_responses::OpenAiResponses,
    &anthropic::Anthropic,
    &bedrock::Bedrock,
    &gemini::Gemini,
    &langchain::LangChain,
    &claude_code::ClaudeCode,
    &codex::Codex,
    &gemini_cli::GeminiCli,
    &pi::Pi,
    &openhands::OpenHands,
    &sharegpt::ShareGpt,
    &ai_sdk::AiSdk,
    &pydantic_ai::PydanticAi,
    &ollama::Ollama,
    &inspect::Inspect,
    &tau_bench::TauBench,
];

/// One way of writing messages.
pub trait Format: Sync + Debug {
    /// The name that `--from` takes and that reports give.
    fn name(&self) -> &'static str;

    /// What it is, in a line.
    fn about(&self) -> &'static str;

    /// How well a value fits the format.
    fn fit(&self, message: &Object<'_>) -> Fit;

    /// What the object around the messages says of the format.
    fn claim(&self, envelope: &Object<'_>) -> Claim;

    /// Which of the values of a list are messages, and what becomes of the others when messages go; none where all are
    /// messages.
    fn entries(&self, _values: Items<'_>) -> Vec<Entry> {
        Vec::new()
    }

    /// Reads one message.
    ///
    /// # Errors
    /// What the value is instead, to follow "message 3".
    fn message<'a>(&self, message: &Object<'a>) -> Result<Message<'a>, String>;

    /// Runs of messages that belong together for another reason than a call and its result: the first and the last of
    /// each.
    fn bonds(&self, _messages: &[Message<'_>]) -> Vec<(usize, usize)> {
        Vec::new()
    }

    /// Whether those of [`Format::bonds`] that begin with thinking are there for its sake.
    fn bound_by_thinking(&self) -> bool {
        false
    }

    /// Whether an agent adds to such files line by line, so that its end may leave half a line.
    fn grows(&self) -> bool {
        false
    }

    /// Where a summary stands among the messages that are pinned.
    fn summary_place(&self, _transcript: &Transcript<'_>) -> SummaryPlace {
        SummaryPlace::BehindPinned
    }

    /// Whether a message still means the same where others before it are gone.
    fn can_be_pinned(&self, _message: &Message<'_>) -> bool {
        true
    }

    /// What the provider that reads such messages asks of their order.
    fn order(&self, _envelope: Option<&Object<'_>>, _messages: &[Message<'_>]) -> Order {
        Order::of(Results::Following)
    }

    /// Messages that cannot stand where they do, with the rule of the provider that says so, beside the rules of
    /// [`Format::order`].
    fn misfits(&self, _transcript: &Transcript<'_>) -> Vec<(usize, &'static str)> {
        Vec::new()
    }

    /// Why a conversation is left as it is although it can be read, to follow its name.
    fn refusal(&self, _transcript: &Transcript<'_>) -> Option<String> {
        None
    }

    /// The roles a summary may be given, the default first.
    fn summary_roles(&self) -> &'static [SummaryRole];

    /// A summary, written as its neighbours are where the format has several ways: one message, and in session files
    /// what else their agent needs to know of it.
    fn summary(&self, summary: &SummaryMessage<'_>, place: &Place<'_, '_>) -> Vec<Value>;

    /// A result for a call that has none: a message, or a part for the message of [`Format::answering`]; nothing where
    /// the format has no way to write one.
    fn result(&self, _call: &Call<'_>, _calling: &Message<'_>, _text: &str) -> Option<Value> {
        None
    }

    /// An entry that says nothing and stands where one is taken away that others follow by its name.
    fn bridge(&self, _entry: Json<'_>) -> Option<Value> {
        None
    }

    /// The message that holds results as its parts, with [`PARTS`] where they go; nothing where a result is a message.
    fn answering(&self) -> Option<Value> {
        None
    }

    /// What else of a message says the same as some of its calls, and goes with them.
    fn copies<'a>(&self, _message: &Message<'a>, _calls: &[usize]) -> Vec<Json<'a>> {
        Vec::new()
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

    /// The entry that tells a `LangGraph` reducer to drop all messages it has; nothing where no such reducer takes the
    /// format.
    fn remove_all(&self) -> Option<Value> {
        None
    }

    /// A message as a `LangGraph` reducer takes it; nothing where it takes the message as it is.
    fn in_state(&self, _message: &Object<'_>) -> Option<String> {
        None
    }
}

/// The text that stands for the parts of a message that is yet to have them.
pub const PARTS: &str = "…";

/// What an entry of a list is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Entry {
    /// A message.
    Message,
    /// Something else; where it is bound to a message, that is named by its place among the values.
    Note(Bound),
}

/// What the object around the messages says of a format.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Claim {
    /// Nothing.
    None,
    /// It is of the format if the messages do not say otherwise.
    Likely,
    /// It is of the format.
    Sure,
}

/// Where a summary stands among the messages that are pinned.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SummaryPlace {
    /// Behind all of them.
    BehindPinned,
    /// Before all of them.
    First,
    /// Where the last message stood that it replaces.
    InPlace,
}

/// Where a summary is put.
#[derive(Clone, Copy)]
pub struct Place<'p, 'a> {
    /// The conversation.
    pub transcript: &'p Transcript<'a>,
    /// The index of the first message that is kept behind it.
    pub cutoff: usize,
    /// Tells where the entries begin that go, messages and others, in order; in bytes. Few formats ask.
    pub gone: &'p dyn Fn() -> Vec<usize>,
}

impl<'a> Place<'_, 'a> {
    /// The message that the summary is to look like: the first that is kept, or else the last.
    pub fn neighbour(&self) -> Option<Json<'a>> {
        let messages = &self.transcript.messages;
        messages.get(self.cutoff).or(messages.last()).map(|message| message.json)
    }
}

/// The id that `LangGraph`'s reducer takes as "all messages".
pub const REMOVE_ALL: &str = "__remove_all__";

/// An object with `member`, a key and its value, before all it has.
fn with_first(object: Json<'_>, member: &str) -> String {
    let rest = &object.raw()[1..];
    let comma = if object.entries().next().is_some() { ", " } else { "" };
    format!("{{{member}{comma}{}", rest.trim_start())
}

/// How well a value fits a format.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fit {
    /// It cannot be read so.
    Foreign,
    /// It speaks neither for the format nor against it: it is no message, and files of this format may have it among
    /// theirs, or it is one that others would write alike, and only what else there is tells.
    Aside,
    /// It can, and in other formats as well.
    Plain,
    /// It has what this format alone has; the word says what.
    Own(&'static str),
}

/// What a summary message says, and who says it.
#[derive(Debug, Clone, Copy)]
pub struct SummaryMessage<'s> {
    /// All of its content.
    pub text: &'s str,
    /// Its role.
    pub role: SummaryRole,
    /// The speaker's name, where the format has names.
    pub name: Option<&'static str>,
    /// Whether it has the mark by which `LangChain` knows its own, where the format has a place for it.
    pub marked: bool,
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
    /// The role's name on the command line and in Chat Completions.
    pub fn name(self) -> &'static str {
        match self {
            SummaryRole::User => "user",
            SummaryRole::System => "system",
            SummaryRole::Assistant => "assistant",
        }
    }
}

/// Has `then` look at the message that an entry is by itself; nothing where it is none.
pub fn lone<T>(format: &dyn Format, written: &str, then: impl FnOnce(&Message<'_>) -> T) -> Option<T> {
    let source = Source::of(written).ok()?;
    let json = source.first()?;
    let is_message = !matches!(format.entries(Items::only(json)).first(), Some(Entry::Note(_)));
    is_message.then(|| format.message(&Object::of(json)).ok()).flatten().map(|message| then(&message))
}

/// The format called `name`.
pub fn by_name(name: &str) -> Option<&'static dyn Format> {
    FORMATS.iter().copied().find(|format| format.name() == name)
}

/// The role that a message has under `role`: the one the format knows it by; and its name, where no provider
/// knows it.
fn role_and_name<'a>(message: &Object<'a>, known: Option<Role>) -> Result<(Role, Option<Text<'a>>), String> {
    if message.json.kind() != Kind::Object {
        return Err(format!("is {}, not an object with a role", message.json.kind().noun()));
    }
    let name = message.get_text("role").ok_or("has no role")?;
    let role = known.unwrap_or(Role::Other);
    Ok((role, Some(name).filter(|_| role == Role::Other)))
}

/// Reads content as strings and lists of typed blocks are read everywhere; what a block is, `block` says.
fn content<'a>(value: Option<Json<'a>>, block: fn(Json<'a>, Text<'a>) -> PartKind<'a>) -> Content<'a> {
    let Some(value) = value.filter(|value| !value.is_falsy()) else {
        return Content::empty();
    };
    match value.kind() {
        Kind::String => value.text().map_or_else(Content::empty, Content::Text),
        Kind::Array => Content::Parts(value.items().map(|item| part(item, block)).collect()),
        _ => Content::Parts(Box::new([Part { json: value, kind: foreign::part(value) }])),
    }
}

fn part<'a>(json: Json<'a>, block: fn(Json<'a>, Text<'a>) -> PartKind<'a>) -> Part<'a> {
    let kind = match json.text() {
        Some(text) => PartKind::Text(text),
        None => block(json, json.get_text("type").unwrap_or_else(|| Text::plain(""))),
    };
    Part { json, kind }
}

/// The kinds of blocks that Chat Completions, Messages and `LangChain` content have in common.
fn common_block<'a>(json: Json<'a>, kind: Text<'a>) -> PartKind<'a> {
    const MEDIA: [&str; 7] = ["input_audio", "audio", "file", "video", "document", "container_upload", "video_url"];
    let inner = |key| json.get_text(key);
    if kind.is("text") {
        // Where other formats keep the text, it is not empty.
        let elsewhere = || ["content", "value", "data"].iter().any(|key| json.get(key).is_some());
        match inner("text") {
            Some(text) => PartKind::Text(text),
            None if elsewhere() => foreign::part(json),
            None => PartKind::Text(Text::plain("")),
        }
    } else if kind.is("image") || kind.is("image_url") {
        PartKind::Image
    } else if MEDIA.iter().any(|name| kind.is(name)) {
        PartKind::Media
    } else if kind.is("thinking") {
        inner("thinking").map_or(PartKind::Other, PartKind::Reasoning)
    } else if kind.is("reasoning") {
        inner("reasoning").or_else(|| inner("text")).map_or(PartKind::Other, PartKind::Reasoning)
    } else if kind.is("refusal") {
        inner("refusal").map_or(PartKind::Other, PartKind::Refusal)
    } else if kind.is("compaction") {
        PartKind::Compaction(Compaction::of(json))
    } else if let Some(compaction) = compaction_inside(json, kind) {
        PartKind::Compaction(compaction)
    } else {
        foreign::unread(json, kind)
    }
}

/// A compaction in the block in which `LangChain` puts what it does not know.
fn compaction_inside<'a>(json: Json<'a>, kind: Text<'a>) -> Option<Compaction<'a>> {
    let value = json.get("value").filter(|_| kind.is("non_standard"))?;
    let is_compaction = value.get_text("type").is_some_and(|kind| kind.is("compaction"));
    is_compaction.then(|| Compaction::of(value))
}

/// Block types of Responses items and of the AI SDK, which are formats of their own.
const UNREAD_BLOCKS: [&str; 6] = ["input_text", "output_text", "input_image", "input_file", "tool-call", "tool-result"];

/// The values of `block.type` in a message's content.
fn block_types<'a>(message: &Object<'a>) -> impl Iterator<Item = (Json<'a>, Option<Text<'a>>)> {
    message
        .get("content")
        .into_iter()
        .flat_map(|content| content.items())
        .filter(|block| block.kind() == Kind::Object)
        .map(|block| (block, block.get_text("type")))
}

/// The member `key`, unless it is null.
fn present<'a>(message: &Object<'a>, key: &str) -> Option<Json<'a>> {
    message.get(key).filter(|value| value.kind() != Kind::Null)
}

/// An id: a string, or a number as it is spelled.
fn id(value: Option<Json<'_>>) -> Option<Text<'_>> {
    let value = value?;
    match value.kind() {
        Kind::Number => Some(Text::plain(value.raw())),
        _ => value.text(),
    }
}

/// The provider that a message's metadata names.
fn provider<'a>(fields: &Object<'a>) -> Option<Text<'a>> {
    fields.get("response_metadata")?.get_text("model_provider")
}

/// Whether the first key of a neighbour is `key`, so that a new message has its keys in the same order.
fn begins_with(key: &str, neighbour: Option<Json<'_>>) -> bool {
    neighbour.and_then(|neighbour| neighbour.entries().next()).is_some_and(|(first, _)| first.is(key))
}

/// Messages of the last turn that call without thinking, each with the one in whose thoughts it was begun: with thinking
/// on, providers refuse a turn of the model that does not begin with its thoughts.
fn bound_to_thoughts(messages: &[Message<'_>]) -> Vec<(usize, usize)> {
    let thinks = |message: &Message<'_>| match &message.content {
        Content::Parts(parts) => parts.iter().any(|part| {
            matches!(part.kind, PartKind::Reasoning(_))
                || part.json.get_text("type").is_some_and(|kind| kind.is("redacted_thinking"))
        }),
        Content::Text(_) => false,
    };
    let turn = messages.iter().rposition(Message::is_user_turn).unwrap_or(0);
    let mut thought = None;
    let mut bonds = Vec::new();
    for (index, message) in messages.iter().enumerate().skip(turn) {
        if thinks(message) {
            thought = Some(index);
        } else if !message.calls.is_empty() {
            bonds.extend(thought.map(|thought| (thought, index)));
        }
    }
    bonds
}

/// Digits made of some texts, the same for the same ones, where a format wants an id.
fn digest(texts: &[&str]) -> String {
    let mut hasher = Hasher::default();
    texts.iter().for_each(|text| hasher.add(text.as_bytes()));
    hasher.end()
}

/// A value as text to be read: the text that is all it has to say, or the value as it is spelled.
fn said(value: Json<'_>) -> PartKind<'_> {
    let mut entries = value.entries();
    let only = match (entries.next(), entries.next()) {
        (Some((key, output)), None) if key.is("output") || key.is("result") => output.text(),
        _ => None,
    };
    PartKind::Text(only.unwrap_or_else(|| Text::plain(value.raw())))
}

/// The name in JSON that stands in a string, where it is spelled as it usually is.
fn name_inside(value: Json<'_>) -> Option<Text<'_>> {
    let (_, rest) = value.raw().split_once(r#"\"name\""#)?;
    let rest = rest.trim_start_matches([' ', ':']).strip_prefix(r#"\""#)?;
    rest.split_once(r#"\""#).map(|(name, _)| Text::escaped(name))
}

/// A name that is there and not empty.
fn name<'a>(message: &Object<'a>) -> Option<Text<'a>> {
    message.get_text("name").filter(|name| !name.is_empty())
}

/// Runs of messages that came of one answer of the model, whose id `of` tells; an id that comes again after the user
/// spoke is another's.
fn runs<'a>(messages: &[Message<'a>], of: fn(&Message<'a>) -> Option<Text<'a>>) -> Vec<(usize, usize)> {
    let mut runs: Vec<(usize, usize)> = Vec::new();
    let mut by_id: HashMap<Cow<'_, str>, usize> = HashMap::new();
    for (index, message) in messages.iter().enumerate() {
        let is_told = message.json.get("isMeta").is_some_and(|meta| meta.raw() == "true");
        if message.is_user_turn() && !is_told {
            by_id.clear();
        }
        let Some(id) = of(message) else { continue };
        let run = *by_id.entry(id.decode()).or_insert_with(|| {
            runs.push((index, index));
            runs.len() - 1
        });
        runs[run].1 = index;
    }
    runs.retain(|(first, last)| first < last);
    runs
}

/// A value that a new entry has in common with another.
fn copied(value: Json<'_>) -> Value {
    match value.text() {
        Some(text) => Value::String(text.decode().into_owned()),
        None => serde_json::from_str(value.raw()).unwrap_or_default(),
    }
}
