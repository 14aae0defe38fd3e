//! The command to try after an error: the command line with its files and other flags, and with the wrong flag
//! corrected.

use std::path::Path;

use clap::{Arg, ArgAction, Command, ValueHint};

use crate::cli::{command, is_variable_name};
use crate::diagnostic::quoted;
use crate::redact::Redactor;
use crate::sanitize::is_control;

/// The start of a line with a command to try. Only flags may follow, and prose after a comma.
const TRY: &str = "try: ";
const PROGRAM: &str = "tcompact";

/// Completes the command in such a line with the rest of the command line, `words`, in which the flag `wrong` is wrong.
/// Other lines stay unchanged.
pub(crate) fn retry(line: &str, wrong: &str, words: &[String]) -> String {
    let whole = || {
        let (before, next) = line.strip_prefix(TRY)?.split_once(PROGRAM)?;
        let (flags, prose) = split(next);
        if holds_a_secret(&flags) {
            return Some(format!("{TRY}{PROGRAM} --help"));
        }
        let has_own_files = !flags.is_empty() && !flags.iter().any(|flag| flag.starts_with('-'));
        let is_alone = |flag: &String| ["--list", "--help", "--generate"].contains(&flag.as_str());
        let is_assignment = before.is_empty() || before.contains('=') && before.ends_with(' ');
        if !is_assignment || has_own_files || flags.iter().any(is_alone) {
            return None;
        }
        // A terminal could obey a control character.
        if words.iter().any(|word| word.chars().any(is_control)) {
            return None;
        }
        let typed = without(&flags, wrong, words.get(1..)?);
        // A value that is a file is not an input.
        let files = inputs(&typed).into_iter().filter(|file| Path::new(file).exists() && !flags.contains(file));
        let files = files.collect::<Vec<_>>();
        let typed = Some(typed).filter(|typed| !may_hold_a_secret(typed));
        let mut candidates = typed.into_iter().chain([files]).map(|rest| [flags.clone(), rest].concat());
        let words = candidates.find(|words| is_understood(words))?;
        let words: Vec<String> = words.iter().map(|word| quoted(word)).collect();
        Some(format!("{TRY}{before}{PROGRAM} {}{prose}", words.join(" ")))
    };
    let line = whole().unwrap_or_else(|| line.to_owned());
    // Prose on the line would be pasted with the command.
    match line.strip_prefix(TRY).map(split) {
        Some((_, prose)) if !prose.is_empty() => {
            format!("{}\n  {}", line.strip_suffix(prose).unwrap_or(&line), prose.trim_start_matches(", "))
        }
        _ => line,
    }
}

/// Returns the words that are neither flags nor values of flags.
fn inputs(typed: &[String]) -> Vec<String> {
    let command = command();
    let takes_next = |flag: &str| {
        let takes = |arg: &Arg| !arg.is_require_equals_set() && takes_value(&command, flag);
        flag_named(&command, flag).is_some_and(takes)
    };
    let mut left = Vec::new();
    let mut words = typed.iter();
    while let Some(word) = words.next() {
        if !word.starts_with('-') {
            left.push(word.clone());
        } else if takes_next(word) {
            words.next();
        }
    }
    left
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
fn value_at<'w>(words: &'w [String], at: usize, flag: &str) -> Option<&'w str> {
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
        || Redactor::new().mask(text) != text
}

fn is_understood(words: &[String]) -> bool {
    let words = std::iter::once(PROGRAM.to_owned()).chain(words.iter().cloned());
    command().try_get_matches_from(words).is_ok()
}

/// Splits a command into words, as a shell does, up to a comma. Returns the words, and the text from the comma on.
fn split(text: &str) -> (Vec<String>, &str) {
    let (mut words, mut word, mut is_quoted, mut is_escaped) = (Vec::new(), None::<String>, false, false);
    for (at, c) in text.char_indices() {
        match c {
            c if std::mem::take(&mut is_escaped) => word.get_or_insert_default().push(c),
            '\\' if !is_quoted => is_escaped = true,
            '\'' => {
                is_quoted = !is_quoted;
                word.get_or_insert_default();
            }
            ' ' if !is_quoted => words.extend(word.take()),
            ',' if !is_quoted && text[at..].starts_with(", ") => {
                words.extend(word);
                return (words, &text[at..]);
            }
            c => word.get_or_insert_default().push(c),
        }
    }
    words.extend(word);
    (words, "")
}

