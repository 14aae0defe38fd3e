//! The flags as keys of a layer: their names, what they take, whether they accept a value, and the values with their
//! origins.
//!
//! All of it comes from clap, so that a new flag is a key without more code.
//!
//! Also: the formats and models that flags name, and what was probably meant by an unknown name.

use std::ffi::OsString;
use std::fmt;

use anyhow::Result;
use clap::error::ErrorKind;
use clap::{Arg, ArgAction, Command};

use crate::cli::commands::CommandName;
use crate::cli::correction::{corrected, diagnostic};
use crate::diagnostic::{Advice, Diagnostic, nearest, quoted};
use crate::exit::Failure;
use crate::llm::providers::{self, Provider};
use crate::sanitize::is_control;
use crate::tokens::models::{self, Model};
use crate::tokens::near::{near, served};
use crate::transcript::formats::{self, FORMATS, Format};

/// A flag that is gone. Who still sets it must not believe that it acts.
pub(super) const REPLACED: &str = "clear-tool-results";

/// The kind of value that a flag takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum FlagKind {
    /// None: it is on or off.
    Switch,
    /// One value.
    One,
    /// One value, or the flag alone.
    Optional,
    /// A JSON object, which a file may write as a table.
    Object,
    /// A value each time it is given.
    Many,
}

/// The arguments that no layer of settings can have.
const COMMAND_LINE: [&str; 4] = ["config", "force", "latest", "rescue"];
/// The flags whose settings for compaction hold for all commands that have them: how an input is read and counted, what
/// protects it, and what is reported. What is written, and where, each command has for itself.
const SHARED: [&str; 16] = [
    "from",
    "lines",
    "for",
    "context-window",
    "counter",
    "counter-cmd",
    "overhead-tokens",
    "timeout",
    "preset",
    "thinking",
    "redact",
    "jobs",
    "progress",
    "quiet",
    "verbose",
    "color",
];

/// The flags of a command, as far as a layer can give them.
#[derive(Debug)]
pub(super) struct SettingKeys {
    pub(super) name: CommandName,
    pub(super) command: Command,
}

impl SettingKeys {
    pub(super) fn of(name: CommandName) -> Self {
        let mut command = name.command();
        command.build();
        SettingKeys { name, command }
    }

    /// Whether the setting of compaction with the name of a flag of this command holds for it, too.
    pub(super) fn inherits(&self, flag: &str) -> bool {
        self.name != CommandName::Compact && SHARED.contains(&flag) && self.find(flag).is_some()
    }

    /// The flags, in the order of the help.
    pub(super) fn all(&self) -> impl Iterator<Item = (&str, &Arg)> {
        let flags = self.command.get_arguments().filter_map(|arg| Some((arg.get_long()?, arg)));
        flags.filter(|(_, arg)| !self.is_for_command_line(arg))
    }

    pub(super) fn find(&self, name: &str) -> Option<&Arg> {
        self.all().find(|(long, _)| *long == name).map(|(_, arg)| arg)
    }

    /// The kind of value that a flag takes.
    ///
    /// # Errors
    /// There is no such flag; or no layer can give it.
    pub(super) fn kind_of(&self, name: &str) -> Result<FlagKind, Diagnostic> {
        if let Some(arg) = self.find(name) {
            return Ok(kind(arg));
        }
        if self.command.get_arguments().any(|arg| arg.get_id() == name && self.is_for_command_line(arg)) {
            return Err(Diagnostic::new(format!("{name} is for the command line and cannot be set here")));
        }
        if let Some(command) = CommandName::of_word(name.as_ref()) {
            return Err(Diagnostic::new(not_a_setting(command)));
        }
        let hyphens = name.replace('_', "-");
        if hyphens == REPLACED {
            return Err(Diagnostic::new(format!("there is no setting {name:?}; --prune results:SIZE has replaced it")));
        }
        let mut known: Vec<&str> = self.all().map(|(long, _)| long).collect();
        if self.name == CommandName::Compact {
            for command in CommandName::NAMED.into_iter().filter(|command| command.has_settings()) {
                known.push(command.word());
            }
        }
        let near = nearest(&hyphens, known);
        let hint = if near.is_none() { "; settings have the names of the flags, as --help shows them" } else { "" };
        Err(Diagnostic::new(format!("there is no setting {name:?}{hint}")).meant(near))
    }

    /// Whether no layer can give an argument.
    fn is_for_command_line(&self, arg: &Arg) -> bool {
        let is_word = arg.is_positional();
        is_word
            || arg.get_long().is_some_and(|long| COMMAND_LINE.contains(&long))
            || matches!(arg.get_action(), ArgAction::Help | ArgAction::Version)
    }

    /// Whether two flags exclude each other.
    pub(super) fn conflict(&self, one: &str, other: &str) -> bool {
        let excludes = |one: &str, other: &str| {
            let conflicting = self.find(one).map(|arg| self.command.get_arg_conflicts_with(arg)).unwrap_or_default();
            conflicting.iter().any(|arg| arg.get_long() == Some(other))
        };
        excludes(one, other) || excludes(other, one)
    }

