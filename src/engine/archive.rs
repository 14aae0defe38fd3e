//! Checks and writes the archive, which keeps what a compaction cuts away.

use std::collections::HashMap;
use std::fs::File;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::sync::OnceLock;

use anyhow::Result;
use serde::Deserialize;

use crate::compact::{Archived, CompactionPolicy};
use crate::files::readers::Readers;
use crate::files::{append, links, output};
use crate::hash::sha256;
use crate::plan::summaries::number_rounds;
use crate::settings::Settings;
use crate::transcript::framing::Document;

/// The rounds of the summaries in the archive of a run, which is read when the first one is looked up.
#[derive(Default)]
pub(super) struct ArchivedRounds(OnceLock<HashMap<String, u32>>);

impl ArchivedRounds {
    /// Numbers the rounds of the summaries of tcompact in a document. What the archive says of one holds.
    pub(super) fn number(&self, policy: &CompactionPolicy, document: &mut Document<'_>) {
        let Some(archive) = policy.archive.as_deref().filter(|_| policy.has_records()) else { return };
        let known = |text: &str| self.0.get_or_init(|| read_rounds(archive)).get(&sha256(text.as_bytes())).copied();
        document.transcripts.iter_mut().for_each(|transcript| number_rounds(transcript, &policy.cut, known));
    }
}

/// Reads the round of each summary in an archive, by the hash of its text. Lines that are not records have none, and so
/// has an archive that is not there yet.
fn read_rounds(archive: &Path) -> HashMap<String, u32> {
    #[derive(Deserialize)]
    struct Summarized {
        round: u32,
        summary_sha256: String,
    }
    let mut rounds = HashMap::new();
    if !archive.is_file() {
        return rounds;
    }
    let Ok(mut file) = File::open(archive).map(BufReader::new) else { return rounds };
    let mut line = Vec::new();
    while file.read_until(b'\n', &mut line).is_ok_and(|length| length > 0) {
        if let Ok(Summarized { round, summary_sha256 }) = serde_json::from_slice(&line) {
            rounds.insert(summary_sha256, round);
        }
        line.clear();
    }
    rounds
}

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
