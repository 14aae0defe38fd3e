//! Writes a summary if the limit is too small for a heading, or the history has no text.

use std::collections::HashMap;

use crate::summary::record::RecordEntry;
use crate::summary::record::segmentation::clip;
use crate::tokens::Counter;
use crate::transcript::{Content, Message, PartKind};
use crate::wording::counted;

/// Returns as much as fits of the most important entry, or else of any text.
pub(super) fn fallback_text(
    entries: &[RecordEntry],
    messages: &[&Message<'_>],
    counter: Counter,
    limit: u64,
) -> String {
    let best = entries
        .iter()
        .max_by(|a, b| a.earlier.cmp(&b.earlier).then(a.weight.total_cmp(&b.weight)))
        .map(|entry| entry.text.clone());
    let text = best
        .or_else(|| messages.iter().find_map(|message| any_text(message)))
        .or_else(|| tools_called(messages, counter, limit))
        .unwrap_or_else(|| without_text(messages));
    let ends: Vec<usize> = text.char_indices().map(|(at, c)| at + c.len_utf8()).collect();
    let fitting = ends.partition_point(|&end| counter.count_text(&text[..end]) <= limit);
    let end = fitting.checked_sub(1).map_or(0, |last| ends[last]);
    text[..end].trim_end().to_owned()
}

/// Returns the text of a message, or else its reasoning.
fn any_text(message: &Message<'_>) -> Option<String> {
    let reasoning = || match &message.content {
        Content::Parts(parts) => parts.iter().find_map(|part| match &part.kind {
            PartKind::Reasoning(text) => Some(text.decode().into_owned()),
            _ => None,
        }),
        Content::Text(_) => None,
    };
    let text = message.content.texts().iter().map(|text| text.decode()).collect::<Vec<_>>().join("\n");
    let text = if text.trim().is_empty() { reasoning()? } else { text };
    (!text.trim().is_empty()).then(|| text.trim().to_owned())
}

/// Returns the tools that were called and how often, in order of the first call; `None` if that does not fit.
fn tools_called(messages: &[&Message<'_>], counter: Counter, limit: u64) -> Option<String> {
    let mut tools: Vec<(String, usize)> = Vec::new();
    let mut place: HashMap<String, usize> = HashMap::new();
    for name in messages.iter().flat_map(|message| &message.calls).filter_map(|call| call.name) {
        let name = name.decode().into_owned();
        let at = *place.entry(name.clone()).or_insert(tools.len());
        if at == tools.len() {
            tools.push((name, 0));
        }
        tools[at].1 += 1;
    }
    let listed: Vec<String> = tools
        .iter()
        .map(|(name, times)| if *times == 1 { name.clone() } else { format!("{name} ({times} times)") })
        .collect();
    let text = format!("## Summary\n- Tools called: {}", clip(&listed.join(", ")));
    (!tools.is_empty() && counter.count_text(&text) <= limit).then_some(text)
}

/// Describes messages without text: how many there are and what they contain.
fn without_text(messages: &[&Message<'_>]) -> String {
    let parts = |wanted: fn(&PartKind<'_>) -> bool| -> usize {
        let of = |message: &&Message<'_>| match &message.content {
            Content::Parts(parts) => parts.iter().filter(|part| wanted(&part.kind)).count(),
            Content::Text(_) => 0,
        };
        messages.iter().map(of).sum()
    };
    let images = parts(|kind| matches!(kind, PartKind::Image));
    let others = parts(|kind| matches!(kind, PartKind::Media | PartKind::Compaction(_) | PartKind::Other));
    let held: Vec<String> = [(images, "image"), (others, "other part")]
        .into_iter()
        .filter(|(number, _)| *number > 0)
        .map(|(number, what)| counted(number, what))
        .collect();
    let of = if held.is_empty() { String::new() } else { format!(" ({})", held.join(", ")) };
    format!("{} without text{of}.", counted(messages.len(), "message"))
}
