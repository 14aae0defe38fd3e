//! The policy of a compaction: where conversations are cut, how they are counted, and how summaries are requested.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};

use crate::diagnostic::Diagnostic;
use crate::plan::economy::{Billed, Prices};
use crate::plan::size::Size;
use crate::plan::{CutPolicy, recorded};
use crate::presets::SystemHabits;
use crate::presets::recipe::Recipe;
use crate::prune::{Choice, Rule, chosen};
use crate::rewrite::arguments::Truncation;
use crate::rewrite::thinking::Thinking;
use crate::summary::exchange::Usage;
use crate::summary::prompt::Template;
use crate::tokens::media::MediaRates;
use crate::tokens::models::Model;
use crate::tokens::{Counter, MessageCounter, ModelFamily, Tally};
use crate::transcript::formats::SummaryRole;
use crate::transcript::named_models::model_of;
use crate::transcript::{Message, Transcript};

/// The policy of a compaction.
#[derive(Debug, Clone)]
pub struct CompactionPolicy {
    /// Where conversations are cut. The smallest size of a summary depends on the format, and is computed for each.
    pub cut: CutPolicy,
    /// How tokens are counted.
    pub counter: Counter,
    /// The model that will read the result, where it is known.
    pub reader: Option<Model>,
    /// The full name of that model, where the table of models does not have it.
    pub unlisted_reader: Option<String>,
    /// How a preset's system cuts old arguments of tools.
    pub truncation: Option<Truncation>,
    /// What is pruned before anything is summarized.
    pub pruning: Pruning,
    /// The largest size of the result: `--fit`.
    pub fit: Option<Size>,
    /// Whether the trigger and the size of the result are the defaults for a known window.
    pub is_by_window: bool,
    /// Whether the kept part is explicit, so that `--fit` does not make it smaller.
    pub keep_is_given: bool,
    /// What happens to signed thinking behind a changed history.
    pub thinking: Thinking,
    /// How a summary is written.
    pub summary: SummaryPolicy,
    /// Where secrets are masked.
    pub redact: Redaction,
    /// The file for removed messages.
    pub archive: Option<PathBuf>,
    /// What a message says of that file.
    pub archive_note: ArchiveNote,
    /// Other habits of a preset's system.
    pub habits: SystemHabits,
    /// What is written.
    pub emit: Emit,
    /// Why nothing is done, where a preset disables compaction.
    pub disabled: Option<String>,
}

impl CompactionPolicy {
    /// Returns a policy that keeps so much of the end, and else has the defaults of a run without flags.
    pub fn keeping(keep: Size) -> Self {
        let (counter, recipe) = (Counter::DEFAULT, Recipe::OWN);
        CompactionPolicy {
            cut: CutPolicy::keeping(keep),
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
                template: Template::built_in(recipe.built_in, SUMMARY_TOKENS, None),
                template_from: None,
                focus: None,
                trim_tokens: None,
                tokens: SUMMARY_TOKENS,
                grows: false,
                role: SummaryRole::User,
                ledger: ledger_room(SUMMARY_TOKENS),
                accept: Accept::Smaller,
                on_error: OnError::Fail,
            },
            redact: Redaction::Off,
            archive: None,
            archive_note: ArchiveNote::Place,
            habits: SystemHabits::OWN,
            emit: Emit::Messages,
            disabled: None,
        }
    }

    /// Whether the archive has records, one per line.
    pub fn writes_records(&self) -> bool {
        self.archive.as_deref().is_some_and(is_lines)
    }

    /// Whether the archive has records, from which the transcript can be restored. Only a transcript can be.
    pub fn has_records(&self) -> bool {
        self.writes_records() && self.emit == Emit::Messages
    }

    pub fn tally<'m, 'a>(&self, transcript: &'m Transcript<'a>) -> Tally<'m, 'a> {
        let counter = self.message_counter(transcript);
        let tally = Tally::of(counter, transcript, self.cut.overhead_tokens);
        let is_recorded = self.cut.overhead_tokens.is_none() && matches!(counter.counter, Counter::Recorded(_));
        if is_recorded { recorded::as_recorded(transcript, tally) } else { tally }
    }

    /// How the messages of a conversation are counted: as the model that will read the result counts them, or else the
    /// model that the conversation names last. A family that the caller chose stays.
    pub fn message_counter(&self, transcript: &Transcript<'_>) -> MessageCounter {
        let depends_on_model = match self.counter {
            Counter::Estimate(family) => family == ModelFamily::OTHERS,
            Counter::Recorded(_) => true,
            _ => false,
        };
        let is_named = depends_on_model || transcript.messages.iter().any(Message::has_media);
        let model = match self.reader_name() {
            Some(reader) => Some(reader.to_owned()),
            None if is_named => model_of(transcript),
            None => None,
        };
        let Some(model) = model else { return self.counter.into() };
        let family = ModelFamily::of_model(&model);
        let counter = match self.counter {
            Counter::Estimate(_) if depends_on_model => Counter::Estimate(family),
            Counter::Recorded(_) => Counter::Recorded(family),
            counter => counter,
        };
        MessageCounter { counter, media: MediaRates::of_model(&model) }
    }

    /// The name of the model that will read the result; none where it is not known.
    pub fn reader_name(&self) -> Option<&str> {
        let unlisted = || Some(self.unlisted_reader.as_deref()?.split_once(':')?.1);
        self.reader.map(|model| model.name).or_else(unlisted)
    }
}

