//! tcompact.
pub mod transcript;
pub mod tokens;
pub mod plan;
