//! Values and names as lines.

use std::collections::{HashMap, HashSet};

use crate::summary::record::selection::{Line, Notes, Piece, Shape, label_of, name_of};
use crate::summary::record::values::Cell;

/// What stands before the pieces of a line.
pub(super) fn opening(line: &Line, plain: bool) -> String {
    let mark = if plain { "" } else { "- " };
    match line.shape {
        Shape::Values if line.about.is_empty() => mark.to_owned(),
        Shape::Values | Shape::List => format!("{mark}{}: ", line.about),
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

/// The lines of what was chosen, in the order of the history.
pub(super) fn compose(notes: &Notes, chosen: &[usize]) -> Vec<String> {
    let mut in_order = chosen.to_vec();
    in_order.sort_unstable();
    let mut of_line: Vec<Vec<Placed<'_>>> = vec![Vec::new(); notes.lines.len()];
    for at in in_order {
        let piece = &notes.pieces[at];
        of_line[piece.line as usize].push((at, piece));
    }
    let mut named = HashSet::new();
    let mut lines: Vec<String> = Vec::new();
    for (line, pieces) in notes.lines.iter().zip(of_line).filter(|(_, pieces)| !pieces.is_empty()) {
        let opening = opening(line, notes.plain);
        match line.shape {
            Shape::List => {
                // Of many names in a row nobody finds one.
                for some in pieces.chunks(MOST_NAMES) {
                    let names: Vec<&str> = some.iter().map(|(_, piece)| &*piece.text).collect();
                    lines.push(format!("{opening}{}", names.join(", ")));
                }
            }
            Shape::Values => {
                let text = calls(&pieces, &mut named, notes.plain);
                let opening = if text.starts_with('\n') { opening.trim_end() } else { &opening };
                lines.push(format!("{opening}{text}"));
            }
        }
    }
    lines
}

/// Names that stand on one line.
const MOST_NAMES: usize = 6;

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
