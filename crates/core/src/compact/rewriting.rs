//! The last step: the edits of the messages that stay.

use std::cell::OnceCell;
use std::path::PathBuf;
use std::slice;

use anyhow::Result;
use serde_json::Value;

use crate::compact::archive::{self, Files, MEDIA, Record, Section};
use crate::compact::compaction::Edits;
use crate::compact::context::CompactionContext;
use crate::compact::decide::Decided;
use crate::compact::event::CompactionEvent;
use crate::compact::fit::Fitted;
use crate::compact::large_results::fit_results;
use crate::compact::limit::{Fit, limit_name, tokens_failure};
use crate::compact::message::message_bytes;
use crate::compact::policy::{CompactionPolicy, SummarizerKind};
use crate::compact::result_size::result_tokens;
use crate::compact::summarize::Summary;
use crate::plan::Plan;
use crate::plan::size::Size;
use crate::presets::deepagents;
use crate::rewrite::thinking::{self, Removal};
use crate::rewrite::{self, Edit, Placed};
use crate::transcript::Transcript;
use crate::transcript::compaction::{Reset, ResetKind};
use crate::wording::{counted, readable_source};

impl CompactionContext<'_> {
    /// The edits of a plan, with its summary or without one.
    ///
    /// # Errors
    /// The result is larger than it may be.
    pub(super) fn edits(&self, source: &str, fitted: &Fitted<'_>, summary: Option<&Summary>) -> Result<Edits> {
        let plan = &fitted.plan;
        if summary.is_none() && plan.cutoff > 0 {
            // Without a summary, the history stays unchanged.
            self.report_over_limit(source, fitted);
            return Ok(self.leave(source, fitted));
        }
        if summary.is_none() && fitted.pruned.is_empty() {
            let mut edits = self.shorten(source, fitted);
            if plan.triggered {
                edits = fit_results(self.policy, source, fitted, None, edits)?;
            }
            let (arguments, results) = (!fitted.decided.edits.is_empty(), !edits.files.is_empty());
            self.report(source, CompactionEvent::NotSummarized { arguments, results });
            return Ok(edits);
        }
        let placed = summary.map(|summary| &summary.placed);
        let edits = match placed {
            Some(_) => fit_results(self.policy, source, fitted, placed, self.edit_kept(source, fitted))?,
            None => self.prune(source, fitted),
        };
        self.report(source, CompactionEvent::Pruned(&fitted.savings()));
        if let Some(tokens) = fitted.fit.and_then(|fit| fit.cap) {
            self.report(source, CompactionEvent::Capped(tokens));
        }
        self.check_fit(source, fitted, &edits, placed)?;
        Ok(edits)
    }

    /// Edits a conversation that is pruned and not summarized.
    fn prune(&self, source: &str, fitted: &Fitted<'_>) -> Edits {
        let Fitted { decided, pruned, thinking, .. } = fitted;
        let transcript = decided.transcript;
        self.report(source, CompactionEvent::Thinking(thinking));
        let mut emptied: Vec<usize> = pruned.emptied.iter().chain(&thinking.emptied).copied().collect();
        emptied.sort_unstable();
        let mut edits: Vec<Edit> = decided.edits.iter().chain(&pruned.edits).chain(&thinking.edits).cloned().collect();
        rewrite::sort(&mut edits);
        let removal = Removal { edits, emptied: emptied.clone(), ..Removal::default() };
        Edits {
            plan: Plan { emptied, ..fitted.plan.clone() },
            edits: removal.all_edits(transcript),
            sections: pruned_sections(self.policy, source, fitted),
            files: pruned_files(self.policy, fitted),
        }
    }

    /// Edits a conversation that stays although its plan cuts it: thinking behind a mask can be removed.
    fn leave(&self, source: &str, fitted: &Fitted<'_>) -> Edits {
        let transcript = fitted.decided.transcript;
        let behind = thinking::behind_change(transcript, None);
        let removal = thinking::removal(transcript, behind, self.policy.thinking, self.policy.reader_name());
        if removal.is_empty() {
            return Edits { plan: fitted.plan.clone(), ..Edits::default() };
        }
        self.report(source, CompactionEvent::Thinking(&removal));
        let plan = Plan { emptied: removal.emptied.clone(), ..Plan::default() };
        Edits { plan, edits: removal.all_edits(transcript), ..Edits::default() }
    }

    /// Edits a conversation that is not summarized. Thinking behind the first edit can be removed.
    fn shorten(&self, source: &str, fitted: &Fitted<'_>) -> Edits {
        let Decided { transcript, edits: early, .. } = &*fitted.decided;
        let edited = early.first().map(|edit| thinking::message_at(transcript, edit));
        let behind = thinking::behind_change(transcript, edited);
        let removal = thinking::removal(transcript, behind, self.policy.thinking, self.policy.reader_name());
        self.report(source, CompactionEvent::Thinking(&removal));
        let mut edits = early.clone();
        let plan = Plan { emptied: removal.emptied.clone(), ..fitted.plan.clone() };
        edits.extend(removal.all_edits(transcript));
        rewrite::sort(&mut edits);
        Edits { plan, edits, ..Edits::default() }
    }

    /// Edits the messages that stay beside a summary.
    pub(super) fn edit_kept(&self, source: &str, fitted: &Fitted<'_>) -> Edits {
        let Fitted { decided, pruned, thinking, plan, .. } = fitted;
        let transcript = decided.transcript;
        let mut edits = Vec::new();
        for edit in decided.edits.iter().chain(&pruned.edits) {
            if stays(transcript, plan, edit) {
                edits.push(edit.clone());
            }
        }
        self.report(source, CompactionEvent::Thinking(thinking));
        // DeepAgents removes the reasoning that it knows to be bound to the history, for any model.
        let is_unbound = self.policy.habits.files && thinking.is_empty();
        edits.extend(if is_unbound { deepagents::remove_bound(transcript, plan) } else { thinking.edits.clone() });
        rewrite::sort(&mut edits);
        let mut emptied = pruned.emptied.clone();
        emptied.retain(|index| *index >= plan.cutoff);
        emptied.extend(&thinking.emptied);
        emptied.sort_unstable();
        let files = pruned_files(self.policy, fitted);
        Edits { plan: Plan { emptied, ..plan.clone() }, edits, files, ..Edits::default() }
    }

    /// The bytes of the messages of a plan. Nobody is asked for a summary: one by a model is as long as its room.
    pub(super) fn written_bytes(&self, fitted: Fitted<'_>) -> Option<u64> {
        let Decided { policy, transcript, .. } = &*fitted.decided;
        let is_asked = matches!(policy.summary.summarizer, SummarizerKind::Model | SummarizerKind::Command);
        if !is_asked || fitted.plan.cutoff == 0 {
            let done = self.rewrite("", self.summarize("", fitted));
            return if done.failure.is_none() { Some(done.written_bytes()) } else { None };
        }
        let stays = rewrite::remaining(transcript, &fitted.plan, None, &self.edit_kept("", &fitted).edits);
        let room = fitted.fit.map_or(0, |fit| fit.room);
        let bytes_of_token = message_bytes(transcript).div_ceil(fitted.tokens().max(1));
        Some(stays.iter().map(|message| message.len() as u64).sum::<u64>() + room * bytes_of_token)
    }

    /// Reports a conversation that stays unchanged although it is larger than the limit of `--fit`.
    fn report_over_limit(&self, source: &str, fitted: &Fitted<'_>) {
        let tokens = fitted.tokens();
        if let Some(Fit { limit, .. }) = fitted.fit
            && tokens > limit
        {
            self.report(source, CompactionEvent::OverLimit { tokens, limit: &limit_name(self.policy, limit) });
        }
    }

    /// Checks that the result meets the limit of `--fit`.
    ///
    /// # Errors
    /// The result is larger.
    fn check_fit(&self, source: &str, fitted: &Fitted<'_>, edits: &Edits, placed: Option<&Placed>) -> Result<()> {
        // Bytes are checked once all edits are known.
        if matches!(self.policy.fit, Some(Size::Bytes(_))) {
            return Ok(());
        }
        let Some(Fit { limit, .. }) = fitted.fit else { return Ok(()) };
        let tokens = result_tokens(self.policy, fitted.decided.transcript, edits, placed);
        if tokens <= limit {
            return Ok(());
        }
        let (source, limit) = (readable_source(source), limit_name(self.policy, limit));
        let message = format!("{source}: the result would have {}, more than {limit}", counted(tokens, "token"));
        Err(tokens_failure(message, tokens, fitted.tokens()).into())
    }
}

