//! Checks and writes the archive, which keeps what a compaction cuts away.

use std::path::Path;

use anyhow::Result;

use crate::compact::{Archived, CompactionPolicy};
use crate::files::readers::Readers;
use crate::files::{append, links, output};
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

/// Writes archived files, then the archived messages that name them, for `readers`.
///
/// # Errors
/// They cannot be written.
pub(super) fn write(
    settings: &Settings,
    policy: &CompactionPolicy,
    archived: &Archived,
    readers: &Readers,
) -> Result<()> {
    if settings.action.is_read_only() {
        return Ok(());
    }
    if !archived.sections.is_empty() || !archived.files.is_empty() {
        refuse_links(settings, policy)?;
    }
    append::files(&archived.files, readers)?;
    match &policy.archive {
        Some(archive) if !archived.sections.is_empty() => append::sections(archive, &archived.sections, readers),
        _ => Ok(()),
    }
}
