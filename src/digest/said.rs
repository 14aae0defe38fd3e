//! What the assistant said: reports that end a turn and steps between calls, and which of their pieces are told.

use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::ops::Range;

use crate::digest::clip::{self, PieceKind, indented};
use crate::digest::focus::Focus;
use crate::digest::grammar::{Lines, Place, THOUGHT, unlabelled};
use crate::digest::words;
use crate::tokens::Counter;
use crate::transcript::lazy_text::LazyText;

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

/// The rank of a piece: what has a smaller one comes first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum SaidRank {
    /// Of the last report, or of the last text.
    Last,
    /// It gives a reason, a decision or a cause; stronger ones come first.
    Reason(Reverse<usize>),
    /// It opens a report, or one of the last steps.
    Opening,
    /// It is of a report, or opens a step.
    Plain,
    Rest,
}

/// A piece of a text that may be told.
struct SaidPiece {
    rank: SaidRank,
    /// How many words of the focus it has.
    shared: usize,
    /// How many texts came later.
    age: usize,
    range: Range<usize>,
}

/// Returns lines of what the assistant said, in at most `room` tokens: the last report (in `for_report`) and the last
/// step, sentences of the focus and those that give a reason, and then other pieces, those of reports and of later texts
/// first.
pub(super) fn lines(said: &[Said<'_>], counter: Counter, room: u64, for_report: u64, focus: &Focus) -> Lines {
    /// Texts before the last one that are told as they are.
    const LAST_TEXTS: usize = 2;
    let Some(last) = said.len().checked_sub(1) else { return Vec::new() };
    let report = said.iter().rposition(|said| said.kind == SaidKind::Report);
    let texts = texts_within_look(said, report, room);
    let mut pieces: Vec<SaidPiece> = Vec::new();
    for (&at, text) in &texts {
        let for_last = match last - at {
            _ if Some(at) == report => for_report,
            0 => for_report / 2,
            age if age <= LAST_TEXTS => for_report / 4,
            _ => 0,
        };
        pieces.extend(ranked_pieces(text, said[at].kind, last - at, for_last));
    }
    let shared = focus.shared(pieces.iter().map(|piece| texts[&(last - piece.age)][piece.range.clone()].to_owned()));
    pieces.iter_mut().zip(shared).for_each(|(piece, shared)| piece.shared = shared);
    pieces.sort_by_key(|piece| {
        (piece.rank != SaidRank::Last, Reverse(piece.shared), piece.rank, piece.age, piece.range.start)
    });
    let mut left = room;
    let mut chosen: BTreeMap<usize, Vec<Range<usize>>> = BTreeMap::new();
    for SaidPiece { age, range, .. } in pieces {
        let at = last - age;
        let around = if chosen.contains_key(&at) { " … " } else { "- [9999] … …" };
        let cost = counter.count_text(&indented(&texts[&at][range.clone()])) + counter.count_text(around);
        if cost <= left {
            left -= cost;
            chosen.entry(at).or_default().push(range);
        }
    }
    let line = |(at, ranges): (usize, Vec<Range<usize>>)| {
        let mark = if said[at].kind == SaidKind::Thought { THOUGHT } else { "" };
        (said[at].place, format!("{mark}{}", unlabelled(&indented(&clip::shown(&texts[&at], ranges)))))
    };
    chosen.into_iter().map(line).collect()
}

/// Returns the texts that are looked at, by their places: what `room` bounds of the newest, fewer of the oldest, and the
/// last report.
fn texts_within_look(said: &[Said<'_>], report: Option<usize>, room: u64) -> BTreeMap<usize, String> {
    /// Bytes for each token of room.
    const LOOK: u64 = 256;
    let bytes = usize::try_from(room.saturating_mul(LOOK)).unwrap_or(usize::MAX);
    let mut texts = BTreeMap::new();
    let mut look = |indices: &mut dyn Iterator<Item = usize>, mut left: usize| {
        for at in indices {
            let size = said[at].text.bytes();
            if size > left && !texts.is_empty() {
                break;
            }
            left = left.saturating_sub(size);
            texts.entry(at).or_insert_with(|| said[at].text.read().trim().to_owned());
        }
    };
    look(&mut (0..said.len()).rev(), bytes / 4 * 3);
    look(&mut (0..said.len()), bytes / 4);
    look(&mut report.into_iter(), usize::MAX);
    texts
}

/// Returns the pieces of a text that may be told: not code, nor what only announces a call, nor what a later sentence
/// takes back. The beginning of the last texts, of `for_last` tokens, is told as it is.
fn ranked_pieces(text: &str, kind: SaidKind, age: usize, for_last: u64) -> Vec<SaidPiece> {
    const REASONS: &str = "because|the cause|root cause|caused by|instead|rather than|decided|fails|failed|the issue is|the problem is|the bug|turns out|the reason|due to|so that|does not|doesn't|won't|cannot|can't|not possible|needs to|must |only works|unlike|因为|原因|改用|决定|而不是";
    const RETRACTIONS: &str = "wait|actually|no,|hmm|hold on|oh,|but wait|scratch that|等等|不对";
    /// Bytes of a sentence that says nothing by itself, unless it holds a name or a number.
    const REMARK: usize = 40;
    const BYTES_PER_TOKEN: u64 = 4;
    const LAST_STEPS: usize = 4;
    let is_report = kind == SaidKind::Report;
    let pieces = clip::pieces_with_lists(text);
    let shown: Vec<&str> = pieces.iter().map(|piece| &text[piece.range.clone()]).collect();
    let retracts = |at: usize| {
        shown.get(at).is_some_and(|piece| words::opens_with(piece.trim_start_matches(['*', '"']), RETRACTIONS))
    };
    let mut opens = true;
    let mut found = Vec::new();
    for (at, piece) in pieces.iter().enumerate() {
        let announced = kind != SaidKind::Report && at + 1 == shown.len() && shown[at].ends_with(':');
        let is_remark = announced || shown[at].len() <= REMARK && shown[at].is_ascii() && !words::has_label(shown[at]);
        let is_idle = is_remark
            || piece.kind != PieceKind::Sentence && piece.kind != PieceKind::Item
            || announces(shown[at])
            || retracts(at)
            || retracts(at + 1);
        let rank = match words::count(&shown[at].to_lowercase(), REASONS).min(2) {
            _ if (piece.range.end as u64) < for_last.saturating_mul(BYTES_PER_TOKEN) => SaidRank::Last,
            _ if is_idle && (for_last == 0 || is_remark) => continue,
            0 if opens && age <= LAST_STEPS || is_report && words::has_label(shown[at]) => SaidRank::Opening,
            0 if is_report || opens && kind == SaidKind::Step => SaidRank::Plain,
            0 => SaidRank::Rest,
            strength => SaidRank::Reason(Reverse(strength)),
        };
        opens = false;
        found.push(SaidPiece { rank, shared: 0, age, range: piece.range.clone() });
    }
    found
}

/// Whether a sentence only announces the next call, which is told itself.
fn announces(sentence: &str) -> bool {
    const OPENINGS: &str = "let me|let's|let us|i'll|i will|i need to|i should|i'm going to|i am going to|i understand|i have a clear|i can help|i can assist|could you please|please provide|please let me know|if you have any|is there anything";
    /// Bytes at the beginning, where words like "Good. Now" can stand before them.
    const START: usize = 32;
    let start = &sentence[..sentence.floor_char_boundary(START)];
    words::has_word(&start.replace('’', "'"), OPENINGS)
}
