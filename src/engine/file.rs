//! One input of a run: where its result goes, and when it is written.

use std::borrow::Cow;
use std::fs::{self, Metadata};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard};

use anyhow::Result;

use crate::compact::CompactionPolicy;
use crate::engine::inputs::{Entry, Inputs, copy_of};
use crate::engine::journal::Journal;
use crate::engine::ordered_output::{FirstFailed, OrderedOutput};
use crate::events::{Conversation, Event, FinishedRow, Idle, Largest, Listener, Status, Totals};
use crate::exit::{Exit, Failure};
use crate::files::compression::Compression;
use crate::files::hash::hash_of;
use crate::files::identity::Stamp;
use crate::files::input::ReadHash;
use crate::files::links;
use crate::files::output::{self, Output};
use crate::files::readers::Readers;
use crate::report::html;
use crate::settings::{Action, Destination, Settings, archive_among};
use crate::sync::lock;

use crate::engine::archive;
use crate::engine::file_status::FileStatus;
use crate::engine::listeners::Listeners;
use crate::engine::outcome::{Outcome, WorkOutcome};

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
}

impl Records {
    /// Reports conversations whose result went to the place `to`.
    pub(super) fn report(&self, conversations: &[Conversation], to: &str) -> Result<()> {
        self.listeners.hear(&Event::Done { conversations, to })
    }
}

/// One input while the run works on it.
pub(super) struct Job<'b> {
    /// Its index among all inputs.
    pub(super) index: usize,
    pub(super) entry: &'b Entry,
    inputs: &'b Inputs,
    pub(super) settings: &'b Settings,
    /// The policy for its conversations.
    pub(super) policy: Cow<'b, CompactionPolicy>,
    /// The outcomes of its pieces, in order.
    pub(super) ordered: OrderedOutput<WorkOutcome>,
    /// Its first piece that failed; later pieces are skipped.
    pub(super) failed: FirstFailed,
    state: Mutex<State>,
    /// The metadata of the file before it was read.
    metadata: Option<Metadata>,
    /// Who may read what is made from it.
    readers: Readers,
}

/// The result of an input so far.
#[derive(Default)]
struct State {
    output: Option<Output>,
    compression: Option<Compression>,
    /// The running hash of the bytes read, for the journal.
    read_hash: Option<ReadHash>,
    conversations: Vec<Conversation>,
    /// The indices of the conversations that are drawn for a page.
    drawn: Vec<usize>,
    /// The costs and savings of its conversations.
    totals: Totals,
    failure: Option<anyhow::Error>,
    changed: bool,
    compacted: bool,
    /// Whether something is unchanged only because its summarizer failed.
    passed_through: bool,
    printed: bool,
    /// Whether all of it is processed, so that only writing can still fail.
    has_result: bool,
}

impl<'b> Job<'b> {
    pub(super) fn new(settings: &'b Settings, inputs: &'b Inputs, index: usize) -> Self {
        let entry = &inputs.entries[index];
        let has_own_archive = inputs.many && settings.policy.archive.is_some() && !settings.output.archive_chosen;
        let policy = match has_own_archive {
            // A preset that archives without being asked uses one archive for each input.
            true => {
                let archive = entry.path.as_deref().map(archive_among);
                Cow::Owned(CompactionPolicy { archive, ..settings.policy.clone() })
            }
            false => Cow::Borrowed(&settings.policy),
        };
        let (failed, state) = (FirstFailed::default(), Mutex::default());
        // Links in a directory are not followed.
        let metadata_of = |path: &Path| if entry.named { fs::metadata(path) } else { fs::symlink_metadata(path) };
        let metadata = entry.path.as_deref().and_then(|path| metadata_of(path).ok());
        let readers = Readers::of([entry.path.as_deref()]);
        let ordered = OrderedOutput::from(index);
        Job { index, entry, inputs, settings, policy, ordered, failed, state, metadata, readers }
    }

    /// Returns its name for reports.
    pub(super) fn name(&self) -> String {
        self.entry.path.as_ref().map_or("-".to_owned(), |path| path.display().to_string())
    }

    /// Whether it was a file when its directory was searched, and is a link now.
    pub(super) fn became_a_link(&self) -> bool {
        self.metadata.as_ref().is_some_and(Metadata::is_symlink)
    }

