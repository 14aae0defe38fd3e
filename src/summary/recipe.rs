//! How a summary is asked for, where known systems do it otherwise than tcompact: what is sent, what becomes of the
//! answer, and what is done when it is too much to send.

use crate::summary::buffer::Buffer;
use crate::summary::prompt::{BuiltIn, Fill};

/// A system's way of asking for a summary.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Recipe {
    /// How the history is written down.
    pub(crate) buffer: Buffer,
    /// How its end is cut to `--trim-tokens`.
    pub(crate) trim: Trim,
    /// The prompt where the user gives none.
    pub(crate) built_in: BuiltIn,
    /// How a prompt that the user gives is filled.
    pub(crate) template: Fill,
    /// What is sent as a system message before the prompt.
    pub(crate) system: Option<&'static str>,
    /// What stands for a summary where nothing of the history is left to be sent.
    pub(crate) nothing_left: Option<&'static str>,
    /// Prompts that are taken for the summary itself.
    pub(crate) canned: &'static [&'static str],
    /// What is done with a history that is too long for the model.
    pub(crate) overflow: Overflow,
    /// Whether thoughts before an answer, and a fence that a model puts around it, are left out.
    pub(crate) unwraps: bool,
    /// Whether the answer is taken without the white space around it.
    pub(crate) strips: bool,
    /// Whether an answer of nothing but white space is a failure.
    pub(crate) blank_fails: bool,
    /// When a request is tried again.
    pub(crate) patience: Persistence,
    /// What `--on-error embed` puts before the error.
    pub(crate) error: &'static str,
}

/// How a history is cut to a number of tokens.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Trim {
    /// Whole messages from the end; the end of the last where not even that fits.
    Own,
    /// As `trim_messages` of `LangChain` does.
    LangChain,
    /// As `LangChain`, but the last message at least; then the beginning of the text, beside what is left of an earlier
    /// summary.
    Sections,
}

/// What is done with a history that is too long for the model.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Overflow {
    /// It is sent in parts, each with the summary of those before it.
    Parts,
    /// It is sent once more without its middle.
    Middle,
    /// Nothing: there is no summary.
    Fails,
}

/// When a request is tried again.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Persistence {
    /// After errors of transport and the statuses 408, 409, 429 and 5xx.
    Own,
    /// After all errors but those that say that the request itself is wrong.
    LangChain,
}

/// What `LangChain` puts in the place of a history of which nothing is left to be sent.
const TOO_LONG: &str = "Previous conversation was too long to summarize.";
/// And what it would put in the place of an empty one.
const NO_HISTORY: &str = "No previous conversation history.";
const ERROR: &str = "Error generating summary: ";

impl Recipe {
    /// tcompact's own.
    pub(crate) const OWN: Recipe = Recipe {
        buffer: Buffer::Own,
        trim: Trim::Own,
        built_in: BuiltIn::Own,
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
        template: Fill::PythonStripped,
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
        template: Fill::PythonStripped,
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
        template: Fill::Python,
        nothing_left: Some(TOO_LONG),
        overflow: Overflow::Fails,
        unwraps: false,
        ..Recipe::OWN
    };

    /// The variant for Qwen's API.
    pub(crate) const TONGYI: Recipe = Recipe {
        buffer: Buffer::TypeAndContent,
        built_in: BuiltIn::Chinese,
        template: Fill::Python,
        error: "生成摘要时出错: ",
        overflow: Overflow::Fails,
        unwraps: false,
        ..Recipe::OWN
    };

    /// Synaptic's.
    pub(crate) const SYNAPTIC: Recipe = Recipe {
        buffer: Buffer::RoleAndContent,
        built_in: BuiltIn::Brief,
        system: Some("You write short, exact notes on conversations for whoever has to carry them on."),
        strips: false,
        overflow: Overflow::Fails,
        unwraps: false,
        ..Recipe::OWN
    };
}
