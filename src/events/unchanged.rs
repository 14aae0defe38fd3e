//! Why conversations stayed unchanged.

use std::collections::BTreeMap;

use crate::wording::{counted, readable_source};

/// The most reasons that are counted: a reason can hold numbers that only one conversation has.
const MOST: usize = 16;

/// The unchanged conversations of a run whose reason no event has reported.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub(crate) struct UnchangedReasons {
    conversations: u64,
    /// The name of a single conversation, and what to try.
    only: Option<(String, Option<String>)>,
    reasons: BTreeMap<String, u64>,
}

impl UnchangedReasons {
    /// Adds a conversation.
    pub(crate) fn add(&mut self, source: &str, reason: &str, advice: Option<String>) {
        self.only = (self.conversations == 0).then(|| (source.to_owned(), advice));
        self.conversations += 1;
        self.count(reason, 1);
    }

    /// Adds the conversations of another part of the run.
    pub(crate) fn join(&mut self, other: &UnchangedReasons) {
        if other.conversations > 0 {
            self.only = other.only.clone().filter(|_| self.conversations == 0);
        }
        self.conversations += other.conversations;
        other.reasons.iter().for_each(|(reason, count)| self.count(reason, *count));
    }

    fn count(&mut self, reason: &str, conversations: u64) {
        if self.reasons.len() < MOST || self.reasons.contains_key(reason) {
            *self.reasons.entry(reason.to_owned()).or_default() += conversations;
        }
    }

    /// Returns what to try if only one conversation is unchanged, without the reason; nothing if there is no advice.
    pub(crate) fn advice(&self) -> Option<String> {
        let (source, advice) = self.only.as_ref()?;
        advice.as_ref().map(|flag| format!("{}: try {flag}", readable_source(source)))
    }

    /// Whether it is one conversation.
    pub(crate) fn is_one(&self) -> bool {
        self.only.is_some()
    }

    /// Returns the reason of a single conversation, or the most frequent reason; nothing if there is none.
    pub(crate) fn sentence(&self) -> Option<String> {
        let (reason, count) = self.reasons.iter().rev().max_by_key(|(_, count)| **count)?;
        Some(match &self.only {
            Some((source, advice)) => {
                let advice = advice.as_ref().map(|flag| format!("; try {flag}")).unwrap_or_default();
                format!("{}: unchanged: {reason}{advice}", readable_source(source))
            }
            None if *count == self.conversations => {
                format!("{} unchanged: {reason}", counted(self.conversations, "conversation"))
            }
            None => {
                let all = counted(self.conversations, "conversation");
                format!("{all} unchanged, {count} of them since {reason}; -v reports each")
            }
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_conversation_by_name_and_several_by_their_most_frequent_reason() {
        let mut reasons = UnchangedReasons::default();
        assert_eq!(reasons.sentence(), None);
        reasons.add("-", "it is short", Some("--fit tokens:2k".to_owned()));
        assert_eq!(reasons.sentence().as_deref(), Some("standard input: unchanged: it is short; try --fit tokens:2k"));
        let mut all = UnchangedReasons::default();
        all.join(&reasons);
        assert_eq!(all, reasons);
        all.join(&reasons);
        all.join(&UnchangedReasons::default());
        assert_eq!(all.sentence().as_deref(), Some("2 conversations unchanged: it is short"));
        all.add("b", "it is empty", None);
        let sentence = "3 conversations unchanged, 2 of them since it is short; -v reports each";
        assert_eq!(all.sentence().as_deref(), Some(sentence));
    }
}