/// What is pruned before anything is summarized.
#[derive(Debug, Clone, Default)]
pub struct Pruning {
    /// The rules, in the order in which they apply.
    pub rules: Vec<Rule>,
    /// The names of tools whose calls and results stay.
    pub except: Vec<String>,
}

impl Pruning {
    /// Parses rules as `--prune` takes them: `all`, or rules such as `results:5` and `cap:2000`.
    ///
    /// # Errors
    /// One of them is not a rule.
    pub fn new(rules: &[&str]) -> Result<Self, Diagnostic> {
        let choices: Vec<Choice> = rules.iter().map(|rule| rule.parse()).collect::<Result<_, _>>()?;
        Ok(Pruning { rules: chosen(&choices), except: Vec::new() })
    }
}

/// How a summary is written.
#[derive(Debug, Clone)]
pub struct SummaryPolicy {
    /// The kind of summarizer.
    pub summarizer: SummarizerKind,
    /// The name of the summarizer in a report.
    pub name: String,
    /// The model that summarizes.
    pub model: SummarizerModel,
    /// The context window of that model in tokens, where it is known; else the reader's.
    pub window: Option<u64>,
    /// How a summary is requested.
    pub recipe: Recipe,
    /// The prompt.
    pub template: Template,
    /// The flag or variable that gave the prompt; none for the built-in one.
    pub template_from: Option<&'static str>,
    /// What the next work is about. The prompt above has it already.
    pub focus: Option<String>,
    /// How much of the end of the history the summarizer is sent, in tokens.
    pub trim_tokens: Option<u64>,
    /// The size of the summary, in tokens.
    pub tokens: u64,
    /// Whether the embedded summarizer's size grows with what the summary replaces. The size above is the least then.
    pub grows: bool,
    /// The role of the summary message.
    pub role: SummaryRole,
    /// The most tokens of what a model's summary lacks and is appended to it, however short the summary is.
    pub ledger: u64,
    /// Which summaries are accepted.
    pub accept: Accept,
    /// What is done when the summarizer fails.
    pub on_error: OnError,
}

impl SummaryPolicy {
    /// Whether the embedded summarizer writes the summary.
    pub fn is_embedded(&self) -> bool {
        self.summarizer == SummarizerKind::Embedded
    }

    /// The size of the embedded summarizer's summary, in tokens: of one that replaces so many tokens, among them an earlier
    /// digest of so many, in a result of at most `fit` tokens.
    pub fn embedded_tokens(&self, replaced: u64, earlier: u64, fit: Option<u64>) -> u64 {
        const MOST: u64 = 4_096;
        if !self.grows {
            return self.tokens;
        }
        let tokens = (replaced / 20).max(earlier).min(MOST).max(self.tokens);
        fit.map_or(tokens, |limit| tokens.min(limit / 4))
    }

    /// Whether a model is sent tcompact's own prompt. A prompt of the user's can ask for a single line.
    pub fn asks_for_notes(&self) -> bool {
        let is_asked = matches!(self.summarizer, SummarizerKind::Model | SummarizerKind::Command);
        is_asked && self.template_from.is_none() && self.recipe.built_in == Recipe::OWN.built_in
    }
}

/// The size of a summary where the user names none, in tokens.
pub const SUMMARY_TOKENS: u64 = 1024;

