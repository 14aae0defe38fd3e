//! How known systems request a summary where they differ from tcompact: what they send, how they treat the answer, and
//! what they do if the history is too long.

use crate::presets::buffer::Buffer;
use crate::presets::python;
use crate::summary::prompt::{self, Fill};

/// The way in which a system requests a summary.
#[derive(Debug, Clone, Copy)]
pub struct Recipe {
    /// The format of the history.
    pub buffer: Buffer,
    /// How the history is cut to `--trim-tokens`.
    pub trim: Trim,
    /// The prompt, unless the user gives one.
    pub built_in: &'static str,
    /// The syntax of a prompt that the user gives.
    pub template: Fill,
    /// The system message before the prompt.
    pub system: Option<&'static str>,
    /// The text in place of a summary if nothing of the history is left to be sent.
    pub nothing_left: Option<&'static str>,
    /// Prompts that are used as the summary itself.
    pub canned: &'static [&'static str],
    /// What to do with a history that is too long for the model.
    pub overflow: Overflow,
    /// Whether to strip thoughts before an answer, and a fence that a model adds.
    pub unwraps: bool,
    /// Whether to strip white space around the answer.
    pub strips: bool,
    /// Whether a blank answer is a failure.
    pub blank_fails: bool,
    /// When to retry a request.
    pub patience: Persistence,
    /// The text that `--on-error embed` puts before the error.
    pub error: &'static str,
}

/// How a history is cut to a number of tokens.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Trim {
    /// Keeps whole messages from the end, or the end of the last one if it does not fit.
    Own,
    /// Like `trim_messages` of `LangChain`.
    LangChain,
    /// Like `LangChain`, but with at least the last message; then the beginning of the text, beside the rest of an
    /// earlier summary.
    Sections,
}

/// What to do with a history that is too long for the model.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Overflow {
    /// Send it in parts, each with the summary of the parts before it.
    Parts,
    /// Send it once more without its middle.
    Middle,
    /// Give up: there is no summary.
    Fails,
}

/// When to retry a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Persistence {
    /// After transport errors and the statuses 408, 409, 429 and 5xx.
    Own,
    /// After all errors except those that mean that the request itself is invalid.
    LangChain,
}

/// tcompact's own prompt in Chinese.
pub const CHINESE: &str = include_str!("prompt_zh.txt");
/// A few sentences, to follow a system message.
pub const BRIEF: &str = include_str!("prompt_brief.txt");

/// The text that `LangChain` uses for a history of which nothing is left to be sent.
const TOO_LONG: &str = "Previous conversation was too long to summarize.";
/// The text that it would use for an empty history.
const NO_HISTORY: &str = "No previous conversation history.";
const ERROR: &str = "Error generating summary: ";

impl Recipe {
    /// tcompact's own.
    pub const OWN: Recipe = Recipe {
        buffer: Buffer::Own,
        trim: Trim::Own,
        built_in: prompt::OWN,
        template: Fill::Own,
        system: None,
        nothing_left: None,
        canned: &[],
        overflow: Overflow::Parts,
        unwraps: true,
        strips: true,
        blank_fails: false,
        patience: Persistence::Own,
        error: ERROR,
    };

    /// What most other systems have in common.
    const FOREIGN: Recipe = Recipe { overflow: Overflow::Fails, unwraps: false, ..Recipe::OWN };

    /// `LangChain`'s and `DeepAgents`'.
    pub const LANGCHAIN: Recipe = Recipe {
        buffer: Buffer::Xml,
        trim: Trim::LangChain,
        template: Fill::Foreign(python::format_stripped),
        nothing_left: Some(TOO_LONG),
        overflow: Overflow::Middle,
        patience: Persistence::LangChain,
        ..Recipe::FOREIGN
    };

    /// `DeerFlow`'s.
    pub const DEERFLOW: Recipe = Recipe {
        buffer: Buffer::Prefix,
        trim: Trim::Sections,
        template: Fill::Foreign(python::format_stripped),
        nothing_left: Some(TOO_LONG),
        canned: &[TOO_LONG, NO_HISTORY],
        blank_fails: true,
        ..Recipe::FOREIGN
    };

    /// `DeerFlow`'s as it was first documented.
    pub const DEERFLOW_V1: Recipe = Recipe {
        buffer: Buffer::Prefix,
        trim: Trim::LangChain,
        template: Fill::Foreign(python::format),
        nothing_left: Some(TOO_LONG),
        ..Recipe::FOREIGN
    };

    /// The variant for Qwen's API.
    pub const TONGYI: Recipe = Recipe {
        buffer: Buffer::TypeAndContent,
        built_in: CHINESE,
        template: Fill::Foreign(python::format),
        error: "生成摘要时出错: ",
        ..Recipe::FOREIGN
    };

    /// Synaptic's.
    pub const SYNAPTIC: Recipe = Recipe {
        buffer: Buffer::RoleAndContent,
        built_in: BRIEF,
        system: Some("You write short, exact notes on conversations for whoever has to carry them on."),
        strips: false,
        ..Recipe::FOREIGN
    };
}
