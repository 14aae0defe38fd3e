//! What is shown of conversations while they are in memory: `--dry-run` prints where each would be cut, `count` its
//! tokens, `--diff` what a run would change, and a page what was changed.
//!
//! [`crate::report`] lays these out. Secrets are masked here, before anything is drawn.

use std::collections::BTreeMap;
use std::sync::Arc;

use anyhow::Result;

use crate::compact::{
    Compaction, CompactionEvent, CompactionPolicy, Decided, EarlierSummary, Fitted, Planned, certain_files, decide,
    estimated_economy, masked, redactor, unsent_bytes,
};
use crate::engine::conversations::{Conversations, name_in_error};
use crate::engine::reading::{read, source_name};
use crate::engine::result::TaskResult;
use crate::engine::task::Task;
use crate::events::{ConversationOutcome, Drawn, Event, Listener, PlanRow, PrunedOnly, Status};
use crate::exit::Failure;
use crate::files::beside_archive;
use crate::files::input::Input;
use crate::plan::Plan;
use crate::plan::economy::Economy;
use crate::plan::recorded::RecordedSize;
use crate::redact::Redactor;
use crate::report::diff::{Diff, RepairDiff};
use crate::report::explain::Picture;
use crate::report::html::{Shown, picture};
use crate::report::json::{Count, DryRun};
use crate::report::{brief, terminal};
use crate::rewrite::{Placed, edited, remaining};
use crate::settings::Volume;
use crate::tokens::Categories;
use crate::transcript::Transcript;
use crate::transcript::formats::read_entry;
use crate::transcript::view::Arena;
use crate::wording::counted;

