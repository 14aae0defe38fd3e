//! All inputs of a run, several at once: each goes its own way, and one that fails stops no other.
//!
//! Workers take what is next from the feed: an input, or lines of one that holds a conversation a line. They compute while
//! they hold a core. What comes of it is written in its turn, by them or by whoever had the turn before: results that go
//! to standard output come in the order of the inputs, and lines in the order of their file.

use std::borrow::Cow;
use std::collections::VecDeque;
use std::ops::Range;
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex};
use std::thread::{Builder, Scope, scope};

use anyhow::Result;

use crate::compact::OnError;
use crate::events::{Conversation, Event, Status, Totals};
use crate::exit::{Exit, Failure};
use crate::fault::{self, Part};
use crate::files::input::{self, Input, Lines, Opened, Piece, Reading};
use crate::interrupt;
use crate::llm::cache::Cache;
use crate::settings::{Action, Settings, Volume};
use crate::sync::{lock, unpoisoned};
use crate::wording::{counted, readable_source};

use crate::engine::backend::RunBackend;
use crate::engine::file::{FileStatus, Job, NOWHERE, Records, WorkOutcome};
use crate::engine::inputs::Inputs;
use crate::engine::journal::Journal;
use crate::engine::listeners::{Listeners, tell};
use crate::engine::ordered_output::{OrderedOutput, Semaphore};
use crate::engine::outcome::{Outcome, Rewritten};
use crate::engine::page;
use crate::engine::task::InputTask;

/// What all workers share.
pub(super) struct Batch<'b> {
    settings: &'b Settings,
    inputs: &'b Inputs,
    cores: Semaphore,
    feed: Mutex<Feed<'b>>,
    /// What is to go to standard output, in order.
    turns: OrderedOutput<WorkResult<'b>>,
    /// Where summaries are kept.
    cache: RunCache,
    records: Records,
    totals: Mutex<Totals>,
    /// What the only input failed with, or why the report is not complete.
    failure: Mutex<Option<anyhow::Error>>,
}

/// Where a run keeps summaries.
#[derive(Debug, Default)]
pub(super) struct RunCache {
    pub(super) cache: Option<Cache>,
    /// Whether it is for lines of a stream only: what is one conversation is not kept before it is written, since there
    /// would be nothing to go on with.
    pub(super) is_for_lines: bool,
}

/// What is to be done next.
struct Feed<'b> {
    /// The inputs that nobody has taken yet.
    entries: Range<usize>,
    /// Inputs that are read line by line, in order.
    streams: VecDeque<Stream<'b>>,
    workers: usize,
}

struct Stream<'b> {
    job: Arc<Job<'b>>,
    lines: Lines,
    next: usize,
}

enum Task<'b> {
    Open(usize),
    /// Lines with their place among those of the file; nothing at its end.
    Piece(Arc<Job<'b>>, usize, Result<Option<Piece>>),
}

/// What a piece of an input came to, which is dealt with in its turn among all inputs.
struct WorkResult<'b> {
    job: Arc<Job<'b>>,
    what: WorkOutcome,
}

/// Why there is no result, and what is known of the conversations that it would be made of.
struct Failed {
    error: anyhow::Error,
    conversations: Vec<Conversation>,
}

impl Failed {
    /// Has an input know of its conversations.
    fn kept_in(self, job: &Job<'_>) -> anyhow::Error {
        job.remember(self.conversations);
        self.error
    }
}

