//! One input of a run, and what becomes of it: where its result goes, and when.

use std::borrow::Cow;
use std::fmt;
use std::fs::{self, Metadata};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard};
use std::time::SystemTime;

use anyhow::Result;

use crate::compact::{Archived, CompactionPolicy, Emit};
use crate::engine::inputs::{Entry, Inputs, copy_of};
use crate::engine::journal::Journal;
use crate::engine::ordered_output::{FirstFailed, OrderedOutput};
use crate::events::{Conversation, Event, Idle, Largest, Listener, Status, Totals};
use crate::exit::{Exit, Failure};
use crate::files::compression::Compression;
use crate::files::hash::hash_of;
use crate::files::input::Seen;
use crate::files::links;
use crate::files::output::{self, Output};
use crate::report::html;
use crate::settings::{Action, Destination, Settings, archive_among};
use crate::sync::lock;

use crate::engine::archive;
use crate::engine::listeners::Listeners;
use crate::engine::outcome::Outcome;

/// Where the result goes of what is not read.
pub(super) const NOWHERE: &str = "nowhere";

/// Where it is noted what became of inputs.
pub(super) struct Records {
    pub(super) journal: Option<Journal>,
    pub(super) listeners: Listeners,
    /// A breach of a provider's rules was found.
    pub(super) breaches: AtomicBool,
}

impl Records {
    /// Tells what became of conversations, whose result went `to` some place.
    pub(super) fn report(&self, conversations: &[Conversation], to: &str) -> Result<()> {
        self.listeners.hear(&Event::Done { conversations, to })
    }
}

/// What a piece of an input came to.
pub(super) enum WorkOutcome {
    /// What is made of an input as one, and the input where that is edited.
    Whole(Result<Outcome>, String),
    /// What is made of lines, which stands without them, and whether no others follow.
    Lines(Vec<Result<Outcome>>, bool),
    /// There is nothing to be made.
    Ended(FileStatus),
}

impl WorkOutcome {
    /// Whether it takes so little memory that it can lie about for a while.
    pub(super) fn is_small(&self) -> bool {
        const SMALL: usize = 1 << 16;
        let (outcomes, input) = match self {
            WorkOutcome::Whole(outcome, input) => (std::slice::from_ref(outcome), input.len()),
            WorkOutcome::Lines(outcomes, _) => (outcomes.as_slice(), 0),
            WorkOutcome::Ended(_) => return true,
        };
        let made = || outcomes.iter().flatten();
        let length = |one: &Outcome| one.made.length();
        let has_more = |one: &Outcome| {
            let Archived { sections, files } = &one.archived;
            !sections.is_empty() || !files.is_empty() || one.conversations.iter().any(|one| one.page.is_some())
        };
        input + made().map(length).sum::<usize>() <= SMALL && !made().any(has_more)
    }
}

/// What became of an input.
#[derive(Debug)]
pub(super) enum FileStatus {
    Compacted,
    Unchanged,
    /// It is as it was, since its summarizer failed.
    PassedThrough,
    /// An earlier run has finished it.
    Finished,
    /// It is no transcript, and nobody said it was.
    LeftOut(String),
    Failed(anyhow::Error),
}

impl FileStatus {
    /// What an error means for an input.
    pub(super) fn of(error: anyhow::Error, job: &Job<'_>) -> Self {
        let other = error.downcast_ref::<Failure>().and_then(|failure| failure.other_file.clone());
        match other.filter(|_| !job.entry.named) {
            Some(why) => FileStatus::LeftOut(why),
            None => FileStatus::Failed(error),
        }
    }
}

impl fmt::Display for FileStatus {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            FileStatus::Compacted => out.write_str("compacted"),
            FileStatus::Unchanged => out.write_str("unchanged"),
            FileStatus::PassedThrough => out.write_str("unchanged, since its summarizer failed"),
            FileStatus::Finished => out.write_str("finished by an earlier run"),
            FileStatus::LeftOut(why) => write!(out, "left out: it {why}"),
            FileStatus::Failed(error) => write!(out, "{error}"),
        }
    }
}

/// An input on its way.
pub(super) struct Job<'b> {
    /// Its place among all inputs.
    pub(super) at: usize,
    pub(super) entry: &'b Entry,
    inputs: &'b Inputs,
    pub(super) settings: &'b Settings,
    /// What is to become of its conversations.
    pub(super) policy: Cow<'b, CompactionPolicy>,
    /// What comes of its lines, in order.
    pub(super) turns: OrderedOutput<WorkOutcome>,
    /// Its first lines that failed; those behind them are left alone.
    pub(super) failed: FirstFailed,
    state: Mutex<State>,
    /// What it was before it was read.
    found: Option<Metadata>,
}

