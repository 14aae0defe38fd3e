//! `--diff`: draws what a run would change.

use anyhow::Result;

use crate::compact::{Compaction, masked, redactor};
use crate::files::input::Input;
use crate::report::diff::{Diff, RepairDiff};
use crate::report::terminal;
use crate::transcript::framing::Document;
use crate::transcript::view::Arena;

use crate::engine::page;
use crate::engine::read::{json as json_of, read, source_name};
use crate::engine::result::{ResultContent, TaskResult};
use crate::engine::task::Task;

impl Task<'_> {
    /// Draws what compacting removes from each conversation and what it adds.
    pub(super) fn diff(&self, document: &Document<'_>, result: &mut TaskResult) -> Result<()> {
        let mut diffs = String::new();
        for (at, transcript) in document.transcripts.iter().enumerate() {
            let arena = Arena::default();
            let source = source_name(self.input, transcript);
            let mut compaction = self.compact_one(document, &source, at, &arena, result)?;
            let masked_secrets = self.masked_secrets(at);
            if !compaction.is_change() && masked_secrets.is_none() {
                continue;
            }
            let masks = compaction.redactor.take();
            let masked = self.policy.redact.is_on().then(|| page::mask_both(&compaction, masks, &arena)).transpose()?;
            let Compaction { plan, summary, edits, planned, .. } = &compaction;
            let pruned = &planned.pruned;
            let summary = summary.as_ref().map(|summary| &summary.placed);
            result.note_compacted(summary.is_some() || compaction.is_pruned());
            let tally = &self.policy.tally(transcript);
            diffs.push_str(
                &Diff { source: &source, transcript, masked, tally, plan, summary, edits, pruned, masked_secrets }
                    .draw(),
            );
        }
        result.content = ResultContent::Text(terminal::for_stdout(diffs));
        Ok(())
    }

    /// Draws what a repair of the input changed in each conversation.
    pub(super) fn draw_repair(&self, repaired: &Input) -> Result<String> {
        let (before, after) = (json_of(self.input)?, json_of(repaired)?);
        let read = |input, source| read(&self.settings.input, self.policy, input, source);
        let (before, after) = (read(self.input, &before)?, read(repaired, &after)?);
        let mut diffs = String::new();
        for (before, after) in before.transcripts.iter().zip(&after.transcripts) {
            let arena = Arena::default();
            let mut shown = None;
            if self.policy.redact.is_on() {
                let mut masks = redactor(before);
                let before = masked(before, &[], Some(&mut masks), &arena)?;
                shown = Some((before, masked(after, &[], Some(&mut masks), &arena)?));
            }
            let source = source_name(self.input, before);
            diffs.push_str(
                &RepairDiff {
                    source: &source,
                    before,
                    after,
                    masked: shown,
                    counter: self.policy.message_counter(before),
                }
                .draw(),
            );
        }
        Ok(terminal::for_stdout(diffs))
    }
}
