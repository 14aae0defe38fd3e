//! What people and programs are told of a run: lines on standard error, JSON, a picture, a page.

pub(crate) mod brief;
mod columns;
pub mod diff;
pub mod explain;
pub mod html;
pub mod json;
pub mod progress;
pub mod reporter;
pub mod tables;
pub mod terminal;
