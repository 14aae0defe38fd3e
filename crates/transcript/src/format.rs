//! A transcript format: a row of data, functions for what data cannot say, and, for the files of agents, a [`Session`].
//!
//! A row is in the file of its format, and most of its members have a default (`Format::DEFAULT`). A format judges only by
//! what it reads and knows no other format.

mod envelope;
mod hooks;
mod insertion;
mod session;
mod settings;
mod transcript;
mod written;

use std::fmt;
use std::ops::Range;

use crate::background_forms::BackgroundForms;
use crate::call_copies::CallCopies;
pub use crate::compaction::SizeReset;
pub use crate::entries::{Age, EntryKind, InnerList, Note, Retention};
pub use crate::formats::shared::links::LinkFault;
use crate::frame::Frame;
use crate::json::{Json, Object};
pub use crate::match_score::{EnvelopeScore, MatchScore};
use crate::message::{Message, ResultRef};
use crate::order::{MessageOrder, OrderRule, ResultPlacement};
pub use crate::outputs::{CallMembers, NewResult};
use crate::outputs::{CallOutput, HostedResult};
use crate::refused_encryption::RefusedEncryption;
use crate::session_files::{HistoryBase, SessionFiles};
use crate::source::Source;
use crate::unsent_forms::UnsentForms;
use crate::usage::{Usage, UsageAt};
use crate::wording::counted;

pub use envelope::EnvelopeRule;
pub use hooks::Hooks;
pub use insertion::{InsertionPoint, SummaryMessage, SummaryPosition, SummaryRole};
pub use session::{Faults, MisplacedEntry, Session};
pub use settings::SettingParts;
pub use transcript::Transcript;
pub(crate) use written::append_line;
pub use written::{Attachments, PLACEHOLDER, TextBlock, TextFile};

/// A path of members.
pub type Path = &'static [&'static str];

/// A transcript format.
pub struct Format {
    /// The name for `--from` and reports.
    pub name: &'static str,
    /// Describes the format in one line.
    pub about: &'static str,

    // What tells it, besides `hooks.match_score`.
    /// The paths to the list of messages that only this format has, besides those in [`crate::list`].
    pub list_paths: &'static [Path],
    /// What tells the format in the object around the messages. The first rule that says anything counts.
    pub envelope: &'static [EnvelopeRule],

    // How it is read.
    /// The members that hold metadata: what the program displays or logs and sends to no model.
    pub metadata_members: &'static [&'static str],
    /// What the agent writes to its files, never sends, and loads a session without.
    pub unsent: UnsentForms,
    /// Where an answer has its usage; the first place that has one counts.
    pub usage: &'static [UsageAt],
    /// Where a message repeats its calls.
    pub call_copies: Option<CallCopies>,
    /// What a message sets from there on. Of each name the last before a cut stays where instructions stay.
    pub settings: Option<SettingParts>,
    /// The frames around what the agents of this format write in the user's place.
    pub frames: &'static [Frame],
    /// How the agents of this format record their background tasks.
    pub background: BackgroundForms,
    /// What the agent does with a line that is not JSON, where an agent appends lines to files of this format, so that the
    /// last line may be incomplete.
    pub on_broken_line: Option<OnBrokenLine>,
    /// The word that every line with a compaction of the agent has as a string, where compactions replace the lines before
    /// them ([`crate::line_replay::LineStep::Compaction`]).
    pub compaction_word: Option<&'static str>,
    /// The newest version of its files that is known.
    pub newest_version: Option<NewestVersion>,
    /// Where the agent of this format keeps its sessions; nothing where it has none of its own.
    pub session_files: Option<SessionFiles>,

    /// What an entry beside the messages says that requests send beside them.
    pub sent_beside: Option<SentBeside>,

    // What its provider demands.
    /// The order of messages.
    pub order: OrderRule,
    /// The member with the id of a message, where no two messages may have the same.
    pub message_id: Option<&'static str>,
    /// Whether calls are sent with the signatures that their messages hold. Programs that write their own do not count.
    pub keeps_signatures: bool,
    /// The path to an item of the Responses API in a message, where messages are such items.
    pub item: Option<Path>,
    /// Whether the provider accepts the conversation without an item of reasoning, even in a loop of calls that is still
    /// open.
    pub can_lose_reasoning: bool,
    /// The makers whose models write encrypted compactions into such messages, where the format tells them.
    pub encrypted_by: Option<&'static [&'static str]>,
    /// How the agent notes that the provider refused what it had encrypted itself.
    pub refused_encryption: Option<RefusedEncryption>,

    // How new messages look.
    /// The roles that a summary may have, the default first.
    pub summary_roles: &'static [SummaryRole],
    /// The position of a summary among the pinned messages.
    pub summary_position: SummaryPosition,
    /// The member by which entries name their parent. Where a format has one and no entry of a session does, a summary
    /// stands after the pinned messages.
    pub parent_member: Option<&'static str>,
    /// Whether its summaries have a mark of the format, as those of the agent have. The agent's own begin with words of
    /// the agent's.
    pub marks_summaries: bool,
    /// How the agent resets the sizes that it recorded before a compaction, where it does.
    pub size_reset: Option<SizeReset>,
    /// Whether a new result stands directly behind its call, before any other entry: the agent no longer takes it behind
    /// the entry that ends the answer.
    pub writes_results_directly_behind: bool,
    /// The message that holds results as its parts, as JSON with [`PLACEHOLDER`] in their place; `None` if each result is a
    /// message.
    pub results_message: Option<&'static str>,
    /// The block that can replace a part of another kind.
    pub text_block: TextBlock,
    /// The file that can replace one with a medium, where files are attached outside of lists.
    pub text_file: Option<TextFile>,
    /// The list of media beside the content of a message, if it has one.
    pub attachments: Option<Attachments>,

    pub hooks: Hooks,
    pub session: &'static dyn Session,
}

