//! The message that takes the place of a history: the words around a summary, the note of `--model none`, and their
//! sizes.

use std::borrow::Cow;

use crate::digest;
use crate::plan::removal_note::RemovalNote;
use crate::rewrite::Placed;
use crate::tokens::Counter;
use crate::transcript::formats::{Format, InsertionPoint, SummaryMessage, read_entry};
use crate::transcript::{Transcript, fence};

use crate::compact::archive::{self, ArchivePlace};
use crate::compact::policy::CompactionPolicy;

/// The smallest useful summary, in tokens.
pub(super) const LEAST_SUMMARY: u64 = 24;

/// The text of a summary message: the summary, in its fence where it has one, between the words around it. From the
/// second round on it names the round.
pub(super) fn introduced(
    policy: &CompactionPolicy,
    transcript: &Transcript<'_>,
    archive: Option<&ArchivePlace>,
    summary: &str,
) -> String {
    let mut fenced = Cow::Borrowed(summary);
    if policy.habits.fences {
        let round = fence::round_remark(transcript.this_round(), digest::has_earlier_places(summary));
        fenced = Cow::Owned(fence::wrap(summary) + &round);
    }
    let prefix = &policy.cut.summary_prefix;
    match archive {
        Some(place) => place.introduce(prefix, &fenced),
        None => format!("{prefix}{fenced}"),
    }
}

pub(super) fn message_bytes(transcript: &Transcript<'_>) -> u64 {
    transcript.messages.iter().map(|message| message.span().len() as u64).sum()
}

/// The tokens of entries that are not part of a transcript yet. Entries that are not messages have none.
pub(super) fn message_tokens(format: &Format, counter: Counter, entries: &[serde_json::Value]) -> u64 {
    let mut tokens = 0;
    for entry in entries {
        tokens += read_entry(format, &entry.to_string(), |message| counter.count(message)).unwrap_or(0);
    }
    tokens
}

/// The whole text of a summary's message, as it is read again.
pub(super) fn whole_text(transcript: &Transcript<'_>, summary: &Placed) -> Option<String> {
    let entries = match summary {
        Placed::Beside(text) => return Some(text.clone()),
        Placed::Messages(entries) => entries,
    };
    for entry in entries {
        let text = read_entry(transcript.format, &entry.to_string(), |message| message.whole_text());
        if let Some(text) = text
            && !text.is_empty()
        {
            return Some(text);
        }
    }
    None
}

/// The tokens of the message for a summary with this text.
pub(super) fn summary_tokens(policy: &CompactionPolicy, transcript: &Transcript<'_>, text: &str) -> u64 {
    let place = archive::place(policy, transcript);
    tokens_of(policy, transcript, &introduced(policy, transcript, place.as_ref(), text))
}

/// The note that takes the place of these messages with `--model none`. `tokens` are those of each message. What an
/// earlier note counts, this one counts, too.
pub(super) fn note(
    policy: &CompactionPolicy,
    transcript: &Transcript<'_>,
    removed: &[usize],
    mut tokens: impl FnMut(usize) -> u64,
) -> String {
    let archive = archive::place(policy, transcript).and_then(|place| place.remark("they are kept in "));
    let archive = archive.map(|remark| remark.trim_end_matches('.').replacen('A', "a", 1));
    let mut note = RemovalNote { messages: 0, tokens: 0, rounds: transcript.this_round(), archive };
    for &index in removed {
        let message = &transcript.messages[index];
        let earlier_note = if message.earlier { RemovalNote::of(message) } else { None };
        let (messages, tokens) = match earlier_note {
            Some(earlier) => (earlier.messages, earlier.tokens),
            None => (1, tokens(index)),
        };
        note.messages = note.messages.saturating_add(messages);
        note.tokens = note.tokens.saturating_add(tokens);
    }
    note.to_string()
}

/// The most tokens that a note can have.
pub(super) fn note_tokens(policy: &CompactionPolicy, transcript: &Transcript<'_>) -> u64 {
    const MOST: u64 = 999_999_999;
    let all: Vec<usize> = (0..transcript.messages.len()).collect();
    let mut left = MOST;
    tokens_of(policy, transcript, &note(policy, transcript, &all, |_| std::mem::take(&mut left)))
}

fn tokens_of(policy: &CompactionPolicy, transcript: &Transcript<'_>, text: &str) -> u64 {
    let summary = SummaryMessage { text, role: policy.summary.role, name: None, marked: true };
    let entries = transcript.format.write_summary(&summary, &InsertionPoint::for_size(transcript));
    message_tokens(transcript.format, policy.message_counter(transcript).counter, &entries)
}
