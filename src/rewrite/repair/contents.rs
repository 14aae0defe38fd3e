//! Repairs contents that a provider refuses: halves of surrogate pairs, and texts without any text.

use std::ops::Range;

use serde_json::{Value, json};

use crate::plan::breaches::{Blank, Breach, ProviderRule, blanks, content_of, lone_surrogates};
use crate::rewrite::repair::Repairer;
use crate::rewrite::{Edit, elements};
use crate::transcript::json::JsonKind;

/// The text of a message that must have one.
const NO_CONTENT: &str = "(no content)";

impl Repairer<'_, '_> {
    /// Replaces halves of surrogate pairs by the character for what cannot be read, and removes or fills blank texts.
    pub(super) fn fix_contents(&self, found: &[Breach]) -> Vec<Edit> {
        let mut edits = Vec::new();
        for breach in found {
            match breach.rule {
                ProviderRule::Surrogate => {
                    let lone = lone_surrogates(self.transcript, &self.messages()[breach.message]);
                    edits.extend(lone.into_iter().map(|range| Edit { range, text: "\\ufffd".to_owned() }));
                }
                ProviderRule::Blank => edits.extend(self.fill(breach.message)),
                _ => {}
            }
        }
        edits
    }

    fn fill(&self, index: usize) -> Vec<Edit> {
        let mut spans: Vec<Range<usize>> = Vec::new();
        let mut edits = Vec::new();
        for blank in blanks(self.transcript, index) {
            match blank {
                Blank::Part(part) => spans.push(part.span()),
                Blank::Only(text) => {
                    let value = text.get("text").unwrap_or(text);
                    edits.push(Edit { range: value.span(), text: Value::from(NO_CONTENT).to_string() });
                }
                Blank::Content => edits.push(self.content(index)),
            }
        }
        edits.extend(elements::removal_edits(self.transcript.source, &spans));
        edits
    }

    /// Gives a message without content one.
    fn content(&self, index: usize) -> Edit {
        let message = &self.messages()[index];
        match content_of(message) {
            Some(list) if list.kind() == JsonKind::Array => {
                let block = self.transcript.format.text_block(list, NO_CONTENT).unwrap_or(Value::from(NO_CONTENT));
                Edit { range: list.span(), text: json!([block]).to_string() }
            }
            Some(nothing) => Edit { range: nothing.span(), text: "\"\"".to_owned() },
            None => {
                let end = message.span().end - "}".len();
                Edit { range: end..end, text: ", \"content\": \"\"".to_owned() }
            }
        }
    }
}
