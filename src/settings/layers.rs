//! Settings in layers: preset < config file < environment < flags, each value knowing where it came from.
//!
//! A layer is a list of flags with their values. What the layers give and no higher one overrides is put in front of the
//! command line, which is then understood once more; so there is one place where values get their meaning.

use std::ffi::OsString;

use anyhow::Result;
use clap::parser::ValueSource;
use clap::{ArgMatches, FromArgMatches};

use crate::cli::{self, Arguments};
use crate::compact::{Emit, is_no_model};
use crate::diagnostic::{Diagnostic, nearest};
use crate::exit::Failure;
use crate::settings::keys::{FlagKind, Keys, kind};
use crate::settings::presets::PRESETS;
use crate::settings::value::{ConfigFile, FlagValue, Origin, SettingValue, shown};
use crate::settings::{environment, file};

/// What a preset called so gives for flags, long names and values, a pair for each time a flag is given. It may depend on
/// what the layers above give: a flag's first value.
pub(crate) type Presets<'p> = &'p dyn Fn(&str, &dyn Fn(&str) -> Option<String>) -> Option<Vec<(&'static str, String)>>;

/// Who summarizes, and how it is reached. A key, an address or parameters that a layer gives for its own model are for that
/// model alone: they must never meet a model that a higher layer names.
const SUMMARIZER: [&str; 5] = ["model", "summarizer-cmd", "base-url", "api-key-env", "request-json"];
/// Of these, those that say who.
const WHO: [&str; 2] = ["model", "summarizer-cmd"];

/// What the user typed, understood by itself.
#[derive(Debug)]
pub(crate) struct CommandLine {
    /// The arguments without any other layer.
    pub(crate) arguments: Arguments,
    keys: Keys,
    matches: ArgMatches,
    words: Vec<OsString>,
}

/// The arguments of all layers together.
#[derive(Debug)]
pub(crate) struct Resolved {
    /// The arguments, as if all had been typed.
    pub(crate) arguments: Arguments,
    /// A prompt's text that the config file holds, and what it is called in an error.
    pub(crate) summary_prompt: Option<(String, String)>,
    /// Why nothing is to be done.
    pub(crate) disabled: Option<String>,
    /// What the user should know of the settings.
    pub(crate) said: Vec<String>,
    /// Where each setting that is no default comes from, if that is wanted.
    pub(crate) origins: Vec<String>,
    /// What is not typed but given by a layer.
    pub(super) given: Vec<SettingValue>,
    /// The values of all flags that decide what becomes of a transcript, a line each.
    pub(super) rules: String,
    /// The flags that any layer gives.
    pub(super) chosen: Vec<String>,
}

/// Flags that do not decide what becomes of a transcript.
const UNDECIDING: [&str; 23] = [
    "api-key-env",
    "cache",
    "check",
    "color",
    "count",
    "diff",
    "dry-run",
    "exit-status",
    "explain",
    "html",
    "in-place",
    "jobs",
    "json",
    "output",
    "output-dir",
    "progress",
    "quiet",
    "rate",
    "report",
    "resume",
    "retries",
    "timeout",
    "verbose",
];

impl CommandLine {
    /// Understands the words of the command line, the program's name first.
    ///
    /// # Errors
    /// Clap's own, which may be help that was asked for.
    pub(crate) fn parse(words: impl IntoIterator<Item = OsString>) -> Result<Self, clap::Error> {
        let words: Vec<OsString> = words.into_iter().collect();
        let mut command = cli::command();
        let matches = command.try_get_matches_from_mut(&words)?;
        let arguments = Arguments::from_arg_matches(&matches).map_err(|error| error.format(&mut command))?;
        Ok(CommandLine { arguments, keys: Keys::new(command), matches, words })
    }

    /// Puts the other layers below.
    ///
    /// # Errors
    /// A layer that cannot be read, or the first value in one that cannot be used, by where it stands.
    pub(crate) fn resolve(
        mut self,
        presets: Presets<'_>,
        variable: impl Fn(&str) -> Option<OsString>,
    ) -> Result<Resolved> {
        let environment = environment::read(&self.keys, &variable)?;
        let mut file = file::read(self.arguments.config.as_deref(), &self.keys, &variable)?;
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
            // The rest still decides how tokens are counted. A summarizer that cannot be asked does no harm.
            file.values.retain(|given| given.unusable.is_none());
        }
        let summary_prompt = file.summary_prompt.take().filter(|_| !is_given("prompt-file"));
        let preset = self.preset(presets, &environment, &file)?;
        self.keys.check(&preset)?;
        let given = self.merge(typed, [environment, file.values, preset]);
        if let Some((given, why)) = given.iter().find_map(|given| Some((given, given.unusable.as_ref()?))) {
            return Err(Failure::usage(format!("{}: {why}", given.source)).into());
        }
        self.together(given, summary_prompt, file.disabled)
    }

    /// The flags that the user typed.
    fn typed(&self) -> Vec<String> {
        let is_typed = |id: &str| self.matches.value_source(id) == Some(ValueSource::CommandLine);
        let typed = self.keys.all().filter(|(_, arg)| is_typed(arg.get_id().as_str()));
        typed.map(|(name, _)| name.to_owned()).collect()
    }

    /// The flags of the preset that the highest layer names.
    fn preset(
        &self,
        presets: Presets<'_>,
        environment: &[SettingValue],
        file: &ConfigFile,
    ) -> Result<Vec<SettingValue>> {
        let below = environment.iter().chain(&file.values).find(|given| given.flag == "preset");
        let name = self.arguments.preset.as_ref().or(below.and_then(|given| given.value.texts().first()));
        let Some(name) = name else { return Ok(vec![]) };
        let typed_value = |flag: &str| {
            let id = self.keys.find(flag)?.get_id().as_str();
            let is_typed = self.matches.value_source(id) == Some(ValueSource::CommandLine);
            self.matches.get_raw(id).filter(|_| is_typed)?.next()?.to_str().map(str::to_owned)
        };
        let value = |layer: &[SettingValue], flag: &str| {
            let given = layer.iter().find(|given| given.flag == flag)?;
            given.value.texts().first().cloned()
        };
        let in_layer = |layer: usize, flag: &str| match layer {
            0 => typed_value(flag),
            1 => value(environment, flag),
            _ => value(&file.values, flag),
        };
        let higher = |flag: &str| {
            // Below a layer that says who summarizes, nobody else is asked.
            let decides = |layer: &usize| {
                let says_who = WHO.iter().any(|who| in_layer(*layer, who).is_some());
                in_layer(*layer, flag).is_some() || SUMMARIZER.contains(&flag) && says_who
            };
            (0..3).find(decides).and_then(|layer| in_layer(layer, flag))
        };
        let Some(rows) = presets(name, &higher) else {
            let names: Vec<&str> = PRESETS.iter().map(|preset| preset.name).collect();
            let why = format!("there is no such preset; there are {}", names.join(", "));
            let diagnostic = Diagnostic::new(why).meant(nearest(name, names));
            return Err(match below.filter(|_| self.arguments.preset.is_none()) {
                None => {
                    let next = diagnostic
                        .corrected(name)
                        .map_or("--list presets".to_owned(), |mended| format!("--preset {mended}"));
                    let failure = Failure::usage(format!("--preset {name}: {diagnostic}")).showing(name, &diagnostic);
                    failure.try_next(format!("tcompact {next}"))
                }
                Some(given) => given.source.wrong("preset", name, &diagnostic),
            }
            .into());
        };
        let mut values: Vec<SettingValue> = Vec::new();
        for (flag, text) in rows {
            match values.iter_mut().find(|given| given.flag == flag).map(|given| &mut given.value) {
                Some(FlagValue::Texts(texts)) => texts.push(text),
                _ => values.push(SettingValue::new(flag, FlagValue::Texts(vec![text]), Origin::Preset(name.clone()))),
            }
        }
        Ok(values)
    }

    /// What counts of the layers, which come highest first, below the flags that were typed.
    fn merge(&self, typed: Vec<String>, layers: [Vec<SettingValue>; 3]) -> Vec<SettingValue> {
        let names_who = |flags: &[String]| flags.iter().any(|flag| WHO.contains(&flag.as_str()));
        let mut above = typed.clone();
        let mut on = typed;
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
        self.without_object(merged)
    }

    /// Leaves out what has nothing to apply to. Typed, it would be a mistake; in a layer it waits for its occasion.
    fn without_object(&self, mut merged: Vec<SettingValue>) -> Vec<SettingValue> {
        let is_on = |typed: bool, flag: &str| {
            typed || merged.iter().any(|given| given.flag == flag && given.value != FlagValue::Switch(false))
        };
        let prints = is_on(self.arguments.dry_run, "dry-run") || is_on(self.arguments.count, "count");
        let prints = prints || self.arguments.emit == Emit::Summary;
        let command = is_on(self.arguments.summarizer_cmd.is_some(), "summarizer-cmd");
        let below = merged.iter().find(|given| given.flag == "model").and_then(|given| given.value.texts().first());
        let model = self.arguments.model.as_ref().or(below);
        let endpoint = !command && model.is_some_and(|model| !is_no_model(model));
        merged.retain(|given| match given.flag.as_str() {
            "json" => prints,
            "base-url" | "api-key-env" | "request-json" => endpoint,
            _ => true,
        });
        merged
    }

    fn together(
        mut self,
        given: Vec<SettingValue>,
        summary_prompt: Option<(String, String)>,
        disabled: Option<String>,
    ) -> Result<Resolved> {
        if !given.is_empty() {
            let (program, rest) = self.words.split_at(self.words.len().min(1));
            let below = given.iter().flat_map(SettingValue::words);
            let words = program.iter().cloned().chain(below).chain(rest.iter().cloned()).collect();
            self.matches = self.keys.understand(words)?;
            self.arguments = Arguments::from_arg_matches(&self.matches)?;
        }
        let (mut said, mut origins) = (Vec::new(), Vec::new());
        if self.arguments.verbose {
            origins = where_from(&self.keys, &given, &self.matches);
            origins.extend(summary_prompt.iter().map(|(_, name)| format!("the prompt is {name}")));
        }
        if !self.arguments.quiet {
            said.extend(given.iter().filter_map(|given| given.note.clone()));
        }
        let mut rules = rules(&self.keys, &self.matches);
        rules.extend(summary_prompt.iter().map(|(text, _)| text.as_str()));
        let chosen = self.typed();
        let arguments = self.arguments;
        Ok(Resolved { arguments, summary_prompt, disabled, said, origins, given, rules, chosen })
    }
}

/// The values of all flags that decide what becomes of a transcript, and the version that understands them.
fn rules(keys: &Keys, matches: &ArgMatches) -> String {
    let mut rules = format!("tcompact {}\n", env!("CARGO_PKG_VERSION"));
    for (name, arg) in keys.all().filter(|(name, _)| !UNDECIDING.contains(name)) {
        let values: Vec<_> = matches.get_raw(arg.get_id().as_str()).into_iter().flatten().collect();
        rules.push_str(&format!("{name} = {values:?}\n"));
    }
    rules
}

/// A line for each value that is no default.
fn where_from(keys: &Keys, given: &[SettingValue], matches: &ArgMatches) -> Vec<String> {
    let mut lines = Vec::new();
    for (name, arg) in keys.all().filter(|(name, _)| *name != "verbose") {
        let id = arg.get_id().as_str();
        let switch = kind(arg) == FlagKind::Switch;
        let texts = || {
            let raw = matches.get_raw(id).into_iter().flatten();
            raw.map(|text| shown(&text.to_string_lossy())).collect::<Vec<_>>().join(" ")
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

/// An error about a flag that nobody typed, with the place that the flag comes from.
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
