//! Why there is no summary, and what to try.

use crate::exit::Exit;
use crate::fault::Fault;
use crate::summary::acceptance::Refusal;
use crate::summary::exchange::{FailureKind, NoAnswer};

/// What to try where the embedded summarizer fails.
pub(super) const PASSTHROUGH: &str = "tcompact --on-error passthrough, to leave such a transcript unchanged";
/// What to try where another summarizer fails.
const EXTRACTIVE: &str = "tcompact --on-error extractive, to go on without a model";

/// Why there is no summary.
pub(super) struct NoSummary {
    pub(super) exit: Exit,
    pub(super) message: String,
    /// The kind of failure, where a summarizer was asked in vain.
    pub(super) kind: Option<FailureKind>,
}

impl NoSummary {
    /// Returns what went wrong, for the user.
    pub(super) fn readable(&self) -> String {
        match self.exit {
            Exit::Usage => format!("the prompt cannot be filled: {}; {{messages}} is its only field", self.message),
            _ => self.message.clone(),
        }
    }

    /// Returns what to try, as a command line.
    pub(super) fn remedy(&self, is_embedded: bool) -> &'static str {
        match self.exit {
            Exit::SummaryRefused => {
                "tcompact --on-error extractive, to go on without a model; --accept any takes the summary as it is"
            }
            Exit::SummarizerFailed if is_embedded => PASSTHROUGH,
            Exit::SummarizerFailed => self.kind.map_or(EXTRACTIVE, FailureKind::remedy),
            _ => "--prompt-file FILE with another prompt",
        }
    }
}

impl From<NoAnswer> for NoSummary {
    fn from(none: NoAnswer) -> Self {
        NoSummary { exit: Exit::SummarizerFailed, message: none.message, kind: Some(none.kind) }
    }
}

impl From<Fault> for NoSummary {
    fn from(fault: Fault) -> Self {
        NoSummary { exit: Exit::SummarizerFailed, message: fault.to_string(), kind: None }
    }
}

impl From<Refusal> for NoSummary {
    fn from(refusal: Refusal) -> Self {
        NoSummary { exit: Exit::SummaryRefused, message: refusal.to_string(), kind: None }
    }
}
