//! A session that is too large to be held in memory: it is read, made smaller and written by blocks of lines. The proof is
//! that of [`LineSlimmer`]; the archive has a record for each block that changed.

mod pipeline;

use anyhow::Result;

use crate::compact::LineSlimmer;
use crate::files::blocks::BlockReader;
use crate::files::compression::Compression;
use crate::files::spool::WaitingRecords;

use crate::engine::large::{end_of_session, format_by_lines};
use crate::engine::slim::place::{Outcome, Place, Saving};

/// Removes what is not sent from a large file; none where it is not a session that can be read by its lines.
///
/// # Errors
/// It cannot be read or replaced, or the result is not the same context. The file is as it was then.
pub(super) fn slim_by_lines(place: &Place<'_>) -> Result<Option<Outcome>> {
    let Place { settings, file, before: there, .. } = *place;
    let Some(format) = format_by_lines(&settings.input, &file.path)? else { return Ok(None) };
    let reader = BlockReader::open(&file.path, settings.input.large.sizes)?;
    if reader.compression != Compression::of_name(&file.path) {
        return Ok(Some(Outcome::Left("its name does not say how it is compressed".to_owned())));
    }
    let end = end_of_session(&settings.input, &file.path, format)?;
    let slimmer = LineSlimmer::new(format, end, settings.archives);
    let slimmed = pipeline::slim(place, format, reader, slimmer)?;
    if slimmed.by_label.is_empty() {
        return Ok(Some(Outcome::Nothing(there.len())));
    }
    // How small a compressed file becomes is known once it is written.
    let before = if settings.dry_run { slimmed.before.bytes } else { there.len() };
    let saved = slimmed.before.bytes.saturating_sub(slimmed.after.bytes);
    let after = before.saturating_sub(saved);
    let mut saving = Saving { before, after, by_label: slimmed.by_label, other_names: 0, warning: None };
    if let Some(result) = slimmed.result {
        let result = result.complete(Some(there))?;
        let archive = || slimmed.records.map(WaitingRecords::append).transpose();
        place.put(result, archive, &mut saving)?;
    }
    Ok(Some(Outcome::Slimmed(saving)))
}
