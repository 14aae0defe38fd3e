//! The part of `--diff` that shows a repair: the messages before and after it.

use std::collections::HashMap;

use crate::report::diff::{ADDED, DiffStep, KEPT_MESSAGE, MessageStyle, REMOVED_MESSAGE, Steps, draw_message};
use crate::tokens::MessageCounter;
use crate::transcript::Transcript;

const ADDED_MESSAGE: MessageStyle = MessageStyle { style: ADDED, sign: "+", ..REMOVED_MESSAGE };

/// A conversation before and after a repair.
pub(crate) struct RepairDiff<'d, 'a, 'b> {
    /// The name of the conversation.
    pub(crate) source: &'d str,
    pub(crate) before: &'d Transcript<'a>,
    pub(crate) after: &'d Transcript<'b>,
    /// Both with their secrets masked, with `--redact`.
    pub(crate) masked: Option<(&'d Transcript<'d>, &'d Transcript<'d>)>,
    pub(crate) counter: MessageCounter,
}

impl RepairDiff<'_, '_, '_> {
    /// Draws the diff, with its colours; nothing where nothing was changed.
    pub(crate) fn draw(&self) -> String {
        let raw = |transcript: &Transcript<'_>| -> Vec<String> {
            transcript.messages.iter().map(|message| message.json.raw().to_owned()).collect()
        };
        self.draw_steps(self.source, "repaired", &steps(&raw(self.before), &raw(self.after)))
    }
}

impl Steps for RepairDiff<'_, '_, '_> {
    fn note(&self, _: &[DiffStep]) -> String {
        String::new()
    }

    fn step(&self, step: &DiffStep, out: &mut String) {
        let (index, is_new, look) = match step {
            DiffStep::Remove(index) => (*index, false, REMOVED_MESSAGE),
            DiffStep::Add(index) => (*index, true, ADDED_MESSAGE),
            DiffStep::Keep(index) | DiffStep::Pinned(index) | DiffStep::Change(index, _) => {
                (*index, false, KEPT_MESSAGE)
            }
            // A repair writes no summary.
            DiffStep::Summary(_) => return,
        };
        let masked = self.masked.map(|(before, after)| if is_new { after } else { before });
        let message = if is_new { &self.after.messages[index] } else { &self.before.messages[index] };
        let shown = masked.map_or(message, |masked| &masked.messages[index]);
        draw_message(index, self.counter.count(message), shown, look, out);
    }
}

/// The steps from some texts to others. A text that moved is removed at its old place and added at its new one.
fn steps(before: &[String], after: &[String]) -> Vec<DiffStep> {
    // How often each text is still to come.
    let count = |texts: &[String]| {
        let mut counts: HashMap<String, usize> = HashMap::new();
        texts.iter().for_each(|text| *counts.entry(text.clone()).or_default() += 1);
        counts
    };
    let (mut old_left, mut new_left) = (count(before), count(after));
    let take = |left: &mut HashMap<String, usize>, text: &String| {
        left.entry(text.clone()).and_modify(|count| *count = count.saturating_sub(1));
    };
    let comes = |left: &HashMap<String, usize>, text: &String| left.get(text).is_some_and(|count| *count > 0);
    let (mut old, mut new, mut steps) = (0, 0, Vec::new());
    while old < before.len() || new < after.len() {
        let step = match (before.get(old), after.get(new)) {
            (Some(one), Some(other)) if one == other => DiffStep::Keep(old),
            (Some(one), Some(other)) if comes(&new_left, one) && !comes(&old_left, other) => DiffStep::Add(new),
            (Some(_), _) => DiffStep::Remove(old),
            (None, _) => DiffStep::Add(new),
        };
        if step.lengths().0 == 1 {
            take(&mut old_left, &before[old]);
            old += 1;
        }
        if step.lengths().1 == 1 {
            take(&mut new_left, &after[new]);
            new += 1;
        }
        steps.push(step);
    }
    steps
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn steps_remove_add_and_move() {
        use DiffStep::{Add, Keep, Remove};
        for (before, after, expected) in [
            ("abc", "abc", &[Keep(0), Keep(1), Keep(2)][..]),
            ("abc", "ac", &[Keep(0), Remove(1), Keep(2)]),
            ("ac", "abc", &[Keep(0), Add(1), Keep(1)]),
            ("abc", "axc", &[Keep(0), Remove(1), Add(1), Keep(2)]),
            ("abc", "acb", &[Keep(0), Remove(1), Keep(2), Add(2)]),
            ("aa", "a", &[Keep(0), Remove(1)]),
            ("", "a", &[Add(0)]),
        ] {
            let texts = |text: &str| text.chars().map(String::from).collect::<Vec<_>>();
            assert_eq!(steps(&texts(before), &texts(after)), expected, "{before} {after}");
        }
    }
}
