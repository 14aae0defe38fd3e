//! What code surely knows and a model's summary lacks, appended to it: `--ledger`.

use crate::compact::event::CompactionEvent;
use crate::compact::policy::Accept;
use crate::compact::summarize::Summarization;
use crate::digest;
use crate::fault::{self, ProgramPart};
use crate::transcript::Message;

impl Summarization<'_, '_> {
    /// Appends what a model's summary lacks, as much as `--ledger` allows and as still leaves a saving. The summary is
    /// paid for: a fault in this code loses only what it would have appended.
    pub(super) fn with_facts(&self, summary: String) -> String {
        if self.is_embedded() {
            return summary;
        }
        let summary = digest::without_own_headings(&summary);
        if self.policy.summary.ledger == 0 {
            return summary;
        }
        match fault::caught(ProgramPart::Ledger, || self.append_missing(&summary)) {
            Ok(appended) => appended,
            Err(fault) => {
                self.report(CompactionEvent::WithoutLedger(&fault));
                summary
            }
        }
    }

    fn append_missing(&self, summary: &str) -> String {
        let summary = summary.trim_end().to_owned();
        let messages: Vec<&Message<'_>> = self.messages(&self.summarized).collect();
        let digest = digest::read(&messages, &self.summarized, &self.policy.cut.summary_prefix);
        let counter = self.tally.counter();
        let takes_any = self.policy.summary.accept == Accept::Any && self.fitted.fit.is_none();
        let most = if takes_any { u64::MAX } else { self.most_tokens() };
        let spare = self.most_tokens().saturating_sub(self.message_tokens(&summary));
        let mut limit = self.policy.summary.ledger.min(spare);
        while limit > 0 {
            let missing = digest.missing_from(&summary, counter, limit);
            if missing.is_empty() {
                break;
            }
            let whole = format!("{summary}\n\n{missing}");
            if self.message_tokens(&whole) <= most {
                return whole;
            }
            // Escapes and joins can cost a few tokens more than the parts.
            limit = limit * 3 / 4;
        }
        summary
    }
}
