//! New messages and the places where they are inserted.

use std::cell::OnceCell;

use crate::format::transcript::Transcript;
use crate::formats::shared::links::{LinkKeys, Links, WalkStep};
use crate::json::Json;
use crate::marks;

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
        *self.mark.get_or_init(|| marks::taken_over(self.transcript, || (self.removed)()))
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
