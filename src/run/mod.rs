//! The outside: what is read and written, and what is said while it happens.

pub mod append;
pub mod input;
pub mod output;
pub mod report;
pub mod tables;
