//! User input: config files, variables, sizes.

use std::ffi::OsString;
use std::fmt::Display;
use std::fs;
use std::path::Path;
use std::str::FromStr;

use crate::plan::cutoff::Pairs;
use crate::plan::pins::Pin;
use crate::plan::size::Size;
use crate::presets;
use crate::tokens::Counter;
use tcompact::internals::{CommandLine, Resolved, Settings};

fn resolved(words: &[&str], variable: impl Fn(&str) -> Option<OsString>) -> Result<Resolved, String> {
    let words = ["tcompact"].iter().chain(words).map(OsString::from);
    let line = CommandLine::parse(words).map_err(|error| error.to_string())?;
    line.resolve(&presets::values, variable).map_err(|error| error.to_string())
}

/// Checks that flags override the layers below, and that errors in these name their place.
pub(crate) fn config(bytes: &[u8]) {
    let text = String::from_utf8_lossy(bytes);
    let variable = |name: &str| {
        let of_name = |line: &str| line.split_once('=').filter(|(key, _)| *key == name).map(|(_, value)| value.into());
        text.lines().find_map(of_name).filter(|_| name != "TCOMPACT_CONFIG")
    };
    check_settings(&[], variable, "TCOMPACT_");
    let folder = tempfile::tempdir().expect("a folder");
    for name in ["config.toml", "config.yaml"] {
        let file = folder.path().join(name);
        fs::write(&file, bytes).expect("written");
        let file = file.display().to_string();
        check_settings(&["--config", &file], |_| None, &file);
    }
}

fn check_settings(words: &[&str], variable: impl Fn(&str) -> Option<OsString>, place: &str) {
    let found = resolved(words, &variable);
    let (one, other) = (format!("{found:?}"), format!("{:?}", resolved(words, &variable)));
    assert_eq!(one, other, "the same every time");
    let typed = resolved(&[words, &["--keep=messages:3", "--pin=first:7"]].concat(), &variable);
    match (&found, typed) {
        (_, Ok(typed)) => {
            assert_eq!(typed.arguments.keep, Size::Messages(3), "what is typed counts");
            assert!(matches!(typed.arguments.pins.as_slice(), [Pin::First(7)]), "what is typed counts");
        }
        (found, Err(_)) => assert!(found.is_err(), "what is typed makes no error: {found:?}"),
    }
    match found {
        // Settings open the files that these name.
        Ok(found) if found.arguments.cache.is_none() && found.arguments.prompt_file.is_none() => {
            if let Err(error) = Settings::new(found, |_| None) {
                assert!(!error.to_string().is_empty());
            }
        }
        Ok(_) => {}
        Err(error) => assert!(error.contains(place) || error.contains("--"), "{error}"),
    }
    assert!(!Path::new("a.jsonl").exists(), "nothing is written");
}

/// Checks that a parsed value is displayed such that it parses to the same value.
fn check_round_trip<T: FromStr + Display + PartialEq + std::fmt::Debug>(text: &str) -> Option<T> {
    let read: T = text.parse().ok()?;
    let again = read.to_string().parse::<T>().unwrap_or_else(|_| panic!("{read} of {text:?} is not read again"));
    assert_eq!(again, read, "{text:?}");
    Some(read)
}

pub(crate) fn size(bytes: &[u8]) {
    let text = String::from_utf8_lossy(bytes);
    match check_round_trip::<Size>(&text) {
        Some(Size::Messages(n) | Size::Tokens(n) | Size::Turns(n) | Size::Steps(n) | Size::Bytes(n)) => {
            assert!(n > 0, "{text:?}")
        }
        Some(Size::Fraction(part)) => {
            assert!(part > 0.0 && part <= 1.0, "{text:?}");
            for window in [0, 1, 200_000, u64::MAX] {
                let tokens = Size::Fraction(part).in_tokens(Some(window));
                assert!(tokens.is_some_and(|tokens| (1..=window.max(1)).contains(&tokens)), "{text:?} {tokens:?}");
            }
        }
        Some(Size::Nothing | Size::From(_) | Size::Since(_) | Size::Last(_)) => {
            panic!("{text:?} is not in the grammar")
        }
        None => {}
    }
    check_round_trip::<Pairs>(&text);
    if let Some(counter) = check_round_trip::<Counter>(&text) {
        let tokens = ["", "a", "some words"].map(|text| counter.count_text(text));
        assert!(tokens.is_sorted(), "{text:?} {tokens:?}");
    }
    // A pattern is compiled, and the result may be large.
    if !text.starts_with("match:") || text.len() < 200 {
        let _ = text.parse::<Pin>();
    }
    for flag in
        ["--keep", "--trigger", "--fit", "--ledger", "--trim-tokens", "--summary-tokens", "--context-window", "--jobs"]
    {
        let _ = resolved(&[&format!("{flag}={text}")], |_| None);
    }
}
