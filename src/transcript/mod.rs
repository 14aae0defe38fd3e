//! What was read: messages that know where they stand in the source.
//!
//! What is not here: sizes ([`crate::tokens`]), decisions ([`crate::plan`]) and edits ([`crate::rewrite`]). This file only
//! hands on names: the files of this room import each other, and never this one.

pub(crate) mod coercion;
pub(crate) mod compaction;
pub(crate) mod detect;
pub(crate) mod edit;
pub(crate) mod foreign;
pub(crate) mod format;
pub(crate) mod formats;
pub(crate) mod framing;
pub(crate) mod json;
pub(crate) mod list;
pub(crate) mod message;
pub(crate) mod order;
pub(crate) mod outputs;
pub(crate) mod pairing;
mod read_error;
pub(crate) mod source;
mod specials;
pub(crate) mod text;
pub(crate) mod thoughts;
pub(crate) mod tools;
pub(crate) mod view;

pub(crate) use format::{Note, Retention, Transcript};
pub(crate) use message::{Answer, Arguments, Call, CallPlace, Content, Message, Part, PartKind, Rest, Role};
