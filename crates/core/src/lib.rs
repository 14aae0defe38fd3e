//! tcompact in memory: shortens transcripts of LLM conversations. Recent messages stay byte for byte, one summary message
//! replaces the earlier ones, and no tool call is split from its result.
//!
//! [`Compactor`] does all of it in one call: it takes a policy and a text, and returns a text that can be restored. There is
//! no command line, network, file or thread here; `examples/embed.rs` is a program around it. The items on this page are the
//! whole public API: the modules below are for the program `tcompact`, and change with the transcripts that they read.
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
//! bytes -read-> Document -decide-> Decided -fit-> Fitted -summarize-> Summarized -rewrite-> Compaction
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
//! `compact::driver` has a type for each stage of one conversation of a document: a `Conversation` is planned, its `Planned` is
//! carried out or refused, and `Changes` takes the `Compaction`. [`Compactor`] and the program loop over the conversations; the
//! program refuses a plan whose result could not be written, before a summary is paid for.
//!
//! # The modules
//!
//! Each imports only modules above it. All are pure: no file, network, clock, environment, thread or printing.
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

#[cfg(test)]
#[expect(dead_code, reason = "the tests here check one case in so many, and sample nothing")]
#[path = "../../../tests/integration/all_cases.rs"]
mod all_cases;
#[doc(hidden)]
pub mod compact;
#[doc(hidden)]
pub mod digest;
#[doc(hidden)]
pub mod plan;
#[doc(hidden)]
pub mod presets;
#[doc(hidden)]
pub mod prune;
#[doc(hidden)]
pub mod rewrite;
#[doc(hidden)]
pub mod summary;

use tcompact_base::{diagnostic, exit, fault, hash, pattern, sanitize, wording};
use tcompact_redact as redact;
use tcompact_tokens as tokens;
use tcompact_transcript as transcript;

pub use compact::{
    Accept, CompactedText, CompactionPolicy, Compactor, OnError, Pruning, Redaction, SummaryPolicy, restore,
};
pub use diagnostic::Diagnostic;
pub use exit::{Exit, Failure};
pub use plan::cutoff::Pairs;
pub use plan::pins::Pin;
pub use plan::size::Size;
pub use plan::{CutPolicy, Parted, Plan};
pub use rewrite::thinking::Thinking;
pub use summary::exchange::{Bill, FailureKind, NoAnswer, Remembered, Reply, Request, Stop, SummaryBackend, Usage};
pub use tokens::bpe::Encoding;
pub use tokens::{Counter, ModelFamily, OwnCounter};
pub use transcript::format::SummaryRole;
