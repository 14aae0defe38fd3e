//! The sizes of messages in tokens.
//!
//! A [`Counter`] counts one message. A [`Tally`] has the sizes of a conversation: it counts each message at most once,
//! and only where that is needed.

pub mod approx;
pub mod bpe;
mod categories;
mod counter;
mod family;
pub mod media;
mod memo;
pub mod models;
pub mod near;
pub mod python;
pub mod scaling;
mod tally;

use tcompact_base::{diagnostic, sync};
use tcompact_transcript as transcript;

pub use bpe::Encoding;
pub use categories::Categories;
pub use counter::{COUNTERS, MessageCounter};
pub use counter::{Counter, OwnCounter};
pub use family::ModelFamily;
pub use tally::Tally;
