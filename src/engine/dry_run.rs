//! `--dry-run`: prints where each conversation would be cut.

use anyhow::Result;

use crate::compact::{Compaction, CompactionEvent, EarlierSummary, Planned, certain_files, economy};
use crate::engine::read::source_name;
use crate::engine::result::{ResultContent, TaskResult};
use crate::engine::task::Task;
use crate::events::{Event, PrunedOnly, ReportRow, Status};
use crate::files::append;
use crate::plan::economy::Economy;
use crate::report::json::DryRun;
use crate::settings::Volume;
use crate::transcript::framing::Document;
use crate::transcript::view::Arena;

impl Task<'_> {
    /// Prints the cutoff of each conversation, as an object with `json`. With `preview`, requests and shows the summary.
    pub(super) fn dry_run(
        &self,
        document: &Document<'_>,
        json: bool,
        preview: bool,
        result: &mut TaskResult,
    ) -> Result<()> {
        let mut text = String::new();
        for (at, transcript) in document.transcripts.iter().enumerate() {
            let arena = Arena::default();
            let source = source_name(self.input, transcript);
            let planned = self.plan(&self.context(&|_, _| ()), &source, transcript, &arena)?;
            result.note_compacted(planned.is_change());
            self.note_masks(&source, at, result);
            let masked = self.masked_places(at);
            if planned.is_change() && planned.plan.cutoff == 0 && !json {
                let saved = planned.tokens(self.policy).saturating_sub(planned.tokens_without_summary());
                result.totals.pruned_only.join(&PrunedOnly::one(&source, saved));
            }
            if masked.is_none() {
                self.note_unchanged(document, &source, &planned, None, &mut result.totals.unchanged_reasons);
            }
            let explain = self.explain(document);
            let estimate = json || self.settings.stderr.volume == Volume::Verbose || explain.is_some();
            let mut worth = estimate.then(|| economy::estimated(&planned, self.policy)).flatten();
            self.report_plan(&source, &planned, worth.as_ref());
            let mut earlier = Vec::new();
            if explain.is_some() {
                earlier = self.context(&|_, _| ()).earlier_of_plan(transcript, &planned);
                let mut row = ReportRow::without_plan(&source, Status::Unchanged, None);
                row.saving = self.explain_plan(explain, &source, &planned, &earlier, worth.as_ref());
                result.rows.push(row);
            }
            planned.check(&source, self.policy)?;
            self.check_state(&source, &planned)?;
            let line = |planned: &Planned<'_>, earlier: &[EarlierSummary], economy, summary: Option<&str>| {
                if json {
                    DryRun::new(&source, planned, self.policy)
                        .with_earlier(earlier)
                        .with(economy, summary)
                        .masking(masked)
                        .to_line()
                } else {
                    self.line(&source, transcript, planned.plan.cutoff)
                }
            };
            if !preview {
                text.push_str(&line(&planned, &earlier, worth, None));
                continue;
            }
            let compaction = self.preview(&source, planned)?;
            let summary = compaction.summary.as_ref().map(|summary| summary.text.as_str());
            if let Some(summary) = summary {
                worth = compaction.economy.or(worth);
                self.notify(Event::Previewed { source: &source, summary });
            }
            text.push_str(&line(&compaction.planned, &compaction.earlier, worth, summary));
        }
        result.content = ResultContent::Text(text);
        Ok(())
    }

    fn report_plan(&self, source: &str, planned: &Planned<'_>, worth: Option<&Economy>) {
        let reader = self.policy.reader_name();
        self.notify(Event::Planned { source, plan: planned, policy: self.policy });
        if let Some(economy) = worth {
            self.notify(Event::Estimated { source, economy, reader });
        }
        self.notify(Event::Split { source, plan: &planned.plan, pairs: self.policy.cut.pairs });
        let notify = |what: CompactionEvent<'_>| self.notify(Event::Compacting { source, what, reader });
        notify(CompactionEvent::Thinking(&planned.thinking));
        planned.fit.and_then(|fit| fit.cap).into_iter().for_each(|tokens| notify(CompactionEvent::Capped(tokens)));
        if let Some(window) = self.policy.cut.context_window {
            let tokens = planned.tokens_without_summary();
            if tokens > window {
                notify(CompactionEvent::TooLarge { tokens, window });
            }
        }
        self.warn_of_unknown_tools(source, planned);
    }

    /// Compacts a conversation as a real run would; writes nothing.
    fn preview<'t>(&self, source: &str, planned: Planned<'t>) -> Result<Compaction<'t>> {
        let reader = self.policy.reader_name();
        let is_cut = planned.plan.cutoff > 0;
        let listen = |source: &str, what: CompactionEvent<'_>| {
            // `report_plan` has reported the thinking already.
            if !(is_cut && matches!(what, CompactionEvent::Thinking(_))) {
                self.notify(Event::Compacting { source, what, reader });
            }
        };
        if is_cut {
            append::check_files(&certain_files(self.policy, &planned))?;
        }
        let mut compaction = self.context(&listen).carry_out(source, planned);
        compaction.failure.take().map_or(Ok(compaction), Err)
    }
}
