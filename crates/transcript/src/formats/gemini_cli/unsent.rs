//! What Gemini CLI writes to its sessions and sends to no model: what its screen shows of results, and its own messages.

use crate::unsent_forms::{Conditions, Shortened, UnsentForms, UnsentMember};

const OUTPUT: Shortened = Shortened::Lines(10);
const CHANGE: Shortened = Shortened::Hunks(60);
/// The lines of a terminal, each a list of its pieces.
const TERMINAL: Shortened = Shortened::Elements(10);

const INFO: Conditions = &[(&["type"], "info")];
const WARNING: Conditions = &[(&["type"], "warning")];
const ERROR: Conditions = &[(&["type"], "error")];

pub(super) const FORMS: UnsentForms = UnsentForms {
    entries: &[],
    members: &[
        UnsentMember::new(&[], &["toolCalls", "*", "resultDisplay", "originalContent"], Shortened::Empty),
        UnsentMember::new(&[], &["toolCalls", "*", "resultDisplay", "newContent"], Shortened::Empty),
        UnsentMember::new(&[], &["toolCalls", "*", "resultDisplay", "fileDiff"], CHANGE),
        UnsentMember::new(&[], &["toolCalls", "*", "resultDisplay"], TERMINAL),
        UnsentMember::new(&[], &["toolCalls", "*", "resultDisplay"], OUTPUT),
        UnsentMember::new(INFO, &["content"], OUTPUT),
        UnsentMember::new(WARNING, &["content"], OUTPUT),
        UnsentMember::new(ERROR, &["content"], OUTPUT),
    ],
    kept: &[],
    links: None,
};
