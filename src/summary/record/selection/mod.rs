//! Values and names for the room that is left: of all that calls brought, what says most for its size.
//!
//! A piece is a value or a name; a line holds what a tool or a place brought. What a piece says is known by its literals,
//! so that what is said already is not said again.

mod choose;
mod compose;
mod mentions;

use std::collections::HashMap;
use std::hash::{BuildHasher, Hash};
use std::sync::LazyLock;

use foldhash::fast::RandomState;

use crate::summary::record::Found;
use crate::summary::record::literals::{Class, literals};
use crate::summary::record::reading::Turn;
use crate::summary::record::statements::clipped;
use crate::summary::record::values::Cell;
use crate::tokens::Counter;

use choose::Choice;
pub(super) use choose::size;
use compose::{compose, label, nested, opening};
use mentions::Mentions;

/// The values and names that say most in `room` tokens beside a text that says something already: the pieces in the order
/// in which they were taken.
pub(super) fn choose(notes: &Notes, said: &str, counter: Counter, room: f64) -> Vec<usize> {
    let mut choice = Choice::new(notes, counter, said);
    let mut spent = 0.0;
    // Names that are said once leave room for more, which is known when the text is there.
    for _ in 0..ROUNDS {
        let before = choice.taken.len();
        choice.fill(room - spent);
        if choice.taken.len() == before {
            break;
        }
        spent = lines(notes, &choice.taken).iter().map(|line| size(line, counter) + 0.5).sum();
    }
    choice.taken
}

/// The lines of pieces.
pub(super) fn lines(notes: &Notes, taken: &[usize]) -> Vec<String> {
    compose(notes, taken)
}

/// How often what is left of the room is offered again.
const ROUNDS: usize = 4;

/// How the pieces of a line are put together.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum Shape {
    /// What a call brought: values with their names.
    Values,
    /// A list of names.
    List,
}

/// A line of a summary.
#[derive(Debug)]
pub(super) struct Line {
    pub(super) shape: Shape,
    /// What its pieces are about: a command, or the tool that brought values.
    pub(super) about: String,
}

/// What must stand in a summary before some pieces can, and costs something once: a heading, the opening of a line, what
/// a tool was called with, the name of a value.
#[derive(Debug)]
pub(super) struct Opener {
    pub(super) text: String,
    pub(super) pieces: Vec<u32>,
    /// What it says itself.
    pub(super) says: Vec<u64>,
}

/// What is said by a piece: something that a summary holds or does not.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Said {
    /// What it is, and in the lowest bit whether it is a literal.
    what_and_literal: u64,
    /// How much it matters that it is held.
    pub(super) matters: f64,
}

impl Said {
    /// Something by its [`hash`]; how much it matters is told later.
    fn of(what: u64, is_literal: bool) -> Self {
        debug_assert!(what & 1 == 0, "the lowest bit is free");
        Said { what_and_literal: what | u64::from(is_literal), matters: 1.0 }
    }

    /// A literal, a value or a word, as a [`hash`].
    pub(super) fn what(self) -> u64 {
        self.what_and_literal & !1
    }

    pub(super) fn is_literal(self) -> bool {
        self.what_and_literal & 1 == 1
    }
}

/// Part of a line. A long history has thousands, so that none has room to spare.
#[derive(Debug)]
pub(super) struct Piece {
    pub(super) line: u32,
    /// The text, of a value without its name.
    pub(super) text: Box<str>,
    pub(super) cell: Option<Box<Cell>>,
    /// What the tool was called with that brought it.
    pub(super) call: Box<str>,
    /// Whether the value says by itself what it is.
    pub(super) evident: bool,
    /// Whether it stands without its name.
    pub(super) nameless: bool,
    /// What it needs to stand.
    openers: [u32; OPENERS],
    pub(super) weight: f64,
    pub(super) says: Box<[Said]>,
    /// Whether it is told only where there is room left.
    pub(super) spare: bool,
}

/// Openers that a piece needs at most: those of its line, its call, its list or object, and its name.
const OPENERS: usize = 4;

/// Pieces of which notes are made: lines and openers of as many can be numbered.
const MOST_PIECES: usize = u32::MAX as usize / OPENERS;

/// In the place of an opener that is not needed.
const NONE: u32 = u32::MAX;

