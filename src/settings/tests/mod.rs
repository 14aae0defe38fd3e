//! Settings in layers, and those of other systems.

mod deerflow;
pub(super) mod layers;
