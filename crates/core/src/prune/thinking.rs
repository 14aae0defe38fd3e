//! Reasoning of the model, except in a loop of calls that is still open: there, providers require it.

use crate::plan::steps::{is_loop_open, reasoning_wanted_back};
use crate::rewrite::elements;
use crate::rewrite::thinking::{self, message_at};
use crate::transcript::edit::Edit;
use crate::transcript::{Content, Message, Part, PartKind, Role, Transcript};

use crate::prune::rule::{Amount, IsReplaced, ProposedChange, RuleKind};
use crate::prune::scene::Scene;

pub(super) const KIND: RuleKind = RuleKind {
    name: "thinking",
    takes: "",
    about: "the model's reasoning, except in a loop of calls that is still open",
    default: Amount::None,
    find,
};

/// The same in loops that are still open, where the provider does not require it.
pub(super) const IN_OPEN_LOOPS: RuleKind = RuleKind { find: find_in_open_loops, ..KIND };

fn find(scene: &Scene<'_, '_>, _amount: Amount, _is_replaced: &IsReplaced<'_>) -> Vec<ProposedChange> {
    not_wanted_back(scene, without_reasoning(scene))
}

/// The changes of messages whose reasoning the model that reads on does not want back.
fn not_wanted_back(scene: &Scene<'_, '_>, mut changes: Vec<ProposedChange>) -> Vec<ProposedChange> {
    // Few conversations have any, so the model is looked up last.
    if changes.is_empty() {
        return changes;
    }
    if let Some(wanted) = reasoning_wanted_back(scene.transcript, scene.reader) {
        changes.retain(|change| !wanted[change.message]);
    }
    changes
}

/// The changes that remove all reasoning before a loop that is still open.
fn without_reasoning(scene: &Scene<'_, '_>) -> Vec<ProposedChange> {
    let transcript = scene.transcript;
    let indices: Vec<usize> = (0..open_loop(scene)).filter(|&index| scene.touchable[index]).collect();
    let mut changes = without_thinking(transcript, &indices);
    for message in indices {
        let edits = without_thoughts(transcript.source, &transcript.messages[message]);
        if !edits.is_empty() {
            changes.push(ProposedChange { message, edits, ..ProposedChange::default() });
        }
    }
    changes
}

fn find_in_open_loops(scene: &Scene<'_, '_>, _amount: Amount, _is_replaced: &IsReplaced<'_>) -> Vec<ProposedChange> {
    let transcript = scene.transcript;
    let mut indices: Vec<usize> = Vec::new();
    for index in open_loop(scene)..transcript.messages.len() {
        if scene.touchable[index] && can_be_lost(transcript, index) {
            indices.push(index);
        }
    }
    not_wanted_back(scene, without_thinking(transcript, &indices))
}

/// Whether the provider accepts the conversation without this message of reasoning, even in a loop that is open.
fn can_be_lost(transcript: &Transcript<'_>, index: usize) -> bool {
    let item = transcript.format.item_of(transcript.messages[index].json);
    transcript.format.can_lose_reasoning && item.is_some_and(|item| item.member_is("type", "reasoning"))
}

/// The changes that remove the thinking of some messages.
fn without_thinking(transcript: &Transcript<'_>, indices: &[usize]) -> Vec<ProposedChange> {
    let removal = thinking::removal_of_all(transcript, indices.iter().copied());
    let mut changes = Vec::with_capacity(removal.edits.len() + removal.emptied.len());
    for edit in removal.edits {
        let message = message_at(transcript, &edit);
        changes.push(ProposedChange { message, edits: vec![edit], ..ProposedChange::default() });
    }
    for message in removal.emptied {
        changes.push(ProposedChange { message, removes_message: true, ..ProposedChange::default() });
    }
    changes
}

/// The first message of a loop of calls that is still open; the number of messages where there is none.
fn open_loop(scene: &Scene<'_, '_>) -> usize {
    let messages = &scene.transcript.messages;
    if !is_loop_open(messages) {
        return messages.len();
    }
    messages.iter().rposition(|message| message.is_user_turn() && !message.earlier).unwrap_or(0)
}

/// Whether a part is a thought without a signature.
fn is_unsigned_thought(part: &Part<'_>) -> bool {
    let is_thought = part.json.get("thought").is_some_and(|mark| mark.raw() == "true");
    if !is_thought || !matches!(part.kind, PartKind::Reasoning(_)) {
        return false;
    }
    let signatures = ["thoughtSignature", "thought_signature"];
    !signatures.iter().any(|key| part.json.get(key).is_some_and(|value| !value.is_falsy()))
}

/// The edits that remove the thought parts of a Gemini message. Signed parts stay, and so does a message of thoughts
/// alone.
fn without_thoughts(source: &str, message: &Message<'_>) -> Vec<Edit> {
    let Content::Parts(parts) = &message.content else { return Vec::new() };
    if message.role != Role::Assistant {
        return Vec::new();
    }
    let thoughts = parts.iter().filter(|part| is_unsigned_thought(part));
    let spans: Vec<_> = thoughts.map(|part| part.json.span()).collect();
    if spans.is_empty() || spans.len() == parts.len() {
        return Vec::new();
    }
    elements::removal_edits(source, &spans)
}