/// What an agent does with a line of its files that is not JSON.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OnBrokenLine {
    /// It does not load the file.
    Refuse,
    /// The other lines are the conversation.
    Skip,
    /// The same, with the objects that are whole in such a line.
    Recover,
    /// It reads nothing behind the line.
    Stop,
}

/// The newest version of an agent's files that is known.
#[derive(Debug)]
pub struct NewestVersion {
    /// The type of the first entry, which names the version.
    pub entry: &'static str,
    /// Its member with the version.
    pub member: &'static str,
    /// What the agent calls it.
    pub noun: &'static str,
    /// The first two numbers.
    pub newest: (u32, u32),
}

/// What requests send beside the messages, as an entry says it.
#[derive(Debug)]
pub struct SentBeside {
    /// The type of the entry. The last one counts.
    pub entry: &'static str,
    /// The path to words for the model.
    pub text: Path,
    /// The path to its tools.
    pub tools: Path,
}

impl Format {
    /// A format whose messages are read by `hooks.match_score` and `hooks.read`, without anything else.
    pub(crate) const DEFAULT: Format = Format {
        name: "",
        about: "",
        list_paths: &[],
        envelope: &[],
        metadata_members: &[],
        unsent: UnsentForms::NONE,
        usage: &[UsageAt::path(&["usage"])],
        call_copies: None,
        settings: None,
        frames: &[],
        background: BackgroundForms::NONE,
        on_broken_line: None,
        compaction_word: None,
        newest_version: None,
        session_files: None,
        sent_beside: None,
        order: OrderRule::of(ResultPlacement::Following),
        message_id: None,
        keeps_signatures: false,
        item: None,
        can_lose_reasoning: false,
        encrypted_by: None,
        refused_encryption: None,
        summary_roles: &[SummaryRole::User],
        summary_position: SummaryPosition::AfterPinned,
        parent_member: None,
        marks_summaries: false,
        size_reset: None,
        writes_results_directly_behind: false,
        results_message: None,
        text_block: TextBlock::Typed("text"),
        text_file: None,
        attachments: None,
        hooks: Hooks::NONE,
        session: &session::NoSession,
    };
}

/// Writes the name alone: a conversation has its format among its members.
impl fmt::Debug for Format {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(self.name)
    }
}

/// What a format says of a message or of the object around the messages.
impl Format {
    pub fn match_score(&self, message: &Object<'_>) -> MatchScore {
        (self.hooks.match_score)(message)
    }

    pub fn match_envelope(&self, envelope: &Object<'_>) -> EnvelopeScore {
        for rule in self.envelope {
            let score = rule.score(envelope);
            if score != EnvelopeScore::Unknown {
                return score;
            }
        }
        EnvelopeScore::Unknown
    }

