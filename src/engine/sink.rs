//! Where the result of one input goes, and when it is written.

mod placing;

use std::borrow::Cow;
use std::fs::{self, Metadata};
use std::io;
use std::mem;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard};

use anyhow::Result;

use crate::compact::CompactionPolicy;
use crate::engine::inputs::{Entry, Inputs, copy_of};
use crate::engine::journal::Journal;
use crate::engine::ordered_output::{FirstFailed, OrderedOutput};
use crate::events::{Event, FinishedRow, Largest, Listener, ReportRow, Status, Totals, UnchangedReasons};
use crate::exit::{Exit, Failure};
use crate::files::compression::Compression;
use crate::files::input::ReadHash;
use crate::files::links;
use crate::files::output::{self, OutputFile};
use crate::files::readers::Readers;
use crate::report::html;
use crate::settings::{Action, Destination, Settings, archive_among};
use crate::sync::lock;

use crate::engine::archive;
use crate::engine::listeners::Listeners;
use crate::engine::result::{ResultPiece, TaskResult};

/// The place of a result that does not exist.
pub(super) const NOWHERE: &str = "nowhere";

/// A file of so many conversations has no rows in the journal.
const MOST_NOTED: usize = 1000;

/// The records of a run: the journal, the listeners, and whether there were violations.
pub(super) struct Records {
    pub(super) journal: Option<Journal>,
    pub(super) listeners: Listeners,
    /// Whether `--check` found a violation.
    pub(super) breaches: AtomicBool,
    /// Whether the page is written.
    pub(super) has_page: AtomicBool,
    /// The error of the only input, or of a report or page that could not be written.
    pub(super) failure: Mutex<Option<anyhow::Error>>,
}

impl Records {
    /// Reports conversations whose result went to the place `to`.
    pub(super) fn report(&self, conversations: &[ReportRow], to: &str) -> Result<()> {
        self.listeners.handle(&Event::Done { conversations, to })
    }
}

/// Where the result of one input goes.
pub(super) struct Sink<'b> {
    /// Its index among all inputs.
    pub(super) index: usize,
    pub(super) entry: &'b Entry,
    inputs: &'b Inputs,
    pub(super) settings: &'b Settings,
    records: &'b Records,
    /// The policy for its conversations.
    pub(super) policy: Cow<'b, CompactionPolicy>,
    /// The results of its pieces, in order.
    pub(super) ordered: OrderedOutput<ResultPiece>,
    /// Its first piece that failed; later pieces are skipped.
    pub(super) failed: FirstFailed,
    /// Whether what is written of it has gone at once: to standard output, a device or a pipe.
    is_stream: bool,
    written: Mutex<Written>,
    /// The metadata of the file before it was read.
    metadata: Option<Metadata>,
    /// Who may read what is made from it.
    readers: Readers,
}

/// What came of an input so far, and what of it is written.
#[derive(Default)]
struct Written {
    /// The rows, totals and status of all pieces so far. What else they had is written.
    result: TaskResult,
    /// What waits for the archive.
    archived: archive::Waiting,
    output: Option<OutputFile>,
    compression: Option<Compression>,
    /// Whether it has one conversation a line.
    as_lines: bool,
    /// The running hash of the bytes read, for the journal.
    read_hash: Option<ReadHash>,
    /// The indices of the rows that are drawn for a page.
    drawn: Vec<usize>,
    /// Whether something is unchanged only because its summarizer failed.
    passed_through: bool,
    printed: bool,
    /// Whether all of it is processed, so that only writing can still fail.
    has_result: bool,
}

impl<'b> Sink<'b> {
    pub(super) fn new(settings: &'b Settings, inputs: &'b Inputs, records: &'b Records, index: usize) -> Self {
        let entry = &inputs.entries[index];
        let has_own_archive = inputs.many && settings.policy.archive.is_some() && !settings.output.archive_chosen;
        let mut policy = Cow::Borrowed(&settings.policy);
        if has_own_archive {
            // A preset that archives without being asked uses one archive for each input.
            policy.to_mut().archive = entry.path.as_deref().map(archive_among);
        }
        let (failed, written) = (FirstFailed::default(), Mutex::default());
        // Links in a directory are not followed.
        let metadata_of = |path: &Path| if entry.named { fs::metadata(path) } else { fs::symlink_metadata(path) };
        let metadata = entry.path.as_deref().and_then(|path| metadata_of(path).ok());
        let readers = Readers::of([entry.path.as_deref()]);
        let ordered = OrderedOutput::from(index);
        let is_file = |path: &Path| !output::is_stream(path);
        let is_stream = settings.action.prints() || !entry.output.as_deref().is_some_and(is_file);
        Sink { index, entry, inputs, settings, records, policy, ordered, failed, is_stream, written, metadata, readers }
    }

    /// Returns its name for reports.
    pub(super) fn name(&self) -> String {
        self.entry.path.as_ref().map_or("-".to_owned(), |path| path.display().to_string())
    }

    /// Whether it was a file when its directory was searched, and is a link now.
    pub(super) fn became_a_link(&self) -> bool {
        self.metadata.as_ref().is_some_and(Metadata::is_symlink)
    }

