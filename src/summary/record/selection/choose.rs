//! Chooses the values and names of a summary: those with the best ratio of importance to size, until the budget is
//! spent.

use std::cmp::Ordering;
use std::collections::{BinaryHeap, HashMap, HashSet};

use foldhash::fast::RandomState;

use crate::summary::record::literals::{LiteralClass, literals};
use crate::summary::record::selection::{Notes, ValuePiece, hash, is_whole};
use crate::tokens::Counter;

/// The share of the budget that is spent before costs are updated: a prefix is paid only once.
const FIRST_SHARE: f64 = 0.5;

/// The share of the budget for names beside the facts.
const NAMES_SHARE: f64 = 0.03;

/// The pieces chosen so far.
pub(super) struct PieceSelection<'n> {
    notes: &'n Notes,
    /// The chosen pieces, in the order of their selection.
    pub(super) chosen: Vec<usize>,
    is_chosen: Vec<bool>,
    known_terms: HashSet<u64, RandomState>,
    sizes: Vec<f64>,
    /// For each value of an object in a list, the value that identifies the object.
    identifiers: Vec<Option<usize>>,
    /// The pieces that may be chosen, in order.
    candidates: Vec<usize>,
    /// The cost of each prefix that is not written yet; 0 for the others.
    prefix_costs: Vec<f64>,
}

/// A piece and its worth per size.
struct ScoredPiece {
    worth: f64,
    piece: usize,
}

impl PartialEq for ScoredPiece {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl Eq for ScoredPiece {}

impl PartialOrd for ScoredPiece {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for ScoredPiece {
    fn cmp(&self, other: &Self) -> Ordering {
        self.worth.total_cmp(&other.worth).then(other.piece.cmp(&self.piece))
    }
}

/// Returns the tokens of a text, with fractions.
pub(in crate::summary::record) fn size(text: &str, counter: Counter) -> f64 {
    match counter {
        Counter::Approx(characters) | Counter::ApproxRepr(characters) => text.chars().count() as f64 / characters,
        Counter::Bytes(per_token) => text.len() as f64 / per_token as f64,
        Counter::Exact(_) => counter.count_text(text) as f64,
    }
}

impl<'n> PieceSelection<'n> {
    pub(super) fn new(notes: &'n Notes, counter: Counter, text: &str) -> Self {
        let between = size("; ", counter);
        let mut choice = PieceSelection {
            notes,
            candidates: Vec::new(),
            chosen: Vec::new(),
            is_chosen: vec![false; notes.pieces.len()],
            known_terms: literals(text).into_iter().map(|literal| hash(&text[literal.span].to_lowercase())).collect(),
            identifiers: match notes.whole_objects {
                true => identifiers(&notes.pieces),
                false => vec![None; notes.pieces.len()],
            },
            sizes: notes.pieces.iter().map(|piece| size(&piece.text, counter) + between).collect(),
            prefix_costs: notes.prefixes.iter().map(|prefix| size(&prefix.text, counter)).collect(),
        };
        choice.candidates = choice.best();
        choice.candidates.sort_unstable();
        choice
    }

    /// Returns the best pieces, as many as fit in any budget.
    fn best(&self) -> Vec<usize> {
        const MOST: usize = 16_384;
        let all = 0..self.notes.pieces.len();
        let mut score: Vec<ScoredPiece> = all.map(|piece| ScoredPiece { worth: self.worth(piece), piece }).collect();
        if score.len() > MOST {
            score.select_nth_unstable_by(MOST, |a, b| b.cmp(a));
            score.truncate(MOST);
        }
        score.into_iter().map(|offer| offer.piece).collect()
    }

    /// Chooses pieces until `room` is spent.
    pub(super) fn fill(&mut self, room: f64) {
        let mut left = room;
        if self.chosen.is_empty() {
            left -= self.choose_best(left * FIRST_SHARE, |piece| !piece.is_spare);
            let spare = self.candidates.iter().filter(|at| self.notes.pieces[**at].is_spare);
            let spare = spare.map(|at| self.shared_cost(*at)).sum::<f64>().min(room * NAMES_SHARE);
            left -= self.choose_best(left - spare, |piece| !piece.is_spare);
        }
        self.choose_best(left, |_| true);
    }