impl Conversations<'_> {
    /// Prints the cutoff of each conversation, as an object with `json`. With `preview`, requests and shows the summary.
    pub(super) fn dry_run(&self, json: bool, preview: bool, result: &mut TaskResult) -> Result<()> {
        let mut text = String::new();
        for conversation in self.each() {
            let (source, arena) = (source_name(self.input, conversation.transcript), Arena::default());
            let planned = self.context(&|_, _| ()).plan(conversation, &source, &arena);
            let planned = planned.map_err(|error| name_in_error(&source, error))?;
            let fitted = &planned.fitted;
            result.note_compacted(fitted.is_change());
            self.note_masks(&source, conversation.index, result);
            let masked = self.masked_places(conversation.index);
            if fitted.is_change() && fitted.plan.cutoff == 0 && !json {
                let saved = fitted.tokens().saturating_sub(fitted.tokens_without_summary());
                result.totals.pruned_only.join(&PrunedOnly::one(&source, saved, fitted.pruned.unsent.saved()));
            }
            if masked.is_none() {
                self.note_unchanged(&source, fitted, None, result);
            }
            let explain = self.explain();
            let estimate = json || self.run.settings.stderr.volume == Volume::Verbose || explain.is_some();
            let mut worth = if estimate { estimated_economy(fitted) } else { None };
            self.report_plan(&source, fitted, worth.as_ref());
            let mut earlier = Vec::new();
            if let Some(explain) = explain {
                earlier = self.context(&|_, _| ()).earlier_of_plan(fitted);
                let saving = self.explain_plan(explain, &source, fitted, &earlier, worth.as_ref());
                let outcome = self.outcome_without_plan(&source, conversation.index, Status::Unchanged, None);
                result.outcomes.push(ConversationOutcome { saving, ..outcome });
            }
            fitted.check(&source)?;
            self.check_state(&source, fitted)?;
            let line = |fitted: &Fitted<'_>, earlier: &[EarlierSummary], economy, summary: Option<&str>| {
                if json {
                    let (plan, reason) = (PlanRow::new(fitted, earlier, &[]), fitted.plan.reason.as_deref());
                    DryRun { source: &source, plan, economy, summary, redacted: masked, reason }.to_line()
                } else {
                    self.line(&source, conversation.transcript, fitted.plan.cutoff)
                }
            };
            if !preview {
                text.push_str(&line(fitted, &earlier, worth, None));
                continue;
            }
            let compaction = self.preview(planned)?;
            let summary = compaction.summary.as_ref().map(|summary| summary.text.as_str());
            if let Some(summary) = summary {
                worth = compaction.economy.or(worth);
                self.run.listeners.handle(&Event::Previewed { source: &source, summary });
            }
            text.push_str(&line(&compaction.fitted, &compaction.earlier, worth, summary));
        }
        result.content = text.into();
        Ok(())
    }

    fn report_plan(&self, source: &str, planned: &Fitted<'_>, worth: Option<&Economy>) {
        let reader = self.policy.reader_name();
        self.run.listeners.handle(&Event::Planned { source, plan: planned });
        if let Some(economy) = worth {
            self.run.listeners.handle(&Event::Estimated { source, economy, reader });
        }
        self.run.listeners.handle(&Event::Split { source, plan: &planned.plan, pairs: self.policy.cut.pairs });
        let notify = |what: CompactionEvent<'_>| self.run.listeners.handle(&Event::Compacting { source, what, reader });
        notify(CompactionEvent::Thinking(&planned.thinking));
        if let Some(tokens) = planned.fit.and_then(|fit| fit.cap) {
            notify(CompactionEvent::Capped(tokens));
        }
        if let Some(window) = self.policy.cut.context_window {
            let tokens = planned.tokens_without_summary();
            if tokens > window {
                notify(CompactionEvent::TooLarge { tokens, window });
            }
        }
        self.warn_of_unknown_tools(source, planned);
    }

    /// Compacts a conversation as a real run would; writes nothing.
    fn preview<'t>(&self, planned: Planned<'t>) -> Result<Compaction<'t>> {
        let is_cut = planned.fitted.plan.cutoff > 0;
        let listen = |source: &str, what: CompactionEvent<'_>| {
            // `report_plan` has reported the thinking already.
            if !(is_cut && matches!(what, CompactionEvent::Thinking(_))) {
                self.report(source, what);
            }
        };
        if is_cut {
            beside_archive::check(&certain_files(self.policy, &planned.fitted))?;
        }
        planned.carry_out_for(&listen).into_result()
    }

    /// Prints the tokens of each conversation.
    pub(super) fn count(&self, json: bool, sorted: bool, result: &mut TaskResult) -> Result<()> {
        let mut text = String::new();
        let counted = &mut result.totals.counted;
        if self.run.settings.stderr.volume > Volume::Quiet
            && self.document.transcripts.iter().any(|transcript| !transcript.format.unsent.is_empty())
        {
            let unsent = self.input.unsent;
            counted.session_bytes += unsent + self.input.bytes().len() as u64;
            counted.unsent_bytes += unsent + self.document.transcripts.iter().map(unsent_bytes).sum::<u64>();
        }
        for transcript in &self.document.transcripts {
            let arena = Arena::default();
            let source = source_name(self.input, transcript);
            let decided = decide(transcript, transcript, self.policy, &arena)?;
            let tokens = decided.tokens();
            let mut line =
                if json { Count::new(&source, &decided).to_line() } else { self.line(&source, transcript, tokens) };
            if self.policy.redact.is_on() {
                // It names tools.
                line = Redactor::default().mask(&line).into_owned();
            }
            if self.run.settings.stderr.explain {
                counted.categories.join(&Categories::of(decided.view, &decided.tally, decided.plan.start));
            }
            counted.recorded = None;
            // A record tells the size of one conversation.
            if counted.conversations == 0
                && let Some(size) = RecordedSize::of(decided.view, &decided.tally)
            {
                counted.recorded = Some((size.record.tokens, size.beside(decided.view, &decided.tally)));
            }
            counted.conversations += 1;
            counted.tokens += tokens;
            counted.overhead += decided.tally.overhead();
            if sorted {
                counted.lines.push((tokens, line));
            } else {
                text.push_str(&line);
            }
        }
        result.content = text.into();
        Ok(())
    }

    /// Draws what compacting removes from each conversation and what it adds.
    pub(super) fn diff(&self, result: &mut TaskResult) -> Result<()> {
        let mut diffs = String::new();
        let listen = |source: &str, what: CompactionEvent<'_>| self.report(source, what);
        let context = self.context(&listen);
        for conversation in self.each() {
            let (source, arena) = (source_name(self.input, conversation.transcript), Arena::default());
            let done = self.compact(&context, conversation, &source, &arena, result)?;
            let (transcript, masked_secrets) = (conversation.transcript, self.masked_secrets(conversation.index));
            if !done.is_change() && masked_secrets.is_none() {
                continue;
            }
            let arena = Arena::default();
            let masked = if self.policy.redact.is_on() { Some(mask_both(&done, self.policy, &arena)?) } else { None };
            let Compaction { plan, summary, edits, fitted, .. } = &done;
            let pruned = &fitted.pruned;
            let summary = summary.as_ref().map(|summary| &summary.placed);
            result.note_compacted(summary.is_some() || done.is_pruned());
            let tally = &self.policy.tally(transcript);
            let source = &source;
            let diff = Diff { source, transcript, masked, tally, plan, summary, edits, pruned, masked_secrets };
            diffs.push_str(&diff.draw());
        }
        result.content = terminal::for_stdout(diffs).into();
        Ok(())
    }
}

