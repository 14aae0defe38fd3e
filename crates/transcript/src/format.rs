//! The traits of a format, and the conversation that a format reads.
//!
//! A format reads messages ([`MessageReader`]), writes new ones ([`MessageWriter`]), and knows the order its provider
//! demands ([`OrderRules`]). Most methods have a default. Both types are in this file because they depend on each
//! other: a conversation has a format, and formats inspect conversations.

use std::cell::OnceCell;
use std::collections::BTreeMap;
use std::fmt::Debug;
use std::ops::Range;
use std::sync::OnceLock;

use serde_json::Value;

use crate::background_forms::BackgroundForms;
use crate::compaction::Reset;
use crate::edit::Edit;
use crate::entries::CompactionEntry;
pub use crate::entries::{EntryKind, Note, Retention};
pub use crate::fit::{EnvelopeFit, FormatFit};
pub use crate::formats::shared::links::LinkFault;
use crate::formats::shared::links::{LinkKeys, Links, LooseEntry, WalkStep};
use crate::frame::Frame;
use crate::json::{Items, Json, JsonKind, Object};
use crate::marks;
use crate::message::{Call, Message, ResultRef};
use crate::order::{MessageOrder, ResultPlacement};
pub use crate::outputs::CallMembers;
use crate::outputs::{CallOutput, HostedResult};
use crate::pairing::Pairing;
use crate::record_id::RecordId;
use crate::session_files::SessionFiles;
use crate::unsent_forms::UnsentForms;
use crate::usage::UsageReader;

/// A transcript format.
pub trait Format: MessageReader + MessageWriter + OrderRules + UsageReader + Sync + Debug {
    /// The name for `--from` and reports.
    fn name(&self) -> &'static str;

    /// Describes the format in one line.
    fn about(&self) -> &'static str;

    /// Where the agent of this format keeps its sessions; nothing where it has none of its own.
    fn session_files(&self) -> Option<&'static SessionFiles> {
        None
    }
}

/// Recognizes and reads messages, one at a time.
pub trait MessageReader {
    /// A format judges only by what it reads and knows no other format.
    fn fit(&self, message: &Object<'_>) -> FormatFit;

    fn fit_envelope(&self, _envelope: &Object<'_>) -> EnvelopeFit {
        EnvelopeFit::Unknown
    }

    /// The paths to messages that only this format has, besides those in [`crate::list`].
    fn paths(&self) -> &'static [&'static [&'static str]] {
        &[]
    }

    /// Which values of a list are messages, and when to remove the others. An empty list means that all are messages.
    fn entries(&self, _values: Items<'_>) -> Vec<EntryKind> {
        Vec::new()
    }

    /// Reads one message.
    ///
    /// # Errors
    /// What the value is instead, to follow the words "message 3".
    fn message<'a>(&self, message: &Object<'a>) -> Result<Message<'a>, String>;

    /// What a message sets from there on, by name. Of each name the last before a cut stays where instructions stay.
    fn settings(&self, _message: &Message<'_>) -> Vec<String> {
        Vec::new()
    }

    /// The members that hold metadata: what the program displays or logs and sends to no model.
    fn metadata_members(&self) -> &'static [&'static str] {
        &[]
    }

    /// What the agent writes to its files, never sends, and loads a session without.
    fn unsent(&self) -> &'static UnsentForms {
        &UnsentForms::NONE
    }

    /// The entries that were sent and no longer are, which the agent loads a session without: branches that the last entry
    /// does not lead to, and what a compaction replaced.
    fn no_longer_loaded<'a>(&self, _transcript: &Transcript<'a>) -> Vec<Json<'a>> {
        Vec::new()
    }

    /// The frames around what the agents of this format write in the user's place.
    fn frames(&self) -> &'static [Frame] {
        &[]
    }

    /// How the agents of this format record their background tasks.
    fn background(&self) -> &'static BackgroundForms {
        &BackgroundForms::NONE
    }

    /// Whether an agent appends lines to files of this format, so that the last line may be incomplete.
    fn is_append_only(&self) -> bool {
        self.skips_broken_lines()
    }

    /// Whether the agent skips lines that are not JSON, so that the other lines are the conversation.
    fn skips_broken_lines(&self) -> bool {
        false
    }

    /// What `LangChain` does with such messages.
    fn coercion(&self) -> Coercion {
        Coercion::Unknown
    }

    /// Why a readable conversation is left unchanged, to follow its name.
    fn refusal(&self, _transcript: &Transcript<'_>) -> Option<String> {
        None
    }
}

