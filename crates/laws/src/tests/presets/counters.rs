//! What a preset counts with: its system's own estimate, unless a counter is given.

use std::ffi::OsString;

use crate::presets::{self, PRESETS};
use crate::tokens::Counter;
use crate::tokens::bpe::Encoding;
use tcompact::internals::{CommandLine, Settings};

/// Flags that name the system's model, and whether `LangChain` has Anthropic's class for it.
const MODELS: [(&[&str], bool); 14] = [
    (&[], false),
    (&["--for=gpt-4o"], false),
    (&["--for=openai:gpt-3.5-turbo"], false),
    (&["--for=openai:probe"], false),
    (&["--for=groq:probe"], false),
    (&["--for=openrouter:anthropic/claude-probe"], false),
    (&["--for=google:gemini-probe"], false),
    (&["--for=claude-haiku-4-5"], true),
    (&["--for=anthropic:probe"], true),
    (&["--for=google:claude-probe"], true),
    (&["--model=anthropic:probe"], true),
    (&["--model=openai:probe"], false),
    (&["--for=anthropic:probe", "--model=gpt-4o"], true),
    (&["--for=openai:probe", "--model=claude-haiku-4-5"], false),
];

fn counter(preset: &str, model: &[&str], given: &[&str]) -> Counter {
    let mut words = vec!["tcompact".to_owned(), format!("--preset={preset}"), "--dry-run".to_owned()];
    words.extend(model.iter().chain(given).map(|word| (*word).to_owned()));
    let words = words.into_iter().map(OsString::from);
    let resolved = CommandLine::parse(words).expect("words").resolve(&presets::values, |_| None).expect("values");
    Settings::new(resolved, |_| None).expect("settings").policy.counter
}

/// The estimate with so many characters per token, as the preset's system counts.
fn estimate(preset: &str, characters: f64) -> Counter {
    match preset {
        "synaptic" => Counter::Approx(characters),
        "deerflow-v1" => Counter::ApproxRepr(characters),
        _ => Counter::ApproxContent(characters),
    }
}

/// What a system counts with when no counter is given.
fn own_estimate(preset: &str, is_anthropic: bool) -> Counter {
    match preset {
        "synaptic" => Counter::Bytes(4),
        "tongyi" => estimate(preset, 4.0),
        _ => estimate(preset, if is_anthropic { 3.3 } else { 4.0 }),
    }
}

#[test]
fn the_model_never_replaces_the_estimate_of_the_system() {
    for preset in PRESETS {
        for (model, is_anthropic) in MODELS {
            let expected = own_estimate(preset.name, is_anthropic);
            assert_eq!(counter(preset.name, model, &[]), expected, "{} {model:?}", preset.name);
        }
    }
}

#[test]
fn a_given_counter_replaces_the_estimate_of_the_system() {
    let models: [&[&str]; 3] = [&["--for=gpt-4o"], &["--for=openai:probe"], &["--for=anthropic:probe"]];
    for (name, model) in PRESETS.iter().flat_map(|preset| models.map(|model| (preset.name, model))) {
        for (given, expected) in [
            ("--counter=approx", estimate(name, 4.0)),
            ("--counter=approx:2.5", estimate(name, 2.5)),
            ("--counter=cl100k_base", Counter::Exact(Encoding::Cl100kBase)),
            ("--counter=bytes:3", Counter::Bytes(3)),
        ] {
            assert_eq!(counter(name, model, &[given]), expected, "{name} {model:?} {given}");
        }
        assert!(matches!(counter(name, model, &["--counter=estimate"]), Counter::Estimate(_)), "{name} {model:?}");
        assert!(matches!(counter(name, model, &["--counter-cmd=cat"]), Counter::Own(_)), "{name} {model:?}");
    }
}
