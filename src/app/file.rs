//! One input of a run, and what becomes of it: where its result goes, and when.

use std::borrow::Cow;
use std::fmt;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::SystemTime;

use anyhow::Result;

use crate::exit::{Exit, Failure};
use crate::run::compression::Compression;
use crate::run::inputs::{Entry, Inputs};
use crate::run::journal::{Journal, hash_of};
use crate::run::output::{self, Output};
use crate::run::report::{Conversation, Status};
use crate::run::turns::Turns;
use crate::settings::{Destination, Settings};

use super::batch::Batch;
use super::{Outcome, archive};

/// What became of an input.
#[derive(Debug)]
pub(super) enum Fate {
    Compacted,
    Unchanged,
    /// An earlier run has finished it.
    Finished,
    /// It is no transcript, and nobody said it was.
    LeftOut(String),
    Failed(anyhow::Error),
}

impl Fate {
    /// What an error means for an input.
    pub(super) fn of(error: anyhow::Error, job: &Job<'_>) -> Self {
        let is_other = error.downcast_ref::<Failure>().is_some_and(|failure| failure.other_file);
        if !is_other || job.entry.named {
            return Fate::Failed(error);
        }
        let (message, name) = (error.to_string(), job.name());
        Fate::LeftOut(message.strip_prefix(&format!("{name} ")).unwrap_or(&message).to_owned())
    }
}

impl fmt::Display for Fate {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Fate::Compacted => out.write_str("compacted"),
            Fate::Unchanged => out.write_str("unchanged"),
            Fate::Finished => out.write_str("finished by an earlier run"),
            Fate::LeftOut(why) => write!(out, "left out: it {why}"),
            Fate::Failed(error) => write!(out, "{error}"),
        }
    }
}

/// An input on its way.
pub(super) struct Job<'b> {
    /// Its place among all inputs.
    pub(super) at: usize,
    pub(super) entry: &'b Entry,
    inputs: &'b Inputs,
    /// The settings for this input.
    pub(super) settings: Cow<'b, Settings>,
    /// Whose turn it is among its lines.
    pub(super) turns: Turns,
    failed: AtomicBool,
    state: Mutex<State>,
    /// How long the file was and when it was written, before it was read.
    stamp: Option<Stamp>,
}

type Stamp = (u64, SystemTime);

fn stamp(path: &Path) -> Option<Stamp> {
    let metadata = fs::metadata(path).ok()?;
    Some((metadata.len(), metadata.modified().ok()?))
}

/// What has come of an input so far.
#[derive(Default)]
struct State {
    output: Option<Output>,
    compression: Option<Compression>,
    conversations: Vec<Conversation>,
    failure: Option<anyhow::Error>,
    changed: bool,
    compacted: bool,
    printed: bool,
}

impl<'b> Job<'b> {
    pub(super) fn new(settings: &'b Settings, inputs: &'b Inputs, at: usize) -> Self {
        let entry = &inputs.entries[at];
        let settings = if inputs.many { settings.of_input(entry.path.as_deref()) } else { Cow::Borrowed(settings) };
        let (failed, state) = (AtomicBool::new(false), Mutex::default());
        let stamp = entry.path.as_deref().and_then(stamp);
        Job { at, entry, inputs, settings, turns: Turns::from(at), failed, state, stamp }
    }

    /// Its name, as reports give it.
    pub(super) fn name(&self) -> String {
        self.entry.path.as_ref().map_or("-".to_owned(), |path| path.display().to_string())
    }

    /// Why its result could not take its place, which is known before anything is done.
    pub(super) fn refused(&self, settings: &Settings) -> Option<anyhow::Error> {
        let Destination::InPlace(Some(suffix)) = &settings.destination else { return None };
        let (path, copy) = (self.entry.path.as_ref()?, self.copy(suffix)?);
        output::check_copy(path, &copy).err()
    }

