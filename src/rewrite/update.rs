//! The compaction as an update of a `LangGraph` state: remove all messages, then those that are there now.

use serde_json::Value;

use crate::plan::{Plan, carried};
use crate::transcript::Transcript;

use super::{Edit, Placed, Style, edited};

/// What is printed where nothing was to be done.
pub fn no_update() -> String {
    "null\n".to_owned()
}

/// The messages that are there in the end, each as it is written: pinned ones and the summary, then what is kept, as they
/// were but for `edits`.
pub fn remaining(transcript: &Transcript<'_>, plan: &Plan, summary: Option<&Placed>, edits: &[Edit]) -> Vec<String> {
    let message: Vec<String> = match summary {
        Some(Placed::Messages(entries)) => entries.iter().map(|entry| Style::spaced().write(entry)).collect(),
        _ => Vec::new(),
    };
    let (before, after) = plan.pinned.split_at(plan.before_summary.min(plan.pinned.len()));
    let left = |index: &usize| plan.emptied.binary_search(index).is_err();
    let written = |index: usize| edited(transcript, index, edits);
    let before = before.iter().copied().filter(left).map(written);
    let kept = plan.cutoff..transcript.messages.len();
    let behind = after.iter().copied().chain(kept).filter(left).map(written);
    before.chain(message).chain(behind).collect()
}

/// `{"messages": [remove-all, pinned…, summary, kept…]}` and a line end. Messages that stay are as they were, byte for
/// byte, but for `edits`. A summary that is kept beside the messages stands beside them, under its key.
pub fn update(transcript: &Transcript<'_>, plan: &Plan, summary: Option<&Placed>, edits: &[Edit]) -> String {
    let neighbour = transcript.messages.first().map(|message| message.json);
    let remove_all = transcript.format.remove_all(neighbour).map(|entry| Style::spaced().write(&entry));
    let messages: Vec<String> = remove_all.into_iter().chain(remaining(transcript, plan, summary, edits)).collect();
    let beside = match summary {
        Some(Placed::Beside(text)) => format!(", \"{}\": {}", carried::KEY, Value::from(text.as_str())),
        _ => String::new(),
    };
    format!("{{\"messages\": [{}]{beside}}}\n", messages.join(", "))
}
