//! The third step: the summary of one conversation. What is sent, who answers, whether the answer is accepted, and what is
//! done where there is none.

use std::cell::RefCell;

use anyhow::Result;

use crate::exit::{Exit, Failure};
use crate::fault::{self, Fault, Part};
use crate::plan::carried::{self, Carried, carried};
use crate::rewrite::redaction::Redactor;
use crate::rewrite::{self, Placed};
use crate::summary::acceptance::{self, Refusal};
use crate::summary::buffer::Buffer;
use crate::summary::exchange::{Bill, FailureKind, NoAnswer, Reply, SummaryBackend};
use crate::summary::prompt::Template;
use crate::summary::recipe::{Overflow, Trim};
use crate::summary::record::{self, Record, beside_another, collect};
use crate::summary::sections::sections;
use crate::summary::trim_messages::{Counting, Shorter, trim_messages};
use crate::summary::{history, trim, truncate_middle};
use crate::tokens::{Tally, python};
use crate::transcript::formats::SummaryMessage;
use crate::transcript::view::Arena;
use crate::transcript::{Message, Role, Transcript};
use crate::wording::readable_source;

use crate::compact::archive::{self, ArchivePlace, Archived, Section, WRAPPED, record};
use crate::compact::context::CompactionContext;
use crate::compact::fit::{FittedPlan, LEAST_SUMMARY};
use crate::compact::happening::Happening;
use crate::compact::masking::{edited, redactor};
use crate::compact::message::{introduced, message_tokens, note};
use crate::compact::policy::{Accept, CompactionPolicy, OnError, SummarizerKind, SummaryPolicy, is_lines};

/// What it takes to summarize one conversation.
pub(super) struct Summarization<'w, 't> {
    pub(super) policy: &'w CompactionPolicy,
    /// The name of the conversation.
    source: &'w str,
    pub(super) backend: &'w dyn SummaryBackend,
    listen: &'w dyn Fn(&str, Happening<'_>),
    /// What was decided on the conversation that the result is made of.
    pub(super) fitted: &'w FittedPlan<'t>,
    /// The same conversation as it is summarized: what is too large to be shown may be replaced in it.
    pub(super) history: &'w Transcript<'w>,
    /// The same with the secrets that are masked in it.
    unmasked: &'w Transcript<'w>,
    tally: Tally<'w, 'w>,
    /// Indices of the messages that are summarized.
    summarized: Vec<usize>,
    /// An earlier summary that is carried on.
    earlier: Option<Carried<'w>>,
    /// Where what is cut away goes.
    archive: Option<&'w ArchivePlace>,
    /// What masks secrets, where they are to be.
    redactor: Option<&'w RefCell<Redactor>>,
    /// What it took so far.
    pub(super) bill: RefCell<Bill>,
    /// The facts that were collected, where they were.
    ledger: RefCell<Option<Record>>,
    /// Whether the embedded summarizer's facts are kept, for whoever shows them.
    keeps_facts: bool,
}

/// A summary that was accepted, and where it goes.
pub(crate) struct Summary {
    /// What it says, without the words around it.
    pub(crate) text: String,
    /// Who wrote it.
    pub(crate) by: SummarySource,
    /// Tokens of its message.
    pub(crate) tokens: u64,
    /// Tokens that this is less than what it replaces.
    pub(crate) saved: u64,
    /// Its message, or the text beside the messages.
    pub(crate) placed: Placed,
}

/// What came of asking for a summary.
#[derive(Default)]
pub(super) struct Attempt {
    /// The summary; none where the conversation stays as it is.
    pub(super) summary: Option<Summary>,
    /// What is to be kept of what it replaces.
    pub(super) archived: Archived,
    /// What was asked for.
    pub(super) bill: Bill,
    /// What masked secrets, by the same placeholders for whatever is still to be shown.
    pub(super) redactor: Option<Redactor>,
    /// The facts in what goes, as it was summarized, where they were collected.
    pub(super) facts: Option<Record>,
    /// What went wrong, whatever was done about it.
    pub(super) error: Option<String>,
    /// Why there is no result.
    pub(super) failure: Option<anyhow::Error>,
}

/// Has a summary written of what a plan cuts away.
pub(super) fn summarize(context: &CompactionContext<'_>, source: &str, fitted: &FittedPlan<'_>) -> Attempt {
    let CompactionContext { policy, .. } = *context;
    let redactor = policy.redact.then(|| RefCell::new(redactor(fitted.transcript)));
    let mut attempt = Attempt::default();
    if let Err(failure) = attempted(context, source, fitted, redactor.as_ref(), &mut attempt) {
        attempt.failure = Some(failure);
    }
    attempt.redactor = redactor.map(RefCell::into_inner);
    if let Some(redactor) = &attempt.redactor {
        (context.listen)(source, Happening::Redacted(redactor.counts()));
    }
    attempt
}

