//! The embedded summarizer, within the size that a summary can have.

use crate::fault::{self, Part};
use crate::plan::carried;
use crate::summary::acceptance::Refusal;
use crate::summary::exchange::Reply;
use crate::summary::record::{self, HistoryRecord};
use crate::transcript::Message;

use crate::compact::message::LEAST_SUMMARY;
use crate::compact::no_summary::NoSummary;
use crate::compact::summarize::Summarization;

impl Summarization<'_, '_> {
    /// Returns the embedded summarizer's text. Its message is smaller than the messages that it replaces.
    ///
    /// # Errors
    /// Not even one character is so small, whatever `--accept` says; or the embedded summarizer has a fault.
    pub(super) fn extractive(&self, sent: &[&Message<'_>]) -> Result<Reply, NoSummary> {
        // The facts are collected only while a summary is written.
        match self.fitted.draft.as_ref().filter(|_| !self.keeps_facts) {
            Some(draft) => Ok(Reply { text: draft.clone(), ..Reply::default() }),
            None => fault::caught(Part::Extractive, || self.extract(sent))?,
        }
    }

    fn extract(&self, sent: &[&Message<'_>]) -> Result<Reply, NoSummary> {
        let prefix = &self.policy.cut.summary_prefix;
        let text = self.earlier.as_ref().map(|earlier| format!("{prefix}{}", earlier.text));
        let earlier =
            self.earlier.as_ref().zip(text.as_deref()).map(|(earlier, text)| carried::message(text, earlier.json));
        let last = self.summarized.last().map(|&last| &self.history.messages[last]);
        let mut messages: Vec<&Message<'_>> = earlier.iter().chain(sent.iter().copied()).collect();
        messages.extend(last.filter(|_| sent.is_empty()));
        // An earlier summary beside the messages has no index of its own.
        let mut indices: Vec<usize> = earlier.iter().map(|_| 0).collect();
        indices.extend(self.indices_of(sent));
        indices.extend(self.summarized.last().filter(|_| sent.is_empty()));
        let tokens = |text: &str| self.message_tokens(text);
        // The words around a summary are part of its size, but a few must be left for the summary itself.
        let most = self.most_tokens().min(self.policy.summary.tokens.max(tokens("") + LEAST_SUMMARY));
        let mut limit = most.saturating_sub(tokens("")).max(1);
        let mut kept = HistoryRecord::default();
        // Only the page of --html shows the facts, by the indices of their messages.
        let keeps = self.keeps_facts && earlier.is_none() && sent.len() == self.summarized.len();
        let ledger = keeps.then_some(&mut kept);
        let fits = |text: &str| tokens(text) <= most;
        let (history, counter) = ((&*messages, &*indices), self.policy.counter);
        let mut text = record::summarize_within(history, prefix, counter, limit, &fits, ledger);
        if keeps {
            self.ledger.replace(Some(kept));
        }
        // A summary of which no line can be left out is shortened.
        while tokens(&text) > most && limit > 1 {
            limit = limit.saturating_sub(tokens(&text) - most).max(1);
            let fits = |text: &str| counter.count_text(text) <= limit;
            text = record::summarize_within(history, prefix, counter, limit, &fits, None);
        }
        if tokens(&text) > most {
            let ends: Vec<usize> = text.char_indices().map(|(at, c)| at + c.len_utf8()).collect();
            let fitting = ends.partition_point(|&end| tokens(&text[..end]) <= most);
            text.truncate(fitting.checked_sub(1).map_or(0, |last| ends[last]));
        }
        match text.trim_end() {
            "" => Err(Refusal::Empty.into()),
            text => Ok(Reply { text: text.to_owned(), ..Reply::default() }),
        }
    }

    /// Returns the indices in the input of the messages that the summarizer is sent. The oldest can be a shortened copy.
    fn indices_of(&self, sent: &[&Message<'_>]) -> Vec<usize> {
        let mut end = self.summarized.len();
        let mut indices: Vec<usize> = Vec::with_capacity(sent.len());
        for message in sent.iter().rev() {
            let is_it = |&index: &usize| std::ptr::eq::<Message<'_>>(*message, &self.history.messages[index]);
            end = self.summarized[..end].iter().rposition(is_it).unwrap_or(end.saturating_sub(1));
            indices.extend(self.summarized.get(end));
        }
        indices.reverse();
        indices
    }
}
