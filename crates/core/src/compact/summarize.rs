//! The third step: the summary of one conversation. It selects what is sent, asks the summarizer, judges the answer,
//! and falls back on `--on-error`.

mod archived;
mod embedded;
mod ledger;
pub(super) mod on_error;
mod sent;

use anyhow::Result;

use crate::plan::carried::{self, Carried, carried};
use crate::presets::python;
use crate::presets::recipe::{Overflow, Trim};
use crate::presets::trim::{PartialMessage, remove_middle};
use crate::redact::Redactor;
use crate::rewrite::thinking::message_at;
use crate::rewrite::{self, Edit, Placed};
use crate::summary::acceptance::{self, Refusal};
use crate::summary::exchange::{Bill, Reply, SummaryBackend};
use crate::summary::prompt::Template;
use crate::tokens::Tally;
use crate::transcript::formats::{InsertionPoint, SummaryMessage};
use crate::transcript::view::Arena;
use crate::transcript::{Message, Transcript};

use crate::compact::archive::{self, ArchivePlace, Archived, Files};
use crate::compact::context::CompactionContext;
use crate::compact::decide::Decided;
use crate::compact::event::CompactionEvent;
use crate::compact::fit::Fitted;
use crate::compact::message::{LEAST_SUMMARY, introduced, message_tokens, note, whole_text};
use crate::compact::policy::{Accept, CompactionPolicy, SummarizerKind};
use crate::compact::summarize::on_error::NoSummary;
use crate::compact::views::{edited, redactor};
use crate::digest;

use on_error::Instead;

/// The summarization of one conversation.
pub(super) struct Summarization<'w, 't> {
    pub(super) policy: &'w CompactionPolicy,
    /// The name of the conversation.
    source: &'w str,
    pub(super) backend: &'w dyn SummaryBackend,
    listen: &'w dyn Fn(&str, CompactionEvent<'_>),
    /// The plan for the conversation.
    pub(super) fitted: &'w Fitted<'t>,
    /// The conversation as the summarizer reads it: media can be replaced, secrets masked.
    pub(super) history: &'w Transcript<'w>,
    /// The history before its secrets were masked.
    unmasked: &'w Transcript<'w>,
    /// The sizes of the history's messages.
    tally: &'w Tally<'w, 'w>,
    /// Whether anybody is told what the summary saves.
    counts_savings: bool,
    /// The indices of the summarized messages.
    summarized: Vec<usize>,
    /// The earlier summary that this one carries on.
    earlier: Option<Carried<'w>>,
    /// The same as a message.
    earlier_message: Option<&'w Message<'w>>,
    /// The archive of removed messages.
    archive: Option<&'w ArchivePlace>,
    /// The place of the summary.
    place: InsertionPoint<'w, 't>,
}

/// What one summarization adds up.
#[derive(Default)]
pub(super) struct Session {
    /// The requests so far, and what they cost.
    pub(super) bill: Bill,
    /// Masks secrets, with `--redact`, and counts them; texts that are shown later get the same placeholders.
    pub(super) redactor: Option<Redactor>,
}

impl Session {
    /// Masks the secrets in a text, with `--redact`.
    pub(super) fn mask(&mut self, text: String) -> String {
        match &mut self.redactor {
            Some(redactor) => redactor.mask(&text).into_owned(),
            None => text,
        }
    }
}

/// An accepted summary, and where it is put.
pub struct Summary {
    /// The text, without the words around it.
    pub text: String,
    /// The writer.
    pub by: SummarySource,
    /// Tokens of its message.
    pub tokens: u64,
    /// Tokens that it saves, where somebody is told: those of the messages that it replaces, less its own.
    pub saved: Option<u64>,
    /// The message, or the text beside the messages.
    pub placed: Placed,
}

impl Summary {
    /// The text of the message in a transcript: the summary, and the words around it.
    pub fn message(&self, transcript: &Transcript<'_>) -> Option<String> {
        whole_text(transcript, &self.placed)
    }
}

