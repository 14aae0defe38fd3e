//! Requests to a summarizer: repeated once where the answer is refused, and in parts where the history does not fit the
//! model's window.

use std::borrow::Cow;

use crate::exit::Exit;
use crate::presets::python;
use crate::presets::recipe::Overflow;
use crate::summary::acceptance::Refusal;
use crate::summary::exchange::{NoAnswer, Remembered, Reply, Request};
use crate::summary::history;
use crate::summary::parts::{Measure, indivisible_runs, truncate_to_fit, whole_lines, write_within};
use crate::summary::prompt::{self, Template};
use crate::transcript::fence;

use crate::compact::event::CompactionEvent;
use crate::compact::policy::{Accept, SummarizerModel};
use crate::compact::summarize::on_error::NoSummary;
use crate::compact::summarize::{Session, Summarization};
use crate::wording::counted;

/// The smallest part of a history that is sent, in tokens.
const SMALLEST_PART: u64 = 64;
/// The largest window, in tokens, for which the short prompt is used.
const SMALL_WINDOW: u64 = 4096;

/// The terms of a request: what is known of the model, and the prompt.
pub(super) struct Terms<'s> {
    model: SummarizerModel,
    template: Cow<'s, Template>,
}

impl Summarization<'_, '_> {
    /// The terms of the settings, or those for a window that a server named.
    pub(super) fn terms(&self, learned: Option<u64>) -> Terms<'_> {
        let policy = &self.policy.summary;
        let model = learned.map_or(policy.model, |window| policy.model.within(window));
        let mut room = u64::MAX;
        if let Some(fit) = self.fitted.fit {
            room = fit.room.saturating_sub(self.message_tokens(""));
            // The appended facts share the room with the summary.
            if policy.ledger > 0 {
                room = room / 6 * 5;
            }
        }
        let asked_tokens = model.asked_tokens.min(room).max(1);
        let is_less = asked_tokens < model.asked_tokens;
        let model = SummarizerModel { asked_tokens, ..model };
        let is_small = model.window.is_some_and(|window| window <= SMALL_WINDOW);
        // The presets of known systems keep their prompts.
        let is_own = policy.recipe.overflow == Overflow::Parts && policy.template_from.is_none();
        let built_in = if !is_own {
            None
        } else if is_small {
            Some(prompt::SMALL)
        } else if learned.is_some() || is_less {
            // The requested size must fit the window as well.
            Some(policy.recipe.built_in)
        } else {
            None
        };
        let template = match built_in {
            Some(built_in) => Cow::Owned(Template::built_in(built_in, model.asked_tokens, policy.focus.as_deref())),
            None => Cow::Borrowed(&policy.template),
        };
        Terms { model, template }
    }

    /// Sends a history in the prompt: the whole one (`for_all`), or a part.
    ///
    /// # Errors
    /// The inner error is the summarizer's. The outer one is final: the prompt cannot be filled.
    pub(super) fn ask(
        &self,
        session: &mut Session,
        history: &str,
        terms: &Terms<'_>,
        for_all: bool,
    ) -> Result<Result<Reply, NoAnswer>, NoSummary> {
        let policy = &self.policy.summary;
        let prompt = match terms.template.fill(history) {
            Ok(prompt) => prompt,
            Err(message) => return Err(NoSummary { exit: Exit::Usage, message, kind: None }),
        };
        if policy.recipe.canned.contains(&prompt.as_str()) {
            return Ok(Ok(Reply { text: prompt, ..Reply::default() }));
        }
        let SummarizerModel { asked_tokens: limit, thought_tokens: thoughts, .. } = terms.model;
        let request = Request { system: policy.recipe.system, prompt, limit, thoughts };
        let is_usable = |reply: &Reply| match self.judge(reply, &terms.template, for_all) {
            Ok(()) => true,
            Err(refusal) => !for_all && refusal.has_begun(),
        };
        let mut ask = || self.ask_again_if_refused(session, &request, terms, for_all);
        let answer = self.backend.remembered(&request, &is_usable, &mut ask);
        if let Ok(Remembered { is_kept: true, .. }) = answer {
            session.bill.cached += 1;
        }
        Ok(answer.map(|remembered| remembered.reply))
    }

    /// Where the answer is refused, sends the request once more, with the reason.
    fn ask_again_if_refused(
        &self,
        session: &mut Session,
        request: &Request,
        terms: &Terms<'_>,
        for_all: bool,
    ) -> Result<Reply, NoAnswer> {
        let reply = self.answer(session, request)?;
        let Err(refusal) = self.judge(&reply, &terms.template, for_all) else { return Ok(reply) };
        if self.policy.summary.accept == Accept::Any {
            // The presets of known systems do not ask again.
            return Ok(reply);
        }
        self.report(CompactionEvent::AskedAgain(&refusal));
        let (correction, thoughts) = refusal.correction(request.limit);
        let most = terms.model.most_tokens.map_or(u64::MAX, |most| most.saturating_sub(request.limit));
        let thoughts = thoughts.max(request.thoughts).min(most);
        let prompt = format!("{}\n\n{correction}", request.prompt);
        match self.answer(session, &Request { prompt, thoughts, ..request.clone() }) {
            Ok(reply) => Ok(reply),
            Err(none) => {
                let message = format!("{} (asked once more, since {refusal})", none.message);
                Err(NoAnswer { message, ..none })
            }
        }
    }

    /// Asks the backend. The reply comes without its wrapping where the recipe says so, and with its secrets masked.
    fn answer(&self, session: &mut Session, request: &Request) -> Result<Reply, NoAnswer> {
        let reply = self.backend.answer(request, &mut session.bill)?;
        let unwraps = self.policy.summary.recipe.unwraps;
        let text = if unwraps { fence::strip_wrapping(&reply.text) } else { &reply.text };
        Ok(Reply { text: session.mask(text.to_owned()), ..reply })
    }

    /// Summarizes messages: at once where they fit, else in parts, in order, each with the notes on the parts before
    /// it. Where the provider finds a part too long, the next one fits the window that it names, or has half the size.
    pub(super) fn in_parts(&self, session: &mut Session, indices: &[usize]) -> Result<Reply, NoSummary> {
        let connected = [self.history.groups.as_slice(), &self.history.pairing.pairs].concat();
        let groups = indivisible_runs(indices, &connected);
        let mut rest = &groups[..];
        let mut terms = self.terms(None);
        let mut room = self.room(&terms)?;
        let mut notes = self.notes_beside();
        let mut is_cut_off = false;
        loop {
            let is_parted = rest.len() < groups.len();
            let HistoryPart { history, groups } = self.part(notes.as_deref(), rest, room, &terms);
            let for_all = groups == rest.len();
            if !for_all {
                let part = rest[..groups].concat().len();
                self.report(CompactionEvent::Part { messages: indices.len(), part });
            }
            match self.ask(session, &history, &terms, for_all)? {
                Err(none) if !none.too_long() => return Err(none.into()),
                Err(none) => match none.window {
                    Some(window) if terms.model.window != Some(window) => {
                        terms = self.terms(Some(window));
                        room = self.room(&terms)?;
                    }
                    _ => {
                        let smaller = self.measure(&terms).tokens(&history) / 2;
                        if smaller < SMALLEST_PART {
                            return Err(none.into());
                        }
                        room = Some(smaller);
                    }
                },
                Ok(reply) if for_all => match self.judge(&reply, &terms.template, true) {
                    Err(refusal) if is_parted => return Err(self.needs_more(refusal, indices, &terms)),
                    _ => return Ok(reply),
                },
                Ok(reply) => {
                    let text = python::strip(&reply.text);
                    notes = Some(match self.judge(&reply, &terms.template, false) {
                        Ok(()) => text.to_owned(),
                        // A summary that is cut off is refused. Notes are not: other notes follow.
                        Err(refusal) if refusal.has_begun() => {
                            if !is_cut_off {
                                self.report(CompactionEvent::NotesCutOff);
                                is_cut_off = true;
                            }
                            whole_lines(text).to_owned()
                        }
                        Err(refusal) => return Err(self.needs_more(refusal, indices, &terms)),
                    });
                    rest = &rest[groups..];
                }
            }
        }
    }

    /// Why a summary in parts is refused, with the window that needs no parts.
    fn needs_more(&self, refusal: Refusal, indices: &[usize], terms: &Terms<'_>) -> NoSummary {
        const THOUSAND: u64 = 1000;
        let messages = self.messages_as_sent(indices);
        let history = terms.template.fill(&history::write(messages)).unwrap_or_default();
        // An estimate can be a quarter too small.
        let tokens = self.measure(terms).tokens(&history) * 5 / 4 + terms.model.asked_tokens;
        let needed = tokens.div_ceil(THOUSAND) * THOUSAND;
        let failed = NoSummary::from(refusal);
        let message = format!(
            "{}; a model with a context window of {} reads this history at once (tcompact list models)",
            failed.message,
            counted(needed, "token")
        );
        NoSummary { message, ..failed }
    }

    /// The next part: as many groups of messages as fit beside the notes, and at least one.
    fn part(&self, notes: Option<&str>, groups: &[&[usize]], room: Option<u64>, terms: &Terms<'_>) -> HistoryPart {
        let measure = self.measure(terms);
        let mut left = room.unwrap_or(u64::MAX);
        // However long the notes are, half of the room is for new messages.
        let mut written: Vec<String> = Vec::new();
        if let Some(notes) = notes {
            let notes = history::write_notes(&truncate_to_fit(notes, measure, left / 2));
            left = left.saturating_sub(measure.tokens(&notes));
            written.push(notes);
        }
        let mut taken = 0;
        for group in groups {
            let messages: Vec<_> = self.messages(group).collect();
            let mut text = history::write(messages.iter().copied());
            // No text has more tokens than bytes.
            let whole = text.len() as u64 <= left || measure.tokens(&text) <= left;
            if !whole && taken > 0 {
                break;
            }
            if !whole {
                text = write_within(&messages, measure, left);
            }
            left = left.saturating_sub(measure.tokens(&text) + 1);
            written.push(text);
            taken += 1;
        }
        HistoryPart { history: written.join("\n"), groups: taken }
    }

    fn measure(&self, terms: &Terms<'_>) -> Measure {
        let is_small = terms.model.window.is_some_and(|window| window <= SMALL_WINDOW);
        Measure { counter: self.policy.summary.model.counter, is_small }
    }

    /// The most tokens that a part can have; none where the summarizer's window is not known.
    ///
    /// # Errors
    /// The window is too small for any part.
    fn room(&self, terms: &Terms<'_>) -> Result<Option<u64>, NoSummary> {
        let SummarizerModel { window: Some(window), asked_tokens, thought_tokens, .. } = terms.model else {
            return Ok(None);
        };
        let around = [self.policy.summary.recipe.system.unwrap_or_default(), &terms.template.around()].concat();
        let room = self.measure(terms).room(window, asked_tokens + thought_tokens, &around);
        if room < SMALLEST_PART { Err(no_room(window)) } else { Ok(Some(room)) }
    }
}

/// A part of the history, sent in one request.
struct HistoryPart {
    history: String,
    /// The number of groups of messages in it.
    groups: usize,
}

fn no_room(window: u64) -> NoSummary {
    let message = format!(
        "a context window of {} has no room for the history beside the prompt and --summary-tokens; lower that, or name another model",
        counted(window, "token")
    );
    NoSummary { exit: Exit::SummarizerFailed, message, kind: None }
}
