//! The messages about a command line with an error: the flag, the text with carets under the error, what was probably
//! meant, and what to try next.

use clap::Arg;
use clap::error::{ContextKind, ErrorKind};

use crate::cli::command;
use crate::cli::correction::{MOST_MISTAKES, NEEDED, attempt, diagnostic, help, listed, strings, text};
use crate::cli::retry::{Correction, Typed, flag_named, is_same, may_hold_a_secret, name, parsed, value_at};
use crate::diagnostic::{Advice, Diagnostic, joined, nearest, quoted};

/// What is wrong with a command line, and what to try.
struct Description {
    lines: Vec<String>,
    advice: Option<Advice>,
    /// The flag that is wrong, as it was typed or by its name; empty where none is.
    wrong: String,
}

/// Describes an error of clap in lines. The first follows the name of the program.
pub(crate) fn describe(error: &clap::Error, typed: &Typed) -> String {
    let Description { mut lines, advice, wrong } = description(error, typed);
    lines.extend(advice.iter().flat_map(|advice| completed(advice, &wrong, typed).lines()));
    lines.join("\n")
}

/// Completes a command to try with the rest of what was typed, where the flag `wrong` is wrong. Where it cannot be
/// repeated, the advice says what to change.
pub(crate) fn completed(advice: &Advice, wrong: &str, typed: &Typed) -> Advice {
    let Advice::Command { variable, without, words: advised, note } = advice else { return advice.clone() };
    if may_hold_a_secret(advised) {
        return help();
    }
    if is_alone(advised) || typed.words.is_empty() {
        return advice.clone();
    }
    // A word that is not Unicode is not known.
    let is_repeatable = |words: &Vec<String>| !may_hold_a_secret(words) && !words.concat().contains('\u{fffd}');
    let words = Correction::new(advised, wrong).applied(&typed.words[1..], without.as_deref());
    match without_mistakes(words, advised, MOST_MISTAKES).filter(is_repeatable) {
        Some(words) => Advice::Command { variable: variable.clone(), without: None, words, note: *note },
        None => {
            let note = note.map(|note| format!(", {note}")).unwrap_or_default();
            let change = match without {
                Some(input) => format!("without {}", quoted(input)),
                None => format!("with {}", joined(advised)),
            };
            Advice::Line(format!("the same {change}{note}"))
        }
    }
}

/// Whether words make a command of their own.
fn is_alone(words: &[String]) -> bool {
    words.iter().any(|word| matches!(word.as_str(), "--list" | "--help" | "--generate"))
}

/// Words of which those that are wrong, too, are corrected or left out, but for those to try.
fn without_mistakes(words: Vec<String>, advised: &[String], mistakes: usize) -> Option<Vec<String>> {
    let Err(error) = parsed(&words) else { return Some(words) };
    let typed = Typed { words: [vec![String::new()], words].concat(), by_variable: Vec::new() };
    let Description { advice, wrong, .. } = description(&error, &typed);
    let (advice, wrong) = match advice {
        Some(Advice::Command { words, .. }) if is_alone(&words) => return None,
        Some(Advice::Command { words, .. }) => (words, wrong),
        _ => (Vec::new(), left_out(&error, advised)?),
    };
    let corrected = Correction::new(&advice, &wrong).applied(&typed.words[1..], None);
    without_mistakes(corrected, advised, mistakes.checked_sub(1)?)
}

/// The flag to leave out of those that exclude each other, where one of them is to be tried. Of two that were typed,
/// nobody can say which was meant: one may only look, and the other write.
fn left_out(error: &clap::Error, advised: &[String]) -> Option<String> {
    let command = command();
    let is_advised = |flag: &String| advised.iter().any(|word| is_same(&command, name(word), flag));
    let flag = text(error, ContextKind::InvalidArg).filter(|_| error.kind() == ErrorKind::ArgumentConflict)?;
    let prior = strings(error, ContextKind::PriorArg).iter();
    let flags: Vec<String> = prior.chain([&flag]).map(|flag| name(flag).to_owned()).collect();
    flags.iter().any(&is_advised).then(|| flags.into_iter().find(|flag| !is_advised(flag))).flatten()
}

fn description(error: &clap::Error, typed: &Typed) -> Description {
    let described = match error.kind() {
        ErrorKind::InvalidValue | ErrorKind::ValueValidation => invalid_value(error, typed),
        ErrorKind::UnknownArgument => unknown_flag(error, typed),
        ErrorKind::ArgumentConflict => conflict(error, typed),
        ErrorKind::MissingRequiredArgument => missing_flag(error, typed),
        _ => None,
    };
    described.unwrap_or_else(|| other_error(error, typed))
}

fn invalid_value(error: &clap::Error, typed: &Typed) -> Option<Description> {
    let (flag, value) = (text(error, ContextKind::InvalidArg)?, text(error, ContextKind::InvalidValue)?);
    let name = name(&flag);
    let wrong = name.to_owned();
    if value.is_empty() {
        let valid = strings(error, ContextKind::ValidValue);
        let valid = if valid.is_empty() { String::new() } else { format!(": {}", listed(valid, "or")) };
        if name.is_empty() {
            let line = "a PATH is empty; name a file, or leave it out to read standard input".to_owned();
            return Some(Description { lines: vec![line], advice: Some(help()), wrong });
        }
        let line = format!("{name} needs a value{valid}");
        return Some(Description { lines: vec![line], advice: Some(attempt(name, None, typed)), wrong });
    }
    let diagnostic = diagnostic(error);
    let advice = Some(attempt(name, Some(&value), typed));
    if may_hold_a_secret(&[name.to_owned(), value.clone()]) {
        // What is wrong with it can repeat a part of it.
        let why = Some(diagnostic.to_string()).filter(|why| !may_hold_a_secret(&[name.to_owned(), why.clone()]));
        let why = why.map(|why| format!(": {why}")).unwrap_or_default();
        let line = format!("invalid value for '{flag}', not shown since it can hold a key{why}");
        return Some(Description { lines: vec![line], advice, wrong });
    }
    let [shown, carets] = diagnostic.draw(&value);
    let first = format!("invalid value '{value}' for '{flag}': {diagnostic}");
    Some(Description { lines: vec![first, shown, carets], advice, wrong })
}

