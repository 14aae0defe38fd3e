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
        for (original, masked) in original.messages.iter().zip(&transcript.messages) {
            let span = original.span();
            // How far both texts are done.
            let (mut original_end, mut masked_end) = (span.start, masked.span().start);
            for edit in edits_within(&edits, &span) {
                let start = masked_end + (edit.range.start - original_end);
                strings.push(MaskedString { original: edit.range.clone(), masked: start..start + edit.text.len() });
                (original_end, masked_end) = (edit.range.end, start + edit.text.len());
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
        let (Some(masked), Some(original)) = (messages.get(index), self.original.messages.get(index)) else {
            return at;
        };
        let (masked_start, original_start) = (masked.span().start, original.span().start);
        let before = self.strings.partition_point(|string| string.masked.start < at);
        match self.strings[..before].last() {
            Some(string) if string.masked.start >= masked_start => {
                if at < string.masked.end {
                    return string.original.start;
                }
                string.original.end + (at - string.masked.end)
            }
            _ => original_start + (at - masked_start),
        }
    }

    /// The place in the source of a value of this conversation.
    pub fn span_in_source(&self, span: Range<usize>) -> Range<usize> {
        self.in_source(span.start)..self.in_source(span.end)
    }

    /// Edits of this conversation as edits of the source. An edit inside a masked string replaces all of the string, so
    /// that nothing of the secret stays.
    pub fn edits_in_source(&self, mut edits: Vec<Edit>) -> Vec<Edit> {
        let messages = &self.transcript.messages;
        let index = |edit: &Edit| messages.partition_point(|message| message.span().end < edit.range.start);
        sort(&mut edits);
        let mut in_source = Vec::with_capacity(edits.len());
        for edits_of_message in edits.chunk_by(|one, next| index(one) == index(next)) {
            let at = index(&edits_of_message[0]);
            let (Some(masked), Some(original)) = (messages.get(at), self.original.messages.get(at)) else { continue };
            let masks = edits_within(&self.masks, &original.span());
            let shift = masked.span().start as isize - original.span().start as isize;
            for edit in composed(self.transcript.source, masks, edits_of_message, shift) {
                if !is_among(masks, &edit) {
                    in_source.push(edit);
                }
            }
        }
        in_source
    }
}

/// The edits, of these in order, that lie within a span.
fn edits_within<'e>(edits: &'e [Edit], span: &Range<usize>) -> &'e [Edit] {
    let first = edits.partition_point(|edit| edit.range.start < span.start);
    let count = edits[first..].iter().take_while(|edit| edit.range.end <= span.end).count();
    &edits[first..first + count]
}

/// Whether an edit is one of these masks, which are in order.
fn is_among(masks: &[Edit], edit: &Edit) -> bool {
    match masks.binary_search_by_key(&edit.range.start, |mask| mask.range.start) {
        Ok(at) => masks[at] == *edit,
        Err(_) => false,
    }
}
