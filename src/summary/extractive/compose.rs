//! The text of a summary: sections of lines, in the order of the history.

use std::collections::{HashMap, HashSet};

use crate::summary::ledger::{Cell, Kind, Speaker, USER};

use crate::summary::extractive::notes::{Line, Notes, Piece, SECTIONS, Section, Shape, label_of, name_of};

/// What stands before the pieces of a line.
pub(super) fn opening(line: &Line, plain: bool) -> String {
    let mark = if plain { "" } else { "- " };
    match line.shape {
        Shape::Speech => mark.to_owned(),
        Shape::Values if line.about.is_empty() => mark.to_owned(),
        Shape::Values | Shape::List => format!("{mark}{}: ", line.about),
        Shape::Command => format!("{mark}`{}` → ", line.about),
    }
}

/// What stands before the lines of a section; in a plain summary only before what the user said.
pub(super) fn heading(section: Section, plain: bool) -> String {
    match (plain, section) {
        (true, Section::Intent) => USER.to_owned(),
        (true, _) => String::new(),
        (false, _) => format!("{}\n", section.heading()),
    }
}

/// What stands before the values of a call, where there are several of a tool.
pub(super) fn nested(call: &str, plain: bool) -> String {
    if plain && call.starts_with('(') { format!("\n{call}") } else { format!("\n  {call}") }
}

/// The name of the list or object that a value stands in.
pub(super) fn label(cell: &Cell) -> &str {
    cell.group.rsplit('.').next().unwrap_or("")
}

/// A piece with its place among all of them.
type Placed<'p> = (usize, &'p Piece);

/// The sections of what was chosen.
pub(super) fn compose(notes: &Notes, chosen: &[usize]) -> String {
    let mut in_order = chosen.to_vec();
    in_order.sort_unstable();
    let mut of_line: Vec<Vec<Placed<'_>>> = vec![Vec::new(); notes.lines.len()];
    for at in in_order {
        let piece = &notes.pieces[at];
        of_line[piece.line as usize].push((at, piece));
    }
    let mut named = HashSet::new();
    let mut sections = Vec::new();
    for section in SECTIONS {
        let lines = lines(notes, section, &of_line, &mut named);
        if !lines.is_empty() {
            sections.push(format!("{}{}", heading(section, notes.plain), lines.join("\n")));
        }
    }
    sections.join(if notes.plain { "\n" } else { "\n\n" })
}

