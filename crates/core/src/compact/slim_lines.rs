//! A session without what is not sent, lines after lines, for files that are too large to be held in memory; and the
//! proof that the rest is the same context.
//!
//! Each part is read again without what goes, and what is sent of each line is compared. Which lines an agent sends is
//! replayed with and without what goes, and compared at the end. That needs some 20 bytes a line.

use std::borrow::Cow;

use crate::compact::slim::sent_of;
use crate::prune::{PrunedUnsent, SessionEnd, UnsentLines, unsent_beside};
use crate::rewrite::{Edit, apply};
use crate::transcript::format::{Format, MatchScore};
use crate::transcript::framing;
use crate::transcript::json::{Items, Json, Object};
use crate::transcript::line_replay::{LineReplay, LineStep};
use crate::transcript::source::Source;

/// Finds what is not sent of the lines of a session, in order.
pub struct UnsentFinder {
    format: &'static Format,
    unsent: UnsentLines,
    lines: u64,
    by_label: Vec<(&'static str, u64)>,
}

/// Slims the lines of a session, in order, and proves that the rest is the same context.
pub struct LineSlimmer {
    finder: UnsentFinder,
    /// Which lines are sent before and after, and which of those before stay.
    before: LineReplay,
    after: LineReplay,
    stays: Vec<bool>,
}

/// A value of a part, and what it does.
struct EntryBefore<'a> {
    json: Json<'a>,
    step: LineStep,
}

impl UnsentFinder {
    /// `end` is what a first pass found. Lines that were sent once go only into an archive.
    pub fn new(format: &'static Format, end: SessionEnd, has_archive: bool) -> Self {
        UnsentFinder { format, unsent: UnsentLines::new(end, has_archive), lines: 0, by_label: Vec::new() }
    }

    /// The edits that take from whole lines, which begin at `start` in the file, what is not sent. Lines that are not
    /// JSON stay as they are: the agent skips them.
    ///
    /// # Errors
    /// A line is not one of the format.
    pub fn edits(&mut self, start: u64, lines: &[u8]) -> Result<Vec<Edit>, String> {
        let text = masked(lines);
        let lines_before = self.count(lines);
        // Nothing in it is JSON.
        let Ok(source) = Source::of_file(&text) else { return Ok(Vec::new()) };
        Ok(self.entries_and_edits(start, &source, lines_before)?.1)
    }

    /// Counts the next lines, and returns how many there were before them.
    fn count(&mut self, lines: &[u8]) -> u64 {
        let before = self.lines;
        self.lines += memchr::memchr_iter(b'\n', lines).count() as u64;
        before
    }

    fn entries_and_edits<'s>(
        &mut self,
        start: u64,
        source: &'s Source<'_>,
        lines_before: u64,
    ) -> Result<(Vec<EntryBefore<'s>>, Vec<Edit>), String> {
        let mut changes = Vec::new();
        let mut entries = Vec::new();
        for json in values(source) {
            let entry = EntryBefore { json, step: self.step(json, &source.text, lines_before)? };
            let change = self.unsent.change_of(&source.text, start, json, entry.step);
            changes.extend(change.map_err(|error| error.after(lines_before as usize).to_string())?);
            entries.push(entry);
        }
        let pruned = PrunedUnsent::of(&changes, &[]);
        let edits = unsent_beside(&pruned.edits, &[]);
        for (label, bytes) in pruned.by_label {
            match self.by_label.iter_mut().find(|(other, _)| *other == label) {
                Some((_, sum)) => *sum += bytes,
                None => self.by_label.push((label, bytes)),
            }
        }
        Ok((entries, edits))
    }

    /// What a value does; an error where it is not one of the format.
    fn step(&self, json: Json<'_>, text: &str, lines_before: u64) -> Result<LineStep, String> {
        if !matches!(self.format.match_score(&Object::of(json)), MatchScore::Mismatch)
            && let Some(step) = self.format.session.line_step(json)
        {
            return Ok(step);
        }
        let line = line_of(text, json, lines_before);
        Err(format!("line {line} is not one of a session of {}", self.format.name))
    }
}

impl LineSlimmer {
    /// As [`UnsentFinder::new`].
    pub fn new(format: &'static Format, end: SessionEnd, has_archive: bool) -> Self {
        let finder = UnsentFinder::new(format, end, has_archive);
        LineSlimmer { finder, before: LineReplay::default(), after: LineReplay::default(), stays: Vec::new() }
    }

