//! Restores a file whose archive has records of ranges: in a stream, so that neither the file nor what goes back into it
//! need fit in memory. Each round is written whole, and proved by its hashes before it counts.

use std::collections::{BTreeSet, HashMap, HashSet};

use anyhow::Result;

use crate::events::RestoredRounds;
use crate::exit::Failure;
use crate::hash::Hasher;
use crate::rewrite::pieces;
use crate::rewrite::way_back::without_end;
use crate::settings::LargeFiles;

use crate::engine::archive::Archive;
use crate::engine::broken_records::BrokenRun;
use crate::engine::large_text::{LargeText, Unfinished, copy};
use crate::engine::range_reader::RangeReader;
use crate::engine::range_runs::{LeftRange, RangeRun};
use crate::engine::restorer::{LostRun, Restored, Restorer, has_same_name, why_refused};

/// Whether a text has in each of some ranges what a run left there.
fn has_all(ranges: &[LeftRange], text: &LargeText) -> Result<bool> {
    let mut reader = text.reader()?;
    let mut at = 0;
    for LeftRange { place, left_sha256 } in ranges {
        let Some(between) = place.offset.checked_sub(at) else { return Ok(false) };
        // A range of which the run left nothing is in no text that ends before it.
        if copy(&mut reader, between, &mut |_| Ok(()))? < between {
            return Ok(false);
        }
        let mut hasher = Hasher::default();
        let read = copy(&mut reader, place.bytes, &mut |bytes| {
            hasher.add(bytes);
            Ok(())
        })?;
        if read < place.bytes || *left_sha256 != Some(hasher.end()) {
            return Ok(false);
        }
        at = place.offset.saturating_add(read);
    }
    Ok(true)
}

/// The restoration of one large text.
pub(super) struct RangeRestorer<'r, 'p> {
    pub(super) archive: &'r mut Archive<'p>,
    /// The file of the text, and how messages call it.
    pub(super) file: &'r str,
    pub(super) name: &'r str,
    /// The most rounds to put back.
    most: usize,
    /// Whether the user asked for so many.
    is_limited: bool,
    pub(super) done: RestoredRounds,
    /// The hashes before and after of the runs that were put back.
    used: HashSet<(String, String)>,
    /// The last run that the archive does not have.
    lost: Option<LostRun>,
}

/// What a text begins with: the hashes of some beginnings by their lengths, and the length of the whole.
struct Beginnings {
    hashes: HashMap<u64, String>,
    length: u64,
    /// The lengths and hashes of those that end a line, and that another record than that of a range names.
    known_lines: Vec<(usize, String)>,
}

impl Beginnings {
    /// Whether the text begins with what a run found.
    fn is_original(&self, run: &RangeRun) -> bool {
        self.hashes.get(&run.totals.original_bytes) == Some(&run.original_sha256)
    }

    /// Whether the text begins with what a run left.
    fn is_left(&self, run: &RangeRun) -> bool {
        self.hashes.get(&run.totals.result_bytes) == Some(&run.result_sha256)
    }
}

impl<'r, 'p> RangeRestorer<'r, 'p> {
    pub(super) fn new(archive: &'r mut Archive<'p>, file: &'r str, name: &'r str, rounds: Option<usize>) -> Self {
        // Each record counts once, so that forged ones cannot lead in a circle.
        let most = rounds.unwrap_or(usize::MAX).min(archive.number_of_records());
        RangeRestorer {
            archive,
            file,
            name,
            most,
            is_limited: rounds.is_some_and(|rounds| rounds <= most),
            done: RestoredRounds::default(),
            used: HashSet::new(),
            lost: None,
        }
    }

    /// Whether the archive has the last run on a text: the text is as that left it, or it is later than those that were put back
    /// by another archive.
    pub(super) fn has_run_after(&mut self, text: &LargeText, done: &RestoredRounds) -> bool {
        let Ok(beginnings) = self.beginnings(text) else { return false };
        if let Some(run) = self.run_that_left(&beginnings) {
            return run.totals.result_bytes == beginnings.length || run.time > done.newest_run_time;
        }
        let Some((end, hash)) = self.longest_known(&beginnings) else { return false };
        let places = self.archive.of_whole(hash).cloned().unwrap_or_default();
        let Ok(records) = self.archive.read(&places) else { return false };
        *end as u64 == beginnings.length || records.iter().any(|record| record.summarized_at > done.newest_run_time)
    }

