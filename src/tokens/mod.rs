//! The sizes of messages in tokens.
//!
//! A [`Counter`] counts one message. A [`Tally`] has the sizes of a conversation: it counts each message at most once,
//! and only where that is needed.

pub(crate) mod approx;
pub(crate) mod bpe;
mod categories;
mod counter;
pub(crate) mod media;
mod memo;
pub(crate) mod models;
pub(crate) mod near;
pub(crate) mod python;
pub(crate) mod scaling;
mod tally;

pub(crate) use categories::Categories;
pub(crate) use counter::{COUNTERS, MessageCounter};
pub use counter::{Counter, OwnCounter};
pub use scaling::ModelFamily;
pub(crate) use tally::Tally;
