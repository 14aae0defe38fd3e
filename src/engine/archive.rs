//! Checks and writes the archive, which keeps what a compaction cuts away.

use std::mem;
use std::path::{Path, PathBuf};

use anyhow::Result;

use crate::compact::{Archived, CompactionPolicy};
use crate::files::append::{self, Appended, WaitingSections};
use crate::files::readers::Readers;
use crate::files::{links, output};
use crate::settings::Settings;

/// Refuses an archive that cannot be written, or that is one of `others`, before anything is done or paid for.
///
/// # Errors
/// Which of the two, and what to do.
pub(super) fn check(settings: &Settings, policy: &CompactionPolicy, others: &[Option<&Path>]) -> Result<()> {
    let is_written = policy.disabled.is_none() || settings.repair.is_some();
    match &policy.archive {
        Some(file) if !settings.action.is_read_only() && is_written => append::check(file, others),
        _ => Ok(()),
    }
}

/// Refuses links in the path of an archive that a preset chose: its folders are tcompact's own.
///
/// # Errors
/// A part of the path is a link.
pub(super) fn refuse_links(settings: &Settings, policy: &CompactionPolicy) -> Result<()> {
    let Some(archive) = policy.archive.as_deref().filter(|_| !settings.output.archive_chosen) else { return Ok(()) };
    Ok(links::refuse(Path::new(""), archive).map_err(|error| output::unwritable(archive, &error))?)
}

/// What waits for the archive until the result is complete.
#[derive(Debug, Default)]
pub(super) struct Waiting {
    sections: WaitingSections,
    files: Vec<(PathBuf, Vec<u8>)>,
}

impl Waiting {
    /// Adds archived messages, and the files that they name. Files of lines are written at once: there can be many, and
    /// none replaces another.
    ///
    /// # Errors
    /// They cannot be written.
    pub(super) fn add(
        &mut self,
        settings: &Settings,
        policy: &CompactionPolicy,
        archived: Archived,
        are_of_lines: bool,
        readers: &Readers,
    ) -> Result<()> {
        let Archived { sections, files } = archived;
        if settings.action.is_read_only() || sections.is_empty() && files.is_empty() {
            return Ok(());
        }
        refuse_links(settings, policy)?;
        if are_of_lines {
            append::files(&files, readers)?;
        } else {
            self.files.extend(files);
        }
        match &policy.archive {
            Some(archive) => self.sections.add(archive, sections, are_of_lines),
            None => Ok(()),
        }
    }

    /// Writes the files, then the messages that name them.
    ///
    /// # Errors
    /// They cannot be written; the archive stays unchanged.
    pub(super) fn write(&mut self, policy: &CompactionPolicy, readers: &Readers) -> Result<Option<Appended>> {
        append::files(&mem::take(&mut self.files), readers)?;
        match &policy.archive {
            Some(archive) => self.sections.append(archive, readers),
            None => Ok(None),
        }
    }
}
