//! The command line as it was typed, in its parts; and with the parts changed that are wrong. All else stays as it was
//! typed, in its order.

use std::path::Path;

use clap::{Arg, ArgAction, Command, ValueHint};

use crate::cli::commands::CommandName;
use crate::cli::is_variable_name;
use crate::diagnostic::PROGRAM;
use crate::redact::Redactor;

/// What the user gave: the command line, and flags as variables.
#[derive(Debug, Default)]
pub struct Typed {
    /// The words of the command line; the first is the program.
    pub(crate) words: Vec<String>,
    /// The flags that variables set.
    pub(crate) by_variable: Vec<String>,
}

impl Typed {
    /// The command that was typed.
    pub(crate) fn name(&self) -> CommandName {
        CommandName::of_words(self.words.get(1..).unwrap_or_default())
    }

    /// The words that the command parses: those behind its name.
    pub(super) fn rest(&self) -> &[String] {
        let start = 1 + usize::from(self.name() != CommandName::Compact);
        self.words.get(start..).unwrap_or_default()
    }

    /// Whether a flag is given.
    pub(super) fn has(&self, flag: &str) -> bool {
        self.by_variable.iter().any(|given| given == flag) || self.last_use(flag).is_some()
    }

    /// The last value of a flag on the command line.
    pub(super) fn value(&self, flag: &str) -> Option<String> {
        self.last_use(flag)?.value
    }

    fn last_use(&self, flag: &str) -> Option<Part> {
        let asked = [flag.to_owned()];
        let correction = Correction::new(self.name().command(), &asked, "");
        let parts = correction.parts(self.rest());
        parts.into_iter().rfind(|part| correction.is_use(part, flag))
    }
}

/// A flag with its value, or words that are repeated as they are: an input, other short flags in one word.
#[derive(Debug)]
pub(super) struct Part {
    /// The flag without its value.
    pub(super) flag: Option<String>,
    /// The value behind `=`, behind the letter of a flag, or in the next word.
    pub(super) value: Option<String>,
    pub(super) words: Vec<String>,
    /// Whether it is an input, or the `--` before inputs.
    pub(super) is_input: bool,
}

impl Part {
    fn input(word: &str) -> Self {
        Part { flag: None, value: None, words: vec![word.to_owned()], is_input: true }
    }
}

/// The words to change on a command line.
pub(super) struct Correction<'w> {
    command: Command,
    /// The words to try.
    advised: &'w [String],
    /// The flag that is wrong, which may be misspelled; empty where none is.
    wrong: &'w str,
}

impl<'w> Correction<'w> {
    pub(super) fn new(command: Command, advised: &'w [String], wrong: &'w str) -> Self {
        Correction { command, advised, wrong }
    }

    /// Words with the wrong flag replaced, and the input `without` replaced or left out. What stood nowhere comes first.
    pub(super) fn applied(&self, typed: &[String], without: Option<&str>) -> Vec<String> {
        let advised = self.parts(self.advised);
        let (mut words, mut replaced) = (Vec::new(), Vec::new());
        let mut without = without;
        for part in self.parts(typed) {
            match &part.flag {
                Some(flag) if self.is_replaced(flag) && !self.is_another_use(&part, &advised) => {
                    replaced.push((words.len(), part));
                }
                None if without.is_some_and(|without| part.words == [without]) => {
                    without = None;
                    replaced.push((words.len(), part));
                }
                _ => words.extend(part.words),
            }
        }
        let mut place = replaced.first().map_or(0, |(place, _)| *place);
        for (place_of_part, part) in &replaced {
            if part.flag.as_deref().is_some_and(|flag| self.is_wrong(flag)) {
                place = *place_of_part;
                break;
            }
        }
        let mut new = Vec::new();
        for part in &advised {
            new.extend(self.spelled_as(part, &replaced));
        }
        words.splice(place..place, new);
        words
    }

    /// The words of an advised part, with the flag as the user spelled it.
    fn spelled_as(&self, advised: &Part, replaced: &[(usize, Part)]) -> Vec<String> {
        let flag = advised.flag.as_deref().unwrap_or_default();
        let Some((_, typed)) = replaced.iter().rfind(|(_, part)| self.is_use(part, flag)) else {
            return advised.words.clone();
        };
        let flag = typed.flag.clone().unwrap_or_default();
        match &advised.value {
            None => vec![flag],
            Some(value) if advised.words.len() == 1 || typed.words[0].starts_with(&format!("{flag}=")) => {
                vec![format!("{flag}={value}")]
            }
            Some(value) => vec![flag, value.clone()],
        }
    }

