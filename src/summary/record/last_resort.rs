//! For budgets too small for a heading, and for histories without a word in them.

use std::collections::HashMap;

use crate::summary::record::Entry;
use crate::summary::record::statements::clipped;
use crate::tokens::Counter;
use crate::transcript::{Content, Message, PartKind};
use crate::wording::counted;

/// As much of the weightiest note, or else of any text, as fits.
pub(super) fn first_words(entries: &[Entry], messages: &[&Message<'_>], counter: Counter, limit: u64) -> String {
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

/// Any text of a message, where it has some: what it says, or else what it reasons.
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

/// Which tools were called, and how often, the first called first; nothing where that does not fit.
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
    let text = format!("## Summary\n- Tools called: {}", clipped(&listed.join(", ")));
    (!tools.is_empty() && counter.count_text(&text) <= limit).then_some(text)
}

/// What there is to say of messages that have no text: how many, and what they hold instead.
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
