//! Of facts about the same thing the last stands.

use std::collections::{BTreeSet, HashMap};

use crate::summary::ledger::claim::{Claim, Measure, Stands};
use crate::summary::ledger::files::Use;
use crate::summary::ledger::reading::Speaker;
use crate::summary::ledger::{Found, Kind};

/// Earlier statements that a new one is compared with, of each word and of each measure the last: more would cost
/// their number times that of all statements.
const COMPARED: usize = 12;

/// The facts that stand so far: what later ones replace is gone.
#[derive(Default)]
pub(super) struct Standing {
    /// In the order they came in; boxed, since most may be gone.
    facts: Vec<Option<Box<Found>>>,
    by_key: HashMap<String, usize>,
    statements: Statements,
}

impl Standing {
    /// Adds a fact, in the place of those that it replaces.
    pub(super) fn add(&mut self, mut fact: Found) {
        let before = fact.key.take().and_then(|key| self.by_key.insert(key, self.facts.len()));
        if let Some(before) = before.and_then(|at| self.facts.get_mut(at)).and_then(Option::take) {
            take_over(&mut fact, &before);
        }
        if fact.claim.is_some() {
            self.statements.add(&mut fact, &mut self.facts);
        }
        self.facts.push(Some(Box::new(fact)));
    }

    /// The facts in the order they came in, without what nobody asks for any more: they may be many.
    pub(super) fn facts(self) -> impl Iterator<Item = Found> {
        self.facts.into_iter().flatten().map(|fact| Found { claim: None, ..*fact })
    }
}

/// What a later fact keeps of the one that it replaces.
fn take_over(fact: &mut Found, before: &Found) {
    let changed = Use::Changed.word();
    // A file that was changed is not only read for being looked at again.
    if fact.entry.kind == Kind::File && before.entry.about == changed && fact.entry.about != changed {
        fact.entry.about = changed.to_owned();
        fact.entry.index = before.entry.index;
        fact.entry.earlier = before.entry.earlier;
        fact.entry.weight = before.entry.weight;
    }
    fact.entry.weight = fact.entry.weight.max(before.entry.weight);
}

/// Statements by what they can be found again by.
#[derive(Default)]
struct Statements {
    by_word: HashMap<String, Vec<usize>>,
    by_measure: HashMap<Measure, Vec<usize>>,
}

impl Statements {
    /// Takes earlier statements out that a new one replaces, and remembers it.
    fn add(&mut self, fact: &mut Found, kept: &mut [Option<Box<Found>>]) {
        let Some(mut claim) = fact.claim.take() else { return };
        for std::cmp::Reverse(at) in self.candidates(&claim) {
            let Some(earlier) = kept[at].as_ref().filter(|earlier| may_replace(fact, earlier)) else { continue };
            let Some(before) = &earlier.claim else { continue };
            let stands = claim.stands_to(before);
            if stands == Stands::Beside {
                continue;
            }
            if claim.lacks_subject() && !before.lacks_subject() {
                fact.entry.text = format!("{}: {}", before.about(), fact.entry.text);
                claim.continue_from(before);
            }
            fact.entry.weight = fact.entry.weight.max(earlier.entry.weight);
            if earlier.entry.kind < fact.entry.kind {
                fact.entry.kind = earlier.entry.kind;
            }
            kept[at] = None;
            if stands == Stands::Continues {
                break;
            }
        }
        self.remember(&claim, kept.len());
        fact.claim = Some(claim);
    }

    /// Statements that share a word or a measure with this one, the last first.
    fn candidates(&self, claim: &Claim) -> BTreeSet<std::cmp::Reverse<usize>> {
        let last =
            |list: &Vec<usize>| list.iter().rev().take(COMPARED).map(|at| std::cmp::Reverse(*at)).collect::<Vec<_>>();
        let words = claim.all_words();
        let measures = claim.values.iter().map(|(measure, _)| measure).filter(|_| claim.changes || claim.points_back);
        words
            .iter()
            .filter_map(|word| self.by_word.get(*word))
            .chain(measures.filter_map(|measure| self.by_measure.get(measure)))
            .flat_map(last)
            .collect()
    }

    fn remember(&mut self, claim: &Claim, at: usize) {
        for word in claim.all_words() {
            self.by_word.entry(word.to_owned()).or_default().push(at);
        }
        for (measure, _) in &claim.values {
            self.by_measure.entry(*measure).or_default().push(at);
        }
    }
}

/// The model does not take back what a person said.
fn may_replace(fact: &Found, earlier: &Found) -> bool {
    fact.speaker == Speaker::User || earlier.speaker != Speaker::User
}

#[cfg(test)]
mod tests {
    use super::*;

    fn standing_of(found: Vec<Found>) -> Vec<Found> {
        let mut standing = Standing::default();
        found.into_iter().for_each(|fact| standing.add(fact));
        standing.facts().collect()
    }

    /// What stands after these were said one after another.
    fn standing(said: &[&str]) -> Vec<String> {
        let found = said
            .iter()
            .enumerate()
            .map(|(index, text)| Found::new(Kind::Rule, Speaker::User, index, "", *text).claiming())
            .collect();
        standing_of(found).into_iter().map(|found| found.entry.text).collect()
    }

