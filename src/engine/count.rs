//! `--count`: prints the tokens of each conversation.

use anyhow::Result;

use crate::compact::decide;
use crate::plan::recorded::RecordedSize;
use crate::redact::Redactor;
use crate::report::json::Count;
use crate::tokens::Categories;
use crate::transcript::framing::Document;
use crate::transcript::view::Arena;

use crate::engine::read::source_name;
use crate::engine::result::{ResultContent, TaskResult};
use crate::engine::task::Task;

impl Task<'_> {
    /// Prints the tokens of each conversation.
    pub(super) fn count(
        &self,
        document: &Document<'_>,
        json: bool,
        sorted: bool,
        result: &mut TaskResult,
    ) -> Result<()> {
        let mut text = String::new();
        let counted = &mut result.totals.counted;
        for transcript in &document.transcripts {
            let arena = Arena::default();
            let source = source_name(self.input, transcript);
            let decided = decide(transcript, self.policy, &arena)?;
            let tokens = decided.tokens(self.policy);
            let line = if json {
                Count::new(&source, &decided, self.policy).to_line()
            } else {
                self.line(&source, transcript, tokens)
            };
            // It names tools.
            let masked = self.policy.redact.is_on().then(|| Redactor::default().mask(&line).into_owned());
            let line = masked.unwrap_or(line);
            if self.settings.stderr.explain {
                counted.categories.join(&Categories::of(decided.view, &decided.tally, decided.plan.start));
            }
            let recorded = || RecordedSize::of(decided.view, &decided.tally);
            let one = if counted.conversations == 0 { recorded() } else { None };
            counted.recorded = one.map(|size| (size.record.tokens, size.beside(decided.view, &decided.tally)));
            counted.conversations += 1;
            counted.tokens += tokens;
            counted.overhead += decided.tally.overhead();
            if sorted {
                counted.lines.push((tokens, line));
            } else {
                text.push_str(&line);
            }
        }
        result.content = ResultContent::Text(text);
        Ok(())
    }
}
