//! A dry run that shows the summary: with `--cache` and who writes it on the same command line, the summarizer is asked as
//! in a real run. What it answers is kept in the cache, where the real run finds it, so that nobody is asked twice.

use anyhow::Result;

use crate::plan::economy::Economy;
use crate::report::reporter::Reporter;
use crate::settings::Settings;
use crate::summary::exchange::SummaryBackend;
use crate::transcript::Transcript;

use crate::engine::account::Account;
use crate::engine::conversation::{self, Task};

/// What a real run would put in the place of the history.
#[derive(Debug)]
pub(super) struct Previewed {
    /// What the summary says, without the words around it.
    pub(super) summary: String,
    /// What it saves and what it cost.
    pub(super) economy: Option<Economy>,
}

/// The summary of a conversation, where it is to be shown and there is one; nothing else is made of it.
///
/// # Errors
/// The same as those of a real run.
pub(super) fn previewed(
    settings: &Settings,
    source: &str,
    transcript: &Transcript<'_>,
    answers: &dyn SummaryBackend,
) -> Result<Option<Previewed>> {
    if !settings.preview {
        return Ok(None);
    }
    let mut account = Account::new();
    let task = Task { settings, source, explain: None, transcript, answers };
    conversation::conversation(task, &mut account)?;
    let economy = account.economy;
    let previewed = account.summary.map(|summary| Previewed { summary, economy });
    if let Some(previewed) = &previewed {
        Reporter::new(settings).previewed(source, &previewed.summary);
    }
    Ok(previewed)
}
