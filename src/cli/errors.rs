//! What is said of a command line that is not understood: the flag, the text with carets under what is wrong, what was
//! probably meant, and what to try next.

use std::error::Error;

use clap::error::{ContextKind, ContextValue, ErrorKind};

use super::command;
use crate::slip::{Slip, quoted};

/// What to try where nothing better is known.
const HELP: &str = "try: tcompact --help";
/// Values for flags that have no default and take no listed value.
const EXAMPLES: [(&str, &str); 14] = [
    ("--model", "openai:gpt-4o-mini"),
    ("--for", "gpt-4o"),
    ("--preset", "langchain"),
    ("--cache", "summaries"),
    ("--output", "short.json"),
    ("--output-dir", "compacted"),
    ("--report", "report.jsonl"),
    ("--trigger", "tokens:8k"),
    ("--counter", "o200k_base"),
    ("--context-window", "128k"),
    ("--truncate-args", "2000"),
    ("--jobs", "4"),
    ("--rate", "60"),
    ("--overhead-tokens", "2k"),
];

/// An error of clap's in lines, the first to follow the name of the program.
pub fn told(error: &clap::Error) -> String {
    let lines = match error.kind() {
        ErrorKind::InvalidValue | ErrorKind::ValueValidation => of_value(error),
        ErrorKind::UnknownArgument => of_flag(error),
        _ => None,
    };
    lines.map_or_else(|| otherwise(error), |lines| lines.join("\n"))
}

/// What is wrong with a value, where a part of it is known to be.
pub fn slip(error: &clap::Error) -> Slip {
    let source = error.source();
    match source.and_then(|source| source.downcast_ref::<Slip>()) {
        Some(slip) => slip.clone(),
        None if source.is_some() => Slip::new(source.map(|source| in_words(&source.to_string())).unwrap_or_default()),
        None => Slip::new(format!("expected {}", listed(strings(error, ContextKind::ValidValue))))
            .meant(text(error, ContextKind::SuggestedValue)),
    }
}

/// A range that clap writes as Rust does, as people say it.
fn in_words(why: &str) -> String {
    let Some((from, to)) = why.split_once(" is not in ").and_then(|(_, range)| range.split_once("..=")) else {
        return why.to_owned();
    };
    let most = u32::MAX.to_string();
    if to == most { format!("expected {from} or more") } else { format!("expected a number from {from} to {to}") }
}

fn of_value(error: &clap::Error) -> Option<Vec<String>> {
    let (flag, value) = (text(error, ContextKind::InvalidArg)?, text(error, ContextKind::InvalidValue)?);
    let name = flag.split([' ', '[', '=']).next().unwrap_or(&flag);
    if value.is_empty() {
        let valid = strings(error, ContextKind::ValidValue);
        let valid = if valid.is_empty() { String::new() } else { format!(": {}", listed(valid)) };
        return Some(vec![format!("{name} needs a value{valid}"), attempt(name, None)]);
    }
    let slip = slip(error);
    let [shown, carets] = slip.drawn(&value);
    let first = format!("invalid value '{value}' for '{flag}': {slip}");
    Some(vec![first, shown, carets, attempt(name, slip.mended(&value))])
}

fn of_flag(error: &clap::Error) -> Option<Vec<String>> {
    let flag = text(error, ContextKind::InvalidArg)?;
    let meant = text(error, ContextKind::SuggestedArg);
    let name = meant.as_deref().and_then(|meant| meant.split([' ', '=']).next()).map(str::to_owned);
    let [shown, carets] = Slip::new("").meant(name.clone()).drawn(&flag);
    let next = name.map_or(HELP.to_owned(), |name| attempt(&name, None));
    Some(vec![format!("there is no flag '{flag}'"), shown, carets, next])
}

/// The flag with a value that it takes.
fn attempt(flag: &str, mended: Option<String>) -> String {
    let command = command();
    let arg = command.get_arguments().find(|arg| arg.get_long().is_some_and(|long| flag == format!("--{long}")));
    let Some(arg) = arg else { return HELP.to_owned() };
    if !arg.get_action().takes_values() {
        return format!("try: tcompact {flag}");
    }
    let default = || arg.get_default_values().first().map(|value| value.to_string_lossy().into_owned());
    let listed = || arg.get_possible_values().first().map(|value| value.get_name().to_owned());
    let example = || EXAMPLES.iter().find(|(name, _)| *name == flag).map(|(_, value)| (*value).to_owned());
    match mended.or_else(default).or_else(listed).or_else(example) {
        Some(value) => format!("try: tcompact {flag} {}", quoted(&value)),
        None => HELP.to_owned(),
    }
}

/// What clap says of flags that do not go together, with one way of naming what to try.
fn otherwise(error: &clap::Error) -> String {
    let text = error.render().to_string();
    let text = text.strip_prefix("error: ").unwrap_or(&text).trim_end();
    let lines = text.lines().filter(|line| !line.trim().is_empty() && !line.starts_with("For more information"));
    // How the flags go together, clap says as a usage: that is what to try.
    let (usage, said): (Vec<&str>, Vec<&str>) = lines.partition(|line| line.starts_with("Usage: "));
    let usage = usage.first().and_then(|line| line.strip_prefix("Usage: "));
    let next = match text_of_flag(error) {
        Some(flag) => attempt(&flag, None),
        None => usage.map_or(HELP.to_owned(), |usage| format!("try: {usage}")),
    };
    format!("{}\n{next}", said.join("\n"))
}

/// The flag that lacks its value.
fn text_of_flag(error: &clap::Error) -> Option<String> {
    let lacks = matches!(error.kind(), ErrorKind::WrongNumberOfValues | ErrorKind::TooFewValues | ErrorKind::NoEquals);
    let flag = text(error, ContextKind::InvalidArg).filter(|_| lacks)?;
    flag.split([' ', '[', '=']).next().map(str::to_owned)
}

/// Words as a sentence lists what can be chosen.
fn listed(words: &[String]) -> String {
    match words {
        [words @ .., last] if !words.is_empty() => format!("{} or {last}", words.join(", ")),
        words => words.join(", "),
    }
}

fn text(error: &clap::Error, kind: ContextKind) -> Option<String> {
    match error.get(kind)? {
        ContextValue::String(text) => Some(text.clone()),
        ContextValue::Strings(texts) => texts.first().cloned(),
        _ => None,
    }
}

fn strings(error: &clap::Error, kind: ContextKind) -> &[String] {
    match error.get(kind) {
        Some(ContextValue::Strings(texts)) => texts,
        _ => &[],
    }
}
