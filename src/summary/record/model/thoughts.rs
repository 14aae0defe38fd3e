//! What the model thought: in its thinking, in calls of a tool for it, and in the reports of other agents.
//!
//! Thinking weighs, guesses and changes its mind. So it is kept apart from what the model told the user, which replies
//! refer to; it stands in a summary as a thought, with less weight, and falls when somebody says otherwise.

use std::collections::HashSet;

use crate::summary::record::change::stem;
use crate::summary::record::cues;
use crate::summary::record::literals::{LiteralClass, literals};
use crate::summary::record::model::content_words;
use crate::summary::record::model::split::statements;
use crate::summary::record::names::names;
use crate::summary::record::phrases::{LAST_PLAN, OTHER_AGENT, THOUGHT};
use crate::summary::record::segmentation::words_of;
use crate::summary::record::{FactKind, RecordEntry};

/// The thoughts that still hold.
#[derive(Default)]
pub(in crate::summary::record) struct Thoughts {
    all: Vec<RecordEntry>,
    /// The plan in the last thinking, if nobody has written since.
    plan: Option<RecordEntry>,
    /// The number of thoughts before the user's last message.
    before_user: usize,
}

/// Who thought.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(in crate::summary::record) enum Thinker {
    Model,
    /// Another agent, in its report. Its plans and remarks are its own.
    OtherAgent,
}

impl Thoughts {
    /// The latest thoughts that are searched. The searches would be quadratic without a limit.
    const LATEST: usize = 32;

    /// Adds the conclusions of a text: causes, choices and reasons, and with less weight other sentences. `position` is
    /// its place in the history, from 0 to 1. Returns whether it has a new plan.
    pub(in crate::summary::record) fn add(
        &mut self,
        index: usize,
        text: &str,
        position: f64,
        thinker: Thinker,
    ) -> bool {
        /// Thinking explores first and concludes at its end.
        const MOST_CONCLUSIONS: usize = 8;
        /// Most thoughts that are kept; the latest half stays.
        const MOST: usize = 4_096;
        let mut has_plan = false;
        let statements = statements(text);
        // What it thought before it changed its mind no longer holds.
        let changed = statements.iter().rposition(|statement| cues::RECONSIDERS.is_in(&statement.text));
        let first = changed.map_or(0, |at| at + 1).max(statements.len().saturating_sub(MOST_CONCLUSIONS));
        for statement in statements.into_iter().skip(first) {
            let text = statement.text;
            self.replace(&text);
            if !is_settled(&text) {
                continue;
            }
            let is_plan = (cues::INTENDS.is_in(&text) || cues::AHEAD.is_in(&text)) && !cues::INVESTIGATES.is_in(&text);
            let about = if thinker == Thinker::Model { THOUGHT } else { OTHER_AGENT };
            let mut entry = RecordEntry::new(FactKind::Decision, index, about.to_owned(), text);
            if is_plan {
                (entry.kind, entry.about) = (FactKind::Next, LAST_PLAN.to_owned());
                // `Let me check that.` tells less than the plan before.
                if thinker == Thinker::Model && (self.plan.is_none() || says_much(&entry.text)) {
                    self.plan = Some(entry);
                    has_plan = true;
                }
                continue;
            }
            let Some(weight) = weight(&entry.text, statement.concludes, thinker) else { continue };
            entry.weight = weight * (0.7 + 0.6 * position);
            self.all.push(entry);
        }
        if self.all.len() > MOST {
            self.all.drain(..MOST / 2);
            self.before_user = self.before_user.saturating_sub(MOST / 2);
        }
        has_plan
    }

    /// Notes a text of the model: it replaces thoughts that it repeats or rules out, and the plan. One that `acts` not
    /// is a report. It replaces all that was thought since the user's message.
    pub(super) fn hear_model(&mut self, statements: impl Iterator<Item = impl AsRef<str>>, acts: bool) {
        /// Words of a report that tells what came of the work. `Fixed.` does not.
        const REPORT_WORDS: usize = 7;
        let mut words = 0;
        statements.for_each(|text| {
            words += words_of(text.as_ref()).count();
            self.replace(text.as_ref());
            if cues::EXPLAINS.is_in(text.as_ref()) {
                self.drop_explanations(text.as_ref());
            }
        });
        if !acts && words >= REPORT_WORDS {
            self.all.truncate(self.before_user);
        }
        self.plan = None;
    }