/// Works through all inputs.
///
/// # Errors
/// What the only input failed with. Where there are several, their errors are said and reported.
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
        turns: OrderedOutput::from(0),
        cache,
        records: Records {
            journal,
            listeners: Listeners::new(settings, inputs.entries.len()),
            breaches: AtomicBool::new(false),
        },
        totals: Mutex::new(Totals { left_out: inputs.passed_over.len() as u64, ..Totals::default() }),
        failure: Mutex::new(None),
    };
    batch.before()?;
    batch.prepare_for_interrupt(&Totals { left_out: inputs.passed_over.len() as u64, ..Totals::default() });
    scope(|scope| {
        batch.hire(scope, inputs.entries.len());
        batch.work(scope);
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
    /// Tells of what was found and is not read.
    fn before(&self) -> Result<()> {
        for path in &self.inputs.passed_over {
            let (name, why) = (path.display().to_string(), "left out: it is a link, a copy, or no file");
            self.tell(Event::Became { source: &name, what: why });
            self.records
                .report(&[Conversation::without_plan(&name, Status::Skipped, Some(why.to_owned()))], NOWHERE)?;
        }
        for (name, why) in &self.inputs.unsearched {
            self.tell(Event::InputFailed(&format!("{name} cannot be searched: {why}")));
            lock(&self.totals).failed += 1;
            self.records.report(&[Conversation::without_plan(name, Status::Failed, Some(why.clone()))], NOWHERE)?;
        }
        Ok(())
    }

    /// Has others work too, as many as are allowed and wanted.
    fn hire<'s>(&'s self, scope: &'s Scope<'s, '_>, wanted: usize) {
        // What is said of breaches comes in the order of the inputs.
        let most = if self.settings.action == Action::Check || wanted < 2 { 1 } else { self.settings.jobs() };
        let mut feed = lock(&self.feed);
        while feed.workers < most.min(wanted) {
            // Where no thread can be had, those that are there do the work.
            if Builder::new().spawn_scoped(scope, move || self.work(scope)).is_err() {
                break;
            }
            feed.workers += 1;
        }
    }

    fn work<'s>(&'s self, scope: &'s Scope<'s, '_>) {
        let mut buffer = Vec::new();
        while let Some(task) = self.next(std::mem::take(&mut buffer)) {
            match task {
                Task::Open(at) => self.open(at, scope),
                Task::Piece(job, place, lines) => buffer = self.piece(&job, place, lines),
            }
        }
    }

    /// What is to be done next. Lines are read into `buffer`.
    fn next(&self, buffer: Vec<u8>) -> Option<Task<'b>> {
        let mut feed = lock(&self.feed);
        let task = feed.next(self.takes_several(), buffer);
        if task.is_none() {
            feed.workers -= 1;
        }
        task
    }

    /// Whether lines are worked on several at a time: where nobody else is waited for.
    fn takes_several(&self) -> bool {
        let only_decides = matches!(
            self.settings.action,
            Action::DryRun { preview: false, .. } | Action::Count { .. } | Action::Check
        );
        self.settings.is_embedded() || only_decides
    }

    /// Opens an input, and works on it, unless it is one that others can help with.
    fn open<'s>(&'s self, at: usize, scope: &'s Scope<'s, '_>) {
        let job = Arc::new(Job::new(self.settings, self.inputs, at));
        let lines = self.settings.input.lines;
        let reading = Reading { lines, may_be_other: !job.entry.named, hashed: self.records.journal.is_some() };
        if self.is_finished(&job) {
            return self.submit(&job, 0, WorkOutcome::Ended(FileStatus::Finished));
        }
        if job.became_a_link() {
            let why = "it became a link meanwhile, and links in a directory are not followed";
            let error = Failure::unreadable(format!("{} cannot be read: {why}", job.name()));
            return self.submit(&job, 0, WorkOutcome::Ended(FileStatus::Failed(error.into())));
        }
        let refused = if self.inputs.home.is_some() { job.refused() } else { None };
        match (input::open(job.entry.path.as_deref(), reading), refused) {
            (Err(error), _) => self.submit(&job, 0, WorkOutcome::Ended(FileStatus::of(error, &job))),
            (Ok((Opened::Other, _)), _) => {
                let why = "does not begin as JSON does".to_owned();
                self.submit(&job, 0, WorkOutcome::Ended(FileStatus::LeftOut(why)));
            }
            (Ok((Opened::Whole(input), seen)), refused) => {
                job.opened(input.compression, seen);
                // What needs nothing is not in anybody's way.
                let outcome = match refused.filter(|_| self.task(&job, &input, &self.backend(None)).changes()) {
                    Some(error) => Err(error),
                    None => self.computed(&job, &input).map_err(|failed| failed.kept_in(&job)),
                };
                let is_edited = outcome.as_ref().is_ok_and(|outcome| matches!(outcome.made, Rewritten::Edited(_)));
                let input = if is_edited { input.text } else { String::new() };
                self.submit(&job, 0, WorkOutcome::Whole(outcome, input));
            }
            // Whether any line is changed is not known before; at the end nothing is written over.
            (Ok((Opened::Lines(_), _)), Some(error)) if !self.settings.is_embedded() => {
                self.submit(&job, 0, WorkOutcome::Ended(FileStatus::of(error, &job)))
            }
            (Ok((Opened::Lines(lines), seen)), _) => {
                job.opened(lines.compression, seen);
                let mut feed = lock(&self.feed);
                let place = feed.streams.partition_point(|stream| stream.job.at < at);
                feed.streams.insert(place, Stream { job, lines, next: 0 });
                drop(feed);
                self.hire(scope, usize::MAX);
            }
        }
    }

    fn is_finished(&self, job: &Job<'_>) -> bool {
        let places = job.entry.path.as_ref().zip(job.entry.output.as_ref());
        let journal = self.records.journal.as_ref().filter(|_| self.settings.output.resume);
        journal.zip(places).is_some_and(|(journal, (path, output))| journal.has(path, output))
    }

    /// Works on lines of an input, and gives back the buffer that they were read into.
    fn piece(&self, job: &Arc<Job<'b>>, place: usize, lines: Result<Option<Piece>>) -> Vec<u8> {
        let is_last = !matches!(lines, Ok(Some(_)));
        let bytes = match &lines {
            Ok(Some(Piece::Lines(lines))) => lines.text.len(),
            Ok(Some(Piece::Bad(bytes, _))) => bytes.len(),
            _ => 0,
        };
        let mut buffer = Vec::new();
        let outcomes: Vec<Result<Outcome>> = match lines {
            Ok(Some(Piece::Lines(lines))) if !job.failed.is_before(place) => {
                let outcomes = self.of_lines(job, &lines);
                buffer = lines.text.into_bytes();
                outcomes
            }
            Ok(Some(Piece::Bad(bytes, failure))) if !job.failed.is_before(place) => {
                let failed = Failed { error: failure.into(), conversations: Vec::new() };
                vec![self.passed_through(&job.name(), Cow::Owned(bytes), failed).map_err(|failed| failed.kept_in(job))]
            }
            Ok(_) => Vec::new(),
            Err(error) => vec![Err(error)],
        };
        if outcomes.iter().any(Result::is_err) {
            job.failed.note(place);
        }
        self.submit(job, place, WorkOutcome::Lines(outcomes, is_last));
        self.tell(Event::BytesDone { bytes, all: job.length() });
        buffer
    }

    /// What is made of lines: of all together or, where one of them is bad, of each up to that.
    fn of_lines(&self, job: &Job<'b>, lines: &Input) -> Vec<Result<Outcome>> {
        if lines.text.trim_ascii().is_empty() {
            return vec![Ok(Outcome { made: Rewritten::Text(lines.text.clone()), ..Outcome::default() })];
        }
        let is_one = memchr::memchr_iter(b'\n', lines.text.trim_end().as_bytes()).next().is_none();
        if is_one {
            let outcome = self.computed(job, lines);
            return vec![outcome.or_else(|failed| {
                let name = format!("{}:{}", lines.name, lines.lines_before + 1);
                self.passed_through(&name, Cow::Borrowed(lines.text.as_bytes()), failed)
                    .map_err(|failed| failed.kept_in(job))
            })];
        }
        match self.computed(job, lines) {
            Ok(outcome) => vec![Ok(outcome)],
            Err(_) => {
                let mut outcomes = Vec::new();
                for (at, text) in lines.text.split_inclusive('\n').enumerate() {
                    let lines_before = lines.lines_before + at;
                    let Input { name, as_lines, compression, .. } = lines;
                    let (name, text) = (name.clone(), text.to_owned());
                    let line = Input { name, text, as_lines: *as_lines, lines_before, compression: *compression };
                    outcomes.extend(self.of_lines(job, &line));
                    if outcomes.last().is_some_and(Result::is_err) {
                        break;
                    }
                }
                outcomes
            }
        }
    }

    /// A bad line goes on as it is, where that is wanted of what fails.
    fn passed_through(&self, name: &str, line: Cow<'_, [u8]>, failed: Failed) -> Result<Outcome, Failed> {
        let (action, on_error) = (self.settings.action, self.settings.policy.summary.on_error);
        let passes = on_error == OnError::Passthrough && (!action.only_looks() || action.is_dry_run());
        let is_bad = failed.error.downcast_ref::<Failure>().is_some_and(|failure| failure.exit == Exit::Unreadable);
        if !passes || !is_bad {
            return Err(failed);
        }
        let error = failed.error.to_string();
        self.tell(Event::InputFailed(&format!("{error}; the line stays unchanged")));
        let conversations = vec![Conversation::without_plan(name, Status::Failed, Some(error))];
        // A dry run prints where conversations would be cut, and there is none.
        let made = if action.is_dry_run() { Vec::new() } else { line.into_owned() };
        Ok(Outcome { conversations, made: Rewritten::Bytes(made), ..Outcome::default() })
    }

    /// The summarizer, which keeps its answers in a cache.
    fn backend<'s>(&'s self, cache: Option<&'s Cache>) -> RunBackend<'s> {
        let summarizer = &*self.settings.summarizer.backend;
        RunBackend { summarizer, cores: &self.cores, cache, listener: &self.records.listeners }
    }

    fn task<'s>(&'s self, job: &'s Job<'b>, input: &'s Input, backend: &'s RunBackend<'s>) -> InputTask<'s> {
        let Batch { settings, inputs, records: Records { listeners, .. }, .. } = self;
        let (policy, page, many) = (&*job.policy, listeners.page.as_ref(), inputs.many);
        InputTask { input, settings, policy, backend, listener: listeners, page, many, repaired: false }
    }

    /// Makes a result while holding a core, except for the time that a summarizer takes.
    fn computed(&self, job: &Job<'b>, input: &Input) -> Result<Outcome, Failed> {
        let RunCache { cache, is_for_lines } = &self.cache;
        let backend = self.backend(cache.as_ref().filter(|_| input.as_lines || !is_for_lines));
        let mut conversations = Vec::new();
        let work = || self.cores.with(|| self.task(job, input, &backend).made(&mut conversations));
        // One bad input must not take the others with it, whatever it does.
        let outcome = fault::caught(Part::Input, work).unwrap_or_else(|fault| {
            Err(Failure::unreadable(format!("{}: {fault}", readable_source(&input.name))).into())
        });
        match outcome {
            Ok(outcome) => Ok(Outcome { conversations, ..outcome }),
            Err(error) => Err(Failed { error, conversations }),
        }
    }

    /// Has what a piece of an input came to dealt with when it is its turn.
    fn submit(&self, job: &Arc<Job<'b>>, place: usize, what: WorkOutcome) {
        let is_last = !matches!(what, WorkOutcome::Lines(_, false));
        // What is paid for is not to be more than is waited for.
        let can_be_left = self.takes_several() && what.is_small();
        let place = (job.at, place);
        if self.settings.action.only_looks() {
            let result = WorkResult { job: Arc::clone(job), what };
            self.turns.submit(place, is_last, result, can_be_left, |WorkResult { job, what }| {
                self.write_result(&job, what);
            });
        } else {
            job.turns.submit(place, is_last, what, can_be_left, |what| self.write_result(job, what));
        }
    }

    /// Writes the result of a piece whose turn it is.
    fn write_result(&self, job: &Job<'b>, what: WorkOutcome) {
        let fate = match what {
            WorkOutcome::Ended(fate) => Ok(fate),
            WorkOutcome::Whole(outcome, input) => {
                outcome.and_then(|outcome| job.write_whole(&self.records, outcome, &input))
            }
            WorkOutcome::Lines(outcomes, is_last) => {
                for outcome in outcomes {
                    if !job.write_lines(&self.records, outcome) {
                        // Whoever waits for a line to come would wait for ever.
                        interrupt::leave(Exit::Success);
                    }
                }
                if !is_last {
                    return;
                }
                job.finish(&self.records)
            }
        };
        self.close(job, fate.unwrap_or_else(|error| FileStatus::of(error, job)));
    }

    /// Counts, says and reports what became of an input.
    fn close(&self, job: &Job<'b>, fate: FileStatus) {
        if let Err(error) = self.records.report(&job.reported(&fate), &job.goes_to(&fate)) {
            lock(&self.failure).get_or_insert(error);
        }
        let mut totals = lock(&self.totals);
        totals.join(&job.sums(&fate));
        match &fate {
            FileStatus::Compacted => totals.compacted += 1,
            FileStatus::Unchanged => totals.unchanged += 1,
            FileStatus::PassedThrough => totals.passed_through += 1,
            FileStatus::Finished => totals.finished += 1,
            FileStatus::LeftOut(_) => totals.left_out += 1,
            FileStatus::Failed(_) => totals.failed += 1,
        }
        self.tell(Event::InputDone(&totals));
        self.prepare_for_interrupt(&totals);
        drop(totals);
        match fate {
            FileStatus::Failed(error) if self.inputs.many => {
                let is_known = error.downcast_ref::<Failure>().is_some_and(|failure| failure.is_known);
                if !is_known || self.settings.voice.volume == Volume::Verbose {
                    self.tell(Event::InputFailed(&error.to_string()));
                }
            }
            FileStatus::Failed(error) => *lock(&self.failure) = Some(error),
            fate if self.inputs.many => {
                let only_would = matches!(self.settings.action, Action::DryRun { .. } | Action::Diff);
                let what = match &fate {
                    FileStatus::Compacted if only_would => "would be compacted".to_owned(),
                    fate => fate.to_string(),
                };
                self.tell(Event::Became { source: &job.name(), what: &what });
            }
            _ => {}
        }
    }

    /// Has an interrupt say how far a batch came, and how to go on.
    fn prepare_for_interrupt(&self, totals: &Totals) {
        let is_batch = self.inputs.remembers && self.settings.action == Action::Compact;
        if !is_batch || self.settings.voice.volume == Volume::Quiet {
            return;
        }
        let Totals { compacted, unchanged, passed_through, finished, failed, left_out, .. } = totals;
        let done = compacted + unchanged + passed_through + finished + failed;
        let files = (self.inputs.entries.len() as u64).saturating_sub(left_out - self.inputs.passed_over.len() as u64);
        let files = counted(files.max(done), "file");
        interrupt::say_at_end(format!(
            "tcompact: interrupted, {done} of {files} done; --resume goes on with the others"
        ));
    }

    fn tell(&self, event: Event<'_>) {
        tell(&self.records.listeners, event);
    }
}

impl<'b> Feed<'b> {
    /// The next line of what is being read, or else the next input.
    fn next(&mut self, several: bool, buffer: Vec<u8>) -> Option<Task<'b>> {
        if let Some(stream) = self.streams.front_mut() {
            let (job, place) = (Arc::clone(&stream.job), stream.next);
            stream.next += 1;
            let lines = if job.failed.is_before(place) { Ok(None) } else { stream.lines.next(several, buffer) };
            if !matches!(lines, Ok(Some(_))) {
                self.streams.pop_front();
            }
            return Some(Task::Piece(job, place, lines));
        }
        self.entries.next().map(Task::Open)
    }
}
