//! The work on all inputs of a run. An input that fails does not stop the others.
//!
//! A single document is worked on and written here, from top to bottom. Several inputs, and inputs with one conversation
//! a line, have workers.

use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex};

use anyhow::Result;

use crate::events::{Event, ReportRow, Status, Totals};
use crate::exit::{Exit, Failure};
use crate::fault::{self, ProgramPart};
use crate::files::input::{self, Input, LineReader, Opened, ReadOptions};
use crate::files::output::CompleteFile;
use crate::interrupt;
use crate::settings::{Action, Destination, Settings, Volume};
use crate::sync::{lock, unpoisoned};
use crate::wording::{counted, readable_source};

use crate::engine::backend::RunBackend;
use crate::engine::cache::RunCache;
use crate::engine::inputs::Inputs;
use crate::engine::journal::Journal;
use crate::engine::listeners::{Listeners, notify};
use crate::engine::ordered_output::Cores;
use crate::engine::page;
use crate::engine::records::ArchivedRounds;
use crate::engine::result::{ResultContent, TaskResult};
use crate::engine::sink::{NOWHERE, Records, Sink};
use crate::engine::task::Task;

/// What all inputs of a run share.
pub(super) struct Run<'b> {
    pub(super) settings: &'b Settings,
    pub(super) inputs: &'b Inputs,
    /// The cores, one of which each worker holds while it computes.
    cores: Cores,
    cache: RunCache,
    pub(super) records: Records,
    rounds: ArchivedRounds,
    totals: Mutex<Totals>,
}

