//! Decides whether a later statement of a speaker replaces an earlier one.
//!
//! A statement is dropped only if it certainly no longer holds; otherwise both stay.

use crate::summary::record::change::claim::Claim;
use crate::summary::record::change::measures::ValueMeasure;
use crate::summary::record::change::words::{Word, WordSet, is_identifier, is_light, stem};

/// The relation of a later statement to an earlier one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Relation {
    /// Both hold.
    Independent,
    /// The later one may replace it.
    MayReplace,
    /// The later one replaces it and takes its subject, naming none itself.
    Continues,
    /// The later one replaces it.
    Replaces,
}

impl Claim {
    /// Whether it gives a reason beside its words on the matter of an earlier statement: news that changes it.
    fn explains(&self, earlier: &Claim) -> bool {
        let is_beside = |clause: &WordSet| clause.len() > 1 && clause.is_disjoint(&earlier.core);
        self.clauses.len() > 1 && self.clauses.iter().any(is_beside)
    }

    /// Whether it is short enough to be about one thing.
    pub(super) fn is_brief(&self) -> bool {
        const MOST: usize = 14;
        self.subject.len() <= MOST
    }

    /// Whether it says too little to be understood without the question that it answers.
    pub(in crate::summary::record) fn needs_question(&self) -> bool {
        self.subject.len() < 2
    }

    /// Whether it says that something changed.
    pub(in crate::summary::record) fn revises(&self) -> bool {
        self.changes || self.transforms || self.corrects
    }

    /// Whether something says that the matter of an earlier statement changed.
    pub(super) fn signals_change_of(&self, earlier: &Claim) -> bool {
        self.revises()
            || self.permits
            || self.values_differ(earlier)
            || self.explains(earlier)
            || self.affirms_what_is_forbidden(earlier)
    }

    /// Whether it wants the whole of what an earlier statement forbids, with its verb.
    fn affirms_what_is_forbidden(&self, earlier: &Claim) -> bool {
        let affirmed = match &self.affirmed {
            Some(affirmed) => affirmed,
            None if self.restricts => return false,
            None => &self.subject,
        };
        let mut verbs = earlier.subject.iter().filter(|word| !earlier.core.contains(word));
        earlier.restricts
            && !earlier.core.is_empty()
            && self.covered_core(earlier) == earlier.core.len()
            && verbs.any(|verb| affirmed.contains(verb))
    }

    /// Returns its relation to an earlier statement, which is dropped only if it certainly no longer holds.
    pub(super) fn relation_to(&self, earlier: &Claim) -> Relation {
        match self.likely_relation_to(earlier) {
            // A permission for one thing leaves a prohibition of others.
            Relation::Replaces
                if self.permits && earlier.restricts && self.covered_core(earlier) < earlier.core.len() =>
            {
                Relation::Independent
            }
            Relation::Replaces if !self.is_surely_about(earlier) => Relation::MayReplace,
            Relation::Continues if !self.values_differ(earlier) => Relation::MayReplace,
            relation => relation,
        }
    }

    /// Whether it covers the whole matter of an earlier statement, or names that as outdated.
    fn is_surely_about(&self, earlier: &Claim) -> bool {
        // The limit for Alice is not that for Bob.
        let names_all =
            earlier.names.iter().all(|name| self.subject.contains(name)) || self.names.is_empty() && !earlier.restricts;
        let is_whole = names_all && self.covered_core(earlier) == earlier.core.len();
        let says_enough = earlier.core.len() > 1 || !earlier.core.is_empty() && self.values_differ(earlier);
        let chooses = self.changes && !self.choice.is_empty() && !earlier.choice.is_empty();
        chooses && self.is_for_the_same(earlier)
            || is_whole && says_enough
            || self.subject == earlier.subject
            || !earlier.restricts && self.former.iter().any(|former| earlier.mentions(former))
    }

    /// Whether both give values of things with different numbers: order 12, order 14; or one is about the other thing.
    fn names_another(&self, earlier: &Claim) -> bool {
        fn named(claim: &Claim) -> impl Iterator<Item = &(ValueMeasure, String)> {
            claim.values.iter().filter(|(measure, _)| matches!(measure, ValueMeasure::Named(_)))
        }
        let has_values = |claim: &Claim| claim.values.len() > named(claim).count();
        let is_request = self.requested_action.is_some() && self.requested_action == earlier.requested_action;
        let differs = named(self)
            .any(|(noun, number)| named(earlier).any(|(other_noun, other)| noun == other_noun && number != other));
        let is_numbered = differs && (is_request || has_values(self) && has_values(earlier));
        (is_numbered || self.is_about_another != earlier.is_about_another) && !self.corrects && self.former.is_empty()
    }

