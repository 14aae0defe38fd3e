//! How a later statement of a speaker stands to an earlier one: whether it takes its place.
//!
//! What somebody said is lost only where it is sure that it no longer holds; where that is not sure, both stand.

use std::collections::{BTreeSet, HashSet};

use crate::summary::record::change::claim::Claim;
use crate::summary::record::change::measures::Measure;
use crate::summary::record::change::words::{is_light, stem};

/// How a later statement stands to an earlier one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Stands {
    /// Beside it.
    Beside,
    /// It may have changed it.
    Doubts,
    /// In its place, and it does not say itself what it is about.
    Continues,
    /// In its place.
    Replaces,
}

impl Claim {
    /// Whether it has a reason beside what it says about the matter of an earlier one: news that changes it.
    fn explains(&self, earlier: &Claim) -> bool {
        let is_beside = |clause: &BTreeSet<String>| clause.len() > 1 && clause.is_disjoint(&earlier.core);
        self.clauses.len() > 1 && self.clauses.iter().any(is_beside)
    }

    /// Whether it is short enough to be about one thing.
    fn is_brief(&self) -> bool {
        const MOST: usize = 14;
        self.subject.len() <= MOST
    }

    /// Whether it says that something is not as it was.
    pub(in crate::summary::record) fn revises(&self) -> bool {
        self.changes || self.turns || self.corrects
    }

    /// How it stands to an earlier statement. What somebody said is lost only where it is sure that it no longer holds.
    pub(super) fn stands_to(&self, earlier: &Claim) -> Stands {
        match self.seems_to_stand_to(earlier) {
            Stands::Replaces if !self.is_surely_about(earlier) => Stands::Doubts,
            Stands::Continues if !self.values_differ(earlier) => Stands::Doubts,
            stands => stands,
        }
    }

    /// Whether all that an earlier statement is about comes up in it, or it names that as what holds no longer.
    fn is_surely_about(&self, earlier: &Claim) -> bool {
        let is_whole = self.covered(earlier) == earlier.core.len();
        let says_enough = earlier.core.len() > 1 || !earlier.core.is_empty() && self.values_differ(earlier);
        let chooses = self.changes && !self.choice.is_empty() && !earlier.choice.is_empty();
        chooses && self.is_for_the_same(earlier)
            || is_whole && says_enough
            || self.subject == earlier.subject
            || self.former.iter().any(|former| earlier.has(former))
    }

    /// How much of the matter of an earlier statement it is about, by the rarity of the words that both have: 1 is all of it,
    /// and half as much again where something tells of a change. Meaning is not understood; a row of alike lines is a list.
    pub(super) fn shared_matter(&self, earlier: &Claim, rarity: impl Fn(&str) -> f64) -> f64 {
        /// What a verb that fits anything counts, and by how much a sign of a change raises the whole.
        const LIGHT: f64 = 0.5;
        const CHANGED: f64 = 1.5;
        if earlier.asks
            || self.asks
            || !self.is_brief()
            || !earlier.is_brief()
            || self.is_alike(earlier)
            || self.are_apart(earlier)
        {
            return 0.0;
        }
        let weight = |word: &String| rarity(word) * if is_light(word) { LIGHT } else { 1.0 };
        let comes_up =
            |word: &&String| self.subject.contains(*word) || self.subject.iter().any(|other| is_twin(word, other));
        let whole: f64 = earlier.subject.iter().map(weight).sum();
        let shared: f64 = earlier.subject.iter().filter(comes_up).map(weight).sum();
        let changes =
            self.revises() || self.reports || self.permits || self.values_differ(earlier) || self.explains(earlier);
        // What forbids something stays by itself where nothing has changed.
        if whole <= 0.0 || earlier.restricts && !changes {
            return 0.0;
        }
        shared / whole * if changes { CHANGED } else { 1.0 }
    }

