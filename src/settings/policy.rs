//! The compaction policy from flags, preset and the table of models.

use std::fs;
use std::path::{Component, Path, PathBuf};
use std::time::Duration;

use anyhow::Result;

use crate::cli::{CompactArguments, Facts};
use crate::compact::{
    ArchiveNote, CompactionPolicy, Emit, Pruning, Redaction, SUMMARY_TOKENS, SummarizerKind, SummaryPolicy, is_lines,
    ledger_room,
};
use crate::diagnostic::Advice;
use crate::exit::{Exit, Failure};
use crate::interrupt;
use crate::llm::counting::CountingCommand;
use crate::plan::pins::Pin;
use crate::plan::size::Size;
use crate::plan::{self, CutPolicy};
use crate::presets::recipe::{Recipe, Trim};
use crate::presets::{self, Preset, SystemHabits};
use crate::prune::{Choice, chosen};
use crate::rewrite::arguments::Truncation;
use crate::summary::prompt::Template;
use crate::tokens::Counter;
use crate::tokens::models::{self, Model};
use crate::wording::reason;

use crate::settings::names::{NamedModel, find_model, in_table};
use crate::settings::summarizer::{summarizer_kind, summarizer_model, summarizer_name, writer_provider};

/// The policy of some arguments with a preset. `given` has the names of the flags that any layer gives.
///
/// # Errors
/// The first value that cannot be used, with its flag.
pub(super) fn policy(
    arguments: &CompactArguments,
    given: &[String],
    preset: &Preset,
    summary_prompt: Option<(String, String)>,
) -> Result<CompactionPolicy> {
    let models = Models::new(arguments, preset)?;
    let context_window = arguments.counting.context_window.or(models.known.map(|model| model.context_window));
    let is_chosen = |flag: &str| given.iter().any(|given| given == flag);
    let mut triggers: Vec<Vec<Size>> = arguments.triggers.iter().map(|clause| clause.0.clone()).collect();
    let mut fit = arguments.fit;
    // A known window gives the defaults.
    let has_sizes = is_chosen("keep") || is_chosen("fit") || is_chosen("trigger") || !preset.name.is_empty();
    let is_by_window = context_window.is_some() && !has_sizes;
    if is_by_window {
        (triggers, fit) = (vec![vec![Size::Fraction(0.85)]], Some(Size::Fraction(0.5)));
    }
    check_fractions(&triggers, arguments, fit, context_window)?;
    let pruning = pruning(arguments, fit, context_window)?;
    let counter = match &arguments.counting.counter_cmd {
        // A text is counted faster than a summary is written.
        Some(command) if is_chosen("timeout") => counted_by(command, arguments.timeout),
        Some(command) => counted_by(command, arguments.timeout.min(COUNTING_SECONDS)),
        None => counter(arguments, &models, preset),
    };
    let summary = summary_policy(arguments, preset, &models, counter, summary_prompt)?;
    let archive_note = archive_note(arguments, preset)?;
    let archive = match &arguments.archive {
        Some(archive) => Some(archive.clone()),
        None if preset.habits.files => Some(archive_of(first_path(arguments))),
        None => None,
    };
    let budget = match context_window {
        Some(window) if preset.habits.files => Some(presets::input_budget(window)),
        _ => None,
    };
    // The systems of the presets count only messages, and a text for a paste is sent without the rest.
    let sends_only_messages = !preset.name.is_empty() || arguments.emit == Emit::Handoff;
    let mut pins = vec![Pin::System];
    pins.extend(arguments.pins.iter().cloned());
    Ok(CompactionPolicy {
        cut: CutPolicy {
            triggers,
            budget,
            keep: arguments.keep,
            pins,
            typed: Vec::new(),
            pairs: arguments.pairs,
            context_window,
            overhead_tokens: match arguments.counting.overhead_tokens {
                None if sends_only_messages => Some(0),
                given => given,
            },
            // Someone who names a counter counts by it, and the systems of the presets compare by their own rules.
            recorded: preset.name.is_empty()
                && arguments.counting.counter_cmd.is_none()
                && matches!(arguments.counting.counter, None | Some(Counter::Recorded(_))),
            summary_prefix: prefix(arguments.summary_prefix.clone()),
            rules: preset.rules,
            provider: models.provider().or_else(|| writer_provider(arguments)),
        },
        counter,
        reader: models.reader,
        unlisted_reader: if models.reader.is_none() { arguments.for_model.clone() } else { None },
        truncation: truncation(arguments.truncate_args, preset, context_window)?,
        pruning,
        fit,
        is_by_window,
        keep_is_given: is_chosen("keep"),
        thinking: arguments.thinking,
        summary,
        redact: arguments.redact.unwrap_or(Redaction::Off),
        archive,
        archive_note,
        // A user who writes the words around a summary writes all of them.
        habits: SystemHabits {
            fences: preset.habits.fences && arguments.summary_prefix == plan::SUMMARY_PREFIX,
            ..preset.habits
        },
        emit: arguments.emit,
        disabled: None,
    })
}

