//! An earlier summary that the next one carries on: not as one message among those that are summarized, but by itself.
//!
//! `DeerFlow` keeps its summary beside the messages, in the state. Where a transcript has such a state, the summary is
//! there; where it is only a list, the summary is its first message, of a user with a name of its own.

use std::borrow::Cow;

use crate::tokens::Counter;
use crate::transcript::json::{Json, Kind};
use crate::transcript::text::Text;
use crate::transcript::{Content, Message, Reported, Role, Transcript};

use super::{Policy, is_summary};

/// The name of a summary message that the next summary carries on.
pub const NAME: &str = "summary";
/// The key of the state under which `DeerFlow` keeps its summary.
pub const KEY: &str = "summary_text";

/// An earlier summary.
#[derive(Debug, Clone)]
pub struct Carried<'a> {
    /// The summary, without what introduces it.
    pub text: Cow<'a, str>,
    /// Whether it is the first message; it is in the state if not.
    pub is_message: bool,
    /// Where it stands.
    pub json: Json<'a>,
}

impl Carried<'_> {
    /// The tokens it has as a message of its own.
    pub(super) fn tokens(&self, counter: Counter) -> u64 {
        counter.count(&message(&self.text, self.json))
    }
}

/// An earlier summary as the message that it is taken for; `json` is where it stands.
pub fn message<'a>(text: &'a str, json: Json<'a>) -> Message<'a> {
    Message {
        json,
        role: Role::User,
        role_name: None,
        name: Some(Text::plain(NAME)),
        content: Content::Text(Text::plain(text)),
        calls: Vec::new(),
        answers: Vec::new(),
        reported: Reported::default(),
    }
}

/// The place of the summary in the state of a transcript, where it has such a state; its value may be null.
pub fn place<'a>(transcript: &Transcript<'a>) -> Option<Json<'a>> {
    transcript.state.and_then(|state| state.get(KEY))
}

/// The earlier summary of a transcript, where the rules carry one on.
pub fn carried<'a>(transcript: &Transcript<'a>, policy: &Policy) -> Option<Carried<'a>> {
    if !policy.rules.request_stays {
        return None;
    }
    if let Some(place) = place(transcript).filter(|place| place.kind() == Kind::String) {
        let text = place.text().map(|text| text.decode()).filter(|text| !text.is_empty())?;
        return Some(Carried { text, is_message: false, json: place });
    }
    let first = transcript.messages.first()?;
    let text = first.content.texts().first()?.decode();
    let text = text.strip_prefix(&policy.summary_prefix).map(str::to_owned)?;
    let is_carried = is_named(first) && is_summary(first, policy);
    is_carried.then_some(Carried { text: text.into(), is_message: true, json: first.json })
}

/// Whether a message has the name that is given to summaries that are carried on.
pub(super) fn is_named(message: &Message<'_>) -> bool {
    message.name.is_some_and(|name| name.is(NAME))
}
