//! The compaction of the conversations of one input, and the report row of each.

use std::borrow::Cow;
use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::Result;

use crate::compact::{
    Changes, Compaction, CompactionEvent, EXTRACTIVE, Emit, Fitted, SummarizerKind, Summary, SummarySource, Watch,
    archive_line, estimated_economy,
};
use crate::events::{Drawn, Ending, Event, NO_SUMMARY, PlanRow, ReportRow, Saving, Status};
use crate::exit::Failure;
use crate::fault::{self, ProgramPart};
use crate::presets::langgraph;
use crate::report::json::EmittedSummary;
use crate::report::{json, terminal};
use crate::rewrite::Edit;
use crate::sanitize::{sanitize, sanitize_json};
use crate::settings::{Destination, Volume};
use crate::transcript::framing::Document;
use crate::transcript::{Transcript, fence};

use crate::engine::inputs::source_name;
use crate::engine::result::{ResultContent, TaskResult};
use crate::engine::shown::draw_page;
use crate::engine::task::{Task, without_plan};
use crate::engine::unsent_sentence;

/// Reports the compaction of each conversation of a document.
struct Reported<'w, 'r> {
    task: &'w Task<'r>,
    document: &'w Document<'w>,
    result: &'w mut TaskResult,
    /// Takes what is written or shown of a conversation, with its number and name.
    each: Each<'w>,
    /// When the conversation began.
    began: Instant,
    /// Its row in the table of savings.
    saving: Option<Saving>,
}

