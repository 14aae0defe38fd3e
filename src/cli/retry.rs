//! The command to try after an error: the command line with its files and other flags, and with the wrong flag
//! corrected.

use std::path::Path;

use clap::{Arg, ArgAction, Command, ValueHint};

use crate::advice::{Advice, PROGRAM};
use crate::cli::{command, is_variable_name};
use crate::redact::Redactor;
use crate::sanitize::is_control;

/// Completes a command to try with the rest of the command line, `typed`, in which the flag `wrong` is wrong. It stays
/// unchanged if it is complete, or if the whole would be wrong.
pub(crate) fn completed(advice: &Advice, wrong: &str, typed: &[String]) -> Advice {
    let Advice::Command { variable, words: advised, note } = advice else { return advice.clone() };
    if holds_a_secret(advised) {
        return Advice::command(["--help"]);
    }
    let words = match typed {
        [_, typed @ ..] => Retry { command: command(), advised, wrong }.words(typed),
        [] => None,
    };
    Advice::Command { variable: variable.clone(), words: words.unwrap_or_else(|| advised.clone()), note: *note }
}

/// A command to try in place of a wrong one.
struct Retry<'w> {
    command: Command,
    /// The words to try.
    advised: &'w [String],
    /// The flag that is wrong, which may be misspelled; empty where none is.
    wrong: &'w str,
}

/// A flag with its value, or an input.
struct TypedPart<'w> {
    /// The flag without its value; nothing for an input.
    flag: Option<&'w str>,
    /// The value behind `=` or in the next word.
    value: Option<&'w str>,
    /// The words of both.
    words: &'w [String],
}

impl<'w> Retry<'w> {
    /// Returns all words of the command, if it is understood.
    fn words(&self, typed: &[String]) -> Option<Vec<String>> {
        let advised = self.parts(self.advised);
        let has_own_files = !advised.is_empty() && advised.iter().all(|part| part.flag.is_none());
        let is_alone = |part: &TypedPart<'_>| matches!(part.flag, Some("--list" | "--help" | "--generate"));
        // A terminal could obey a control character.
        let has_control = |word: &String| word.chars().any(is_control);
        if has_own_files || advised.iter().any(is_alone) || typed.iter().any(has_control) {
            return None;
        }
        let mut rest = self.parts(typed);
        rest.retain(|part| !self.is_replaced(part, &advised) || self.is_another_use(part, &advised));
        let all = rest.iter().flat_map(|part| part.words).cloned().collect::<Vec<_>>();
        // A value that is a file is not an input.
        let is_file = |file: &&String| Path::new(file).exists() && !self.advised.contains(file);
        let inputs = rest.iter().filter(|part| part.flag.is_none()).flat_map(|part| part.words);
        let files = inputs.filter(is_file).cloned().collect::<Vec<_>>();
        let all = Some(all).filter(|all| !may_hold_a_secret(all));
        let mut candidates = all.into_iter().chain([files]).map(|rest| [self.advised, &rest].concat());
        candidates.find(|words| is_understood(words))
    }