    /// Checks that each flag accepts the value in a layer, and that the layer does not contradict itself.
    ///
    /// # Errors
    /// The first value that its flag rejects, and what it takes.
    pub(super) fn check(&mut self, values: &[SettingValue]) -> Result<()> {
        for given in values {
            for text in given.value.texts() {
                if given.flag == "keep" && text.starts_with("from:") {
                    let why = "from:INDEX names a message of one conversation; give it with --keep on the command line";
                    return Err(given.wrong(self.name, text, &Diagnostic::new(why)).into());
                }
                let words = ["tcompact".to_owned(), format!("--{}={text}", given.flag)];
                match self.command.try_get_matches_from_mut(words) {
                    Ok(_) => {}
                    // A word that only the command line can have.
                    Err(error) if error.kind() == ErrorKind::MissingRequiredArgument => {}
                    Err(error) => return Err(given.wrong(self.name, text, &diagnostic(&error)).into()),
                }
            }
        }
        let on: Vec<&SettingValue> = values.iter().filter(|given| given.value != FlagValue::Switch(false)).collect();
        for (at, one) in on.iter().enumerate() {
            if let Some(other) = on[at + 1..].iter().find(|other| self.conflict(&one.flag, &other.flag)) {
                let (one, other) = (one.name(), other.name());
                return Err(Failure::usage(format!("{one} and {other} exclude each other; leave one out")).into());
            }
        }
        Ok(())
    }
}

pub(super) fn kind(arg: &Arg) -> FlagKind {
    match arg.get_action() {
        ArgAction::Append => FlagKind::Many,
        action if action.takes_values() => match arg.get_value_names() {
            Some([name]) if name.as_str() == "OBJECT" => FlagKind::Object,
            _ if arg.get_num_args().is_some_and(|values| values.min_values() == 0) => FlagKind::Optional,
            _ => FlagKind::One,
        },
        _ => FlagKind::Switch,
    }
}

/// Why a key with the name of a command has no value.
fn not_a_setting(command: CommandName) -> String {
    let word = command.word();
    if command.has_settings() {
        format!("{word} is a command, and its settings are a table: [{word}]")
    } else {
        format!("there are no settings of the command {word}")
    }
}

/// The error that a flag rejects a value of an origin.
pub(super) fn wrong_value(
    name: CommandName,
    origin: &Origin,
    flag: &str,
    value: &str,
    diagnostic: &Diagnostic,
) -> Failure {
    let failure = Failure::usage(match origin {
        Origin::Variable(name) => format!("{name}: {value:?}: {diagnostic}"),
        _ => format!("{origin}: {flag} = {value:?}: {diagnostic}"),
    });
    let failure = failure.showing(value, diagnostic);
    // A switch takes no value on the command line.
    let flag_takes = diagnostic.corrected(value).and_then(|text| corrected(name, &format!("--{flag}"), &text));
    match (origin, flag_takes) {
        (_, None) => failure,
        (Origin::Variable(name), Some(corrected)) => {
            failure.try_next(Advice::variable(format!("{name}={}", quoted(&corrected))))
        }
        (_, Some(corrected)) => failure.try_next(Advice::Line(format!("{flag} = {corrected:?}"))),
    }
}

/// The origin of a value in a layer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Origin {
    /// A preset.
    Preset(String),
    /// A config file, by its path.
    File(String),
    /// An environment variable.
    Variable(String),
}

impl fmt::Display for Origin {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Origin::Preset(name) => write!(out, "--preset {name}"),
            Origin::File(name) | Origin::Variable(name) => out.write_str(name),
        }
    }
}

/// The value of a flag in a layer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum FlagValue {
    /// The flag is on, or explicitly off.
    Switch(bool),
    /// The values, one for each time the flag is given.
    Texts(Vec<String>),
}

impl FlagValue {
    pub(super) fn texts(&self) -> &[String] {
        match self {
            FlagValue::Switch(_) => &[],
            FlagValue::Texts(texts) => texts,
        }
    }
}

/// A flag with its value and origin.
#[derive(Debug, Clone)]
pub(super) struct SettingValue {
    /// The long name of the flag.
    pub(super) flag: String,
    pub(super) value: FlagValue,
    pub(super) source: Origin,
    /// A note for the user if this value is used.
    pub(super) note: Option<String>,
    /// Why this value cannot be used; an error unless a higher layer overrides it.
    pub(super) unusable: Option<String>,
}

impl SettingValue {
    pub(super) fn new(flag: &str, value: FlagValue, source: Origin) -> Self {
        SettingValue { flag: flag.to_owned(), value, source, note: None, unusable: None }
    }

    /// The error that the flag of a command rejects a value.
    fn wrong(&self, name: CommandName, value: &str, diagnostic: &Diagnostic) -> Failure {
        wrong_value(name, &self.source, &self.flag, value, diagnostic)
    }

    /// The name of the setting for an error.
    pub(super) fn name(&self) -> String {
        match &self.source {
            Origin::Variable(name) => name.clone(),
            source => format!("{source}: {}", self.flag),
        }
    }