fn attempted(
    context: &CompactionContext<'_>,
    source: &str,
    fitted: &FittedPlan<'_>,
    redactor: Option<&RefCell<Redactor>>,
    attempt: &mut Attempt,
) -> Result<()> {
    let CompactionContext { policy, backend, listen, keeps_facts, .. } = *context;
    let FittedPlan { transcript, seen, plan, .. } = fitted;
    let history_edits = fitted.history_edits(policy);
    let archive = archive::place(policy, transcript);
    let summarized = if policy.summary.is_embedded() { fitted.told() } else { plan.summarized() };
    let (moved, files) = archive::media_moved_out(policy, seen, &summarized, archive.as_ref());
    let arena = Arena::default();
    // A system that moves media to files prunes nothing else.
    let unmasked = match history_edits.is_empty() {
        true => edited(seen, &moved, &arena)?,
        false => edited(transcript, &history_edits, &arena)?,
    };
    let masks = redactor.map(|masks| masks.borrow_mut().edits(unmasked, &summarized)).unwrap_or_default();
    let history = edited(unmasked, &masks, &arena)?;
    let summarization = Summarization {
        policy,
        source,
        backend,
        listen,
        fitted,
        history,
        unmasked,
        tally: Tally::new(policy.counter, &history.messages),
        summarized,
        earlier: carried(transcript, &policy.cut).map(|earlier| without_secrets(earlier, redactor)),
        archive: archive.as_ref(),
        redactor,
        bill: RefCell::default(),
        ledger: RefCell::default(),
        keeps_facts,
    };
    let reply = match policy.summary.summarizer {
        SummarizerKind::Nobody => Ok(summarization.noted()),
        _ => summarization.summary().and_then(|reply| summarization.accepted(&reply)),
    };
    attempt.bill = *summarization.bill.borrow();
    let accepted = match reply {
        Ok(accepted) => Some(accepted),
        Err(failed) => {
            attempt.error = Some(failed.message.clone());
            summarization.instead(&failed)?
        }
    };
    let Some(Accepted { text, by }) = accepted else { return Ok(()) };
    let text = if by == SummarySource::Summarizer { summarization.with_facts(text) } else { text };
    attempt.facts = summarization.ledger.take().filter(|_| keeps_facts);
    attempt.archived = summarization.archived();
    attempt.archived.files.extend(files);
    let tokens = summarization.message_tokens(&text);
    let saved = summarization.replaced_tokens().saturating_sub(tokens);
    summarization.tell(Happening::Summarized {
        messages: plan.summarized().len(),
        tokens,
        billed: attempt.bill.usage.map(|usage| policy.summary.model.billed(usage)),
        cached: attempt.bill.cached > 0,
        is_note: by == SummarySource::Note,
    });
    let placed = summarization.placed(&text);
    attempt.summary = Some(Summary { text, by, tokens, saved, placed });
    Ok(())
}

/// An earlier summary with its secrets masked.
fn without_secrets<'a>(earlier: Carried<'a>, redactor: Option<&RefCell<Redactor>>) -> Carried<'a> {
    match redactor {
        Some(redactor) => {
            let text = redactor.borrow_mut().mask(&earlier.text).into_owned();
            Carried { text: text.into(), ..earlier }
        }
        None => earlier,
    }
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
pub(crate) enum SummarySource {
    /// Whom the settings name.
    Summarizer,
    /// The embedded summarizer, in the place of another.
    Embedded,
    /// Nobody: it is the text of an error.
    Nobody,
    /// Nobody: it is a note that says how much went.
    Note,
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

impl Summarization<'_, '_> {
    /// Tells what happens.
    pub(super) fn tell(&self, what: Happening<'_>) {
        (self.listen)(self.source, what);
    }

    /// The note that stands for the history where nobody summarizes.
    fn noted(&self) -> Accepted {
        let FittedPlan { plan, tally, .. } = self.fitted;
        // As they stand in the input, and as the report counts them: what is pruned first is removed too.
        let summarized = plan.summarized();
        let (messages, tokens) = (summarized.len(), tally.sum(&summarized));
        Accepted { text: note(self.policy, self.fitted.transcript, messages, tokens), by: SummarySource::Note }
    }

    /// The most tokens that the message of the summary may have.
    fn most_tokens(&self) -> u64 {
        let smaller = self.replaced_tokens().saturating_sub(1);
        self.fitted.fit.map_or(smaller, |fit| fit.room.min(smaller))
    }

