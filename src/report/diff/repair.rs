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
        self.draw_steps(self.source, "repaired", &steps(&raw_messages(self.before), &raw_messages(self.after)))
    }
}

/// The messages of a conversation as the source spells them.
fn raw_messages(transcript: &Transcript<'_>) -> Vec<String> {
    transcript.messages.iter().map(|message| message.json.raw().to_owned()).collect()
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
        let message = if is_new { &self.after.messages[index] } else { &self.before.messages[index] };
        let tokens = self.counter.count(message);
        match self.masked {
            Some((_, after)) if is_new => draw_message(index, tokens, &after.messages[index], look, out),
            Some((before, _)) => draw_message(index, tokens, &before.messages[index], look, out),
            None => draw_message(index, tokens, message, look, out),
        }
    }
}

/// The steps from some texts to others. A text that moved is removed at its old place and added at its new one.
fn steps(before: &[String], after: &[String]) -> Vec<DiffStep> {
    let mut old_left = ComingTexts::new(before);
    let mut new_left = ComingTexts::new(after);
    let (mut old, mut new, mut steps) = (0, 0, Vec::new());
    while old < before.len() || new < after.len() {
        let step = match (before.get(old), after.get(new)) {
            (Some(one), Some(other)) if one == other => DiffStep::Keep(old),
            (Some(one), Some(other)) if new_left.has(one) && !old_left.has(other) => DiffStep::Add(new),
            (Some(_), _) => DiffStep::Remove(old),
            (None, _) => DiffStep::Add(new),
        };
        if step.lengths().0 == 1 {
            old_left.take(&before[old]);
            old += 1;
        }
        if step.lengths().1 == 1 {
            new_left.take(&after[new]);
            new += 1;
        }
        steps.push(step);
    }
    steps
}

/// How often each of some texts is still to come.
struct ComingTexts<'t>(HashMap<&'t str, usize>);

impl<'t> ComingTexts<'t> {
    fn new(texts: &'t [String]) -> Self {
        let mut counts: HashMap<&str, usize> = HashMap::new();
        for text in texts {
            *counts.entry(text).or_default() += 1;
        }
        ComingTexts(counts)
    }

    fn has(&self, text: &str) -> bool {
        self.0.get(text).is_some_and(|count| *count > 0)
    }

    fn take(&mut self, text: &str) {
        if let Some(count) = self.0.get_mut(text) {
            *count = count.saturating_sub(1);
        }
    }
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
