//! Settings of commands: a table of a config file, and variables behind the name of the command.

use std::ffi::OsString;
use std::fs;

use clap::FromArgMatches;

use crate::cli::commands::{CheckArguments, CountArguments, RedactArguments, RestoreArguments, SearchArguments};
use crate::compact::Redaction;
use crate::presets;
use crate::settings::layers::{CommandLine, Resolved};

/// What the words of a command line come to with a config file and variables.
fn resolved<A: FromArgMatches>(words: &[&str], toml: &str, variables: &[(&str, &str)]) -> anyhow::Result<Resolved<A>> {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("c.toml");
    fs::write(&file, toml).expect("written");
    let config = format!("--config={}", file.display());
    let words = ["tcompact"].iter().chain(words).map(|word| (*word).to_owned()).chain([config]);
    let variable = |name: &str| variables.iter().find(|(known, _)| *known == name).map(|(_, value)| value.into());
    CommandLine::parse(words.map(OsString::from))?.resolve(&presets::values, variable)
}

fn arguments<A: FromArgMatches>(words: &[&str], toml: &str, variables: &[(&str, &str)]) -> A {
    resolved(words, toml, variables).unwrap_or_else(|error| panic!("{words:?} {toml}: {error}")).arguments
}

fn error<A: FromArgMatches>(words: &[&str], toml: &str, variables: &[(&str, &str)]) -> String {
    let Err(error) = resolved::<A>(words, toml, variables) else { panic!("{words:?} {toml}: no error") };
    let text = error.to_string();
    text.split_once("c.toml").map_or(text.clone(), |(_, rest)| format!("c.toml{rest}"))
}

const SEARCH: &[&str] = &["search", "x", "a.json"];

#[test]
fn a_command_has_settings_under_its_name() {
    let limit = |toml: &str, variables: &[(&str, &str)]| arguments::<SearchArguments>(SEARCH, toml, variables).limit;
    assert_eq!(limit("", &[]), 20);
    assert_eq!(limit("[search]\nlimit = 5", &[]), 5);
    assert_eq!(limit("[search]\nlimit = 5", &[("TCOMPACT_SEARCH_LIMIT", "6")]), 6);
    assert_eq!(limit("", &[("TCOMPACT_LIMIT", "6"), ("TCOMPACT_COUNT_LIMIT", "7")]), 20, "nobody's");
    let typed = arguments::<SearchArguments>(&["search", "--limit=7", "x"], "[search]\nlimit = 5", &[]);
    assert_eq!(typed.limit, 7);
    let count = arguments::<CountArguments>(&["count"], "[count]\nsort = 'size'\njson = true", &[]);
    assert!(count.sort.is_some() && count.json);
    let restored = arguments::<RestoreArguments>(&["restore", "a.jsonl"], "", &[("TCOMPACT_RESTORE_IN_PLACE", "yes")]);
    assert!(restored.place.in_place.is_some());
}

/// The words that were typed stay behind what the layers give: a file's settings turn no pattern into a path.
#[test]
fn settings_of_compaction_change_no_word_of_a_command() {
    let toml = "keep = 'messages:3'\npin = ['system', 'first:2']\noutput = 'o.json'\narchive = 'a.jsonl'\njson = true\n\
        explain = true\nmodel = 'openai:m'\nquiet = true\ncolor = 'never'\nlines = 'messages'\nfrom = 'pi'";
    let search = arguments::<SearchArguments>(SEARCH, toml, &[("TCOMPACT_KEEP", "messages:9")]);
    assert_eq!((search.pattern.as_str(), search.paths), ("x", vec!["a.json".into()]));
    assert!(search.lookup.archive.is_none() && !search.json, "where things go is for each command to say");
    assert!(search.lookup.general.quiet && search.lookup.reading.from == "pi", "how they are read is for all");
    let redacted = arguments::<RedactArguments>(&["redact", "a.json"], toml, &[]).mending;
    assert!(redacted.place.output.is_none() && redacted.archive.is_none());
}

#[test]
fn what_protects_holds_for_all_commands() {
    for (toml, variables) in [
        ("redact = 'all'", &[][..]),
        ("redact = true", &[]),
        ("", &[("TCOMPACT_REDACT", "all")]),
        ("[search]\nredact = true", &[]),
        ("", &[("TCOMPACT_SEARCH_REDACT", "yes")]),
    ] {
        assert!(arguments::<SearchArguments>(SEARCH, toml, variables).lookup.masking.redact.is_some(), "{toml}");
    }
    let of_command = arguments::<CheckArguments>(&["check"], "[check]\nredact = 'all'", &[]);
    assert_eq!(of_command.masking.redact, Some(Redaction::All));
}

#[test]
fn the_command_wins_over_compaction() {
    let quiet = |toml: &str, variables: &[(&str, &str)]| {
        arguments::<CountArguments>(&["count"], toml, variables).counting.counter.map(|counter| counter.to_string())
    };
    let toml = "counter = 'approx'\n[count]\ncounter = 'bytes:4'";
    assert_eq!(quiet(toml, &[]).as_deref(), Some("bytes:4"));
    assert_eq!(quiet(toml, &[("TCOMPACT_COUNTER", "o200k_base")]).as_deref(), Some("o200k_base"));
    let both = [("TCOMPACT_COUNTER", "o200k_base"), ("TCOMPACT_COUNT_COUNTER", "cl100k_base")];
    assert_eq!(quiet(toml, &both).as_deref(), Some("cl100k_base"));
    assert_eq!(quiet("preset = 'langchain'", &[]).as_deref(), None, "a preset has only what the command has");
}

#[test]
fn settings_that_are_none_are_errors_wherever_they_stand() {
    for words in [SEARCH, &["count"], &["a.json"]] {
        for (toml, start) in [
            ("[search]\nlimt = 5", "c.toml [search]: there is no setting \"limt\""),
            ("[search]\nkeep = 'messages:3'", "c.toml [search]: there is no setting \"keep\""),
            ("[search]\nconfig = 'x'", "c.toml [search]: config is for the command line"),
            ("[search]\npaths = 'x'", "c.toml [search]: paths is for the command line"),
            ("[search]\nlimit = [5]", "c.toml [search]: limit = a list: expected"),
            ("[serach]\nlimit = 5", "c.toml: there is no setting \"serach\""),
            ("limit = 5", "c.toml: there is no setting \"limit\""),
            ("search = true", "c.toml: search is a command, and its settings are a table: [search]"),
            ("[list]\ntable = 'models'", "c.toml: there are no settings of the command list"),
        ] {
            let found = match words[0] {
                "search" => error::<SearchArguments>(words, toml, &[]),
                "count" => error::<CountArguments>(words, toml, &[]),
                _ => error::<crate::cli::CompactArguments>(words, toml, &[]),
            };
            assert!(found.starts_with(start), "{words:?} {toml}: {found}");
        }
    }
    let wrong = error::<SearchArguments>(SEARCH, "[search]\nlimit = 0", &[]);
    assert!(wrong.starts_with("c.toml [search]: limit = \"0\": expected a whole number"), "{wrong}");
    let wrong = error::<SearchArguments>(SEARCH, "", &[("TCOMPACT_SEARCH_LIMIT", "x")]);
    assert!(wrong.starts_with("TCOMPACT_SEARCH_LIMIT: \"x\": expected a whole number"), "{wrong}");
}
