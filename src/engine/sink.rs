//! The sink of one input: what comes of its pieces goes through it in order, and then the whole takes its place.

mod placing;

use std::borrow::Cow;
use std::fs::{self, Metadata};
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::{io, mem};

use anyhow::Result;

use crate::compact::{Archived, CompactionPolicy};
use crate::events::{ConversationOutcome, Event, Largest, Listener, ReportRow, Status, Totals, UnchangedReasons};
use crate::exit::{Exit, Failure};
use crate::files::append::WaitingSections;
use crate::files::atomic::Readers;
use crate::files::compression::Compression;
use crate::files::hashed::RunningHash;
use crate::files::input::{self, Input, Opened, ReadOptions};
use crate::files::output::{self, OutputFile};
use crate::files::paths;
use crate::files::written::WriteOptions;
use crate::report::html;
use crate::settings::{Action, Destination, Volume, archive_among};
use crate::sync::lock;

use crate::engine::inputs::{Entry, copy_of};
use crate::engine::large::{is_large, read_without_unsent};
use crate::engine::result::TaskResult;
use crate::engine::run::{NOWHERE, Run};

/// A file of so many conversations has no rows in the journal.
const MOST_NOTED: usize = 1000;

/// Where the result of one input goes.
pub(super) struct Sink<'b> {
    pub(super) run: &'b Run<'b>,
    /// Its index among all inputs.
    pub(super) index: usize,
    pub(super) entry: &'b Entry,
    /// The policy for its conversations.
    pub(super) policy: Cow<'b, CompactionPolicy>,
    /// Whether it has one conversation a line.
    pub(super) as_lines: bool,
    compression: Option<Compression>,
    /// The running hash of the bytes read, for the journal.
    read_hash: Option<RunningHash>,
    /// The file to write; nothing for standard output.
    output: Option<&'b Path>,
    /// Whether what is written of it has gone at once: to standard output, a device or a pipe.
    is_stream: bool,
    /// Whether a directory is in the place of its result.
    is_directory: bool,
    /// The metadata of the file before it was read.
    metadata: Option<Metadata>,
    /// Who may read its result.
    readers: Readers,
    /// Its first piece that failed. Pieces before it are still worked on, whichever worker was faster.
    first_failed: AtomicUsize,
    written: Mutex<Written>,
}

/// What came of an input so far, and what of it is written.
#[derive(Default)]
struct Written {
    status: Status,
    /// Whether any result differs from the input.
    changed: bool,
    /// What came of the conversations that are not reported yet.
    outcomes: Vec<ConversationOutcome>,
    /// The indices of those that are drawn for a page.
    drawn: Vec<usize>,
    /// The rows of conversations behind an error: their results are not written.
    unwritten: Vec<ReportRow>,
    totals: Totals,
    /// What waits for the archive, and for files beside it.
    sections: WaitingSections,
    files: Vec<(PathBuf, Vec<u8>)>,
    output: Option<OutputFile>,
    /// Whether something is unchanged only because its summarizer failed.
    passed_through: bool,
    printed: bool,
    /// Whether all of it is processed, so that only writing can still fail.
    has_result: bool,
    error: Option<anyhow::Error>,
}

/// How an input ended.
#[derive(Default)]
struct EndedInput {
    status: Status,
    /// The rows that are not reported yet.
    rows: Vec<ReportRow>,
    totals: Totals,
    error: Option<anyhow::Error>,
}

