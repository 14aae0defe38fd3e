//! What the assistant said: reports that end a turn and steps between calls, and which of their pieces are told.

use std::cmp::Reverse;
use std::collections::{BTreeMap, HashMap, HashSet};
use std::ops::Range;

use serde_json::Value;

use crate::digest::clip::{self, ClipPiece, PieceKind, indented};
use crate::digest::cues::{Focus, has_word, words_of};
use crate::digest::grammar::{Lines, Place, THOUGHT, unlabelled};
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
    /// Of the beginning of the last report, or of one of the last texts.
    Last,
    /// It opens a text.
    Opening,
    Report,
    Rest,
}

/// A piece of a text that may be told.
struct SaidPiece {
    rank: SaidRank,
    /// How many texts came later.
    age: usize,
    range: Range<usize>,
    /// The heading or the announcement that it stands below.
    heading: Option<Range<usize>>,
}

/// Lines of what the assistant said, in at most `room` tokens: the last report (in `for_report`) and the last steps,
/// sentences of the focus, and then other pieces, those of reports and of later texts first. Of a text nothing is told
/// behind what had no room.
pub(super) fn lines(said: &[Said<'_>], counter: Counter, room: u64, for_report: u64, focus: &Focus) -> Lines {
    /// The last texts that are told as they are, and bytes that are looked at for each token of room.
    const LAST_TEXTS: usize = 3;
    const LOOK: u64 = 256;
    let report = said.iter().rposition(|said| said.kind == SaidKind::Report);
    let mut look = room.saturating_mul(LOOK);
    let (mut texts, mut pieces, mut known) = (HashMap::new(), Vec::new(), HashSet::new());
    for (age, Said { text, kind, .. }) in said.iter().rev().enumerate() {
        let is_last_report = Some(said.len() - 1 - age) == report;
        if look > 0 || is_last_report {
            let for_last = if is_last_report { for_report } else { for_report / LAST_TEXTS as u64 };
            let for_last = if is_last_report || age < LAST_TEXTS { for_last } else { 0 };
            let read = text.read().trim().to_owned();
            let read = message_in(&read).unwrap_or(read);
            pieces.extend(new_pieces(&read, *kind, age, for_last, &mut known));
            texts.insert(age, read);
        }
        look = look.saturating_sub(text.bytes() as u64);
    }
    let shown = |piece: &SaidPiece| indented(&texts[&piece.age][piece.range.clone()]);
    let shared = focus.shared(pieces.iter().map(shown));
    let mut order: Vec<(SaidPiece, usize)> = pieces.into_iter().zip(shared).collect();
    order.sort_by_key(|(piece, shared)| (piece.rank != SaidRank::Last, Reverse(*shared), piece.rank, piece.age));
    let of = |age: usize| &said[said.len() - 1 - age];
    let mark = |age: usize| if of(age).kind == SaidKind::Thought { THOUGHT } else { "" };
    let mut left = room;
    let mut chosen: BTreeMap<Reverse<usize>, Vec<Range<usize>>> = BTreeMap::new();
    let mut full = HashSet::new();
    for (piece, _) in order {
        let age = piece.age;
        if full.contains(&age) {
            continue;
        }
        let ranges = chosen.entry(Reverse(age)).or_default();
        // It can stand as the heading of what follows it.
        if ranges.contains(&piece.range) {
            continue;
        }
        let heading = piece.heading.filter(|heading| !ranges.contains(heading));
        let around = if ranges.is_empty() { format!("- [9999] {}… …\n", mark(age)) } else { " …\n  ".to_owned() };
        let cost = [heading.clone(), Some(piece.range.clone())].into_iter().flatten();
        let cost = cost.map(|range| counter.count_text(&indented(&texts[&age][range]))).sum::<u64>();
        if let Some(less) = left.checked_sub(cost + counter.count_text(&around)) {
            left = less;
            ranges.extend(heading.into_iter().chain([piece.range]));
        } else {
            full.insert(age);
        }
    }
    let line = |(Reverse(age), ranges): (Reverse<usize>, Vec<Range<usize>>)| {
        let ranges = Some(clip::without_lone_headings(&texts[&age], ranges)).filter(|ranges| !ranges.is_empty())?;
        let shown = unlabelled(&indented(&clip::shown(&texts[&age], ranges)));
        Some((of(age).place, format!("{}{shown}", mark(age))))
    };
    chosen.into_iter().filter_map(line).collect()
}

/// The pieces of a text that may be told: not code, nor what only announces a call, nor what a later text says too, but
/// for digits, marks and a few words: most of its phrases are `known`. The beginning of the last texts, of `last`
/// tokens, is told as it is.
fn new_pieces(text: &str, kind: SaidKind, age: usize, last: u64, known: &mut HashSet<String>) -> Vec<SaidPiece> {
    /// Words of a phrase, and bytes of a remark, which says nothing by itself unless it holds a name or a number.
    const PHRASE: usize = 4;
    const REMARK: usize = 40;
    /// Bytes of what opens a text.
    const OPENING: usize = 120;
    const BYTES_PER_TOKEN: u64 = 4;
    let (mut found, mut own): (Vec<SaidPiece>, Vec<String>) = (Vec::new(), Vec::new());
    let mut heading = None;
    for ClipPiece { range, kind: piece } in clip::pieces_up_to(text, clip::LONGEST) {
        let shown = &text[range.clone()];
        let lower = shown.to_lowercase();
        let words: Vec<String> = words_of(&lower).filter(|word| !word.contains(char::is_numeric)).collect();
        let phrases: Vec<String> = words.windows(PHRASE.min(words.len()).max(1)).map(|words| words.join(" ")).collect();
        let is_known = 3 * phrases.iter().filter(|phrase| known.contains(*phrase)).count() >= 2 * phrases.len().max(1);
        own.extend(phrases);
        let names = shown.contains(|c: char| "`\"“_/".contains(c) || c.is_ascii_digit() || !c.is_ascii());
        let is_remark = shown.len() <= REMARK && !names || range.end == text.len() && shown.ends_with(':');
        let is_idle = announces(shown) || is_remark && kind != SaidKind::Report;
        let is_heading = piece == PieceKind::Heading || piece == PieceKind::Sentence && shown.ends_with([':', '：']);
        let above = heading.clone();
        heading = if is_heading { Some(range.clone()) } else { heading };
        let is_sentence = matches!(piece, PieceKind::Sentence | PieceKind::Item);
        let is_last = range.end as u64 <= last.saturating_mul(BYTES_PER_TOKEN);
        let rank = match kind {
            _ if is_known => continue,
            SaidKind::Thought if is_idle || !is_sentence => continue,
            _ if is_idle && age > 0 => continue,
            _ if is_last => SaidRank::Last,
            _ if is_idle || !is_sentence || !lower.contains(char::is_alphanumeric) => continue,
            SaidKind::Report | SaidKind::Step if range.start < OPENING => SaidRank::Opening,
            SaidKind::Report => SaidRank::Report,
            _ => SaidRank::Rest,
        };
        found.push(SaidPiece { rank, age, range, heading: above.filter(|_| !is_heading) });
    }
    known.extend(own);
    found
}

/// The text of an agent that must answer in JSON: the only member of an object.
fn message_in(text: &str) -> Option<String> {
    let Value::Object(members) = serde_json::from_str(text).ok()? else { return None };
    let mut values = members.into_iter().map(|(_, value)| value);
    match (values.next(), values.next()) {
        (Some(Value::String(text)), None) => Some(text.trim().to_owned()),
        _ => None,
    }
}

/// Whether a sentence only announces the next call, which is told itself.
fn announces(sentence: &str) -> bool {
    const OPENINGS: &str = "let me|let's|let us|i'll|i will|i need to|i should|i'm going to|i am going to|i understand|i have a clear|i can help|i can assist|could you please|please provide|please let me know|if you have any|is there anything";
    /// Bytes at the beginning, where words like "Good. Now" can stand before them.
    const START: usize = 32;
    let start = &sentence[..sentence.floor_char_boundary(START)];
    has_word(&start.replace('’', "'"), OPENINGS)
}