/// Which file something is, how long, and when it was written.
#[derive(Debug, PartialEq, Eq)]
struct Stamp {
    file: (u64, u64),
    length: u64,
    modified: SystemTime,
}

fn stamp(metadata: &Metadata) -> Option<Stamp> {
    #[cfg(unix)]
    let file = (std::os::unix::fs::MetadataExt::dev(metadata), std::os::unix::fs::MetadataExt::ino(metadata));
    #[cfg(not(unix))]
    let file = (0, 0);
    Some(Stamp { file, length: metadata.len(), modified: metadata.modified().ok()? })
}

/// What has come of an input so far.
#[derive(Default)]
struct State {
    output: Option<Output>,
    compression: Option<Compression>,
    /// The hash of what was read of it, where that is wanted.
    seen: Option<Seen>,
    conversations: Vec<Conversation>,
    /// Which of them are drawn for a page.
    drawn: Vec<usize>,
    /// What they took and saved.
    sums: Totals,
    failure: Option<anyhow::Error>,
    changed: bool,
    compacted: bool,
    /// Something is as it was only since its summarizer failed.
    passed_through: bool,
    printed: bool,
    /// Whether all of it was read and worked on, so that what fails now is the writing.
    is_made: bool,
}

impl<'b> Job<'b> {
    pub(super) fn new(settings: &'b Settings, inputs: &'b Inputs, at: usize) -> Self {
        let entry = &inputs.entries[at];
        let has_own = inputs.many && settings.policy.archive.is_some() && !settings.output.archive_chosen;
        let policy = match has_own {
            // The presets that have an archive without being told have one for each input.
            true => {
                let archive = entry.path.as_deref().map(archive_among);
                Cow::Owned(CompactionPolicy { archive, ..settings.policy.clone() })
            }
            false => Cow::Borrowed(&settings.policy),
        };
        let (failed, state) = (FirstFailed::default(), Mutex::default());
        // Links in a directory are not followed.
        let look = |path: &Path| if entry.named { fs::metadata(path) } else { fs::symlink_metadata(path) };
        let found = entry.path.as_deref().and_then(|path| look(path).ok());
        Job { at, entry, inputs, settings, policy, turns: OrderedOutput::from(at), failed, state, found }
    }

    /// Its name, as reports give it.
    pub(super) fn name(&self) -> String {
        self.entry.path.as_ref().map_or("-".to_owned(), |path| path.display().to_string())
    }

    /// Whether it was a file of a directory when that was searched, and is a link now.
    pub(super) fn became_a_link(&self) -> bool {
        self.found.as_ref().is_some_and(Metadata::is_symlink)
    }

    /// Why its result could not take its place, which is known before anything is done.
    pub(super) fn refused(&self) -> Option<anyhow::Error> {
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

    /// Refuses a place for the result, or for an archive that nobody named, which a link inside a folder that is filled
    /// leads to.
    fn refuse_links(&self) -> Result<()> {
        if let (Destination::Folder(home), Some(place)) = (&self.settings.output.destination, &self.entry.output) {
            links::refuse(home, place).map_err(|error| output::unwritable(place, &error))?;
        }
        archive::refuse_links(self.settings, &self.policy)
    }

    /// The file, and the one that its result goes to.
    pub(super) fn places(&self) -> Option<(&Path, &Path)> {
        self.entry.path.as_deref().zip(self.entry.output.as_deref())
    }

    fn copy(&self, suffix: &str) -> Option<PathBuf> {
        Some(copy_of(self.entry.path.as_ref()?, suffix))
    }

    /// Bytes that it reads as, where that is known: of what is compressed, and of a pipe, it is not.
    pub(super) fn length(&self) -> Option<u64> {
        let is_packed = self.state().compression.is_some();
        self.found.as_ref().filter(|found| found.is_file() && !is_packed).map(Metadata::len)
    }

    /// Adds what became of conversations, which is kept where it is to be reported.
    pub(super) fn remember(&self, conversations: Vec<Conversation>) {
        self.state().add(self.settings, conversations);
    }

    /// Keeps what is known of the file.
    pub(super) fn opened(&self, compression: Option<Compression>, seen: Option<Seen>) {
        let mut state = self.state();
        (state.compression, state.seen) = (compression, seen);
    }

    fn state(&self) -> MutexGuard<'_, State> {
        lock(&self.state)
    }

    /// Writes the result of an input that was worked on as one.
    pub(super) fn write_whole(&self, records: &Records, outcome: Outcome, input: &str) -> Result<FileStatus> {
        let mut state = self.state();
        records.breaches.fetch_or(outcome.breaches, Ordering::Relaxed);
        (state.changed, state.compacted, state.is_made) = (outcome.changed, outcome.compacted, true);
        state.sums.idle.join(&outcome.idle);
        state.add(self.settings, outcome.conversations);
        // First what is cut away: should the result fail to be written, it is there twice and not nowhere.
        archive::write(self.settings, &self.policy, &outcome.archived, self.entry.path.as_deref())?;
        if self.is_needed(&state) {
            self.output(&mut state)?.write_parts(outcome.made.pieces(input))?;
        }
        drop(state);
        self.finish(records)
    }

