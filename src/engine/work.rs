//! The summary of one conversation: what is sent, who answers, whether the answer is taken, and what is done where there
//! is none.

use std::borrow::Cow;
use std::cell::RefCell;

use anyhow::Result;

use crate::cli::{Accept, OnError};
use crate::exit::{Exit, Failure};
use crate::fault::{self, Fault, Part};
use crate::plan::Plan;
use crate::plan::carried::{self, Carried};
use crate::report::reporter::Reporter;
use crate::rewrite::redaction::Redactor;
use crate::rewrite::{self, Placed};
use crate::settings::Settings;
use crate::summary::acceptance::{self, Refusal};
use crate::summary::exchange::FailureKind;
use crate::summary::exchange::{Bill, NoAnswer, Reply, SummaryBackend};
use crate::summary::ledger::{self, Ledger};
use crate::summary::prompt::Template;
use crate::summary::recipe::{Overflow, Trim};
use crate::summary::sections::sections;
use crate::summary::trim_messages::{Counting, Shorter, trim_messages};
use crate::summary::{extractive, fence, prompt, trim, truncate_middle};
use crate::tokens::{Counter, Tally, python};
use crate::transcript::formats::{Format, SummaryMessage, read_entry};
use crate::transcript::{Message, Transcript};
use crate::wording::readable_source;

use crate::engine::archive::Place;

/// What it takes to summarize one conversation.
pub(super) struct Work<'w, 'a> {
    pub(super) settings: &'w Settings,
    /// The name of the conversation.
    pub(super) source: &'w str,
    pub(super) answers: &'w dyn SummaryBackend,
    /// The conversation that the result is made of.
    pub(super) transcript: &'w Transcript<'a>,
    pub(super) plan: &'w Plan,
    /// The same conversation as it is summarized: what is too large to be shown may be replaced in it.
    pub(super) history: &'w Transcript<'a>,
    /// The same with the secrets that are masked in it.
    pub(super) unmasked: &'w Transcript<'a>,
    pub(super) tally: &'w Tally<'w, 'a>,
    /// Indices of the messages that are summarized.
    pub(super) summarized: Vec<usize>,
    /// An earlier summary that is carried on.
    pub(super) earlier: Option<&'w Carried<'a>>,
    /// Where what is cut away goes.
    pub(super) archive: Option<&'w Place>,
    /// What masks secrets, where they are to be.
    pub(super) redactor: Option<&'w RefCell<Redactor>>,
    /// What it took so far.
    pub(super) bill: RefCell<Bill>,
    /// The facts beside a model's summary, where they were collected.
    pub(super) ledger: RefCell<Option<Ledger>>,
}

/// Why there is no summary.
pub(super) struct NoSummary {
    pub(super) exit: Exit,
    pub(super) message: String,
    /// What kind of failure it is where a summarizer was asked in vain.
    pub(super) kind: Option<FailureKind>,
}

/// A summary that was taken.
pub(super) struct Accepted {
    pub(super) text: String,
    pub(super) by: SummarySource,
}

/// Who wrote a summary.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum SummarySource {
    /// Whom the settings name.
    Summarizer,
    /// The embedded summarizer, in the place of another.
    Embedded,
    /// Nobody: it is the text of an error.
    Nobody,
}

impl From<NoAnswer> for NoSummary {
    fn from(none: NoAnswer) -> Self {
        NoSummary { exit: Exit::SummarizerFailed, message: none.message, kind: Some(none.kind) }
    }
}

impl From<Fault> for NoSummary {
    fn from(fault: Fault) -> Self {
        NoSummary { exit: Exit::SummarizerFailed, message: fault.to_string(), kind: None }
    }
}

impl From<Refusal> for NoSummary {
    fn from(refusal: Refusal) -> Self {
        NoSummary { exit: Exit::SummaryRefused, message: refusal.to_string(), kind: None }
    }
}

impl Work<'_, '_> {
    /// Has the summarizer write a summary.
    pub(super) fn summary(&self, source: &str) -> Result<Reply, NoSummary> {
        let settings = self.settings;
        let shorter = Shorter::default();
        let sent = self.sent(&shorter);
        let text = match (self.embedded(), settings.recipe.nothing_left) {
            (true, Some(canned)) if sent.is_empty() && settings.recipe.trim == Trim::LangChain => Err(canned),
            (true, _) => return self.extractive(&sent),
            (false, _) if settings.recipe.overflow == Overflow::Parts && !sent.is_empty() => {
                return self.in_parts(self.last_messages());
            }
            (false, canned) => self.text(&sent).ok_or(canned.unwrap_or_default()),
        };
        let text = match text {
            Ok(text) => text,
            Err(canned) => {
                Reporter::new(settings).nothing_sent(source, canned);
                return Ok(Reply { text: canned.to_owned(), ..Reply::default() });
            }
        };
        let terms = self.terms(None);
        match self.ask(&text, &terms, true)? {
            Err(none) if none.too_long() && settings.recipe.overflow == Overflow::Middle => {
                match truncate_middle::cut_out(&text, settings.counter, settings.summarizer_window) {
                    Some(shorter) => Ok(self.ask(&shorter, &terms, true)??),
                    None => Err(none.into()),
                }
            }
            answer => Ok(answer?),
        }
    }

