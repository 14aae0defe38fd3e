//! tcompact shortens transcripts of LLM conversations: recent messages stay byte for byte, one summary message takes the
//! place of what came before, and no tool call is parted from its result.
//!
//! # One idea: compaction is a splice
//!
//! A transcript is parsed only to learn where its messages stand. The result is the source with some ranges of bytes
//! replaced, so everything nobody touched survives: the envelope, spacing, key order, the spelling of numbers, duplicate
//! keys, unknown fields, line ends, a byte order mark.
//!
//! # In other programs
//!
//! Everything the program decides can be decided without it. This is a compaction from end to end; nothing is read, written
//! or asked for but the text.
//!
//! ```
//! use tcompact::plan::{Policy, SUMMARY_PREFIX, plan, size::Size};
//! use tcompact::rewrite::{apply, splice, summary_message};
//! use tcompact::summary::extractive::summarize;
//! use tcompact::tokens::{Counter, Tally};
//! use tcompact::transcript::formats::{SummaryMessage, SummaryRole};
//! use tcompact::transcript::{Message, framing, source::Source};
//!
//! let text = r#"[
//!   {"role": "user", "content": "Which file has the bug?"},
//!   {"role": "assistant", "tool_calls": [{"id": "a", "type": "function", "function": {"name": "ls", "arguments": "{}"}}]},
//!   {"role": "tool", "tool_call_id": "a", "content": "src/parse.rs"},
//!   {"role": "assistant", "content": "src/parse.rs has it."},
//!   {"role": "user", "content": "Fix it, please."}
//! ]"#;
//! let source = Source::of(text).expect("JSON");
//! let document = framing::read(&source, None, None).expect("a format that is known");
//! let transcript = &document.transcripts[0];
//! assert_eq!(transcript.format.name(), "openai-chat");
//!
//! // Where it would be cut: the last three messages begin with a result, so its call stays with it.
//! let tally = Tally::new(Counter::DEFAULT, &transcript.messages);
//! let plan = plan(transcript, &tally, &Policy::keeping(Size::Messages(3)));
//! assert_eq!((plan.wanted, plan.cutoff), (2, 1));
//!
//! // What is put there. Any text will do; this one is written without a model.
//! let gone: Vec<&Message<'_>> = plan.summarized().iter().map(|index| &transcript.messages[*index]).collect();
//! let summary = summarize(&gone, SUMMARY_PREFIX, Counter::DEFAULT, 50);
//! let says = SummaryMessage { text: &format!("{SUMMARY_PREFIX}\n\n{summary}"), role: SummaryRole::User, name: None, marked: false };
//!
//! // And the text with it: what is kept is the text's own, to the byte.
//! let result = apply(text, &splice(transcript, &plan, &summary_message(transcript, &plan, &says)));
//! assert!(result.contains("Which file has the bug?"));
//! assert!(result.ends_with(&text[transcript.messages[1].span().start..]));
//! ```
//!
//! # The rooms follow the data
//!
//! ```text
//! read -> transcript -> tokens -> plan -> summary -> rewrite -> write
//! ```
//!
//! A room imports only rooms above it in this list.
//!
//! - [`transcript`]: what was read, as messages that know their place. Framing (JSON, JSONL), the lists in envelopes,
//!   telling the format, what its provider asks of the order of messages, and a file for each format.
//! - [`tokens`]: how large it is. LangChain's estimate, exact tokenizers, the table of models.
//! - [`plan`]: where to cut. One pure function that cannot fail: triggers, what is kept, pairs, pins.
//!   Which rules of its provider a conversation breaks, and what a compaction saves and when it has paid.
//! - [`summary`]: what to put there without a model: the ledger of facts that no summary may lose and the embedded
//!   summarizer; the prompt, the exchange with whoever writes summaries, and whether an answer is accepted.
//! - [`rewrite`]: edits of the source and their application, and the way back; repairing violations; masking secrets; the
//!   update of a LangGraph state.
//! - [`files`]: reading files and standard streams; writing them whole or not at all, never through a link.
//! - [`llm`]: who else writes summaries. Providers, what each model wants, HTTP, retries, the limits that all workers
//!   share, the cache, commands. A provider is two pure functions; what is sent, and how often, is apart.
//! - [`cli`]: the flags, their help, and what is wrong with a command line.
//! - [`settings`]: preset, config file, environment and flags in layers, and what they mean together.
//! - [`report`]: who is told: lines on standard error, progress, JSON, pictures, the page, the tables of `--list`.
//! - [`engine`]: the way of a conversation through the rooms, batches and streams, the journal of what is finished.
//!
//! Below the rooms stand [`exit`] (how it all ends), [`interrupt`] (how it ends before its time), [`fault`] (what becomes
//! of its own bugs), [`hash`], [`sanitize`] (what a terminal must not be sent), [`diagnostic`] (what was probably meant by a text
//! that is wrong), [`sync`] (locks) and [`wording`].
//!
//! `transcript`, `tokens`, `plan` and `rewrite` are pure: no file, network, clock, environment, randomness or printing.
//! Nothing is written until everything that can fail has not. A test holds both lists.
//!
//! # Registries
//!
//! A format is a file in [`transcript::formats`], a row in [`transcript::formats::FORMATS`] and a folder in `fixtures/`, with
//! pieces in `fixtures/bricks/` of which tests make conversations. A provider is a row in
//! [`llm::providers::PROVIDERS`] and, where it speaks like no other, a file; a preset is a row in
//! [`settings::presets::PRESETS`]. Help, tables and tests are drawn from these.
//!
//! # What is deliberately absent
//!
//! A model of the whole transcript: no message is ever written out again from what was read of it. Async code: a thread
//! for each of some hundred requests will do. A build script: what is generated is committed, and a test says when it is stale.

pub mod cli;
pub mod compact;
pub mod diagnostic;
pub mod engine;
pub mod events;
pub mod exit;
pub mod fault;
pub mod files;
pub mod hash;
pub mod interrupt;
pub mod llm;
pub mod plan;
pub mod report;
pub mod rewrite;
pub mod sanitize;
pub mod settings;

pub mod summary;
pub mod sync;
pub mod tokens;
pub mod transcript;
pub mod wording;
