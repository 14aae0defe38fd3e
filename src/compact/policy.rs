//! All that decides what becomes of a conversation: where it is cut, how it is counted, and how a summary is asked for.

use std::path::{Path, PathBuf};

use crate::diagnostic::Diagnostic;
use crate::plan::Policy;
use crate::plan::economy::{Billed, Prices};
use crate::plan::size::Size;
use crate::prune::{Choice, Rule, chosen};
use crate::rewrite::arguments::Truncation;
use crate::rewrite::thinking::Thinking;
use crate::summary::exchange::Usage;
use crate::summary::prompt::Template;
use crate::summary::recipe::Recipe;
use crate::tokens::Counter;
use crate::tokens::models::Model;
use crate::transcript::formats::SummaryRole;

/// What is to become of conversations.
#[derive(Debug, Clone)]
pub struct CompactionPolicy {
    /// Where they are cut. The smallest size of a summary depends on the format, and is found for each.
    pub cut: Policy,
    /// How tokens are counted.
    pub counter: Counter,
    /// The model that will read the result, where it is named.
    pub(crate) reader: Option<Model>,
    /// Its full name, where the table of models does not have it.
    pub(crate) unlisted_reader: Option<String>,
    /// How old arguments of tools are cut by a known system.
    pub(crate) truncation: Option<Truncation>,
    /// What goes before anything is summarized.
    pub pruning: Pruning,
    /// How large the result may be, where that is said.
    pub fit: Option<Size>,
    /// Whether the trigger and the size of the result are those that a known window gives where nobody says any.
    pub(crate) is_by_window: bool,
    /// Whether somebody said how much is kept, so that it is kept however large the result may be.
    pub(crate) keep_is_given: bool,
    /// What becomes of signed thinking behind history that has changed.
    pub thinking: Thinking,
    /// How a summary is written.
    pub summary: SummaryPolicy,
    /// Whether secrets are masked.
    pub redact: bool,
    /// Where what is cut away goes.
    pub(crate) archive: Option<PathBuf>,
    /// What a known system does besides.
    pub(crate) ways: Ways,
    /// What is written.
    pub(crate) emit: Emit,
    /// Why nothing is to be done, where that is so.
    pub(crate) disabled: Option<String>,
}

impl CompactionPolicy {
    /// One that keeps so much of the end, and is else that of a run without flags.
    pub fn keeping(keep: Size) -> Self {
        const SUMMARY_TOKENS: u64 = 1024;
        let (counter, recipe) = (Counter::DEFAULT, Recipe::OWN);
        CompactionPolicy {
            cut: Policy::keeping(keep),
            counter,
            reader: None,
            unlisted_reader: None,
            truncation: None,
            pruning: Pruning::default(),
            fit: None,
            is_by_window: false,
            keep_is_given: true,
            thinking: Thinking::Auto,
            summary: SummaryPolicy {
                summarizer: SummarizerKind::Embedded,
                name: EXTRACTIVE.to_owned(),
                model: SummarizerModel {
                    window: None,
                    counter,
                    asked_tokens: SUMMARY_TOKENS,
                    thought_tokens: 0,
                    most_tokens: None,
                    prices: None,
                },
                window: None,
                recipe,
                template: Template::built_in(recipe.built_in, SUMMARY_TOKENS),
                template_from: None,
                trim_tokens: None,
                tokens: SUMMARY_TOKENS,
                role: SummaryRole::User,
                ledger: SUMMARY_TOKENS / 2,
                accept: Accept::Smaller,
                on_error: OnError::Fail,
            },
            redact: false,
            archive: None,
            ways: Ways::OWN,
            emit: Emit::Messages,
            disabled: None,
        }
    }

    /// Whether an archive is to tell the way back. From what is no transcript there is none.
    pub(crate) fn has_records(&self) -> bool {
        self.archive.as_deref().is_some_and(is_lines) && self.emit == Emit::Messages
    }

    /// The name of the model that reads on, where the user says so.
    pub(crate) fn reader_name(&self) -> Option<&str> {
        let unlisted = || Some(self.unlisted_reader.as_deref()?.split_once(':')?.1);
        self.reader.map(|model| model.name).or_else(unlisted)
    }
}

/// What goes before anything is summarized.
#[derive(Debug, Clone, Default)]
pub struct Pruning {
    /// The rules, from the cheapest to the dearest.
    pub(crate) rules: Vec<Rule>,
    /// Names of tools whose calls and results stay.
    pub except: Vec<String>,
}

impl Pruning {
    /// Rules in the words of `--prune`: `all`, or kinds with what they take, such as `results:5` and `cap:2000`.
    ///
    /// # Errors
    /// One of them is no rule.
    pub fn new(rules: &[&str]) -> Result<Self, Diagnostic> {
        let choices: Vec<Choice> = rules.iter().map(|rule| rule.parse()).collect::<Result<_, _>>()?;
        Ok(Pruning { rules: chosen(&choices), except: Vec::new() })
    }
}