    fn copy(&self, suffix: &str) -> Option<PathBuf> {
        let mut name = self.entry.path.as_ref()?.clone().into_os_string();
        name.push(suffix);
        Some(name.into())
    }

    /// Keeps conversations for the report.
    pub(super) fn remember(&self, conversations: Vec<Conversation>) {
        self.state().conversations.extend(conversations);
    }

    pub(super) fn compressed(&self, compression: Option<Compression>) {
        self.state().compression = compression;
    }

    /// Has the rest of it left alone.
    pub(super) fn fail(&self) {
        self.failed.store(true, Ordering::Relaxed);
    }

    pub(super) fn has_failed(&self) -> bool {
        self.failed.load(Ordering::Relaxed)
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Writes the result of an input that was worked on as one.
    pub(super) fn write_whole(
        &self,
        batch: &Batch<'_>,
        outcome: Outcome,
        compression: Option<Compression>,
    ) -> Result<Fate> {
        let mut state = self.state();
        state.compression = compression;
        batch.breaches.fetch_or(outcome.breaches, Ordering::Relaxed);
        (state.changed, state.compacted) = (outcome.changed, outcome.compacted);
        state.conversations = outcome.conversations;
        // First what is cut away: should the result fail to be written, it is there twice and not nowhere.
        archive::write(&self.settings, &outcome.archived, self.entry.path.as_deref())?;
        if self.is_needed(&state) {
            self.output(&mut state)?.write(&outcome.text)?;
        }
        drop(state);
        self.finish(batch)
    }

    /// Writes the result of lines, and says whether anybody still reads it.
    pub(super) fn write_lines(&self, batch: &Batch<'_>, outcome: Result<Outcome>) -> bool {
        let mut state = self.state();
        if state.failure.is_some() {
            return true;
        }
        let written = outcome.and_then(|outcome| {
            batch.breaches.fetch_or(outcome.breaches, Ordering::Relaxed);
            state.changed |= outcome.changed;
            state.compacted |= outcome.compacted;
            state.conversations.extend(outcome.conversations);
            archive::write(&self.settings, &outcome.archived, self.entry.path.as_deref())?;
            if self.settings.check {
                return Ok(true);
            }
            let read = self.output(&mut state)?.write(&outcome.text)?;
            if self.is_printed() {
                state.printed = true;
                batch.tell(&std::mem::take(&mut state.conversations))?;
            }
            Ok(read)
        });
        written.unwrap_or_else(|error| {
            self.fail();
            state.failure = Some(error);
            true
        })
    }

    /// Whether the result goes to standard output.
    fn is_printed(&self) -> bool {
        self.settings.dry_run || self.entry.output.is_none()
    }

    /// Whether a result is to be written that was not begun.
    fn is_needed(&self, state: &State) -> bool {
        let as_it_is = matches!(self.settings.destination, Destination::Folder(_) | Destination::InPlace(_));
        !self.settings.check && (self.settings.dry_run || state.changed || !as_it_is)
    }

    fn output<'s>(&self, state: &'s mut State) -> Result<&'s mut Output> {
        let output = match state.output.take() {
            Some(output) => output,
            None => {
                let compression = match &self.settings.destination {
                    Destination::File(file) => output::compression_of(file),
                    _ => state.compression,
                };
                Output::begin(self.entry.output.as_deref().filter(|_| !self.is_printed()), compression)?
            }
        };
        Ok(state.output.insert(output))
    }

    /// Has the result take its place.
    pub(super) fn finish(&self, batch: &Batch<'_>) -> Result<Fate> {
        let mut state = self.state();
        if let Some(failure) = state.failure.take() {
            return Err(if state.printed { broken_off(&failure) } else { failure });
        }
        let output = state.output.take();
        let places = self.entry.path.as_deref().zip(self.entry.output.as_deref());
        match (&self.settings.destination, places) {
            _ if self.settings.dry_run || self.settings.check => {}
            (Destination::Folder(_), Some((path, place))) => {
                self.put(path, place, output.filter(|_| state.changed), batch.journal.as_ref())?;
            }
            (Destination::InPlace(suffix), Some((path, place))) if state.changed => {
                if stamp(path) != self.stamp {
                    let message =
                        format!("{} was changed meanwhile, and is left as it is now; try again", path.display());
                    return Err(Failure::unreadable(message).into());
                }
                if let Some(copy) = suffix.as_ref().and_then(|suffix| self.copy(suffix)) {
                    output::keep_copy(path, &copy)?;
                }
                self.put(path, place, output, batch.journal.as_ref())?;
            }
            (Destination::InPlace(_), Some((path, place))) => {
                if let Some(journal) = &batch.journal {
                    let hash = hash_of(path).map_err(|error| output::unwritable(place, &error))?;
                    journal.note(place, (&hash, &hash), false).map_err(|error| output::unwritable(place, &error))?;
                }
            }
            _ => {
                // Of no lines there is a result too.
                state.output = output;
                self.output(&mut state)?;
                state.output.take().map_or(Ok(()), |output| output.end(None, |_| Ok(())))?;
            }
        }
        Ok(if state.compacted { Fate::Compacted } else { Fate::Unchanged })
    }

    /// Puts a result, or a copy of what it would be made of, in its place, and notes that it is there. A file that is
    /// replaced is noted before: nothing would tell afterwards that it was ever another.
    fn put(&self, path: &Path, place: &Path, output: Option<Output>, journal: Option<&Journal>) -> Result<()> {
        let mut hashes = (String::new(), String::new());
        let in_place = matches!(self.settings.destination, Destination::InPlace(_));
        if journal.is_some() {
            hashes.0 = hash_of(path).map_err(|error| output::unwritable(place, &error))?;
        }
        let before = |file: &Path| {
            let Some(journal) = journal else { return Ok(()) };
            hashes.1 = hash_of(file)?;
            if in_place { journal.note(place, (&hashes.0, &hashes.1), true) } else { Ok(()) }
        };
        match output {
            Some(output) => output.end(Some(path), before)?,
            None => output::copy(path, place, before)?,
        }
        match journal.filter(|_| !in_place) {
            Some(journal) => {
                let noted = journal.note(place, (&hashes.0, &hashes.1), false);
                Ok(noted.map_err(|error| output::unwritable(place, &error))?)
            }
            None => Ok(()),
        }
    }

    /// What is reported of it at the end.
    pub(super) fn told(&self, fate: &Fate) -> Vec<Conversation> {
        let conversations = std::mem::take(&mut self.state().conversations);
        let alone = |status: Status, why: String| vec![Conversation::without_plan(&self.name(), status, Some(why))];
        match fate {
            Fate::Compacted | Fate::Unchanged => conversations,
            Fate::Finished | Fate::LeftOut(_) => alone(Status::Skipped, fate.to_string()),
            Fate::Failed(error) => {
                let why = error.to_string();
                let mut conversations: Vec<Conversation> =
                    conversations.into_iter().map(|conversation| conversation.not_written(&why)).collect();
                let several = self.inputs.many || !conversations.is_empty();
                if several
                    && !conversations.iter().any(|one| one.error.as_deref().is_some_and(|told| why.contains(told)))
                {
                    conversations.extend(alone(Status::Failed, why));
                }
                conversations
            }
        }
    }
}

/// The error of a stream of which something was written already.
fn broken_off(failure: &anyhow::Error) -> anyhow::Error {
    Failure::new(Exit::SomeFailed, format!("{failure}; what came before it is written")).into()
}

/// Refuses names of inputs that the result would be lost under.
pub(super) fn check(settings: &Settings, inputs: &Inputs) -> Result<()> {
    let only = inputs.entries.first().filter(|_| !inputs.many);
    match (&settings.destination, only) {
        (Destination::File(file), Some(entry)) if !settings.dry_run && !settings.check => {
            output::check(entry.path.as_deref(), Some(file))
        }
        _ => Ok(()),
    }
}
