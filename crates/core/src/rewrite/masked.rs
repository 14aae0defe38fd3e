//! A conversation with its secrets masked, and the way back: edits of it as edits of the source.
//!
//! Whatever cuts a text reads it here. A cut through a secret leaves a part that nobody recognizes, and a cut through
//! its mask leaves nothing of it.

use std::ops::Range;

use crate::redact::Redactor;
use crate::transcript::Transcript;
use crate::transcript::edit::{Edit, composed, sort};
use crate::transcript::framing::ReadError;
use crate::transcript::view::{Arena, view};

/// A conversation with its secrets masked.
pub struct Masked<'t> {
    /// The conversation that rules of pruning and the like read.
    pub transcript: &'t Transcript<'t>,
    original: &'t Transcript<'t>,
    /// The strings with a mask, in order.
    strings: Vec<MaskedString>,
    /// The edits that mask them, in order.
    masks: Vec<Edit>,
    /// The placeholders so far.
    redactor: Redactor,
}

/// A string with a mask: its place in both conversations.
struct MaskedString {
    original: Range<usize>,
    masked: Range<usize>,
}

impl<'t> Masked<'t> {
    /// Masks the secrets of all messages.
    ///
    /// # Errors
    /// The conversation cannot be read with its secrets masked.
    pub fn new(original: &'t Transcript<'t>, arena: &'t Arena<'t>) -> Result<Self, ReadError> {
        let mut redactor = Redactor::default();
        let all: Vec<usize> = (0..original.messages.len()).collect();
        let mut edits = redactor.edits(original, &all);
        sort(&mut edits);
        redactor.forget_counts();
        let transcript = view(original, &edits, arena)?;
        let mut strings = Vec::with_capacity(edits.len());
        for (own, message) in original.messages.iter().zip(&transcript.messages) {
            let span = own.span();
            let mut end = (span.start, message.span().start);
            let first = edits.partition_point(|edit| edit.range.start < span.start);
            for edit in edits[first..].iter().take_while(|edit| edit.range.end <= span.end) {
                let start = end.1 + (edit.range.start - end.0);
                strings.push(MaskedString { original: edit.range.clone(), masked: start..start + edit.text.len() });
                end = (edit.range.end, start + edit.text.len());
            }
        }
        strings.sort_unstable_by_key(|string| string.masked.start);
        Ok(Masked { transcript, original, strings, masks: edits, redactor })
    }

    /// A redactor with the placeholders of this conversation, which has counted nothing.
    pub fn redactor(&self) -> Redactor {
        self.redactor.clone()
    }

    /// A place in the source, in bytes. Inside a masked string it is the start of the string.
    fn in_source(&self, at: usize) -> usize {
        let messages = &self.transcript.messages;
        let index = messages.partition_point(|message| message.span().start <= at).saturating_sub(1);
        let Some((message, own)) = messages.get(index).zip(self.original.messages.get(index)) else { return at };
        let mut anchor = (message.span().start, own.span().start);
        let before = self.strings.partition_point(|string| string.masked.start < at);
        if let Some(string) = self.strings[..before].last().filter(|string| string.masked.start >= anchor.0) {
            if at < string.masked.end {
                return string.original.start;
            }
            anchor = (string.masked.end, string.original.end);
        }
        anchor.1 + (at - anchor.0)
    }

    /// The place in the source of a value of this conversation.
    pub fn span_in_source(&self, span: Range<usize>) -> Range<usize> {
        self.in_source(span.start)..self.in_source(span.end)
    }

    /// Edits of this conversation as edits of the source. An edit inside a masked string replaces all of the string, so
    /// that nothing of the secret stays.
    pub fn edits_in_source(&self, mut edits: Vec<Edit>) -> Vec<Edit> {
        let (masked, original) = (&self.transcript.messages, &self.original.messages);
        let index = |edit: &Edit| masked.partition_point(|message| message.span().end < edit.range.start);
        sort(&mut edits);
        let mut in_source = Vec::with_capacity(edits.len());
        for of_one in edits.chunk_by(|one, next| index(one) == index(next)) {
            let at = index(&of_one[0]);
            let Some((message, own)) = masked.get(at).zip(original.get(at)) else { continue };
            let first = self.masks.partition_point(|mask| mask.range.start < own.span().start);
            let count = self.masks[first..].iter().take_while(|mask| mask.range.end <= own.span().end).count();
            let masks = &self.masks[first..first + count];
            let shift = message.span().start as isize - own.span().start as isize;
            let is_mask = |edit: &Edit| {
                let same_start = masks.binary_search_by_key(&edit.range.start, |mask| mask.range.start);
                same_start.is_ok_and(|at| masks[at] == *edit)
            };
            let composed = composed(self.transcript.source, masks, of_one, shift).into_iter();
            in_source.extend(composed.filter(|edit| !is_mask(edit)));
        }
        in_source
    }
}
