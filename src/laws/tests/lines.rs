//! Checks the laws of facts and of the embedded summarizer on generated lines.

use crate::laws::lines::{Tokens, assert_read, choices, conversation};

/// Readers of facts accept any text.
#[test]
fn facts_are_read_out_of_any_lines() {
    let tokens = Tokens::of_ledger();
    assert!(tokens.count() > 500, "{}", tokens.count());
    for seed in 0..200 {
        let mut below = choices(seed);
        let conversation = conversation(&tokens, 20, &mut below);
        assert_read(&conversation, &mut below);
    }
}