    /// Puts back all rounds that the archive has, the last first: those of ranges in a stream, the others in memory.
    ///
    /// # Errors
    /// The archive has nothing of the text, or what it has is not proved.
    pub(super) fn restore_all(
        &mut self,
        given: &LargeText,
        begin: &dyn Fn() -> Result<Unfinished>,
    ) -> Result<LargeText> {
        let mut restored: Option<LargeText> = None;
        let beginnings = loop {
            if let Some(lost) = &self.lost
                && lost.rounds < self.done.rounds
            {
                return Err(self.refused(&lost.sentence()));
            }
            let is_end = self.done.rounds > 0 && self.done.rounds >= self.most;
            if is_end
                && self.is_limited
                && let Some(text) = restored
            {
                return Ok(text);
            }
            let text = restored.as_ref().unwrap_or(given);
            let beginnings = self.beginnings(text)?;
            if is_end {
                break beginnings;
            }
            let run = self.run_that_left(&beginnings);
            let known = self.longest_known(&beginnings).map_or(0, |(end, _)| *end as u64);
            let left = run.as_ref().map_or(known, |run| run.totals.result_bytes.max(known));
            if left > 0 && left < beginnings.length {
                self.refuse_missing_ranges(text, &beginnings)?;
                self.refuse_broken_run(run.as_ref(), &beginnings)?;
            }
            // The run that left most is the last one: a later run begins with what earlier ones left.
            let is_memory_first = run.as_ref().is_none_or(|run| known > run.totals.result_bytes);
            if is_memory_first && let Some(text) = self.restore_in_memory(text, known, beginnings.length, begin)? {
                restored = Some(text);
                continue;
            }
            let Some(run) = run else { break beginnings };
            restored = Some(self.put_back(text, &run, beginnings.length, begin()?)?);
        };
        if let Some(text) = restored {
            self.refuse_missing_ranges(&text, &beginnings)?;
            return Ok(text);
        }
        let mut runs = self.archive.range_runs.runs.iter();
        let message = if runs.any(|run| beginnings.is_original(run)) {
            format!("{}: it is as it was before it was compacted; nothing is to be put back", self.name)
        } else {
            self.archive.no_record_message(self.name)
        };
        Err(Failure::unreadable(message).into())
    }