    /// Splits words into flags and inputs.
    pub(super) fn parts(&self, words: &[String]) -> Vec<Part> {
        let mut parts = Vec::new();
        let mut rest = words;
        while let Some((word, behind)) = rest.split_first() {
            if word == "--" {
                parts.extend(rest.iter().map(|word| Part::input(word)));
                break;
            }
            let is_long = word.starts_with("--") || name(word).len() > 2 && self.is_wrong(name(word));
            let parts_of_word = if word == "-" || !word.starts_with('-') {
                vec![Part::input(word)]
            } else if is_long {
                let (flag, joined) = match word.split_once('=') {
                    Some((flag, value)) => (flag, Some(value)),
                    None => (word.as_str(), None),
                };
                vec![self.part(flag, joined, word, behind.first())]
            } else {
                self.short(word, behind.first())
            };
            let takes_next = parts_of_word.last().is_some_and(|last| last.words.len() > 1);
            rest = &behind[usize::from(takes_next)..];
            parts.extend(parts_of_word);
        }
        parts
    }

    /// Splits a word of short flags, of which the last one may have a value, if one of them is replaced.
    fn short(&self, word: &str, next: Option<&String>) -> Vec<Part> {
        let mut parts = Vec::new();
        let mut letters = word[1..].chars();
        while let Some(letter) = letters.next() {
            let flag = format!("-{letter}");
            let rest = letters.as_str();
            let takes_rest = flag_named(&self.command, &flag).is_some_and(takes_next);
            let joined = match rest.strip_prefix('=') {
                None if takes_rest && !rest.is_empty() => Some(rest),
                value => value,
            };
            if joined.is_some() {
                parts.push(self.part(&flag, joined, &format!("{flag}{rest}"), None));
                break;
            }
            let next = if rest.is_empty() { next } else { None };
            parts.push(self.part(&flag, None, &flag, next));
        }
        if parts.iter().any(|part| part.flag.as_deref().is_some_and(|flag| self.is_replaced(flag))) {
            return parts;
        }
        let mut words = vec![word.to_owned()];
        words.extend(parts.last().and_then(|last| last.words.get(1)).cloned());
        vec![Part { flag: None, value: None, words, is_input: false }]
    }

    fn part(&self, flag: &str, joined: Option<&str>, word: &str, next: Option<&String>) -> Part {
        let mut words = vec![word.to_owned()];
        let mut value = joined.map(str::to_owned);
        if let Some(next) = next
            && joined.is_none()
            && self.is_value(flag, next)
        {
            words.push(next.clone());
            value = Some(next.clone());
        }
        Part { flag: Some(flag.to_owned()), value, words, is_input: false }
    }

    /// Whether the word behind a flag is its value.
    fn is_value(&self, flag: &str, next: &String) -> bool {
        let is_wrong = self.is_wrong(flag);
        let arg = flag_named(&self.command, flag);
        let takes_value = match arg {
            Some(arg) => takes_next(arg),
            // A misspelled flag takes a value if the flag that it means takes one.
            None => is_wrong && !flag.starts_with("--no-") && self.advises_value(),
        };
        if !takes_value {
            return false;
        }
        if arg.is_some_and(Arg::is_allow_hyphen_values_set) || self.advised.contains(next) {
            return true;
        }
        // An existing file behind the wrong flag is a value only if the flag takes a file: the flag may lack its value.
        let takes_file =
            arg.is_some_and(|arg| matches!(arg.get_value_hint(), ValueHint::FilePath | ValueHint::DirPath));
        let is_input = is_wrong && !takes_file && Path::new(next).exists();
        !self.is_flag(next) && !is_input
    }

    /// Whether one of the flags to try takes the word behind it as its value.
    fn advises_value(&self) -> bool {
        self.advised.iter().any(|word| flag_named(&self.command, word).is_some_and(takes_next))
    }

    /// Whether a word is a flag, alone or with its value. A value may begin like a short flag, as in `-5`.
    fn is_flag(&self, word: &str) -> bool {
        let Some(rest) = word.strip_prefix('-') else { return false };
        match rest.chars().next() {
            Some('-') => true,
            Some(short) => flag_named(&self.command, &format!("-{short}")).is_some(),
            None => false,
        }
    }

    fn is_wrong(&self, flag: &str) -> bool {
        !self.wrong.is_empty() && is_same(&self.command, flag, self.wrong)
    }

    /// Whether the flag is wrong, or among those to try.
    fn is_replaced(&self, flag: &str) -> bool {
        self.is_wrong(flag) || self.advised.iter().any(|word| is_same(&self.command, name(word), flag))
    }

    fn is_use(&self, part: &Part, flag: &str) -> bool {
        part.flag.as_ref().is_some_and(|own| is_same(&self.command, flag, own))
    }

