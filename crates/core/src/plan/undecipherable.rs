//! Compactions that the model that reads on cannot decrypt.

use crate::tokens::models::maker_of;
use crate::transcript::compaction::ProviderCompaction;
use crate::transcript::json::{Json, JsonKind};
use crate::transcript::named_models::{model_of, models_before};
use crate::transcript::{Message, Part, PartKind, Role, Transcript};

use crate::plan::breaches::{Breach, ProviderRule};

/// The parts of a message with a compaction that only its provider can read.
pub fn encrypted_parts<'m, 'a>(message: &'m Message<'a>) -> impl Iterator<Item = &'m Part<'a>> {
    let parts = message.content.parts().iter();
    parts.filter(|part| matches!(part.kind, PartKind::Compaction(ProviderCompaction::Opaque)))
}

/// What tells of a compaction that the model that reads on cannot decrypt it.
struct Evidence {
    /// The maker of the model that reads on.
    reader: Option<&'static str>,
    /// The transcript's own model.
    own: Option<String>,
    /// The makers whose models write such compactions, where the format tells them.
    encrypted_by: Option<&'static [&'static str]>,
    /// Where the provider refused all before.
    refused: Option<usize>,
    drops_all: bool,
}

impl Evidence {
    fn of(transcript: &Transcript<'_>, reader: Option<&str>, drops_all: bool) -> Self {
        let own = model_of(transcript);
        Evidence {
            reader: reader.or(own.as_deref()).and_then(maker_of),
            own,
            encrypted_by: transcript.format.encrypted_by,
            refused: refused_at(transcript),
            drops_all,
        }
    }

    /// Whether the reader cannot decrypt what a model has written into a message.
    fn is_against(&self, message: &Message<'_>, writer: Option<&str>) -> bool {
        if encrypted_parts(message).next().is_none() {
            return false;
        }
        let is_refused = self.refused.is_some_and(|refused| message.span().end <= refused);
        self.drops_all
            || is_refused
            || self.is_of_other_maker(writer)
            || encrypted_parts(message).any(|part| is_damaged(part.json))
    }

    fn is_of_other_maker(&self, writer: Option<&str>) -> bool {
        let Some(reader) = self.reader else { return false };
        // The name of a deployment tells no maker.
        match writer.or(self.own.as_deref()).and_then(maker_of) {
            Some(writer) => writer != reader,
            None => self.encrypted_by.is_some_and(|makers| !makers.contains(&reader)),
        }
    }
}

/// The compactions that the model that reads on cannot decrypt: another maker's, damaged ones, those that the provider
/// has refused, and all where the user `drops_all`. That a provider has lost a key shows in no other way.
pub fn undecipherable(transcript: &Transcript<'_>, reader: Option<&str>, drops_all: bool) -> Vec<Breach> {
    let mut found = Vec::new();
    if transcript.compactions.is_empty() {
        return found;
    }
    let evidence = Evidence::of(transcript, reader, drops_all);
    let places: Vec<usize> =
        transcript.compactions.iter().map(|&index| transcript.messages[index].span().start).collect();
    for (&message, writer) in transcript.compactions.iter().zip(models_before(transcript, &places)) {
        if evidence.is_against(&transcript.messages[message], writer.as_deref()) {
            found.push(Breach { message, rule: ProviderRule::Undecipherable, id: None });
        }
    }
    found
}

/// The entries with an undecipherable compaction without which all that it replaced counts again. A compaction that comes
/// back with that is undecipherable, too, or it is the last one that does.
pub fn needless_entries<'a>(transcript: &Transcript<'a>, reader: Option<&str>, drops_all: bool) -> Vec<Json<'a>> {
    let entries = transcript.format.session.compaction_entries(transcript);
    let evidence = Evidence::of(transcript, reader, drops_all);
    let places: Vec<usize> = entries.iter().map(|entry| entry.message.span().start).collect();
    let writers = models_before(transcript, &places);
    let mut found = Vec::new();
    for (entry, writer) in entries.iter().zip(&writers).rev() {
        if !entry.is_restorable || !evidence.is_against(&entry.message, writer.as_deref()) {
            break;
        }
        found.push(entry.message.json);
    }
    found
}

/// Whether what is encrypted cannot be what the provider wrote: it is not a text, or has characters of no encoding, as a
/// mask does.
fn is_damaged(compaction: Json<'_>) -> bool {
    let Some(encrypted) = compaction.get("encrypted_content") else { return false };
    if encrypted.kind() != JsonKind::String {
        return true;
    }
    let Some(text) = encrypted.text() else { return false };
    text.decode().trim().chars().any(|c| !c.is_ascii_alphanumeric() && !"+/=_-.:~".contains(c))
}

/// Where it is recorded that the provider refused what is encrypted, if it has answered nothing since then.
fn refused_at(transcript: &Transcript<'_>) -> Option<usize> {
    let refused = transcript.format.refused_encryption.as_ref()?;
    let answer = transcript.messages.iter().rfind(|message| message.role == Role::Assistant);
    let behind = answer.map_or(0, |answer| answer.span().end);
    for note in transcript.notes.iter().rev() {
        let start = note.json.span().start;
        if start < behind {
            return None;
        }
        if refused.is_in(note.json) {
            return Some(start);
        }
    }
    None
}
