//! Long arguments of old calls. What an agent wrote into a file is in the file.

use crate::rewrite::arguments::Truncation;

use crate::prune::rule::{Amount, Change, IsReplaced, Kind};
use crate::prune::scene::Scene;

pub(super) const KIND: Kind = Kind {
    name: "arguments",
    takes: "N",
    about: "arguments of calls longer than N characters (2000) keep their beginning",
    default: Amount::Length(2_000),
    find,
};

fn find(scene: &Scene<'_, '_>, amount: Amount, _is_replaced: &IsReplaced<'_>) -> Vec<Change> {
    let Amount::Length(longest) = amount else { return Vec::new() };
    let truncation = Truncation::before_the_cut(usize::try_from(longest).unwrap_or(usize::MAX));
    let messages = scene.transcript.messages.iter().enumerate().filter(|(index, _)| scene.touchable[*index]);
    let changed = messages.map(|(message, read)| {
        let calls = read.calls.iter().filter(|call| !scene.is_excepted(Some(call)));
        let edits = calls.flat_map(|call| truncation.cut(scene.transcript.source, call)).collect();
        Change { message, edits, ..Change::default() }
    });
    changed.filter(|change: &Change| !change.edits.is_empty()).collect()
}