    /// The length and the hash of the longest beginning that the record of a whole text names as what was left.
    fn longest_known<'b>(&self, beginnings: &'b Beginnings) -> Option<&'b (usize, String)> {
        beginnings.known_lines.iter().rfind(|(_, hash)| self.archive.of_whole(hash).is_some())
    }

    /// The hashes of the beginnings that runs left or found.
    fn beginnings(&self, text: &LargeText) -> Result<Beginnings> {
        let mut lengths = BTreeSet::new();
        let runs = &self.archive.range_runs;
        for run in runs.runs.iter().chain(&runs.incomplete) {
            lengths.extend([run.totals.original_bytes, run.totals.result_bytes]);
        }
        let known_lines = self.known_lines(text)?;
        let (mut hasher, mut hashes, mut length) = (Hasher::default(), HashMap::new(), 0);
        let mut reader = text.reader()?;
        for wanted in lengths {
            length += copy(&mut reader, wanted - length, &mut |bytes| {
                hasher.add(bytes);
                Ok(())
            })?;
            if length < wanted {
                return Ok(Beginnings { hashes, length, known_lines });
            }
            hashes.insert(length, hasher.clone().end());
        }
        length += copy(&mut reader, u64::MAX, &mut |_| Ok(()))?;
        Ok(Beginnings { hashes, length, known_lines })
    }

    /// Refuses a text that begins with what a run left whose records are not all there.
    ///
    /// # Errors
    /// The text begins so; the error says what is missing.
    fn refuse_missing_ranges(&self, text: &LargeText, beginnings: &Beginnings) -> Result<()> {
        let runs = &self.archive.range_runs;
        if runs.incomplete.iter().any(|run| beginnings.is_left(run) && !beginnings.is_original(run)) {
            return Err(self.refused_as_missing("a run on this text lacks some of the ranges"));
        }
        for ranges in &runs.unclosed {
            if has_all(ranges, text)? {
                return Err(self.refused_as_missing("a run on this text lacks the record behind the ranges"));
            }
        }
        Ok(())
    }

    /// Refuses a text because the archive lacks something, which can be what is damaged in it.
    fn refused_as_missing(&self, what: &str) -> anyhow::Error {
        match self.archive.damaged() {
            Some(damaged) => self.refused(&format!("{what}; {damaged}")),
            None => self.refused(what),
        }
    }

    /// Refuses to put back a run where the text has grown since, and a later run on the text has only a broken record.
    ///
    /// # Errors
    /// There is such a run, or nothing tells that there is none.
    fn refuse_broken_run(&self, next: Option<&RangeRun>, beginnings: &Beginnings) -> Result<()> {
        for broken in &self.archive.broken {
            // The run was killed, and repeated; or it was before the next one, which is put back without it.
            let is_repeated =
                next.is_some_and(|next| broken.found(&next.original_sha256)) || self.archive.has_repeated(broken);
            let is_before = next.is_some_and(|next| broken.id().is_some() && broken.id() == next.previous.as_deref());
            if is_repeated || is_before {
                continue;
            }
            let told = match broken.told_of(&beginnings.known_lines, None) {
                BrokenRun::Unknown if broken.file().is_some_and(|file| !has_same_name(file, self.file)) => continue,
                told => told,
            };
            if let Some(why) = why_refused(self.archive, broken, told) {
                return Err(self.refused(&why));
            }
        }
        Ok(())
    }

    /// The run that left the longest beginning of a text, the last one of several.
    fn run_that_left(&self, text: &Beginnings) -> Option<RangeRun> {
        let mut found: Option<&RangeRun> = None;
        for run in &self.archive.range_runs.runs {
            // What a run left can be the beginning of what it found.
            let is_left = text.is_left(run) && !text.is_original(run);
            let is_used = self.used.contains(&(run.original_sha256.clone(), run.result_sha256.clone()));
            let is_longer = found.is_none_or(|other| other.totals.result_bytes <= run.totals.result_bytes);
            if is_left && !is_used && is_longer {
                found = Some(run);
            }
        }
        found.cloned()
    }

    /// Writes what a run found, with what stands behind what it left. `length` is that of the text.
    fn put_back(
        &mut self,
        text: &LargeText,
        run: &RangeRun,
        length: u64,
        mut written: Unfinished,
    ) -> Result<LargeText> {
        if self.done.rounds == 0 {
            self.done.newest_run_time.clone_from(&run.time);
        }
        self.done.rounds += 1;
        self.set_lost(self.archive.lost_run(run.previous.as_deref()));
        self.done.files.insert(run.file.clone());
        self.done.grown += usize::from(run.totals.result_bytes < length);
        self.used.insert((run.original_sha256.clone(), run.result_sha256.clone()));
        let refused = self.refused(
            "its records do not give the original of this text back; the archive was changed, or part of it is missing",
        );
        let mut reader = text.reader()?;
        let mut hasher = Hasher::default();
        let mut put = |bytes: &[u8]| {
            hasher.add(bytes);
            written.write(bytes)
        };
        let mut ranges = RangeReader::open(self.archive, run)?;
        let mut at = 0;
        while let Some(record) = ranges.next()? {
            let range = record.range;
            let (between, end) = (range.offset.checked_sub(at), range.offset.checked_add(range.bytes));
            let (Some(between), Some(end)) = (between, end) else { return Err(refused) };
            if end > run.totals.result_bytes {
                return Err(refused);
            }
            copy(&mut reader, between, &mut put)?;
            let mut lines = Vec::new();
            copy(&mut reader, range.bytes, &mut |bytes| {
                lines.extend_from_slice(bytes);
                Ok(())
            })?;
            let Some(restored) = record.restore(&lines) else { return Err(refused) };
            put(&restored)?;
            at = end;
        }
        copy(&mut reader, run.totals.result_bytes - at, &mut put)?;
        if hasher.end() != run.original_sha256 {
            return Err(refused);
        }
        copy(&mut reader, u64::MAX, &mut |bytes| written.write(bytes))?;
        written.finish()
    }

    /// Notes that the archive does not have the run before the last one that was put back, if there is an id.
    fn set_lost(&mut self, id: Option<String>) {
        if self.lost.is_none()
            && let Some(id) = id
        {
            self.done.lost = Some(id.clone());
            self.lost = Some(LostRun { id, rounds: self.done.rounds });
        }
    }

    /// Puts back a round whose record holds a whole text: what it left is the beginning of the text with the length
    /// `known`, or a shorter text that was written anew. A text that was read whole is not large.
    fn restore_in_memory(
        &mut self,
        text: &LargeText,
        known: u64,
        length: u64,
        begin: &dyn Fn() -> Result<Unfinished>,
    ) -> Result<Option<LargeText>> {
        let end = if known == 0 && length < LargeFiles::SLIMMED.from { length } else { known };
        if self.archive.by_result.is_empty() || end == 0 {
            return Ok(None);
        }
        let mut reader = text.reader()?;
        let mut beginning = Vec::new();
        copy(&mut reader, end, &mut |bytes| {
            beginning.extend_from_slice(bytes);
            Ok(())
        })?;
        let mut restorer = Restorer::new(self.archive, self.file, self.name, Some(1));
        let Some(Restored { text: restored, edits }) = restorer.restore_if_any(&beginning)? else { return Ok(None) };
        let done = restorer.done;
        if self.done.rounds == 0 {
            self.done.newest_run_time = done.newest_run_time;
        }
        self.done.files.extend(done.files);
        self.done.rounds += done.rounds;
        self.set_lost(done.lost);
        self.done.grown += done.grown + usize::from(end < length);
        self.done.missing = done.missing;
        self.done.undone_before = self.done.undone_before.take().or(done.undone_before);
        self.done.lines.extend(done.lines);
        let mut written = begin()?;
        for piece in pieces(&restored, &edits) {
            written.write(piece)?;
        }
        copy(&mut reader, u64::MAX, &mut |bytes| written.write(bytes))?;
        Ok(Some(written.finish()?))
    }

    /// The lengths and hashes of the beginnings that end a line, with or without its end, and that the record of a whole text
    /// names as what was left, or a broken record.
    fn known_lines(&self, text: &LargeText) -> Result<Vec<(usize, String)>> {
        let archive = &*self.archive;
        let (mut hasher, mut length, mut known) = (Hasher::default(), 0, Vec::new());
        if archive.by_result.is_empty() && archive.broken.is_empty() {
            return Ok(known);
        }
        copy(&mut text.reader()?, u64::MAX, &mut |bytes| {
            for line in bytes.split_inclusive(|byte| *byte == b'\n') {
                let content = without_end(line);
                for part in [content, &line[content.len()..]] {
                    if part.is_empty() {
                        continue;
                    }
                    hasher.add(part);
                    length += part.len();
                    let hash = hasher.clone().end();
                    if archive.of_whole(&hash).is_some() || archive.names_in_broken(&hash) {
                        known.push((length, hash));
                    }
                }
            }
            Ok(())
        })?;
        Ok(known)
    }

    fn refused(&self, why: &str) -> anyhow::Error {
        let archive = self.archive.path.display();
        Failure::unreadable(format!("{}: {archive} cannot be used: {why}", self.name)).into()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::hash::sha256;
    use crate::rewrite::ranges::RangePlace;

    #[test]
    fn a_range_without_bytes_is_in_no_text_that_ends_before_it() {
        let text = LargeText::of_bytes(b"a text\n").expect("a text");
        for (offset, is_in_text) in [(0, true), (7, true), (8, false), (9_000_000, false)] {
            let place = RangePlace { number: 0, offset, bytes: 0 };
            let range = LeftRange { place, left_sha256: Some(sha256(b"")) };
            assert_eq!(has_all(&[range], &text).expect("it can be read"), is_in_text, "{offset}");
        }
    }
}
