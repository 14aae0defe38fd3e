//! The pieces of a text in the order in which they are told: a shorter version of the text is a beginning of that order,
//! shown in the order of the text. So a longer version holds every piece of a shorter one.

use std::borrow::Cow;
use std::collections::HashMap;
use std::ops::Range;

use crate::digest::cues::has_cue;
use crate::digest::grammar::GAP;
use crate::digest::pieces::{Piece, PieceKind, indented, pieces, shown};
use crate::wording::one_line;

/// A text with its pieces in the order in which they are told.
pub(super) struct RankedText<'t> {
    text: Cow<'t, str>,
    pieces: Vec<Piece>,
    /// The places of the pieces that are told for their own sake, the most telling first.
    order: Vec<usize>,
    /// What stands between two pieces on one line; `None` where lines stay lines.
    separator: Option<&'static str>,
}

/// A line of a result, of a list or of a plan.
#[derive(Debug)]
pub(super) struct Line {
    /// Those of the lowest rank are told first.
    rank: i32,
    text: String,
    is_heading: bool,
    /// The number of the heading that it stands below.
    heading: Option<usize>,
}

impl Line {
    pub(super) fn new(rank: i32, text: String) -> Self {
        Line { rank, text, is_heading: false, heading: None }
    }

    pub(super) fn heading(text: String) -> Self {
        Line { is_heading: true, ..Line::new(0, text) }
    }

    pub(super) fn below(heading: usize, rank: i32, text: String) -> Self {
        Line { heading: Some(heading), ..Line::new(rank, text) }
    }
}

impl<'t> RankedText<'t> {
    /// A message of the user: its beginning, its end, what has a cue, and then the rest. Behind a long text that was pasted
    /// comes first what stands below it.
    pub(super) fn of_user(text: Cow<'t, str>) -> Self {
        /// Bytes of a text that a person rarely types.
        const PASTED: usize = 3_000;
        let pieces = pieces(&text);
        let last = pieces.len().saturating_sub(1);
        let first = pieces.iter().position(Piece::is_prose).unwrap_or(0);
        let below = text.trim_end().rsplit('\n').next().map_or(0, str::len);
        let is_pasted = text.len() > PASTED && below < PASTED / 2;
        let mut ranks = Vec::with_capacity(pieces.len());
        for (at, piece) in pieces.iter().enumerate() {
            let is_below = piece.line == pieces[last].line && (at == last || piece.kind == PieceKind::Sentence);
            ranks.push(if is_pasted && is_below {
                0
            } else if at == first {
                i32::from(is_pasted)
            } else if at == last {
                1
            } else if has_cue(&text[piece.range.clone()]) {
                2
            } else {
                3
            });
        }
        let order = ordered(&pieces, &ranks);
        RankedText { text, pieces, order, separator: None }
    }

    /// A text of the assistant: what concludes, names and counts comes first, with its beginning and its end.
    pub(super) fn of_assistant(text: Cow<'t, str>) -> Self {
        let pieces = pieces(&text);
        let ranks: Vec<i32> = (0..pieces.len()).map(|at| -score(&text, &pieces, at)).collect();
        let order = ordered(&pieces, &ranks);
        RankedText { text, pieces, order, separator: None }
    }

    /// A summary that somebody else wrote: what has a cue, then the first line below each heading, the second, and so on.
    pub(super) fn of_summary(text: Cow<'t, str>) -> Self {
        let pieces = pieces(&text);
        let mut below: HashMap<Option<usize>, i32> = HashMap::new();
        let mut ranks = Vec::with_capacity(pieces.len());
        for piece in &pieces {
            let number = below.entry(piece.heading).or_default();
            *number += 1;
            ranks.push(if has_cue(&text[piece.range.clone()]) { 0 } else { *number });
        }
        let order = ordered(&pieces, &ranks);
        RankedText { text, pieces, order, separator: None }
    }

    /// The sentences of a text that have a cue, each below its headings.
    pub(super) fn of_rules(text: Cow<'t, str>) -> Self {
        let pieces = pieces(&text);
        let mut order = in_order(&pieces);
        order.retain(|at| is_rule(&text, &pieces[*at]));
        RankedText { text, pieces, order, separator: None }
    }

    /// Lines with their ranks, told on one line.
    pub(super) fn of_lines(lines: Vec<Line>, separator: &'static str) -> Self {
        let mut text = String::new();
        let mut pieces = Vec::with_capacity(lines.len());
        let mut ranks = Vec::with_capacity(lines.len());
        for (at, line) in lines.iter().enumerate() {
            let start = text.len();
            text.push_str(&line.text);
            let kind = if line.is_heading { PieceKind::Heading } else { PieceKind::Item };
            pieces.push(Piece { range: start..text.len(), kind, line: at, heading: line.heading });
            text.push('\n');
            ranks.push(line.rank);
        }
        let order = ordered(&pieces, &ranks);
        RankedText { text: text.into(), pieces, order, separator: Some(separator) }
    }

    /// The same, each line on its own.
    pub(super) fn of_separate_lines(lines: Vec<Line>) -> Self {
        RankedText { separator: None, ..RankedText::of_lines(lines, "") }
    }

