//! From flags and environment to what is to be done: every value checked before anything is read or asked for.
//!
//! [`layers`] says which value counts where several places give one; here is what the values mean together.

mod deerflow;
mod environment;
mod file;
mod keys;
pub mod layers;
mod names;
pub mod presets;
mod request_json;
pub mod summarizer;

use std::borrow::Cow;
use std::fs;
use std::path::{Component, Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::AtomicU64;

use anyhow::Result;

use crate::cli::{Accept, Arguments, Emit, OnError, When};
use crate::exit::Failure;
use crate::llm::Summarizer;
use crate::llm::cache::Cache;
use crate::plan::pins::Pin;
use crate::plan::size::Size;
use crate::plan::{self, Plan, Policy};
use crate::rewrite::arguments::Truncation;
use crate::rewrite::repair::Repair;
use crate::rewrite::thinking::{self, Removal, Thinking};
use crate::summary::prompt::Template;
use crate::summary::recipe::{Recipe, Trim};
use crate::sync::cores_of_machine;
use crate::tokens::Counter;
use crate::tokens::models::{self, Model};
use crate::transcript::Transcript;
use crate::transcript::formats::{Format, SummaryRole};
use crate::transcript::framing::Lines;
use crate::wording::reason;

use layers::Resolved;
use names::{find_model, from};
use presets::{Preset, Ways};
use summarizer::{
    SummarizerModel, asks, cache, in_table, ledger, preview, summarizer, summarizer_name, unencrypted, unknown,
    writer_provider,
};

/// What is to be done, in values that have been checked.
#[derive(Debug, Clone)]
pub struct Settings {
    /// Where the transcripts are: files, and directories to be searched; standard input if nothing.
    pub paths: Vec<PathBuf>,
    /// Their format, where the user said.
    pub from: Option<&'static dyn Format>,
    /// How its lines are read, where the user said.
    pub lines: Option<Lines>,
    /// The planner's rules, but for the smallest size of a summary, which depends on the format.
    pub policy: Policy,
    /// What becomes of signed thinking behind history that has changed.
    pub thinking: Thinking,
    /// How tokens are counted.
    pub counter: Counter,
    /// How a summary is asked for.
    pub recipe: Recipe,
    /// What a known system does besides.
    pub ways: Ways,
    /// The model that will read the result, where it is named.
    pub reader: Option<Model>,
    /// The context window of the model that summarizes, in tokens, where it is known.
    pub summarizer_window: Option<u64>,
    /// How old arguments of tools are cut.
    pub truncation: Option<Truncation>,
    /// Where what is cut away goes.
    pub archive: Option<PathBuf>,
    /// Whether the user said where.
    pub archive_chosen: bool,
    /// Who writes summaries.
    pub summarizer: Arc<Summarizer>,
    /// Whether the user said who.
    pub summarizer_chosen: bool,
    /// What they are called in a report.
    pub summarizer_name: String,
    /// What is known of the model that summarizes.
    pub writer: SummarizerModel,
    /// Tokens that facts may have which are appended to a model's summary.
    pub ledger: u64,
    /// Whether secrets are masked.
    pub redact: bool,
    /// Where summaries are kept.
    pub cache: Option<Cache>,
    /// Whether the cache is for lines of a stream only.
    pub cache_of_lines: bool,
    /// Where is told what became of each conversation.
    pub report: Option<PathBuf>,
    /// Where the page goes that shows what was done.
    pub html: Option<PathBuf>,
    /// Tokens that a conversation must lose to be drawn there: in a batch, as many as the largest that were drawn.
    pub least_drawn: Arc<AtomicU64>,
    /// The other files that the user names for reading.
    pub read_besides: Vec<PathBuf>,
    /// The prompt.
    pub template: Template,
    /// What the user gave it with, if it is not the built-in one.
    pub template_from: Option<&'static str>,
    /// How much of the end of the history the summarizer is sent, in tokens.
    pub trim_tokens: Option<u64>,
    /// The size of a summary, in tokens.
    pub summary_tokens: u64,
    /// The role of the summary message.
    pub summary_role: SummaryRole,
    /// What is done when the summarizer fails.
    pub on_error: OnError,
    /// Which summaries are taken.
    pub accept: Accept,
    /// Where results go.
    pub destination: Destination,
    /// How many conversations are worked on at once, where it is not as many as there are cores.
    pub jobs: Option<usize>,
    /// Leave out what an earlier run has finished.
    pub resume: bool,
    /// When progress is shown.
    pub progress: When,
    /// All that decides a result besides its input, as a text.
    pub rules: String,
    /// What is written.
    pub emit: Emit,
    /// How conversations are drawn, where they are to be.
    pub explain: Option<Explain>,
    /// Whether there is or could be more than one input, so that each is named; known when they are found.
    pub many: bool,
    /// Print what is taken away and put in instead of the result.
    pub diff: bool,
    /// Only print where the cut is.
    pub dry_run: bool,
    /// Show the summary too, and keep it for a real run.
    pub preview: bool,
    /// Print it as JSON.
    pub json: bool,
    /// Only look for breaches of the provider's rules.
    pub check: bool,
    /// How such breaches are mended, where they are.
    pub repair: Option<Repair>,
    /// Exit with 3 when nothing was compacted.
    pub exit_status: bool,
    /// Say nothing but errors.
    pub quiet: bool,
    /// Say what is decided and done.
    pub verbose: bool,
    /// Why nothing is to be done, where the config file says so.
    pub disabled: Option<String>,
    /// What is to be said of the settings themselves, a line each.
    pub said: Vec<String>,
}

/// How conversations are drawn.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Explain {
    /// A picture.
    Picture,
    /// A row in a table, where there are several.
    Table,
}

