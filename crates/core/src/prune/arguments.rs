//! Long arguments of old calls. What an agent wrote into a file is in the file.

use crate::rewrite::arguments::{Truncation, argument_lengths};
use crate::transcript::Call;

use crate::prune::cap::level;
use crate::prune::rule::{Amount, IsReplaced, ProposedChange, RuleKind};
use crate::prune::scene::Scene;

pub(super) const KIND: RuleKind = RuleKind {
    name: "arguments",
    takes: "N",
    about: "arguments of calls longer than N characters (2000) keep their beginning",
    default: Amount::Length(2_000),
    find,
};

fn find(scene: &Scene<'_, '_>, amount: Amount, _is_replaced: &IsReplaced<'_>) -> Vec<ProposedChange> {
    let Amount::Length(longest) = amount else { return Vec::new() };
    let truncation = Truncation::before_the_cut(usize::try_from(longest).unwrap_or(usize::MAX));
    let mut changes = Vec::new();
    for (message, read) in scene.transcript.messages.iter().enumerate() {
        if !scene.touchable[message] {
            continue;
        }
        let mut edits = Vec::new();
        for call in &read.calls {
            if scene.may_cut_arguments(call) {
                edits.extend(truncation.cut(scene.transcript.source, call));
            }
        }
        if !edits.is_empty() {
            changes.push(ProposedChange { message, edits, ..ProposedChange::default() });
        }
    }
    changes
}

/// The change that cuts the longest arguments of a message, so that it loses about so many tokens.
pub(super) fn cut_message(scene: &Scene<'_, '_>, message: usize, excess: u64) -> Option<ProposedChange> {
    let (source, read) = (scene.transcript.source, &scene.transcript.messages[message]);
    let calls: Vec<&Call<'_>> = read.calls.iter().filter(|call| scene.may_cut_arguments(call)).collect();
    let mut lengths: Vec<u64> = Vec::new();
    for call in &calls {
        lengths.extend(argument_lengths(call).into_iter().map(|length| length as u64));
    }
    let tokens = scene.tally.message(message).max(1);
    let removed = excess.saturating_mul(read.json.raw().len() as u64) / tokens;
    let longest = level(&lengths, lengths.iter().sum::<u64>().checked_sub(removed)?)?;
    let truncation = Truncation::before_the_cut(usize::try_from(longest).unwrap_or(usize::MAX));
    let mut edits = Vec::new();
    for call in calls {
        edits.extend(truncation.cut_to_length(source, call));
    }
    if edits.is_empty() { None } else { Some(ProposedChange { message, edits, ..ProposedChange::default() }) }
}
