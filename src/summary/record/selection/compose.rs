//! Writes values and names as lines.

use std::collections::hash_map::Entry;
use std::collections::{HashMap, HashSet};

use crate::summary::record::json_fields::JsonField;
use crate::summary::record::selection::choose::{ObjectKey, identifiers, object_of};
use crate::summary::record::selection::{LineLayout, Notes, SummaryLine, ValuePiece, label_of, name_of};

/// Returns the prefix of a line.
pub(super) fn line_prefix(line: &SummaryLine, plain: bool) -> String {
    let mark = if plain { "" } else { "- " };
    match line.layout {
        LineLayout::Values if line.about.is_empty() => mark.to_owned(),
        LineLayout::Values | LineLayout::List => format!("{mark}{}: ", line.about),
    }
}

/// Returns the prefix of a call's values, if a tool was called several times.
pub(super) fn call_prefix(call: &str, plain: bool) -> String {
    if plain && call.starts_with('(') { format!("\n{call}") } else { format!("\n  {call}") }
}

/// Returns the name of the list or object that contains a value.
pub(super) fn group_label(field: &JsonField) -> &str {
    field.group.rsplit('.').next().unwrap_or("")
}

/// The names and labels written so far.
#[derive(Default)]
struct WrittenNames {
    labels: HashSet<u64>,
    /// The names of the values of the object in which a name was written first.
    objects: HashMap<u64, Vec<String>>,
}

impl WrittenNames {
    /// Whether a value needs its name: the first of its name does, and each in an object with other values than the
    /// first had. Otherwise its place would tell another name.
    fn needs_name(&mut self, name: u64, object: &[String]) -> bool {
        let first = self.objects.entry(name);
        match first {
            Entry::Occupied(first) => first.get() != object,
            Entry::Vacant(none) => {
                none.insert(object.to_vec());
                true
            }
        }
    }
}

/// A piece with its index among all.
type IndexedPiece<'p> = (usize, &'p ValuePiece);

/// Writes the chosen pieces as lines, in the order of the history.
pub(super) fn compose(notes: &Notes, chosen: &[usize]) -> Vec<String> {
    let mut in_order = chosen.to_vec();
    in_order.sort_unstable();
    let mut of_line: Vec<Vec<IndexedPiece<'_>>> = vec![Vec::new(); notes.lines.len()];
    for at in in_order {
        let piece = &notes.pieces[at];
        of_line[piece.line as usize].push((at, piece));
    }
    let mut written_names = WrittenNames::default();
    let gaps = Gaps::of(notes, chosen);
    let mut lines: Vec<String> = Vec::new();
    for (line, pieces) in notes.lines.iter().zip(of_line).filter(|(_, pieces)| !pieces.is_empty()) {
        let opening = line_prefix(line, notes.plain);
        match line.layout {
            LineLayout::List => {
                // Long rows of names are hard to search.
                for some in pieces.chunks(MOST_NAMES) {
                    let names: Vec<&str> = some.iter().map(|(_, piece)| &*piece.text).collect();
                    lines.push(format!("{opening}{}", names.join(", ")));
                }
            }
            LineLayout::Values => {
                let text = compose_calls(&pieces, &mut written_names, &gaps, notes.plain);
                let opening = if text.starts_with('\n') { opening.trim_end() } else { &opening };
                lines.push(format!("{opening}{text}"));
            }
        }
    }
    lines
}

/// The objects and calls of which something is missing: without a mark, they would look complete.
#[derive(Default)]
struct Gaps<'n> {
    /// The calls of which a whole object is missing, by their line.
    calls: HashSet<(u32, &'n str)>,
    /// The objects without what identifies them.
    objects: HashSet<ObjectKey<'n>>,
}

