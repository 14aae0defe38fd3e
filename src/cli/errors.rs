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
    lines.extend(advice.iter().flat_map(|advice| completed(advice, &wrong, typed).lines()));
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
    // A word that is not Unicode is not known.
    let is_repeatable = |words: &Vec<String>| !may_hold_a_secret(words) && !words.concat().contains('\u{fffd}');
    let name = typed.name();
    let words = Correction::new(name.command(), advised, wrong).applied(typed.rest(), without.as_deref());
    match without_mistakes(name, words, advised, MOST_MISTAKES).filter(is_repeatable) {
        Some(words) => {
            let words = with_name(name, words);
            Advice::Command { variable: variable.clone(), without: None, words, note: *note }
        }
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
    let (advice, wrong) = match advice {
        Some(Advice::Command { words, without: None, .. }) if is_alone(&words) => return None,
        Some(Advice::Command { words, without, .. }) => ((words, without), wrong),
        _ => ((Vec::new(), None), left_out(name, &error, advised)?),
    };
    let (advice, without) = advice;
    let corrected = Correction::new(name.command(), &advice, &wrong).applied(typed.rest(), without.as_deref());
    without_mistakes(name, corrected, advised, mistakes.checked_sub(1)?)
}

/// The flag to leave out of those that exclude each other, where one of them is to be tried. Of two that were typed,
/// nobody can say which was meant: one may only look, and the other write.
fn left_out(name: CommandName, error: &clap::Error, advised: &[String]) -> Option<String> {
    let command = name.command();
    let is_advised = |flag: &String| advised.iter().any(|word| is_same(&command, flag_name(word), flag));
    let flag = text(error, ContextKind::InvalidArg).filter(|_| error.kind() == ErrorKind::ArgumentConflict)?;
    let prior = strings(error, ContextKind::PriorArg).iter();
    let flags: Vec<String> = prior.chain([&flag]).map(|flag| flag_name(flag).to_owned()).collect();
    flags.iter().any(&is_advised).then(|| flags.into_iter().find(|flag| !is_advised(flag))).flatten()
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
        let switch = typed.rest().iter().find_map(|word| short_switch_with_value(&command, word));
        return switch.map(|switch| needless_value(&switch, typed));
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
    if typed.name() == CommandName::Search {
        let known = FLAGS_OF_GREP.iter().find(|(known, _)| *known == flag);
        meant = known.map(|(_, long)| (*long).to_owned()).or(meant);
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
    let is_typed = |flag: &str| typed.rest().iter().any(|word| flag_name(word) == flag);
    let (flag, mut name) = *FORMER_FLAGS.iter().find(|(flag, _)| is_typed(flag))?;
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
    let is_right = parsed(CommandName::Search, &words).is_ok();
    is_right.then(|| with_name(CommandName::Search, words))
}

/// What stands as the value of an unknown flag.
fn value_of<'w>(flag: &str, words: &'w [String]) -> Option<&'w str> {
    let at = words.iter().position(|word| flag_name(word) == flag)?;
    value_at(words, at, flag).filter(|value| words[at] != flag || !value.starts_with('-'))
}

/// The long name of the switch in a word like `-n=true`.
fn short_switch_with_value(command: &Command, word: &str) -> Option<String> {
    let short = flag_name(word.strip_prefix('-').filter(|_| word.contains('='))?).chars().next_back()?;
    let arg = flag_named(command, &format!("-{short}"))?;
    Some(format!("--{}", arg.get_long()?)).filter(|_| !arg.get_action().takes_values())
}

/// Describes a switch that was given a value.
fn needless_value(switch: &str, typed: &Typed) -> Description {
    let line = format!("{switch} takes no value; give it alone or leave it out");
    Description { lines: vec![line], advice: Some(attempt(switch, None, typed)), wrong: switch.to_owned() }
}

/// The flag that a misspelled or unfinished flag means; one letter of every four may be wrong.
fn near_flag(command: &Command, flag: &str) -> Option<String> {
    let word = flag.strip_prefix("--")?;
    let longs: Vec<&str> = command.get_arguments().filter(|arg| !arg.is_hide_set()).filter_map(Arg::get_long).collect();
    let slips = longs.iter().map(|long| (strsim::damerau_levenshtein(word, long), *long));
    let slip = slips.min().filter(|(slips, _)| *slips <= (word.len() / 4).max(1)).map(|(_, long)| long);
    let begins = |long: &&&str| word.len() > 2 && long.starts_with(word);
    slip.or_else(|| longs.iter().find(begins).copied()).map(str::to_owned)
}

/// A word like `-keep`, in which clap found no short flag, and the long flag that it means.
fn with_one_hyphen(command: &Command, flag: &str, words: &[String]) -> Option<(String, String)> {
    let short = flag.strip_prefix('-').filter(|short| !short.starts_with('-'))?;
    let word = words.iter().skip(1).find(|word| {
        let after = word.strip_prefix('-').filter(|rest| !rest.starts_with('-'));
        after.is_some_and(|rest| rest.contains(short) && flag_name(rest).chars().count() > 2)
    })?;
    let word = flag_name(word);
    let long = nearest(&word[1..], command.get_arguments().filter_map(Arg::get_long))?;
    Some((word.to_owned(), format!("--{long}")))
}

/// Describes flags that exclude each other, and which to leave out; of a flag that is given twice, the last counts.
fn conflict(error: &clap::Error, typed: &Typed) -> Option<Description> {
    let flag = text(error, ContextKind::InvalidArg)?;
    let wrong = flag_name(&flag).to_owned();
    let mut advice = None;
    let what = match strings(error, ContextKind::PriorArg) {
        [] => "with anything else; give it alone".to_owned(),
        [other] if *other == flag => {
            advice = Some(Advice::command([wrong.clone()].into_iter().chain(typed.value(&wrong))));
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
    let hints = ["Usage: ", "For more information"];
    let lines_of_clap =
        rendered.lines().filter(|line| !line.trim().is_empty() && !hints.iter().any(|hint| line.starts_with(hint)));
    let lines: Vec<String> = lines_of_clap.map(str::to_owned).collect();
    let flag = text(error, ContextKind::InvalidArg).filter(|_| {
        // The flag lacks its value, or is a switch that was given one.
        use ErrorKind::{NoEquals, TooFewValues, TooManyValues, WrongNumberOfValues};
        matches!(error.kind(), NoEquals | TooFewValues | TooManyValues | WrongNumberOfValues)
    });
    if let Some(switch) = flag.as_deref().map(flag_name).filter(|_| error.kind() == ErrorKind::TooManyValues) {
        return needless_value(switch, typed);
    }
    let wrong = flag.map(|flag| flag_name(&flag).to_owned()).unwrap_or_default();
    let advice = if wrong.is_empty() { help(typed) } else { attempt(&wrong, None, typed) };
    Description { lines, advice: Some(advice), wrong }
}

#[cfg(test)]
mod tests;
