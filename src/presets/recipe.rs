//! How known systems request a summary where they differ from tcompact: what they send, how they treat the answer, and
//! what they do if the history is too long.

use crate::presets::buffer::Buffer;
use crate::presets::python;
use crate::summary::prompt::{self, Fill};

/// The way in which a system requests a summary.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Recipe {
    /// The format of the history.
    pub(crate) buffer: Buffer,
    /// How the history is cut to `--trim-tokens`.
    pub(crate) trim: Trim,
    /// The prompt, unless the user gives one.
    pub(crate) built_in: &'static str,
    /// The syntax of a prompt that the user gives.
    pub(crate) template: Fill,
    /// The system message before the prompt.
    pub(crate) system: Option<&'static str>,
    /// The text in place of a summary if nothing of the history is left to be sent.
    pub(crate) nothing_left: Option<&'static str>,
    /// Prompts that are used as the summary itself.
    pub(crate) canned: &'static [&'static str],
    /// What to do with a history that is too long for the model.
    pub(crate) overflow: Overflow,
    /// Whether to strip thoughts before an answer, and a fence that a model adds.
    pub(crate) unwraps: bool,
    /// Whether to strip white space around the answer.
    pub(crate) strips: bool,
    /// Whether a blank answer is a failure.
    pub(crate) blank_fails: bool,
    /// When to retry a request.
    pub(crate) patience: Persistence,
    /// The text that `--on-error embed` puts before the error.
    pub(crate) error: &'static str,
}

/// How a history is cut to a number of tokens.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Trim {
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
pub(crate) enum Overflow {
    /// Send it in parts, each with the summary of the parts before it.
    Parts,
    /// Send it once more without its middle.
    Middle,
    /// Give up: there is no summary.
    Fails,
}

/// When to retry a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Persistence {
    /// After transport errors and the statuses 408, 409, 429 and 5xx.
    Own,
    /// After all errors except those that mean that the request itself is invalid.
    LangChain,
}

/// tcompact's own prompt in Chinese.
pub(crate) const CHINESE: &str = include_str!("prompt_zh.txt");
/// A few sentences, to follow a system message.
pub(crate) const BRIEF: &str = include_str!("prompt_brief.txt");

/// The text that `LangChain` uses for a history of which nothing is left to be sent.
const TOO_LONG: &str = "Previous conversation was too long to summarize.";
/// The text that it would use for an empty history.
const NO_HISTORY: &str = "No previous conversation history.";
const ERROR: &str = "Error generating summary: ";

impl Recipe {
    /// tcompact's own.
    pub(crate) const OWN: Recipe = Recipe {
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

    /// `LangChain`'s and `DeepAgents`'.
    pub(crate) const LANGCHAIN: Recipe = Recipe {
        buffer: Buffer::Xml,
        trim: Trim::LangChain,
        template: Fill::Foreign(python::format_stripped),
        nothing_left: Some(TOO_LONG),
        overflow: Overflow::Middle,
        patience: Persistence::LangChain,
        unwraps: false,
        ..Recipe::OWN
    };

    /// `DeerFlow`'s.
    pub(crate) const DEERFLOW: Recipe = Recipe {
        buffer: Buffer::Prefix,
        trim: Trim::Sections,
        template: Fill::Foreign(python::format_stripped),
        nothing_left: Some(TOO_LONG),
        canned: &[TOO_LONG, NO_HISTORY],
        blank_fails: true,
        overflow: Overflow::Fails,
        unwraps: false,
        ..Recipe::OWN
    };

    /// `DeerFlow`'s as it was first documented.
    pub(crate) const DEERFLOW_V1: Recipe = Recipe {
        buffer: Buffer::Prefix,
        trim: Trim::LangChain,
        template: Fill::Foreign(python::format),
        nothing_left: Some(TOO_LONG),
        overflow: Overflow::Fails,
        unwraps: false,
        ..Recipe::OWN
    };

    /// The variant for Qwen's API.
    pub(crate) const TONGYI: Recipe = Recipe {
        buffer: Buffer::TypeAndContent,
        built_in: CHINESE,
        template: Fill::Foreign(python::format),
        error: "生成摘要时出错: ",
        overflow: Overflow::Fails,
        unwraps: false,
        ..Recipe::OWN
    };

    /// Synaptic's.
    pub(crate) const SYNAPTIC: Recipe = Recipe {
        buffer: Buffer::RoleAndContent,
        built_in: BRIEF,
        system: Some("You write short, exact notes on conversations for whoever has to carry them on."),
        strips: false,
        overflow: Overflow::Fails,
        unwraps: false,
        ..Recipe::OWN
    };
}
