//! The events of a compaction, for its listener.

use std::collections::BTreeMap;

use crate::compact::earlier::EarlierSummary;
use crate::compact::policy::OnError;
use crate::fault::Fault;
use crate::plan::economy::{Billed, Economy};
use crate::prune::RuleSavings;
use crate::rewrite::thinking::Removal;
use crate::summary::acceptance::Refusal;
use crate::transcript::compaction::ResetCounts;
use crate::transcript::format::SizeReset;

/// An event of a compaction.
#[derive(Debug, Clone, Copy)]
pub enum CompactionEvent<'h> {
    /// `--trim-tokens` left nothing of the history to send. This text takes the place of the summary.
    NothingSent(&'h str),
    /// An answer was refused; the request is repeated once.
    AskedAgain(&'h Refusal),
    /// Only a part of the messages is summarized at once.
    Part {
        /// All messages to summarize.
        messages: usize,
        /// Messages in this part.
        part: usize,
    },
    /// The notes on a part were cut off; their whole lines are used.
    NotesCutOff,
    /// The summarizer failed, and `--on-error` goes on.
    Failed {
        /// Why.
        message: &'h str,
        /// How `--on-error` goes on.
        instead: OnError,
        /// Whether an archive keeps the history.
        archived: bool,
        /// Whether it was reported for the whole run already.
        is_known: bool,
    },
    /// The embedded summarizer found nothing to summarize, and pruning alone makes the conversation fit.
    PrunedAlone {
        /// Why there is none.
        message: &'h str,
    },
    /// The embedded summarizer found no text smaller than the messages that it would replace.
    Left {
        /// Why.
        why: &'h str,
        /// Whether the settings promise otherwise.
        unexpected: bool,
    },
    /// A fault lost the facts that a model's summary lacks.
    WithoutLedger(&'h Fault),
    /// A summary took the place of the history.
    Summarized {
        /// Summarized messages.
        messages: usize,
        /// Tokens of the summary's message.
        tokens: u64,
        /// The tokens that the provider counted, and their cost.
        billed: Option<Billed>,
        /// Whether it comes from the cache.
        cached: bool,
        /// Whether nobody summarizes, and it only says how much was removed.
        is_note: bool,
    },
    /// Earlier summaries were replaced.
    Earlier(&'h [EarlierSummary]),
    /// Secrets were masked: the number of each kind.
    Redacted(&'h BTreeMap<&'static str, u64>),
    /// Secrets are masked in all that is written.
    MaskedAll {
        /// The number of each kind.
        secrets: &'h BTreeMap<&'static str, u64>,
        /// The number of places.
        places: u64,
        /// Whether nothing is written.
        is_planned: bool,
    },
    /// Messages that stay have secrets: the number of each kind.
    SecretsLeft(&'h BTreeMap<&'static str, u64>),
    /// Thinking that was signed for another history is removed, or stays and can be refused.
    Thinking(&'h Removal),
    /// What was reset beside the summary, as the agent of the session does.
    Reset(ResetCounts, SizeReset),
    /// Nothing was summarized.
    NotSummarized {
        /// Whether arguments were cut.
        arguments: bool,
        /// Whether results were moved to files.
        results: bool,
    },
    /// Messages that stay were pruned.
    Pruned(&'h [RuleSavings]),
    /// Results in the kept part were cut to so many tokens.
    Capped(u64),
    /// The result does not fit the context window.
    TooLarge {
        /// Tokens of the result.
        tokens: u64,
        /// Tokens of the window.
        window: u64,
    },
    /// The conversation stays unchanged, and is larger than the limit of `--fit`.
    OverLimit {
        /// Tokens of the conversation.
        tokens: u64,
        /// The limit, as the user gave it.
        limit: &'h str,
    },
    /// What the compaction saves and costs.
    Economy(&'h Economy),
}
