//! The summarizer of a run: it releases its core while it waits, and caches the answers.

use crate::events::{Event, Listener};
use crate::llm::Summarizer;
use crate::llm::cache::{Cache, Kept};
use crate::summary::exchange::{Bill, FailureKind, NoAnswer, Remembered, Reply, Request, SummaryBackend};
use crate::wording::reason;

use crate::engine::listeners::notify;
use crate::engine::ordered_output::Cores;

/// A summarizer that the workers of a run share.
pub(super) struct RunBackend<'a> {
    /// Answers the requests.
    pub(super) summarizer: &'a Summarizer,
    /// The cores, one of which the caller holds.
    pub(super) cores: &'a Cores,
    /// The cache of the answers.
    pub(super) cache: Option<&'a Cache>,
    pub(super) listener: &'a dyn Listener,
    /// The name of the summarizer, if it is asked for one conversation only, and that can be shown.
    pub(super) alone: Option<&'a str>,
}

impl SummaryBackend for RunBackend<'_> {
    fn answer(&self, request: &Request, bill: &mut Bill) -> Result<Reply, NoAnswer> {
        let show = |name| self.alone.iter().for_each(|_| notify(self.listener, Event::Waiting(name)));
        show(self.alone);
        let answer = self.cores.without(|| self.summarizer.answer(request, bill));
        show(None);
        answer
    }

    fn remembered(
        &self,
        request: &Request,
        is_usable: &dyn Fn(&Reply) -> bool,
        ask: &mut dyn FnMut() -> Result<Reply, NoAnswer>,
    ) -> Result<Remembered, NoAnswer> {
        let asked = |reply| Remembered { reply, is_kept: false };
        let Some(cache) = self.cache else { return ask().map(asked) };
        let identity = self.summarizer.identity(request);
        let _alone = self.cores.without(|| cache.exclusive(&identity));
        match cache.get(&identity) {
            Some(Kept::Reply(reply)) if is_usable(&reply) => return Ok(Remembered { reply, is_kept: true }),
            Some(Kept::TooLong { window }) => {
                let message = "the history is too long for the model, as --cache has it".to_owned();
                return Err(NoAnswer { window, ..NoAnswer::new(FailureKind::TooLong, message) });
            }
            _ => {}
        }
        let room = match cache.reserve(&identity, request.limit) {
            Ok(room) => Some(room),
            Err(error) if cache.must_keep() => {
                let why = reason(&error);
                let message = format!("a summary could not be kept: {why}; make room, and run again with --resume");
                return Err(NoAnswer::new(FailureKind::Setup, message));
            }
            Err(error) => {
                notify(self.listener, Event::NotCached(&error));
                None
            }
        };
        let answer = ask();
        let kept = match &answer {
            Ok(reply) if is_usable(reply) => Some(Kept::Reply(reply.clone())),
            Err(none) if none.too_long() => Some(Kept::TooLong { window: none.window }),
            _ => None,
        };
        if let Some(Err(error)) = room.zip(kept).map(|(room, kept)| room.keep(&kept)) {
            notify(self.listener, Event::NotCached(&error));
        }
        answer.map(asked)
    }
}
