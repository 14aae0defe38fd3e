//! A message as it is read: who speaks, what is said, called and answered, and where each of these stands.
//!
//! Reading keeps spans and the few fields that decisions need, and no copy of a message. Sizes are not here
//! ([`crate::tokens`]).

use std::ops::Range;

use crate::transcript::compaction::Compaction;
use crate::transcript::json::Json;
use crate::transcript::text::Text;

/// Who speaks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Role {
    /// Standing instructions.
    System,
    /// Standing instructions under the name newer models have for them.
    Developer,
    /// The person, or the program in their place.
    User,
    /// The model.
    Assistant,
    /// The result of a tool call.
    Tool,
    /// The result of a call in the style before tools.
    Function,
    /// A role no provider knows; it is the source's own and is left alone.
    Other,
}

impl Role {
    /// The name Chat Completions has for the role, which is what token counting counts.
    pub(crate) fn openai_name(self) -> &'static str {
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

    /// Whether the role gives standing instructions, which are kept unless the user says otherwise.
    pub(crate) fn is_system(self) -> bool {
        matches!(self, Role::System | Role::Developer)
    }
}

/// One message. There may be a million of them, so that what most lack is kept apart, and no list has spare capacity.
#[derive(Debug, Clone)]
pub(crate) struct Message<'a> {
    /// The message as it stands in the source.
    pub(crate) json: Json<'a>,
    /// Who speaks.
    pub(crate) role: Role,
    /// Its content.
    pub(crate) content: Content<'a>,
    /// The tools it calls, in order.
    pub(crate) calls: Box<[Call<'a>]>,
    /// The calls it answers, in order.
    pub(crate) answers: Box<[Answer<'a>]>,
    /// What else is known of it, if anything is.
    pub(crate) rest: Option<Box<Rest<'a>>>,
    /// Whether the format marks it as the summary of an earlier compaction.
    pub(crate) earlier: bool,
}

/// What most messages lack.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Rest<'a> {
    /// The role as it is spelled, where it is none of the known ones.
    pub(crate) role_name: Option<Text<'a>>,
    /// The speaker's name, where one is given and is not empty.
    pub(crate) name: Option<Text<'a>>,
    /// Tokens that its provider counted, up to and with the message.
    pub(crate) total_tokens: Option<u64>,
    /// The name of the provider, where it reported it.
    pub(crate) provider: Option<Text<'a>>,
}

impl<'a> Rest<'a> {
    /// Nothing but the name of a role that no provider knows.
    pub(super) fn of_role(role_name: Option<Text<'a>>) -> Option<Box<Self>> {
        role_name.map(|_| Box::new(Rest { role_name, ..Rest::default() }))
    }

    /// The same in a box; nothing where all fields are empty.
    pub(crate) fn boxed(self) -> Option<Box<Self>> {
        let Rest { role_name, name, total_tokens, provider } = self;
        let is_some = role_name.is_some() || name.is_some() || total_tokens.is_some() || provider.is_some();
        is_some.then(|| Box::new(self))
    }
}

impl<'a> Message<'a> {
    /// A message without a speaker and without content.
    pub(crate) fn empty(json: Json<'a>) -> Self {
        Message {
            json,
            role: Role::Other,
            content: Content::empty(),
            calls: Box::default(),
            answers: Box::default(),
            rest: None,
            earlier: false,
        }
    }

