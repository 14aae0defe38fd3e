//! Which summaries are taken.

use std::fmt;

/// Why a summary is refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Refusal {
    /// There is nothing in it.
    Empty,
    /// The summarizer stopped at its length limit.
    CutOff,
    /// The message that would hold it has as many tokens as what it replaces, or more.
    NotSmaller {
        /// Tokens of the summary message.
        summary: u64,
        /// Tokens of the messages it would replace.
        replaced: u64,
    },
}

impl fmt::Display for Refusal {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Refusal::Empty => write!(out, "the summary is empty"),
            Refusal::CutOff => write!(out, "the summary was cut off by its length limit; raise --summary-tokens"),
            Refusal::NotSmaller { summary, replaced } => write!(
                out,
                "the summary is no smaller than what it replaces ({summary} tokens for {replaced}); lower --summary-tokens or keep more"
            ),
        }
    }
}

/// Judges a summary by what it is, how the summarizer stopped, and the tokens before and after.
///
/// # Errors
/// The first reason to refuse it.
pub fn judge(text: &str, cut_off: bool, summary_tokens: u64, replaced_tokens: u64) -> Result<(), Refusal> {
    if text.trim().is_empty() {
        Err(Refusal::Empty)
    } else if cut_off {
        Err(Refusal::CutOff)
    } else if summary_tokens >= replaced_tokens {
        Err(Refusal::NotSmaller { summary: summary_tokens, replaced: replaced_tokens })
    } else {
        Ok(())
    }
}
