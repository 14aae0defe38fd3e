//! The layer of the environment: `TCOMPACT_KEEP=messages:6` is `--keep messages:6`.

use std::ffi::OsString;

use anyhow::Result;

use strsim::damerau_levenshtein as slips;

use crate::cli::correction::corrected;
use crate::diagnostic::Diagnostic;
use crate::exit::Failure;
use crate::settings::keys::{FlagKind, REPLACED, SettingKeys, kind};
use crate::settings::keys::{FlagValue, Origin, SettingValue};

const PREFIX: &str = "TCOMPACT_";

/// Reads the flags from variables. An empty variable counts as not set; one with an unknown name may belong to another
/// program, see [`misspelled`].
///
/// # Errors
/// A variable is not UTF-8, or a switch is neither on nor off.
pub(super) fn read(keys: &SettingKeys, variable: impl Fn(&str) -> Option<OsString>) -> Result<Vec<SettingValue>> {
    let mut given = Vec::new();
    let replaced = variable_of(REPLACED);
    if variable(&replaced).is_some_and(|text| !text.is_empty()) {
        return Err(
            Failure::usage(format!("{replaced}: --prune results:SIZE has replaced it; unset the variable")).into()
        );
    }
    for (flag, arg) in keys.all() {
        let name = variable_of(flag);
        let Some(text) = variable(&name) else { continue };
        let text = text.into_string().map_err(|_| Failure::usage(format!("{name}: the variable is not UTF-8")))?;
        if text.trim().is_empty() {
            continue;
        }
        let source = Origin::Variable(name);
        let value = match kind(arg) {
            FlagKind::Switch => {
                FlagValue::Switch(switch(&text).map_err(|why| source.wrong(flag, &text, &Diagnostic::new(why)))?)
            }
            FlagKind::Optional => switch(&text).map_or_else(|_| FlagValue::Texts(vec![text]), FlagValue::Switch),
            FlagKind::One | FlagKind::Object => FlagValue::Texts(vec![text]),
            FlagKind::Many => FlagValue::Texts(rules(flag, &text)),
        };
        given.push(SettingValue::new(flag, value, source));
    }
    Ok(given)
}

/// Returns a note for each variable whose name is nearly that of a setting.
pub(super) fn misspelled(keys: &SettingKeys, variables: impl Iterator<Item = OsString>) -> Vec<String> {
    let names = variables.filter_map(|name| name.into_string().ok()).filter(|name| name.starts_with(PREFIX));
    let mut notes: Vec<String> = names
        .filter_map(|name| {
            let near = keys.all().map(|(flag, _)| variable_of(flag)).min_by_key(|known| slips(&name, known))?;
            let most = (name.len() - PREFIX.len()) / 4;
            (1..=most)
                .contains(&slips(&name, &near))
                .then(|| format!("the variable {name} is not a setting and has no effect; did you mean {near}?"))
        })
        .collect();
    notes.sort_unstable();
    notes
}

/// Returns the variable that sets a flag.
fn variable_of(flag: &str) -> String {
    format!("{PREFIX}{}", flag.to_uppercase().replace('-', "_"))
}

/// Splits the rules of a variable. Of several lines, one with a pattern is one rule, white space included.
fn rules(flag: &str, text: &str) -> Vec<String> {
    let lines: Vec<&str> = text.lines().map(str::trim).filter(|line| !line.is_empty()).collect();
    let is_one = |line: &str| lines.len() > 1 && line.starts_with("match:");
    let rules =
        lines.iter().map(|line| if is_one(line) { vec![(*line).to_owned()] } else { rules_of_line(flag, line) });
    rules.flatten().collect()
}

/// Splits the rules of a line at white space. A word that is not a rule belongs to the rule before it where that takes
/// white space, as in `match:a b`.
fn rules_of_line(flag: &str, text: &str) -> Vec<String> {
    let flag = format!("--{flag}");
    let mut rules: Vec<std::ops::Range<usize>> = Vec::new();
    let mut end = 0;
    for word in text.split_whitespace() {
        let start = end + text[end..].find(word).unwrap_or_default();
        end = start + word.len();
        // A word that is nearly a rule is an error, which is reported.
        let is_rule = corrected(&flag, word).is_some();
        let is_accepted = |rule: &str| corrected(&flag, rule).as_deref() == Some(rule);
        match rules.last_mut() {
            Some(rule) if !is_rule && is_accepted(&text[rule.start..end]) => rule.end = end,
            _ => rules.push(start..end),
        }
    }
    rules.into_iter().map(|rule| text[rule].to_owned()).collect()
}

fn switch(text: &str) -> Result<bool, &'static str> {
    let is_one_of = |words: [&str; 3]| words.iter().any(|word| word.eq_ignore_ascii_case(text.trim()));
    if is_one_of(["1", "true", "yes"]) {
        Ok(true)
    } else if is_one_of(["0", "false", "no"]) {
        Ok(false)
    } else {
        Err("expected 1, true or yes, or 0, false or no")
    }
}
