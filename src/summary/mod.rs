//! What is put in the place of the history: the prompt, what a summarizer is asked and answers, whether the answer is taken,
//! and the embedded summarizer, which needs no model.

pub mod acceptance;
pub mod buffer;
pub mod exchange;
pub mod fence;
pub mod history;
pub mod inline_data;
pub mod parts;
pub mod prompt;
pub mod python_format;
pub mod recipe;
pub mod record;
pub mod sections;
pub mod trim;
pub mod trim_messages;
pub mod truncate_middle;
