//! Cuts every fixture at every place: bytes outside the edits stay unchanged, and no pair is split.

use std::fs;

use crate::laws::fixtures::all;
use crate::laws::lawful::{Rules, assert_laws, policy};
use crate::laws::transcripts::read;
use crate::transcript::formats;

#[test]
fn the_format_is_told_by_looking() {
    for (name, file) in all() {
        let text = fs::read_to_string(&file).expect("a fixture");
        let document = read(&text, None, None).unwrap_or_else(|error| panic!("{} {error}", file.display()));
        for transcript in &document.transcripts {
            assert_eq!(transcript.format.name(), name, "{}", file.display());
        }
    }
}

#[test]
fn every_cut_of_every_fixture_keeps_the_laws() {
    for (name, file) in all() {
        let text = fs::read_to_string(&file).expect("a fixture");
        let format = formats::by_name(name);
        let longest =
            read(&text, format, None).expect("a transcript").transcripts.iter().map(|one| one.messages.len()).max();
        for keep in 1..=longest.unwrap_or(0) as u64 {
            for size in [format!("messages:{keep}"), format!("turns:{keep}"), format!("tokens:{}", keep * 40)] {
                for pin in ["system", "first:2", "match:2", "none"] {
                    let rules = Rules { keep: size.parse().expect("a size"), pin: pin.parse().expect("a rule") };
                    assert_laws(&text, format, &policy(&rules));
                }
            }
        }
    }
}
