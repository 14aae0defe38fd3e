//! The messages about a command line with an error: the flag, the text with carets under the error, what was probably
//! meant, and what to try next.

use std::path::Path;

use clap::error::{ContextKind, ErrorKind};
use clap::{Arg, Command};

use crate::cli::commands::{CommandName, FORMER_FLAGS};
use crate::cli::correction::{MOST_MISTAKES, attempt, diagnostic, help, help_of, listed, strings, text};
use crate::cli::misplaced::{command_line_of, misplaced_command};
use crate::cli::retry::{
    Correction, Typed, flag_named, is_same, may_hold_a_secret, name as flag_name, parsed, value_at,
};
use crate::cli::word_order::reordered;
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
    let word = typed.name().word();
    if !word.is_empty() && Path::new(word).exists() {
        lines.push(format!("  the file or folder of that name is ./{word}"));
    }
    if let Some(advice) = advice {
        lines.extend(completed(&advice, &wrong, typed).lines());
    }
    lines.join("\n")
}

/// Completes a command to try with the rest of what was typed, where the flag `wrong` is wrong. Where it cannot be
/// repeated, the advice says what to change.
pub(crate) fn completed(advice: &Advice, wrong: &str, typed: &Typed) -> Advice {
    let Advice::Command { variable, without, words: advised, note } = advice else { return advice.clone() };
    if may_hold_a_secret(advised) {
        return help(typed);
    }
    if without.is_none() && is_alone(advised) || typed.words.is_empty() {
        return advice.clone();
    }
    let name = typed.name();
    let words = Correction::new(name.command(), advised, wrong).applied(typed.rest(), without.as_deref());
    if let Some(words) = without_mistakes(name, words, advised, MOST_MISTAKES)
        && is_repeatable(&words)
    {
        let words = with_name(name, words);
        return Advice::Command { variable: variable.clone(), without: None, words, note: *note };
    }
    let mut line = match without {
        Some(input) => format!("the same without {}", quoted(input)),
        None => format!("the same with {}", joined(advised)),
    };
    if let Some(note) = note {
        line.push_str(", ");
        line.push_str(note);
    }
    Advice::Line(line)
}

/// Whether words can be shown. A word that is not Unicode is not known.
fn is_repeatable(words: &[String]) -> bool {
    !may_hold_a_secret(words) && !words.iter().any(|word| word.contains('\u{fffd}'))
}

/// The words behind the name of the program: a command and its own words.
fn with_name(name: CommandName, words: Vec<String>) -> Vec<String> {
    if name == CommandName::Compact { words } else { [vec![name.word().to_owned()], words].concat() }
}

/// Whether words make a command of their own.
fn is_alone(words: &[String]) -> bool {
    CommandName::of_words(words) != CommandName::Compact || words.iter().any(|word| word == "--help")
}

/// Words of which those that are wrong, too, are corrected or left out, but for those to try.
fn without_mistakes(name: CommandName, words: Vec<String>, advised: &[String], mistakes: usize) -> Option<Vec<String>> {
    let Err(error) = parsed(name, &words) else { return Some(words) };
    let typed = Typed { words: [vec![String::new()], with_name(name, words)].concat(), by_variable: Vec::new() };
    let Description { advice, wrong, .. } = description(&error, &typed);
    let (to_try, without, wrong) = match advice {
        Some(Advice::Command { words, without: None, .. }) if is_alone(&words) => return None,
        Some(Advice::Command { words, without, .. }) => (words, without, wrong),
        _ => (Vec::new(), None, left_out(name, &error, advised)?),
    };
    let corrected = Correction::new(name.command(), &to_try, &wrong).applied(typed.rest(), without.as_deref());
    without_mistakes(name, corrected, advised, mistakes.checked_sub(1)?)
}

