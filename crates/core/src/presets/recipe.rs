//! How known systems request a summary where they differ from tcompact: what they send, how they treat the answer, and
//! what they do if the history is too long.
//!
//! Also: the rules for pairs of `LangChain`'s middleware, and of related systems that search only a window of messages.

use std::borrow::Cow;
use std::collections::{HashMap, HashSet};

use crate::plan::cutoff::Pairs;
use crate::presets::buffer::Buffer;
use crate::presets::python;
use crate::summary::prompt::{self, Fill};
use crate::transcript::{CallPlace, Message, Role};

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

/// Where a cut moves by the rule of another system. The strict rule is the planner's own.
pub fn moved_cut(messages: &[Message<'_>], wanted: usize, pairs: Pairs) -> usize {
    match pairs {
        Pairs::Strict => wanted,
        Pairs::LangChain => back_to_the_call(messages, wanted),
        Pairs::Window(window) => back_to_a_whole_window(messages, wanted, window),
    }
}

/// Whether `LangChain` recognizes a message as a result: it holds nothing but results.
fn is_result(message: &Message<'_>) -> bool {
    message.role == Role::Tool || message.role == Role::User && !message.results.is_empty() && !message.is_user_turn()
}

fn call_ids<'m, 'a>(message: &'m Message<'a>) -> impl Iterator<Item = Cow<'a, str>> + use<'m, 'a> {
    let calls = if message.role == Role::Assistant { &*message.calls } else { &[] };
    let calls = calls.iter().filter(|call| call.place != CallPlace::Invalid);
    calls.filter_map(|call| call.id).map(|id| id.decode())
}

fn answered_ids<'m, 'a>(message: &'m Message<'a>) -> impl Iterator<Item = Cow<'a, str>> + use<'m, 'a> {
    let answers = if is_result(message) { &*message.results } else { &[] };
    answers.iter().filter_map(|answer| answer.id).map(|id| id.decode())
}

/// Moves a cut by `LangChain`'s rule. Where results begin at `wanted`, the cut moves back to the last message before
/// them that calls one of them, so that more is kept; without such a message, it moves past the results. The rule
/// considers only the run of results at the cut, so it can split a result elsewhere from its call.
fn back_to_the_call(messages: &[Message<'_>], wanted: usize) -> usize {
    let run = messages[wanted..].iter().take_while(|message| is_result(message)).count();
    if run == 0 {
        return wanted;
    }
    let after = wanted + run;
    let mut answered: HashSet<Cow<'_, str>> = messages[wanted..after].iter().flat_map(answered_ids).collect();
    answered.remove("");
    let caller = messages[..wanted].iter().rposition(|message| call_ids(message).any(|id| answered.contains(&id)));
    caller.unwrap_or(after)
}

/// Moves a cut by the rule of the window: to the last cut at or before `wanted` that splits no call in the `window`
/// messages before it from a result. Earlier messages are ignored. The beginning is always such a cut.
fn back_to_a_whole_window(messages: &[Message<'_>], wanted: usize, window: usize) -> usize {
    let mut last_result: HashMap<Cow<'_, str>, usize> = HashMap::new();
    for (index, message) in messages.iter().enumerate() {
        last_result.extend(answered_ids(message).map(|id| (id, index)));
    }
    // A call forbids the cuts behind it up to its last result, as far as the window reaches.
    let mut change = vec![0i64; messages.len() + 2];
    for (index, message) in messages.iter().enumerate() {
        let last = call_ids(message).filter_map(|id| last_result.get(&id).copied()).max();
        let end = last.map_or(index, |last| last.min(index.saturating_add(window)));
        if end > index {
            change[index + 1] += 1;
            change[end + 1] -= 1;
        }
    }
    let (mut split, mut last_whole) = (0, 0);
    for (cut, change) in change[..=wanted.min(messages.len())].iter().enumerate() {
        split += change;
        if split == 0 {
            last_whole = cut;
        }
    }
    last_whole
}
