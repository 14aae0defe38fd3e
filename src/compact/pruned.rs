//! Pruned content for the archive: the messages as text, and the bytes of media in files.

use std::path::PathBuf;

use crate::compact::archive::{self, Files, MEDIA, Section};
use crate::compact::decide::Planned;
use crate::compact::policy::{CompactionPolicy, is_lines};

/// Returns the content for the archive of a conversation that was only pruned: the pruned messages as they were, where
/// the archive is for reading. An archive of records gets them with the changes that restoring undoes.
pub(super) fn sections(policy: &CompactionPolicy, source: &str, planned: &Planned<'_>) -> Vec<Section> {
    let for_reading = policy.archive.as_deref().filter(|file| !is_lines(file));
    let touched = planned.pruned.sizes.keys().map(|&index| &planned.unmasked.messages[index]);
    for_reading.map(|_| Section::readable(source, touched)).into_iter().collect()
}

/// Returns the files with the bytes of pruned media.
pub(super) fn files(policy: &CompactionPolicy, planned: &Planned<'_>) -> Files {
    let Some(place) = archive::place(policy, planned.transcript) else { return Files::new() };
    let folder: PathBuf = place.folder(MEDIA);
    let files = planned.pruned.files.iter().chain(&planned.pruned.unsent.files);
    files.map(|file| (folder.join(&file.name), file.bytes.clone())).collect()
}
