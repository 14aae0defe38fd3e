//! Puts a result in its place, after everything beside it: until then, an error changes nothing.
//!
//! What belongs to a result is complete before its place is touched, in this order: the report, the page, the archive.
//! The archive comes before the result, since a run that is killed between them must not lose the messages. If the result
//! cannot take its place, what was reported and archived is taken back, and an earlier page is put back. A file that is
//! replaced is looked at once more right before, since another program can write to it while all of this is flushed.

use std::fs;
use std::path::{Path, PathBuf};
use std::{io, mem};

use anyhow::Result;

use crate::compact::Archived;
use crate::engine::inputs::copy_of;
use crate::engine::journal::FinishedFile;
use crate::engine::run::{Run, write_page};
use crate::engine::sink::{MOST_NOTED, Sink, Written};
use crate::events::{ConversationOutcome, Event, Listener, ReportRow};
use crate::exit::Failure;
use crate::files::append::Appended;
use crate::files::beside_archive;
use crate::files::hashed::RunningHash;
use crate::files::output::{self, CompleteFile, KeptCopy, OutputFile};
use crate::files::paths::hash_of;
use crate::files::replacing::ReplacedFile;
use crate::interrupt;
use crate::report::json::Added;
use crate::settings::Destination;
use crate::sync::lock;

/// What was written beside a result, to be taken back if the result cannot take its place.
#[derive(Default)]
struct Sides {
    reported: Option<Added>,
    archived: Option<Appended>,
    page: Option<PlacedPage>,
}

/// A page that is in its place, and what was there before.
struct PlacedPage {
    /// Where it is; nothing where it is a device, which has it for good.
    file: Option<PathBuf>,
    earlier: Option<CompleteFile>,
}

impl PlacedPage {
    /// Puts a page in its place.
    ///
    /// # Errors
    /// It cannot take its place, or the page that is there cannot be kept aside. That page stays then.
    fn put(page: CompleteFile) -> Result<Self> {
        let file = page.place().map(Path::to_owned);
        let earlier = match &file {
            Some(file) if file.exists() => Some(output::copied(file, file)?),
            _ => None,
        };
        page.put()?;
        Ok(PlacedPage { file, earlier })
    }

    /// Puts back what was there before.
    fn take_back(self) {
        match (self.earlier, self.file) {
            (Some(earlier), _) => drop(earlier.put()),
            (None, Some(file)) => drop(fs::remove_file(file)),
            (None, None) => {}
        }
    }
}

