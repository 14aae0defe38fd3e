//! Puts a result in its place, after everything beside it: until then, an error changes nothing.
//!
//! What belongs to a result is complete before its place is touched, in this order: the report, the page, the archive.
//! The archive comes before the result, since a run that is killed between them must not lose the messages. If the result
//! cannot take its place, what was reported and archived is taken back.

use std::fs::{self, Metadata};
use std::io;
use std::mem;
use std::path::Path;
use std::sync::atomic::Ordering;

use anyhow::Result;

use crate::engine::journal::FinishedFile;
use crate::engine::page;
use crate::engine::sink::{Sink, Written};
use crate::events::{Event, ReportRow};
use crate::exit::Failure;
use crate::files::hash::hash_of;
use crate::files::identity::Stamp;
use crate::files::input::ReadHash;
use crate::files::output::{self, CompleteFile, OutputFile};
use crate::settings::Destination;
use crate::sync::lock;

impl Sink<'_> {
    /// Reports what there is so far, completes the page of the only file, and writes to the archive; then calls
    /// `write`. If any of it fails, the report and the archive are as they were.
    pub(super) fn write_after_sides<T>(
        &self,
        written: &mut Written,
        write: impl FnOnce(&mut Written) -> Result<T>,
    ) -> Result<T> {
        let listeners = &self.records.listeners;
        let rows = mem::take(&mut written.result.rows);
        let to = self.destination_name(written.status());
        let done = listeners.report.add(&rows).map_err(|error| self.ends_the_run(error)).and_then(|added| {
            let page = self.complete_page(&rows, &to);
            let done = page.and_then(|page| self.write_after_archive(written, page, write));
            done.inspect_err(|_| listeners.report.take_back(&added))
        });
        if done.is_err() {
            written.result.rows = rows;
            return done;
        }
        written.drawn.clear();
        listeners.notify_others(&Event::Done { conversations: &rows, to: &to })?;
        done
    }

    fn write_after_archive<T>(
        &self,
        written: &mut Written,
        page: Option<CompleteFile>,
        write: impl FnOnce(&mut Written) -> Result<T>,
    ) -> Result<T> {
        let appended = written.archived.write(&self.policy, self.archive_readers())?;
        if let Some(appended) = appended.as_ref().filter(|_| self.is_stream) {
            // Who reads the stream may append to the same archive.
            appended.unlock();
        }
        let has_page = page.is_some();
        let done = page.map_or(Ok(()), CompleteFile::put).and_then(|()| write(written));
        match (done, appended) {
            (Err(error), Some(appended)) if !appended.take_back() => {
                let message = format!("{error}; the archive keeps what was cut, since another run wrote to it too");
                Err(Failure::unreadable(message).into())
            }
            (done, _) => {
                self.records.has_page.fetch_or(has_page && done.is_ok(), Ordering::Relaxed);
                done
            }
        }
    }

    /// Writes the page if this is the only file of the run. It is not in its place yet.
    fn complete_page(&self, rows: &[ReportRow], to: &str) -> Result<Option<CompleteFile>> {
        // A stream does not wait: what is printed and paid for is not lost with the page.
        let is_last = self.inputs.entries.len() == 1 && !self.is_stream;
        let page = self.records.listeners.page.as_ref().zip(self.settings.output.html.as_deref());
        let Some((page, file)) = page.filter(|_| is_last && !self.records.has_page.load(Ordering::Relaxed)) else {
            return Ok(None);
        };
        let complete = page::write(&page.with(rows, to), file, self.inputs);
        complete.map(Some).map_err(|error| self.ends_the_run(error))
    }

    /// Ends a run of many inputs with an error of its report or its page, and returns the error for this input.
    fn ends_the_run(&self, error: anyhow::Error) -> anyhow::Error {
        if !self.inputs.many {
            return error;
        }
        let known = Failure::unreadable(error.to_string()).known(true);
        lock(&self.records.failure).get_or_insert(error);
        known.into()
    }

    /// Puts the result in its place.
    pub(super) fn place(&self, written: &mut Written) -> Result<()> {
        written.has_result = true;
        let output = written.output.take();
        match (&self.settings.output.destination, self.places()) {
            (Destination::Folder(_), Some((path, _))) => {
                // Compressing the same text again could give other bytes, so the file is copied.
                let output = output.filter(|_| written.result.changed || written.compression.is_none());
                let now = fs::metadata(path).ok();
                self.put(written, path, now.as_ref(), output)
            }
            (Destination::InPlace(_), Some((path, _))) if written.result.changed => {
                // A link that took the place of the file, before or after it was read, leads to another file.
                let target = output.as_ref().and_then(OutputFile::place).unwrap_or(path);
                let (now, there) = (fs::metadata(path).ok(), fs::metadata(target).ok());
                let before = self.metadata.as_ref().and_then(Stamp::of);
                if [&now, &there].iter().any(|now| now.as_ref().and_then(Stamp::of) != before) {
                    let message =
                        format!("{} was changed meanwhile, and stays unchanged now; run again", path.display());
                    return Err(Failure::unreadable(message).into());
                }
                self.put(written, path, now.as_ref(), output)
            }
            (Destination::InPlace(_), Some((_, place))) => {
                let hash = written.read_hash.as_ref().map(ReadHash::hash).unwrap_or_default();
                self.note(written, &FinishedFile { place, read: &hash, result: &hash })?;
                self.write_after_sides(written, |_| Ok(()))
            }
            _ => {
                // A file without lines has a result too.
                written.output = output;
                self.output(written)?;
                let complete = written.output.take().map(|output| output.complete(None)).transpose()?;
                self.write_after_sides(written, |_| complete.map_or(Ok(()), CompleteFile::put))
            }
        }
    }

    /// Puts the result for a file, or a copy of the unchanged file, in its place with the mode and times of `like`. The
    /// journal notes it before: afterwards nothing shows that a file that is replaced was another. A note only counts
    /// while the file has this result.
    fn put(
        &self,
        written: &mut Written,
        path: &Path,
        like: Option<&Metadata>,
        output: Option<OutputFile>,
    ) -> Result<()> {
        let place = self.entry.output.as_deref().unwrap_or(path);
        self.refuse_links()?;
        let is_copy = output.is_none();
        let complete = match output {
            Some(output) => output.complete(like)?,
            None => output::copied(path, place)?,
        };
        if let Some(file) = complete.path().filter(|_| self.records.journal.is_some()) {
            let read = written.read_hash.as_ref().map(ReadHash::hash).unwrap_or_default();
            // A file that was neither changed nor compressed again has the bytes that were read.
            let is_the_same = !is_copy && !written.result.changed && written.compression.is_none();
            let hash = if is_the_same { Ok(read.clone()) } else { hash_of(file) };
            let hash = hash.map_err(|error| output::unwritable(place, &error))?;
            if is_copy && hash != read {
                let changed = io::Error::other(format!("{} was changed meanwhile; run again", path.display()));
                return Err(output::unwritable(place, &changed).into());
            }
            self.note(written, &FinishedFile { place, read: &read, result: &hash })?;
        }
        let kept = match &self.settings.output.destination {
            Destination::InPlace(Some(suffix)) => self.copy(suffix),
            _ => None,
        };
        self.write_after_sides(written, |_| {
            let Some(copy) = kept else { return complete.put() };
            let is_new = output::keep_copy(path, &copy)?;
            // The file itself stands as it was.
            complete.put().inspect_err(|_| {
                if is_new {
                    drop(fs::remove_file(&copy))
                }
            })
        })
    }

    /// Notes in the journal that a file is finished. A file whose summarizer failed is not: the next run tries it
    /// again.
    fn note(&self, written: &Written, file: &FinishedFile<'_>) -> Result<()> {
        let in_place = matches!(self.settings.output.destination, Destination::InPlace(_));
        let certain = in_place && file.read != file.result;
        let Some(journal) = self.records.journal.as_ref().filter(|_| !written.passed_through) else { return Ok(()) };
        let noted = journal.note(file, written.finished_rows(), certain);
        Ok(noted.map_err(|error| output::unwritable(file.place, &error))?)
    }
}