/// The models that the arguments name, as far as the table has them.
struct Models {
    /// The model that reads the result.
    reader: Option<Model>,
    /// The provider and the counter of a reader that is not in the table.
    unlisted: Option<(&'static str, Counter)>,
    /// The model that writes the summary.
    writer: Option<Model>,
    /// The model whose window and counter apply.
    known: Option<Model>,
}

impl Models {
    fn new(arguments: &CompactArguments, preset: &Preset) -> Result<Self> {
        let (mut reader, mut unlisted) = (None, None);
        if let Some(name) = &arguments.for_model {
            match find_model("for", name)? {
                NamedModel::Listed(model) => reader = Some(model),
                NamedModel::Unlisted(provider, name) => {
                    unlisted = Some((provider.name, models::counter_of(provider.name, &name)));
                }
            }
        }
        let writer = match &arguments.model {
            Some(name) => models::find(&in_table(name)),
            None => None,
        };
        // The systems of the presets have one model, which reads the result and summarizes.
        let known = if preset.habits.langchain { reader.or(writer) } else { reader };
        Ok(Models { reader, unlisted, writer, known })
    }

    /// The provider of the model whose window and counter apply.
    fn provider(&self) -> Option<&'static str> {
        match (self.unlisted, self.known) {
            (Some((provider, _)), _) => Some(provider),
            (None, known) => Some(known?.provider),
        }
    }

    /// The counter of that model.
    fn counter(&self) -> Option<Counter> {
        match (self.unlisted, self.known) {
            (Some((_, counter)), _) => Some(counter),
            (None, known) => Some(known?.counter()),
        }
    }
}

/// The policy for summaries. `reader` is the counter of the reader of the result.
fn summary_policy(
    arguments: &CompactArguments,
    preset: &Preset,
    models: &Models,
    reader: Counter,
    summary_prompt: Option<(String, String)>,
) -> Result<SummaryPolicy> {
    // In the presets of LangChain, 0 means a fixed summary without a request.
    if arguments.trim_tokens.0 == Some(0) && preset.recipe.trim == Trim::Own {
        let why = "--trim-tokens 0: the summarizer would be sent nothing; give 1 or more, or none";
        return Err(Failure::usage(why).about("trim-tokens").into());
    }
    let model = summarizer_model(arguments, models.writer, reader);
    let tokens = arguments.summary_tokens.unwrap_or(SUMMARY_TOKENS);
    let focus = arguments.focus.as_deref().map(str::trim).filter(|focus| !focus.is_empty());
    let (template, template_from) = template(arguments, model.asked_tokens, summary_prompt, &preset.recipe, focus)?;
    let window = arguments.counting.context_window.or_else(|| Some(models.writer.or(models.known)?.context_window));
    Ok(SummaryPolicy {
        summarizer: summarizer_kind(arguments),
        name: summarizer_name(arguments),
        model,
        window,
        recipe: preset.recipe,
        template,
        template_from,
        focus: focus.map(str::to_owned),
        trim_tokens: arguments.trim_tokens.0,
        tokens,
        grows: arguments.summary_tokens.is_none() && arguments.preset.is_none(),
        role: arguments.summary_role,
        ledger: match arguments.ledger {
            Facts::On => ledger_room(tokens),
            Facts::Off => 0,
            Facts::Within(tokens) => tokens,
        },
        accept: arguments.accept,
        on_error: arguments.on_error,
    })
}

/// The counter: the user's, or that of the model that reads the result. The systems of the presets estimate by
/// characters, whichever model they have.
fn counter(arguments: &CompactArguments, models: &Models, preset: &Preset) -> Counter {
    let counter = match (arguments.counting.counter, models.counter()) {
        // The factor is that of the model, wherever it is known.
        (Some(Counter::Estimate(_)), Some(estimate @ Counter::Estimate(_))) => estimate,
        (Some(given), _) => given,
        (None, of_model) if preset.name.is_empty() => of_model.unwrap_or(Counter::DEFAULT),
        (None, _) => estimate_of(arguments, preset),
    };
    match counter {
        Counter::Approx(characters) if preset.habits.repr_lists => Counter::ApproxRepr(characters),
        Counter::Approx(characters) if preset.habits.langchain => Counter::ApproxContent(characters),
        counter => counter,
    }
}

