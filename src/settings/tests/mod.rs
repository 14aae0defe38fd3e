//! Settings in layers, and those of other systems.

mod commands;
mod deerflow;
pub(super) mod layers;