    /// The setting as words of a command line.
    pub(super) fn words(&self) -> Vec<OsString> {
        match &self.value {
            FlagValue::Switch(true) => vec![format!("--{}", self.flag).into()],
            FlagValue::Switch(false) => vec![],
            FlagValue::Texts(texts) => texts.iter().map(|text| format!("--{}={text}", self.flag).into()).collect(),
        }
    }

    /// The setting with its origin as a line.
    pub(super) fn line(&self) -> String {
        let value = match &self.value {
            FlagValue::Switch(on) => on.to_string(),
            FlagValue::Texts(texts) => texts.iter().map(|text| shown(text)).collect::<Vec<_>>().join(" "),
        };
        format!("{} = {value} (from {})", self.flag, self.source)
    }
}

/// The content of a config file.
#[derive(Debug, Default)]
pub(super) struct ConfigFile {
    pub(super) values: Vec<SettingValue>,
    /// The text of the prompt, and its name for errors.
    pub(super) summary_prompt: Option<(String, String)>,
    /// Why compaction is disabled.
    pub(super) disabled: Option<String>,
    /// Why compaction is disabled unless a higher layer gives a trigger.
    pub(super) never: Option<String>,
}

/// A value on one line, quoted if its bounds would not be clear.
pub(super) fn shown(text: &str) -> String {
    let plain = !text.is_empty() && !text.contains(|c: char| c.is_whitespace() || is_control(c));
    if plain { text.to_owned() } else { format!("{text:?}") }
}

/// The format that `--from` names; nothing for `auto`.
///
/// # Errors
/// There is no such format.
pub(super) fn find_format(name: &str) -> Result<Option<&'static Format>> {
    if name == "auto" {
        return Ok(None);
    }
    let format = formats::by_name(name).ok_or_else(|| {
        let names: Vec<&str> = std::iter::once("auto").chain(FORMATS.iter().map(|format| format.name)).collect();
        let diagnostic = Diagnostic::new(format!("there is no such format; there are {}", names.join(", ")));
        wrong_name("from", name, &diagnostic.meant(nearest(name, names)), "formats")
    })?;
    Ok(Some(format))
}

/// The error that a flag names something that is not known. `table` lists the known names, if it is not known what was
/// meant.
pub(super) fn wrong_name(flag: &'static str, name: &str, diagnostic: &Diagnostic, table: &str) -> Failure {
    let meant = diagnostic.corrected(name).map(|meant| Advice::command([format!("--{flag}"), meant]));
    let failure = Failure::usage(format!("--{flag} {name}: {diagnostic}")).about(flag).showing(name, diagnostic);
    failure.try_next(meant.unwrap_or_else(|| Advice::command(["list", table])))
}

/// The model that a flag names: one in the table, or another one of a known provider.
#[derive(Debug)]
pub(super) enum NamedModel {
    /// A model in the table.
    Listed(Model),
    /// The provider, and the name of the model there.
    Unlisted(&'static Provider, String),
}

/// The model that `--for` or `--model` names: `PROVIDER:MODEL` as it is; a name alone as its maker serves it.
///
/// # Errors
/// There is no such model, and no provider is named.
pub(super) fn find_model(flag: &'static str, name: &str) -> Result<NamedModel> {
    if let Some(model) = models::find(&in_table(name)) {
        return Ok(NamedModel::Listed(model));
    }
    let named = name.split_once(':').filter(|(_, model)| !model.is_empty());
    if let Some((provider, model)) = named.and_then(|(provider, model)| Some((providers::by_name(provider)?, model))) {
        return Ok(NamedModel::Unlisted(provider, model.to_owned()));
    }
    // Who reads the result must be known; who writes the summary need only be reachable.
    let mut names: Vec<String> = served(name).into_iter().filter(|_| flag == "model").collect();
    let meant = names.first().cloned().or_else(|| meant(name, near(name)));
    names.extend(near(name));
    let near = if names.is_empty() { String::new() } else { format!("; near names are {}", names.join(", ")) };
    let why = format!("no such model is known{near}; PROVIDER:MODEL names any other");
    Err(wrong_name(flag, name, &Diagnostic::new(why).meant(meant), "models").into())
}

/// The name of a model in the table, which has a provider with two APIs once.
pub(super) fn in_table(name: &str) -> String {
    name.replacen("openai-responses:", "openai:", 1)
}

/// The note that a model is not in the table, and its context window is not given.
pub(super) fn unlisted(name: &str) -> String {
    // The table has no models of Ollama.
    let is_local = name.starts_with("ollama:");
    let near = served(name).or_else(|| meant(name, near(name))).filter(|_| !is_local);
    let near = near.map(|near| format!(" (did you mean {near}?)")).unwrap_or_default();
    format!(
        "{name} is not in the table of models{near}: its context window and prices are unknown; --context-window N gives the window"
    )
}

/// The nearest name; of the named provider, if it has one of `near`.
fn meant(name: &str, near: Vec<String>) -> Option<String> {
    let provider = name.split_once([':', '/']).map(|(provider, _)| provider);
    let mut full = provider.into_iter().flat_map(|provider| near.iter().map(move |near| format!("{provider}:{near}")));
    full.find(|name| models::find(name).is_some()).or_else(|| near.into_iter().next())
}
