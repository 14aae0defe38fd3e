//! What happens while a conversation is compacted, for whoever listens. It decides nothing.

use std::collections::BTreeMap;

use crate::fault::Fault;
use crate::plan::economy::{Billed, Economy};
use crate::prune::Account;
use crate::rewrite::thinking::Removal;
use crate::summary::acceptance::Refusal;

use crate::compact::policy::OnError;

/// What happens.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Happening<'h> {
    /// Nothing of the history was left to be sent, and this stands for a summary.
    NothingSent(&'h str),
    /// An answer was refused, and is asked for once more.
    AskedAgain(&'h Refusal),
    /// Only some messages are summarized at a time.
    Part {
        /// How many there are to be summarized.
        messages: usize,
        /// How many of them are summarized now.
        part: usize,
    },
    /// Notes on a part were cut off, and are used as far as they go.
    NotesCutOff,
    /// There is no summary, where that does not end all.
    Failed {
        /// Why.
        message: &'h str,
        /// What is done instead.
        instead: OnError,
        /// Whether the history is kept elsewhere.
        archived: bool,
        /// Whether it was told for the whole run, and need not be told of each conversation.
        is_known: bool,
    },
    /// The embedded summarizer found nothing that would be smaller than what it replaces.
    Left {
        /// Why.
        why: &'h str,
        /// Whether something else should have decided.
        unexpected: bool,
    },
    /// A model's summary goes without the facts that it lacks.
    WithoutLedger(&'h Fault),
    /// A summary took the place of the history.
    Summarized {
        /// Of so many messages.
        messages: usize,
        /// It has so many tokens.
        tokens: u64,
        /// What the provider counts.
        billed: Option<Billed>,
        /// Whether it is from the cache.
        cached: bool,
        /// Whether nobody summarizes, and it only says how much was removed.
        is_note: bool,
    },
    /// So many secrets were masked.
    Redacted(&'h BTreeMap<&'static str, u64>),
    /// Thinking is removed which was signed for the history before it, or stays and could be refused.
    Thinking(&'h Removal),
    /// What is changed where nothing is summarized.
    NotSummarized {
        /// Arguments are cut.
        arguments: bool,
        /// Results are moved to files.
        results: bool,
    },
    /// Messages that stay were pruned.
    Pruned(&'h [Account]),
    /// Results in the kept part were cut to so many tokens.
    Capped(u64),
    /// The result has more tokens than fit the window.
    TooLarge {
        /// It has so many.
        tokens: u64,
        /// The window has room for so many.
        window: u64,
    },
    /// What is saved and what it cost.
    Economy(&'h Economy),
}