/// The flag to leave out of those that exclude each other, where one of them is to be tried. Of two that were typed,
/// nobody can say which was meant: one may only look, and the other write.
fn left_out(name: CommandName, error: &clap::Error, advised: &[String]) -> Option<String> {
    if error.kind() != ErrorKind::ArgumentConflict {
        return None;
    }
    let command = name.command();
    let flag = text(error, ContextKind::InvalidArg)?;
    let mut is_one_advised = false;
    let mut other = None;
    for flag in strings(error, ContextKind::PriorArg).iter().chain([&flag]) {
        let flag = flag_name(flag);
        if advised.iter().any(|word| is_same(&command, flag_name(word), flag)) {
            is_one_advised = true;
        } else if other.is_none() {
            other = Some(flag.to_owned());
        }
    }
    if is_one_advised { other } else { None }
}

fn description(error: &clap::Error, typed: &Typed) -> Description {
    // Flags of a command that is misspelled are unknown to compaction.
    if let Some((line, words)) = misplaced_command(typed, true) {
        return Description { lines: vec![line], advice: Some(Advice::command(words)), wrong: String::new() };
    }
    if let Some((line, words)) = reordered(typed) {
        return Description { lines: vec![line], advice: Some(Advice::command(words)), wrong: String::new() };
    }
    let described = match error.kind() {
        ErrorKind::InvalidValue | ErrorKind::ValueValidation => invalid_value(error, typed),
        ErrorKind::UnknownArgument => unknown_flag(error, typed),
        ErrorKind::ArgumentConflict => conflict(error, typed),
        ErrorKind::MissingRequiredArgument => missing_word(error, typed),
        _ => None,
    };
    described.unwrap_or_else(|| other_error(error, typed))
}

fn invalid_value(error: &clap::Error, typed: &Typed) -> Option<Description> {
    let (flag, value) = (text(error, ContextKind::InvalidArg)?, text(error, ContextKind::InvalidValue)?);
    let name = flag_name(&flag);
    let wrong = name.to_owned();
    if value.is_empty() {
        let valid = strings(error, ContextKind::ValidValue);
        let valid = if valid.is_empty() { String::new() } else { format!(": {}", listed(valid, "or")) };
        if name.is_empty() {
            let line = "a PATH is empty; name a file, or leave it out to read standard input".to_owned();
            return Some(Description { lines: vec![line], advice: Some(help(typed)), wrong });
        }
        let line = format!("{name} needs a value{valid}");
        return Some(Description { lines: vec![line], advice: Some(attempt(name, None, typed)), wrong });
    }
    let diagnostic = diagnostic(error);
    let advice = Some(attempt(name, Some(&value), typed));
    if may_hold_a_secret(&[name.to_owned(), value.clone()]) {
        let mut line = format!("invalid value for '{flag}', not shown since it can hold a key");
        // What is wrong with it can repeat a part of it.
        let why = diagnostic.to_string();
        if !may_hold_a_secret(&[name.to_owned(), why.clone()]) {
            line.push_str(": ");
            line.push_str(&why);
        }
        return Some(Description { lines: vec![line], advice, wrong });
    }
    let [shown, carets] = diagnostic.draw(&value);
    let first = format!("invalid value '{value}' for '{flag}': {diagnostic}");
    Some(Description { lines: vec![first, shown, carets], advice, wrong })
}

/// Flags of other programs that search, and ours for the same.
const FLAGS_OF_GREP: [(&str, &str); 7] = [
    ("-c", "--count"),
    ("-l", "--count"),
    ("--files-with-matches", "--count"),
    ("-m", "--limit"),
    ("--max-count", "--limit"),
    ("--last", "--limit"),
    ("--head", "--limit"),
];

/// What a flag of compaction can be in a search.
const PATTERN_OR_FLAG: &str = "; it is a flag of compaction, and a PATTERN that begins with `-` follows `--`";