/// The outcome of asking for a summary.
#[derive(Default)]
pub(super) struct SummaryAttempt {
    /// The summary; none where the conversation stays unchanged.
    pub(super) summary: Option<Summary>,
    /// The removed messages, for the archive.
    pub(super) archived: Archived,
    /// The requests, and the masked secrets.
    pub(super) session: Session,
    /// Why there is no summary, where that is expected.
    pub(super) left: Option<String>,
    /// What went wrong, whether or not `--on-error` helped.
    pub(super) error: Option<String>,
    /// Why there is no result.
    pub(super) failure: Option<anyhow::Error>,
}

/// Asks for a summary of the messages that a plan removes.
pub(super) fn attempt(context: &CompactionContext<'_>, source: &str, fitted: &Fitted<'_>) -> SummaryAttempt {
    let mut session = Session::default();
    if context.policy.redact.is_on() {
        session.redactor = Some(match &fitted.decided.masked {
            Some(masked) => masked.redactor(),
            None => redactor(fitted.decided.transcript),
        });
    }
    let attempt = match run(context, source, fitted, &mut session) {
        Ok(attempt) => attempt,
        Err(failure) => SummaryAttempt { failure: Some(failure), ..SummaryAttempt::default() },
    };
    SummaryAttempt { session, ..attempt }
}

fn run(
    context: &CompactionContext<'_>,
    source: &str,
    fitted: &Fitted<'_>,
    session: &mut Session,
) -> Result<SummaryAttempt> {
    let CompactionContext { policy, backend, listen, counts_savings, .. } = *context;
    let (Decided { transcript, view, .. }, plan) = (&*fitted.decided, &fitted.plan);
    let archive = archive::place(policy, transcript);
    let summarized = plan.summarized();
    let (moved, files) = archive::media_moved_out(policy, view, &summarized, archive.as_ref());
    let arena = Arena::default();
    let (unmasked, history) = histories(fitted, &summarized, &moved, session, &arena)?;
    // DeepAgents' archive has the secrets that `--redact=all` masks.
    let unmasked = if std::ptr::eq(*transcript, fitted.decided.unmasked) {
        unmasked
    } else {
        let (moved, _) = archive::media_moved_out(policy, fitted.decided.unmasked, &summarized, archive.as_ref());
        edited(fitted.decided.unmasked, &moved, &arena)?
    };
    let focus_masked = with_masked_focus(policy, session);
    let policy = focus_masked.as_ref().unwrap_or(policy);
    let mut earlier = carried(transcript, &policy.cut);
    if let Some(earlier) = &mut earlier {
        earlier.text = session.mask(std::mem::take(&mut earlier.text).into_owned()).into();
    }
    let prefix = &policy.cut.summary_prefix;
    let earlier_text = earlier.as_ref().map(|earlier| earlier.whole_text(prefix));
    let earlier_message = match (&earlier, &earlier_text) {
        (Some(earlier), Some(text)) => {
            let is_ours = !earlier.is_sent || !prefix.is_empty() && text.starts_with(prefix.as_str());
            let round = if is_ours { transcript.earlier_rounds.max(1) } else { 0 };
            Some(Message { round, ..carried::message(text, earlier.json) })
        }
        _ => None,
    };
    let counted_here;
    let tally = if std::ptr::eq(history, fitted.decided.view) {
        &fitted.decided.tally
    } else {
        counted_here = Tally::new(fitted.decided.tally.message_counter(), &history.messages);
        &counted_here
    };
    let summarization = Summarization {
        policy,
        source,
        backend,
        listen,
        fitted,
        history,
        unmasked,
        tally,
        counts_savings,
        summarized,
        earlier,
        earlier_message: earlier_message.as_ref(),
        archive: archive.as_ref(),
        place: rewrite::summary_place(transcript, plan),
    };
    summarization.outcome(session, files)
}

/// The policy with the secrets in its focus masked; none where there are none. The words of the user are sent like the
/// history, and the conversation can tell that one of them is a secret.
fn with_masked_focus(policy: &CompactionPolicy, session: &mut Session) -> Option<CompactionPolicy> {
    let focus = policy.summary.focus.as_deref()?;
    let masked = session.mask(focus.to_owned());
    if masked == focus {
        return None;
    }
    let mut policy = policy.clone();
    policy.summary.template = policy.summary.template.with_focus(focus, &masked);
    policy.summary.focus = Some(masked);
    Some(policy)
}

