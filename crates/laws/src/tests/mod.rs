//! Checks the laws on fixtures and generated conversations, and compares tcompact with figures of other programs.

mod agents_sessions;
mod approx_tokens;
mod conversations;
mod cut_off;
mod damaged_lines;
mod digest;
mod documents;
mod earlier_summaries;
mod encrypted_compactions;
mod exact_tokens;
mod fences;
mod fitted_sizes;
mod fixtures;
mod forged_frames;
mod handoffs;
mod known_secrets;
mod langgraph;
#[path = "../../../../tests/integration/left_out.rs"]
mod left_out;
mod limits;
mod masking;
mod nesting;
mod pieces;
mod presets;
mod pruning;
mod reading_again;
mod reasoning;
mod record_ids;
mod recorded;
mod repair;
mod resets;
mod restoring;
mod rounds;
mod sealed_reasoning;
mod short_histories;
mod slim;
mod slim_lines;
mod targets;
mod typed_words;
mod unread_members;
mod unsent;
mod users_words;
mod walks;
mod wanted_reasoning;

use crate::all_cases::share;

/// A configuration for property tests with the share of so many cases.
pub(crate) fn cases(all: usize) -> proptest::prelude::ProptestConfig {
    let cases = u32::try_from(share(all)).expect("few cases");
    proptest::prelude::ProptestConfig { cases, failure_persistence: None, ..Default::default() }
}