/// The most tokens of what is appended to a model's summary of `summary_tokens`, where the user names no number.
pub fn ledger_room(summary_tokens: u64) -> u64 {
    /// Has room for the user's last message and some rules.
    const LEAST: u64 = 200;
    (summary_tokens / 5).max(LEAST)
}

/// The name of the embedded summarizer.
pub const EXTRACTIVE: &str = "extractive";
/// The name of a summarizer that writes none.
pub const NOBODY: &str = "none";

/// Whether a name is that of no model, so that no request is needed.
pub fn is_no_model(name: &str) -> bool {
    [EXTRACTIVE, NOBODY].contains(&name)
}

/// The kinds of summarizers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SummarizerKind {
    /// None: a note takes the place of the removed messages.
    Off,
    /// The embedded summarizer.
    Embedded,
    /// A model behind an API.
    Model,
    /// A command.
    Command,
}

/// What to do when the summarizer fails for good.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OnError {
    /// The conversation fails.
    Fail,
    /// It stays unchanged.
    Passthrough,
    /// The embedded summarizer is used.
    Extractive,
    /// The error text takes the place of the summary; the history is lost.
    Embed,
}

/// Where the secrets of a conversation are masked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Redaction {
    /// Nowhere.
    Off,
    /// In what a summarizer is sent, in the summary, in texts that are cut, and in what is shown.
    Sent,
    /// In all that is written, too.
    All,
}

impl Redaction {
    /// Whether any secrets are masked.
    pub fn is_on(self) -> bool {
        self != Redaction::Off
    }
}

/// What the message in the place of a history says of the archive.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ArchiveNote {
    /// Nothing.
    Off,
    /// Where it is.
    Place,
    /// How to search it, and how to show its messages.
    Commands {
        /// Whether it is of several conversations.
        is_shared: bool,
    },
    /// A text of the user, in which `{archive}` is its path and `{id}` the id of the record.
    Text(String),
}

/// Which summaries are accepted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Accept {
    /// Summaries that are whole and smaller than the replaced messages: no JSON, web page or error.
    Smaller,
    /// All.
    Any,
}

/// What is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Emit {
    /// The transcript in its own format.
    Messages,
    /// The update of a `LangGraph` state.
    Update,
    /// The summary alone.
    Summary,
    /// The summary and the messages that stay, as plain text.
    Handoff,
}

/// Whether an archive has records, one per line, instead of text for reading.
pub fn is_lines(file: &Path) -> bool {
    archive_extension(file).is_some_and(|end| end.eq_ignore_ascii_case("jsonl"))
}

/// The extension of an archive's name, without that of its compression.
pub fn archive_extension(file: &Path) -> Option<&OsStr> {
    let last = file.extension()?;
    let is_packed = ["gz", "zst"].iter().any(|end| last.eq_ignore_ascii_case(end));
    if is_packed { Path::new(file.file_stem()?).extension() } else { Some(last) }
}

/// The model that summarizes, as far as it is known.
#[derive(Debug, Clone, Copy)]
pub struct SummarizerModel {
    /// The context window in tokens, where it is known.
    pub window: Option<u64>,
    /// How its tokens are counted, as far as that is known.
    pub counter: Counter,
    /// The requested size of a summary, in tokens.
    pub asked_tokens: u64,
    /// Tokens that it gets for reasoning before the answer.
    pub thought_tokens: u64,
    /// The longest answer that it can write, in tokens, where that is known.
    pub most_tokens: Option<u64>,
    /// The prices of input and of output in US dollars per million tokens, where they are known.
    pub prices: Option<(f64, f64)>,
}

impl SummarizerModel {
    /// The same model with the context window that its server named.
    #[must_use]
    pub fn within(self, window: u64) -> Self {
        let quarter = (window / 4).max(1);
        let (asked_tokens, thought_tokens) = (self.asked_tokens.min(quarter), self.thought_tokens.min(quarter));
        SummarizerModel { window: Some(window), asked_tokens, thought_tokens, ..self }
    }

    /// The cost of tokens: from the provider, or else from the table of models.
    pub fn billed(&self, usage: Usage) -> Billed {
        let by_table = Prices { writer: self.prices, ..Prices::default() }.of_summary(usage.input, usage.output);
        Billed {
            input_tokens: usage.input,
            output_tokens: usage.output,
            reasoning_tokens: usage.reasoning,
            cost_usd: usage.cost.or(by_table),
        }
    }
}
