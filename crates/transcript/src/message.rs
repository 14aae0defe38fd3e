//! A message as it is read: its role, content, tool calls and results, each with its position in the source.
//!
//! A message keeps spans and the few fields that decisions need, and no copy of its text. Its size is what
//! `tokens` of the root package says.

use std::ops::Range;

use crate::call_ids::has_call_id;
use crate::compaction::ProviderCompaction;
use crate::json::Json;
use crate::media::MediaKind;
use crate::status::Denial;
use crate::text::Text;
use crate::thin_list::ThinList;

/// The role of a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Role {
    /// Standing instructions.
    System,
    /// Standing instructions, as newer models call them.
    Developer,
    /// The person, or a program in their place.
    User,
    Assistant,
    /// The result of a tool call.
    Tool,
    /// The result of a function call, the predecessor of tool calls.
    Function,
    /// A role that no provider knows; tcompact leaves such messages alone.
    Other,
}

impl Role {
    /// The role's name in Chat Completions, which token counting counts.
    pub fn openai_name(self) -> &'static str {
        match self {
            Role::System => "system",
            Role::Developer => "developer",
            Role::User => "user",
            Role::Assistant => "assistant",
            Role::Tool => "tool",
            Role::Function => "function",
            Role::Other => "other",
        }
    }

    /// Whether messages of the role give standing instructions; these are kept unless the user decides otherwise.
    pub fn is_system(self) -> bool {
        matches!(self, Role::System | Role::Developer)
    }
}

/// One message. A transcript may have a million, so rare fields are boxed and no list has spare capacity.
#[derive(Debug, Clone)]
pub struct Message<'a> {
    /// The message in the source.
    pub json: Json<'a>,
    pub role: Role,
    pub content: Content<'a>,
    /// Its tool calls, in order.
    pub calls: ThinList<Call<'a>>,
    /// Its tool results, in order.
    pub results: ThinList<ResultRef<'a>>,
    /// Fields that most messages lack.
    pub rest: Option<Box<RareFields<'a>>>,
    /// Whether it is the summary of an earlier compaction: the format marks it as one, or it is `ours`.
    pub earlier: bool,
    /// Whether it stands for messages before it in its agent's own way, or clears them. It is never pinned: without them, it
    /// would mean something else.
    pub is_boundary: bool,
    /// The round of compaction in which tcompact put it there as a summary, counted from 1; 0 for all other messages.
    /// `plan` decides that. Only the lines of such summaries are read back.
    pub round: u32,
    /// What of it was masked before it was read, with `--redact=all`.
    pub mask: MaskMark,
}

/// What of a message was masked before it was read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MaskMark {
    Nothing,
    /// Some text.
    Text,
    /// Thinking too, whose signature no longer fits.
    SignedThinking,
}

/// The fields that most messages lack.
#[derive(Debug, Clone, Copy, Default)]
pub struct RareFields<'a> {
    /// The role as the source spells it, if it is an unknown one.
    pub role_name: Option<Text<'a>>,
    /// The speaker's name, if it is not empty.
    pub name: Option<Text<'a>>,
    /// Tokens up to and including this message, as its provider counted them.
    pub total_tokens: Option<u64>,
    /// The provider's name, if the message has it.
    pub provider: Option<Text<'a>>,
    /// The model's reasoning beside the content: a text, or a list of details.
    pub reasoning: Option<Json<'a>>,
    /// What the speaker said, where more is sent in its place.
    pub typed: Option<Text<'a>>,
    /// Where its content is, if another entry holds what is sent.
    pub content_edit: Option<ContentEdit<'a>>,
}

/// The content of a message that is sent with other content.
#[derive(Debug, Clone, Copy)]
pub struct ContentEdit<'a> {
    /// The content in the message, which is not sent.
    pub own: Json<'a>,
    /// The content in another entry, which is sent in its place.
    pub sent: Json<'a>,
}

impl<'a> RareFields<'a> {
    /// Creates one with nothing but the name of an unknown role.
    pub(super) fn of_role(role_name: Option<Text<'a>>) -> Option<Box<Self>> {
        role_name?;
        Some(Box::new(RareFields { role_name, ..RareFields::default() }))
    }