impl Task<'_> {
    /// Draws what a repair changed in each conversation.
    pub(super) fn draw_repair(&self, before: &Input, after: &Input) -> Result<String> {
        let arena = Arena::default();
        let policy = &*self.sink.policy;
        let read = |input| read(&self.run.settings.input, policy, input, &arena);
        let (before, after) = (read(before)?, read(after)?);
        let mut diffs = String::new();
        for (before, after) in before.transcripts.iter().zip(&after.transcripts) {
            let arena = Arena::default();
            let mut shown = None;
            if policy.redact.is_on() {
                let mut masks = redactor(before);
                let before = masked(before, &[], Some(&mut masks), &arena)?;
                shown = Some((before, masked(after, &[], Some(&mut masks), &arena)?));
            }
            let source = source_name(self.input, before);
            diffs.push_str(
                &RepairDiff { source: &source, before, after, masked: shown, counter: policy.message_counter(before) }
                    .draw(),
            );
        }
        Ok(terminal::for_stdout(diffs))
    }
}

/// Draws a conversation and its compaction, by the plan and the counts of the compaction; nothing if it cannot be read
/// again with its secrets masked.
pub(super) fn draw_page(policy: &CompactionPolicy, source: &str, compaction: &Compaction<'_>) -> Option<Arc<Drawn>> {
    let mut masks = compaction.redactor_of_shown(policy);
    let arena = Arena::default();
    let (before, after) = before_and_after(compaction, masks.as_mut(), &arena).ok()?;
    Some(Arc::new(draw_compaction(policy, source, compaction, before, after)))
}

/// A conversation before and after its edits, with the secrets masked in both.
///
/// # Errors
/// It cannot be read again with its secrets masked.
fn mask_both<'t>(
    compaction: &Compaction<'t>,
    policy: &CompactionPolicy,
    arena: &'t Arena<'t>,
) -> Result<(&'t Transcript<'t>, &'t Transcript<'t>)> {
    before_and_after(compaction, compaction.redactor_of_shown(policy).as_mut(), arena)
}

/// A conversation before and after its edits, masked if there are `masks`. Messages that the edits remove whole stand
/// in both, so that a message has one index.
fn before_and_after<'t>(
    compaction: &Compaction<'t>,
    mut masks: Option<&mut Redactor>,
    arena: &'t Arena<'t>,
) -> Result<(&'t Transcript<'t>, &'t Transcript<'t>)> {
    let transcript = compaction.fitted.decided.transcript;
    let edits = compaction.edits_of_left();
    let before = masked(transcript, &[], masks.as_deref_mut(), arena)?;
    let after = if edits.is_empty() { before } else { masked(transcript, &edits, masks, arena)? };
    let all = transcript.messages.len();
    // Messages that cannot be told apart any more are not shown as others.
    if (before.messages.len(), after.messages.len()) != (all, all) {
        return Err(Failure::unreadable("its messages cannot be told apart with their secrets masked").into());
    }
    Ok((before, after))
}

