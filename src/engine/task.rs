//! An input to be worked on, and all that decides what is made of it.

use crate::compact::CompactionPolicy;
use crate::events::{Event, Listener};
use crate::files::input::Input;
use crate::report::html::PageInTheMaking;
use crate::settings::Settings;
use crate::summary::exchange::SummaryBackend;

use crate::engine::listeners::tell;

/// An input to be worked on, and all that decides what is made of it.
#[derive(Clone, Copy)]
pub(super) struct InputTask<'r> {
    pub(super) input: &'r Input,
    pub(super) settings: &'r Settings,
    /// What is to become of its conversations.
    pub(super) policy: &'r CompactionPolicy,
    /// Who writes summaries, unless the policy names the embedded summarizer.
    pub(super) backend: &'r dyn SummaryBackend,
    pub(super) listener: &'r dyn Listener,
    /// The page that shows what was done, where there is to be one.
    pub(super) page: Option<&'r PageInTheMaking>,
    /// Whether there is or could be more than one input, so that each is named.
    pub(super) many: bool,
    /// Whether the input is what `--repair` made of another.
    pub(super) repaired: bool,
}

impl InputTask<'_> {
    /// Tells what happens.
    pub(super) fn tell(&self, event: Event<'_>) {
        tell(self.listener, event);
    }
}
