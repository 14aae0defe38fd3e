//! Compares the presets with the known systems on every recorded case.
//!
//! `fixtures/presets/README.md` describes how the cases were recorded and what they contain. `TCOMPACT_CASES` names a
//! folder with other files of the same kind.

mod case;
mod compare;
mod counters;
mod fixtures;

use std::fmt::Write;
use std::path::Path;

use crate::all_cases::one_in;
use crate::transcript::json::Json;
use crate::transcripts::json;
use tcompact::internals::{self, Input, run_alone};
use tcompact_base::exit::{Exit, Failure};

use crate::FIXTURES;

use case::{Case, text};
use compare::{compare_plan, compare_prompts, compare_result};

fn differences(case: &Case<'_>, in_state: bool) -> String {
    let mut out = String::new();
    let stage = case.expected("error").and_then(|error| text(error.get("stage")));
    let settings = match (case.settings(), stage.as_deref()) {
        (Ok(_), Some("construct")) => return format!("{:?} are taken, and are not there\n", case.words()),
        (Err(_), Some("construct")) => return out,
        (Err(error), _) => return format!("{:?} are refused: {error}\n", case.words()),
        (Ok(settings), _) => settings,
    };
    let (source, before) = case.source(in_state, &settings);
    compare_plan(case, &settings, &source, before, &mut out);
    let script = case.script(&settings);
    let input = Input { name: "case".to_owned(), text: source.clone(), ..Input::default() };
    let outcome = run_alone(&settings, &input, &script, &mut Vec::new());
    let outcome = match (outcome, case.expected("error")) {
        (Ok(outcome), None) => Some(outcome),
        (Err(error), Some(expected)) => {
            compare_error(&error, expected, &mut out);
            None
        }
        (Err(error), None) => {
            let _ = writeln!(out, "it fails and should not: {error}");
            None
        }
        (Ok(_), Some(expected)) => {
            let _ = writeln!(out, "it should fail: {}", expected.raw());
            None
        }
    };
    if stage.as_deref() != Some("convert") {
        compare_prompts(case, &script.prompts.borrow(), &mut out);
    }
    if let Some(outcome) = outcome {
        compare_result(case, &settings, &source, before, outcome, &mut out);
    }
    out
}

/// Checks that an error is of the recorded kind: of the input, of the prompt in Python's words, of the model, or an
/// excess of the budget.
fn compare_error(error: &anyhow::Error, expected: Json<'_>, out: &mut String) {
    let recorded_text = |key: &str| text(expected.get(key)).unwrap_or_default();
    let exit = error.downcast_ref::<Failure>().map(|failure| failure.exit);
    let (found, message) = (error.to_string(), recorded_text("message"));
    let right = match (recorded_text("stage").as_str(), recorded_text("class").as_str()) {
        ("convert", _) => exit == Some(Exit::Unreadable),
        (_, "RuntimeError" | "ModelInvalidRequestError" | "SynapticError") => {
            exit == Some(Exit::SummarizerFailed) && found.contains(message.trim_start_matches("model error: "))
        }
        (_, "ContextOverflowError") if message.contains("input budget") => exit == Some(Exit::SummaryRefused),
        (_, "ContextOverflowError") => exit == Some(Exit::SummarizerFailed) && found.contains("prompt is too long"),
        // tcompact rejects what cannot be counted when it reads it.
        (_, "TypeError") if exit == Some(Exit::Unreadable) => true,
        _ => exit == Some(Exit::Usage) && found.contains(&message),
    };
    if !right {
        let _ = writeln!(out, "{exit:?} {found} and not {}", expected.raw());
    }
}

/// The most cases shown, and characters of each.
const SHOWN: usize = 20;
const LONGEST: usize = 2_000;

/// Runs all cases of a system, of which there are at least `least`.
fn recorded(system: &'static str, least: usize) {
    let folder = std::env::var("TCOMPACT_CASES").unwrap_or(format!("{FIXTURES}/presets"));
    let Ok(Input { text: lines, .. }) = internals::read_input(Some(Path::new(&format!("{folder}/{system}.jsonl.gz"))))
    else {
        assert!(std::env::var_os("TCOMPACT_CASES").is_some(), "the cases of {system} are there");
        return;
    };
    let mut wrong = Vec::new();
    for line in lines.lines().step_by(one_in()) {
        let case = Case { system, json: json(line) };
        // Only DeerFlow has a state to keep a summary in.
        for in_state in [false, true].into_iter().take(if system == "deerflow" { 2 } else { 1 }) {
            let differences = differences(&case, in_state);
            if !differences.is_empty() {
                wrong.push(format!("{}: {differences}", text(case.json.get("name")).expect("a name")));
                break;
            }
        }
    }
    let cases = lines.lines().count();
    let shown: Vec<String> = wrong.iter().take(SHOWN).map(|one| one.chars().take(LONGEST).collect()).collect();
    assert!(wrong.is_empty(), "{} of {cases} cases of {system} differ:\n{}", wrong.len(), shown.join("\n"));
    let least = if std::env::var_os("TCOMPACT_CASES").is_some() { 1 } else { least };
    assert!(cases >= least, "{cases} cases");
}

#[test]
fn langchain() {
    recorded("langchain", 300);
}

#[test]
fn deepagents() {
    recorded("deepagents", 100);
}

#[test]
fn deerflow() {
    recorded("deerflow", 100);
}

#[test]
fn deerflow_v1() {
    recorded("deerflow-v1", 100);
}

#[test]
fn tongyi() {
    recorded("tongyi", 100);
}

#[test]
fn synaptic() {
    recorded("synaptic", 100);
}
