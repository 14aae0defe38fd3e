//! The outside: what is read and written, and what is said while it happens.

pub mod append;
mod compression;
pub mod input;
pub mod output;
pub mod report;
pub mod said;
pub mod tables;