/// The estimate of a preset's system. It has one model, which reads the result and summarizes.
fn estimate_of(arguments: &CompactArguments, preset: &Preset) -> Counter {
    if let Some(characters) = preset.habits.characters {
        return Counter::Approx(characters);
    }
    let name = arguments.for_model.as_deref().or(arguments.model.as_deref());
    name.map_or(Counter::APPROX, |name| models::approx_of(&in_table(name)))
}

/// How long a command may take to count a text, unless the user says, in seconds: one that loads a tokenizer is slow at
/// first.
const COUNTING_SECONDS: f64 = 20.0;

/// The counter of a command. Where it fails, the program ends at once: nothing that was counted wrong is shown, asked
/// or written anywhere.
fn counted_by(command: &str, timeout: f64) -> Counter {
    let command = CountingCommand::new(command.to_owned(), Duration::from_secs_f64(timeout));
    Counter::own(move |text| {
        command.count(text).unwrap_or_else(|why| interrupt::fail_now(Exit::SummarizerFailed, &why))
    })
}

fn pruning(arguments: &CompactArguments, fit: Option<Size>, context_window: Option<u64>) -> Result<Pruning> {
    let mut choices = arguments.prune.clone();
    if choices.is_empty() && fit.is_some() {
        choices.push(Choice::All);
    }
    let rules = chosen(&choices);
    if context_window.is_none()
        && let Some(rule) = rules.iter().find(|rule| rule.needs_window())
    {
        return Err(unknown_window("prune", &rule.to_string()));
    }
    Ok(Pruning { rules, except: arguments.prune_except.clone() })
}

/// When `DeepAgents` cuts the arguments of tools. It has its own sizes for that, and cuts those of two tools only.
/// Elsewhere a rule of `--prune` cuts arguments.
fn truncation(longest: Option<u64>, preset: &Preset, context_window: Option<u64>) -> Result<Option<Truncation>> {
    let Some(longest) = longest else { return Ok(None) };
    if !preset.habits.files {
        const FLAG: &str = "truncate-args";
        let rule = format!("arguments:{longest}");
        let failure =
            Failure::usage(format!("--{FLAG} {longest}: only --preset deepagents takes it; use --prune {rule}"));
        let advice =
            Advice::command(["--prune", &rule]).note("and remove it from a config file or a variable that sets it");
        return Err(failure.about(FLAG).try_next(advice).into());
    }
    let longest = usize::try_from(longest).unwrap_or(usize::MAX);
    let sizes = match context_window {
        Some(_) => (Size::Fraction(0.85), Size::Fraction(0.1)),
        None => (Size::Messages(20), Size::Messages(20)),
    };
    Ok(Some(Truncation { tools: presets::WRITING_TOOLS, sizes: Some(sizes), ..Truncation::before_the_cut(longest) }))
}

/// What the summary says of the archive. The messages of another system stay as that system writes them.
fn archive_note(arguments: &CompactArguments, preset: &Preset) -> Result<ArchiveNote> {
    let is_own = preset.name.is_empty();
    match &arguments.archive_note {
        Some(_) if preset.habits.files => {
            let message =
                format!("--archive-note: the summaries of --preset {} name their archive themselves", preset.name);
            Err(Failure::usage(message).about("archive-note").into())
        }
        Some(note) => Ok(note.clone()),
        None if is_own && arguments.archive.as_deref().is_some_and(is_lines) => {
            let is_shared = arguments.paths.len() > 1 || first_path(arguments).is_some_and(Path::is_dir);
            Ok(ArchiveNote::Commands { is_shared })
        }
        None => Ok(ArchiveNote::Place),
    }
}

fn first_path(arguments: &CompactArguments) -> Option<&Path> {
    arguments.paths.first().map(PathBuf::as_path)
}

/// Where `DeepAgents` would keep the history of a conversation, relative to its working directory.
fn archive_of(path: Option<&Path>) -> PathBuf {
    let name = path.and_then(Path::file_stem).filter(|stem| *stem != "-").unwrap_or("session".as_ref());
    let mut file = name.to_owned();
    file.push(".md");
    Path::new("conversation_history").join(file)
}