    /// Whether it can correct a statement of its reader: it states what holds, or gives a value that is no number of
    /// things.
    pub(in crate::summary::record) fn may_correct(&self) -> bool {
        self.states || self.is_in_chinese() || self.has_values() && !self.counts()
    }

    /// Whether both give amounts of money, time, data or parts that differ.
    pub(super) fn gives_another_value(&self, earlier: &Claim) -> bool {
        let is_amount = |measure: &ValueMeasure| {
            matches!(measure, ValueMeasure::Money | ValueMeasure::Time | ValueMeasure::Bytes | ValueMeasure::Percentage)
        };
        let amounts = |claim: &Claim| claim.values.iter().filter(|(measure, _)| is_amount(measure)).count();
        amounts(self) == 1 && amounts(earlier) == 1 && !earlier.asks && !self.adds && self.values_differ(earlier)
    }

    /// Whether both give one value, which differs.
    pub(in crate::summary::record) fn gives_new_value_of(&self, earlier: &Claim) -> bool {
        let is_named =
            |claim: &Claim| claim.values.iter().any(|(measure, _)| matches!(measure, ValueMeasure::Named(_)));
        let has_one = |claim: &Claim| claim.values.len() == 1 && !is_named(claim);
        let is_number = |name: &Word| name.starts_with(|c: char| c.is_ascii_digit());
        let has_names = earlier
            .names
            .iter()
            .all(|name| is_number(name) || self.subject.contains(name) || self.names.contains(name));
        has_one(self)
            && has_one(earlier)
            && has_names
            && self.values_differ(earlier)
            && !self.have_different_qualifiers(earlier)
            && !self.names_another(earlier)
    }

    /// Whether it gives a value.
    pub(in crate::summary::record) fn has_values(&self) -> bool {
        !self.values.is_empty()
    }

    /// Whether it gives a number of things.
    pub(super) fn counts(&self) -> bool {
        let counts = |measure: &ValueMeasure| {
            matches!(measure, ValueMeasure::Number | ValueMeasure::Count(_) | ValueMeasure::Named(_))
        };
        self.values.iter().any(|(measure, _)| counts(measure))
    }

    /// Whether it is in a script without spaces.
    pub(super) fn is_in_chinese(&self) -> bool {
        self.subject.iter().any(|word| word.starts_with(|c: char| c >= '\u{2e80}'))
    }

    fn likely_relation_to(&self, earlier: &Claim) -> Relation {
        if self.names_another(earlier) || self.adds || self.asks && !self.asks_favor {
            return Relation::Independent;
        }
        let same = !self.subject.is_empty() && self.subject == earlier.subject;
        if same && self.values_differ(earlier) {
            return self.new_value_relation_to(earlier);
        }
        if same && self.values == earlier.values && self.requested_action == earlier.requested_action {
            return Relation::Replaces;
        }
        // A long sentence has more than one subject.
        if !self.is_brief() || !earlier.is_brief() {
            return Relation::Independent;
        }
        let is_former = self.former.iter().any(|former| earlier.mentions(former));
        if is_former && (self.changes || self.shares_subject(earlier)) {
            return Relation::Replaces;
        }
        // A question states nothing that could change, but what it asks for can be withdrawn.
        if earlier.asks {
            return Relation::Independent;
        }
        let shared_words = self.subject.intersection(&earlier.subject).count();
        let missing_words = earlier.subject.len() - shared_words;
        if self.values_differ(earlier) {
            return self.value_relation_to(earlier, shared_words, missing_words);
        }
        if self.changes && self.values.is_empty() && !self.choice.is_empty() && !earlier.choice.is_empty() {
            return if self.is_for_the_same(earlier) { Relation::Replaces } else { Relation::Independent };
        }
        let is_near = shared_words > 0 && (missing_words < shared_words || self.shares_a_name(earlier));
        if self.negates(earlier) {
            return Relation::Replaces;
        }
        let covered_core = self.covered_core(earlier);
        let missing_core = earlier.core.len() - covered_core;
        let reverses_permission =
            self.permits && !self.restricts && earlier.restricts || self.restricts && earlier.permits;
        let has_new_name = !earlier.names.is_empty()
            && earlier.names.is_disjoint(&self.subject)
            && self.names.iter().any(|name| !earlier.subject.contains(name));
        match () {
            () if self.conflicts(earlier) => Relation::Independent,
            () if self.permits && self.changes && !earlier.permits && is_near => Relation::Replaces,
            () if self.forbids && self.changes && !earlier.forbids && missing_words == 0 && shared_words > 0 => {
                Relation::Replaces
            }
            () if self.transforms && shared_words > 0 && (missing_words <= shared_words || self.renames(earlier)) => {
                Relation::Replaces
            }
            () if reverses_permission
                && (self.shares_a_name(earlier) && shared_words > missing_words
                    || missing_core == 0 && covered_core > 1) =>
            {
                Relation::Replaces
            }
            () if missing_core == 0
                && covered_core > 1
                && (self.corrects || has_new_name && (self.revises() || self.reports)) =>
            {
                Relation::Replaces
            }
            () => Relation::Independent,
        }
    }

