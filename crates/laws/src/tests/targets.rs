//! Runs the targets of fuzzing on the fixtures, and some generated cases of each seed.

use std::fs;

use crate::fixtures::all;
use crate::{Cases, TARGETS};

#[test]
fn fixtures_break_no_law() {
    let small = all().into_iter().filter_map(|(_, file)| fs::read(file).ok()).filter(|text| text.len() < 4_000);
    let small: Vec<Vec<u8>> = small.collect();
    assert!(small.len() > 50, "{}", small.len());
    for target in TARGETS {
        small.iter().step_by(8).for_each(|text| (target.run)(text));
    }
}

#[test]
fn cases_are_made_and_counted() {
    let cases = Cases::new(7);
    (0..32).for_each(|number| cases.check(number));
    assert!(!cases.counts().starts_with("0 cut"), "{}", cases.counts());
    assert!(cases.shown(1).starts_with("case 1 of seed 7: Case"), "{}", cases.shown(1));
}
