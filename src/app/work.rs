//! The summary of one conversation: who writes it, whether it is taken, and what is done where there is none.

use anyhow::Result;

use crate::cli::{Accept, OnError};
use crate::exit::{Exit, Failure};
use crate::plan::Plan;
use crate::rewrite;
use crate::run::input::spoken;
use crate::run::report::Said;
use crate::settings::Settings;
use crate::summary::acceptance::{self, Refusal};
use crate::summary::{Reply, Summarizer, Usage, ask, command, extractive, prompt, trim};
use crate::tokens::{Counter, Tally};
use crate::transcript::Transcript;
use crate::transcript::format::Format;
use crate::transcript::json::Object;
use crate::transcript::syntax;

/// What it takes to summarize one conversation.
pub(super) struct Work<'w, 'a> {
    pub(super) settings: &'w Settings,
    pub(super) transcript: &'w Transcript<'a>,
    pub(super) tally: &'w Tally<'w, 'a>,
    pub(super) plan: &'w Plan,
    pub(super) summarized: Vec<usize>,
}

/// Why there is no summary.
pub(super) struct NoSummary {
    exit: Exit,
    message: String,
}

/// A summary that was taken.
pub(super) struct Accepted {
    pub(super) text: String,
    /// What the provider counts.
    pub(super) usage: Option<Usage>,
}

impl Work<'_, '_> {
    /// Has the summarizer write a summary.
    pub(super) fn summary(&self) -> Result<Reply, NoSummary> {
        let failed = |message: String| NoSummary { exit: Exit::SummarizerFailed, message };
        let settings = self.settings;
        match &settings.summarizer {
            Summarizer::Extractive => self.extractive(),
            Summarizer::Endpoint(endpoint, wire) => {
                ask(endpoint, wire, &self.prompt(), settings.summary_tokens).map_err(failed)
            }
            Summarizer::Command(line, timeout) => command::run(line, &self.prompt(), *timeout)
                .map(|text| Reply { text, ..Reply::default() })
                .map_err(failed),
        }
    }

    /// What is put in the place of a summary that there is none of: `--on-error`, or nothing.
    pub(super) fn instead(&self, source: &str, failed: &NoSummary) -> Result<Option<Accepted>> {
        let said = Said::new(self.settings);
        if matches!(self.settings.summarizer, Summarizer::Extractive) {
            // That is no error of anybody's: some histories have nothing to say.
            said.left(source, &failed.message);
            return Ok(None);
        }
        said.failed(source, &failed.message, self.settings.on_error);
        match self.settings.on_error {
            OnError::Fail => Err(Failure::new(failed.exit, format!("{}: {}", spoken(source), failed.message)).into()),
            OnError::Passthrough => Ok(None),
            OnError::Embed => {
                let text = format!("Error generating summary: {}", failed.message);
                Ok(Some(Accepted { text, usage: None }))
            }
            OnError::Extractive => Ok(match self.extractive().and_then(|reply| self.accepted(reply)) {
                Ok(accepted) => Some(accepted),
                Err(failed) => {
                    said.left(source, &failed.message);
                    None
                }
            }),
        }
    }

    /// A reply, if it is taken.
    pub(super) fn accepted(&self, reply: Reply) -> Result<Accepted, NoSummary> {
        let text = reply.text.trim().to_owned();
        let usage = reply.usage;
        if self.settings.accept == Accept::Any {
            return Ok(Accepted { text, usage });
        }
        let after = message_tokens(self.transcript.format, self.settings.counter, &self.message(&text));
        match acceptance::judge(&text, reply.cut_off, after, self.tally.sum(&self.summarized)) {
            Ok(()) => Ok(Accepted { text, usage }),
            Err(refusal) => Err(NoSummary { exit: Exit::SummaryRefused, message: refusal.to_string() }),
        }
    }

    /// The indices of the messages that the summarizer is sent.
    fn sent(&self) -> &[usize] {
        match self.settings.trim_tokens {
            None => &self.summarized,
            Some(limit) => trim::last_within(&self.summarized, self.tally, limit),
        }
    }

    fn prompt(&self) -> String {
        let history =
            |indices: &[usize]| prompt::history(indices.iter().map(|&index| &self.transcript.messages[index]));
        let sent = self.sent();
        let text = match (sent.is_empty(), self.settings.trim_tokens, self.summarized.last()) {
            // Even the last message is too large: its end is better than nothing.
            (true, Some(limit), Some(&last)) => {
                let end = |text: &str| trim::end_within(text, self.settings.counter, limit).to_owned();
                prompt::end_of(&self.transcript.messages[last], end)
            }
            _ => history(sent),
        };
        self.settings.template.fill(&text)
    }

    /// The embedded summarizer's text, so large that the message is smaller than what it replaces.
    ///
    /// # Errors
    /// Not even a character is so small: what it replaces stays, whatever `--accept` says.
    fn extractive(&self) -> Result<Reply, NoSummary> {
        let settings = self.settings;
        let last = self.summarized.len() - 1;
        let sent = if self.sent().is_empty() { &self.summarized[last..] } else { self.sent() };
        let messages: Vec<_> = sent.iter().map(|&index| &self.transcript.messages[index]).collect();
        let replaced = self.tally.sum(&self.summarized);
        let tokens = |text: &str| message_tokens(self.transcript.format, settings.counter, &self.message(text));
        let mut limit = settings.summary_tokens.min(replaced.saturating_sub(tokens("") + 1)).max(1);
        let mut text = extractive::summarize(&messages, &settings.policy.summary_prefix, settings.counter, limit);
        // Escapes and merges at the seams can cost a token or two more than the parts do.
        while tokens(&text) >= replaced && limit > 1 {
            limit = limit.saturating_sub(tokens(&text) - replaced + 1).max(1);
            text = extractive::summarize(&messages, &settings.policy.summary_prefix, settings.counter, limit);
        }
        let ends: Vec<usize> = text.char_indices().map(|(at, c)| at + c.len_utf8()).collect();
        let fitting = ends.partition_point(|&end| tokens(&text[..end]) < replaced);
        text.truncate(fitting.checked_sub(1).map_or(0, |last| ends[last]));
        match text.trim_end() {
            "" => Err(NoSummary { exit: Exit::SummaryRefused, message: Refusal::Empty.to_string() }),
            text => Ok(Reply { text: text.to_owned(), ..Reply::default() }),
        }
    }

    /// The summary message, as the format writes it.
    pub(super) fn message(&self, text: &str) -> serde_json::Value {
        let content = format!("{}{text}", self.settings.policy.summary_prefix);
        rewrite::summary_message(self.transcript, self.plan, &content, self.settings.summary_role)
    }
}

/// Tokens of a message that is not part of a transcript yet.
pub(super) fn message_tokens(format: &dyn Format, counter: Counter, message: &serde_json::Value) -> u64 {
    let written = message.to_string();
    let parsed = syntax::values(&written, 0).ok().and_then(|values| values.first().copied());
    parsed.and_then(|json| format.message(&Object::of(json)).ok()).map_or(0, |message| counter.count(&message))
}
