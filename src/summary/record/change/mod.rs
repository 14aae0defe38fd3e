//! Compares statements of one speaker, so that a later one replaces an earlier one about the same thing, also in other
//! words.
//!
//! A statement is parsed into its **subject** (its content words), the **values** it gives (amounts by what they
//! measure, days, names) and its effect: whether it **changes** something (`instead`, `after all`, 改为), **permits** or
//! **forbids**. The code does not understand meaning. So two statements both stay if each has words of its own and no
//! word signals a change: the timeout of the API and that of the database.

mod claim;
mod comparison;
mod matters;
mod measures;
mod shared_matter;
mod words;

use std::collections::HashMap;
use std::hash::BuildHasher;

use foldhash::fast::RandomState;

pub(super) use claim::{Claim, Context};
use comparison::Relation;
use matters::Matter;
use shared_matter::{Rarity, SharedMatter};
pub(in crate::summary) use words::is_common;
pub(super) use words::stem;
use words::{Word, WordSet};

impl ClaimChange {
    /// The share of the earlier statement's matter that the new one is about.
    pub(super) fn share(&self) -> f64 {
        self.matter.share
    }

    /// How likely the new statement means the earlier one rather than another.
    pub(super) fn rank(&self) -> f64 {
        self.matter.rank
    }
}

/// The statements of one speaker so far. Finds those that a new one replaces.
#[derive(Default)]
pub(super) struct ClaimHistory {
    /// `None` for those that were replaced, which are not compared again.
    all: Vec<Option<Box<Claim>>>,
    by_word: HashMap<Word, Vec<usize>, RandomState>,
    by_matter: HashMap<Matter, Vec<usize>, RandomState>,
    /// The index of each sentence by the hash of its text, to recognize repetitions.
    by_text: HashMap<u64, usize, RandomState>,
}

/// How a new statement affects an earlier one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ChangeKind {
    /// The earlier one no longer holds.
    Replaced,
    /// The earlier one may no longer hold.
    Doubted,
    /// The new one is about the same matter and changes something.
    Related,
    /// The new one is about the same matter. Nothing signals a change.
    Alike,
}

/// The effect of a new statement on an earlier one.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct ClaimChange {
    /// The index of the earlier statement.
    pub(super) index: usize,
    /// The effect.
    pub(super) kind: ChangeKind,
    /// How much of the earlier statement's matter the new one is about.
    matter: SharedMatter,
    /// The subject of the earlier statement, if the new one names none itself.
    pub(super) about: Option<String>,
}

/// The result of adding a statement.
pub(super) struct AddedClaim {
    /// Its effects on earlier statements.
    pub(super) changes: Vec<ClaimChange>,
    /// The earlier statements on the same matter.
    pub(super) matching: Vec<usize>,
    /// Other earlier statements that share a word with it.
    pub(super) touching: Vec<usize>,
    /// What the next sentence of its message is read with.
    pub(super) context: Context,
    /// Whether it says that something changed, or the sentence before it does.
    pub(super) revises: bool,
    /// Whether it certainly corrects something.
    pub(super) corrects: bool,
}

impl ClaimHistory {
    /// Most earlier statements with the same word that a new one is compared with. The comparisons would be quadratic
    /// without a limit.
    const MOST_COMPARED: usize = 16;
    /// The share of an earlier statement's matter that a later one must be about to be shown with it.
    const RELATED_SHARE: f64 = 0.25;
    /// The number of statements with a word from which on it is frequent.
    const MANY: usize = 3;

    /// Removes and returns the earlier statement with the same text, which need not be parsed again.
    pub(super) fn take_repeated(&mut self, sentence: &str) -> Option<(Claim, ClaimChange)> {
        let next = self.all.len();
        let key = self.by_text.hasher().hash_one(sentence);
        let index = self.by_text.insert(key, next)?;
        let claim = self.all[index].take()?;
        Some((*claim, ClaimChange { index, kind: ChangeKind::Replaced, matter: SharedMatter::WHOLE, about: None }))
    }

    /// Whether a reply corrects a statement that its reader just made: it states something else on the matter of an
    /// assumption, or gives another value. A request corrects nothing: `add 12 tests`.
    pub(super) fn corrects(&self, reply: &Claim, statement: &Claim, is_assumption: bool) -> bool {
        let SharedMatter { share, .. } = reply.shared_matter(statement, self);
        let differs = share >= Self::RELATED_SHARE && reply.values_differ(statement);
        share > 0.0
            && reply.may_correct()
            && (differs
                || is_assumption && reply.shares_matter(statement) && !reply.subject.is_subset(&statement.subject))
    }

    /// Returns the indices of the earlier statements that a new one may affect, in order. `is_announced` is whether the
    /// sentence before announces a change.
    fn candidates(&self, claim: &Claim, is_announced: bool) -> Vec<usize> {
        fn latest(list: Option<&Vec<usize>>) -> impl Iterator<Item = usize> {
            let list = list.map_or(&[][..], Vec::as_slice);
            list[list.len().saturating_sub(ClaimHistory::MOST_COMPARED)..].iter().copied()
        }
        let last_with = |word: &Word| latest(self.by_word.get(word));
        let mut found = Vec::new();
        if claim.is_brief() {
            let words =
                claim.subject.iter().chain(claim.former.iter().flat_map(WordSet::iter)).chain(claim.choice.iter());
            let words = words.chain(claim.numbers.iter());
            words.for_each(|word| found.extend(last_with(word)));
            let matters = claim.matters.iter().map(|(_, matter)| matter);
            matters.for_each(|matter| found.extend(latest(self.by_matter.get(matter))));
            if claim.revises() || is_announced || claim.points_back {
                found.extend(self.all.len().saturating_sub(Self::MOST_COMPARED)..self.all.len());
            }
        } else {
            // A long statement affects only one with the same subject, which has its rarest word, too.
            let times = |word: &&Word| self.by_word.get(*word).map_or(0, Vec::len);
            found.extend(claim.subject.iter().min_by_key(times).into_iter().flat_map(last_with));
        }
        found.sort_unstable();
        found.dedup();
        found.retain(|index| self.all[*index].is_some());
        found
    }

