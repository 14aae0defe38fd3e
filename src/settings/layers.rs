//! Settings in layers: preset < config file < environment < flags. Each value knows its origin.
//!
//! A layer is a list of flags with their values. The values that no higher layer overrides are put between the command and
//! the words that were typed, and clap parses all of it again. So there is one place that gives values their meaning.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use anyhow::Result;
use clap::parser::ValueSource;
use clap::{Arg, ArgMatches, FromArgMatches, Parser};

use crate::cli::commands::{CommandName, HelpArguments};
use crate::cli::misplaced::resembling;
use crate::cli::{CompactArguments, NO_SUFFIX, When};
use crate::compact::is_no_model;
use crate::diagnostic::{Advice, Diagnostic, nearest};
use crate::exit::Failure;
use crate::presets::PRESETS;
use crate::settings::keys::{FlagKind, FlagValue, Origin, SettingKeys, SettingValue, kind, shown, wrong_value};
use crate::settings::names::wrong_name;
use crate::settings::sources;

/// The flags of a preset: long names and values, one pair for each time a flag is given. They may depend on the higher
/// layers: the inner function returns the first value of a flag there.
pub(crate) type Presets<'p> = &'p dyn Fn(&str, &dyn Fn(&str) -> Option<String>) -> Option<Vec<(&'static str, String)>>;

/// The flags for a summarizer and its endpoint. A layer's key, address or parameters belong to the model of that layer:
/// they must never reach a model that a higher layer names.
const SUMMARIZER: [&str; 5] = ["model", "summarizer-cmd", "base-url", "api-key-env", "request-json"];
/// The flags among these that name a summarizer.
const NAMES_SUMMARIZER: [&str; 2] = ["model", "summarizer-cmd"];

/// The flags that do not determine a result.
const ASIDE: [&str; 21] = [
    "output",
    "output-dir",
    "in-place",
    "report",
    "html",
    "dry-run",
    "explain",
    "diff",
    "json",
    "jobs",
    "resume",
    "exit-status",
    "quiet",
    "verbose",
    "color",
    "progress",
    "api-key-env",
    "cache",
    "timeout",
    "retries",
    "rate",
];

/// The command line, parsed on its own.
#[derive(Debug)]
pub struct CommandLine {
    pub(crate) name: CommandName,
    pub(super) keys: SettingKeys,
    matches: ArgMatches,
    /// The words that the command parses: the name of the program, and what stands behind the name of the command.
    words: Vec<OsString>,
}

/// The arguments of all layers together.
#[derive(Debug)]
pub struct Resolved<A = CompactArguments> {
    /// The arguments, as if all were typed.
    pub arguments: A,
    /// The text of a prompt in the config file, and its name for errors.
    pub(crate) summary_prompt: Option<(String, String)>,
    /// Why compaction is disabled.
    pub(crate) disabled: Option<String>,
    /// Notes on the settings for the user.
    pub(crate) notices: Vec<String>,
    /// The origin of each setting that is not a default; only with `--verbose`.
    pub(crate) origins: Vec<String>,
    /// The values that come from a layer, not from the command line.
    pub(super) given: Vec<SettingValue>,
    /// The values of all flags that determine a result, a line each.
    pub(super) rules: String,
    /// The flags that the command line or a layer gives.
    pub(super) chosen: Vec<String>,
    /// The file of the settings that was read, or would be.
    pub(super) config: Option<PathBuf>,
    /// Whether only errors are reported.
    pub(super) is_quiet: bool,
    /// When to colour messages.
    pub(super) colour: When,
}

impl<A> Resolved<A> {
    /// The same with other arguments.
    pub(super) fn map<B>(self, change: fn(A) -> B) -> Resolved<B> {
        Resolved {
            arguments: change(self.arguments),
            summary_prompt: self.summary_prompt,
            disabled: self.disabled,
            notices: self.notices,
            origins: self.origins,
            given: self.given,
            rules: self.rules,
            chosen: self.chosen,
            config: self.config,
            is_quiet: self.is_quiet,
            colour: self.colour,
        }
    }
}

impl CommandLine {
    /// Parses the words of the command line, with the program's name first.
    ///
    /// # Errors
    /// An error of clap, which may be the help that the user asked for; or there is no command to help with.
    pub fn parse(words: impl IntoIterator<Item = OsString>) -> Result<Self> {
        let mut words: Vec<OsString> = words.into_iter().collect();
        let mut name = CommandName::of_words(words.get(1..).unwrap_or_default());
        if name != CommandName::Compact {
            words.remove(1);
        }
        if name == CommandName::Help {
            let named = HelpArguments::try_parse_from(&words)?.command;
            name = named.as_deref().map_or(Ok(CommandName::Compact), command_of_help)?;
            words.truncate(1);
            words.push("--help".into());
        }
        let mut keys = SettingKeys::of(name);
        let matches = keys.command.try_get_matches_from_mut(&words)?;
        Ok(CommandLine { name, keys, matches, words })
    }

    /// The arguments without any other layer.
    ///
    /// # Errors
    /// The arguments are of another command.
    pub fn arguments<A: FromArgMatches>(&mut self) -> Result<A, clap::Error> {
        A::from_arg_matches(&self.matches).map_err(|error| error.format(&mut self.keys.command))
    }

    /// The words that were typed, with the name of the program first.
    pub(super) fn typed_words(&self) -> Vec<String> {
        self.words.iter().map(|word| word.to_string_lossy().into_owned()).collect()
    }

    /// The paths that were typed.
    pub(super) fn paths(&self) -> Vec<PathBuf> {
        let mut paths = Vec::new();
        for id in ["paths", "path"] {
            if let Ok(Some(typed)) = self.matches.try_get_many::<PathBuf>(id) {
                paths.extend(typed.cloned());
            }
        }
        paths
    }

    /// Whether a flag was typed, of those that the command has.
    pub(super) fn is_given(&self, flag: &str) -> bool {
        let arg = self.keys.command.get_arguments().find(|arg| arg.get_long() == Some(flag));
        arg.is_some_and(|arg| self.is_typed(arg.get_id().as_str()))
    }

    /// The value of a flag that was typed, as it was typed.
    pub(super) fn typed_text(&self, flag: &str) -> Option<String> {
        if !self.is_given(flag) {
            return None;
        }
        let arg = self.keys.command.get_arguments().find(|arg| arg.get_long() == Some(flag))?;
        self.matches.get_raw(arg.get_id().as_str())?.next()?.to_str().map(str::to_owned)
    }

    /// The same with a path in the place of a flag with its value.
    pub(super) fn with_path(mut self, flag: &str, path: &Path) -> Result<Self> {
        let flag = format!("--{flag}");
        let joined = format!("{flag}=");
        if let Some(at) = self.words.iter().position(|word| *word == *flag) {
            self.words.drain(at..self.words.len().min(at + 2));
        }
        self.words.retain(|word| !word.to_string_lossy().starts_with(&joined));
        self.words.push(path.into());
        self.parsed_again()
    }

    /// The same with more words in front.
    pub(super) fn with_words(mut self, words: Vec<OsString>) -> Result<Self> {
        self.words.splice(1..1, words);
        self.parsed_again()
    }

    fn parsed_again(mut self) -> Result<Self> {
        self.matches = self.keys.command.try_get_matches_from_mut(&self.words)?;
        Ok(self)
    }

    /// What `--color` says on the command line.
    pub(super) fn colour(&self) -> When {
        self.matches.get_one("color").copied().unwrap_or(When::Auto)
    }

    /// Adds the other layers.
    ///
    /// # Errors
    /// A layer cannot be read; or the first value in one that cannot be used, with its origin.
    pub fn resolve<A: FromArgMatches>(
        mut self,
        presets: Presets<'_>,
        variable: impl Fn(&str) -> Option<OsString>,
    ) -> Result<Resolved<A>> {
        let environment = sources::read_environment(&self.keys, &variable)?;
        let named = self.matches.get_one::<PathBuf>("config").cloned();
        let mut file = sources::read_file(named.as_deref(), &self.keys, &variable)?;
        self.keys.check(&environment)?;
        self.keys.check(&file.values)?;
        let typed = self.typed();
        let is_triggered = typed.iter().any(|flag| flag == "trigger") || value_of(&environment, "trigger").is_some();
        if file.disabled.is_some() {
            file.values.clear();
            file.summary_prompt = None;
        } else if let Some(never) = file.never.take()
            && !is_triggered
        {
            file.disabled = Some(never);
            file.summary_prompt = None;
            // The rest still determines how tokens are counted. A summarizer that cannot be used does no harm.
            file.values.retain(|given| given.unusable.is_none());
            for given in &mut file.values {
                given.note = None;
            }
        }
        if typed.iter().any(|flag| flag == "prompt-file") || value_of(&environment, "prompt-file").is_some() {
            file.summary_prompt = None;
        }
        let above = self.merge(&typed, vec![environment.clone(), file.values.clone()]);
        let preset = self.preset(presets, &above)?;
        self.keys.check(&preset)?;
        let given = self.merge(&typed, vec![environment, file.values, preset]);
        for given in &given {
            if let Some(why) = &given.unusable {
                return Err(Failure::usage(format!("{}: {why}", given.source)).into());
            }
        }
        // No output may replace the user's own file either, which is read where no other is named.
        let config = named.or_else(|| sources::users_own(&variable));
        self.combine(given, file.summary_prompt, file.disabled, config)
    }

    /// The flags on the command line.
    fn typed(&self) -> Vec<String> {
        let mut typed = Vec::new();
        for (name, arg) in self.keys.all() {
            if self.is_typed(arg.get_id().as_str()) {
                typed.push(name.to_owned());
            }
        }
        typed
    }

    /// The first value of a flag on the command line.
    fn typed_value(&self, flag: &str) -> Option<String> {
        let id = self.keys.find(flag)?.get_id().as_str();
        if !self.is_typed(id) {
            return None;
        }
        self.matches.get_raw(id)?.next()?.to_str().map(str::to_owned)
    }

    fn is_typed(&self, id: &str) -> bool {
        self.matches.value_source(id) == Some(ValueSource::CommandLine)
    }

    /// The flags of the preset that the highest layer names. `above` are the values of the layers between it and the
    /// command line.
    fn preset(&self, presets: Presets<'_>, above: &[SettingValue]) -> Result<Vec<SettingValue>> {
        let below = value_of(above, "preset");
        let typed = self.typed_value("preset");
        let name = match (&typed, below) {
            (Some(name), _) => name,
            (None, Some(given)) => match given.value.texts().first() {
                Some(name) => name,
                None => return Ok(vec![]),
            },
            (None, None) => return Ok(vec![]),
        };
        let Some(rows) = presets(name, &|flag| self.first_text(flag, above)) else {
            let names: Vec<&str> = PRESETS.iter().map(|preset| preset.name).collect();
            let why = format!("there is no such preset; there are {}", names.join(", "));
            let diagnostic = Diagnostic::new(why).meant(nearest(name, names));
            return Err(match (&typed, below) {
                (None, Some(given)) => wrong_value(self.name, &given.source, "preset", name, &diagnostic),
                _ => wrong_name("preset", name, &diagnostic, "presets"),
            }
            .into());
        };
        let mut values: Vec<SettingValue> = Vec::new();
        for (flag, text) in rows {
            if self.keys.find(flag).is_none() {
                // A command has only some of the flags.
                continue;
            }
            match values.iter_mut().find(|given| given.flag == flag) {
                Some(SettingValue { value: FlagValue::Texts(texts), .. }) => texts.push(text),
                _ => values.push(SettingValue::new(flag, FlagValue::Texts(vec![text]), Origin::Preset(name.clone()))),
            }
        }
        Ok(values)
    }

    /// The first value of a flag: on the command line, or else in the layers below it.
    fn first_text(&self, flag: &str, below: &[SettingValue]) -> Option<String> {
        if let Some(typed) = self.typed_value(flag) {
            return Some(typed);
        }
        value_of(below, flag)?.value.texts().first().cloned()
    }

    /// Merges layers, the highest first, below the flags on the command line.
    fn merge(&self, typed: &[String], layers: Vec<Vec<SettingValue>>) -> Vec<SettingValue> {
        // The flags that a higher layer gives, and those of them that are not switched off.
        let (mut above, mut on) = (typed.to_vec(), typed.to_vec());
        let mut merged: Vec<SettingValue> = Vec::new();
        for layer in layers {
            let flags_of_layer: Vec<String> = layer.iter().map(|given| given.flag.clone()).collect();
            let is_for_another = names_summarizer(&above) && names_summarizer(&flags_of_layer);
            let mut on_in_layer = Vec::new();
            for given in layer {
                let is_overridden = above.contains(&given.flag)
                    || on.iter().any(|higher| self.keys.conflict(higher, &given.flag))
                    || is_for_another && SUMMARIZER.contains(&given.flag.as_str());
                if is_overridden {
                    continue;
                }
                if given.is_on() {
                    on_in_layer.push(given.flag.clone());
                }
                merged.push(given);
            }
            on.extend(on_in_layer);
            above.extend(flags_of_layer);
        }
        self.without_inapplicable(merged)
    }

    /// Removes values that apply to nothing. On the command line they would be an error; in a layer they may apply
    /// another time.
    fn without_inapplicable(&self, mut merged: Vec<SettingValue>) -> Vec<SettingValue> {
        if self.name != CommandName::Compact {
            return merged;
        }
        let prints = self.is_on("dry-run", &merged) || self.typed_value("emit").as_deref() == Some("summary");
        let asks_endpoint = match self.first_text("model", &merged) {
            Some(model) => !is_no_model(&model) && !self.is_on("summarizer-cmd", &merged),
            None => false,
        };
        merged.retain(|given| match given.flag.as_str() {
            "json" => prints,
            "base-url" | "api-key-env" | "request-json" => asks_endpoint,
            _ => true,
        });
        merged
    }

    /// Whether a flag is on: on the command line, or in the layers below it.
    fn is_on(&self, flag: &str, below: &[SettingValue]) -> bool {
        self.is_typed(&flag.replace('-', "_")) || below.iter().any(|given| given.flag == flag && given.is_on())
    }

    fn combine<A: FromArgMatches>(
        mut self,
        given: Vec<SettingValue>,
        summary_prompt: Option<(String, String)>,
        disabled: Option<String>,
        config: Option<PathBuf>,
    ) -> Result<Resolved<A>> {
        if !given.is_empty() {
            let (program, rest) = self.words.split_at(self.words.len().min(1));
            let mut words = program.to_vec();
            words.extend(given.iter().flat_map(SettingValue::words));
            words.extend_from_slice(rest);
            self.matches = self.keys.command.try_get_matches_from_mut(words)?;
        }
        let arguments = self.arguments()?;
        let mut rules = rules(&self.keys, &self.matches);
        let mut origins = Vec::new();
        let is_verbose = self.matches.get_flag("verbose");
        if is_verbose {
            origins = origins_of(&self.keys, &given, &self.matches);
        }
        if let Some((text, name)) = &summary_prompt {
            rules.push_str(text);
            if is_verbose {
                origins.push(format!("the prompt is {name}"));
            }
        }
        let mut notices = Vec::new();
        let is_quiet = self.matches.get_flag("quiet");
        if !is_quiet {
            notices.extend(given.iter().filter_map(|given| given.note.clone()));
        }
        let colour = self.colour();
        let chosen = self.typed();
        Ok(Resolved {
            arguments,
            summary_prompt,
            disabled,
            notices,
            origins,
            given,
            rules,
            chosen,
            config,
            is_quiet,
            colour,
        })
    }
}

/// The value that the first of some layers has for a flag.
fn value_of<'v>(values: &'v [SettingValue], flag: &str) -> Option<&'v SettingValue> {
    values.iter().find(|given| given.flag == flag)
}

