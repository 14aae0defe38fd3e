//! Why there is no summary, and what to try.

use crate::advice::Advice;
use crate::exit::Exit;
use crate::fault::Fault;
use crate::summary::acceptance::Refusal;
use crate::summary::exchange::{FailureKind, NoAnswer, extractive};

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

    /// Returns what to try.
    pub(super) fn remedy(&self, is_embedded: bool) -> Advice {
        match self.exit {
            Exit::SummaryRefused => extractive("to go on without a model; --accept any takes the summary as it is"),
            Exit::SummarizerFailed if is_embedded => passthrough(),
            Exit::SummarizerFailed => self.kind.unwrap_or(FailureKind::Setup).remedy(),
            _ => Advice::Line("--prompt-file FILE with another prompt".to_owned()),
        }
    }
}

/// Returns what to try where the embedded summarizer fails.
pub(super) fn passthrough() -> Advice {
    Advice::command(["--on-error", "passthrough"]).note("to leave such a transcript unchanged")
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
