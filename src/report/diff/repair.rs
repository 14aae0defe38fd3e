//! The part of `--diff` that shows a repair: the messages before and after it.

use std::collections::HashMap;

use crate::report::diff::{ADDED, CONTEXT, HEADER, HUNK, KEPT_MESSAGE, Look, REMOVED_MESSAGE, draw_message, push};
use crate::sanitize::sanitize_line;
use crate::tokens::Counter;
use crate::transcript::Transcript;
use crate::wording::readable_source;

const ADDED_MESSAGE: Look = Look { style: ADDED, sign: "+", ..REMOVED_MESSAGE };

/// A conversation before and after a repair.
pub(crate) struct RepairDiff<'d, 'a, 'b> {
    /// The name of the conversation.
    pub(crate) source: &'d str,
    /// The conversation before.
    pub(crate) before: &'d Transcript<'a>,
    /// The conversation after.
    pub(crate) after: &'d Transcript<'b>,
    /// Both with their secrets masked, with `--redact`.
    pub(crate) masked: Option<(&'d Transcript<'d>, &'d Transcript<'d>)>,
    /// How tokens are counted.
    pub(crate) counter: Counter,
}

/// A step from the messages before to those after, with their indices there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Step {
    Keep(usize),
    Remove(usize),
    Add(usize),
}

impl RepairDiff<'_, '_, '_> {
    /// Draws the diff, with its colours; nothing where nothing was changed.
    pub(crate) fn draw(&self) -> String {
        let raw = |transcript: &Transcript<'_>| -> Vec<String> {
            transcript.messages.iter().map(|message| message.json.raw().to_owned()).collect()
        };
        let steps = steps(&raw(self.before), &raw(self.after));
        let is_change = |step: &Step| !matches!(step, Step::Keep(_));
        let mut out = String::new();
        if !steps.iter().any(is_change) {
            return out;
        }
        let source = sanitize_line(&readable_source(self.source));
        push(&mut out, HEADER, "---", &format!(" {source}"));
        push(&mut out, HEADER, "+++", &format!(" {source}, repaired"));
        let is_shown =
            |at: usize| steps[at.saturating_sub(CONTEXT)..(at + CONTEXT + 1).min(steps.len())].iter().any(is_change);
        let (mut old, mut new, mut is_open) = (0, 0, false);
        for (at, step) in steps.iter().enumerate() {
            let is_in_hunk = is_shown(at);
            if is_in_hunk && !is_open {
                let hunk = (at..steps.len()).take_while(|at| is_shown(*at)).map(|at| &steps[at]);
                let lengths = hunk.map(Step::lengths).fold((0, 0), |sum, step| (sum.0 + step.0, sum.1 + step.1));
                push(&mut out, HUNK, "@@", &format!(" -{old},{} +{new},{} @@", lengths.0, lengths.1));
            }
            is_open = is_in_hunk;
            if is_in_hunk {
                self.message(*step, &mut out);
            }
            let lengths = step.lengths();
            (old, new) = (old + lengths.0, new + lengths.1);
        }
        out
    }

    fn message(&self, step: Step, out: &mut String) {
        let (index, is_new, look) = match step {
            Step::Keep(index) => (index, false, KEPT_MESSAGE),
            Step::Remove(index) => (index, false, REMOVED_MESSAGE),
            Step::Add(index) => (index, true, ADDED_MESSAGE),
        };
        let masked = self.masked.map(|(before, after)| if is_new { after } else { before });
        let message = if is_new { &self.after.messages[index] } else { &self.before.messages[index] };
        let shown = masked.map_or(message, |masked| &masked.messages[index]);
        draw_message(index, self.counter.count(message), shown, look, out);
    }
}

impl Step {
    /// Returns the number of messages before and after.
    fn lengths(&self) -> (usize, usize) {
        match self {
            Step::Keep(_) => (1, 1),
            Step::Remove(_) => (1, 0),
            Step::Add(_) => (0, 1),
        }
    }
}

/// Returns the steps from some texts to others. A text that moved is removed at its old place and added at its new one.
fn steps(before: &[String], after: &[String]) -> Vec<Step> {
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
            (Some(one), Some(other)) if one == other => Step::Keep(old),
            (Some(one), Some(other)) if comes(&new_left, one) && !comes(&old_left, other) => Step::Add(new),
            (Some(_), _) => Step::Remove(old),
            (None, _) => Step::Add(new),
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
        use Step::{Add, Keep, Remove};
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