impl<'n> Gaps<'n> {
    fn of(notes: &'n Notes, chosen: &[usize]) -> Gaps<'n> {
        if !notes.whole_objects {
            return Gaps::default();
        }
        let chosen: HashSet<usize> = chosen.iter().copied().collect();
        let written: HashSet<ObjectKey<'_>> = chosen.iter().filter_map(|at| object_of(&notes.pieces[*at])).collect();
        let objects = notes.pieces.iter().filter_map(object_of);
        let calls = objects.filter(|object| !written.contains(object)).map(|(line, call, _)| (line, call)).collect();
        let identifiers = identifiers(&notes.pieces).into_iter().enumerate();
        let nameless = identifiers.filter(|(_, identifier)| identifier.is_some_and(|at| !chosen.contains(&at)));
        Gaps { calls, objects: nameless.filter_map(|(at, _)| object_of(&notes.pieces[at])).collect() }
    }
}

/// Most names on a line.
const MOST_NAMES: usize = 8;

/// Writes the values of a tool's calls: those of one call after its name, those of several on a line each.
fn compose_calls(
    pieces: &[IndexedPiece<'_>],
    written_names: &mut WrittenNames,
    gaps: &Gaps<'_>,
    plain: bool,
) -> String {
    let mut by_call: Vec<(&str, Vec<&ValuePiece>)> = Vec::new();
    let mut place: HashMap<&str, usize> = HashMap::new();
    for (_, piece) in pieces {
        let at = *place.entry(&piece.call).or_insert(by_call.len());
        if at == by_call.len() {
            by_call.push((&piece.call, Vec::new()));
        }
        by_call[at].1.push(piece);
    }
    let several = by_call.len() > 1;
    let lines = by_call.into_iter().map(|(call, pieces)| {
        let gap = if gaps.calls.contains(&(pieces[0].line, call)) { "; …" } else { "" };
        let values = compose_values(&pieces, written_names, gaps);
        match (several, call) {
            (false, "") => format!("{values}{gap}"),
            (false, call) => format!("{call} {values}{gap}"),
            (true, "") => format!("{}{values}{gap}", call_prefix("", plain)),
            (true, call) => format!("{} {values}{gap}", call_prefix(call, plain)),
        }
    });
    lines.collect()
}

/// Writes values with their names: the name of a text once per tool, that of a number once per call, and none for a
/// value that is clear without it.
fn compose_values(pieces: &[&ValuePiece], written_names: &mut WrittenNames, gaps: &Gaps<'_>) -> String {
    let mut text = String::new();
    let mut previous: Option<(&str, usize, bool)> = None;
    let is_of = |piece: &&ValuePiece, field: &JsonField| {
        piece.field.as_ref().is_some_and(|other| other.group == field.group && other.row == field.row)
    };
    for piece in pieces {
        let Some(field) = &piece.field else {
            text.push_str(if text.is_empty() { "" } else { "; " });
            text.push_str(&piece.text);
            previous = None;
            continue;
        };
        let object = || -> Vec<String> {
            let of_object = pieces.iter().filter(|other| is_of(other, field) && !other.is_nameless);
            of_object.filter_map(|other| Some(other.field.as_ref()?.key.clone())).collect()
        };
        let is_named =
            !piece.is_nameless && !field.key.is_empty() && written_names.needs_name(name_of(piece, field), &object());
        let spaced = field.value.contains(' ');
        let same_group = previous.is_some_and(|(group, ..)| group == field.group);
        let same_row = previous.is_some_and(|(_, row, _)| row == field.row && (same_group || row > 0));
        text.push_str(match previous {
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
        let is_known = same_row || piece.is_evident;
        if !same_group
            && !group_label(field).is_empty()
            && (written_names.labels.insert(label_of(piece, field)) || !is_known)
        {
            text.push_str(group_label(field));
            text.push_str(": ");
        }
        // The values of the next object, not more of the one before.
        if previous.is_some() && !same_row && object_of(piece).is_some_and(|object| gaps.objects.contains(&object)) {
            text.push_str("… ");
        }
        previous = Some((&field.group, field.row, spaced));
        if is_named {
            text.push_str(&field.key);
            text.push('=');
        }
        text.push_str(&piece.text);
    }
    text
}
