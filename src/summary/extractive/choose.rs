//! Which pieces a summary takes: first what the user wants, as far as its share goes, then whatever says most for its
//! size, until the budget is spent.

use std::cmp::Ordering;
use std::collections::{BinaryHeap, HashSet};

use foldhash::fast::RandomState;

use crate::summary::ledger::{Kind, Speaker};
use crate::tokens::Counter;

use crate::summary::extractive::notes::{Notes, Piece};

/// The share of the budget that is first offered to what the user wants and rules, and then to what was done: the
/// files that were changed, and how commands ended.
const INTENT_SHARE: f64 = 0.4;
const FIRST_WISH_SHARE: f64 = 0.7;
const WORK_SHARE: f64 = 0.35;
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
pub(super) fn size(text: &str, counter: Counter) -> f64 {
    match counter {
        Counter::Approx(characters) | Counter::ApproxRepr(characters) => text.chars().count() as f64 / characters,
        Counter::Bytes(per_token) => text.len() as f64 / per_token as f64,
        Counter::Exact(_) => counter.count_text(text) as f64,
    }
}

impl<'n> Choice<'n> {
    pub(super) fn new(notes: &'n Notes, counter: Counter) -> Self {
        let between = size("; ", counter);
        let mut choice = Choice {
            notes,
            candidates: Vec::new(),
            taken: Vec::new(),
            is_taken: vec![false; notes.pieces.len()],
            held: HashSet::default(),
            sizes: notes.pieces.iter().map(|piece| size(&piece.text, counter) + between).collect(),
            openers: notes.openers.iter().map(|opener| size(&opener.text, counter)).collect(),
        };
        choice.candidates = choice.best(|piece| is_wish(piece) || is_work(piece));
        choice.candidates.extend(choice.best(|piece| !is_wish(piece) && !is_work(piece)));
        choice.candidates.sort_unstable();
        choice
    }

    /// The best of the pieces that `wanted` allows, as many as could fit into any budget that is asked for.
    fn best(&self, wanted: impl Fn(&Piece) -> bool) -> Vec<usize> {
        const MOST: usize = 16_384;
        let allowed = (0..self.notes.pieces.len()).filter(|at| wanted(&self.notes.pieces[*at]));
        let mut offers: Vec<Offer> = allowed.map(|piece| Offer { worth: self.worth(piece, LITERALS), piece }).collect();
        if offers.len() > MOST {
            offers.select_nth_unstable_by(MOST, |a, b| b.cmp(a));
            offers.truncate(MOST);
        }
        offers.into_iter().map(|offer| offer.piece).collect()
    }

    /// Takes pieces as long as `room` lasts: at first some of the intent, then of the work, then of everything.
    pub(super) fn fill(&mut self, room: f64) {
        let mut left = room;
        if self.taken.is_empty() {
            // The one that matters most may take more, where there is little room for any.
            let wishes = self.candidates.iter().copied().filter(|at| is_wish(&self.notes.pieces[*at]));
            let first = wishes
                .max_by(|a, b| self.notes.pieces[*a].weight.total_cmp(&self.notes.pieces[*b].weight).then(b.cmp(a)));
            let share =
                first.map_or(0.0, |first| self.cost(first)).min(room * FIRST_WISH_SHARE).max(room * INTENT_SHARE);
            left -= self.take_best(share, 0.0, is_wish);
            left -= self.take_best(left.min(room * WORK_SHARE), LITERALS, is_work);
            left -= self.take_best(left * FIRST_SHARE, LITERALS, |piece| !piece.spare);
            let spare = self.candidates.iter().filter(|at| self.notes.pieces[**at].spare);
            let spare = spare.map(|at| self.shared_cost(*at)).sum::<f64>().min(room * SPARE_SHARE);
            left -= self.take_best(left - spare, LITERALS, |piece| !piece.spare);
        }
        // Names alone are no summary.
        let told = !self.taken.is_empty();
        self.take_best(left, LITERALS, |piece| told || !piece.spare);
    }

    /// Takes the best of the pieces that `wanted` allows, and says what they cost. `literals` is how much these count.
    fn take_best(&mut self, room: f64, literals: f64, wanted: impl Fn(&Piece) -> bool) -> f64 {
        let offers = |choice: &Self, piece: usize| Offer { worth: choice.worth(piece, literals), piece };
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
            let now = self.worth(best.piece, literals);
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
    fn worth(&self, at: usize, per_literal: f64) -> f64 {
        let piece = &self.notes.pieces[at];
        let cost = self.shared_cost(at);
        let (mut literals, mut words, mut new, mut all) = (0.0, 0.0, 0.0, 0.0f64);
        for said in &piece.says {
            let is_new = !self.held.contains(&said.what());
            match said.is_literal() {
                true if is_new => literals += said.matters,
                true => {}
                false => {
                    all += 1.0;
                    if is_new {
                        new += 1.0;
                        words += said.matters.sqrt();
                    }
                }
            }
        }
        let fresh = if all > 0.0 { new / all } else { 0.0 };
        let spoken = piece.cell.is_none();
        // What was said almost so already is not said again.
        let says_more = literals > 0.0 || spoken && fresh >= FRESH && new >= FEWEST_WORDS;
        if !says_more && !keeps(piece) {
            return 0.0;
        }
        let statement = if spoken {
            piece.weight * (0.3 + 0.08 * new.min(MANY_WORDS)) + words * bias(piece)
        } else {
            0.15 * piece.weight
        };
        (statement + per_literal * literals) / cost.powf(if is_wish(piece) { WISH_COST } else { COST })
    }
}

/// The share of its words that must be new of a sentence.
const FRESH: f64 = 0.35;
/// Words that a sentence without a literal must have to say something.
const FEWEST_WORDS: f64 = 2.0;
/// New words beyond which a statement does not weigh more.
const MANY_WORDS: f64 = 12.0;
/// Pieces that are taken to share what they need to stand.
const SHARED: usize = 5;
/// How much size counts: for less of what the user wants, where a long sentence may say more than two short ones.
const COST: f64 = 0.9;
const WISH_COST: f64 = 0.8;
/// How much a literal says beside a statement.
const LITERALS: f64 = 1.2;

fn is_wish(piece: &Piece) -> bool {
    matches!(piece.kind, Kind::Rule | Kind::Goal)
}

fn is_work(piece: &Piece) -> bool {
    piece.kind == Kind::Command || piece.kind == Kind::File && piece.weight > 3.0
}

/// Rules stand even where other words say nearly the same.
fn keeps(piece: &Piece) -> bool {
    matches!(piece.kind, Kind::Rule | Kind::File) || piece.kind == Kind::Command
}

fn bias(piece: &Piece) -> f64 {
    match (piece.speaker, piece.kind) {
        (Speaker::User, _) => 1.0,
        (_, Kind::Decision | Kind::Done | Kind::Next) => 0.5,
        _ => 0.24,
    }
}