    /// Whether a use of a flag stands beside that to try: the flag can be repeated and accepts this value, which is
    /// another one. The value `none` excludes all others.
    fn is_another_use(&self, part: &Part, advised: &[Part]) -> bool {
        let (Some(flag), Some(value)) = (&part.flag, &part.value) else { return false };
        let is_repeatable =
            flag_named(&self.command, flag).is_some_and(|arg| matches!(arg.get_action(), ArgAction::Append));
        if !is_repeatable || value == "none" {
            return false;
        }
        let mut is_advised = false;
        for other in advised {
            if !self.is_use(other, flag) {
                continue;
            }
            let Some(advised_value) = &other.value else { continue };
            if advised_value == value || advised_value == "none" {
                return false;
            }
            is_advised = true;
        }
        is_advised && parses(&self.command, &[format!("{flag}={value}")])
    }
}

/// Parses the words behind the name of the program and of the command.
pub(super) fn parsed(name: CommandName, words: &[String]) -> Result<(), clap::Error> {
    let words = std::iter::once(PROGRAM.to_owned()).chain(words.iter().cloned());
    name.command().try_get_matches_from(words).map(drop)
}

fn parses(command: &Command, words: &[String]) -> bool {
    let words = std::iter::once(PROGRAM.to_owned()).chain(words.iter().cloned());
    command.clone().try_get_matches_from(words).is_ok()
}

/// Whether words hold a key, also in the place of a variable's name; an address with a password or a query; or free text
/// that can contain a key.
pub(super) fn may_hold_a_secret(words: &[String]) -> bool {
    const FREE_TEXT: [&str; 3] = ["--request-json", "--summarizer-cmd", "--counter-cmd"];
    for (at, word) in words.iter().enumerate() {
        if word.contains("://") && word.contains('@') || has_a_known_key(word) {
            return true;
        }
        if value_at(words, at, "--base-url").is_some_and(|address| address.contains(['?', '#'])) {
            return true;
        }
        if value_at(words, at, "--api-key-env").is_some_and(|name| !is_variable_name(name)) {
            return true;
        }
        if FREE_TEXT.iter().any(|flag| value_at(words, at, flag).is_some_and(looks_like_a_key)) {
            return true;
        }
    }
    false
}

/// The value of a flag that is used at a place.
pub(crate) fn value_at<'w>(words: &'w [String], at: usize, flag: &str) -> Option<&'w str> {
    let rest = words[at].strip_prefix(flag)?;
    if rest.is_empty() {
        return words.get(at + 1).map(String::as_str);
    }
    rest.strip_prefix('=')
}

/// Whether one of the words of a text could be a key.
fn looks_like_a_key(text: &str) -> bool {
    /// A word of so many characters with a digit in it could be a key.
    const LONG: usize = 16;
    for word in text.split(|c: char| !c.is_ascii_alphanumeric() && !"_-+=".contains(c)) {
        if word.len() >= LONG && word.contains(|c: char| c.is_ascii_digit()) {
            return true;
        }
    }
    has_a_known_key(text)
}

/// Whether a text has a key of a form that is known.
fn has_a_known_key(text: &str) -> bool {
    let mut words = text.split(|c: char| !c.is_ascii_alphanumeric() && !"_-".contains(c));
    words.any(|word| word.starts_with("sk-")) || Redactor::default().mask(text) != text
}

/// The name of a flag without the value that clap or a command line shows.
pub(super) fn name(flag: &str) -> &str {
    flag.split([' ', '[', '=']).next().unwrap_or(flag)
}

/// Whether two words name the same flag, in its long or its short form.
pub(super) fn is_same(command: &Command, word: &str, flag: &str) -> bool {
    if word == flag {
        return true;
    }
    match (flag_named(command, word), flag_named(command, flag)) {
        (Some(one), Some(other)) => one.get_id() == other.get_id(),
        _ => false,
    }
}

/// Whether the next word can be the value of a flag: not where a value must follow `=`.
fn takes_next(arg: &Arg) -> bool {
    matches!(arg.get_action(), ArgAction::Set | ArgAction::Append) && !arg.is_require_equals_set()
}

/// The argument that a word like `--keep`, `-k` or `<PATTERN>` names.
pub(super) fn flag_named<'c>(command: &'c Command, word: &str) -> Option<&'c Arg> {
    if let Some(value) = word.strip_prefix('<').and_then(|rest| rest.strip_suffix('>')) {
        return command.get_positionals().find(|arg| arg.get_value_names().is_some_and(|names| names == [value]));
    }
    if let Some(long) = word.strip_prefix("--") {
        return command.get_arguments().find(|arg| arg.get_long() == Some(long));
    }
    let mut letters = word.strip_prefix('-')?.chars();
    let (Some(short), None) = (letters.next(), letters.next()) else { return None };
    command.get_arguments().find(|arg| arg.get_short() == Some(short))
}