/// The conversation as the summarizer reads it, before and after its secrets are masked. `moved` are the edits that
/// move media to files.
fn histories<'t>(
    fitted: &Fitted<'t>,
    summarized: &[usize],
    moved: &[Edit],
    session: &mut Session,
    arena: &'t Arena<'t>,
) -> Result<(&'t Transcript<'t>, &'t Transcript<'t>)> {
    let pruned = fitted.history_edits();
    // A system that moves media to files prunes nothing else.
    let unmasked = if pruned.is_empty() {
        edited(fitted.decided.view, moved, arena)?
    } else {
        edited(fitted.decided.transcript, &pruned, arena)?
    };
    let Some(redactor) = &mut session.redactor else { return Ok((unmasked, unmasked)) };
    let masks = redactor.edits(unmasked, summarized);
    let mut sent = pruned;
    sent.retain(|edit| summarized.binary_search(&message_at(fitted.decided.transcript, edit)).is_ok());
    redactor.count_masks(sent.iter().map(|edit| &*edit.text));
    Ok((unmasked, edited(unmasked, &masks, arena)?))
}

/// A summary that was accepted.
pub(super) struct Accepted {
    pub(super) text: String,
    pub(super) by: SummarySource,
}

/// The writer of a summary.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SummarySource {
    /// The summarizer of the settings.
    Summarizer,
    /// The embedded summarizer, after another failed.
    Embedded,
    /// None: it is the text of an error.
    ErrorText,
    /// None: it is a note with the size of the removed messages.
    Note,
}

impl Summarization<'_, '_> {
    pub(super) fn report(&self, what: CompactionEvent<'_>) {
        (self.listen)(self.source, what);
    }

    /// Asks for the summary, judges the answer, and falls back where that fails. `files` are the media that it moves out.
    fn outcome(&self, session: &mut Session, files: Files) -> Result<SummaryAttempt> {
        let accepted = match self.policy.summary.summarizer {
            SummarizerKind::Off => Ok(self.note()),
            _ => self.summary(session).and_then(|reply| self.accept(session, &reply)),
        };
        let (instead, error) = match accepted {
            Ok(accepted) => (Instead::Text(accepted), None),
            Err(failed) => {
                let instead = self.fall_back(session, &failed)?;
                let is_expected =
                    self.policy.summary.is_embedded() && matches!(instead, Instead::Nothing { left: Some(_) });
                (instead, if is_expected { None } else { Some(failed.message) })
            }
        };
        let Accepted { text, by } = match instead {
            Instead::Text(accepted) => accepted,
            Instead::Nothing { left } => return Ok(SummaryAttempt { left, error, ..SummaryAttempt::default() }),
        };
        let text = match by {
            SummarySource::Summarizer => self.with_facts(text),
            // A server can write what it likes into an error.
            SummarySource::ErrorText => digest::without_own_headings(&text),
            SummarySource::Embedded | SummarySource::Note => text,
        };
        let placed = self.placed(&text);
        let mut archived = self.archived(&placed);
        archived.files.extend(files);
        let tokens = self.message_tokens(&text);
        let saved = if self.counts_savings { Some(self.all_replaced_tokens().saturating_sub(tokens)) } else { None };
        self.report(CompactionEvent::Summarized {
            messages: self.fitted.plan.summarized().len(),
            tokens,
            billed: session.bill.usage.map(|usage| self.policy.summary.model.billed(usage)),
            cached: session.bill.cached > 0,
            is_note: by == SummarySource::Note,
        });
        Ok(SummaryAttempt {
            summary: Some(Summary { text, by, tokens, saved, placed }),
            archived,
            error,
            ..SummaryAttempt::default()
        })
    }

