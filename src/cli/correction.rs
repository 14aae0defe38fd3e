//! What clap says of a wrong value, and the value as it was meant.
//!
//! Also: a command to try for a flag: with a corrected value, an example, and the flags that it needs.

use std::error::Error;
use std::path::Path;

use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::{Arg, ArgAction};

use crate::cli::commands::CommandName;
use crate::cli::retry::{Typed, flag_named};
use crate::diagnostic::{Advice, Diagnostic};
use crate::plan::size::whole;
use crate::tokens::models;

/// The most mistakes in one value, or on a command line, that are corrected.
pub(super) const MOST_MISTAKES: usize = 8;

/// What is wrong with a value, and with which part of it if that is known.
pub(crate) fn diagnostic(error: &clap::Error) -> Diagnostic {
    if let Some(source) = error.source() {
        return match source.downcast_ref::<Diagnostic>() {
            Some(diagnostic) => diagnostic.clone(),
            None => Diagnostic::new(source.to_string()),
        };
    }
    let expected = listed(strings(error, ContextKind::ValidValue), "or");
    let diagnostic = Diagnostic::new(format!("expected {expected}"));
    let given = text(error, ContextKind::InvalidValue).unwrap_or_default();
    let most_slips = (given.chars().count() / 3).max(2);
    match text(error, ContextKind::SuggestedValue) {
        Some(meant) if strsim::damerau_levenshtein(&given, &meant) <= most_slips => diagnostic.meant(Some(meant)),
        _ => diagnostic,
    }
}

/// A text that an argument of a command accepts, if it is known what was meant. `flag` has its hyphens, or is the name of
/// the first word as in `<PATTERN>`.
pub(crate) fn corrected(name: CommandName, flag: &str, text: &str) -> Option<String> {
    let mut command = name.command();
    let mut text = text.to_owned();
    // Correcting one part can show that another is wrong too.
    for _ in 0..MOST_MISTAKES {
        let words = if flag.starts_with('<') {
            vec!["tcompact".to_owned(), "--".to_owned(), text.clone()]
        } else {
            vec!["tcompact".to_owned(), format!("{flag}={text}")]
        };
        match command.try_get_matches_from_mut(words) {
            Ok(_) => return Some(text),
            // A word that the command needs, too.
            Err(error) if error.kind() == ErrorKind::MissingRequiredArgument => return Some(text),
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

/// Values to try for flags and words without a default and without listed values.
pub(super) const EXAMPLES: [(&str, &str); 36] = [
    ("<PATTERN>", "error"),
    ("<INDEXES>", "last"),
    ("<ARCHIVE>", "removed.jsonl"),
    ("--prune", "results:5"),
    ("--prune-except", "Read"),
    ("--fit", "tokens:8k"),
    ("--summary-tokens", "1024"),
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
    ("--rounds", "1"),
    ("--limit", "50"),
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
pub(super) const NEEDED: [(&str, &str, &[&str]); 8] = [
    ("--truncate-args", "--preset deepagents", &[]),
    ("--json", "--dry-run", &["--emit"]),
    ("--resume", "--output-dir compacted", &["--output", "--in-place"]),
    ("--force", "--in-place", &[]),
    ("--archive-note", "--archive removed.jsonl", &[]),
    ("--base-url", "--model openai:gpt-4o-mini", &[]),
    ("--api-key-env", "--model openai:gpt-4o-mini", &[]),
    ("--request-json", "--model openai:gpt-4o-mini", &[]),
];

/// What to change on the command line for a flag: it gets a value that it accepts, the corrected one if possible.
pub(super) fn attempt(flag: &str, value: Option<&str>, typed: &Typed) -> Advice {
    let command = typed.name().command();
    let Some(arg) = flag_named(&command, flag) else { return help(typed) };
    if arg.is_positional() {
        return attempt_word(arg, flag, value, typed);
    }
    let mut tried = Vec::new();
    for (needy, beside, others) in NEEDED {
        let needed = beside.split(' ').next().unwrap_or_default();
        // Another command has such a flag alone.
        if needy != flag || flag_named(&command, needed).is_none() {
            continue;
        }
        if !typed.has(needed) && !others.iter().any(|flag| typed.has(flag)) {
            tried.extend(beside.split(' ').map(str::to_owned));
        }
    }
    let value = match value {
        // The next word is not a value of a flag whose value must follow `=`.
        Some(value) if arg.is_require_equals_set() && !ends_a_word(typed, value) => None,
        value => value,
    };
    if !arg.get_action().takes_values() {
        tried.push(flag.to_owned());
    } else if let Some(rules) = value.and_then(|value| rules(typed.name(), arg, flag, value)) {
        for rule in rules {
            tried.extend([flag.to_owned(), rule.to_owned()]);
        }
    } else if let Some(value) = value_to_try(typed.name(), arg, flag, value) {
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
        return help(typed);
    }
    Advice::command(tried)
}

/// Whether a value follows `=` in one of the words.
fn ends_a_word(typed: &Typed, value: &str) -> bool {
    let end = format!("={value}");
    typed.words.iter().any(|word| word.ends_with(&end))
}

/// What to change for a word that the command needs. An existing file in its place is an input.
fn attempt_word(arg: &Arg, flag: &str, value: Option<&str>, typed: &Typed) -> Advice {
    let value = value.filter(|value| !Path::new(value).exists());
    let Some(tried) = value_to_try(typed.name(), arg, flag, value) else { return help(typed) };
    match value {
        Some(value) => Advice::instead(value.to_owned(), tried),
        None => Advice::command([tried]),
    }
}

/// Several rules in one value, of which each wants a flag of its own.
fn rules<'v>(name: CommandName, arg: &Arg, flag: &str, value: &'v str) -> Option<Vec<&'v str>> {
    if !value.contains(',') || !matches!(arg.get_action(), ArgAction::Append) {
        return None;
    }
    let rules: Vec<&str> = value.split(',').collect();
    for rule in &rules {
        if corrected(name, flag, rule).as_deref() != Some(*rule) {
            return None;
        }
    }
    Some(rules)
}

/// The value as it was probably meant, or another one that the flag accepts.
fn value_to_try(name: CommandName, arg: &Arg, flag: &str, value: Option<&str>) -> Option<String> {
    if let Some(corrected) = value.and_then(|value| corrected(name, flag, value)) {
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
    match (typed.value("--context-window"), typed.value("--for")) {
        (Some(tokens), _) => whole(&tokens).is_ok(),
        (None, Some(model)) => models::find(&model).is_some(),
        (None, None) => typed.by_variable.iter().any(|flag| flag == "--context-window" || flag == "--for"),
    }
}

/// What to try if nothing better is known.
pub(super) fn help(typed: &Typed) -> Advice {
    help_of(typed.name())
}

pub(super) fn help_of(name: CommandName) -> Advice {
    match name.word() {
        "" => Advice::command(["--help"]),
        word => Advice::command([word, "--help"]),
    }
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
            assert_eq!(corrected(CommandName::Compact, flag, text).as_deref(), meant, "{flag} {text}");
        }
    }
}
