//! A piece, as its source has it.

use crate::files::input::Input;
use crate::summary::exchange::SummaryBackend;

use crate::engine::run::Run;
use crate::engine::sink::Sink;

/// A document, or lines of a file, as the source has them: the first stage.
pub(super) struct Task<'r> {
    pub(super) run: &'r Run<'r>,
    /// Where the result goes.
    pub(super) sink: &'r Sink<'r>,
    pub(super) input: &'r Input,
    /// Writes the summaries, unless the policy names the embedded summarizer.
    pub(super) backend: &'r dyn SummaryBackend,
}

impl<'r> Task<'r> {
    pub(super) fn new(sink: &'r Sink<'r>, input: &'r Input, backend: &'r dyn SummaryBackend) -> Self {
        Task { run: sink.run, sink, input, backend }
    }
}
