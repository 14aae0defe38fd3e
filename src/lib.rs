//! tcompact.
pub mod transcript;
pub mod tokens;
pub mod plan;
pub mod rewrite;
pub mod app;
pub mod cli;
pub mod run;
pub mod settings;
pub mod exit;
pub mod summary;
