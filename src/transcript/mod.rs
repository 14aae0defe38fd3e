//! Transcripts as they are read: messages with their position in the source.
//!
//! Sizes are in [`crate::tokens`], decisions in [`crate::plan`], edits in [`crate::rewrite`]. This file only re-exports
//! names: the files of this module import each other and never this file.

pub(crate) mod background;
pub(crate) mod background_forms;
pub(crate) mod beside;
pub(crate) mod compaction;
pub(crate) mod detect;
pub(crate) mod edit;
pub(crate) mod entries;
pub(crate) mod error_lines;
pub(crate) mod fence;
pub(crate) mod fit;
pub(crate) mod foreign;
pub(crate) mod format;
pub(crate) mod formats;
pub(crate) mod frame;
pub(crate) mod framing;
pub(crate) mod json;
pub(crate) mod lazy_text;
pub(crate) mod list;
pub(crate) mod marks;
pub(crate) mod media;
pub(crate) mod message;
pub(crate) mod named_models;
pub(crate) mod order;
pub(crate) mod outputs;
pub(crate) mod pairing;
pub(crate) mod pieces;
pub(crate) mod provider_texts;
mod read_error;
pub(crate) mod record_id;
pub(crate) mod recorded;
pub(crate) mod session_files;
pub(crate) mod source;
pub(crate) mod speaker;
pub(crate) mod status;
pub(crate) mod text;
pub(crate) mod text_calls;
pub(crate) mod thin_list;
pub(crate) mod thoughts;
pub(crate) mod time;
pub(crate) mod tools;
mod unsent;
pub(crate) mod usage;
pub(crate) mod users_words;
pub(crate) mod view;

pub(crate) use format::{Note, Retention, Transcript};
pub(crate) use message::{Arguments, Call, CallPlace, Content, MaskMark, Message, Part, PartKind, RareFields, Role};
