//! A conversation with its secrets masked, and the way back: edits of it as edits of the source.
//!
//! Whatever cuts a text reads it here. A cut through a secret leaves a part that nobody recognizes, and a cut through
//! its mask leaves nothing of it.

use std::ops::Range;

use crate::redact::Redactor;
use crate::transcript::Transcript;
use crate::transcript::edit::{Edit, sort};
use crate::transcript::framing::ReadError;
use crate::transcript::view::{Arena, view};

/// A conversation with its secrets masked.
pub(crate) struct Masked<'t> {
    /// The conversation that rules of pruning and the like read.
    pub(crate) transcript: &'t Transcript<'t>,
    original: &'t Transcript<'t>,
    /// The strings with a mask, in order.
    strings: Vec<MaskedString>,
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
    pub(crate) fn new(original: &'t Transcript<'t>, arena: &'t Arena<'t>) -> Result<Self, ReadError> {
        let mut redactor = Redactor::new();
        let all: Vec<usize> = (0..original.messages.len()).collect();
        let mut edits = redactor.edits(original, &all);
        sort(&mut edits);
        redactor.counts.clear();
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
        Ok(Masked { transcript, original, strings, redactor })
    }

    /// Returns a redactor with the placeholders of this conversation, which has counted nothing.
    pub(crate) fn redactor(&self) -> Redactor {
        self.redactor.clone()
    }

    /// Returns a place in the source, in bytes. Inside a masked string it is the start of the string.
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

    /// Returns the place in the source of a value of this conversation.
    pub(crate) fn span_in_source(&self, span: Range<usize>) -> Range<usize> {
        self.in_source(span.start)..self.in_source(span.end)
    }

    /// Returns the masked string around a place, if it is inside one.
    fn string_around(&self, at: usize) -> Option<&MaskedString> {
        let before = self.strings.partition_point(|string| string.masked.start < at);
        self.strings[..before].last().filter(|string| at < string.masked.end)
    }

    /// Returns edits of this conversation as edits of the source. An edit inside a masked string replaces all of the
    /// string, so that nothing of the secret stays.
    pub(crate) fn edits_in_source(&self, mut edits: Vec<Edit>) -> Vec<Edit> {
        let text = self.transcript.source;
        sort(&mut edits);
        let mut joined: Vec<Edit> = Vec::with_capacity(edits.len());
        for edit in edits {
            let begins_in = self.string_around(edit.range.start);
            let is_same = |last: &Edit| begins_in.is_some_and(|string| last.range.end > string.masked.start);
            match joined.last_mut().filter(|last| is_same(last)) {
                Some(last) => {
                    last.text.push_str(&text[last.range.end..edit.range.start]);
                    last.text.push_str(&edit.text);
                    last.range.end = edit.range.end;
                }
                None => joined.push(edit),
            }
        }
        for edit in &mut joined {
            if let Some(string) = self.string_around(edit.range.start) {
                edit.text.insert_str(0, &text[string.masked.start..edit.range.start]);
                edit.range.start = string.masked.start;
            }
            if let Some(string) = self.string_around(edit.range.end) {
                edit.text.push_str(&text[edit.range.end..string.masked.end]);
                edit.range.end = string.masked.end;
            }
            edit.range = self.span_in_source(edit.range.clone());
        }
        joined
    }
}