    /// Writes the result of lines, and says whether anybody still reads it.
    pub(super) fn write_lines(&self, records: &Records, outcome: Result<Outcome>) -> bool {
        let mut state = self.state();
        if state.failure.is_some() {
            return true;
        }
        state.is_made = outcome.is_ok();
        let written = outcome.and_then(|outcome| {
            records.breaches.fetch_or(outcome.breaches, Ordering::Relaxed);
            state.changed |= outcome.changed;
            state.compacted |= outcome.compacted;
            state.sums.idle.join(&outcome.idle);
            state.add(self.settings, outcome.conversations);
            archive::write(self.settings, &self.policy, &outcome.archived, self.entry.path.as_deref())?;
            if self.settings.action == Action::Check {
                return Ok(true);
            }
            // What is made of lines is a text of its own.
            let read = self.output(&mut state)?.write_parts(outcome.made.pieces(""))?;
            if self.is_printed() {
                state.printed = true;
                state.drawn.clear();
                records.report(&std::mem::take(&mut state.conversations), &self.goes_to(&FileStatus::Compacted))?;
            }
            Ok(read)
        });
        written.unwrap_or_else(|error| {
            // Those before it are written.
            self.failed.note(0);
            state.failure = Some(error);
            true
        })
    }

    /// Whether the result goes to standard output.
    fn is_printed(&self) -> bool {
        self.settings.action.prints() || self.entry.output.is_none()
    }