/// Writes new messages that look like their neighbours.
pub trait MessageWriter {
    /// The roles that a summary may have, the default first.
    fn summary_roles(&self) -> &'static [SummaryRole] {
        &[SummaryRole::User]
    }

    /// The position of a summary among the pinned messages.
    fn summary_position(&self, _transcript: &Transcript<'_>) -> SummaryPosition {
        SummaryPosition::AfterPinned
    }

    /// Whether its summaries have a mark of the format, as those of the agent have. The agent's own begin with words of
    /// the agent's.
    fn marks_summaries(&self) -> bool {
        false
    }

    /// Writes a summary: one message, and in session files the other entries that the agent needs to find it.
    fn summary(&self, summary: &SummaryMessage<'_>, at: &InsertionPoint<'_, '_>) -> Vec<Value>;

    /// The edits of entries that stay beside a summary which the agent makes after a compaction of its own. `summary`
    /// is what was written at `at`, and `tokens` counts what the agent sends from now on.
    fn resets(&self, _summary: &[Value], _at: &InsertionPoint<'_, '_>, _tokens: &dyn Fn() -> u64) -> Vec<Reset> {
        Vec::new()
    }

    /// Writes a result for a call that has none: a message, or a part for the message of
    /// [`MessageWriter::results_message`]. `None` if the format has no way to write one.
    fn result(&self, _call: &Call<'_>, _calling: &Message<'_>, _text: &str) -> Option<Value> {
        None
    }

    /// The members of a call that hold its result, to be set in the call and in its copies; none where a result is not
    /// a part of its call.
    fn result_members(&self, _call: &Call<'_>, _text: &str) -> Option<CallMembers> {
        None
    }

    /// Links new results, by the message with their calls, into a session whose entries name their parents: gives them ids
    /// and parents, and returns the edits of the entries that follow them.
    fn link_results(&self, _transcript: &Transcript<'_>, _results: &mut BTreeMap<usize, Vec<Value>>) -> Vec<Edit> {
        Vec::new()
    }

    /// The message that holds results as its parts, with [`PARTS`] in their place; `None` if each result is a message.
    fn results_message(&self) -> Option<Value> {
        None
    }

    /// The place of the result that answers a call, for callers that replace it with a shorter one; `None` if it cannot
    /// be replaced.
    fn output<'a>(&self, message: &Message<'a>, answer: &ResultRef<'a>) -> Option<CallOutput<'a>> {
        // A message may answer several calls; its answers then have nothing but their ids.
        let holder = if answer.json.kind() == JsonKind::Object { answer.json } else { message.json };
        CallOutput::in_content(holder, "text")
    }

    /// The results in a message that its provider wrote itself, and that are no [`ResultRef`]s, in order.
    fn hosted<'a>(&self, _message: &Message<'a>) -> Vec<HostedResult<'a>> {
        Vec::new()
    }

    /// A text block that can replace a part of another kind; `None` if none can.
    fn text_block(&self, _part: Json<'_>, text: &str) -> Option<Value> {
        Some(serde_json::json!({"type": "text", "text": text}))
    }

    /// The list of media beside the content of a message, if it has one.
    fn attachments<'a>(&self, _message: &Message<'a>) -> Option<Json<'a>> {
        None
    }

    /// The edit that appends a line to the content of a message with [`MessageWriter::attachments`]; `None` if the
    /// content takes none.
    fn append_line(&self, _message: &Message<'_>, _line: &str) -> Option<Edit> {
        None
    }

    /// The other places in a message that repeat some of its calls and are removed with them, each with the index of
    /// its call.
    fn duplicates<'a>(&self, _message: &Message<'a>, _calls: &[usize]) -> Vec<(usize, Json<'a>)> {
        Vec::new()
    }

    /// The edits of entries that stand for their copies ([`Retention::Copy`]) once these are removed.
    fn edits_without_copies(&self, _transcript: &Transcript<'_>) -> Vec<Edit> {
        Vec::new()
    }

    /// An entry without content to replace a removed one, if later entries refer to it as their parent.
    fn placeholder(&self, _entry: Json<'_>) -> Option<Value> {
        None
    }

    /// The entry that makes a `LangGraph` reducer drop all its messages; `None` if no such reducer takes the format.
    fn remove_all(&self) -> Option<Value> {
        None
    }

    /// A message in the form a `LangGraph` reducer takes; `None` if it takes the message unchanged.
    fn in_state(&self, _message: &Object<'_>) -> Option<String> {
        None
    }
}