/// The lines of a section. What the user said in short messages goes on one after another.
fn lines(notes: &Notes, section: Section, of_line: &[Vec<Placed<'_>>], named: &mut HashSet<u64>) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    let mut went_on = false;
    for (line, pieces) in
        notes.lines.iter().zip(of_line).filter(|(line, pieces)| line.section == section && !pieces.is_empty())
    {
        let text = joined(line, pieces, named, notes.plain);
        let by_user = |piece: &Piece| piece.kind != Kind::Rule && piece.speaker == Speaker::User;
        let goes_on = section == Section::Intent
            && line.shape == Shape::Speech
            && (notes.plain || pieces.iter().all(|(_, piece)| by_user(piece)));
        let last = lines.last_mut().filter(|last| goes_on && went_on && last.len() + text.len() < LONGEST_PARAGRAPH);
        match last {
            Some(last) => {
                last.push_str(if last.ends_with(ENDS) { " " } else { "; " });
                last.push_str(&text);
            }
            None if text.starts_with('\n') => lines.push(format!("{}{text}", opening(line, notes.plain).trim_end())),
            None => lines.push(format!("{}{text}", opening(line, notes.plain))),
        }
        went_on = goes_on;
    }
    lines
}

/// Bytes of a line that the words of several short messages share.
const LONGEST_PARAGRAPH: usize = 480;
/// What ends a sentence, so that another can follow.
const ENDS: [char; 12] = ['.', '!', '?', '。', '！', '？', '…', ':', ';', ',', '；', '：'];

/// Those of them that need no space behind them.
const WIDE_ENDS: [char; 5] = ['。', '！', '？', '；', '：'];

fn joined(line: &Line, pieces: &[Placed<'_>], named: &mut HashSet<u64>, plain: bool) -> String {
    match line.shape {
        Shape::Speech => sentences(pieces),
        Shape::List => texts(pieces, ", "),
        Shape::Command => texts(pieces, "; "),
        Shape::Values => calls(pieces, named, plain),
    }
}

fn texts(pieces: &[Placed<'_>], between: &str) -> String {
    pieces.iter().map(|(_, piece)| &*piece.text).collect::<Vec<_>>().join(between)
}

/// Sentences and clauses one after another; a clause whose neighbour was not taken stands by itself.
fn sentences(pieces: &[Placed<'_>]) -> String {
    let mut text = String::new();
    for (place, (at, piece)) in pieces.iter().enumerate() {
        let follows = place > 0 && pieces[place - 1].0 + 1 == *at;
        let next_follows = pieces.get(place + 1).is_some_and(|(next, _)| at + 1 == *next);
        let mut said = &*piece.text;
        if !follows {
            said = ["and ", "but "].iter().find_map(|joint| said.strip_prefix(joint)).unwrap_or(said);
        }
        if !next_follows {
            said = said.trim_end_matches([',', ';']);
        }
        if !text.is_empty() {
            let joint = said.starts_with("and ") || said.starts_with("but ");
            text.push_str(match () {
                () if text.ends_with(WIDE_ENDS) => "",
                () if text.ends_with(ENDS) || joint => " ",
                () => "; ",
            });
        }
        text.push_str(said);
    }
    text
}

/// What the calls of a tool brought: of one call behind its name, of several each on a line.
fn calls(pieces: &[Placed<'_>], named: &mut HashSet<u64>, plain: bool) -> String {
    let mut by_call: Vec<(&str, Vec<&Piece>)> = Vec::new();
    let mut place: HashMap<&str, usize> = HashMap::new();
    for (_, piece) in pieces {
        let at = *place.entry(&piece.call).or_insert(by_call.len());
        if at == by_call.len() {
            by_call.push((&piece.call, Vec::new()));
        }
        by_call[at].1.push(piece);
    }
    let several = by_call.len() > 1;
    let lines = by_call.into_iter().map(|(call, pieces)| match (several, call) {
        (false, "") => values(&pieces, named),
        (false, call) => format!("{call} {}", values(&pieces, named)),
        (true, "") => format!("{}{}", nested("", plain), values(&pieces, named)),
        (true, call) => format!("{} {}", nested(call, plain), values(&pieces, named)),
    });
    lines.collect()
}

/// Values by the names they have: the name of a text is said once for all calls of a tool, that of a number once for
/// each of them, and that of what says by itself what it is not at all.
fn values(pieces: &[&Piece], named: &mut HashSet<u64>) -> String {
    let mut text = String::new();
    let mut before: Option<(&str, usize, bool)> = None;
    for piece in pieces {
        let Some(cell) = &piece.cell else {
            text.push_str(if text.is_empty() { "" } else { "; " });
            text.push_str(&piece.text);
            before = None;
            continue;
        };
        let is_named = !piece.nameless && !cell.key.is_empty() && named.insert(name_of(piece, cell));
        let spaced = cell.value.contains(' ');
        let same_group = before.is_some_and(|(group, ..)| group == cell.group);
        let same_row = before.is_some_and(|(_, row, _)| row == cell.row && (same_group || row > 0));
        text.push_str(match before {
            Some((_, _, was_spaced)) if same_row => {
                if spaced || was_spaced {
                    ", "
                } else {
                    " "
                }
            }
            _ if text.is_empty() => "",
            _ => "; ",
        });
        let is_known = same_row || piece.evident;
        if !same_group && !label(cell).is_empty() && (named.insert(label_of(piece, cell)) || !is_known) {
            text.push_str(label(cell));
            text.push_str(": ");
        }
        before = Some((&cell.group, cell.row, spaced));
        if is_named {
            text.push_str(&cell.key);
            text.push('=');
        }
        text.push_str(&piece.text);
    }
    text
}
