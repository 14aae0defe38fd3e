//! Earlier summaries that a compaction replaces, and what becomes of them.

use serde::{Deserialize, Serialize};

use crate::digest;
use crate::plan::carried::carried;
use crate::transcript::Message;
use crate::transcript::compaction::ProviderCompaction;

use crate::compact::fit::Fitted;

/// An earlier summary that a compaction replaces.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct EarlierSummary {
    /// The index of its message; none where it stands beside the messages.
    pub index: Option<usize>,
    /// Its lines that are not blank.
    pub lines: usize,
    /// How many of them stand in the new summary; none where a model wrote that.
    pub carried: Option<usize>,
}

impl EarlierSummary {
    /// Says what becomes of it.
    pub fn sentence(&self) -> String {
        let place = self.index.map_or("beside the messages".to_owned(), |index| format!("in message {index}"));
        let end = match self.carried {
            None => "is sent to the model".to_owned(),
            Some(0) => "is not carried on".to_owned(),
            Some(carried) if carried == self.lines => "is carried on".to_owned(),
            Some(carried) => format!("is carried on in part ({carried} of {} lines)", self.lines),
        };
        format!("the earlier summary {place} {end}")
    }
}

/// The earlier summaries that a plan replaces, and how much of each the new summary carries on. That is not known of a
/// summary that a model wrote.
pub(super) fn earlier_summaries(fitted: &Fitted<'_>, summary: Option<&str>) -> Vec<EarlierSummary> {
    let prefix = &fitted.decided.policy.cut.summary_prefix;
    let mut found = Vec::new();
    for (index, text) in texts(fitted) {
        let (lines, standing) = digest::lines_standing(&text, prefix, summary.unwrap_or(""));
        found.push(EarlierSummary { index, lines, carried: summary.map(|_| standing) });
    }
    found
}

/// The texts of the earlier summaries that a plan replaces, with the indices of those that are messages.
fn texts(fitted: &Fitted<'_>) -> Vec<(Option<usize>, String)> {
    let transcript = fitted.decided.transcript;
    let mut found = Vec::new();
    if let Some(beside) = carried(transcript, &fitted.decided.policy.cut) {
        found.push((beside.index, beside.text.into_owned()));
    }
    for index in fitted.plan.summarized() {
        if let Some(text) = text_of(&transcript.messages[index]) {
            found.push((Some(index), text));
        }
    }
    found
}

/// The text of an earlier summary; none where the message is not one.
fn text_of(message: &Message<'_>) -> Option<String> {
    if let Some(ProviderCompaction::Readable(text)) = message.compaction() {
        return Some(text.decode().into_owned());
    }
    if !message.earlier {
        return None;
    }
    let texts: Vec<_> = message.content.texts().iter().map(|text| text.decode()).collect();
    Some(texts.join("\n"))
}
