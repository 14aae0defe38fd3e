//! The members of a record by which it is found, and the steps of runs of several steps.

use std::collections::HashSet;

use serde::Deserialize;
use serde::de::IgnoredAny;

use crate::rewrite::ranges::{RangePlace, RangeTotals};

/// The fields by which a record is found.
#[derive(Clone, Deserialize)]
pub(super) struct Head {
    pub(super) source: String,
    pub(super) id: Option<String>,
    pub(super) original_sha256: Option<String>,
    pub(super) result_sha256: Option<String>,
    pub(super) line: Option<usize>,
    pub(super) at_line: Option<usize>,
    pub(super) steps: Option<[usize; 2]>,
    pub(super) list: Option<String>,
    pub(super) left_sha256: Option<String>,
    left: Option<IgnoredAny>,
    before: Option<IgnoredAny>,
    before_sha256: Option<IgnoredAny>,
    pub(super) range: Option<RangePlace>,
    pub(super) ranges: Option<RangeTotals>,
    pub(super) previous: Option<String>,
    #[serde(default)]
    pub(super) summarized_at: String,
}

/// The record of a step of a run that is not the last one.
pub(super) struct InnerStep {
    pub(super) head: Head,
    /// The number of its line in the archive.
    pub(super) number: usize,
}

/// The steps of runs of several steps, while an archive is read.
#[derive(Default)]
pub(super) struct Steps {
    inner: Vec<InnerStep>,
    /// For each step behind the first one, the hash of the text that it found, and the time of its run.
    found: HashSet<(String, String)>,
}

impl Steps {
    pub(super) fn add(&mut self, head: &Head, number: usize) {
        let Some([step, last]) = head.steps else { return };
        if step < last {
            self.inner.push(InnerStep { head: head.clone(), number });
        }
        if step > 1
            && let Some(original) = &head.original_sha256
        {
            self.found.insert((original.clone(), head.summarized_at.clone()));
        }
    }

    /// The steps whose next step is not there.
    pub(super) fn unfinished(self) -> Vec<InnerStep> {
        let mut unfinished = Vec::new();
        for step in self.inner {
            let Some(result) = step.head.result_sha256.clone() else { continue };
            if !self.found.contains(&(result, step.head.summarized_at.clone())) {
                unfinished.push(step);
            }
        }
        unfinished
    }
}

impl Head {
    /// Whether the members that a record has only together are all there. Where one is not, the line was damaged.
    pub(super) fn is_consistent(&self) -> bool {
        let of_text = self.original_sha256.is_some() == self.result_sha256.is_some();
        let of_list = self.left.is_some() == self.before.is_some()
            && self.before.is_some() == self.before_sha256.is_some()
            && (self.left.is_some() == self.left_sha256.is_some() || self.range.is_some());
        of_text && of_list
    }
}
