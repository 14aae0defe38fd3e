//! The lines of a file of conversations, each of which has runs of its own.

use std::borrow::Cow;
use std::collections::BTreeSet;

use anyhow::Result;

use crate::rewrite::restoring::PutBack;
use crate::rewrite::way_back::without_end;

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
}
