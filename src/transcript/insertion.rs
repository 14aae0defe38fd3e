//! The place where a new message is inserted, with what is around it.

use std::cell::OnceCell;

use crate::transcript::format::Transcript;
use crate::transcript::formats::shared::links::{LinkKeys, Links};
use crate::transcript::json::Json;
use crate::transcript::marks;

/// The place where a new message is inserted.
pub(crate) struct InsertionPoint<'p, 'a> {
    /// The conversation.
    pub(crate) transcript: &'p Transcript<'a>,
    /// The index of the first kept message after it.
    pub(crate) cutoff: usize,
    /// Returns where the removed entries begin, messages and others, in order and in bytes. Few formats need it.
    pub(crate) removed: Box<dyn Fn() -> Vec<usize> + 'p>,
    /// The links around it, once a format has asked for them: they take a pass over all entries, and one summary is
    /// written several times until it has its size.
    links: OnceCell<Links<'a>>,
    /// The cache mark that the new message takes over, likewise.
    mark: OnceCell<Option<Json<'a>>>,
}

impl<'p, 'a> InsertionPoint<'p, 'a> {
    /// Returns the place before a message where nothing is removed.
    pub(crate) fn new(transcript: &'p Transcript<'a>, cutoff: usize) -> Self {
        InsertionPoint::in_place_of(transcript, cutoff, Vec::new)
    }

    /// Returns the place before a message of a message that replaces entries.
    pub(crate) fn in_place_of(
        transcript: &'p Transcript<'a>,
        cutoff: usize,
        removed: impl Fn() -> Vec<usize> + 'p,
    ) -> Self {
        InsertionPoint { transcript, cutoff, removed: Box::new(removed), links: OnceCell::new(), mark: OnceCell::new() }
    }

    /// Returns the cache mark of the removed messages, if the new one takes it over.
    pub(crate) fn mark(&self) -> Option<Json<'a>> {
        *self.mark.get_or_init(|| marks::taken_over(self.transcript, &(self.removed)()))
    }

    /// Returns the links around it, in a format whose entries have these keys.
    pub(crate) fn links(&self, keys: LinkKeys) -> &Links<'a> {
        self.links.get_or_init(|| {
            let cut = self.transcript.messages.get(self.cutoff).map_or(usize::MAX, |first| first.span().start);
            Links::of(self.transcript.entries().collect(), &(self.removed)(), cut, keys)
        })
    }

    /// Returns the message that the new one should look like: the first kept one, or else the last.
    pub(crate) fn neighbour(&self) -> Option<Json<'a>> {
        let messages = &self.transcript.messages;
        messages.get(self.cutoff).or(messages.last()).map(|message| message.json)
    }
}
