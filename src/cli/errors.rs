//! The messages about a command line with an error: the flag, the text with carets under the error, what was probably
//! meant, and what to try next.

use clap::Arg;
use clap::error::{ContextKind, ContextValue, ErrorKind};

use crate::advice::Advice;
use crate::cli::attempt::{NEEDED, attempt, help, name, value_of};
use crate::cli::command;
use crate::cli::correction::{diagnostic, listed, strings, text};
pub(crate) use crate::cli::retry::completed;
use crate::cli::retry::flag_named;
use crate::diagnostic::{Diagnostic, nearest};

/// What is wrong with a command line, and what to try.
struct Description {
    lines: Vec<String>,
    advice: Option<Advice>,
}

/// Describes an error of clap in lines. The first follows the name of the program. `words` is the command line.
pub(crate) fn describe(error: &clap::Error, words: &[String]) -> String {
    let described = match error.kind() {
        ErrorKind::InvalidValue | ErrorKind::ValueValidation => invalid_value(error, words),
        ErrorKind::UnknownArgument => unknown_flag(error, words),
        ErrorKind::ArgumentConflict => conflict(error),
        ErrorKind::MissingRequiredArgument => missing_flag(error, words),
        _ => None,
    };
    let Description { mut lines, advice } = described.unwrap_or_else(|| other_error(error, words));
    let wrong = text(error, ContextKind::InvalidArg);
    let wrong = wrong.as_deref().map(name).unwrap_or_default();
    lines.extend(advice.iter().flat_map(|advice| completed(advice, wrong, words).lines()));
    lines.join("\n")
}

fn invalid_value(error: &clap::Error, words: &[String]) -> Option<Description> {
    let (flag, value) = (text(error, ContextKind::InvalidArg)?, text(error, ContextKind::InvalidValue)?);
    let name = name(&flag);
    if value.is_empty() {
        let valid = strings(error, ContextKind::ValidValue);
        let valid = if valid.is_empty() { String::new() } else { format!(": {}", listed(valid, "or")) };
        if name.is_empty() {
            let line = "a PATH is empty; name a file, or leave it out to read standard input".to_owned();
            return Some(Description { lines: vec![line], advice: Some(help()) });
        }
        let line = format!("{name} needs a value{valid}");
        return Some(Description { lines: vec![line], advice: Some(attempt(name, None, words)) });
    }
    let diagnostic = diagnostic(error);
    let [shown, carets] = diagnostic.draw(&value);
    let first = format!("invalid value '{value}' for '{flag}': {diagnostic}");
    Some(Description { lines: vec![first, shown, carets], advice: Some(attempt(name, Some(&value), words)) })
}

fn unknown_flag(error: &clap::Error, words: &[String]) -> Option<Description> {
    let mut flag = text(error, ContextKind::InvalidArg)?;
    if flag == "-=" {
        return words
            .iter()
            .skip(1)
            .find_map(|word| short_switch_with_value(word))
            .map(|long| needless_value(&long, words));
    }
    let mut meant = near_flag(&flag).map(|long| format!("--{long}"));
    if let Some((word, long)) = with_one_hyphen(&flag, words) {
        (flag, meant) = (word, Some(long));
    }
    let [shown, carets] = Diagnostic::new("").meant(meant.clone()).draw(&flag);
    let advice = match meant {
        _ if flag == "--no-color" => Advice::command(["--color", "never"]),
        Some(name) => attempt(&name, value_of(&flag, words), words),
        None => help(),
    };
    Some(Description { lines: vec![format!("there is no flag '{flag}'"), shown, carets], advice: Some(advice) })
}

/// Returns the long name of the switch in a word like `-n=true`.
fn short_switch_with_value(word: &str) -> Option<String> {
    let short = name(word.strip_prefix('-').filter(|_| word.contains('='))?).chars().next_back()?;
    let command = command();
    let arg = flag_named(&command, &format!("-{short}"))?;
    Some(format!("--{}", arg.get_long()?)).filter(|_| !arg.get_action().takes_values())
}

/// Describes a switch that was given a value.
fn needless_value(switch: &str, words: &[String]) -> Description {
    let line = format!("{switch} takes no value; give it alone or leave it out");
    Description { lines: vec![line], advice: Some(attempt(switch, None, words)) }
}

