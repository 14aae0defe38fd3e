//! How many of its cases a test checks: all where `ALL_CASES` is set, as `.ci/run` does, and else a few, to be done soon.

/// Tests check one case in so many. It is a prime, so that those of a table of tables differ in all columns.
pub(crate) fn one_in() -> usize {
    let wants_all = std::env::var_os("ALL_CASES").is_some_and(|value| !value.is_empty());
    if wants_all { 1 } else { 11 }
}

/// The number of cases to check of so many.
pub(crate) fn share(all: usize) -> usize {
    all.div_ceil(one_in())
}

/// Picks the cases to check, one after the other.
#[derive(Default)]
pub(crate) struct Sample {
    seen: usize,
}

impl Sample {
    /// Whether the next case is one of those.
    pub(crate) fn takes_next(&mut self) -> bool {
        self.seen += 1;
        self.seen.is_multiple_of(one_in())
    }
}
