//! A setting, and where it comes from.

use std::ffi::OsString;
use std::fmt;

use serde_json::Value as Json;

use crate::sanitize::is_control;

/// Where a layer's value comes from.
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

/// What a layer gives a flag.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum FlagValue {
    /// The flag, or expressly not the flag.
    Switch(bool),
    /// A value for each time the flag is given.
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

/// A flag with its value, and who gave it.
#[derive(Debug, Clone)]
pub(super) struct SettingValue {
    /// The long name of the flag.
    pub(super) flag: String,
    pub(super) value: FlagValue,
    pub(super) source: Origin,
    /// What the user is to be told if this value is the one that is used.
    pub(super) note: Option<String>,
    /// Why this value cannot be used; an error unless a higher layer overrides it.
    pub(super) unusable: Option<String>,
}

impl SettingValue {
    pub(super) fn new(flag: &str, value: FlagValue, source: Origin) -> Self {
        SettingValue { flag: flag.to_owned(), value, source, note: None, unusable: None }
    }

    /// The setting as an error names it.
    pub(super) fn name(&self) -> String {
        match &self.source {
            Origin::Variable(name) => name.clone(),
            source => format!("{source}: {}", self.flag),
        }
    }

    /// The words that give it on a command line.
    pub(super) fn words(&self) -> Vec<OsString> {
        match &self.value {
            FlagValue::Switch(true) => vec![format!("--{}", self.flag).into()],
            FlagValue::Switch(false) => vec![],
            FlagValue::Texts(texts) => texts.iter().map(|text| format!("--{}={text}", self.flag).into()).collect(),
        }
    }

    /// The setting on a line of its own.
    pub(super) fn line(&self) -> String {
        let value = match &self.value {
            FlagValue::Switch(on) => on.to_string(),
            FlagValue::Texts(texts) => texts.iter().map(|text| shown(text)).collect::<Vec<_>>().join(" "),
        };
        format!("{} = {value} (from {})", self.flag, self.source)
    }
}

/// What a config file says.
#[derive(Debug, Default)]
pub(super) struct ConfigFile {
    pub(super) values: Vec<SettingValue>,
    /// The prompt's text, and what it is called in an error.
    pub(super) summary_prompt: Option<(String, String)>,
    /// Why nothing is to be done.
    pub(super) disabled: Option<String>,
    /// Why nothing is to be done unless a higher layer gives a trigger.
    pub(super) never: Option<String>,
}

/// A value on one line, in quotes where it would not be told from what surrounds it.
pub(super) fn shown(text: &str) -> String {
    let plain = !text.is_empty() && !text.contains(|c: char| c.is_whitespace() || is_control(c));
    if plain { text.to_owned() } else { format!("{text:?}") }
}

/// A value of a config file as an error shows it.
pub(super) fn found(json: &Json) -> String {
    const MOST: usize = 60;
    match json {
        Json::Null => "nothing".to_owned(),
        Json::Array(items) if items.is_empty() => "an empty list".to_owned(),
        Json::Array(_) => "a list".to_owned(),
        Json::Object(_) => "a table".to_owned(),
        Json::String(text) if text.chars().count() > MOST => "a long text".to_owned(),
        scalar => scalar.to_string(),
    }
}