/// Where results go.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Destination {
    /// Standard output.
    Stdout,
    /// A file.
    File(PathBuf),
    /// Files of the same names in this directory.
    Folder(PathBuf),
    /// The files that they are made of, perhaps after a copy with this at the end of its name.
    InPlace(Option<String>),
}

impl Settings {
    /// Checks what the layers resolved to, reads the prompt file, and takes the key from the environment through
    /// `variable`.
    ///
    /// # Errors
    /// The first thing that cannot be used, by its flag and where that was given, and what to do instead.
    pub fn new(resolved: Resolved, variable: impl Fn(&str) -> Option<String>) -> Result<Self> {
        let Resolved { arguments, summary_prompt, disabled, said, given, rules } = resolved;
        let preview = preview(&arguments, &given);
        let asks = asks(&arguments, preview) && disabled.is_none();
        let settings = Self::checked(arguments, asks, summary_prompt, variable);
        let mut settings = settings.map_err(|error| layers::with_origin(&given, error))?;
        settings.rules = format!("{rules}{:?}\n{disabled:?}", settings.template);
        settings.said = said;
        settings.preview = preview;
        settings.disabled = disabled;
        if settings.policy.never() && settings.disabled.is_none() && !settings.quiet {
            settings.said.push(format!("{}; the transcript is left as it is", plan::NEVER));
        }
        if let Some(host) = unencrypted(&settings.summarizer).filter(|_| settings.disabled.is_none() && !settings.quiet)
        {
            settings.said.push(format!("the key goes to {host} unencrypted; an address with https:// is safer"));
        }
        if let Some(line) = unknown(&settings.summarizer_name, &settings.summarizer, settings.writer) {
            settings.said.extend(Some(line).filter(|_| asks && !settings.quiet));
        }
        if settings.template.has_no_place() && !settings.quiet {
            settings
                .said
                .push("the prompt has no {messages}, so that the summarizer is sent none of the history".to_owned());
        }
        Ok(settings)
    }

