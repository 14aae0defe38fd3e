//! The compaction of the conversations of one input, and what comes of each.

use std::borrow::Cow;
use std::sync::Arc;
use std::time::Instant;

use anyhow::Result;

use crate::compact::{
    Changes, Compaction, CompactionContext, CompactionEvent, Conversation, EXTRACTIVE, Emit, Fitted, SummarizerKind,
    Summary, SummarySource, archive_line, estimated_economy,
};
use crate::events::{ConversationOutcome, Drawn, Ending, Event, Listener, NO_SUMMARY, PlanRow, Saving, Status};
use crate::exit::Failure;
use crate::fault::{self, ProgramPart};
use crate::plan::Plan;
use crate::presets::langgraph;
use crate::report::json::EmittedSummary;
use crate::report::{json, terminal};
use crate::rewrite::Edit;
use crate::sanitize::{sanitize, sanitize_json};
use crate::settings::{Destination, Volume};
use crate::transcript::view::Arena;
use crate::transcript::{Transcript, fence};

use crate::engine::conversations::{Conversations, name_in_error};
use crate::engine::prepare::Preparation;
use crate::engine::reading::source_name;
use crate::engine::result::{ResultContent, TaskResult};
use crate::engine::shown::draw_page;
use crate::engine::unsent_sentence;

/// A conversation that is being compacted.
struct Begun<'s> {
    source: &'s str,
    /// Its index in the document.
    index: usize,
    at: Instant,
    /// Its row in the table of savings, as planned.
    saving: Option<Saving>,
}

