//! Settings in layers: preset < config file < environment < flags. Each value knows its origin.
//!
//! A layer is a list of flags with their values. The values that no higher layer overrides are put between the command and
//! the words that were typed, and clap parses all of it again. So there is one place that gives values their meaning.

use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};

use anyhow::Result;
use clap::parser::ValueSource;
use clap::{ArgMatches, FromArgMatches, Parser};

use crate::cli::commands::{CommandName, HelpArguments};
use crate::cli::misplaced::resembling;
use crate::cli::{CompactArguments, NO_SUFFIX, When};
use crate::compact::is_no_model;
use crate::diagnostic::{Advice, Diagnostic, nearest};
use crate::exit::Failure;
use crate::presets::PRESETS;
use crate::settings::keys::{
    FlagKind, FlagValue, Origin, SettingKeys, SettingValue, kind, shown, wrong_name, wrong_value,
};
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
        let typed: Vec<String> = self.typed();
        let is_given =
            |flag: &str| typed.iter().any(|typed| typed == flag) || environment.iter().any(|given| given.flag == flag);
        if file.disabled.is_some() {
            file.values.clear();
            file.summary_prompt = None;
        } else if let Some(never) = file.never.take().filter(|_| !is_given("trigger")) {
            file.disabled = Some(never);
            file.summary_prompt = None;
            // The rest still determines how tokens are counted. A summarizer that cannot be used does no harm.
            file.values.retain(|given| given.unusable.is_none());
            file.values.iter_mut().for_each(|given| given.note = None);
        }
        let summary_prompt = file.summary_prompt.take().filter(|_| !is_given("prompt-file"));
        let above = self.merge(&typed, vec![environment.clone(), file.values.clone()]);
        let preset = self.preset(presets, &above)?;
        self.keys.check(&preset)?;
        let given = self.merge(&typed, vec![environment, file.values, preset]);
        if let Some((given, why)) = given.iter().find_map(|given| Some((given, given.unusable.as_ref()?))) {
            return Err(Failure::usage(format!("{}: {why}", given.source)).into());
        }
        // No output may replace the user's own file either, which is read where no other is named.
        let config = named.or_else(|| sources::users_own(&variable));
        self.combine(given, summary_prompt, file.disabled, config)
    }

    /// The flags on the command line.
    fn typed(&self) -> Vec<String> {
        let typed = self.keys.all().filter(|(_, arg)| self.is_typed(arg.get_id().as_str()));
        typed.map(|(name, _)| name.to_owned()).collect()
    }

    /// The first value of a flag on the command line.
    fn typed_value(&self, flag: &str) -> Option<String> {
        let id = self.keys.find(flag)?.get_id().as_str();
        let typed = Some(id).filter(|id| self.is_typed(id))?;
        self.matches.get_raw(typed)?.next()?.to_str().map(str::to_owned)
    }

    fn is_typed(&self, id: &str) -> bool {
        self.matches.value_source(id) == Some(ValueSource::CommandLine)
    }

    /// The flags of the preset that the highest layer names. `above` are the values of the layers between it and the
    /// command line.
    fn preset(&self, presets: Presets<'_>, above: &[SettingValue]) -> Result<Vec<SettingValue>> {
        let below = above.iter().find(|given| given.flag == "preset");
        let typed = self.typed_value("preset");
        let name = typed.as_ref().or(below.and_then(|given| given.value.texts().first()));
        let Some(name) = name else { return Ok(vec![]) };
        let value = |flag: &str| match self.typed_value(flag) {
            None => above.iter().find(|given| given.flag == flag)?.value.texts().first().cloned(),
            typed => typed,
        };
        let Some(rows) = presets(name, &value) else {
            let names: Vec<&str> = PRESETS.iter().map(|preset| preset.name).collect();
            let why = format!("there is no such preset; there are {}", names.join(", "));
            let diagnostic = Diagnostic::new(why).meant(nearest(name, names));
            return Err(match below.filter(|_| typed.is_none()) {
                None => wrong_name("preset", name, &diagnostic, "presets"),
                Some(given) => wrong_value(self.name, &given.source, "preset", name, &diagnostic),
            }
            .into());
        };
        let mut values: Vec<SettingValue> = Vec::new();
        // A command has only some of the flags.
        for (flag, text) in rows.into_iter().filter(|(flag, _)| self.keys.find(flag).is_some()) {
            match values.iter_mut().find(|given| given.flag == flag).map(|given| &mut given.value) {
                Some(FlagValue::Texts(texts)) => texts.push(text),
                _ => values.push(SettingValue::new(flag, FlagValue::Texts(vec![text]), Origin::Preset(name.clone()))),
            }
        }
        Ok(values)
    }

    /// Merges layers, the highest first, below the flags on the command line.
    fn merge(&self, typed: &[String], layers: Vec<Vec<SettingValue>>) -> Vec<SettingValue> {
        let names_who = |flags: &[String]| flags.iter().any(|flag| NAMES_SUMMARIZER.contains(&flag.as_str()));
        let (mut above, mut on) = (typed.to_vec(), typed.to_vec());
        let mut merged: Vec<SettingValue> = Vec::new();
        for layer in layers {
            let own: Vec<String> = layer.iter().map(|given| given.flag.clone()).collect();
            let for_another = names_who(&above) && names_who(&own);
            let set_aside = |given: &SettingValue| {
                above.contains(&given.flag)
                    || on.iter().any(|higher| self.keys.conflict(higher, &given.flag))
                    || for_another && SUMMARIZER.contains(&given.flag.as_str())
            };
            let layer: Vec<SettingValue> = layer.into_iter().filter(|given| !set_aside(given)).collect();
            on.extend(
                layer.iter().filter(|given| given.value != FlagValue::Switch(false)).map(|given| given.flag.clone()),
            );
            above.extend(own);
            merged.extend(layer);
        }
        self.without_inapplicable(merged)
    }

    /// Removes values that apply to nothing. On the command line they would be an error; in a layer they may apply
    /// another time.
    fn without_inapplicable(&self, mut merged: Vec<SettingValue>) -> Vec<SettingValue> {
        if self.name != CommandName::Compact {
            return merged;
        }
        let is_on = |flag: &str| {
            let of_layer = merged.iter().any(|given| given.flag == flag && given.value != FlagValue::Switch(false));
            self.is_typed(&flag.replace('-', "_")) || of_layer
        };
        let prints = is_on("dry-run") || self.typed_value("emit").as_deref() == Some("summary");
        let typed = self.typed_value("model");
        let below = merged.iter().find(|given| given.flag == "model").and_then(|given| given.value.texts().first());
        let model = typed.as_ref().or(below);
        let endpoint = !is_on("summarizer-cmd") && model.is_some_and(|model| !is_no_model(model));
        merged.retain(|given| match given.flag.as_str() {
            "json" => prints,
            "base-url" | "api-key-env" | "request-json" => endpoint,
            _ => true,
        });
        merged
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
            let below = given.iter().flat_map(SettingValue::words);
            let words = program.iter().cloned().chain(below).chain(rest.iter().cloned());
            self.matches = self.keys.command.try_get_matches_from_mut(words)?;
        }
        let arguments = self.arguments()?;
        let (mut notices, mut origins) = (Vec::new(), Vec::new());
        if self.matches.get_flag("verbose") {
            origins = origins_of(&self.keys, &given, &self.matches);
            origins.extend(summary_prompt.iter().map(|(_, name)| format!("the prompt is {name}")));
        }
        let (is_quiet, colour) = (self.matches.get_flag("quiet"), self.colour());
        if !is_quiet {
            notices.extend(given.iter().filter_map(|given| given.note.clone()));
        }
        let mut rules = rules(&self.keys, &self.matches);
        rules.extend(summary_prompt.iter().map(|(text, _)| text.as_str()));
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
    for (name, arg) in keys.all().filter(|(name, _)| !ASIDE.contains(name)) {
        let values: Vec<_> = matches.get_raw(arg.get_id().as_str()).into_iter().flatten().collect();
        rules.push_str(&format!("{name} = {values:?}\n"));
    }
    rules
}

