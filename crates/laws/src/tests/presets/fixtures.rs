//! Runs every preset on every fixture.

use std::fs;

use crate::all_cases::Sample;
use crate::fixtures::of_format;
use crate::presets::PRESETS;
use crate::transcript::formats::FORMATS;
use crate::transcripts::read;
use crate::whole::process;

/// Kept messages stay unchanged under every preset (only `DeepAgents` changes some of them), and the result is a
/// transcript of the same format.
#[test]
fn every_fixture_survives_every_preset() {
    let mut sample = Sample::default();
    for format in FORMATS.iter().copied() {
        for file in of_format(format.name) {
            let text = fs::read_to_string(&file).expect("a fixture");
            let before = read(&text, Some(format), None).expect("a transcript").transcripts;
            for preset in PRESETS {
                let sizes = ["messages:1", "messages:3", "tokens:20", "tokens:100"];
                for keep in sizes.into_iter().filter(|_| sample.takes_next()) {
                    let (preset_flag, keep) = (format!("--preset={}", preset.name), format!("--keep={keep}"));
                    let more = ["--trigger=tokens:1", "--summary-role=user", "--archive=a.md", "--report=a.jsonl"]
                        .map(str::to_owned);
                    let arguments = [&[preset_flag, keep], &more[..]].concat();
                    let result = match process(&arguments, &text) {
                        Err(error) if error.to_string().contains("without --preset, tcompact reads it") => {
                            continue;
                        }
                        result => result.unwrap_or_else(|error| panic!("{} {arguments:?}: {error}", file.display())),
                    };
                    let again = read(&result.text, Some(format), None)
                        .unwrap_or_else(|error| panic!("{arguments:?} {error}: {}", result.text))
                        .transcripts;
                    assert_eq!(again.len(), before.len(), "{arguments:?}");
                    for ((before, after), told) in before.iter().zip(&again).zip(&result.conversations) {
                        let plan = told.plan.as_ref().expect("a plan");
                        let cut = plan.cutoff;
                        let kept = &before.messages[cut..];
                        let end = &after.messages[after.messages.len().saturating_sub(kept.len())..];
                        let same = kept.iter().zip(end).all(|(one, other)| one.json.raw() == other.json.raw());
                        // These change kept messages too, and so does what an agent resets.
                        let changes = preset.name == "deepagents" || plan.reset.is_some();
                        assert!(same || changes, "{arguments:?}");
                    }
                }
            }
        }
    }
}
