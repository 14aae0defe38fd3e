//! The program `tcompact`, around the library `tcompact-core`, which compacts transcripts in memory. Only the program and what
//! the laws use of it are public here; other programs use `tcompact-core`.
//!
//! # The packages
//!
//! A package sees only those above it in this list. Each has a README of one screen, in `crates/`.
//!
//! ```text
//! base        errors, wording, hashes, locks: what any package may use
//! json        JSON as it stands in a text: one checked pass, spans, edits, no tree
//! transcript  transcripts as they are read, and all formats
//! tokens      the size of a transcript: an estimate, exact tokenizers, the table of models
//! redact      masks secrets before any text is cut; no cut parts a mask
//! core        one conversation in memory: where to cut, what to prune, the summary, the edits
//! tcompact    this package: command line, settings, files, network, reports, runs
//! laws        the promises of all packages, for tests and `fuzz/`
//! ```
//!
//! # The way of a run
//!
//! ```text
//! arguments -settings-> inputs -files-> text -core-> Compaction -> files, report -> exit code
//! ```
//!
//! `tcompact_core` tells the story of a compaction, from the text to its edits. Nothing is written until all steps that can
//! fail have succeeded.
//!
//! # The way of one chat
//!
//! From `main` to the first byte of the result. Each line is a file, and what it makes. The value of a line is handed to the
//! next: only summarizers and listeners are called on the way, and nothing changes a value that was made.
//!
//! ```text
//! src/main.rs                            calls the program
//! src/program.rs                         parses the arguments; at the end, the exit code
//! src/settings/invocation.rs             Invocation: the command with its settings
//! src/engine.rs                          runs the command
//! src/engine/inputs.rs                   Inputs: the entries, each with the place of its result
//! src/engine/run.rs                      Run: what all inputs share
//! src/engine/workers.rs                  takes the next entry, and gives its result to the sink
//! src/engine/sink.rs                     Sink: opens the entry
//! src/files/input.rs                     Input: the text
//! src/engine/task.rs                     Task: the text, and all that determines its result
//! src/engine/stages.rs                   takes the task through the next stages
//! src/engine/prepare.rs                  Prepared: with updates applied and violations repaired
//! src/engine/conversations.rs            Conversations: read, and masked with --redact=all
//! src/engine/compacting.rs               loops over the conversations
//! crates/core/src/compact/driver.rs      Conversation, then Planned
//! crates/core/src/compact/decide.rs      Decided: where --keep cuts
//! crates/core/src/compact/fit.rs         Fitted: what is pruned, and where it is cut
//! src/engine/checks.rs                   refuses a plan whose result could not be written
//! crates/core/src/compact/summarize.rs   Summary
//! crates/core/src/compact/rewriting.rs   the edits of the messages that stay
//! crates/core/src/compact/compaction.rs  Compaction, and the edits of the conversation
//! src/events/row.rs                      ConversationOutcome: what came of the conversation, as plain data
//! crates/core/src/compact/archive.rs     Archived: what leads back
//! src/engine/result.rs                   TaskResult: the edits of the text, what leads back, the outcomes
//! src/engine/sink/placing.rs             ReportRow: the outcome, and whether the result is written; report, page, archive
//! src/files/output.rs                    OutputFile: the first byte
//! ```
//!
//! # The modules
//!
//! A module imports only modules above it in this list. No two modules import each other, except a registry and its rows.
//!
//! - `events`: the events of a run, as types, and the report row of each conversation.
//! - `files`: reads files and standard streams; writes them whole or not at all, and never through a link.
//! - `llm`: other summarizers. Providers, the parameters of each model, HTTP, retries, the limits that all workers share,
//!   the cache, commands. A provider is two pure functions; sending and retrying are separate.
//! - `cli`: the commands with their flags, their help, and the errors of a command line.
//! - `settings`: preset, config file, environment and flags in layers, and what they mean together.
//! - `report`: the listeners: lines on standard error, progress, JSON, pictures, the page; and the tables of `list`.
//! - `engine`: runs: inputs, batches and streams, the journal of finished files; `restore` and `slim` on files. What goes back
//!   or away, and the proof of it, is in `core`.
//! - `program`: from the arguments to the exit code.
//!
//! Any module may import `interrupt` (signals) and `standard_streams`. `internals` names what `laws` uses of the modules.
//! Tests check all rules on this page.
//!
//! # Registries
//!
//! A format is a file in `crates/transcript/src/formats`, a row in its `FORMATS` and a folder in `fixtures/`; tests
//! build conversations from its pieces in `fixtures/bricks/`. A rule of `--prune` is a file in `crates/core/src/prune` and a
//! row in its `KINDS`. A provider is a row in `llm::providers::PROVIDERS` with its parameters and, if its protocol is its
//! own, a file. A preset is a row in `presets::PRESETS`. Help, tables and tests are generated from these rows.
//! `CONTRIBUTING.md` has the steps.
//!
//! # What is deliberately absent
//!
//! A model of the whole transcript: no message is ever serialized from its parsed form. Async code: one thread for each of
//! some hundred requests is enough. A build script: generated files are committed, and a test reports stale ones.

#[cfg(test)]
#[path = "../tests/integration/all_cases.rs"]
mod all_cases;
mod cli;
mod engine;
mod events;
mod files;
#[doc(hidden)]
pub mod internals;
mod interrupt;
mod llm;
#[cfg(test)]
mod pattern_tests;
mod program;
mod report;
mod settings;
mod standard_streams;

use tcompact_base::{diagnostic, exit, fault, hash, pattern, sanitize, sync, wording};
use tcompact_core::{compact, plan, presets, prune, rewrite, summary};
use tcompact_redact as redact;
use tcompact_tokens as tokens;
use tcompact_transcript as transcript;

#[doc(hidden)]
pub use program::run_program;