    /// The settings for one of several inputs: the presets that have an archive without being told have one for each.
    pub fn of_input(&self, path: Option<&Path>) -> Cow<'_, Settings> {
        if self.archive.is_none() || self.archive_chosen {
            return Cow::Borrowed(self);
        }
        Cow::Owned(Settings { archive: path.map(archive_among), ..self.clone() })
    }

    /// How many conversations are worked on at once.
    pub fn jobs(&self) -> usize {
        self.jobs.unwrap_or_else(cores_of_machine)
    }

    /// The thinking that goes from the messages which a plan has stay: none where it leaves their history as it was.
    pub fn thinking_removed(&self, transcript: &Transcript<'_>, plan: &Plan) -> Removal {
        if plan.cutoff == 0 {
            return Removal::default();
        }
        let staying = thinking::staying(transcript, plan);
        thinking::removal(transcript, staying, self.thinking, self.reader_name())
    }

    /// The name of the model that reads on, where the user says so.
    pub fn reader_name(&self) -> Option<&'static str> {
        self.reader.map(|model| model.name)
    }

    /// Whether there are no results to be written: something else is printed.
    pub fn only_looks(&self) -> bool {
        self.dry_run || self.check || self.diff
    }

    /// Whether anybody is told what a compaction saves.
    pub fn needs_costs(&self) -> bool {
        self.has_report() || self.verbose || self.preview
    }

    /// Whether what became of each conversation is to be told, in a report or on a page.
    pub fn has_report(&self) -> bool {
        self.report.is_some() || self.html.is_some()
    }

    /// Whether summaries are written by the embedded summarizer.
    pub fn embedded(&self) -> bool {
        matches!(*self.summarizer, Summarizer::Extractive)
    }

    fn checked(
        arguments: Arguments,
        asks: bool,
        summary_prompt: Option<(String, String)>,
        variable: impl Fn(&str) -> Option<String>,
    ) -> Result<Self> {
        let preset = arguments.preset.as_deref().and_then(presets::by_name).unwrap_or(&presets::OWN);
        let reader = arguments.for_model.as_deref().map(find_model).transpose()?;
        let writer = arguments.model.as_deref().and_then(|name| models::find(&in_table(name)).ok());
        // The systems of the presets know one model, which reads on and summarizes.
        let model = reader.or(writer.filter(|_| preset.ways.langchain));
        let context_window = arguments.context_window.or(model.map(|model| model.context_window));
        let triggers: Vec<Vec<Size>> = arguments.triggers.iter().map(|clause| clause.0.clone()).collect();
        check_fractions(&triggers, arguments.keep, context_window)?;
        check_pins(&arguments.pins)?;
        // In the presets of LangChain it means a fixed summary, without a request.
        if arguments.trim_tokens.0 == Some(0) && preset.recipe.trim == Trim::Own {
            let why = "--trim-tokens 0: the summarizer would be sent nothing; give 1 or more, or none";
            return Err(Failure::usage(why).into());
        }
        let counter = counter(arguments.counter, model, preset);
        let writer_window = writer.map(|writer| writer.context_window);
        let writer = SummarizerModel::new(&arguments, writer, counter);
        let (template, template_from) = template(&arguments, writer.asked_tokens, summary_prompt, &preset.recipe)?;
        let provider = model.map(|model| model.provider).or_else(|| writer_provider(&arguments));
        let archive = arguments.archive.clone();
        let archive = archive.or_else(|| preset.ways.files.then(|| archive_of(first_path(&arguments))));
        let (destination, jobs) = (destination(&arguments)?, jobs(&arguments));
        let budget = context_window.filter(|_| preset.ways.files).map(presets::input_budget);
        Ok(Settings {
            from: from(&arguments.from)?,
            summarizer: Arc::new(summarizer(&arguments, asks, &preset.recipe, variable)?),
            summarizer_name: summarizer_name(&arguments),
            writer,
            ledger: ledger(arguments.ledger, writer.asked_tokens),
            redact: arguments.redact,
            cache: cache(&arguments, asks)?,
            cache_of_lines: false,
            report: arguments.report.clone(),
            html: arguments.html.clone(),
            least_drawn: Arc::default(),
            reader,
            read_besides: arguments.prompt_file.iter().chain(&arguments.config).cloned().collect(),
            summarizer_chosen: arguments.model.is_some() || arguments.summarizer_cmd.is_some(),
            template,
            template_from,
            lines: arguments.lines,
            policy: Policy {
                triggers,
                budget,
                keep: arguments.keep,
                pins: arguments.pins,
                pairs: arguments.pairs,
                context_window,
                overhead_tokens: arguments.overhead_tokens,
                summary_prefix: prefix(arguments.summary_prefix.clone()),
                smallest_summary: 0,
                rules: preset.rules,
                provider,
            },
            thinking: arguments.thinking,
            counter,
            recipe: preset.recipe,
            // Who writes the words around a summary writes all of them.
            ways: Ways {
                fences: preset.ways.fences && arguments.summary_prefix == plan::SUMMARY_PREFIX,
                ..preset.ways
            },
            summarizer_window: arguments.context_window.or(writer_window).or(context_window),
            truncation: truncation(arguments.truncate_args, preset, context_window),
            archive_chosen: arguments.archive.is_some(),
            archive,
            destination,
            jobs,
            resume: arguments.resume,
            progress: arguments.progress,
            rules: String::new(),
            paths: arguments.paths,
            trim_tokens: arguments.trim_tokens.0,
            summary_tokens: arguments.summary_tokens,
            summary_role: arguments.summary_role,
            on_error: arguments.on_error,
            accept: arguments.accept,
            emit: arguments.emit,
            explain: arguments.explain.then_some(Explain::Picture),
            many: false,
            diff: arguments.diff,
            dry_run: arguments.dry_run,
            preview: false,
            json: arguments.json,
            check: arguments.check,
            repair: arguments.repair,
            exit_status: arguments.exit_status,
            quiet: arguments.quiet,
            verbose: arguments.verbose,
            disabled: None,
            said: vec![],
        })
    }
}

