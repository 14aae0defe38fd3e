//! Runs one input in memory, for tests and laws.

use anyhow::Result;

use crate::engine::outcome::Outcome;
use crate::engine::task::InputTask;
use crate::events::Conversation;
use crate::files::input::Input;
use crate::report::reporter::Reporter;
use crate::settings::Settings;
use crate::summary::exchange::SummaryBackend;

/// Returns the outcome of one input; writes nothing. `backend` writes the summaries, unless the settings name the embedded
/// summarizer. Each conversation is added to `conversations`, also where a later one fails.
///
/// # Errors
/// As [`InputTask::run`].
pub(crate) fn run_alone(
    settings: &Settings,
    input: &Input,
    backend: &dyn SummaryBackend,
    conversations: &mut Vec<Conversation>,
) -> Result<Outcome> {
    let listener = &Reporter::new(settings.stderr.volume);
    let task = InputTask {
        input,
        settings,
        policy: &settings.policy,
        backend,
        listener,
        page: None,
        many: false,
        repaired: false,
    };
    task.run(conversations)
}