impl Sink<'_> {
    /// Lets archived messages wait for the result, and the files that they name. Files of lines are written at once: there
    /// can be many, and none replaces another.
    pub(super) fn add_archived(&self, written: &mut Written, archived: Archived) -> Result<()> {
        let Archived { mut sections, files } = archived;
        if self.run.settings.action.is_read_only() || sections.is_empty() && files.is_empty() {
            return Ok(());
        }
        self.refuse_links()?;
        let are_of_lines = self.as_lines && !self.is_stream;
        if are_of_lines {
            beside_archive::write(&files)?;
        } else {
            written.files.extend(files);
        }
        let Some(archive) = &self.policy.archive else { return Ok(()) };
        self.run.archived_runs.of(archive).name_previous(&mut sections);
        written.sections.add(archive, sections, are_of_lines)
    }

    /// Writes what stands beside the result so far, then calls `write`. If any of it fails, the report and the archive are as
    /// they were. An interrupt waits until all of it is done, unless a reader of the result can hold it up.
    pub(super) fn write_after_sides<T>(
        &self,
        written: &mut Written,
        write: impl FnOnce(&mut Written) -> Result<T>,
    ) -> Result<T> {
        if self.is_stream {
            return self.write_sides_first(written, write);
        }
        interrupt::uninterrupted(|| self.write_sides_first(written, write))
    }

    fn write_sides_first<T>(&self, written: &mut Written, write: impl FnOnce(&mut Written) -> Result<T>) -> Result<T> {
        let Run { listeners, state, .. } = self.run;
        let rows: Vec<ReportRow> = mem::take(&mut written.outcomes).into_iter().map(ReportRow::written).collect();
        let to = self.destination_name(written.status());
        let mut sides = Sides::default();
        let done = self.write_sides(written, &rows, &to, &mut sides).and_then(|()| write(written));
        let Sides { reported, archived, page } = sides;
        match done {
            Ok(done) => {
                lock(state).has_page |= page.is_some();
                written.drawn.clear();
                listeners.handle(&Event::Done { conversations: &rows, to: &to });
                Ok(done)
            }
            Err(mut error) => {
                if archived.is_some_and(|archived| !archived.take_back()) {
                    let message = format!("{error}; the archive keeps what was cut, since another run wrote to it too");
                    error = Failure::unreadable(message).into();
                }
                if let Some(added) = &reported {
                    listeners.report.take_back(added);
                }
                if let Some(page) = page {
                    page.take_back();
                }
                // These rows are taken back.
                written.outcomes = rows.into_iter().map(|row| row.outcome).collect();
                Err(error)
            }
        }
    }

    /// Reports what there is so far, writes to the archive, and puts the page of the only file in its place.
    fn write_sides(&self, written: &mut Written, rows: &[ReportRow], to: &str, sides: &mut Sides) -> Result<()> {
        let Run { settings, inputs, listeners, state, .. } = self.run;
        sides.reported = Some(listeners.report.add(rows).map_err(|error| self.run.end_with(error))?);
        // A stream does not wait: what is printed and paid for is not lost with the page.
        let has_own_page = inputs.entries.len() == 1 && !self.is_stream && !lock(state).has_page;
        let page = match (&listeners.page, settings.output.html.as_deref()) {
            (Some(page), Some(file)) if has_own_page => {
                Some(write_page(&page.with(rows, to), file).map_err(|error| self.run.end_with(error))?)
            }
            _ => None,
        };
        // The files come before the messages that name them.
        beside_archive::write(&mem::take(&mut written.files))?;
        if let Some(archive) = &self.policy.archive {
            sides.archived = written.sections.append(archive)?;
        }
        if self.is_stream
            && let Some(archived) = &sides.archived
        {
            // Who reads the stream may append to the same archive.
            archived.unlock();
        }
        if let Some(page) = page {
            sides.page = Some(PlacedPage::put(page)?);
        }
        Ok(())
    }

    /// Puts the result in its place.
    pub(super) fn place(&self, written: &mut Written) -> Result<()> {
        written.has_result = true;
        let output = written.output.take();
        match (&self.run.settings.output.destination, self.places()) {
            (Destination::Folder(_), Some((path, _))) => {
                // Compressing the same text again could give other bytes, so the file is copied.
                let output = output.filter(|_| written.changed || self.compression.is_none());
                self.put(written, path, output, None)
            }
            (Destination::InPlace(_), Some((path, _))) if written.changed => {
                let target = output.as_ref().and_then(OutputFile::place).unwrap_or(path).to_owned();
                let replaced = ReplacedFile { path, target, before: self.metadata.as_ref() };
                // Nothing is archived for a file that changed already.
                replaced.refuse_change()?;
                self.refuse_used()?;
                self.put(written, path, output, Some(replaced))
            }
            (Destination::InPlace(_), Some(_)) => {
                let hash = self.hash_of_read();
                self.note(written, &hash, &hash)?;
                self.write_after_sides(written, |_| Ok(()))
            }
            _ => {
                // A file without lines has a result too.
                written.output = output;
                self.begun(written)?;
                let complete = written.output.take().map(|output| output.complete(None)).transpose()?;
                self.write_after_sides(written, |_| complete.map_or(Ok(()), CompleteFile::put))
            }
        }
    }

    /// Puts the result for a file, or a copy of the unchanged file, in its place with the mode of the file and the times
    /// that it had when it was read. The journal notes it before: afterwards nothing shows that a file that is replaced
    /// was another. A note only counts while the file has this result.
    fn put(
        &self,
        written: &mut Written,
        path: &Path,
        output: Option<OutputFile>,
        replaced: Option<ReplacedFile<'_>>,
    ) -> Result<()> {
        let place = self.entry.output.as_deref().unwrap_or(path);
        self.refuse_links()?;
        let is_copy = output.is_none();
        let complete = match output {
            Some(output) => output.complete(self.metadata.as_ref())?,
            None => output::copied(path, place)?,
        };
        if self.run.journal.is_some()
            && let Some(file) = complete.path()
        {
            let read = self.hash_of_read();
            let hash = match complete.hash() {
                Some(hash) => hash.to_owned(),
                None if is_copy => hash_of(file).map_err(|error| output::unwritable(place, &error))?,
                // Its bytes are those that were read.
                None => read.clone(),
            };
            if is_copy && hash != read {
                let changed = io::Error::other(format!("{} changed meanwhile; run it again", path.display()));
                return Err(output::unwritable(place, &changed).into());
            }
            self.note(written, &read, &hash)?;
        }
        let kept = match &self.run.settings.output.destination {
            Destination::InPlace(Some(suffix)) if replaced.is_some() => KeptCopy::of(path, &copy_of(path, suffix))?,
            _ => None,
        };
        let Some(replaced) = replaced else { return self.write_after_sides(written, |_| complete.put()) };
        if let Some(file) = replaced.before {
            self.run.warn_of_writer(path, file);
        }
        let others = self.write_after_sides(written, |_| replaced.replace(complete, kept))?;
        if others > 0 {
            self.run.listeners.handle(&Event::NamesParted { path, others });
        }
        self.run.warn_of_database(path);
        Ok(())
    }

    fn hash_of_read(&self) -> String {
        self.read_hash.as_ref().map(RunningHash::hash).unwrap_or_default()
    }

    /// Notes in the journal that a file is finished, with the hashes of what was read and of its result. A file whose
    /// summarizer failed is not: the next run tries it again.
    fn note(&self, written: &Written, read: &str, result: &str) -> Result<()> {
        let (Some(journal), Some(real_path)) = (&self.run.journal, &self.entry.real_output) else { return Ok(()) };
        if written.passed_through {
            return Ok(());
        }
        let in_place = matches!(self.run.settings.output.destination, Destination::InPlace(_));
        let certain = in_place && read != result;
        // Part of a file would pass for all of it.
        let all = if written.outcomes.len() < MOST_NOTED { &*written.outcomes } else { &[] };
        let file = FinishedFile { real_path, read, result };
        let noted = journal.note(&file, all.iter().map(ConversationOutcome::finished).collect(), certain);
        Ok(noted.map_err(|error| output::unwritable(self.entry.output.as_deref().unwrap_or(real_path), &error))?)
    }
}
