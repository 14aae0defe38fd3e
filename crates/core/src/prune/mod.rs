//! The rules of `--prune`, which shorten messages before anything is summarized: old results of tools, files that were
//! read again, thinking, pictures, long arguments. A rule is a file and a row of [`KINDS`].
//!
//! A rule proposes edits to the messages that it may touch. This module decides which edits are made. A pruned message
//! has a note that says so, and is not pruned again.

mod arguments;
mod cap;
mod media;
mod note;
mod pruner;
mod reads;
mod results;
mod rule;
mod scene;
mod thinking;
mod unsent;
mod way_back;

use std::collections::BTreeMap;
use std::fmt;
use std::str::FromStr;

use crate::diagnostic::{Diagnostic, abbreviated, nearest};
use crate::rewrite::media::OffloadedFile;
use crate::transcript::edit::Edit;

pub use rule::{ProposedChange, Rule, RuleKind};
pub use scene::Scene;
#[cfg(any(test, feature = "tests"))]
pub use unsent::prune_unsent;
pub use unsent::{
    PrunedUnsent, SessionEnd, UnsentChange, UnsentLines, UnsentRules, find_unsent, reads_by_line, unsent_beside,
    unsent_rule,
};
pub use way_back::{NotedArchive, SHOWN_BY};

use pruner::Pruner;
use rule::Amount;

/// Every kind of rule, in the order in which they apply: the one that loses least comes first.
pub static KINDS: [&RuleKind; 7] =
    [&unsent::KIND, &thinking::KIND, &media::KIND, &reads::KIND, &arguments::KIND, &results::KIND, &cap::KIND];

/// A value of `--prune`.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Choice {
    /// Every rule, with its default.
    All,
    None,
    One(Rule),
}

/// The rule that cuts results longer than so many tokens.
pub fn capping(tokens: u64) -> Rule {
    Rule { kind: &cap::KIND, amount: Amount::Length(tokens) }
}

/// The rules with which `--fit` prunes: where thinking is removed, it can also go from loops of calls that are still
/// open, where the provider does not require it there. That goes last.
pub fn for_fit(rules: &[Rule]) -> Vec<Rule> {
    let mut rules = rules.to_vec();
    if rules.iter().any(|rule| rule.name() == thinking::KIND.name) {
        rules.push(Rule::of(&thinking::IN_OPEN_LOOPS));
    }
    rules
}

/// Rules that cut results to at most so many tokens, where they cut results at all.
pub fn with_shorter_results(mut rules: Vec<Rule>, longest: u64) -> Vec<Rule> {
    for rule in &mut rules {
        if let (true, Amount::Length(length)) = (rule.name() == cap::KIND.name, rule.amount) {
            rule.amount = Amount::Length(length.min(longest));
        }
    }
    rules
}

impl FromStr for Choice {
    type Err = Diagnostic;

    fn from_str(text: &str) -> Result<Self, Diagnostic> {
        let (name, value) = match text.split_once(':') {
            Some((name, value)) => (name, Some(value)),
            None => (text, None),
        };
        match (name, value) {
            ("all", None) => return Ok(Choice::All),
            ("none", None) => return Ok(Choice::None),
            ("all" | "none", Some(_)) => {
                return Err(Diagnostic::new(format!("`{name}` takes no size")).meant(Some(name)));
            }
            _ => {}
        }
        let Some(kind) = KINDS.iter().find(|kind| kind.name == name) else {
            return Err(unknown_rule(text, name));
        };
        let Some(value) = value else { return Ok(Choice::One(Rule::of(kind))) };
        match kind.amount(value) {
            Ok(amount) => Ok(Choice::One(Rule { kind, amount })),
            Err(wrong) => Err(wrong.in_part(name.len() + 1, value.len()).meant_whole(Rule::of(kind).to_string())),
        }
    }
}

/// The error of a choice that names no rule.
fn unknown_rule(text: &str, name: &str) -> Diagnostic {
    let mut names: Vec<&str> = KINDS.iter().map(|kind| kind.name).collect();
    names.extend(["all", "none"]);
    let what = format!("`{name}` is not a rule: {}", names.join(", "));
    let mut meant = None;
    // Of several rules none is meant alone.
    if !text.contains(',') {
        meant = nearest(name, names.iter().copied()).or_else(|| abbreviated(name, names.iter().copied()));
    }
    Diagnostic::new(what).at(0..name.len()).meant(meant)
}

impl fmt::Display for Choice {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Choice::All => out.write_str("all"),
            Choice::None => out.write_str("none"),
            Choice::One(rule) => rule.fmt(out),
        }
    }
}

/// The rules of some choices, in the order of [`KINDS`]. A rule replaces an earlier one of its kind, and `none` removes
/// all earlier ones.
pub fn chosen(choices: &[Choice]) -> Vec<Rule> {
    let mut of_kind: [Option<Rule>; KINDS.len()] = [None; KINDS.len()];
    for choice in choices {
        match choice {
            Choice::All => {
                for (kind, place) in KINDS.iter().zip(&mut of_kind) {
                    *place = place.or(Some(Rule::of(kind)));
                }
            }
            Choice::None => of_kind = [None; KINDS.len()],
            Choice::One(rule) => {
                for (kind, place) in KINDS.iter().zip(&mut of_kind) {
                    if kind.name == rule.name() {
                        *place = Some(*rule);
                    }
                }
            }
        }
    }
    of_kind.into_iter().flatten().collect()
}

