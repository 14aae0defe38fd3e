//! Takes out statements of the model that no longer stand: it takes them back or states something newer, or the user
//! denies, corrects or refuses them.

use std::collections::HashSet;

use crate::summary::record::change::Claim;
use crate::summary::record::model::split::LONGEST;
use crate::summary::record::model::{ModelStatements, Statement, content_words, is_label};
use crate::summary::record::names::names;
use crate::summary::record::segmentation::sentences;
use crate::summary::record::{FactKind, cues};

impl ModelStatements {
    /// The latest statements that are searched. The searches would be quadratic without a limit.
    const LATEST: usize = 64;

    /// Removes earlier statements that share a name with a sentence that retracts something. Returns and removes the
    /// last one of those that share most words with it.
    pub(super) fn retract(&mut self, text: &str) -> Option<String> {
        let first = self.all.len().saturating_sub(Self::LATEST);
        let retracted_names: Vec<&str> = names(text).collect();
        let has_name =
            |statement: &mut Statement| names(&statement.entry.text).any(|name| retracted_names.contains(&name));
        self.all.extract_if(first.., has_name).for_each(drop);
        self.take_most_shared(text)
    }

    /// Removes and returns the last one of the earlier statements that share most words with a sentence.
    pub(super) fn take_most_shared(&mut self, text: &str) -> Option<String> {
        /// The share of the content words of the shorter of both that they have in common.
        const SHARE: f64 = 0.33;
        let is_matter = |word: &String| !cues::MISTAKES.is_in(word);
        let retracted_words: HashSet<String> = content_words(text).filter(is_matter).collect();
        let share = |statement: &Statement| {
            let words: HashSet<String> = content_words(&statement.entry.text).filter(is_matter).collect();
            let shared = words.intersection(&retracted_words).count() as f64;
            let shorter = words.len().min(retracted_words.len()).max(1);
            if statement.turn == self.turns { 0.0 } else { shared / shorter as f64 }
        };
        let first = self.all.len().saturating_sub(Self::LATEST);
        let shares = (first..).zip(self.all[first..].iter().map(share));
        let (at, _) = shares
            .max_by(|(_, one), (_, other)| one.total_cmp(other))
            .filter(|(at, share)| *share >= SHARE && self.all[*at].entry.text.len() + text.len() < LONGEST)?;
        Some(self.all.remove(at).entry.text)
    }

    /// Removes and returns the latest statement of an earlier message that a new one supersedes: it gives another value
    /// of the same thing, or says that something fixed has come back.
    pub(super) fn take_superseded(&mut self, text: &str) -> Option<String> {
        /// The share of the words of the earlier statement that the new one has, if something signals a change or not.
        const SHARE: f64 = 0.6;
        const WHOLE: f64 = 1.0;
        // The number of a list item is no value.
        let gives_number =
            text.bytes().any(|byte| byte.is_ascii_digit()) && !text.starts_with(|c: char| c.is_ascii_digit());
        let relapses = cues::RELAPSES.is_in(text);
        if !gives_number && !relapses {
            return None;
        }
        let is_signaled = relapses || cues::MEASURES_AGAIN.is_in(text);
        let number = self.index.covered_by(text, if is_signaled { SHARE } else { WHOLE }).pop()?;
        let at = self.all.binary_search_by_key(&number, |statement| statement.number).ok()?;
        let earlier = &self.all[at];
        let is_statement = |text: &str| !text.ends_with(['?', '？']);
        if earlier.turn == self.turns || !is_statement(text) || !is_statement(&earlier.entry.text) {
            return None;
        }
        let tells_apart =
            || cues::TELLS_APART.is_in(&earlier.entry.text) || cues::TELLS_APART.is_in(text) && !is_signaled;
        let is_superseded = relapses && cues::DONE.is_in(&earlier.entry.text)
            || !tells_apart() && Claim::parse(text).gives_new_value_of(&Claim::parse(&earlier.entry.text));
        is_superseded.then(|| self.all.remove(at).entry.text)
    }

