//! tcompact shortens transcripts of LLM conversations: recent messages stay byte for byte, one summary message replaces
//! the earlier ones, and no tool call is split from its result.
//!
//! # One idea: compaction is a splice
//!
//! tcompact parses a transcript only to find the byte ranges of its messages. The result is the source with some of these
//! ranges replaced, so the rest survives byte for byte: the envelope, spacing, key order, the spelling of numbers, duplicate
//! keys, unknown fields, line ends, a byte order mark.
//!
//! # The story of a compaction
//!
//! ```text
//! bytes -read-> Document -decide-> Decided -fit-> Fitted -summarize-> Summarized -rewrite-> Compaction -> files, report
//! ```
//!
//! Each step is a function of the value of the step before, and its value holds that one. Nobody changes it afterwards.
//!
//! 1. **read** (`transcript`): the source is scanned once. A `Document` has the transcripts in it. A `Transcript` has the
//!    messages, and each message knows its byte range, its calls and its results.
//! 2. **decide** (`compact::decide`, `plan`): triggers say whether to compact, `--keep` says where to cut, and the cut moves
//!    so that no call is split from its result. `Decided` has that plan, and the conversation as it was counted.
//! 3. **fit** (`compact::fit`, `prune`): rules remove what is stale. With `--fit`, a search makes candidates, each with its
//!    own plan and pruning, and returns the best as `Fitted`. A dry run ends here.
//! 4. **summarize** (`compact::summarize`, `digest`, `summary`): the embedded summarizer or a model writes the text that
//!    takes the place of the messages before the cut. `Summarized` has it, or why there is none.
//! 5. **rewrite** (`compact::rewriting`, `rewrite`): a `Compaction` has the edits of the source, the contents of the archive,
//!    and all numbers that a report, a picture or a page shows. They are drawn from it and from nothing else.
//!
//! `compact::driver` is the only loop that compacts the conversations of a document. The library ([`Compactor`]) and the program
//! (`engine`) go through it; the program looks on, and may refuse a plan before a summary is paid for.
//!
//! # In other programs
//!
//! [`Compactor`] does all of it in one call: it takes a policy and a text, and returns a text that can be restored. Without
//! the feature `cli`, which the program needs, nothing else is built: no command line, network, files or threads.
//! `examples/embed.rs` is such a program.
//!
//! The items on this page are the whole public API: the compactor, and the types that it takes and returns. The modules
//! below are private, so that they can change with the transcripts they read. Tests and fuzzing use their internals, and
//! are part of the library for that reason (`laws`).
//!
//! # The modules
//!
//! Below this package are others, in `crates/`, each with a README: `base` (errors, wording, hashes, locks: what any module
//! may use), `json` (JSON as it stands in a text), `transcript` (transcripts as they are read, and all formats), `tokens`
//! (the size of a transcript: an estimate, exact tokenizers, the table of models) and `redact` (masks secrets before any text
//! is cut; and no cut parts a mask).
//!
//! A module imports only modules above it in this list. No two modules import each other, except a registry and its rows.
//!
//! - `plan`: where to cut. One pure function that cannot fail: triggers, what is kept, pairs, pins. Which rules of its
//!   provider a transcript violates, what a compaction saves, and after how many turns it has paid.
//! - `rewrite`: the edits that replace a history by a summary, and their reversal; repairing violations; applying updates
//!   of `LangGraph`.
//! - `prune`: what can be removed before anything is summarized, as edits: a file for each rule.
//! - `digest`: what code can say of a history without a model: the embedded summary, and what stands beside a model's.
//! - `summary`: a model's summary: the prompt, the exchange with summarizers, and whether an answer is accepted.
//! - `presets`: what exists only because another system does it so: the table of presets, their texts for models, trims,
//!   rules for pairs, files and configurations; LangGraph's updates. What a module above needs of it is handed in. Python's
//!   notation of values is in `tokens`, as the estimate counts it without a preset, too.
//! - `compact`: takes one conversation through all of these: decide, fit, summarize, rewrite.
//!
//! The modules so far are pure: no file, network, clock, environment, thread or printing. The next ones are the program,
//! and are built with the feature `cli`.
//!
//! - `events`: the events of a run, as types, and the report row of each conversation.
//! - `files`: reads files and standard streams; writes them whole or not at all, and never through a link.
//! - `llm`: other summarizers. Providers, the parameters of each model, HTTP, retries, the limits that all workers share,
//!   the cache, commands. A provider is two pure functions; sending and retrying are separate.
//! - `cli`: the commands with their flags, their help, and the errors of a command line.
//! - `settings`: preset, config file, environment and flags in layers, and what they mean together.
//! - `report`: the listeners: lines on standard error, progress, JSON, pictures, the page; and the tables of `list`.
//! - `engine`: runs: inputs, batches and streams, the journal of finished files.
//! - `program`: from the arguments to the exit code.
//!
//! `laws` checks the promises of all modules: in tests, and with the feature `laws` in `fuzz/` and `benches/`.
//!
//! Any module of the program may import `interrupt` (signals) and `standard_streams`.
//!
//! Nothing is written until all steps that can fail have succeeded. Tests check all rules on this page.
//!
//! # Registries
//!
//! A format is a file in `crates/transcript/src/formats`, a row in its `FORMATS` and a folder in `fixtures/`; tests
//! build conversations from its pieces in `fixtures/bricks/`. A provider is a row in `llm::providers::PROVIDERS` and, if its
//! protocol is its own, a file. A preset is a row in `presets::PRESETS`. Help, tables and tests are generated from
//! these rows.
//!
//! # What is deliberately absent
//!
//! A model of the whole transcript: no message is ever serialized from its parsed form. Async code: one thread for each of
//! some hundred requests is enough. A build script: generated files are committed, and a test reports stale ones.

