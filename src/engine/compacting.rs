//! The compaction of the conversations of one input, and the report row of each.

use std::borrow::Cow;
use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::Result;
use serde_json::Value;

use crate::compact::{
    ChangedConversation, Compaction, CompactionEvent, EXTRACTIVE, Emit, SummarizerKind, Summary, SummarySource,
    archive_contents, economy,
};
use crate::events::{Drawn, Ending, Event, ReportRow, Saving, Status};
use crate::exit::Failure;
use crate::fault::{self, ProgramPart};
use crate::presets::langgraph;
use crate::report::json::{self, DryRun};
use crate::report::terminal;
use crate::rewrite::{self, Edit};
use crate::sanitize::{sanitize, sanitize_json};
use crate::settings::Destination;
use crate::transcript::framing::Document;
use crate::transcript::view::Arena;
use crate::transcript::{Transcript, fence};

use crate::engine::read::source_name;
use crate::engine::result::{ResultContent, TaskResult};
use crate::engine::task::{Task, Unmasked};
use crate::engine::{check, ending, page};

impl Task<'_> {
    /// Compacts all conversations of a document.
    pub(super) fn compact_all(&self, document: &Document<'_>, result: &mut TaskResult) -> Result<()> {
        let mut changed: Vec<(usize, ChangedConversation<'_, '_>)> = Vec::new();
        let mut updates = String::new();
        for (at, transcript) in document.transcripts.iter().enumerate() {
            let arena = Arena::default();
            let source = source_name(self.input, transcript);
            let mut compaction = self.compact_one(document, &source, at, &arena, result)?;
            let handoff = compaction.handoff.take();
            let follows_another = at > 0 || transcript.line.is_some_and(|line| line > 1);
            let separator = if follows_another && handoff.is_some() { "\n" } else { "" };
            updates.extend([separator, handoff.as_deref().unwrap_or_default()]);
            // A state needs all messages of a repaired conversation.
            let has_update = compaction.is_change()
                || self.masked_places(at).is_some()
                || self.repaired && self.policy.emit == Emit::Update;
            if !has_update {
                updates.extend(self.summary_line(transcript, None));
                if self.policy.emit == Emit::Update {
                    updates.push_str(&langgraph::no_update());
                }
                continue;
            }
            result.note_compacted(compaction.summary.is_some() || compaction.is_pruned());
            if self.policy.emit == Emit::Update {
                let Compaction { plan, summary, edits, .. } = &compaction;
                let placed = summary.as_ref().map(|summary| &summary.placed);
                let update = langgraph::update(transcript, plan, placed, edits);
                updates.push_str(&if self.is_shown() { sanitize_json(&update) } else { update });
            }
            updates.extend(self.summary_line(transcript, Some(&compaction)));
            changed.push((at, ChangedConversation::new(transcript, source, compaction)));
        }
        let mut edits = edits_of(changed.iter().map(|(_, one)| one));
        if self.policy.emit == Emit::Messages {
            let changed: Vec<&Transcript<'_>> = changed.iter().map(|(_, one)| one.transcript).collect();
            for (source, violations) in check::violations_left(self, document, &changed, &edits) {
                self.notify(Event::StillBroken { source: &source, violations });
            }
        }
        let has_records = self.policy.has_records();
        if let Some(Unmasked { input, document, masks }) = self.unmasked {
            let text = &self.input.text;
            let of_input = |(at, one): (usize, ChangedConversation<'_, '_>)| {
                one.before_masks(&document.transcripts[at], masks, at, text, self.policy)
            };
            let changed: Vec<_> = changed.into_iter().map(of_input).collect();
            edits = edits_of(changed.iter());
            result.archived = archive_contents(has_records, input.bytes(), changed);
        } else {
            let changed = changed.into_iter().map(|(_, one)| one).collect();
            result.archived = archive_contents(has_records, self.input.bytes(), changed);
        }
        result.content = match self.policy.emit {
            Emit::Messages => ResultContent::Edited(edits),
            Emit::Update | Emit::Summary | Emit::Handoff => ResultContent::Text(updates),
        };
        Ok(())
    }

    /// Returns the output for a conversation with `--emit summary`; nothing with another `--emit`.
    fn summary_line(&self, transcript: &Transcript<'_>, compaction: Option<&Compaction<'_>>) -> Option<String> {
        if self.policy.emit != Emit::Summary {
            return None;
        }
        let summary = compaction.and_then(|compaction| Some((compaction, compaction.summary.as_ref()?)));
        Some(match (self.settings.output.json, summary) {
            (false, None) => String::new(),
            (false, Some((_, summary))) => format!("{}\n", self.readable(&self.emitted(summary)).trim_end()),
            (true, None) => "null\n".to_owned(),
            (true, Some((compaction, summary))) => {
                let message = summary.message(transcript).unwrap_or_default();
                json::summary(&compaction.plan, &self.emitted(summary), &message, summary.tokens)
            }
        })
    }

    /// Returns the text of a summary for a program that puts it into a fence.
    fn emitted<'s>(&self, summary: &'s Summary) -> Cow<'s, str> {
        if self.policy.habits.escapes { fence::without_fences(&summary.text) } else { Cow::Borrowed(&summary.text) }
    }

    /// Returns a text as a terminal may show it, if the result goes to one. Programs get it as it is.
    fn readable<'s>(&self, text: &'s str) -> Cow<'s, str> {
        if self.is_shown() { Cow::Owned(sanitize(text)) } else { Cow::Borrowed(text) }
    }

    /// Whether the result goes to a terminal.
    fn is_shown(&self) -> bool {
        terminal::shows(match &self.settings.output.destination {
            Destination::File(file) => Some(file),
            _ => None,
        })
    }

    /// Compacts one conversation, and reports it.
    pub(super) fn compact_one<'t>(
        &self,
        document: &'t Document<'t>,
        source: &str,
        at: usize,
        arena: &'t Arena<'t>,
        result: &mut TaskResult,
    ) -> Result<Compaction<'t>>
    where
        Self: 't,
    {
        let began = Instant::now();
        let transcript = &document.transcripts[at];
        let reader = self.policy.reader_name();
        let listen = |source: &str, what: CompactionEvent<'_>| {
            self.notify(Event::Compacting { source, what, reader });
        };
        let context = self.context(&listen);
        let mut planned = self.plan(&context, source, transcript, arena).inspect_err(|error| {
            result.rows.push(ReportRow::without_plan(source, Status::Failed, Some(error.to_string())));
        })?;
        if let Some(unmasked) = self.unmasked {
            planned.unmasked = &unmasked.document.transcripts[at];
        }
        self.notify(Event::Planned { source, plan: &planned, policy: self.policy });
        if let Some(reason) = planned.plan.reason.as_deref().filter(|_| planned.plan.refused) {
            self.notify(Event::Refused { source, reason });
        }
        self.warn_of_unknown_tools(source, &planned);
        let explain = self.explain(document);
        let worth = explain.and_then(|_| economy::estimated(&planned, self.policy));
        let earlier = if explain.is_some() { context.earlier_of_plan(transcript, &planned) } else { Vec::new() };
        let saving = self.explain_plan(explain, source, &planned, &earlier, worth.as_ref());
        let mut compaction = match self.check_plan(source, &planned) {
            Ok(()) => context.carry_out(source, planned),
            Err(error) => context.refused(planned, error),
        };
        let masked = self.masked_places(at).filter(|_| compaction.failure.is_none());
        if masked.is_some() {
            self.note_masks(source, at, result);
            compaction.note_masked(masked);
        }
        if compaction.failure.is_none() && !compaction.is_change() && masked.is_none() {
            self.note_unchanged(
                document,
                source,
                &compaction.planned,
                compaction.left.clone(),
                &mut result.totals.unchanged_reasons,
            );
        }
        self.note_secrets_left(document, source, at, &compaction);
        let page = self.draw_page(source, &mut compaction);
        let row = self.row(source, &compaction, began.elapsed());
        let saving = saving.map(|one| Saving { saved: row.saved, ..one });
        let masked = masked.and_then(|_| self.masked_secrets(at)).map_or(0, |secrets| secrets.values().sum());
        let ending = self.ending(&compaction, &row, masked);
        let skipped_lines = document.broken_lines.len();
        result.rows.push(ReportRow { saving, page, ending, skipped_lines, ..row });
        match compaction.failure.take().map(anyhow::Error::downcast::<Failure>) {
            None => Ok(compaction),
            Some(Ok(failure)) => Err(failure.reported(true).into()),
            Some(Err(error)) => Err(error),
        }
    }

    /// Returns what a person is told of a conversation that was changed.
    fn ending(&self, compaction: &Compaction<'_>, row: &ReportRow, masked: u64) -> Option<Ending> {
        let tokens = compaction.tokens_before.zip(row.tokens_after);
        let tokens = tokens.filter(|_| self.settings.stderr.closes && row.status == Status::Compacted)?;
        let name = self.policy.summary.name.as_str();
        let is_command = self.policy.summary.summarizer == SummarizerKind::Command;
        let has_sections = !compaction.archived.sections.is_empty();
        Some(Ending {
            source: self.input.name.clone(),
            conversations: 1,
            messages: (compaction.planned.transcript.messages.len() as u64, compaction.messages_after() as u64),
            tokens,
            summaries: [ending::summary_from(compaction, name, is_command)].into(),
            masked,
            is_archived: self.policy.archive.is_some() && (self.policy.has_records() || has_sections),
        })
    }

    /// Draws a conversation for the page, if the page has room for it.
    fn draw_page(&self, source: &str, compaction: &mut Compaction<'_>) -> Option<Arc<Drawn>> {
        self.page.filter(|page| compaction.failure.is_none() && page.may_draw(compaction.lost()))?;
        // A bug in the drawing must not cost the result.
        fault::caught(ProgramPart::Page, || page::draw(self.policy, source, compaction)).unwrap_or_else(|fault| {
            self.notify(Event::NotDrawn { source, fault: &fault });
            None
        })
    }

    /// Returns the report row of a compaction that took `elapsed`.
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
        let mut plan = if keeps_rows {
            DryRun::new(source, &compaction.planned, policy)
                .with_earlier(&compaction.earlier)
                .with_resets(&compaction.resets)
                .to_value()
        } else {
            Value::Null
        };
        if let (Value::Object(plan), Some(left)) = (&mut plan, &compaction.left) {
            plan.insert("reason".to_owned(), left.as_str().into());
        }
        ReportRow {
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
            saved: summary.as_ref().map_or(0, |summary| summary.saved) + compaction.pruned_tokens(),
            ending: None,
            saving: None,
            page: None,
            plan,
        }
    }
}

/// Returns the edits of conversations, in order.
fn edits_of<'c>(changed: impl Iterator<Item = &'c ChangedConversation<'c, 'c>>) -> Vec<Edit> {
    let mut edits: Vec<Edit> = changed.flat_map(|one| one.edits.iter().cloned()).collect();
    rewrite::sort(&mut edits);
    edits
}
