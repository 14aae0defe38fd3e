//! Which part of the history the summarizer is sent: `--trim-tokens`.
//!
//! Also: what a summary replaces, for an archive that is for reading or that nothing is restored from.

use crate::compact::archive::{Archived, Record, Section};
use crate::compact::message::whole_text;
use crate::compact::policy::{SummaryPolicy, is_lines};
use crate::compact::summarize::Summarization;
use crate::presets::recipe::Trim;
use crate::presets::trim::{Counting, PartialMessage, sections, trim_messages};
use crate::rewrite::Placed;
use crate::summary::{history, trim};
use crate::transcript::compaction::ProviderCompaction;
use crate::transcript::{Message, Role, fence};

impl Summarization<'_, '_> {
    /// The messages that `--trim-tokens` allows, each of them whole: the last ones, and earlier summaries besides.
    pub(super) fn whole_messages(&self) -> Vec<usize> {
        let Some(limit) = self.policy.summary.trim_tokens else { return self.summarized.clone() };
        let last = trim::last_within(&self.summarized, self.tally, limit);
        let before = &self.summarized[..self.summarized.len() - last.len()];
        let is_summary = |index: &usize| {
            let message = &self.history.messages[*index];
            message.earlier || matches!(message.compaction(), Some(ProviderCompaction::Readable(_)))
        };
        before.iter().copied().filter(is_summary).chain(last.iter().copied()).collect()
    }

    /// The last summarized message, where `--trim-tokens` does not allow the whole of it.
    pub(super) fn too_large_last(&self) -> Option<usize> {
        let last = self.summarized.last().copied();
        last.filter(|_| {
            self.policy.summary.recipe.trim == Trim::Own && self.whole_messages().last() != self.summarized.last()
        })
    }

    /// The messages that the summarizer is sent. The oldest can be a shortened one, which lives in `shorter`.
    pub(super) fn sent<'s>(&'s self, shorter: &'s PartialMessage<'s>) -> Vec<&'s Message<'s>> {
        let SummaryPolicy { recipe, trim_tokens, .. } = &self.policy.summary;
        // The embedded summarizer, and one that brings notes up to date, are given it separately.
        let beside = self.sent_beside().filter(|_| !self.is_embedded() && recipe.trim != Trim::Sections);
        let limit = match *trim_tokens {
            Some(limit) if recipe.trim != Trim::Own => limit,
            _ => {
                let whole = self.whole_messages().into_iter().map(|index| &self.history.messages[index]);
                return beside.into_iter().chain(whole).collect();
            }
        };
        let messages = self.summarized.iter().map(|&index| (self.tally.message(index), &self.history.messages[index]));
        let beside = beside.map(|message| (self.tally.counter().count(message), message));
        let counted: Vec<(u64, &Message<'_>)> = beside.into_iter().chain(messages).collect();
        let counting = Counting { counter: self.tally.message_counter(), scales: self.policy.cut.scales(self.tally) };
        let trimmed = trim_messages(&counted, limit, counting, shorter);
        match (recipe.trim, counted.last()) {
            (Trim::Sections, Some((_, last))) if trimmed.is_empty() => vec![last],
            _ => trimmed,
        }
    }

    /// The earlier summary that the state has for the model, beside the messages.
    pub(super) fn sent_beside(&self) -> Option<&Message<'_>> {
        self.earlier_message.filter(|_| self.earlier.as_ref().is_some_and(|earlier| earlier.is_sent))
    }

    /// The text of that summary, as notes; without its fence where tcompact wrote it.
    pub(in crate::compact) fn notes_beside(&self) -> Option<String> {
        let message = self.sent_beside()?;
        let text = message.content.first_text()?.decode();
        Some(if message.is_ours() { fence::opened(&text).to_owned() } else { text.into_owned() })
    }

    /// Writes the messages that are sent as text; nothing where none is left.
    pub(super) fn text(&self, sent: &[&Message<'_>]) -> Option<String> {
        let SummaryPolicy { recipe, trim_tokens, .. } = &self.policy.summary;
        let counter = self.tally.counter();
        let write = || recipe.buffer.write(sent.iter().copied());
        match (recipe.trim, trim_tokens, self.too_large_last()) {
            // Even the last message is too large. Its end is better than nothing.
            (Trim::Own, Some(limit), Some(last)) => {
                let end = |text: &str| trim::end_within(text, counter, *limit).to_owned();
                let end = history::write_end(&self.history.messages[last], end);
                Some(if sent.is_empty() { end } else { format!("{}\n{end}", write()) })
            }
            (Trim::Sections, limit, _) => {
                let earlier = self.earlier.as_ref().map(|earlier| &*earlier.text);
                sections(&write(), earlier, limit.unwrap_or(u64::MAX), counter)
            }
            _ => (!sent.is_empty()).then(write),
        }
    }
}

impl Summarization<'_, '_> {
    /// The removed and pruned messages for the archive, where there is one. Records with all that restoring needs are made once
    /// all conversations of a file are changed.
    pub(super) fn archived(&self, summary: &Placed) -> Archived {
        let Some(place) = self.archive.filter(|_| !self.policy.has_records()) else { return Archived::default() };
        let transcript = self.fitted.decided.unmasked;
        let cut = self.fitted.cut_messages();
        let section = if is_lines(&place.file) {
            let summary = whole_text(transcript, summary);
            Record::new(transcript, self.source.to_owned(), cut, summary.as_deref()).section()
        } else if self.policy.habits.files {
            let removed = self.fitted.plan.removed();
            let messages = removed.iter().map(|&index| &self.unmasked.messages[index]);
            let messages = messages.filter(|message| !is_earlier_summary(message));
            Section::Text(self.policy.summary.recipe.buffer.write(messages))
        } else {
            let messages = cut.iter().map(|&index| &transcript.messages[index]);
            Section::readable(self.source, messages)
        };
        Archived { sections: vec![section], files: Vec::new() }
    }
}

/// Whether a message is a summary of messages that `DeepAgents` already has in its archive.
fn is_earlier_summary(message: &Message<'_>) -> bool {
    let marked = message.additional("lc_source").and_then(|source| source.text());
    let wrapped = || message.content.texts().first().is_some_and(|text| text.starts_with(fence::WRAPPED));
    message.role == Role::User && (marked.is_some_and(|source| source.is("summarization")) || wrapped())
}
