//! Measures how much of the matter of an earlier statement a later one is about. The code does not understand meaning:
//! it compares words, and words for the same everyday matter.

use crate::summary::record::change::claim::Claim;
use crate::summary::record::change::comparison::is_name_variant;
use crate::summary::record::change::matters::Matter;
use crate::summary::record::change::words::{Word, is_light};

/// How rare words and matters are among the statements so far. Statements that share a rare one are about one thing.
pub(super) trait Rarity {
    fn of_word(&self, word: &str) -> f64;
    fn of_matter(&self, matter: Matter) -> f64;
    /// Whether so many statements have a word that two with it need not be about one thing.
    fn is_frequent(&self, word: &str) -> bool;
    fn is_frequent_matter(&self, matter: Matter) -> bool;
}

/// How much of the matter of an earlier statement a later one is about.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(super) struct SharedMatter {
    /// The share of its words, weighted by their rarity, and more if something signals a change.
    pub(super) share: f64,
    /// The share, and more if they share a noun after an article or give different values. The earlier statement with
    /// the highest rank is the one that is meant.
    pub(super) rank: f64,
}

impl SharedMatter {
    /// All of it.
    pub(super) const WHOLE: SharedMatter = SharedMatter { share: 2.0, rank: 5.0 };
    /// The numbers they share say what is meant.
    const NUMBER: SharedMatter = SharedMatter { share: 1.0, rank: 1.0 };
    const NONE: SharedMatter = SharedMatter { share: 0.0, rank: 0.0 };
}

impl Claim {
    /// Returns how much of the matter of an earlier statement it is about. Similar lines in a row are a list and about
    /// nothing in common.
    pub(super) fn shared_matter(&self, earlier: &Claim, rarity: &impl Rarity) -> SharedMatter {
        if self.asks || self.adds || !self.is_brief() || !earlier.is_brief() {
            return SharedMatter::NONE;
        }
        if self.names_number_of(earlier) {
            return SharedMatter::NUMBER;
        }
        let changes_rule = self.signals_change_of(earlier);
        // A prohibition stands alone if nothing has changed.
        let is_apart = earlier.asks && !(earlier.asks_favor && changes_rule)
            || earlier.restricts && !changes_rule
            || self.is_list_sibling(earlier)
            || self.have_different_qualifiers(earlier);
        let (same, other) = (self.same_words(earlier), self.other_words(earlier));
        let is_thin = match (same.as_slice(), other.as_slice()) {
            ([], []) => true,
            ([only], []) => {
                (is_light(only) || rarity.is_frequent(only)) && !self.permits && !self.values_differ(earlier)
            }
            ([], other) => {
                let is_frequent = other.iter().all(|(_, matter)| rarity.is_frequent_matter(*matter));
                !(self.corrects || self.transforms)
                    || is_frequent
                    || !self.former.is_empty()
                    || self.has_other_noun(earlier)
            }
            _ => false,
        };
        if is_apart || is_thin {
            return SharedMatter::NONE;
        }
        self.weigh(earlier, &same, &other, rarity)
    }

    fn weigh(&self, earlier: &Claim, same: &[&Word], other: &[(&Word, Matter)], rarity: &impl Rarity) -> SharedMatter {
        /// The factor of a light verb, and that of another word for the same matter.
        const LIGHT: f64 = 0.5;
        const OTHER_WORD: f64 = 0.75;
        /// The factor of a sign of change, and that of a question: most ask for information.
        const CHANGED: f64 = 1.5;
        const ASKED: f64 = 0.4;
        /// The factors of the rank for another value and for a noun.
        const VALUES: f64 = 1.5;
        const NOUN: f64 = 1.5;
        let weight = |word: &Word| rarity.of_word(word) * if is_light(word) { LIGHT } else { 1.0 };
        let is_noun = |word: &Word| {
            [self, earlier].iter().all(|claim| claim.noun_phrases.iter().flatten().any(|noun| noun == word))
        };
        // Chinese words overlap, so that each has half as much weight.
        let factor = if self.corrects || earlier.is_in_chinese() { 1.0 } else { OTHER_WORD };
        let whole: f64 = earlier.subject.iter().map(weight).sum();
        let of_other: f64 =
            other.iter().map(|(word, matter)| factor * weight(word).min(rarity.of_matter(*matter))).sum();
        let of_same: f64 = same.iter().map(|word| weight(word)).sum();
        let of_nouns: f64 = same.iter().filter(|word| is_noun(word)).map(|word| weight(word)).sum();
        let changes = self.signals_change_of(earlier) || self.reports;
        let factor = if changes { CHANGED } else { 1.0 } * if earlier.asks { ASKED } else { 1.0 };
        let values = if self.values_differ(earlier) { VALUES } else { 1.0 };
        let share = (of_same + of_other) / whole * factor;
        SharedMatter { share, rank: (share + of_nouns * (NOUN - 1.0) / whole * factor) * values }
    }

    /// Returns the words of an earlier statement that it has, too, or a variant of.
    fn same_words<'c>(&self, earlier: &'c Claim) -> Vec<&'c Word> {
        let comes_up = |word: &&Word| {
            self.subject.contains(word)
                || self.has_identifier && self.subject.iter().any(|other| is_name_variant(word, other))
        };
        earlier.subject.iter().filter(comes_up).collect()
    }

    /// Returns the words of an earlier statement for which it has another word of the same matter, with the matter.
    fn other_words<'c>(&self, earlier: &'c Claim) -> Vec<(&'c Word, Matter)> {
        let mut found: Vec<(&Word, Matter)> = Vec::new();
        for (word, matter) in &earlier.matters {
            let is_new = !self.subject.contains(word) && found.iter().all(|(other, _)| *other != word);
            if is_new && self.has_matter(*matter) {
                found.push((word, *matter));
            }
        }
        found
    }

    /// Whether it names a long number of an earlier statement and gives another: `8080 is taken, use 8081`. A year is
    /// shared by many statements.
    pub(in crate::summary::record) fn names_number_of(&self, earlier: &Claim) -> bool {
        let is_year = |number: &Word| number.len() == 4 && (number.starts_with("19") || number.starts_with("20"));
        let is_meant = |number: &Word| self.revises() || self.stems.first() == Some(number);
        let named = |number: &&Word| earlier.numbers.contains(number) && !is_year(number) && is_meant(number);
        self.numbers.iter().any(|number| named(&number))
            && self.numbers.iter().any(|number| !earlier.numbers.contains(number))
    }

    /// Whether both have a noun after an article that belongs to no matter.
    fn has_other_noun(&self, earlier: &Claim) -> bool {
        [self, earlier].iter().all(|claim| {
            let is_matter = |noun: &Word| claim.matters.iter().any(|(word, _)| word == noun);
            claim.noun_phrases.iter().flatten().any(|noun| !is_matter(noun))
        })
    }

    /// Whether one of its words belongs to a matter.
    fn has_matter(&self, matter: Matter) -> bool {
        self.matters.iter().any(|(_, own)| *own == matter)
    }
}
