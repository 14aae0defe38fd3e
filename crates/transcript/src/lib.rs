//! Transcripts as they are read: messages with their position in the source, in the formats of agents and providers.
//! Unstable: made for tcompact.
//!
//! A `Document` ([`framing`]) has the transcripts of a text. A [`Transcript`] has its messages, and each [`Message`] knows its
//! range of bytes, its calls and its results. A format is a file in [`formats`]; what it does is in [`mod@format`].
//!
//! Sizes, decisions and edits are the business of packages further up. This file only re-exports names: the files of this
//! package import each other and never this file.

pub mod background;
pub mod background_forms;
pub mod beside;
pub mod call_copies;
mod call_ids;
pub mod compaction;
pub mod detect;
pub mod entries;
pub mod error_lines;
pub mod fence;
pub mod foreign;
pub mod format;
pub mod formats;
pub mod frame;
pub mod framing;
pub mod lazy_text;
pub mod line_replay;
pub mod list;
pub mod marks;
pub mod match_score;
pub mod media;
pub mod message;
pub mod named_models;
pub mod order;
pub mod outputs;
pub mod pairing;
pub mod pieces;
pub mod provider_texts;
mod read_error;
pub mod record_id;
pub mod recorded;
pub mod refused_encryption;
pub mod session_files;
pub mod speaker;
pub mod status;
pub mod text_calls;
pub mod thin_list;
pub mod thoughts;
pub mod time;
pub mod tools;
pub mod unknown_pairs;
mod unsent;
pub mod unsent_forms;
pub mod usage;
pub mod users_words;
pub mod view;

use tcompact_base::{hash, pattern, sanitize, wording};
pub use tcompact_json::{edit, json, source, text};

pub use format::{Note, Retention, Transcript};
pub use message::{Arguments, Call, CallPlace, Content, MaskMark, Message, Part, PartKind, RareFields, Role};