#![cfg_attr(
    not(feature = "cli"),
    allow(
        dead_code,
        unused_imports,
        reason = "the compactor alone does not use all of the modules that the program does"
    )
)]

#[cfg(test)]
#[path = "../tests/integration/all_cases.rs"]
mod all_cases;
#[cfg(feature = "cli")]
mod cli;
mod compact;
mod digest;
#[cfg(feature = "cli")]
mod engine;
#[cfg(feature = "cli")]
mod events;
#[cfg(feature = "cli")]
mod files;
#[cfg(feature = "cli")]
mod interrupt;
#[cfg(any(feature = "laws", all(test, feature = "cli")))]
#[doc(hidden)]
pub mod laws;
#[cfg(feature = "cli")]
mod llm;
mod plan;
mod presets;
#[cfg(feature = "cli")]
mod program;
mod prune;
#[cfg(feature = "cli")]
mod report;
mod rewrite;
#[cfg(feature = "cli")]
mod settings;
#[cfg(feature = "cli")]
mod standard_streams;
mod summary;

use tcompact_redact as redact;
use tcompact_tokens as tokens;
use tcompact_transcript as transcript;

use tcompact_base::{diagnostic, exit, fault, hash, pattern, sanitize, sync, wording};

pub use compact::{
    Accept, CompactedText, CompactionPolicy, Compactor, OnError, Pruning, Redaction, SummaryPolicy, restore,
};
pub use diagnostic::Diagnostic;
pub use exit::{Exit, Failure};
pub use plan::cutoff::Pairs;
pub use plan::pins::Pin;
pub use plan::size::Size;
pub use plan::{CutPolicy, Parted, Plan};
#[cfg(feature = "cli")]
#[doc(hidden)]
pub use program::run_program;
pub use rewrite::thinking::Thinking;
pub use summary::exchange::{Bill, FailureKind, NoAnswer, Remembered, Reply, Request, Stop, SummaryBackend, Usage};
pub use tokens::bpe::Encoding;
pub use tokens::{Counter, ModelFamily, OwnCounter};
pub use transcript::format::SummaryRole;
