//! The violations of the provider's rules: those that `check` reports, and those that stay in what a run changes.

use crate::events::{Event, Listener};
use crate::plan::breaches::{Breach, ProviderRule, behind_broken_line, breaches};
use crate::plan::steps;
use crate::redact::Redactor;
use crate::rewrite::Edit;
use crate::transcript::Transcript;
use crate::transcript::view::Arena;

use crate::engine::conversations::Conversations;
use crate::engine::prepare::{stale_thinking, undecipherable};
use crate::engine::reading::{edited, read, source_name};

impl Conversations<'_> {
    /// Reports every violation, and returns whether there is any.
    pub(super) fn check(&self) -> bool {
        let (input, policy) = (self.input, self.policy);
        self.report_broken_lines(self.document);
        self.report_unread_text();
        self.report_versions();
        let mut found = false;
        for transcript in &self.document.transcripts {
            let thinking = stale_thinking(policy, transcript, None).messages.into_iter();
            let thinking = thinking.map(|message| Breach { message, rule: ProviderRule::Thinking, id: None });
            let unreasoned = steps::missing_reasoning(transcript, policy.reader_name());
            let mut breaches: Vec<Breach> =
                breaches(transcript).into_iter().chain(thinking).chain(unreasoned).collect();
            breaches.extend(undecipherable(policy, transcript));
            breaches.extend(behind_broken_line(transcript));
            breaches.sort_by_key(|breach| breach.message);
            let ids = breaches.iter_mut().filter_map(|breach| breach.id.as_mut());
            ids.filter(|_| policy.redact.is_on()).for_each(|id| *id = Redactor::default().mask(id).into_owned());
            for breach in &breaches {
                self.run.listeners.handle(&Event::Breach { source: &source_name(input, transcript), breach });
                found = true;
            }
        }
        found
    }

    /// The conversations that still have violations once they are changed, with the number of these.
    pub(super) fn violations_left(&self, changed: &[&Transcript<'_>], edits: &[Edit]) -> Vec<(String, usize)> {
        let reader = self.policy.reader_name();
        let count = |one: &Transcript<'_>| breaches(one).len() + steps::missing_reasoning(one, reader).len();
        // A change causes no violation.
        if !changed.iter().any(|one| count(one) > 0) {
            return Vec::new();
        }
        let (result, arena) = (edited(self.input, edits), Arena::default());
        let Ok(result) = read(&self.run.settings.input, self.policy, &result, &arena) else { return Vec::new() };
        let mut changed = changed.iter().peekable();
        let mut is_changed = |one: &Transcript<'_>| changed.next_if(|changed| std::ptr::eq(**changed, one)).is_some();
        let left = self.document.transcripts.iter().zip(&result.transcripts).filter(|(before, _)| is_changed(before));
        let left = left.map(|(before, after)| (source_name(self.input, before), count(after)));
        left.filter(|(_, violations)| *violations > 0).collect()
    }
}