/// Returns the words of a command line, without `flags`, the flag `wrong`, and their values. Of a flag that can be
/// repeated, a value that the flag accepts stays.
fn without(flags: &[String], wrong: &str, typed: &[String]) -> Vec<String> {
    let command = command();
    let mut left = Vec::new();
    let mut words = typed.iter().peekable();
    while let Some(word) = words.next() {
        let name = word.split('=').next().unwrap_or_default();
        let is_named = |flag: &String| {
            flag.starts_with('-') && is_same(&command, name, flag.split('=').next().unwrap_or_default())
        };
        let is_wrong = !wrong.is_empty() && is_same(&command, name, wrong);
        if !is_wrong && !flags.iter().any(is_named) {
            left.push(word.clone());
            continue;
        }
        // A misspelled flag takes a value if the flag that it means takes one.
        let has_value = match flag_named(&command, name) {
            Some(_) => takes_value(&command, name),
            None => !name.starts_with("--no-") && flags.iter().any(|flag| takes_value(&command, flag)),
        };
        // A value may begin like a short flag, as in `-5`. An existing file behind the wrong flag is a value only if the
        // flag takes a file: the flag may lack its value.
        let is_file = |next: &str| is_wrong && Path::new(next).exists() && !takes_file(&command, name);
        let is_taken = |next: &String| flags.contains(next);
        let is_value = |next: &&String| is_taken(next) || !is_flag(&command, next) && !is_file(next);
        let value = if has_value && !word.contains('=') { words.next_if(is_value) } else { None };
        if is_another_use(&command, flags, name, word, value) {
            left.extend([word].into_iter().chain(value).cloned());
        }
    }
    left
}

/// Whether a use of a flag stands beside the corrected one: the flag can be repeated and accepts this value, which is
/// not among `flags`. The value `none` excludes all others.
fn is_another_use(command: &Command, flags: &[String], name: &str, word: &str, value: Option<&String>) -> bool {
    let text = word.split_once('=').map(|(_, text)| text).or(value.map(String::as_str));
    let is_repeatable = flag_named(command, name).is_some_and(|arg| matches!(arg.get_action(), ArgAction::Append));
    let Some(text) = text.filter(|_| is_repeatable) else { return false };
    let corrected = |flag: &[String]| is_same(command, name, &flag[0]);
    let is_corrected = flags.windows(2).any(corrected);
    let is_given = |other: &str| flags.windows(2).any(|flag| corrected(flag) && flag[1] == other);
    is_corrected && !is_given("none") && !is_given(text) && text != "none" && is_understood(&[format!("{name}={text}")])
}

/// Whether a word is a flag, alone or with its value.
fn is_flag(command: &Command, word: &str) -> bool {
    let short = word.strip_prefix('-').and_then(|rest| rest.chars().next());
    word.starts_with("--") || short.is_some_and(|short| flag_named(command, &format!("-{short}")).is_some())
}

/// Whether two words name the same flag, in its long or its short form.
pub(super) fn is_same(command: &Command, word: &str, flag: &str) -> bool {
    let id = |word| flag_named(command, word).map(Arg::get_id);
    word == flag || id(word).is_some_and(|id_of_word| Some(id_of_word) == id(flag))
}

fn takes_file(command: &Command, word: &str) -> bool {
    let hint = flag_named(command, word).map(Arg::get_value_hint);
    matches!(hint, Some(ValueHint::FilePath | ValueHint::DirPath))
}

