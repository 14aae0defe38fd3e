//! What all inputs of a run share: the settings, who listens, and what came of the inputs so far.

use std::fs::Metadata;
use std::path::Path;
use std::sync::Mutex;

use anyhow::Result;

use crate::events::{ConversationOutcome, Event, Listener, ReportRow, Status, Totals};
use crate::exit::{Exit, Failure};
use crate::files::agent_homes::AgentHomes;
use crate::files::atomic::Readers;
use crate::files::open_files::OpenFiles;
use crate::files::output::{CompleteFile, OutputFile};
use crate::files::written::WriteOptions;
use crate::interrupt;
use crate::report::html::{Page, PageBuilder, PricedModel};
use crate::report::json::Report;
use crate::report::reporter::Reporter;
use crate::report::terminal::{Progress, Results};
use crate::settings::{Action, Destination, Settings, Volume};
use crate::sync::{lock, unpoisoned};
use crate::wording::counted;

use crate::engine::archived_runs::ArchivedRuns;
use crate::engine::inputs::Inputs;
use crate::engine::journal::Journal;
use crate::engine::summaries::RunCache;

/// The place of a result that does not exist.
pub(super) const NOWHERE: &str = "nowhere";

/// What all inputs of a run share.
pub(super) struct Run<'b> {
    pub(super) settings: &'b Settings,
    pub(super) inputs: &'b Inputs,
    pub(super) journal: Option<Journal>,
    pub(super) listeners: Listeners,
    pub(super) cache: RunCache,
    /// The runs that the archive has records of.
    pub(super) archived_runs: ArchivedRuns,
    /// The files that other processes have open.
    open_files: OpenFiles,
    /// The homes of the agents whose sessions are replaced.
    agent_homes: AgentHomes,
    pub(super) state: Mutex<RunState>,
}

/// What came of the inputs so far.
#[derive(Default)]
pub(super) struct RunState {
    pub(super) totals: Totals,
    /// Whether `check` found a violation.
    pub(super) breaches: bool,
    /// Whether the page is written.
    pub(super) has_page: bool,
    /// The error of the only input, or of a report or page that could not be written.
    pub(super) failure: Option<anyhow::Error>,
    /// The exit code of the last file that failed, which is that of the run where there is only one.
    pub(super) only_exit: Option<Exit>,
}

impl<'b> Run<'b> {
    /// Begins a run, and reports what was found and is not read.
    ///
    /// # Errors
    /// The report cannot be written.
    pub(super) fn begin(
        settings: &'b Settings,
        inputs: &'b Inputs,
        journal: Option<Journal>,
        cache: RunCache,
    ) -> Result<Self> {
        let totals = Totals {
            left_out: inputs.passed_over.len() as u64,
            failed: inputs.unsearched.len() as u64,
            ..Totals::default()
        };
        let (listeners, archived_runs) = (Listeners::new(settings, inputs.entries.len()), ArchivedRuns::default());
        let state = Mutex::new(RunState { totals, ..RunState::default() });
        let (open_files, agent_homes) = (OpenFiles::default(), AgentHomes::default());
        let run = Run { settings, inputs, journal, listeners, cache, archived_runs, open_files, agent_homes, state };
        for path in &inputs.passed_over {
            let (name, why) = (path.display().to_string(), "left out: it is a link, a copy, or not a file");
            run.listeners.handle(&Event::InputStatus { source: &name, what: why });
            run.report_unread(ConversationOutcome::without_plan(&name, Status::LeftOut, Some(why.to_owned())))?;
        }
        for (name, why) in &inputs.unsearched {
            run.listeners.handle(&Event::InputFailed(&format!("{name} cannot be searched: {why}")));
            run.report_unread(ConversationOutcome::without_plan(name, Status::Failed, Some(why.clone())))?;
        }
        run.prepare_for_interrupt(&lock(&run.state).totals);
        Ok(run)
    }

    /// Reports what is not read.
    fn report_unread(&self, outcome: ConversationOutcome) -> Result<()> {
        self.listeners.report(&[ReportRow::written(outcome)], NOWHERE)
    }

    /// Makes an interrupt report how far a batch came, and how to go on.
    pub(super) fn prepare_for_interrupt(&self, totals: &Totals) {
        let is_batch = self.inputs.keeps_journal && self.settings.action == Action::Compact;
        if !is_batch || self.settings.stderr.volume == Volume::Quiet {
            return;
        }
        let files =
            (self.inputs.entries.len() as u64).saturating_sub(totals.left_out - self.inputs.passed_over.len() as u64);
        let done = totals.files();
        let files = counted(files.max(done), "file");
        interrupt::report_at_end(format!(
            "tcompact: interrupted, {done} of {files} done; --resume goes on with the others"
        ));
    }

    /// Refuses to replace a file that another process has open for writing, or whose beginning is that of another session,
    /// unless `--force` is given.
    pub(super) fn refuse_used(&self, path: &Path, file: &Metadata) -> Result<()> {
        if self.settings.output.force {
            return Ok(());
        }
        self.open_files.refuse_writer(path, file)?;
        self.agent_homes.refuse_base(path)
    }

    /// Warns that a program may still write to a file, where the system does not say so.
    pub(super) fn warn_of_writer(&self, path: &Path, file: &Metadata) {
        if self.settings.output.force {
            return;
        }
        if let Some(warning) = self.open_files.warning(path, file) {
            self.listeners.handle(&Event::Notice(&warning));
        }
    }