/// An input that was opened.
pub(super) enum Started {
    /// A document, with what came of it.
    Done(Box<TaskResult>),
    /// Conversations on lines, which are not read yet.
    Lines(LineReader),
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
        let totals = Totals { left_out: inputs.passed_over.len() as u64, ..Totals::default() };
        let listeners = Listeners::new(settings, inputs.entries.len());
        let run = Run {
            settings,
            inputs,
            cores: Cores::of_machine(),
            cache,
            rounds: ArchivedRounds::default(),
            records: Records {
                journal,
                listeners,
                breaches: AtomicBool::new(false),
                has_page: AtomicBool::new(false),
                failure: Mutex::new(None),
            },
            totals: Mutex::new(totals.clone()),
        };
        run.report_skipped()?;
        run.prepare_for_interrupt(&totals);
        Ok(run)
    }

    /// Works on the only input, and writes its result. Returns the lines of one that has a conversation on each.
    pub(super) fn work_on_only(&self) -> Option<(Arc<Sink<'_>>, LineReader)> {
        let sink = self.sink(0);
        match self.start(&sink) {
            Started::Lines(lines) => return Some((sink, lines)),
            Started::Done(result) => self.write_document(&sink, *result),
        }
        None
    }

    /// Returns where the result of an input goes.
    pub(super) fn sink(&self, index: usize) -> Arc<Sink<'_>> {
        Arc::new(Sink::new(self.settings, self.inputs, &self.records, index))
    }

    /// Opens an input. A document is worked on here.
    pub(super) fn start(&self, sink: &Sink<'_>) -> Started {
        let done = |result| Started::Done(Box::new(result));
        if let Some(why) = &*lock(&self.records.failure) {
            // Nothing more could be reported.
            return done(TaskResult::failed(Failure::unreadable(why.to_string()).known(true)));
        }
        if let Some(rows) = self.finished(sink) {
            return done(TaskResult { status: Status::Finished, rows, ..TaskResult::default() });
        }
        if sink.became_a_link() {
            let why = "it became a link meanwhile, and links in a directory are not followed";
            let message = format!("{} cannot be read: {why}", sink.name());
            return done(TaskResult::failed(Failure::unreadable(message)));
        }
        let lines = self.settings.input.lines;
        let reading = ReadOptions {
            lines,
            may_be_other: !sink.entry.named,
            hashed: self.records.journal.is_some(),
            is_record: None,
        };
        let (opened, hash) = match input::open(sink.entry.path.as_deref(), reading) {
            Ok(opened) => opened,
            Err(error) => return done(TaskResult::failed(error)),
        };
        match opened {
            Opened::Other => {
                let other = Failure::unreadable("it does not begin like JSON");
                let why = "does not begin like JSON".to_owned();
                done(TaskResult::failed(other.of_other_file(Some(why))))
            }
            Opened::Whole(input) => {
                sink.set_source(input.compression, false, hash);
                let mut result = self.compute(sink, &input);
                if matches!(result.content, ResultContent::Edited(_)) {
                    result.input = input.into_bytes();
                }
                done(result)
            }
            Opened::Lines(lines) => {
                sink.set_source(lines.compression, true, hash);
                Started::Lines(lines)
            }
        }
    }

    /// Returns the rows of an input that an earlier run finished: those in the journal, or one without a plan.
    fn finished(&self, sink: &Sink<'_>) -> Option<Vec<ReportRow>> {
        let (path, output) = sink.places()?;
        let journal = self.records.journal.as_ref().filter(|_| self.settings.output.resume)?;
        let rows: Vec<ReportRow> = journal.find(path, output)?.rows.iter().map(|row| row.clone().skipped()).collect();
        let why = || Some(Status::Finished.sentence().to_owned());
        Some(if rows.is_empty() { vec![ReportRow::without_plan(&sink.name(), Status::Finished, why())] } else { rows })
    }

    /// Computes a result while holding a core, which the summarizer releases while it waits.
    pub(super) fn compute(&self, sink: &Sink<'_>, input: &Input) -> TaskResult {
        let Run { settings, inputs, records: Records { listeners, .. }, .. } = self;
        let RunCache { cache, is_for_lines } = &self.cache;
        // Of a stream, the bar shows how far it came.
        let is_alone = inputs.entries.len() == 1 && !input.as_lines;
        let backend = RunBackend {
            summarizer: &settings.summarizer.backend,
            cores: &self.cores,
            cache: cache.as_ref().filter(|_| input.as_lines || !is_for_lines),
            listener: listeners,
            alone: is_alone.then_some(settings.policy.summary.name.as_str()),
        };
        let (policy, page, many) = (&*sink.policy, listeners.page.as_ref(), inputs.many);
        let (listener, sink) = (listeners, Some(sink));
        let task = Task {
            input,
            settings,
            policy,
            backend: &backend,
            listener,
            page,
            sink,
            rounds: &self.rounds,
            many,
            repaired: false,
            unmasked: None,
        };
        let mut result = TaskResult::default();
        let work = || self.cores.with(|| task.add_to(&mut result));
        // A panic in one input must not end the others.
        let done = fault::caught(ProgramPart::Input, work).unwrap_or_else(|fault| {
            Err(Failure::unreadable(format!("{}: {fault}", readable_source(&input.name))).into())
        });
        result.error = done.err();
        result
    }

    /// Writes the result of a document, and ends its input.
    pub(super) fn write_document(&self, sink: &Sink<'_>, result: TaskResult) {
        if result.status == Status::Finished {
            return self.end_input(sink, result);
        }
        sink.write(result);
        self.end_input(sink, sink.finish());
    }

    /// Counts and reports the result of an input.
    pub(super) fn end_input(&self, sink: &Sink<'_>, result: TaskResult) {
        let status = result.status;
        if let Err(error) = self.records.report(&result.rows, &sink.destination_name(status)) {
            lock(&self.records.failure).get_or_insert(error);
        }
        let mut totals = lock(&self.totals);
        totals.join(&result.totals);
        totals.count(status);
        self.notify(Event::InputDone(&totals));
        self.prepare_for_interrupt(&totals);
        drop(totals);
        match result.error {
            Some(error) if self.inputs.many => {
                let is_known = error.downcast_ref::<Failure>().is_some_and(|failure| failure.is_known);
                if !is_known || self.settings.stderr.volume == Volume::Verbose {
                    self.notify(Event::InputFailed(&error.to_string()));
                }
            }
            Some(error) => *lock(&self.records.failure) = Some(error),
            None if self.inputs.many => {
                let only_would = matches!(self.settings.action, Action::DryRun { .. } | Action::Diff);
                let left_out = result.rows.first().and_then(ReportRow::why);
                let what = match status {
                    Status::Compacted if only_would => "would be compacted",
                    Status::LeftOut => left_out.unwrap_or(status.sentence()),
                    status => status.sentence(),
                };
                self.notify(Event::InputStatus { source: &sink.name(), what });
            }
            None => {}
        }
    }

    /// Ends the run: writes the page, and removes a journal that nobody needs.
    ///
    /// # Errors
    /// The error of the only input. The errors of several inputs are reported as events.
    pub(super) fn end(self) -> Result<(Exit, Totals)> {
        let Run { settings, inputs, totals, records, .. } = self;
        let Records { listeners: Listeners { page, progress, .. }, breaches, journal, has_page, failure } = records;
        drop(progress);
        let totals = unpoisoned(totals.into_inner());
        let told = |error| with_what_is_done(error, &totals, settings);
        if let Some(failure) = unpoisoned(failure.into_inner()) {
            return Err(if inputs.many { told(failure) } else { failure });
        }
        if let Some((page, file)) = page.zip(settings.output.html.as_deref()).filter(|_| !has_page.into_inner()) {
            page::write(&page.finish(), file, inputs).and_then(CompleteFile::put).map_err(told)?;
        }
        let is_paid_for = totals.requests > 0 || totals.cached > 0;
        if totals.failed == 0 && !is_paid_for && !settings.output.resume {
            journal.into_iter().for_each(Journal::remove_if_free);
        }
        let exit = if totals.failed > 0 {
            Exit::SomeFailed
        } else if breaches.into_inner() {
            Exit::Breaches
        } else {
            Exit::Success
        };
        Ok((exit, totals))
    }

    /// Reports what was found and is not read.
    fn report_skipped(&self) -> Result<()> {
        for path in &self.inputs.passed_over {
            let (name, why) = (path.display().to_string(), "left out: it is a link, a copy, or not a file");
            self.notify(Event::InputStatus { source: &name, what: why });
            let row = ReportRow::without_plan(&name, Status::LeftOut, Some(why.to_owned()));
            self.records.report(&[row], NOWHERE)?;
        }
        for (name, why) in &self.inputs.unsearched {
            self.notify(Event::InputFailed(&format!("{name} cannot be searched: {why}")));
            lock(&self.totals).failed += 1;
            self.records.report(&[ReportRow::without_plan(name, Status::Failed, Some(why.clone()))], NOWHERE)?;
        }
        Ok(())
    }

    /// Makes an interrupt report how far a batch came, and how to go on.
    fn prepare_for_interrupt(&self, totals: &Totals) {
        let is_batch = self.inputs.keeps_journal && self.settings.action == Action::Compact;
        if !is_batch || self.settings.stderr.volume == Volume::Quiet {
            return;
        }
        let Totals { compacted, unchanged, passed_through, finished, failed, left_out, .. } = totals;
        let done = compacted + unchanged + passed_through + finished + failed;
        let files = (self.inputs.entries.len() as u64).saturating_sub(left_out - self.inputs.passed_over.len() as u64);
        let files = counted(files.max(done), "file");
        interrupt::report_at_end(format!(
            "tcompact: interrupted, {done} of {files} done; --resume goes on with the others"
        ));
    }

    pub(super) fn notify(&self, event: Event<'_>) {
        notify(&self.records.listeners, event);
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