/// Returns the flag that a misspelled or unfinished flag means; one letter of every four may be wrong.
fn near_flag(flag: &str) -> Option<String> {
    let word = flag.strip_prefix("--")?;
    let command = command();
    let longs: Vec<&str> = command.get_arguments().filter(|arg| !arg.is_hide_set()).filter_map(Arg::get_long).collect();
    let slips = longs.iter().map(|long| (strsim::damerau_levenshtein(word, long), *long));
    let slip = slips.min().filter(|(slips, _)| *slips <= (word.len() / 4).max(1)).map(|(_, long)| long);
    let begins = |long: &&&str| word.len() > 2 && long.starts_with(word);
    slip.or_else(|| longs.iter().find(begins).copied()).map(str::to_owned)
}

/// Returns a word like `-keep`, in which clap found no short flag, and the long flag that it means.
fn with_one_hyphen(flag: &str, words: &[String]) -> Option<(String, String)> {
    let short = flag.strip_prefix('-').filter(|short| !short.starts_with('-'))?;
    let word = words.iter().skip(1).find(|word| {
        let after = word.strip_prefix('-').filter(|rest| !rest.starts_with('-'));
        after.is_some_and(|rest| rest.contains(short) && name(rest).chars().count() > 2)
    })?;
    let word = name(word);
    let command = command();
    let long = nearest(&word[1..], command.get_arguments().filter_map(Arg::get_long))?;
    Some((word.to_owned(), format!("--{long}")))
}

/// Describes flags that exclude each other, and which to leave out.
fn conflict(error: &clap::Error) -> Option<Description> {
    let flag = text(error, ContextKind::InvalidArg)?;
    let others = match error.get(ContextKind::PriorArg) {
        Some(ContextValue::String(other)) => vec![other.clone()],
        Some(ContextValue::Strings(others)) => others.clone(),
        _ => vec![],
    };
    let what = match others.as_slice() {
        [] => "with anything else; give it alone".to_owned(),
        [other] if *other == flag => "multiple times; give it once".to_owned(),
        others => {
            let quoted: Vec<String> = others.iter().map(|other| format!("'{other}'")).collect();
            let names: Vec<String> = others.iter().map(|other| name(other).to_owned()).collect();
            let or = if names.len() > 1 { ", or" } else { " or" };
            format!("with {}; leave out {}{or} {}", listed(&quoted, "and"), name(&flag), listed(&names, "and"))
        }
    };
    Some(Description { lines: vec![format!("the argument '{flag}' cannot be used {what}")], advice: None })
}

/// Describes a flag that needs another flag beside it.
fn missing_flag(error: &clap::Error, words: &[String]) -> Option<Description> {
    let missing = text(error, ContextKind::InvalidArg)?;
    let lacks = |(flag, beside): &&(&str, &str)| *beside == missing && words.iter().any(|word| word == flag);
    let (flag, beside) = NEEDED.iter().find(lacks)?;
    let line = format!("{flag}: it goes with {beside}; give both");
    Some(Description { lines: vec![line], advice: Some(attempt(flag, None, words)) })
}

