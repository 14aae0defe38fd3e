//! The facts that a model's summary lacks, appended to it: `--ledger`.

use crate::fault::{self, Part};
use crate::summary::record::{HistoryRecord, collect, demote_ledger_heading};
use crate::transcript::Message;

use crate::compact::event::CompactionEvent;
use crate::compact::policy::Accept;
use crate::compact::summarize::Summarization;

impl Summarization<'_, '_> {
    /// Appends the facts that a model's summary lacks, as many as `--ledger` allows and as still leave a saving. The
    /// summary is paid for: a fault in this code loses only the facts.
    pub(super) fn with_facts(&self, summary: String) -> String {
        if self.policy.summary.ledger == 0 || self.is_embedded() {
            return summary;
        }
        fault::caught(Part::Ledger, || self.append_facts(&summary)).unwrap_or_else(|fault| {
            self.report(CompactionEvent::WithoutLedger(&fault));
            summary
        })
    }

    fn append_facts(&self, summary: &str) -> String {
        let messages: Vec<&Message<'_>> = self.messages(&self.summarized).collect();
        let ledger = collect(&messages, &self.summarized, &self.policy.cut.summary_prefix);
        let summary = self.append_lacking(demote_ledger_heading(summary), &ledger);
        self.ledger.replace(Some(ledger));
        summary
    }

    fn append_lacking(&self, summary: String, ledger: &HistoryRecord) -> String {
        let lacking = ledger.missing_from(&summary);
        let takes_any = self.policy.summary.accept == Accept::Any && self.fitted.fit.is_none();
        let most = if takes_any { u64::MAX } else { self.most_tokens() };
        let spare = self.most_tokens().saturating_sub(self.message_tokens(&summary));
        let mut limit = self.policy.summary.ledger.min(spare);
        while limit > 0 {
            let section = HistoryRecord::write_ledger(&lacking, self.policy.counter, limit);
            if section.is_empty() {
                break;
            }
            let whole = format!("{summary}\n\n{section}");
            if self.message_tokens(&whole) <= most {
                return whole;
            }
            // Escapes and joins can cost a few tokens more than the parts.
            limit = limit * 3 / 4;
        }
        summary
    }
}