type Each<'w> = &'w mut dyn FnMut(&mut TaskResult, usize, &str, &mut Compaction<'_>) -> Result<()>;

impl Task<'_> {
    /// Compacts all conversations of a document.
    pub(super) fn compact_all(&self, document: &Document<'_>, result: &mut TaskResult) -> Result<()> {
        let mut text = String::new();
        let mut unsent = 0;
        let changes = self.compact_each(document, result, &mut |result, at, _, done| {
            if self.policy.fit.is_some() && self.settings.stderr.volume > Volume::Quiet {
                unsent += done.fitted.unsent_left();
            }
            let has_change = done.is_change() || self.masked_places(at).is_some();
            if has_change {
                result.note_compacted(done.summary.is_some() || done.is_pruned());
            }
            text.push_str(&self.emitted(&document.transcripts[at], at, done, has_change));
            Ok(())
        })?;
        if self.policy.emit == Emit::Messages {
            let changed: Vec<&Transcript<'_>> = changes.0.iter().map(|(_, one)| one.transcript).collect();
            for (source, violations) in self.violations_left(document, &changed, &changes.edits()) {
                self.listener.handle(&Event::StillBroken { source: &source, violations });
            }
        }
        let original = self.unmasked.map(|unmasked| &unmasked.original);
        let bytes = self.unmasked.map_or(self.input, |unmasked| unmasked.input).bytes();
        let (edits, archived) = changes.into_contents(original, self.policy, self.policy.has_records(), bytes);
        self.report_unsent(unsent, bytes, &edits);
        result.archived = archived;
        result.content = match self.policy.emit {
            Emit::Messages => ResultContent::Edited(edits),
            Emit::Update | Emit::Summary | Emit::Handoff => text.into(),
        };
        Ok(())
    }

    /// Reports that most of a result is sent to no model, although it fits a limit of tokens.
    fn report_unsent(&self, unsent: u64, bytes: &[u8], edits: &[Edit]) {
        let place = match &self.settings.output.destination {
            Destination::File(file) => Some(file.clone()),
            Destination::Folder(_) | Destination::InPlace(_) => self.sink.entry.output.clone(),
            Destination::Stdout => None,
        };
        let Some(place) = place.filter(|_| unsent > 0 && self.policy.emit == Emit::Messages) else { return };
        let mut length = bytes.len() as u64;
        for edit in edits {
            length = (length + edit.text.len() as u64).saturating_sub(edit.range.len() as u64);
        }
        if let Some(sentence) = unsent_sentence(&[place], unsent, length) {
            self.listener.handle(&Event::Notice(&sentence));
        }
    }

    /// Compacts each conversation of a document, and reports it.
    pub(super) fn compact_each<'t>(
        &'t self,
        document: &'t Document<'t>,
        result: &mut TaskResult,
        each: Each<'_>,
    ) -> Result<Changes<'t>> {
        let reader = self.policy.reader_name();
        let listen = |source: &str, what: CompactionEvent<'_>| {
            self.listener.handle(&Event::Compacting { source, what, reader });
        };
        let mut reported = Reported { task: self, document, result, each, began: Instant::now(), saving: None };
        let original = self.unmasked.map(|unmasked| &unmasked.original);
        self.context(&listen).compact(document, original, &mut reported)
    }

    /// What is written of a conversation in place of its messages.
    fn emitted(&self, transcript: &Transcript<'_>, at: usize, done: &mut Compaction<'_>, has_change: bool) -> String {
        match self.policy.emit {
            Emit::Messages => String::new(),
            Emit::Handoff => {
                let follows_another = at > 0 || transcript.line.is_some_and(|line| line > 1);
                let separator = if follows_another && done.handoff.is_some() { "\n" } else { "" };
                separator.to_owned() + &done.handoff.take().unwrap_or_default()
            }
            Emit::Summary => self.summary_line(transcript, Some(&*done).filter(|_| has_change)),
            // A state needs all messages of a repaired conversation.
            Emit::Update if has_change || self.repaired => {
                let placed = done.summary.as_ref().map(|summary| &summary.placed);
                let update = langgraph::update(transcript, &done.plan, placed, &done.edits);
                if self.is_shown() { sanitize_json(&update) } else { update }
            }
            Emit::Update => langgraph::NO_UPDATE.to_owned(),
        }
    }

    /// The output for a conversation with `--emit summary`.
    fn summary_line(&self, transcript: &Transcript<'_>, compaction: Option<&Compaction<'_>>) -> String {
        let summary = compaction.and_then(|compaction| Some((compaction, compaction.summary.as_ref()?)));
        match (self.settings.output.json, summary) {
            (false, None) => String::new(),
            (false, Some((_, summary))) => {
                let mut text = self.fenceless(summary);
                // The note of `--model none` has the line already.
                if self.policy.summary.summarizer != SummarizerKind::Off
                    && let Some(line) = archive_line(self.policy, transcript)
                {
                    text = format!("{}\n\n({line})", text.trim_end()).into();
                }
                // Programs get it as it is.
                let shown = if self.is_shown() { sanitize(&text).into() } else { text };
                format!("{}\n", shown.trim_end())
            }
            (true, None) => "null\n".to_owned(),
            (true, Some((compaction, summary))) => {
                let message = summary.message(transcript).unwrap_or_default();
                json::summary(
                    &compaction.plan,
                    &EmittedSummary {
                        text: &self.fenceless(summary),
                        message: &message,
                        archive: archive_line(self.policy, transcript),
                        tokens: summary.tokens,
                    },
                )
            }
        }
    }

    /// The text of a summary for a program that puts it into a fence.
    fn fenceless<'s>(&self, summary: &'s Summary) -> Cow<'s, str> {
        if self.policy.habits.escapes { fence::without_fences(&summary.text) } else { Cow::Borrowed(&summary.text) }
    }

    /// Whether the result goes to a terminal.
    fn is_shown(&self) -> bool {
        terminal::shows(match &self.settings.output.destination {
            Destination::File(file) => Some(file),
            _ => None,
        })
    }

    /// What a person is told of a conversation that was changed.
    fn ending(&self, compaction: &Compaction<'_>, row: &ReportRow, masked: u64) -> Option<Ending> {
        let tokens = compaction.tokens_before.zip(row.tokens_after);
        let tokens = tokens.filter(|_| self.settings.stderr.closes && row.status == Status::Compacted)?;
        let name = self.policy.summary.name.as_str();
        let is_command = self.policy.summary.summarizer == SummarizerKind::Command;
        let has_sections = !compaction.archived.sections.is_empty();
        Some(Ending {
            source: self.input.name.clone(),
            conversations: 1,
            messages: (compaction.fitted.decided.transcript.messages.len() as u64, compaction.messages_after() as u64),
            tokens,
            summaries: [summary_from(compaction, name, is_command)].into(),
            masked,
            is_archived: self.policy.archive.is_some() && (self.policy.has_records() || has_sections),
        })
    }

    /// Draws a conversation for the page, if the page has room for it.
    fn draw_page(&self, source: &str, compaction: &mut Compaction<'_>) -> Option<Arc<Drawn>> {
        self.sink
            .run
            .listeners
            .page
            .as_ref()
            .filter(|page| compaction.failure.is_none() && page.may_draw(compaction.lost()))?;
        // A bug in the drawing must not cost the result.
        fault::caught(ProgramPart::Page, || draw_page(self.policy, source, compaction)).unwrap_or_else(|fault| {
            self.listener.handle(&Event::NotDrawn { source, fault: &fault });
            None
        })
    }

    fn row(&self, source: &str, compaction: &Compaction<'_>, elapsed: Duration) -> ReportRow {
        let policy = self.policy;
        let Compaction { bill, summary, failure, .. } = compaction;
        let has_failed = failure.is_some();
        let asked = bill.requests > 0 || bill.cached > 0;
        let name = policy.summary.name.as_str();
        let by = summary.as_ref().map(|summary| summary.by);
        let provider = match by {
            Some(SummarySource::Embedded) => Some(EXTRACTIVE),
            Some(SummarySource::Summarizer) => Some(name),
            Some(SummarySource::ErrorText | SummarySource::Note) | None => Some(name).filter(|_| asked),
        };
        let status = match (has_failed, by) {
            (true, _) => Status::Failed,
            (false, Some(_)) => Status::Compacted,
            (false, None) if compaction.is_pruned() || compaction.masked > 0 => Status::Compacted,
            (false, None) => Status::Unchanged,
        };
        let keeps_rows = self.settings.output.keeps_rows();
        let plan = keeps_rows.then(|| PlanRow::new(&compaction.fitted, &compaction.earlier, &compaction.resets));
        ReportRow {
            source: source.to_owned(),
            reason: compaction.left.clone().or_else(|| compaction.fitted.plan.reason.clone()),
            status,
            skipped_lines: 0,
            summary_tokens: summary.as_ref().map(|summary| summary.tokens),
            tokens_after: compaction.tokens_after.or(compaction.tokens_before).filter(|_| !has_failed),
            provider: provider.map(str::to_owned),
            usage: bill.usage.map(|usage| policy.summary.model.billed(usage)),
            requests: bill.requests,
            retries: bill.retries,
            cached: bill.cached,
            economy: compaction.economy.filter(|_| !has_failed),
            redacted: compaction.redacted.clone(),
            repaired: None,
            updated: None,
            elapsed_ms: u64::try_from(elapsed.as_millis()).unwrap_or(u64::MAX),
            error: compaction.error.clone(),
            saved: summary.as_ref().and_then(|summary| summary.saved).unwrap_or_default() + compaction.pruned_tokens(),
            ending: None,
            saving: None,
            page: None,
            plan,
        }
    }
}

