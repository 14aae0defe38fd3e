//! Words of a command in a wrong order: the file before what is looked up in it, or indexes as words of their own.

use std::path::Path;

use crate::cli::commands::CommandName;
use crate::cli::places::Places;
use crate::cli::retry::{Correction, Typed, may_hold_a_secret, parsed};
use crate::cli::values::REPAIRS;

/// A command line that was typed, in two parts.
struct Words {
    flags: Vec<String>,
    inputs: Vec<String>,
}

impl Words {
    fn of(typed: &Typed) -> Self {
        let mut words = Words { flags: Vec::new(), inputs: Vec::new() };
        for part in Correction::new(typed.name().command(), &[], "").parts(typed.rest()) {
            if part.is_input {
                words.inputs.extend(part.words.into_iter().filter(|word| word != "--"));
            } else {
                words.flags.extend(part.words);
            }
        }
        words
    }

    /// The words of a command with its name first, if it takes them.
    fn command_line(self, name: CommandName) -> Option<Vec<String>> {
        let Words { flags, inputs } = self;
        let mut words = vec![name.word().to_owned()];
        words.extend(flags);
        if inputs.iter().any(|input| input.starts_with('-') && input != "-") {
            words.push("--".to_owned());
        }
        words.extend(inputs);
        let is_usable = parsed(name, &words[1..]).is_ok() && !may_hold_a_secret(&words);
        is_usable.then_some(words)
    }
}

/// What is wrong with the order of the words of a command, and the words in the right one; nothing where it is right.
pub(crate) fn reordered(typed: &Typed) -> Option<(String, Vec<String>)> {
    let name = typed.name();
    let Words { flags, inputs } = Words::of(typed);
    let (first_words, files): (Vec<String>, Vec<String>) =
        inputs.iter().cloned().partition(|word| is_first_word(name, word));
    let line = match (name, first_words.as_slice()) {
        (_, []) => return None,
        (CommandName::Show, [_, _, ..]) => {
            format!("show takes several indexes as one word: {}", first_words.join(","))
        }
        (CommandName::Show, [_]) => "show takes INDEXES before the file".to_owned(),
        (_, [how]) => format!("repair takes HOW before the files: {how}"),
        (_, _) => return None,
    };
    let mut reordered = vec![first_words.join(",")];
    reordered.extend(files);
    if reordered == inputs {
        return None;
    }
    Some((line, Words { flags, inputs: reordered }.command_line(name)?))
}

/// Whether a word is one that a command takes before its files.
fn is_first_word(name: CommandName, word: &str) -> bool {
    match name {
        CommandName::Show => word.parse::<Places>().is_ok() && !Path::new(word).exists(),
        CommandName::Repair => REPAIRS.iter().any(|(name, ..)| *name == word),
        _ => false,
    }
}

/// The words that were typed, with two inputs in each other's place.
pub(crate) fn swapped(typed: &Typed, one: &str, other: &str) -> Option<Vec<String>> {
    let mut words = Words::of(typed);
    let one = words.inputs.iter().position(|input| input == one)?;
    let other = words.inputs.iter().position(|input| input == other)?;
    words.inputs.swap(one, other);
    words.command_line(typed.name())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn typed(line: &str) -> Typed {
        Typed { words: line.split(' ').map(str::to_owned).collect(), by_variable: Vec::new() }
    }

    #[test]
    fn indexes_and_ways_of_repairing_come_first() {
        for (line, meant) in [
            ("tcompact show 18 19 ar.jsonl", Some("show 18,19 ar.jsonl")),
            ("tcompact show 18 19-20 2:7 --json ar.jsonl", Some("show --json 18,19-20,2:7 ar.jsonl")),
            ("tcompact show Cargo.toml 1 last", Some("show 1,last Cargo.toml")),
            ("tcompact show --limit-tokens 9 ar.jsonl 3fa81c02:1", Some("show --limit-tokens 9 3fa81c02:1 ar.jsonl")),
            ("tcompact show -- -x.jsonl 3", Some("show -- 3 -x.jsonl")),
            ("tcompact show 1 2", Some("show 1,2")),
            ("tcompact show 1 a.json", None),
            ("tcompact show 1 a.json b.json", None),
            ("tcompact show a.json", None),
            ("tcompact repair a.json drop", Some("repair drop a.json")),
            ("tcompact repair -i=.bak a.json b.json synthesize", Some("repair -i=.bak synthesize a.json b.json")),
            ("tcompact repair drop a.json drop", None),
            ("tcompact repair a.json dorp", None),
            ("tcompact count 1 2", None),
        ] {
            let words = reordered(&typed(line)).map(|(_, words)| words.join(" "));
            assert_eq!(words.as_deref(), meant, "{line}");
        }
    }

    #[test]
    fn two_inputs_are_swapped_and_all_else_stays() {
        for (line, meant) in [
            ("tcompact search a.json lamps", Some("search lamps a.json")),
            ("tcompact search -s a.json lamps b.json --limit 3", Some("search -s --limit 3 lamps a.json b.json")),
            ("tcompact search lamps b.json", None),
            ("tcompact restore -i a.json lamps", Some("restore -i lamps a.json")),
        ] {
            let words = swapped(&typed(line), "a.json", "lamps").map(|words| words.join(" "));
            assert_eq!(words.as_deref(), meant, "{line}");
        }
    }
}