/// Whether flags name a summarizer.
fn names_summarizer(flags: &[String]) -> bool {
    flags.iter().any(|flag| NAMES_SUMMARIZER.contains(&flag.as_str()))
}

/// The command that `help` is asked about.
fn command_of_help(word: &str) -> Result<CommandName, Failure> {
    let names = CommandName::NAMED.map(CommandName::word);
    match CommandName::of_word(word.as_ref()) {
        Some(CommandName::Help) => Ok(CommandName::Compact),
        Some(name) => Ok(name),
        None => {
            let why = format!("there is no command {word}; there are {}", names.join(", "));
            let diagnostic = Diagnostic::new("").meant(resembling(word).map(CommandName::word));
            let advice = match diagnostic.corrected(word) {
                Some(meant) => Advice::command(["help".to_owned(), meant]),
                None => Advice::command(["--help"]),
            };
            Err(Failure::usage(why).showing(word, &diagnostic).try_next(advice))
        }
    }
}

/// The values of all flags that determine a result, and the version of the program.
fn rules(keys: &SettingKeys, matches: &ArgMatches) -> String {
    let mut rules = format!("tcompact {}\n", env!("CARGO_PKG_VERSION"));
    if keys.name != CommandName::Compact {
        rules.push_str(&format!("{}\n", keys.name.word()));
    }
    for (name, arg) in keys.all() {
        if !ASIDE.contains(&name) {
            let values: Vec<_> = matches.get_raw(arg.get_id().as_str()).into_iter().flatten().collect();
            rules.push_str(&format!("{name} = {values:?}\n"));
        }
    }
    rules
}

