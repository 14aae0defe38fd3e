//! The compaction as an update of a `LangGraph` state: remove all messages, then those that are there now.

use serde_json::Value;

use crate::plan::{Plan, carried};
use crate::transcript::Transcript;

use super::{Edit, Placed, Style, edited};

/// What is printed where nothing was to be done.
pub fn no_update() -> String {
    "null\n".to_owned()
}

/// `{"messages": [remove-all, pinned…, summary, kept…]}` and a line end. Messages that stay are as they were, byte for
/// byte, but for `edits`. A summary that is kept beside the messages stands beside them, under its key.
pub fn update(transcript: &Transcript<'_>, plan: &Plan, summary: &Placed, edits: &[Edit]) -> String {
    let style = Style::spaced();
    let pinned: Vec<String> = plan.pinned.iter().map(|&index| edited(transcript, index, edits)).collect();
    let (before, after) = pinned.split_at(plan.before_summary.min(pinned.len()));
    let kept = (plan.cutoff..transcript.messages.len()).map(|index| edited(transcript, index, edits));
    let neighbour = transcript.messages.first().map(|message| message.json);
    let message = match summary {
        Placed::Message(message) => Some(style.write(message)),
        Placed::Beside(_) => None,
    };
    let messages: Vec<String> = std::iter::once(style.write(&transcript.format.remove_all(neighbour)))
        .chain(before.iter().cloned())
        .chain(message)
        .chain(after.iter().cloned())
        .chain(kept)
        .collect();
    let beside = match summary {
        Placed::Message(_) => String::new(),
        Placed::Beside(text) => format!(", \"{}\": {}", carried::KEY, Value::from(text.as_str())),
    };
    format!("{{\"messages\": [{}]{beside}}}\n", messages.join(", "))
}
