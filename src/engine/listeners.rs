//! Who listens to a run: lines on standard error, the report, the page and the progress bar.

use anyhow::Result;

use crate::events::{Event, Listener};
use crate::report::html::PageBuilder;
use crate::report::json::Report;
use crate::report::progress::{Progress, Results};
use crate::report::reporter::Reporter;
use crate::settings::{Action, Destination, Settings};

use crate::engine::page;

/// All who listen to a run.
pub(super) struct Listeners {
    pub(super) reporter: Reporter,
    pub(super) report: Report,
    /// The page that shows what was done, where there is to be one.
    pub(super) page: Option<PageBuilder>,
    pub(super) progress: Progress,
}

impl Listeners {
    /// Those that the settings want, for a run over so many inputs.
    pub(super) fn new(settings: &Settings, inputs: usize) -> Self {
        Listeners {
            reporter: Reporter::new(settings.voice.volume),
            report: Report::new(settings.output.report.as_deref()),
            page: page::begun(settings),
            progress: Progress::new(&settings.voice, results(settings), inputs),
        }
    }
}

/// Where results go.
fn results(settings: &Settings) -> Results {
    match (settings.action, &settings.output.destination) {
        (Action::DryRun { .. } | Action::Count { .. } | Action::Diff, _) => Results::Shown,
        (Action::Compact | Action::Check, Destination::Stdout) => Results::Printed,
        (Action::Compact | Action::Check, _) => Results::ToFiles,
    }
}

impl Listener for Listeners {
    fn hear(&self, event: &Event<'_>) -> Result<()> {
        let others: [Option<&dyn Listener>; 3] =
            [Some(&self.reporter), Some(&self.progress), self.page.as_ref().map(|page| page as &dyn Listener)];
        // A report that cannot be written keeps nobody else from what happens.
        let reported = self.report.hear(event);
        others.into_iter().flatten().try_for_each(|listener| listener.hear(event)).and(reported)
    }
}

/// Tells what happens, where nobody can fail to take notice.
pub(super) fn tell(listener: &dyn Listener, event: Event<'_>) {
    // Only what is done is written to where that can fail.
    let _ = listener.hear(&event);
}