    fn embedded(&self) -> bool {
        self.settings.embedded()
    }

    /// What is put in the place of a summary that there is none of: `--on-error`, or nothing.
    pub(super) fn instead(&self, source: &str, failed: &NoSummary) -> Result<Option<Accepted>> {
        let reporter = Reporter::new(self.settings);
        if self.embedded() && failed.exit != Exit::SummarizerFailed {
            // That is no error of anybody's: some histories have nothing to say.
            reporter.left(source, &failed.message);
            return Ok(None);
        }
        // A prompt that cannot be filled is the user's to mend, whatever happens to a summarizer that fails.
        let wrong_prompt = failed.exit == Exit::Usage;
        let message = match wrong_prompt {
            true => format!("the prompt cannot be filled: {}; {{messages}} is its only field", failed.message),
            false => failed.message.clone(),
        };
        // What a server or a command says in an error can be of the conversation.
        let message = self.masked(message);
        let next = match failed.exit {
            Exit::SummaryRefused => {
                "--on-error extractive goes on without a model; --accept any takes the summary as it is"
            }
            Exit::SummarizerFailed if self.embedded() => "--on-error passthrough leaves such a transcript unchanged",
            Exit::SummarizerFailed => {
                failed.kind.map_or("--on-error extractive goes on without a model", FailureKind::remedy)
            }
            _ => "--prompt-file FILE with another prompt",
        };
        let is_known = failed.kind == Some(FailureKind::Stopped);
        let fail = || {
            Failure::new(failed.exit, format!("{}: {message}", readable_source(source))).try_next(next).known(is_known)
        };
        match self.settings.on_error {
            OnError::Embed => {}
            OnError::Fail => return Err(fail().into()),
            _ if wrong_prompt => return Err(fail().into()),
            // It would fail in its own place, too.
            OnError::Extractive if self.embedded() => return Err(fail().into()),
            _ => {}
        }
        if !is_known || self.settings.verbose {
            reporter.failed(source, &message, self.settings.on_error);
        }
        match self.settings.on_error {
            OnError::Fail | OnError::Passthrough => Ok(None),
            OnError::Embed => {
                let text = self.masked(format!("{}{}", self.settings.recipe.error, failed.message));
                Ok(Some(Accepted { text, by: SummarySource::Nobody }))
            }
            OnError::Extractive => {
                let messages: Vec<_> = self.messages(&self.summarized).collect();
                Ok(match self.extractive(&messages).and_then(|reply| self.accepted(&reply)) {
                    Ok(accepted) => Some(Accepted { by: SummarySource::Embedded, ..accepted }),
                    Err(fault) if fault.exit == Exit::SummarizerFailed => {
                        let next = "--on-error passthrough leaves such a transcript unchanged";
                        let fail = Failure::new(fault.exit, format!("{}: {}", readable_source(source), fault.message));
                        return Err(fail.try_next(next).into());
                    }
                    Err(failed) => {
                        reporter.left(source, &failed.message);
                        None
                    }
                })
            }
        }
    }

    /// A reply, if it is taken.
    pub(super) fn accepted(&self, reply: &Reply) -> Result<Accepted, NoSummary> {
        self.judged(reply, &self.settings.template, true).map_err(NoSummary::from)?;
        let text = if self.settings.recipe.strips { python::strip(&reply.text) } else { &reply.text };
        Ok(Accepted { text: self.masked(text.to_owned()), by: SummarySource::Summarizer })
    }

    /// A model's summary with the facts that it lacks, as far as these may go and save something all the same. It was
    /// paid for: a fault costs only the facts.
    pub(super) fn with_facts(&self, summary: String) -> String {
        if self.settings.ledger == 0 || self.embedded() {
            return summary;
        }
        fault::caught(Part::Ledger, || self.beside_facts(&summary)).unwrap_or_else(|fault| {
            Reporter::new(self.settings).without_ledger(self.source, &fault);
            summary
        })
    }

