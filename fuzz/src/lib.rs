//! Inputs for the laws of `tcompact_laws`: seeds and their mutations.
//!
//! libFuzzer drives the targets (`cargo +nightly fuzz run TARGET`). So does `drive`, which needs only a stable toolchain.

mod mutate;
mod seeds;

pub use mutate::Mutator;
pub use seeds::seeds_of;
pub use tcompact_laws::{TARGETS, Target};

/// Returns the target with this name.
///
/// # Panics
/// There is no such target.
pub fn target(name: &str) -> &'static Target {
    TARGETS.iter().find(|target| target.name == name).unwrap_or_else(|| panic!("there is no target {name}"))
}

/// Runs a target on some bytes.
///
/// # Panics
/// The bytes break a law.
pub fn run(name: &str, bytes: &[u8]) {
    (target(name).run)(bytes);
}