    /// Has the summarizer write a summary.
    fn summary(&self) -> Result<Reply, NoSummary> {
        let policy = &self.policy.summary;
        let shorter = Shorter::default();
        let sent = self.sent(&shorter);
        let text = match (self.embedded(), policy.recipe.nothing_left) {
            (true, Some(canned)) if sent.is_empty() && policy.recipe.trim == Trim::LangChain => Err(canned),
            (true, _) => return self.extractive(&sent),
            (false, _) if policy.recipe.overflow == Overflow::Parts && !sent.is_empty() => {
                return self.in_parts(self.last_messages());
            }
            (false, canned) => self.text(&sent).ok_or(canned.unwrap_or_default()),
        };
        let text = match text {
            Ok(text) => text,
            Err(canned) => {
                self.tell(Happening::NothingSent(canned));
                return Ok(Reply { text: canned.to_owned(), ..Reply::default() });
            }
        };
        let terms = self.terms(None);
        match self.ask(&text, &terms, true)? {
            Err(none) if none.too_long() && policy.recipe.overflow == Overflow::Middle => {
                match truncate_middle::cut_out(&text, self.policy.counter, policy.window) {
                    Some(shorter) => Ok(self.ask(&shorter, &terms, true)??),
                    None => Err(none.into()),
                }
            }
            answer => Ok(answer?),
        }
    }

    fn embedded(&self) -> bool {
        self.policy.summary.is_embedded()
    }

    /// What is put in the place of a summary that there is none of: `--on-error`, or nothing.
    fn instead(&self, failed: &NoSummary) -> Result<Option<Accepted>> {
        let policy = &self.policy.summary;
        let source = self.source;
        if self.embedded() && failed.exit != Exit::SummarizerFailed {
            // That is no error of anybody's: some histories have nothing to say.
            self.left(&failed.message);
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
                "tcompact --on-error extractive, to go on without a model; --accept any takes the summary as it is"
            }
            Exit::SummarizerFailed if self.embedded() => {
                "tcompact --on-error passthrough, to leave such a transcript unchanged"
            }
            Exit::SummarizerFailed => {
                failed.kind.map_or("tcompact --on-error extractive, to go on without a model", FailureKind::remedy)
            }
            _ => "--prompt-file FILE with another prompt",
        };
        let is_known = failed.kind == Some(FailureKind::Stopped);
        let fail = || {
            Failure::new(failed.exit, format!("{}: {message}", readable_source(source))).try_next(next).known(is_known)
        };
        match policy.on_error {
            OnError::Embed => {}
            OnError::Fail => return Err(fail().into()),
            _ if wrong_prompt => return Err(fail().into()),
            // It would fail in its own place, too.
            OnError::Extractive if self.embedded() => return Err(fail().into()),
            _ => {}
        }
        let archived = self.policy.archive.is_some();
        self.tell(Happening::Failed { message: &message, instead: policy.on_error, archived, is_known });
        match policy.on_error {
            OnError::Fail | OnError::Passthrough => Ok(None),
            OnError::Embed => {
                let text = self.masked(format!("{}{}", policy.recipe.error, failed.message));
                Ok(Some(Accepted { text, by: SummarySource::Nobody }))
            }
            OnError::Extractive => {
                let messages: Vec<_> = self.messages(&self.summarized).collect();
                Ok(match self.extractive(&messages).and_then(|reply| self.accepted(&reply)) {
                    Ok(accepted) => Some(Accepted { by: SummarySource::Embedded, ..accepted }),
                    Err(fault) if fault.exit == Exit::SummarizerFailed => {
                        let next = "tcompact --on-error passthrough, to leave such a transcript unchanged";
                        let fail = Failure::new(fault.exit, format!("{}: {}", readable_source(source), fault.message));
                        return Err(fail.try_next(next).into());
                    }
                    Err(failed) => {
                        self.left(&failed.message);
                        None
                    }
                })
            }
        }
    }

    fn left(&self, why: &str) {
        self.tell(Happening::Left { why, unexpected: self.policy.summary.accept == Accept::Any });
    }

    /// A reply, if it is accepted.
    fn accepted(&self, reply: &Reply) -> Result<Accepted, NoSummary> {
        self.judged(reply, &self.policy.summary.template, true).map_err(NoSummary::from)?;
        let text = if self.policy.summary.recipe.strips { python::strip(&reply.text) } else { &reply.text };
        Ok(Accepted { text: self.masked(text.to_owned()), by: SummarySource::Summarizer })
    }