/// Knows which messages must stay together, and in which order.
pub trait OrderRules {
    /// The order that the provider of such messages demands.
    fn order(&self, _envelope: Option<&Object<'_>>, _messages: &[Message<'_>]) -> MessageOrder {
        MessageOrder::of(ResultPlacement::Following)
    }

    /// The first and the last index of each run of messages that stays together for a reason other than a call and its
    /// result.
    fn groups(&self, _messages: &[Message<'_>]) -> Vec<(usize, usize)> {
        Vec::new()
    }

    /// Whether the provider accepts the conversation without this message of reasoning, even in a loop of calls that is
    /// still open.
    fn can_lose_reasoning(&self, _message: &Message<'_>) -> bool {
        false
    }

    /// The makers whose models write encrypted compactions into such messages, where the format tells them.
    fn encrypted_by(&self) -> Option<&'static [&'static str]> {
        None
    }

    /// Whether a note tells that the provider refused what it had encrypted itself.
    fn is_refused_encryption(&self, _note: Json<'_>) -> bool {
        false
    }

    /// The compactions that stand for all entries before them, in order. Those that a later one replaced are among them.
    fn compaction_entries<'a>(&self, _transcript: &Transcript<'a>) -> Vec<CompactionEntry<'a>> {
        Vec::new()
    }

    /// Whether calls are sent with the signatures that their messages hold. Programs that write their own do not count.
    fn keeps_signatures(&self) -> bool {
        false
    }

    /// Messages that violate a rule of the provider besides those of [`OrderRules::order`], with the rule.
    fn violations(&self, _messages: &[Message<'_>]) -> Vec<(usize, &'static str)> {
        Vec::new()
    }

    /// The entries at which an agent that walks up from the last entry stops before it should, and messages that it does
    /// not come by although nobody took them back.
    fn loose_entries<'a>(&self, _transcript: &Transcript<'a>) -> Vec<LooseEntry<'a>> {
        Vec::new()
    }

    /// The edits that tie such entries to those before them.
    fn ties(&self, _transcript: &Transcript<'_>) -> Vec<Edit> {
        Vec::new()
    }

    /// Entries that stand between a call and its result.
    fn misplaced_entries<'a>(&self, _transcript: &Transcript<'a>) -> Vec<MisplacedEntry<'a>> {
        Vec::new()
    }

    /// The edits that move such entries behind the results.
    fn move_misplaced(&self, _transcript: &Transcript<'_>) -> Vec<Edit> {
        Vec::new()
    }

    /// The id of a message, where no two messages may have the same.
    fn message_id<'a>(&self, _message: &Message<'a>) -> Option<Json<'a>> {
        None
    }

    /// Whether a message keeps its meaning when the messages before it are removed.
    fn can_be_pinned(&self, _message: &Message<'_>) -> bool {
        true
    }
}

/// An entry between a call and its result.
#[derive(Debug)]
pub struct MisplacedEntry<'a> {
    /// The index of the message with the call.
    pub message: usize,
    pub entry: Json<'a>,
    /// The entry with the last result.
    pub result: Json<'a>,
}

