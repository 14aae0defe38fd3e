//! What clap says of a wrong value, and the value as it was meant.
//!
//! Also: a command to try for a flag: with a corrected value, an example, and the flags that it needs.

use std::error::Error;

use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::{Arg, ArgAction};

use crate::cli::command;
use crate::cli::retry::{Typed, flag_named};
use crate::diagnostic::{Advice, Diagnostic};
use crate::plan::size::whole;
use crate::tokens::models;

/// The most mistakes in one value, or on a command line, that are corrected.
pub(super) const MOST_MISTAKES: usize = 8;

/// What is wrong with a value, and with which part of it if that is known.
pub(crate) fn diagnostic(error: &clap::Error) -> Diagnostic {
    let source = error.source();
    match source.and_then(|source| source.downcast_ref::<Diagnostic>()) {
        Some(diagnostic) => diagnostic.clone(),
        None if source.is_some() => Diagnostic::new(source.map(ToString::to_string).unwrap_or_default()),
        None => {
            let given = text(error, ContextKind::InvalidValue).unwrap_or_default();
            let meant = text(error, ContextKind::SuggestedValue);
            let slips = |meant: &String| strsim::damerau_levenshtein(&given, meant);
            let meant = meant.filter(|meant| slips(meant) <= (given.chars().count() / 3).max(2));
            Diagnostic::new(format!("expected {}", listed(strings(error, ContextKind::ValidValue), "or"))).meant(meant)
        }
    }
}

/// A text that the flag accepts, if it is known what was meant. `flag` has its hyphens.
pub(crate) fn corrected(flag: &str, text: &str) -> Option<String> {
    let mut command = command();
    let mut text = text.to_owned();
    // Correcting one part can show that another is wrong too.
    for _ in 0..MOST_MISTAKES {
        match command.try_get_matches_from_mut(["tcompact".to_owned(), format!("{flag}={text}")]) {
            Ok(_) => return Some(text),
            Err(error) if matches!(error.kind(), ErrorKind::InvalidValue | ErrorKind::ValueValidation) => {
                text = diagnostic(&error).corrected(&text)?;
            }
            Err(_) => return None,
        }
    }
    None
}

/// A text in what clap says of an error.
pub(super) fn text(error: &clap::Error, kind: ContextKind) -> Option<String> {
    strings(error, kind).first().cloned()
}

/// The texts in what clap says of an error.
pub(super) fn strings(error: &clap::Error, kind: ContextKind) -> &[String] {
    match error.get(kind) {
        Some(ContextValue::String(text)) => std::slice::from_ref(text),
        Some(ContextValue::Strings(texts)) => texts,
        _ => &[],
    }
}

/// Joins words for a sentence.
pub(super) fn listed(words: &[String], and: &str) -> String {
    match words {
        [words @ .., last] if !words.is_empty() => format!("{} {and} {last}", words.join(", ")),
        words => words.join(", "),
    }
}

