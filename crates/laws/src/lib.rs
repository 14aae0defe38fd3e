//! The promises of tcompact, as functions that panic if a promise is broken: for any text and for generated
//! conversations. Unstable: made for tcompact.
//!
//! The tests here check the laws on fixtures and some thousands of cases, and `fuzz/` checks them on as many cases as
//! time permits: [`TARGETS`] take any bytes, [`Cases`] are generated conversations. Nothing depends on this package, so
//! a change of a module of the program builds and tests that module without the laws.
//!
//! `lawful` has the laws about a text and a cut, `digest` those about the embedded summary, `walks` what each agent sends
//! of its own file. `whole` runs the program in memory. `bricks` builds conversations of each format from the pieces in
//! `fixtures/bricks/`.

#[cfg(test)]
#[path = "../../../tests/integration/all_cases.rs"]
mod all_cases;
mod bricks;
mod cases;
mod choices;
mod digest;
mod lawful;
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

use tcompact_core::{compact, plan, presets, rewrite, summary};
use tcompact_redact as redact;
use tcompact_tokens as tokens;
use tcompact_transcript as transcript;

pub use cases::Cases;
pub use targets::{TARGETS, Target};

/// The folder of the fixtures.
pub const FIXTURES: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../fixtures");
