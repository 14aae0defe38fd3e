//! How large the message is that takes the place of a history, and the note that does where nobody summarizes.

use crate::transcript::Transcript;
use crate::transcript::formats::{Place, SummaryMessage};

use crate::compact::archive;
use crate::compact::policy::CompactionPolicy;
use crate::compact::summarize::{introduced, message_tokens};

/// Tokens of the message that a summary makes which says this.
pub(super) fn summary_tokens(policy: &CompactionPolicy, transcript: &Transcript<'_>, text: &str) -> u64 {
    let place = archive::place(policy, transcript);
    tokens_of(policy, transcript, &introduced(policy, place.as_ref(), text))
}

/// The note that stands for so many messages and tokens where nobody summarizes.
pub(super) fn note(policy: &CompactionPolicy, transcript: &Transcript<'_>, messages: usize, tokens: u64) -> String {
    let kept = archive::place(policy, transcript).map(|place| format!("; they are kept in {}", place.shown()));
    format!("[tcompact: {messages} earlier messages removed, {tokens} tokens{}]", kept.unwrap_or_default())
}

/// Tokens that such a note has at most.
pub(super) fn note_tokens(policy: &CompactionPolicy, transcript: &Transcript<'_>) -> u64 {
    const MOST: u64 = 999_999_999;
    tokens_of(policy, transcript, &note(policy, transcript, transcript.messages.len(), MOST))
}

fn tokens_of(policy: &CompactionPolicy, transcript: &Transcript<'_>, text: &str) -> u64 {
    let summary = SummaryMessage { text, role: policy.summary.role, name: None, marked: true };
    let entries = transcript.format.summary(&summary, &Place { transcript, cutoff: 0, gone: &Vec::new });
    message_tokens(transcript.format, policy.counter, &entries)
}
