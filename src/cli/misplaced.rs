//! Commands that stand in a wrong place or are misspelled, and flags that are commands: what was meant, in the words that
//! were typed.

use std::path::Path;

use clap::{Arg, ArgAction, Command};
use strsim::damerau_levenshtein;

use crate::cli::commands::{CommandName, FORMER_FLAGS};
use crate::cli::correction::help_of;
use crate::cli::retry::{Correction, Typed, flag_named, may_hold_a_secret, parsed};
use crate::diagnostic::Advice;
use crate::exit::Failure;

/// Words of other programs for what a command does.
const SYNONYMS: [(&str, CommandName); 7] = [
    ("grep", CommandName::Search),
    ("find", CommandName::Search),
    ("undo", CommandName::Restore),
    ("tokens", CommandName::Count),
    ("validate", CommandName::Check),
    ("mask", CommandName::Redact),
    ("completion", CommandName::Completions),
];

/// The command that a word means: its name, nearly its name, or another word for it.
pub(crate) fn resembling(word: &str) -> Option<CommandName> {
    if let Some((_, name)) = SYNONYMS.iter().find(|(known, _)| *known == word) {
        return Some(*name);
    }
    if word.len() <= 2 {
        return None;
    }
    let nearest = CommandName::NAMED.into_iter().min_by_key(|name| damerau_levenshtein(word, name.word()))?;
    let slips = damerau_levenshtein(word, nearest.word());
    if slips <= (word.len() / 4).max(1) { Some(nearest) } else { None }
}

/// The failure of a compaction whose inputs have a command among them.
pub(crate) fn misplaced(words: Vec<String>) -> Option<Failure> {
    let (line, words) = misplaced_command(&Typed { words, by_variable: Vec::new() }, false)?;
    Some(Failure::usage(line).try_next(Advice::command(words)))
}

/// The sentence about an input that is not there and means a command, and the command line that was meant. Of words that
/// are not understood, only the first is an input for sure.
pub(super) fn misplaced_command(typed: &Typed, is_first: bool) -> Option<(String, Vec<String>)> {
    if typed.name() != CommandName::Compact {
        return None;
    }
    let mut inputs = inputs(typed);
    if is_first {
        inputs.truncate(1);
        inputs.retain(|input| typed.rest().first() == Some(input));
    }
    for (at, word) in inputs.iter().enumerate() {
        let Some(name) = resembling(word) else { continue };
        let (is_name, is_there) = (name.word() == word, Path::new(word).exists());
        // A later input is one, unless it is a command to the letter.
        if !is_name && (at > 0 || is_there) {
            continue;
        }
        let line = if is_name {
            let of_file = if is_there { "the file of that name is" } else { "a file of that name would be" };
            format!("{word} is a command, and a command is the first word; {of_file} ./{word}")
        } else {
            format!("there is no file {word}; did you mean the command {}?", name.word())
        };
        let words = command_line_of(name, Some(word), typed);
        // Of one path, nobody knows whether it is the archive.
        let lacks_archive = name == CommandName::Restore && words.len() < 3;
        let is_understood = parsed(name, &words[1..]).is_ok() && !may_hold_a_secret(&words) && !lacks_archive;
        let Advice::Command { words: help, .. } = help_of(name) else { continue };
        return Some((line, if is_understood { words } else { help }));
    }
    None
}

/// The inputs that were typed.
fn inputs(typed: &Typed) -> Vec<String> {
    let correction = Correction::new(CommandName::Compact.command(), &[], "");
    let mut inputs = Vec::new();
    for part in correction.parts(typed.rest()) {
        if part.is_input {
            inputs.extend(part.words.into_iter().filter(|word| word != "--"));
        }
    }
    inputs
}

/// The command line of a command in the words that were typed for compaction. `word` is what the command stands in
/// place of: an input, or a flag with its value. Flags that the command does not have are left out.
pub(super) fn command_line_of(name: CommandName, word: Option<&str>, typed: &Typed) -> Vec<String> {
    let target = name.command();
    let known = known_flags(&target);
    let (mut flags, mut values, mut inputs) = (Vec::new(), Vec::new(), Vec::new());
    let mut is_replaced = false;
    for part in Correction::new(known, &[], "").parts(typed.rest()) {
        if let Some(flag) = &part.flag {
            if Some(flag.as_str()) == word {
                values.extend(part.value);
            } else if flag_named(&target, flag).is_some() {
                flags.extend(part.words);
            }
        } else if !part.is_input {
            if has_short_flags(&target, &part.words[0]) {
                flags.extend(part.words);
            }
        } else if !is_replaced && part.words.first().map(String::as_str) == word {
            is_replaced = true;
        } else {
            inputs.extend(part.words);
        }
    }
    let mut words = vec![name.word().to_owned()];
    words.extend(flags);
    if inputs.first().is_some_and(|input| input == "--") {
        words.push(inputs.remove(0));
    } else if values.iter().any(|value| value.starts_with('-')) {
        words.push("--".to_owned());
    }
    words.extend(values);
    words.extend(inputs);
    words
}

/// Whether a command has the short flags of a word like `-qi=.bak`, up to the first that takes a value.
fn has_short_flags(target: &Command, word: &str) -> bool {
    for letter in word.chars().skip(1) {
        match flag_named(target, &format!("-{letter}")) {
            None => return false,
            Some(arg) if arg.get_action().takes_values() => return true,
            Some(_) => {}
        }
    }
    true
}

