//! Reasoning of the model, except in a loop of calls that is still open: there, providers require it.

use crate::plan::steps::{is_loop_open, reasoning_wanted_back};
use crate::rewrite::elements;
use crate::rewrite::thinking::{self, message_at};
use crate::transcript::edit::Edit;
use crate::transcript::json::Json;
use crate::transcript::{Content, Message, PartKind, Role, Transcript};

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
    let thoughts = indices.iter().filter_map(|&message| {
        let edits = without_thoughts(transcript.source, &transcript.messages[message]);
        (!edits.is_empty()).then_some(ProposedChange { message, edits, ..ProposedChange::default() })
    });
    without_thinking(transcript, &indices).chain(thoughts).collect()
}

fn find_in_open_loops(scene: &Scene<'_, '_>, _amount: Amount, _is_replaced: &IsReplaced<'_>) -> Vec<ProposedChange> {
    let transcript = scene.transcript;
    let in_loop = open_loop(scene)..transcript.messages.len();
    let indices: Vec<usize> =
        in_loop.filter(|&index| scene.touchable[index] && can_be_lost(transcript, index)).collect();
    not_wanted_back(scene, without_thinking(transcript, &indices).collect())
}

/// Whether the provider accepts the conversation without this message of reasoning, even in a loop that is open.
fn can_be_lost(transcript: &Transcript<'_>, index: usize) -> bool {
    let item = transcript.format.item_of(transcript.messages[index].json);
    transcript.format.can_lose_reasoning && item.is_some_and(|item| item.member_is("type", "reasoning"))
}

/// The changes that remove the thinking of some messages.
fn without_thinking(transcript: &Transcript<'_>, indices: &[usize]) -> impl Iterator<Item = ProposedChange> {
    let removal = thinking::removal_of_all(transcript, indices.iter().copied());
    let edits = removal.edits.into_iter().map(|edit| ProposedChange {
        message: message_at(transcript, &edit),
        edits: vec![edit],
        ..ProposedChange::default()
    });
    let removed = removal.emptied.into_iter().map(|message| ProposedChange {
        message,
        removes_message: true,
        ..ProposedChange::default()
    });
    edits.chain(removed)
}

/// The first message of a loop of calls that is still open; the number of messages where there is none.
fn open_loop(scene: &Scene<'_, '_>) -> usize {
    let messages = &scene.transcript.messages;
    if !is_loop_open(messages) {
        return messages.len();
    }
    let is_turn = |message: &Message<'_>| message.is_user_turn() && !message.earlier;
    messages.iter().rposition(is_turn).unwrap_or(0)
}

fn is_signed(part: Json<'_>) -> bool {
    ["thoughtSignature", "thought_signature"].iter().any(|key| part.get(key).is_some_and(|value| !value.is_falsy()))
}

/// The edits that remove the thought parts of a Gemini message. Signed parts stay, and so does a message of thoughts
/// alone.
fn without_thoughts(source: &str, message: &Message<'_>) -> Vec<Edit> {
    let Content::Parts(parts) = &message.content else { return Vec::new() };
    let is_true = |json: Json<'_>| json.get("thought").is_some_and(|thought| thought.raw() == "true");
    let spans: Vec<_> = parts
        .iter()
        .filter(|part| matches!(part.kind, PartKind::Reasoning(_)) && is_true(part.json) && !is_signed(part.json))
        .map(|part| part.json.span())
        .collect();
    if message.role != Role::Assistant || spans.is_empty() || spans.len() == parts.len() {
        return Vec::new();
    }
    elements::removal_edits(source, &spans)
}
