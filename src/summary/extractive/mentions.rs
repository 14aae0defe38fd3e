//! What comes up in a history, by which it is told how much it matters that a summary holds it.

use std::borrow::Cow;

use super::notes::{ByHash, Piece, Said, hash};
use crate::summary::ledger::{Class, Found, Speaker, Turn, Words, homes, literals};

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

/// A long history has many, so that they take little room.
#[derive(Default)]
struct Mention {
    times: u32,
    last: f32,
    /// How much whoever says it has to say.
    voice: f64,
}

/// What a person says or a call is given is used again more often than what goes by in an output.
const PERSON: f64 = 2.0;
const GIVEN: f64 = 1.8;
const MODEL: f64 = 1.3;
const OUTPUT: f64 = 1.0;
const NAMES: f64 = 1.3;
/// What is only a word in quotes.
const WORDS: f64 = 0.6;

impl Mentions {
    /// What comes up in a history, turn by turn.
    pub(super) fn of(turns: &[Turn<'_>]) -> Self {
        let mut mentions = Mentions::default();
        for (at, turn) in turns.iter().enumerate() {
            // What an earlier summary held stays in the middle of time: it was chosen once, and is not new.
            let position = if turn.speaker == Speaker::Earlier { 0.7 } else { (at + 1) as f64 / turns.len() as f64 };
            let voice = match turn.speaker {
                Speaker::User | Speaker::Earlier => PERSON,
                Speaker::Assistant => MODEL,
                Speaker::Instructions | Speaker::Tool => OUTPUT,
            };
            mentions.text(&turn.text.read(), voice, position);
            for (place, call) in turn.calls.iter().enumerate() {
                let arguments = call.arguments.read();
                let (given, result) = (homes::given(&arguments), call.result.as_ref().map(Words::read));
                let result = result.unwrap_or_default();
                // Short arguments are told with their call.
                mentions.home = matches!(given, Cow::Owned(_)).then_some((at, place));
                mentions.text(&given, GIVEN, position);
                mentions.home = (!homes::has_values(&result)).then_some((at, place));
                mentions.text(&result, OUTPUT, position);
                mentions.home = None;
            }
            turn.strays.iter().for_each(|stray| mentions.text(&stray.read(), OUTPUT, position));
        }
        mentions
    }

    fn text(&mut self, text: &str, voice: f64, position: f64) {
        let mut small = String::new();
        for literal in literals(text) {
            // A name is used again more often than an amount, and a long one is none that can be guessed.
            let amount = matches!(literal.class, Class::Number | Class::Version);
            let class = if amount { 1.0 } else { NAMES * (literal.span.len() as f64 / 6.0).sqrt().clamp(0.8, 2.0) };
            let written = &text[literal.span.clone()];
            small.clear();
            small.push_str(written);
            // Literals are of ASCII.
            small.make_ascii_lowercase();
            let what = hash(&small);
            self.add(what, voice * class, position);
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

    fn add(&mut self, what: u64, voice: f64, position: f64) {
        let mention = self.of.entry(what).or_default();
        mention.times = mention.times.saturating_add(1);
        mention.last = position as f32;
        mention.voice = mention.voice.max(voice);
    }

    /// Counts what is no literal by itself: values, and words.
    pub(super) fn value(&mut self, found: &Found, says: &[Said], position: f64) {
        let voice = if found.speaker == Speaker::User { PERSON } else { WORDS };
        for said in says.iter().filter(|said| !said.literal || found.cell.is_some()) {
            self.add(said.what, voice, position);
        }
    }

    /// Tells of all that is said how much it matters.
    pub(super) fn weigh(&self, pieces: &mut [Piece]) {
        for said in pieces.iter_mut().flat_map(|piece| &mut piece.says) {
            if let Some(mention) = self.of.get(&said.what) {
                said.matters = mention.matters();
            }
        }
    }
}

impl Mention {
    fn matters(&self) -> f64 {
        (1.0 + f64::from(self.times).log2()) * self.voice * (0.4 + 1.2 * f64::from(self.last))
    }
}
