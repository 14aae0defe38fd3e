//! Chooses values and names for the room left in a summary: of everything that calls returned, the most important for
//! its size.
//!
//! A piece is a value or a name; a line has the pieces of one tool or place. The literals of a piece are its terms, so
//! that a summary does not repeat them.

mod choose;
mod compose;
mod mentions;

use std::collections::HashMap;
use std::hash::{BuildHasher, Hash};
use std::sync::LazyLock;

use foldhash::fast::RandomState;

use crate::summary::record::FoundValue;
use crate::summary::record::history_turns::HistoryTurn;
use crate::summary::record::json_fields::JsonField;
use crate::summary::record::literals::{LiteralClass, literals};
use crate::summary::record::segmentation::clip;
use crate::tokens::Counter;

use choose::PieceSelection;
pub(super) use choose::size;
use compose::{call_prefix, compose, group_label, line_prefix};
use mentions::Mentions;

/// Chooses the most important values and names for `room` tokens beside `text`. Returns the pieces in the order of
/// their selection.
pub(super) fn choose(notes: &Notes, text: &str, counter: Counter, room: f64) -> Vec<usize> {
    let mut choice = PieceSelection::new(notes, counter, text);
    let mut spent = 0.0;
    // A name written once leaves room for more, which is known only from the text.
    for _ in 0..ROUNDS {
        let before = choice.chosen.len();
        choice.fill(room - spent);
        if choice.chosen.len() == before {
            break;
        }
        spent = write_lines(notes, &choice.chosen).iter().map(|line| size(line, counter) + 0.5).sum();
    }
    choice.chosen
}

/// Writes pieces as lines.
pub(super) fn write_lines(notes: &Notes, chosen: &[usize]) -> Vec<String> {
    compose(notes, chosen)
}

/// How often the rest of the room is filled.
const ROUNDS: usize = 4;

/// How a line joins its pieces.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum LineLayout {
    /// Values of calls with their names.
    Values,
    /// A list of names.
    List,
}

/// A line of a summary.
#[derive(Debug)]
pub(super) struct SummaryLine {
    pub(super) layout: LineLayout,
    /// The subject of its pieces: a command, or a tool.
    pub(super) about: String,
}

/// A text that must be in a summary before some pieces can be, and that is paid once: a heading, the start of a line,
/// the arguments of a call, the name of a value.
#[derive(Debug)]
pub(super) struct SharedPrefix {
    pub(super) text: String,
    pub(super) pieces: Vec<u32>,
    /// The terms in it.
    pub(super) terms: Vec<u64>,
}

/// A term of a piece: a literal, value or word, which a summary has or lacks.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct PieceTerm {
    /// The hash, and in the lowest bit whether it is a literal.
    key_and_literal: u64,
    /// How important it is that the summary has it.
    pub(super) importance: f64,
}

impl PieceTerm {
    /// Makes a term from its [`hash`]. Its importance is set later.
    fn new(key: u64, is_literal: bool) -> Self {
        debug_assert!(key & 1 == 0, "the lowest bit is free");
        PieceTerm { key_and_literal: key | u64::from(is_literal), importance: 1.0 }
    }

    /// Returns the [`hash`] of the literal, value or word.
    pub(super) fn key(self) -> u64 {
        self.key_and_literal & !1
    }

    pub(super) fn is_literal(self) -> bool {
        self.key_and_literal & 1 == 1
    }
}

/// A part of a line. It is small, since a long history has thousands.
#[derive(Debug)]
pub(super) struct ValuePiece {
    pub(super) line: u32,
    /// The text; for a value, without its name.
    pub(super) text: Box<str>,
    pub(super) field: Option<Box<JsonField>>,
    /// The arguments of the call that returned it.
    pub(super) call: Box<str>,
    /// Whether the value is clear without its name.
    pub(super) is_evident: bool,
    /// Whether it is written without its name.
    pub(super) is_nameless: bool,
    /// The prefixes that it needs.
    prefixes: [u32; MOST_PREFIXES],
    pub(super) weight: f64,
    pub(super) terms: Box<[PieceTerm]>,
    /// Whether it is written only if there is room left.
    pub(super) is_spare: bool,
}

/// Most prefixes of a piece: those of its line, its call, its list or object, and its name.
const MOST_PREFIXES: usize = 4;

/// Most pieces: the lines and prefixes of this many can be numbered.
const MOST_PIECES: usize = u32::MAX as usize / MOST_PREFIXES;

/// The value of an unused prefix.
const NO_PREFIX: u32 = u32::MAX;

impl ValuePiece {
    /// Returns the indices of the prefixes that it needs.
    pub(super) fn prefixes(&self) -> impl Iterator<Item = usize> + use<> {
        self.prefixes.into_iter().filter(|prefix| *prefix != NO_PREFIX).map(|prefix| prefix as usize)
    }
}

