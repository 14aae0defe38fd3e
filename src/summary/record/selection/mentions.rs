//! What comes up in a history, by which it is told how much it matters that a summary holds it.

use std::borrow::Cow;

use crate::summary::record::literals::{Class, literals};
use crate::summary::record::reading::{Speaker, Turn, Words};
use crate::summary::record::selection::{ByHash, Piece, Said, hash};
use crate::summary::record::{Found, homes};

/// A name, with the turn and the place of a call in it.
type Named = (Box<str>, (usize, usize));

/// How often literals and words come up, where last, and who says them.
#[derive(Default)]
pub(super) struct Mentions {
    of: ByHash<Mention>,
    /// Names that calls brought, with the last that did.
    names: ByHash<Named>,
    /// The call whose result is read.
    home: Option<(usize, usize)>,
}

/// How often something comes up, where last, and how much whoever says it has to say. A long history has many, so that
/// they take little room.
#[derive(Default)]
struct Mention {
    last: f32,
    /// The times, and in the lowest byte the voice.
    times_and_voice: u32,
}

/// Who says something, in steps of 32, and on these the length of a name that is said.
#[derive(Clone, Copy)]
struct Voice(u8);

/// Who says something: what a person says or a call is given is used again more often than what goes by in an output.
#[derive(Clone, Copy)]
enum Speaks {
    Output = 1,
    Model,
    /// What a call is given.
    Given,
    Person,
    /// A value, or what is only a word, of anybody but a person.
    Word,
}

