//! Which messages share a row of the picture. In a short conversation none do; in a long one, all except those that
//! show the plan.

use std::collections::BTreeSet;
use std::ops::Range;

use crate::plan::Plan;

/// The most rows of a picture on a terminal.
pub(super) const MOST: usize = 40;
/// Messages with their own row: at each end, on each side of the cut, on each side of the wanted cut, and of the pinned
/// ones.
const AT_END: usize = 2;
const AT_CUT: usize = 3;
const AT_WANTED: usize = 1;
const PINNED: usize = 8;

/// The rows of so many messages in order: `most` of them, which must be at least [`MOST`]. `whole` says for each index
/// whether a cut there splits nothing.
pub(super) fn rows(messages: usize, plan: &Plan, whole: &[bool], most: usize) -> Vec<Range<usize>> {
    if messages <= most {
        return (0..messages).map(single).collect();
    }
    let mut shown: BTreeSet<usize> = BTreeSet::new();
    shown.extend(0..AT_END);
    shown.extend(messages - AT_END..messages);
    for (cut, margin) in [(plan.cutoff, AT_CUT), (plan.wanted, AT_WANTED)] {
        if cut > 0 {
            shown.extend(cut.saturating_sub(margin)..(cut + margin).min(messages));
        }
    }
    shown.extend(plan.pinned.iter().take(PINNED));
    let mut stretches: Vec<Range<usize>> = Vec::new();
    let mut from = 0;
    for &index in shown.iter().chain([&messages]) {
        if from < index {
            stretches.push(from..index);
        }
        from = index + 1;
    }
    let rest = messages - shown.len();
    let spare = most.saturating_sub(shown.len() + stretches.len());
    let mut rows: Vec<Range<usize>> = shown.into_iter().map(single).collect();
    for stretch in &stretches {
        let parts = 1 + stretch.len() * spare / rest;
        rows.extend(runs(stretch, parts, whole));
    }
    rows.sort_by_key(|row| row.start);
    rows
}

fn single(index: usize) -> Range<usize> {
    index..index + 1
}

/// Divides a stretch into at most so many parts of about one length. No part ends inside a group that belongs together.
fn runs(stretch: &Range<usize>, parts: usize, whole: &[bool]) -> Vec<Range<usize>> {
    let mut runs: Vec<Range<usize>> = Vec::new();
    let mut start = stretch.start;
    let ends = (stretch.start + 1..=stretch.end).filter(|&end| end == stretch.end || whole[end]);
    for end in ends {
        if end - stretch.start >= stretch.len() * (runs.len() + 1) / parts {
            runs.push(start..end);
            start = end;
        }
    }
    runs
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn rows_are_few_and_leave_nothing_out(
            messages in 0..5000usize, most in MOST..200usize, cut in 0.0..1.0f64, wanted in 0.0..1.0f64, pinned in prop::collection::btree_set(0..200usize, 0..30)
        ) {
            let place = |part: f64| (messages as f64 * part) as usize;
            let pinned = pinned.into_iter().filter(|&index| index < place(cut)).collect();
            let plan = Plan { cutoff: place(cut), wanted: place(wanted), pinned, ..Plan::default() };
            let whole: Vec<bool> = (0..=messages).map(|index| index % 3 == 0).collect();
            let rows = rows(messages, &plan, &whole, most);
            prop_assert!(rows.len() <= most);
            prop_assert!(rows.iter().flat_map(Clone::clone).eq(0..messages), "{rows:?}");
            prop_assert!(rows.iter().all(|row| !row.is_empty()));
            for line in [plan.cutoff, plan.wanted] {
                prop_assert!(line == messages || rows.iter().any(|row| row.start == line));
            }
        }
    }
}