fn unknown_flag(error: &clap::Error, typed: &Typed) -> Option<Description> {
    let mut flag = text(error, ContextKind::InvalidArg)?;
    if flag == "-=" {
        let command = typed.name().command();
        let switch = typed.rest().iter().find_map(|word| short_switch_with_value(&command, word))?;
        return Some(needless_value(&switch, typed));
    }
    if !flag.starts_with('-') {
        let line = format!("{} takes no more words: what is '{flag}'?", typed.name().word());
        return Some(Description { lines: vec![line], advice: Some(Advice::without(flag)), wrong: String::new() });
    }
    if let Some(described) = former_flag(typed) {
        return Some(described);
    }
    if let Some(described) = flag_of_command(&flag, typed) {
        return Some(described);
    }
    let command = typed.name().command();
    let mut meant = near_flag(&command, &flag).map(|long| format!("--{long}"));
    if typed.name() == CommandName::Search
        && let Some((_, long)) = FLAGS_OF_GREP.iter().find(|(known, _)| *known == flag)
    {
        meant = Some((*long).to_owned());
    }
    if let Some((word, long)) = with_one_hyphen(&command, &flag, &typed.words) {
        (flag, meant) = (word, Some(long));
    }
    let [shown, carets] = Diagnostic::new("").meant(meant.clone()).draw(&flag);
    let value = value_of(&flag, &typed.words);
    let compaction = CommandName::Compact.command();
    let of = if typed.name() == CommandName::Compact { String::new() } else { format!(" of {}", typed.name().word()) };
    let (instead, advice) = match meant {
        _ if flag == "--no-color" => ("", Advice::command(["--color", "never"])),
        _ if flag == "--clear-tool-results" => {
            let rule = value.map(|size| format!("results:{size}"));
            ("; --prune results:SIZE has replaced it", attempt("--prune", rule.as_deref(), typed))
        }
        Some(name) => ("", attempt(&name, value, typed)),
        None if typed.name() == CommandName::Search && ["-i", "--ignore-case"].contains(&flag.as_str()) => {
            ("; a PATTERN without capitals ignores case, and (?i) before one does always", help(typed))
        }
        // Without the flag, the command would not be what was asked for.
        None if typed.name() != CommandName::Compact && flag_named(&compaction, &flag).is_some() => {
            let is_search = typed.name() == CommandName::Search;
            let hint = if is_search { PATTERN_OR_FLAG } else { "; it is a flag of compaction" };
            (hint, help(typed))
        }
        None if typed.name() == CommandName::Search => {
            // A single letter is rather a flag of another program.
            let words = search_behind_hyphens(&flag, typed).filter(|_| flag.len() > 2);
            ("; a PATTERN that begins with `-` follows `--`", words.map_or_else(|| help(typed), Advice::command))
        }
        None => ("", help(typed)),
    };
    let lines = vec![format!("there is no flag '{flag}'{of}{instead}"), shown, carets];
    Some(Description { lines, advice: Some(advice), wrong: flag })
}

/// Describes flags that are commands, with the command in the words of the user.
fn former_flag(typed: &Typed) -> Option<Description> {
    if typed.name() != CommandName::Compact {
        return None;
    }
    let typed_flags: Vec<&str> = typed.rest().iter().map(|word| flag_name(word)).collect();
    let (flag, mut name) = *FORMER_FLAGS.iter().find(|(flag, _)| typed_flags.contains(flag))?;
    let mut words = command_line_of(name, Some(flag), typed);
    if words.get(1).is_some_and(|word| word == "man") {
        (name, words) = (CommandName::Man, vec!["man".to_owned()]);
    }
    let line = format!("there is no flag '{flag}'; {} is a command", name.word());
    // Of one path, nobody knows whether it is the archive.
    let lacks_archive = name == CommandName::Restore && words.len() < 3;
    let is_understood = parsed(name, &words[1..]).is_ok() && !may_hold_a_secret(&words) && !lacks_archive;
    let advice = if is_understood { Advice::command(words) } else { help_of(name) };
    Some(Description { lines: vec![line], advice: Some(advice), wrong: String::new() })
}

