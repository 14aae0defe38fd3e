//! A session that is too large to be held in memory: it is read, made smaller and written by blocks of lines. The proof is
//! that of [`LineSlimmer`]; the archive has a record for each block that changed.

mod pipeline;

use std::fs::Metadata;
use std::path::Path;

use anyhow::Result;

use crate::compact::LineSlimmer;
use crate::files::blocks::{Block, BlockReader};
use crate::files::compression::Compression;
use crate::files::spool::WaitingRecords;
use crate::prune::{SessionEnd, reads_by_line};
use crate::settings::SlimSettings;
use crate::transcript::detect;
use crate::transcript::format::Format;
use crate::transcript::framing::Lines;
use crate::transcript::json::JsonKind;
use crate::transcript::source::Source;

use crate::engine::slim::place::{Outcome, Place, Saving};

/// How many times its size a compressed file is taken to unpack to.
const UNPACKED: u64 = 8;

/// Whether a file is too large to be held in memory.
pub(super) fn is_large(settings: &SlimSettings, path: &Path, there: &Metadata) -> bool {
    let times = if Compression::of_name(path).is_some() { UNPACKED } else { 1 };
    there.len().saturating_mul(times) >= settings.by_lines.from
}

/// Removes what is not sent from a large file; none where it is not a session that can be read by its lines.
///
/// # Errors
/// It cannot be read or replaced, or the result is not the same context. The file is as it was then.
pub(super) fn slim_by_lines(place: &Place<'_>) -> Result<Option<Outcome>> {
    let Place { settings, file, before: there, .. } = *place;
    let Some(format) = format_of(settings, &file.path)? else { return Ok(None) };
    let reader = BlockReader::open(&file.path, settings.by_lines.sizes)?;
    if reader.compression != Compression::of_name(&file.path) {
        return Ok(Some(Outcome::Left("its name does not say how it is compressed".to_owned())));
    }
    let end = end_of_session(settings, &file.path, format)?;
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

/// The format of a session, by its first lines; none where it is not one that can be read by its lines.
fn format_of(settings: &SlimSettings, path: &Path) -> Result<Option<&'static Format>> {
    if settings.input.lines == Some(Lines::Conversations) {
        return Ok(None);
    }
    let mut reader = BlockReader::open(path, settings.by_lines.sizes)?;
    let Some(Block::Lines(head)) = reader.next()? else { return Ok(None) };
    let Ok(Ok(source)) = str::from_utf8(&head).map(Source::of) else { return Ok(None) };
    let is_entry_a_line = source.shared_lines.is_empty()
        && source.values().all(|value| !value.raw().contains('\n') && value.kind() == JsonKind::Object);
    let Some(first) = source.first().filter(|_| is_entry_a_line) else { return Ok(None) };
    let format = match settings.input.from {
        Some(format) => Some(format),
        None => detect::format(None, &source.values()).ok(),
    };
    Ok(format.filter(|format| reads_by_line(format, first)))
}

/// What only the end of a session tells.
fn end_of_session(settings: &SlimSettings, path: &Path, format: &'static Format) -> Result<SessionEnd> {
    let mut end = SessionEnd::new(format);
    if !end.is_needed() {
        return Ok(end);
    }
    let mut reader = BlockReader::open(path, settings.by_lines.sizes)?;
    let (mut start, mut has_long_line) = (0, false);
    while let Some(block) = reader.next()? {
        match &block {
            Block::Lines(lines) => end.look_at(start, lines),
            Block::OfLongLine(_) => has_long_line = true,
        }
        start += block.bytes().len() as u64;
    }
    if has_long_line {
        // It could be a compaction, or take one back.
        end.forget_compaction();
    }
    Ok(end)
}