/// How tokens are counted: as the user says, or as the model that reads on counts.
fn counter(given: Option<Counter>, model: Option<Model>, preset: &Preset) -> Counter {
    let estimate = || match preset.ways.characters {
        Some(characters) => Counter::Approx(characters),
        None => model.map_or(Counter::DEFAULT, |model| model.estimate()),
    };
    let told = || model.map_or(Counter::DEFAULT, |model| model.counter());
    match given.unwrap_or_else(|| if preset.ways.langchain { estimate() } else { told() }) {
        Counter::Approx(characters) if preset.ways.repr_lists => Counter::ApproxRepr(characters),
        counter => counter,
    }
}

/// When arguments of tools are cut. `DeepAgents` has its own sizes for that and looks at two tools only.
fn truncation(longest: Option<u64>, preset: &Preset, context_window: Option<u64>) -> Option<Truncation> {
    let longest = usize::try_from(longest?).unwrap_or(usize::MAX);
    if !preset.ways.files {
        return Some(Truncation::before_the_cut(longest));
    }
    let sizes = match context_window {
        Some(_) => (Size::Fraction(0.85), Size::Fraction(0.1)),
        None => (Size::Messages(20), Size::Messages(20)),
    };
    Some(Truncation { tools: presets::WRITING_TOOLS, sizes: Some(sizes), ..Truncation::before_the_cut(longest) })
}

fn first_path(arguments: &Arguments) -> Option<&Path> {
    arguments.paths.first().map(PathBuf::as_path)
}

/// Where `DeepAgents` would keep the history of a conversation, seen from the folder it works in.
fn archive_of(path: Option<&Path>) -> PathBuf {
    let name = path.and_then(Path::file_stem).filter(|stem| *stem != "-").unwrap_or("session".as_ref());
    let mut file = name.to_owned();
    file.push(".md");
    Path::new("conversation_history").join(file)
}

/// The same for one of several conversations, whose names need not differ but for their folders.
fn archive_among(path: &Path) -> PathBuf {
    let folders = path.parent().into_iter().flat_map(Path::components);
    let named: PathBuf = folders.filter(|part| matches!(part, Component::Normal(_))).collect();
    let file = archive_of(Some(path));
    file.parent().unwrap_or(Path::new("")).join(named).join(file.file_name().unwrap_or_default())
}