    fn beside_facts(&self, summary: &str) -> String {
        let messages: Vec<&Message<'_>> = self.messages(&self.summarized).collect();
        let ledger = ledger::collect(&messages, &self.summarized, &self.settings.policy.summary_prefix);
        let summary = self.with_lacking(ledger::beside_another(summary), &ledger);
        self.ledger.replace(Some(ledger));
        summary
    }

    fn with_lacking(&self, summary: String, ledger: &Ledger) -> String {
        let lacking = ledger.lacking(&summary);
        let spare = self.replaced_tokens().saturating_sub(self.message_tokens(&summary)).saturating_sub(1);
        let mut limit = self.settings.ledger.min(spare);
        while limit > 0 {
            let section = Ledger::section(&lacking, self.settings.counter, limit);
            if section.is_empty() {
                break;
            }
            let whole = format!("{summary}\n\n{section}");
            if self.settings.accept == Accept::Any || self.message_tokens(&whole) < self.replaced_tokens() {
                return whole;
            }
            // Escapes and seams can cost a few tokens more than the parts do.
            limit = limit * 3 / 4;
        }
        summary
    }

    /// A text without secrets, where they are to be masked.
    pub(super) fn masked(&self, text: String) -> String {
        match self.redactor {
            Some(redactor) => redactor.borrow_mut().mask(&text).into_owned(),
            None => text,
        }
    }

    /// Whether a reply is taken: for the summary, or for the notes on a part of the history.
    pub(super) fn judged(&self, reply: &Reply, template: &Template, for_all: bool) -> Result<(), Refusal> {
        let stripped = python::strip(&reply.text);
        if stripped.is_empty() && self.settings.recipe.blank_fails {
            return Err(Refusal::Empty);
        }
        if self.settings.accept == Accept::Any {
            return Ok(());
        }
        // What no model wrote talks to nobody and repeats no prompt.
        if !self.embedded() {
            acceptance::judge(reply, template.instructions())?;
        }
        if !for_all {
            return Ok(());
        }
        let text = if self.settings.recipe.strips { stripped } else { &reply.text };
        acceptance::judge_size(self.message_tokens(text), self.replaced_tokens())
    }