impl Mentions {
    /// What comes up in a history, turn by turn.
    pub(super) fn of(turns: &[Turn<'_>]) -> Self {
        let mut mentions = Mentions::default();
        for (at, turn) in turns.iter().enumerate() {
            // What an earlier summary held stays in the middle of time: it was chosen once, and is not new.
            let position = if turn.speaker == Speaker::Earlier { 0.7 } else { (at + 1) as f64 / turns.len() as f64 };
            let speaks = match turn.speaker {
                Speaker::User | Speaker::Earlier => Speaks::Person,
                Speaker::Assistant => Speaks::Model,
                Speaker::Instructions | Speaker::Tool => Speaks::Output,
            };
            mentions.text(&turn.text.read(), speaks, position);
            for (place, call) in turn.calls.iter().enumerate() {
                let arguments = call.arguments.read();
                let (given, result) = (homes::given(&arguments), call.result.as_ref().map(Words::read));
                let result = result.unwrap_or_default();
                // Short arguments are told with their call.
                mentions.home = matches!(given, Cow::Owned(_)).then_some((at, place));
                mentions.text(&given, Speaks::Given, position);
                mentions.home = homes::holds_names(call, &arguments, &result).then_some((at, place));
                mentions.text(&result, Speaks::Output, position);
                mentions.home = None;
            }
            turn.strays.iter().for_each(|stray| mentions.text(&stray.read(), Speaks::Output, position));
        }
        mentions
    }

    fn text(&mut self, text: &str, speaks: Speaks, position: f64) {
        let mut small = String::new();
        for literal in literals(text) {
            let amount = matches!(literal.class, Class::Number | Class::Version);
            let voice = if amount { Voice::of(speaks) } else { Voice::of_name(speaks, literal.span.len()) };
            let written = &text[literal.span.clone()];
            small.clear();
            small.push_str(written);
            // Literals are of ASCII.
            small.make_ascii_lowercase();
            let what = hash(&small);
            self.add(what, voice, position);
            if let Some(home) = self.home.filter(|_| homes::is_name(literal.class, text, &literal.span)) {
                self.names.entry(what).or_insert_with(|| (written.into(), home)).1 = home;
            }
        }
    }

    /// The names that matter most, with the calls that brought them last.
    pub(super) fn names<'t>(&mut self, turns: &'t [Turn<'_>]) -> impl Iterator<Item = Found> + use<'t> {
        const MOST: usize = 2_048;
        let names = std::mem::take(&mut self.names).into_iter();
        let weighed = names.map(|(what, named)| (self.of.get(&what).map_or(0.0, Mention::matters), named));
        let mut weighed: Vec<(f64, Named)> = weighed.collect();
        weighed.sort_by(|a, b| b.0.total_cmp(&a.0).then_with(|| a.1.cmp(&b.1)));
        weighed.truncate(MOST);
        weighed.shrink_to_fit();
        weighed.sort_by_key(|(_, (_, home))| *home);
        // One call brings several.
        let mut last = None;
        weighed.into_iter().map(move |(_, (name, home))| {
            let turn = &turns[home.0];
            let place = match last.take() {
                Some((known, place)) if known == home => place,
                _ => homes::place(&turn.calls[home.1]),
            };
            let found = homes::in_place(&place, &name, turn.index);
            last = Some((home, place));
            found
        })
    }

    fn add(&mut self, what: u64, voice: Voice, position: f64) {
        self.of.entry(what).or_default().mentioned(voice, position);
    }

    /// Counts what is no literal by itself: values, and words.
    pub(super) fn value(&mut self, found: &Found, says: &[Said], position: f64) {
        let voice = Voice::of(Speaks::Word);
        for said in says.iter().filter(|said| !said.is_literal() || found.cell.is_some()) {
            self.add(said.what(), voice, position);
        }
    }

    /// Tells of all that is said how much it matters.
    pub(super) fn weigh(&self, pieces: &mut [Piece]) {
        for said in pieces.iter_mut().flat_map(|piece| &mut piece.says) {
            if let Some(mention) = self.of.get(&said.what()) {
                said.matters = mention.matters();
            }
        }
    }
}

impl Mention {
    /// Times that are told apart; beyond, more count no more.
    const MOST: u32 = (1 << 24) - 1;

    fn mentioned(&mut self, voice: Voice, position: f64) {
        let loudest = if voice.weight() > self.voice().weight() { voice } else { self.voice() };
        self.times_and_voice = (self.times() + 1).min(Self::MOST) << 8 | u32::from(loudest.0);
        self.last = position as f32;
    }

    fn times(&self) -> u32 {
        self.times_and_voice >> 8
    }

    fn voice(&self) -> Voice {
        Voice(self.times_and_voice as u8)
    }

    fn matters(&self) -> f64 {
        (1.0 + f64::from(self.times()).log2()) * self.voice().weight() * (0.4 + 1.2 * f64::from(self.last))
    }
}

impl Voice {
    fn of(speaks: Speaks) -> Self {
        Voice(speaks as u8 * 32)
    }

    /// A name is used again more often than an amount, and a long one is none that can be guessed.
    fn of_name(speaks: Speaks, length: usize) -> Self {
        const LONG: usize = 24;
        Voice(speaks as u8 * 32 + length.clamp(1, LONG) as u8)
    }

    /// How much it counts; nothing where nobody has spoken.
    fn weight(self) -> f64 {
        const SPEAKS: [f64; 8] = {
            let mut weights = [0.0; 8];
            weights[Speaks::Output as usize] = 1.0;
            weights[Speaks::Model as usize] = 1.3;
            weights[Speaks::Given as usize] = 1.8;
            weights[Speaks::Person as usize] = 2.0;
            weights[Speaks::Word as usize] = 0.6;
            weights
        };
        const NAMES: f64 = 1.3;
        let name = match self.0 % 32 {
            0 => 1.0,
            length => NAMES * (f64::from(length) / 6.0).sqrt().clamp(0.8, 2.0),
        };
        SPEAKS[usize::from(self.0 / 32)] * name
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Of all who mention something the loudest counts, and of all times the last.
    #[test]
    fn mentions_in_eight_bytes() {
        assert_eq!(size_of::<Mention>(), 8);
        let mut mentions = Mentions::default();
        for (voice, position) in [
            (Voice::of_name(Speaks::Output, 24), 0.25),
            (Voice::of_name(Speaks::Output, 4_000), 0.25),
            (Voice::of(Speaks::Person), 0.75),
            (Voice::of(Speaks::Word), 0.5),
        ] {
            mentions.add(7, voice, position);
        }
        let mention = &mentions.of[&7];
        assert_eq!((mention.times(), mention.voice().weight(), mention.last), (4, 1.3 * 2.0, 0.5));
        assert_eq!(mention.matters(), 3.0 * 2.6 * (0.4 + 1.2 * 0.5));
        let weights: Vec<f64> = [1, 3, 6, 24, 25].map(|length| Voice::of_name(Speaks::Person, length).weight()).into();
        let speakers = [Speaks::Output, Speaks::Model, Speaks::Given, Speaks::Person, Speaks::Word];
        assert_eq!(speakers.map(|speaks| Voice::of(speaks).weight()), [1.0, 1.3, 1.8, 2.0, 0.6]);
        assert_eq!(weights, [2.0 * (1.3 * 0.8), 2.0 * (1.3 * 0.8), 2.0 * 1.3, 2.0 * 2.6, 2.0 * 2.6]);
    }

    #[test]
    fn times_end_at_the_most_that_are_told_apart() {
        let mut mention =
            Mention { last: 0.0, times_and_voice: (Mention::MOST << 8) | u32::from(Voice::of(Speaks::Word).0) };
        mention.mentioned(Voice::of(Speaks::Model), 1.0);
        assert_eq!((mention.times(), mention.voice().weight()), (Mention::MOST, 1.3));
        assert_eq!(Mention::default().voice().weight(), 0.0);
    }
}