/// Returns the message of clap for all other errors, with what to try.
fn other_error(error: &clap::Error, words: &[String]) -> Description {
    let rendered = error.render().to_string();
    let rendered = rendered.strip_prefix("error: ").unwrap_or(&rendered).trim_end();
    let hints = ["Usage: ", "For more information"];
    let lines_of_clap =
        rendered.lines().filter(|line| !line.trim().is_empty() && !hints.iter().any(|hint| line.starts_with(hint)));
    let lines: Vec<String> = lines_of_clap.map(str::to_owned).collect();
    let flag = text(error, ContextKind::InvalidArg).filter(|_| {
        // The flag lacks its value, or is a switch that was given one.
        use ErrorKind::{NoEquals, TooFewValues, TooManyValues, WrongNumberOfValues};
        matches!(error.kind(), NoEquals | TooFewValues | TooManyValues | WrongNumberOfValues)
    });
    if let Some(switch) = flag.as_deref().map(name).filter(|_| error.kind() == ErrorKind::TooManyValues) {
        return needless_value(switch, words);
    }
    let advice = flag.map_or_else(help, |flag| attempt(name(&flag), None, words));
    Description { lines, advice: Some(advice) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::attempt::EXAMPLES;
    use crate::diagnostic::quoted;

    /// What is told of words that clap does not understand.
    fn told(words: &[&str]) -> String {
        let words: Vec<String> = words.iter().map(|word| (*word).to_owned()).collect();
        let error = command().try_get_matches_from(&words).expect_err("a mistake");
        describe(&error, &words)
    }

    #[test]
    fn a_misspelled_flag_keeps_its_value_and_all_else() {
        const FILE: &str = "Cargo.toml";
        let mut tried = 0;
        for arg in command().get_arguments() {
            let long = arg.get_long().filter(|long| long.len() > 4 && !arg.is_exclusive_set());
            let Some(long) = long.filter(|_| arg.get_action().takes_values()) else { continue };
            let flag = format!("--{long}");
            let default = arg.get_default_values().first().map(|value| value.to_string_lossy().into_owned());
            let listed = arg.get_possible_values().last().map(|value| value.get_name().to_owned());
            let example = EXAMPLES.iter().find(|(name, _)| *name == flag).map(|(_, value)| (*value).to_owned());
            let mut values: Vec<String> = listed.or(default).or(example).into_iter().collect();
            // A value that is a file is not an input.
            if matches!(arg.get_value_hint(), clap::ValueHint::FilePath | clap::ValueHint::DirPath) {
                values.extend(["README.md".to_owned(), "src".to_owned()]);
            }
            let mut wrong = flag.clone();
            wrong.remove(flag.len() - 2);
            // Two flags may be as near.
            if near_flag(&wrong).as_deref() != Some(long) {
                continue;
            }
            tried += 1;
            for value in values {
                let joined = format!("{wrong}={value}");
                let mut typed = vec![["tcompact", joined.as_str(), FILE].to_vec()];
                if !arg.is_require_equals_set() {
                    typed.push(vec!["tcompact", &wrong, &value, FILE]);
                }
                for words in typed {
                    let told = told(&words);
                    let between = if arg.is_require_equals_set() { '=' } else { ' ' };
                    let next = format!("{flag}{between}{} {FILE}", quoted(&value));
                    assert!(told.ends_with(&next), "{words:?}: {told}");
                }
            }
        }
        assert!(tried > 30, "{tried}");
    }

    #[test]
    fn only_what_is_near_is_suggested() {
        const HELP: &str = "try: tcompact --help";
        for (words, next) in [
            (&["tcompact", "--force", "a.json"][..], HELP),
            (&["tcompact", "--recursive", "a.json"], HELP),
            (&["tcompact", "--compress", "a.json"], HELP),
            (&["tcompact", "--no-color", "Cargo.toml"], "try: tcompact --color never Cargo.toml"),
            (&["tcompact", "--accept", "all", "Cargo.toml"], "try: tcompact --accept any Cargo.toml"),
            (&["tcompact", "--prune", "results,reads"], "try: tcompact --prune results --prune reads"),
            (&["tcompact", "--pin", "system,first:2"], "try: tcompact --pin system --pin first:2"),
            (&["tcompact", "--prune", "args"], "try: tcompact --prune arguments"),
            (
                &["tcompact", "--trigger", "fraction:1.5", "--for", "gpt-4o"],
                "try: tcompact --trigger fraction:0.8 --for gpt-4o",
            ),
            (&["tcompact", "--keep", "msgs:10"], "try: tcompact --keep messages:10"),
            (
                &["tcompact", "--base-ur", "http://localhost:1/v1", "-m", "openai:m"],
                "try: tcompact --base-url http://localhost:1/v1 -m openai:m",
            ),
            (
                &["tcompact", "--request-json", "{\"a\":1", "-m", "openai:m"],
                "try: tcompact --request-json '{\"temperature\": 0.2}' -m openai:m",
            ),
        ] {
            let told = told(words);
            assert!(told.ends_with(next), "{words:?}: {told}");
            assert!(next != HELP || !told.contains("did you mean"), "{words:?}: {told}");
        }
        for several in [&["tcompact", "--prune", "results,reads"], &["tcompact", "--pin", "system,first:2"]] {
            assert!(!told(several).contains("did you mean"), "{several:?}");
        }
    }

    #[test]
    fn for_every_flag_there_is_something_to_try() {
        for arg in command().get_arguments() {
            let Some(long) = arg.get_long().filter(|_| !arg.is_hide_set()) else { continue };
            let next = attempt(&format!("--{long}"), None, &[]).lines().join("\n");
            assert!(next.contains(&format!("--{long}")), "--{long}: {next}");
        }
    }
}