    /// Returns its relation if it differs from an earlier statement only in a value. A second request with another value
    /// is one more request: `delete user 7`, `delete user 8`.
    fn new_value_relation_to(&self, earlier: &Claim) -> Relation {
        let changes = self.revises() || self.reports || self.permits;
        match () {
            () if changes || self.states || earlier.states => Relation::Replaces,
            () if !self.choice.is_empty() && !earlier.choice.is_empty() => Relation::MayReplace,
            () => Relation::Independent,
        }
    }

    /// Returns its relation if it gives another value of the same measure.
    fn value_relation_to(&self, earlier: &Claim, shared_words: usize, missing_words: usize) -> Relation {
        if self.lacks_subject() {
            return if self.changes || self.points_back { Relation::Continues } else { Relation::Independent };
        }
        let within = missing_words == 0 || shared_words == self.subject.len();
        let changes = self.revises() || self.permits || self.reports;
        let covered_core = self.covered_core(earlier);
        let missing_core = earlier.core.len() - covered_core;
        match () {
            () if shared_words == 0 || self.conflicts(earlier) => Relation::Independent,
            () if missing_core == 0 && changes && (covered_core > 1 || covered_core > 0 && self.corrects) => {
                Relation::Replaces
            }
            () if changes && (within || shared_words > 1) => Relation::Replaces,
            () if self.permits && !earlier.permits && missing_words <= shared_words => Relation::Replaces,
            () => Relation::Independent,
        }
    }

    /// Whether both give values of one measure that differ.
    pub(super) fn values_differ(&self, earlier: &Claim) -> bool {
        // A value without a subject has the measure of the value before: `make it 50`.
        let nameless = self.lacks_subject();
        let counts = |measure: &ValueMeasure| matches!(measure, ValueMeasure::Number | ValueMeasure::Count(_));
        let alike = |one: &ValueMeasure, other: &ValueMeasure| {
            let same =
                one == other && (!matches!(one, ValueMeasure::Named(_)) || self.changes_otherwise || self.reports);
            same || (nameless || self.corrects) && counts(one) && counts(other)
        };
        let mut of_one = self.values.iter().flat_map(|(measure, value)| {
            earlier.values.iter().filter(move |(other, _)| alike(measure, other)).map(move |(_, other)| other != value)
        });
        of_one.next().is_some_and(|first| first || of_one.any(|differs| differs))
    }

    /// Whether both name things of one kind with different qualifiers: the hotel budget, the flight budget.
    pub(super) fn have_different_qualifiers(&self, earlier: &Claim) -> bool {
        let apart = |one: &[Word], other: &[Word]| {
            let [one_words @ .., one_head] = one else { return false };
            let [other_words @ .., other_head] = other else { return false };
            one_head == other_head
                && !one_words.is_empty()
                && !other_words.is_empty()
                // The cheapest courier and the fastest one are no two things.
                && !one_words.iter().chain(other_words).all(|word| word.ends_with("est"))
                && one_words.iter().all(|word| !other_words.contains(word) && !earlier.subject.contains(word))
                && !other_words.iter().any(|word| self.subject.contains(word))
        };
        self.noun_phrases.iter().any(|one| earlier.noun_phrases.iter().any(|other| apart(one, other)))
    }

    /// Whether both name things of one kind with different qualifiers, or have no noun in common.
    fn conflicts(&self, earlier: &Claim) -> bool {
        fn nouns(claim: &Claim) -> impl Iterator<Item = &Word> {
            claim.noun_phrases.iter().flatten()
        }
        let has_no_head_of = |one: &Claim, other: &Claim| {
            other.noun_phrases.iter().filter_map(|noun| noun.last()).all(|head| !one.subject.contains(head))
        };
        let are_unrelated = !self.noun_phrases.is_empty()
            && !earlier.noun_phrases.is_empty()
            && has_no_head_of(earlier, self)
            && has_no_head_of(self, earlier)
            && nouns(self).all(|noun| nouns(earlier).all(|other| other != noun));
        are_unrelated || self.have_different_qualifiers(earlier)
    }