/// Merges the changes of each message.
fn by_message(changes: impl IntoIterator<Item = ProposedChange>) -> Vec<ProposedChange> {
    let mut of: BTreeMap<usize, ProposedChange> = BTreeMap::new();
    for change in changes {
        let whole = of
            .entry(change.message)
            .or_insert_with(|| ProposedChange { message: change.message, ..ProposedChange::default() });
        whole.edits.extend(change.edits);
        whole.removes_message |= change.removes_message;
        whole.files.extend(change.files);
    }
    of.into_values().collect()
}

/// The effect of one rule.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RuleSavings {
    /// The rule's name.
    pub rule: &'static str,
    /// The number of messages that it shortened.
    pub messages: usize,
    /// The number of tokens that it saved.
    pub tokens: u64,
    /// The bytes that it saved of what is not sent.
    pub bytes: u64,
}

/// The effect of one rule on one message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MessageSaving {
    rule: &'static str,
    message: usize,
    tokens: u64,
}

/// The effect of all rules on a conversation.
#[derive(Debug, Default, Clone)]
pub struct Pruned {
    /// The edits within messages, in order.
    pub edits: Vec<Edit>,
    /// Messages that are removed, in order.
    pub emptied: Vec<usize>,
    /// The effect of each rule on each message, by messages, and for a message in the order of [`KINDS`].
    pub savings: Vec<MessageSaving>,
    /// Removed bytes that the archive keeps.
    pub files: Vec<OffloadedFile>,
    /// The tokens that each touched message keeps.
    pub sizes: BTreeMap<usize, u64>,
    /// What is pruned of entries that no model is sent.
    pub unsent: PrunedUnsent,
}

impl Pruned {
    /// The number of tokens saved.
    pub fn saved(&self) -> u64 {
        self.savings.iter().map(|saving| saving.tokens).sum()
    }

    /// The effect of each rule on the messages from `from` on; rules without an effect are left out.
    pub fn savings(&self, from: usize) -> Vec<RuleSavings> {
        let mut savings = KINDS.map(|kind| RuleSavings { rule: kind.name, messages: 0, tokens: 0, bytes: 0 });
        for saving in &self.savings[self.savings.partition_point(|saving| saving.message < from)..] {
            if let Some(one) = savings.iter_mut().find(|one| one.rule == saving.rule) {
                one.messages += 1;
                one.tokens += saving.tokens;
            }
        }
        for (rule, entries, bytes) in &self.unsent.by_rule {
            if let Some(one) = savings.iter_mut().find(|one| one.rule == *rule) {
                one.messages += entries;
                one.bytes += bytes;
            }
        }
        savings.into_iter().filter(|one| one.messages > 0).collect()
    }

    /// The rules that shortened a message, in the order of [`KINDS`].
    pub fn rules(&self, message: usize) -> impl Iterator<Item = &'static str> {
        let own = &self.savings[self.savings.partition_point(|saving| saving.message < message)..];
        own.iter().take_while(move |saving| saving.message == message).map(|saving| saving.rule)
    }

    /// Whether the thinking of a message was removed.
    pub fn has_no_thinking(&self, message: usize) -> bool {
        self.rules(message).any(|rule| rule == thinking::KIND.name)
    }

    /// Adds the effect of another pruning, on messages behind all of these.
    #[must_use]
    pub fn and(mut self, other: Pruned) -> Self {
        self.edits.extend(other.edits);
        self.emptied.extend(other.emptied);
        self.savings.extend(other.savings);
        self.files.extend(other.files);
        self.sizes.extend(other.sizes);
        self
    }

    pub fn is_empty(&self) -> bool {
        self.edits.is_empty() && self.emptied.is_empty() && self.unsent.edits.is_empty()
    }
}

/// Applies rules in their order, each to the oldest message first. With a goal, it stops as soon as so many tokens are
/// saved, makes no change that saves nothing, and gives back what the last changes saved too much.
pub fn prune(scene: &Scene<'_, '_>, rules: &[Rule], goal: Option<u64>) -> Pruned {
    let mut pruner = Pruner::new(scene);
    for rule in rules {
        if goal.is_some_and(|goal| pruner.saved >= goal) {
            break;
        }
        let changes = (rule.kind.find)(scene, rule.amount, &|result| pruner.has_replaced(result));
        for change in by_message(changes) {
            if goal.is_some_and(|goal| pruner.saved >= goal) {
                break;
            }
            pruner.apply(rule.name(), change, goal.is_some());
        }
    }
    if let Some(goal) = goal {
        let may_cap = rules.iter().any(|rule| rule.name() == cap::KIND.name);
        pruner.give_back(goal, may_cap);
    }
    pruner.finish()
}

/// What the laws apply alone.
#[cfg(any(test, feature = "tests"))]
impl Pruned {
    /// All edits in order, including those that remove messages. Only for a transcript with no other edits.
    pub fn all_edits(self, transcript: &crate::transcript::Transcript<'_>) -> Vec<Edit> {
        use crate::rewrite::thinking::Removal;

        let Pruned { edits, emptied, .. } = self;
        Removal { edits, emptied, ..Removal::default() }.all_edits(transcript)
    }
}

#[cfg(test)]
mod tests;