/// How a summary is written.
#[derive(Debug, Clone)]
pub struct SummaryPolicy {
    /// Who writes it.
    pub(crate) summarizer: SummarizerKind,
    /// What they are called in a report.
    pub(crate) name: String,
    /// What is known of the model that summarizes.
    pub(crate) model: SummarizerModel,
    /// The context window of the model that summarizes, in tokens, where it is known; else the reader's.
    pub(crate) window: Option<u64>,
    /// How it is asked for.
    pub(crate) recipe: Recipe,
    /// The prompt.
    pub(crate) template: Template,
    /// What the user gave it with, if it is not the built-in one.
    pub(crate) template_from: Option<&'static str>,
    /// How much of the end of the history the summarizer is sent, in tokens.
    pub(crate) trim_tokens: Option<u64>,
    /// Its size, in tokens.
    pub tokens: u64,
    /// The role of its message.
    pub role: SummaryRole,
    /// Tokens that facts may have which are appended to a model's summary.
    pub ledger: u64,
    /// Which summaries are accepted.
    pub accept: Accept,
    /// What is done where there is none.
    pub on_error: OnError,
}

impl SummaryPolicy {
    /// Whether the embedded summarizer writes.
    pub(crate) fn is_embedded(&self) -> bool {
        self.summarizer == SummarizerKind::Embedded
    }
}

/// The name of the embedded summarizer.
pub(crate) const EXTRACTIVE: &str = "extractive";
/// What is named for a summarizer where nobody summarizes.
pub(crate) const NOBODY: &str = "none";

/// Whether a name is that of no model: nobody has to be asked.
pub(crate) fn is_no_model(name: &str) -> bool {
    [EXTRACTIVE, NOBODY].contains(&name)
}

/// Who writes summaries.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum SummarizerKind {
    /// Nobody: a note stands in the place of what is cut away.
    Nobody,
    /// The embedded summarizer.
    Embedded,
    /// A model behind an API.
    Model,
    /// A command, of which nothing is known.
    Command,
}

/// What is done when the summarizer fails for good.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OnError {
    /// The conversation fails.
    Fail,
    /// It stays unchanged.
    Passthrough,
    /// The embedded summarizer is used.
    Extractive,
    /// The text of the error takes the place of the summary; the history is lost.
    Embed,
}

/// Which summaries are accepted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Accept {
    /// Those that are not empty, not cut off by their length limit, and smaller than what they replace.
    Smaller,
    /// All.
    Any,
}

/// What is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Emit {
    /// The transcript in its own format.
    Messages,
    /// The update of a `LangGraph` state.
    Update,
    /// The summary alone.
    Summary,
}

/// What a system does besides cutting and summarizing.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Ways {
    /// It knows `LangChain`'s messages: they must be what `LangChain` converts without an error, and are estimated as it
    /// does whatever the model's own tokenizer, of which there is only one.
    pub(crate) langchain: bool,
    /// The estimate's characters a token, whatever the model.
    pub(crate) characters: Option<f64>,
    /// The estimate counts a list of content as langchain-core 1.2.7 does.
    pub(crate) repr_lists: bool,
    /// The history goes to a file that the summary names, pictures and other data to files beside it, and what is kept
    /// must fit the model's input.
    pub(crate) files: bool,
    /// A summary message has the mark by which `LangChain` knows its own.
    pub(crate) marks: bool,
    /// A summary is put back in a fence.
    pub(crate) fences: bool,
}

impl Ways {
    /// tcompact's own.
    pub(crate) const OWN: Ways =
        Ways { langchain: false, characters: None, repr_lists: false, files: false, marks: true, fences: true };
}

/// Whether an archive holds records, a line each, and not text for reading.
pub(crate) fn is_lines(file: &Path) -> bool {
    file.extension().is_some_and(|end| end.eq_ignore_ascii_case("jsonl"))
}

/// What is known of the model that summarizes, by tcompact's own recipe.
#[derive(Debug, Clone, Copy)]
pub(crate) struct SummarizerModel {
    /// Its context window in tokens, where that is known.
    pub(crate) window: Option<u64>,
    /// How its tokens are counted, as well as is known.
    pub(crate) counter: Counter,
    /// The size that it is asked for, in tokens.
    pub(crate) asked_tokens: u64,
    /// Tokens that it gets for what it thinks before.
    pub(crate) thought_tokens: u64,
    /// The longest answer that it can write, in tokens, where that is known.
    pub(crate) most_tokens: Option<u64>,
    /// US dollars that it takes for a million tokens of input and of output, where these are known.
    pub(crate) prices: Option<(f64, f64)>,
}

impl SummarizerModel {
    /// The same model, of which its server said how many tokens it reads at once.
    #[must_use]
    pub(crate) fn within(self, window: u64) -> Self {
        let quarter = (window / 4).max(1);
        let (asked_tokens, thought_tokens) = (self.asked_tokens.min(quarter), self.thought_tokens.min(quarter));
        SummarizerModel { window: Some(window), asked_tokens, thought_tokens, ..self }
    }

    /// What tokens cost: as the provider says, or by the table.
    pub(crate) fn billed(&self, usage: Usage) -> Billed {
        let by_table = Prices { writer: self.prices, ..Prices::default() }.of_summary(usage.input, usage.output);
        Billed {
            input_tokens: usage.input,
            output_tokens: usage.output,
            reasoning_tokens: usage.reasoning,
            cost_usd: usage.cost.or(by_table),
        }
    }
}
