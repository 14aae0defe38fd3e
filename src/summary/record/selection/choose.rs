//! Which values and names a summary takes: whatever says most for its size, until the room is spent.

use std::cmp::Ordering;
use std::collections::{BinaryHeap, HashSet};

use foldhash::fast::RandomState;

use crate::summary::record::literals::literals;
use crate::summary::record::selection::{Notes, Piece, hash};
use crate::tokens::Counter;

/// The share that is given before costs are looked at again: what was named once is cheaper after.
const FIRST_SHARE: f64 = 0.5;

/// The share that is left for names beside the facts, where there are any.
const SPARE_SHARE: f64 = 0.03;

/// A choice that grows.
pub(super) struct Choice<'n> {
    notes: &'n Notes,
    /// Pieces that are taken, in the order they were.
    pub(super) taken: Vec<usize>,
    is_taken: Vec<bool>,
    held: HashSet<u64, RandomState>,
    sizes: Vec<f64>,
    /// Pieces that stand a chance, in their order.
    candidates: Vec<usize>,
    /// What the openers cost that do not stand yet; nothing of the others.
    openers: Vec<f64>,
}

/// A piece and how much it says for its size.
struct Offer {
    worth: f64,
    piece: usize,
}

impl PartialEq for Offer {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl Eq for Offer {}

impl PartialOrd for Offer {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Offer {
    fn cmp(&self, other: &Self) -> Ordering {
        self.worth.total_cmp(&other.worth).then(other.piece.cmp(&self.piece))
    }
}

/// Tokens of a text, with what is left of the last.
pub(in crate::summary::record) fn size(text: &str, counter: Counter) -> f64 {
    match counter {
        Counter::Approx(characters) | Counter::ApproxRepr(characters) => text.chars().count() as f64 / characters,
        Counter::Bytes(per_token) => text.len() as f64 / per_token as f64,
        Counter::Exact(_) => counter.count_text(text) as f64,
    }
}

impl<'n> Choice<'n> {
    pub(super) fn new(notes: &'n Notes, counter: Counter, said: &str) -> Self {
        let between = size("; ", counter);
        let mut choice = Choice {
            notes,
            candidates: Vec::new(),
            taken: Vec::new(),
            is_taken: vec![false; notes.pieces.len()],
            held: literals(said).into_iter().map(|literal| hash(&said[literal.span].to_lowercase())).collect(),
            sizes: notes.pieces.iter().map(|piece| size(&piece.text, counter) + between).collect(),
            openers: notes.openers.iter().map(|opener| size(&opener.text, counter)).collect(),
        };
        choice.candidates = choice.best();
        choice.candidates.sort_unstable();
        choice
    }

    /// The best of the pieces, as many as could fit into any budget that is asked for.
    fn best(&self) -> Vec<usize> {
        const MOST: usize = 16_384;
        let all = 0..self.notes.pieces.len();
        let mut offers: Vec<Offer> = all.map(|piece| Offer { worth: self.worth(piece), piece }).collect();
        if offers.len() > MOST {
            offers.select_nth_unstable_by(MOST, |a, b| b.cmp(a));
            offers.truncate(MOST);
        }
        offers.into_iter().map(|offer| offer.piece).collect()
    }

    /// Takes pieces as long as `room` lasts.
    pub(super) fn fill(&mut self, room: f64) {
        let mut left = room;
        if self.taken.is_empty() {
            left -= self.take_best(left * FIRST_SHARE, |piece| !piece.spare);
            let spare = self.candidates.iter().filter(|at| self.notes.pieces[**at].spare);
            let spare = spare.map(|at| self.shared_cost(*at)).sum::<f64>().min(room * SPARE_SHARE);
            left -= self.take_best(left - spare, |piece| !piece.spare);
        }
        self.take_best(left, |_| true);
    }

    /// Takes the best of the pieces that `wanted` allows, and says what they cost.
    fn take_best(&mut self, room: f64, wanted: impl Fn(&Piece) -> bool) -> f64 {
        let offers = |choice: &Self, piece: usize| Offer { worth: choice.worth(piece), piece };
        let mut heap: BinaryHeap<Offer> = self
            .candidates
            .iter()
            .copied()
            .filter(|&at| !self.is_taken[at] && wanted(&self.notes.pieces[at]))
            .map(|at| offers(self, at))
            .collect();
        let mut spent = 0.0;
        while let Some(best) = heap.pop() {
            if self.is_taken[best.piece] {
                continue;
            }
            let now = self.worth(best.piece);
            if now <= 0.0 {
                continue;
            }
            // What was said meanwhile need not be said again.
            if now < best.worth && heap.peek().is_some_and(|next| next.worth > now) {
                heap.push(Offer { worth: now, piece: best.piece });
                continue;
            }
            let cost = self.cost(best.piece);
            if spent + cost > room {
                continue;
            }
            spent += cost;
            for opened in self.take(best.piece) {
                // Beside what stands already, the others of the line cost less.
                if !self.is_taken[opened] && wanted(&self.notes.pieces[opened]) {
                    heap.push(offers(self, opened));
                }
            }
        }
        spent
    }

    /// Takes a piece, and says which others cost less beside it.
    fn take(&mut self, at: usize) -> Vec<usize> {
        let notes = self.notes;
        self.is_taken[at] = true;
        self.taken.push(at);
        self.held.extend(notes.pieces[at].says.iter().map(|said| said.what()));
        let mut cheaper = Vec::new();
        for opener in notes.pieces[at].openers() {
            if std::mem::take(&mut self.openers[opener]) > 0.0 {
                self.held.extend(&notes.openers[opener].says);
                cheaper.extend(notes.openers[opener].pieces.iter().map(|piece| *piece as usize));
            }
        }
        cheaper
    }

    fn cost(&self, at: usize) -> f64 {
        self.sizes[at] + self.notes.pieces[at].openers().map(|opener| self.openers[opener]).sum::<f64>()
    }

    /// What it costs where the pieces that need the same share in it.
    fn shared_cost(&self, at: usize) -> f64 {
        let share = |opener: usize| self.openers[opener] / self.notes.openers[opener].pieces.len().min(SHARED) as f64;
        self.sizes[at] + self.notes.pieces[at].openers().map(share).sum::<f64>()
    }

    /// What a piece says that is not said yet, for its size.
    fn worth(&self, at: usize) -> f64 {
        let piece = &self.notes.pieces[at];
        let new = piece.says.iter().filter(|said| said.is_literal() && !self.held.contains(&said.what()));
        let literals: f64 = new.map(|said| said.matters).sum();
        if literals <= 0.0 {
            return 0.0;
        }
        (0.15 * piece.weight + LITERALS * literals) / self.shared_cost(at).powf(COST)
    }
}

/// Pieces that are taken to share what they need to stand.
const SHARED: usize = 5;
/// How much size counts.
const COST: f64 = 0.9;
/// How much a literal says beside what it is.
const LITERALS: f64 = 1.2;
