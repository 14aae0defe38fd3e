//! What pi writes to its sessions and sends to no model: the details of results, which its screen shows.
//!
//! Extensions keep their state in the details of their own tools, so only those of pi's tools become shorter.

use crate::format::{Retention, Transcript};
use crate::formats::pi::KEYS;
use crate::json::Json;
use crate::unsent_forms::{Conditions, Shortened, UnsentForms, UnsentMember};

const OUTPUT: Shortened = Shortened::Lines(10);
const CHANGE: Shortened = Shortened::Lines(60);

const BASH: Conditions = &[(&["message", "role"], "toolResult"), (&["message", "toolName"], "bash")];
const READ: Conditions = &[(&["message", "role"], "toolResult"), (&["message", "toolName"], "read")];
const EDIT: Conditions = &[(&["message", "role"], "toolResult"), (&["message", "toolName"], "edit")];
const GREP: Conditions = &[(&["message", "role"], "toolResult"), (&["message", "toolName"], "grep")];

pub(super) const FORMS: UnsentForms = UnsentForms {
    entries: &[],
    members: &[
        UnsentMember::new(BASH, &["message", "details"], OUTPUT),
        UnsentMember::new(READ, &["message", "details"], OUTPUT),
        UnsentMember::new(GREP, &["message", "details"], OUTPUT),
        UnsentMember::new(EDIT, &["message", "details"], CHANGE),
    ],
    kept: &[],
    links: Some(KEYS),
};

/// Entries that were sent. Names, labels and the states of extensions concern the whole session.
const SENT: [&str; 6] =
    ["branch_summary", "compaction", "custom_message", "message", "model_change", "thinking_level_change"];

/// The entries of branches that the last entry does not lead to, and those that a compaction replaced.
pub(super) fn no_longer_loaded<'a>(transcript: &Transcript<'a>) -> Vec<Json<'a>> {
    let mut left = Vec::new();
    // Sessions without ids count the entries before what a compaction keeps.
    if !transcript.entries().any(|entry| entry.get(KEYS.parent).is_some()) {
        return left;
    }
    for note in &transcript.notes {
        let kind = note.json.get_text("type");
        if note.retention == Retention::Obsolete && kind.is_some_and(|kind| kind.is_in(&SENT)) {
            left.push(note.json);
        }
    }
    left
}
