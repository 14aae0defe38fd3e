//! What Qwen Code writes to its sessions and sends to no model: what its screen shows of results, and copies of requests
//! and answers in what it measures.
//!
//! Its statistics are read again when a session is loaded, so their numbers stay.

use std::collections::HashSet;

use crate::format::{Retention, Transcript};
use crate::formats::qwen_code::{KEYS, replay};
use crate::json::{Json, Object};
use crate::unsent_forms::{Conditions, Shortened, UnsentForms, UnsentMember};

const OUTPUT: Shortened = Shortened::Lines(10);
const CHANGE: Shortened = Shortened::Hunks(60);
/// The lines of a terminal, each a list of its pieces.
const TERMINAL: Shortened = Shortened::Elements(10);

const TELEMETRY: Conditions = &[(&["type"], "system"), (&["subtype"], "ui_telemetry")];

pub(super) const FORMS: UnsentForms = UnsentForms {
    entries: &[],
    members: &[
        UnsentMember::new(TELEMETRY, &["systemPayload", "uiEvent", "response_text"], Shortened::Empty),
        UnsentMember::new(TELEMETRY, &["systemPayload", "uiEvent", "request_text"], Shortened::Empty),
        UnsentMember::new(TELEMETRY, &["systemPayload", "uiEvent", "function_args"], Shortened::Empty),
        UnsentMember::new(&[], &["toolCallResult", "resultDisplay", "originalContent"], Shortened::Empty),
        UnsentMember::new(&[], &["toolCallResult", "resultDisplay", "newContent"], Shortened::Empty),
        UnsentMember::new(&[], &["toolCallResult", "resultDisplay", "fileDiff"], CHANGE),
        UnsentMember::new(&[], &["toolCallResult", "resultDisplay"], TERMINAL),
        UnsentMember::new(&[], &["toolCallResult", "resultDisplay"], OUTPUT),
    ],
    kept: &[],
    links: Some(KEYS),
};

/// The lines of branches that the last line does not lead to, and those that a compression replaced. What a command takes
/// back stays with it: it would take back the line before.
pub(super) fn no_longer_loaded<'a>(transcript: &Transcript<'a>) -> Vec<Json<'a>> {
    let mut taken_back = HashSet::new();
    for entry in transcript.entries() {
        if entry.member_is("subtype", "slash_command")
            && let Some(parent) = entry.get_text(KEYS.parent)
        {
            taken_back.insert(parent.decode());
        }
    }
    let mut left = Vec::new();
    for note in &transcript.notes {
        let line = Object::of(note.json);
        let was_sent = line.get("message").is_some() || replay::compressed(&line).is_some();
        let is_taken_back = line.get_text(KEYS.id).is_some_and(|id| taken_back.contains(&id.decode()));
        if note.retention == Retention::Obsolete && was_sent && !is_taken_back {
            left.push(note.json);
        }
    }
    left
}