    /// Splits words into flags and inputs.
    fn parts<'t>(&self, mut words: &'t [String]) -> Vec<TypedPart<'t>> {
        let mut parts = Vec::new();
        while let [word, behind @ ..] = words {
            let is_flag = word.starts_with('-');
            let (flag, joined) =
                word.split_once('=').map_or((word.as_str(), None), |(flag, value)| (flag, Some(value)));
            let next = behind.first().filter(|next| is_flag && joined.is_none() && self.is_value(flag, next));
            let (own, others) = words.split_at(1 + usize::from(next.is_some()));
            let value = joined.or(next.map(String::as_str));
            parts.push(TypedPart { flag: Some(flag).filter(|_| is_flag), value, words: own });
            words = others;
        }
        parts
    }

    /// Whether the word behind a flag is its value.
    fn is_value(&self, flag: &str, next: &String) -> bool {
        let is_wrong = self.is_wrong(flag);
        let arg = flag_named(&self.command, flag);
        let takes_value = match arg {
            Some(arg) => takes_value(arg) && !arg.is_require_equals_set(),
            // A misspelled flag takes a value if the flag that it means takes one.
            None => {
                let mut meant = self.advised.iter().filter_map(|word| flag_named(&self.command, word));
                is_wrong && !flag.starts_with("--no-") && meant.any(takes_value)
            }
        };
        // An existing file behind the wrong flag is a value only if the flag takes a file: the flag may lack its value.
        let is_input = is_wrong && Path::new(next).exists() && !arg.is_some_and(takes_file);
        takes_value && (self.advised.contains(next) || !self.is_flag(next) && !is_input)
    }

    /// Whether a word is a flag, alone or with its value. A value may begin like a short flag, as in `-5`.
    fn is_flag(&self, word: &str) -> bool {
        let short = word.strip_prefix('-').and_then(|rest| rest.chars().next());
        word.starts_with("--") || short.is_some_and(|short| flag_named(&self.command, &format!("-{short}")).is_some())
    }

    fn is_wrong(&self, flag: &str) -> bool {
        !self.wrong.is_empty() && is_same(&self.command, flag, self.wrong)
    }

    /// Whether the flag is wrong, or among those to try.
    fn is_replaced(&self, part: &TypedPart<'_>, advised: &[TypedPart<'_>]) -> bool {
        part.flag.is_some_and(|flag| self.is_wrong(flag) || advised.iter().any(|other| self.is_use(other, flag)))
    }

    fn is_use(&self, part: &TypedPart<'_>, flag: &str) -> bool {
        part.flag.is_some_and(|own| is_same(&self.command, flag, own))
    }

    /// Whether a use of a flag stands beside that to try: the flag can be repeated and accepts this value, which is
    /// another one. The value `none` excludes all others.
    fn is_another_use(&self, part: &TypedPart<'_>, advised: &[TypedPart<'_>]) -> bool {
        let Some((flag, value)) = part.flag.zip(part.value) else { return false };
        let is_repeatable =
            flag_named(&self.command, flag).is_some_and(|arg| matches!(arg.get_action(), ArgAction::Append));
        let uses = advised.iter().filter(|other| self.is_use(other, flag));
        let values: Vec<&str> = uses.filter_map(|other| other.value).collect();
        let excludes = |other: &&str| *other == value || *other == "none";
        let is_free = !values.is_empty() && !values.iter().any(excludes) && value != "none";
        is_repeatable && is_free && is_understood(&[format!("{flag}={value}")])
    }
}

/// Whether words hold a key in the place of a variable's name, or an address with a password.
fn holds_a_secret(words: &[String]) -> bool {
    (0..words.len()).any(|at| {
        words[at].contains("://") && words[at].contains('@')
            || value_at(words, at, "--api-key-env").is_some_and(|name| !is_variable_name(name))
    })
}

/// Whether words hold free text that can contain a key.
fn may_hold_a_secret(words: &[String]) -> bool {
    let is_free_text = |at| ["--request-json", "--summarizer-cmd"].iter().find_map(|flag| value_at(words, at, flag));
    holds_a_secret(words) || (0..words.len()).filter_map(is_free_text).any(looks_like_a_key)
}

/// Returns the value of a flag that is used at a place.
pub(crate) fn value_at<'w>(words: &'w [String], at: usize, flag: &str) -> Option<&'w str> {
    let rest = words[at].strip_prefix(flag)?;
    rest.strip_prefix('=').or_else(|| words.get(at + 1).filter(|_| rest.is_empty()).map(String::as_str))
}

/// Whether one of the words of a text could be a key.
fn looks_like_a_key(text: &str) -> bool {
    /// A word of so many characters with a digit in it could be a key.
    const LONG: usize = 16;
    let is_part = |c: char| c.is_ascii_alphanumeric() || "_-+=".contains(c);
    let is_long = |word: &str| word.len() >= LONG && word.chars().any(|c| c.is_ascii_digit());
    text.split(|c| !is_part(c)).any(|word| word.starts_with("sk-") || is_long(word))
        || Redactor::default().mask(text) != text
}