impl Piece {
    /// Where the openers are that it needs to stand.
    pub(super) fn openers(&self) -> impl Iterator<Item = usize> + use<> {
        self.openers.into_iter().filter(|opener| *opener != NONE).map(|opener| opener as usize)
    }
}

/// Everything there is to choose from.
#[derive(Debug, Default)]
pub(super) struct Notes {
    pub(super) lines: Vec<Line>,
    pub(super) pieces: Vec<Piece>,
    pub(super) openers: Vec<Opener>,
    /// Whether lines stand without headings and marks, for which there is no room.
    pub(super) plain: bool,
}

/// Makes notes of what was found in `turns`.
pub(super) fn notes(turns: &[Turn<'_>], found: impl Iterator<Item = Found>, plain: bool) -> Notes {
    let mut mentions = Mentions::of(turns);
    let names = mentions.names(turns);
    let mut notes = Notes { plain, ..Notes::default() };
    let mut lines: ByHash<u32> = ByHash::default();
    let mut openers = ByHash::default();
    debug_assert!(turns.is_sorted_by_key(|turn| turn.index), "an index is searched for");
    let position = |index: usize| {
        let at = turns.binary_search_by_key(&index, |turn| turn.index).ok()?;
        Some((at + 1) as f64 / turns.len() as f64)
    };
    for mut found in found.chain(names).take(MOST_PIECES) {
        let entry = &found.entry;
        let (shape, about, call) = shape(&found);
        // What it was called with is told with the call, and what a group is called by with the group.
        if found.cell.as_ref().is_some_and(|cell| {
            !cell.bare && (call.contains(&cell.value) || cell.group.rsplit('.').next() == Some(cell.value.as_str()))
        }) {
            continue;
        }
        let line = *lines.entry(hash(&(shape, &about))).or_insert_with(|| {
            notes.lines.push(Line { shape, about });
            notes.lines.len() as u32 - 1
        });
        let recency = position(entry.index).filter(|_| !entry.earlier).unwrap_or(0.5);
        let text = clipped(found.cell.as_ref().map_or(&entry.text, |cell| &cell.value));
        let says = says(&found, &text);
        mentions.value(&found, &says, recency);
        let weight = entry.weight * (0.7 + 0.6 * recency);
        let mut evident = found.cell.as_deref().is_some_and(is_evident);
        if let Some(cell) = found.cell.as_mut().filter(|cell| plain && tells_itself(cell)) {
            evident = true;
            cell.group.clear();
        }
        let nameless = evident && (plain || !found.cell.as_deref().is_some_and(is_number));
        notes.pieces.push(Piece {
            line,
            text: text.into(),
            weight,
            says: says.into(),
            cell: found.cell,
            call: call.into(),
            evident,
            nameless,
            spare: found.spare,
            openers: [NONE; OPENERS],
        });
        notes.open_last(&mut openers);
    }
    mentions.weigh(&mut notes.pieces);
    notes
}

/// Whether a value among others of its kind says what it is: an identifier, an address, a day.
fn is_evident(cell: &Cell) -> bool {
    (!cell.group.is_empty() || cell.row > 0) && !cell.bare && is_whole(cell, |_| true)
}

/// Whether a value is a day or a number whose name takes little room.
fn is_number(cell: &Cell) -> bool {
    const LONG: usize = 12;
    cell.key.len() <= LONG && is_whole(cell, |class| class == Class::Number)
}

/// Whether a value is one literal of some class.
fn is_whole(cell: &Cell, wanted: impl Fn(Class) -> bool) -> bool {
    literals(&cell.value).first().is_some_and(|literal| literal.span == (0..cell.value.len()) && wanted(literal.class))
}

/// Whether a value has words in it that say what it is: `gift_card_4421` does, `HAT192` does not.
fn tells_itself(cell: &Cell) -> bool {
    let value = cell.value.as_str();
    let named = |word: &str| word.len() > 2 && word.bytes().all(|byte| byte.is_ascii_alphabetic());
    literals(value).first().is_some_and(|literal| {
        literal.span == (0..value.len())
            && literal.class != Class::Number
            && value.split(|c: char| !c.is_alphanumeric()).filter(|word| named(word)).count() > 0
    })
}

impl Notes {
    /// Finds out what the piece that was added last needs to stand, in the ways that `compose` writes it.
    fn open_last(&mut self, known: &mut ByHash<u32>) {
        let Notes { lines, pieces, openers, plain } = self;
        let Some(at) = pieces.len().checked_sub(1) else { return };
        let piece = &pieces[at];
        let line = &lines[piece.line as usize];
        let mut needed = [NONE; OPENERS];
        let mut free = needed.iter_mut();
        // Most is known from pieces before, and is not written again.
        let mut need = |what: u64, text: &dyn Fn() -> String| {
            let opener = *known.entry(what).or_insert_with(|| {
                let text = text();
                let says =
                    literals(&text).into_iter().map(|literal| hash(&text[literal.span].to_lowercase())).collect();
                openers.push(Opener { text, pieces: Vec::new(), says });
                openers.len() as u32 - 1
            });
            openers[opener as usize].pieces.push(at as u32);
            match free.next() {
                Some(free) => *free = opener,
                None => debug_assert!(false, "a piece needs at most {OPENERS} openers"),
            }
        };
        need(hash(&(1, piece.line)), &|| format!("{}\n", opening(line, *plain)));
        if !piece.call.is_empty() {
            need(hash(&(2, piece.line, &piece.call)), &|| format!("{} ", nested(&piece.call, *plain)));
        }
        if let Some(cell) = &piece.cell {
            let label = label(cell);
            if !label.is_empty() {
                need(label_of(piece, cell), &|| format!("{label}: "));
            }
            if !piece.nameless && !cell.key.is_empty() {
                need(name_of(piece, cell), &|| format!("{}=", cell.key));
            }
        }
        pieces[at].openers = needed;
    }
}

/// By what the name of a value is known that need not be said again: for texts the tool's, for numbers the call's. Days
/// and numbers in quotes are named once for all objects of a tool.
pub(super) fn name_of(piece: &Piece, cell: &Cell) -> u64 {
    let call = if cell.bare { &*piece.call } else { "" };
    let group = if cell.bare || !is_whole(cell, |class| class == Class::Number) { cell.group.as_str() } else { "" };
    hash(&(4, piece.line, call, group, cell.key.as_str()))
}

/// By what the name of a list or object is known: of values that say themselves what they are the tool's, of others the
/// call's.
pub(super) fn label_of(piece: &Piece, cell: &Cell) -> u64 {
    let call = if piece.evident { "" } else { &*piece.call };
    hash(&(3, piece.line, call, cell.group.as_str()))
}

/// How a value stands in a line, what the line is about, and what the tool was called with.
fn shape(found: &Found) -> (Shape, String, String) {
    let about = found.entry.about.clone();
    if found.spare {
        return (Shape::List, about, String::new());
    }
    let (tool, call) = about.find('(').map_or((about.as_str(), ""), |at| about.split_at(at));
    let call = if call == "()" { "" } else { call };
    (Shape::Values, tool.to_owned(), call.to_owned())
}

/// The literals of a piece; of a value, the value.
fn says(found: &Found, text: &str) -> Vec<Said> {
    let mut all: Vec<Said> = Vec::new();
    // A piece says little, so that nothing needs to be looked up.
    let mut push = |what: u64, literal: bool| {
        if all.iter().all(|said| said.what() != what) {
            all.push(Said::of(what, literal));
        }
    };
    if let Some(cell) = &found.cell {
        push(hash(&cell.value.to_lowercase()), cell.value.len() > if cell.bare { 2 } else { 1 });
    }
    for literal in literals(text) {
        push(hash(&text[literal.span].to_lowercase()), true);
    }
    all
}

/// By which what is said is known; its lowest bit is free. Another in every run, so that no history can be made for two
/// things to be the same.
pub(super) fn hash<T: Hash + ?Sized>(value: &T) -> u64 {
    static STATE: LazyLock<RandomState> = LazyLock::new(RandomState::default);
    STATE.hash_one(value) & !1
}

/// Something for each hash.
pub(super) type ByHash<T> = HashMap<u64, T, RandomState>;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_said_takes_sixteen_bytes_with_its_kind() {
        assert_eq!(size_of::<Said>(), 16);
        for n in 0..64 {
            let what = hash(&n);
            assert_eq!(what & 1, 0);
            for is_literal in [false, true] {
                let said = Said::of(what, is_literal);
                assert_eq!((said.what(), said.is_literal()), (what, is_literal));
            }
        }
    }
}