impl<'b> Sink<'b> {
    pub(super) fn new(run: &'b Run<'b>, index: usize) -> Self {
        let (settings, entry) = (run.settings, &run.inputs.entries[index]);
        let has_own_archive = run.inputs.many && settings.policy.archive.is_some() && !settings.output.archive_chosen;
        let mut policy = Cow::Borrowed(&settings.policy);
        if has_own_archive {
            // A preset that archives without being asked uses one archive for each input.
            policy.to_mut().archive = entry.path.as_deref().map(archive_among);
        }
        let metadata = match &entry.path {
            Some(path) if entry.named => fs::metadata(path).ok(),
            // Links in a directory are not followed.
            Some(path) => fs::symlink_metadata(path).ok(),
            None => None,
        };
        let output = if settings.action.prints() { None } else { entry.output.as_deref() };
        let there = output.and_then(|output| fs::metadata(output).ok());
        Sink {
            run,
            index,
            entry,
            policy,
            as_lines: false,
            compression: None,
            read_hash: None,
            output,
            is_stream: output.is_none_or(|output| output::is_stream_with(output, there.as_ref())),
            is_directory: there.is_some_and(|there| there.is_dir()),
            readers: if entry.path.is_some() { Readers::of_file(metadata.clone()) } else { Readers::of_result(None) },
            metadata,
            first_failed: AtomicUsize::new(usize::MAX),
            written: Mutex::default(),
        }
    }

    /// Ends an input that an earlier run finished, with the rows in the journal, or one without a plan. Returns whether it
    /// is one.
    pub(super) fn end_if_finished(&self) -> bool {
        if !self.run.settings.output.resume {
            return false;
        }
        let (Some(journal), Some((path, output)), Some(real_output)) =
            (&self.run.journal, self.places(), &self.entry.real_output)
        else {
            return false;
        };
        let Some(finished) = journal.find(path, output, real_output) else { return false };
        let status = Status::Finished;
        let mut rows: Vec<ReportRow> = finished.rows.into_iter().map(|row| ReportRow::written(row.skipped())).collect();
        if rows.is_empty() {
            rows.push(self.row(status, status.sentence().to_owned()));
        }
        self.report_end(EndedInput { status, rows, ..EndedInput::default() });
        true
    }

    /// Opens the input: a document is read whole, lines are not read yet.
    ///
    /// # Errors
    /// It cannot be read.
    pub(super) fn open(&mut self) -> Result<Opened> {
        let Run { settings, journal, state, .. } = self.run;
        if let Some(why) = &lock(state).failure {
            // Nothing more could be reported.
            return Err(Failure::unreadable(why.to_string()).known(true).into());
        }
        if self.metadata.as_ref().is_some_and(Metadata::is_symlink) {
            let why = "it became a link meanwhile, and links in a directory are not followed";
            return Err(Failure::unreadable(format!("{} cannot be read: {why}", self.entry.name())).into());
        }
        let reading = ReadOptions {
            lines: settings.input.lines,
            may_be_other: !self.entry.named,
            hashed: journal.is_some(),
            is_record: None,
        };
        let (opened, read_hash) = match self.opened_without_unsent()? {
            Some(input) => (Opened::Whole(input), None),
            None => input::open(self.entry.path.as_deref(), reading)?,
        };
        self.read_hash = read_hash;
        (self.compression, self.as_lines) = match &opened {
            Opened::Whole(input) => (input.compression, false),
            Opened::Lines(lines) => (lines.compression, true),
            Opened::Other(_) => (None, false),
        };
        Ok(opened)
    }

    /// A large session of which the run only looks at what is sent; none where it is another file or another run.
    fn opened_without_unsent(&self) -> Result<Option<Input>> {
        let Run { settings, journal, .. } = self.run;
        let policy = &settings.policy;
        let only_counts = match settings.action {
            Action::Count { .. } => true,
            Action::DryRun { preview, .. } => !preview && policy.pruning.rules.is_empty() && policy.fit.is_none(),
            Action::Compact | Action::Mend | Action::Diff | Action::Check => false,
        };
        let only_looks = only_counts && !policy.redact.is_on() && settings.repair.is_none() && journal.is_none();
        match (&self.entry.path, &self.metadata) {
            (Some(path), Some(file)) if only_looks && file.is_file() && is_large(&settings.input, path, file.len()) => {
                read_without_unsent(&settings.input, path, false)
            }
            _ => Ok(None),
        }
    }

    /// The file, and the file of its result; none where one of them is not a file.
    fn places(&self) -> Option<(&Path, &Path)> {
        self.entry.path.as_deref().zip(self.entry.output.as_deref())
    }

