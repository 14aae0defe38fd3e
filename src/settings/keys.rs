//! The flags as keys of a layer: their names, what they take, whether they accept a value, and the values with their
//! origins.
//!
//! All of it comes from clap, so that a new flag is a key without more code.

use std::ffi::OsString;
use std::fmt;

use anyhow::Result;
use clap::error::ErrorKind;
use clap::{Arg, ArgAction, Command};

use crate::cli::commands::CommandName;
use crate::cli::correction::{corrected, diagnostic};
use crate::diagnostic::{Advice, Diagnostic, nearest, quoted};
use crate::exit::Failure;
use crate::sanitize::is_control;

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
        let settable = self.command.get_arguments().filter(|arg| !self.is_for_command_line(arg));
        settable.filter_map(|arg| Some((arg.get_long()?, arg)))
    }

    pub(super) fn find(&self, name: &str) -> Option<&Arg> {
        let (_, arg) = self.all().find(|(long, _)| *long == name)?;
        Some(arg)
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
            for command in CommandName::NAMED {
                if command.has_settings() {
                    known.push(command.word());
                }
            }
        }
        let near = nearest(&hyphens, known);
        let hint = if near.is_none() { "; settings have the names of the flags, as --help shows them" } else { "" };
        Err(Diagnostic::new(format!("there is no setting {name:?}{hint}")).meant(near))
    }

    /// Whether no layer can give an argument.
    fn is_for_command_line(&self, arg: &Arg) -> bool {
        arg.is_positional()
            || arg.get_long().is_some_and(|long| COMMAND_LINE.contains(&long))
            || matches!(arg.get_action(), ArgAction::Help | ArgAction::Version)
    }

    /// Whether two flags exclude each other.
    pub(super) fn conflict(&self, one: &str, other: &str) -> bool {
        self.excludes(one, other) || self.excludes(other, one)
    }

    /// Whether a flag itself excludes another one.
    fn excludes(&self, flag: &str, other: &str) -> bool {
        let Some(arg) = self.find(flag) else { return false };
        self.command.get_arg_conflicts_with(arg).iter().any(|arg| arg.get_long() == Some(other))
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
        let on: Vec<&SettingValue> = values.iter().filter(|given| given.is_on()).collect();
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
    if let Some(text) = diagnostic.corrected(value)
        && let Some(accepted) = corrected(name, &format!("--{flag}"), &text)
    {
        return failure.try_next(match origin {
            Origin::Variable(name) => Advice::variable(format!("{name}={}", quoted(&accepted))),
            _ => Advice::Line(format!("{flag} = {accepted:?}")),
        });
    }
    failure
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

    /// Whether it is more than a switch that is off.
    pub(super) fn is_on(&self) -> bool {
        self.value != FlagValue::Switch(false)
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
