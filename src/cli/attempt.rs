//! A command to try for a flag: with a corrected value, an example, and the flags that it needs.

use clap::{Arg, ArgAction};

use crate::advice::Advice;
use crate::cli::command;
use crate::cli::correction::corrected;
use crate::cli::retry::{flag_named, is_same, value_at};
use crate::plan::size::whole;
use crate::tokens::models;

/// Values to try for flags without a default and without listed values.
pub(super) const EXAMPLES: [(&str, &str); 33] = [
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
/// The flags that a flag needs beside it.
pub(super) const NEEDED: [(&str, &str); 11] = [
    ("--sort", "--count"),
    ("--truncate-args", "--preset deepagents"),
    ("--json", "--dry-run"),
    ("--resume", "--output-dir compacted"),
    ("--rounds", "--restore removed.jsonl"),
    ("--archive-note", "--archive removed.jsonl"),
    ("--limit", "--search error"),
    ("--limit-tokens", "--show 2:17"),
    ("--base-url", "--model openai:gpt-4o-mini"),
    ("--api-key-env", "--model openai:gpt-4o-mini"),
    ("--request-json", "--model openai:gpt-4o-mini"),
];

/// Returns a command with the flag and a value that it accepts: the corrected value if possible.
pub(super) fn attempt(flag: &str, value: Option<&str>, words: &[String]) -> Advice {
    let command = command();
    let Some(arg) = flag_named(&command, flag) else { return help() };
    let mut tried = Vec::new();
    for (name_of_flag, beside) in NEEDED {
        if name_of_flag == flag && !words.iter().any(|word| is_same(&command, name(word), name(beside))) {
            tried.extend(beside.split(' ').map(str::to_owned));
        }
    }
    // The next word is not a value of a flag whose value must follow `=`.
    let value = value
        .filter(|value| !arg.is_require_equals_set() || words.iter().any(|word| word.ends_with(&format!("={value}"))));
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
        if matches!(flag, "--keep" | "--trigger" | "--fit") && value.contains("fraction:") {
            tried.extend(context_window(words).map(str::to_owned));
        }
    } else {
        return help();
    }
    Advice::command(tried)
}

/// Returns several rules in one value, of which each wants a flag of its own.
fn rules<'v>(arg: &Arg, flag: &str, value: &'v str) -> Option<impl Iterator<Item = &'v str>> {
    let is_rule = |part: &str| corrected(flag, part).as_deref() == Some(part);
    let are_rules =
        value.contains(',') && matches!(arg.get_action(), ArgAction::Append) && value.split(',').all(is_rule);
    are_rules.then(|| value.split(','))
}

/// Returns the value as it was probably meant, or another one that the flag accepts.
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

/// Returns the flag for the context window of a fraction: from the command line, or an example.
fn context_window(words: &[String]) -> [&str; 2] {
    let of_model = value_of("--for", words).filter(|name| models::find(name).is_some());
    match value_of("--context-window", words).filter(|tokens| whole(tokens).is_ok()) {
        Some(tokens) => ["--context-window", tokens],
        None => ["--for", of_model.unwrap_or("gpt-4o")],
    }
}

/// Returns what to try if nothing better is known.
pub(super) fn help() -> Advice {
    Advice::command(["--help"])
}

/// Returns the value of a flag on the command line.
pub(super) fn value_of<'w>(flag: &str, words: &'w [String]) -> Option<&'w str> {
    let at = words
        .iter()
        .position(|word| word == flag || word.strip_prefix(flag).is_some_and(|rest| rest.starts_with('=')))?;
    value_at(words, at, flag).filter(|value| words[at] != flag || !value.starts_with('-'))
}

/// Returns the name of a flag without the value that clap or a command line shows.
pub(super) fn name(flag: &str) -> &str {
    flag.split([' ', '[', '=']).next().unwrap_or(flag)
}