fn unknown_flag(error: &clap::Error, typed: &Typed) -> Option<Description> {
    let mut flag = text(error, ContextKind::InvalidArg)?;
    if flag == "-=" {
        let switch = typed.words.iter().skip(1).find_map(|word| short_switch_with_value(word));
        return switch.map(|switch| needless_value(&switch, typed));
    }
    let mut meant = near_flag(&flag).map(|long| format!("--{long}"));
    if let Some((word, long)) = with_one_hyphen(&flag, &typed.words) {
        (flag, meant) = (word, Some(long));
    }
    let [shown, carets] = Diagnostic::new("").meant(meant.clone()).draw(&flag);
    let value = value_of(&flag, &typed.words);
    let (instead, advice) = match meant {
        _ if flag == "--no-color" => ("", Advice::command(["--color", "never"])),
        _ if flag == "--clear-tool-results" => {
            let rule = value.map(|size| format!("results:{size}"));
            ("; --prune results:SIZE has replaced it", attempt("--prune", rule.as_deref(), typed))
        }
        Some(name) => ("", attempt(&name, value, typed)),
        None => ("", help()),
    };
    let lines = vec![format!("there is no flag '{flag}'{instead}"), shown, carets];
    Some(Description { lines, advice: Some(advice), wrong: flag })
}

/// What stands as the value of an unknown flag.
fn value_of<'w>(flag: &str, words: &'w [String]) -> Option<&'w str> {
    let at = words.iter().position(|word| name(word) == flag)?;
    value_at(words, at, flag).filter(|value| words[at] != flag || !value.starts_with('-'))
}

/// The long name of the switch in a word like `-n=true`.
fn short_switch_with_value(word: &str) -> Option<String> {
    let short = name(word.strip_prefix('-').filter(|_| word.contains('='))?).chars().next_back()?;
    let command = command();
    let arg = flag_named(&command, &format!("-{short}"))?;
    Some(format!("--{}", arg.get_long()?)).filter(|_| !arg.get_action().takes_values())
}

/// Describes a switch that was given a value.
fn needless_value(switch: &str, typed: &Typed) -> Description {
    let line = format!("{switch} takes no value; give it alone or leave it out");
    Description { lines: vec![line], advice: Some(attempt(switch, None, typed)), wrong: switch.to_owned() }
}

/// The flag that a misspelled or unfinished flag means; one letter of every four may be wrong.
fn near_flag(flag: &str) -> Option<String> {
    let word = flag.strip_prefix("--")?;
    let command = command();
    let longs: Vec<&str> = command.get_arguments().filter(|arg| !arg.is_hide_set()).filter_map(Arg::get_long).collect();
    let slips = longs.iter().map(|long| (strsim::damerau_levenshtein(word, long), *long));
    let slip = slips.min().filter(|(slips, _)| *slips <= (word.len() / 4).max(1)).map(|(_, long)| long);
    let begins = |long: &&&str| word.len() > 2 && long.starts_with(word);
    slip.or_else(|| longs.iter().find(begins).copied()).map(str::to_owned)
}

/// A word like `-keep`, in which clap found no short flag, and the long flag that it means.
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

/// Describes flags that exclude each other, and which to leave out; of a flag that is given twice, the last counts.
fn conflict(error: &clap::Error, typed: &Typed) -> Option<Description> {
    let flag = text(error, ContextKind::InvalidArg)?;
    let wrong = name(&flag).to_owned();
    let mut advice = None;
    let what = match strings(error, ContextKind::PriorArg) {
        [] => "with anything else; give it alone".to_owned(),
        [other] if *other == flag => {
            advice = Some(Advice::command([wrong.clone()].into_iter().chain(typed.value(&wrong))));
            "multiple times; give it once".to_owned()
        }
        others => {
            let quoted: Vec<String> = others.iter().map(|other| format!("'{other}'")).collect();
            let names: Vec<String> = others.iter().map(|other| name(other).to_owned()).collect();
            let or = if names.len() > 1 { ", or" } else { " or" };
            format!("with {}; leave out {wrong}{or} {}", listed(&quoted, "and"), listed(&names, "and"))
        }
    };
    Some(Description { lines: vec![format!("the argument '{flag}' cannot be used {what}")], advice, wrong })
}

/// Describes a flag that needs another flag beside it.
fn missing_flag(error: &clap::Error, typed: &Typed) -> Option<Description> {
    let missing = text(error, ContextKind::InvalidArg)?;
    let lacks = |(flag, beside, _): &&(&str, &str, _)| name(beside) == name(&missing) && typed.has(flag);
    let (flag, beside, _) = NEEDED.iter().find(lacks)?;
    let line = format!("{flag} works only with {}; give both", name(beside));
    let advice = Some(Advice::command(beside.split(' ')));
    Some(Description { lines: vec![line], advice, wrong: String::new() })
}

/// The message of clap for all other errors, with what to try.
fn other_error(error: &clap::Error, typed: &Typed) -> Description {
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
        return needless_value(switch, typed);
    }
    let wrong = flag.map(|flag| name(&flag).to_owned()).unwrap_or_default();
    let advice = if wrong.is_empty() { help() } else { attempt(&wrong, None, typed) };
    Description { lines, advice: Some(advice), wrong }
}

#[cfg(test)]
mod tests;