/// A line for each value that is not a default.
fn origins_of(keys: &SettingKeys, given: &[SettingValue], matches: &ArgMatches) -> Vec<String> {
    let mut lines = Vec::new();
    for (name, arg) in keys.all().filter(|(name, _)| *name != "verbose") {
        let id = arg.get_id().as_str();
        let switch = kind(arg) == FlagKind::Switch;
        let texts = || {
            let raw = matches.get_raw(id).into_iter().flatten();
            // A flag alone reads as a file would give it.
            let text = |text: &OsStr| if text == NO_SUFFIX { "true".into() } else { shown(&text.to_string_lossy()) };
            raw.map(text).collect::<Vec<_>>().join(" ")
        };
        match (given.iter().find(|given| given.flag == name), matches.value_source(id)) {
            (Some(given), _) => lines.push(given.line()),
            (None, Some(ValueSource::CommandLine)) => {
                let value = if switch { "true".to_owned() } else { texts() };
                lines.push(format!("{name} = {value} (from --{name})"));
            }
            _ => {}
        }
    }
    lines
}

/// Adds the origin to an error about a flag that a layer gave.
pub(super) fn with_origin(given: &[SettingValue], error: anyhow::Error) -> anyhow::Error {
    let of_layer = |flag: &str| given.iter().find(|given| given.flag == flag);
    match error.downcast::<Failure>() {
        Ok(failure) => match failure.flag.and_then(of_layer) {
            Some(given) => failure.of(&given.source).into(),
            None => failure.into(),
        },
        Err(error) => error,
    }
}
