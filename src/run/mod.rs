//! The outside: what is read and written, and what is said while it happens.

pub mod append;
pub(crate) mod brief;
mod columns;
pub mod compression;
pub mod diff;
pub mod explain;
pub mod input;
pub mod inputs;
pub mod journal;
pub mod links;
pub mod output;
pub mod page;
pub mod progress;
pub mod report;
pub mod said;
pub mod tables;
pub mod terminal;
pub mod turns;
pub mod unfinished;