    fn seems_to_stand_to(&self, earlier: &Claim) -> Stands {
        let same = !self.subject.is_empty() && self.subject == earlier.subject;
        if same && (self.values_differ(earlier) || self.values == earlier.values) {
            return Stands::Replaces;
        }
        // A question states nothing that could be changed, and a long sentence is about more than one thing.
        if earlier.asks || !self.is_brief() || !earlier.is_brief() {
            return Stands::Beside;
        }
        let is_former = self.former.iter().any(|former| earlier.has(former));
        if is_former && (self.changes || self.shares(earlier)) {
            return Stands::Replaces;
        }
        let shared = self.subject.intersection(&earlier.subject).count();
        let own = earlier.subject.len() - shared;
        if self.values_differ(earlier) {
            return self.value_stands_to(earlier, shared, own);
        }
        if self.changes && self.values.is_empty() && !self.choice.is_empty() && !earlier.choice.is_empty() {
            return if self.is_for_the_same(earlier) { Stands::Replaces } else { Stands::Beside };
        }
        let near = shared > 0 && (own < shared || self.shares_a_name(earlier));
        if self.undoes(earlier) {
            return Stands::Replaces;
        }
        let covered = self.covered(earlier);
        let missing = earlier.core.len() - covered;
        let reverses = self.permits && !self.restricts && earlier.restricts || self.restricts && earlier.permits;
        let renamed = !earlier.names.is_empty()
            && earlier.names.is_disjoint(&self.subject)
            && self.names.iter().any(|name| !earlier.subject.contains(name));
        match () {
            () if self.conflicts(earlier) => Stands::Beside,
            () if self.permits && self.changes && !earlier.permits && near => Stands::Replaces,
            () if self.forbids && self.changes && !earlier.forbids && own == 0 && shared > 0 => Stands::Replaces,
            () if self.turns && shared > 0 && (own <= shared || self.renames(earlier)) => Stands::Replaces,
            () if reverses && (self.shares_a_name(earlier) && shared > own || missing == 0 && covered > 1) => {
                Stands::Replaces
            }
            () if missing == 0 && covered > 1 && (self.corrects || renamed && (self.revises() || self.reports)) => {
                Stands::Replaces
            }
            () => Stands::Beside,
        }
    }

    /// How it stands where it gives another value of the same measure.
    fn value_stands_to(&self, earlier: &Claim, shared: usize, own: usize) -> Stands {
        if self.lacks_subject() {
            return if self.changes || self.points_back { Stands::Continues } else { Stands::Beside };
        }
        let within = own == 0 || shared == self.subject.len();
        let changes = self.revises() || self.permits || self.reports;
        let covered = self.covered(earlier);
        let missing = earlier.core.len() - covered;
        match () {
            () if shared == 0 || self.conflicts(earlier) => Stands::Beside,
            () if missing == 0 && changes && (covered > 1 || covered > 0 && self.corrects) => Stands::Replaces,
            () if changes && (within || shared > 1) => Stands::Replaces,
            () if self.permits && !earlier.permits && own <= shared => Stands::Replaces,
            () => Stands::Beside,
        }
    }

    /// Whether both give a value of one measure, and not the same.
    fn values_differ(&self, earlier: &Claim) -> bool {
        // What has no name of its own measures what was measured before: `make it 50`.
        let nameless = self.lacks_subject();
        let counts = |measure: &Measure| matches!(measure, Measure::Number | Measure::Of(_));
        let alike = |one: &Measure, other: &Measure| {
            let same = one == other && (!matches!(one, Measure::Named(_)) || self.revises() || self.reports);
            same || (nameless || self.corrects) && counts(one) && counts(other)
        };
        let mut of_one = self.values.iter().flat_map(|(measure, value)| {
            earlier.values.iter().filter(move |(other, _)| alike(measure, other)).map(move |(_, other)| other != value)
        });
        of_one.next().is_some_and(|first| first || of_one.any(|differs| differs))
    }

    /// Whether both name things of one sort with other words before it: the hotel budget, the flight budget.
    fn are_apart(&self, earlier: &Claim) -> bool {
        let apart = |one: &[String], other: &[String]| {
            let [one_words @ .., one_head] = one else { return false };
            let [other_words @ .., other_head] = other else { return false };
            one_head == other_head
                && !one_words.is_empty()
                && !other_words.is_empty()
                && one_words.iter().all(|word| !other_words.contains(word) && !earlier.subject.contains(word))
                && !other_words.iter().any(|word| self.subject.contains(word))
        };
        self.named.iter().any(|one| earlier.named.iter().any(|other| apart(one, other)))
    }

