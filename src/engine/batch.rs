//! Works on all inputs of a run, several at once. An input that fails does not stop the others.
//!
//! Workers take tasks from the feed: an input, or lines of an input with one conversation a line. A worker holds a core
//! while it computes. Results on standard output come in the order of the inputs, and lines in the order of their file:
//! the worker whose turn it is also writes what others left for it.

mod feed;
mod lines;

use std::collections::VecDeque;
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex};
use std::thread::{Builder, Scope, scope};

use anyhow::Result;

use crate::events::{Conversation, Event, Status, Totals};
use crate::exit::{Exit, Failure};
use crate::fault::{self, Part};
use crate::files::input::{self, Input, Opened, Reading};
use crate::interrupt;
use crate::llm::cache::Cache;
use crate::settings::{Action, Settings, Volume};
use crate::sync::{lock, unpoisoned};
use crate::wording::{counted, readable_source};

use crate::engine::backend::RunBackend;
use crate::engine::file::{Job, NOWHERE, Records};
use crate::engine::file_status::FileStatus;
use crate::engine::inputs::Inputs;
use crate::engine::journal::{Finished, Journal};
use crate::engine::listeners::{Listeners, notify};
use crate::engine::ordered_output::{OrderedOutput, Semaphore};
use crate::engine::outcome::{Content, Outcome, WorkOutcome};
use crate::engine::page;
use crate::engine::task::InputTask;

use feed::{Feed, Stream, Task};

/// The state that all workers share.
pub(super) struct Batch<'b> {
    settings: &'b Settings,
    inputs: &'b Inputs,
    cores: Semaphore,
    feed: Mutex<Feed<'b>>,
    /// The results that go to standard output, in order.
    ordered: OrderedOutput<WorkResult<'b>>,
    /// The cache of summaries.
    cache: RunCache,
    records: Records,
    totals: Mutex<Totals>,
    /// The error of the only input, or of a report that could not be written.
    failure: Mutex<Option<anyhow::Error>>,
}

/// The cache of summaries.
#[derive(Debug, Default)]
pub(super) struct RunCache {
    pub(super) cache: Option<Cache>,
    /// Whether only lines of a stream use it. A document needs no cache: it has one summary, and the run ends with it.
    pub(super) is_for_lines: bool,
}

/// The outcome of a piece, which waits for its turn among all inputs.
struct WorkResult<'b> {
    job: Arc<Job<'b>>,
    outcome: WorkOutcome,
}

/// The error of a failed input, and the report rows of its conversations so far.
struct Failed {
    error: anyhow::Error,
    conversations: Vec<Conversation>,
}

impl Failed {
    /// Adds the report rows to those of the input, and returns the error.
    fn record_in(self, job: &Job<'_>) -> anyhow::Error {
        job.add_conversations(self.conversations);
        self.error
    }
}

/// Works on all inputs.
///
/// # Errors
/// The error of the only input. The errors of several inputs are reported as events.
pub(super) fn run(
    settings: &Settings,
    inputs: &Inputs,
    journal: Option<Journal>,
    cache: RunCache,
) -> Result<(Exit, Totals)> {
    let batch = Batch {
        settings,
        inputs,
        cores: Semaphore::of_machine(),
        feed: Mutex::new(Feed { entries: 0..inputs.entries.len(), streams: VecDeque::new(), workers: 1 }),
        ordered: OrderedOutput::from(0),
        cache,
        records: Records {
            journal,
            listeners: Listeners::new(settings, inputs.entries.len()),
            breaches: AtomicBool::new(false),
        },
        totals: Mutex::new(Totals { left_out: inputs.passed_over.len() as u64, ..Totals::default() }),
        failure: Mutex::new(None),
    };
    batch.report_skipped()?;
    batch.prepare_for_interrupt(&Totals { left_out: inputs.passed_over.len() as u64, ..Totals::default() });
    scope(|scope| {
        batch.start_workers(scope, inputs.entries.len());
        batch.run_worker(scope);
    });
    let Batch { totals, failure, records, .. } = batch;
    let Records { listeners, breaches, journal } = records;
    let Listeners { page, progress, .. } = listeners;
    drop(progress);
    let totals = unpoisoned(totals.into_inner());
    if let Some(failure) = unpoisoned(failure.into_inner()) {
        return Err(failure);
    }
    if let Some((page, file)) = page.zip(settings.output.html.as_deref()) {
        page::write(page, file, inputs)?;
    }
    let is_paid_for = totals.requests > 0 || totals.cached > 0;
    if totals.failed == 0 && !is_paid_for && !settings.output.resume {
        journal.into_iter().for_each(Journal::remove_if_free);
    }
    let exit = match (totals.failed, breaches.into_inner()) {
        (1.., _) => Exit::SomeFailed,
        (0, true) => Exit::Breaches,
        (0, false) => Exit::Success,
    };
    Ok((exit, totals))
}