    /// Removes and returns the latest statement of which the user gives another value.
    pub(in crate::summary::record) fn take_outdated(&mut self, text: &str) -> Option<String> {
        /// Sentences at the start of a message that can be about a statement of the model.
        const MOST: usize = 3;
        const WHOLE: f64 = 1.0;
        let replies = sentences(text).into_iter().take(MOST).filter(|sentence| !sentence.ends_with(['?', '？']));
        for reply in replies {
            let with_words = self.index.covered_by(reply, WHOLE).pop();
            let Some(number) = with_words.or_else(|| self.index.with_number_of(reply)) else { continue };
            let Ok(at) = self.all.binary_search_by_key(&number, |statement| statement.number) else { continue };
            let (reply, statement) = (Claim::parse(reply), Claim::parse(&self.all[at].entry.text));
            let is_outdated =
                with_words.is_some() && reply.gives_new_value_of(&statement) || reply.names_number_of(&statement);
            if is_outdated && !is_label(&self.all[at].entry.text) {
                return Some(self.all.remove(at).entry.text);
            }
        }
        None
    }

    /// Removes what the user called wrong, and returns it: an earlier assumption if the denial has a word of that and
    /// none of the last message, otherwise the last message.
    pub(in crate::summary::record) fn retract_denied(&mut self, denial: &str) -> Option<String> {
        let turn = self.turns;
        let is_denial = |sentence: &&str| cues::DENIES.is_in(sentence) || cues::YOUR_CLAIM.is_in(sentence);
        let denial = sentences(denial).into_iter().find(is_denial).map(Claim::parse).unwrap_or_default();
        let is_denied = |statement: &Statement| denial.shares_matter(&Claim::parse(&statement.entry.text));
        let of_last = self.all.iter().rev().take_while(|statement| statement.turn == turn);
        if !of_last.clone().any(is_denied) {
            let is_assumption = |statement: &Statement| cues::ASSUMES.is_in(&statement.entry.text);
            let mut latest = self.all.iter().enumerate().rev().take(Self::LATEST);
            let assumption = latest.find(|(_, statement)| is_assumption(statement) && is_denied(statement));
            if let Some((at, _)) = assumption {
                return Some(self.all.remove(at).entry.text);
            }
        }
        let mut of_last = of_last.filter(|statement| statement.entry.kind != FactKind::Open);
        let last_text = of_last.next().map(|statement| statement.entry.text.clone());
        self.all.retain(|statement| statement.turn != turn || statement.entry.kind == FactKind::Open);
        last_text
    }

    /// Removes and returns the last statement of the last message if it is an assumption, which the user contradicts.
    pub(in crate::summary::record) fn retract_assumption(&mut self) -> Option<String> {
        let turn = self.turns;
        let is_last = |statement: &mut Statement| statement.turn == turn && cues::ASSUMES.is_in(&statement.entry.text);
        self.all.pop_if(is_last).map(|statement| statement.entry.text)
    }

    /// Removes and returns the announcement of the last message that shares most words with a refusal.
    pub(in crate::summary::record) fn take_refused(&mut self, refusal: &Claim) -> Option<String> {
        let turn = self.turns;
        let of_last = self.all.iter().enumerate().rev().take_while(|(_, statement)| statement.turn == turn);
        let plans = of_last.filter(|(_, statement)| cues::PLANS.is_in(&statement.entry.text));
        let shares = plans.map(|(at, statement)| (refusal.shared_words(&Claim::parse(&statement.entry.text)), at));
        let (shared, at) = shares.max()?;
        (shared > 0).then(|| self.all.remove(at).entry.text)
    }

    /// Removes the statements of the last message that the user corrects, and returns them with a gap in between.
    /// Questions are not statements.
    pub(in crate::summary::record) fn take_corrected(&mut self, is_corrected: impl Fn(&str) -> bool) -> Option<String> {
        let turn = self.turns;
        let first = self.all.iter().rposition(|statement| statement.turn != turn).map_or(0, |before| before + 1);
        let is_match =
            |statement: &mut Statement| statement.entry.kind != FactKind::Open && is_corrected(&statement.entry.text);
        let corrected: Vec<String> =
            self.all.extract_if(first.., is_match).map(|statement| statement.entry.text).collect();
        (!corrected.is_empty()).then(|| corrected.join(" … "))
    }
}
