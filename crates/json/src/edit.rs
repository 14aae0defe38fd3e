//! Edits of a source. Every change of a transcript is a range and its replacement, so all bytes outside the edits stay
//! unchanged.
//!
//! Other modules decide which edits are made, most of them by the rules of a compaction.

use std::iter;
use std::ops::Range;

use crate::json::Json;

/// A range of the source, in bytes, and its replacement.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Edit {
    pub range: Range<usize>,
    pub text: String,
}

/// Sorts edits into the order in which they apply; an insertion comes before a removal that starts there. (Each further
/// sort would add six kilobytes to the program.)
pub fn sort(edits: &mut [Edit]) {
    edits.sort_by_key(|edit| (edit.range.start, edit.range.end));
}

/// Ranges in order, with those that overlap as one.
pub fn apart(mut ranges: Vec<Range<usize>>) -> Vec<Range<usize>> {
    ranges.sort_unstable_by_key(|range| range.start);
    ranges.dedup_by(|next, last| {
        let overlaps = next.start < last.end;
        last.end = if overlaps { last.end.max(next.end) } else { last.end };
        overlaps
    });
    ranges
}

/// Whether a range is inside one of some that are in order and apart.
pub fn is_inside(ranges: &[Range<usize>], range: &Range<usize>) -> bool {
    ranges.get(ranges.partition_point(|other| other.end < range.end)).is_some_and(|other| other.start <= range.start)
}

/// The edits of a source that have the effect of `first` and then `second`, whose ranges are of `between`, the text
/// that `first` made. Edits that touch the same text become one. `shift` is by how much earlier edits have moved
/// `between`.
pub fn composed(between: &str, first: &[Edit], second: &[Edit], mut shift: isize) -> Vec<Edit> {
    let mut composed = Vec::with_capacity(first.len() + second.len());
    let (mut first, mut second) = (first.iter().peekable(), second.iter().peekable());
    loop {
        let next = [first.peek().map(|edit| moved(edit, shift)), second.peek().map(|edit| edit.range.clone())];
        let Some(group) = next.into_iter().flatten().min_by_key(|range| (range.start, range.end)) else {
            return composed;
        };
        let (mut end, shift_before, mut edits_of_group) = (group.end, shift, Vec::new());
        loop {
            if let Some(edit) = first.next_if(|edit| touches(&moved(edit, shift), &group, end)) {
                end = end.max(moved(edit, shift).end);
                shift += edit.text.len() as isize - edit.range.len() as isize;
            } else if let Some(edit) = second.next_if(|edit| touches(&edit.range, &group, end)) {
                end = end.max(edit.range.end);
                edits_of_group.push(Edit {
                    range: edit.range.start - group.start..edit.range.end - group.start,
                    text: edit.text.clone(),
                });
            } else {
                break;
            }
        }
        let start = group.start.saturating_add_signed(-shift_before);
        let range = start..end.saturating_add_signed(-shift);
        composed.push(Edit { range, text: apply(&between[group.start..end], &edits_of_group) });
    }
}

/// Where the text of an edit is once earlier edits have moved it.
fn moved(edit: &Edit, shift: isize) -> Range<usize> {
    let start = edit.range.start.saturating_add_signed(shift);
    start..start + edit.text.len()
}

/// Whether a range belongs to a group that began with the range `group` and has grown to `end`.
fn touches(range: &Range<usize>, group: &Range<usize>, end: usize) -> bool {
    range.start < end || range == group
}

/// Applies `edits`, which are in order and do not overlap.
pub fn apply(source: &str, edits: &[Edit]) -> String {
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

/// A value with edits of the source inside of it, in any order.
pub fn edited_value(value: Json<'_>, mut edits: Vec<Edit>) -> String {
    sort(&mut edits);
    let start = value.span().start;
    for Edit { range, .. } in &mut edits {
        *range = range.start - start..range.end - start;
    }
    apply(value.raw(), &edits)
}

/// A range of the source, in bytes, and its replacement, which need not be UTF-8.
pub trait Replaces {
    fn range(&self) -> &Range<usize>;
    /// The replacement.
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

/// The pieces of the result, without copying what stays. The source is bytes: lines that are kept aside need not be
/// UTF-8.
pub fn pieces<'e>(source: &'e [u8], edits: &'e [impl Replaces]) -> impl Iterator<Item = &'e [u8]> {
    let starts = iter::once(0).chain(edits.iter().map(|edit| edit.range().end));
    let ends = edits.iter().map(|edit| edit.range().start).chain([source.len()]);
    let texts = edits.iter().map(Replaces::bytes).chain([&[][..]]);
    starts.zip(ends).zip(texts).flat_map(|((start, end), text)| [&source[start..end], text])
}

/// Whether `edits` change the source.
pub fn changes(source: &[u8], edits: &[Edit]) -> bool {
    if edits.is_empty() {
        return false;
    }
    // This visits all pieces, so invalid edits fail here, before anything is written.
    let mut rest = Some(source);
    for piece in pieces(source, edits) {
        if let Some(left) = rest {
            rest = left.strip_prefix(piece);
        }
    }
    rest.is_none_or(|rest| !rest.is_empty())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Makes edits of a text of so many bytes: gaps and lengths in turns, each with a replacement.
    fn edits_in(length: usize, steps: &[(usize, usize, String)]) -> Vec<Edit> {
        let mut at = 0;
        let mut edits = Vec::new();
        for (gap, taken, text) in steps {
            let start = at + gap;
            let end = (start + taken).min(length);
            // An edit that changes nothing tells nothing, and two insertions at one place have no order.
            if start <= end && !(start == end && text.is_empty()) {
                edits.push(Edit { range: start..end, text: text.clone() });
                at = end + 1;
            }
        }
        edits
    }

    proptest! {
        #[test]
        fn two_steps_of_edits_become_one(
            source in "[a-z]{0,30}",
            first in prop::collection::vec((0_usize..6, 1_usize..5, "[A-Z]{1,4}"), 0..5),
            second in prop::collection::vec((0_usize..6, 0_usize..9, "[0-9]{0,3}"), 0..5),
        ) {
            let first: Vec<Edit> = edits_in(source.len(), &first).into_iter().filter(|edit| !edit.range.is_empty()).collect();
            let between = apply(&source, &first);
            let second = edits_in(between.len(), &second);
            let both = composed(&between, &first, &second, 0);
            prop_assert_eq!(apply(&source, &both), apply(&between, &second));
        }
    }

    #[test]
    fn ranges_apart_are_in_order_and_do_not_overlap() {
        assert_eq!(apart(vec![5..9, 0..2, 6..7, 8..12, 2..3]), [0..2, 2..3, 5..12]);
        assert!(is_inside(&[0..2, 5..12], &(6..12)) && !is_inside(&[0..2, 5..12], &(1..6)) && !is_inside(&[], &(0..1)));
    }
}
