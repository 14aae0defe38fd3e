//! The promises of tcompact, as functions that panic if a promise is broken: for any text and for generated
//! conversations.
//!
//! They are in `src/`, and not in `tests/`, because `fuzz/` and `benches/` run them too, on internals that are not public.
//!
//! The tests here check the laws on fixtures and some thousands of cases, and `fuzz/` checks them on as many cases as
//! time permits. The laws are built only for tests and with the feature `laws`.

mod bricks;
mod cases;
mod choices;
mod digest;
mod lawful;
pub mod measures;
mod targets;
mod whole;

#[cfg(test)]
mod fixtures;
#[cfg(test)]
mod tests;
#[cfg(test)]
mod transcripts;
#[cfg(test)]
mod walks;

pub use cases::Cases;
pub use targets::{TARGETS, Target};

/// The folder of the fixtures.
pub const FIXTURES: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/fixtures");