fn takes_value(command: &Command, word: &str) -> bool {
    flag_named(command, word).is_some_and(|arg| matches!(arg.get_action(), ArgAction::Set | ArgAction::Append))
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
    fn words_are_split_as_a_shell_does() {
        assert_eq!(
            split(r"--pin 'match:it'\''s a' b, or not"),
            (vec!["--pin".into(), "match:it's a".into(), "b".into()], ", or not")
        );
    }

    #[test]
    fn the_rest_of_what_was_typed_comes_along() {
        let words = |text: &str| split(text).0;
        for (line, wrong, typed, retried) in [
            (
                "try: tcompact --keep tokens:4k",
                "--keep",
                "tcompact -v --keep 4k -o out a.json",
                "try: tcompact --keep tokens:4k -v -o out a.json",
            ),
            (
                "try: tcompact --keep tokens:4k",
                "--kep",
                "tcompact --kep=4k a.json",
                "try: tcompact --keep tokens:4k a.json",
            ),
            (
                "try: tcompact --model openai:a",
                "--model",
                "tcompact -m a a.json",
                "try: tcompact --model openai:a a.json",
            ),
            (
                "try: tcompact --retries 3",
                "--retries",
                "tcompact --retries -1 a.json",
                "try: tcompact --retries 3 a.json",
            ),
            (
                "try: tcompact --pin 'match:a b', as it was",
                "--pin",
                "tcompact --pin x 'a b.json'",
                "try: tcompact --pin 'match:a b' 'a b.json'\n  as it was",
            ),
            ("try: tcompact --list models", "--for", "tcompact --for x a.json", "try: tcompact --list models"),
            ("try: tcompact a.json", "", "tcompact compact a.json", "try: tcompact a.json"),
            (
                "try: TCOMPACT_KEEP=messages:3 tcompact",
                "",
                "tcompact a.json",
                "try: TCOMPACT_KEEP=messages:3 tcompact a.json",
            ),
            (
                "try: tcompact --timeout 9",
                "",
                r#"tcompact --request-json '{"seed": 7}' -m openai:m Cargo.toml"#,
                r#"try: tcompact --timeout 9 --request-json '{"seed": 7}' -m openai:m Cargo.toml"#,
            ),
            (
                "try: tcompact --timeout 9",
                "",
                r"tcompact --summarizer-cmd 'cat | head -n '\''5'\''' Cargo.toml",
                r"try: tcompact --timeout 9 --summarizer-cmd 'cat | head -n '\''5'\''' Cargo.toml",
            ),
            (
                "try: tcompact --timeout 9",
                "",
                "tcompact --summarizer-cmd 'curl -H \"X-Api-Key: f9a8b7c6d5e4\" x' Cargo.toml",
                "try: tcompact --timeout 9 Cargo.toml",
            ),
            (
                "try: tcompact --timeout 9",
                "",
                "tcompact --archive README.md --request-json '{\"key\": \"a1b2c3d4e5f6a7b8\"}' Cargo.toml",
                "try: tcompact --timeout 9 Cargo.toml",
            ),
            (
                "try: tcompact --timeout 9",
                "--timeout",
                "tcompact --timeout x --base-url https://a:b@c a.json",
                "try: tcompact --timeout 9",
            ),
            (
                "try: tcompact --in-place",
                "--output",
                "tcompact -v -o a.json a.json",
                "try: tcompact --in-place -v a.json",
            ),
            ("  --keep", "--keep", "tcompact --keep 4k a.json", "  --keep"),
            (
                "try: tcompact --color never",
                "--no-color",
                "tcompact --no-color -o x Cargo.toml",
                "try: tcompact --color never -o x Cargo.toml",
            ),
            (
                "try: tcompact --color never",
                "--no-color",
                "tcompact --no-color new.json",
                "try: tcompact --color never new.json",
            ),
            (
                "try: tcompact --keep messages:20",
                "--kep",
                "tcompact --kep -v Cargo.toml",
                "try: tcompact --keep messages:20 -v Cargo.toml",
            ),
            (
                "try: tcompact --keep messages:20",
                "--keep",
                "tcompact --keep -ox.json Cargo.toml",
                "try: tcompact --keep messages:20 -ox.json Cargo.toml",
            ),
            (
                "try: tcompact --trigger tokens:4k",
                "--trigger",
                "tcompact --trigger messages:9 --trigger tokns:4k --trigger=turns:3 a.json",
                "try: tcompact --trigger tokens:4k --trigger messages:9 --trigger=turns:3 a.json",
            ),
            (
                "try: tcompact --pin first:2",
                "--pin",
                "tcompact --pin system --pin frist:2 a.json",
                "try: tcompact --pin first:2 --pin system a.json",
            ),
            (
                "try: tcompact --pin none",
                "",
                "tcompact --pin system --pin first:2 a.json",
                "try: tcompact --pin none a.json",
            ),
            (
                "try: tcompact --prune all",
                "",
                "tcompact --prune reads --prune none a.json",
                "try: tcompact --prune all --prune reads a.json",
            ),
            (
                "try: tcompact --prune-except Read",
                "--prune-except",
                "tcompact --prune-except Bash --prune-except= a.json",
                "try: tcompact --prune-except Read --prune-except Bash a.json",
            ),
            (
                "try: tcompact --from openai-chat",
                "",
                "tcompact --from src README.md",
                "try: tcompact --from openai-chat README.md",
            ),
            ("try: tcompact --in-place", "--output", "tcompact -oa.json a.json", "try: tcompact --in-place"),
        ] {
            assert_eq!(retry(line, wrong, &words(typed)), retried, "{line}");
        }
    }

    #[test]
    fn secrets_are_not_repeated() {
        for line in [
            "try: tcompact --api-key-env sk-proj-abc123",
            "try: tcompact --api-key-env=sk-proj-abc123",
            "try: tcompact --base-url https://user:pass@host/v1",
        ] {
            assert_eq!(retry(line, "--x", &["tcompact".to_owned(), "a.json".to_owned()]), "try: tcompact --help");
        }
    }
}