    /// The note that takes the place of the history with `--model none`.
    fn note(&self) -> Accepted {
        let Fitted { plan, decided, .. } = self.fitted;
        // The messages as the input has them, and as the report counts them: pruned tokens are removed, too.
        let removed = plan.summarized();
        let text = note(self.policy, self.fitted.decided.transcript, &removed, |index| decided.tally.message(index));
        Accepted { text, by: SummarySource::Note }
    }

    /// The most tokens that the summary's message can have.
    fn most_tokens(&self) -> u64 {
        let smaller = self.replaced_tokens().saturating_sub(1);
        self.fitted.fit.map_or(smaller, |fit| fit.room.min(smaller))
    }

    /// Whether a summary must save a tenth. With `--fit`, only the limit counts.
    pub(super) fn must_save(&self) -> bool {
        self.policy.summary.accept == Accept::Smaller && self.fitted.fit.is_none()
    }

    /// Asks the summarizer for the summary.
    fn summary(&self, session: &mut Session) -> Result<Reply, NoSummary> {
        let policy = &self.policy.summary;
        let shorter = PartialMessage::default();
        let sent = self.sent(&shorter);
        let mut text = None;
        if self.is_embedded() {
            let answers_with_canned = policy.recipe.nothing_left.is_some() && policy.recipe.trim == Trim::LangChain;
            if !sent.is_empty() || !answers_with_canned {
                return self.extractive(sent);
            }
        } else if policy.recipe.overflow == Overflow::Parts && !sent.is_empty() && self.too_large_last().is_none() {
            return self.in_parts(session, &self.whole_messages());
        } else {
            text = self.text(&sent);
        }
        let Some(text) = text else {
            let canned = policy.recipe.nothing_left.unwrap_or_default();
            self.report(CompactionEvent::NothingSent(canned));
            return Ok(Reply { text: canned.to_owned(), ..Reply::default() });
        };
        let terms = self.terms(None);
        let answer = self.ask(session, &text, &terms, true)?;
        if let Err(none) = &answer
            && none.too_long()
            && policy.recipe.overflow == Overflow::Middle
            && let Some(shorter) = remove_middle(&text, self.tally.counter(), policy.window)
        {
            return Ok(self.ask(session, &shorter, &terms, true)??);
        }
        Ok(answer?)
    }

    fn is_embedded(&self) -> bool {
        self.policy.summary.is_embedded()
    }

    /// Accepts a reply as the summary.
    ///
    /// # Errors
    /// Why it is refused.
    fn accept(&self, session: &mut Session, reply: &Reply) -> Result<Accepted, NoSummary> {
        self.judge(reply, &self.policy.summary.template, true).map_err(NoSummary::from)?;
        Ok(self.accepted(session, reply, SummarySource::Summarizer))
    }

    fn accepted(&self, session: &mut Session, reply: &Reply, by: SummarySource) -> Accepted {
        let text = if self.policy.summary.recipe.strips { python::strip(&reply.text) } else { &reply.text };
        Accepted { text: session.mask(text.to_owned()), by }
    }

    /// Judges a reply: as the summary (`for_all`), or as the notes on a part of the history.
    ///
    /// # Errors
    /// Why it is refused.
    pub(super) fn judge(&self, reply: &Reply, template: &Template, for_all: bool) -> Result<(), Refusal> {
        let stripped = python::strip(&reply.text);
        if stripped.is_empty() && self.policy.summary.recipe.blank_fails {
            return Err(Refusal::Empty);
        }
        if self.policy.summary.accept == Accept::Any {
            return if for_all { self.judge_room(&reply.text) } else { Ok(()) };
        }
        // The embedded summarizer neither talks to the user nor repeats a prompt.
        if !self.is_embedded() {
            // A good summary may say what the user asked to be told of.
            let focus = self.policy.summary.focus.as_deref();
            let is_of_focus = |line: &str| focus.is_some_and(|focus| !line.is_empty() && focus.contains(line));
            acceptance::judge(reply, template.instructions().filter(|line| !is_of_focus(line)))?;
            // Notes replace nothing, and a part can be one in which nothing happened.
            let replaced = if for_all { self.replaced_tokens() } else { 0 };
            acceptance::judge_author(stripped, self.tally.counter(), replaced)?;
        }
        if !for_all {
            return Ok(());
        }
        self.judge_size(&reply.text)
    }