impl Conversations<'_> {
    /// Compacts all conversations.
    ///
    /// # Errors
    /// As [`Conversations::compact`].
    pub(super) fn compact_all(&self, result: &mut TaskResult) -> Result<()> {
        let (mut changes, mut text, mut unsent) = (Changes::default(), String::new(), 0);
        let listen = |source: &str, what: CompactionEvent<'_>| self.report(source, what);
        let context = self.context(&listen);
        for conversation in self.each() {
            let (source, arena) = (source_name(self.input, conversation.transcript), Arena::default());
            let done = self.compact(&context, conversation, &source, &arena, result)?;
            if self.policy.fit.is_some() && self.run.settings.stderr.volume > Volume::Quiet {
                unsent += done.fitted.unsent_left();
            }
            let has_change = done.is_change() || self.masked_places(conversation.index).is_some();
            if has_change {
                result.note_compacted(done.summary.is_some() || done.is_pruned());
            }
            text.push_str(&self.emitted(conversation, &done, has_change));
            changes.add(conversation, &source, done);
        }
        if self.policy.emit == Emit::Messages {
            // A repair answers for what it leaves as it is, too.
            let looked_at = match self.run.settings.repair {
                Some(_) => self.document.transcripts.iter().collect(),
                None => changes.transcripts(),
            };
            for (source, violations) in self.violations_left(&looked_at, &changes.edits()) {
                self.run.listeners.handle(&Event::StillBroken { source: &source, violations });
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

    /// Compacts one of the conversations, reports what comes of it, and adds that to the result.
    ///
    /// # Errors
    /// It has no plan, the plan is refused, or its summary failed. The result has the error, too.
    pub(super) fn compact<'t>(
        &self,
        context: &CompactionContext<'t>,
        conversation: Conversation<'t>,
        source: &'t str,
        arena: &'t Arena<'t>,
        result: &mut TaskResult,
    ) -> Result<Compaction<'t>> {
        let began = Instant::now();
        let planned = match context.plan(conversation, source, arena) {
            Ok(planned) => planned,
            Err(error) => {
                let error = name_in_error(source, error);
                let why = Some(error.to_string());
                result.outcomes.push(self.outcome_without_plan(source, conversation.index, Status::Failed, why));
                return Err(error);
            }
        };
        self.report_planned(source, &planned.fitted);
        let saving = self.planned_saving(source, &planned.fitted);
        let done = match self.check_plan(source, &planned.fitted) {
            Ok(()) => planned.carry_out(),
            Err(failure) => planned.refuse(failure),
        };
        let has_masks = done.failure.is_none() && self.masked_places(conversation.index).is_some();
        if has_masks {
            self.note_masks(source, conversation.index, result);
        }
        if done.failure.is_none() && !done.is_change() && !has_masks {
            self.note_unchanged(source, &done.fitted, done.left.clone(), result);
        }
        self.note_secrets_left(source, conversation.index, &done);
        let begun = Begun { source, index: conversation.index, at: began, saving };
        result.outcomes.push(self.outcome(begun, &done));
        done.into_result().map_err(|error| match error.downcast::<Failure>() {
            Ok(failure) => failure.reported(true).into(),
            Err(error) => error,
        })
    }

    /// Reports a plan that is going to be carried out.
    fn report_planned(&self, source: &str, planned: &Fitted<'_>) {
        self.run.listeners.handle(&Event::Planned { source, plan: planned });
        if planned.plan.refused
            && let Some(reason) = planned.plan.reason.as_deref()
        {
            self.run.listeners.handle(&Event::Refused { source, reason });
        }
        self.warn_of_unknown_tools(source, planned);
    }

    /// Draws a plan with `--explain`, or returns its row in the table of several conversations.
    fn planned_saving(&self, source: &str, planned: &Fitted<'_>) -> Option<Saving> {
        let explain = self.explain()?;
        let earlier = self.context(&|_, _| ()).earlier_of_plan(planned);
        self.explain_plan(explain, source, planned, &earlier, estimated_economy(planned).as_ref())
    }

    /// Reports that most of a result is sent to no model, although it fits a limit of tokens.
    fn report_unsent(&self, unsent: u64, bytes: &[u8], edits: &[Edit]) {
        if unsent == 0 || self.policy.emit != Emit::Messages {
            return;
        }
        let place = match &self.run.settings.output.destination {
            Destination::File(file) => Some(file.clone()),
            Destination::Folder(_) | Destination::InPlace(_) => self.sink.entry.output.clone(),
            Destination::Stdout => None,
        };
        let Some(place) = place else { return };
        let mut length = bytes.len() as u64;
        for edit in edits {
            length = (length + edit.text.len() as u64).saturating_sub(edit.range.len() as u64);
        }
        if let Some(sentence) = unsent_sentence(&[place], unsent, length) {
            self.run.listeners.handle(&Event::Notice(&sentence));
        }
    }

    /// What is written of a conversation in place of its messages.
    fn emitted(&self, conversation: Conversation<'_>, done: &Compaction<'_>, has_change: bool) -> String {
        let transcript = conversation.transcript;
        match self.policy.emit {
            Emit::Messages => String::new(),
            Emit::Handoff => {
                let Some(text) = &done.handoff else { return String::new() };
                let follows_another = conversation.index > 0 || transcript.line.is_some_and(|line| line > 1);
                if follows_another { format!("\n{text}") } else { text.clone() }
            }
            Emit::Summary => match &done.summary {
                Some(summary) if has_change => self.summary_line(transcript, &done.plan, summary),
                _ if self.run.settings.output.json => "null\n".to_owned(),
                _ => String::new(),
            },
            // A state needs all messages of a repaired conversation.
            Emit::Update if has_change || self.prepared.is_changed() => {
                let placed = done.summary.as_ref().map(|summary| &summary.placed);
                let update = langgraph::update(transcript, &done.plan, placed, &done.edits);
                if self.is_shown() { sanitize_json(&update) } else { update }
            }
            Emit::Update => langgraph::NO_UPDATE.to_owned(),
        }
    }

    /// The output for a conversation with `--emit summary`.
    fn summary_line(&self, transcript: &Transcript<'_>, plan: &Plan, summary: &Summary) -> String {
        let mut text = self.fenceless(summary);
        if self.run.settings.output.json {
            let message = summary.message(transcript).unwrap_or_default();
            let emitted = EmittedSummary {
                text: &text,
                message: &message,
                archive: archive_line(self.policy, transcript),
                tokens: summary.tokens,
            };
            return json::summary(plan, &emitted);
        }
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

    /// The text of a summary for a program that puts it into a fence.
    fn fenceless<'s>(&self, summary: &'s Summary) -> Cow<'s, str> {
        if self.policy.habits.escapes { fence::without_fences(&summary.text) } else { Cow::Borrowed(&summary.text) }
    }

    /// Whether the result goes to a terminal.
    fn is_shown(&self) -> bool {
        terminal::shows(match &self.run.settings.output.destination {
            Destination::File(file) => Some(file),
            _ => None,
        })
    }

    /// What a person is told of a conversation that was changed, and has so many tokens now.
    fn ending(&self, compaction: &Compaction<'_>, index: usize, tokens_after: Option<u64>) -> Option<Ending> {
        if !self.run.settings.stderr.closes {
            return None;
        }
        let tokens = (compaction.tokens_before?, tokens_after?);
        let masked = self.masked_secrets(index).map_or(0, |secrets| secrets.values().sum());
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
    fn draw_page(&self, source: &str, compaction: &Compaction<'_>) -> Option<Arc<Drawn>> {
        let page = self.run.listeners.page.as_ref()?;
        if compaction.failure.is_some() || !page.may_draw(compaction.lost()) {
            return None;
        }
        // A bug in the drawing must not cost the result.
        match fault::caught(ProgramPart::Page, || draw_page(self.policy, source, compaction)) {
            Ok(drawn) => drawn,
            Err(fault) => {
                self.run.listeners.handle(&Event::NotDrawn { source, fault: &fault });
                None
            }
        }
    }

    /// What comes of a conversation without a plan, and why it has this status.
    pub(super) fn outcome_without_plan(
        &self,
        source: &str,
        index: usize,
        status: Status,
        why: Option<String>,
    ) -> ConversationOutcome {
        let Preparation { repaired, updated, .. } = self.prepared.of_conversation(index);
        ConversationOutcome { repaired, updated, ..ConversationOutcome::without_plan(source, status, why) }
    }

    /// What comes of a conversation: what was done to it before, and its compaction.
    fn outcome(&self, begun: Begun<'_>, compaction: &Compaction<'_>) -> ConversationOutcome {
        let Begun { source, index, at: began, saving } = begun;
        let policy = self.policy;
        let Compaction { bill, summary, failure, .. } = compaction;
        let has_failed = failure.is_some();
        let masks = if has_failed { None } else { self.masked_places(index) };
        let preparation = self.prepared.of_conversation(index);
        let asked = bill.requests > 0 || bill.cached > 0;
        let name = policy.summary.name.as_str();
        let provider = match summary.as_ref().map(|summary| summary.by) {
            Some(SummarySource::Embedded) => Some(EXTRACTIVE),
            Some(SummarySource::Summarizer) => Some(name),
            Some(SummarySource::ErrorText | SummarySource::Note) | None if asked => Some(name),
            Some(SummarySource::ErrorText | SummarySource::Note) | None => None,
        };
        let is_compacted = !has_failed && (summary.is_some() || compaction.is_pruned() || masks.is_some());
        let status = if has_failed {
            Status::Failed
        } else if is_compacted || preparation.is_change && self.run.settings.action.shows_changes() {
            Status::Compacted
        } else {
            Status::Unchanged
        };
        let mut redacted = compaction.redacted.clone();
        for (kind, count) in masks.into_iter().flatten() {
            *redacted.get_or_insert_default().entry(kind).or_default() += count;
        }
        let tokens_after = if has_failed { None } else { compaction.tokens_after.or(compaction.tokens_before) };
        let plan = if self.run.settings.output.keeps_rows() {
            Some(PlanRow::new(&compaction.fitted, &compaction.earlier, &compaction.resets))
        } else {
            None
        };
        let page = self.draw_page(source, compaction);
        let saved_by_summary = summary.as_ref().and_then(|summary| summary.saved).unwrap_or_default();
        let saved = saved_by_summary + compaction.pruned_tokens();
        ConversationOutcome {
            source: source.to_owned(),
            reason: compaction.left.clone().or_else(|| compaction.fitted.plan.reason.clone()),
            status,
            skipped_lines: self.document.broken_lines.len(),
            summary_tokens: summary.as_ref().map(|summary| summary.tokens),
            tokens_after,
            provider: provider.map(str::to_owned),
            usage: bill.usage.map(|usage| policy.summary.model.billed(usage)),
            requests: bill.requests,
            retries: bill.retries,
            cached: bill.cached,
            economy: if has_failed { None } else { compaction.economy },
            redacted,
            repaired: preparation.repaired,
            updated: preparation.updated,
            elapsed_ms: u64::try_from(began.elapsed().as_millis()).unwrap_or(u64::MAX),
            error: compaction.error.clone(),
            saved,
            ending: if is_compacted { self.ending(compaction, index, tokens_after) } else { None },
            saving: saving.map(|planned| Saving { saved, ..planned }),
            page,
            plan,
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
