//! What several formats share, and what is no format itself: each file is one way of writing a piece of a message.

pub(crate) mod blocks;
pub(crate) mod chat;
pub(crate) mod fields;
pub(crate) mod groups;
pub(crate) mod items;
pub(crate) mod links;
pub(crate) mod parts;
pub(crate) mod tool_use;
