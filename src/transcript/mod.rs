//! What was read: messages that know where they stand in the source.
//!
//! What is not here: sizes ([`crate::tokens`]), decisions ([`crate::plan`]) and edits ([`crate::rewrite`]). This file only
//! hands on names: the files of this room import each other, and never this one.

pub mod coercion;
pub mod compaction;
pub mod detect;
pub mod edit;
pub mod foreign;
pub mod format;
pub mod formats;
pub mod framing;
pub mod json;
pub mod list;
pub mod message;
pub mod order;
pub mod outputs;
pub mod pairing;
mod read_error;
pub mod source;
pub mod text;
pub mod thoughts;
pub mod tools;
pub mod view;

pub use format::{Note, Retention, Transcript};
pub use message::{Answer, Arguments, Call, CallPlace, Content, Message, Part, PartKind, Rest, Role};
