//! Edits of a source and their application: every change of a transcript is a range of it and what stands there instead,
//! so whatever no edit touches stays byte for byte as it was.
//!
//! Which edits are made is decided elsewhere, most of them in [`crate::rewrite`].

use std::iter;
use std::ops::Range;

/// A range of the source, in bytes, and what stands there instead.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Edit {
    /// What goes.
    pub(crate) range: Range<usize>,
    /// What comes.
    pub(crate) text: String,
}

/// Puts edits into the order that they are made in; what is put in comes before what is taken away behind it. (A sort of
/// its own adds six kilobytes to the program in each place.)
pub(crate) fn sort(edits: &mut [Edit]) {
    edits.sort_by_key(|edit| (edit.range.start, edit.range.end));
}

/// The source with all `edits` made; they are in order and do not overlap.
pub(crate) fn apply(source: &str, edits: &[Edit]) -> String {
    debug_assert!(edits.is_sorted_by(|one, next| one.range.end <= next.range.start), "edits are in order");
    let grown: usize = edits.iter().map(|edit| edit.text.len()).sum();
    let gone: usize = edits.iter().map(|edit| edit.range.len()).sum();
    let mut out = String::with_capacity(source.len() + grown - gone);
    out.extend(pieces(source, edits));
    out
}

/// What [`apply`] makes, piece by piece: none of what stays need be copied.
pub(crate) fn pieces<'e>(source: &'e str, edits: &'e [Edit]) -> impl Iterator<Item = &'e str> {
    let starts = iter::once(0).chain(edits.iter().map(|edit| edit.range.end));
    let ends = edits.iter().map(|edit| edit.range.start).chain([source.len()]);
    let texts = edits.iter().map(|edit| edit.text.as_str()).chain([""]);
    starts.zip(ends).zip(texts).flat_map(|((start, end), text)| [&source[start..end], text])
}

/// Whether `edits` make another text of the source.
pub(crate) fn changes(source: &str, edits: &[Edit]) -> bool {
    if edits.is_empty() {
        return false;
    }
    // All pieces are looked at, so that edits which do not fit are found here, while nothing is written yet.
    let mut rest = Some(source);
    pieces(source, edits).for_each(|piece| rest = rest.and_then(|rest| rest.strip_prefix(piece)));
    rest != Some("")
}
