//! A model's summary: the prompt, the request to a summarizer and its reply, and the acceptance of a summary.

pub(crate) mod acceptance;
pub(crate) mod error_forms;
pub(crate) mod exchange;
pub(crate) mod history;
pub(crate) mod machine_answer;
pub(crate) mod parts;
pub(crate) mod plain;
pub(crate) mod prompt;
pub(crate) mod trim;