    /// As [`UnsentFinder::edits`].
    ///
    /// # Errors
    /// A line is not one of the format, or would be read otherwise. Nothing of the file may be changed then.
    pub fn slim(&mut self, start: u64, lines: &[u8]) -> Result<Vec<Edit>, String> {
        let text = masked(lines);
        let lines_before = self.finder.count(lines);
        let Ok(source) = Source::of_file(&text) else { return Ok(Vec::new()) };
        let (entries, edits) = self.finder.entries_and_edits(start, &source, lines_before)?;
        for entry in &entries {
            self.before.add(entry.step);
        }
        self.prove(&text, &entries, &edits, lines_before)?;
        Ok(edits)
    }

    /// Checks that the same lines are sent before and after. Returns what was taken, each with the bytes that it saves.
    ///
    /// # Errors
    /// They are not.
    pub fn finish(self) -> Result<Vec<(&'static str, u64)>, String> {
        let LineSlimmer { finder, before, after, stays } = self;
        let mut next = 0;
        for (line, stays) in stays.iter().enumerate() {
            let is_sent = *stays && after.is_message(next);
            if before.is_message(line) != is_sent {
                return Err("without what is not sent, other lines would be sent".to_owned());
            }
            next += usize::from(*stays);
        }
        if next != after.len() {
            return Err("without what is not sent, it would be read as other lines".to_owned());
        }
        Ok(finder.by_label)
    }

    /// Reads a part again as it will be, and checks that the same is sent of each entry that stays.
    fn prove(
        &mut self,
        text: &str,
        entries: &[EntryBefore<'_>],
        edits: &[Edit],
        lines_before: u64,
    ) -> Result<(), String> {
        if edits.is_empty() {
            for entry in entries {
                self.after.add(entry.step);
                self.stays.push(true);
            }
            return Ok(());
        }
        let text_after = apply(text, edits);
        let Ok(source) = Source::of_file(&text_after) else {
            return Err(format!("the lines from {} on could not be read", lines_before + 1));
        };
        let mut after = values(&source);
        for entry in entries {
            let stays = !is_removed(entry.json, edits);
            self.stays.push(stays);
            if !stays {
                continue;
            }
            let same = match after.next() {
                Some(json) if json.raw() == entry.json.raw() => Some(entry.step),
                Some(json) => self.same_step(entry, json, text, &source.text),
                None => None,
            };
            let Some(step) = same else {
                let line = line_of(text, entry.json, lines_before);
                return Err(format!("without what is not sent, line {line} would be read otherwise"));
            };
            self.after.add(step);
        }
        if after.next().is_some() {
            return Err("without what is not sent, it would be read as other lines".to_owned());
        }
        Ok(())
    }

    /// What an entry does before and after; none where it, its links or what is sent of it differ.
    fn same_step(&self, entry: &EntryBefore<'_>, after: Json<'_>, text: &str, text_after: &str) -> Option<LineStep> {
        let before = entry.json;
        let format = self.finder.format;
        if format.session.line_step(after) != Some(entry.step) {
            return None;
        }
        let links = format.unsent.links;
        for key in links.iter().flat_map(|keys| [keys.id, keys.parent]).chain(["type"]) {
            if before.get(key).map(|value| value.raw()) != after.get(key).map(|value| value.raw()) {
                return None;
            }
        }
        if entry.step.is_message() {
            let one = framing::message(text, &Object::of(before), format, 0).ok()?;
            let other = framing::message(text_after, &Object::of(after), format, 0).ok()?;
            if sent_of(&one) != sent_of(&other) {
                return None;
            }
        }
        Some(entry.step)
    }
}

/// The values of some lines that an agent reads: it skips a line that is not JSON, and one with two values.
fn values<'s>(source: &'s Source<'_>) -> Items<'s> {
    source.values_except(&source.irregular_lines)
}

/// The text of some bytes, with a NUL, which no JSON holds, for each that is not UTF-8.
fn masked(bytes: &[u8]) -> Cow<'_, str> {
    if let Ok(text) = str::from_utf8(bytes) {
        return Cow::Borrowed(text);
    }
    let mut text = String::with_capacity(bytes.len());
    for chunk in bytes.utf8_chunks() {
        text.push_str(chunk.valid());
        text.push_str(&"\0".repeat(chunk.invalid().len()));
    }
    Cow::Owned(text)
}

/// Whether an entry goes whole.
fn is_removed(entry: Json<'_>, edits: &[Edit]) -> bool {
    let span = entry.span();
    let at = edits.partition_point(|edit| edit.range.end < span.end);
    edits.get(at).is_some_and(|edit| edit.range.start <= span.start && edit.text.is_empty())
}

/// The line of a value in its file, counted from 1.
fn line_of(text: &str, json: Json<'_>, lines_before: u64) -> u64 {
    lines_before + memchr::memchr_iter(b'\n', &text.as_bytes()[..json.span().start]).count() as u64 + 1
}