    /// Whether both name things of one sort with other words before it, or nothing in common.
    fn conflicts(&self, earlier: &Claim) -> bool {
        let heads = |claim: &Claim| claim.named.iter().filter_map(|noun| noun.last().cloned()).collect::<HashSet<_>>();
        let all = |claim: &Claim| claim.named.iter().flatten().cloned().collect::<HashSet<_>>();
        let (mine, theirs) = (all(self), all(earlier));
        let strangers = !mine.is_empty()
            && !theirs.is_empty()
            && mine.is_disjoint(&theirs)
            && heads(self).iter().all(|head| !earlier.subject.contains(head))
            && heads(earlier).iter().all(|head| !self.subject.contains(head));
        strangers || self.are_apart(earlier)
    }

    /// Whether a name is not that of an earlier statement, but nearly: `shop-old`, `shop-new`.
    fn renames(&self, earlier: &Claim) -> bool {
        let alike = |one: &str, other: &str| if self.turns { opens_alike(one, other) } else { is_twin(one, other) };
        self.subject.iter().any(|one| earlier.subject.iter().any(|other| alike(one, other)))
    }

    fn shares(&self, earlier: &Claim) -> bool {
        self.subject.intersection(&earlier.subject).next().is_some()
    }

    /// Whether both name the same thing by a word that is no word of the language.
    fn shares_a_name(&self, earlier: &Claim) -> bool {
        let mut shared = self.subject.intersection(&earlier.subject);
        shared.any(|word| word.contains(['/', '_', '.', '-']) || word.bytes().any(|byte| byte.is_ascii_digit()))
    }

    /// How many words of what an earlier statement is about come up in it.
    fn covered(&self, earlier: &Claim) -> usize {
        let named = |word: &&String| self.subject.contains(*word) || self.names.contains(*word);
        earlier.core.iter().filter(named).count()
    }

    /// Whether it says the opposite of a word of an earlier one: `mute`, `unmute`.
    fn undoes(&self, earlier: &Claim) -> bool {
        let undone = |word: &String| {
            let rest = word.strip_prefix("un");
            rest.is_some_and(|rest| rest.len() > 2 && earlier.subject.contains(&stem(rest)))
        };
        self.subject.iter().any(undone) && self.covered(earlier) > 0
    }

    /// Whether both are the same sentence but for the words that tell them apart, as the lines of a list are.
    fn is_alike(&self, earlier: &Claim) -> bool {
        let common = |one: &Claim, other: &Claim| -> Vec<String> {
            one.frame.iter().filter(|word| other.frame.contains(word)).cloned().collect()
        };
        self.frame.len() == earlier.frame.len() && common(self, earlier) == common(earlier, self) && !self.corrects
    }

    /// Whether a statement is about these words, or gives them as a value.
    fn has(&self, former: &BTreeSet<String>) -> bool {
        let is_value = |word: &String| self.values.iter().any(|(_, value)| value.split(' ').any(|part| part == word));
        let amounts = |word: &String| word.bytes().all(|byte| byte.is_ascii_digit() || byte == b'$');
        former.iter().all(|word| self.subject.contains(word) || self.choice.contains(word) || is_value(word))
            && (!former.iter().all(amounts) || former.iter().any(is_value))
    }

    /// Whether two choices are for the same purpose, or one does not say for what.
    fn is_for_the_same(&self, earlier: &Claim) -> bool {
        let purpose = |claim: &Claim| claim.subject.difference(&claim.choice).cloned().collect::<BTreeSet<_>>();
        let (this, that) = (purpose(self), purpose(earlier));
        this.is_subset(&that) || that.is_subset(&this)
    }
}

/// Bytes at the beginning of two words that are the same; nothing where both are one word.
fn shared_opening(one: &str, other: &str) -> usize {
    if one == other { 0 } else { one.bytes().zip(other.bytes()).take_while(|(a, b)| a == b).count() }
}

/// Whether two words differ, but not at their beginning.
fn opens_alike(one: &str, other: &str) -> bool {
    const ALIKE: usize = 4;
    shared_opening(one, other) >= ALIKE
}

/// Whether two names differ only behind their first half: `shop-old`, `shop-new`.
fn is_twin(one: &str, other: &str) -> bool {
    let is_name =
        |word: &str| word.contains(['-', '_', '/', '.', ':']) || word.bytes().any(|byte| byte.is_ascii_digit());
    opens_alike(one, other) && shared_opening(one, other) * 2 >= one.len() && is_name(one) && is_name(other)
}