/// Where it would keep the history of one of several inputs, whose names may differ only in their folders.
pub(crate) fn archive_among(path: &Path) -> PathBuf {
    let mut folders = PathBuf::new();
    if let Some(parent) = path.parent() {
        folders.extend(parent.components().filter(|part| matches!(part, Component::Normal(_))));
    }
    let file = archive_of(Some(path));
    file.parent().unwrap_or(Path::new("")).join(folders).join(file.file_name().unwrap_or_default())
}

fn check_fractions(
    triggers: &[Vec<Size>],
    arguments: &CompactArguments,
    fit: Option<Size>,
    context_window: Option<u64>,
) -> Result<()> {
    if context_window.is_some() {
        return Ok(());
    }
    let mut sizes: Vec<(&str, Size)> = Vec::new();
    for size in triggers.iter().flatten() {
        sizes.push(("trigger", *size));
    }
    sizes.push(("keep", arguments.keep));
    if let Some(size) = fit {
        sizes.push(("fit", size));
    }
    for (flag, size) in sizes {
        if matches!(size, Size::Fraction(_)) {
            return Err(unknown_window(flag, &size.to_string()));
        }
    }
    for pin in &arguments.pins {
        if let Pin::User(Some(size @ Size::Fraction(_))) = pin {
            return Err(unknown_window("pin", &format!("user:{size}")));
        }
    }
    Ok(())
}

/// The error that a fraction needs a known context window.
fn unknown_window(flag: &'static str, value: &str) -> anyhow::Error {
    Failure::usage(format!(
        "--{flag} {value}: the context window is not known; name the model with --for or give --context-window"
    ))
    .about(flag)
    .try_next(Advice::command([&format!("--{flag}"), value, "--for", "gpt-4o"]))
    .into()
}

/// The prefix with a blank line after it, unless it ends with white space.
fn prefix(text: String) -> String {
    if text.is_empty() || text.ends_with(char::is_whitespace) { text } else { text + "\n\n" }
}

/// The template of the prompt, and the setting that it comes from.
fn template(
    arguments: &CompactArguments,
    asked_tokens: u64,
    summary_prompt: Option<(String, String)>,
    recipe: &Recipe,
    focus: Option<&str>,
) -> Result<(Template, Option<&'static str>)> {
    if focus.is_some() && summarizer_kind(arguments) == SummarizerKind::Off {
        let why = "--focus: --model none writes no summary; leave one of them out";
        return Err(Failure::usage(why).about("focus").into());
    }
    let is_embedded = summarizer_kind(arguments) == SummarizerKind::Embedded;
    if let Some((text, name)) = summary_prompt {
        let template = checked_template(&name, &text, recipe, focus, is_embedded)?;
        return Ok((template, Some("summary_prompt")));
    }
    let Some(path) = &arguments.prompt_file else {
        return Ok((Template::built_in(recipe.built_in, asked_tokens, focus), None));
    };
    let name = format!("--prompt-file {}", path.display());
    let text = match fs::read_to_string(path) {
        Ok(text) => text,
        Err(error) => {
            let message = format!("{name} cannot be read: {}", reason(&error));
            return Err(Failure::usage(message).about("prompt-file").into());
        }
    };
    let text = text.trim_start_matches('\u{feff}');
    match checked_template(&name, text, recipe, focus, is_embedded) {
        Ok(template) => Ok((template, Some("--prompt-file"))),
        Err(failure) => Err(failure.about("prompt-file").into()),
    }
}

/// The template in a text. `name` names the text for errors.
fn checked_template(
    name: &str,
    text: &str,
    recipe: &Recipe,
    focus: Option<&str>,
    is_embedded: bool,
) -> Result<Template, Failure> {
    let template = match Template::parse(text, recipe.template, focus) {
        Ok(template) => template,
        Err(what) => return Err(Failure::usage(format!("{name} {what}"))),
    };
    // The embedded summarizer knows the focus without a prompt, a model only by it.
    if focus.is_none() || is_embedded {
        return Ok(template);
    }
    match Template::parse(text, recipe.template, None) {
        Ok(unfocused) if unfocused.around() != template.around() => Ok(template),
        _ => {
            let why = format!("--focus: {name} has no {{focus}}, which is where it goes; leave one of them out");
            Err(Failure::usage(why))
        }
    }
}