    #[test]
    fn later_statements_replace_earlier_ones() {
        let cases: [(&[&str], &[&str]); 22] = [
            (&["The budget is $500.", "Make that 700 dollars at most."], &["budget: Make that 700 dollars at most."]),
            (&["The budget is $500.", "The budget is now $700."], &["The budget is now $700."]),
            (
                &["The budget is $500.", "Actually the budget for the trip is 700 dollars."],
                &["Actually the budget for the trip is 700 dollars."],
            ),
            (&["The deadline is Friday.", "We moved the deadline to Monday."], &["We moved the deadline to Monday."]),
            (&["The deadline is 2025-03-01.", "The deadline is 2025-03-15."], &["The deadline is 2025-03-15."]),
            (&["At most 3 retries.", "At most 5 retries."], &["At most 5 retries."]),
            (&["Use port 8080.", "Use port 8081 instead."], &["Use port 8081 instead."]),
            (
                &["Use Postgres for storage.", "Actually, use MySQL instead."],
                &["storage: Actually, use MySQL instead."],
            ),
            (
                &["Let's go with QuickSort.", "Actually, let's try MergeSort instead - I need stable sorting."],
                &["Actually, let's try MergeSort instead - I need stable sorting."],
            ),
            (&["Write it in Python.", "Use Rust instead of Python."], &["Use Rust instead of Python."]),
            (&["Deploy to staging.", "No longer deploy to staging."], &["No longer deploy to staging."]),
            (&["Use tabs.", "Don't use tabs any more."], &["Don't use tabs any more."]),
            (&["Raise the limit to 10.", "Raise the limit from 10 to 20."], &["Raise the limit from 10 to 20."]),
            (
                &["Keep the summary under 200 words.", "Keep the summary under 300 words."],
                &["Keep the summary under 300 words."],
            ),
            (&["Never touch the migrations.", "Never touch the migrations."], &["Never touch the migrations."]),
            (&["The timeout is 30 s.", "Change it to 60 s."], &["timeout: Change it to 60 s."]),
            (&["The cap is 20 requests.", "No, make it 50."], &["cap request: No, make it 50."]),
            (&["The budget is $500.", "Make it $600.", "Make it $800."], &["budget: Make it $800."]),
            (&["预算是500元。", "预算改为700元。"], &["预算改为700元。"]),
            (&["预算最多500元。", "改成700元。"], &["预算: 改成700元。"]),
            (&["截止日期是周五。", "截止日期改到周一。"], &["截止日期改到周一。"]),
            (&["请使用Python。", "不再使用Python，改用Rust。"], &["不再使用Python，改用Rust。"]),
        ];
        for (said, expected) in cases {
            assert_eq!(standing(said), expected, "{said:?}");
        }
    }

    #[test]
    fn statements_about_different_things_both_stay() {
        let cases: [&[&str]; 25] = [
            &["The timeout of the API is 30 s.", "The timeout of the DB is 30 s."],
            &["The timeout of the API is 30 s.", "The timeout of the DB is 60 s."],
            &["The server listens on port 8080.", "The proxy listens on port 8081."],
            &["Service A uses port 8080.", "Service B uses port 8081."],
            &["Never edit src/a.rs.", "Never edit src/b.rs."],
            &["Test 1 must pass.", "Test 2 must pass."],
            &["The hotel budget is $500.", "The flight budget is $700."],
            &["The hotel budget is $500.", "The flight budget is now $700."],
            &["Alice pays $50.", "Bob pays $50."],
            &["Use pytest for tests.", "Use ruff for linting."],
            &["Use pytest for tests.", "Use ruff instead of flake8 for linting."],
            &["Never commit to main.", "Commit to the feature branch."],
            &["The deadline for the draft is Friday.", "The deadline for the talk is Monday."],
            &["At most 3 retries.", "At most 3 workers."],
            &["Read timeout: 30 s.", "Write timeout: 30 s."],
            &["The budget is $500.", "The deadline is Friday."],
            &["The budget is $500.", "Make sure that tests pass."],
            &["The budget is $500.", "Wait 30 seconds between calls."],
            &["Always answer in English.", "Always run the tests."],
            &["Do not touch the migrations.", "Do not touch the fixtures."],
            &["Version 1.2.3 of serde is broken.", "Version 1.2.3 of tokio is fine."],
            &["User mia_kim_4397 flies on 2024-05-20.", "User li_wei_1234 flies on 2024-05-20."],
            &["Check the migrations.", "Now never check the migrations twice."],
            &["API的超时是30秒。", "数据库的超时是30秒。"],
            &["不要修改迁移。", "不要修改测试。"],
        ];
        for said in cases {
            assert_eq!(standing(said), said, "{said:?}");
        }
    }

    #[test]
    fn what_a_person_said_is_not_the_models_to_change() {
        let said = |speaker, text: &str| Found::new(Kind::Decision, speaker, 0, "", text).claiming();
        let both = vec![said(Speaker::User, "The limit is 20."), said(Speaker::Assistant, "The limit is now 50.")];
        assert_eq!(standing_of(both).len(), 2);
    }

    #[test]
    fn changed_files_stay_changed() {
        let file = |used: Use, index| {
            Found::new(Kind::File, Speaker::Tool, index, used.word(), "a.rs").keyed("file a.rs".to_owned())
        };
        let kept = standing_of(vec![file(Use::Read, 0), file(Use::Changed, 1), file(Use::Read, 2)]);
        assert_eq!(
            kept.iter().map(|found| (found.entry.about.as_str(), found.entry.index)).collect::<Vec<_>>(),
            [("changed", 1)]
        );
    }
}
