//! The pieces of a message of the user, and their ranks.
//!
//! The first rank has the opening of the first message, the last message, sentences that command, forbid, limit or correct,
//! and numbered steps and code of messages with such a sentence. All else is of the second.

use std::ops::Range;

use crate::digest::clip::{self, ClipPiece, PieceKind};
use crate::digest::cues::has_cue;

/// The order in which pieces yield, the last first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum PieceRank {
    /// The beginning of each of a few messages, those with a rule first: none of these vanishes.
    Beginning { is_rest: bool },
    /// Of the last message, or the opening of the first.
    Frame,
    /// A sentence with a cue, and what belongs to it.
    Rule,
    /// The same in a long message, which may be a form that a program filled in.
    RuleOfLong,
    /// All else, by how many times [`LEVEL`] bytes of its message come before it: of long messages the end goes first.
    Rest(usize),
}

const LEVEL: usize = 160;
/// Bytes of a message that a person types at once.
const SHORT: usize = 600;

impl PieceRank {
    pub(super) fn is_rule(self) -> bool {
        self <= PieceRank::RuleOfLong
    }

    /// Returns the share of the room that pieces up to this rank can have, where others need the rest. It never grows from
    /// rank to rank: so more room never loses a piece.
    pub(super) fn share(self) -> f64 {
        match self {
            PieceRank::Beginning { .. } | PieceRank::Frame | PieceRank::Rule => 0.8,
            PieceRank::RuleOfLong | PieceRank::Rest(0) => 0.6,
            PieceRank::Rest(_) => 0.3,
        }
    }
}

/// Cuts a message into pieces with their ranks.
pub(super) fn pieces_of(words: &str, is_first: bool, is_last: bool) -> Vec<(PieceRank, Range<usize>)> {
    /// Bytes of the opening of the first message and of the last one.
    const OPENING: usize = 240;
    const OPENING_OF_LAST: usize = 640;
    let opening = if is_last { OPENING_OF_LAST } else { OPENING };
    let is_frame = is_first || is_last;
    let rule = if is_form(words) { PieceRank::RuleOfLong } else { PieceRank::Rule };
    let rank_of = |is_rule: bool| if is_rule { rule } else { PieceRank::Rest(0) };
    if is_short(words) {
        let rank = if is_frame { PieceRank::Frame } else { rank_of(has_cue(words)) };
        return vec![(rank, 0..words.len())];
    }
    let pieces = clip::pieces_up_to(words, WHOLE);
    let rules = rules(words, &pieces);
    let mut ranked: Vec<(PieceRank, Range<usize>)> = Vec::new();
    let mut depth = 0;
    for (piece, is_rule) in pieces.iter().zip(rules) {
        let longest = if is_rule { WHOLE } else { clip::LONGEST };
        for range in clip::chunks(words, piece.range.clone(), longest) {
            let opens = ranked.is_empty() || range.end <= opening || is_last && range.end == words.len();
            let rank = match rank_of(is_rule) {
                _ if is_frame && opens && range.len() <= opening.max(clip::LONGEST) => PieceRank::Frame,
                PieceRank::Rest(_) => PieceRank::Rest(depth / LEVEL),
                rank => rank,
            };
            depth += if matches!(rank, PieceRank::Rest(_)) { range.len() } else { 0 };
            ranked.push((rank, range));
        }
    }
    // The end of a long message stands before its middle.
    if let [_, .., (rank @ PieceRank::Rest(_), _)] = &mut ranked[..] {
        *rank = (*rank).min(PieceRank::Rest(1));
    }
    ranked
}

/// Bytes of a rule, of numbered steps or of a block of code that stand whole or go.
const WHOLE: usize = 1_000;

/// Tells which pieces of a long message are of the first rank.
fn rules(words: &str, pieces: &[ClipPiece]) -> Vec<bool> {
    let shown = |piece: &ClipPiece| &words[piece.range.clone()];
    let mut rules: Vec<bool> =
        pieces.iter().map(|piece| piece.kind != PieceKind::Code && has_cue(shown(piece))).collect();
    if !rules.contains(&true) {
        return rules;
    }
    // The line that announces the items which follow.
    let mut announcing = None;
    for (at, piece) in pieces.iter().enumerate() {
        match piece.kind {
            // Code below a heading is an example.
            PieceKind::Code => rules[at] = at > 0 && pieces[at - 1].kind != PieceKind::Heading,
            PieceKind::Item => {
                let is_step = shown(piece).starts_with(|c: char| c.is_ascii_digit()) && is_short_list(pieces, at);
                rules[at] |= is_step || announcing.is_some_and(|at: usize| has_cue(shown(&pieces[at])));
                if let Some(announcing) = announcing.filter(|_| rules[at]) {
                    rules[announcing] = true;
                }
            }
            PieceKind::Heading | PieceKind::Sentence => {
                let announces = piece.kind == PieceKind::Heading || shown(piece).ends_with([':', '：']);
                announcing = announces.then_some(at);
            }
        }
    }
    rules
}

/// Whether an item is of a list that can stand whole.
fn is_short_list(pieces: &[ClipPiece], at: usize) -> bool {
    let (before, behind) = pieces.split_at(at);
    let is_near = |piece: &&ClipPiece| {
        piece.kind == PieceKind::Item && piece.range.start.abs_diff(pieces[at].range.start) <= WHOLE
    };
    let first = before.iter().rev().take_while(is_near).last().unwrap_or(&pieces[at]);
    let last = behind.iter().take_while(is_near).last().unwrap_or(&pieces[at]);
    last.range.end - first.range.start <= WHOLE
}

/// Gives the first of a message's pieces in order the rank of a beginning, or a part of it if it is long.
pub(super) fn begin(words: &str, pieces: &mut Vec<(PieceRank, Range<usize>)>, most: usize) {
    let Some(at) = (0..pieces.len()).min_by_key(|&at| pieces[at].0) else { return };
    let (rank, range) = pieces[at].clone();
    let beginning = PieceRank::Beginning { is_rest: matches!(rank, PieceRank::Rest(_)) };
    if range.len() <= most || is_short(words) {
        pieces[at].0 = beginning;
        return;
    }
    let Some(head) = clip::chunks(words, range.clone(), most).into_iter().next() else { return };
    pieces[at] = (rank, head.end..range.end);
    pieces.insert(at, (beginning, head));
}

/// Whether a message is so long that a program may have filled in a form.
pub(super) fn is_form(words: &str) -> bool {
    words.len() > SHORT
}

/// Whether a message is so short that it stands whole or goes. Two characters of a script without blanks are a word.
fn is_short(words: &str) -> bool {
    const MOST_WORDS: usize = 20;
    const MOST_BYTES: usize = 1_000;
    let wide = words.chars().filter(|c| *c >= '\u{2e80}').count();
    words.len() <= MOST_BYTES && words.split_whitespace().count() + wide / 2 <= MOST_WORDS
}
