//! Counts the literals and words of a history, which decides how important it is that a summary contains them.

use std::borrow::Cow;

use crate::summary::record::history_turns::{HistoryTurn, Speaker, TurnText};
use crate::summary::record::literals::{LiteralClass, literals};
use crate::summary::record::selection::{ByHash, PieceTerm, ValuePiece, hash};
use crate::summary::record::{FoundValue, name_sources};

/// A name, with the turn and the place of the call that returned it.
type LocatedName = (Box<str>, (usize, usize));

/// How often literals and words are mentioned, where last, and by whom.
#[derive(Default)]
pub(super) struct Mentions {
    by_hash: ByHash<Mention>,
    /// Names in results of calls, with the last such call.
    names: ByHash<LocatedName>,
    /// The call whose text is read.
    source: Option<(usize, usize)>,
}

/// How often something is mentioned, where last, and how strongly. It is small, since a long history has many.
#[derive(Default)]
struct Mention {
    last: f32,
    /// The number of mentions, and in the lowest byte the strength.
    count_and_strength: u32,
}

/// Who mentions something, in steps of 32, plus the length of a mentioned name.
#[derive(Clone, Copy)]
struct MentionStrength(u8);

/// Who mentions something. Words of a person and arguments of calls are used again more often than output.
#[derive(Clone, Copy)]
enum MentionSource {
    Output = 1,
    Model,
    /// An argument of a call.
    Argument,
    User,
    /// A value or a plain word, by anybody but a person.
    Word,
}

impl Mentions {
    /// Counts the mentions in a history. Of amounts, of which outputs have very many, only those among `counted` are
    /// counted.
    pub(super) fn new<'p>(turns: &[HistoryTurn<'_>], counted: impl Iterator<Item = &'p PieceTerm>) -> Self {
        let mut mentions = Mentions::default();
        mentions.by_hash.extend(counted.map(|term| (term.key(), Mention::default())));
        for (at, turn) in turns.iter().enumerate() {
            // An earlier summary counts as the middle of the history: its contents were chosen once and are not new.
            let position = if turn.speaker == Speaker::Earlier { 0.7 } else { (at + 1) as f64 / turns.len() as f64 };
            let by = match turn.speaker {
                Speaker::User | Speaker::Earlier => MentionSource::User,
                Speaker::Assistant => MentionSource::Model,
                Speaker::Instructions | Speaker::Tool => MentionSource::Output,
            };
            mentions.add_text(&turn.text.read(), by, position);
            for (place, call) in turn.calls.iter().enumerate() {
                let arguments = call.arguments.read();
                let (given, result) =
                    (name_sources::decoded_arguments(&arguments), call.result.as_ref().map(TurnText::read));
                let result = result.unwrap_or_default();
                // The label of a call shows short arguments.
                mentions.source = matches!(given, Cow::Owned(_)).then_some((at, place));
                mentions.add_text(&given, MentionSource::Argument, position);
                mentions.source = name_sources::has_useful_names(call, &arguments, &result).then_some((at, place));
                mentions.add_text(&result, MentionSource::Output, position);
                mentions.source = None;
            }
            turn.results_without_call
                .iter()
                .for_each(|stray| mentions.add_text(&stray.read(), MentionSource::Output, position));
        }
        mentions
    }

    fn add_text(&mut self, text: &str, by: MentionSource, position: f64) {
        let mut lower = String::new();
        for literal in literals(text) {
            let spelled = &text[literal.span.clone()];
            lower.clear();
            lower.push_str(spelled);
            // Literals are ASCII.
            lower.make_ascii_lowercase();
            let key = hash(&lower);
            if matches!(literal.class, LiteralClass::Number | LiteralClass::Version) {
                let counted = self.by_hash.get_mut(&key);
                counted.into_iter().for_each(|mention| mention.record(MentionStrength::new(by), position));
                continue;
            }
            self.add(key, MentionStrength::for_name(by, literal.span.len()), position);
            if let Some(source) =
                self.source.filter(|_| name_sources::is_reportable_name(literal.class, text, &literal.span))
            {
                self.names.entry(key).or_insert_with(|| (spelled.into(), source)).1 = source;
            }
        }
    }

    /// Returns the most important names, with the calls that returned them last.
    pub(super) fn names<'t>(&mut self, turns: &'t [HistoryTurn<'_>]) -> impl Iterator<Item = FoundValue> + use<'t> {
        const MOST: usize = 2_048;
        let names = std::mem::take(&mut self.names).into_iter();
        let weighed = names.map(|(key, named)| (self.by_hash.get(&key).map_or(0.0, Mention::importance), named));
        let mut weighed: Vec<(f64, LocatedName)> = weighed.collect();
        weighed.sort_by(|a, b| b.0.total_cmp(&a.0).then_with(|| a.1.cmp(&b.1)));
        weighed.truncate(MOST);
        weighed.shrink_to_fit();
        weighed.sort_by_key(|(_, (_, source))| *source);
        // One call returns several names.
        let mut last = None;
        weighed.into_iter().map(move |(_, (name, source))| {
            let turn = &turns[source.0];
            let place = match last.take() {
                Some((known, place)) if known == source => place,
                _ => name_sources::source_label(&turn.calls[source.1]),
            };
            let found = name_sources::name_found_in(&place, &name, turn.index);
            last = Some((source, place));
            found
        })
    }

    fn add(&mut self, key: u64, strength: MentionStrength, position: f64) {
        self.by_hash.entry(key).or_default().record(strength, position);
    }

    /// Counts the terms of a piece that are no literals, and values.
    pub(super) fn add_piece(&mut self, piece: &ValuePiece, position: f64) {
        let strength = MentionStrength::new(MentionSource::Word);
        for term in piece.terms.iter().filter(|term| !term.is_literal() || piece.field.is_some()) {
            self.add(term.key(), strength, position);
        }
    }

    /// Sets the importance of all terms.
    pub(super) fn set_importance(&self, pieces: &mut [ValuePiece]) {
        for term in pieces.iter_mut().flat_map(|piece| &mut piece.terms) {
            if let Some(mention) = self.by_hash.get(&term.key()).filter(|mention| mention.count() > 0) {
                term.importance = mention.importance();
            }
        }
    }
}

