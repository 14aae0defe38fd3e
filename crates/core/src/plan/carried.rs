//! An earlier summary that the next one carries on. It is given to the summarizer separately, not among the messages.
//!
//! `DeerFlow` keeps its summary beside the messages, in the state. Where a transcript has such a state, the summary is
//! there. Where the transcript is only a list, the summary is its first message: a named user message. `DeepAgents` keeps
//! the message with its summary beside the messages, too.

use std::borrow::Cow;

use crate::tokens::Counter;
use crate::transcript::compaction::SummarizationEvent;
use crate::transcript::json::{Json, JsonKind, Object};
use crate::transcript::text::Text;
use crate::transcript::{Content, Message, RareFields, Role, Transcript};

use crate::plan::CutPolicy;

/// The name of a summary message that the next summary carries on.
pub const NAME: &str = "summary";
/// The key of the state under which `DeerFlow` keeps its summary.
pub const KEY: &str = "summary_text";

/// How a remark on the archive behind a summary begins: with how to reach it, or only with its place.
pub const REACHED: &str = "Archive: ";
pub const KEPT: &str = "The messages that this summarizes are kept in ";

#[derive(Debug, Clone)]
pub struct Carried<'a> {
    /// The summary: without its prefix and without the name of an archive, or the whole text of an event's message.
    pub text: Cow<'a, str>,
    /// The index of its message; none where it is in the state.
    pub index: Option<usize>,
    /// Whether it is a message that the state has for the model.
    pub is_sent: bool,
    /// Its place in the source.
    pub json: Json<'a>,
}

impl Carried<'_> {
    /// The text as its message has it.
    pub fn whole_text(&self, prefix: &str) -> String {
        if self.is_sent { self.text.clone().into_owned() } else { format!("{prefix}{}", self.text) }
    }

    /// The tokens of the summary as a message.
    pub(super) fn tokens(&self, counter: Counter) -> u64 {
        counter.count(&message(&self.text, self.json))
    }
}

/// An earlier summary as a message; `json` is its place in the source.
pub fn message<'a>(text: &'a str, json: Json<'a>) -> Message<'a> {
    Message {
        role: Role::User,
        content: Content::Text(Text::plain(text)),
        rest: RareFields { name: Some(Text::plain(NAME)), ..RareFields::default() }.boxed(),
        earlier: true,
        round: 1,
        ..Message::empty(json)
    }
}

/// The place of the summary in the state of a transcript, where it has such a state: a string, or null.
pub fn place<'a>(transcript: &Transcript<'a>) -> Option<Json<'a>> {
    let place = transcript.state.and_then(|state| state.get(KEY))?;
    if matches!(place.kind(), JsonKind::String | JsonKind::Null) { Some(place) } else { None }
}

/// The earlier summary of a transcript: that of an event in its state. Where the rules carry one on, it is in the state
/// as a text, or in the first message that is not a system message.
pub fn carried<'a>(transcript: &Transcript<'a>, policy: &CutPolicy) -> Option<Carried<'a>> {
    let by_rule = if policy.rules.carries { carried_by_rule(transcript, policy) } else { None };
    by_rule.or_else(|| of_event(transcript))
}

/// The summary of an event in the state.
fn of_event<'a>(transcript: &Transcript<'a>) -> Option<Carried<'a>> {
    let event = transcript.state.and_then(SummarizationEvent::of)?;
    let message = transcript.format.read(&Object::of(event.summary)).ok()?;
    let text = message.whole_text();
    if text.trim().is_empty() {
        return None;
    }
    Some(Carried { text: text.into(), index: None, is_sent: true, json: event.summary })
}

fn carried_by_rule<'a>(transcript: &Transcript<'a>, policy: &CutPolicy) -> Option<Carried<'a>> {
    if let Some(place) = place(transcript)
        && let Some(text) = place.text()
        && !text.is_empty()
    {
        let text = without_archive(&text.decode()).to_owned().into();
        return Some(Carried { text, index: None, is_sent: false, json: place });
    }
    let index = transcript.messages.iter().position(|message| !message.role.is_system())?;
    let message = &transcript.messages[index];
    if !is_named(message) || !message.is_ours() {
        return None;
    }
    let text = message.content.texts().first()?.decode();
    let text = without_archive(text.strip_prefix(&policy.summary_prefix)?).to_owned();
    Some(Carried { text: text.into(), index: Some(index), is_sent: false, json: message.json })
}

/// A summary without the remark on the archive behind it.
fn without_archive(summary: &str) -> &str {
    match summary.strip_suffix(')').and_then(|rest| rest.rsplit_once("\n\n(")) {
        Some((before, remark)) if remark.starts_with(REACHED) || remark.starts_with(KEPT) => before,
        _ => summary,
    }
}

/// Whether a message has the name of carried summaries.
pub(super) fn is_named(message: &Message<'_>) -> bool {
    message.rare_fields().name.is_some_and(|name| name.is(NAME))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_remark_on_an_archive_is_not_carried() {
        for (text, carried) in [
            ("a\n\n(The messages that this summarizes are kept in cut.jsonl.)", "a"),
            ("a\n\n(Archive: call recall (with a pattern).)", "a"),
            ("a\n\n(Archive: `tcompact search REGEX cut.jsonl` finds what this summarizes; …)", "a"),
            // As older versions wrote it.
            ("a\n\n(Archive: `tcompact --search REGEX cut.jsonl` finds what this summarizes; …)", "a"),
            ("a\n\n(b)\n\n(Archive: c)", "a\n\n(b)"),
            ("a\n\n(Archive: c)\n\n(b)", "a\n\n(Archive: c)\n\n(b)"),
            ("a (Archive: b)", "a (Archive: b)"),
        ] {
            assert_eq!(without_archive(text), carried);
        }
    }
}
