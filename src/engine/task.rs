//! One input, with all that determines its outcome.

use crate::compact::CompactionPolicy;
use crate::events::{Event, Listener};
use crate::files::input::Input;
use crate::report::html::PageBuilder;
use crate::settings::Settings;
use crate::summary::exchange::SummaryBackend;

use crate::engine::listeners::notify;

/// One input, with all that determines its outcome.
#[derive(Clone, Copy)]
pub(super) struct InputTask<'r> {
    pub(super) input: &'r Input,
    pub(super) settings: &'r Settings,
    /// The policy of this input, which can name an archive of its own.
    pub(super) policy: &'r CompactionPolicy,
    /// Writes the summaries, unless the policy names the embedded summarizer.
    pub(super) backend: &'r dyn SummaryBackend,
    pub(super) listener: &'r dyn Listener,
    /// The page of `--html`.
    pub(super) page: Option<&'r PageBuilder>,
    /// Whether there is or could be more than one input, so that each line of output names its input.
    pub(super) many: bool,
    /// Whether the input is what `--repair` made of another.
    pub(super) repaired: bool,
}

impl InputTask<'_> {
    /// Reports an event to the listener.
    pub(super) fn notify(&self, event: Event<'_>) {
        notify(self.listener, event);
    }
}