/// What `convert_to_messages` of `LangChain` does with the messages of a format.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Coercion {
    /// It converts them, and rejects those that it cannot convert.
    Converted,
    /// They are its own messages.
    Done,
    /// It accepts them; which ones it would reject is unknown.
    Unchecked,
    /// It does not know them.
    Unknown,
}

/// One conversation in a source.
#[derive(Debug, Clone)]
pub struct Transcript<'a> {
    /// The whole source of the conversation; all spans are bytes of it.
    pub source: &'a str,
    /// The format of its messages.
    pub format: &'static dyn Format,
    pub messages: Vec<Message<'a>>,
    /// The entries among the messages that are none, in order.
    pub notes: Vec<Note<'a>>,
    /// The spans among them that no reader understands, in order. Each stays as long as the entry before it.
    pub aside: &'a [Range<usize>],
    /// Which calls and results belong together.
    pub pairing: Pairing,
    /// The first and the last index of each run of messages that must not be split, for a reason other than a call and
    /// its result.
    pub groups: Vec<(usize, usize)>,
    /// The indices of the messages with a provider's own compaction, in order.
    pub compactions: Vec<usize>,
    /// The order of messages that its provider demands.
    pub order: MessageOrder,
    /// The whole value around the list of messages, if there is one.
    pub envelope: Option<Json<'a>>,
    /// The object with the list of messages as one of its members, if there is one.
    pub state: Option<Json<'a>>,
    /// The line on which the conversation begins, counted from 1, if the source holds one conversation a line.
    pub line: Option<usize>,
    /// Its place among the conversations that begin on that line, counted from 1.
    pub nth_of_line: usize,
    /// How often tcompact has compacted it before, as far as its summaries tell.
    pub earlier_rounds: u32,
    /// The id of its record, where an archive will have one.
    pub record_id: Option<RecordId>,
    /// What [`Transcript::is_ascii`] found: it reads all messages.
    pub ascii: OnceLock<bool>,
}

impl<'a> Transcript<'a> {
    /// The number of the round of compaction that is about to happen, counted from 1.
    pub fn this_round(&self) -> u32 {
        self.earlier_rounds.saturating_add(1)
    }

    /// The entries of the conversation: its messages, then its notes.
    pub fn entries(&self) -> impl Iterator<Item = Json<'a>> {
        let messages = self.messages.iter().map(|message| message.json);
        messages.chain(self.notes.iter().map(|note| note.json))
    }

    /// The entries of the conversation as they stand in the source.
    pub fn entries_in_order(&self) -> Vec<Json<'a>> {
        let mut entries: Vec<Json<'a>> = self.entries().collect();
        entries.sort_by_key(|entry| entry.span().start);
        entries
    }

    /// Whether the messages have only ASCII characters, so that a new one should too.
    pub fn is_ascii(&self) -> bool {
        let list =
            || self.messages.first().zip(self.messages.last()).map(|(first, last)| first.span().start..last.span().end);
        *self.ascii.get_or_init(|| list().is_some_and(|list| self.source[list].is_ascii()))
    }

    /// The agent's summary that stands behind messages which the agent sends behind it.
    pub fn summary_of_kept(&self) -> Option<usize> {
        let is_summary = |group: &&(usize, usize)| group.0 == 0 && group.1 > 0 && self.messages[group.1].earlier;
        self.groups.iter().find(is_summary).map(|group| group.1)
    }

    /// Whether the message at an index holds a provider's compaction.
    pub fn has_compaction(&self, index: usize) -> bool {
        self.compactions.binary_search(&index).is_ok()
    }
}

/// The content and role of a summary message.
#[derive(Debug, Clone, Copy)]
pub struct SummaryMessage<'s> {
    /// The whole content.
    pub text: &'s str,
    pub role: SummaryRole,
    /// The speaker's name, for formats with names.
    pub name: Option<&'static str>,
    /// Whether it gets the mark by which `LangChain` recognizes its own summaries, if the format has a place for it.
    pub marked: bool,
}