    /// Reads one message.
    ///
    /// # Errors
    /// What the value is instead, to follow the words "message 3".
    pub fn read<'a>(&self, message: &Object<'a>) -> Result<Message<'a>, String> {
        (self.hooks.read)(message)
    }

    /// The usage that an answer of the model has.
    pub fn usage_of<'a>(&self, message: &Message<'a>) -> Option<Usage<'a>> {
        self.usage.iter().find_map(|place| place.of(message.json))
    }

    /// The place of the result that answers a call, for callers that replace it with a shorter one; `None` if it cannot
    /// be replaced.
    pub fn result_output<'a>(&self, message: &Message<'a>, answer: &ResultRef<'a>) -> Option<CallOutput<'a>> {
        (self.hooks.result_output)(message, answer)
    }

    pub fn provider_results<'a>(&self, message: &Message<'a>) -> Vec<HostedResult<'a>> {
        (self.hooks.provider_results)(message)
    }

    /// The other places in a message that repeat some of its calls and are removed with them, each with the index of its
    /// call.
    pub fn duplicates<'a>(&self, message: &Message<'a>, calls: &[usize]) -> Vec<(usize, Json<'a>)> {
        match &self.call_copies {
            Some(copies) => copies.of(message, calls),
            None => Vec::new(),
        }
    }

    /// The id of a message, where no two messages may have the same.
    pub fn id_of<'a>(&self, message: &Message<'a>) -> Option<Json<'a>> {
        message.json.get(self.message_id?).filter(|id| id.text().is_some_and(|id| !id.is_empty()))
    }

    /// What a message sets from there on, by name.
    pub fn settings_of(&self, message: &Message<'_>) -> Vec<String> {
        match &self.settings {
            Some(parts) => parts.names_in(message),
            None => Vec::new(),
        }
    }

    /// The item of the Responses API in a message.
    pub fn item_of<'a>(&self, message: Json<'a>) -> Option<Json<'a>> {
        Some(message.at(self.item?).unwrap_or(message))
    }
}

/// What a format says of a conversation.
impl Format {
    pub fn order_of(&self, envelope: Option<&Object<'_>>, messages: &[Message<'_>]) -> MessageOrder {
        match self.order {
            OrderRule::Always(order) => order,
            OrderRule::Depends(find) => find(envelope, messages),
        }
    }

    pub fn groups_of(&self, messages: &[Message<'_>]) -> Vec<(usize, usize)> {
        (self.hooks.groups)(messages)
    }

    /// Whether the agent reads the other lines of a file where one is not JSON.
    pub fn reads_beside_broken_lines(&self) -> bool {
        matches!(self.on_broken_line, Some(OnBrokenLine::Skip | OnBrokenLine::Recover | OnBrokenLine::Stop))
    }

    /// The spans of a file that the agent does not read. A line with two values is not JSON.
    pub fn unread_spans<'s>(&self, source: &'s Source<'_>) -> &'s [Range<usize>] {
        match self.on_broken_line {
            Some(OnBrokenLine::Skip | OnBrokenLine::Stop) => &source.irregular_lines,
            Some(OnBrokenLine::Recover) => &source.broken,
            Some(OnBrokenLine::Refuse) | None if source.error.is_some() => &source.irregular_lines,
            Some(OnBrokenLine::Refuse) | None => &[],
        }
    }

    /// The position of a summary among the pinned messages.
    pub fn summary_position_in(&self, transcript: &Transcript<'_>) -> SummaryPosition {
        let Some(parent) = self.parent_member else { return self.summary_position };
        let is_linked = transcript.messages.iter().any(|message| message.json.get(parent).is_some());
        if is_linked { self.summary_position } else { SummaryPosition::AfterPinned }
    }

    /// The version that a session names, where it is newer than those that are known: `protocol 1.6`.
    pub fn unknown_version(&self, transcript: &Transcript<'_>) -> Option<String> {
        let known = self.newest_version.as_ref()?;
        let first = transcript.notes.first()?;
        if !first.json.member_is("type", known.entry) {
            return None;
        }
        let version = first.json.get_text(known.member)?.decode().into_owned();
        let mut numbers = version.split('.').map(|number| number.parse::<u32>().unwrap_or(0));
        let read = (numbers.next().unwrap_or(0), numbers.next().unwrap_or(0));
        if read > known.newest { Some(format!("{} {version}", known.noun)) } else { None }
    }

    /// Where a conversation begins, if that is in another file of the agent.
    pub fn history_base(&self, transcript: &Transcript<'_>) -> Option<HistoryBase> {
        let dependents = self.session_files.as_ref()?.dependents.as_ref()?;
        (dependents.head)(transcript.notes.first()?.json).base
    }

    /// Why a conversation that can be read is left unchanged, to follow its name.
    pub fn refusal(&self, transcript: &Transcript<'_>) -> Option<String> {
        (self.hooks.refusal)(transcript).or_else(|| self.torn_link(transcript))
    }

    /// What is lost by a torn link, where anything is.
    fn torn_link(&self, transcript: &Transcript<'_>) -> Option<String> {
        let lost = transcript.notes.iter().filter(|note| note.retention == Retention::Lost).count();
        if lost == 0 {
            return None;
        }
        let torn = self.session.broken_links(transcript).found.pop()?;
        let why = if torn.fault == LinkFault::Cycle { "leads back to it" } else { "is not there" };
        let verb = if lost == 1 { "is" } else { "are" };
        let (lost, named) = (counted(lost as u64, "line"), torn.named.unwrap_or_default());
        Some(format!(
            "{lost} {verb} no longer sent, because the parent {named} of a line behind them {why}; --repair drop ties that line to the one before it"
        ))
    }
}
