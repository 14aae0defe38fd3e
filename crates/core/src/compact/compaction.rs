//! The result of a compaction, with all that is known of it.
//!
//! Also: what the compaction of a conversation is worth: estimated before it, and computed after it.

use std::collections::BTreeMap;

use anyhow::Result;
use serde_json::Value;

use crate::compact::archive::{Archived, ChangedConversation, Files, Section};
use crate::compact::earlier::EarlierSummary;
use crate::compact::fit::Fitted;
use crate::compact::masks::{FileMasks, redactor};
use crate::compact::message::{message_bytes, whole_text};
use crate::compact::policy::{CompactionPolicy, SummarizerKind, is_lines};
use crate::compact::summarize::Summary;
use crate::plan::Plan;
use crate::plan::economy::{Economy, Prices};
use crate::prune::unsent_beside;
use crate::redact::Redactor;
use crate::rewrite::{self, Edit, Placed, thinking};
use crate::summary::exchange::Bill;
use crate::tokens::models::PRICES_OF;
use crate::transcript::Transcript;
use crate::transcript::compaction::Reset;
use crate::transcript::formats::read_entry;

/// The compaction of a conversation, done or fitted.
pub struct Compaction<'t> {
    /// The plan that was carried out.
    pub fitted: Fitted<'t>,
    /// Where the conversation was cut, with the messages that were emptied.
    pub plan: Plan,
    /// The summary in the place of the history; none where that stays.
    pub summary: Option<Summary>,
    /// The edits of messages that stay, in order.
    pub edits: Vec<Edit>,
    /// What is reset beside the summary, as the agent resets it after a compaction of its own; in order.
    pub resets: Vec<Reset>,
    /// The earlier summaries that the summary replaces.
    pub earlier: Vec<EarlierSummary>,
    /// The removed content, for the archive.
    pub archived: Archived,
    /// The requests, and what they cost.
    pub bill: Bill,
    /// Tokens of the conversation before, where they are counted.
    pub tokens_before: Option<u64>,
    /// Tokens of the result, where they are counted and anything was changed.
    pub tokens_after: Option<u64>,
    /// What the compaction is worth.
    pub economy: Option<Economy>,
    /// The number of masked secrets of each kind, with `--redact`. Those that `--redact=all` masked before are not counted.
    pub redacted: Option<BTreeMap<&'static str, u64>>,
    /// Why the history stays although the plan cuts it, where nothing went wrong.
    pub left: Option<String>,
    /// What went wrong, whether or not `--on-error` helped.
    pub error: Option<String>,
    /// Masked the secrets of the history; texts that are shown later get the same placeholders.
    pub redactor: Option<Redactor>,
    /// Why there is no result.
    pub failure: Option<anyhow::Error>,
    /// The result as plain text, with `--emit handoff`.
    pub handoff: Option<String>,
}

/// The changes of a conversation beside its summary.
#[derive(Default)]
pub(super) struct Edits {
    /// Where the conversation was cut, with the messages that the edits empty.
    pub(super) plan: Plan,
    /// The edits of messages that stay, in order.
    pub(super) edits: Vec<Edit>,
    /// What they remove, for an archive that is for reading.
    pub(super) sections: Vec<Section>,
    /// The files to which they move content.
    pub(super) files: Files,
}