impl Watch for Reported<'_, '_> {
    fn begin(&mut self, _: usize, transcript: &Transcript<'_>) -> String {
        self.began = Instant::now();
        source_name(self.task.input, transcript)
    }

    fn planned(&mut self, _: usize, source: &str, planned: &Fitted<'_>) -> Result<()> {
        let task = self.task;
        task.listener.handle(&Event::Planned { source, plan: planned });
        if let Some(reason) = planned.plan.reason.as_deref().filter(|_| planned.plan.refused) {
            task.listener.handle(&Event::Refused { source, reason });
        }
        task.warn_of_unknown_tools(source, planned);
        self.saving = task.explain(self.document).and_then(|explain| {
            let earlier = task.context(&|_, _| ()).earlier_of_plan(planned);
            task.explain_plan(Some(explain), source, planned, &earlier, estimated_economy(planned).as_ref())
        });
        task.check_plan(source, planned)
    }

    fn end(&mut self, at: usize, source: &str, done: Result<&mut Compaction<'_>>) -> Result<()> {
        let (task, result) = (self.task, &mut *self.result);
        let done = done.map_err(|error| without_plan(source, error)).inspect_err(|error| {
            result.rows.push(ReportRow::without_plan(source, Status::Failed, Some(error.to_string())));
        })?;
        let masked = task.masked_places(at).filter(|_| done.failure.is_none());
        if masked.is_some() {
            task.note_masks(source, at, result);
            done.note_masked(masked);
        }
        if done.failure.is_none() && !done.is_change() && masked.is_none() {
            task.note_unchanged(self.document, source, &done.fitted, done.left.clone(), result);
        }
        task.note_secrets_left(self.document, source, at, done);
        let page = task.draw_page(source, done);
        let row = task.row(source, done, self.began.elapsed());
        let saving = self.saving.take().map(|one| Saving { saved: row.saved, ..one });
        let masked = masked.and_then(|_| task.masked_secrets(at)).map_or(0, |secrets| secrets.values().sum());
        let ending = task.ending(done, &row, masked);
        let skipped_lines = self.document.broken_lines.len();
        result.rows.push(ReportRow { saving, page, ending, skipped_lines, ..row });
        match done.failure.take().map(anyhow::Error::downcast::<Failure>) {
            None => (self.each)(result, at, source, done),
            Some(Ok(failure)) => Err(failure.reported(true).into()),
            Some(Err(error)) => Err(error),
        }
    }
}

fn summary_from(compaction: &Compaction<'_>, name: &str, is_command: bool) -> String {
    match compaction.summary.as_ref().map(|summary| summary.by) {
        Some(SummarySource::Summarizer) if name == EXTRACTIVE => "embedded summary".to_owned(),
        Some(SummarySource::Embedded) => "embedded summary".to_owned(),
        Some(SummarySource::Summarizer) if is_command => "summary by --summarizer-cmd".to_owned(),
        Some(SummarySource::Summarizer) => format!("summary by {name}"),
        Some(SummarySource::ErrorText) => "the error instead of a summary".to_owned(),
        Some(SummarySource::Note) => "a note instead of a summary".to_owned(),
        None if compaction.is_pruned() => "pruned, not summarized".to_owned(),
        None => NO_SUMMARY.to_owned(),
    }
}
