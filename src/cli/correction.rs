//! What clap says of a wrong value, and the value as it was meant.

use std::error::Error;

use clap::error::{ContextKind, ContextValue, ErrorKind};

use crate::cli::command;
use crate::diagnostic::Diagnostic;

/// The most errors in one value that are corrected.
const MOST_MISTAKES: usize = 8;

/// Returns what is wrong with a value, and with which part of it if that is known.
pub(crate) fn diagnostic(error: &clap::Error) -> Diagnostic {
    let source = error.source();
    match source.and_then(|source| source.downcast_ref::<Diagnostic>()) {
        Some(diagnostic) => diagnostic.clone(),
        None if source.is_some() => Diagnostic::new(source.map(ToString::to_string).unwrap_or_default()),
        None => {
            let given = text(error, ContextKind::InvalidValue).unwrap_or_default();
            let meant = text(error, ContextKind::SuggestedValue);
            let slips = |meant: &String| strsim::damerau_levenshtein(&given, meant);
            let meant = meant.filter(|meant| slips(meant) <= (given.chars().count() / 3).max(2));
            Diagnostic::new(format!("expected {}", listed(strings(error, ContextKind::ValidValue), "or"))).meant(meant)
        }
    }
}

/// Returns a text that the flag accepts, if it is known what was meant. `flag` has its hyphens.
pub(crate) fn corrected(flag: &str, text: &str) -> Option<String> {
    let mut command = command();
    let mut text = text.to_owned();
    // Correcting one part can show that another is wrong too.
    for _ in 0..MOST_MISTAKES {
        match command.try_get_matches_from_mut(["tcompact".to_owned(), format!("{flag}={text}")]) {
            Ok(_) => return Some(text),
            Err(error) if matches!(error.kind(), ErrorKind::InvalidValue | ErrorKind::ValueValidation) => {
                text = diagnostic(&error).corrected(&text)?;
            }
            Err(_) => return None,
        }
    }
    None
}

/// Returns a text in what clap says of an error.
pub(super) fn text(error: &clap::Error, kind: ContextKind) -> Option<String> {
    match error.get(kind)? {
        ContextValue::String(text) => Some(text.clone()),
        ContextValue::Strings(texts) => texts.first().cloned(),
        _ => None,
    }
}

/// Returns the texts in what clap says of an error.
pub(super) fn strings(error: &clap::Error, kind: ContextKind) -> &[String] {
    match error.get(kind) {
        Some(ContextValue::Strings(texts)) => texts,
        _ => &[],
    }
}

/// Joins words for a sentence.
pub(super) fn listed(words: &[String], and: &str) -> String {
    match words {
        [words @ .., last] if !words.is_empty() => format!("{} {and} {last}", words.join(", ")),
        words => words.join(", "),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_mended_until_the_flag_takes_them() {
        for (flag, text, meant) in [
            ("--counter", "byte:0", Some("bytes:4")),
            ("--pairs", "windw:x", Some("window:5")),
            ("--pin", "frist:0", Some("first:2")),
            ("--trigger", "message:9,token:4k", Some("messages:9,tokens:4k")),
            ("--keep", "fracton:80", Some("fraction:0.8")),
            ("--keep", "tokens=4k", Some("tokens:4k")),
            ("--keep", "bogus:3", None),
            ("--rate", "x", None),
        ] {
            assert_eq!(corrected(flag, text).as_deref(), meant, "{flag} {text}");
        }
    }
}