    /// Returns why the result could not be written, as far as that is known before anything is done.
    pub(super) fn refusal(&self) -> Option<anyhow::Error> {
        let (path, output) = self.places()?;
        if let Err(error) = self.refuse_links() {
            return Some(error);
        }
        if output.is_dir() {
            return Some(output::unwritable(output, &io::Error::other("it is a directory")).into());
        }
        let Destination::InPlace(Some(suffix)) = &self.settings.output.destination else { return None };
        output::check_copy(path, &self.copy(suffix)?).err()
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
        let is_packed = self.state().compression.is_some();
        self.metadata.as_ref().filter(|metadata| metadata.is_file() && !is_packed).map(Metadata::len)
    }

    /// Adds report rows.
    pub(super) fn add_conversations(&self, conversations: Vec<Conversation>) {
        self.state().add(self.settings, conversations);
    }

    /// Records how the file is compressed, and the running hash of its bytes.
    pub(super) fn set_source(&self, compression: Option<Compression>, read_hash: Option<ReadHash>) {
        let mut state = self.state();
        (state.compression, state.read_hash) = (compression, read_hash);
    }

    /// Returns who may read the archive, which is that of all inputs where the user chose it.
    fn archive_readers(&self) -> &Readers {
        if self.settings.output.archive_chosen { self.inputs.readers() } else { &self.readers }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        lock(&self.state)
    }

    /// Writes the result of a document.
    pub(super) fn write_whole(&self, records: &Records, outcome: Outcome, input: &[u8]) -> Result<FileStatus> {
        let mut state = self.state();
        records.breaches.fetch_or(outcome.breaches, Ordering::Relaxed);
        (state.changed, state.compacted, state.has_result) = (outcome.changed, outcome.compacted, true);
        state.totals.idle.join(&outcome.idle);
        state.totals.counted.join(&outcome.counted);
        state.totals.pruned_only.join(&outcome.pruned_only);
        state.add(self.settings, outcome.conversations);
        // The archive comes first: if the result cannot be written, the messages exist twice rather than nowhere.
        archive::write(self.settings, &self.policy, &outcome.archived, self.archive_readers())?;
        if self.needs_writing(&state) {
            self.output(&mut state)?.write_parts(outcome.content.pieces(input))?;
        }
        drop(state);
        self.finish(records)
    }

    /// Writes the result of lines, and returns whether the output still has a reader.
    pub(super) fn write_lines(&self, records: &Records, outcome: Result<Outcome>) -> bool {
        let mut state = self.state();
        if state.failure.is_some() {
            return true;
        }
        state.has_result = outcome.is_ok();
        let written = outcome.and_then(|outcome| {
            records.breaches.fetch_or(outcome.breaches, Ordering::Relaxed);
            state.changed |= outcome.changed;
            state.compacted |= outcome.compacted;
            state.totals.idle.join(&outcome.idle);
            state.totals.counted.join(&outcome.counted);
            state.totals.pruned_only.join(&outcome.pruned_only);
            state.add(self.settings, outcome.conversations);
            archive::write(self.settings, &self.policy, &outcome.archived, self.archive_readers())?;
            if self.settings.action == Action::Check {
                return Ok(true);
            }
            // The content of lines is complete without the input.
            let read = self.output(&mut state)?.write_parts(outcome.content.pieces(&[]))?;
            if self.is_printed() {
                state.printed = true;
                state.drawn.clear();
                records.report(
                    &std::mem::take(&mut state.conversations),
                    &self.destination_name(&FileStatus::Compacted),
                )?;
            }
            Ok(read)
        });
        written.unwrap_or_else(|error| {
            // What follows is skipped; the lines before it are written.
            self.failed.note(0);
            state.failure = Some(error);
            true
        })
    }

    /// Whether the result goes to standard output.
    fn is_printed(&self) -> bool {
        self.settings.action.prints() || self.entry.output.is_none()
    }

    /// Whether the result of a document must be written. A file that stays in place needs nothing if it is unchanged. A
    /// compressed file is copied instead, since compressing its text again could give other bytes.
    fn needs_writing(&self, state: &State) -> bool {
        let may_stay = match self.settings.output.destination {
            Destination::InPlace(_) => true,
            Destination::Folder(_) => state.compression.is_some(),
            _ => false,
        };
        self.settings.action != Action::Check && (self.settings.action.prints() || state.changed || !may_stay)
    }

