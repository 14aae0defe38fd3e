//! An input by itself, in memory: what tests and laws look at.

use anyhow::Result;

use crate::engine::outcome::Outcome;
use crate::engine::task::InputTask;
use crate::events::{Conversation, Listener};
use crate::files::input::Input;
use crate::report::reporter::Reporter;
use crate::settings::Settings;
use crate::summary::exchange::SummaryBackend;

impl<'r> InputTask<'r> {
    /// An input by itself.
    fn alone(
        settings: &'r Settings,
        input: &'r Input,
        backend: &'r dyn SummaryBackend,
        listener: &'r dyn Listener,
    ) -> Self {
        InputTask {
            input,
            settings,
            policy: &settings.policy,
            backend,
            listener,
            page: None,
            many: false,
            repaired: false,
        }
    }
}

/// What is made of an input, before it is written. `backend` writes the summaries, unless the settings name the embedded
/// summarizer. What became of each conversation is added to `conversations`, also where another fails.
///
/// # Errors
/// It cannot be read or repaired, or there is no summary and the settings do not say what to put in its place.
pub(crate) fn made(
    settings: &Settings,
    input: &Input,
    backend: &dyn SummaryBackend,
    conversations: &mut Vec<Conversation>,
) -> Result<Outcome> {
    InputTask::alone(settings, input, backend, &Reporter::new(settings.voice.volume)).made(conversations)
}

/// The same, as it is: nothing is repaired, and nobody looks whether an archive can be written.
///
/// # Errors
/// The same.
#[cfg(test)]
pub(crate) fn process(
    settings: &Settings,
    input: &Input,
    backend: &dyn SummaryBackend,
    conversations: &mut Vec<Conversation>,
) -> Result<Outcome> {
    InputTask::alone(settings, input, backend, &Reporter::new(settings.voice.volume)).process(conversations)
}