    /// Boxes the fields; `None` if all are empty.
    pub fn boxed(self) -> Option<Box<Self>> {
        let RareFields { role_name, name, total_tokens, provider, reasoning, typed, content_edit } = self;
        let has_text = [role_name, name, provider, typed].iter().any(Option::is_some);
        let has_other = total_tokens.is_some() || reasoning.is_some() || content_edit.is_some();
        if has_text || has_other { Some(Box::new(self)) } else { None }
    }
}

impl<'a> Message<'a> {
    /// Creates a message without a known role and without content.
    pub fn empty(json: Json<'a>) -> Self {
        Message {
            json,
            role: Role::Other,
            content: Content::empty(),
            calls: ThinList::default(),
            results: ThinList::default(),
            rest: None,
            earlier: false,
            is_boundary: false,
            round: 0,
            mask: MaskMark::Nothing,
        }
    }

    /// Whether it is a summary that tcompact put there.
    pub fn is_ours(&self) -> bool {
        self.round > 0
    }

    /// All texts of its content, one a line.
    pub fn whole_text(&self) -> String {
        self.content.texts().iter().map(|text| text.decode()).collect::<Vec<_>>().join("\n")
    }

    /// The fields that most messages lack.
    pub fn rare_fields(&self) -> RareFields<'a> {
        self.rest.as_deref().copied().unwrap_or_default()
    }

    pub fn span(&self) -> Range<usize> {
        self.json.span()
    }

    /// Where its content is, if another entry holds what is sent.
    pub fn content_edit(&self) -> Option<ContentEdit<'a>> {
        self.rest.as_deref()?.content_edit
    }

    /// A field of the message, wherever the encodings of `LangChain` put it.
    pub fn field(&self, key: &str) -> Option<Json<'a>> {
        // Only a message without a role keeps its fields in an envelope.
        if self.json.get("role").is_none() {
            for envelope in ["data", "kwargs"] {
                if let Some(field) = self.json.at(&[envelope, key]) {
                    return Some(field);
                }
            }
        }
        self.json.get(key)
    }

    /// A field of the response metadata.
    pub fn metadata(&self, key: &str) -> Option<Json<'a>> {
        self.field("response_metadata")?.get(key)
    }

    /// A field that the format does not define, wherever `LangChain` and its encodings put it.
    pub fn additional(&self, key: &str) -> Option<Json<'a>> {
        let additional = self.field("additional_kwargs").and_then(|additional| additional.get(key));
        additional.or_else(|| self.json.get(key))
    }

    /// Whether the message begins as a summary does: with `prefix`, and without calls and results. Trailing white space of
    /// the prefix does not count. Anybody can write such a text: whether it is a summary is in `earlier`.
    pub fn opens_with(&self, prefix: &str) -> bool {
        let prefix = prefix.trim_end();
        !prefix.is_empty()
            && self.calls.is_empty()
            && self.results.is_empty()
            && self.content.first_text().is_some_and(|text| text.starts_with(prefix))
    }

    /// The provider's compaction in the message, if there is one. One that failed says nothing, and its message is like
    /// any other.
    pub fn compaction(&self) -> Option<ProviderCompaction<'a>> {
        let mut last_readable = None;
        let mut last_opaque = None;
        for part in self.content.parts() {
            match part.kind {
                PartKind::Compaction(ProviderCompaction::Failed) => {}
                PartKind::Compaction(compaction @ ProviderCompaction::Opaque) => last_opaque = Some(compaction),
                PartKind::Compaction(compaction) => last_readable = Some(compaction),
                _ => {}
            }
        }
        last_opaque.or(last_readable)
    }

    /// Whether the message holds nothing but a compaction in readable text.
    pub fn is_readable_compaction(&self) -> bool {
        let Content::Parts(parts) = &self.content else { return false };
        self.calls.is_empty()
            && self.results.is_empty()
            && parts.iter().all(|part| matches!(part.kind, PartKind::Compaction(ProviderCompaction::Readable(_))))
    }

    /// Whether an agent marks it as written by its program in the user's place, as the text of a slash command is.
    pub fn is_marked_as_inserted(&self) -> bool {
        is_marked_as_programs(self.json) || is_truncation_marker(self.json)
    }

    /// Whether pi's record of an answer says that the user interrupted it.
    pub fn is_interrupted(&self) -> bool {
        self.role == Role::Assistant
            && self.json.get("message").is_some_and(|inner| inner.member_is("stopReason", "aborted"))
    }

    /// The command that `SWE-agent` writes beside the text of a message. Events of `OpenHands` have no role.
    pub fn command_beside(&self) -> Option<Text<'a>> {
        self.json.get("role")?;
        self.json.get_text("action")
    }

    /// Whether this is a turn of the user: a user message with more than what tools gave back.
    pub fn is_user_turn(&self) -> bool {
        if self.role != Role::User {
            return false;
        }
        let parts = self.content.parts();
        parts.is_empty() || parts.iter().any(Part::is_speakers)
    }

    /// Whether a part of an unknown kind names a call.
    pub fn has_unknown_answer(&self) -> bool {
        self.content.parts().iter().any(Part::is_unknown_answer)
    }

    /// What another speaker than its own says in it.
    pub fn asides(&self) -> impl Iterator<Item = (Role, &Content<'a>)> {
        self.content.parts().iter().filter_map(|part| match &part.kind {
            PartKind::SaidBy(role, content) => Some((*role, content)),
            _ => None,
        })
    }
}

