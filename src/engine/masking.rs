//! `--redact=all`: an input with all of its secrets masked is compacted in its place.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

use anyhow::Result;

use crate::compact::{Compaction, CompactionEvent, Emit, FileMasks, Redaction};
use crate::events::Event;
use crate::redact::Redactor;
use crate::rewrite::{Edit, pieces};
use crate::settings::{Action, InputSettings, Volume};
use crate::transcript::edit::apart;
use crate::transcript::framing::Document;
use crate::transcript::source::Source;
use crate::transcript::tool_data::all_tool_data;

use crate::engine::read::{json as json_of, read};
use crate::engine::result::TaskResult;
use crate::engine::task::{Task, Unmasked};

/// Masks the secrets in bytes that are not a transcript.
pub(super) fn masked_bytes(bytes: &[u8]) -> Vec<u8> {
    let mut redactor = Redactor::default();
    let masked = bytes.utf8_chunks().map(|chunk| [redactor.mask(chunk.valid()).as_bytes(), chunk.invalid()].concat());
    masked.collect::<Vec<_>>().concat()
}

impl Task<'_> {
    /// Returns the masks of an input, if it has secrets and all of them are masked.
    pub(super) fn masks(&self, source: &Source<'_>, document: &Document<'_>) -> Option<FileMasks> {
        let is_counted = matches!(self.settings.action, Action::Count { .. });
        let masks_all = self.policy.redact == Redaction::All && !is_counted;
        let masks = masks_all.then(|| FileMasks::new(&self.input.text, source, document));
        masks.filter(|masks| !masks.edits.is_empty())
    }

    /// Adds to `result` what comes of the masked input.
    ///
    /// # Errors
    /// The masked input is not read as the same conversations, or as for the input itself.
    pub(super) fn add_masked(&self, original: &Document<'_>, masks: &FileMasks, result: &mut TaskResult) -> Result<()> {
        let mut input = self.input.clone();
        input.set_bytes(pieces(self.input.bytes(), &masks.edits).collect::<Vec<_>>().concat());
        let source = json_of(&input)?;
        let mut formats = original.transcripts.iter().map(|transcript| transcript.format);
        let first = formats.next().filter(|first| formats.all(|format| format.name() == first.name()));
        let reading = InputSettings { from: self.settings.input.from.or(first), ..self.settings.input.clone() };
        let mut document = read(&reading, self.policy, &input, &source)?;
        masks.mark(&mut document, original)?;
        self.check_places(true)?;
        let unmasked = Unmasked { input: self.input, document: original, masks };
        Task { input: &input, unmasked: Some(&unmasked), ..*self }.add_document(&document, result)
    }

    /// Returns how many places of each kind are masked in a conversation, if any are.
    pub(super) fn masked_places(&self, at: usize) -> Option<&BTreeMap<&'static str, u64>> {
        self.unmasked.map(|unmasked| unmasked.masks.places(at)).filter(|places| !places.is_empty())
    }

    /// Returns how many secrets of each kind are masked in a conversation, if any are, however often each is there.
    pub(super) fn masked_secrets(&self, at: usize) -> Option<&BTreeMap<&'static str, u64>> {
        self.unmasked.map(|unmasked| unmasked.masks.secrets(at)).filter(|secrets| !secrets.is_empty())
    }

    /// Reports the secrets that are masked in a conversation, or would be.
    pub(super) fn note_masks(&self, source: &str, at: usize, result: &mut TaskResult) {
        if let Some((secrets, places)) = self.masked_secrets(at).zip(self.masked_places(at)) {
            result.note_compacted(true);
            let is_planned = self.settings.action.is_read_only();
            let what = CompactionEvent::MaskedAll { secrets, places: places.values().sum(), is_planned };
            self.notify(Event::Compacting { source, what, reader: None });
        }
    }

    /// Reports the secrets that stay in a conversation although `--redact` is given, by kind.
    pub(super) fn note_secrets_left(&self, document: &Document<'_>, source: &str, at: usize, done: &Compaction<'_>) {
        let is_written = matches!(self.policy.emit, Emit::Messages | Emit::Update) && done.failure.is_none();
        if self.policy.redact != Redaction::Sent || !is_written || self.settings.stderr.volume == Volume::Quiet {
            return;
        }
        let transcript = &document.transcripts[at];
        let replaced = if done.summary.is_some() { done.plan.replaced() } else { Vec::new() };
        let gone = replaced.iter().chain(&done.plan.emptied).map(|index| transcript.messages[*index].span());
        let mut gone: Vec<Range<usize>> = gone.chain(done.edits.iter().map(|edit| edit.range.clone())).collect();
        // Several conversations can have one envelope, which counts as part of the first.
        let around = |at: usize| document.transcripts.get(at)?.envelope.map(|envelope| envelope.span());
        let is_shared = |other: usize| around(other) == around(at);
        let has_envelope = around(at).is_some() && (at == 0 || !is_shared(at - 1));
        let data = all_tool_data(std::slice::from_ref(transcript));
        let mut redactor = Redactor::default();
        let edits: Vec<Edit> = match transcript.envelope.filter(|_| has_envelope) {
            Some(envelope) => {
                let others = document.transcripts[at + 1..].iter().enumerate();
                let others = others.take_while(|(behind, _)| is_shared(at + 1 + behind));
                gone.extend(others.flat_map(|(_, other)| other.messages.iter().map(|message| message.span())));
                redactor.edits_in(envelope, &data, &apart(gone), 0)
            }
            None => {
                let gone = apart(gone);
                transcript.entries().flat_map(|entry| redactor.edits_in(entry, &data, &gone, 0)).collect()
            }
        };
        let left: BTreeSet<_> = redactor.masks_in(edits.iter().map(|edit| &*edit.text)).into_iter().collect();
        let mut counts = BTreeMap::new();
        left.into_iter().for_each(|(kind, _)| *counts.entry(kind).or_default() += 1);
        if !counts.is_empty() {
            self.notify(Event::Compacting { source, what: CompactionEvent::SecretsLeft(&counts), reader: None });
        }
    }
}
