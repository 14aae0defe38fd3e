//! Tells which messages are summaries of earlier compactions. The format marks them, or they stand where tcompact puts
//! them. A text that only looks like a summary is not one: a page, a program or a model can repeat every word of it.

use crate::plan::compactions::Compactions;
use crate::plan::{CutPolicy, pins};
use crate::transcript::formats::SummaryRole;
use crate::transcript::text_calls::shell_block;
use crate::transcript::{Message, Role, Transcript};

/// Marks the summary that tcompact put into a transcript. `role` is that of summaries by this policy.
pub(crate) fn mark_summaries(transcript: &mut Transcript<'_>, policy: &CutPolicy, role: SummaryRole) {
    if let Some(index) = ours(transcript, policy, role) {
        let message = &mut transcript.messages[index];
        (message.earlier, message.ours) = (true, true);
    }
}

/// Returns the message that tcompact put there: the first that begins as a summary, behind messages of the system, pinned
/// ones, and summaries of agents. If it has the user's role, words of the user may stand before it too: rules of pins can
/// change between two runs.
fn ours(transcript: &Transcript<'_>, policy: &CutPolicy, role: SummaryRole) -> Option<usize> {
    let messages = &transcript.messages;
    let opens = |index: usize| {
        let message = &messages[index];
        let may_be_ours = if message.earlier { transcript.format.marks_summaries() } else { has_role(message, role) };
        may_be_ours && message.opens_with(&policy.summary_prefix) && !follows_command(messages, index)
    };
    if !(0..messages.len()).any(opens) {
        return None;
    }
    let end = messages.len();
    let pinned = pins::pinned(transcript, policy, None, Compactions::of(transcript, policy).that_stay(end), end);
    let mut found = None;
    let mut follows_user = false;
    for (index, message) in messages.iter().enumerate() {
        let stays = pinned.binary_search(&index).is_ok();
        let is_by_user = message.is_user_turn() && message.results.is_empty() && !follows_command(messages, index);
        if opens(index) && (!follows_user || is_by_user) {
            found = Some(index);
        }
        // One of the first messages can be pinned, and begin like the summary behind it.
        let may_precede = message.earlier || message.role.is_system() || is_by_user;
        if !stays && (found.is_some() || !may_precede) {
            break;
        }
        follows_user |= !stays && is_by_user;
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
    before.role == Role::Assistant && before.calls.is_empty() && (before.command_beside().is_some() || has_command())
}
