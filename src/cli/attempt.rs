//! A command to try for a flag: with a corrected value, an example, and the flags that it needs.

use clap::{Arg, ArgAction};

use crate::advice::Advice;
use crate::cli::command;
use crate::cli::correction::corrected;
use crate::cli::retry::{Typed, flag_named};
use crate::plan::size::whole;
use crate::tokens::models;

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
pub(super) const NEEDED: [(&str, &str, &[&str]); 11] = [
    ("--sort", "--count", &[]),
    ("--truncate-args", "--preset deepagents", &[]),
    ("--json", "--dry-run", &["--count", "--emit", "--search", "--show"]),
    ("--resume", "--output-dir compacted", &["--output", "--in-place"]),
    ("--rounds", "--restore removed.jsonl", &[]),
    ("--archive-note", "--archive removed.jsonl", &[]),
    ("--limit", "--search error", &[]),
    ("--limit-tokens", "--show 2:17", &[]),
    ("--base-url", "--model openai:gpt-4o-mini", &[]),
    ("--api-key-env", "--model openai:gpt-4o-mini", &[]),
    ("--request-json", "--model openai:gpt-4o-mini", &[]),
];

/// Returns what to change on the command line for a flag: it gets a value that it accepts, the corrected one if possible.
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

/// Whether the user gives a context window, of which a fraction is taken.
fn knows_window(typed: &Typed) -> bool {
    let is_of_variable = |flag: &str| typed.by_variable.iter().any(|given| given == flag);
    match (typed.value("--context-window"), typed.value("--for")) {
        (Some(tokens), _) => whole(&tokens).is_ok(),
        (None, Some(model)) => models::find(&model).is_some(),
        (None, None) => is_of_variable("--context-window") || is_of_variable("--for"),
    }
}

/// Returns what to try if nothing better is known.
pub(super) fn help() -> Advice {
    Advice::command(["--help"])
}
