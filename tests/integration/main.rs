//! The one integration binary: what tcompact promises, tried from outside and held against references not its own.

mod approx_tokens;
mod bad_input;
mod batch;
mod bricks;
mod contract;
mod deerflow;
mod endpoint;
mod exact_tokens;
mod facts;
mod fixtures;
mod generated;
mod histories;
mod laws;
mod layers;
mod peers;
mod presets;
mod program;
mod providers;
mod purity;
mod readme;
mod redaction;
mod reports;
mod restoring;
mod server;
mod streams;
mod wire;