/// A command that knows the flags of compaction, of another command, and those that are commands.
fn known_flags(target: &Command) -> Command {
    let mut known = CommandName::Compact.command();
    for arg in target.get_opts() {
        if arg.get_long().is_some_and(|long| flag_named(&known, &format!("--{long}")).is_none()) {
            known = known.arg(arg.clone());
        }
    }
    for (flag, name) in FORMER_FLAGS {
        let long = flag.trim_start_matches('-');
        if flag_named(&known, flag).is_none() {
            let is_switch = matches!(name, CommandName::Count | CommandName::Check);
            let action = if is_switch { ArgAction::SetTrue } else { ArgAction::Set };
            known = known.arg(Arg::new(long).long(long).action(action).allow_hyphen_values(!is_switch));
        }
    }
    known
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::commands::FORMER_FLAGS;
    use crate::cli::errors::describe;
    use crate::diagnostic::joined;

    fn told(words: &[&str]) -> String {
        let words = ["tcompact"].iter().chain(words).map(|word| (*word).to_owned()).collect();
        let typed = Typed { words, by_variable: Vec::new() };
        let error = parsed(CommandName::Compact, typed.rest()).expect_err("there is no such flag");
        describe(&error, &typed)
    }

    /// Whatever stands beside it, the command to try has the words that were typed, and is understood.
    #[test]
    fn a_flag_that_is_a_command_is_answered_in_the_users_words() {
        const BESIDE: [&[&str]; 7] = [
            &[],
            &["-q"],
            &["--from", "openai-chat"],
            &["--from=pi", "-v"],
            &["-qi=.bak"],
            &["--keep", "turns:3"],
            &["--color=never", "-ev"],
        ];
        let mut tried = 0;
        for (flag, name) in FORMER_FLAGS {
            let values: &[&str] = match name {
                CommandName::Search => &["error", "a b", "-x", "(?i)it's"],
                CommandName::Show => &["12", "2:3-9,last"],
                CommandName::Restore => &["removed.jsonl"],
                CommandName::List => &["models"],
                CommandName::Completions => &["zsh"],
                _ => &[""],
            };
            let takes_files = !matches!(name, CommandName::List | CommandName::Completions);
            for value in values {
                for beside in BESIDE.iter().filter(|_| takes_files) {
                    for (before, behind) in [(*beside, &[][..]), (&[][..], *beside)] {
                        let mut words = before.to_vec();
                        words.push(flag);
                        words.extend(Some(*value).filter(|value| !value.is_empty()));
                        words.extend(behind);
                        words.push("new.json");
                        let told = told(&words);
                        let line = told.lines().last().expect("a line");
                        let start = format!("try: tcompact {} ", name.word());
                        assert!(line.starts_with(&start), "{words:?}: {told}");
                        assert!(
                            line.ends_with(
                                &format!("{} new.json", joined(&[(*value).to_owned()])).trim_start_matches("'' ")
                            ),
                            "{words:?}: {told}"
                        );
                        tried += 1;
                    }
                }
            }
        }
        assert!(tried > 60, "{tried}");
        for (words, line) in [
            (&["--list", "models"][..], "try: tcompact list models"),
            (&["--generate", "man"], "try: tcompact man"),
            (&["--generate=fish"], "try: tcompact completions fish"),
            (&["--search", "x", "--count", "a", "--", "-b"], "try: tcompact search --count x a -- -b"),
            (&["--search", "sk-ant-api03-abcdefghijklmnop", "a"], "try: tcompact search --help"),
        ] {
            let told = told(words);
            assert!(told.ends_with(line), "{words:?}: {told}");
        }
    }

    #[test]
    fn a_word_that_means_a_command_is_known() {
        for (word, name) in [
            ("serach", Some(CommandName::Search)),
            ("searhc", Some(CommandName::Search)),
            ("chek", Some(CommandName::Check)),
            ("counts", Some(CommandName::Count)),
            ("restor", Some(CommandName::Restore)),
            ("completion", Some(CommandName::Completions)),
            ("grep", Some(CommandName::Search)),
            ("logs", None),
            ("chat.json", None),
            ("ma", None),
            ("compact", None),
        ] {
            assert_eq!(resembling(word), name, "{word}");
        }
    }

    #[test]
    fn only_the_first_input_is_taken_for_a_misspelled_command() {
        let misplaced = |words: &[&str]| {
            let words = ["tcompact"].iter().chain(words).map(|word| (*word).to_owned()).collect();
            misplaced(words).map(|failure| failure.shown().join("\n"))
        };
        assert_eq!(misplaced(&["serach", "x", "f"]).as_deref(), Some("try: tcompact search x f"));
        assert_eq!(misplaced(&["-v", "count", "f"]).as_deref(), Some("try: tcompact count -v f"));
        assert_eq!(misplaced(&["f", "count"]).as_deref(), Some("try: tcompact count f"));
        assert_eq!(misplaced(&["--keep", "3", "count", "-", "f"]).as_deref(), Some("try: tcompact count - f"));
        assert_eq!(misplaced(&["--keep", "turns:3", "show", "f"]).as_deref(), Some("try: tcompact show --help"));
        for words in
            [&["f", "serach"][..], &["src"], &["Cargo.toml", "counts"], &["-o", "count", "f"], &["./count"], &[]]
        {
            assert_eq!(misplaced(words), None, "{words:?}");
        }
    }
}
