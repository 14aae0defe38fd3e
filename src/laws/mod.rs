//! What tcompact promises, as functions that panic where a promise is broken: for any text, for generated conversations
//! and for generated lines.
//!
//! The tests here hold these laws against fixtures and some thousands of cases; `fuzz/` against as many as there is time
//! for; `benches/` time what the laws run. They are part of the library because they look at what no other program may
//! depend on, and are built for tests and with the feature `laws` alone.

mod bricks;
mod cases;
mod choices;
mod lawful;
pub mod lines;
pub mod measures;
mod targets;
mod whole;

#[cfg(test)]
mod fixtures;
#[cfg(test)]
mod tests;
#[cfg(test)]
mod transcripts;

pub use cases::Cases;
pub use targets::{TARGETS, Target};

/// The folder of the fixtures.
pub const FIXTURES: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/fixtures");