    /// Returns the last statement that gives another amount of money, time or data; only the latest few are searched.
    fn last_with_value(&self, claim: &Claim) -> Option<usize> {
        /// The statements that a pronoun can refer to.
        const LATEST: usize = 6;
        let first = self.all.len().saturating_sub(LATEST);
        let latest = (first..self.all.len()).rev().filter_map(|index| Some((index, self.all[index].as_deref()?)));
        latest.filter(|(_, earlier)| claim.gives_another_value(earlier)).map(|(index, _)| index).next()
    }

    /// Adds a statement. `with_question` is the same with the question that it answers, with which later statements are
    /// compared; `before` is the context from the sentence before it in its message.
    pub(super) fn add(
        &mut self,
        mut claim: Claim,
        with_question: Option<Claim>,
        before: Option<&Context>,
    ) -> AddedClaim {
        let mut found = Vec::new();
        let candidates = self.candidates(&claim, before.is_some_and(|before| before.corrects));
        let (corrects, reports, clauses) = (claim.corrects, claim.reports, claim.clauses.len());
        if let Some(before) = before {
            claim.corrects |= before.corrects;
            claim.reports |= before.reports;
            claim.clauses.push(before.subject.clone());
        }
        let (context, revises) = (claim.context(), claim.revises());
        let mut continued = false;
        // The earlier statement with the largest share of its matter in the new one.
        let mut related: Option<(usize, SharedMatter)> = None;
        let (mut matching, mut touching) = (Vec::new(), Vec::new());
        for index in candidates.into_iter().rev() {
            let Some(before) = self.all[index].as_deref() else { continue };
            let kind = match claim.relation_to(before) {
                Relation::Independent => {
                    let matter = claim.shared_matter(before, self);
                    if matter.share >= Self::RELATED_SHARE {
                        matching.push(index);
                        related = related.filter(|(_, most)| most.rank >= matter.rank).or(Some((index, matter)));
                    } else if matter.share > 0.0 {
                        touching.push(index);
                    }
                    continue;
                }
                Relation::Continues if continued => continue,
                Relation::MayReplace => ChangeKind::Doubted,
                Relation::Continues | Relation::Replaces => ChangeKind::Replaced,
            };
            let about = (claim.lacks_subject() && !before.lacks_subject()).then(|| before.about());
            if about.is_some() {
                (claim.subject, claim.spelled_subject) = (before.subject.clone(), before.spelled_subject.clone());
                claim.has_identifier = before.has_identifier;
                continued = true;
            }
            if kind == ChangeKind::Replaced {
                self.all[index] = None;
            }
            matching.push(index);
            found.push(ClaimChange { index, kind, matter: SharedMatter::WHOLE, about });
        }
        if found.is_empty() && related.is_none() && claim.has_pronoun {
            related = self.last_with_value(&claim).map(|index| (index, SharedMatter::WHOLE));
            matching.extend(related.map(|(index, _)| index));
        }
        if found.is_empty() {
            found.extend(related.map(|(index, matter)| {
                let changes = self.all[index].as_deref().is_some_and(|earlier| claim.signals_change_of(earlier));
                let kind = if changes { ChangeKind::Related } else { ChangeKind::Alike };
                ClaimChange { index, kind, matter, about: None }
            }));
        }
        // Later statements are compared with the sentence itself.
        (claim.corrects, claim.reports) = (corrects, reports);
        claim.clauses.truncate(clauses);
        let claim = with_question.unwrap_or(claim);
        for word in claim.subject.iter().chain(claim.choice.iter()).chain(claim.numbers.iter()) {
            self.by_word.entry(word.clone()).or_default().push(self.all.len());
        }
        for (_, matter) in &claim.matters {
            self.by_matter.entry(*matter).or_default().push(self.all.len());
        }
        self.all.push(Some(Box::new(claim)));
        AddedClaim { changes: found, matching, touching, context, revises, corrects }
    }
}

impl ClaimHistory {
    fn rarity(&self, list: Option<&Vec<usize>>) -> f64 {
        /// A word of every statement still counts a little.
        const BASE: f64 = 0.2;
        let times = list.map_or(1, |list| list.len().max(1));
        ((self.all.len() + 2) as f64 / times as f64).ln() + BASE
    }
}

impl Rarity for ClaimHistory {
    fn of_word(&self, word: &str) -> f64 {
        self.rarity(self.by_word.get(word))
    }

    fn of_matter(&self, matter: Matter) -> f64 {
        self.rarity(self.by_matter.get(&matter))
    }

    fn is_frequent(&self, word: &str) -> bool {
        self.by_word.get(word).is_some_and(|list| list.len() >= Self::MANY)
    }

    fn is_frequent_matter(&self, matter: Matter) -> bool {
        self.by_matter.get(&matter).is_some_and(|list| list.len() >= Self::MANY)
    }
}

#[cfg(test)]
mod tests;
