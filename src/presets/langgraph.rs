//! Writes a compaction as an update of a `LangGraph` state: remove all messages, then add the current ones.
//!
//! `update_state` converts each message with `convert_to_messages` of langchain-core, which takes a flat object with
//! `role` or `type` and `content`. So the envelopes of `messages_to_dict` and `dumps` are opened.

use serde_json::Value;

use crate::plan::{Plan, carried};
use crate::transcript::formats::Format;
use crate::transcript::json::Object;
use crate::transcript::source::Source;
use crate::transcript::summarization_event;
use crate::transcript::{Message, Transcript};

use crate::presets::coercion;
use crate::rewrite::{Edit, Placed, Style, remaining};

/// Returns the output for a run without changes.
pub(crate) fn no_update() -> String {
    "null\n".to_owned()
}

/// Returns `{"messages": [remove-all, pinned…, summary, kept…]}` and a line end. Members of kept messages stay
/// unchanged to the byte, except for `edits`. A summary beside the messages is written beside them, under its key; an
/// event that stands for removed messages becomes null.
pub(crate) fn update(transcript: &Transcript<'_>, plan: &Plan, summary: Option<&Placed>, edits: &[Edit]) -> String {
    let format = transcript.format;
    let remove_all = format.remove_all().map(|entry| Style::spaced().write(&entry));
    let stay = remaining(transcript, plan, summary, edits).into_iter().map(|text| in_state(format, text));
    let messages: Vec<String> = remove_all.into_iter().chain(stay).collect();
    let beside = match summary {
        Some(Placed::Beside(text)) => format!(", \"{}\": {}", carried::KEY, Value::from(text.as_str())),
        _ => String::new(),
    };
    let event = transcript.state.and_then(summarization_event::place);
    let event = event.map_or_else(String::new, |_| format!(", \"{}\": null", summarization_event::KEY));
    format!("{{\"messages\": [{}]{beside}{event}}}\n", messages.join(", "))
}

/// Converts a message to the form that `update_state` takes.
fn in_state(format: &dyn Format, text: String) -> String {
    let source = Source::of(&text).ok();
    let message = source.as_ref().and_then(Source::first);
    message.and_then(|message| format.in_state(&Object::of(message))).unwrap_or(text)
}

/// Returns the index of the first kept message that `update_state` rejects in any form, and why, to follow "message 3".
pub(crate) fn refused_by_state(transcript: &Transcript<'_>, plan: &Plan) -> Option<(usize, String)> {
    let stay = plan.pinned.iter().copied().chain(plan.cutoff..transcript.messages.len());
    stay.map(|index| (index, &transcript.messages[index])).find_map(|(index, message)| {
        let why = refusal(transcript.format, message)?;
        Some((index, why))
    })
}

fn refusal(format: &dyn Format, message: &Message<'_>) -> Option<String> {
    let text = format.in_state(&Object::of(message.json));
    let Some(text) = text else { return coercion::state_refusal(message.role, &Object::of(message.json)) };
    let source = Source::of(&text).ok()?;
    coercion::state_refusal(message.role, &Object::of(source.first()?))
}
