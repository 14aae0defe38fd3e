//! The layers below the command line: the environment, where `TCOMPACT_KEEP=messages:6` is `--keep messages:6`; and the
//! config file, TOML or YAML with the long names of flags as keys, or `DeerFlow`'s `config.yaml`. The settings of a command
//! stand under its name: `TCOMPACT_SEARCH_LIMIT`, or `limit` in the table `[search]`.
//!
//! No file next to the input is read: a transcript from others must not bring its own settings.

use std::ffi::OsString;
use std::fs::File;
use std::io::{ErrorKind, Read};
use std::path::{Path, PathBuf};

use anyhow::Result;
use clap::Arg;
use serde_json::{Map, Value as Json};
use strsim::damerau_levenshtein as slips;

use crate::cli::commands::CommandName;
use crate::cli::correction::corrected;
use crate::diagnostic::Diagnostic;
use crate::exit::Failure;
use crate::llm::providers;
use crate::presets::deerflow;
use crate::settings::keys::{
    ConfigFile, FlagKind, FlagValue, Origin, REPLACED, SettingKeys, SettingValue, kind, wrong_value,
};
use crate::wording::{found, one_line, reason};

const PREFIX: &str = "TCOMPACT_";

/// Reads the flags from variables. An empty variable counts as not set; one with an unknown name sets
/// nothing, see [`misspelled`].
///
/// # Errors
/// A variable is not UTF-8, or a switch is neither on nor off.
pub(super) fn read_environment(
    keys: &SettingKeys,
    variable: impl Fn(&str) -> Option<OsString>,
) -> Result<Vec<SettingValue>> {
    let mut given = Vec::new();
    let replaced = variable_of(REPLACED);
    if variable(&replaced).is_some_and(|text| !text.is_empty()) {
        let why = format!("{replaced}: --prune results:SIZE has replaced it; unset the variable");
        return Err(Failure::usage(why).into());
    }
    for (flag, arg) in keys.all() {
        for name in variables_of(keys, flag) {
            let Some(text) = variable(&name) else { continue };
            let Ok(text) = text.into_string() else {
                return Err(Failure::usage(format!("{name}: the variable is not UTF-8")).into());
            };
            if text.trim().is_empty() {
                continue;
            }
            let source = Origin::Variable(name);
            let value = value_of_variable(keys.name, flag, arg, text, &source)?;
            given.push(SettingValue::new(flag, value, source));
            break;
        }
    }
    Ok(given)
}

/// The variables that can set a flag of a command, the first of them wins.
fn variables_of(keys: &SettingKeys, flag: &str) -> Vec<String> {
    let mut names = Vec::new();
    if keys.name != CommandName::Compact {
        names.push(variable_of(&format!("{}-{flag}", keys.name.word())));
    }
    if keys.name == CommandName::Compact || keys.inherits(flag) {
        names.push(variable_of(flag));
    }
    names
}

fn value_of_variable(
    name: CommandName,
    flag: &str,
    arg: &Arg,
    text: String,
    source: &Origin,
) -> Result<FlagValue, Failure> {
    Ok(match (kind(arg), switch(&text)) {
        (FlagKind::Switch | FlagKind::Optional, Some(on)) => FlagValue::Switch(on),
        (FlagKind::Switch, None) => {
            let diagnostic = Diagnostic::new("expected 1, true or yes, or 0, false or no");
            return Err(wrong_value(name, source, flag, &text, &diagnostic));
        }
        (FlagKind::Optional, None) | (FlagKind::One | FlagKind::Object, _) => FlagValue::Texts(vec![text]),
        (FlagKind::Many, _) => FlagValue::Texts(rules(name, flag, &text)),
    })
}

/// The variables of the packages, mods and hooks around the program, without the prefix.
const OTHERS: [&str; 3] = ["BIN", "NO_ARCHIVE", "PYTHON"];

