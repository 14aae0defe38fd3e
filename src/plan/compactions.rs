//! The cuts that a provider's own compactions allow.
//!
//! The provider reads its last compaction in the place of all messages before it. A readable one is an earlier summary,
//! and the cut is behind it. An opaque one stays as it is, and the summary follows it: before it, the provider would
//! not read the summary.
//!
//! Also: compactions that the model that reads on cannot decrypt.

use crate::tokens::models::maker_of;
use crate::transcript::compaction::ProviderCompaction;
use crate::transcript::formats::SummaryPosition;
use crate::transcript::json::{Json, JsonKind};
use crate::transcript::thoughts::{model_of, models_before};
use crate::transcript::{Part, PartKind, Role, Transcript};

use crate::plan::breaches::{Breach, ProviderRule};
use crate::plan::{CutPolicy, Plan};

/// The compactions of a conversation that are in force.
pub(super) struct Compactions {
    /// The message with the last readable compaction; the first message where there is none.
    pub(super) start: usize,
    /// The message with the last compaction in force, readable or opaque.
    pub(super) last: Option<usize>,
    /// The messages from `start` on with a compaction that only the provider can read.
    opaque: Vec<usize>,
}

impl Compactions {
    /// Finds the compactions of a conversation.
    pub(super) fn of(transcript: &Transcript<'_>, policy: &CutPolicy) -> Self {
        let all = transcript.compactions.as_slice();
        let kind = |index: usize| transcript.messages[index].compaction();
        let is_readable = |index: usize| matches!(kind(index), Some(ProviderCompaction::Readable(_)));
        let readable = all.iter().copied().rfind(|&index| policy.rules.compactions && is_readable(index));
        let start = readable.unwrap_or(0);
        let opaque: Vec<usize> = all.iter().copied().filter(|&index| index >= start && !is_readable(index)).collect();
        let is_in_force =
            |index: &usize| policy.rules.compactions && matches!(kind(*index), Some(ProviderCompaction::Opaque));
        let last = opaque.iter().copied().rfind(is_in_force).or(readable);
        Compactions { start, last, opaque }
    }

    /// The messages before a cut that must stay.
    pub(super) fn that_stay(&self, cut: usize) -> &[usize] {
        &self.opaque[..self.opaque.partition_point(|&index| index < cut)]
    }

    /// Describes the part that can be summarized, where that is not the whole conversation.
    pub(super) fn summarizable_part(&self) -> Option<String> {
        let last = self.last?;
        Some(format!("the part behind the provider's own compaction, message {last},"))
    }

    /// Why a compaction that must stay before the kept part cannot.
    pub(super) fn refusal(&self, transcript: &Transcript<'_>, plan: &Plan) -> Option<String> {
        let of = |index: usize| format!("message {index} holds a compaction that only its provider can read");
        let staying = self.that_stay(plan.cutoff);
        if let Some(gone) = staying.iter().find(|index| plan.pinned.binary_search(index).is_err()) {
            return Some(format!("{}, and cannot stay by itself beside a summary", of(*gone)));
        }
        let comes_first = transcript.format.summary_position(transcript) != SummaryPosition::AfterPinned;
        let behind = &plan.pinned[plan.before_summary.min(plan.pinned.len())..];
        let last = self.last.filter(|last| comes_first && behind.binary_search(last).is_ok())?;
        let format = transcript.format.name();
        Some(format!("{}; {format} puts a summary before it, where the provider would not read it", of(last)))
    }
}

/// The parts of a message with a compaction that only its provider can read.
pub(crate) fn encrypted_parts<'m, 'a>(
    transcript: &'m Transcript<'a>,
    index: usize,
) -> impl Iterator<Item = &'m Part<'a>> {
    let parts = transcript.messages[index].content.parts().iter();
    parts.filter(|part| matches!(part.kind, PartKind::Compaction(ProviderCompaction::Opaque)))
}

/// The compactions that the model that reads on cannot decrypt: another maker's, damaged ones, those that the provider
/// has refused, and all where the user `drops_all`. That a provider has lost a key shows in no other way.
pub(crate) fn undecipherable(transcript: &Transcript<'_>, reader: Option<&str>, drops_all: bool) -> Vec<Breach> {
    let mut found = Vec::new();
    if transcript.compactions.is_empty() {
        return found;
    }
    let own = model_of(transcript);
    let reader = reader.or(own.as_deref()).and_then(maker_of);
    let writers = models_before(transcript, &transcript.compactions);
    let refused = refused_at(transcript);
    for (&message, writer) in transcript.compactions.iter().zip(writers) {
        let mut encrypted = encrypted_parts(transcript, message).peekable();
        if encrypted.peek().is_none() {
            continue;
        }
        let is_refused = refused.is_some_and(|refused| transcript.messages[message].span().end <= refused);
        let is_of_other_maker = reader.is_some_and(|reader| match writer.as_deref().or(own.as_deref()) {
            Some(writer) => maker_of(writer).is_some_and(|writer| writer != reader),
            None => transcript.format.encrypted_by().is_some_and(|makers| !makers.contains(&reader)),
        });
        if drops_all || is_refused || is_of_other_maker || encrypted.any(|part| is_damaged(part.json)) {
            found.push(Breach { message, rule: ProviderRule::Undecipherable, id: None });
        }
    }
    found
}

/// Whether what is encrypted cannot be what the provider wrote: it is not a text, or has characters of no encoding, as a
/// mask does.
fn is_damaged(compaction: Json<'_>) -> bool {
    let Some(encrypted) = compaction.get("encrypted_content") else { return false };
    let is_of_encoding = |c: char| c.is_ascii_alphanumeric() || "+/=_-.:~".contains(c);
    encrypted.kind() != JsonKind::String
        || encrypted.text().is_some_and(|text| !text.decode().trim().chars().all(is_of_encoding))
}

/// Where it is recorded that the provider refused what is encrypted, if it has answered nothing since then.
fn refused_at(transcript: &Transcript<'_>) -> Option<usize> {
    let answer = transcript.messages.iter().rfind(|message| message.role == Role::Assistant);
    let behind = answer.map_or(0, |answer| answer.span().end);
    let notes = transcript.notes.iter().rev().map(|note| note.json);
    let mut since = notes.take_while(|note| note.span().start >= behind);
    since.find(|note| transcript.format.is_refused_encryption(*note)).map(|note| note.span().start)
}