    /// A model's summary with the facts that it lacks, as far as these may go and save something all the same. It was
    /// paid for: a fault costs only the facts.
    pub(super) fn with_facts(&self, summary: String) -> String {
        if self.policy.summary.ledger == 0 || self.embedded() {
            return summary;
        }
        fault::caught(Part::Ledger, || self.beside_facts(&summary)).unwrap_or_else(|fault| {
            self.tell(Happening::WithoutLedger(&fault));
            summary
        })
    }

    fn beside_facts(&self, summary: &str) -> String {
        let messages: Vec<&Message<'_>> = self.messages(&self.summarized).collect();
        let ledger = collect(&messages, &self.summarized, &self.policy.cut.summary_prefix);
        let summary = self.with_lacking(beside_another(summary), &ledger);
        self.ledger.replace(Some(ledger));
        summary
    }

    fn with_lacking(&self, summary: String, ledger: &Record) -> String {
        let lacking = ledger.lacking(&summary);
        let takes_any = self.policy.summary.accept == Accept::Any && self.fitted.fit.is_none();
        let most = if takes_any { u64::MAX } else { self.most_tokens() };
        let spare = self.most_tokens().saturating_sub(self.message_tokens(&summary));
        let mut limit = self.policy.summary.ledger.min(spare);
        while limit > 0 {
            let section = Record::section(&lacking, self.policy.counter, limit);
            if section.is_empty() {
                break;
            }
            let whole = format!("{summary}\n\n{section}");
            if self.message_tokens(&whole) <= most {
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
        if stripped.is_empty() && self.policy.summary.recipe.blank_fails {
            return Err(Refusal::Empty);
        }
        if self.policy.summary.accept == Accept::Any {
            return if for_all { self.judge_room(&reply.text) } else { Ok(()) };
        }
        // What no model wrote talks to nobody and repeats no prompt.
        if !self.embedded() {
            acceptance::judge(reply, template.instructions())?;
        }
        if !for_all {
            return Ok(());
        }
        let text = if self.policy.summary.recipe.strips { stripped } else { &reply.text };
        acceptance::judge_size(self.message_tokens(text), self.replaced_tokens())?;
        self.judge_room(text)
    }

    /// Whether a summary is within what the result may have.
    fn judge_room(&self, text: &str) -> Result<(), Refusal> {
        match self.fitted.fit.map(|fit| (fit.room, self.message_tokens(text))) {
            Some((room, summary)) if summary > room => Err(Refusal::TooLong { summary, room }),
            _ => Ok(()),
        }
    }

    pub(super) fn messages<'s>(&'s self, indices: &'s [usize]) -> impl Iterator<Item = &'s Message<'s>> {
        indices.iter().map(|&index| &self.history.messages[index])
    }

    /// The last of the messages, as many as the summarizer is sent where they are sent whole.
    fn last_messages(&self) -> &[usize] {
        match self.policy.summary.trim_tokens {
            Some(limit) => trim::last_within(&self.summarized, &self.tally, limit),
            None => &self.summarized,
        }
    }

    /// The messages that the summarizer is sent; the oldest may be a `shorter` one.
    fn sent<'s>(&'s self, shorter: &'s Shorter<'s>) -> Vec<&'s Message<'s>> {
        let SummaryPolicy { recipe, trim_tokens, .. } = &self.policy.summary;
        let Some(limit) = *trim_tokens else { return self.messages(&self.summarized).collect() };
        if recipe.trim == Trim::Own {
            return self.messages(self.last_messages()).collect();
        }
        let counted: Vec<(u64, &Message<'_>)> =
            self.summarized.iter().map(|&index| (self.tally.message(index), &self.history.messages[index])).collect();
        let counting = Counting { counter: self.policy.counter, scales: self.policy.cut.scales(&self.tally) };
        let trimmed = trim_messages(&counted, limit, counting, shorter);
        match (recipe.trim, counted.last()) {
            (Trim::Sections, Some((_, last))) if trimmed.is_empty() => vec![last],
            _ => trimmed,
        }
    }

    /// What is sent, written down; nothing where nothing is left of it.
    fn text(&self, sent: &[&Message<'_>]) -> Option<String> {
        let SummaryPolicy { recipe, trim_tokens, .. } = &self.policy.summary;
        let counter = self.policy.counter;
        let write = || recipe.buffer.write(sent.iter().copied());
        match (recipe.trim, trim_tokens, self.summarized.last()) {
            // Even the last message is too large: its end is better than nothing.
            (Trim::Own, Some(limit), Some(&last)) if sent.is_empty() => {
                let end = |text: &str| trim::end_within(text, counter, *limit).to_owned();
                Some(history::write_end(&self.history.messages[last], end))
            }
            (Trim::Sections, limit, _) => {
                let earlier = self.earlier.as_ref().map(|earlier| &*earlier.text);
                sections(&write(), earlier, limit.unwrap_or(u64::MAX), counter)
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
        let prefix = &self.policy.cut.summary_prefix;
        let text = self.earlier.as_ref().map(|earlier| format!("{prefix}{}", earlier.text));
        let earlier =
            self.earlier.as_ref().zip(text.as_deref()).map(|(earlier, text)| carried::message(text, earlier.json));
        let last = self.summarized.last().map(|&last| &self.history.messages[last]);
        let mut messages: Vec<&Message<'_>> = earlier.iter().chain(sent.iter().copied()).collect();
        messages.extend(last.filter(|_| sent.is_empty()));
        // An earlier summary that stands beside the messages has no index of its own.
        let mut indices: Vec<usize> = earlier.iter().map(|_| 0).collect();
        indices.extend(self.indices_of(sent));
        indices.extend(self.summarized.last().filter(|_| sent.is_empty()));
        let tokens = |text: &str| self.message_tokens(text);
        // The words around a summary are part of its size; but something must be left to say.
        let most = self.most_tokens().min(self.policy.summary.tokens.max(tokens("") + LEAST_SUMMARY));
        let mut limit = most.saturating_sub(tokens("")).max(1);
        let mut kept = Record::default();
        // Only a page shows it, by the indices of the messages.
        let keeps = self.keeps_facts && earlier.is_none() && sent.len() == self.summarized.len();
        let ledger = keeps.then_some(&mut kept);
        let fits = |text: &str| tokens(text) <= most;
        let (history, counter) = ((&*messages, &*indices), self.policy.counter);
        let mut text = record::summarize_within(history, prefix, counter, limit, &fits, ledger);
        if keeps {
            self.ledger.replace(Some(kept));
        }
        // Where not even a line was left out of a summary it is shortened.
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

    /// The indices in the input of the messages that the summarizer is sent. The oldest may be a shorter one.
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

    /// Tokens of what a summary takes the place of.
    pub(super) fn replaced_tokens(&self) -> u64 {
        self.tally.sum(&self.fitted.plan.superseded())
    }

    /// Tokens of the message that a summary makes.
    pub(super) fn message_tokens(&self, text: &str) -> u64 {
        message_tokens(self.fitted.transcript.format, self.policy.counter, &self.message(text))
    }

    /// The summary message, as the format writes it.
    fn message(&self, text: &str) -> Vec<serde_json::Value> {
        let content = match self.policy.summary.summarizer {
            SummarizerKind::Nobody => text.to_owned(),
            _ => introduced(self.policy, self.archive, text),
        };
        let summary = SummaryMessage {
            text: &content,
            role: self.policy.summary.role,
            name: self.policy.cut.rules.carries.then_some(carried::NAME),
            marked: self.policy.ways.marks,
        };
        rewrite::summary_message(self.fitted.transcript, &self.fitted.plan, &summary)
    }

    /// The summary where it is put.
    fn placed(&self, text: &str) -> Placed {
        if self.policy.cut.rules.carries && carried::place(self.fitted.transcript).is_some() {
            let named = self.archive.map(|place| place.introduce("", text));
            return Placed::Beside(named.unwrap_or_else(|| text.to_owned()));
        }
        Placed::Messages(self.message(text))
    }

    /// What of this conversation is to be kept elsewhere.
    fn archived(&self) -> Archived {
        let Some(place) = self.archive else { return Archived::default() };
        let transcript = self.fitted.transcript;
        let removed = self.fitted.plan.removed();
        let section = if is_lines(&place.file) {
            Section::Record(record(transcript, self.source, &removed))
        } else if self.policy.ways.files {
            let messages = removed.iter().map(|&index| &self.unmasked.messages[index]);
            let messages = messages.filter(|message| !is_earlier_summary(message));
            Section::Text(self.policy.summary.recipe.buffer.write(messages))
        } else {
            let messages = removed.iter().map(|&index| &transcript.messages[index]);
            Section::Text(format!("From {}:\n\n{}", self.source, Buffer::Own.write(messages)))
        };
        Archived { sections: vec![section], files: Vec::new() }
    }
}

/// Whether a message is the summary of what `DeepAgents` has in its archive already.
fn is_earlier_summary(message: &Message<'_>) -> bool {
    let marked = message.additional("lc_source").and_then(|source| source.text());
    let wrapped = || message.content.texts().first().is_some_and(|text| text.starts_with(WRAPPED));
    message.role == Role::User && (marked.is_some_and(|source| source.is("summarization")) || wrapped())
}
