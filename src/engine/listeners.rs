//! The listeners of a run: lines on standard error, the report, the page and the progress bar.

use anyhow::Result;

use crate::events::{Event, Listener};
use crate::report::html::PageBuilder;
use crate::report::json::Report;
use crate::report::progress::{Progress, Results};
use crate::report::reporter::Reporter;
use crate::settings::{Action, Destination, Settings};

use crate::engine::page;

/// The listeners of a run.
pub(super) struct Listeners {
    pub(super) reporter: Reporter,
    pub(super) report: Report,
    /// The page of `--html`.
    pub(super) page: Option<PageBuilder>,
    pub(super) progress: Progress,
}

impl Listeners {
    /// Returns the listeners that the settings ask for, in a run with this many inputs.
    pub(super) fn new(settings: &Settings, inputs: usize) -> Self {
        Listeners {
            reporter: Reporter::new(settings.stderr.volume),
            report: Report::new(settings.output.report.as_deref()),
            page: page::new_page(settings),
            progress: Progress::new(&settings.stderr, results(settings), inputs),
        }
    }
}

/// Returns where results go, which decides how progress is drawn.
fn results(settings: &Settings) -> Results {
    match (settings.action, &settings.output.destination) {
        (Action::DryRun { .. } | Action::Count { .. } | Action::Diff, _) => Results::Shown,
        (Action::Compact | Action::Check, Destination::Stdout) => Results::Printed,
        (Action::Compact | Action::Check, _) => Results::ToFiles,
    }
}

impl Listeners {
    /// Reports an event to all but the report, which has it.
    pub(super) fn notify_others(&self, event: &Event<'_>) -> Result<()> {
        let others: [Option<&dyn Listener>; 3] =
            [Some(&self.reporter), Some(&self.progress), self.page.as_ref().map(|page| page as &dyn Listener)];
        others.into_iter().flatten().try_for_each(|listener| listener.handle(event))
    }
}

impl Listener for Listeners {
    fn handle(&self, event: &Event<'_>) -> Result<()> {
        // A report that cannot be written must not keep the event from the others.
        let reported = self.report.handle(event);
        self.notify_others(event).and(reported)
    }
}

/// Reports an event that no listener can fail to take.
pub(super) fn notify(listener: &dyn Listener, event: Event<'_>) {
    // Only [`Event::Done`] is written to a file, where an error matters.
    let _ = listener.handle(&event);
}
