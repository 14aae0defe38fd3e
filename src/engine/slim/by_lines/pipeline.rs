//! The threads that slim a large file: one reads, one makes smaller, one writes, one archives. Each hands its blocks to
//! the next, and waits where that is slower, so that few blocks are in memory.
//!
//! A thread that fails receives no more, so that those before it end, too. Its own error is the reason that is told.

use std::panic::resume_unwind;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread;

use anyhow::Result;

use crate::compact::{LineSlimmer, Section};
use crate::exit::Failure;
use crate::files::atomic::Readers;
use crate::files::blocks::{Block, BlockReader};
use crate::files::output::OutputFile;
use crate::files::spool::WaitingRecords;
use crate::files::written::WriteOptions;
use crate::hash::Hasher;
use crate::rewrite::ranges::{ClosingRecord, RangePlace, RangeTotals, range_record};
use crate::rewrite::{Edit, pieces};
use crate::transcript::format::Format;

use crate::engine::archived_runs::RunsBefore;
use crate::engine::slim::place::{Place, checked_archive};

/// The blocks that wait between two threads.
const WAITING: usize = 1;

/// What came of all blocks of a file.
pub(super) struct SlimmedFile {
    pub(super) before: TextHash,
    pub(super) after: TextHash,
    /// What was taken, each with the bytes that it saves.
    pub(super) by_label: Vec<(&'static str, u64)>,
    /// The result, where anything changed and it was to be written.
    pub(super) result: Option<OutputFile>,
    /// The records that restore it, where an archive keeps them.
    pub(super) records: Option<WaitingRecords>,
}

/// The hash and the length of a text.
pub(super) struct TextHash {
    sha256: String,
    pub(super) bytes: u64,
}

/// A block of lines, and the edits that take from it what is not sent.
struct SlimmedBlock {
    lines: Vec<u8>,
    edits: Vec<Edit>,
    /// Where it begins in the file.
    start: u64,
    /// Where it is in the result.
    range: RangePlace,
}

/// What the thread of the archive is sent.
enum ArchivePart {
    Block(Arc<SlimmedBlock>),
    /// All blocks were sent; the text of the record behind them.
    End(String),
}

/// What the thread in the middle knows at the end.
struct Slimmed {
    by_label: Vec<(&'static str, u64)>,
    /// The number of blocks that changed.
    ranges: u64,
}

/// Slims the blocks of a file. The result is not in its place yet, and nothing is in the archive.
///
/// # Errors
/// It cannot be read or written, or the result is not the same context.
pub(super) fn slim(
    place: &Place<'_>,
    format: &'static Format,
    reader: BlockReader,
    slimmer: LineSlimmer,
) -> Result<SlimmedFile> {
    let archives = place.settings.archives && !place.settings.dry_run;
    let (to_slimmer, read_blocks) = sync_channel(WAITING);
    let (to_writer, slimmed_blocks) = sync_channel(WAITING);
    let (to_archive, parts) = sync_channel(WAITING);
    thread::scope(|scope| {
        let reading = scope.spawn(move || read(reader, &to_slimmer));
        let writing = scope.spawn(move || write(place, &slimmed_blocks));
        let archiving = scope.spawn(move || archive(place, format, archives, &parts));
        let slimmed = slim_blocks(place, slimmer, read_blocks, to_writer, &to_archive);
        let before = joined(reading.join())?;
        let (after, result) = joined(writing.join())?;
        if let (Some(before), Some(Slimmed { by_label, ranges })) = (before, slimmed?) {
            let totals = RangeTotals { count: ranges, original_bytes: before.bytes, result_bytes: after.bytes };
            let source = place.file.name();
            let closing = ClosingRecord::new(&source, format.name, &before.sha256, &after.sha256, totals);
            if to_archive.send(ArchivePart::End(closing.text())).is_ok() {
                let records = joined(archiving.join())?;
                return Ok(SlimmedFile { before, after, by_label, result, records });
            }
        }
        drop(to_archive);
        joined(archiving.join())?;
        Err(Failure::unreadable(format!("{} is left as it is: a part of it is missing", place.file.name())).into())
    })
}

fn joined<T>(ended: thread::Result<T>) -> T {
    ended.unwrap_or_else(|panic| resume_unwind(panic))
}

/// Reads all blocks. Returns the hash of the file; nothing where nobody receives them any more.
fn read(mut reader: BlockReader, to: &SyncSender<Block>) -> Result<Option<TextHash>> {
    let (mut hasher, mut bytes) = (Hasher::default(), 0);
    while let Some(block) = reader.next()? {
        hasher.add(block.bytes());
        bytes += block.bytes().len() as u64;
        if to.send(block).is_err() {
            return Ok(None);
        }
    }
    Ok(Some(TextHash { sha256: hasher.end(), bytes }))
}

/// Makes the blocks smaller. Returns nothing where somebody receives them no more.
fn slim_blocks(
    place: &Place<'_>,
    mut slimmer: LineSlimmer,
    blocks: Receiver<Block>,
    to_writer: SyncSender<Arc<SlimmedBlock>>,
    to_archive: &SyncSender<ArchivePart>,
) -> Result<Option<Slimmed>> {
    let name = place.file.name();
    let refused = |why: String| Failure::unreadable(format!("{name} is left as it is: {why}"));
    let mut range = RangePlace { number: 0, offset: 0, bytes: 0 };
    let mut start = 0;
    for block in blocks {
        let (lines, edits) = match block {
            Block::Lines(lines) => {
                let edits = slimmer.slim(start, &lines).map_err(refused)?;
                (lines, edits)
            }
            Block::OfLongLine(part) => (part, Vec::new()),
        };
        range.bytes = pieces(&lines, &edits).map(|piece| piece.len() as u64).sum();
        let block = Arc::new(SlimmedBlock { lines, edits, start, range });
        start += block.lines.len() as u64;
        range.offset += range.bytes;
        if !block.edits.is_empty() {
            range.number += 1;
            if to_archive.send(ArchivePart::Block(Arc::clone(&block))).is_err() {
                return Ok(None);
            }
        }
        if to_writer.send(block).is_err() {
            return Ok(None);
        }
    }
    let by_label = slimmer.finish().map_err(refused)?;
    Ok(Some(Slimmed { by_label, ranges: range.number }))
}

/// Writes the blocks, from the first one on that changed. Returns the hash of the result.
fn write(place: &Place<'_>, blocks: &Receiver<Arc<SlimmedBlock>>) -> Result<(TextHash, Option<OutputFile>)> {
    let (mut hasher, mut bytes) = (Hasher::default(), 0);
    let mut result = None;
    for block in blocks {
        for piece in pieces(&block.lines, &block.edits) {
            hasher.add(piece);
        }
        bytes += block.range.bytes;
        if result.is_none() && !block.edits.is_empty() && !place.settings.dry_run {
            result = Some(begun(place, block.start)?);
        }
        if let Some(result) = &mut result {
            result.write(pieces(&block.lines, &block.edits))?;
        }
    }
    Ok((TextHash { sha256: hasher.end(), bytes }, result))
}

/// Begins the result with what stands before the first block that changes.
fn begun(place: &Place<'_>, before: u64) -> Result<OutputFile> {
    let path = &place.file.path;
    let mut reader = BlockReader::open(path, place.settings.input.large.sizes)?;
    let readers = Readers::of_result(Some(path));
    let options = WriteOptions { compression: reader.compression, readers: &readers, hashed: false };
    let mut result = OutputFile::begin(Some(path), options)?;
    let mut missing = before;
    while missing > 0
        && let Some(block) = reader.next()?
    {
        let bytes = block.bytes();
        let taken = bytes.len().min(usize::try_from(missing).unwrap_or(usize::MAX));
        result.write([&bytes[..taken]])?;
        missing -= taken as u64;
    }
    Ok(result)
}

/// Writes the records of the blocks beside the archive, where there is one. Returns nothing where nothing changed.
fn archive(
    place: &Place<'_>,
    format: &'static Format,
    archives: bool,
    parts: &Receiver<ArchivePart>,
) -> Result<Option<WaitingRecords>> {
    let source = place.file.name();
    let first = parts.recv();
    if !archives || !matches!(first, Ok(ArchivePart::Block(_))) {
        // Without an archive, blocks are received for nothing.
        let mut part = first;
        while let Ok(ArchivePart::Block(_)) = part {
            part = parts.recv();
        }
        return Ok(None);
    }
    let (mut first, mut is_whole) = (Some(first), false);
    let archive = checked_archive(place.file)?;
    let runs_before = RunsBefore::read(&archive);
    let records = WaitingRecords::write(&archive, || {
        if is_whole {
            return Ok(None);
        }
        match first.take().unwrap_or_else(|| parts.recv()) {
            Ok(ArchivePart::Block(block)) => {
                let record = range_record(&source, format.name, block.range, &block.lines, &block.edits);
                Ok(Some(Section::Record(record)))
            }
            Ok(ArchivePart::End(closing)) => {
                is_whole = true;
                let mut closing = Section::Record(closing);
                runs_before.name_previous(std::slice::from_mut(&mut closing));
                Ok(Some(closing))
            }
            Err(_) => Ok(None),
        }
    })?;
    Ok(if is_whole { Some(records) } else { None })
}