    fn output<'s>(&self, state: &'s mut State) -> Result<&'s mut Output> {
        let output = match state.output.take() {
            Some(output) => output,
            None => {
                let compression = match &self.settings.output.destination {
                    Destination::File(file) => Compression::of_name(file),
                    _ => state.compression,
                };
                let path = self.entry.output.as_deref().filter(|_| !self.is_printed());
                if path.is_some() {
                    self.refuse_links()?;
                }
                Output::begin(path, compression, &self.readers)?
            }
        };
        Ok(state.output.insert(output))
    }

    /// Puts the result in its place.
    pub(super) fn finish(&self, records: &Records) -> Result<FileStatus> {
        let mut state = self.state();
        if let Some(failure) = state.failure.take() {
            let is_read_only = self.settings.action.is_read_only();
            return Err(if state.printed { interrupted_stream(&failure, is_read_only) } else { failure });
        }
        if self.settings.action.is_read_only() {
            return Ok(state.status());
        }
        state.has_result = true;
        let output = state.output.take();
        match (&self.settings.output.destination, self.places()) {
            (Destination::Folder(_), Some((path, place))) => {
                // Compressing the same text again could give other bytes, so the file is copied.
                let output = output.filter(|_| state.changed || state.compression.is_none());
                let now = fs::metadata(path).ok();
                self.put(&state, (path, now.as_ref()), place, output, records.journal.as_ref())?;
            }
            (Destination::InPlace(suffix), Some((path, place))) if state.changed => {
                // A link that took the place of the file, before or after it was read, leads to another file.
                let target = output.as_ref().and_then(Output::place).unwrap_or(path);
                let (now, there) = (fs::metadata(path).ok(), fs::metadata(target).ok());
                let before = self.metadata.as_ref().and_then(Stamp::of);
                if [&now, &there].iter().any(|now| now.as_ref().and_then(Stamp::of) != before) {
                    let message =
                        format!("{} was changed meanwhile, and stays unchanged now; run again", path.display());
                    return Err(Failure::unreadable(message).into());
                }
                if let Some(copy) = suffix.as_ref().and_then(|suffix| self.copy(suffix)) {
                    output::keep_copy(path, &copy)?;
                }
                self.put(&state, (path, now.as_ref()), place, output, records.journal.as_ref())?;
            }
            (Destination::InPlace(_), Some((_, place))) => {
                let hash = state.read_hash.as_ref().map(ReadHash::hash).unwrap_or_default();
                self.note(&state, place, (&hash, &hash), records.journal.as_ref())
                    .map_err(|error| output::unwritable(place, &error))?;
            }
            _ => {
                // A file without lines has a result too.
                state.output = output;
                self.output(&mut state)?;
                state.output.take().map_or(Ok(()), |output| output.end(None, |_| Ok(())))?;
            }
        }
        Ok(state.status())
    }

    /// Puts a result, or a copy of the unchanged file, in its place with the mode and times of `like`, and notes it in
    /// the journal. A file that is replaced is noted before: afterwards nothing shows that it was another.
    fn put(
        &self,
        state: &State,
        (path, like): (&Path, Option<&Metadata>),
        place: &Path,
        output: Option<Output>,
        journal: Option<&Journal>,
    ) -> Result<()> {
        let read = state.read_hash.as_ref().map(ReadHash::hash).unwrap_or_default();
        let mut written = String::new();
        let in_place = matches!(self.settings.output.destination, Destination::InPlace(_));
        let is_copy = output.is_none();
        let before = |file: &Path| {
            if journal.is_some() {
                // A file that was neither changed nor compressed again has the bytes that were read.
                let is_the_same = !is_copy && !state.changed && state.compression.is_none();
                written = if is_the_same { read.clone() } else { hash_of(file)? };
            }
            if is_copy && journal.is_some() && written != read {
                return Err(io::Error::other(format!("{} was changed meanwhile; run again", path.display())));
            }
            if in_place { self.note(state, place, (&read, &written), journal) } else { Ok(()) }
        };
        self.refuse_links()?;
        match output {
            Some(output) => output.end(like, before)?,
            None => output::copy(path, place, before)?,
        }
        let noted = if in_place { Ok(()) } else { self.note(state, place, (&read, &written), journal) };
        Ok(noted.map_err(|error| output::unwritable(place, &error))?)
    }

    /// Notes in the journal that a file is finished. A file whose summarizer failed is not: the next run tries it
    /// again.
    fn note(&self, state: &State, place: &Path, hashes: (&str, &str), journal: Option<&Journal>) -> io::Result<()> {
        let certain = matches!(self.settings.output.destination, Destination::InPlace(_)) && hashes.0 != hashes.1;
        match journal.filter(|_| !state.passed_through) {
            Some(journal) => journal.note(place, hashes, state.finished_rows(), certain),
            None => Ok(()),
        }
    }

    /// Takes the costs and savings of its conversations; a file that failed has costs only.
    pub(super) fn take_totals(&self, status: &FileStatus) -> Totals {
        let totals = std::mem::take(&mut self.state().totals);
        let lost = matches!(status, FileStatus::Failed(_)) && !self.is_printed();
        if lost {
            Totals { saved: 0, ending: None, largest: Largest::default(), idle: Idle::default(), ..totals }
        } else {
            totals
        }
    }

    /// Describes the place of its result, for people.
    pub(super) fn destination_name(&self, status: &FileStatus) -> String {
        let in_place = matches!(self.settings.output.destination, Destination::InPlace(_));
        match (&self.entry.output, status) {
            (_, FileStatus::LeftOut(_) | FileStatus::Failed(_)) => NOWHERE.to_owned(),
            _ if self.settings.action == Action::Diff => "nowhere: --diff shows what a run would do".to_owned(),
            (None, _) => "standard output".to_owned(),
            (Some(place), FileStatus::Unchanged | FileStatus::PassedThrough | FileStatus::Finished(_)) if in_place => {
                format!("{}, as it was", place.display())
            }
            (Some(place), _) => place.display().to_string(),
        }
    }

    /// Takes the report rows of its conversations.
    pub(super) fn take_report(&self, status: &FileStatus) -> Vec<Conversation> {
        let (conversations, has_result) = {
            let mut state = self.state();
            (std::mem::take(&mut state.conversations), state.has_result)
        };
        let row = |status: Status, why: String| vec![Conversation::without_plan(&self.name(), status, Some(why))];
        match status {
            FileStatus::Compacted | FileStatus::Unchanged | FileStatus::PassedThrough => conversations,
            FileStatus::Finished(rows) if !rows.is_empty() => {
                rows.iter().map(|finished| finished.clone().skipped(&status.to_string())).collect()
            }
            FileStatus::Finished(_) | FileStatus::LeftOut(_) => row(Status::Skipped, status.to_string()),
            FileStatus::Failed(error) => {
                let why = error.to_string();
                let mut conversations: Vec<Conversation> =
                    conversations.into_iter().map(|conversation| conversation.not_written(&why)).collect();
                let needs_row = self.inputs.many || !conversations.is_empty();
                // If the result cannot be written, each of its conversations has the reason.
                let has_row = is_reported(error) || has_result && !conversations.is_empty();
                if needs_row && !has_row {
                    conversations.extend(row(Status::Failed, why));
                }
                conversations
            }
        }
    }
}

impl State {
    fn add(&mut self, settings: &Settings, conversations: Vec<Conversation>) {
        self.totals.add(&conversations);
        self.passed_through |= conversations.iter().any(|one| one.error.is_some() && one.status != Status::Compacted);
        let is_noted = settings.output.keeps_rows() && self.conversations.len() < MOST_NOTED;
        if settings.output.has_report() || is_noted {
            let from = self.conversations.len();
            self.conversations.extend(conversations);
            self.drawn.extend((from..self.conversations.len()).filter(|&at| self.conversations[at].page.is_some()));
            html::keep_largest(&mut self.conversations, &mut self.drawn);
        }
    }

    /// Returns what the journal keeps of the conversations. Part of a file would pass for all of it.
    fn finished_rows(&self) -> Vec<FinishedRow> {
        if self.conversations.len() < MOST_NOTED {
            self.conversations.iter().map(Conversation::finished).collect()
        } else {
            vec![]
        }
    }

    fn status(&self) -> FileStatus {
        match (self.compacted, self.passed_through) {
            (true, _) => FileStatus::Compacted,
            (false, true) => FileStatus::PassedThrough,
            (false, false) => FileStatus::Unchanged,
        }
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