/// Whether an edit is in a message that stays.
fn stays(transcript: &Transcript<'_>, plan: &Plan, edit: &Edit) -> bool {
    let after = transcript.messages.partition_point(|message| message.span().start <= edit.range.start);
    let index = after.saturating_sub(1);
    index >= plan.cutoff || plan.pinned.binary_search(&index).is_ok()
}

/// The content for the archive of a conversation that was only pruned: the pruned messages as they were, where nothing is
/// restored from the archive. Otherwise it gets them with the changes that restoring undoes.
fn pruned_sections(policy: &CompactionPolicy, source: &str, fitted: &Fitted<'_>) -> Vec<Section> {
    if policy.archive.is_none() || policy.has_records() {
        return Vec::new();
    }
    let (transcript, cut) = (fitted.decided.unmasked, fitted.cut_messages());
    if cut.is_empty() {
        return Vec::new();
    }
    if policy.writes_records() {
        return vec![Record::new(transcript, source.to_owned(), cut, None).section()];
    }
    vec![Section::readable(source, cut.iter().map(|&index| &transcript.messages[index]))]
}

/// The files with the bytes of pruned media.
fn pruned_files(policy: &CompactionPolicy, fitted: &Fitted<'_>) -> Files {
    let Some(place) = archive::place(policy, fitted.decided.transcript) else { return Files::new() };
    let folder: PathBuf = place.folder(MEDIA);
    let files = fitted.pruned.files.iter().chain(&fitted.pruned.unsent.files);
    files.map(|file| (folder.join(&file.name), file.bytes.clone())).collect()
}

