//! Code that several formats share: each file reads one piece of a message in one style.

pub(crate) mod blocks;
pub(crate) mod chains;
pub(crate) mod chat;
pub(crate) mod fields;
pub(crate) mod items;
pub(crate) mod links;
pub(crate) mod parts;
pub(crate) mod skipped;
pub(crate) mod tool_use;