impl Compaction<'_> {
    /// The compaction, if it has a result.
    ///
    /// # Errors
    /// Why there is no result.
    pub fn into_result(self) -> Result<Self> {
        match self.failure {
            Some(failure) => Err(failure),
            None => Ok(self),
        }
    }

    /// The same without a result.
    pub(super) fn without_result(self, failure: anyhow::Error) -> Self {
        Compaction { error: Some(failure.to_string()), failure: Some(failure), ..self }
    }

    /// Masks the secrets in texts that are shown, with `--redact`, by the placeholders that the history got.
    pub fn redactor_of_shown(&self, policy: &CompactionPolicy) -> Option<Redactor> {
        let of_history = self.redactor.clone();
        of_history.or_else(|| policy.redact.is_on().then(|| redactor(self.fitted.decided.transcript)))
    }

    /// In tokens; 0 where they were not counted.
    pub fn lost(&self) -> u64 {
        self.tokens_before.zip(self.tokens_after).map_or(0, |(before, after)| before.saturating_sub(after))
    }

    pub fn messages_after(&self) -> usize {
        let transcript = self.fitted.decided.transcript;
        let new = match self.summary.as_ref().map(|summary| &summary.placed) {
            Some(Placed::Messages(entries)) => {
                let is_message = |entry: &Value| read_entry(transcript.format, &entry.to_string(), |_| ()).is_some();
                entries.iter().filter(|entry| is_message(entry)).count()
            }
            Some(Placed::Beside(_)) | None => 0,
        };
        let replaced = if self.summary.is_some() { self.plan.replaced() } else { Vec::new() };
        let is_removed =
            |index: &usize| replaced.binary_search(index).is_ok() || self.plan.emptied.binary_search(index).is_ok();
        (0..transcript.messages.len()).filter(|index| !is_removed(index)).count() + new
    }

    /// Whether messages that stay were pruned.
    pub fn is_pruned(&self) -> bool {
        let stays = self.failure.is_none() && (self.summary.is_some() || self.plan.cutoff == 0);
        stays && !self.fitted.pruned.savings(self.plan.cutoff).is_empty()
    }

    /// The tokens that pruning took from the messages that stay.
    pub fn pruned_tokens(&self) -> u64 {
        let savings = self.fitted.pruned.savings(self.plan.cutoff);
        savings.iter().filter(|_| self.is_pruned()).map(|one| one.tokens).sum()
    }

    /// The edits inside messages that are left, in order. Those that empty a message leave nothing to be read.
    pub fn edits_of_left(&self) -> Vec<Edit> {
        let transcript = self.fitted.decided.transcript;
        let is_left = |edit: &&Edit| self.plan.emptied.binary_search(&thinking::message_at(transcript, edit)).is_err();
        self.edits.iter().filter(is_left).cloned().collect()
    }

    /// The bytes of the messages as they are written, with what stands between a summary's entries.
    pub(super) fn written_bytes(&self) -> u64 {
        let transcript = self.fitted.decided.transcript;
        let placed = self.summary.as_ref().map(|summary| rewrite::placed(transcript, &self.plan, &summary.placed));
        let edits = placed.into_iter().flatten().chain(self.edits.iter().cloned());
        let edits = all_edits(edits, &self.resets, self.unsent());
        let (mut added, mut removed) = (0, 0);
        for edit in &edits {
            added += edit.text.len() as u64;
            let messages = &transcript.messages[rewrite::thinking::message_at(transcript, edit)..];
            let spans = messages.iter().map(|message| message.span());
            let inside = spans.take_while(|span| span.start < edit.range.end);
            let shared =
                inside.map(|span| span.end.min(edit.range.end).saturating_sub(span.start.max(edit.range.start)));
            removed += shared.sum::<usize>() as u64;
        }
        (message_bytes(transcript) + added).saturating_sub(removed)
    }

    /// Whether anything was changed, beside what was masked before.
    pub fn is_change(&self) -> bool {
        self.summary.is_some() || !self.edits.is_empty() || !self.unsent().is_empty()
    }

    /// The edits of what is not sent, where they are made.
    fn unsent(&self) -> &[Edit] {
        let is_made = self.failure.is_none() && (self.summary.is_some() || self.plan.cutoff == 0);
        if is_made { &self.fitted.pruned.unsent.edits } else { &[] }
    }
}

/// All edits of a conversation, in order. What an edit writes anew as a whole, a reset of the same range writes with its
/// new parent. What is not sent is edited only where nothing else is.
fn all_edits(edits: impl Iterator<Item = Edit>, resets: &[Reset], unsent: &[Edit]) -> Vec<Edit> {
    let mut all: Vec<Edit> = edits.collect();
    all.retain(|edit| {
        let same = resets.partition_point(|reset| reset.edit.range.start < edit.range.start);
        resets.get(same).is_none_or(|reset| reset.edit.range != edit.range)
    });
    all.extend(resets.iter().map(|reset| reset.edit.clone()));
    rewrite::sort(&mut all);
    if !unsent.is_empty() {
        let beside = unsent_beside(unsent, &all);
        all.extend(beside);
        rewrite::sort(&mut all);
    }
    all
}

impl<'t, 'a> ChangedConversation<'t, 'a> {
    pub fn new(transcript: &'t Transcript<'a>, source: String, done: Compaction<'_>) -> Self {
        let unsent = done.unsent().to_vec();
        let Compaction { plan, summary, edits, resets, archived, .. } = done;
        let placed = summary.as_ref().map(|summary| rewrite::placed(transcript, &plan, &summary.placed));
        // What a plan would have replaced stays where there is no summary.
        let replaced = if summary.is_some() || plan.cutoff == 0 { plan.replaced() } else { Vec::new() };
        let changed = changed_messages(transcript, replaced, &edits);
        let edits = all_edits(placed.into_iter().flatten().chain(edits), &resets, &unsent);
        let summary = summary.and_then(|summary| whole_text(transcript, &summary.placed));
        ChangedConversation { transcript, source, edits, changed, summary, archived }
    }

    pub fn repaired(transcript: &'t Transcript<'a>, source: String, edits: Vec<Edit>) -> Self {
        let (changed, archived) = (changed_messages(transcript, Vec::new(), &edits), Archived::default());
        ChangedConversation { transcript, source, edits, changed, summary: None, archived }
    }

