//! Cuts every fixture at every place: bytes outside the edits stay unchanged, and no pair is split.

use std::collections::BTreeSet;
use std::fs;

use crate::all_cases::Sample;
use crate::fixtures::all;
use crate::lawful::{VaryingRules, assert_laws, policy};
use crate::plan::size::Size;
use crate::transcript::{formats, time};
use crate::transcripts::read;

#[test]
fn every_fixture_is_detected_as_its_format() {
    for (name, file) in all() {
        let text = fs::read_to_string(&file).expect("a fixture");
        let document = read(&text, None, None).unwrap_or_else(|error| panic!("{} {error}", file.display()));
        for transcript in &document.transcripts {
            assert_eq!(transcript.format.name, name, "{}", file.display());
        }
    }
}

#[test]
fn every_cut_of_every_fixture_keeps_the_laws() {
    let mut sample = Sample::default();
    for (name, file) in all() {
        let text = fs::read_to_string(&file).expect("a fixture");
        let format = formats::by_name(name);
        let document = read(&text, format, None).expect("a transcript");
        let messages = || document.transcripts.iter().flat_map(|one| &one.messages);
        let times: BTreeSet<i64> = messages().filter_map(time::of).collect();
        let longest = document.transcripts.iter().map(|one| one.messages.len()).max().unwrap_or(0);
        let sizes = (1..=longest as u64).flat_map(|keep| {
            let from = Size::From(longest - keep as usize);
            [Size::Messages(keep), Size::Turns(keep), Size::Tokens(keep * 40), from]
        });
        for keep in sizes.chain(times.into_iter().map(Size::Since)) {
            let pins = ["system", "first:2", "match:2", "user", "user:tokens:60", "none"];
            for pin in pins.into_iter().filter(|_| sample.takes_next()) {
                assert_laws(&text, format, &policy(&VaryingRules { keep, pin: pin.parse().expect("a rule") }));
            }
        }
    }
}

/// The places of the calls and results that a format pairs in a text.
fn pairs(text: &str, format: &'static formats::Format) -> Option<Vec<(usize, usize)>> {
    let document = read(text, Some(format), None).ok()?;
    let of_one = |one: &crate::transcript::Transcript<'_>| -> Vec<(usize, usize)> {
        let start = |index: usize| one.messages[index].span().start;
        one.pairing.pairs.iter().map(|(call, result)| (start(*call), start(*result))).collect()
    };
    Some(document.transcripts.iter().flat_map(of_one).collect())
}

#[test]
fn reading_as_another_format_loses_no_pair() {
    let mut refused = 0;
    for (name, file) in all() {
        let text = fs::read_to_string(&file).expect("a fixture");
        let own = pairs(&text, formats::by_name(name).expect("a format")).expect("its own format reads it");
        for format in formats::FORMATS {
            let Some(found) = pairs(&text, format) else {
                refused += 1;
                continue;
            };
            let lost: Vec<_> = own.iter().filter(|pair| !found.contains(pair)).collect();
            assert!(lost.is_empty(), "{} as {}: {lost:?}", file.display(), format.name);
        }
    }
    assert!(refused > 200, "{refused}");
}