    pub(super) fn messages<'s>(&'s self, indices: &'s [usize]) -> impl Iterator<Item = &'s Message<'s>> {
        indices.iter().map(|&index| &self.history.messages[index])
    }

    /// The last of the messages, as many as the summarizer is sent where they are sent whole.
    fn last_messages(&self) -> &[usize] {
        match self.settings.trim_tokens {
            Some(limit) => trim::last_within(&self.summarized, self.tally, limit),
            None => &self.summarized,
        }
    }

    /// The messages that the summarizer is sent; the oldest may be a `shorter` one.
    fn sent<'s>(&'s self, shorter: &'s Shorter<'s>) -> Vec<&'s Message<'s>> {
        let Settings { recipe, trim_tokens, counter, policy, .. } = self.settings;
        let Some(limit) = *trim_tokens else { return self.messages(&self.summarized).collect() };
        if recipe.trim == Trim::Own {
            return self.messages(self.last_messages()).collect();
        }
        let counted: Vec<(u64, &Message<'_>)> =
            self.summarized.iter().map(|&index| (self.tally.message(index), &self.history.messages[index])).collect();
        let counting = Counting { counter: *counter, scales: policy.scales(self.tally) };
        let trimmed = trim_messages(&counted, limit, counting, shorter);
        match (recipe.trim, counted.last()) {
            (Trim::Sections, Some((_, last))) if trimmed.is_empty() => vec![last],
            _ => trimmed,
        }
    }

    /// What is sent, written down; nothing where nothing is left of it.
    fn text(&self, sent: &[&Message<'_>]) -> Option<String> {
        let Settings { recipe, trim_tokens, counter, .. } = self.settings;
        let write = || recipe.buffer.write(sent.iter().copied());
        match (recipe.trim, trim_tokens, self.summarized.last()) {
            // Even the last message is too large: its end is better than nothing.
            (Trim::Own, Some(limit), Some(&last)) if sent.is_empty() => {
                let end = |text: &str| trim::end_within(text, *counter, *limit).to_owned();
                Some(prompt::end_of(&self.history.messages[last], end))
            }
            (Trim::Sections, limit, _) => {
                let earlier = self.earlier.map(|earlier| &*earlier.text);
                sections(&write(), earlier, limit.unwrap_or(u64::MAX), *counter)
            }
            _ => (!sent.is_empty()).then(write),
        }
    }

    /// The embedded summarizer's text, so large that the message is smaller than what it replaces.
    ///
    /// # Errors
    /// Not even a character is so small: what it replaces stays, whatever `--accept` says. Or it fails by a fault.
    fn extractive(&self, sent: &[&Message<'_>]) -> Result<Reply, NoSummary> {
        fault::caught(Part::Extractive, || self.extracted(sent))?
    }

    fn extracted(&self, sent: &[&Message<'_>]) -> Result<Reply, NoSummary> {
        let settings = self.settings;
        let prefix = &settings.policy.summary_prefix;
        let text = self.earlier.map(|earlier| format!("{prefix}{}", earlier.text));
        let earlier = self.earlier.zip(text.as_deref()).map(|(earlier, text)| carried::message(text, earlier.json));
        let last = self.summarized.last().map(|&last| &self.history.messages[last]);
        let mut messages: Vec<&Message<'_>> = earlier.iter().chain(sent.iter().copied()).collect();
        messages.extend(last.filter(|_| sent.is_empty()));
        let replaced = self.replaced_tokens();
        let tokens = |text: &str| self.message_tokens(text);
        let mut limit = settings.summary_tokens.min(replaced.saturating_sub(tokens("") + 1)).max(1);
        let mut kept = Ledger::default();
        // Only a page shows it, by the indices of the messages.
        let keeps = settings.html.is_some() && earlier.is_none() && sent.len() == self.summarized.len();
        let ledger = keeps.then_some(&mut kept);
        let mut text = extractive::summarize_keeping(&messages, prefix, settings.counter, limit, ledger);
        if keeps {
            let place = |index: usize| self.summarized.get(index).copied().unwrap_or(index);
            kept.entries.iter_mut().for_each(|entry| entry.index = place(entry.index));
            self.ledger.replace(Some(kept));
        }
        // Escapes and merges at the seams can cost a token or two more than the parts do.
        while tokens(&text) >= replaced && limit > 1 {
            limit = limit.saturating_sub(tokens(&text) - replaced + 1).max(1);
            text = extractive::summarize(&messages, prefix, settings.counter, limit);
        }
        if tokens(&text) >= replaced {
            let ends: Vec<usize> = text.char_indices().map(|(at, c)| at + c.len_utf8()).collect();
            let fitting = ends.partition_point(|&end| tokens(&text[..end]) < replaced);
            text.truncate(fitting.checked_sub(1).map_or(0, |last| ends[last]));
        }
        match text.trim_end() {
            "" => Err(Refusal::Empty.into()),
            text => Ok(Reply { text: text.to_owned(), ..Reply::default() }),
        }
    }

    /// Tokens of what a summary takes the place of.
    pub(super) fn replaced_tokens(&self) -> u64 {
        self.tally.sum(&self.plan.superseded())
    }

    /// Tokens of the message that a summary makes.
    pub(super) fn message_tokens(&self, text: &str) -> u64 {
        message_tokens(self.transcript.format, self.settings.counter, &self.message(text))
    }

    /// The summary message, as the format writes it.
    fn message(&self, text: &str) -> Vec<serde_json::Value> {
        let content = introduced(self.settings, self.archive, text);
        let summary = SummaryMessage {
            text: &content,
            role: self.settings.summary_role,
            name: self.settings.policy.rules.carries.then_some(carried::NAME),
            marked: self.settings.ways.marks,
        };
        rewrite::summary_message(self.transcript, self.plan, &summary)
    }

    /// The summary where it is put.
    pub(super) fn placed(&self, text: String) -> Placed {
        if self.settings.policy.rules.carries && carried::place(self.transcript).is_some() {
            let named = self.archive.map(|place| place.introduce("", &text));
            return Placed::Beside(named.unwrap_or(text));
        }
        Placed::Messages(self.message(&text))
    }
}

/// The text of a summary message: the summary in its fence, where it has one, with what stands before and after it.
pub(super) fn introduced(settings: &Settings, archive: Option<&Place>, summary: &str) -> String {
    let fenced = if settings.ways.fences { Cow::Owned(fence::closed(summary)) } else { Cow::Borrowed(summary) };
    let prefix = &settings.policy.summary_prefix;
    match archive {
        Some(place) => place.introduce(prefix, &fenced),
        None => format!("{prefix}{fenced}"),
    }
}

/// Tokens of entries that are not part of a transcript yet; those that are no messages have none.
pub(super) fn message_tokens(format: &dyn Format, counter: Counter, entries: &[serde_json::Value]) -> u64 {
    let of_one = |entry: &serde_json::Value| read_entry(format, &entry.to_string(), |message| counter.count(message));
    entries.iter().filter_map(of_one).sum()
}

#[cfg(test)]
mod tests;