    /// Whether a result is to be written that was worked on as one. In place, what needs nothing is left alone; and a
    /// compressed file is copied, since it could be compressed in another way.
    fn is_needed(&self, state: &State) -> bool {
        let as_it_is = match self.settings.output.destination {
            Destination::InPlace(_) => true,
            Destination::Folder(_) => state.compression.is_some(),
            _ => false,
        };
        self.settings.action != Action::Check && (self.settings.action.prints() || state.changed || !as_it_is)
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
                let in_files =
                    matches!(self.settings.output.destination, Destination::Folder(_) | Destination::InPlace(_));
                Output::begin(path, compression, self.found.as_ref().filter(|_| in_files))?
            }
        };
        Ok(state.output.insert(output))
    }

    /// Has the result take its place.
    pub(super) fn finish(&self, records: &Records) -> Result<FileStatus> {
        let mut state = self.state();
        if let Some(failure) = state.failure.take() {
            let only_looks = self.settings.action.only_looks();
            return Err(if state.printed { broken_off(&failure, only_looks) } else { failure });
        }
        if self.settings.action.only_looks() {
            return Ok(state.fate());
        }
        state.is_made = true;
        let output = state.output.take();
        match (&self.settings.output.destination, self.places()) {
            (Destination::Folder(_), Some((path, place))) => {
                // Compressed once more, the same text could be other bytes.
                let output = output.filter(|_| state.changed || state.compression.is_none());
                let now = fs::metadata(path).ok();
                self.put(&state, (path, now.as_ref()), place, output, records.journal.as_ref())?;
            }
            (Destination::InPlace(suffix), Some((path, place))) if state.changed => {
                // A link that was put there meanwhile would lead to another file, before or now.
                let goes_to = output.as_ref().and_then(Output::place).unwrap_or(path);
                let (now, there) = (fs::metadata(path).ok(), fs::metadata(goes_to).ok());
                let before = self.found.as_ref().and_then(stamp);
                if [&now, &there].iter().any(|now| now.as_ref().and_then(stamp) != before) {
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
                let hash = state.seen.as_ref().map(Seen::hash).unwrap_or_default();
                self.note(&state, place, (&hash, &hash), records.journal.as_ref())
                    .map_err(|error| output::unwritable(place, &error))?;
            }
            _ => {
                // Of no lines there is a result too.
                state.output = output;
                self.output(&mut state)?;
                state.output.take().map_or(Ok(()), |output| output.end(None, |_| Ok(())))?;
            }
        }
        Ok(state.fate())
    }

    /// Puts a result, or a copy of the file that it would be made of, in its place, like that file, and notes that it is
    /// there. A file that is replaced is noted before: nothing would tell afterwards that it was ever another.
    fn put(
        &self,
        state: &State,
        (path, like): (&Path, Option<&Metadata>),
        place: &Path,
        output: Option<Output>,
        journal: Option<&Journal>,
    ) -> Result<()> {
        let read = state.seen.as_ref().map(Seen::hash).unwrap_or_default();
        let mut written = String::new();
        let in_place = matches!(self.settings.output.destination, Destination::InPlace(_));
        let is_copy = output.is_none();
        let before = |file: &Path| {
            if journal.is_some() {
                // What was neither changed nor packed anew is what was read.
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

    /// Notes that a file is finished, unless it is to be tried again: its summarizer failed.
    fn note(&self, state: &State, place: &Path, hashes: (&str, &str), journal: Option<&Journal>) -> io::Result<()> {
        let certain = matches!(self.settings.output.destination, Destination::InPlace(_)) && hashes.0 != hashes.1;
        match journal.filter(|_| !state.passed_through) {
            Some(journal) => journal.note(place, hashes, certain),
            None => Ok(()),
        }
    }

    /// What its conversations took and saved; of a file that failed, only what they took.
    pub(super) fn sums(&self, fate: &FileStatus) -> Totals {
        let sums = std::mem::take(&mut self.state().sums);
        let lost = matches!(fate, FileStatus::Failed(_)) && !self.is_printed();
        if lost { Totals { saved: 0, largest: Largest::default(), idle: Idle::default(), ..sums } } else { sums }
    }

    /// Where its result goes, for people.
    pub(super) fn goes_to(&self, fate: &FileStatus) -> String {
        let in_place = matches!(self.settings.output.destination, Destination::InPlace(_));
        match (&self.entry.output, fate) {
            (_, FileStatus::LeftOut(_) | FileStatus::Failed(_)) => NOWHERE.to_owned(),
            _ if self.settings.action == Action::Diff => "nowhere: --diff shows what a run would do".to_owned(),
            (None, _) => "standard output".to_owned(),
            (Some(place), FileStatus::Unchanged | FileStatus::PassedThrough | FileStatus::Finished) if in_place => {
                format!("{}, as it was", place.display())
            }
            (Some(place), _) => place.display().to_string(),
        }
    }

    /// What is reported of it at the end.
    pub(super) fn reported(&self, fate: &FileStatus) -> Vec<Conversation> {
        let (conversations, is_made) = {
            let mut state = self.state();
            (std::mem::take(&mut state.conversations), state.is_made)
        };
        let alone = |status: Status, why: String| vec![Conversation::without_plan(&self.name(), status, Some(why))];
        match fate {
            FileStatus::Compacted | FileStatus::Unchanged | FileStatus::PassedThrough => conversations,
            FileStatus::Finished | FileStatus::LeftOut(_) => alone(Status::Skipped, fate.to_string()),
            FileStatus::Failed(error) => {
                let why = error.to_string();
                let mut conversations: Vec<Conversation> =
                    conversations.into_iter().map(|conversation| conversation.not_written(&why)).collect();
                let several = self.inputs.many || !conversations.is_empty();
                // Where the result cannot be written, each of its conversations has the reason.
                let is_told = is_reported(error) || is_made && !conversations.is_empty();
                if several && !is_told {
                    conversations.extend(alone(Status::Failed, why));
                }
                conversations
            }
        }
    }
}

impl State {
    fn add(&mut self, settings: &Settings, conversations: Vec<Conversation>) {
        self.sums.add(&conversations);
        self.passed_through |= conversations.iter().any(|one| one.error.is_some() && one.status != Status::Compacted);
        if settings.output.has_report() {
            let from = self.conversations.len();
            self.conversations.extend(conversations);
            self.drawn.extend((from..self.conversations.len()).filter(|&at| self.conversations[at].page.is_some()));
            html::keep_largest(&mut self.conversations, &mut self.drawn);
        }
    }

    fn fate(&self) -> FileStatus {
        match (self.compacted, self.passed_through) {
            (true, _) => FileStatus::Compacted,
            (false, true) => FileStatus::PassedThrough,
            (false, false) => FileStatus::Unchanged,
        }
    }
}

/// Whether the report on a conversation tells an error.
fn is_reported(error: &anyhow::Error) -> bool {
    error.downcast_ref::<Failure>().is_some_and(|failure| failure.is_reported)
}

/// The error of a stream of which something was written already.
fn broken_off(failure: &anyhow::Error, only_looks: bool) -> anyhow::Error {
    let done = if only_looks { "printed" } else { "written" };
    let broken = Failure::new(Exit::SomeFailed, format!("{failure}; what came before it is {done}"));
    broken.reported(is_reported(failure)).into()
}

/// Refuses names of inputs that the result would be lost under.
pub(super) fn check(settings: &Settings, inputs: &Inputs) -> Result<()> {
    let only = inputs.entries.first().filter(|_| !inputs.many);
    match (&settings.output.destination, only) {
        (Destination::File(file), Some(entry)) if !settings.action.only_looks() => {
            let can_replace = settings.policy.emit == Emit::Messages;
            output::refuse_input(entry.path.as_deref(), file, can_replace)?;
            output::check(Some(file))
        }
        _ => Ok(()),
    }
}