/// Where results go, and whether they can go there at all.
fn destination(arguments: &Arguments) -> Result<Destination> {
    let destination = match (&arguments.output, &arguments.output_dir, &arguments.in_place) {
        (_, Some(folder), _) => Destination::Folder(folder.clone()),
        (_, _, Some(suffix)) => Destination::InPlace(Some(suffix.clone()).filter(|suffix| !suffix.is_empty())),
        (Some(file), ..) if file.as_os_str() != "-" => Destination::File(file.clone()),
        _ => Destination::Stdout,
    };
    let wrong = |message: &str| Err(Failure::usage(message).into());
    match &destination {
        Destination::InPlace(Some(suffix)) if suffix.contains(['/', '\\']) => {
            wrong(&format!("--in-place={suffix}: expected the end of a file name, as in --in-place=.bak"))
        }
        Destination::InPlace(_) if arguments.emit == Emit::Update => {
            wrong("--emit update: with --in-place it would take the place of the transcript; write it to --output-dir")
        }
        Destination::Stdout if arguments.resume => {
            wrong("--resume: it goes on with --output, --output-dir or --in-place; name one of them")
        }
        _ => Ok(destination),
    }
}

/// How many conversations are worked on at once, where that is said, or where others do the work.
fn jobs(arguments: &Arguments) -> Option<usize> {
    const OF_OTHERS: usize = 8;
    let asks = arguments.summarizer_cmd.is_some()
        || arguments.model.as_ref().is_some_and(|model| model != summarizer::EXTRACTIVE);
    let said = arguments.jobs.map(|jobs| usize::try_from(jobs).unwrap_or(1));
    said.or(asks.then_some(OF_OTHERS))
}

fn check_fractions(triggers: &[Vec<Size>], keep: Size, context_window: Option<u64>) -> Result<()> {
    let of_trigger = triggers.iter().flatten().map(|size| ("--trigger", *size));
    let fraction = of_trigger.chain([("--keep", keep)]).find(|(_, size)| matches!(size, Size::Fraction(_)));
    match (fraction, context_window) {
        (Some((flag, size)), None) => Err(Failure::usage(format!(
            "{flag} {size}: the context window is not known; name the model with --for or give --context-window"
        ))
        .try_next(format!("tcompact {flag} {size} --for gpt-4o"))
        .into()),
        _ => Ok(()),
    }
}

fn check_pins(pins: &[Pin]) -> Result<()> {
    if pins.len() > 1 && pins.iter().any(|pin| matches!(pin, Pin::None)) {
        return Err(Failure::usage("--pin none: it stands alone; leave it out or leave out the other --pin").into());
    }
    Ok(())
}

/// The prefix with the blank line after it, unless it brings its own end.
fn prefix(text: String) -> String {
    if text.is_empty() || text.ends_with(char::is_whitespace) { text } else { text + "\n\n" }
}

/// The prompt's template, and what gave it.
fn template(
    arguments: &Arguments,
    asked_tokens: u64,
    summary_prompt: Option<(String, String)>,
    recipe: &Recipe,
) -> Result<(Template, Option<&'static str>)> {
    if let Some((text, name)) = summary_prompt {
        let template = Template::parse(&text, recipe.template);
        return Ok((template.map_err(|what| Failure::usage(format!("{name} {what}")))?, Some("summary_prompt")));
    }
    let Some(path) = &arguments.prompt_file else {
        return Ok((Template::built_in(recipe.built_in, asked_tokens), None));
    };
    let text = fs::read_to_string(path).map_err(|error| {
        Failure::usage(format!("--prompt-file {} cannot be read: {}", path.display(), reason(&error)))
    })?;
    let template = Template::parse(text.trim_start_matches('\u{feff}'), recipe.template)
        .map_err(|what| Failure::usage(format!("--prompt-file {} {what}", path.display())))?;
    Ok((template, Some("--prompt-file")))
}
