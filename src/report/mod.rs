//! What a run reports to people and programs: lines on standard error, JSON, a picture, a page.

pub(crate) mod brief;
mod columns;
pub(crate) mod diff;
pub(crate) mod explain;
pub(crate) mod html;
pub(crate) mod json;
pub(crate) mod progress;
pub(crate) mod reporter;
mod shares;
pub(crate) mod tables;
pub(crate) mod terminal;
