//! What Copilot writes to its sessions and sends to no model: whole copies of requests, what its hooks were told, and what
//! its screen shows of calls and results.
//!
//! An event of a known type that lacks a member keeps a session from being loaded, so members become shorter and none
//! goes. Copilot goes by the order of events, not by their parents.

use crate::format::{Retention, Transcript};
use crate::json::Json;
use crate::unsent_forms::{Conditions, LastEntry, Shortened, UnsentEntry, UnsentForms, UnsentMember};

const OUTPUT: Shortened = Shortened::Lines(10);
/// The details of an edit are its diff.
const DETAILS: Shortened = Shortened::Lines(60);

const SNAPSHOT: Conditions = &[(&["type"], "model.messages_snapshot")];
const REQUEST: Conditions = &[(&["type"], "model.call_success")];
const HOOK_START: Conditions = &[(&["type"], "hook.start")];
const HOOK_END: Conditions = &[(&["type"], "hook.end")];
const START: Conditions = &[(&["type"], "tool.execution_start")];
const COMPLETE: Conditions = &[(&["type"], "tool.execution_complete")];
const SYSTEM: Conditions = &[(&["type"], "system.message")];

pub(super) const FORMS: UnsentForms = UnsentForms {
    entries: &[
        UnsentEntry { is: SNAPSHOT, stays_with: None, last: LastEntry::Goes },
        UnsentEntry { is: REQUEST, stays_with: None, last: LastEntry::Goes },
    ],
    members: &[
        UnsentMember::new(HOOK_START, &["data", "input"], OUTPUT),
        UnsentMember::new(HOOK_END, &["data", "output"], OUTPUT),
        UnsentMember::new(START, &["data", "arguments"], OUTPUT),
        UnsentMember::new(COMPLETE, &["data", "result", "detailedContent"], DETAILS),
        UnsentMember::new(COMPLETE, &["data", "toolTelemetry"], OUTPUT),
        // A new one is made when a session is resumed.
        UnsentMember::new(SYSTEM, &["data", "content"], OUTPUT),
    ],
    kept: &[],
    links: None,
};

/// The answers and results that a compaction replaced. Copilot quotes what the user said before one.
pub(super) fn no_longer_loaded<'a>(transcript: &Transcript<'a>) -> Vec<Json<'a>> {
    let mut left = Vec::new();
    for note in &transcript.notes {
        let kind = note.json.get_text("type");
        let was_sent = kind.is_some_and(|kind| kind.is_in(&["assistant.message", "tool.execution_complete"]));
        if note.retention == Retention::Obsolete && was_sent {
            left.push(note.json);
        }
    }
    left
}
