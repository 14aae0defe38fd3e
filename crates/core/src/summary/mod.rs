//! A model's summary: the prompt, the request to a summarizer and its reply, and the acceptance of a summary.

pub mod acceptance;
pub mod error_forms;
pub mod exchange;
pub mod history;
pub mod machine_answer;
pub mod parts;
pub mod plain;
pub mod prompt;
pub mod trim;
