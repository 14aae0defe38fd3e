//! Edits of a source. Every change of a transcript is a range and its replacement, so all bytes outside the edits stay
//! unchanged.
//!
//! Other modules decide which edits are made, most of them [`crate::rewrite`].

use std::iter;
use std::ops::Range;

/// A range of the source, in bytes, and its replacement.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Edit {
    /// The removed range.
    pub(crate) range: Range<usize>,
    /// The replacement.
    pub(crate) text: String,
}

/// Sorts edits into the order in which they apply; an insertion comes before a removal that starts there. (Each further
/// sort would add six kilobytes to the program.)
pub(crate) fn sort(edits: &mut [Edit]) {
    edits.sort_by_key(|edit| (edit.range.start, edit.range.end));
}

/// Applies `edits`, which are in order and do not overlap.
pub(crate) fn apply(source: &str, edits: &[Edit]) -> String {
    assert!(edits.is_sorted_by(|one, next| one.range.end <= next.range.start), "edits are in order");
    let grown: usize = edits.iter().map(|edit| edit.text.len()).sum();
    let gone: usize = edits.iter().map(|edit| edit.range.len()).sum();
    let mut out = String::with_capacity(source.len() + grown - gone);
    let mut done = 0;
    for Edit { range, text } in edits {
        out.push_str(&source[done..range.start]);
        out.push_str(text);
        done = range.end;
    }
    out.push_str(&source[done..]);
    out
}

/// A range of the source, in bytes, and its replacement, which need not be UTF-8.
pub(crate) trait Replaces {
    /// Returns the replaced range.
    fn range(&self) -> &Range<usize>;
    /// Returns the replacement.
    fn bytes(&self) -> &[u8];
}

impl Replaces for Edit {
    fn range(&self) -> &Range<usize> {
        &self.range
    }

    fn bytes(&self) -> &[u8] {
        self.text.as_bytes()
    }
}

/// Returns the pieces of the result, without copying what stays. The source is bytes: lines that are kept aside need not
/// be UTF-8.
pub(crate) fn pieces<'e>(source: &'e [u8], edits: &'e [impl Replaces]) -> impl Iterator<Item = &'e [u8]> {
    let starts = iter::once(0).chain(edits.iter().map(|edit| edit.range().end));
    let ends = edits.iter().map(|edit| edit.range().start).chain([source.len()]);
    let texts = edits.iter().map(Replaces::bytes).chain([&[][..]]);
    starts.zip(ends).zip(texts).flat_map(|((start, end), text)| [&source[start..end], text])
}

/// Whether `edits` change the source.
pub(crate) fn changes(source: &[u8], edits: &[Edit]) -> bool {
    if edits.is_empty() {
        return false;
    }
    // This visits all pieces, so invalid edits fail here, before anything is written.
    let mut rest = Some(source);
    pieces(source, edits).for_each(|piece| rest = rest.and_then(|rest| rest.strip_prefix(piece)));
    rest.is_none_or(|rest| !rest.is_empty())
}