impl<'b> Batch<'b> {
    /// Reports what was found and is not read.
    fn report_skipped(&self) -> Result<()> {
        for path in &self.inputs.passed_over {
            let (name, why) = (path.display().to_string(), "left out: it is a link, a copy, or no file");
            self.notify(Event::InputStatus { source: &name, what: why });
            self.records
                .report(&[Conversation::without_plan(&name, Status::Skipped, Some(why.to_owned()))], NOWHERE)?;
        }
        for (name, why) in &self.inputs.unsearched {
            self.notify(Event::InputFailed(&format!("{name} cannot be searched: {why}")));
            lock(&self.totals).failed += 1;
            self.records.report(&[Conversation::without_plan(name, Status::Failed, Some(why.clone()))], NOWHERE)?;
        }
        Ok(())
    }

    /// Starts workers up to `wanted`, the number of jobs, or the end of the threads that the system has.
    fn start_workers<'s>(&'s self, scope: &'s Scope<'s, '_>, wanted: usize) {
        // One worker reports violations in the order of the inputs.
        let most = if self.settings.action == Action::Check || wanted < 2 { 1 } else { self.settings.jobs() };
        let mut feed = lock(&self.feed);
        while feed.workers < most.min(wanted) {
            // Without another thread, the present workers do the work.
            if Builder::new().spawn_scoped(scope, move || self.run_worker(scope)).is_err() {
                break;
            }
            feed.workers += 1;
        }
    }

    fn run_worker<'s>(&'s self, scope: &'s Scope<'s, '_>) {
        let mut buffer = Vec::new();
        while let Some(task) = self.next(std::mem::take(&mut buffer)) {
            match task {
                Task::Open(index) => self.open(index, scope),
                Task::Piece(job, piece, lines) => buffer = self.work_on_piece(&job, piece, lines),
            }
        }
    }

    /// Takes the next task from the feed. Lines are read into `buffer`.
    fn next(&self, buffer: Vec<u8>) -> Option<Task<'b>> {
        let mut feed = lock(&self.feed);
        let task = feed.next(self.batches_lines(), buffer);
        if task.is_none() {
            feed.workers -= 1;
        }
        task
    }

    /// Whether a piece may have several lines: no line waits for a model.
    fn batches_lines(&self) -> bool {
        let only_decides = matches!(
            self.settings.action,
            Action::DryRun { preview: false, .. } | Action::Count { .. } | Action::Check
        );
        self.settings.is_embedded() || only_decides
    }

    /// Opens an input. A document is worked on here; lines go to the feed, where other workers help.
    fn open<'s>(&'s self, index: usize, scope: &'s Scope<'s, '_>) {
        let job = Arc::new(Job::new(self.settings, self.inputs, index));
        let lines = self.settings.input.lines;
        let reading = Reading { lines, may_be_other: !job.entry.named, hashed: self.records.journal.is_some() };
        if let Some(finished) = self.finished(&job) {
            return self.submit(&job, 0, WorkOutcome::Ended(FileStatus::Finished(finished.rows.clone())));
        }
        if job.became_a_link() {
            let why = "it became a link meanwhile, and links in a directory are not followed";
            let error = Failure::unreadable(format!("{} cannot be read: {why}", job.name()));
            return self.submit(&job, 0, WorkOutcome::Ended(FileStatus::Failed(error.into())));
        }
        let refused = if self.inputs.home.is_some() { job.refusal() } else { None };
        match (input::open(job.entry.path.as_deref(), reading), refused) {
            (Err(error), _) => self.submit(&job, 0, WorkOutcome::Ended(FileStatus::of(error, job.entry.named))),
            (Ok((Opened::Other, _)), _) => {
                let why = "does not begin as JSON does".to_owned();
                self.submit(&job, 0, WorkOutcome::Ended(FileStatus::LeftOut(why)));
            }
            (Ok((Opened::Whole(input), hash)), refused) => {
                job.set_source(input.compression, hash);
                // An input that stays unchanged needs no place.
                let outcome = match refused.filter(|_| self.task(&job, &input, &self.backend(None)).would_change()) {
                    Some(error) => Err(error),
                    None => self.compute(&job, &input).map_err(|failed| failed.record_in(&job)),
                };
                let is_edited = outcome.as_ref().is_ok_and(|outcome| matches!(outcome.content, Content::Edited(_)));
                let input = if is_edited { input.into_bytes() } else { Vec::new() };
                self.submit(&job, 0, WorkOutcome::Whole(Box::new(outcome), input));
            }
            // Only reading all lines would show whether one changes, and models would be paid until then.
            (Ok((Opened::Lines(_), _)), Some(error)) if !self.settings.is_embedded() => {
                self.submit(&job, 0, WorkOutcome::Ended(FileStatus::of(error, job.entry.named)))
            }
            (Ok((Opened::Lines(lines), hash)), _) => {
                job.set_source(lines.compression, hash);
                let mut feed = lock(&self.feed);
                let place = feed.streams.partition_point(|stream| stream.job.index < index);
                feed.streams.insert(place, Stream { job, lines, next: 0 });
                drop(feed);
                self.start_workers(scope, usize::MAX);
            }
        }
    }

    /// Returns the note of an earlier run that finished an input.
    fn finished(&self, job: &Job<'_>) -> Option<&Finished> {
        let (path, output) = job.places()?;
        self.records.journal.as_ref().filter(|_| self.settings.output.resume)?.find(path, output)
    }

    /// Returns the summarizer, with a cache for its answers.
    fn backend<'s>(&'s self, cache: Option<&'s Cache>) -> RunBackend<'s> {
        let summarizer = &*self.settings.summarizer.backend;
        let alone = (self.inputs.entries.len() == 1).then_some(self.settings.policy.summary.name.as_str());
        RunBackend { summarizer, cores: &self.cores, cache, listener: &self.records.listeners, alone }
    }

    fn task<'s>(&'s self, job: &'s Job<'b>, input: &'s Input, backend: &'s RunBackend<'s>) -> InputTask<'s> {
        let Batch { settings, inputs, records: Records { listeners, .. }, .. } = self;
        let (policy, page, many) = (&*job.policy, listeners.page.as_ref(), inputs.many);
        InputTask { input, settings, policy, backend, listener: listeners, page, many, repaired: false }
    }

    /// Computes an outcome while holding a core, which the summarizer releases while it waits.
    fn compute(&self, job: &Job<'b>, input: &Input) -> Result<Outcome, Failed> {
        let RunCache { cache, is_for_lines } = &self.cache;
        let mut backend = self.backend(cache.as_ref().filter(|_| input.as_lines || !is_for_lines));
        // Of a stream, the bar shows how far it came.
        backend.alone = backend.alone.filter(|_| !input.as_lines);
        let mut conversations = Vec::new();
        let work = || self.cores.with(|| self.task(job, input, &backend).run(&mut conversations));
        // A panic in one input must not end the others.
        let outcome = fault::caught(Part::Input, work).unwrap_or_else(|fault| {
            Err(Failure::unreadable(format!("{}: {fault}", readable_source(&input.name))).into())
        });
        match outcome {
            Ok(outcome) => Ok(Outcome { conversations, ..outcome }),
            Err(error) => Err(Failed { error, conversations }),
        }
    }

    /// Submits the outcome of a piece, to be written in its turn.
    fn submit(&self, job: &Arc<Job<'b>>, piece: usize, outcome: WorkOutcome) {
        let is_last = !matches!(outcome, WorkOutcome::Lines(_, false));
        // A paid outcome waits itself: workers must not request summaries far ahead of the output.
        let may_wait = self.batches_lines() && outcome.is_small();
        let place = (job.index, piece);
        if self.settings.action.is_read_only() {
            let result = WorkResult { job: Arc::clone(job), outcome };
            self.ordered.submit(place, is_last, result, may_wait, |WorkResult { job, outcome }| {
                self.write_result(&job, outcome);
            });
        } else {
            job.ordered.submit(place, is_last, outcome, may_wait, |outcome| self.write_result(job, outcome));
        }
    }

    /// Writes the outcome of a piece whose turn it is.
    fn write_result(&self, job: &Job<'b>, outcome: WorkOutcome) {
        let status = match outcome {
            WorkOutcome::Ended(status) => Ok(status),
            WorkOutcome::Whole(outcome, input) => {
                (*outcome).and_then(|outcome| job.write_whole(&self.records, outcome, &input))
            }
            WorkOutcome::Lines(outcomes, is_last) => {
                for outcome in outcomes {
                    if !job.write_lines(&self.records, outcome) {
                        // The reader is gone, and waiting for more lines could take forever.
                        interrupt::exit_now(Exit::Success);
                    }
                }
                if !is_last {
                    return;
                }
                job.finish(&self.records)
            }
        };
        self.finish_input(job, status.unwrap_or_else(|error| FileStatus::of(error, job.entry.named)));
    }

    /// Counts and reports the status of an input.
    fn finish_input(&self, job: &Job<'b>, status: FileStatus) {
        if let Err(error) = self.records.report(&job.take_report(&status), &job.destination_name(&status)) {
            lock(&self.failure).get_or_insert(error);
        }
        let mut totals = lock(&self.totals);
        totals.join(&job.take_totals(&status));
        match &status {
            FileStatus::Compacted => totals.compacted += 1,
            FileStatus::Unchanged => totals.unchanged += 1,
            FileStatus::PassedThrough => totals.passed_through += 1,
            FileStatus::Finished(_) => totals.finished += 1,
            FileStatus::LeftOut(_) => totals.left_out += 1,
            FileStatus::Failed(_) => totals.failed += 1,
        }
        self.notify(Event::InputDone(&totals));
        self.prepare_for_interrupt(&totals);
        drop(totals);
        match status {
            FileStatus::Failed(error) if self.inputs.many => {
                let is_known = error.downcast_ref::<Failure>().is_some_and(|failure| failure.is_known);
                if !is_known || self.settings.stderr.volume == Volume::Verbose {
                    self.notify(Event::InputFailed(&error.to_string()));
                }
            }
            FileStatus::Failed(error) => *lock(&self.failure) = Some(error),
            status if self.inputs.many => {
                let only_would = matches!(self.settings.action, Action::DryRun { .. } | Action::Diff);
                let what = match &status {
                    FileStatus::Compacted if only_would => "would be compacted".to_owned(),
                    status => status.to_string(),
                };
                self.notify(Event::InputStatus { source: &job.name(), what: &what });
            }
            _ => {}
        }
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

    fn notify(&self, event: Event<'_>) {
        notify(&self.records.listeners, event);
    }
}
