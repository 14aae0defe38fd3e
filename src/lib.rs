//! tcompact.
pub mod transcript;
pub mod tokens;
