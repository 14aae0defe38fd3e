//! `--count`: prints the tokens of each conversation.

use anyhow::Result;

use crate::compact::{FittedPlan, decide};
use crate::plan;
use crate::report::json::Count;
use crate::tokens::Categories;
use crate::transcript::framing::Document;
use crate::transcript::view::Arena;

use crate::engine::read::source_name;
use crate::engine::result::{Content, TaskResult};
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
            let FittedPlan { view, tally, plan, .. } = decide(transcript, self.policy, &arena)?;
            let tokens = plan::total(view, &tally, &self.policy.cut);
            let line = if json {
                Count::new(&source, (view, &tally, &plan), tokens, self.policy).to_line()
            } else {
                self.line(&source, transcript, tokens)
            };
            if self.settings.stderr.explain {
                counted.categories.join(&Categories::of(view, &tally, plan.start));
            }
            counted.conversations += 1;
            counted.tokens += tokens;
            if sorted {
                counted.lines.push((tokens, line));
            } else {
                text.push_str(&line);
            }
        }
        result.content = Content::Text(text);
        Ok(())
    }
}