fn is_understood(words: &[String]) -> bool {
    let words = std::iter::once(PROGRAM.to_owned()).chain(words.iter().cloned());
    command().try_get_matches_from(words).is_ok()
}

/// Whether two words name the same flag, in its long or its short form.
pub(super) fn is_same(command: &Command, word: &str, flag: &str) -> bool {
    let id = |word| flag_named(command, word).map(Arg::get_id);
    word == flag || id(word).is_some_and(|id_of_word| Some(id_of_word) == id(flag))
}

fn takes_file(arg: &Arg) -> bool {
    matches!(arg.get_value_hint(), ValueHint::FilePath | ValueHint::DirPath)
}

fn takes_value(arg: &Arg) -> bool {
    matches!(arg.get_action(), ArgAction::Set | ArgAction::Append)
}

/// Returns the argument that a word like `--keep` or `-k` names.
pub(super) fn flag_named<'c>(command: &'c Command, word: &str) -> Option<&'c Arg> {
    let is_named = |arg: &&Arg| match word.strip_prefix("--") {
        Some(long) => arg.get_long() == Some(long),
        None => arg.get_short().is_some_and(|short| word.strip_prefix('-') == Some(short.to_string().as_str())),
    };
    command.get_arguments().find(is_named)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_rest_of_what_was_typed_comes_along() {
        for (advice, wrong, typed, retried) in [
            (
                Advice::command(["--keep", "tokens:4k"]),
                "--keep",
                &["tcompact", "-v", "--keep", "4k", "-o", "out", "a.json"][..],
                "try: tcompact --keep tokens:4k -v -o out a.json",
            ),
            (
                Advice::command(["--keep", "tokens:4k"]),
                "--kep",
                &["tcompact", "--kep=4k", "a.json"],
                "try: tcompact --keep tokens:4k a.json",
            ),
            (
                Advice::command(["--model", "openai:a"]),
                "--model",
                &["tcompact", "-m", "a", "a.json"],
                "try: tcompact --model openai:a a.json",
            ),
            (
                Advice::command(["--retries", "3"]),
                "--retries",
                &["tcompact", "--retries", "-1", "a.json"],
                "try: tcompact --retries 3 a.json",
            ),
            (
                Advice::command(["--pin", "match:a b"]).note("as it was"),
                "--pin",
                &["tcompact", "--pin", "x", "a b.json"],
                "try: tcompact --pin 'match:a b' 'a b.json'\n  as it was",
            ),
            (
                Advice::command(["--list", "models"]),
                "--for",
                &["tcompact", "--for", "x", "a.json"],
                "try: tcompact --list models",
            ),
            (Advice::command(["a.json"]), "", &["tcompact", "compact", "a.json"], "try: tcompact a.json"),
            (
                Advice::Command { variable: Some("TCOMPACT_KEEP=messages:3".to_owned()), words: vec![], note: None },
                "",
                &["tcompact", "a.json"],
                "try: TCOMPACT_KEEP=messages:3 tcompact a.json",
            ),
            (
                Advice::command(["--timeout", "9"]),
                "",
                &["tcompact", "--request-json", r#"{"seed": 7}"#, "-m", "openai:m", "Cargo.toml"],
                r#"try: tcompact --timeout 9 --request-json '{"seed": 7}' -m openai:m Cargo.toml"#,
            ),
            (
                Advice::command(["--timeout", "9"]),
                "",
                &["tcompact", "--summarizer-cmd", "cat | head -n '5'", "Cargo.toml"],
                r#"try: tcompact --timeout 9 --summarizer-cmd 'cat | head -n '\''5'\''' Cargo.toml"#,
            ),
            (
                Advice::command(["--timeout", "9"]),
                "",
                &["tcompact", "--summarizer-cmd", r#"curl -H "X-Api-Key: f9a8b7c6d5e4" x"#, "Cargo.toml"],
                "try: tcompact --timeout 9 Cargo.toml",
            ),
            (
                Advice::command(["--timeout", "9"]),
                "",
                &[
                    "tcompact",
                    "--archive",
                    "README.md",
                    "--request-json",
                    r#"{"key": "a1b2c3d4e5f6a7b8"}"#,
                    "Cargo.toml",
                ],
                "try: tcompact --timeout 9 Cargo.toml",
            ),
            (
                Advice::command(["--timeout", "9"]),
                "--timeout",
                &["tcompact", "--timeout", "x", "--base-url", "https://a:b@c", "a.json"],
                "try: tcompact --timeout 9",
            ),
            (
                Advice::command(["--in-place"]),
                "--output",
                &["tcompact", "-v", "-o", "a.json", "a.json"],
                "try: tcompact --in-place -v a.json",
            ),
            (
                Advice::command(["--color", "never"]),
                "--no-color",
                &["tcompact", "--no-color", "-o", "x", "Cargo.toml"],
                "try: tcompact --color never -o x Cargo.toml",
            ),
            (
                Advice::command(["--color", "never"]),
                "--no-color",
                &["tcompact", "--no-color", "new.json"],
                "try: tcompact --color never new.json",
            ),
            (
                Advice::command(["--keep", "messages:20"]),
                "--kep",
                &["tcompact", "--kep", "-v", "Cargo.toml"],
                "try: tcompact --keep messages:20 -v Cargo.toml",
            ),
            (
                Advice::command(["--keep", "messages:20"]),
                "--keep",
                &["tcompact", "--keep", "-ox.json", "Cargo.toml"],
                "try: tcompact --keep messages:20 -ox.json Cargo.toml",
            ),
            (
                Advice::command(["--trigger", "tokens:4k"]),
                "--trigger",
                &["tcompact", "--trigger", "messages:9", "--trigger", "tokns:4k", "--trigger=turns:3", "a.json"],
                "try: tcompact --trigger tokens:4k --trigger messages:9 --trigger=turns:3 a.json",
            ),
            (
                Advice::command(["--pin", "first:2"]),
                "--pin",
                &["tcompact", "--pin", "system", "--pin", "frist:2", "a.json"],
                "try: tcompact --pin first:2 --pin system a.json",
            ),
            (
                Advice::command(["--pin", "none"]),
                "",
                &["tcompact", "--pin", "system", "--pin", "first:2", "a.json"],
                "try: tcompact --pin none a.json",
            ),
            (
                Advice::command(["--prune", "all"]),
                "",
                &["tcompact", "--prune", "reads", "--prune", "none", "a.json"],
                "try: tcompact --prune all --prune reads a.json",
            ),
            (
                Advice::command(["--prune-except", "Read"]),
                "--prune-except",
                &["tcompact", "--prune-except", "Bash", "--prune-except=", "a.json"],
                "try: tcompact --prune-except Read --prune-except Bash a.json",
            ),
            (
                Advice::command(["--from", "openai-chat"]),
                "",
                &["tcompact", "--from", "src", "README.md"],
                "try: tcompact --from openai-chat README.md",
            ),
            (
                Advice::command(["--in-place"]),
                "--output",
                &["tcompact", "-oa.json", "a.json"],
                "try: tcompact --in-place",
            ),
        ] {
            let typed: Vec<String> = typed.iter().map(|word| (*word).to_owned()).collect();
            assert_eq!(completed(&advice, wrong, &typed).lines().join("\n"), retried);
        }
    }

    #[test]
    fn secrets_are_not_repeated() {
        let typed = ["tcompact".to_owned(), "a.json".to_owned()];
        for words in [
            &["--api-key-env", "sk-proj-abc123"][..],
            &["--api-key-env=sk-proj-abc123"],
            &["--base-url", "https://user:pass@host/v1"],
        ] {
            let words = words.iter().copied();
            assert_eq!(completed(&Advice::command(words), "--x", &typed), Advice::command(["--help"]));
        }
    }
}
