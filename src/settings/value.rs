//! A setting and its origin.

use std::ffi::OsString;
use std::fmt;

use crate::sanitize::is_control;

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

    /// Returns the name of the setting for an error.
    pub(super) fn name(&self) -> String {
        match &self.source {
            Origin::Variable(name) => name.clone(),
            source => format!("{source}: {}", self.flag),
        }
    }

    /// Returns the setting as words of a command line.
    pub(super) fn words(&self) -> Vec<OsString> {
        match &self.value {
            FlagValue::Switch(true) => vec![format!("--{}", self.flag).into()],
            FlagValue::Switch(false) => vec![],
            FlagValue::Texts(texts) => texts.iter().map(|text| format!("--{}={text}", self.flag).into()).collect(),
        }
    }

    /// Returns the setting with its origin as a line.
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

/// Returns a value on one line, quoted if its bounds would not be clear.
pub(super) fn shown(text: &str) -> String {
    let plain = !text.is_empty() && !text.contains(|c: char| c.is_whitespace() || is_control(c));
    if plain { text.to_owned() } else { format!("{text:?}") }
}