    /// What else is known of the message; empty where nothing is.
    pub(crate) fn rest(&self) -> Rest<'a> {
        self.rest.as_deref().copied().unwrap_or_default()
    }

    /// Where the message stands in the source, in bytes.
    pub(crate) fn span(&self) -> Range<usize> {
        self.json.span()
    }

    /// A field of the message, wherever `LangChain`'s encodings put it.
    pub(crate) fn field(&self, key: &str) -> Option<Json<'a>> {
        // Only what has no role has its fields inside an envelope of its own.
        let envelopes: &[&str] = if self.json.get("role").is_some() { &[] } else { &["data", "kwargs"] };
        let inside = envelopes.iter().find_map(|envelope| self.json.at(&[envelope, key]));
        inside.or_else(|| self.json.get(key))
    }

    /// What is known of how the message came about.
    pub(crate) fn metadata(&self, key: &str) -> Option<Json<'a>> {
        self.field("response_metadata")?.get(key)
    }

    /// A field that the format does not define, wherever `LangChain` and its encodings put it.
    pub(crate) fn additional(&self, key: &str) -> Option<Json<'a>> {
        let additional = self.field("additional_kwargs").and_then(|additional| additional.get(key));
        additional.or_else(|| self.json.get(key))
    }

    /// Whether the message is the summary of an earlier compaction: it is marked as one, or it begins with `prefix` and has
    /// neither calls nor results. White space at the end of the prefix does not count.
    pub(crate) fn is_summary(&self, prefix: &str) -> bool {
        let prefix = prefix.trim_end();
        let only_says = || self.calls.is_empty() && self.answers.is_empty();
        let begins = || self.content.first_text().is_some_and(|text| text.starts_with(prefix));
        self.earlier || !prefix.is_empty() && only_says() && begins()
    }

    /// The compaction that the message holds, if it holds one.
    pub(crate) fn compaction(&self) -> Option<Compaction<'a>> {
        let Content::Parts(parts) = &self.content else { return None };
        let compactions = parts.iter().filter_map(|part| match part.kind {
            PartKind::Compaction(compaction) => Some(compaction),
            _ => None,
        });
        compactions.max_by_key(|compaction| compaction.rank())
    }

    /// Whether the message is nothing but a compaction that anybody can read.
    pub(crate) fn is_readable_compaction(&self) -> bool {
        let Content::Parts(parts) = &self.content else { return false };
        let is_readable = |kind: &PartKind<'_>| matches!(kind, PartKind::Compaction(Compaction::Readable(_)));
        self.calls.is_empty() && self.answers.is_empty() && parts.iter().all(|part| is_readable(&part.kind))
    }

    /// Whether a person speaks here: a user message with more than tool results.
    pub(crate) fn is_user_turn(&self) -> bool {
        self.role == Role::User
            && match &self.content {
                Content::Text(_) => true,
                Content::Parts(parts) => {
                    parts.is_empty() || parts.iter().any(|part| !matches!(part.kind, PartKind::Result(_)))
                }
            }
    }
}