/// Describes a flag whose value is the word of a command, as in `--mode check`, and the archive that is a flag elsewhere.
fn flag_of_command(flag: &str, typed: &Typed) -> Option<Description> {
    let (line, name, words) = match typed.name() {
        CommandName::Restore if flag == "--archive" => {
            let words = command_line_of(CommandName::Restore, Some(flag), typed);
            let line = "there is no flag '--archive' of restore; its first word is the archive".to_owned();
            (line, CommandName::Restore, words)
        }
        CommandName::Compact => {
            let word = value_of(flag, &typed.words)?;
            let name = CommandName::of_word(word.as_ref())?;
            let words = command_line_of(name, Some(word), typed);
            (format!("there is no flag '{flag}'; {word} is a command"), name, words)
        }
        _ => return None,
    };
    let is_understood = parsed(name, &words[1..]).is_ok() && !may_hold_a_secret(&words);
    let advice = if is_understood { Advice::command(words) } else { help_of(name) };
    Some(Description { lines: vec![line], advice: Some(advice), wrong: String::new() })
}

/// The words of a search with its pattern behind `--`, if these are right.
fn search_behind_hyphens(pattern: &str, typed: &Typed) -> Option<Vec<String>> {
    let mut words = typed.rest().to_vec();
    let at = words.iter().position(|word| word.starts_with(pattern))?;
    let pattern = words.remove(at);
    words.insert(at, "--".to_owned());
    words.insert(at + 1, pattern);
    parsed(CommandName::Search, &words).ok()?;
    Some(with_name(CommandName::Search, words))
}

/// What stands as the value of an unknown flag.
fn value_of<'w>(flag: &str, words: &'w [String]) -> Option<&'w str> {
    let at = words.iter().position(|word| flag_name(word) == flag)?;
    value_at(words, at, flag).filter(|value| words[at] != flag || !value.starts_with('-'))
}

/// The long name of the switch in a word like `-n=true`.
fn short_switch_with_value(command: &Command, word: &str) -> Option<String> {
    let letters = word.strip_prefix('-')?;
    if !letters.contains('=') {
        return None;
    }
    let short = flag_name(letters).chars().next_back()?;
    let arg = flag_named(command, &format!("-{short}"))?;
    if arg.get_action().takes_values() {
        return None;
    }
    Some(format!("--{}", arg.get_long()?))
}

/// Describes a switch that was given a value.
fn needless_value(switch: &str, typed: &Typed) -> Description {
    let line = format!("{switch} takes no value; give it alone or leave it out");
    Description { lines: vec![line], advice: Some(attempt(switch, None, typed)), wrong: switch.to_owned() }
}

/// The flag that a misspelled or unfinished flag means; one letter of every four may be wrong.
fn near_flag(command: &Command, flag: &str) -> Option<String> {
    let word = flag.strip_prefix("--")?;
    let mut nearest: Option<(usize, &str)> = None;
    let mut unfinished = None;
    for arg in command.get_arguments() {
        let Some(long) = arg.get_long() else { continue };
        if arg.is_hide_set() {
            continue;
        }
        let slips = strsim::damerau_levenshtein(word, long);
        if nearest.is_none_or(|known| (slips, long) < known) {
            nearest = Some((slips, long));
        }
        if unfinished.is_none() && word.len() > 2 && long.starts_with(word) {
            unfinished = Some(long);
        }
    }
    match nearest {
        Some((slips, long)) if slips <= (word.len() / 4).max(1) => Some(long.to_owned()),
        _ => unfinished.map(str::to_owned),
    }
}

/// A word like `-keep`, in which clap found no short flag, and the long flag that it means.
fn with_one_hyphen(command: &Command, flag: &str, words: &[String]) -> Option<(String, String)> {
    let short = behind_one_hyphen(flag)?;
    for word in words.iter().skip(1) {
        let Some(rest) = behind_one_hyphen(word) else { continue };
        if !rest.contains(short) || flag_name(rest).chars().count() <= 2 {
            continue;
        }
        let word = flag_name(word);
        let long = nearest(&word[1..], command.get_arguments().filter_map(Arg::get_long))?;
        return Some((word.to_owned(), format!("--{long}")));
    }
    None
}

