//! The lines of a file of conversations, each of which has runs of its own.

use std::borrow::Cow;
use std::collections::BTreeSet;

use anyhow::Result;

use crate::engine::records::RecordPlace;
use crate::rewrite::growth::TextLists;
use crate::rewrite::restoring::{PutBack, Record};
use crate::rewrite::way_back::without_end;
use crate::transcript::source::Source;

use super::Restorer;
use super::rounds::Rounds;
use super::text::{Restored, TextLines};

impl Restorer<'_, '_> {
    /// Restores each line by itself. What is asked for are the last runs on the file: a line that none of them changed stays.
    pub(super) fn restore_lines(&mut self, restored: &mut Restored<'_>, rounds: &mut Rounds) -> Result<()> {
        restored.join();
        self.lines_in_place.clear();
        self.lines_of_records.clear();
        let mut lines = TextLines::of(&restored.text);
        let most = rounds.most - rounds.number;
        let oldest_run = self.oldest_run_of_lines(&mut lines, most);
        let (mut edits, mut start, mut runs, mut most_of_line) = (Vec::new(), 0, BTreeSet::new(), 0);
        for (index, line) in lines.all.clone().into_iter().enumerate() {
            let number = index + 1;
            let content = without_end(line);
            let mut own = Rounds::since(oldest_run.clone(), most);
            let original = self.restore_line(content, number, &mut lines, &mut own)?;
            self.refuse_lost_run(Some(number), &own, rounds.number)?;
            self.refuse_half_run(Some(number), &own)?;
            if original == content {
                self.refuse_broken_run_of_line(content, number)?;
            } else {
                if let Some(why) = self.edited_run(content, &original, Some(number), &own)? {
                    return Err(self.refused(Some(number), &why));
                }
                self.done.lost = self.done.lost.take().or(own.lost.take().map(|lost| lost.id));
                self.done.lines.insert(number);
                edits.push(PutBack { range: start..start + content.len(), bytes: original.into_owned() });
            }
            self.done.undone_before = self.done.undone_before.take().or(own.last_undone_before().cloned());
            self.done.on_other_file = self.done.on_other_file.take().or(own.on_other_file);
            rounds.newest_run_time = own.newest_run_time.max(std::mem::take(&mut rounds.newest_run_time));
            rounds.files.extend(own.files);
            most_of_line = most_of_line.max(own.number);
            runs.extend(own.run_times);
            self.done.grown = self.done.grown.max(own.grown);
            start += line.len();
        }
        // Older versions wrote no times.
        rounds.number += most_of_line.max(runs.len());
        restored.edits = edits;
        Ok(())
    }

    /// The time of the oldest one of the last `most` runs on lines; nothing where all are asked for.
    fn oldest_run_of_lines(&mut self, lines: &mut TextLines<'_>, most: usize) -> Option<String> {
        if most == usize::MAX {
            return None;
        }
        let mut times = BTreeSet::new();
        for (index, line) in lines.all.clone().into_iter().enumerate() {
            let mut own = Rounds::at_most(most);
            // A line that cannot be put back is named where it is to be put back.
            let _ = self.restore_line(without_end(line), index + 1, lines, &mut own);
            times.extend(own.run_times);
        }
        let first = times.len().saturating_sub(most);
        times.into_iter().nth(first)
    }

    /// Puts back the rounds of one line, by its number.
    fn restore_line<'t>(
        &mut self,
        content: &'t [u8],
        number: usize,
        lines: &mut TextLines<'_>,
        rounds: &mut Rounds,
    ) -> Result<Cow<'t, [u8]>> {
        let mut original = Restored::of(content);
        loop {
            self.restore_known(&mut original, Some((number, lines)), rounds)?;
            if !self.restore_grown(&mut original, Some(number), &lines.all, rounds)? {
                break;
            }
        }
        original.join();
        Ok(original.text)
    }

    /// Whether a record is known to be of another line than this one, and of another than the last one that was put back. Many lines
    /// can begin alike, and reading all records for each of them would take long.
    pub(super) fn is_of_other_line(&self, place: RecordPlace, line: Option<usize>, rounds: &Rounds) -> bool {
        let Some(&named) = self.lines_of_records.get(&place.line) else { return false };
        line != Some(named) && !rounds.was_last_on_line(named)
    }

    /// Whether a record is of the line that it names: the line begins with what this run or another one on it left, so that it stands
    /// where it stood.
    pub(super) fn is_of_its_line(&mut self, record: &Record, all: &[&[u8]]) -> Result<bool> {
        let Some(line) = record.line else { return Ok(false) };
        // Files that share an archive have a line of this number each.
        let key = (record.file().to_owned(), line);
        if let Some(is_in_place) = self.lines_in_place.get(&key) {
            return Ok(*is_in_place);
        }
        let of_line = self.archive.of_file(record.file(), Some(line));
        let mut is_in_place = false;
        for one in self.archive.read(&of_line)? {
            if named_line_begins_with_left(&one, all) {
                is_in_place = true;
                break;
            }
        }
        self.lines_in_place.insert(key, is_in_place);
        if is_in_place {
            self.lines_of_records.extend(of_line.iter().map(|place| (place.line, line)));
        }
        Ok(is_in_place)
    }

    /// Of the records of runs that left a line, and that name another line, those that are not of that other line.
    pub(super) fn not_of_other_lines(
        &mut self,
        mut places: Vec<RecordPlace>,
        number: usize,
        all: &[&[u8]],
        rounds: &Rounds,
    ) -> Result<Vec<RecordPlace>> {
        places.retain(|place| !self.is_of_other_line(*place, Some(number), rounds));
        let mut not_of_others = Vec::new();
        for place in places {
            for record in self.archive.read(&[place])? {
                let is_of_line = record.line == Some(number) || rounds.is_of_same_line(&record);
                if is_of_line || !self.is_of_its_line(&record, all)? {
                    not_of_others.push(place);
                }
            }
        }
        Ok(not_of_others)
    }
}

/// Whether the line that a record names begins with what its run left.
pub(super) fn named_line_begins_with_left(record: &Record, all: &[&[u8]]) -> bool {
    let Some(index) = record.line.and_then(|line| line.checked_sub(1)) else { return false };
    let Some(text) = all.get(index) else { return false };
    let Ok(text) = str::from_utf8(text) else { return false };
    let Ok(source) = Source::of_file(text) else { return false };
    TextLists::new(text, &source).begins_with_left(record)
}