impl Mention {
    /// Most mentions that are counted.
    const MOST: u32 = (1 << 24) - 1;

    fn record(&mut self, strength: MentionStrength, position: f64) {
        let loudest = if strength.weight() > self.strength().weight() { strength } else { self.strength() };
        self.count_and_strength = (self.count() + 1).min(Self::MOST) << 8 | u32::from(loudest.0);
        self.last = position as f32;
    }

    fn count(&self) -> u32 {
        self.count_and_strength >> 8
    }

    fn strength(&self) -> MentionStrength {
        MentionStrength(self.count_and_strength as u8)
    }

    fn importance(&self) -> f64 {
        (1.0 + f64::from(self.count()).log2()) * self.strength().weight() * (0.4 + 1.2 * f64::from(self.last))
    }
}

impl MentionStrength {
    fn new(by: MentionSource) -> Self {
        MentionStrength(by as u8 * 32)
    }

    /// A name is used again more often than an amount, and a long one cannot be guessed.
    fn for_name(by: MentionSource, length: usize) -> Self {
        const LONG: usize = 24;
        MentionStrength(by as u8 * 32 + length.clamp(1, LONG) as u8)
    }

    /// Returns the factor of the strength; 0 if nobody mentioned it.
    fn weight(self) -> f64 {
        const FACTORS: [f64; 8] = {
            let mut weights = [0.0; 8];
            weights[MentionSource::Output as usize] = 1.0;
            weights[MentionSource::Model as usize] = 1.3;
            weights[MentionSource::Argument as usize] = 1.8;
            weights[MentionSource::User as usize] = 2.0;
            weights[MentionSource::Word as usize] = 0.6;
            weights
        };
        const NAME_FACTOR: f64 = 1.3;
        let name = match self.0 % 32 {
            0 => 1.0,
            length => NAME_FACTOR * (f64::from(length) / 6.0).sqrt().clamp(0.8, 2.0),
        };
        FACTORS[usize::from(self.0 / 32)] * name
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The strongest mention counts, at the last place.
    #[test]
    fn mentions_in_eight_bytes() {
        assert_eq!(size_of::<Mention>(), 8);
        let mut mentions = Mentions::default();
        for (strength, position) in [
            (MentionStrength::for_name(MentionSource::Output, 24), 0.25),
            (MentionStrength::for_name(MentionSource::Output, 4_000), 0.25),
            (MentionStrength::new(MentionSource::User), 0.75),
            (MentionStrength::new(MentionSource::Word), 0.5),
        ] {
            mentions.add(7, strength, position);
        }
        let mention = &mentions.by_hash[&7];
        assert_eq!((mention.count(), mention.strength().weight(), mention.last), (4, 1.3 * 2.0, 0.5));
        assert_eq!(mention.importance(), 3.0 * 2.6 * (0.4 + 1.2 * 0.5));
        let weights: Vec<f64> =
            [1, 3, 6, 24, 25].map(|length| MentionStrength::for_name(MentionSource::User, length).weight()).into();
        let speakers = [
            MentionSource::Output,
            MentionSource::Model,
            MentionSource::Argument,
            MentionSource::User,
            MentionSource::Word,
        ];
        assert_eq!(speakers.map(|by| MentionStrength::new(by).weight()), [1.0, 1.3, 1.8, 2.0, 0.6]);
        assert_eq!(weights, [2.0 * (1.3 * 0.8), 2.0 * (1.3 * 0.8), 2.0 * 1.3, 2.0 * 2.6, 2.0 * 2.6]);
    }

    #[test]
    fn times_end_at_the_most_that_are_told_apart() {
        let mut mention = Mention {
            last: 0.0,
            count_and_strength: (Mention::MOST << 8) | u32::from(MentionStrength::new(MentionSource::Word).0),
        };
        mention.record(MentionStrength::new(MentionSource::Model), 1.0);
        assert_eq!((mention.count(), mention.strength().weight()), (Mention::MOST, 1.3));
        assert_eq!(Mention::default().strength().weight(), 0.0);
    }
}