    /// The length of its text in bytes; unknown for a pipe and for a compressed file.
    pub(super) fn length(&self) -> Option<u64> {
        let file = self.metadata.as_ref()?;
        if file.is_file() && self.compression.is_none() { Some(file.len()) } else { None }
    }

    /// Refuses a file that is to be replaced while another process writes to it, or another session begins in it.
    pub(super) fn refuse_used(&self) -> Result<()> {
        let in_place = matches!(self.run.settings.output.destination, Destination::InPlace(_));
        match (&self.entry.path, &self.metadata) {
            (Some(path), Some(file)) if in_place && !self.run.settings.action.is_read_only() => {
                self.run.refuse_used(path, file)
            }
            _ => Ok(()),
        }
    }

    /// Checks that the result can be written, as far as that is known before anything is done.
    ///
    /// # Errors
    /// It cannot, and why.
    pub(super) fn check(&self) -> Result<()> {
        if self.run.inputs.home.is_none() {
            return Ok(());
        }
        let Some((path, output)) = self.places() else { return Ok(()) };
        self.refuse_links()?;
        self.refuse_used()?;
        if self.is_directory {
            return Err(output::unwritable(output, &io::Error::other("it is a directory")).into());
        }
        match &self.run.settings.output.destination {
            Destination::InPlace(Some(suffix)) => output::check_copy(path, &copy_of(path, suffix)),
            _ => Ok(()),
        }
    }

    /// Refuses a link inside a folder that tcompact fills: in the path of the result, or of an archive that a preset
    /// chose, whose folders are tcompact's own.
    fn refuse_links(&self) -> Result<()> {
        let output = &self.run.settings.output;
        if let (Destination::Folder(home), Some(place)) = (&output.destination, &self.entry.output) {
            paths::refuse_links(home, place).map_err(|error| output::unwritable(place, &error))?;
        }
        if let Some(archive) = &self.policy.archive
            && !output.archive_chosen
        {
            paths::refuse_links(Path::new(""), archive).map_err(|error| output::unwritable(archive, &error))?;
        }
        Ok(())
    }

    /// Notes that a piece failed.
    pub(super) fn note_failed(&self, piece: usize) {
        self.first_failed.fetch_min(piece, Ordering::Relaxed);
    }

    /// Whether nothing of a piece will be written, since an earlier one failed.
    pub(super) fn skips(&self, piece: usize) -> bool {
        self.first_failed.load(Ordering::Relaxed) < piece
    }

    /// Writes a result, and returns whether the output still has a reader. Nothing is written behind one that failed.
    pub(super) fn write(&self, result: TaskResult) -> bool {
        let written = &mut *lock(&self.written);
        let TaskResult { content, input, outcomes, error, .. } = result;
        if let Some(why) = written.error.as_ref().map(ToString::to_string) {
            // What it cost is counted all the same.
            written.totals.add(&outcomes, false);
            if self.has_room_for_rows(written) {
                written.unwritten.extend(outcomes.into_iter().map(|outcome| ReportRow::unwritten(outcome, &why)));
            }
            return true;
        }
        self.add_outcomes(written, outcomes);
        written.has_result = error.is_none();
        if error.is_none() {
            lock(&self.run.state).breaches |= result.breaches;
            written.changed |= result.changed;
            written.totals.join(&result.totals);
            if result.status == Status::Compacted {
                written.status = Status::Compacted;
            }
        }
        let done = match error {
            Some(error) => Err(error),
            None => self.write_content(written, result.archived, content.pieces(&input)),
        };
        match done {
            Ok(has_reader) => has_reader,
            Err(error) => {
                self.note_failed(0);
                written.error = Some(error);
                true
            }
        }
    }

