//! The reasoning that a model wants back: some models refuse a request in which a message with calls lacks it.

use crate::plan::breaches::{Breach, ProviderRule};
use crate::tokens::models::Reasoning;
use crate::tokens::models::reasoning_of;
use crate::transcript::thoughts::{has_reasoning, model_of};
use crate::transcript::{Content, Message, PartKind, Role, Transcript};

/// For each message whether the model that reads on wants its reasoning back; `None` if it wants none. `reader` is that
/// model if the user names it; otherwise it is the transcript's own.
pub(crate) fn wanted_back(transcript: &Transcript<'_>, reader: Option<&str>) -> Option<Vec<bool>> {
    (wanted(transcript, reader) != Reasoning::Free).then(|| {
        let mut leads_to_calls = false;
        let mut wanted: Vec<bool> = transcript
            .messages
            .iter()
            .rev()
            .map(|message| {
                // Some formats spread an answer over several messages.
                leads_to_calls = message.role == Role::Assistant && (leads_to_calls || !message.calls.is_empty());
                leads_to_calls
            })
            .collect();
        wanted.reverse();
        wanted
    })
}

/// The messages with calls whose reasoning the model that reads on misses.
pub(crate) fn missing(transcript: &Transcript<'_>, reader: Option<&str>) -> Vec<Breach> {
    let thinks = || match reader {
        Some(_) => true,
        None => transcript.messages.iter().any(|message| message.role == Role::Assistant && has_reasoning(message)),
    };
    let is_wanted = match wanted(transcript, reader) {
        Reasoning::Free => false,
        // Without any reasoning, the transcript's own model did not think.
        Reasoning::Kept => !is_switched_off(transcript) && thinks(),
        Reasoning::Always => true,
    };
    if !is_wanted {
        return Vec::new();
    }
    // Where an answer is spread over several messages, results of its first calls can be between them.
    let is_spread = transcript.messages.iter().any(is_only_reasoning);
    let mut has_reason = false;
    let mut found = Vec::new();
    for (index, message) in transcript.messages.iter().enumerate() {
        has_reason &= is_spread && !message.is_user_turn();
        has_reason |= message.role == Role::Assistant && has_reasoning(message);
        if let Some(call) = message.calls.first().filter(|_| message.role == Role::Assistant && !has_reason) {
            let id = call.id.map(|id| id.decode().into_owned());
            found.push(Breach { message: index, rule: ProviderRule::Unreasoned, id });
        }
    }
    found
}

fn wanted(transcript: &Transcript<'_>, reader: Option<&str>) -> Reasoning {
    match reader {
        Some(reader) => reasoning_of(reader),
        None => model_of(transcript).map_or(Reasoning::Free, |model| reasoning_of(&model)),
    }
}

/// Whether a message holds nothing but reasoning.
fn is_only_reasoning(message: &Message<'_>) -> bool {
    let Content::Parts(parts) = &message.content else { return false };
    message.role == Role::Assistant
        && message.calls.is_empty()
        && parts.iter().all(|part| matches!(part.kind, PartKind::Reasoning(_)))
}

/// Whether the request around the messages switches thinking off.
fn is_switched_off(transcript: &Transcript<'_>) -> bool {
    const OFF: [(&[&str], &str); 5] = [
        (&["thinking", "type"], "\"disabled\""),
        (&["extra_body", "thinking", "type"], "\"disabled\""),
        (&["reasoning_effort"], "\"none\""),
        (&["reasoning", "effort"], "\"none\""),
        (&["reasoning", "enabled"], "false"),
    ];
    let is_off = |(path, off): &(&[&str], &str)| {
        transcript.state.and_then(|request| request.at(path)).is_some_and(|value| value.raw() == *off)
    };
    OFF.iter().any(is_off)
}
