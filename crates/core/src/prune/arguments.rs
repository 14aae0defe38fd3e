//! Long arguments of old calls. What an agent wrote into a file is in the file.

use crate::rewrite::arguments::{Truncation, argument_lengths};

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
    let messages = scene.transcript.messages.iter().enumerate().filter(|(index, _)| scene.touchable[*index]);
    let changed = messages.map(|(message, read)| {
        let calls = read.calls.iter().filter(|call| scene.may_cut_arguments(call));
        let edits = calls.flat_map(|call| truncation.cut(scene.transcript.source, call)).collect();
        ProposedChange { message, edits, ..ProposedChange::default() }
    });
    changed.filter(|change: &ProposedChange| !change.edits.is_empty()).collect()
}

/// The change that cuts the longest arguments of a message, so that it loses about so many tokens.
pub(super) fn cut_message(scene: &Scene<'_, '_>, message: usize, excess: u64) -> Option<ProposedChange> {
    let (source, read) = (scene.transcript.source, &scene.transcript.messages[message]);
    let calls = || read.calls.iter().filter(|call| scene.may_cut_arguments(call));
    let lengths: Vec<u64> = calls().flat_map(argument_lengths).map(|length| length as u64).collect();
    let tokens = scene.tally.message(message).max(1);
    let removed = excess.saturating_mul(read.json.raw().len() as u64) / tokens;
    let longest = level(&lengths, lengths.iter().sum::<u64>().checked_sub(removed)?)?;
    let truncation = Truncation::before_the_cut(usize::try_from(longest).unwrap_or(usize::MAX));
    let edits: Vec<_> = calls().flat_map(|call| truncation.cut_to_length(source, call)).collect();
    (!edits.is_empty()).then_some(ProposedChange { message, edits, ..ProposedChange::default() })
}
