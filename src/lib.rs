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
//! - [`transcript`]: what was read, as messages that know their place. Framing (JSON, JSONL), the lists in envelopes,
//!   telling the format, what its provider asks of the order of messages, and a file for each format.
//! - [`tokens`]: how large it is. LangChain's estimate, exact tokenizers, the table of models.
//! - [`plan`]: where to cut. One pure function that cannot fail: triggers, what is kept, pairs, pins.
//!   Which rules of its provider a conversation breaks, and what a compaction saves and when it has paid.
//! - [`summary`]: what to put there. The ledger of facts that no summary may lose, the embedded summarizer, the prompt,
//!   endpoints, commands, whether an answer is taken, and where it is kept for another time. A provider is two pure
//!   functions; what is sent, and how often, is apart.
//! - [`rewrite`]: edits of the source and their application, and the way back; mending breaches; masking secrets; the
//!   update of a LangGraph state.
//! - [`run`]: the outside. Which files are read and where results go, reading, writing whole or not at all, the journal of
//!   what is finished, whose turn it is, what is said and drawn for people.
//! - [`app`] strings these together; [`cli`] has the flags, [`settings`] where else they are given and what they mean,
//!   [`exit`] how it all ends, [`interrupt`] how it ends before its time, [`fault`] what becomes of bugs of its own,
//!   [`hash`] how texts and files are known again, [`slip`] what was probably meant by a text that is wrong, [`sanitize`]
//!   what a terminal must not be sent.
//!
//! `transcript`, `tokens`, `plan` and `rewrite` are pure: no file, network, clock, environment, randomness or printing.
//! Nothing is written until everything that can fail has not.
//!
//! # Registries
//!
//! A format is a file in [`transcript::format`], a row in [`transcript::format::FORMATS`] and a folder in `fixtures/`, with
//! pieces in `fixtures/bricks/` of which tests make conversations. A provider is a row in
//! [`summary::provider::PROVIDERS`] and, where it speaks like no other, a file; a preset is a row in
//! [`presets::PRESETS`]. Help, tables and tests are drawn from these.
//!
//! # What is deliberately absent
//!
//! A model of the whole transcript: no message is ever written out again from what was read of it. Async code: a thread
//! for each of some hundred requests will do. A build script: what is generated is committed, and a test says when it is stale.

pub mod cli;
pub mod engine;
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
pub mod slip;
pub mod summary;
pub mod sync;
pub mod tokens;
pub mod transcript;
pub mod wording;