    /// Notes a message of the user: unless it agrees, thoughts since the last one that share a word with it may be
    /// wrong. The user's words hold.
    pub(in crate::summary::record) fn hear_user(&mut self, text: &str) {
        let since_user = self.before_user.min(self.all.len());
        if !cues::AGREES.is_in(text) {
            let words: HashSet<String> = content_words(text).collect();
            let is_addressed = |entry: &mut RecordEntry| content_words(&entry.text).any(|word| words.contains(&word));
            self.all.extract_if(since_user.., is_addressed).for_each(drop);
        }
        self.before_user = self.all.len();
        self.plan = None;
    }

    /// Returns the thoughts as entries. `calls` is the number of calls with a result that followed the last plan.
    pub(super) fn into_entries(self, calls: usize) -> impl Iterator<Item = RecordEntry> {
        /// Calls after which a plan tells what is being done. After more, it tells what was.
        const MOST_CALLS: usize = 2;
        let plan = self.plan.filter(|_| calls <= MOST_CALLS).map(|mut plan| {
            (plan.kind, plan.weight) = if calls > 0 { (FactKind::Finding, 8.0) } else { (FactKind::Next, 11.0) };
            plan
        });
        self.all.into_iter().chain(plan)
    }

    /// Removes thoughts of which a newer statement has most words: the newer one is what the model holds now. One that
    /// rules something out needs to share only a name or a third of the words.
    fn replace(&mut self, newer: &str) {
        const SHARE: f64 = 0.6;
        const SHARE_OF_REFUTED: f64 = 0.33;
        if self.all.is_empty() {
            return;
        }
        let refutes = cues::RULES_OUT.is_in(newer) || cues::TAKES_BACK.is_in(newer);
        let newer_names: HashSet<&str> = names(newer).collect();
        let newer_words: HashSet<String> = content_words(newer).collect();
        self.drop_latest(|text| {
            let words: HashSet<String> = content_words(text).collect();
            let shared = words.intersection(&newer_words).count() as f64;
            let shorter = words.len().min(newer_words.len()).max(1) as f64;
            let is_refuted =
                || shared >= SHARE_OF_REFUTED * shorter || names(text).any(|name| newer_names.contains(name));
            shared >= SHARE * words.len() as f64 || refutes && is_refuted()
        });
    }

    /// Removes explanations of what the model has explained to the user now: they share two words with it.
    fn drop_explanations(&mut self, told: &str) {
        let stems = |text: &str| content_words(text).map(|word| stem(&word).into_owned()).collect::<HashSet<String>>();
        let told = stems(told);
        self.drop_latest(|text| cues::EXPLAINS.is_in(text) && stems(text).intersection(&told).count() > 1);
    }

    fn drop_latest(&mut self, is_dropped: impl Fn(&str) -> bool) {
        let first = self.all.len().saturating_sub(Self::LATEST);
        self.all.extract_if(first.., |entry| is_dropped(&entry.text)).for_each(drop);
    }
}

/// Returns the weight of a thought; `None` if it is not worth keeping. What the model told the user matters more.
fn weight(text: &str, concludes: bool, thinker: Thinker) -> Option<f64> {
    const FACTOR: f64 = 0.7;
    const REMARK: f64 = 1.1;
    let conclusion = match () {
        () if cues::CAUSE.is_in(text) => Some(7.0),
        () if concludes || cues::CHOOSES.is_in(text) => Some(5.0),
        () if cues::REASONS.is_in(text) => Some(4.0),
        () => None,
    };
    match conclusion {
        Some(weight) => Some(weight * FACTOR * if has_name(text) { 1.2 } else { 1.0 }),
        None => Some(REMARK).filter(|_| thinker == Thinker::Model),
    }
}

fn has_name(text: &str) -> bool {
    literals(text).iter().any(|literal| literal.class != LiteralClass::Number)
}

/// Whether a plan has a name or several content words.
fn says_much(text: &str) -> bool {
    has_name(text) || content_words(text).nth(4).is_some()
}

/// Whether a sentence is whole and settled: no guess, no repetition of the user's words, no rule, no secret.
fn is_settled(text: &str) -> bool {
    let is_sentence = text.ends_with(['.', '!', '。', '！']) && (words_of(text).nth(5).is_some() || !text.is_ascii());
    is_sentence
        && ![&cues::GUESSES, &cues::ABOUT_USER, &cues::PERMITS, &cues::SECRETS].iter().any(|cue| cue.is_in(text))
}