/// The plan of a conversation whose history stayed, with the reason unless something was pruned.
fn plan_without_summary(compaction: &Compaction<'_>, is_pruned: bool) -> Plan {
    let planned = &compaction.fitted.plan;
    let reason = planned.reason.as_ref().or(compaction.error.as_ref());
    let plan = Plan::of_nothing(reason.map_or("nothing was summarized", String::as_str).to_owned());
    Plan {
        wanted: planned.wanted,
        fired: planned.fired.clone(),
        triggered: planned.triggered,
        emptied: compaction.plan.emptied.clone(),
        reason: if is_pruned && compaction.error.is_none() { None } else { plan.reason },
        ..plan
    }
}

/// The messages that stay with less in them, or that are removed whole, each with the tokens that it keeps.
fn pruned(compaction: &Compaction<'_>, before: &Transcript<'_>, after: &Transcript<'_>) -> BTreeMap<usize, u64> {
    let transcript = compaction.fitted.decided.transcript;
    let tally = &compaction.fitted.decided.tally;
    let mut pruned = BTreeMap::new();
    for (index, (before, after)) in before.messages.iter().zip(&after.messages).enumerate() {
        if before.json.raw() == after.json.raw() {
            continue;
        }
        let entry = edited(transcript, index, &compaction.edits);
        if let Some(tokens) = read_entry(transcript.format, &entry, |message| tally.edited(index, message)) {
            pruned.insert(index, tokens);
        }
    }
    for &index in &compaction.plan.emptied {
        pruned.insert(index, 0);
    }
    pruned
}

fn draw_compaction(
    policy: &CompactionPolicy,
    source: &str,
    compaction: &Compaction<'_>,
    before: &Transcript<'_>,
    after: &Transcript<'_>,
) -> Drawn {
    let Decided { transcript, tally, .. } = &*compaction.fitted.decided;
    let pruned = pruned(compaction, before, after);
    let plan = match compaction.summary {
        Some(_) => compaction.plan.clone(),
        None => plan_without_summary(compaction, !pruned.is_empty()),
    };
    let summary = compaction.summary.as_ref().map(|summary| &summary.placed);
    let archive = if compaction.is_change() { policy.archive.as_deref() } else { None };
    let no_edits = &[][..];
    let of_plan = Picture {
        source,
        transcript: before,
        tally,
        plan: &plan,
        pruned,
        policy: &policy.cut,
        fit: if compaction.fitted.fit.is_some() { policy.fit } else { None },
        archive,
        earlier: &compaction.earlier,
        economy: None,
    };
    let mut decision = of_plan.decision();
    for earlier in &compaction.earlier {
        decision.push_str("; ");
        decision.push_str(&earlier.sentence());
    }
    Drawn {
        messages: remaining(transcript, &plan, summary, no_edits).len(),
        decision,
        spent: Categories::of(before, tally, plan.start).rows(),
        picture: picture(&Shown { picture: of_plan, after, anchor: source }),
        summary: summary.map(|summary| summary_messages(transcript, policy, summary)).unwrap_or_default(),
        is_cut: compaction.is_change(),
        archive: archive.map(|archive| archive.display().to_string()),
        files: compaction.archived.files.len(),
    }
}

/// The messages of a summary, without the fields that only the program of the session reads.
fn summary_messages(transcript: &Transcript<'_>, policy: &CompactionPolicy, summary: &Placed) -> Vec<(String, String)> {
    let counter = policy.message_counter(transcript).counter;
    match summary {
        Placed::Beside(text) => vec![("beside the messages".to_owned(), text.clone())],
        Placed::Messages(entries) => {
            let mut messages = Vec::new();
            for entry in entries {
                messages.extend(read_entry(transcript.format, &entry.to_string(), |message| {
                    let tokens = counted(counter.count(message), "token");
                    (format!("{}, {tokens}", brief::role(message)), brief::text(message))
                }));
            }
            messages
        }
    }
}
