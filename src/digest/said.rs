//! What the assistant said: reports that end a turn, steps between calls, and which of their pieces come first.

use crate::digest::clip::{self, Piece, PieceKind};
use crate::digest::files::Place;
use crate::digest::text::LazyText;

/// A text of the assistant.
#[derive(Debug, Clone)]
pub(super) struct Said<'a> {
    pub(super) place: Place,
    pub(super) text: LazyText<'a>,
    pub(super) kind: SaidKind,
}

/// The kind of a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum SaidKind {
    /// It ends a turn: it was written for the user.
    Report,
    /// A call follows it.
    Step,
    /// It was thought and not said.
    Thought,
}

/// Words of sentences that give a reason, a decision or a cause.
const REASONS: [&str; 32] = [
    "because",
    "the cause",
    "root cause",
    "caused by",
    "instead",
    "rather than",
    "decided",
    "fails",
    "failed",
    "the issue is",
    "the problem is",
    "the bug",
    "turns out",
    "the reason",
    "due to",
    "so that",
    "doesn't work",
    "does not",
    "doesn't",
    "won't",
    "cannot",
    "can't",
    "not possible",
    "needs to",
    "must ",
    "only works",
    "unlike",
    "因为",
    "原因",
    "改用",
    "决定",
    "而不是",
];
/// Openings of sentences that take back what stands before them.
const RETRACTIONS: [&str; 10] =
    ["wait", "actually", "no,", "hmm", "hold on", "oh,", "but wait", "scratch that", "等等", "不对"];
/// Openings of announcements: what was announced is told by the calls that follow.
const ANNOUNCEMENTS: [&str; 16] = [
    "let me",
    "now let me",
    "now let's",
    "let's",
    "i'll",
    "i will",
    "now i'll",
    "now i will",
    "next, i",
    "first, let",
    "i need to",
    "now i need",
    "i should",
    "let us",
    "i'm going to",
    "i am going to",
];
/// Words in front of an announcement.
const LEADS: [&str; 14] = [
    "good",
    "great",
    "perfect",
    "ok",
    "okay",
    "excellent",
    "now",
    "alright",
    "first",
    "next",
    "thought:",
    "so",
    "then",
    "and",
];

/// Returns how strongly a sentence gives a reason: 0 if it does not.
pub(super) fn reason_strength(sentence: &str) -> usize {
    let lower = sentence.to_lowercase();
    REASONS.iter().filter(|word| lower.contains(**word)).count()
}

/// Whether a sentence says nothing by itself: `Good!`
fn is_remark(sentence: &str) -> bool {
    const SHORT: usize = 14;
    sentence.len() <= SHORT && sentence.is_ascii()
}

/// Whether a sentence takes back what stands before it.
fn retracts(sentence: &str) -> bool {
    let lower = sentence.trim_start_matches(['*', '"', '-', ' ']).to_lowercase();
    RETRACTIONS.iter().any(|word| lower.starts_with(word))
}

/// Whether a sentence only announces the next call.
pub(super) fn announces(sentence: &str) -> bool {
    let lower = sentence.to_lowercase().replace('’', "'");
    let mut rest = lower.trim_start();
    while let Some(lead) =
        LEADS.iter().find(|lead| rest.starts_with(**lead) && !rest[lead.len()..].starts_with(char::is_alphanumeric))
    {
        rest = rest[lead.len()..].trim_start_matches([',', '!', '.', ':', '-', ' ', '—', '\n']);
    }
    ANNOUNCEMENTS.iter().any(|opening| rest.starts_with(opening))
}

/// A piece of a text, with its rank among the pieces of the same text: smaller ones come first.
pub(super) struct SaidPiece {
    pub(super) piece: Piece,
    pub(super) rank: PieceRank,
}

/// The rank of a piece.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum PieceRank {
    /// It gives a reason; stronger ones come first.
    Reason(std::cmp::Reverse<usize>),
    /// The opening of a text that is more than an announcement.
    Opening,
    Plain,
    /// Code, and what only announces a call.
    Idle,
}

/// Returns the pieces of a text with their ranks, without what a later sentence takes back.
pub(super) fn ranked_pieces(text: &str) -> Vec<SaidPiece> {
    let pieces = clip::pieces_with_lists(text);
    let mut opening = true;
    let mut ranked: Vec<SaidPiece> = Vec::with_capacity(pieces.len());
    let taken_back: Vec<bool> = (0..pieces.len())
        .map(|at| pieces.get(at + 1).is_some_and(|next| retracts(&text[next.range.clone()])))
        .collect();
    for (at, piece) in pieces.into_iter().enumerate() {
        let shown = &text[piece.range.clone()];
        let strength = if piece.kind == PieceKind::Code { 0 } else { reason_strength(shown) };
        let rank = if is_remark(shown)
            || piece.kind == PieceKind::Code
            || piece.kind == PieceKind::Heading
            || announces(shown)
            || retracts(shown)
            || taken_back[at]
        {
            PieceRank::Idle
        } else if strength > 0 {
            PieceRank::Reason(std::cmp::Reverse(strength.min(2)))
        } else if opening {
            PieceRank::Opening
        } else {
            PieceRank::Plain
        };
        opening &= rank == PieceRank::Idle;
        ranked.push(SaidPiece { piece, rank });
    }
    ranked
}