/// The content of a message: one string, or a list of parts.
#[derive(Debug, Clone)]
pub enum Content<'a> {
    /// One string; empty if the source has `null`, no content, or another value that is falsy in Python.
    Text(Text<'a>),
    /// At least one part.
    Parts(Box<[Part<'a>]>),
}

/// One part of a message's content.
#[derive(Debug, Clone)]
pub struct Part<'a> {
    /// The part in the source.
    pub json: Json<'a>,
    pub kind: PartKind<'a>,
}

impl<'a> Part<'a> {
    fn first_text(&self) -> Option<Text<'a>> {
        match &self.kind {
            PartKind::Text(text)
            | PartKind::Refusal(text)
            | PartKind::Compaction(ProviderCompaction::Readable(text)) => Some(*text),
            PartKind::Result(content) | PartKind::Mixed(content) | PartKind::SaidBy(_, content) => content.first_text(),
            _ => None,
        }
    }

    /// Whether the speaker of the message says it, and not a tool or somebody else.
    fn is_speakers(&self) -> bool {
        !matches!(self.kind, PartKind::Result(_) | PartKind::SaidBy(..)) && !self.is_unknown_answer()
    }

    /// Whether a part of an unknown kind names a call: it is rather a tool's than the speaker's.
    fn is_unknown_answer(&self) -> bool {
        matches!(self.kind, PartKind::Foreign(_)) && has_call_id(self.json)
    }
}