/// A line for each value that is not a default.
fn origins_of(keys: &SettingKeys, given: &[SettingValue], matches: &ArgMatches) -> Vec<String> {
    let mut lines = Vec::new();
    for (name, arg) in keys.all() {
        if name == "verbose" {
            continue;
        }
        if let Some(given) = value_of(given, name) {
            lines.push(given.line());
        } else if matches.value_source(arg.get_id().as_str()) == Some(ValueSource::CommandLine) {
            lines.push(format!("{name} = {} (from --{name})", typed_values(arg, matches)));
        }
    }
    lines
}

/// The values of a flag on the command line, as a file would give them.
fn typed_values(arg: &Arg, matches: &ArgMatches) -> String {
    if kind(arg) == FlagKind::Switch {
        return "true".to_owned();
    }
    let mut texts = Vec::new();
    for text in matches.get_raw(arg.get_id().as_str()).into_iter().flatten() {
        // A flag alone reads as a file would give it.
        texts.push(if text == NO_SUFFIX { "true".to_owned() } else { shown(&text.to_string_lossy()) });
    }
    texts.join(" ")
}

/// Adds the origin to an error about a flag that a layer gave.
pub(super) fn with_origin(given: &[SettingValue], error: anyhow::Error) -> anyhow::Error {
    let failure = match error.downcast::<Failure>() {
        Ok(failure) => failure,
        Err(error) => return error,
    };
    if let Some(flag) = failure.flag
        && let Some(given) = value_of(given, flag)
    {
        return failure.of(&given.source).into();
    }
    failure.into()
}
