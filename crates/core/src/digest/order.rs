//! The order in which items are told, from nominal sizes alone: no room and no counter.
//!
//! A step tells an item for the first time, or at a greater length. The step with the most value for its size comes
//! first. One whose item or section would exceed its share of what all steps before it take waits until they take more.
//! So a larger digest begins with all steps of a smaller one, and holds all that it holds.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use crate::digest::grammar::Section;
use crate::digest::item::Item;

/// The lengths in bytes at which a text is told, before it is told as a whole. The first is for outputs, whose lines are
/// short.
const LENGTHS: [usize; 10] = [80, 160, 250, 400, 640, 1_000, 1_600, 2_500, 4_000, 6_400];

/// Sizes are compared as multiples of so many bytes.
const SAME_SIZE: usize = 48;

/// The share of the user's words where they are preferred.
const MOST_OF_ALL: f32 = 0.8;

/// A step that may be taken next.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Candidate {
    /// The bits of its value over its size: those of positive numbers are in their order.
    rate: u32,
    /// The place of its item in the list. Of equal steps that of the newest item comes first.
    item: usize,
    /// The length in bytes at which the item is told.
    length: usize,
    /// The bytes that it adds.
    added: usize,
}

/// A step of the order.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Step {
    /// The place of the item in the list.
    pub(super) item: usize,
    /// The length in bytes at which it is told.
    pub(super) length: usize,
}

/// The steps, one after the other.
pub(super) struct Steps<'i, 'a> {
    items: &'i [Item<'a>],
    heaps: [BinaryHeap<Candidate>; Section::ALL.len()],
    /// Steps whose items would exceed their shares, each with the bytes that must be taken before it.
    waiting: BinaryHeap<Reverse<(usize, Candidate)>>,
    prefers_user: bool,
    taken: usize,
    taken_by_section: [usize; Section::ALL.len()],
}

impl<'i, 'a> Steps<'i, 'a> {
    /// With `prefers_user`, the user's words may take most of the room.
    pub(super) fn new(items: &'i [Item<'a>], prefers_user: bool) -> Self {
        let mut candidates: [Vec<Candidate>; Section::ALL.len()] = Default::default();
        for (at, item) in items.iter().enumerate() {
            candidates[item.section() as usize].push(next_candidate(item, at, 0));
        }
        Steps {
            items,
            heaps: candidates.map(BinaryHeap::from),
            waiting: BinaryHeap::new(),
            prefers_user,
            taken: 0,
            taken_by_section: [0; Section::ALL.len()],
        }
    }

    /// Takes the best step of the sections that are within their shares, or of all where none is.
    fn pop_best(&mut self) -> Option<Candidate> {
        let mut best: Option<((bool, bool, Candidate), Section)> = None;
        for (section, heap) in Section::ALL.into_iter().zip(&self.heaps) {
            let Some(&candidate) = heap.peek() else { continue };
            let of_section = self.taken_by_section[section as usize] + candidate.added;
            let shares = section.shares();
            // An earlier summary holds what the user said before.
            let is_preferred = matches!(section, Section::User | Section::Earlier) && self.prefers_user;
            let share = if is_preferred { MOST_OF_ALL } else { shares.section };
            let is_filler = self.items[candidate.item].kind.is_filler();
            let is_within =
                !is_filler && of_section as f32 <= shares.free + share * (self.taken + candidate.added) as f32;
            let found = (is_within, is_preferred, candidate);
            if best.is_none_or(|(known, _)| found > known) {
                best = Some((found, section));
            }
        }
        let ((_, _, candidate), section) = best?;
        self.heaps[section as usize].pop();
        Some(candidate)
    }

    fn pop_waiting(&mut self, taken: usize) -> Option<Candidate> {
        if self.waiting.peek().is_some_and(|Reverse((from, _))| *from <= taken) {
            return self.waiting.pop().map(|Reverse((_, candidate))| candidate);
        }
        None
    }

    /// The next step whose item is within its share.
    fn pop(&mut self) -> Option<Candidate> {
        if let Some(candidate) = self.pop_waiting(self.taken) {
            return Some(candidate);
        }
        while let Some(candidate) = self.pop_best() {
            let kind = self.items[candidate.item].kind;
            let (free, share) = (kind.free_bytes(), kind.worth().section.shares().item);
            if candidate.length as f32 <= free + share * (self.taken + candidate.added) as f32 {
                return Some(candidate);
            }
            let from = ((candidate.length as f32 - free) / share) as usize;
            self.waiting.push(Reverse((from.saturating_sub(candidate.added), candidate)));
        }
        self.pop_waiting(usize::MAX)
    }
}

impl Iterator for Steps<'_, '_> {
    type Item = Step;

    fn next(&mut self) -> Option<Step> {
        let Candidate { item: at, length, added, .. } = self.pop()?;
        let item = &self.items[at];
        self.taken += added;
        self.taken_by_section[item.section() as usize] += added;
        if length < item.longest() {
            self.heaps[item.section() as usize].push(next_candidate(item, at, length));
        }
        Some(Step { item: at, length })
    }
}

/// The best of the steps behind a length of an item: the one with the most value for its size.
fn next_candidate(item: &Item<'_>, at: usize, from: usize) -> Candidate {
    let longest = item.longest();
    let around = if from == 0 { item.bytes_around() } else { 0 };
    let mut best: Option<Candidate> = None;
    // A last step that adds little is not worth one of its own.
    let lengths = if item.section() == Section::Calls { &LENGTHS[..] } else { &LENGTHS[1..] };
    let shorter = lengths.iter().copied().filter(|length| *length > from && *length * 5 < longest * 4);
    for length in shorter.chain([longest]) {
        let added = length - from + around;
        // Of short texts of nearly one length none is better than another.
        let size = added.next_multiple_of(SAME_SIZE).max(1) as f32;
        let rate = ((item.value(length.next_multiple_of(SAME_SIZE)) - item.value(from)) / size).max(0.0).to_bits();
        if best.is_none_or(|best| rate > best.rate) {
            best = Some(Candidate { rate, item: at, length, added });
        }
    }
    if item.kind.is_filler() {
        // All else of its section comes before it.
        best = best.map(|best| Candidate { rate: 0, ..best });
    }
    best.unwrap_or(Candidate { rate: 0, item: at, length: longest, added: around })
}