/// A note for each variable of the program that sets nothing.
pub(super) fn misspelled(variables: impl Iterator<Item = OsString>) -> Vec<String> {
    let mut notes = Vec::new();
    let mut known: Option<Vec<String>> = None;
    for name in variables {
        let Ok(name) = name.into_string() else { continue };
        let Some(rest) = name.strip_prefix(PREFIX) else { continue };
        if rest.is_empty() || OTHERS.contains(&rest) {
            continue;
        }
        let known = known.get_or_insert_with(known_variables);
        let Some(near) = known.iter().min_by_key(|known| slips(&name, known)) else { continue };
        let distance = slips(&name, near);
        if distance > 0 {
            let meant = if distance <= rest.len() / 4 { format!("; did you mean {near}?") } else { String::new() };
            notes.push(format!("the variable {name} is not a setting and has no effect{meant}"));
        }
    }
    notes.sort_unstable();
    notes
}

/// The variables of all commands.
fn known_variables() -> Vec<String> {
    let mut commands = vec![CommandName::Compact];
    commands.extend(CommandName::NAMED.into_iter().filter(|name| name.has_settings()));
    let mut known = Vec::new();
    for command in commands {
        let keys = SettingKeys::of(command);
        for (flag, _) in keys.all() {
            known.extend(variables_of(&keys, flag).into_iter().next());
        }
    }
    known
}

/// The variable that sets a flag.
fn variable_of(flag: &str) -> String {
    format!("{PREFIX}{}", flag.to_uppercase().replace('-', "_"))
}

/// Splits the rules of a variable. Of several lines, one with a pattern is one rule, white space included.
fn rules(name: CommandName, flag: &str, text: &str) -> Vec<String> {
    let lines: Vec<&str> = text.lines().map(str::trim).filter(|line| !line.is_empty()).collect();
    let mut rules = Vec::new();
    for line in &lines {
        if lines.len() > 1 && line.starts_with("match:") {
            rules.push((*line).to_owned());
        } else {
            rules.extend(rules_of_line(name, flag, line));
        }
    }
    rules
}

/// Splits the rules of a line at white space. A word that is not a rule belongs to the rule before it where that takes
/// white space, as in `match:a b`.
fn rules_of_line(name: CommandName, flag: &str, text: &str) -> Vec<String> {
    let flag = format!("--{flag}");
    let mut rules: Vec<std::ops::Range<usize>> = Vec::new();
    let mut end = 0;
    for word in text.split_whitespace() {
        let start = end + text[end..].find(word).unwrap_or_default();
        end = start + word.len();
        // A word that is nearly a rule is an error, which is reported.
        let is_rule = corrected(name, &flag, word).is_some();
        if !is_rule && let Some(rule) = rules.last_mut() {
            let joined = &text[rule.start..end];
            if corrected(name, &flag, joined).as_deref() == Some(joined) {
                rule.end = end;
                continue;
            }
        }
        rules.push(start..end);
    }
    rules.into_iter().map(|rule| text[rule].to_owned()).collect()
}

/// Whether a text switches a flag on or off; nothing where it says neither.
fn switch(text: &str) -> Option<bool> {
    match text.trim().to_ascii_lowercase().as_str() {
        "1" | "true" | "yes" => Some(true),
        "0" | "false" | "no" => Some(false),
        _ => None,
    }
}

/// The largest config file. With the limit on aliases, this bounds the cost of a hostile one.
const MOST_BYTES: u64 = 1 << 18;
/// The most nodes that the aliases of a YAML file may expand to.
const MOST_REPLAYED: usize = 1_000;

