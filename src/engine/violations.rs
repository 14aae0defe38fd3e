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
            let mut violations = breaches(transcript);
            for message in stale_thinking(policy, transcript, None).messages {
                violations.push(Breach { message, rule: ProviderRule::Thinking, id: None });
            }
            violations.extend(steps::missing_reasoning(transcript, policy.reader_name()));
            violations.extend(undecipherable(policy, transcript));
            violations.extend(behind_broken_line(transcript));
            violations.sort_by_key(|breach| breach.message);
            if policy.redact.is_on() {
                for breach in &mut violations {
                    if let Some(id) = &mut breach.id {
                        *id = Redactor::default().mask(id).into_owned();
                    }
                }
            }
            for breach in &violations {
                self.run.listeners.handle(&Event::Breach { source: &source_name(input, transcript), breach });
                found = true;
            }
        }
        found
    }

    /// The conversations that still have violations once they are changed, with the number of these.
    pub(super) fn violations_left(&self, changed: &[&Transcript<'_>], edits: &[Edit]) -> Vec<(String, usize)> {
        let reader = self.policy.reader_name();
        // A change causes no violation.
        if changed.iter().all(|transcript| count_violations(transcript, reader) == 0) {
            return Vec::new();
        }
        let (result, arena) = (edited(self.input, edits), Arena::default());
        let Ok(result) = read(&self.run.settings.input, self.policy, &result, &arena) else { return Vec::new() };
        let mut changed = changed.iter().peekable();
        let mut left = Vec::new();
        for (before, after) in self.document.transcripts.iter().zip(&result.transcripts) {
            if changed.next_if(|changed| std::ptr::eq(**changed, before)).is_none() {
                continue;
            }
            let violations = count_violations(after, reader);
            if violations > 0 {
                left.push((source_name(self.input, before), violations));
            }
        }
        left
    }
}

/// Counts the violations in a conversation that `reader`, a model, reads on.
fn count_violations(transcript: &Transcript<'_>, reader: Option<&str>) -> usize {
    breaches(transcript).len() + steps::missing_reasoning(transcript, reader).len()
}
