//! The note that takes the place of pruned content: one line.

use std::ops::Range;

use crate::wording::{NOTE, counted};

/// The beginning of every note.
pub(super) const OPENING: &str = NOTE;

/// Whether a text is the note of an earlier pruning.
pub(super) fn is_pruned(text: &str) -> bool {
    text.starts_with(OPENING)
}

/// The note inside of which a place of a text is, or the place.
pub(super) fn outside_notes(text: &str, at: usize) -> Range<usize> {
    if let Some(start) = text[..at].rfind(OPENING)
        && !text[start..at].contains([']', '\n'])
        && let Some(end) = text[start..].find(']')
    {
        return start..start + end + 1;
    }
    at..at
}

pub(super) fn note(what: &str) -> String {
    format!("{OPENING}{what}]")
}

/// Formats a number of tokens for people.
pub(super) fn in_tokens(tokens: u64) -> String {
    counted(tokens, "token")
}
