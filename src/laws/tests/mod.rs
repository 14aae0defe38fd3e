//! Checks the laws on fixtures and generated conversations, and compares tcompact with figures of other programs.

mod approx_tokens;
mod conversations;
mod digest;
mod documents;
mod earlier_summaries;
mod exact_tokens;
mod fences;
mod few_words;
mod filling;
mod fixtures;
mod frames;
mod handoffs;
mod langgraph;
#[path = "../../../tests/integration/left_out.rs"]
mod left_out;
mod limits;
mod masking;
mod mending;
mod nesting;
mod patterns;
mod pieces;
mod presets;
mod pruning;
mod reading_again;
mod reasoning;
mod recorded;
mod renamed;
mod resets;
mod restoring;
mod rounds;
mod sealed_reasoning;
mod targets;
mod unsent;

/// Returns a configuration for property tests with `cases` cases, or as many as `PROPTEST_CASES` says.
pub(crate) fn cases(cases: u32) -> proptest::prelude::ProptestConfig {
    let cases = std::env::var("PROPTEST_CASES").ok().and_then(|cases| cases.parse().ok()).unwrap_or(cases);
    proptest::prelude::ProptestConfig { cases, failure_persistence: None, ..Default::default() }
}