/// What a message says: one string, or a list of parts.
#[derive(Debug, Clone)]
pub(crate) enum Content<'a> {
    /// One string; empty where the source has `null`, nothing, or another value Python calls false.
    Text(Text<'a>),
    /// Several parts, at least one.
    Parts(Box<[Part<'a>]>),
}

/// One part of a message's content.
#[derive(Debug, Clone)]
pub(crate) struct Part<'a> {
    /// The part as it stands in the source.
    pub(crate) json: Json<'a>,
    /// What it is.
    pub(crate) kind: PartKind<'a>,
}

/// What a part is.
#[derive(Debug, Clone)]
pub(crate) enum PartKind<'a> {
    /// Text to be read.
    Text(Text<'a>),
    /// The model's own reasoning.
    Reasoning(Text<'a>),
    /// The model's refusal.
    Refusal(Text<'a>),
    /// A picture, which costs the same however it is spelled.
    Image,
    /// Sound, a document or another medium that is not text.
    Media,
    /// A tool call that stands in the content; [`Message::calls`] has it.
    Call,
    /// The result of a tool call.
    Result(Content<'a>),
    /// A provider's own compaction of what came before.
    Compaction(Compaction<'a>),
    /// Known, with nothing to read: what only its provider can read, a mark, a cache point.
    Other,
    /// Of a kind that no reader knows, as it is spelled.
    Foreign(Text<'a>),
}

/// A tool call.
#[derive(Debug, Clone)]
pub(crate) struct Call<'a> {
    /// The call as it stands in the source.
    pub(crate) json: Json<'a>,
    /// The id its result will name, where it has one.
    pub(crate) id: Option<Text<'a>>,
    /// The tool's name.
    pub(crate) name: Option<Text<'a>>,
    /// What the tool is given.
    pub(crate) arguments: Arguments<'a>,
    /// Where in the message it stands.
    pub(crate) place: CallPlace,
}

/// Where in a message a call stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum CallPlace {
    /// In the list of tool calls beside the content.
    List,
    /// In the one `function_call` of the style before tools.
    FunctionCall,
    /// Among the parts of the content.
    Content,
    /// In the list of calls that could not be parsed.
    Invalid,
}

/// What a tool is given.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Arguments<'a> {
    /// JSON inside a string.
    Text(Text<'a>),
    /// A JSON value.
    Value(Json<'a>),
    /// Nothing was written.
    Absent,
}

/// A result's claim on a call.
#[derive(Debug, Clone)]
pub(crate) struct Answer<'a> {
    /// The result as it stands in the source: a part of its message, or the message.
    pub(crate) json: Json<'a>,
    /// The id of the call; nothing where results follow their calls without one.
    pub(crate) id: Option<Text<'a>>,
}

impl<'a> Arguments<'a> {
    /// Reads the value that a call keeps its arguments in.
    pub(crate) fn of(value: Option<Json<'a>>) -> Self {
        match value {
            None => Arguments::Absent,
            Some(value) => value.text().map_or(Arguments::Value(value), Arguments::Text),
        }
    }
}

impl<'a> Content<'a> {
    /// The empty string.
    pub(crate) fn empty() -> Self {
        Content::Text(Text::plain(""))
    }

    /// Parts, or the empty string where there are none.
    pub(crate) fn of_parts(parts: Box<[Part<'a>]>) -> Self {
        if parts.is_empty() { Content::empty() } else { Content::Parts(parts) }
    }

    /// Whether it is the empty string, or no parts.
    pub(super) fn is_empty(&self) -> bool {
        match self {
            Content::Text(text) => text.is_empty(),
            Content::Parts(parts) => parts.is_empty(),
        }
    }

    /// Its parts; none where it is one string.
    pub(super) fn parts(&self) -> &[Part<'a>] {
        match self {
            Content::Text(_) => &[],
            Content::Parts(parts) => parts,
        }
    }

    /// The first of its texts.
    pub(crate) fn first_text(&self) -> Option<Text<'a>> {
        match self {
            Content::Text(text) => Some(*text),
            Content::Parts(parts) => parts.iter().find_map(|part| match &part.kind {
                PartKind::Text(text) | PartKind::Refusal(text) | PartKind::Compaction(Compaction::Readable(text)) => {
                    Some(*text)
                }
                PartKind::Result(content) => content.first_text(),
                _ => None,
            }),
        }
    }

    /// The texts of the content, those of results, of compactions that can be read, and the JSON of foreign parts included,
    /// reasoning and media left out.
    pub(crate) fn texts(&self) -> Vec<Text<'a>> {
        match self {
            Content::Text(text) => vec![*text],
            Content::Parts(parts) => parts
                .iter()
                .flat_map(|part| match &part.kind {
                    PartKind::Text(text)
                    | PartKind::Refusal(text)
                    | PartKind::Compaction(Compaction::Readable(text))
                    | PartKind::Foreign(text) => vec![*text],
                    PartKind::Result(content) => content.texts(),
                    _ => Vec::new(),
                })
                .collect(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Bytes that each of a million messages takes beside its text.
    #[test]
    #[cfg(target_pointer_width = "64")]
    fn what_is_held_of_a_message_is_small() {
        assert!(size_of::<Message<'_>>() <= 96);
        assert!(size_of::<Call<'_>>() <= 112);
        assert!(size_of::<Answer<'_>>() <= 48);
    }
}
