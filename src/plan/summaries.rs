//! Tells which messages are summaries of earlier compactions. The format marks them, or they stand where tcompact puts
//! them. A text that only looks like a summary is not one: a page, a program or a model can repeat every word of it.

use crate::plan::compactions::Compactions;
use crate::plan::{Policy, pins};
use crate::transcript::formats::SummaryRole;
use crate::transcript::speaker::shell_block;
use crate::transcript::{Message, Role, Transcript};

/// Marks the summaries of earlier compactions. `role` is that of summaries by this policy.
pub(crate) fn mark_summaries(transcript: &mut Transcript<'_>, policy: &Policy, role: SummaryRole) {
    for index in ours(transcript, policy, role) {
        let message = &mut transcript.messages[index];
        (message.earlier, message.ours) = (true, true);
    }
}

/// Returns the messages that tcompact put there. Before one stand only messages of the system, pinned ones, and other
/// summaries. Before one of the user's role the user's own may stand too: rules of pins can change between two runs.
fn ours(transcript: &Transcript<'_>, policy: &Policy, role: SummaryRole) -> Vec<usize> {
    let messages = &transcript.messages;
    let opens = |index: usize| {
        let message = &messages[index];
        let may_be_ours = if message.earlier { transcript.format.marks_summaries() } else { has_role(message, role) };
        may_be_ours && message.opens_with(&policy.summary_prefix) && !follows_command(messages, index)
    };
    let mut found = Vec::new();
    if !(0..messages.len()).any(opens) {
        return found;
    }
    let end = messages.len();
    let pinned = pins::pinned(transcript, policy, None, Compactions::of(transcript, policy).that_stay(end), end);
    let mut follows_user = false;
    for (index, message) in messages.iter().enumerate() {
        let is_by_user = message.is_user_turn() && message.results.is_empty() && !follows_command(messages, index);
        if opens(index) && (!follows_user || is_by_user) {
            found.push(index);
        } else if !(message.earlier || message.role.is_system() || pinned.binary_search(&index).is_ok()) {
            if !is_by_user {
                break;
            }
            follows_user = true;
        }
    }
    found
}

/// Whether a message has the role of a summary. Users can write into their own words what they like.
fn has_role(message: &Message<'_>, role: SummaryRole) -> bool {
    match message.role {
        Role::User => true,
        Role::Assistant => role == SummaryRole::Assistant,
        other => other.is_system() && role == SummaryRole::System,
    }
}

/// Whether the message before one has the command of an agent without tools. The output follows as a message of the user.
fn follows_command(messages: &[Message<'_>], index: usize) -> bool {
    let Some(before) = index.checked_sub(1).map(|before| &messages[before]) else { return false };
    let has_command = || before.content.texts().iter().any(|text| shell_block(&text.decode(), || true).is_some());
    before.role == Role::Assistant && before.calls.is_empty() && (before.json.get("action").is_some() || has_command())
}