    /// Judges a summary by its size.
    ///
    /// # Errors
    /// It saves nothing, or is too long for `--fit`.
    pub(super) fn judge_size(&self, text: &str) -> Result<(), Refusal> {
        let text = if self.policy.summary.recipe.strips { python::strip(text) } else { text };
        let (summary, replaced) = (self.message_tokens(text), self.replaced_tokens());
        acceptance::judge_size(summary, replaced)?;
        if self.must_save() {
            acceptance::judge_saving(summary, replaced)?;
        }
        self.judge_room(text)
    }

    /// Checks that the result meets the limit of `--fit` with a summary.
    fn judge_room(&self, text: &str) -> Result<(), Refusal> {
        let Some(fit) = self.fitted.fit else { return Ok(()) };
        let (room, summary) = (fit.most_room(), self.message_tokens(text));
        if summary > room { Err(Refusal::TooLong { summary, room }) } else { Ok(()) }
    }

    pub(super) fn messages<'s>(&'s self, indices: &'s [usize]) -> impl Iterator<Item = &'s Message<'s>> {
        indices.iter().map(|&index| &self.history.messages[index])
    }

    /// Messages in the order in which their agent sends them: its own summary comes before what it kept.
    pub(super) fn messages_as_sent<'s>(&'s self, indices: &'s [usize]) -> impl Iterator<Item = &'s Message<'s>> {
        let summary = self.history.summary_of_kept().filter(|summary| indices.binary_search(summary).is_ok());
        let rest = indices.iter().copied().filter(move |index| Some(*index) != summary);
        summary.into_iter().chain(rest).map(|index| &self.history.messages[index])
    }

    /// The tokens of what the summary replaces, as far as they matter for it: the embedded summarizer writes no more than
    /// it may, however much it replaces. So a long history is not counted to its beginning.
    pub(super) fn replaced_tokens(&self) -> u64 {
        /// Of a history of so many times the longest summary, no rule asks how much longer it is.
        const ENOUGH_TIMES: u64 = 25;
        if self.is_embedded() {
            let longest = self.policy.summary.embedded_tokens(u64::MAX, 0, None);
            let longest = longest.max(self.message_tokens("") + LEAST_SUMMARY);
            let enough = longest.saturating_mul(ENOUGH_TIMES);
            if self.tally.reaches(&self.fitted.plan.superseded(), enough) {
                return enough;
            }
        }
        self.all_replaced_tokens()
    }

    /// The tokens of the messages that the summary replaces, and of an earlier summary that the model was sent beside
    /// them.
    fn all_replaced_tokens(&self) -> u64 {
        let beside = self.sent_beside().map_or(0, |message| self.tally.counter().count(message));
        self.tally.sum(&self.fitted.plan.superseded()).saturating_add(beside)
    }

    /// The tokens of the summary's message with this text.
    pub(super) fn message_tokens(&self, text: &str) -> u64 {
        message_tokens(self.fitted.decided.transcript.format, self.tally.counter(), &self.message(text))
    }

    /// The summary message, as the format writes it.
    fn message(&self, text: &str) -> Vec<serde_json::Value> {
        let content = match self.policy.summary.summarizer {
            SummarizerKind::Off => text.to_owned(),
            _ => introduced(self.policy, self.fitted.decided.transcript, self.archive, text),
        };
        let summary = SummaryMessage {
            text: &content,
            role: self.policy.summary.role,
            name: if self.policy.cut.rules.carries { Some(carried::NAME) } else { None },
            marked: self.policy.habits.marks,
        };
        self.fitted.decided.transcript.format.write_summary(&summary, &self.place)
    }

    /// The summary with the place where it is put.
    fn placed(&self, text: &str) -> Placed {
        if self.policy.cut.rules.carries && carried::place(self.fitted.decided.transcript).is_some() {
            return Placed::Beside(match self.archive {
                Some(place) => place.introduce("", text),
                None => text.to_owned(),
            });
        }
        Placed::Messages(self.message(text))
    }
}