    /// The change of the conversation as it was before all of its secrets were masked: number `at` of its file, which
    /// masked is `text`.
    pub fn before_masks<'o>(
        self,
        original: &'o Transcript<'o>,
        masks: &FileMasks,
        at: usize,
        text: &str,
        policy: &CompactionPolicy,
    ) -> ChangedConversation<'o, 'o> {
        let ChangedConversation { source, edits, mut changed, summary, mut archived, .. } = self;
        let edits = masks.with_edits(at, text, &edits);
        let is_new = |index: &usize| changed.binary_search(index).is_err();
        let masked: Vec<usize> = masks.messages(at).filter(is_new).collect();
        if policy.archive.as_deref().is_some_and(|file| !is_lines(file)) && !masked.is_empty() {
            let messages = masked.iter().map(|&index| &original.messages[index]);
            archived.sections.push(Section::readable(&format!("{source}, before its secrets were masked"), messages));
        }
        changed.extend(masked);
        changed.sort_unstable();
        ChangedConversation { transcript: original, source, edits, changed, summary, archived }
    }
}

/// The indices of messages that are replaced or edited, in order.
fn changed_messages(transcript: &Transcript<'_>, mut replaced: Vec<usize>, edits: &[Edit]) -> Vec<usize> {
    let edited = edits.iter().filter_map(|edit| {
        let index = thinking::message_at(transcript, edit);
        let span = transcript.messages.get(index)?.span();
        (span.start <= edit.range.start && edit.range.end <= span.end && !edit.range.is_empty()).then_some(index)
    });
    replaced.extend(edited);
    replaced.sort_unstable();
    replaced.dedup();
    replaced
}

/// Estimates what a plan is worth; nothing for a plan without a change. The estimate assumes a summary as large as
/// `--summary-tokens`, but no larger than the messages that it replaces, and one request with the whole history.
pub fn estimated_economy(fitted: &Fitted<'_>) -> Option<Economy> {
    let Fitted { plan, pruned, decided, .. } = fitted;
    let (tally, policy) = (&decided.tally, decided.policy);
    let before = fitted.tokens();
    let pruned: u64 = pruned.savings(plan.cutoff).iter().map(|one| one.tokens).sum();
    let shortened = pruned + fitted.thinking_tokens();
    if plan.cutoff == 0 {
        return fitted.is_change().then(|| of(policy, before, before.saturating_sub(shortened), Some(0.0)));
    }
    let summary_policy = &policy.summary;
    let model = &summary_policy.model;
    let replaced = tally.sum(&plan.superseded());
    let most = fitted.fit.map_or(u64::MAX, |fit| fit.room).min(replaced);
    let asked = match summary_policy.summarizer {
        SummarizerKind::Embedded => summary_policy.embedded_tokens(replaced, 0, fitted.fit.map(|fit| fit.limit)),
        _ => model.asked_tokens,
    };
    let summary = asked.min(most);
    let prompt = || {
        let history = tally.sum(&plan.summarized()).min(summary_policy.trim_tokens.unwrap_or(u64::MAX));
        let around = summary_policy.template.fill("").unwrap_or_default();
        let system = summary_policy.recipe.system.unwrap_or_default();
        history.saturating_add(model.counter.count_text(&around) + model.counter.count_text(system))
    };
    let cost = match summary_policy.summarizer {
        SummarizerKind::Embedded | SummarizerKind::Off => Some(0.0),
        SummarizerKind::Command => None,
        SummarizerKind::Model => prices(policy).writer.and_then(|_| prices(policy).of_summary(prompt(), summary)),
    };
    let after = before.saturating_sub(replaced + shortened).saturating_add(summary);
    Some(of(policy, before, after, cost))
}

/// What a compaction from `before` to `after` tokens was worth, with the bill for its summary.
pub(super) fn actual_economy(policy: &CompactionPolicy, before: u64, after: u64, bill: &Bill) -> Economy {
    let has_asked = bill.requests > 0;
    let cost = match policy.summary.summarizer {
        // The cost of a command is unknown.
        SummarizerKind::Command if has_asked => None,
        SummarizerKind::Model if has_asked => bill.usage.and_then(|usage| policy.summary.model.billed(usage).cost_usd),
        _ => Some(0.0),
    };
    of(policy, before, after, cost)
}

fn of(policy: &CompactionPolicy, before: u64, after: u64, cost: Option<f64>) -> Economy {
    let prices = prices(policy);
    let economy = Economy::new(before, after, cost, prices);
    let uses = prices.reader.is_some() || prices.writer.is_some() && cost.is_some_and(|cost| cost > 0.0);
    if uses { economy.with_prices_of(PRICES_OF) } else { economy }
}

fn prices(policy: &CompactionPolicy) -> Prices {
    let reader = policy.reader.as_ref().map(Prices::of_reader).unwrap_or_default();
    Prices { writer: policy.summary.model.prices, ..reader }
}