/// The resets beside a summary, or where messages were only pruned, in order. `tokens` counts the result.
pub(super) fn resets(
    transcript: &Transcript<'_>,
    plan: &Plan,
    placed: Option<&Placed>,
    tokens: &dyn Fn() -> u64,
) -> Vec<Reset> {
    let summary: &[Value] = match placed {
        Some(Placed::Messages(summary)) => summary,
        Some(Placed::Beside(_)) => return Vec::new(),
        None => &[],
    };
    let counted = OnceCell::new();
    let tokens = || *counted.get_or_init(tokens);
    let mut resets = transcript.format.session.resets(summary, &rewrite::summary_place(transcript, plan), &tokens);
    // A message of which nothing is left is written anew as a whole: a new parent becomes a part of that.
    resets.retain_mut(|reset| {
        let index = thinking::message_at(transcript, &reset.edit);
        let entry = transcript.messages.get(index).map(|message| message.span());
        if plan.emptied.binary_search(&index).is_err() || entry.is_none_or(|entry| entry.start != reset.entry) {
            return true;
        }
        match thinking::bridge(transcript, index, slice::from_ref(&reset.edit)) {
            Some(bridge) if reset.kind == ResetKind::Parent => reset.edit = bridge,
            _ => return false,
        }
        true
    });
    resets.sort_by_key(|reset| reset.edit.range.start);
    resets
}