    /// Whether a name is a variant of one in an earlier statement: `shop-old`, `shop-new`.
    fn renames(&self, earlier: &Claim) -> bool {
        let alike = |one: &str, other: &str| {
            if self.transforms { share_opening(one, other) } else { is_name_variant(one, other) }
        };
        self.subject.iter().any(|one| earlier.subject.iter().any(|other| alike(one, other)))
    }

    /// Whether it has all words of a statement, which has more than one.
    pub(in crate::summary::record) fn covers(&self, statement: &Claim) -> bool {
        statement.subject.len() > 1 && statement.subject.is_subset(&self.subject)
    }

    /// Returns how many words it shares with a statement.
    pub(in crate::summary::record) fn shared_words(&self, statement: &Claim) -> usize {
        self.subject.intersection(&statement.subject).count()
    }

    /// Whether both have a word that is no verb that fits anything.
    pub(in crate::summary::record) fn shares_matter(&self, earlier: &Claim) -> bool {
        self.subject.intersection(&earlier.subject).any(|word| !is_light(word))
    }

    fn shares_subject(&self, earlier: &Claim) -> bool {
        self.subject.intersection(&earlier.subject).next().is_some()
    }

    /// Whether both contain the same identifier or number.
    fn shares_a_name(&self, earlier: &Claim) -> bool {
        let mut shared_words = self.subject.intersection(&earlier.subject);
        shared_words.any(|word| word.contains(['/', '_', '.', '-']) || word.bytes().any(|byte| byte.is_ascii_digit()))
    }

    /// Returns how many words of an earlier statement's core it contains.
    fn covered_core(&self, earlier: &Claim) -> usize {
        let named = |word: &&Word| self.subject.contains(word) || self.names.contains(word);
        earlier.core.iter().filter(named).count()
    }

    /// Whether it negates a word of an earlier statement: `mute`, `unmute`.
    fn negates(&self, earlier: &Claim) -> bool {
        let undone = |word: &Word| {
            let rest = word.strip_prefix("un");
            rest.is_some_and(|rest| rest.len() > 2 && earlier.subject.contains(&stem(rest)))
        };
        self.subject.iter().any(undone) && self.covered_core(earlier) > 0
    }

    /// Whether both are the same sentence except for the words that distinguish them, like lines of a list. What allows
    /// something is no such line of what forbids it.
    pub(super) fn is_list_sibling(&self, earlier: &Claim) -> bool {
        let is_mostly_about = || self.shared_words(earlier) * 2 > earlier.subject.len();
        if self.permits && !self.restricts && earlier.restricts && is_mostly_about() {
            return false;
        }
        let equal_words = self.stems.iter().zip(&earlier.stems).filter(|(one, other)| one == other).count();
        self.stems.len() == earlier.stems.len() && !self.corrects && equal_words * 2 >= self.stems.len()
    }

    /// Whether a statement contains these words in its subject, its choice or its values.
    fn mentions(&self, former: &WordSet) -> bool {
        let is_value = |word: &Word| self.values.iter().any(|(_, value)| value.split(' ').any(|part| part == &**word));
        let amounts = |word: &Word| word.bytes().all(|byte| byte.is_ascii_digit() || byte == b'$');
        former.iter().all(|word| self.subject.contains(word) || self.choice.contains(word) || is_value(word))
            && (!former.iter().all(amounts) || former.iter().any(is_value))
    }

    /// Whether two choices have the same purpose, or one names none.
    fn is_for_the_same(&self, earlier: &Claim) -> bool {
        let purpose = |claim: &Claim| claim.subject.difference(&claim.choice).cloned().collect::<WordSet>();
        let (this, that) = (purpose(self), purpose(earlier));
        this.is_subset(&that) || that.is_subset(&this)
    }
}

/// Returns how many leading bytes two different words share; 0 if they are the same word.
fn shared_opening(one: &str, other: &str) -> usize {
    if one == other { 0 } else { one.bytes().zip(other.bytes()).take_while(|(a, b)| a == b).count() }
}

/// Whether two different words have the same beginning.
fn share_opening(one: &str, other: &str) -> bool {
    const ALIKE: usize = 4;
    shared_opening(one, other) >= ALIKE
}

/// Whether two names differ only in their second half: `shop-old`, `shop-new`.
pub(super) fn is_name_variant(one: &str, other: &str) -> bool {
    is_identifier(one)
        && is_identifier(other)
        && share_opening(one, other)
        && shared_opening(one, other) * 2 >= one.len()
}