    /// Lets what a result archives wait, and writes its pieces where that is needed. Returns whether the output still has a
    /// reader.
    fn write_content<'p>(
        &self,
        written: &mut Written,
        archived: Archived,
        pieces: impl Iterator<Item = &'p [u8]>,
    ) -> Result<bool> {
        self.add_archived(written, archived)?;
        if !self.needs_writing(written) {
            return Ok(true);
        }
        if !self.is_stream {
            return self.begun(written)?.write(pieces);
        }
        let has_reader = self.write_after_sides(written, |written| self.begun(written)?.write(pieces))?;
        written.printed |= self.as_lines;
        Ok(has_reader)
    }

    fn add_outcomes(&self, written: &mut Written, outcomes: Vec<ConversationOutcome>) {
        written.totals.add(&outcomes, true);
        written.passed_through |= outcomes.iter().any(|one| one.error.is_some() && one.status != Status::Compacted);
        if self.has_room_for_rows(written) {
            for outcome in outcomes {
                if outcome.page.is_some() {
                    written.drawn.push(written.outcomes.len());
                }
                written.outcomes.push(outcome);
            }
            html::keep_largest(&mut written.outcomes, &mut written.drawn);
        }
    }

    /// Whether anybody needs the rows of further conversations.
    fn has_room_for_rows(&self, written: &Written) -> bool {
        let output = &self.run.settings.output;
        output.has_report() || output.keeps_rows() && written.outcomes.len() + written.unwritten.len() < MOST_NOTED
    }

    /// Whether a result must be written: any of lines, since later ones can differ, and that of a document. A file that
    /// stays in place needs nothing if it is unchanged. A compressed file is copied instead, since compressing its text
    /// again could give other bytes.
    fn needs_writing(&self, written: &Written) -> bool {
        let settings = self.run.settings;
        let may_stay = match settings.output.destination {
            Destination::InPlace(_) => true,
            Destination::Folder(_) => self.compression.is_some(),
            _ => false,
        };
        let is_needed = self.as_lines || settings.action.prints() || written.changed || !may_stay;
        settings.action != Action::Check && is_needed
    }

    /// The output, which the first result opens.
    fn begun<'s>(&self, written: &'s mut Written) -> Result<&'s mut OutputFile> {
        let output = match written.output.take() {
            Some(output) => output,
            None => {
                let compression = match &self.run.settings.output.destination {
                    Destination::File(file) => Compression::of_name(file),
                    _ => self.compression,
                };
                if self.output.is_some() {
                    self.refuse_links()?;
                }
                // An unchanged document has the hash of what was read.
                let hashed = self.run.journal.is_some() && (written.changed || self.as_lines);
                OutputFile::begin(self.output, WriteOptions { compression, readers: &self.readers, hashed })?
            }
        };
        Ok(written.output.insert(output))
    }

    /// Puts the result in its place, and reports how the input ended.
    pub(super) fn end(&self) {
        let mut written = mem::take(&mut *lock(&self.written));
        let is_read_only = self.run.settings.action.is_read_only();
        let placed = match written.error.take() {
            Some(failure) if written.printed => Err(interrupted_stream(&failure, is_read_only)),
            Some(failure) => Err(failure),
            None if is_read_only => Ok(()),
            None => self.place(&mut written),
        };
        self.report_end(match placed {
            Ok(()) => written.ended(),
            Err(error) => self.failed(written, error),
        });
    }

    /// The end of an input that failed: it has costs, and saves nothing unless lines of it were printed. One that the user
    /// did not name need not be a transcript.
    fn failed(&self, written: Written, error: anyhow::Error) -> EndedInput {
        let Written { outcomes, unwritten, mut totals, has_result, .. } = written;
        if self.output.is_some() {
            (totals.saved, totals.ending, totals.largest) = (0, None, Largest::default());
            totals.unchanged_reasons = UnchangedReasons::default();
        }
        if !self.entry.named
            && let Some(other) = error.downcast_ref::<Failure>().and_then(|failure| failure.other_file.as_ref())
        {
            let status = Status::LeftOut;
            if let Some(kind) = &other.kind {
                totals.other_files.add(kind, self.entry.name());
            }
            let rows = vec![self.row(status, format!("left out: it {}", other.why))];
            return EndedInput { status, rows, totals, error: None };
        }
        let (status, why) = (Status::Failed, error.to_string());
        let mut rows: Vec<ReportRow> =
            outcomes.into_iter().map(|outcome| ReportRow::unwritten(outcome, &why)).collect();
        rows.extend(unwritten);
        let needs_row = self.run.inputs.many || !rows.is_empty();
        // If the result cannot be written, each of its conversations has the reason.
        let has_row = is_reported(&error) || has_result && !rows.is_empty();
        if needs_row && !has_row {
            rows.push(self.row(status, why));
        }
        EndedInput { status, rows, totals, error: Some(error) }
    }

    /// The row of the input itself, and why it has the status.
    fn row(&self, status: Status, why: String) -> ReportRow {
        ReportRow::written(ConversationOutcome::without_plan(&self.entry.name(), status, Some(why)))
    }

    /// Counts and reports how the input ended.
    fn report_end(&self, ended: EndedInput) {
        let Run { settings, inputs, listeners, .. } = self.run;
        let EndedInput { status, rows, totals, error } = ended;
        let reported = listeners.report(&rows, &self.destination_name(status));
        let mut state = lock(&self.run.state);
        if let Err(error) = reported {
            state.failure.get_or_insert(error);
        }
        state.totals.join(&totals);
        state.totals.count(status);
        listeners.handle(&Event::InputDone(&state.totals));
        self.run.prepare_for_interrupt(&state.totals);
        if !inputs.many {
            state.failure = error.or(state.failure.take());
            return;
        }
        drop(state);
        if let Some(error) = error {
            lock(&self.run.state).only_exit = error.downcast_ref::<Failure>().map(|failure| failure.exit);
            let is_known = error.downcast_ref::<Failure>().is_some_and(|failure| failure.is_known);
            if !is_known || settings.stderr.volume == Volume::Verbose {
                listeners.handle(&Event::InputFailed(&error.to_string()));
            }
            return;
        }
        let only_would = matches!(settings.action, Action::DryRun { .. } | Action::Diff);
        let what = match status {
            Status::Compacted if only_would => "would be compacted",
            Status::LeftOut => rows.first().and_then(ReportRow::why).unwrap_or(status.sentence()),
            status => status.sentence(),
        };
        listeners.handle(&Event::InputStatus { source: &self.entry.name(), what });
    }

    /// Describes the place of its result, for people.
    fn destination_name(&self, status: Status) -> String {
        let settings = self.run.settings;
        let in_place = matches!(settings.output.destination, Destination::InPlace(_));
        match (&self.entry.output, status) {
            (_, Status::LeftOut | Status::Failed) => NOWHERE.to_owned(),
            _ if settings.action == Action::Diff => "nowhere: --diff shows what a run would do".to_owned(),
            (None, _) => "standard output".to_owned(),
            (Some(place), Status::Unchanged | Status::PassedThrough | Status::Finished) if in_place => {
                format!("{}, as it was", place.display())
            }
            (Some(place), _) => place.display().to_string(),
        }
    }
}

impl Written {
    /// The end of an input with a result.
    fn ended(self) -> EndedInput {
        let status = self.status();
        let rows = self.outcomes.into_iter().map(ReportRow::written).collect();
        EndedInput { status, rows, totals: self.totals, error: None }
    }

    /// How the input ended so far.
    fn status(&self) -> Status {
        match self.status {
            Status::Unchanged if self.passed_through => Status::PassedThrough,
            status => status,
        }
    }
}

/// Whether the report row of a conversation has this error already.
fn is_reported(error: &anyhow::Error) -> bool {
    error.downcast_ref::<Failure>().is_some_and(|failure| failure.is_reported)
}

/// The error of a stream of which some lines are written, or printed by a dry run.
fn interrupted_stream(failure: &anyhow::Error, is_read_only: bool) -> anyhow::Error {
    let done = if is_read_only { "printed" } else { "written" };
    let broken = Failure::new(Exit::SomeFailed, format!("{failure}; what came before it is {done}"));
    broken.reported(is_reported(failure)).into()
}
