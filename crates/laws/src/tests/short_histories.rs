//! A history of a few words has a summary with these words, where any size is accepted.

use crate::all_cases::{Sample, one_in};
use crate::presets::PRESETS;
use crate::transcript::formats::FORMATS;

use crate::bricks::{Bricks, Generated, file};
use crate::whole::process;

fn user(words: &[&str]) -> Vec<Generated> {
    words.iter().map(|word| Generated::User((*word).to_owned())).collect()
}

/// Histories of a few words or of none, each with the words that its summary has.
fn histories() -> Vec<(Vec<Generated>, &'static [&'static str])> {
    let said = |text: &str| Generated::Assistant(text.to_owned());
    let call = |id: u8| Generated::Calls(vec![(id, 1)]);
    vec![
        (user(&["第一条", "第二条", "第三条", "第四条"]), &["第一条", "第二条", "第三条", "第四条"]),
        (user(&["one", "two", "three", "four"]), &["one", "two", "three", "four"]),
        (user(&["hi"]), &["hi"]),
        (vec![said("ok")], &[]),
        ([user(&["是"]), vec![said("好")], user(&["再来"]), vec![said("行")]].concat(), &["是", "再来"]),
        (vec![Generated::System("Be brief.".to_owned()), said("yes")], &[]),
        (vec![call(0), call(1)], &[]),
        ([user(&["go"]), vec![call(0)]].concat(), &["go"]),
        (vec![Generated::Orphan(0), Generated::Orphan(1)], &[]),
        (vec![Generated::Silent], &[]),
        ([user(&["😀"]), vec![Generated::Silent, call(2)]].concat(), &["😀"]),
    ]
}

#[test]
fn few_words_are_their_own_summary() {
    let systems = PRESETS.iter().map(|preset| format!("--preset={}", preset.name));
    let ways: Vec<Vec<String>> = [vec!["--accept=any".to_owned()]]
        .into_iter()
        .chain(systems.map(|preset| vec![preset, "--accept=any".to_owned(), "--trigger=messages:1".to_owned()]))
        .collect();
    let counters = ["approx", "bytes:1"];
    let (mut compacted, mut sample) = (0, Sample::default());
    for (format, way) in FORMATS.iter().flat_map(|format| ways.iter().map(move |way| (format, way))) {
        let bricks = Bricks::of(format.name);
        let histories = histories().into_iter().flat_map(|one| counters.map(|name| (one.clone(), name)));
        for ((history, words), counter) in histories.filter(|_| sample.takes_next()) {
            let (source, _) = file(&bricks, &[history, user(&["the last"])].concat(), 0);
            let rest =
                ["--keep=messages:1", "--archive=a.md", "--pairs=window:0", "--summary-role=user"].map(str::to_owned);
            let counter = format!("--counter={counter}");
            let arguments: Vec<String> = way.iter().cloned().chain(rest).chain([counter]).collect();
            let processed = match process(&arguments, &source) {
                Ok(processed) => processed,
                Err(error) => {
                    assert!(error.to_string().contains("LangChain"), "{arguments:?} {source}: {error}");
                    continue;
                }
            };
            for row in &processed.conversations {
                let why = row.reason.clone().unwrap_or_default() + row.error.as_deref().unwrap_or_default();
                assert!(!why.contains("summary is empty"), "{arguments:?} {source}: {why}");
            }
            if processed.compacted {
                compacted += 1;
                // Under the own rules of tcompact, and as a note, a summary is smaller than the words where it can be.
                let tells_all = way.len() > 1 && !way[0].contains("anthropic");
                for word in words.iter().filter(|_| tells_all) {
                    assert!(processed.text.contains(word), "{word}: {arguments:?} {source}\n{}", processed.text);
                }
            }
        }
    }
    assert!(compacted * one_in() > 200, "{compacted} are compacted");
}