/// Reads the file that `--config` names, or the user's own if it exists.
///
/// # Errors
/// It cannot be read; or a value is wrong, with its key.
pub(super) fn read_file(
    named: Option<&Path>,
    keys: &SettingKeys,
    variable: impl Fn(&str) -> Option<OsString>,
) -> Result<ConfigFile> {
    let Some(path) = named.map(Path::to_owned).or_else(|| users_own(&variable)) else {
        return Ok(ConfigFile::default());
    };
    let name = path.display().to_string();
    let bytes = match beginning_of(&path) {
        Ok(bytes) => bytes,
        Err(error) if named.is_none() && matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) => {
            return Ok(ConfigFile::default());
        }
        Err(error) => return Err(Failure::usage(format!("--config {name} cannot be read: {}", reason(&error))).into()),
    };
    if bytes.len() as u64 > MOST_BYTES {
        let what = format!("this is not a config file: it has more than {MOST_BYTES} bytes");
        return Err(wrong_file(&name, &what).into());
    }
    let Ok(text) = String::from_utf8(bytes) else {
        return Err(wrong_file(&name, "this is not a config file: it is not UTF-8").into());
    };
    let text = text.trim_start_matches('\u{feff}');
    let is_yaml =
        path.extension().is_some_and(|end| end.eq_ignore_ascii_case("yaml") || end.eq_ignore_ascii_case("yml"));
    if !is_yaml {
        return Ok(settings(&name, toml(&name, text)?, keys)?);
    }
    match yaml(text).map_err(|what| wrong_file(&name, &what))? {
        Json::Null => Ok(ConfigFile::default()),
        Json::Object(map) => match map.get(deerflow::SECTION) {
            Some(Json::Object(section)) => Ok(of_deerflow(&name, section, map.get(deerflow::MODELS), keys, &variable)?),
            Some(Json::Null) => Ok(of_deerflow(&name, &Map::new(), None, keys, &variable)?),
            _ => Ok(settings(&name, map, keys)?),
        },
        _ => Err(wrong_file(&name, "expected settings, one a line, as in `keep: messages:6`").into()),
    }
}

/// The error that something in a config file is wrong.
fn wrong_file(name: &str, what: &str) -> Failure {
    Failure::usage(format!("{name}: {what}"))
}

/// The settings of `DeerFlow`'s file. A command has those of its flags, whether or not the file compacts.
fn of_deerflow(
    file: &str,
    section: &Map<String, Json>,
    models: Option<&Json>,
    keys: &SettingKeys,
    variable: &dyn Fn(&str) -> Option<OsString>,
) -> Result<ConfigFile, Failure> {
    let is_provider = |name: &str| providers::by_name(name).is_some();
    let deerflow::Config { flags, summary_prompt, disabled, never } =
        deerflow::read(&deerflow::ConfigSection { file, keys: section, models, variable, is_provider })?;
    let mut values = Vec::new();
    for deerflow::FlagOfConfig { flag, values: texts, note, unusable } in flags {
        if keys.name == CommandName::Compact || keys.inherits(flag) {
            let value = SettingValue::new(flag, FlagValue::Texts(texts), Origin::File(file.to_owned()));
            values.push(SettingValue { note, unusable, ..value });
        }
    }
    if keys.name != CommandName::Compact {
        return Ok(ConfigFile { values, ..ConfigFile::default() });
    }
    Ok(ConfigFile { values, summary_prompt, disabled, never })
}

/// The path of the user's own file.
pub(super) fn users_own(variable: impl Fn(&str) -> Option<OsString>) -> Option<PathBuf> {
    let config = match folder_in(variable("XDG_CONFIG_HOME")) {
        Some(config) => config,
        None => folder_in(variable("HOME"))?.join(".config"),
    };
    Some(config.join("tcompact").join("config.toml"))
}

/// The folder in the value of a variable, which counts only if its path is absolute.
fn folder_in(value: Option<OsString>) -> Option<PathBuf> {
    let folder = PathBuf::from(value?);
    if folder.is_absolute() { Some(folder) } else { None }
}

/// The bytes of a file, up to one more than a config file can have.
fn beginning_of(path: &Path) -> std::io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    File::open(path)?.take(MOST_BYTES + 1).read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// Parses TOML. An error shows the line if it is known.
fn toml(name: &str, text: &str) -> Result<Map<String, Json>, Failure> {
    let error = match toml::from_str(text) {
        Ok(map) => return Ok(map),
        Err(error) => error,
    };
    let what = format!("not TOML: {}", one_line(error.message()));
    let Some(span) = error.span() else { return Err(wrong_file(name, &what)) };
    let Some(before) = text.get(..span.start) else { return Err(wrong_file(name, &what)) };
    let start = before.rfind('\n').map_or(0, |at| at + 1);
    let (number, column) = (before.matches('\n').count() + 1, before[start..].chars().count() + 1);
    let line = text[start..].lines().next().unwrap_or_default();
    let at = (span.start - start).min(line.len())..(span.end - start).min(line.len());
    let failure = wrong_file(name, &format!("{what} (line {number} column {column})"));
    Err(failure.showing(line, &Diagnostic::new("").at(at)))
}