/// All pieces to choose from.
#[derive(Debug, Default)]
pub(super) struct Notes {
    pub(super) lines: Vec<SummaryLine>,
    pub(super) pieces: Vec<ValuePiece>,
    pub(super) prefixes: Vec<SharedPrefix>,
    /// Whether lines have no list marks, for which there is no room.
    pub(super) plain: bool,
    /// Whether values stand with what identifies their object, and missing objects are marked.
    whole_objects: bool,
}

/// Builds the pieces for the values found in `turns`, and for the names in them.
pub(super) fn build_notes(
    turns: &[HistoryTurn<'_>],
    found: impl Iterator<Item = FoundValue>,
    plain: bool,
    whole_objects: bool,
) -> Notes {
    debug_assert!(turns.is_sorted_by_key(|turn| turn.index), "an index is searched for");
    let mut builder =
        NotesBuilder { turns, notes: Notes { plain, whole_objects, ..Notes::default() }, ..NotesBuilder::default() };
    found.take(MOST_PIECES).for_each(|found| builder.add(found));
    let mut mentions = Mentions::new(turns, builder.notes.pieces.iter().flat_map(|piece| &piece.terms));
    let room = MOST_PIECES - builder.notes.pieces.len();
    mentions.names(turns).take(room).for_each(|name| builder.add(name));
    for (piece, recency) in builder.notes.pieces.iter().zip(&builder.recencies) {
        mentions.add_piece(piece, *recency);
    }
    mentions.set_importance(&mut builder.notes.pieces);
    builder.notes
}

/// The pieces so far, with what finds their lines and prefixes.
#[derive(Default)]
struct NotesBuilder<'t, 's> {
    turns: &'t [HistoryTurn<'s>],
    notes: Notes,
    lines: ByHash<u32>,
    prefixes: ByHash<u32>,
    /// The place of each piece in the history, from 0 to 1.
    recencies: Vec<f64>,
}

impl NotesBuilder<'_, '_> {
    fn add(&mut self, mut found: FoundValue) {
        let NotesBuilder { turns, notes, lines, prefixes, recencies } = self;
        let entry = &found.entry;
        let (layout, about, call) = layout(&found);
        // The prefix of a call shows its arguments, and the label of a group its name.
        if found.field.as_ref().is_some_and(|field| {
            !field.bare && (call.contains(&field.value) || field.group.rsplit('.').next() == Some(field.value.as_str()))
        }) {
            return;
        }
        let line = *lines.entry(hash(&(layout, &about))).or_insert_with(|| {
            notes.lines.push(SummaryLine { layout, about });
            notes.lines.len() as u32 - 1
        });
        let position = |index: usize| {
            let at = turns.binary_search_by_key(&index, |turn| turn.index).ok()?;
            Some((at + 1) as f64 / turns.len() as f64)
        };
        let recency = position(entry.index).filter(|_| !entry.earlier).unwrap_or(0.5);
        let text = clip(found.field.as_ref().map_or(&entry.text, |field| &field.value));
        let terms = terms(&found, &text);
        let weight = entry.weight * (0.7 + 0.6 * recency);
        let mut is_evident = found.field.as_deref().is_some_and(is_evident);
        if let Some(field) = found.field.as_mut().filter(|field| notes.plain && names_itself(field)) {
            is_evident = true;
            field.group.clear();
        }
        let is_nameless = is_evident && (notes.plain || !found.field.as_deref().is_some_and(is_number));
        notes.pieces.push(ValuePiece {
            line,
            text: text.into(),
            weight,
            terms: terms.into(),
            field: found.field,
            call: call.into(),
            is_evident,
            is_nameless,
            is_spare: found.is_spare,
            prefixes: [NO_PREFIX; MOST_PREFIXES],
        });
        recencies.push(recency);
        notes.set_prefixes_of_last(prefixes);
    }
}

/// Whether a value is clear among others of its kind: an identifier, an address, a day.
fn is_evident(field: &JsonField) -> bool {
    (!field.group.is_empty() || field.row > 0) && !field.bare && is_whole(field, |_| true)
}

/// Whether a value is a day or a number with a short name.
fn is_number(field: &JsonField) -> bool {
    const LONG: usize = 12;
    field.key.len() <= LONG && is_whole(field, |class| class == LiteralClass::Number)
}

/// Whether a value is one literal of a wanted class.
fn is_whole(field: &JsonField, wanted: impl Fn(LiteralClass) -> bool) -> bool {
    literals(&field.value)
        .first()
        .is_some_and(|literal| literal.span == (0..field.value.len()) && wanted(literal.class))
}

/// Whether a value contains words that explain it: `gift_card_4421` does, `HAT192` does not.
fn names_itself(field: &JsonField) -> bool {
    let value = field.value.as_str();
    let named = |word: &str| word.len() > 2 && word.bytes().all(|byte| byte.is_ascii_alphabetic());
    literals(value).first().is_some_and(|literal| {
        literal.span == (0..value.len())
            && literal.class != LiteralClass::Number
            && value.split(|c: char| !c.is_alphanumeric()).filter(|word| named(word)).count() > 0
    })
}