    /// Chooses the best pieces that `wanted` allows and returns their cost.
    fn choose_best(&mut self, room: f64, wanted: impl Fn(&ValuePiece) -> bool) -> f64 {
        let score = |choice: &Self, piece: usize| ScoredPiece { worth: choice.worth(piece), piece };
        let mut heap: BinaryHeap<ScoredPiece> = self
            .candidates
            .iter()
            .copied()
            .filter(|&at| !self.is_chosen[at] && wanted(&self.notes.pieces[at]))
            .map(|at| score(self, at))
            .collect();
        let mut spent = 0.0;
        while let Some(best) = heap.pop() {
            if self.is_chosen[best.piece] {
                continue;
            }
            let now = self.worth(best.piece);
            if now <= 0.0 {
                continue;
            }
            // A piece is worth less once others contain the same terms.
            if now < best.worth && heap.peek().is_some_and(|next| next.worth > now) {
                heap.push(ScoredPiece { worth: now, piece: best.piece });
                continue;
            }
            let identifier = self.identifiers[best.piece].filter(|at| !self.is_chosen[*at]);
            let cost = self.cost(best.piece) + identifier.map_or(0.0, |at| self.sizes[at]);
            if spent + cost > room {
                continue;
            }
            spent += cost;
            let opened: Vec<usize> =
                identifier.into_iter().chain([best.piece]).flat_map(|at| self.choose(at)).collect();
            for opened in opened {
                // The other pieces of the line cost less now.
                if !self.is_chosen[opened] && wanted(&self.notes.pieces[opened]) {
                    heap.push(score(self, opened));
                }
            }
        }
        spent
    }

    /// Chooses a piece and returns those that cost less as a result.
    fn choose(&mut self, at: usize) -> Vec<usize> {
        let notes = self.notes;
        self.is_chosen[at] = true;
        self.chosen.push(at);
        self.known_terms.extend(notes.pieces[at].terms.iter().map(|term| term.key()));
        let mut cheaper = Vec::new();
        for prefix in notes.pieces[at].prefixes() {
            if std::mem::take(&mut self.prefix_costs[prefix]) > 0.0 {
                self.known_terms.extend(&notes.prefixes[prefix].terms);
                cheaper.extend(notes.prefixes[prefix].pieces.iter().map(|piece| *piece as usize));
            }
        }
        cheaper
    }

    fn cost(&self, at: usize) -> f64 {
        self.sizes[at] + self.notes.pieces[at].prefixes().map(|prefix| self.prefix_costs[prefix]).sum::<f64>()
    }

    /// Returns the cost of a piece if others share its prefixes.
    fn shared_cost(&self, at: usize) -> f64 {
        let share = |prefix: usize| {
            self.prefix_costs[prefix] / self.notes.prefixes[prefix].pieces.len().min(MOST_SHARING) as f64
        };
        self.sizes[at] + self.notes.pieces[at].prefixes().map(share).sum::<f64>()
    }

    /// Returns the importance of a piece's new terms per size.
    fn worth(&self, at: usize) -> f64 {
        let piece = &self.notes.pieces[at];
        let new = piece.terms.iter().filter(|term| term.is_literal() && !self.known_terms.contains(&term.key()));
        let literals: f64 = new.map(|term| term.importance).sum();
        if literals <= 0.0 {
            return 0.0;
        }
        (0.15 * piece.weight + LITERAL_FACTOR * literals) / self.shared_cost(at).powf(SIZE_EXPONENT)
    }
}

/// The line, the call and the number of an object in a list.
pub(super) type ObjectKey<'p> = (u32, &'p str, usize);

/// Returns the object of a list that a piece belongs to.
pub(super) fn object_of(piece: &ValuePiece) -> Option<ObjectKey<'_>> {
    let field = piece.field.as_deref().filter(|field| field.row > 0)?;
    Some((piece.line, &piece.call, field.row))
}

/// Returns for each value of an object in a list the first value that identifies the object: without it, the others
/// would be those of the object before.
pub(super) fn identifiers(pieces: &[ValuePiece]) -> Vec<Option<usize>> {
    let identifies = |piece: &ValuePiece| {
        let field = piece.field.as_deref();
        field.is_some_and(|field| is_whole(field, |class| class == LiteralClass::Identifier))
    };
    let mut of_object: HashMap<ObjectKey<'_>, usize> = HashMap::new();
    for (at, piece) in pieces.iter().enumerate().filter(|(_, piece)| identifies(piece)) {
        if let Some(object) = object_of(piece) {
            of_object.entry(object).or_insert(at);
        }
    }
    let identifier = |(at, piece)| of_object.get(&object_of(piece)?).copied().filter(|identifier| *identifier != at);
    pieces.iter().enumerate().map(identifier).collect()
}

/// Most pieces that are assumed to share a prefix.
const MOST_SHARING: usize = 5;
/// The exponent of the size in the worth of a piece.
const SIZE_EXPONENT: f64 = 0.9;
/// The weight of literals beside that of the kind of a piece.
const LITERAL_FACTOR: f64 = 1.2;