    /// Checks that the result can be written, as far as that is known before anything is done.
    ///
    /// # Errors
    /// It cannot, and why.
    pub(super) fn check(&self) -> Result<()> {
        let Some((path, output)) = self.places().filter(|_| self.inputs.home.is_some()) else { return Ok(()) };
        self.refuse_links()?;
        if output.is_dir() {
            return Err(output::unwritable(output, &io::Error::other("it is a directory")).into());
        }
        match &self.settings.output.destination {
            Destination::InPlace(Some(suffix)) => {
                self.copy(suffix).map_or(Ok(()), |copy| output::check_copy(path, &copy))
            }
            _ => Ok(()),
        }
    }

    /// Refuses a link inside a folder that tcompact fills: in the path of the result, or of an archive that a preset
    /// chose.
    fn refuse_links(&self) -> Result<()> {
        if let (Destination::Folder(home), Some(place)) = (&self.settings.output.destination, &self.entry.output) {
            links::refuse(home, place).map_err(|error| output::unwritable(place, &error))?;
        }
        archive::refuse_links(self.settings, &self.policy)
    }

    /// Returns the file, and the file of its result.
    pub(super) fn places(&self) -> Option<(&Path, &Path)> {
        self.entry.path.as_deref().zip(self.entry.output.as_deref())
    }

    fn copy(&self, suffix: &str) -> Option<PathBuf> {
        Some(copy_of(self.entry.path.as_ref()?, suffix))
    }

    /// Returns the length of its text in bytes; unknown for a pipe and for a compressed file.
    pub(super) fn length(&self) -> Option<u64> {
        let is_packed = self.written().compression.is_some();
        self.metadata.as_ref().filter(|metadata| metadata.is_file() && !is_packed).map(Metadata::len)
    }

    /// Records what was opened: how the file is compressed, whether it has one conversation a line, and the running hash
    /// of its bytes.
    pub(super) fn set_source(&self, compression: Option<Compression>, as_lines: bool, read_hash: Option<ReadHash>) {
        let mut written = self.written();
        (written.compression, written.as_lines, written.read_hash) = (compression, as_lines, read_hash);
    }

    /// Returns who may read the archive, which is that of all inputs where the user chose it.
    fn archive_readers(&self) -> &Readers {
        if self.settings.output.archive_chosen { self.inputs.readers() } else { &self.readers }
    }

    /// Whether the input has one conversation a line.
    pub(super) fn as_lines(&self) -> bool {
        self.written().as_lines
    }

