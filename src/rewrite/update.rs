//! The compaction as an update of a `LangGraph` state: remove all messages, then those that are there now.

use serde_json::Value;

use crate::plan::Plan;
use crate::transcript::Transcript;

use super::Style;

/// What is printed where nothing was to be done.
pub fn no_update() -> String {
    "null\n".to_owned()
}

/// `{"messages": [remove-all, pinned…, summary, kept…]}` and a line end. Messages that stay are as they were, byte for
/// byte.
pub fn update(transcript: &Transcript<'_>, plan: &Plan, summary: &Value) -> String {
    let style = Style::spaced();
    let as_it_was = |index: usize| transcript.messages[index].json.raw().to_owned();
    let pinned = plan.pinned.iter().map(|&index| as_it_was(index));
    let kept = (plan.cutoff..transcript.messages.len()).map(as_it_was);
    let neighbour = transcript.messages.first().map(|message| message.json);
    let messages: Vec<String> = std::iter::once(style.write(&transcript.format.remove_all(neighbour)))
        .chain(pinned)
        .chain([style.write(summary)])
        .chain(kept)
        .collect();
    format!("{{\"messages\": [{}]}}\n", messages.join(", "))
}
