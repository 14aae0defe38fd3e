//! Reasoning of the model, except in a loop of calls that is still open: there, providers require it.

use crate::plan::reasoning::wanted_back;
use crate::rewrite::elements;
use crate::rewrite::thinking::{self, message_at};
use crate::transcript::edit::Edit;
use crate::transcript::json::Json;
use crate::transcript::{Content, Message, PartKind, Role, Transcript};

use crate::prune::rule::{Amount, Change, IsReplaced, Kind};
use crate::prune::scene::Scene;

pub(super) const KIND: Kind = Kind {
    name: "thinking",
    takes: "",
    about: "the model's reasoning, but that of a loop of calls which is still open",
    default: Amount::None,
    find,
};

/// The same in loops that are still open, where the provider does not require it.
pub(super) const IN_OPEN_LOOPS: Kind = Kind { find: find_in_open_loops, ..KIND };

/// The same on messages with calls, where the model that reads on wants it back.
pub(super) const WANTED_BACK: Kind = Kind { find: find_wanted_back, ..KIND };

fn find(scene: &Scene<'_, '_>, _amount: Amount, _is_replaced: &IsReplaced<'_>) -> Vec<Change> {
    let wanted = wanted_back(scene.transcript, scene.reader);
    let is_free = |index: usize| wanted.as_ref().is_none_or(|wanted| !wanted[index]);
    without_reasoning(scene, is_free)
}

fn find_wanted_back(scene: &Scene<'_, '_>, _amount: Amount, _is_replaced: &IsReplaced<'_>) -> Vec<Change> {
    match wanted_back(scene.transcript, scene.reader) {
        Some(wanted) => without_reasoning(scene, |index| wanted[index]),
        None => Vec::new(),
    }
}

/// Returns the changes that remove the reasoning of these messages before a loop that is still open.
fn without_reasoning(scene: &Scene<'_, '_>, is_chosen: impl Fn(usize) -> bool) -> Vec<Change> {
    let transcript = scene.transcript;
    let indices: Vec<usize> =
        (0..open_loop(scene)).filter(|&index| scene.touchable[index] && is_chosen(index)).collect();
    let thoughts = indices.iter().filter_map(|&message| {
        let edits = without_thoughts(transcript.source, &transcript.messages[message]);
        (!edits.is_empty()).then_some(Change { message, edits, ..Change::default() })
    });
    without_thinking(transcript, &indices).chain(thoughts).collect()
}

fn find_in_open_loops(scene: &Scene<'_, '_>, _amount: Amount, _is_replaced: &IsReplaced<'_>) -> Vec<Change> {
    let transcript = scene.transcript;
    if wanted_back(transcript, scene.reader).is_some() {
        return Vec::new();
    }
    let is_free = |message: &Message<'_>| transcript.format.can_lose_reasoning(message);
    let in_loop = open_loop(scene)..transcript.messages.len();
    let indices: Vec<usize> =
        in_loop.filter(|&index| scene.touchable[index] && is_free(&transcript.messages[index])).collect();
    without_thinking(transcript, &indices).collect()
}

/// Returns the changes that remove the thinking of some messages.
fn without_thinking(transcript: &Transcript<'_>, indices: &[usize]) -> impl Iterator<Item = Change> {
    let removal = thinking::removal_of_all(transcript, indices.iter().copied());
    let edits = removal.edits.into_iter().map(|edit| Change {
        message: message_at(transcript, &edit),
        edits: vec![edit],
        ..Change::default()
    });
    let removed =
        removal.emptied.into_iter().map(|message| Change { message, removes_message: true, ..Change::default() });
    edits.chain(removed)
}

/// Returns the first message of a loop of calls that is still open; the number of messages where there is none.
fn open_loop(scene: &Scene<'_, '_>) -> usize {
    let messages = &scene.transcript.messages;
    let is_open = messages.last().is_some_and(|last| !last.results.is_empty() || !last.calls.is_empty());
    if !is_open {
        return messages.len();
    }
    let is_turn = |message: &Message<'_>| message.is_user_turn() && !message.is_summary(scene.summary_prefix);
    messages.iter().rposition(is_turn).unwrap_or(0)
}

/// Returns the edits that remove the thought parts of a Gemini message. Signed parts stay, and so does a message of
/// thoughts alone.
fn without_thoughts(source: &str, message: &Message<'_>) -> Vec<Edit> {
    let Content::Parts(parts) = &message.content else { return Vec::new() };
    let is_true = |json: Json<'_>| json.get("thought").is_some_and(|thought| thought.raw() == "true");
    let is_signed = |json: Json<'_>| {
        ["thoughtSignature", "thought_signature"].iter().any(|key| json.get(key).is_some_and(|value| !value.is_falsy()))
    };
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
