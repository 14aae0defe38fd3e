//! Inputs for the laws of `tcompact::laws`: mutated ones, and what mutation begins with.
//!
//! libFuzzer drives the targets (`cargo +nightly fuzz run TARGET`), and so does `drive`, which needs nothing but a stable
//! toolchain.

mod mutate;
mod seeds;

pub use mutate::Mutator;
pub use seeds::seeds_of;
pub use tcompact::laws::{TARGETS, Target};

/// The target called so.
///
/// # Panics
/// There is none.
pub fn target(name: &str) -> &'static Target {
    TARGETS.iter().find(|target| target.name == name).unwrap_or_else(|| panic!("there is no target {name}"))
}

/// Gives a target some bytes.
///
/// # Panics
/// A promise is broken.
pub fn run(name: &str, bytes: &[u8]) {
    (target(name).run)(bytes);
}
