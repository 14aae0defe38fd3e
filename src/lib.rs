//! tcompact shortens transcripts of LLM conversations: recent messages stay byte for byte, one summary message takes the
//! place of what came before, and no tool call is split from its result.
//!
//! # One idea: compaction is a splice
//!
//! A transcript is parsed only to learn where its messages stand. The result is the source with some ranges of bytes
//! replaced, so everything nobody touched survives: the envelope, spacing, key order, the spelling of numbers, duplicate
//! keys, unknown fields, line ends, a byte order mark.
//!
//! # In other programs
//!
//! [`Compactor`] is the whole of it in one call: a policy and a text in, a text out, with the way back. Without the
//! feature `cli`, which the program needs, nothing else is built: no command line, network, files or threads.
//!
//! What this page lists is all that is public: the compactor, and the types that it takes and gives. The rooms below are
//! the crate's own, so that they can change with the transcripts they read; tests and fuzzing, which look inside, are in
//! the library for the same reason (`laws`).
//!
//! # The rooms follow the data
//!
//! ```text
//! read -> transcript -> tokens -> plan -> summary -> rewrite -> write
//! ```
//!
//! A room imports only rooms above it in this list, and no two modules import each other but a registry and its rows.
//!
//! - `transcript`: what was read, as messages that know their place. Framing (JSON, JSONL), the lists in envelopes,
//!   telling the format, what its provider asks of the order of messages, and a file for each format. Edits of it, and what
//!   it looks like with them.
//! - `tokens`: how large it is. LangChain's estimate, exact tokenizers, the table of models.
//! - `plan`: where to cut. One pure function that cannot fail: triggers, what is kept, pairs, pins.
//!   Which rules of its provider a conversation breaks, and what a compaction saves and when it has paid.
//! - `summary`: what to put there without a model: the ledger of facts that no summary may lose and the embedded
//!   summarizer; the prompt, the exchange with whoever writes summaries, and whether an answer is accepted.
//! - `rewrite`: which edits put a summary in the place of a history, and the way back; repairing violations; masking
//!   secrets; the update of a LangGraph state.
//! - `prune`: what can go before anything is summarized, as edits: a file a rule.
//! - `compact`: one conversation's way through all of these: decide, fit, summarize, rewrite.
//!
//! These rooms are pure: no file, network, clock, environment, thread or printing. Those that follow are the program, and are
//! built with the feature `cli`.
//!
//! - `files`: reading files and standard streams; writing them whole or not at all, never through a link.
//! - `llm`: who else writes summaries. Providers, what each model wants, HTTP, retries, the limits that all workers
//!   share, the cache, commands. A provider is two pure functions; what is sent, and how often, is apart.
//! - `cli`: the flags, their help, and what is wrong with a command line.
//! - `settings`: preset, config file, environment and flags in layers, and what they mean together.
//! - `events`: what happens in a run, as types, and what became of each conversation.
//! - `report`: who listens: lines on standard error, progress, JSON, pictures, the page; and the tables of `--list`.
//! - `engine`: runs: inputs, batches and streams, the journal of what is finished.
//! - `program`: from the arguments to the exit code.
//!
//! And `laws`, what all of it promises: for tests, and with the feature of that name for `fuzz/` and `benches/`.
//!
//! Below the rooms stand `exit` (how it all ends), `interrupt` (how it ends before its time), `fault` (what becomes
//! of its own bugs), `hash`, `sanitize` (what a terminal must not be sent), `diagnostic` (what was probably meant by a text
//! that is wrong), `sync` (locks) and `wording`.
//!
//! Nothing is written until everything that can fail has not. A test holds all of this.
//!
//! # Registries
//!
//! A format is a file in `transcript::formats`, a row in `transcript::formats::FORMATS` and a folder in `fixtures/`, with
//! pieces in `fixtures/bricks/` of which tests make conversations. A provider is a row in
//! `llm::providers::PROVIDERS` and, where it speaks like no other, a file; a preset is a row in
//! `settings::presets::PRESETS`. Help, tables and tests are drawn from these.
//!
//! # What is deliberately absent
//!
//! A model of the whole transcript: no message is ever written out again from what was read of it. Async code: a thread
//! for each of some hundred requests will do. A build script: what is generated is committed, and a test says when it is stale.

#![cfg_attr(
    not(feature = "cli"),
    allow(dead_code, unused_imports, reason = "the program uses much of the rooms that the compactor alone does not")
)]

#[cfg(feature = "cli")]
mod cli;
mod compact;
mod diagnostic;
#[cfg(feature = "cli")]
mod engine;
#[cfg(feature = "cli")]
mod events;
mod exit;
mod fault;
#[cfg(feature = "cli")]
mod files;
mod hash;
#[cfg(feature = "cli")]
mod interrupt;
#[cfg(any(feature = "laws", all(test, feature = "cli")))]
#[doc(hidden)]
pub mod laws;
#[cfg(feature = "cli")]
mod llm;
mod plan;
#[cfg(feature = "cli")]
mod program;
mod prune;
#[cfg(feature = "cli")]
mod report;
mod rewrite;
mod sanitize;
#[cfg(feature = "cli")]
mod settings;
mod summary;
#[cfg(feature = "cli")]
mod sync;
mod tokens;
mod transcript;
mod wording;

pub use compact::{Accept, CompactedText, CompactionPolicy, Compactor, OnError, Pruning, SummaryPolicy, restore};
pub use diagnostic::Diagnostic;
pub use exit::{Exit, Failure};
pub use plan::pairs::Pairs;
pub use plan::pins::Pin;
pub use plan::size::Size;
pub use plan::{Parted, Plan, Policy};
#[cfg(feature = "cli")]
#[doc(hidden)]
pub use program::run_program;
pub use rewrite::thinking::Thinking;
pub use summary::exchange::{Bill, FailureKind, NoAnswer, Remembered, Reply, Request, Stop, SummaryBackend, Usage};
pub use tokens::Counter;
pub use tokens::bpe::Encoding;
pub use transcript::format::SummaryRole;
