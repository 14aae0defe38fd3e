//! Tells which messages are summaries of earlier compactions. The format marks them, or they stand where tcompact puts
//! them. A text that only looks like a summary is not one: a page, a program or a model can repeat every word of it.

use std::ops::Range;

use crate::plan::pins::PinRules;
use crate::plan::removal_note::RemovalNote;
use crate::plan::{CutPolicy, carried};
use crate::transcript::formats::SummaryRole;
use crate::transcript::text_calls::shell_block;
use crate::transcript::{Message, Role, Transcript, fence};

/// The end of an argument that was cut.
pub const TRUNCATED: &str = "...(argument truncated)";

/// Marks the summary that tcompact put into a transcript. `role` is that of summaries by this policy. Where the role
/// changed between two runs, the summaries of both can stand one behind the other.
pub fn mark_summaries(transcript: &mut Transcript<'_>, policy: &CutPolicy, role: SummaryRole) {
    for index in ours(transcript, policy, role) {
        let message = &mut transcript.messages[index];
        (message.earlier, message.round) = (true, 1);
    }
    set_rounds(transcript, policy, |_| None);
}

/// Sets the round of each summary that tcompact put into a transcript: what `known` says of its text, or else what it
/// says itself. One that says nothing is of the first round.
pub fn number_rounds(transcript: &mut Transcript<'_>, policy: &CutPolicy, known: impl Fn(&str) -> Option<u32>) {
    for message in &mut transcript.messages {
        // What an archive knows by its whole text is a summary of ours, whatever stands around it.
        let is_text = message.calls.is_empty() && message.results.is_empty();
        if !message.is_ours() && is_text && known(&message.whole_text()).is_some() {
            (message.earlier, message.round) = (true, 1);
        }
    }
    set_rounds(transcript, policy, known);
}

fn set_rounds(transcript: &mut Transcript<'_>, policy: &CutPolicy, known: impl Fn(&str) -> Option<u32>) {
    let round_of = |text: &str| known(text).or_else(|| fence::round(text)).unwrap_or(1).max(1);
    let mut earlier_rounds = 0;
    if policy.rules.carries
        && let Some(place) = carried::place(transcript)
        && let Some(text) = place.text()
        && !text.is_empty()
    {
        earlier_rounds = round_of(&text.decode());
    }
    for message in &mut transcript.messages {
        if !message.is_ours() {
            continue;
        }
        message.round = match RemovalNote::of(message) {
            Some(note) => note.rounds,
            None => round_of(&message.whole_text()),
        };
        earlier_rounds = earlier_rounds.max(message.round);
    }
    transcript.earlier_rounds = earlier_rounds;
}

/// The message that tcompact put there: the first that begins as a summary, behind messages of the system, pinned ones,
/// and summaries of agents. If it has the user's role, words of the user may stand before it too: rules of pins can
/// change between two runs.
fn ours(transcript: &Transcript<'_>, policy: &CutPolicy, role: SummaryRole) -> Range<usize> {
    let messages = &transcript.messages;
    let opens = |index: usize| opens_as_ours(transcript, policy, role, index);
    if !(0..messages.len()).any(opens) {
        return 0..0;
    }
    // What is of another role than the summaries of this run is pinned where a rule says so: it stays as it is.
    let is_earlier = |index: usize| messages[index].earlier || opens(index) && has_role(&messages[index], role);
    let rules = PinRules { transcript, policy, carried: None, tally: None };
    let pinned = rules.pinned_besides(messages.len(), &is_earlier);
    let mut found = None;
    let (mut follows_user, mut follows_speaker) = (false, false);
    for (index, message) in messages.iter().enumerate() {
        let stays = pinned.binary_search(&index).is_ok();
        let is_by_user = message.is_user_turn() && message.results.is_empty() && !follows_command(messages, index);
        let is_of_this_role = message.earlier || has_role(message, role);
        // A model can answer the user's first words, pinned or not, with all that a summary of ours has.
        let may_be_a_models = message.role == Role::Assistant && follows_speaker;
        let is_of_other_role = !stays && found.is_none() && !may_be_a_models;
        if opens(index) && (!follows_user || is_by_user) && (is_of_this_role || is_of_other_role) {
            found = Some(index);
        }
        follows_speaker |= !message.earlier && !message.role.is_system();
        // One of the first messages can be pinned, and begin like the summary behind it.
        let may_precede = message.earlier || message.role.is_system() || is_by_user;
        if !stays && (found.is_some() || !may_precede) {
            break;
        }
        follows_user |= !stays && is_by_user;
    }
    let Some(first) = found else { return 0..0 };
    let mut end = first + 1;
    while end < messages.len() && pinned.binary_search(&end).is_err() && opens(end) && is_whole(&messages[end]) {
        end += 1;
    }
    first..end
}

/// Whether a message begins as a summary of ours does, and may be one. Few do, so the beginning is looked at first.
fn opens_as_ours(transcript: &Transcript<'_>, policy: &CutPolicy, role: SummaryRole, index: usize) -> bool {
    let message = &transcript.messages[index];
    let opens = message.opens_with(&policy.summary_prefix)
        || RemovalNote::of(message).is_some()
        || message.opens_with(fence::WRAPPED) && is_whole(message);
    if !opens || follows_command(&transcript.messages, index) {
        return false;
    }
    if message.earlier { transcript.format.marks_summaries } else { may_have_been_given(message, role) }
}

/// Whether a message has the role of a summary. Users can write into their own words what they like.
fn has_role(message: &Message<'_>, role: SummaryRole) -> bool {
    match message.role {
        Role::User => true,
        Role::Assistant => role == SummaryRole::Assistant,
        other => other.is_system() && role == SummaryRole::System,
    }
}

/// Whether a message can be a summary by this policy, or by one with another `--summary-role`. The fence tells the latter
/// from what only looks like one.
fn may_have_been_given(message: &Message<'_>, role: SummaryRole) -> bool {
    let may_be_given = message.role == Role::Assistant || message.role.is_system();
    has_role(message, role) || may_be_given && is_whole(message)
}

/// Whether a message has the form of ours from the beginning to the end.
fn is_whole(message: &Message<'_>) -> bool {
    message.content.first_text().is_some_and(|text| fence::is_whole(&text.decode()))
        || RemovalNote::of(message).is_some()
}

/// Whether the message before one has the command of an agent without tools. The output follows as a message of the user.
fn follows_command(messages: &[Message<'_>], index: usize) -> bool {
    let Some((before, _)) = messages[..index].split_last() else { return false };
    if before.role != Role::Assistant || !before.calls.is_empty() {
        return false;
    }
    before.command_beside().is_some()
        || before.content.texts().iter().any(|text| shell_block(&text.decode(), || true).is_some())
}