/// Values to try for flags without a default and without listed values.
pub(super) const EXAMPLES: [(&str, &str); 35] = [
    ("--prune", "results:5"),
    ("--prune-except", "Read"),
    ("--fit", "tokens:8k"),
    ("--model", "openai:gpt-4o-mini"),
    ("--for", "gpt-4o"),
    ("--preset", "langchain"),
    ("--cache", "summaries"),
    ("--request-json", r#"{"temperature": 0.2}"#),
    ("--output", "short.json"),
    ("--output-dir", "compacted"),
    ("--in-place", ".bak"),
    ("--report", "report.jsonl"),
    ("--html", "page.html"),
    ("--archive", "removed.jsonl"),
    ("--archive-note", "off"),
    ("--restore", "removed.jsonl"),
    ("--rounds", "1"),
    ("--search", "error"),
    ("--limit", "50"),
    ("--show", "2:17"),
    ("--limit-tokens", "6000"),
    ("--trigger", "tokens:8k"),
    ("--counter", "o200k_base"),
    ("--counter-cmd", "python3 count.py"),
    ("--overhead-tokens", "20k"),
    ("--context-window", "128k"),
    ("--truncate-args", "2000"),
    ("--jobs", "4"),
    ("--rate", "60"),
    ("--config", "tcompact.toml"),
    ("--prompt-file", "prompt.txt"),
    ("--focus", "the failing tests"),
    ("--base-url", "http://localhost:8080/v1"),
    ("--api-key-env", "OPENAI_API_KEY"),
    ("--summarizer-cmd", "llm"),
];
/// What a flag needs beside it, and the flags that do as well.
pub(super) const NEEDED: [(&str, &str, &[&str]); 12] = [
    ("--sort", "--count", &[]),
    ("--truncate-args", "--preset deepagents", &[]),
    ("--json", "--dry-run", &["--count", "--emit", "--search", "--show"]),
    ("--resume", "--output-dir compacted", &["--output", "--in-place"]),
    ("--force", "--in-place", &[]),
    ("--rounds", "--restore removed.jsonl", &[]),
    ("--archive-note", "--archive removed.jsonl", &[]),
    ("--limit", "--search error", &[]),
    ("--limit-tokens", "--show 2:17", &[]),
    ("--base-url", "--model openai:gpt-4o-mini", &[]),
    ("--api-key-env", "--model openai:gpt-4o-mini", &[]),
    ("--request-json", "--model openai:gpt-4o-mini", &[]),
];

/// What to change on the command line for a flag: it gets a value that it accepts, the corrected one if possible.
pub(super) fn attempt(flag: &str, value: Option<&str>, typed: &Typed) -> Advice {
    let command = command();
    let Some(arg) = flag_named(&command, flag) else { return help() };
    let mut tried = Vec::new();
    for (_, beside, others) in NEEDED.iter().filter(|(needy, ..)| *needy == flag) {
        let needed = beside.split(' ').next().into_iter();
        if !needed.chain(others.iter().copied()).any(|flag| typed.has(flag)) {
            tried.extend(beside.split(' ').map(str::to_owned));
        }
    }
    // The next word is not a value of a flag whose value must follow `=`.
    let is_joined = |value: &&str| typed.words.iter().any(|word| word.ends_with(&format!("={value}")));
    let value = value.filter(|value| !arg.is_require_equals_set() || is_joined(value));
    if !arg.get_action().takes_values() {
        tried.push(flag.to_owned());
    } else if let Some(rules) = value.and_then(|value| rules(arg, flag, value)) {
        tried.extend(rules.flat_map(|rule| [flag.to_owned(), rule.to_owned()]));
    } else if let Some(value) = value_to_try(arg, flag, value) {
        if arg.is_require_equals_set() {
            tried.push(format!("{flag}={value}"));
        } else {
            tried.extend([flag.to_owned(), value.clone()]);
        }
        let is_fraction = matches!(flag, "--keep" | "--trigger" | "--fit") && value.contains("fraction:");
        if is_fraction && !knows_window(typed) {
            tried.extend(["--for", "gpt-4o"].map(str::to_owned));
        }
    } else {
        return help();
    }
    Advice::command(tried)
}

/// Several rules in one value, of which each wants a flag of its own.
fn rules<'v>(arg: &Arg, flag: &str, value: &'v str) -> Option<impl Iterator<Item = &'v str>> {
    let is_rule = |part: &str| corrected(flag, part).as_deref() == Some(part);
    let are_rules =
        value.contains(',') && matches!(arg.get_action(), ArgAction::Append) && value.split(',').all(is_rule);
    are_rules.then(|| value.split(','))
}

/// The value as it was probably meant, or another one that the flag accepts.
fn value_to_try(arg: &Arg, flag: &str, value: Option<&str>) -> Option<String> {
    if let Some(corrected) = value.and_then(|value| corrected(flag, value)) {
        return Some(corrected);
    }
    let default = arg.get_default_values().first().map(|value| value.to_string_lossy().into_owned());
    let values = arg.get_possible_values();
    let mut names = values.iter().map(|value| value.get_name().to_owned());
    // The default is not a correction.
    let other = match &default {
        Some(default) if value.is_some() => names.find(|name| name != default),
        Some(_) => None,
        None => names.next(),
    };
    let example = EXAMPLES.iter().find(|(name, _)| *name == flag).map(|(_, value)| (*value).to_owned());
    other.or(default).or(example)
}

/// Whether the user gives a context window, of which a fraction is taken.
fn knows_window(typed: &Typed) -> bool {
    let is_of_variable = |flag: &str| typed.by_variable.iter().any(|given| given == flag);
    match (typed.value("--context-window"), typed.value("--for")) {
        (Some(tokens), _) => whole(&tokens).is_ok(),
        (None, Some(model)) => models::find(&model).is_some(),
        (None, None) => is_of_variable("--context-window") || is_of_variable("--for"),
    }
}

/// What to try if nothing better is known.
pub(super) fn help() -> Advice {
    Advice::command(["--help"])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_mended_until_the_flag_takes_them() {
        for (flag, text, meant) in [
            ("--counter", "byte:0", Some("bytes:4")),
            ("--pairs", "windw:x", Some("window:5")),
            ("--pin", "frist:0", Some("first:2")),
            ("--trigger", "message:9,token:4k", Some("messages:9,tokens:4k")),
            ("--keep", "fracton:80", Some("fraction:0.8")),
            ("--keep", "tokens=4k", Some("tokens:4k")),
            ("--keep", "bogus:3", None),
            ("--rate", "x", None),
        ] {
            assert_eq!(corrected(flag, text).as_deref(), meant, "{flag} {text}");
        }
    }
}
