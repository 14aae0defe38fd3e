//! How large messages are.
//!
//! A [`Counter`] knows one message at a time; a [`Tally`] knows a conversation, counts each message at most once and
//! only where bounds leave a question open.

pub mod approx;
pub mod binding;
pub mod bpe;
mod categories;
mod counter;
pub mod models;
mod not_printable;
pub mod python;
pub mod scaling;
mod tally;

pub use approx::MEDIA_TOKENS;
pub use categories::Categories;
pub use counter::{COUNTERS, Counter};
pub use tally::Tally;