fn yaml(text: &str) -> Result<Json, String> {
    let options = serde_saphyr::options! {
        // `on` and `off` are words that flags take.
        strict_booleans: true,
        non_finite_float_policy: serde_saphyr::options::NonFiniteFloatPolicy::AsString,
        alias_limits: serde_saphyr::alias_limits! { max_total_replayed_events: MOST_REPLAYED },
        with_snippet: false,
    };
    serde_saphyr::from_str_with_options(text, options).map_err(|error| {
        // The library's advice to its callers is of no use to the user.
        let what = error.to_string().replace(", set DuplicateKeyPolicy in Options if acceptable", "");
        format!("not YAML that can be read: {}", one_line(&what))
    })
}

/// The settings of a file for a command. Its keys are the flags of compaction, and commands with their flags below them.
fn settings(file: &str, map: Map<String, Json>, keys: &SettingKeys) -> Result<ConfigFile, Failure> {
    let mut of_command = Vec::new();
    let mut settings = Map::new();
    for (key, json) in map {
        match (CommandName::of_word(key.as_ref()), json) {
            (Some(command), Json::Object(table)) if command.has_settings() => {
                let values = values_of_table(&format!("{file} [{key}]"), table, &SettingKeys::of(command))?;
                if command == keys.name {
                    of_command = values;
                }
            }
            (_, json) => {
                settings.insert(key, json);
            }
        }
    }
    let mut values = values_of_table(file, settings, &SettingKeys::of(CommandName::Compact))?;
    if keys.name != CommandName::Compact {
        values.retain(|given| keys.inherits(&given.flag) && !of_command.iter().any(|own| own.flag == given.flag));
        values.extend(of_command);
    }
    Ok(ConfigFile { values, ..ConfigFile::default() })
}

/// The values of a table, whose keys are flags of a command.
fn values_of_table(place: &str, table: Map<String, Json>, keys: &SettingKeys) -> Result<Vec<SettingValue>, Failure> {
    let mut values = Vec::new();
    for (key, json) in table {
        let kind = match keys.kind_of(&key) {
            Ok(kind) => kind,
            Err(diagnostic) => return Err(wrong_file(place, &diagnostic.to_string()).showing(&key, &diagnostic)),
        };
        let value = match value(kind, json) {
            Ok(value) => value,
            Err(Unexpected { found, wanted }) => {
                return Err(wrong_file(place, &format!("{key} = {found}: expected {wanted}")));
            }
        };
        values.push(SettingValue::new(&key, value, Origin::File(place.to_owned())));
    }
    Ok(values)
}

/// A value that a key cannot have.
struct Unexpected {
    found: String,
    wanted: &'static str,
}

/// The text of a string or a number.
fn scalar(json: Json, wanted: &'static str) -> Result<String, Unexpected> {
    match json {
        Json::String(text) => Ok(text),
        Json::Number(number) => Ok(number.to_string()),
        other => Err(Unexpected { found: found(&other), wanted }),
    }
}

/// The value of a key.
fn value(kind: FlagKind, json: Json) -> Result<FlagValue, Unexpected> {
    let wanted = match kind {
        FlagKind::Switch => "true or false",
        FlagKind::Many => "a string, a number or a list of them that is not empty",
        FlagKind::Object => "a table, or a string that is a JSON object",
        FlagKind::Optional => "a string, or true or false",
        FlagKind::One => "a string or a number",
    };
    let texts = match (kind, json) {
        (FlagKind::Switch | FlagKind::Optional, Json::Bool(on)) => return Ok(FlagValue::Switch(on)),
        (FlagKind::Many, Json::Array(items)) if !items.is_empty() => {
            let mut texts = Vec::new();
            for item in items {
                texts.push(scalar(item, "a string or number in each place of the list")?);
            }
            texts
        }
        (FlagKind::Object, table @ Json::Object(_)) => vec![table.to_string()],
        (FlagKind::Switch, other) | (FlagKind::Object, other @ Json::Number(_)) => {
            return Err(Unexpected { found: found(&other), wanted });
        }
        (_, other) => vec![scalar(other, wanted)?],
    };
    Ok(FlagValue::Texts(texts))
}
