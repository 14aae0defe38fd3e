//! What is shown of conversations while they are in memory: `--dry-run` prints where each would be cut, `count` its
//! tokens, `--diff` what a run would change, and a page what was changed.
//!
//! [`crate::report`] lays these out. Secrets are masked here, before anything is drawn.

use std::collections::BTreeMap;
use std::sync::Arc;

use anyhow::Result;

use crate::compact::{
    Compaction, CompactionEvent, CompactionPolicy, Decided, EarlierSummary, Fitted, certain_files, decide,
    estimated_economy, masked, redactor, unsent_bytes,
};
use crate::engine::inputs::{read, source_name};
use crate::engine::result::TaskResult;
use crate::engine::task::{Task, without_plan};
use crate::events::{Drawn, Event, PlanRow, PrunedOnly, ReportRow, Status};
use crate::exit::Failure;
use crate::files::append;
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
use crate::transcript::formats::read_entry;
use crate::transcript::framing::Document;
use crate::transcript::view::Arena;
use crate::transcript::{Message, Transcript};
use crate::wording::counted;

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
            let unmasked = self.unmasked.map_or(transcript, |unmasked| &unmasked.original.document.transcripts[at]);
            let planned = self.context(&|_, _| ()).plan(transcript, unmasked, &arena);
            let planned = planned.map_err(|error| without_plan(&source, error))?;
            result.note_compacted(planned.is_change());
            self.note_masks(&source, at, result);
            let masked = self.masked_places(at);
            if planned.is_change() && planned.plan.cutoff == 0 && !json {
                let saved = planned.tokens().saturating_sub(planned.tokens_without_summary());
                result.totals.pruned_only.join(&PrunedOnly::one(&source, saved, planned.pruned.unsent.saved()));
            }
            if masked.is_none() {
                self.note_unchanged(document, &source, &planned, None, result);
            }
            let explain = self.explain(document);
            let estimate = json || self.settings.stderr.volume == Volume::Verbose || explain.is_some();
            let mut worth = estimate.then(|| estimated_economy(&planned)).flatten();
            self.report_plan(&source, &planned, worth.as_ref());
            let mut earlier = Vec::new();
            if explain.is_some() {
                earlier = self.context(&|_, _| ()).earlier_of_plan(&planned);
                let mut row = ReportRow::without_plan(&source, Status::Unchanged, None);
                row.saving = self.explain_plan(explain, &source, &planned, &earlier, worth.as_ref());
                result.rows.push(row);
            }
            planned.check(&source)?;
            self.check_state(&source, &planned)?;
            let line = |planned: &Fitted<'_>, earlier: &[EarlierSummary], economy, summary: Option<&str>| {
                if json {
                    let (plan, reason) = (PlanRow::new(planned, earlier, &[]), planned.plan.reason.as_deref());
                    DryRun { source: &source, plan, economy, summary, redacted: masked, reason }.to_line()
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
                self.listener.handle(&Event::Previewed { source: &source, summary });
            }
            text.push_str(&line(&compaction.fitted, &compaction.earlier, worth, summary));
        }
        result.content = text.into();
        Ok(())
    }

    fn report_plan(&self, source: &str, planned: &Fitted<'_>, worth: Option<&Economy>) {
        let reader = self.policy.reader_name();
        self.listener.handle(&Event::Planned { source, plan: planned });
        if let Some(economy) = worth {
            self.listener.handle(&Event::Estimated { source, economy, reader });
        }
        self.listener.handle(&Event::Split { source, plan: &planned.plan, pairs: self.policy.cut.pairs });
        let notify = |what: CompactionEvent<'_>| self.listener.handle(&Event::Compacting { source, what, reader });
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
    fn preview<'t>(&self, source: &str, planned: Fitted<'t>) -> Result<Compaction<'t>> {
        let reader = self.policy.reader_name();
        let is_cut = planned.plan.cutoff > 0;
        let listen = |source: &str, what: CompactionEvent<'_>| {
            // `report_plan` has reported the thinking already.
            if !(is_cut && matches!(what, CompactionEvent::Thinking(_))) {
                self.listener.handle(&Event::Compacting { source, what, reader });
            }
        };
        if is_cut {
            append::check_files(&certain_files(self.policy, &planned))?;
        }
        let mut compaction = self.context(&listen).carry_out(source, planned);
        compaction.failure.take().map_or(Ok(compaction), Err)
    }

    /// Prints the tokens of each conversation.
    pub(super) fn count(
        &self,
        document: &Document<'_>,
        json: bool,
        sorted: bool,
        result: &mut TaskResult,
    ) -> Result<()> {
        let mut text = String::new();
        let counted = &mut result.totals.counted;
        if self.settings.stderr.volume > Volume::Quiet
            && document.transcripts.iter().any(|transcript| !transcript.format.unsent.is_empty())
        {
            counted.session_bytes += self.input.bytes().len() as u64;
            counted.unsent_bytes += document.transcripts.iter().map(unsent_bytes).sum::<u64>();
        }
        for transcript in &document.transcripts {
            let arena = Arena::default();
            let source = source_name(self.input, transcript);
            let decided = decide(transcript, transcript, self.policy, &arena)?;
            let tokens = decided.tokens();
            let line =
                if json { Count::new(&source, &decided).to_line() } else { self.line(&source, transcript, tokens) };
            // It names tools.
            let masked = self.policy.redact.is_on().then(|| Redactor::default().mask(&line).into_owned());
            let line = masked.unwrap_or(line);
            if self.settings.stderr.explain {
                counted.categories.join(&Categories::of(decided.view, &decided.tally, decided.plan.start));
            }
            let recorded = || RecordedSize::of(decided.view, &decided.tally);
            let one = if counted.conversations == 0 { recorded() } else { None };
            counted.recorded = one.map(|size| (size.record.tokens, size.beside(decided.view, &decided.tally)));
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
    pub(super) fn diff(&self, document: &Document<'_>, result: &mut TaskResult) -> Result<()> {
        let mut diffs = String::new();
        self.compact_each(document, result, &mut |result, at, source, done| {
            let (transcript, masked_secrets) = (&document.transcripts[at], self.masked_secrets(at));
            if !done.is_change() && masked_secrets.is_none() {
                return Ok(());
            }
            let arena = Arena::default();
            let masks = done.redactor.take();
            let masked = self.policy.redact.is_on().then(|| mask_both(done, masks, &arena)).transpose()?;
            let Compaction { plan, summary, edits, fitted, .. } = &*done;
            let pruned = &fitted.pruned;
            let summary = summary.as_ref().map(|summary| &summary.placed);
            result.note_compacted(summary.is_some() || done.is_pruned());
            let tally = &self.policy.tally(transcript);
            let diff = Diff { source, transcript, masked, tally, plan, summary, edits, pruned, masked_secrets };
            diffs.push_str(&diff.draw());
            Ok(())
        })?;
        result.content = terminal::for_stdout(diffs).into();
        Ok(())
    }

    /// Draws what a repair changed in each conversation.
    pub(super) fn draw_repair(&self, before: &Input, after: &Input) -> Result<String> {
        let arena = Arena::default();
        let read = |input| read(&self.settings.input, self.policy, input, &arena);
        let (before, after) = (read(before)?, read(after)?);
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

/// Draws a conversation and its compaction, by the plan and the counts of the compaction; nothing if it cannot be read
/// again with its secrets masked.
pub(super) fn draw_page(
    policy: &CompactionPolicy,
    source: &str,
    compaction: &mut Compaction<'_>,
) -> Option<Arc<Drawn>> {
    let transcript = compaction.fitted.decided.transcript;
    let mut masks = compaction.redactor.take().or_else(|| policy.redact.is_on().then(|| redactor(transcript)));
    let arena = Arena::default();
    let (before, after) = before_and_after(compaction, masks.as_mut(), &arena).ok()?;
    Some(Arc::new(draw_compaction(policy, source, compaction, before, after)))
}

/// A conversation before and after its edits, with the secrets masked in both. `masks` has the placeholders that the
/// history got.
///
/// # Errors
/// It cannot be read again with its secrets masked.
fn mask_both<'t>(
    compaction: &Compaction<'t>,
    masks: Option<Redactor>,
    arena: &'t Arena<'t>,
) -> Result<(&'t Transcript<'t>, &'t Transcript<'t>)> {
    let mut masks = masks.unwrap_or_else(|| redactor(compaction.fitted.decided.transcript));
    before_and_after(compaction, Some(&mut masks), arena)
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
    let why = || compaction.error.clone().unwrap_or_else(|| "nothing was summarized".to_owned());
    let plan = Plan::of_nothing(planned.reason.clone().unwrap_or_else(why));
    Plan {
        wanted: planned.wanted,
        fired: planned.fired.clone(),
        triggered: planned.triggered,
        emptied: compaction.plan.emptied.clone(),
        reason: plan.reason.filter(|_| !is_pruned || compaction.error.is_some()),
        ..plan
    }
}

/// The messages that stay with less in them, or that are removed whole, each with the tokens that it keeps.
fn pruned(compaction: &Compaction<'_>, before: &Transcript<'_>, after: &Transcript<'_>) -> BTreeMap<usize, u64> {
    let transcript = compaction.fitted.decided.transcript;
    let emptied = compaction.plan.emptied.iter().map(|&index| (index, 0));
    let both = before.messages.iter().zip(&after.messages).enumerate();
    let changed = both.filter(|(_, (before, after))| before.json.raw() != after.json.raw());
    let tally = &compaction.fitted.decided.tally;
    let kept = changed.filter_map(|(index, _)| {
        let entry = edited(transcript, index, &compaction.edits);
        Some((index, read_entry(transcript.format, &entry, |message| tally.edited(index, message))?))
    });
    kept.chain(emptied).collect()
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
    let archive = policy.archive.as_deref().filter(|_| compaction.is_change());
    let no_edits = &[][..];
    let of_plan = Picture {
        source,
        transcript: before,
        tally,
        plan: &plan,
        pruned,
        policy: &policy.cut,
        fit: policy.fit.filter(|_| compaction.fitted.fit.is_some()),
        archive,
        earlier: &compaction.earlier,
        economy: None,
    };
    let earlier = compaction.earlier.iter().map(EarlierSummary::sentence);
    let decision = std::iter::once(of_plan.decision()).chain(earlier).collect::<Vec<_>>().join("; ");
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
            let read = |message: &Message<'_>| {
                let tokens = counter.count(message);
                (format!("{}, {}", brief::role(message), counted(tokens, "token")), brief::text(message))
            };
            entries.iter().filter_map(|entry| read_entry(transcript.format, &entry.to_string(), read)).collect()
        }
    }
}