    fn written(&self) -> MutexGuard<'_, Written> {
        lock(&self.written)
    }

    /// Writes a result, and returns whether the output still has a reader. Nothing is written behind one that failed.
    pub(super) fn write(&self, result: TaskResult) -> bool {
        let mut written = self.written();
        if let Some(error) = &written.result.error {
            // What it cost is counted all the same.
            let why = error.to_string();
            written.add_rows(self.settings, result.rows.into_iter().map(|row| row.not_written(&why)).collect());
            return true;
        }
        self.write_next(&mut written, result).unwrap_or_else(|error| {
            self.failed.note(0);
            written.result.error = Some(error);
            true
        })
    }

    fn write_next(&self, written: &mut Written, result: TaskResult) -> Result<bool> {
        let TaskResult { content, input, archived, error, .. } = result;
        written.add_rows(self.settings, result.rows);
        written.has_result = error.is_none();
        if let Some(error) = error {
            return Err(error);
        }
        self.records.breaches.fetch_or(result.breaches, Ordering::Relaxed);
        written.result.changed |= result.changed;
        written.result.note_compacted(result.status == Status::Compacted);
        written.result.totals.join(&result.totals);
        let are_of_lines = written.as_lines && !self.is_stream;
        let readers = self.archive_readers();
        written.archived.add(self.settings, &self.policy, archived, are_of_lines, readers)?;
        if !self.needs_writing(written) {
            return Ok(true);
        }
        if !self.is_stream {
            return self.output(written)?.write_parts(content.pieces(&input));
        }
        let write = |written: &mut Written| self.output(written)?.write_parts(content.pieces(&input));
        let has_reader = self.write_after_sides(written, write)?;
        written.printed |= written.as_lines;
        Ok(has_reader)
    }

    /// Whether the result goes to standard output.
    fn is_printed(&self) -> bool {
        self.settings.action.prints() || self.entry.output.is_none()
    }

    /// Whether a result must be written: any of lines, since later ones can differ, and that of a document. A file that
    /// stays in place needs nothing if it is unchanged. A compressed file is copied instead, since compressing its text
    /// again could give other bytes.
    fn needs_writing(&self, written: &Written) -> bool {
        let may_stay = match self.settings.output.destination {
            Destination::InPlace(_) => true,
            Destination::Folder(_) => written.compression.is_some(),
            _ => false,
        };
        let is_needed = written.as_lines || self.settings.action.prints() || written.result.changed || !may_stay;
        self.settings.action != Action::Check && is_needed
    }

    fn output<'s>(&self, written: &'s mut Written) -> Result<&'s mut OutputFile> {
        let output = match written.output.take() {
            Some(output) => output,
            None => {
                let compression = match &self.settings.output.destination {
                    Destination::File(file) => Compression::of_name(file),
                    _ => written.compression,
                };
                let path = self.entry.output.as_deref().filter(|_| !self.is_printed());
                if path.is_some() {
                    self.refuse_links()?;
                }
                OutputFile::begin(path, compression, &self.readers)?
            }
        };
        Ok(written.output.insert(output))
    }

    /// Puts the result in its place, and returns it with its status.
    pub(super) fn finish(&self) -> TaskResult {
        let mut written = self.written();
        let placed = match written.result.error.take() {
            Some(failure) if written.printed => Err(interrupted_stream(&failure, self.settings.action.is_read_only())),
            Some(failure) => Err(failure),
            None if self.settings.action.is_read_only() => Ok(()),
            None => self.place(&mut written),
        };
        let status = written.status();
        let result = TaskResult { status, ..mem::take(&mut written.result) };
        match placed {
            Ok(()) => result,
            Err(error) => self.failed(result, error, written.has_result),
        }
    }

    /// Returns the result of an input that failed: it has costs, and saves nothing unless lines of it were printed. One
    /// that the user did not name need not be a transcript.
    fn failed(&self, result: TaskResult, error: anyhow::Error, has_result: bool) -> TaskResult {
        let TaskResult { mut rows, mut totals, .. } = result;
        if !self.is_printed() {
            totals = Totals {
                saved: 0,
                ending: None,
                largest: Largest::default(),
                unchanged_reasons: UnchangedReasons::default(),
                ..totals
            };
        }
        let other = error.downcast_ref::<Failure>().and_then(|failure| failure.other_file.as_deref());
        let row = |status, why| ReportRow::without_plan(&self.name(), status, Some(why));
        if let Some(why) = other.filter(|_| !self.entry.named) {
            let rows = vec![row(Status::LeftOut, format!("left out: it {why}"))];
            return TaskResult { status: Status::LeftOut, rows, totals, ..TaskResult::default() };
        }
        let why = error.to_string();
        rows = rows.into_iter().map(|row| row.not_written(&why)).collect();
        let needs_row = self.inputs.many || !rows.is_empty();
        // If the result cannot be written, each of its conversations has the reason.
        let has_row = is_reported(&error) || has_result && !rows.is_empty();
        if needs_row && !has_row {
            rows.push(row(Status::Failed, why));
        }
        TaskResult { status: Status::Failed, rows, totals, error: Some(error), ..TaskResult::default() }
    }

    /// Describes the place of its result, for people.
    pub(super) fn destination_name(&self, status: Status) -> String {
        let in_place = matches!(self.settings.output.destination, Destination::InPlace(_));
        match (&self.entry.output, status) {
            (_, Status::LeftOut | Status::Failed) => NOWHERE.to_owned(),
            _ if self.settings.action == Action::Diff => "nowhere: --diff shows what a run would do".to_owned(),
            (None, _) => "standard output".to_owned(),
            (Some(place), Status::Unchanged | Status::PassedThrough | Status::Finished) if in_place => {
                format!("{}, as it was", place.display())
            }
            (Some(place), _) => place.display().to_string(),
        }
    }
}

impl Written {
    fn add_rows(&mut self, settings: &Settings, rows: Vec<ReportRow>) {
        self.result.totals.add(&rows);
        self.passed_through |= rows.iter().any(|row| row.error.is_some() && row.status != Status::Compacted);
        let all = &mut self.result.rows;
        let is_noted = settings.output.keeps_rows() && all.len() < MOST_NOTED;
        if settings.output.has_report() || is_noted {
            let from = all.len();
            all.extend(rows);
            self.drawn.extend((from..all.len()).filter(|&at| all[at].page.is_some()));
            html::keep_largest(all, &mut self.drawn);
        }
    }

    /// Returns how the input ended so far.
    fn status(&self) -> Status {
        match self.result.status {
            Status::Unchanged if self.passed_through => Status::PassedThrough,
            status => status,
        }
    }

    /// Returns what the journal keeps of the rows. Part of a file would pass for all of it.
    fn finished_rows(&self) -> Vec<FinishedRow> {
        let rows = &self.result.rows;
        if rows.len() < MOST_NOTED { rows.iter().map(ReportRow::finished).collect() } else { Vec::new() }
    }
}

/// Whether the report row of a conversation has this error already.
fn is_reported(error: &anyhow::Error) -> bool {
    error.downcast_ref::<Failure>().is_some_and(|failure| failure.is_reported)
}

/// Returns the error of a stream of which some lines are written, or printed by a dry run.
fn interrupted_stream(failure: &anyhow::Error, is_read_only: bool) -> anyhow::Error {
    let done = if is_read_only { "printed" } else { "written" };
    let broken = Failure::new(Exit::SomeFailed, format!("{failure}; what came before it is {done}"));
    broken.reported(is_reported(failure)).into()
}