    /// Says that the database of an agent names places that a session no longer has.
    pub(super) fn warn_of_database(&self, path: &Path) {
        if self.settings.stderr.volume == Volume::Quiet {
            return;
        }
        if let Some(warning) = self.agent_homes.stale_database(path) {
            self.listeners.handle(&Event::Notice(&warning));
        }
    }

    /// Ends a run of many inputs with an error of its report or its page, and returns the error for one input.
    pub(super) fn end_with(&self, error: anyhow::Error) -> anyhow::Error {
        if !self.inputs.many {
            return error;
        }
        let known = Failure::unreadable(error.to_string()).known(true);
        lock(&self.state).failure.get_or_insert(error);
        known.into()
    }

    /// Ends the run: writes the page, and removes a journal that nobody needs.
    ///
    /// # Errors
    /// The error of the only input. The errors of several inputs are reported as events.
    pub(super) fn end(self) -> Result<(Exit, Totals)> {
        let Run { settings, inputs, journal, listeners: Listeners { report, page, progress, .. }, state, .. } = self;
        let RunState { totals, breaches, has_page, failure, only_exit } = unpoisoned(state.into_inner());
        drop(progress);
        let told = |error| with_what_is_done(error, &totals, settings);
        if let Some(failure) = failure {
            return Err(if inputs.many { told(failure) } else { failure });
        }
        // A page about a failure alone does not take the place of an earlier one.
        let is_written = !has_page && (totals.failed == 0 || !inputs.is_one_file());
        if is_written && let (Some(page), Some(file)) = (page, settings.output.html.as_deref()) {
            write_page(&page.finish(), file).and_then(CompleteFile::put).map_err(told)?;
        }
        if totals.failed == 0 {
            report.end()?;
        }
        let is_paid_for = totals.requests > 0 || totals.cached > 0;
        if totals.failed == 0
            && !is_paid_for
            && !settings.output.resume
            && let Some(journal) = journal
        {
            journal.remove_if_free();
        }
        let exit = if totals.failed > 0 {
            match only_exit {
                Some(exit) if inputs.is_one_file() => exit,
                _ => Exit::SomeFailed,
            }
        } else if breaches {
            Exit::Breaches
        } else {
            Exit::Success
        };
        Ok((exit, totals))
    }
}

/// Adds to an error of the report or the page what is written all the same.
fn with_what_is_done(error: anyhow::Error, totals: &Totals, settings: &Settings) -> anyhow::Error {
    let Totals { compacted, unchanged, passed_through, .. } = *totals;
    let files = match settings.output.destination {
        Destination::InPlace(_) => compacted,
        _ => compacted + unchanged + passed_through,
    };
    let done = match settings.output.destination {
        _ if files == 0 || settings.action.is_read_only() => return error,
        Destination::InPlace(_) => format!("replaced before that: {}", counted(files, "file")),
        Destination::Folder(_) => format!("written before that: {}", counted(files, "file")),
        Destination::Stdout | Destination::File(_) => "the result is written anyway".to_owned(),
    };
    Failure::unreadable(format!("{error}; {done}")).into()
}

/// Who listens to a run: lines on standard error, the report, the page and the progress bar.
pub(super) struct Listeners {
    reporter: Reporter,
    pub(super) report: Report,
    /// The page of `--html`.
    pub(super) page: Option<PageBuilder>,
    progress: Progress,
}

impl Listeners {
    /// The listeners that the settings ask for, in a run with this many inputs.
    fn new(settings: &Settings, inputs: usize) -> Self {
        let results = match (settings.action, &settings.output.destination) {
            (Action::DryRun { .. } | Action::Count { .. } | Action::Diff, _) => Results::Shown,
            (Action::Compact | Action::Mend | Action::Check, Destination::Stdout) => Results::Printed,
            (Action::Compact | Action::Mend | Action::Check, _) => Results::ToFiles,
        };
        Listeners {
            reporter: Reporter::new(settings.stderr.volume),
            report: Report::new(settings.output.report.as_deref()),
            page: new_page(settings),
            progress: Progress::new(&settings.stderr, results, inputs),
        }
    }

    /// Reports conversations whose result went to the place `to`.
    ///
    /// # Errors
    /// The report cannot be written. The others have the event all the same.
    pub(super) fn report(&self, conversations: &[ReportRow], to: &str) -> Result<()> {
        let added = self.report.add(conversations);
        self.handle(&Event::Done { conversations, to });
        added.map(drop)
    }
}

impl Listener for Listeners {
    fn handle(&self, event: &Event<'_>) {
        self.reporter.handle(event);
        self.progress.handle(event);
        if let Some(page) = &self.page {
            page.handle(event);
        }
    }
}

/// An empty page; none without `--html`.
fn new_page(settings: &Settings) -> Option<PageBuilder> {
    settings.output.html.as_ref()?;
    let reader = settings.policy.reader.and_then(|model| {
        let price = model.input_price?;
        Some(PricedModel { name: format!("{}:{}", model.provider, model.name), price })
    });
    Some(PageBuilder::new(Page::new(reader, settings.action.is_read_only())))
}

/// Writes the page. It is not in its place yet.
///
/// # Errors
/// It cannot be written; an earlier page stays unchanged.
pub(super) fn write_page(page: &str, file: &Path) -> Result<CompleteFile> {
    let options = WriteOptions { compression: None, readers: &Readers::Owner, hashed: false };
    let mut written = OutputFile::begin_as(format!("--html {}", file.display()), file, options)?;
    written.write([page.as_bytes()])?;
    written.complete(None)
}