    /// The places of the pieces that have room in so many bytes, in the order of the text. The first always has.
    pub(super) fn within(&self, most: usize) -> Vec<usize> {
        let mut chosen = vec![false; self.pieces.len()];
        let mut left = most;
        for (number, &at) in self.order.iter().enumerate() {
            let mut new = Vec::new();
            let mut next = Some(at);
            while let Some(at) = next
                && !chosen[at]
            {
                new.push(at);
                next = self.pieces[at].heading;
            }
            let size: usize = new.iter().map(|at| self.pieces[*at].range.len() + 1).sum();
            if size > left + 1 && number > 0 {
                break;
            }
            left = left.saturating_sub(size);
            for at in new {
                chosen[at] = true;
            }
        }
        (0..chosen.len()).filter(|at| chosen[*at]).collect()
    }

    /// The pieces at these places as they stand in the text, with marks where something is left out.
    pub(super) fn shown(&self, chosen: &[usize]) -> String {
        let Some(separator) = self.separator else {
            let ranges: Vec<Range<usize>> = chosen.iter().map(|at| self.pieces[*at].range.clone()).collect();
            return indented(&shown(&self.text, &ranges));
        };
        let mut out = String::new();
        let mut next = 0;
        for &at in chosen {
            if !out.is_empty() {
                let follows_heading = at > 0 && self.pieces[at - 1].kind == PieceKind::Heading && at == next;
                out.push_str(if follows_heading { " " } else { separator });
            }
            if at > next {
                out.extend([GAP, ' ']);
            }
            out.push_str(&one_line(&self.text[self.pieces[at].range.clone()]));
            next = at + 1;
        }
        if next < self.pieces.len() {
            out.extend([' ', GAP]);
        }
        out.trim_start().to_owned()
    }

    /// How many lines of the text are not among these pieces.
    pub(super) fn lines_left_out(&self, chosen: &[usize]) -> usize {
        let mut all: Vec<usize> = self.pieces.iter().map(|piece| piece.line).collect();
        all.dedup();
        let mut told: Vec<usize> = chosen.iter().map(|at| self.pieces[*at].line).collect();
        told.dedup();
        all.len() - told.len()
    }
}

/// The places of the pieces that are not headings, by their ranks and then as they stand.
fn ordered(pieces: &[Piece], ranks: &[i32]) -> Vec<usize> {
    let mut order = in_order(pieces);
    order.sort_by_key(|at| ranks[*at]);
    order
}

/// The places of the pieces that are not headings, as they stand.
fn in_order(pieces: &[Piece]) -> Vec<usize> {
    let order: Vec<usize> = (0..pieces.len()).filter(|at| pieces[*at].kind != PieceKind::Heading).collect();
    // A text of headings alone is told, too.
    if order.is_empty() { (0..pieces.len()).collect() } else { order }
}

/// Whether a piece commands or forbids in prose, and is not a part of code or data.
fn is_rule(text: &str, piece: &Piece) -> bool {
    let shown = &text[piece.range.clone()];
    let is_data = piece.kind == PieceKind::Code || shown.contains(['{', '}']) || shown.starts_with('"');
    !is_data && has_cue(shown)
}

/// How much a piece of the assistant's text tells.
fn score(text: &str, pieces: &[Piece], at: usize) -> i32 {
    #[rustfmt::skip]
    const FINDINGS: [&str; 64] = [
        "because", "root cause", "found", "so that", "therefore", "decided", "decision", "result", "means",
        "turns out", "actually", "conclusion", "verdict", "passes", "passed", "failed", "fixed", "cause", "reason",
        "instead", "rejected", "next", "created", "done", "built", "left", "open", "blocked", "works", "total", "因为",
        "原因", "结果", "决定", "发现", "完成", "所以", "porque", "resultado", "decid", "結果", "決定", "修正", "反映",
        "更新しました", "원인", "결과", "결정", "완료", "수정", "weil", "ergebnis", "ursache", "behoben", "entschied",
        "parce que", "résultat", "corrigé", "décid", "потому", "причин", "результат", "исправ", "nguyên nhân",
    ];
    const GOES_ON: [&str; 5] = ["next", "now", "let me", "shall", "want"];
    let shown = &text[pieces[at].range.clone()];
    let lower = shown.to_lowercase();
    let mut score = 0;
    if FINDINGS.iter().any(|word| lower.contains(word)) || shown.contains("**") {
        score += 15;
    }
    score += (5 * names_and_numbers(shown)).min(20);
    if shown.len() > 40 {
        score += 10;
    }
    if at == 0 {
        score += 12;
    }
    if at + 1 == pieces.len() {
        let goes_on = shown.contains(['?', '？']) || GOES_ON.iter().any(|word| lower.contains(word));
        score += if goes_on { 15 } else { 5 };
    }
    if shown.starts_with('|') {
        score -= 5;
    }
    score
}

/// How many words of a text are names or numbers: `src/a.rs`, `x_y`, `HTTP`, 42, `code`.
fn names_and_numbers(text: &str) -> i32 {
    let mut found = 0;
    for word in text.split_whitespace() {
        let word = word.trim_matches(|c: char| c.is_ascii_punctuation() && c != '`');
        let capitals = word.chars().take_while(char::is_ascii_uppercase).count();
        let inside = word.get(1..word.len().saturating_sub(1)).unwrap_or("");
        if word.starts_with('`')
            || capitals > 2
            || inside.contains(['_', '/', '.'])
            || word.contains(|c: char| c.is_ascii_digit())
        {
            found += 1;
        }
    }
    found
}