impl Notes {
    /// Sets the prefixes of the last piece, as `compose` writes them.
    fn set_prefixes_of_last(&mut self, known: &mut ByHash<u32>) {
        let Notes { lines, pieces, prefixes, plain, .. } = self;
        let Some(at) = pieces.len().checked_sub(1) else { return };
        let piece = &pieces[at];
        let line = &lines[piece.line as usize];
        let mut prefixes_of_piece = [NO_PREFIX; MOST_PREFIXES];
        let mut free = prefixes_of_piece.iter_mut();
        // Most prefixes are known from earlier pieces, so the text is built only for new ones.
        let mut add_prefix = |key: u64, text: &dyn Fn() -> String| {
            let prefix = *known.entry(key).or_insert_with(|| {
                let text = text();
                let terms =
                    literals(&text).into_iter().map(|literal| hash(&text[literal.span].to_lowercase())).collect();
                prefixes.push(SharedPrefix { text, pieces: Vec::new(), terms });
                prefixes.len() as u32 - 1
            });
            prefixes[prefix as usize].pieces.push(at as u32);
            match free.next() {
                Some(free) => *free = prefix,
                None => debug_assert!(false, "a piece needs at most {MOST_PREFIXES} openers"),
            }
        };
        add_prefix(hash(&(1, piece.line)), &|| format!("{}\n", line_prefix(line, *plain)));
        if !piece.call.is_empty() {
            add_prefix(hash(&(2, piece.line, &piece.call)), &|| format!("{} ", call_prefix(&piece.call, *plain)));
        }
        if let Some(field) = &piece.field {
            let group_label = group_label(field);
            if !group_label.is_empty() {
                add_prefix(label_of(piece, field), &|| format!("{group_label}: "));
            }
            if !piece.is_nameless && !field.key.is_empty() {
                add_prefix(name_of(piece, field), &|| format!("{}=", field.key));
            }
        }
        pieces[at].prefixes = prefixes_of_piece;
    }
}

/// Returns the hash of a value's name, by which a repetition is omitted: for texts per tool, for numbers per call.
/// Quoted days and numbers are named once for all objects of a tool.
pub(super) fn name_of(piece: &ValuePiece, field: &JsonField) -> u64 {
    let call = if field.bare { &*piece.call } else { "" };
    let group =
        if field.bare || !is_whole(field, |class| class == LiteralClass::Number) { field.group.as_str() } else { "" };
    hash(&(4, piece.line, call, group, field.key.as_str()))
}

/// Returns the hash of the label of a list or object: per tool if the value is clear without it, per call otherwise.
pub(super) fn label_of(piece: &ValuePiece, field: &JsonField) -> u64 {
    let call = if piece.is_evident { "" } else { &*piece.call };
    hash(&(3, piece.line, call, field.group.as_str()))
}

/// Returns the layout of a value's line, its subject, and the arguments of the call.
fn layout(found: &FoundValue) -> (LineLayout, String, String) {
    let about = found.entry.about.clone();
    if found.is_spare {
        return (LineLayout::List, about, String::new());
    }
    let (tool, call) = about.find('(').map_or((about.as_str(), ""), |at| about.split_at(at));
    let call = if call == "()" { "" } else { call };
    (LineLayout::Values, tool.to_owned(), call.to_owned())
}

/// Returns the terms of a piece: its literals and, for a value, the whole value.
fn terms(found: &FoundValue, text: &str) -> Vec<PieceTerm> {
    let mut all: Vec<PieceTerm> = Vec::new();
    // A piece has few terms, so a linear search is enough.
    let mut push = |key: u64, literal: bool| {
        if all.iter().all(|text| text.key() != key) {
            all.push(PieceTerm::new(key, literal));
        }
    };
    if let Some(field) = &found.field {
        push(hash(&field.value.to_lowercase()), field.value.len() > if field.bare { 2 } else { 1 });
    }
    for literal in literals(text) {
        push(hash(&text[literal.span].to_lowercase()), true);
    }
    all
}

/// Returns a hash whose lowest bit is free. The hasher differs in every run, so that no history can be made to collide.
pub(super) fn hash<T: Hash + ?Sized>(value: &T) -> u64 {
    static STATE: LazyLock<RandomState> = LazyLock::new(RandomState::default);
    STATE.hash_one(value) & !1
}

/// A map by [`hash`].
pub(super) type ByHash<T> = HashMap<u64, T, RandomState>;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_said_takes_sixteen_bytes_with_its_kind() {
        assert_eq!(size_of::<PieceTerm>(), 16);
        for n in 0..64 {
            let key = hash(&n);
            assert_eq!(key & 1, 0);
            for is_literal in [false, true] {
                let text = PieceTerm::new(key, is_literal);
                assert_eq!((text.key(), text.is_literal()), (key, is_literal));
            }
        }
    }
}