/// What stands behind the hyphen of a word that begins with a single one.
fn behind_one_hyphen(word: &str) -> Option<&str> {
    let rest = word.strip_prefix('-')?;
    if rest.starts_with('-') { None } else { Some(rest) }
}

/// Describes flags that exclude each other, and which to leave out; of a flag that is given twice, the last counts.
fn conflict(error: &clap::Error, typed: &Typed) -> Option<Description> {
    let flag = text(error, ContextKind::InvalidArg)?;
    let wrong = flag_name(&flag).to_owned();
    let mut advice = None;
    let what = match strings(error, ContextKind::PriorArg) {
        [] => "with anything else; give it alone".to_owned(),
        [other] if *other == flag => {
            let command = typed.name().command();
            // A word behind such a flag would be an input.
            let needs_equals = flag_named(&command, &wrong).is_some_and(Arg::is_require_equals_set);
            advice = Some(match typed.value(&wrong) {
                Some(value) if needs_equals => Advice::command([format!("{wrong}={value}")]),
                Some(value) => Advice::command([wrong.clone(), value]),
                None => Advice::command([wrong.clone()]),
            });
            "multiple times; give it once".to_owned()
        }
        others => {
            let quoted: Vec<String> = others.iter().map(|other| format!("'{other}'")).collect();
            let names: Vec<String> = others.iter().map(|other| flag_name(other).to_owned()).collect();
            let or = if names.len() > 1 { ", or" } else { " or" };
            format!("with {}; leave out {wrong}{or} {}", listed(&quoted, "and"), listed(&names, "and"))
        }
    };
    Some(Description { lines: vec![format!("the argument '{flag}' cannot be used {what}")], advice, wrong })
}

/// Describes a command that lacks a word.
fn missing_word(error: &clap::Error, typed: &Typed) -> Option<Description> {
    let missing = text(error, ContextKind::InvalidArg)?;
    let command = typed.name().command();
    let arg = flag_named(&command, &missing)?;
    let values: Vec<String> = arg.get_possible_values().iter().map(|value| value.get_name().to_owned()).collect();
    let what = match missing.as_str() {
        "<PATTERN>" => "a regular expression".to_owned(),
        "<INDEXES>" => "such as 12, last or 2:17".to_owned(),
        "<ARCHIVE>" => "the file that --archive named".to_owned(),
        _ => listed(&values, "or"),
    };
    let word = typed.name().word();
    let lines = vec![format!("{word} needs {}: {what}", missing.trim_matches(['<', '>']))];
    // Without an input, the word alone would wait for one.
    let advice = match missing.as_str() {
        "<PATTERN>" => Advice::command(["error", "."]),
        "<INDEXES>" | "<ARCHIVE>" => help(typed),
        _ if typed.name() == CommandName::Repair => help(typed),
        _ => attempt(&missing, None, typed),
    };
    Some(Description { lines, advice: Some(advice), wrong: String::new() })
}

/// The message of clap for all other errors, with what to try.
fn other_error(error: &clap::Error, typed: &Typed) -> Description {
    let rendered = error.render().to_string();
    let rendered = rendered.strip_prefix("error: ").unwrap_or(&rendered).trim_end();
    let mut lines = Vec::new();
    for line in rendered.lines() {
        if !line.trim().is_empty() && !line.starts_with("Usage: ") && !line.starts_with("For more information") {
            lines.push(line.to_owned());
        }
    }
    let lacks_value =
        matches!(error.kind(), ErrorKind::NoEquals | ErrorKind::TooFewValues | ErrorKind::WrongNumberOfValues);
    match text(error, ContextKind::InvalidArg) {
        Some(flag) if error.kind() == ErrorKind::TooManyValues => needless_value(flag_name(&flag), typed),
        Some(flag) if lacks_value && !flag_name(&flag).is_empty() => {
            let wrong = flag_name(&flag).to_owned();
            Description { lines, advice: Some(attempt(&wrong, None, typed)), wrong }
        }
        _ => Description { lines, advice: Some(help(typed)), wrong: String::new() },
    }
}

#[cfg(test)]
mod tests;