/// The role a summary is given.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SummaryRole {
    /// As a message of the user; every provider accepts it.
    User,
    /// As an instruction.
    System,
    /// As a message of the model.
    Assistant,
}

impl SummaryRole {
    /// The role's name on the command line and in most formats.
    pub fn name(self) -> &'static str {
        match self {
            SummaryRole::User => "user",
            SummaryRole::System => "system",
            SummaryRole::Assistant => "assistant",
        }
    }
}

/// The position of a summary among the pinned messages.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SummaryPosition {
    /// After all of them.
    AfterPinned,
    /// Before all of them.
    First,
    /// In place of the last message that it replaces.
    InPlace,
}

/// The place where a new message is inserted.
pub struct InsertionPoint<'p, 'a> {
    pub transcript: &'p Transcript<'a>,
    /// The index of the first kept message after it.
    pub cutoff: usize,
    /// Where the removed entries begin, messages and others, in order and in bytes. Few formats need it.
    pub removed: Box<dyn Fn() -> Vec<usize> + 'p>,
    /// The links around it, once a format has asked for them: they take a pass over all entries, and one summary is
    /// written several times until it has its size.
    links: OnceCell<Links<'a>>,
    /// The entries on the way that an agent goes through its session, likewise.
    walk: OnceCell<Vec<WalkStep<'a>>>,
    /// The cache mark that the new message takes over, likewise.
    mark: OnceCell<Option<Json<'a>>>,
    /// Whether the message is only measured: links have no tokens.
    is_for_size: bool,
}

impl<'p, 'a> InsertionPoint<'p, 'a> {
    /// The place before a message where nothing is removed.
    pub fn new(transcript: &'p Transcript<'a>, cutoff: usize) -> Self {
        InsertionPoint::in_place_of(transcript, cutoff, Vec::new)
    }

    /// The place before a message of a message that replaces entries.
    pub fn in_place_of(transcript: &'p Transcript<'a>, cutoff: usize, removed: impl Fn() -> Vec<usize> + 'p) -> Self {
        let (links, walk, mark) = (OnceCell::new(), OnceCell::new(), OnceCell::new());
        InsertionPoint { transcript, cutoff, removed: Box::new(removed), links, walk, mark, is_for_size: false }
    }

    /// The place of a message that is only measured. It has no links, so nobody looks for them in all entries.
    pub fn for_size(transcript: &'p Transcript<'a>) -> Self {
        InsertionPoint { is_for_size: true, ..InsertionPoint::new(transcript, 0) }
    }

    /// The entries among which links are looked for.
    fn linked_entries(&self) -> Vec<Json<'a>> {
        if self.is_for_size { Vec::new() } else { self.transcript.entries_in_order() }
    }

    /// The cache mark of the removed messages, if the new one takes it over.
    pub fn mark(&self) -> Option<Json<'a>> {
        *self.mark.get_or_init(|| marks::taken_over(self.transcript, &(self.removed)()))
    }

    /// The links around it, in a format whose entries have these keys.
    pub fn links(&self, keys: LinkKeys) -> &Links<'a> {
        self.links.get_or_init(|| Links::of(self.linked_entries(), &(self.removed)(), keys))
    }

    /// The entries on the way from the last one to the first, the first one first, as `walk` finds them among all entries
    /// in their order.
    pub fn walk(&self, walk: fn(&[Json<'a>]) -> Vec<WalkStep<'a>>) -> &[WalkStep<'a>] {
        self.walk.get_or_init(|| walk(&self.linked_entries()))
    }

    /// The message that the new one should look like: the first kept one, or else the last.
    pub fn neighbour(&self) -> Option<Json<'a>> {
        let messages = &self.transcript.messages;
        messages.get(self.cutoff).or(messages.last()).map(|message| message.json)
    }
}

/// The placeholder for parts that a message does not have yet.
pub const PARTS: &str = "…";

/// The id that means "all messages" to `LangGraph`'s reducer.
pub const REMOVE_ALL: &str = "__remove_all__";
