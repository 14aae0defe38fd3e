//! Which part of the history the summarizer is sent: `--trim-tokens`.

use crate::compact::policy::SummaryPolicy;
use crate::compact::summarize::Summarization;
use crate::presets::recipe::Trim;
use crate::presets::trim::{Counting, PartialMessage, sections, trim_messages};
use crate::summary::{history, trim};
use crate::transcript::compaction::ProviderCompaction;
use crate::transcript::{Message, fence};

impl Summarization<'_, '_> {
    /// The messages that `--trim-tokens` allows, each of them whole: the last ones, and earlier summaries besides.
    pub(super) fn whole_messages(&self) -> Vec<usize> {
        let Some(limit) = self.policy.summary.trim_tokens else { return self.summarized.clone() };
        let last = trim::last_within(&self.summarized, self.tally, limit);
        let before = &self.summarized[..self.summarized.len() - last.len()];
        let mut whole = Vec::with_capacity(last.len());
        for &index in before {
            let message = &self.history.messages[index];
            if message.earlier || matches!(message.compaction(), Some(ProviderCompaction::Readable(_))) {
                whole.push(index);
            }
        }
        whole.extend(last);
        whole
    }

    /// The last summarized message, where `--trim-tokens` does not allow the whole of it.
    pub(super) fn too_large_last(&self) -> Option<usize> {
        let last = *self.summarized.last()?;
        if self.policy.summary.recipe.trim != Trim::Own || self.whole_messages().last() == Some(&last) {
            return None;
        }
        Some(last)
    }

    /// The messages that the summarizer is sent. The oldest can be a shortened one, which lives in `shorter`.
    pub(super) fn sent<'s>(&'s self, shorter: &'s PartialMessage<'s>) -> Vec<&'s Message<'s>> {
        let SummaryPolicy { recipe, trim_tokens, .. } = &self.policy.summary;
        // The embedded summarizer, and one that brings notes up to date, are given it separately.
        let is_given_apart = self.is_embedded() || recipe.trim == Trim::Sections;
        let beside = if is_given_apart { None } else { self.sent_beside() };
        let limit = match *trim_tokens {
            Some(limit) if recipe.trim != Trim::Own => limit,
            _ => {
                let mut sent: Vec<&Message<'_>> = beside.into_iter().collect();
                sent.extend(self.whole_messages().into_iter().map(|index| &self.history.messages[index]));
                return sent;
            }
        };
        let mut counted: Vec<(u64, &Message<'_>)> = Vec::with_capacity(self.summarized.len() + 1);
        if let Some(message) = beside {
            counted.push((self.tally.counter().count(message), message));
        }
        for &index in &self.summarized {
            counted.push((self.tally.message(index), &self.history.messages[index]));
        }
        let counting = Counting { counter: self.tally.message_counter(), scales: self.policy.cut.scales(self.tally) };
        let trimmed = trim_messages(&counted, limit, counting, shorter);
        match (recipe.trim, counted.last()) {
            (Trim::Sections, Some((_, last))) if trimmed.is_empty() => vec![last],
            _ => trimmed,
        }
    }

    /// The earlier summary that the state has for the model, beside the messages.
    pub(super) fn sent_beside(&self) -> Option<&Message<'_>> {
        match &self.earlier {
            Some(earlier) if earlier.is_sent => self.earlier_message,
            _ => None,
        }
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
                let message = &self.history.messages[last];
                let end = history::write_end(message, |text| trim::end_within(text, counter, *limit).to_owned());
                Some(if sent.is_empty() { end } else { format!("{}\n{end}", write()) })
            }
            (Trim::Sections, limit, _) => {
                let earlier = self.earlier.as_ref().map(|earlier| &*earlier.text);
                sections(&write(), earlier, limit.unwrap_or(u64::MAX), counter)
            }
            _ if sent.is_empty() => None,
            _ => Some(write()),
        }
    }
}