/// The kind of a part, with its text.
#[derive(Debug, Clone)]
pub enum PartKind<'a> {
    Text(Text<'a>),
    /// The model's own reasoning.
    Reasoning(Text<'a>),
    /// The model's refusal.
    Refusal(Text<'a>),
    /// A picture, sound, video or document. Its cost does not depend on its encoding.
    Media(MediaKind),
    /// A value that no reader knows, with media in it: the media, and its JSON around them as texts.
    Mixed(Content<'a>),
    /// What another speaker than that of the message says: the operator beside the user, or the user while the model works.
    SaidBy(Role, Content<'a>),
    /// A tool call in the content; [`Message::calls`] has it too.
    Call,
    /// The result of a tool call.
    Result(Content<'a>),
    /// A provider's own compaction of the messages before it.
    Compaction(ProviderCompaction<'a>),
    /// A known kind without text: content that only its provider can read, a mark, a cache point.
    Other,
    /// An unknown kind, as the source spells it.
    Foreign(Text<'a>),
}

/// A tool call.
#[derive(Debug, Clone)]
pub struct Call<'a> {
    /// The call in the source.
    pub json: Json<'a>,
    /// The id that its result names, if it has one.
    pub id: Option<Text<'a>>,
    /// The tool's name.
    pub name: Option<Text<'a>>,
    pub arguments: Arguments<'a>,
    /// Its place in the message.
    pub place: CallPlace,
}

/// The place of a call in its message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CallPlace {
    /// In the list of tool calls beside the content.
    List,
    /// The single `function_call`, the predecessor of tool calls.
    FunctionCall,
    /// Among the parts of the content.
    Content,
    /// In the list of calls that could not be parsed.
    Invalid,
}

/// The arguments of a call.
#[derive(Debug, Clone, Copy)]
pub enum Arguments<'a> {
    /// JSON inside a string.
    Text(Text<'a>),
    /// A JSON value.
    Value(Json<'a>),
    /// The call has no arguments.
    Absent,
}

/// A tool result, as far as it names its call.
#[derive(Debug, Clone)]
pub struct ResultRef<'a> {
    /// The result in the source: a part of its message, or the message.
    pub json: Json<'a>,
    /// The id of the call; `None` if results follow their calls without an id.
    pub id: Option<Text<'a>>,
    /// The agent's record beside the result that the user refused the call.
    pub denial: Option<Box<Denial<'a>>>,
    /// Other elements of the message that repeat the result.
    pub duplicates: Box<[Json<'a>]>,
}

impl<'a> ResultRef<'a> {
    /// Creates one of a call that nobody refused.
    pub fn new(json: Json<'a>, id: Option<Text<'a>>) -> Self {
        ResultRef { json, id, denial: None, duplicates: Box::default() }
    }
}

impl<'a> Arguments<'a> {
    /// Reads arguments from the value that holds them.
    pub fn of(value: Option<Json<'a>>) -> Self {
        match value {
            None => Arguments::Absent,
            Some(value) => value.text().map_or(Arguments::Value(value), Arguments::Text),
        }
    }
}

impl<'a> Content<'a> {
    pub fn empty() -> Self {
        Content::Text(Text::plain(""))
    }

    /// The parts as content, or the empty string if there are none.
    pub fn of_parts(parts: Box<[Part<'a>]>) -> Self {
        if parts.is_empty() { Content::empty() } else { Content::Parts(parts) }
    }

    /// Whether the content is the empty string, or has no parts.
    pub(super) fn is_empty(&self) -> bool {
        match self {
            Content::Text(text) => text.is_empty(),
            Content::Parts(parts) => parts.is_empty(),
        }
    }

    /// The parts; none if the content is a string.
    pub fn parts(&self) -> &[Part<'a>] {
        match self {
            Content::Text(_) => &[],
            Content::Parts(parts) => parts,
        }
    }

    pub fn first_text(&self) -> Option<Text<'a>> {
        match self {
            Content::Text(text) => Some(*text),
            Content::Parts(parts) => parts.iter().find_map(Part::first_text),
        }
    }
}

/// Whether Claude Code marks a line, or an attachment, as not typed by the user: as its own, or by where it comes from.
pub(super) fn is_marked_as_programs(json: Json<'_>) -> bool {
    let origin = json.at(&["origin", "kind"]).and_then(|kind| kind.text());
    json.member_is_true("isMeta")
        || origin.is_some_and(|kind| !kind.is("human"))
        || json.member_is("promptSource", "system")
        || json.at(&["message", "origin"]).is_some_and(is_origin_of_program)
        || is_of_program_of_qwen(json)
}

/// Whether Qwen Code says that a line in the user's place is its program's. Older lines say only what they are.
fn is_of_program_of_qwen(json: Json<'_>) -> bool {
    const KINDS: [&str; 5] = ["background_task_completed", "cron", "goal_runtime", "notification", "realtime_message"];
    let is_of_program =
        json.member_is("provenance", "system") || json.get_text("subtype").is_some_and(|subtype| subtype.is_in(&KINDS));
    is_of_program && json.at(&["message", "parts"]).is_some()
}

/// Whether Kimi Code says that a message comes from its program. What a user typed or called is the user's.
fn is_origin_of_program(origin: Json<'_>) -> bool {
    let Some(kind) = origin.get_text("kind") else { return false };
    match kind.decode().as_ref() {
        "user" | "human" => false,
        "shell_command" => origin.member_is("phase", "output"),
        _ => true,
    }
}

/// Whether a message stands in place of messages that Roo Code truncated.
pub(super) fn is_truncation_marker(message: Json<'_>) -> bool {
    message.member_is_true("isTruncationMarker")
}

#[cfg(test)]
mod tests {
    use super::*;

    /// These are bytes per message beside its text, and there may be a million messages.
    #[test]
    #[cfg(target_pointer_width = "64")]
    fn a_message_in_memory_is_small() {
        assert!(size_of::<Message<'_>>() <= 80);
        assert!(size_of::<Call<'_>>() <= 112);
        assert!(size_of::<ResultRef<'_>>() <= 72);
    }
}
